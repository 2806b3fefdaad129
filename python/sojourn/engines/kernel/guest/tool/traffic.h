/* The traffic of a scenario: what its parts share. */
#ifndef TRAFFIC_H
#define TRAFFIC_H
#include "timers.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

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
	int tos, socket;	/* the byte of DSCP and ECN; TCP sets the latter itself */
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

/* Where it goes, from the start of the scenario on the clock, and what each group has delivered. */
extern FILE *out;
extern uint64_t zero;
extern uint64_t *group_bytes;

/* Number of the next connection that comes and goes. */
extern int next_flow;

/* What is sent. */
extern char payload[CHUNK];

/* ns since the start of the scenario. */
uint64_t clock_of_run(void);

/* Has the events of a socket told to it. */
void watch(struct end *end, uint32_t interest);

/* No more of it. */
void unwatch(struct end *end);

struct end *new_end(int what, int file, struct source *source, struct connection *connection);
void bind_to(int file, struct in_addr address, int port);

/* connections.c: a source's connections are opened by deadlines, and go on by events. */
void listen_at(struct source *source);
void start(void *source);
void stop(void *source);
void next_page(void *source);
void on_tcp(struct end *end, uint32_t ready);
void on_listener(struct end *end);

/* TCP's own statistics of the end that sends the data. */
struct tcp_info info_of(const struct end *end);

/* Bytes that have come to an end and that it has not read: those that wait for others before them, each counted once. */
uint64_t unread_of(const struct end *end);

/* Writes a line with the packets sent, after `word`. */
void tell_totals(const char *word, const struct connection *c, bool with_time);

/* datagrams.c */
void start_datagrams(struct source *source);
void on_datagram(struct end *end);

#endif
