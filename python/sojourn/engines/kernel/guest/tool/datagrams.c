/* Datagrams, each with a sequence number and its send time. */
#include "traffic.h"

struct stamp {
	uint64_t number, sent_at;
};

static int datagram_socket(const char *namespace, struct in_addr address, int port)
{
	int fd, buffer = 1 << 30;

	enter_namespace(namespace);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enter_namespace("-");
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof(buffer)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)))
		fail("socket");
	bind_socket(fd, address, port);
	return fd;
}

static void send_datagram(void *argument)
{
	struct source *source = argument;
	struct stamp stamp = { source->sent++, run_time() };

	if (source->sent < source->count)
		set_deadline(start_time + source->times[source->sent], send_datagram, source);
	memcpy(payload, &stamp, sizeof(stamp));
	if (send(source->socket, payload, source->size - 28, MSG_NOSIGNAL) < 0)
		fail("datagram of source %d", source->index);
	memset(payload, 0, sizeof(stamp));
}

void on_datagram(struct endpoint *ep)
{
	struct source *source = ep->source;
	struct stamp stamp;
	ssize_t bytes;

	while ((bytes = recv(ep->fd, &stamp, sizeof(stamp), MSG_TRUNC)) >= (ssize_t)sizeof(stamp)) {
		uint64_t delay = run_time() - stamp.sent_at;

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
	int sink_fd = datagram_socket(source->sink_namespace, source->sink_address, SERVER_PORT);

	source->socket = datagram_socket(source->source_namespace, source->source_address, FIRST_PORT);
	if (setsockopt(source->socket, IPPROTO_IP, IP_TOS, &source->tos, sizeof(source->tos)) ||
	    connect(source->socket, (void *)&to, sizeof(to)))
		fail("datagrams");
	watch(new_endpoint(DATAGRAM_SINK, sink_fd, source, NULL), EPOLLIN);
	fprintf(out, "opened %d %d %d 0 0\n", source->flow, source->index, FIRST_PORT);
	if (source->count)
		set_deadline(start_time + source->times[0], send_datagram, source);
}

