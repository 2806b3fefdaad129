// SPDX-License-Identifier: GPL-2.0
/*
 * Trace of the links: every packet that is offered to the queue discipline of a device with a number, and its fate, are
 * written to a file on the host in order of time, as is every retransmission timeout of TCP.
 *
 * The queue discipline of a device draws from a random stream of that device (splitmix64), the congestion control of a
 * source from a stream of that source. Both streams, and the hash of flows in queue disciplines, are the simulator's, as
 * are the hosts of flows.
 *
 * This file is compiled into the kernel and is not part of Sojourn's programs; see LICENSE in this package.
 */
#include <linux/ip.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/sch_generic.h>
#include <os.h>
#include "sojourn.h"

/* ---- the random streams ----------------------------------------------------------------------------------------- */

u64 sojourn_random64(void);
u32 sojourn_random32(void);
u16 sojourn_random16(void);

#define GOLDEN 0x9e3779b97f4a7c15ULL
#define FIRST_PORT 10000	/* source port of a source's first connection (guest/tool/traffic.h) */

/* Random streams by device number. */
static struct stream {
	u64 state;
	u64 perturbation;	/* of the flow hash */
	bool is_started;
} streams[NOT_TRACED + 1];

static u8 active_stream = NOT_TRACED;	/* device whose queue discipline ran last, among those with a stream */
static u64 control_seed;
static u64 control_states[65536];	/* by source number; 0 before the first draw */

