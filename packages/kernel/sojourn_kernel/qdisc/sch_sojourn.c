// SPDX-License-Identifier: GPL-2.0
/*
 * Queue discipline `sojourn`: each decision is that of Sojourn's library (sojourn_qdisc.h), each packet stays here. Its
 * parameter is a text in Sojourn's spelling, `codel@act target 7ms ecn`.
 *
 * This file is compiled into a kernel and is not part of Sojourn's programs; see LICENSE in this package.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/version.h>
#include <net/dsfield.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/pkt_sched.h>
#ifdef SOJOURN_TRANSLATED
#include "host.h"
#include "line.h"
#else
#include "../sojourn.h"
#define SOJOURN_LINE "fq_codel"
#endif
#include "log.h"
#include "sojourn_qdisc.h"

enum {
	SOJOURN_UNSPEC,
	SOJOURN_TEXT,		/* string: the discipline */
	SOJOURN_LIMIT,		/* string: "1000 packets", "250 kB" */
	SOJOURN_RATE,		/* u64: rate of the link in bit/s */
	SOJOURN_SEED,		/* u64: state of the random stream */
	SOJOURN_DELAY,		/* u64: propagation delay in ns */
	SOJOURN_MTU,		/* u32: largest packet in bytes */
	SOJOURN_SPELLING,	/* string, in dumps: limit and discipline */
	SOJOURN_MAX = SOJOURN_SPELLING,
};

#define MAX_TEXT 4000
#define MAX_LIMIT 100
#define MAX_REASON 400
#define MAX_SPELLING 1500
#define DEFAULT_RATE 1000000000

static const struct nla_policy policy[SOJOURN_MAX + 1] = {
	[SOJOURN_TEXT] = { .type = NLA_NUL_STRING, .len = MAX_TEXT },
	[SOJOURN_LIMIT] = { .type = NLA_NUL_STRING, .len = MAX_LIMIT },
	[SOJOURN_RATE] = { .type = NLA_U64 },
	[SOJOURN_SEED] = { .type = NLA_U64 },
	[SOJOURN_DELAY] = { .type = NLA_U64 },
	[SOJOURN_MTU] = { .type = NLA_U32 },
};

static char *default_text = SOJOURN_LINE;
module_param_named(text, default_text, charp, 0644);
MODULE_PARM_DESC(text, "discipline without options, as for net.core.default_qdisc");

/* The task that makes a queue, under RTNL: its requests for memory may sleep. */
static struct task_struct *may_sleep;

struct drops {
	u32 packets;
	u32 bytes;
};

struct sojourn_sched {
	struct sojourn_queue *queue;
	struct sk_buff *first, *last;	/* the packets, in order of arrival, for reset */
	struct qdisc_watchdog watchdog;
	struct timer_list timer;	/* updates of disciplines whose source runs them on ticks */
	unsigned long period;		/* of the timer in jiffies; 0 without a timer */
	struct Qdisc *sch;
	struct sojourn_log *log;
	u64 now;			/* of the call in progress */
	u32 arrived;
	struct sk_buff **to_free;	/* during an enqueue */
	struct sk_buff *arriving;
	bool is_arrival_dropped;
	bool is_flow_hit;		/* another packet of the arriving one's flow was dropped */
	bool splits;
	bool changes;			/* during a change of parameters */
	bool has_failed;		/* said once in the log */
	struct drops enqueue_drops;
	struct drops dequeue_drops;	/* not yet told to the parents */
};

struct sojourn_cb {
	u32 flow;
	u32 number;			/* in order of arrival */
};

static struct sojourn_cb *cb_of(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct sojourn_cb));
	return (struct sojourn_cb *)qdisc_skb_cb(skb)->data;
}

/* ---- imports of the library -------------------------------------------------------------------------------------- */

void *sojourn_qdisc_alloc(size_t bytes, size_t align)
{
	bool sleeps = READ_ONCE(may_sleep) == current && !in_serving_softirq();

	if (align > ARCH_KMALLOC_MINALIGN && align > sizeof(u64))
		return NULL;
	return sleeps ? kvmalloc(bytes, GFP_KERNEL) : kmalloc(bytes, GFP_ATOMIC | __GFP_NOWARN);
}

void sojourn_qdisc_release(void *at, size_t bytes)
{
	kvfree(at);
}

void sojourn_qdisc_panic(const char *text, size_t len)
{
	panic("sojourn: %.*s\n", (int)len, text);
}

