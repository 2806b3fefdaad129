// SPDX-License-Identifier: GPL-2.0
/*
 * Reception as by a network card: it interrupts a fixed time after the first packet, and NAPI polls all packets that
 * have arrived by then, with GRO. Devices may share a card.
 *
 * This file is compiled into the kernel and is not part of Sojourn's programs; see LICENSE in this package.
 */
#include <linux/slab.h>
#include "sojourn.h"

/* A NAPI instance that receives for one or several devices. */
struct card {
	struct list_head all;
	u64 number;
	u64 wait_ns;
	struct napi_struct napi;
	struct hrtimer timer;
	struct sk_buff_head queue;	/* since the first packet */
};

static LIST_HEAD(cards);

void sojourn_card_receive(struct card *card, struct sk_buff *skb)
{
	__skb_queue_tail(&card->queue, skb);
	if (skb_queue_len(&card->queue) == 1 && !test_bit(NAPI_STATE_SCHED, &card->napi.state))
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

	while (done < budget && (skb = __skb_dequeue(&card->queue))) {
		done++;
		/* GRO modifies the packet, which may be a clone of the sender's. */
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

/* Cards are never freed. */
static struct card *new_card(struct net_device *dev, u64 number, u64 wait_ns)
{
	struct card *card = kzalloc(sizeof(*card), GFP_KERNEL);

	if (!card)
		return NULL;
	card->number = number;
	card->wait_ns = wait_ns;
	__skb_queue_head_init(&card->queue);
	hrtimer_setup(&card->timer, on_interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	netif_napi_add(dev, &card->napi, poll_card);
	napi_enable(&card->napi);
	list_add_tail(&card->all, &cards);
	return card;
}

int sojourn_receive_by(struct link_direction *dir, void __user *data)
{
	u64 values[2];

	if (copy_from_user(values, data, sizeof(values)))
		return -EFAULT;
	dir->card = card_of(values[0]) ?: new_card(dir->dev, values[0], values[1]);
	return dir->card ? 0 : -ENOMEM;
}
