/*
 * Scripted packets through the queue discipline of a device, each at its instant. A line of ARRIVALS:
 * `time size flow ecn`, the time in ns of the monotonic clock. A packet's class in the discipline is chosen by its
 * priority (CLASS + flow), not by a hash. OUT gets the number of each packet that the sender was told of as dropped.
 */
#include "guest.h"
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <time.h>

#define MOST_FLOWS 1024
/* The discipline is 10:, its classes count from 1. */
#define CLASS ((0x10 << 16) + 1)

static int sockets[MOST_FLOWS];
static uint8_t packet[65536];

static int socket_of(uint32_t flow)
{
	int unlimited = 1 << 30, class = CLASS + (int)flow, made;

	if (flow >= MOST_FLOWS)
		fail("flow %u is beyond %d", flow, MOST_FLOWS);
	if (sockets[flow])
		return sockets[flow];
	made = socket(AF_PACKET, SOCK_RAW, 0);
	if (made < 0 || setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &unlimited, sizeof(unlimited)) ||
	    setsockopt(made, SOL_SOCKET, SO_PRIORITY, &class, sizeof(class)))
		fail("packet socket");
	return sockets[flow] = made;
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* An IP datagram of `size` bytes. */
static void fill(uint32_t size, uint32_t flow, uint32_t ecn)
{
	uint32_t sum = 0;

	memset(packet, 0, 28);
	packet[0] = 0x45;
	packet[1] = (uint8_t)ecn;
	put16(packet + 2, size);
	packet[8] = 64;
	packet[9] = IPPROTO_UDP;
	memcpy(packet + 12, (uint8_t[8]){ 10, 0, 0, 1, 10, 0, 0, 2 }, 8);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)packet[i] << 8 | packet[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(packet + 10, ~(sum + (sum >> 16)));
	put16(packet + 20, 1000 + flow);
	put16(packet + 22, 7);
	put16(packet + 24, size - 20);
}

static void sleep_until(uint64_t at)
{
	struct timespec t = { (time_t)(at / SECOND), (long)(at % SECOND) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void replay(const char *device, const char *arrivals, const char *out, uint64_t end)
{
	FILE *from = open_file(arrivals, "r"), *to = open_file(out, "w");
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	unsigned long long at;
	uint32_t size, flow, ecn;

	address.sll_ifindex = (int)if_nametoindex(device);
	be_punctual();
	for (uint32_t number = 0; fscanf(from, "%llu %u %u %u", &at, &size, &flow, &ecn) == 4; number++) {
		int sender = socket_of(flow);

		if (size < 28 || size > sizeof(packet) || now() > at)
			fail("arrival %u: %u bytes at %llu, the clock is at %llu", number, size, at, (unsigned long long)now());
		fill(size, flow, ecn);
		sleep_until(at);
		if (sendto(sender, packet, size, 0, (void *)&address, sizeof(address)) < 0) {
			if (errno != ENOBUFS)
				fail("packet %u", number);
			fprintf(to, "%u\n", number);
		}
	}
	sleep_until(end);
	fclose(from);
	fclose(to);
}
