/* Datagrams, each with its number and the time of its sending. */
#include "traffic.h"

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

void on_datagram(struct end *end)
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

void start_datagrams(struct source *source)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT), .sin_addr = source->sink_address };
	int at_sink = datagram_socket(source->sink_namespace, source->sink_address, SERVER_PORT);

	source->socket = datagram_socket(source->source_namespace, source->source_address, FIRST_PORT);
	if (setsockopt(source->socket, IPPROTO_IP, IP_TOS, &source->tos, sizeof(source->tos)) ||
	    connect(source->socket, (void *)&to, sizeof(to)))
		fail("datagrams");
	watch(new_end(DATAGRAM_SINK, at_sink, source, NULL), EPOLLIN);
	fprintf(out, "opened %d %d %d 0 0\n", source->flow, source->index, FIRST_PORT);
	if (source->count)
		set_deadline(zero + source->times[0], send_datagram, source);
}

