/* Connections over TCP: transfers, pages, questions and answers. */
#include "traffic.h"
#include <sys/ioctl.h>

/* An end that is shut both ways would report that again and again. */
static void watch_tcp(struct end *end)
{
	if (!end->ended || !end->shut)
		watch(end, (end->ended ? 0 : EPOLLIN) | (end->left ? EPOLLOUT : 0));
	else
		unwatch(end);
}

static void limit_window(int file, int most)
{
	if (most && setsockopt(file, IPPROTO_TCP, TCP_WINDOW_CLAMP, &most, sizeof(most)))
		fail("window of %d bytes", most);
}

/*
 * Newer kernels (7.3) forget the limit with the first full segment: once they know how much memory segments take, what
 * the buffer has room for is the limit (`tcp_measure_rcv_mss`).
 */
static void keep_window(const struct end *end)
{
	int present = 0, most = end->source->window;
	socklen_t length = sizeof(present);

	if (most && !getsockopt(end->file, IPPROTO_TCP, TCP_WINDOW_CLAMP, &present, &length) && present > most)
		limit_window(end->file, most);
}

static int new_socket(struct source *source, const char *namespace)
{
	int made, one = 1, room = 2 * source->window;

	enter_namespace(namespace);
	made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enter_namespace("-");
	if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		fail("socket");
	if (setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, source->control, (socklen_t)strlen(source->control)))
		fail("congestion control %s", source->control);
	if (source->mss && setsockopt(made, IPPROTO_TCP, TCP_MAXSEG, &source->mss, sizeof(source->mss)))
		fail("segments of %d bytes", source->mss);
	if (source->tos && setsockopt(made, IPPROTO_IP, IP_TOS, &source->tos, sizeof(source->tos)))
		fail("type of service %d", source->tos);
	/* A buffer of a size of its own is not tuned, which would raise the window as well. */
	if (source->window && setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		fail("buffer of %d bytes", room);
	limit_window(made, source->window);
	return made;
}

static void write_some(struct end *end)
{
	while (end->left) {
		size_t wanted = end->left < CHUNK ? (size_t)end->left : CHUNK;
		ssize_t written = send(end->file, payload, wanted, MSG_NOSIGNAL);

		if (written < 0)
			break;
		if (end->left != NEVER)
			end->left -= (uint64_t)written;
	}
	if (!end->left && end->finish && !end->shut) {
		end->shut = true;
		shutdown(end->file, SHUT_WR);
	}
	watch_tcp(end);
}

/* Sends what is left, then nothing more. */
static void finish(struct end *end)
{
	end->finish = true;
	if (end->connected)
		write_some(end);
}

struct tcp_info info_of(const struct end *end)
{
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	getsockopt(end->file, IPPROTO_TCP, TCP_INFO, &info, &length);
	return info;
}

uint64_t unread_of(const struct end *end)
{
	int in_order = 0;

	ioctl(end->file, FIONREAD, &in_order);
	return (uint64_t)in_order + info_of(end).tcpi_rcv_ooopack;
}

void tell_totals(const char *word, const struct connection *c, bool with_time)
{
	struct tcp_info info = { 0 };

	if (c->data)
		info = info_of(c->data);
	fprintf(out, "%s %d %d", word, c->flow, c->source->index);
	if (with_time)
		fprintf(out, " %llu", (unsigned long long)clock_of_run());
	fprintf(out, " %u %u\n", info.tcpi_data_segs_out, info.tcpi_total_retrans);
}

static void open_connection(struct source *source, uint64_t asked_at);

static void open_next_file(void *with)
{
	struct source *source = with;

	if (clock_of_run() < source->stop)
		open_connection(source, clock_of_run());
}

static void open_due_pages(struct source *source)
{
	while (source->opened < source->due && source->open < source->at_once)
		open_connection(source, source->times[source->opened++]);
}

static void forget(struct connection *c)
{
	struct source *source = c->source;

	struct end *ends[] = { c->data, c->sink };

	for (int i = 0; i < 2; i++)
		if (ends[i]) {
			close(ends[i]->file);
			ends[i]->ended = true;
			ends[i]->connection = NULL;
		}
	if (source->present == c)
		source->present = NULL;
	source->open--;
	if (source->kind == BULK && source->pause >= 0)
		set_deadline(now() + (uint64_t)source->pause, open_next_file, source);
	if (source->kind == PAGES)
		open_due_pages(source);
}

static void broke(struct connection *c, int error)
{
	fprintf(out, "failed %d %d %llu %d\n", c->flow, c->source->index, (unsigned long long)clock_of_run(), error);
	forget(c);
}

static void completed(struct connection *c, uint64_t bytes)
{
	fprintf(out, "done %d %d %llu %llu %llu\n", c->flow, c->source->index, (unsigned long long)c->begun,
		(unsigned long long)clock_of_run(), (unsigned long long)bytes);
}

static void ask(void *with)
{
	struct connection *c = with;

	if (!c->sink || c->sink->ended)
		return;
	if (clock_of_run() >= c->source->stop) {
		finish(c->sink);
		return;
	}
	c->asked += c->source->request;
	c->promised += c->source->size;
	c->sink->left += c->source->request;
	if (c->sink->connected)
		write_some(c->sink);
}

