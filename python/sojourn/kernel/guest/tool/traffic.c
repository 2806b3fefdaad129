/*
 * The traffic of a scenario: TCP transfers, questions and answers, datagrams. All instants and sizes come from the
 * file that the host wrote; nothing is drawn here. What happens goes to OUT, a line of words each, times in ns from the
 * start of the scenario:
 *
 *   opened FLOW SOURCE PORT ASKED AT	a flow starts; PORT is that of the end that connects
 *   done FLOW SOURCE BEGUN AT BYTES	the last byte of a transfer has arrived
 *   closed FLOW SOURCE AT SENT AGAIN	both ends know of the end; data packets sent, and sent again
 *   failed FLOW SOURCE AT ERROR		the connection broke off
 *   left FLOW SOURCE SENT AGAIN		as `closed`, of a connection that is open at the end
 *   bytes AT FLOW BYTES		payload delivered by a flow that lasts, at the warm-up's end and the run's
 *   bytes AT g GROUP BYTES		the same of a whole group
 *   datagrams AT FLOW SENT RECEIVED EXPECTED DELAY VARIATION
 *   sample AT FLOW CWND SSTHRESH SRTT IN_FLIGHT BYTES
 */
#include "timers.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#define SERVER_PORT 5001
#define FIRST_PORT 10000
#define MOST_PORTS (65536 - FIRST_PORT)
#define CHUNK 65536
#define NEVER UINT64_MAX

enum kind { BULK, PAGES, ASK, DATAGRAMS };

struct source {
	enum kind kind;
	int index, group, flow;
	/* At the data's source, and at their sink. */
	char source_namespace[32], sink_namespace[32];
	struct in_addr source_address, sink_address;
	char control[16];
	int mss, window;
	uint64_t start, stop;
	uint64_t size, request, think;
	int64_t pause;
	/* Instants of pages or datagrams. */
	uint64_t *times;
	size_t count, due, opened;
	uint32_t at_once, open;
	struct end *listener;
	struct connection **by_port;
	uint32_t ports;
	struct connection *present;
	int ecn, socket;
	uint64_t delivered, sent, received, expected, delay, variation, last_delay;
};

struct end {
	enum { LISTENER, TCP_END, DATAGRAM_SINK } what;
	int file;
	struct source *source;
	struct connection *connection;
	bool watched, connected, finish, shut, ended;
	uint64_t left, got;
};

struct connection {
	struct source *source;
	int flow;
	/* Who sends the data, and who connects. */
	struct end *data, *sink, *active;
	uint64_t asked_at, begun;
	/* Bytes that each side will have received with the present question, or with its answer. */
	uint64_t asked, promised;
};

static struct source **sources;
static size_t source_count;
static uint64_t *group_bytes;
static int group_count, next_flow;
static uint64_t zero, warmup, end_of_run, sampling;
static int events = -1;
static FILE *out;
static bool over;
static char payload[CHUNK];

static uint64_t clock_of_run(void)
{
	return now() - zero;
}

/* ---- ends of connections ---------------------------------------------------------------------------------------- */

static void watch(struct end *end, uint32_t interest)
{
	struct epoll_event event = { .events = interest, .data.ptr = end };

	if (epoll_ctl(events, end->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, end->file, &event))
		fail("epoll");
	end->watched = true;
}

/* An end that is shut both ways would report that again and again. */
static void watch_tcp(struct end *end)
{
	if (!end->ended || !end->shut)
		watch(end, (end->ended ? 0 : EPOLLIN) | (end->left ? EPOLLOUT : 0));
	else if (epoll_ctl(events, EPOLL_CTL_DEL, end->file, NULL))
		fail("epoll");
}

static int new_socket(struct source *source, const char *namespace)
{
	int made, one = 1;

	enter_namespace(namespace);
	made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enter_namespace("-");
	if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		fail("socket");
	if (setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, source->control, (socklen_t)strlen(source->control)))
		fail("congestion control %s", source->control);
	if (source->mss && setsockopt(made, IPPROTO_TCP, TCP_MAXSEG, &source->mss, sizeof(source->mss)))
		fail("segments of %d bytes", source->mss);
	if (source->window && setsockopt(made, IPPROTO_TCP, TCP_WINDOW_CLAMP, &source->window, sizeof(source->window)))
		fail("window of %d bytes", source->window);
	return made;
}

