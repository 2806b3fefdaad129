/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the links share: a device's configuration and state, its trace, and the cards it receives by. */
#ifndef SOJOURN_H
#define SOJOURN_H
#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

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
	OFFLOADS = 16,		/* it takes super-packets */
	SPLITS = 32,		/* ... which its queue discipline cuts: their segments are what is offered */
};

#define NOT_TRACED 255

enum {
	CONFIGURE = SIOCDEVPRIVATE,
	RANDOM = SIOCDEVPRIVATE + 1,	/* u64: state of the stream that the device's queue discipline draws from */
	TRACE = SIOCDEVPRIVATE + 2,	/* name of a file of the host, or an empty one to write out what is left */
	RECEIVE = SIOCDEVPRIVATE + 3,	/* u64[2]: number of a card, and how long after the first packet it is polled, ns */
	CONTROLS = SIOCDEVPRIVATE + 4,	/* u64: seed of what congestion controls draw */
};

struct card;

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
	struct card *card;		/* what it receives by, unless each packet goes up at once */
};

/* ---- the trace and the random streams (trace.c) ----------------------------------------------------------------- */

/* A packet leaves its queue discipline for the link. */
void sojourn_note_sent(struct way *way, struct sk_buff *skb);

/* TRACE, RANDOM and CONTROLS of a device. */
int sojourn_open_trace(void __user *data);
int sojourn_restart_random(struct way *way, void __user *data);
int sojourn_restart_controls(void __user *data);

extern const struct net_device_ops sojourn_ops;

/* ---- reception by polls (card.c) -------------------------------------------------------------------------------- */

/* RECEIVE of a device. */
int sojourn_receive_by(struct way *way, void __user *data);

/* A packet arrives, which waits for the poll. */
void sojourn_card_receive(struct card *card, struct sk_buff *skb);

#endif