static void unlink(struct sojourn_sched *q, struct sk_buff *skb)
{
	*(skb->prev ? &skb->prev->next : &q->first) = skb->next;
	*(skb->next ? &skb->next->prev : &q->last) = skb->prev;
	skb->next = NULL;
	skb->prev = NULL;
}

static void remove(struct Qdisc *sch, struct sk_buff *skb)
{
	unlink(qdisc_priv(sch), skb);
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
}

void sojourn_qdisc_dropped(void *user, uintptr_t handle, u32 ecn, u32 reason)
{
	struct Qdisc *sch = user;
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = (struct sk_buff *)handle;
	struct drops *drops = q->to_free ? &q->enqueue_drops : &q->dequeue_drops;

	sojourn_note_reason(skb, reason);
	sojourn_log_event(q->log, q->now, SOJOURN_LOG_DROP, cb_of(skb)->number, reason);
	remove(sch, skb);
	qdisc_qstats_drop(sch);
	if (skb == q->arriving) {
		q->is_arrival_dropped = true;
	} else {
		drops->packets++;
		drops->bytes += qdisc_pkt_len(skb);
		if (q->arriving && cb_of(skb)->flow == cb_of(q->arriving)->flow)
			q->is_flow_hit = true;
	}
	if (q->to_free)
		__qdisc_drop(skb, q->to_free);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	else if (!q->changes)
		qdisc_dequeue_drop(sch, skb, QDISC_DROP_CONGESTED);
#endif
	else
		kfree_skb(skb);
}

size_t sojourn_qdisc_head(void *user, uintptr_t handle, u8 *bytes, size_t room)
{
	const struct sk_buff *skb = (const struct sk_buff *)handle;
	int from = skb_network_offset(skb);
	size_t len = min_t(size_t, room, skb->len - from);

	return skb_copy_bits(skb, from, bytes, len) ? 0 : len;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static void read_headers(struct sk_buff *skb, struct sojourn_packet *packet)
{
	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (!pskb_network_may_pull(skb, sizeof(struct iphdr)))
			break;
		packet->tos = ipv4_get_dsfield(ip_hdr(skb));
		packet->hosts[0] = ntohl(ip_hdr(skb)->saddr);
		packet->hosts[1] = ntohl(ip_hdr(skb)->daddr);
		break;
	case htons(ETH_P_IPV6):
		if (!pskb_network_may_pull(skb, sizeof(struct ipv6hdr)))
			break;
		packet->tos = ipv6_get_dsfield(ipv6_hdr(skb));
		packet->hosts[0] = ipv6_addr_hash(&ipv6_hdr(skb)->saddr);
		packet->hosts[1] = ipv6_addr_hash(&ipv6_hdr(skb)->daddr);
		break;
	}
}

static u16 segments_of(const struct sk_buff *skb)
{
	if (!skb_is_gso(skb))
		return 1;
	return max_t(u16, 1, skb_shinfo(skb)->gso_segs);
}

/* The flow that the priority selects, as in fq_codel_classify, or that of the headers. */
static u32 flow_of(struct sk_buff *skb, const struct Qdisc *sch)
{
	if (TC_H_MAJ(skb->priority) == sch->handle && TC_H_MIN(skb->priority))
		return TC_H_MIN(skb->priority) - 1;
	return sojourn_flow(skb, qdisc_dev(sch));
}

/* ---- after a failure: tail drop over the packets that wait ------------------------------------------------------- */

static bool has_failed(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	const char *why = sojourn_qdisc_failure(q->queue);

	if (why && !q->has_failed) {
		q->has_failed = true;
		sojourn_log_event(q->log, q->now, SOJOURN_LOG_FAILED, 0, 0);
		pr_err("sojourn: %s: the queue manager has failed (%s); tail drop from now on, replace the qdisc\n",
		       qdisc_dev(sch)->name, why);
	}
	return why;
}

static bool is_full(const struct Qdisc *sch)
{
	return sch->q.qlen >= max_t(u32, 1, qdisc_dev(sch)->tx_queue_len);
}