static void bind_to(int file, struct in_addr address, int port)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = address };

	if (bind(file, (void *)&here, sizeof(here)))
		fail("%s port %d", inet_ntoa(address), port);
}

static struct end *new_end(int what, int file, struct source *source, struct connection *connection)
{
	struct end *end = get_memory(sizeof(*end));

	*end = (struct end){ .what = what, .file = file, .source = source, .connection = connection };
	return end;
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

static struct tcp_info info_of(const struct end *end)
{
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	getsockopt(end->file, IPPROTO_TCP, TCP_INFO, &info, &length);
	return info;
}

static void tell_totals(const char *word, const struct connection *c, bool with_time)
{
	struct tcp_info info = { 0 };

	if (c->data)
		info = info_of(c->data);
	fprintf(out, "%s %d %d", word, c->flow, c->source->index);
	if (with_time)
		fprintf(out, " %llu", (unsigned long long)clock_of_run());
	fprintf(out, " %u %u\n", info.tcpi_data_segs_out, info.tcpi_total_retrans);
}

/* ---- connections ------------------------------------------------------------------------------------------------ */

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

static void on_tcp(struct end *end, uint32_t ready)
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

		if (bytes > 0)
			received(end, (uint64_t)bytes);
		else if (bytes == 0)
			has_ended(end);
		else if (errno != EAGAIN)
			broke(c, errno);
	}
}

static void on_listener(struct end *end)
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

static void listen_at(struct source *source)
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

static void start(void *with)
{
	open_connection(with, clock_of_run());
}

/* The application sends no more. */
static void stop(void *with)
{
	struct source *source = with;

	if (source->kind == BULK && source->pause < 0 && source->present && source->present->data) {
		source->present->data->left = 0;
		finish(source->present->data);
	}
}

static void next_page(void *with)
{
	struct source *source = with;

	source->due++;
	if (source->due < source->count)
		set_deadline(zero + source->times[source->due], next_page, source);
	open_due_pages(source);
}

/* ---- datagrams -------------------------------------------------------------------------------------------------- */

struct stamp {
	uint64_t number, sent_at;
};

static int datagram_socket(const char *namespace, struct in_addr address, int port)
{
	int made, room = 1 << 30;

	enter_namespace(namespace);
	made = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enter_namespace("-");
	if (made < 0 || setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		fail("socket");
	bind_to(made, address, port);
	return made;
}

static void send_datagram(void *with)
{
	struct source *source = with;
	struct stamp stamp = { source->sent++, clock_of_run() };

	if (source->sent < source->count)
		set_deadline(zero + source->times[source->sent], send_datagram, source);
	memcpy(payload, &stamp, sizeof(stamp));
	if (send(source->socket, payload, source->size - 28, MSG_NOSIGNAL) < 0)
		fail("datagram of source %d", source->index);
	memset(payload, 0, sizeof(stamp));
}

static void on_datagram(struct end *end)
{
	struct source *source = end->source;
	struct stamp stamp;
	ssize_t bytes;

	while ((bytes = recv(end->file, &stamp, sizeof(stamp), MSG_TRUNC)) >= (ssize_t)sizeof(stamp)) {
		uint64_t delay = clock_of_run() - stamp.sent_at;

		if (source->received++)
			source->variation += delay > source->last_delay ? delay - source->last_delay : source->last_delay - delay;
		source->last_delay = delay;
		source->delay += delay;
		if (stamp.number + 1 > source->expected)
			source->expected = stamp.number + 1;
		source->delivered += (uint64_t)bytes;
		group_bytes[source->group] += (uint64_t)bytes;
	}
}

static void start_datagrams(struct source *source)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT), .sin_addr = source->sink_address };
	int at_sink = datagram_socket(source->sink_namespace, source->sink_address, SERVER_PORT);

	source->socket = datagram_socket(source->source_namespace, source->source_address, FIRST_PORT);
	if (setsockopt(source->socket, IPPROTO_IP, IP_TOS, &source->ecn, sizeof(source->ecn)) ||
	    connect(source->socket, (void *)&to, sizeof(to)))
		fail("datagrams");
	watch(new_end(DATAGRAM_SINK, at_sink, source, NULL), EPOLLIN);
	fprintf(out, "opened %d %d %d 0 0\n", source->flow, source->index, FIRST_PORT);
	if (source->count)
		set_deadline(zero + source->times[0], send_datagram, source);
}

