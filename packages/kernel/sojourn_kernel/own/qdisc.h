/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before a user's queue discipline: its random numbers come from the stream of the link's queue, as those of
 * the kernel's own do (edits.toml). Headers that draw themselves come first and keep the kernel's generator.
 */
#include <linux/prandom.h>
#include <linux/random.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

u64 sojourn_random64(void);
u32 sojourn_random32(void);
u16 sojourn_random16(void);
/* A discipline that segments super-packets calls this for each segment, which is then traced. */
void sojourn_offered(struct sk_buff *skb, struct net_device *dev);

static inline u32 sojourn_random_below(u32 bound)
{
	return (u64)sojourn_random32() * bound >> 32;
}

static inline void sojourn_random_bytes(void *to, size_t bytes)
{
	while (bytes) {
		u64 word = sojourn_random64();
		size_t part = min(bytes, sizeof(word));

		memcpy(to, &word, part);
		to += part;
		bytes -= part;
	}
}

#undef get_random_u32_below
#define get_random_bytes(to, bytes) sojourn_random_bytes(to, bytes)
#define get_random_u8() ((u8)(sojourn_random64() >> 56))
#define get_random_u16() sojourn_random16()
#define get_random_u32() sojourn_random32()
#define get_random_u64() sojourn_random64()
#define get_random_u32_below(bound) sojourn_random_below(bound)
#define prandom_u32_max(bound) sojourn_random_below(bound)
#define prandom_u32() sojourn_random32()
#define prandom_u32_state(state) ((void)(state), sojourn_random32())
