/*
 * Scripted packets to the queue discipline of a device, at given times. A line of ARRIVALS:
 * `time size port tos priority mark source destination`, the time in ns of the monotonic clock. All fields by which the
 * queue discipline or its filters classify a packet are given, so that no hash of the kernel decides: UDP source port,
 * TOS byte, priority and mark of the socket, and the last bytes of the addresses 10.0.0.SOURCE and 10.0.1.DESTINATION.
 * OUT gets the number of each packet whose send failed with ENOBUFS: dropped at its enqueue.
 */
#include "guest.h"
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <time.h>

struct arrival {
	unsigned long long at;
	uint32_t size, port, tos, priority, mark, source, destination;
};

static uint8_t packet[65536];

static int new_sender(void)
{
	int unlimited = 1 << 30, fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &unlimited, sizeof(unlimited)))
		fail("packet socket");
	return fd;
}

/* Set a socket option unless it has this value. */
static void set_option(int sender, int option, uint32_t value, uint32_t *current)
{
	if (value != *current && setsockopt(sender, SOL_SOCKET, option, &value, sizeof(value)))
		fail("packet socket");
	*current = value;
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* Build the IP datagram of an arrival. */
static void fill_packet(const struct arrival *arrival)
{
	uint32_t sum = 0;

	memset(packet, 0, 28);
	packet[0] = 0x45;
	packet[1] = (uint8_t)arrival->tos;
	put16(packet + 2, arrival->size);
	packet[8] = 64;
	packet[9] = IPPROTO_UDP;
	memcpy(packet + 12, (uint8_t[8]){ 10, 0, 0, (uint8_t)arrival->source, 10, 0, 1, (uint8_t)arrival->destination }, 8);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)packet[i] << 8 | packet[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(packet + 10, ~(sum + (sum >> 16)));
	put16(packet + 20, arrival->port);
	put16(packet + 22, 7);
	put16(packet + 24, arrival->size - 20);
}

void replay(const char *device, const char *arrivals, const char *out, uint64_t end)
{
	FILE *from = open_file(arrivals, "r"), *to = open_file(out, "w");
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	uint32_t priority = 0, mark = 0;
	struct arrival a;
	int sender = new_sender();

	address.sll_ifindex = (int)if_nametoindex(device);
	set_realtime_priority();
	for (uint32_t number = 0; fscanf(from, "%llu %u %u %u %u %u %u %u", &a.at, &a.size, &a.port, &a.tos, &a.priority,
					 &a.mark, &a.source, &a.destination) == 8; number++) {
		if (a.size < 28 || a.size > sizeof(packet) || now() > a.at)
			fail("arrival %u: %u bytes at %llu, the clock is at %llu", number, a.size, a.at,
			     (unsigned long long)now());
		fill_packet(&a);
		set_option(sender, SO_PRIORITY, a.priority, &priority);
		set_option(sender, SO_MARK, a.mark, &mark);
		sleep_until(a.at);
		if (sendto(sender, packet, a.size, 0, (void *)&address, sizeof(address)) < 0) {
			if (errno != ENOBUFS)
				fail("packet %u", number);
			fprintf(to, "%u\n", number);
		}
	}
	sleep_until(end);
	close(sender);
	fclose(from);
	fclose(to);
}
