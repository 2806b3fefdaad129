// SPDX-License-Identifier: GPL-2.0
/*
 * Links for measuring queue disciplines in simulated time, as pairs of point-to-point devices that carry IP packets:
 *
 *   ip link add NAME type sojourn		creates NAME and its peer, NAME.p
 *
 * The sending device of a direction has the parameters: a rate that may change in steps, framing, a buffer below the
 * queue discipline, and a propagation delay. Without a buffer only one packet is in transmission, and the queue
 * discipline is dequeued when the previous packet has left.
 *
 * A device may have offloads. Its queue discipline then holds whole super-packets, and the link sends their segments one
 * after the other; a link without a rate carries them unsegmented. A device may also receive by polls: packets that
 * arrive within a fixed time of the first one pass through GRO (card.c). A device with a number is traced (trace.c).
 *
 * This file is compiled into the kernel and is not part of Sojourn's programs; see LICENSE in this package.
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

#define MAX_STEPS 65536
#define ETHERNET 14
#define CARD_FEATURES (NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_ALL_TSO)

/* Buffer space that a packet in the ring frees on departure. */
static u64 *frees(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

/* Arrival time of a packet in flight. */
static u64 *due(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

static void deliver(struct link_direction *dir, struct sk_buff *skb)
{
	struct net_device *peer = dir->peer;
	struct card *card;

	if (!peer || !(peer->flags & IFF_UP)) {
		kfree_skb(skb);
		return;
	}
	skb_scrub_packet(skb, true);
	skb_clear_hash(skb);	/* a wire does not carry the sender's hash; the receiver computes its own */
	skb->dev = peer;
	skb->pkt_type = PACKET_HOST;
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	peer->stats.rx_packets++;
	peer->stats.rx_bytes += skb->len;
	card = ((struct link_direction *)netdev_priv(peer))->card;
	if (card)
		sojourn_card_receive(card, skb);
	else
		__netif_rx(skb);
}

/* Called when the last bit has left the transmitter. */
static void propagate(struct link_direction *dir, struct sk_buff *skb, u64 at)
{
	dir->dev->stats.tx_packets++;
	dir->dev->stats.tx_bytes += skb->len;
	if (!dir->config.delay_ns) {
		deliver(dir, skb);
		return;
	}
	*due(skb) = at + dir->config.delay_ns;
	__skb_queue_tail(&dir->flight, skb);
	if (skb_queue_len(&dir->flight) == 1)
		hrtimer_start(&dir->arrival_timer, ns_to_ktime(*due(skb)), HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart on_arrival(struct hrtimer *timer)
{
	struct link_direction *dir = container_of(timer, struct link_direction, arrival_timer);
	u64 now = ktime_get_ns();
	struct sk_buff *skb;

	while ((skb = skb_peek(&dir->flight)) && *due(skb) <= now) {
		__skb_unlink(skb, &dir->flight);
		deliver(dir, skb);
	}
	if (!skb)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, ns_to_ktime(*due(skb)));
	return HRTIMER_RESTART;
}

static u64 medium_bytes(const struct link_direction *dir, const struct sk_buff *skb)
{
	s64 bytes = (s64)skb->len + dir->config.overhead;

	return max_t(s64, bytes, max_t(s64, dir->config.mpu, 1));
}

/* End of a transmission that begins now; U64_MAX for never. */
static u64 transmission_end(struct link_direction *dir, const struct sk_buff *skb, u64 now)
{
	u64 work = medium_bytes(dir, skb) * 8 * NSEC_PER_SEC + dir->carry;
	u32 count = dir->config.step_count;

	dir->carry = 0;
	while (dir->step + 1 < count && dir->steps[dir->step + 1].at <= now)
		dir->step++;
	for (u32 i = dir->step;; i++) {
		u64 rate = dir->steps[i].rate;
		u64 until = i + 1 < count && !(dir->config.flags & STEP_LATCHED) ? dir->steps[i + 1].at : U64_MAX;
		u64 time = rate ? div64_u64(work, rate) : U64_MAX;

		if (rate && time <= until - now) {
			if (dir->config.flags & CARRY_OVER)
				dir->carry = work - time * rate;
			return now + time;
		}
		if (until == U64_MAX)
			return U64_MAX;
		work -= rate * (until - now);
		now = until;
	}
}

static void transmit(struct link_direction *dir, u64 now)
{
	struct sk_buff *skb = skb_peek(&dir->ring);
	u64 end = transmission_end(dir, skb, now);

	skb_orphan(skb);	/* uncharge the sender's buffer when transmission begins */
	if (end != U64_MAX)
		hrtimer_start(&dir->sent_timer, ns_to_ktime(end), HRTIMER_MODE_ABS_SOFT);
}

static u64 size_below(const struct link_direction *dir, const struct sk_buff *skb)
{
	return dir->config.flags & BELOW_PACKETS ? 1 : skb->len + ETHERNET;
}

static bool is_full(const struct link_direction *dir)
{
	u64 stop = dir->config.below_stop;

	return dir->config.flags & BELOW_PACKETS ? dir->level >= stop : dir->level > stop;
}

static enum hrtimer_restart on_sent(struct hrtimer *timer)
{
	struct link_direction *dir = container_of(timer, struct link_direction, sent_timer);
	u64 at = ktime_to_ns(hrtimer_get_expires(timer));
	struct sk_buff *skb = __skb_dequeue(&dir->ring);

	if (skb) {
		dir->level -= *frees(skb);
		propagate(dir, skb, at);
	}
	if (!skb_queue_empty(&dir->ring))
		transmit(dir, at);
	if (dir->level <= dir->config.below_wake)
		netif_tx_wake_all_queues(dir->dev);
	return HRTIMER_NORESTART;
}

/* Add a packet to the ring. */
static void ring_add(struct link_direction *dir, struct sk_buff *skb)
{
	*frees(skb) = size_below(dir, skb);
	dir->level += *frees(skb);
	__skb_queue_tail(&dir->ring, skb);
}

/* Add the segments of a super-packet, whose buffer space is freed with the last segment. */
static void ring_add_segments(struct link_direction *dir, struct sk_buff *skb)
{
	struct sk_buff *segments = skb_gso_segment(skb, dir->dev->features & ~NETIF_F_GSO_MASK), *segment, *next;
	u64 size = dir->config.flags & BELOW_PACKETS ? 1 : ETHERNET;

	if (IS_ERR_OR_NULL(segments))
		panic("sojourn: a super-packet cannot be cut: error %ld\n", PTR_ERR(segments));
	consume_skb(skb);
	skb_list_walk_safe(segments, segment, next) {
		skb_mark_not_on_list(segment);
		if (!(dir->config.flags & BELOW_PACKETS))
			size += segment->len;
		*frees(segment) = next ? 0 : size;
		__skb_queue_tail(&dir->ring, segment);
	}
	dir->level += size;
}

static netdev_tx_t sojourn_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct link_direction *dir = netdev_priv(dev);
	bool idle = skb_queue_empty(&dir->ring);
	u64 now = ktime_get_ns();

	sojourn_note_sent(dir, skb);
	if (!dir->config.step_count) {
		skb_orphan(skb);
		propagate(dir, skb, now);
		return NETDEV_TX_OK;
	}
	if (skb_is_gso(skb)) {
		ring_add_segments(dir, skb);
	} else {
		skb_orphan(skb);
		ring_add(dir, skb);
	}
	if (idle)
		transmit(dir, now);
	if (is_full(dir))
		netif_tx_stop_all_queues(dev);
	return NETDEV_TX_OK;
}

/* Select the tx queue by mark instead of the kernel's hash. */
static u16 sojourn_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *above)
{
	return skb->mark % dev->real_num_tx_queues;
}

/* ---- configuration ---------------------------------------------------------------------------------------------- */

static int configure(struct link_direction *dir, void __user *data)
{
	struct link_config config;
	struct step *steps = NULL;

	if (copy_from_user(&config, data, sizeof(config)))
		return -EFAULT;
	if (config.step_count > MAX_STEPS || !skb_queue_empty(&dir->ring))
		return -EINVAL;
	if (config.step_count) {
		size_t bytes = config.step_count * sizeof(*steps);

		steps = memdup_user(u64_to_user_ptr(config.steps), bytes);
		if (IS_ERR(steps))
			return PTR_ERR(steps);
	}
	kfree(dir->steps);
	dir->steps = steps;
	dir->config = config;
	dir->step = 0;
	dir->carry = 0;
	dir->dev->hw_features |= CARD_FEATURES;
	dir->dev->wanted_features &= ~CARD_FEATURES;
	if (config.flags & OFFLOADS)
		dir->dev->wanted_features |= CARD_FEATURES;
	netdev_update_features(dir->dev);
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
	case HOSTS:
		return sojourn_share_hosts(data);
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
	struct link_direction *dir = netdev_priv(dev);

	netif_tx_stop_all_queues(dev);
	hrtimer_cancel(&dir->sent_timer);
	hrtimer_cancel(&dir->arrival_timer);
	__skb_queue_purge(&dir->ring);
	__skb_queue_purge(&dir->flight);
	dir->level = 0;
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
	kfree(((struct link_direction *)netdev_priv(dev))->steps);
}

static void sojourn_setup(struct net_device *dev)
{
	struct link_direction *dir = netdev_priv(dev);

	dev->netdev_ops = &sojourn_ops;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->mtu = ETH_DATA_LEN;
	dev->max_mtu = 65535;
	dev->features = dev->hw_features = 0;	/* no super-packets unless configured with OFFLOADS */
	dev->needs_free_netdev = true;
	dev->priv_destructor = sojourn_destruct;
	dir->dev = dev;
	dir->config.number = NOT_TRACED;
	hrtimer_setup(&dir->sent_timer, on_sent, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&dir->arrival_timer, on_arrival, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	__skb_queue_head_init(&dir->ring);
	__skb_queue_head_init(&dir->flight);
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
	peer = alloc_netdev(sizeof(struct link_direction), name, NET_NAME_USER, sojourn_setup);
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
	((struct link_direction *)netdev_priv(dev))->peer = peer;
	((struct link_direction *)netdev_priv(peer))->peer = dev;
	return 0;
}

static void sojourn_dellink(struct net_device *dev, struct list_head *head)
{
	struct link_direction *dir = netdev_priv(dev);

	if (dir->peer) {
		((struct link_direction *)netdev_priv(dir->peer))->peer = NULL;
		unregister_netdevice_queue(dir->peer, head);
		dir->peer = NULL;
	}
	unregister_netdevice_queue(dev, head);
}

static struct rtnl_link_ops sojourn_link = {
	.kind = "sojourn",
	.priv_size = sizeof(struct link_direction),
	.setup = sojourn_setup,
	.newlink = sojourn_newlink,
	.dellink = sojourn_dellink,
};

static int __init sojourn_init(void)
{
	return rtnl_link_register(&sojourn_link);
}
device_initcall(sojourn_init);
