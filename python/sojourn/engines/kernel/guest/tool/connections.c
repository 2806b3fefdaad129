/* TCP connections: transfers, pages, requests and responses. */
#include "traffic.h"
#include <sys/ioctl.h>

/* epoll is level-triggered: a socket that is shut down both ways would report EPOLLHUP forever. */
static void watch_tcp(struct endpoint *ep)
{
	if (!ep->ended || !ep->shut)
		watch(ep, (ep->ended ? 0 : EPOLLIN) | (ep->left ? EPOLLOUT : 0));
	else
		unwatch(ep);
}

static void limit_window(int fd, int limit)
{
	if (limit && setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &limit, sizeof(limit)))
		fail("window of %d bytes", limit);
}

/*
 * Linux 7.3 replaces the clamp by the buffer's space at the first full segment, from the segment's truesize
 * (tcp_measure_rcv_mss).
 */
static void keep_window(const struct endpoint *ep)
{
	int clamp = 0, limit = ep->source->window;
	socklen_t length = sizeof(clamp);

	if (limit && !getsockopt(ep->fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, &length) && clamp > limit)
		limit_window(ep->fd, limit);
}

static int new_socket(struct source *source, const char *namespace)
{
	int fd, on = 1, buffer = 2 * source->window;

	enter_namespace(namespace);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enter_namespace("-");
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		fail("socket");
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, source->control, (socklen_t)strlen(source->control)))
		fail("congestion control %s", source->control);
	if (source->mss && setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &source->mss, sizeof(source->mss)))
		fail("segments of %d bytes", source->mss);
	if (source->tos && setsockopt(fd, IPPROTO_IP, IP_TOS, &source->tos, sizeof(source->tos)))
		fail("type of service %d", source->tos);
	/* A fixed buffer size disables autotuning, which would raise the window as well. */
	if (source->window && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)))
		fail("buffer of %d bytes", buffer);
	limit_window(fd, source->window);
	return fd;
}

static void send_some(struct endpoint *ep)
{
	while (ep->left) {
		size_t wanted = ep->left < CHUNK ? (size_t)ep->left : CHUNK;
		ssize_t written = send(ep->fd, payload, wanted, MSG_NOSIGNAL);

		if (written < 0)
			break;
		if (ep->left != NEVER)
			ep->left -= (uint64_t)written;
	}
	if (!ep->left && ep->finish && !ep->shut) {
		ep->shut = true;
		shutdown(ep->fd, SHUT_WR);
	}
	watch_tcp(ep);
}

/* Send the remaining data, then FIN. */
static void finish(struct endpoint *ep)
{
	ep->finish = true;
	if (ep->connected)
		send_some(ep);
}

struct tcp_info get_tcp_info(const struct endpoint *ep)
{
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	getsockopt(ep->fd, IPPROTO_TCP, TCP_INFO, &info, &length);
	return info;
}

uint64_t unread_bytes(const struct endpoint *ep)
{
	int in_order = 0;

	ioctl(ep->fd, FIONREAD, &in_order);
	return (uint64_t)in_order + get_tcp_info(ep).tcpi_rcv_ooopack;
}

void print_totals(const char *word, const struct connection *c, bool with_time)
{
	struct tcp_info info = { 0 };

	if (c->data)
		info = get_tcp_info(c->data);
	fprintf(out, "%s %d %d", word, c->flow, c->source->index);
	if (with_time)
		fprintf(out, " %llu", (unsigned long long)run_time());
	fprintf(out, " %u %u\n", info.tcpi_data_segs_out, info.tcpi_total_retrans);
}

static void open_connection(struct source *source, uint64_t requested_at);

static void open_next_file(void *argument)
{
	struct source *source = argument;

	if (run_time() < source->stop)
		open_connection(source, run_time());
}

static void open_due_pages(struct source *source)
{
	while (source->opened < source->due && source->open < source->max_open)
		open_connection(source, source->times[source->opened++]);
}

static void close_connection(struct connection *c)
{
	struct source *source = c->source;

	struct endpoint *endpoints[] = { c->data, c->sink };

	for (int i = 0; i < 2; i++)
		if (endpoints[i]) {
			close(endpoints[i]->fd);
			endpoints[i]->ended = true;
			endpoints[i]->connection = NULL;
		}
	if (source->current == c)
		source->current = NULL;
	source->open--;
	if (source->kind == BULK && source->pause >= 0)
		set_deadline(now() + (uint64_t)source->pause, open_next_file, source);
	if (source->kind == PAGES)
		open_due_pages(source);
}

static void on_error(struct connection *c, int error)
{
	fprintf(out, "failed %d %d %llu %d\n", c->flow, c->source->index, (unsigned long long)run_time(), error);
	close_connection(c);
}

static void print_completed(struct connection *c, uint64_t bytes)
{
	fprintf(out, "done %d %d %llu %llu %llu\n", c->flow, c->source->index, (unsigned long long)c->began_at,
		(unsigned long long)run_time(), (unsigned long long)bytes);
}

static void send_request(void *argument)
{
	struct connection *c = argument;

	if (!c->sink || c->sink->ended)
		return;
	if (run_time() >= c->source->stop) {
		finish(c->sink);
		return;
	}
	c->request_end += c->source->request;
	c->response_end += c->source->size;
	c->sink->left += c->source->request;
	if (c->sink->connected)
		send_some(c->sink);
}

static void send_response(void *argument)
{
	struct connection *c = argument;

	if (!c->data || c->data->ended)
		return;
	c->data->left += c->source->size;
	c->data->finish = c->source->kind == PAGES;
	send_some(c->data);
}