static void answer(void *with)
{
	struct connection *c = with;

	if (!c->data || c->data->ended)
		return;
	c->data->left += c->source->size;
	c->data->finish = c->source->kind == PAGES;
	write_some(c->data);
}

static void deliver(struct connection *c, uint64_t bytes)
{
	c->source->delivered += bytes;
	group_bytes[c->source->group] += bytes;
}

static void got_answer(struct connection *c)
{
	struct source *source = c->source;

	completed(c, source->size);
	if (source->kind != ASK)
		return;
	c->begun = clock_of_run() + (uint64_t)source->pause;
	if (source->pause)
		set_deadline(now() + (uint64_t)source->pause, ask, c);
	else
		ask(c);
}

static void received(struct end *end, uint64_t bytes)
{
	struct connection *c = end->connection;
	struct source *source = c->source;
	uint64_t before = end->got;

	end->got += bytes;
	if (end == c->sink)
		deliver(c, bytes);
	if (source->kind == BULK) {
		if (end == c->sink && source->size && end->got == source->size)
			completed(c, source->size);
	} else if (end == c->sink) {
		if (before < c->promised && end->got >= c->promised)
			got_answer(c);
	} else if (before < c->asked && end->got >= c->asked) {
		if (source->think)
			set_deadline(now() + source->think, answer, c);
		else
			answer(c);
	}
}

static void has_ended(struct end *end)
{
	struct connection *c = end->connection;

	end->ended = true;
	finish(end);
	if (c->data && c->sink && c->data->ended && c->sink->ended) {
		tell_totals("closed", c, true);
		forget(c);
	}
}

void on_tcp(struct end *end, uint32_t ready)
{
	struct connection *c = end->connection;
	int error = 0;
	socklen_t length = sizeof(error);

	if (!c)
		return;
	if (ready & EPOLLERR) {
		getsockopt(end->file, SOL_SOCKET, SO_ERROR, &error, &length);
		broke(c, error);
		return;
	}
	if (ready & EPOLLOUT) {
		end->connected = true;
		write_some(end);
	}
	if (ready & (EPOLLIN | EPOLLHUP) && !end->ended) {
		/* With MSG_TRUNC the bytes are taken and not copied. */
		ssize_t bytes = recv(end->file, payload, 1 << 30, MSG_TRUNC);

		keep_window(end);
		if (bytes > 0)
			received(end, (uint64_t)bytes);
		else if (bytes == 0)
			has_ended(end);
		else if (errno != EAGAIN)
			broke(c, errno);
	}
}

void on_listener(struct end *end)
{
	struct source *source = end->source;
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	int file;

	while ((file = accept4(end->file, (void *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *c = source->by_port[ntohs(peer.sin_port) - FIRST_PORT];
		struct end *passive = new_end(TCP_END, file, source, c);

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

void listen_at(struct source *source)
{
	bool at_sink = source_connects(source);
	int file = new_socket(source, at_sink ? source->sink_namespace : source->source_namespace);

	bind_to(file, at_sink ? source->sink_address : source->source_address, SERVER_PORT);
	if (listen(file, 4096))
		fail("listen");
	source->listener = new_end(LISTENER, file, source, NULL);
	source->by_port = get_memory(MOST_PORTS * sizeof(*source->by_port));
	watch(source->listener, EPOLLIN);
}

static void open_connection(struct source *source, uint64_t asked_at)
{
	struct connection *c = get_memory(sizeof(*c));
	bool from_source = source_connects(source);
	struct in_addr to = from_source ? source->sink_address : source->source_address;
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT), .sin_addr = to };
	int port = FIRST_PORT + (int)source->ports;
	struct end *active;

	if (source->ports == MOST_PORTS)
		fail("source %d opens more than %d connections", source->index, MOST_PORTS);
	active = new_end(TCP_END, new_socket(source, from_source ? source->source_namespace : source->sink_namespace), source, c);
	bind_to(active->file, from_source ? source->source_address : source->sink_address, port);
	*c = (struct connection){ .source = source, .active = active, .asked_at = asked_at, .begun = asked_at };
	c->flow = source->flow >= 0 ? source->flow : next_flow++;
	*(from_source ? &c->data : &c->sink) = active;
	source->by_port[source->ports++] = c;
	source->open++;
	source->present = c;
	fprintf(out, "opened %d %d %d %llu %llu\n", c->flow, source->index, port, (unsigned long long)asked_at,
		(unsigned long long)clock_of_run());
	if (from_source) {
		active->left = source->size ? source->size : NEVER;
		active->finish = source->size > 0;
	} else {
		ask(c);
	}
	if (connect(active->file, (void *)&server, sizeof(server)) && errno != EINPROGRESS)
		fail("connect");
	watch(active, EPOLLIN | EPOLLOUT);
}

void start(void *with)
{
	open_connection(with, clock_of_run());
}

/* The application sends no more. */
void stop(void *with)
{
	struct source *source = with;

	if (source->kind == BULK && source->pause < 0 && source->present && source->present->data) {
		source->present->data->left = 0;
		finish(source->present->data);
	}
}

void next_page(void *with)
{
	struct source *source = with;

	source->due++;
	if (source->due < source->count)
		set_deadline(zero + source->times[source->due], next_page, source);
	open_due_pages(source);
}