static struct sk_buff *take_first(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = q->first;

	if (!skb)
		return NULL;
	remove(sch, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

/* ---- packets to and from the discipline -------------------------------------------------------------------------- */

/* Add a packet and offer it; the others that the discipline drops are in `enqueue_drops`. */
static int offer(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sojourn_packet packet = {
		.handle = (uintptr_t)skb,
		.len = qdisc_pkt_len(skb),
		.flow = flow_of(skb, sch),
		.class = skb->priority,
		.segments = segments_of(skb),
	};

	read_headers(skb, &packet);
	cb_of(skb)->flow = packet.flow;
	cb_of(skb)->number = q->arrived++;
	skb->next = NULL;
	skb->prev = q->last;
	*(q->last ? &q->last->next : &q->first) = skb;
	q->last = skb;
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	q->arriving = skb;
	q->is_arrival_dropped = false;
	q->is_flow_hit = false;
	q->enqueue_drops = (struct drops) {};
	q->to_free = to_free;
	q->now = ktime_get_ns();
	sojourn_log_arrival(q->log, q->now, cb_of(skb)->number, &packet);
	sojourn_qdisc_enqueue(q->queue, q->now, sch, &packet);
	q->to_free = NULL;
	q->arriving = NULL;
	return q->is_arrival_dropped ? NET_XMIT_DROP : NET_XMIT_SUCCESS;
}

static int enqueue_packet(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	int result = offer(skb, sch, to_free);
	struct drops *others = &q->enqueue_drops;

	if (result == NET_XMIT_SUCCESS && q->is_flow_hit) {
		/* The parents do not count this packet then, as with fq_codel_enqueue and pfifo_tail_enqueue. */
		qdisc_tree_reduce_backlog(sch, others->packets - 1, others->bytes - len);
		return NET_XMIT_CN;
	}
	if (others->packets)
		qdisc_tree_reduce_backlog(sch, others->packets, others->bytes);
	return result;
}

/* Offer the segments of a super-packet, as cake_enqueue does; the parents have counted one packet. */
static int enqueue_segments(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb) & ~NETIF_F_GSO_MASK;
	struct sk_buff *segments = skb_gso_segment(skb, features), *segment, *next;
	u32 len = qdisc_pkt_len(skb), queued = 0, bytes = 0;

	if (IS_ERR_OR_NULL(segments))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segments, segment, next) {
		struct sojourn_sched *q = qdisc_priv(sch);
		u32 segment_len = segment->len;

		skb_mark_not_on_list(segment);
		qdisc_skb_cb(segment)->pkt_len = segment_len;
		sojourn_offered(segment, qdisc_dev(sch));
		if (offer(segment, sch, to_free) == NET_XMIT_SUCCESS) {
			queued++;
			bytes += segment_len;
		}
		if (q->enqueue_drops.packets)
			qdisc_tree_reduce_backlog(sch, q->enqueue_drops.packets, q->enqueue_drops.bytes);
	}
	consume_skb(skb);
	if (!queued)
		return NET_XMIT_DROP;
	qdisc_tree_reduce_backlog(sch, 1 - queued, len - bytes);
	return NET_XMIT_SUCCESS;
}

static int sojourn_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sojourn_sched *q = qdisc_priv(sch);

	if (unlikely(has_failed(sch)) && is_full(sch))
		return qdisc_drop(skb, sch, to_free);
	if (q->splits && skb_is_gso(skb))
		return enqueue_segments(skb, sch, to_free);
	return enqueue_packet(skb, sch, to_free);
}

/* Tell the parents of drops at dequeue; before 7.0 not with an empty queue, as fq_codel_dequeue. */
static void report_drops(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);

	if (!q->dequeue_drops.packets)
		return;
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	if (!sch->q.qlen)
		return;
#endif
	qdisc_tree_reduce_backlog(sch, q->dequeue_drops.packets, q->dequeue_drops.bytes);
	q->dequeue_drops = (struct drops) {};
}

static struct sk_buff *sojourn_dequeue(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sojourn_departure out = {};
	struct sk_buff *skb = NULL;

	q->now = ktime_get_ns();
	switch (sojourn_qdisc_dequeue(q->queue, q->now, sch, &out)) {
	case SOJOURN_PACKET:
		skb = (struct sk_buff *)out.handle;
		sojourn_log_event(q->log, q->now, SOJOURN_LOG_DEPARTURE, cb_of(skb)->number, out.ecn);
		remove(sch, skb);
		if (out.ecn == INET_ECN_CE)
			INET_ECN_set_ce(skb);
		qdisc_bstats_update(sch, skb);
		break;
	case SOJOURN_NOT_BEFORE:
		qdisc_qstats_overlimit(sch);
		qdisc_watchdog_schedule_ns(&q->watchdog, out.at);
		break;
	}
	if (!skb)
		sojourn_log_event(q->log, q->now, SOJOURN_LOG_NO_PACKET, 0, 0);
	if (unlikely(has_failed(sch)) && !skb)
		skb = take_first(sch);
	report_drops(sch);
	return skb;
}

/* ---- configuration ----------------------------------------------------------------------------------------------- */

