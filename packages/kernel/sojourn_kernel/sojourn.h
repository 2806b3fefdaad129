/* SPDX-License-Identifier: GPL-2.0 */
/* Shared declarations: configuration and state of a device, its trace, and its card for reception. */
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

/* The link has `rate` bit/s from `at` on, in ns of the monotonic clock. */
struct step {
	u64 at;
	u64 rate;
};

struct link_config {
	u64 steps;		/* user address of the steps; the first begins at 0 */
	u64 delay_ns;
	u64 below_stop;		/* the buffer below stops the queue at this level ... */
	u64 below_wake;		/* ... and wakes it at or below this level */
	s32 overhead;		/* framing bytes per IP packet */
	u32 mpu;		/* minimum bytes on the medium */
	u32 step_count;		/* 0: infinitely fast */
	u32 flags;
	u32 number;		/* link number in the trace, or NOT_TRACED */
	u32 pad;
};

enum {
	STEP_LATCHED = 1,		/* a step takes effect with the next packet */
	CARRY_OVER = 2,		/* carry fractions of a nanosecond over to the next packet */
	BELOW_PACKETS = 4,	/* the buffer counts packets, otherwise bytes plus 14 of Ethernet each */
	NAMED = 8,		/* set the skb hash from a nonzero mark, and truesize to the packet's length */
	OFFLOADS = 16,		/* accept super-packets */
	SPLITS = 32,		/* ... which its queue discipline segments; the segments are traced */
};

#define NOT_TRACED 255

enum {
	CONFIGURE = SIOCDEVPRIVATE,
	RANDOM = SIOCDEVPRIVATE + 1,	/* u64: state of the random stream of the device's queue discipline */
	TRACE = SIOCDEVPRIVATE + 2,	/* file name on the host; empty: flush */
	RECEIVE = SIOCDEVPRIVATE + 3,	/* u64[2]: number of a card, delay from its first packet to the poll in ns */
	CONTROLS = SIOCDEVPRIVATE + 4,	/* u64: seed of the congestion controls' random streams */
	HOSTS = SIOCDEVPRIVATE + 5,	/* hosts_config: hosts of all sources, of which some share one */
};

/* Hosts of a source, and the shift of its clients' ports, by which sources of the same hosts differ. */
struct hosts_of_source {
	u32 hosts[2];		/* numbers of the hosts of the source and of the sink, below 2^23 */
	u32 port_shift;		/* below the number of clients' ports */
};

struct hosts_config {
	u64 sources;		/* user address of the hosts, by number of the source */
	u64 count;
};

#define MAX_SOURCES 65536

struct card;

/* One direction of a link. */
struct link_direction {
	struct net_device *dev;
	struct net_device *peer;
	struct link_config config;
	struct step *steps;
	u32 step;			/* current one */
	u64 carry;			/* bit-nanoseconds */
	struct hrtimer sent_timer;	/* end of the transmission */
	struct hrtimer arrival_timer;	/* end of the propagation */
	struct sk_buff_head ring;	/* in transmission, then in the buffer below */
	u64 level;			/* packets or bytes in the ring */
	struct sk_buff_head flight;
	struct card *card;		/* for reception; NULL: packets are delivered at once */
};

/* ---- the trace and the random streams (trace.c) ----------------------------------------------------------------- */

/* Called when a packet leaves its queue discipline for the link. */
void sojourn_note_sent(struct link_direction *dir, struct sk_buff *skb);

/* The ioctls TRACE, RANDOM, CONTROLS and HOSTS. */
int sojourn_open_trace(void __user *data);
int sojourn_share_hosts(void __user *data);
int sojourn_restart_random(struct link_direction *dir, void __user *data);
int sojourn_restart_controls(void __user *data);

/* Called for every packet just before its enqueue, and for every segment that a queue discipline makes. */
void sojourn_offered(struct sk_buff *skb, struct net_device *dev);

/* For sch_sojourn.c: the flow of a packet, the state of a device's random stream, and the reason of a drop. */
u32 sojourn_flow(struct sk_buff *skb, const struct net_device *dev);
void sojourn_note_reason(struct sk_buff *skb, u32 reason);
u64 sojourn_stream(const struct net_device *dev);

extern const struct net_device_ops sojourn_ops;

/* ---- reception by polls (card.c) -------------------------------------------------------------------------------- */

/* The ioctl RECEIVE. */
int sojourn_receive_by(struct link_direction *dir, void __user *data);

/* Enqueue an arriving packet for the poll. */
void sojourn_card_receive(struct card *card, struct sk_buff *skb);

#endif
