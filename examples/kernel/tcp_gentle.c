// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control for Linux in its shortest form: Reno that keeps three quarters of its window. Compiled into the
 * guest's kernel by
 *
 *   sojourn kernel build --cc examples/kernel/tcp_gentle.c
 *
 * and run with cc = "kernel:gentle" by --engine kernel.
 */
#include <linux/module.h>
#include <net/tcp.h>

static u32 gentle_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * 3 / 4, 2U);
}

static struct tcp_congestion_ops gentle __read_mostly = {
	.name = "gentle",
	.ssthresh = gentle_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
};

static int __init gentle_init(void)
{
	return tcp_register_congestion_control(&gentle);
}
module_init(gentle_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno with a reduction to three quarters");
