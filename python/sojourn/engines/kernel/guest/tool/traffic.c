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
 *   bytes AT FLOW DELIVERED ARRIVED	payload of a flow that lasts, in order and all, at each look and at the run's end
 *   bytes AT g GROUP DELIVERED ARRIVED	the same of a whole group
 *   datagrams AT FLOW SENT RECEIVED EXPECTED DELAY VARIATION
 *   sample AT FLOW CWND SSTHRESH SRTT IN_FLIGHT DELIVERED ARRIVED
 */
#include "traffic.h"
#include <sys/timerfd.h>

FILE *out;
uint64_t zero;
uint64_t *group_bytes;
int next_flow;
char payload[CHUNK];

static struct source **sources;
static size_t source_count;
static int group_count;
static uint64_t end_of_run, sampling;
static uint64_t *looks;
static size_t look_count;
static int events = -1;
static bool over;

uint64_t clock_of_run(void)
{
	return now() - zero;
}

void watch(struct end *end, uint32_t interest)
{
	struct epoll_event event = { .events = interest, .data.ptr = end };

	if (epoll_ctl(events, end->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, end->file, &event))
		fail("epoll");
	end->watched = true;
}

void unwatch(struct end *end)
{
	if (epoll_ctl(events, EPOLL_CTL_DEL, end->file, NULL))
		fail("epoll");
}

void bind_to(int file, struct in_addr address, int port)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = address };

	if (bind(file, (void *)&here, sizeof(here)))
		fail("%s port %d", inet_ntoa(address), port);
}

struct end *new_end(int what, int file, struct source *source, struct connection *connection)
{
	struct end *end = get_memory(sizeof(*end));

	*end = (struct end){ .what = what, .file = file, .source = source, .connection = connection };
	return end;
}

/* ---- what is looked at ------------------------------------------------------------------------------------------ */

/* Bytes that have come to a source's sinks and that nobody has read: most of them wait for others before them. */
static uint64_t waiting_of(const struct source *s)
{
	uint64_t bytes = 0;

	for (uint32_t port = 0; s->by_port && port < s->ports; port++) {
		const struct end *sink = s->by_port[port]->sink;

		if (sink && sink->connection)
			bytes += unread_of(sink);
	}
	return bytes;
}

static void tell_counts(void *unused)
{
	unsigned long long at = clock_of_run(), waiting;
	uint64_t *arrived = get_memory((size_t)group_count * sizeof(*arrived) + 1);

	(void)unused;
	memcpy(arrived, group_bytes, (size_t)group_count * sizeof(*arrived));
	for (size_t i = 0; i < source_count; i++) {
		struct source *s = sources[i];

		if (s->kind == DATAGRAMS)
			fprintf(out, "datagrams %llu %d %llu %llu %llu %llu %llu\n", at, s->flow, (unsigned long long)s->sent,
				(unsigned long long)s->received, (unsigned long long)s->expected,
				(unsigned long long)s->delay, (unsigned long long)s->variation);
		waiting = waiting_of(s);
		arrived[s->group] += waiting;
		if (s->flow >= 0)
			fprintf(out, "bytes %llu %d %llu %llu\n", at, s->flow, (unsigned long long)s->delivered,
				(unsigned long long)s->delivered + waiting);
	}
	for (int group = 0; group < group_count; group++)
		fprintf(out, "bytes %llu g %d %llu %llu\n", at, group, (unsigned long long)group_bytes[group],
			(unsigned long long)arrived[group]);
	free(arrived);
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
		fprintf(out, "sample %llu %d %u %u %u %d %llu %llu\n", at, s->flow, t.tcpi_snd_cwnd, t.tcpi_snd_ssthresh, t.tcpi_rtt,
			(int)(t.tcpi_unacked + t.tcpi_retrans) - (int)(t.tcpi_sacked + t.tcpi_lost),
			(unsigned long long)s->delivered, (unsigned long long)(s->delivered + waiting_of(s)));
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

/* COMMON is SOURCE_NAMESPACE SINK_NAMESPACE SOURCE_ADDRESS SINK_ADDRESS GROUP FLOW; TCP is CONTROL MSS WINDOW TOS. */
static void read_line(const char *line)
{
	char word[16], name[64], a[32], b[32], from[32], to[32];
	unsigned long long n[8] = { 0 };
	int group, flow, used = 0;
	struct source *s;

	if (sscanf(line, "clock %llu %llu %llu %d %d", &n[0], &n[1], &n[2], &next_flow, &group_count) == 5) {
		zero = n[0], end_of_run = n[1], sampling = n[2];
		group_bytes = get_memory((size_t)group_count * sizeof(*group_bytes));
		return;
	}
	if (sscanf(line, "look %llu", &n[0]) == 1) {
		looks = realloc(looks, (look_count + 1) * sizeof(*looks));
		if (!looks)
			fail("memory");
		looks[look_count++] = n[0];
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
	for (size_t i = 0; i < look_count; i++)
		set_deadline(zero + looks[i], tell_counts, NULL);
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
