/* Shared declarations of a scenario's traffic. */
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
#define MAX_PORTS (65536 - FIRST_PORT)
#define CHUNK 65536
#define NEVER UINT64_MAX

enum kind { BULK, PAGES, REQUESTS, DATAGRAMS };

struct source {
	enum kind kind;
	int index, group, flow;
	/* sender and receiver of the data */
	char source_namespace[32], sink_namespace[32];
	struct in_addr source_address, sink_address;
	char control[16];
	int mss, window;
	uint64_t start, stop;
	uint64_t size, request, think;
	int64_t pause;
	/* times of pages or datagrams */
	uint64_t *times;
	size_t count, due, opened;
	uint32_t max_open, open;
	struct endpoint *listener;
	struct connection **by_port;
	uint32_t ports;
	struct connection *current;
	int tos, socket;	/* DSCP and ECN; TCP sets ECN itself */
	uint64_t delivered, sent, received, expected, delay, variation, last_delay;
};

struct endpoint {
	enum { LISTENER, TCP_SOCKET, DATAGRAM_SINK } type;
	int fd;
	struct source *source;
	struct connection *connection;
	bool watched, connected, finish, shut, ended;
	uint64_t left, received;
};

struct connection {
	struct source *source;
	int flow;
	/* sender of the data, its receiver, and the end that connects */
	struct endpoint *data, *sink, *active;
	uint64_t requested_at, began_at;
	/* bytes received at the end of the current request, or of its response */
	uint64_t request_end, response_end;
};

extern FILE *out;
extern uint64_t start_time;	/* of the scenario, on the monotonic clock */
extern uint64_t *group_bytes;	/* delivered, by group */

/* Number of the next flow without a fixed number. */
extern int next_flow;

extern char payload[CHUNK];

/* Time since the start of the scenario, ns. */
uint64_t run_time(void);

/* Poll a socket for EPOLLIN, EPOLLOUT, or both. */
void watch(struct endpoint *ep, uint32_t interest);

void unwatch(struct endpoint *ep);

struct endpoint *new_endpoint(int type, int fd, struct source *source, struct connection *connection);
void bind_socket(int fd, struct in_addr address, int port);

/* connections.c: deadlines open a source's connections, socket events drive them. */
void start_listening(struct source *source);
void start_source(void *source);
void stop_source(void *source);
void next_page(void *source);
void on_tcp(struct endpoint *ep, uint32_t ready);
void on_listener(struct endpoint *ep);

/* TCP_INFO of a socket. */
struct tcp_info get_tcp_info(const struct endpoint *ep);

/* Unread bytes of a socket, in order and out of order, each counted once. */
uint64_t unread_bytes(const struct endpoint *ep);

/* Print a line with `word` and the numbers of data packets sent and retransmitted. */
void print_totals(const char *word, const struct connection *c, bool with_time);

/* datagrams.c */
void start_datagrams(struct source *source);
void on_datagram(struct endpoint *ep);

#endif
