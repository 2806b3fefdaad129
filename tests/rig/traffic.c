/*
 * UDP with an ECN field: `traffic send ADDRESS PORT BYTES PACKETS_PER_S SECONDS TOS`, or `traffic receive PORT
 * IDLE_SECONDS`, which counts the packets of each ECN codepoint until none has come for so long.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

static char data[65536];

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static void send_packets(char **words)
{
	int udp = socket(AF_INET, SOCK_DGRAM, 0), bytes = atoi(words[2]), tos = atoi(words[5]), room = 1 << 24;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(words[1])) };
	double rate = atof(words[3]), duration = atof(words[4]), start = seconds_now();
	long sent = 0;

	inet_pton(AF_INET, words[0], &to.sin_addr);
	setsockopt(udp, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	/* The queue discipline, not the socket's buffer, limits the queue. */
	setsockopt(udp, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	while (seconds_now() - start < duration) {
		struct timespec pause = { .tv_nsec = 500000 };
		long due = (seconds_now() - start) * rate;

		for (; sent < due; sent++)
			sendto(udp, data, bytes, 0, (void *)&to, sizeof(to));
		nanosleep(&pause, NULL);
	}
	printf("sent %ld\n", sent);
}

static void receive_packets(char **words)
{
	int udp = socket(AF_INET, SOCK_DGRAM, 0), one = 1, room = 1 << 24;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(atoi(words[0])) };
	struct timeval idle = { .tv_sec = atoi(words[1]) };
	long ecn[4] = {};

	bind(udp, (void *)&at, sizeof(at));
	setsockopt(udp, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one));
	setsockopt(udp, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	setsockopt(udp, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	for (;;) {
		char control[64];
		struct iovec vector = { data, sizeof(data) };
		struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
		struct cmsghdr *field;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		if (recvmsg(udp, &message, 0) < 0)
			break;
		field = CMSG_FIRSTHDR(&message);
		if (field && field->cmsg_level == IPPROTO_IP && field->cmsg_type == IP_TOS)
			ecn[*(unsigned char *)CMSG_DATA(field) & 3]++;
	}
	printf("received %ld CE %ld\n", ecn[0] + ecn[1] + ecn[2] + ecn[3], ecn[3]);
}

int main(int count, char **words)
{
	if (count == 8 && !strcmp(words[1], "send"))
		send_packets(words + 2);
	else if (count == 4 && !strcmp(words[1], "receive"))
		receive_packets(words + 2);
	else
		return 1;
	return 0;
}