/* ---- what is looked at ------------------------------------------------------------------------------------------ */

static void tell_counts(void *unused)
{
	unsigned long long at = clock_of_run();

	(void)unused;
	for (size_t i = 0; i < source_count; i++) {
		struct source *s = sources[i];

		if (s->kind == DATAGRAMS)
			fprintf(out, "datagrams %llu %d %llu %llu %llu %llu %llu\n", at, s->flow, (unsigned long long)s->sent,
				(unsigned long long)s->received, (unsigned long long)s->expected,
				(unsigned long long)s->delay, (unsigned long long)s->variation);
		if (s->flow >= 0)
			fprintf(out, "bytes %llu %d %llu\n", at, s->flow, (unsigned long long)s->delivered);
	}
	for (int group = 0; group < group_count; group++)
		fprintf(out, "bytes %llu g %d %llu\n", at, group, (unsigned long long)group_bytes[group]);
}

static void sample(void *unused)
{
	unsigned long long at = clock_of_run();

	(void)unused;
	for (size_t i = 0; i < source_count; i++) {
		struct source *s = sources[i];
		struct tcp_info t = { 0 };

		if (s->flow < 0)
			continue;
		if (s->present && s->present->data)
			t = info_of(s->present->data);
		fprintf(out, "sample %llu %d %u %u %u %d %llu\n", at, s->flow, t.tcpi_snd_cwnd, t.tcpi_snd_ssthresh, t.tcpi_rtt,
			(int)(t.tcpi_unacked + t.tcpi_retrans) - (int)(t.tcpi_sacked + t.tcpi_lost),
			(unsigned long long)s->delivered);
	}
	if (at + sampling < end_of_run)
		set_deadline(zero + at + sampling, sample, NULL);
}

static void progress(void *unused)
{
	(void)unused;
	report_progress((double)clock_of_run() / (double)end_of_run);
	if (clock_of_run() < end_of_run)
		set_deadline(now() + end_of_run / 100 + 1, progress, NULL);
}

