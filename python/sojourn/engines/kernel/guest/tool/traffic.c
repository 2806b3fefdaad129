/*
 * Traffic of a scenario: TCP transfers, requests and responses, datagrams. All times and sizes come from the file that
 * the host wrote; there is no randomness here. Events are lines of OUT, with times in ns from the start of the scenario:
 *
 *   opened FLOW SOURCE PORT ASKED AT	a flow starts; PORT is the local port of the end that connects
 *   done FLOW SOURCE BEGUN AT BYTES	the last byte of a transfer arrived
 *   closed FLOW SOURCE AT SENT AGAIN	both ends have read EOF; data packets sent and retransmitted
 *   failed FLOW SOURCE AT ERROR		the connection failed
 *   left FLOW SOURCE SENT AGAIN		as `closed`, for a connection that is open at the end
 *   bytes AT FLOW DELIVERED ARRIVED	payload of a long flow, in order and in total, at each report and at the end
 *   bytes AT g GROUP DELIVERED ARRIVED	the same for a group
 *   datagrams AT FLOW SENT RECEIVED EXPECTED DELAY VARIATION
 *   sample AT FLOW CWND SSTHRESH SRTT IN_FLIGHT DELIVERED ARRIVED
 */
#include "traffic.h"
#include <sys/timerfd.h>

FILE *out;
uint64_t start_time;
uint64_t *group_bytes;
int next_flow;
char payload[CHUNK];

static struct source **sources;
static size_t source_count;
static int group_count;
static uint64_t duration, sample_interval;
static uint64_t *report_times;
static size_t report_count;
static int events = -1;
static bool is_over;

uint64_t run_time(void)
{
	return now() - start_time;
}

void watch(struct endpoint *ep, uint32_t interest)
{
	struct epoll_event event = { .events = interest, .data.ptr = ep };

	if (epoll_ctl(events, ep->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, ep->fd, &event))
		fail("epoll");
	ep->watched = true;
}

void unwatch(struct endpoint *ep)
{
	if (epoll_ctl(events, EPOLL_CTL_DEL, ep->fd, NULL))
		fail("epoll");
}

void bind_socket(int fd, struct in_addr address, int port)
{
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = address };

	if (bind(fd, (void *)&local, sizeof(local)))
		fail("%s port %d", inet_ntoa(address), port);
}

struct endpoint *new_endpoint(int type, int fd, struct source *source, struct connection *connection)
{
	struct endpoint *ep = zalloc(sizeof(*ep));

	*ep = (struct endpoint){ .type = type, .fd = fd, .source = source, .connection = connection };
	return ep;
}

/* ---- reports ---------------------------------------------------------------------------------------------------- */

/* Unread bytes at a source's sinks; most of them are out of order. */
static uint64_t sink_unread_bytes(const struct source *s)
{
	uint64_t bytes = 0;

	for (uint32_t port = 0; s->by_port && port < s->ports; port++) {
		const struct endpoint *sink = s->by_port[port]->sink;

		if (sink && sink->connection)
			bytes += unread_bytes(sink);
	}
	return bytes;
}

static void print_counts(void *unused)
{
	unsigned long long at = run_time(), unread;
	uint64_t *arrived = zalloc((size_t)group_count * sizeof(*arrived) + 1);

	(void)unused;
	memcpy(arrived, group_bytes, (size_t)group_count * sizeof(*arrived));
	for (size_t i = 0; i < source_count; i++) {
		struct source *s = sources[i];

		if (s->kind == DATAGRAMS)
			fprintf(out, "datagrams %llu %d %llu %llu %llu %llu %llu\n", at, s->flow,
				(unsigned long long)s->sent, (unsigned long long)s->received, (unsigned long long)s->expected,
				(unsigned long long)s->delay, (unsigned long long)s->variation);
		unread = sink_unread_bytes(s);
		arrived[s->group] += unread;
		if (s->flow >= 0)
			fprintf(out, "bytes %llu %d %llu %llu\n", at, s->flow, (unsigned long long)s->delivered,
				(unsigned long long)s->delivered + unread);
	}
	for (int group = 0; group < group_count; group++)
		fprintf(out, "bytes %llu g %d %llu %llu\n", at, group, (unsigned long long)group_bytes[group],
			(unsigned long long)arrived[group]);
	free(arrived);
}

static void sample(void *unused)
{
	unsigned long long at = run_time();

	(void)unused;
	for (size_t i = 0; i < source_count; i++) {
		struct source *s = sources[i];
		struct tcp_info t = { 0 };

		if (s->flow < 0)
			continue;
		if (s->current && s->current->data)
			t = get_tcp_info(s->current->data);
		fprintf(out, "sample %llu %d %u %u %u %d %llu %llu\n", at, s->flow, t.tcpi_snd_cwnd, t.tcpi_snd_ssthresh,
			t.tcpi_rtt,
			(int)(t.tcpi_unacked + t.tcpi_retrans) - (int)(t.tcpi_sacked + t.tcpi_lost),
			(unsigned long long)s->delivered, (unsigned long long)(s->delivered + sink_unread_bytes(s)));
	}
	if (at + sample_interval < duration)
		set_deadline(start_time + at + sample_interval, sample, NULL);
}

static void on_progress(void *unused)
{
	(void)unused;
	report_progress((double)run_time() / (double)duration);
	if (run_time() < duration)
		set_deadline(now() + duration / 100 + 1, on_progress, NULL);
}

