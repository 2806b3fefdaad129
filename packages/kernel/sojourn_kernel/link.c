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
 * A device may have a network card's offloads. Its queue discipline then has super-packets whole, and the link sends
 * their segments one after the other; a link without a rate carries them as they are. A device may also receive by
 * polls: what has come within a time of the first packet goes through generic receive offload (card.c). A device with a
 * number is traced (trace.c).
 *
 * This file is compiled into the kernel and is no part of the programs around it; see LICENSE beside it.
 */
#include <linux/if_arp.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/rtnetlink.h>
#if __has_include(<net/gso.h>)
#include <net/gso.h>
#endif
#include "sojourn.h"

#define MOST_STEPS 65536
#define ETHERNET 14
#define CARD_FEATURES (NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_ALL_TSO)

/* Of a packet in the ring: how much of the buffer is free again when it has gone. */
static u64 *frees(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

/* Of one in flight: when it arrives. */
static u64 *due(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

static void hand_over(struct way *way, struct sk_buff *skb)
{
	struct net_device *peer = way->peer;
	struct card *card;

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
	card = ((struct way *)netdev_priv(peer))->card;
	if (card)
		sojourn_card_receive(card, skb);
	else
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
	struct sk_buff *skb = skb_peek(&way->ring);
	u64 end = transmitted(way, skb, now);

	skb_orphan(skb);	/* a sender's buffer is credited when transmission begins */
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
		way->inside -= *frees(skb);
		propagate(way, skb, at);
	}
	if (!skb_queue_empty(&way->ring))
		transmit(way, at);
	if (way->inside <= way->config.below_wake)
		netif_tx_wake_all_queues(way->dev);
	return HRTIMER_NORESTART;
}

/* A packet goes into the ring, where it is one of the buffer. */
static void put(struct way *way, struct sk_buff *skb)
{
	*frees(skb) = size_below(way, skb);
	way->inside += *frees(skb);
	__skb_queue_tail(&way->ring, skb);
}

/* The segments of a super-packet do, which is one of the buffer until the last of them has gone. */
static void put_segments(struct way *way, struct sk_buff *skb)
{
	struct sk_buff *segments = skb_gso_segment(skb, way->dev->features & ~NETIF_F_GSO_MASK), *segment, *next;
	u64 size = way->config.flags & BELOW_PACKETS ? 1 : ETHERNET;

	if (IS_ERR_OR_NULL(segments))
		panic("sojourn: a super-packet cannot be cut: error %ld\n", PTR_ERR(segments));
	consume_skb(skb);
	skb_list_walk_safe(segments, segment, next) {
		skb_mark_not_on_list(segment);
		if (!(way->config.flags & BELOW_PACKETS))
			size += segment->len;
		*frees(segment) = next ? 0 : size;
		__skb_queue_tail(&way->ring, segment);
	}
	way->inside += size;
}

static netdev_tx_t sojourn_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct way *way = netdev_priv(dev);
	bool idle = skb_queue_empty(&way->ring);
	u64 now = ktime_get_ns();

	sojourn_note_sent(way, skb);
	if (!way->config.step_count) {
		skb_orphan(skb);
		propagate(way, skb, now);
		return NETDEV_TX_OK;
	}
	if (skb_is_gso(skb)) {
		put_segments(way, skb);
	} else {
		skb_orphan(skb);
		put(way, skb);
	}
	if (idle)
		transmit(way, now);
	if (takes_no_more(way))
		netif_tx_stop_all_queues(dev);
	return NETDEV_TX_OK;
}

/* A packet's mark chooses among several queues, so that no hash of the kernel does. */
static u16 sojourn_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *above)
{
	return skb->mark % dev->real_num_tx_queues;
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
	way->dev->hw_features |= CARD_FEATURES;
	way->dev->wanted_features &= ~CARD_FEATURES;
	if (config.flags & OFFLOADS)
		way->dev->wanted_features |= CARD_FEATURES;
	netdev_update_features(way->dev);
	return 0;
}

static int sojourn_private(struct net_device *dev, struct ifreq *request, void __user *data, int command)
{
	switch (command) {
	case CONFIGURE:
		return configure(netdev_priv(dev), data);
	case RANDOM:
		return sojourn_restart_random(netdev_priv(dev), data);
	case CONTROLS:
		return sojourn_restart_controls(data);
	case TRACE:
		return sojourn_open_trace(data);
	case RECEIVE:
		return sojourn_receive_by(netdev_priv(dev), data);
	}
	return -EOPNOTSUPP;
}

static int sojourn_open(struct net_device *dev)
{
	netif_carrier_on(dev);
	netif_tx_start_all_queues(dev);
	return 0;
}

static int sojourn_stop(struct net_device *dev)
{
	struct way *way = netdev_priv(dev);

	netif_tx_stop_all_queues(dev);
	hrtimer_cancel(&way->sent_timer);
	hrtimer_cancel(&way->arrival_timer);
	__skb_queue_purge(&way->ring);
	__skb_queue_purge(&way->flight);
	way->inside = 0;
	return 0;
}

const struct net_device_ops sojourn_ops = {
	.ndo_open = sojourn_open,
	.ndo_stop = sojourn_stop,
	.ndo_start_xmit = sojourn_xmit,
	.ndo_select_queue = sojourn_queue,
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
	dev->features = dev->hw_features = 0;	/* a packet is a packet, unless it is configured with offloads */
	dev->needs_free_netdev = true;
	dev->priv_destructor = sojourn_destruct;
	way->dev = dev;
	way->config.number = NOT_TRACED;
	hrtimer_setup(&way->sent_timer, on_sent, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&way->arrival_timer, on_arrival, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	__skb_queue_head_init(&way->ring);
	__skb_queue_head_init(&way->flight);
}

static struct rtnl_link_ops sojourn_link;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
static int sojourn_newlink(struct net *net, struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
#else
static int sojourn_newlink(struct net_device *dev, struct rtnl_newlink_params *params, struct netlink_ext_ack *extack)
#endif
{
	struct net_device *peer;
	char name[IFNAMSIZ];
	int error;

	snprintf(name, sizeof(name), "%.12s.p", dev->name);
	peer = alloc_netdev(sizeof(struct way), name, NET_NAME_USER, sojourn_setup);
	if (!peer)
		return -ENOMEM;
	dev_net_set(peer, dev_net(dev));
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