/* Refuse with a reason; the buffer is protected by RTNL. */
static char reason[MAX_REASON];

static int refuse(struct netlink_ext_ack *extack)
{
	if (extack)
		extack->_msg = reason;
	return -EINVAL;
}

static int read_options(struct nlattr **tb, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	memset(tb, 0, (SOJOURN_MAX + 1) * sizeof(*tb));
	return opt ? nla_parse_nested(tb, SOJOURN_MAX, opt, policy, extack) : 0;
}

static const char *string_of(const struct nlattr *attribute, const char *otherwise)
{
	return attribute ? nla_data(attribute) : otherwise;
}

/* A queue with the memory of all its packets; NULL with the reason. */
static struct sojourn_queue *create(const struct sojourn_setup *setup, const char *text, const char *limit)
{
	struct sojourn_queue *queue;

	WRITE_ONCE(may_sleep, current);
	queue = sojourn_qdisc_create(setup, text, strlen(text), limit, strlen(limit), reason, sizeof(reason));
	WRITE_ONCE(may_sleep, NULL);
	return queue;
}

/* Run the updates due by now. */
static void settle(struct sojourn_sched *q)
{
	q->now = ktime_get_ns();
	sojourn_qdisc_settle(q->queue, q->now);
	sojourn_log_event(q->log, q->now, SOJOURN_LOG_SETTLED, 0, 0);
}

/* The log's record of a creation: limits and discipline, after the environment. */
static void log_creation(struct sojourn_sched *q)
{
	char text[200];
	struct sojourn_setup setup;
	char *spelling = q->log ? kmalloc(MAX_SPELLING, GFP_ATOMIC) : NULL;

	if (!spelling)
		return;
	sojourn_qdisc_setup(q->queue, &setup);
	sojourn_qdisc_spelling(q->queue, spelling, MAX_SPELLING);
	snprintf(text, sizeof(text), "rate %llu delay %llu seed %llu mtu %llu ", setup.rate, setup.delay, setup.seed,
		 setup.mtu);
	sojourn_log_text(q->log, text);
	sojourn_log_text(q->log, spelling);
	sojourn_log_event(q->log, setup.now, SOJOURN_LOG_CREATED, q->arrived, 0);
	kfree(spelling);
}

static void on_timer(struct timer_list *timer)
{
	struct sojourn_sched *q = container_of(timer, struct sojourn_sched, timer);
	spinlock_t *lock;

	rcu_read_lock();
	lock = qdisc_lock(qdisc_root_sleeping(q->sch));
	spin_lock(lock);
	if (q->period) {	/* 0 once the queue is being destroyed */
		settle(q);
		mod_timer(&q->timer, jiffies + q->period);
	}
	spin_unlock(lock);
	rcu_read_unlock();
}

static void start_timer(struct sojourn_sched *q)
{
	u64 first, period;

	q->period = 0;
	if (!sojourn_qdisc_ticks(q->queue, &first, &period))
		return;
	q->period = max(1UL, nsecs_to_jiffies(period));
	mod_timer(&q->timer, jiffies + nsecs_to_jiffies(first));
}

static int sojourn_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct net_device *dev = qdisc_dev(sch);
	struct nlattr *tb[SOJOURN_MAX + 1];
	const char *text, *limit;
	struct sojourn_setup setup = { .now = ktime_get_ns() };
	int error;

	qdisc_watchdog_init(&q->watchdog, sch);
	timer_setup(&q->timer, on_timer, 0);
	q->sch = sch;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	sch->flags |= TCQ_F_DEQUEUE_DROPS;
#endif
	error = read_options(tb, opt, extack);
	if (error < 0)
		return error;
	text = string_of(tb[SOJOURN_TEXT], default_text);
	limit = string_of(tb[SOJOURN_LIMIT], "");
	setup.rate = tb[SOJOURN_RATE] ? nla_get_u64(tb[SOJOURN_RATE]) : DEFAULT_RATE;
	setup.seed = tb[SOJOURN_SEED] ? nla_get_u64(tb[SOJOURN_SEED]) : sojourn_stream(dev);
	setup.delay = tb[SOJOURN_DELAY] ? nla_get_u64(tb[SOJOURN_DELAY]) : 0;
	setup.mtu = tb[SOJOURN_MTU] ? nla_get_u32(tb[SOJOURN_MTU]) : psched_mtu(dev);
	q->queue = create(&setup, text, limit);
	if (!q->queue)
		return refuse(extack);
	q->splits = sojourn_qdisc_splits_gso(q->queue);
	q->log = sojourn_log_create(dev->name);
	log_creation(q);
	start_timer(q);
	return 0;
}

