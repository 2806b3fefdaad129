/* SPDX-License-Identifier: GPL-2.0 */
/* sch_sojourn.c in a module for an unmodified kernel: flows and random numbers are the kernel's. */
#ifndef SOJOURN_HOST_H
#define SOJOURN_HOST_H
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/skbuff.h>

static inline u32 sojourn_flow(struct sk_buff *skb, const struct net_device *dev)
{
	return skb_get_hash(skb);
}

static inline u64 sojourn_stream(const struct net_device *dev)
{
	return get_random_u64();
}

static inline void sojourn_note_reason(struct sk_buff *skb, u32 reason)
{
}

static inline void sojourn_offered(struct sk_buff *skb, const struct net_device *dev)
{
}

#endif
