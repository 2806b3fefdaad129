// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds that the root discipline of a device needs for a packet in and one out, with twenty waiting. Loaded under
 * QEMU's -icount, where an instruction takes a nanosecond; loading ends with ECANCELED, so it can be repeated.
 */
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/sch_generic.h>

static char *dev = "d0";
module_param(dev, charp, 0);

#define WAITING 20
#define ROUNDS 20000
#define BYTES 1000

static struct sk_buff *packet(struct net_device *device, int port)
{
	struct sk_buff *skb = alloc_skb(BYTES + 64, GFP_ATOMIC);
	struct iphdr *ip;
	struct udphdr *udp;

	if (!skb)
		return NULL;
	skb_reserve(skb, 64);
	ip = skb_put_zero(skb, BYTES);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = 2;
	ip->tot_len = htons(BYTES);
	ip->protocol = IPPROTO_UDP;
	ip->saddr = htonl(0x0a000001);
	ip->daddr = htonl(0x0a000002);
	udp = udp_hdr(skb);
	udp->source = htons(port);
	udp->dest = htons(9);
	skb->protocol = htons(ETH_P_IP);
	skb->dev = device;
	qdisc_skb_cb(skb)->pkt_len = BYTES;
	return skb;
}

static void measure(struct Qdisc *sch, struct net_device *device)
{
	struct sk_buff *skb, *to_free = NULL;
	u64 start = 0, spent = 0;
	int i;

	spin_lock_bh(qdisc_lock(sch));
	for (i = 0; i < WAITING; i++) {
		skb = packet(device, 1000 + i);
		if (skb)
			sch->enqueue(skb, sch, &to_free);
	}
	for (i = 0; i < 2 * ROUNDS; i++) {
		/* The first rounds fill caches and lists of flows. */
		if (i == ROUNDS)
			start = ktime_get_ns();
		skb = sch->dequeue(sch);
		if (!skb)
			break;
		sch->enqueue(skb, sch, &to_free);
	}
	if (i == 2 * ROUNDS && !to_free)
		spent = ktime_get_ns() - start;
	while ((skb = sch->dequeue(sch)))
		kfree_skb(skb);
	spin_unlock_bh(qdisc_lock(sch));
	kfree_skb_list(to_free);
	pr_info("bench: %s %llu\n", sch->ops->id, spent / ROUNDS);
}

static int __init bench_init(void)
{
	struct net_device *device = dev_get_by_name(&init_net, dev);

	if (!device)
		return -ENODEV;
	rtnl_lock();
	measure(rtnl_dereference(device->qdisc), device);
	rtnl_unlock();
	dev_put(device);
	return -ECANCELED;
}
module_init(bench_init);
MODULE_LICENSE("GPL");