static void count_delivered(struct connection *c, uint64_t bytes)
{
	c->source->delivered += bytes;
	group_bytes[c->source->group] += bytes;
}

static void on_response(struct connection *c)
{
	struct source *source = c->source;

	print_completed(c, source->size);
	if (source->kind != REQUESTS)
		return;
	c->began_at = run_time() + (uint64_t)source->pause;
	if (source->pause)
		set_deadline(now() + (uint64_t)source->pause, send_request, c);
	else
		send_request(c);
}

static void on_received(struct endpoint *ep, uint64_t bytes)
{
	struct connection *c = ep->connection;
	struct source *source = c->source;
	uint64_t before = ep->received;

	ep->received += bytes;
	if (ep == c->sink)
		count_delivered(c, bytes);
	if (source->kind == BULK) {
		if (ep == c->sink && source->size && ep->received == source->size)
			print_completed(c, source->size);
	} else if (ep == c->sink) {
		if (before < c->response_end && ep->received >= c->response_end)
			on_response(c);
	} else if (before < c->request_end && ep->received >= c->request_end) {
		if (source->think)
			set_deadline(now() + source->think, send_response, c);
		else
			send_response(c);
	}
}

static void on_eof(struct endpoint *ep)
{
	struct connection *c = ep->connection;

	ep->ended = true;
	finish(ep);
	if (c->data && c->sink && c->data->ended && c->sink->ended) {
		print_totals("closed", c, true);
		close_connection(c);
	}
}

void on_tcp(struct endpoint *ep, uint32_t ready)
{
	struct connection *c = ep->connection;
	int error = 0;
	socklen_t length = sizeof(error);

	if (!c)
		return;
	if (ready & EPOLLERR) {
		getsockopt(ep->fd, SOL_SOCKET, SO_ERROR, &error, &length);
		on_error(c, error);
		return;
	}
	if (ready & EPOLLOUT) {
		ep->connected = true;
		send_some(ep);
	}
	if (ready & (EPOLLIN | EPOLLHUP) && !ep->ended) {
		/* MSG_TRUNC discards the bytes without a copy. */
		ssize_t bytes = recv(ep->fd, payload, 1 << 30, MSG_TRUNC);

		keep_window(ep);
		if (bytes > 0)
			on_received(ep, (uint64_t)bytes);
		else if (bytes == 0)
			on_eof(ep);
		else if (errno != EAGAIN)
			on_error(c, errno);
	}
}

void on_listener(struct endpoint *ep)
{
	struct source *source = ep->source;
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	int fd;

	while ((fd = accept4(ep->fd, (void *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *c = source->by_port[ntohs(peer.sin_port) - FIRST_PORT];
		struct endpoint *passive = new_endpoint(TCP_SOCKET, fd, source, c);

		passive->connected = true;
		*(c->active == c->data ? &c->sink : &c->data) = passive;
		watch(passive, EPOLLIN);
		length = sizeof(peer);
	}
}

static bool source_connects(const struct source *source)
{
	return source->kind == BULK;
}

void start_listening(struct source *source)
{
	bool at_sink = source_connects(source);
	int fd = new_socket(source, at_sink ? source->sink_namespace : source->source_namespace);

	bind_socket(fd, at_sink ? source->sink_address : source->source_address, SERVER_PORT);
	if (listen(fd, 4096))
		fail("listen");
	source->listener = new_endpoint(LISTENER, fd, source, NULL);
	source->by_port = zalloc(MAX_PORTS * sizeof(*source->by_port));
	watch(source->listener, EPOLLIN);
}

static void open_connection(struct source *source, uint64_t requested_at)
{
	struct connection *c = zalloc(sizeof(*c));
	bool from_source = source_connects(source);
	struct in_addr to = from_source ? source->sink_address : source->source_address;
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT), .sin_addr = to };
	int fd, port = FIRST_PORT + (int)source->ports;
	struct endpoint *active;

	if (source->ports == MAX_PORTS)
		fail("source %d opens more than %d connections", source->index, MAX_PORTS);
	fd = new_socket(source, from_source ? source->source_namespace : source->sink_namespace);
	active = new_endpoint(TCP_SOCKET, fd, source, c);
	bind_socket(active->fd, from_source ? source->source_address : source->sink_address, port);
	*c = (struct connection){
		.source = source, .active = active, .requested_at = requested_at, .began_at = requested_at
	};
	c->flow = source->flow >= 0 ? source->flow : next_flow++;
	*(from_source ? &c->data : &c->sink) = active;
	source->by_port[source->ports++] = c;
	source->open++;
	source->current = c;
	fprintf(out, "opened %d %d %d %llu %llu\n", c->flow, source->index, port, (unsigned long long)requested_at,
		(unsigned long long)run_time());
	if (from_source) {
		active->left = source->size ? source->size : NEVER;
		active->finish = source->size > 0;
	} else {
		send_request(c);
	}
	if (connect(active->fd, (void *)&server, sizeof(server)) && errno != EINPROGRESS)
		fail("connect");
	watch(active, EPOLLIN | EPOLLOUT);
}

void start_source(void *argument)
{
	open_connection(argument, run_time());
}

void stop_source(void *argument)
{
	struct source *source = argument;

	if (source->kind == BULK && source->pause < 0 && source->current && source->current->data) {
		source->current->data->left = 0;
		finish(source->current->data);
	}
}

void next_page(void *argument)
{
	struct source *source = argument;

	source->due++;
	if (source->due < source->count)
		set_deadline(start_time + source->times[source->due], next_page, source);
	open_due_pages(source);
}