static void finish_run(void *unused)
{
	if (sample_interval && duration % sample_interval == 0)
		sample(unused);
	print_counts(unused);
	for (size_t i = 0; i < source_count; i++)
		for (uint32_t port = 0; sources[i]->by_port && port < sources[i]->ports; port++) {
			struct connection *c = sources[i]->by_port[port];

			if (c->data && c->data->connection)
				print_totals("left", c, false);
		}
	is_over = true;
}

/* ---- input ------------------------------------------------------------------------------------------------------ */

static void read_times(struct source *source, const char *name)
{
	FILE *file = open_file(name, "r");

	fseek(file, 0, SEEK_END);
	source->count = (size_t)ftell(file) / sizeof(uint64_t);
	rewind(file);
	source->times = zalloc(source->count * sizeof(uint64_t) + 1);
	if (fread(source->times, sizeof(uint64_t), source->count, file) != source->count)
		fail("%s", name);
	fclose(file);
}

static struct source *new_source(enum kind kind, const char *source_address, const char *sink_address)
{
	struct source *source = zalloc(sizeof(*source));

	source->kind = kind;
	source->index = (int)source_count;
	source->max_open = UINT32_MAX;
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

static void schedule_source(struct source *s)
{
	switch (s->kind) {
	case BULK:
	case REQUESTS:
		start_listening(s);
		set_deadline(start_time + s->start, start_source, s);
		if (s->stop != NEVER)
			set_deadline(start_time + s->stop, stop_source, s);
		break;
	case PAGES:
		start_listening(s);
		if (s->count)
			set_deadline(start_time + s->times[0], next_page, s);
		break;
	case DATAGRAMS:
		start_datagrams(s);
		break;
	}
}

/* COMMON is SOURCE_NAMESPACE SINK_NAMESPACE SOURCE_ADDRESS SINK_ADDRESS GROUP FLOW; TCP is CONTROL MSS WINDOW TOS. */
static void read_line(const char *line)
{
	char word[16], name[64], a[32], b[32], from[32], to[32];
	unsigned long long n[8] = { 0 };
	int group, flow, used = 0;
	struct source *s;

	if (sscanf(line, "clock %llu %llu %llu %d %d", &n[0], &n[1], &n[2], &next_flow, &group_count) == 5) {
		start_time = n[0], duration = n[1], sample_interval = n[2];
		group_bytes = zalloc((size_t)group_count * sizeof(*group_bytes));
		return;
	}
	if (sscanf(line, "look %llu", &n[0]) == 1) {
		report_times = realloc(report_times, (report_count + 1) * sizeof(*report_times));
		if (!report_times)
			fail("memory");
		report_times[report_count++] = n[0];
		return;
	}
	if (sscanf(line, "%15s %31s %31s %31s %31s %d %d %n", word, a, b, from, to, &group, &flow, &used) != 7)
		fail("traffic: %s", line);
	if (group >= group_count)
		fail("traffic: group %d of %d", group, group_count);
	line += used;
	s = new_source(!strcmp(word, "bulk") ? BULK :
		       !strcmp(word, "pages") ? PAGES :
		       !strcmp(word, "ask") ? REQUESTS : DATAGRAMS, from, to);
	s->group = group, s->flow = flow;
	strcpy(s->source_namespace, a);
	strcpy(s->sink_namespace, b);
	used = 0;
	if (s->kind == DATAGRAMS) {
		if (sscanf(line, "%llu %d %63s", &n[0], &s->tos, name) != 3)
			fail("traffic: %s", line);
		s->size = n[0];
		read_times(s, name);
		return;
	}
	if (sscanf(line, "%15s %d %d %d %n", s->control, &s->mss, &s->window, &s->tos, &used) != 4)
		fail("traffic: %s", line);
	line += used;
	if (s->kind == BULK && sscanf(line, "%llu %llu %llu %lld", &n[0], &n[1], &n[2], (long long *)&n[3]) == 4) {
		s->start = n[0], s->stop = n[1], s->size = n[2], s->pause = (int64_t)n[3];
	} else if (s->kind == PAGES && sscanf(line, "%llu %llu %llu %llu %63s", &n[0], &n[1], &n[2], &n[3], name) == 5) {
		s->request = n[0], s->size = n[1], s->think = n[2], s->max_open = (uint32_t)n[3];
		read_times(s, name);
	} else if (s->kind == REQUESTS &&
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
		struct endpoint *ep = ready[i].data.ptr;

		if (!ep)
			(void)!read(timer, &expirations, sizeof(expirations));
		else if (ep->type == LISTENER)
			on_listener(ep);
		else if (ep->type == DATAGRAM_SINK)
			on_datagram(ep);
		else
			on_tcp(ep, ready[i].events);
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
	set_realtime_priority();
	while (fgets(line, sizeof(line), from))
		read_line(line);
	fclose(from);
	if (now() >= start_time)
		fail("the set-up took until %llu ns, the run begins at %llu", (unsigned long long)now(),
		     (unsigned long long)start_time);
	for (size_t i = 0; i < source_count; i++)
		schedule_source(sources[i]);
	for (size_t i = 0; i < report_count; i++)
		set_deadline(start_time + report_times[i], print_counts, NULL);
	if (sample_interval)
		set_deadline(start_time + sample_interval, sample, NULL);
	set_deadline(start_time, on_progress, NULL);
	set_deadline(start_time + duration, finish_run, NULL);
	while (!is_over) {
		if (next_deadline() <= now())
			run_deadline();
		else
			wait_for_events(timer);
	}
	fclose(out);
}
