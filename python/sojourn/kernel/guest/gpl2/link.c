// SPDX-License-Identifier: GPL-2.0
/*
 * Links for measuring queue disciplines in simulated time, as pairs of point-to-point devices that carry bare IP:
 *
 *   ip link add NAME type sojourn		makes NAME and its other end, NAME.p
 *
 * The sending device of a direction has its parameters: a rate that may change in steps, framing, a buffer below the
 * queue discipline, and a delay of propagation. Without a buffer there is one packet in transmission and no other, so
 * the queue discipline is asked for the next packet when the one before has left.
 *
 * A device with a number is traced: every packet that is offered to its queue discipline, and what becomes of it, goes
 * to a file of the host, in the order in which it happens, and so does every time-out of a TCP connection.
 *
 * All draws of the queue disciplines come from one stream here (splitmix64), which can be started anew.
 *
 * This file is compiled into the kernel and is no part of the programs around it; see LICENSE beside it.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/rtnetlink.h>
#include <net/sch_generic.h>
#include <os.h>

/* ---- the random stream ------------------------------------------------------------------------------------------ */

u64 sojourn_random64(void);
u32 sojourn_random32(void);
u16 sojourn_random16(void);

static u64 random_state;
static u64 random_draws;

u64 sojourn_random64(void)
{
	u64 z = (random_state += 0x9e3779b97f4a7c15ULL);

	random_draws++;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u32 sojourn_random32(void)
{
	return sojourn_random64() >> 32;
}

u16 sojourn_random16(void)
{
	return sojourn_random64() >> 48;
}

/* ---- what user space says --------------------------------------------------------------------------------------- */

/* From `at` on, ns of the monotonic clock, the link has `rate` bit/s. */
struct step {
	u64 at;
	u64 rate;
};

struct link_config {
	u64 steps;		/* user address of the steps; the first begins at 0 */
	u64 delay_ns;
	u64 below_stop;		/* the buffer takes no more from here on ... */
	u64 below_wake;		/* ... and again at or below this */
	s32 overhead;		/* bytes on the medium beyond those of IP */
	u32 mpu;		/* least bytes on the medium */
	u32 step_count;		/* 0: infinitely fast */
	u32 flags;
	u32 number;		/* in the trace; NOT_TRACED for none */
	u32 pad;
};

enum {
	STEP_LATCHED = 1,		/* a step counts from the next packet on */
	CARRY_OVER = 2,		/* what is left of a nanosecond goes over to the next packet */
	BELOW_PACKETS = 4,	/* the buffer counts packets, else bytes with 14 of Ethernet for each */
	NAMED = 8,		/* a packet's mark is its hash, if it has one, and it occupies as much memory as it is long */
};

#define NOT_TRACED 255
#define MOST_STEPS 65536
#define ETHERNET 14

enum {
	CONFIGURE = SIOCDEVPRIVATE,
	RANDOM = SIOCDEVPRIVATE + 1,	/* u64[2]: new state in, draws since the last time out */
	TRACE = SIOCDEVPRIVATE + 2,	/* name of a file of the host, or an empty one to write out what is left */
};

/* One direction of a link. */
struct way {
	struct net_device *dev;
	struct net_device *peer;
	struct link_config config;
	struct step *steps;
	u32 step;			/* the present one */
	u64 carry;			/* bit-nanoseconds */
	struct hrtimer sent_timer;	/* end of the transmission */
	struct hrtimer arrival_timer;	/* end of the propagation */
	struct sk_buff_head ring;	/* in transmission, then in the buffer below */
	u64 inside;			/* packets or bytes of it */
	struct sk_buff_head flight;
};

/* ---- the trace -------------------------------------------------------------------------------------------------- */

enum { OFFERED, SENT, DROPPED, REFUSED, TIMED_OUT };

struct event {
	u64 at;
	u32 id;
	u32 bytes;		/* as the queue discipline counts them */
	u32 source, destination;
	u16 source_port, destination_port;
	u8 what, link, ecn, protocol;
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

static const struct net_device_ops sojourn_ops;

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

/* Called for every packet just before it is offered to a queue discipline. */
void sojourn_offered(struct sk_buff *skb, struct net_device *dev);
void sojourn_offered(struct sk_buff *skb, struct net_device *dev)
{
	u8 number = number_of(dev);

	if (number == NOT_TRACED || trace.file < 0)
		return;
	skb_orphan(skb);
	skb_shinfo(skb)->destructor_arg = (void *)(uintptr_t)trace.ids++;
	skb->destructor = note_drop;
	if (((struct way *)netdev_priv(dev))->config.flags & NAMED)
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

static void note_sent(struct way *way, struct sk_buff *skb)
{
	if (skb->destructor == note_drop) {
		trace_note(SENT, way->config.number, skb);
		skb->destructor = NULL;
		skb_shinfo(skb)->destructor_arg = NULL;
	}
	skb_orphan(skb);	/* a sender's buffer is credited when transmission begins */
}

/* ---- the link --------------------------------------------------------------------------------------------------- */

static u64 *due(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

static void hand_over(struct way *way, struct sk_buff *skb)
{
	struct net_device *peer = way->peer;

	if (!peer || !(peer->flags & IFF_UP)) {
		kfree_skb(skb);
		return;
	}
	skb_scrub_packet(skb, true);
	skb_clear_hash(skb);	/* no wire carries the sender's hash: whoever needs one takes it from the headers */
	skb->dev = peer;
	skb->pkt_type = PACKET_HOST;
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	peer->stats.rx_packets++;
	peer->stats.rx_bytes += skb->len;
	__netif_rx(skb);
}

/* The last bit has left the transmitter. */
static void propagate(struct way *way, struct sk_buff *skb, u64 at)
{
	way->dev->stats.tx_packets++;
	way->dev->stats.tx_bytes += skb->len;
	if (!way->config.delay_ns) {
		hand_over(way, skb);
		return;
	}
	*due(skb) = at + way->config.delay_ns;
	__skb_queue_tail(&way->flight, skb);
	if (skb_queue_len(&way->flight) == 1)
		hrtimer_start(&way->arrival_timer, ns_to_ktime(*due(skb)), HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart on_arrival(struct hrtimer *timer)
{
	struct way *way = container_of(timer, struct way, arrival_timer);
	u64 now = ktime_get_ns();
	struct sk_buff *skb;

	while ((skb = skb_peek(&way->flight)) && *due(skb) <= now) {
		__skb_unlink(skb, &way->flight);
		hand_over(way, skb);
	}
	if (!skb)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, ns_to_ktime(*due(skb)));
	return HRTIMER_RESTART;
}

static u64 on_medium(const struct way *way, const struct sk_buff *skb)
{
	s64 bytes = (s64)skb->len + way->config.overhead;

	return max_t(s64, bytes, max_t(s64, way->config.mpu, 1));
}

/* When a transmission that begins now ends; U64_MAX for never. */
static u64 transmitted(struct way *way, const struct sk_buff *skb, u64 now)
{
	u64 work = on_medium(way, skb) * 8 * NSEC_PER_SEC + way->carry;
	u32 count = way->config.step_count;

	way->carry = 0;
	while (way->step + 1 < count && way->steps[way->step + 1].at <= now)
		way->step++;
	for (u32 i = way->step;; i++) {
		u64 rate = way->steps[i].rate;
		u64 until = i + 1 < count && !(way->config.flags & STEP_LATCHED) ? way->steps[i + 1].at : U64_MAX;
		u64 time = rate ? div64_u64(work, rate) : U64_MAX;

		if (rate && time <= until - now) {
			if (way->config.flags & CARRY_OVER)
				way->carry = work - time * rate;
			return now + time;
		}
		if (until == U64_MAX)
			return U64_MAX;
		work -= rate * (until - now);
		now = until;
	}
}

static void transmit(struct way *way, u64 now)
{
	u64 end = transmitted(way, skb_peek(&way->ring), now);

	if (end != U64_MAX)
		hrtimer_start(&way->sent_timer, ns_to_ktime(end), HRTIMER_MODE_ABS_SOFT);
}

static u64 size_below(const struct way *way, const struct sk_buff *skb)
{
	return way->config.flags & BELOW_PACKETS ? 1 : skb->len + ETHERNET;
}

static bool takes_no_more(const struct way *way)
{
	u64 stop = way->config.below_stop;

	return way->config.flags & BELOW_PACKETS ? way->inside >= stop : way->inside > stop;
}

static enum hrtimer_restart on_sent(struct hrtimer *timer)
{
	struct way *way = container_of(timer, struct way, sent_timer);
	u64 at = ktime_to_ns(hrtimer_get_expires(timer));
	struct sk_buff *skb = __skb_dequeue(&way->ring);

	if (skb) {
		way->inside -= size_below(way, skb);
		propagate(way, skb, at);
	}
	if (!skb_queue_empty(&way->ring))
		transmit(way, at);
	if (way->inside <= way->config.below_wake)
		netif_wake_queue(way->dev);
	return HRTIMER_NORESTART;
}

static netdev_tx_t sojourn_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct way *way = netdev_priv(dev);
	u64 now = ktime_get_ns();

	note_sent(way, skb);
	if (!way->config.step_count) {
		propagate(way, skb, now);
		return NETDEV_TX_OK;
	}
	__skb_queue_tail(&way->ring, skb);
	way->inside += size_below(way, skb);
	if (skb_queue_len(&way->ring) == 1)
		transmit(way, now);
	if (takes_no_more(way))
		netif_stop_queue(dev);
	return NETDEV_TX_OK;
}

/* ---- configuration ---------------------------------------------------------------------------------------------- */

static int configure(struct way *way, void __user *data)
{
	struct link_config config;
	struct step *steps = NULL;

	if (copy_from_user(&config, data, sizeof(config)))
		return -EFAULT;
	if (config.step_count > MOST_STEPS || !skb_queue_empty(&way->ring))
		return -EINVAL;
	if (config.step_count) {
		size_t bytes = config.step_count * sizeof(*steps);

		steps = memdup_user(u64_to_user_ptr(config.steps), bytes);
		if (IS_ERR(steps))
			return PTR_ERR(steps);
	}
	kfree(way->steps);
	way->steps = steps;
	way->config = config;
	way->step = 0;
	way->carry = 0;
	return 0;
}

static int restart_random(void __user *data)
{
	u64 values[2];

	if (copy_from_user(values, data, sizeof(values)))
		return -EFAULT;
	random_state = values[0];
	values[1] = random_draws;
	random_draws = 0;
	return copy_to_user(data, values, sizeof(values)) ? -EFAULT : 0;
}

static int open_trace(void __user *data)
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

static int sojourn_private(struct net_device *dev, struct ifreq *request, void __user *data, int command)
{
	switch (command) {
	case CONFIGURE:
		return configure(netdev_priv(dev), data);
	case RANDOM:
		return restart_random(data);
	case TRACE:
		return open_trace(data);
	}
	return -EOPNOTSUPP;
}

static int sojourn_open(struct net_device *dev)
{
	netif_carrier_on(dev);
	netif_start_queue(dev);
	return 0;
}

static int sojourn_stop(struct net_device *dev)
{
	struct way *way = netdev_priv(dev);

	netif_stop_queue(dev);
	hrtimer_cancel(&way->sent_timer);
	hrtimer_cancel(&way->arrival_timer);
	__skb_queue_purge(&way->ring);
	__skb_queue_purge(&way->flight);
	way->inside = 0;
	return 0;
}

static const struct net_device_ops sojourn_ops = {
	.ndo_open = sojourn_open,
	.ndo_stop = sojourn_stop,
	.ndo_start_xmit = sojourn_xmit,
	.ndo_siocdevprivate = sojourn_private,
};

static void sojourn_destruct(struct net_device *dev)
{
	kfree(((struct way *)netdev_priv(dev))->steps);
}

static void sojourn_setup(struct net_device *dev)
{
	struct way *way = netdev_priv(dev);

	dev->netdev_ops = &sojourn_ops;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->mtu = ETH_DATA_LEN;
	dev->max_mtu = 65535;
	dev->features = dev->hw_features = 0;	/* a packet is a packet: no segmentation below the queue */
	dev->needs_free_netdev = true;
	dev->priv_destructor = sojourn_destruct;
	way->dev = dev;
	way->config.number = NOT_TRACED;
	hrtimer_init(&way->sent_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	way->sent_timer.function = on_sent;
	hrtimer_init(&way->arrival_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	way->arrival_timer.function = on_arrival;
	__skb_queue_head_init(&way->ring);
	__skb_queue_head_init(&way->flight);
}

static struct rtnl_link_ops sojourn_link;

static int sojourn_newlink(struct net *net, struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
{
	struct net_device *peer;
	char name[IFNAMSIZ];
	int error;

	snprintf(name, sizeof(name), "%.12s.p", dev->name);
	peer = alloc_netdev(sizeof(struct way), name, NET_NAME_USER, sojourn_setup);
	if (!peer)
		return -ENOMEM;
	dev_net_set(peer, net);
	peer->rtnl_link_ops = &sojourn_link;
	error = register_netdevice(peer);
	if (error) {
		free_netdev(peer);
		return error;
	}
	error = register_netdevice(dev);
	if (error) {
		unregister_netdevice(peer);
		return error;
	}
	((struct way *)netdev_priv(dev))->peer = peer;
	((struct way *)netdev_priv(peer))->peer = dev;
	return 0;
}

static void sojourn_dellink(struct net_device *dev, struct list_head *head)
{
	struct way *way = netdev_priv(dev);

	if (way->peer) {
		((struct way *)netdev_priv(way->peer))->peer = NULL;
		unregister_netdevice_queue(way->peer, head);
		way->peer = NULL;
	}
	unregister_netdevice_queue(dev, head);
}

static struct rtnl_link_ops sojourn_link = {
	.kind = "sojourn",
	.priv_size = sizeof(struct way),
	.setup = sojourn_setup,
	.newlink = sojourn_newlink,
	.dellink = sojourn_dellink,
};

static int __init sojourn_init(void)
{
	return rtnl_link_register(&sojourn_link);
}
device_initcall(sojourn_init);
