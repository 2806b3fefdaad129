// SPDX-License-Identifier: GPL-2.0
/*
 * The trace of the links: every packet that is offered to the queue discipline of a device with a number, and what becomes
 * of it, goes to a file of the host, in the order in which it happens, and so does every time-out of a TCP connection.
 *
 * All draws of the queue disciplines come from one stream here (splitmix64), which can be started anew; those of the
 * congestion control of each source come from the stream that it has in the simulator.
 *
 * This file is compiled into the kernel and is no part of the programs around it; see LICENSE beside it.
 */
#include <linux/ip.h>
#include <net/inet_sock.h>
#include <net/sch_generic.h>
#include <os.h>
#include "sojourn.h"

/* ---- the random stream ------------------------------------------------------------------------------------------ */

u64 sojourn_random64(void);
u32 sojourn_random32(void);
u16 sojourn_random16(void);

#define GOLDEN 0x9e3779b97f4a7c15ULL

static u64 random_state;
static u64 random_draws;
static u64 seed_of_controls;
static u64 states_of_controls[65536];	/* by the number of the source; 0 before the first draw */

static u64 mix(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 sojourn_random64(void)
{
	random_draws++;
	return mix(random_state += GOLDEN);
}

/*
 * A number below `most` for the congestion control of a connection. The stream is that of the component "cc" with the
 * number of the source, which its address tells (Rng::stream in crates/aqm).
 */
u32 sojourn_of_control(const struct sock *sk, u32 most);
u32 sojourn_of_control(const struct sock *sk, u32 most)
{
	u64 number = ntohl(inet_sk(sk)->inet_saddr) & 0xffff;
	u64 *state = &states_of_controls[number];

	if (!*state)
		*state = mix(mix(mix(mix(seed_of_controls ^ GOLDEN) ^ 'c') ^ 'c') ^ number * GOLDEN);
	*state += GOLDEN;
	return (unsigned __int128)mix(*state) * most >> 64;
}

u32 sojourn_random32(void)
{
	return sojourn_random64() >> 32;
}

u16 sojourn_random16(void)
{
	return sojourn_random64() >> 48;
}

int sojourn_restart_random(void __user *data)
{
	u64 values[2];

	if (copy_from_user(values, data, sizeof(values)))
		return -EFAULT;
	random_state = seed_of_controls = values[0];
	memset(states_of_controls, 0, sizeof(states_of_controls));
	values[1] = random_draws;
	random_draws = 0;
	return copy_to_user(data, values, sizeof(values)) ? -EFAULT : 0;
}

/* ---- the trace -------------------------------------------------------------------------------------------------- */

enum { OFFERED, SENT, DROPPED, REFUSED, TIMED_OUT };

struct event {
	u64 at;
	u32 id;
	u32 bytes;		/* as the queue discipline counts them */
	u32 source, destination;
	u16 source_port, destination_port;
	u8 what, link, ecn, protocol;
	u16 segments;		/* of a super-packet, else 1 */
	u16 flags;		/* of TCP, from FIN (1) to AE (256) */
} __packed;

static struct {
	int file;
	u32 ids;
	u32 filled;
	struct event events[2048];
} trace = { .file = -1 };

static void trace_flush(void)
{
	const char *from = (const char *)trace.events;
	int left = trace.filled * sizeof(struct event);

	trace.filled = 0;
	while (left > 0 && trace.file >= 0) {
		int written = os_write_file(trace.file, from, left);

		if (written <= 0)
			panic("sojourn: the trace cannot be written: error %d\n", -written);
		from += written;
		left -= written;
	}
}

static u32 trace_id(const struct sk_buff *skb)
{
	return (u32)(uintptr_t)skb_shinfo(skb)->destructor_arg;
}

static void trace_add(struct event event)
{
	if (trace.file < 0)
		return;
	trace.events[trace.filled] = event;
	if (++trace.filled == ARRAY_SIZE(trace.events))
		trace_flush();
}

static u16 tcp_flags(const struct iphdr *ip)
{
	if (ip->protocol != IPPROTO_TCP)
		return 0;
	return ntohs(((const __be16 *)((const u8 *)ip + ip->ihl * 4))[6]) & 0x1ff;
}

static void trace_note(u8 what, u8 link, const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const __be16 *ports = (const __be16 *)((const u8 *)ip + ip->ihl * 4);

	trace_add((struct event) {
		.at = ktime_get_ns(), .id = trace_id(skb), .what = what, .link = link,
		.bytes = what == OFFERED ? qdisc_pkt_len(skb) : 0,
		.source = ntohl(ip->saddr), .destination = ntohl(ip->daddr),
		.source_port = ntohs(ports[0]), .destination_port = ntohs(ports[1]),
		.ecn = ip->tos & 3, .protocol = ip->protocol,
		.segments = skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1,
		.flags = tcp_flags(ip),
	});
}

/* Called when a connection's retransmission timer has run out; the addresses are those of the packets it sends. */
void sojourn_timed_out(const struct sock *sk);
void sojourn_timed_out(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	trace_add((struct event) {
		.at = ktime_get_ns(), .what = TIMED_OUT, .link = NOT_TRACED,
		.source = ntohl(inet->inet_saddr), .destination = ntohl(inet->inet_daddr),
		.source_port = ntohs(inet->inet_sport), .destination_port = ntohs(inet->inet_dport),
		.protocol = sk->sk_protocol,
	});
}

static u8 number_of(const struct net_device *dev)
{
	if (dev->netdev_ops != &sojourn_ops)
		return NOT_TRACED;
	return ((struct way *)netdev_priv(dev))->config.number;
}

/* A traced packet is freed without having been sent: the queue discipline dropped it. */
static void note_drop(struct sk_buff *skb)
{
	trace_note(DROPPED, number_of(skb->dev), skb);
}

static void note_refusal(struct sk_buff *skb)
{
	trace_note(REFUSED, number_of(skb->dev), skb);
}

/* What depends on the kernel's own hash, and on how it allocates memory, becomes what the sender says. */
static void name_packet(struct sk_buff *skb)
{
	if (skb->mark)
		skb_set_hash(skb, skb->mark, PKT_HASH_TYPE_L4);
	skb->truesize = skb->len;
}

/* Called for every packet just before it is offered to a queue discipline, and for every segment that one cuts. */
void sojourn_offered(struct sk_buff *skb, struct net_device *dev);
void sojourn_offered(struct sk_buff *skb, struct net_device *dev)
{
	u8 number = number_of(dev);
	u32 flags;

	if (number == NOT_TRACED || trace.file < 0)
		return;
	flags = ((struct way *)netdev_priv(dev))->config.flags;
	if (flags & SPLITS && skb_is_gso(skb))
		return;
	skb_orphan(skb);
	skb_shinfo(skb)->destructor_arg = (void *)(uintptr_t)trace.ids++;
	skb->destructor = note_drop;
	if (flags & NAMED)
		name_packet(skb);
	trace_note(OFFERED, number, skb);
}

/* Called with the packets that a queue discipline dropped while another one, or one of them, was offered. */
void sojourn_refused(struct sk_buff *list);
void sojourn_refused(struct sk_buff *list)
{
	for (; list; list = list->next)
		if (list->destructor == note_drop)
			list->destructor = note_refusal;
}

void sojourn_note_sent(struct way *way, struct sk_buff *skb)
{
	if (skb->destructor == note_drop) {
		trace_note(SENT, way->config.number, skb);
		skb->destructor = NULL;
		skb_shinfo(skb)->destructor_arg = NULL;
	}
}

int sojourn_open_trace(void __user *data)
{
	char name[512];
	long length = strncpy_from_user(name, data, sizeof(name));

	if (length < 0 || length == sizeof(name))
		return -EINVAL;
	trace_flush();
	if (!length)
		return 0;
	if (trace.file >= 0)
		os_close_file(trace.file);
	trace.ids = 0;
	trace.file = os_open_file(name, of_create(of_trunc(of_write(OPENFLAGS()))), 0644);
	return trace.file < 0 ? trace.file : 0;
}