static void end(void *unused)
{
	if (sampling && end_of_run % sampling == 0)
		sample(unused);
	tell_counts(unused);
	for (size_t i = 0; i < source_count; i++)
		for (uint32_t port = 0; sources[i]->by_port && port < sources[i]->ports; port++) {
			struct connection *c = sources[i]->by_port[port];

			if (c->data && c->data->connection)
				tell_totals("left", c, false);
		}
	over = true;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static void read_times(struct source *source, const char *name)
{
	FILE *file = open_file(name, "r");

	fseek(file, 0, SEEK_END);
	source->count = (size_t)ftell(file) / sizeof(uint64_t);
	rewind(file);
	source->times = get_memory(source->count * sizeof(uint64_t) + 1);
	if (fread(source->times, sizeof(uint64_t), source->count, file) != source->count)
		fail("%s", name);
	fclose(file);
}

static struct source *new_source(enum kind kind, const char *source_address, const char *sink_address)
{
	struct source *source = get_memory(sizeof(*source));

	source->kind = kind;
	source->index = (int)source_count;
	source->at_once = UINT32_MAX;
	source->stop = NEVER;
	source->pause = -1;
	source->flow = -1;
	if (!inet_aton(source_address, &source->source_address) || !inet_aton(sink_address, &source->sink_address))
		fail("address %s or %s", source_address, sink_address);
	sources = realloc(sources, (source_count + 1) * sizeof(*sources));
	if (!sources)
		fail("out of memory");
	return sources[source_count++] = source;
}

static void arm(struct source *s)
{
	switch (s->kind) {
	case BULK:
	case ASK:
		listen_at(s);
		set_deadline(zero + s->start, start, s);
		if (s->stop != NEVER)
			set_deadline(zero + s->stop, stop, s);
		break;
	case PAGES:
		listen_at(s);
		if (s->count)
			set_deadline(zero + s->times[0], next_page, s);
		break;
	case DATAGRAMS:
		start_datagrams(s);
		break;
	}
}

/* COMMON is SOURCE_NAMESPACE SINK_NAMESPACE SOURCE_ADDRESS SINK_ADDRESS GROUP FLOW; TCP is CONTROL MSS WINDOW. */
static void read_line(const char *line)
{
	char word[16], name[64], a[32], b[32], from[32], to[32];
	unsigned long long n[8] = { 0 };
	int group, flow, used = 0;
	struct source *s;

	if (sscanf(line, "clock %llu %llu %llu %llu %d %d", &n[0], &n[1], &n[2], &n[3], &next_flow, &group_count) == 6) {
		zero = n[0], warmup = n[1], end_of_run = n[2], sampling = n[3];
		group_bytes = get_memory((size_t)group_count * sizeof(*group_bytes));
		return;
	}
	if (sscanf(line, "%15s %31s %31s %31s %31s %d %d %n", word, a, b, from, to, &group, &flow, &used) != 7)
		fail("traffic: %s", line);
	if (group >= group_count)
		fail("traffic: group %d of %d", group, group_count);
	line += used;
	s = new_source(!strcmp(word, "bulk") ? BULK : !strcmp(word, "pages") ? PAGES : !strcmp(word, "ask") ? ASK : DATAGRAMS,
		       from, to);
	s->group = group, s->flow = flow;
	strcpy(s->source_namespace, a);
	strcpy(s->sink_namespace, b);
	used = 0;
	if (s->kind == DATAGRAMS) {
		if (sscanf(line, "%llu %d %63s", &n[0], &s->ecn, name) != 3)
			fail("traffic: %s", line);
		s->size = n[0];
		read_times(s, name);
		return;
	}
	if (sscanf(line, "%15s %d %d %n", s->control, &s->mss, &s->window, &used) != 3)
		fail("traffic: %s", line);
	line += used;
	if (s->kind == BULK && sscanf(line, "%llu %llu %llu %lld", &n[0], &n[1], &n[2], (long long *)&n[3]) == 4) {
		s->start = n[0], s->stop = n[1], s->size = n[2], s->pause = (int64_t)n[3];
	} else if (s->kind == PAGES && sscanf(line, "%llu %llu %llu %llu %63s", &n[0], &n[1], &n[2], &n[3], name) == 5) {
		s->request = n[0], s->size = n[1], s->think = n[2], s->at_once = (uint32_t)n[3];
		read_times(s, name);
	} else if (s->kind == ASK &&
		   sscanf(line, "%llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) == 6) {
		s->start = n[0], s->stop = n[1], s->request = n[2], s->size = n[3], s->think = n[4], s->pause = (int64_t)n[5];
	} else {
		fail("traffic: %s", line);
	}
}

static void wait_for_events(int timer)
{
	struct itimerspec until = { 0 };
	struct epoll_event ready[64];
	uint64_t next = next_deadline(), expirations;
	int count;

	until.it_value.tv_sec = (time_t)(next / SECOND);
	until.it_value.tv_nsec = (long)(next % SECOND);
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &until, NULL))
		fail("timer");
	count = epoll_wait(events, ready, 64, -1);
	for (int i = 0; i < count; i++) {
		struct end *end = ready[i].data.ptr;

		if (!end)
			(void)!read(timer, &expirations, sizeof(expirations));
		else if (end->what == LISTENER)
			on_listener(end);
		else if (end->what == DATAGRAM_SINK)
			on_datagram(end);
		else
			on_tcp(end, ready[i].events);
	}
}

void run_traffic(const char *file, const char *result)
{
	FILE *from = open_file(file, "r");
	struct epoll_event event = { .events = EPOLLIN };
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	char line[512];

	out = open_file(result, "w");
	setvbuf(out, NULL, _IOFBF, 1 << 20);
	events = epoll_create1(EPOLL_CLOEXEC);
	if (events < 0 || timer < 0 || epoll_ctl(events, EPOLL_CTL_ADD, timer, &event))
		fail("epoll");
	be_punctual();
	while (fgets(line, sizeof(line), from))
		read_line(line);
	fclose(from);
	if (now() >= zero)
		fail("the set-up took until %llu ns, the run begins at %llu", (unsigned long long)now(), (unsigned long long)zero);
	for (size_t i = 0; i < source_count; i++)
		arm(sources[i]);
	if (warmup)
		set_deadline(zero + warmup, tell_counts, NULL);
	if (sampling)
		set_deadline(zero + sampling, sample, NULL);
	set_deadline(zero, progress, NULL);
	set_deadline(zero + end_of_run, end, NULL);
	while (!over) {
		if (next_deadline() <= now())
			meet_deadline();
		else
			wait_for_events(timer);
	}
	fclose(out);
}