/* The new queue's memory is requested before the lock is taken, and the old one's released after it. */
static int sojourn_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct nlattr *tb[SOJOURN_MAX + 1];
	struct sojourn_setup setup;
	struct sojourn_queue *new;
	bool done;
	int error = read_options(tb, opt, extack);

	if (error < 0)
		return error;
	if (sojourn_qdisc_failure(q->queue)) {
		NL_SET_ERR_MSG(extack, "the queue manager has failed; replace the qdisc");
		return -EINVAL;
	}
	sch_tree_lock(sch);
	sojourn_qdisc_setup(q->queue, &setup);
	sch_tree_unlock(sch);
	new = create(&setup, string_of(tb[SOJOURN_TEXT], default_text), string_of(tb[SOJOURN_LIMIT], ""));
	if (!new)
		return refuse(extack);
	sch_tree_lock(sch);
	q->changes = true;
	q->now = ktime_get_ns();
	sojourn_log_event(q->log, q->now, SOJOURN_LOG_CHANGE, 0, 0);
	done = sojourn_qdisc_change(q->queue, q->now, sch, new, reason, sizeof(reason));
	if (!done)
		sojourn_log_event(q->log, q->now, SOJOURN_LOG_REFUSED, 0, 0);
	q->changes = false;
	q->splits = sojourn_qdisc_splits_gso(q->queue);
	report_drops(sch);
	sch_tree_unlock(sch);
	sojourn_qdisc_free(new);
	return done ? 0 : refuse(extack);
}

static void sojourn_reset(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);

	while (q->first) {
		struct sk_buff *skb = q->first;

		remove(sch, skb);
		rtnl_kfree_skbs(skb, skb);
	}
	q->dequeue_drops = (struct drops) {};
	qdisc_watchdog_cancel(&q->watchdog);
	if (!q->queue)
		return;
	q->now = ktime_get_ns();
	sojourn_log_event(q->log, q->now, SOJOURN_LOG_RESET, 0, 0);
	sojourn_qdisc_reset(q->queue, q->now);
	log_creation(q);
}

static void sojourn_destroy(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	q->period = 0;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	del_timer_sync(&q->timer);
#else
	timer_delete_sync(&q->timer);
#endif
	sojourn_log_close(q->log);
	sojourn_qdisc_free(q->queue);
}

static int sojourn_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start_noflag(skb, TCA_OPTIONS), *text;

	if (!opts)
		return -EMSGSIZE;
	text = nla_reserve(skb, SOJOURN_SPELLING, MAX_SPELLING);
	if (!text) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	memset(nla_data(text), 0, MAX_SPELLING);
	sch_tree_lock(sch);
	sojourn_qdisc_spelling(q->queue, nla_data(text), MAX_SPELLING);
	sch_tree_unlock(sch);
	return nla_nest_end(skb, opts);
}

static int sojourn_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	char *text = kzalloc(MAX_TEXT, GFP_KERNEL);
	int error;

	if (!text)
		return -ENOMEM;
	sch_tree_lock(sch);
	settle(q);
	sojourn_qdisc_state(q->queue, q->now, text, MAX_TEXT);
	sch_tree_unlock(sch);
	error = gnet_stats_copy_app(d, text, strlen(text) + 1);
	kfree(text);
	return error;
}

static struct Qdisc_ops sojourn_qdisc_ops __read_mostly = {
	.id = "sojourn",
	.priv_size = sizeof(struct sojourn_sched),
	.enqueue = sojourn_enqueue,
	.dequeue = sojourn_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = sojourn_init,
	.reset = sojourn_reset,
	.destroy = sojourn_destroy,
	.change = sojourn_change,
	.dump = sojourn_dump,
	.dump_stats = sojourn_dump_stats,
	.owner = THIS_MODULE,
};

static int __init sojourn_module_init(void)
{
	int error;

	sojourn_log_start();
	error = register_qdisc(&sojourn_qdisc_ops);
	if (error)
		sojourn_log_stop();
	return error;
}

static void __exit sojourn_module_exit(void)
{
	unregister_qdisc(&sojourn_qdisc_ops);
	sojourn_log_stop();
}

module_init(sojourn_module_init)
module_exit(sojourn_module_exit)
MODULE_DESCRIPTION("Queue disciplines of Sojourn");
MODULE_LICENSE("GPL");
MODULE_ALIAS("sch_sojourn");
#ifdef MODULE_ALIAS_NET_SCH
MODULE_ALIAS_NET_SCH("sojourn");
#endif
