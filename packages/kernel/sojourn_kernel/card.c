// SPDX-License-Identifier: GPL-2.0
/*
 * Reception as a network card does it: it interrupts a time after the first packet, and all that have come by then are
 * polled, and joined where generic receive offload can. Devices may share one.
 *
 * This file is compiled into the kernel and is no part of the programs around it; see LICENSE beside it.
 */
#include <linux/slab.h>
#include "sojourn.h"

/* What receives for one device or for several, and is polled. */
struct card {
	struct list_head all;
	u64 number;
	u64 wait_ns;
	struct napi_struct napi;
	struct hrtimer timer;
	struct sk_buff_head held;	/* since the first packet */
};

static LIST_HEAD(cards);

void sojourn_card_receive(struct card *card, struct sk_buff *skb)
{
	__skb_queue_tail(&card->held, skb);
	if (skb_queue_len(&card->held) == 1 && !test_bit(NAPI_STATE_SCHED, &card->napi.state))
		hrtimer_start(&card->timer, ns_to_ktime(ktime_get_ns() + card->wait_ns), HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart on_interrupt(struct hrtimer *timer)
{
	napi_schedule(&container_of(timer, struct card, timer)->napi);
	return HRTIMER_NORESTART;
}

static int poll_card(struct napi_struct *napi, int budget)
{
	struct card *card = container_of(napi, struct card, napi);
	struct sk_buff *skb;
	int done = 0;

	while (done < budget && (skb = __skb_dequeue(&card->held))) {
		done++;
		/* What is joined to a packet must not become part of its sender's copy. */
		if (skb_unclone(skb, GFP_ATOMIC))
			kfree_skb(skb);
		else
			napi_gro_receive(napi, skb);
	}
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

static struct card *card_of(u64 number)
{
	struct card *card;

	list_for_each_entry(card, &cards, all)
		if (card->number == number)
			return card;
	return NULL;
}

/* Cards stay until the machine is switched off. */
static struct card *new_card(struct net_device *dev, u64 number, u64 wait_ns)
{
	struct card *card = kzalloc(sizeof(*card), GFP_KERNEL);

	if (!card)
		return NULL;
	card->number = number;
	card->wait_ns = wait_ns;
	__skb_queue_head_init(&card->held);
	hrtimer_setup(&card->timer, on_interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	netif_napi_add(dev, &card->napi, poll_card);
	napi_enable(&card->napi);
	list_add_tail(&card->all, &cards);
	return card;
}

int sojourn_receive_by(struct way *way, void __user *data)
{
	u64 values[2];

	if (copy_from_user(values, data, sizeof(values)))
		return -EFAULT;
	way->card = card_of(values[0]) ?: new_card(way->dev, values[0], values[1]);
	return way->card ? 0 : -ENOMEM;
}
