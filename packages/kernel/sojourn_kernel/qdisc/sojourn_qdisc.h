/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Sojourn's queue disciplines as an object file (crates/qdisc): functions over integers and pointers. The caller holds
 * the discipline's lock; a packet is known by its handle. Times are in ns of one clock.
 */
#ifndef SOJOURN_QDISC_H
#define SOJOURN_QDISC_H
#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

struct sojourn_queue;

struct sojourn_setup {
	u64 rate;		/* of the link in bit/s */
	u64 delay;		/* one-way propagation delay; 0: unknown */
	u64 seed;		/* state of the random stream */
	u64 now;
	u64 mtu;		/* largest packet in bytes, as the queue accounts it */
};

struct sojourn_packet {
	uintptr_t handle;
	u32 len;		/* bytes as the queue accounts them */
	u32 flow;		/* hash or number of the flow */
	u32 hosts[2];		/* identifiers of sender and receiver */
	u32 class;		/* skb->priority; 0: by the DSCP */
	u16 segments;		/* of a super-packet; otherwise 1 */
	u8 tos;			/* DSCP and ECN field */
};

struct sojourn_departure {
	uintptr_t handle;
	u64 at;			/* with SOJOURN_NOT_BEFORE */
	u32 ecn;
};

enum { SOJOURN_EMPTY, SOJOURN_PACKET, SOJOURN_NOT_BEFORE };

/* NULL if the text or the limit is refused: `why` is then a string. */
struct sojourn_queue *sojourn_qdisc_create(const struct sojourn_setup *setup, const char *text, size_t text_len,
					   const char *limit, size_t limit_len, char *why, size_t room);
/* The environment that a queue was created or reset in. */
void sojourn_qdisc_setup(const struct sojourn_queue *queue, struct sojourn_setup *out);
/*
 * Changes a queue to the parameters, limits and memory of `new`, made in its environment and to be freed afterwards;
 * packets stay. False if it is refused: `why` is then a string.
 */
bool sojourn_qdisc_change(struct sojourn_queue *queue, u64 now, void *user, struct sojourn_queue *new, char *why,
			  size_t room);
/* Forgets all packets and starts as at its creation; if it is refused memory, it keeps its state. */
void sojourn_qdisc_reset(struct sojourn_queue *queue, u64 now);
void sojourn_qdisc_free(struct sojourn_queue *queue);
/* 0: the packet waits, 1: newly marked, 2 and the reason: it or another was dropped (sojourn_qdisc_dropped). */
u32 sojourn_qdisc_enqueue(struct sojourn_queue *queue, u64 now, void *user, const struct sojourn_packet *packet);
u32 sojourn_qdisc_dequeue(struct sojourn_queue *queue, u64 now, void *user, struct sojourn_departure *out);
/* Runs the updates due up to and including `now`. */
void sojourn_qdisc_settle(struct sojourn_queue *queue, u64 now);
/* Whether Linux runs its updates from a timer: its first expiry after the creation, and its period. */
bool sojourn_qdisc_ticks(const struct sojourn_queue *queue, u64 *first, u64 *period);
/* Whether the caller offers the segments of a super-packet in its place. */
bool sojourn_qdisc_splits_gso(const struct sojourn_queue *queue);
void sojourn_qdisc_spelling(const struct sojourn_queue *queue, char *out, size_t room);
void sojourn_qdisc_state(struct sojourn_queue *queue, u64 now, char *out, size_t room);
#ifdef SOJOURN_TRANSLATED
/* Why the queue makes no more decisions; NULL unless a call has trapped. Only a translated library can. */
const char *sojourn_qdisc_failure(const struct sojourn_queue *queue);
#else
static inline const char *sojourn_qdisc_failure(const struct sojourn_queue *queue)
{
	(void)queue;
	return NULL;
}
#endif

/* ---- provided by the kernel ------------------------------------------------------------------------------------- */

void sojourn_qdisc_dropped(void *user, uintptr_t handle, u32 ecn, u32 reason);
/* Copies the start of a packet from its IP header on; returns the number of bytes. */
size_t sojourn_qdisc_head(void *user, uintptr_t handle, u8 *bytes, size_t room);
void *sojourn_qdisc_alloc(size_t bytes, size_t align);
void sojourn_qdisc_release(void *at, size_t bytes);
void sojourn_qdisc_panic(const char *text, size_t len) __attribute__((noreturn));

#endif
