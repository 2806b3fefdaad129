/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Log of a queue's calls and verdicts, for `sojourn aqm diff --log`: debugfs/sojourn/DEVICE-N, read as a stream. In the
 * guest of the kernel engine there is none, as its trace has all packets.
 */
#ifndef SOJOURN_LOG_H
#define SOJOURN_LOG_H
#include "sojourn_qdisc.h"

enum sojourn_event {
	SOJOURN_LOG_TEXT = 1,		/* `number` bytes of text from here on, in the payload of as many records */
	SOJOURN_LOG_CREATED,		/* by the text before */
	SOJOURN_LOG_ARRIVAL,
	SOJOURN_LOG_DROP,		/* `code`: the reason */
	SOJOURN_LOG_DEPARTURE,		/* `code`: ECN field */
	SOJOURN_LOG_NO_PACKET,		/* a request in vain */
	SOJOURN_LOG_SETTLED,		/* updates were run */
	SOJOURN_LOG_CHANGE,		/* to the text before; its drops follow */
	SOJOURN_LOG_REFUSED,		/* the change before was */
	SOJOURN_LOG_RESET,
	SOJOURN_LOG_FAILED,
	SOJOURN_LOG_LOST,		/* `number` records, since the reader was too slow */
};

struct sojourn_log;

#ifdef SOJOURN_TRANSLATED
void sojourn_log_start(void);
void sojourn_log_stop(void);
/* NULL if logs are off, or without memory for one. */
struct sojourn_log *sojourn_log_create(const char *device);
void sojourn_log_close(struct sojourn_log *log);
void sojourn_log_text(struct sojourn_log *log, const char *text);
void sojourn_log_arrival(struct sojourn_log *log, u64 now, u32 number, const struct sojourn_packet *packet);
void sojourn_log_event(struct sojourn_log *log, u64 now, enum sojourn_event kind, u32 number, u32 code);
#else
static inline void sojourn_log_start(void) {}
static inline void sojourn_log_stop(void) {}
static inline struct sojourn_log *sojourn_log_create(const char *device) { return NULL; }
static inline void sojourn_log_close(struct sojourn_log *log) {}
static inline void sojourn_log_text(struct sojourn_log *log, const char *text) {}
static inline void sojourn_log_arrival(struct sojourn_log *log, u64 now, u32 number,
				       const struct sojourn_packet *packet) {}
static inline void sojourn_log_event(struct sojourn_log *log, u64 now, enum sojourn_event kind, u32 number,
				     u32 code) {}
#endif

#endif
