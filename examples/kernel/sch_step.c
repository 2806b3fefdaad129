// SPDX-License-Identifier: GPL-2.0
/*
 * A queue discipline for Linux in its shortest form: a packet that has waited longer than a threshold is marked, or
 * dropped if it is not ECN-capable. Compiled into the guest's kernel by
 *
 *   sojourn kernel build --qdisc examples/kernel/sch_step.c
 *
 * and run with aqm = "kernel:step options 1:4:5000" (threshold in microseconds) by --engine kernel.
 */
#include <linux/module.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>

enum { STEP_THRESHOLD = 1 };

struct step {
	u64 threshold;	/* ns */
};

static u64 *arrival(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(u64));
	return (u64 *)qdisc_skb_cb(skb)->data;
}

static int step_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (sch->q.qlen >= sch->limit)
		return qdisc_drop(skb, sch, to_free);
	*arrival(skb) = ktime_get_ns();
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *step_dequeue(struct Qdisc *sch)
{
	struct step *step = qdisc_priv(sch);
	unsigned int packets = 0, bytes = 0;
	struct sk_buff *skb;

	while ((skb = qdisc_dequeue_head(sch))) {
		if (ktime_get_ns() - *arrival(skb) <= step->threshold || INET_ECN_set_ce(skb))
			break;
		packets++;
		bytes += qdisc_pkt_len(skb);
		qdisc_qstats_drop(sch);
		kfree_skb(skb);
	}
	if (packets)
		qdisc_tree_reduce_backlog(sch, packets, bytes);
	return skb;
}

static int step_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[STEP_THRESHOLD + 1];
	struct step *step = qdisc_priv(sch);
	int error = nla_parse_nested_deprecated(tb, STEP_THRESHOLD, opt, NULL, extack);

	if (error)
		return error;
	if (tb[STEP_THRESHOLD])
		step->threshold = (u64)nla_get_u32(tb[STEP_THRESHOLD]) * NSEC_PER_USEC;
	return 0;
}

static int step_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct step *step = qdisc_priv(sch);

	step->threshold = 5 * NSEC_PER_MSEC;
	sch->limit = 1000;
	return opt ? step_change(sch, opt, extack) : 0;
}

static struct Qdisc_ops step_qdisc_ops __read_mostly = {
	.id = "step",
	.priv_size = sizeof(struct step),
	.enqueue = step_enqueue,
	.dequeue = step_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = step_init,
	.change = step_change,
	.reset = qdisc_reset_queue,
	.owner = THIS_MODULE,
};

static int __init step_module_init(void)
{
	return register_qdisc(&step_qdisc_ops);
}
module_init(step_module_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Marks or drops packets that have waited longer than a threshold");
