/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before a user's congestion control: a bounded random number comes from the stream of the flow's congestion
 * control in the simulator, as BBR's does (edits.toml). The flow is that of `sk` in the function that draws; a function
 * without a socket of that name draws from the kernel's generator, which the run's seed starts.
 */
#include <linux/prandom.h>
#include <linux/random.h>
#include <net/tcp.h>

u32 sojourn_control_random(const struct sock *sk, u32 bound);

/* Hidden by a parameter or variable of that name. */
static const struct sock *const sk __maybe_unused;

static inline u32 sojourn_kernel_random(u32 bound)
{
	return (u64)get_random_u32() * bound >> 32;
}

#undef get_random_u32_below
#define get_random_u32_below(bound) \
	(sk ? sojourn_control_random((const struct sock *)sk, bound) : sojourn_kernel_random(bound))
#define prandom_u32_max(bound) get_random_u32_below(bound)