static u64 mix(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 sojourn_random64(void)
{
	return mix(streams[active_stream].state += GOLDEN);
}

/*
 * Random number below `bound` for the congestion control of a connection. The stream is that of the component "cc" with
 * the source's number, which is part of its address (Rng::stream in crates/aqm).
 */
u32 sojourn_control_random(const struct sock *sk, u32 bound);
u32 sojourn_control_random(const struct sock *sk, u32 bound)
{
	u64 number = ntohl(inet_sk(sk)->inet_saddr) & 0xffff;
	u64 *state = &control_states[number];

	if (!*state)
		*state = mix(mix(mix(mix(control_seed ^ GOLDEN) ^ 'c') ^ 'c') ^ number * GOLDEN);
	*state += GOLDEN;
	return (unsigned __int128)mix(*state) * bound >> 64;
}

u32 sojourn_random32(void)
{
	return sojourn_random64() >> 32;
}

u16 sojourn_random16(void)
{
	return sojourn_random64() >> 48;
}

static u8 device_number(const struct net_device *dev)
{
	if (dev->netdev_ops != &sojourn_ops)
		return NOT_TRACED;
	return ((struct link_direction *)netdev_priv(dev))->config.number;
}

/* Select the stream of a device's queue discipline; one without a stream draws nothing. */
static void select_stream(u8 number)
{
	if (streams[number].is_started)
		active_stream = number;
}

/* Called before a queue discipline dequeues; `noop` has no device. */
void sojourn_on_dequeue(const struct net_device *dev);
void sojourn_on_dequeue(const struct net_device *dev)
{
	if (dev)
		select_stream(device_number(dev));
}

int sojourn_restart_random(struct link_direction *dir, void __user *data)
{
	u64 state;

	if (copy_from_user(&state, data, sizeof(state)))
		return -EFAULT;
	active_stream = dir->config.number;	/* some disciplines draw in init(), before the first packet */
	streams[active_stream] = (struct stream) {
		.state = state,
		/* From a copy of the stream, as Table::new in crates/aqm/src/flow/table.rs and Cake::new in cake/mod.rs. */
		.perturbation = mix(mix(state + GOLDEN)),
		.is_started = true,
	};
	return 0;
}

int sojourn_restart_controls(void __user *data)
{
	if (copy_from_user(&control_seed, data, sizeof(control_seed)))
		return -EFAULT;
	memset(control_states, 0, sizeof(control_states));
	return 0;
}

/* ---- hosts that several sources share --------------------------------------------------------------------------- */

/*
 * Each source has an address of its own at either end, 10.N.x.y with the number of the source and N as below. While a
 * packet is in a traced queue, its addresses are those of the hosts, which other sources may have too, and the client's
 * port is one that no other source of these hosts has. The mark then has N and the number.
 */
#define CLIENT_PORTS (65536 - FIRST_PORT)
#define SHARED (1U << 31)
#define HOST_NET ((10U << 24) | (1U << 23))	/* 10.128.0.0/9 */

static struct shared_hosts {
	struct hosts_of_source *sources;
	u32 count;
} shared;

int sojourn_share_hosts(void __user *data)
{
	struct hosts_config config;
	struct hosts_of_source *sources;

	if (copy_from_user(&config, data, sizeof(config)))
		return -EFAULT;
	if (!config.count || config.count > MAX_SOURCES)
		return -EINVAL;
	sources = vmemdup_user(u64_to_user_ptr(config.sources), config.count * sizeof(*sources));
	if (IS_ERR(sources))
		return PTR_ERR(sources);
	kvfree(shared.sources);
	shared = (struct shared_hosts) { .sources = sources, .count = config.count };
	return 0;
}

/* Sources have N = 1 or 3, their sinks N + 1. */
static bool is_sink(u32 net)
{
	return net % 2 == 0;
}

static __be16 *ports_of(const struct iphdr *ip)
{
	return (__be16 *)((u8 *)ip + ip->ihl * 4);
}

/* Move the client's port by `shift` on the ring of clients' ports. */
static void shift_port(__be16 *ports, u32 shift)
{
	__be16 *port = ntohs(ports[0]) >= FIRST_PORT ? &ports[0] : &ports[1];

	*port = htons(FIRST_PORT + (ntohs(*port) - FIRST_PORT + shift) % CLIENT_PORTS);
}

/* Give a packet the addresses of its hosts. Routers have made its header writable. */
static void enter_hosts(struct sk_buff *skb)
{
	struct iphdr *ip = ip_hdr(skb);
	u32 number = ntohl(ip->saddr) & 0xffff, net = ntohl(ip->saddr) >> 16 & 0xff;
	const struct hosts_of_source *source;

	if (number >= shared.count || skb->mark)
		return;
	source = &shared.sources[number];
	skb->mark = SHARED | net << 16 | number;
	ip->saddr = htonl(HOST_NET | source->hosts[is_sink(net)]);
	ip->daddr = htonl(HOST_NET | source->hosts[!is_sink(net)]);
	shift_port(ports_of(ip), source->port_shift);
	ip_send_check(ip);
}

static bool is_shared(const struct sk_buff *skb)
{
	return shared.count && skb->mark & SHARED;
}

/* Addresses and ports of a packet; those before `enter_hosts` if its source shares hosts. */
struct ends {
	__be32 source, destination;
	__be16 ports[2];
};

static struct ends ends_of(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const __be16 *ports = ports_of(ip);
	struct ends ends = { .source = ip->saddr, .destination = ip->daddr, .ports = { ports[0], ports[1] } };

	if (is_shared(skb)) {
		u32 number = skb->mark & 0xffff, net = skb->mark >> 16 & 0xff, other = is_sink(net) ? net - 1 : net + 1;

		ends.source = htonl(10U << 24 | net << 16 | number);
		ends.destination = htonl(10U << 24 | other << 16 | number);
		shift_port(ends.ports, CLIENT_PORTS - shared.sources[number].port_shift);
	}
	return ends;
}

static void leave_hosts(struct sk_buff *skb)
{
	struct iphdr *ip = ip_hdr(skb);
	struct ends ends;

	if (!is_shared(skb))
		return;
	ends = ends_of(skb);
	ip->saddr = ends.source;
	ip->daddr = ends.destination;
	memcpy(ports_of(ip), ends.ports, sizeof(ends.ports));
	ip_send_check(ip);
	skb->mark = 0;
}

/* The simulator's number of a flow. The first connection of a source has the source's number, part of both addresses. */
static u64 flow_number(const struct sk_buff *skb)
{
	struct ends ends = ends_of(skb);
	u64 port = max(ntohs(ends.ports[0]), ntohs(ends.ports[1]));

	return (ntohl(ends.source) & 0xffff) | (port - FIRST_PORT) << 16;
}

/* Set the skb hash to the simulator's hash of the flow number. */
static void hash_flow(struct sk_buff *skb, const struct stream *stream)
{
	skb_set_hash(skb, mix(flow_number(skb) ^ stream->perturbation) >> 32, PKT_HASH_TYPE_L4);
}

/* Flow of a packet for Sojourn's own disciplines, which perturb and hash it. */
u32 sojourn_flow(struct sk_buff *skb, const struct net_device *dev)
{
	u8 number = device_number(dev);

	if (number == NOT_TRACED || ((struct link_direction *)netdev_priv(dev))->config.flags & NAMED)
		return skb_get_hash(skb);
	return flow_number(skb);
}

/* State of the random stream of a device's queue discipline; 0 without a stream. */
u64 sojourn_stream(const struct net_device *dev)
{
	return streams[device_number(dev)].state;
}

/* ---- the trace -------------------------------------------------------------------------------------------------- */

enum { OFFERED, SENT, DROPPED, REFUSED, TIMED_OUT };

struct event {
	u64 at;
	u32 id;
	u32 bytes;		/* qdisc_pkt_len */
	u32 source, destination;
	u16 source_port, destination_port;
	u8 kind, link, ecn, protocol;
	u16 segments;		/* of a super-packet, otherwise 1 */
	u16 flags;		/* TCP flags, from FIN (1) to AE (256); above them 1 and the reason of a drop, if it is known */
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

/* 1 and the reason of a drop; 0 if the trace has none. */
static u16 trace_reason(const struct sk_buff *skb)
{
	return (uintptr_t)skb_shinfo(skb)->destructor_arg >> 32;
}

static void trace_add(struct event event)
{
	if (trace.file < 0)
		return;
	trace.events[trace.filled] = event;
	if (++trace.filled == ARRAY_SIZE(trace.events))
		trace_flush();
}

#define TCP_FLAGS 9	/* bits */

static u16 tcp_flags(const struct iphdr *ip)
{
	if (ip->protocol != IPPROTO_TCP)
		return 0;
	return ntohs(((const __be16 *)((const u8 *)ip + ip->ihl * 4))[6]) & 0x1ff;
}

static void trace_note(u8 kind, u8 link, const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct ends ends = ends_of(skb);

	trace_add((struct event) {
		.at = ktime_get_ns(), .id = trace_id(skb), .kind = kind, .link = link,
		.bytes = kind == OFFERED ? qdisc_pkt_len(skb) : 0,
		.source = ntohl(ends.source), .destination = ntohl(ends.destination),
		.source_port = ntohs(ends.ports[0]), .destination_port = ntohs(ends.ports[1]),
		.ecn = ip->tos & 3, .protocol = ip->protocol,
		.segments = skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1,
		.flags = tcp_flags(ip) | trace_reason(skb) << TCP_FLAGS,
	});
}

/* Called when a connection's retransmission timer expires; addresses are those of its outgoing packets. */
void sojourn_timed_out(const struct sock *sk);
void sojourn_timed_out(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	trace_add((struct event) {
		.at = ktime_get_ns(), .kind = TIMED_OUT, .link = NOT_TRACED,
		.source = ntohl(inet->inet_saddr), .destination = ntohl(inet->inet_daddr),
		.source_port = ntohs(inet->inet_sport), .destination_port = ntohs(inet->inet_dport),
		.protocol = sk->sk_protocol,
	});
}

/* skb destructor of a traced packet: the queue discipline has dropped it. */
static void note_drop(struct sk_buff *skb)
{
	trace_note(DROPPED, device_number(skb->dev), skb);
}

static void note_refusal(struct sk_buff *skb)
{
	trace_note(REFUSED, device_number(skb->dev), skb);
}

/* Why the discipline `sojourn` is about to drop a packet. */
void sojourn_note_reason(struct sk_buff *skb, u32 reason)
{
	if (skb->destructor == note_drop)
		skb_shinfo(skb)->destructor_arg = (void *)(trace_id(skb) | (uintptr_t)(reason + 1) << 32);
}

/* Replace the kernel's own hash and memory accounting by values that the sender determines. */
static void name_packet(struct sk_buff *skb)
{
	if (skb->mark)
		skb_set_hash(skb, skb->mark, PKT_HASH_TYPE_L4);
	skb->truesize = skb->len;
}

void sojourn_offered(struct sk_buff *skb, struct net_device *dev)
{
	u8 number = device_number(dev);
	u32 flags;

	select_stream(number);
	if (number == NOT_TRACED)
		return;
	flags = ((struct link_direction *)netdev_priv(dev))->config.flags;
	if (streams[number].is_started && !(flags & NAMED))
		hash_flow(skb, &streams[number]);
	if (trace.file < 0)
		return;
	if (flags & SPLITS && skb_is_gso(skb)) {
		enter_hosts(skb);
		return;
	}
	skb_orphan(skb);
	skb_shinfo(skb)->destructor_arg = (void *)(uintptr_t)trace.ids++;
	skb->destructor = note_drop;
	if (flags & NAMED)
		name_packet(skb);
	trace_note(OFFERED, number, skb);
	if (!(flags & NAMED))
		enter_hosts(skb);
}

/* Called with the packets that a queue discipline dropped during an enqueue. */
void sojourn_refused(struct sk_buff *list);
void sojourn_refused(struct sk_buff *list)
{
	for (; list; list = list->next)
		if (list->destructor == note_drop)
			list->destructor = note_refusal;
}

void sojourn_note_sent(struct link_direction *dir, struct sk_buff *skb)
{
	if (skb->destructor == note_drop) {
		trace_note(SENT, dir->config.number, skb);
		skb->destructor = NULL;
		skb_shinfo(skb)->destructor_arg = NULL;
	}
	leave_hosts(skb);
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
