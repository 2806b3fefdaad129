/* sojourn_linux_cc.h: compiles a congestion control of Linux, unchanged, into a library for Sojourn.
 *
 * A file such as tcp_mine.c of Linux's net/ipv4 includes headers of the kernel. `sojourn cc new NAME --linux FILE`
 * writes a folder with a header of each of these names, which only includes this one. It declares the part of the
 * kernel that such files use, under the kernel's names, and exports `sojourn_cc`, whose functions call the file's
 * tcp_congestion_ops. The text is Sojourn's own; a library made of a file of the kernel is under that file's licence.
 *
 * For gcc and clang: -std=gnu11 -O2 -fPIC -shared -fwrapv -fno-strict-aliasing. Macros that change it:
 * - HZ: ticks per second of the stack's clock, by default 1000 as in Sojourn's Linux stacks. Another clock is refused.
 * - SOJOURN_LINUX_NEEDS: SOJOURN_CC_… bits in addition to those that follow from the operations.
 * - SOJOURN_LINUX_OPS: name of the tcp_congestion_ops, for a file without module_init, such as a BPF program.
 * - SOJOURN_LINUX_BPF: leaves out names that BPF programs define themselves; adds SEC, BPF_PROG, BPF_STRUCT_OPS.
 *   Programs with maps or socket storage do not compile.
 * - SOJOURN_LINUX_COMPANION: for a second file of the same library: no export, and its operations are not registered.
 *
 * Correspondence:
 * - Parameters of the module are the words after the library's name: "./libcubic.so beta 600 hystart 0". They are
 *   static variables, so at any time all connections of a process have the same ones; others are refused.
 * - Operations with cong_control have the face steer, others the face window. `pkts_acked` and `in_ack_event` are
 *   called for every acknowledgment with data outstanding, `cong_avoid` also if the window is not the limit, `init`
 *   when the connection is established.
 * - TCP_CONG_NEEDS_ECN requests ECN, ECN-capable control packets, and a receiver that echoes the mark of each packet,
 *   which is the receiver's half of DCTCP; the events CA_EVENT_ECN_* do not occur.
 *
 * - `in_ack_event` follows `pkts_acked` and sees the packets of the acknowledgment in `delivered`, as in Linux 6.16 and
 *   in the 6.1.y of 2025 and later; with SOJOURN_LINUX_EARLY_EVENT it does not see them, as before.
 *
 * Differs: CA_ACK_WIN_UPDATE is not set, and CA_ACK_ECE only if an echo counts packets; CA_EVENT_CWND_RESTART does not
 * occur, CA_EVENT_TX_START follows it in Linux; `in_flight` of an ack_sample is that of the acknowledgment;
 * tcp_enter_cwr reduces the window at once; `rcv_tsval` is derived from the one-way delay.
 */
#ifndef SOJOURN_LINUX_CC_H
#define SOJOURN_LINUX_CC_H

#include "sojourn_cc.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's files name variables `gamma`, leave parameters unused and compare signed with unsigned numbers. */
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"

/* --- Types and attributes --- */

typedef unsigned char u8, __u8;
typedef unsigned short u16, __u16, __be16;
typedef unsigned int u32, __u32, __be32;
typedef unsigned long long u64, __u64, __be64;
typedef signed char s8, __s8;
typedef short s16, __s16;
typedef int s32, __s32;
typedef long long s64, __s64;
typedef s64 ktime_t;
typedef unsigned int gfp_t;
typedef unsigned int uint;
typedef unsigned long ulong;

#define __init
#define __exit
#define __initdata
#define __read_mostly
#define __ro_after_init
#define __cold
#define __bpf_kfunc
#define __kernel
#define __user
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __maybe_unused __attribute__((unused))
#define __packed __attribute__((packed))
#define __aligned(bytes) __attribute__((aligned(bytes)))
#define ____cacheline_aligned
#define __pure __attribute__((pure))
#define noinline __attribute__((noinline))
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define barrier() __asm__ volatile("" : : : "memory")
#define cmpxchg(place, old, new) __sync_val_compare_and_swap(place, old, new)

/* --- Arithmetic --- */

#define U8_MAX ((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX ((u32)~0U)
#define S32_MAX ((s32)(U32_MAX >> 1))
#define U64_MAX ((u64)~0ULL)
#define U32_C(x) x##U
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d) DIV_ROUND_UP((u64)(n), d)
/* Nearest integer, also of negative numbers. */
#define DIV_ROUND_CLOSEST(n, d)                                                                                        \
    __extension__({                                                                                                    \
        __typeof__(n) round_n_ = (n);                                                                                  \
        __typeof__(d) round_d_ = (d);                                                                                  \
        (round_n_ + ((round_n_ < 0) != (round_d_ < 0) ? -(round_d_ / 2) : round_d_ / 2)) / round_d_;                   \
    })
#define roundup(x, step) (DIV_ROUND_UP(x, step) * (step))
#define is_power_of_2(n) ((n) != 0 && ((n) & ((n) - 1)) == 0)
#define swap(a, b)                                                                                                     \
    do {                                                                                                               \
        __typeof__(a) swapped_ = (a);                                                                                  \
        (a) = (b);                                                                                                     \
        (b) = swapped_;                                                                                                \
    } while (0)

#define sojourn_better_(a, op, b, x, y)                                                                                \
    __extension__({                                                                                                    \
        __typeof__(a) x = (a);                                                                                         \
        __typeof__(b) y = (b);                                                                                         \
        x op y ? x : y;                                                                                                \
    })
#define sojourn_paste2_(a, b) a##b
#define sojourn_paste_(a, b) sojourn_paste2_(a, b)
/* Each use names its variables by a number of its own: uses may be nested. */
#define sojourn_best_(a, op, b, n) sojourn_better_(a, op, b, sojourn_paste_(best_a_, n), sojourn_paste_(best_b_, n))
#define min(a, b) sojourn_best_(a, <, b, __COUNTER__)
#define max(a, b) sojourn_best_(a, >, b, __COUNTER__)
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define clamp_val(value, low, high) clamp_t(__typeof__(value), value, low, high)
#define min_not_zero(a, b) ((a) == 0 ? (b) : (b) == 0 ? (a) : min(a, b))
#ifndef SOJOURN_LINUX_BPF
#define clamp(value, low, high) clamp_t(__typeof__(value), value, low, high)
#define div64_u64(n, d) ((u64)(n) / (u64)(d))
#define div64_ul(n, d) ((u64)(n) / (unsigned long)(d))
#define fls64(x) sojourn_fls64_(x)
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#endif
/* Of an unsigned difference as well, which counts as a signed number of its size. */
#define abs(x) __builtin_choose_expr(sizeof(x) == sizeof(s64), sojourn_abs64_((s64)(x)), sojourn_abs32_((s32)(x)))
static inline s64 sojourn_abs64_(s64 x) { return x < 0 ? -x : x; }
static inline s32 sojourn_abs32_(s32 x) { return x < 0 ? -x : x; }

#define div_u64(n, d) ((u64)(n) / (u32)(d))
#define div_s64(n, d) ((s64)(n) / (s32)(d))
#define div64_s64(n, d) ((s64)(n) / (s64)(d))
#define div64_long(n, d) ((s64)(n) / (long)(d))
/* Divides `n` in place and returns the remainder. */
#define do_div(n, base)                                                                                                \
    __extension__({                                                                                                    \
        u32 div_base_ = (base), div_rest_ = (u32)((u64)(n) % div_base_);                                               \
        (n) = (u64)(n) / div_base_;                                                                                    \
        div_rest_;                                                                                                     \
    })

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *rest) { return *rest = n % d, n / d; }
static inline u64 div_u64_rem(u64 n, u32 d, u32 *rest) { return *rest = (u32)(n % d), n / d; }

/* Upper 64 bits of a product. */
static inline u64 sojourn_mul_high_(u64 a, u64 b)
{
    u64 low = (u64)(u32)a * (u32)b, mid = (a >> 32) * (u32)b + (low >> 32), cross = (u64)(u32)a * (b >> 32) + (u32)mid;
    return (a >> 32) * (b >> 32) + (mid >> 32) + (cross >> 32);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
    u64 high = sojourn_mul_high_(a, b);
    return shift == 0 ? a * b : shift < 64 ? (a * b) >> shift | high << (64 - shift) : high >> (shift - 64);
}
#define mul_u64_u32_shr(a, b, shift) mul_u64_u64_shr(a, b, shift)

/* Number of the highest bit, from 1; 0 without. */
static inline int sojourn_fls64_(u64 x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }
static inline int fls(unsigned int x) { return x == 0 ? 0 : 32 - __builtin_clz(x); }
static inline int __fls64(u64 x) { return 63 - __builtin_clzll(x); }
#define ilog2(n) ((int)(63 - __builtin_clzll((u64)(n))))
#define order_base_2(n) ((n) > 1 ? ilog2((n) - 1) + 1 : 0)

static inline unsigned long int_sqrt(unsigned long x)
{
    unsigned long root = 0, bit = 1UL << (sizeof(x) * 8 - 2);
    for (; bit != 0; bit >>= 2) {
        unsigned long sum = root + bit;
        root >>= 1;
        if (x >= sum) {
            x -= sum;
            root += bit;
        }
    }
    return root;
}

/* --- Messages, which are dropped, and assertions --- */

#define KERN_ERR
#define KERN_WARNING
#define KERN_INFO
#define printk(...) ((void)0)
#define pr_debug(...) ((void)0)
#define pr_info(...) ((void)0)
#define pr_info_once(...) ((void)0)
#define pr_notice(...) ((void)0)
#define pr_warn(...) ((void)0)
#define pr_warn_once(...) ((void)0)
#define pr_err(...) ((void)0)
#define net_dbg_ratelimited(...) ((void)0)
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "BUILD_BUG_ON")
#define BUG_ON(condition) ((condition) ? abort() : (void)0)
#define BUG() abort()
static inline bool sojourn_is_(bool condition) { return condition; }
#define WARN_ON(condition) sojourn_is_(condition)
#define WARN_ON_ONCE(condition) sojourn_is_(condition)
#define WARN(condition, ...) sojourn_is_(condition)
#define WARN_ONCE(condition, ...) sojourn_is_(condition)

/* --- Connections --- */

#define ICSK_CA_PRIV_SIZE (104)
#define TCP_CA_NAME_MAX 16
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_MIN_CWND 2
#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8
#define TCP_TS_HZ 1000
/* Largest super-packet, and headers below TCP, as in a kernel for x86-64. */
#define GSO_LEGACY_MAX_SIZE 65536u
#ifndef SOJOURN_LINUX_BPF
#define GSO_MAX_SIZE 65536u
#endif
#define MAX_TCP_HEADER 320
#define SK_PACING_SHIFT_DEFAULT 10

enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT, TCP_SYN_RECV, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_TIME_WAIT, TCP_CLOSE,
       TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_LISTEN };
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)
enum tcp_ca_event { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS,
                    CA_EVENT_ECN_NO_CE, CA_EVENT_ECN_IS_CE };
enum tcp_ca_ack_event_flags { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };
enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { ICSK_ACK_SCHED = 1, ICSK_ACK_TIMER = 2, ICSK_ACK_PUSHED = 4, ICSK_ACK_NOW = 16 };
enum { TCP_CONG_NON_RESTRICTED = 1, TCP_CONG_NEEDS_ECN = 2 };

struct net;
struct sk_buff;
struct module;
struct tcp_congestion_ops;

struct sock {
    u8 sk_state;
    u8 sk_pacing_shift;
    u32 sk_pacing_status;
    unsigned long sk_pacing_rate; /* bytes per second */
    unsigned long sk_max_pacing_rate;
    u32 sk_gso_max_size;
    u16 sk_gso_max_segs;
    int sk_sndbuf;
};

struct inet_sock {
    struct sock sk;
};

struct inet_connection_sock {
    struct inet_sock icsk_inet;
    const struct tcp_congestion_ops *icsk_ca_ops;
    u8 icsk_ca_state, icsk_ca_initialized, icsk_retransmits;
    struct {
        u8 pending;
    } icsk_ack;
    u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

struct minmax_sample {
    u32 t, v;
};

struct minmax {
    struct minmax_sample s[3];
};

struct tcp_options_received {
    u32 rcv_tsval, rcv_tsecr;
    u8 saw_tstamp, sack_ok;
};

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    u32 snd_una, snd_nxt, rcv_nxt, high_seq;
    u32 snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_cwnd_used, snd_cwnd_stamp, snd_ssthresh;
    u32 prior_cwnd, prior_ssthresh;
    u32 mss_cache, advmss;
    u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out;
    u32 delivered, delivered_ce, lost, app_limited;
    u64 delivered_mstamp, first_tx_mstamp, tcp_mstamp, tcp_clock_cache, tcp_wstamp_ns;
    u64 bytes_acked, bytes_sent;
    u32 srtt_us; /* smoothed RTT in 1/8 µs */
    u32 mdev_us, rttvar_us, lsndtime, reordering;
    struct minmax rtt_min;
    struct tcp_options_received rx_opt;
    u8 ecn_flags, is_cwnd_limited;
};

struct ack_sample {
    u32 pkts_acked;
    s32 rtt_us;
    u32 in_flight;
};

struct rate_sample {
    u64 prior_mstamp;
    u32 prior_delivered, prior_delivered_ce;
    s32 delivered, delivered_ce;
    long interval_us;
    u32 snd_interval_us, rcv_interval_us;
    long rtt_us;
    int losses;
    u32 acked_sacked, prior_in_flight, last_end_seq;
    bool is_app_limited, is_retrans, is_ack_delayed;
};

union tcp_cc_info {
    struct tcpvegas_info {
        u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
    } vegas;
    struct tcp_dctcp_info {
        u16 dctcp_enabled, dctcp_ce_state;
        u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
    } dctcp;
    struct tcp_bbr_info {
        u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
    } bbr;
};
enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_DCTCPINFO = 9, INET_DIAG_BBRINFO = 16 };

struct tcp_congestion_ops {
    u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
    void (*set_state)(struct sock *sk, u8 new_state);
    void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
    void (*in_ack_event)(struct sock *sk, u32 flags);
    void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
    u32 (*min_tso_segs)(struct sock *sk);
    void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
    u32 (*undo_cwnd)(struct sock *sk);
    u32 (*sndbuf_expand)(struct sock *sk);
    size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
    char name[TCP_CA_NAME_MAX];
    struct module *owner;
    u32 key, flags;
    void (*init)(struct sock *sk);
    void (*release)(struct sock *sk);
};

static inline struct tcp_sock *sojourn_tcp_sk_(const struct sock *sk) { return (struct tcp_sock *)(uintptr_t)sk; }
#define tcp_sk(sk) sojourn_tcp_sk_(sk)
#define inet_csk(sk) (&sojourn_tcp_sk_(sk)->inet_conn)
#define inet_csk_ca(sk) ((void *)inet_csk(sk)->icsk_ca_priv)
#define sock_net(sk) ((struct net *)0)
#define NET_INC_STATS(net, field) ((void)0)
#define __NET_INC_STATS(net, field) ((void)0)
#define NET_ADD_STATS(net, field, n) ((void)0)
#define INET_ECN_xmit(sk) ((void)(sk))
#define INET_ECN_dontxmit(sk) ((void)(sk))
#define __tcp_send_ack(sk, rcv_nxt) ((void)(sk))
/* No BPF program is attached to a socket. */
#define tcp_call_bpf(sk, op, ...) (-1)
#define tcp_call_bpf_2arg(sk, op, ...) (-1)

/* --- Time --- */

#ifndef HZ
#define HZ 1000
#endif
enum { SOJOURN_LINUX_HZ = HZ };
#define MSEC_PER_SEC 1000L
#define NSEC_PER_SEC 1000000000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_USEC 1000L

/* Connection whose function runs; for the kernel's functions without an argument. */
struct sojourn_linux_connection {
    struct tcp_sock tp; /* first: a sock is the connection */
    s64 now;
    u64 random;
    bool is_started, has_memory, is_slow_path;
};
#ifdef SOJOURN_LINUX_COMPANION
extern __thread struct sojourn_linux_connection *sojourn_linux_current __attribute__((visibility("hidden")));
#else
__thread struct sojourn_linux_connection *sojourn_linux_current __attribute__((visibility("hidden")));
#endif

/* Uptime of a host of the simulator when a run begins: its microseconds change 100 ns before those of the run. Ticks
 * begin five minutes before they wrap, as in Linux: a time that was never set is long ago. */
#define SOJOURN_LINUX_UPTIME 10000000100LL

static inline u64 sojourn_linux_us_(s64 at) { return (u64)(at + SOJOURN_LINUX_UPTIME) / 1000; }
static inline u32 sojourn_linux_ticks_(s64 at)
{
    return (u32)((u64)at / (1000000000 / SOJOURN_LINUX_HZ)) + (10 - 300) * SOJOURN_LINUX_HZ;
}
#define jiffies ((unsigned long)sojourn_linux_ticks_(sojourn_linux_current->now))
#define tcp_jiffies32 ((u32)jiffies)
#define tcp_clock_ns() ((u64)(sojourn_linux_current->now + SOJOURN_LINUX_UPTIME))
#define tcp_clock_us() sojourn_linux_us_(sojourn_linux_current->now)
#define ktime_get_ns() tcp_clock_ns()
#define ktime_get() ((ktime_t)tcp_clock_ns())
#define ktime_get_real() ktime_get()
#define ktime_to_us(t) ((t) / 1000)
#define ktime_to_ns(t) (t)
#define local_clock() tcp_clock_ns()
#define sched_clock() tcp_clock_ns()
#define tcp_time_stamp(tp) ((u32)((tp)->tcp_mstamp / (USEC_PER_SEC / TCP_TS_HZ)))
#define tcp_time_stamp_raw() ((u32)(tcp_clock_us() / (USEC_PER_SEC / TCP_TS_HZ)))

/* Spans are rounded up to ticks. */
static inline unsigned long usecs_to_jiffies(unsigned int us)
{
    return DIV_ROUND_UP((unsigned long)us, 1000000UL / SOJOURN_LINUX_HZ);
}
static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
    return (unsigned long)DIV_ROUND_UP((u64)ms * SOJOURN_LINUX_HZ, 1000ULL);
}
static inline unsigned int jiffies_to_usecs(unsigned long ticks)
{
    return (unsigned int)(ticks * (1000000 / SOJOURN_LINUX_HZ));
}
static inline unsigned int jiffies_to_msecs(unsigned long ticks)
{
    return (unsigned int)((u64)ticks * 1000 / SOJOURN_LINUX_HZ);
}

/* Comparisons modulo 2^32, by less than half the range: ticks of this header and sequence numbers have 32 bits. */
#define time_after32(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b) time_after32(b, a)
#define time_after(a, b) time_after32(a, b)
#define time_before(a, b) time_after32(b, a)
#define time_after_eq(a, b) (!time_after32(b, a))
#define time_before_eq(a, b) (!time_after32(a, b))
static inline bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }
#define after(a, b) before(b, a)
static inline bool between(u32 x, u32 low, u32 high) { return high - low >= x - low; }

/* --- Randomness: splitmix64 (Steele, Lea, Flood, OOPSLA 2014), one stream per connection --- */

static inline u64 get_random_u64(void)
{
    u64 z = sojourn_linux_current->random += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}
static inline u32 get_random_u32(void) { return (u32)(get_random_u64() >> 32); }
static inline u32 prandom_u32_max(u32 n) { return (u32)sojourn_mul_high_(get_random_u64(), n); }
#define get_random_u32_below(n) prandom_u32_max(n)
#define prandom_u32() get_random_u32()
static inline void get_random_bytes(void *bytes, size_t n)
{
    for (u8 *byte = (u8 *)bytes; n > 0; n--)
        *byte++ = (u8)(get_random_u64() >> 56);
}

/* --- Memory --- */

#define GFP_KERNEL 0u
#define GFP_ATOMIC 0u
#define GFP_NOWAIT 0u
#define __GFP_NOWARN 0u
static inline void *kcalloc(size_t n, size_t size, gfp_t flags)
{
    sojourn_linux_current->has_memory = true;
    return calloc(n, size);
}
#define kzalloc(size, flags) kcalloc(1, size, flags)
#define kmalloc(size, flags) kcalloc(1, size, flags)
#define kfree(memory) free(memory)

/* --- Windowed minimum and maximum by the three best samples (K. Nichols) --- */

static inline u32 minmax_get(const struct minmax *m) { return m->s[0].v; }
static inline u32 minmax_reset(struct minmax *m, u32 t, u32 value)
{
    m->s[0] = m->s[1] = m->s[2] = (struct minmax_sample){ t, value };
    return value;
}

/* Adds a sample at `t`; `sign` is 1 for the maximum, -1 for the minimum. Samples are best, second and third best, each
 * later than the one before. */
static inline u32 sojourn_minmax_(struct minmax *m, u32 window, u32 t, u32 value, int sign)
{
    struct minmax_sample new = { t, value }, *s = m->s;
    s64 level = sign * (s64)value;
    u32 age;

    if (level >= sign * (s64)s[0].v || t - s[2].t > window)
        return minmax_reset(m, t, value);
    if (level >= sign * (s64)s[1].v)
        s[1] = s[2] = new;
    else if (level >= sign * (s64)s[2].v)
        s[2] = new;
    age = t - s[0].t;
    if (age > window) {
        /* The best sample has left the window, perhaps the second as well; the third has not. */
        s[0] = s[1], s[1] = s[2], s[2] = new;
        if (t - s[0].t > window)
            s[0] = s[1], s[1] = s[2], s[2] = new;
    } else if (s[1].t == s[0].t && age > window / 4) {
        /* A quarter of the window without a second best: takes it from the second quarter, … */
        s[1] = s[2] = new;
    } else if (s[2].t == s[1].t && age > window / 2) {
        /* … and the third best from the second half. */
        s[2] = new;
    }
    return s[0].v;
}
static inline u32 minmax_running_max(struct minmax *m, u32 window, u32 t, u32 value)
{
    return sojourn_minmax_(m, window, t, value, 1);
}
static inline u32 minmax_running_min(struct minmax *m, u32 window, u32 t, u32 value)
{
    return sojourn_minmax_(m, window, t, value, -1);
}

/* --- TCP --- */

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd) { tp->snd_cwnd = cwnd; }
static inline bool tcp_in_slow_start(const struct tcp_sock *tp) { return tp->snd_cwnd < tp->snd_ssthresh; }
static inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
    return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}
static inline bool tcp_is_cwnd_limited(const struct sock *sk) { return tcp_sk(sk)->is_cwnd_limited; }
static inline unsigned int tcp_left_out(const struct tcp_sock *tp) { return tp->sacked_out + tp->lost_out; }
static inline unsigned int tcp_packets_in_flight(const struct tcp_sock *tp)
{
    return tp->packets_out - tcp_left_out(tp) + tp->retrans_out;
}
static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return minmax_get(&tp->rtt_min); }
static inline u32 tcp_stamp_us_delta(u64 t1, u64 t0) { return (u32)max_t(s64, t1 - t0, 0); }
static inline bool tcp_ca_needs_ecn(const struct sock *sk)
{
    return inet_csk(sk)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN;
}
static inline bool tcp_in_cwnd_reduction(const struct sock *sk)
{
    return (TCPF_CA_CWR | TCPF_CA_Recovery) & (1 << inet_csk(sk)->icsk_ca_state);
}
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
    const struct tcp_sock *tp = tcp_sk(sk);
    return tcp_in_cwnd_reduction(sk) ? tp->snd_ssthresh : max(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4);
}

/* RFC 5681 §3.1: one segment per acknowledged one up to the threshold. Returns those left for congestion avoidance. */
static inline u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
    u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh), used = cwnd - tp->snd_cwnd;
    tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
    return acked - used;
}

/* One segment more per `w` acknowledged ones. */
static inline void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
    /* Counted while `w` was larger: worth one segment, not several. */
    if (tp->snd_cwnd_cnt >= w) {
        tp->snd_cwnd_cnt = 0;
        tp->snd_cwnd++;
    }
    tp->snd_cwnd_cnt += acked;
    if (tp->snd_cwnd_cnt >= w) {
        tp->snd_cwnd += tp->snd_cwnd_cnt / w;
        tp->snd_cwnd_cnt %= w;
    }
    tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

static inline void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    if (!tcp_is_cwnd_limited(sk))
        return;
    if (tcp_in_slow_start(tp) && (acked = tcp_slow_start(tp, acked)) == 0)
        return;
    tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}
static inline u32 tcp_reno_ssthresh(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd >> 1, 2U); }
static inline u32 tcp_reno_undo_cwnd(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd); }

/* Begins a reduction. Linux reaches the threshold over a round trip (PRR). */
static inline void tcp_enter_cwr(struct sock *sk)
{
    struct tcp_sock *tp = tcp_sk(sk);
    if (inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
        return;
    tp->prior_cwnd = tp->snd_cwnd;
    tp->snd_ssthresh = inet_csk(sk)->icsk_ca_ops->ssthresh(sk);
    tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_ssthresh);
    tp->snd_cwnd_cnt = 0;
}

/* --- Modules --- */

struct kernel_param {
    const char *name;
    const struct kernel_param_ops *ops;
    void *arg;
    size_t size;
    bool is_signed;
    u64 initial;
    struct kernel_param *next;
};

struct kernel_param_ops {
    unsigned int flags;
    int (*set)(const char *text, const struct kernel_param *param);
    int (*get)(char *text, const struct kernel_param *param);
};

#define THIS_MODULE ((struct module *)0)
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)
#define MODULE_VERSION(text)
#define MODULE_ALIAS(text)
#define MODULE_PARM_DESC(name, text)

#define BTF_SET8_START(name) static const int name __attribute__((unused)) = 0;
#define BTF_SET8_END(name)
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name)
#define BTF_ID_FLAGS(...)
#define BTF_ID(...)
struct btf_kfunc_id_set {
    struct module *owner;
    const void *set;
};
#define BPF_PROG_TYPE_STRUCT_OPS 0
#define register_btf_kfunc_id_set(type, set) ((void)(set), 0)

/* A parameter is an integer of any size; `bool` is one of its size. */
#define sojourn_is_signed_(variable) ((__typeof__(variable))-1 < (__typeof__(variable))1)
#define sojourn_param_(word, variable, operations)                                                                     \
    static struct kernel_param sojourn_param_##word = { #word, operations, &(variable), sizeof(variable),              \
                                                        sojourn_is_signed_(variable), 0, 0 };                          \
    __attribute__((constructor)) static void sojourn_add_##word(void) { sojourn_linux_param(&sojourn_param_##word); }
#define module_param(name, type, mode) sojourn_param_(name, name, 0)
#define module_param_named(name, variable, type, mode) sojourn_param_(name, variable, 0)
#define module_param_cb(name, operations, place, mode) sojourn_param_(name, *(place), operations)

#ifdef SOJOURN_LINUX_COMPANION

static inline void sojourn_linux_param(struct kernel_param *param) { (void)param; }
static inline int tcp_register_congestion_control(struct tcp_congestion_ops *ops) { return (void)ops, 0; }
#define tcp_unregister_congestion_control(ops) ((void)(ops))
#define MODULE_DESCRIPTION(text)
#define module_init(function) static int (*sojourn_init_)(void) __attribute__((unused)) = function;
#define module_exit(function) static void (*sojourn_exit_)(void) __attribute__((unused)) = function;
static inline int param_set_uint_minmax(const char *text, const struct kernel_param *param, unsigned int low,
                                        unsigned int high) { return (void)text, (void)param, (void)low, (void)high, 0; }
static inline int param_get_uint(char *text, const struct kernel_param *param) { return (void)text, (void)param, 0; }

#else

/* State of the module: its operations and parameters. */
static struct {
    const struct tcp_congestion_ops *ops;
    struct kernel_param *params, **end;
    int (*init)(void);
    int lock;
    unsigned int connections;
    char text[256];  /* words that set the parameters */
} sojourn_linux;
static __thread char sojourn_linux_error[256];

static inline void sojourn_lock_(void)
{
    while (__sync_lock_test_and_set(&sojourn_linux.lock, 1)) {
    }
}
static inline void sojourn_unlock_(void) { __sync_lock_release(&sojourn_linux.lock); }

static inline u64 sojourn_param_get_(const struct kernel_param *param)
{
    u64 bits = 0; /* little or big endian: by size */
    switch (param->size) {
    case 1: return *(u8 *)param->arg;
    case 2: return *(u16 *)param->arg;
    case 4: return *(u32 *)param->arg;
    case 8: memcpy(&bits, param->arg, 8);
    }
    return bits;
}

static inline void sojourn_param_put_(const struct kernel_param *param, u64 bits)
{
    switch (param->size) {
    case 1: *(u8 *)param->arg = (u8)bits; break;
    case 2: *(u16 *)param->arg = (u16)bits; break;
    case 4: *(u32 *)param->arg = (u32)bits; break;
    case 8: memcpy(param->arg, &bits, 8);
    }
}

static inline void sojourn_linux_param(struct kernel_param *param)
{
    param->initial = sojourn_param_get_(param);
    if (sojourn_linux.end == 0)
        sojourn_linux.end = &sojourn_linux.params;
    *sojourn_linux.end = param;
    sojourn_linux.end = &param->next;
}

/* Reads an integer that fits the parameter. */
static inline int sojourn_param_parse_(const char *text, const struct kernel_param *param, u64 *bits)
{
    char *end;
    long long value = strtoll(text, &end, 0);
    int shift = 64 - 8 * (int)param->size;
    if (end == text || *end != 0 || (!param->is_signed && value < 0))
        return -1;
    *bits = (u64)value;
    if (param->is_signed ? (s64)(*bits << shift) >> shift != value : *bits << shift >> shift != *bits)
        return -1;
    return 0;
}

static inline int param_set_uint(const char *text, const struct kernel_param *param)
{
    u64 bits = 0;
    if (sojourn_param_parse_(text, param, &bits) != 0)
        return -1;
    sojourn_param_put_(param, bits);
    return 0;
}
#define param_set_int param_set_uint
#define param_set_bool param_set_uint

static inline int param_set_uint_minmax(const char *text, const struct kernel_param *param, unsigned int low,
                                        unsigned int high)
{
    u64 bits = 0;
    if (sojourn_param_parse_(text, param, &bits) != 0 || bits < low || bits > high)
        return -1;
    sojourn_param_put_(param, bits);
    return 0;
}
static inline int param_get_uint(char *text, const struct kernel_param *param)
{
    return sprintf(text, "%llu", sojourn_param_get_(param));
}
#define param_get_int param_get_uint
#define param_get_bool param_get_uint

static inline int sojourn_refuse_(const char *what, const char *word)
{
    snprintf(sojourn_linux_error, sizeof sojourn_linux_error, "%s%.120s", what, word);
    return -1;
}

static inline struct kernel_param *sojourn_find_param_(const char *word)
{
    struct kernel_param *param = sojourn_linux.params;
    while (param != 0 && strcmp(param->name, word) != 0)
        param = param->next;
    return param;
}

/* Sets the parameters to the words of `text`, the others to their defaults, and initialises the module again, because
 * it may derive values of them. */
static inline int sojourn_set_params_(const char *text)
{
    char words[sizeof sojourn_linux.text], *rest = 0;
    if (strlen(text) >= sizeof words)
        return sojourn_refuse_("too many parameters", "");
    strcpy(words, text);
    for (struct kernel_param *param = sojourn_linux.params; param != 0; param = param->next)
        sojourn_param_put_(param, param->initial);
    for (char *word = strtok_r(words, " ", &rest); word != 0; word = strtok_r(0, " ", &rest)) {
        const struct kernel_param *param = sojourn_find_param_(word);
        const char *value = strtok_r(0, " ", &rest);
        if (param == 0)
            return sojourn_refuse_("the module has no parameter ", word);
        if (value == 0)
            return sojourn_refuse_("give a value after ", word);
        if ((param->ops != 0 ? param->ops->set : param_set_uint)(value, param) != 0)
            return sojourn_refuse_("value out of range: ", value);
    }
    strcpy(sojourn_linux.text, text);
    if (sojourn_linux.init != 0 && sojourn_linux.init() != 0)
        return sojourn_refuse_("the module's init refuses these parameters", "");
    return 0;
}

/* Sets the parameters of a new connection. */
static inline int sojourn_take_params_(const char *text)
{
    int result = 0;
    sojourn_lock_();
    if (strcmp(text, sojourn_linux.text) != 0) {
        if (sojourn_linux.connections > 0) {
            result = sojourn_refuse_("parameters of a kernel module are the same for all connections of a process; "
                                     "they are ", sojourn_linux.text[0] ? sojourn_linux.text : "the defaults");
        } else if ((result = sojourn_set_params_(text)) != 0) {
            sojourn_set_params_("");
        }
    }
    sojourn_linux.connections += result == 0;
    sojourn_unlock_();
    return result;
}

/* --- Calls --- */

static inline s64 sojourn_span_us_(s64 span) { return span < 0 ? -1 : span / 1000; }

/* Rate in bytes per second that Linux computes for a control without cong_control, whether it paces or not: twice the
 * window per RTT in the first half of slow start, 1.2 times after it. */
static inline unsigned long sojourn_rate_(const struct tcp_sock *tp)
{
    u64 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
    u64 rate = (u64)tp->mss_cache * (8 * 1000000 / 100) * percent * max(tp->snd_cwnd, tp->packets_out);
    return (unsigned long)(tp->srtt_us > 0 ? rate / tp->srtt_us : rate);
}

static inline unsigned long sojourn_pacing_rate_(const struct tcp_sock *tp, const sojourn_cc_flight *f)
{
    if (f->pacing_rate != SOJOURN_CC_UNPACED)
        return (unsigned long)(f->pacing_rate / 8);
    return sojourn_linux.ops->cong_control != 0 ? ~0UL : sojourn_rate_(tp);
}

/* Value of `app_limited` before a call, to see whether the call sets it. */
#define SOJOURN_APP_LIMITED 0xfffffffeu

static inline void sojourn_load_(struct sojourn_linux_connection *c, const sojourn_cc_flight *f)
{
    struct tcp_sock *tp = &c->tp;
    struct sock *sk = &tp->inet_conn.icsk_inet.sk;

    sojourn_linux_current = c;
    c->now = f->now;
    tp->tcp_clock_cache = tcp_clock_ns();
    tp->tcp_mstamp = tcp_clock_us();
    tp->snd_una = (u32)f->una;
    tp->snd_nxt = (u32)f->nxt;
    tp->snd_cwnd = f->cwnd;
    tp->snd_ssthresh = f->ssthresh;
    tp->snd_cwnd_cnt = f->cwnd_cnt;
    tp->mss_cache = tp->advmss = f->mss;
    tp->bytes_acked = f->una;
    tp->packets_out = f->packets_out;
    tp->sacked_out = f->packets_out > f->in_flight ? f->packets_out - f->in_flight : 0;
    tp->retrans_out = f->in_flight > f->packets_out ? f->in_flight - f->packets_out : 0;
    tp->delivered = (u32)f->delivered;
    tp->delivered_ce = (u32)f->delivered_ce;
    tp->lost = (u32)f->lost;
    tp->app_limited = f->flags & SOJOURN_CC_APP_LIMITED ? SOJOURN_APP_LIMITED : 0;
    tp->is_cwnd_limited = (f->flags & SOJOURN_CC_CWND_LIMITED) != 0;
    tp->delivered_mstamp = sojourn_linux_us_(f->delivered_at);
    tp->tcp_wstamp_ns = (u64)(f->next_departure + SOJOURN_LINUX_UPTIME);
    tp->srtt_us = (u32)(f->srtt / 125);
    tp->rtt_min.s[0].v = f->min_rtt < 0 ? ~0U : (u32)(f->min_rtt / 1000);
    sk->sk_pacing_rate = sojourn_pacing_rate_(tp, f);
}

static inline void sojourn_store_(struct sojourn_linux_connection *c, sojourn_cc_flight *f)
{
    const struct tcp_sock *tp = &c->tp;
    const struct sock *sk = &tp->inet_conn.icsk_inet.sk;

    f->cwnd = tp->snd_cwnd;
    f->ssthresh = tp->snd_ssthresh;
    f->cwnd_cnt = tp->snd_cwnd_cnt;
    if (sojourn_linux.ops->cong_control == 0)
        return;
    if (sk->sk_pacing_rate != sojourn_pacing_rate_(tp, f))
        f->pacing_rate = sk->sk_pacing_rate == ~0UL ? SOJOURN_CC_UNPACED : (u64)sk->sk_pacing_rate * 8;
    if (tp->app_limited != (f->flags & SOJOURN_CC_APP_LIMITED ? SOJOURN_APP_LIMITED : 0))
        f->flags |= SOJOURN_CC_MARK_APP_LIMITED;
    if (tp->inet_conn.icsk_ca_ops->min_tso_segs != 0)
        f->burst = tp->inet_conn.icsk_ca_ops->min_tso_segs((struct sock *)(uintptr_t)sk);
}

/* Operations of the connection: `init` may have exchanged them. */
#define sojourn_ops_(c) ((c)->tp.inet_conn.icsk_ca_ops)

/* Begins a call in the connection's state `state`. */
static inline struct sock *sojourn_enter_(void *connection, const sojourn_cc_flight *f, u8 state)
{
    struct sojourn_linux_connection *c = (struct sojourn_linux_connection *)connection;
    struct sock *sk = &c->tp.inet_conn.icsk_inet.sk;
    sojourn_load_(c, f);
    c->tp.inet_conn.icsk_ca_state = state;
    if (!c->is_started) {
        c->is_started = true;
        if (sojourn_ops_(c)->init != 0)
            sojourn_ops_(c)->init(sk);
        c->tp.inet_conn.icsk_ca_initialized = 1;
    }
    return sk;
}

static void sojourn_start_(void *connection, sojourn_cc_flight *f)
{
    sojourn_enter_(connection, f, (u8)f->state);
    sojourn_store_((struct sojourn_linux_connection *)connection, f);
}

static inline void sojourn_event_(struct sock *sk, enum tcp_ca_event event)
{
    if (inet_csk(sk)->icsk_ca_ops->cwnd_event != 0)
        inet_csk(sk)->icsk_ca_ops->cwnd_event(sk, event);
}

/* Linux calls `ssthresh` for a time-out and then notifies of CA_EVENT_LOSS, both with the old window, and lets
 * `set_state` respond to a loss. */
static uint32_t sojourn_ssthresh_(void *connection, sojourn_cc_flight *f, int cause)
{
    struct sock *sk;
    struct tcp_sock *tp;
    if (cause == SOJOURN_CC_LOSS_REDUCTION)
        return 0;
    sk = sojourn_enter_(connection, f, (u8)f->state);
    tp = tcp_sk(sk);
    tp->prior_cwnd = tp->snd_cwnd;
    tp->snd_ssthresh = inet_csk(sk)->icsk_ca_ops->ssthresh(sk);
    if (cause == SOJOURN_CC_TIMEOUT_REDUCTION)
        sojourn_event_(sk, CA_EVENT_LOSS);
    return tp->snd_ssthresh;
}

static void sojourn_grow_(void *connection, sojourn_cc_flight *f, const sojourn_cc_ack *ack)
{
    struct sock *sk = sojourn_enter_(connection, f, (u8)f->state);
    tcp_sk(sk)->is_cwnd_limited = (ack->flags & SOJOURN_CC_LIMITED) != 0;
    inet_csk(sk)->icsk_ca_ops->cong_avoid(sk, tcp_sk(sk)->snd_una, ack->packets);
    sojourn_store_((struct sojourn_linux_connection *)connection, f);
}

static inline void sojourn_pkts_acked_(struct sock *sk, const sojourn_cc_ack *ack)
{
    struct tcp_sock *tp = tcp_sk(sk);
    struct ack_sample sample = { ack->packets, (s32)sojourn_span_us_(ack->rtt),
                                 (tcp_packets_in_flight(tp) + ack->packets) * tp->mss_cache };
    if (inet_csk(sk)->icsk_ca_ops->pkts_acked != 0)
        inet_csk(sk)->icsk_ca_ops->pkts_acked(sk, &sample);
}

/* Timestamps of the acknowledgment in milliseconds; the receiver's clock is the sender's plus the unknown offset. */
static inline void sojourn_timestamps_(struct tcp_sock *tp, const sojourn_cc_ack *ack)
{
    if (ack->one_way >= 0 && ack->rtt >= 0) {
        tp->rx_opt.rcv_tsecr = (u32)((tp->tcp_mstamp - (u64)ack->rtt / 1000) / (1000000 / TCP_TS_HZ));
        tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + (u32)(ack->one_way / (1000000000 / TCP_TS_HZ));
    }
}

static void sojourn_report_(void *connection, sojourn_cc_flight *f, const sojourn_cc_ack *ack)
{
    struct sock *sk = sojourn_enter_(connection, f, (u8)f->state);
    sojourn_timestamps_(tcp_sk(sk), ack);
    ((struct sojourn_linux_connection *)connection)->is_slow_path = (ack->flags & SOJOURN_CC_SLOW_PATH) != 0;
    sojourn_pkts_acked_(sk, ack);
    sojourn_store_((struct sojourn_linux_connection *)connection, f);
}

static void sojourn_acked_(void *connection, sojourn_cc_flight *f, const sojourn_cc_ack *ack)
{
    sojourn_pkts_acked_(sojourn_enter_(connection, f, (u8)f->state), ack);
    sojourn_store_((struct sojourn_linux_connection *)connection, f);
}

static void sojourn_delivered_(void *connection, sojourn_cc_flight *f, uint32_t packets, uint32_t ce)
{
    struct sojourn_linux_connection *c = (struct sojourn_linux_connection *)connection;
    struct sock *sk = sojourn_enter_(connection, f, (u8)f->state);
    u32 flags = ce > 0 ? CA_ACK_SLOWPATH | CA_ACK_ECE : c->is_slow_path ? CA_ACK_SLOWPATH : 0;
#ifdef SOJOURN_LINUX_EARLY_EVENT
    tcp_sk(sk)->delivered -= packets;
    tcp_sk(sk)->delivered_ce -= ce;
#endif
    if (sojourn_ops_(c)->in_ack_event != 0)
        sojourn_ops_(c)->in_ack_event(sk, flags);
    sojourn_store_(c, f);
}

/* `set_state` compares the new state with the old one, which a steering control is not shown. */
static void sojourn_state_(void *connection, sojourn_cc_flight *f, int entered)
{
    struct sojourn_linux_connection *c = (struct sojourn_linux_connection *)connection;
    u8 old = sojourn_linux.ops->cong_control != 0 ? c->tp.inet_conn.icsk_ca_state : (u8)f->state;
    struct sock *sk = sojourn_enter_(connection, f, old);
    if (sojourn_ops_(c)->set_state != 0)
        sojourn_ops_(c)->set_state(sk, (u8)entered);
    c->tp.inet_conn.icsk_ca_state = (u8)entered;
    sojourn_store_(c, f);
}

static void sojourn_idle_(void *connection, sojourn_cc_flight *f, int64_t last_sent)
{
    struct sock *sk = sojourn_enter_(connection, f, (u8)f->state);
    tcp_sk(sk)->lsndtime = sojourn_linux_ticks_(last_sent);
    sojourn_event_(sk, CA_EVENT_TX_START);
    sojourn_store_((struct sojourn_linux_connection *)connection, f);
}

static void sojourn_reduced_(void *connection, sojourn_cc_flight *f)
{
    sojourn_event_(sojourn_enter_(connection, f, (u8)f->state), CA_EVENT_COMPLETE_CWR);
    sojourn_store_((struct sojourn_linux_connection *)connection, f);
}

static uint32_t sojourn_undo_(void *connection, sojourn_cc_flight *f)
{
    struct sock *sk = sojourn_enter_(connection, f, (u8)f->state);
    if (f->prior_cwnd > 0)
        tcp_sk(sk)->prior_cwnd = f->prior_cwnd;
    return inet_csk(sk)->icsk_ca_ops->undo_cwnd(sk);
}

static void sojourn_ack_(void *connection, sojourn_cc_flight *f, const sojourn_cc_sample *s)
{
    struct sock *sk = sojourn_enter_(connection, f, (u8)f->state);
    struct rate_sample rs = {
        .prior_mstamp = s->delivered < 0 ? 0 : tcp_sk(sk)->delivered_mstamp - (u64)(s->ack_interval / 1000),
        .prior_delivered = (u32)s->prior_delivered,
        .prior_delivered_ce = tcp_sk(sk)->delivered_ce - s->delivered_ce,
        .delivered = (s32)s->delivered,
        .delivered_ce = (s32)s->delivered_ce,
        .interval_us = (long)sojourn_span_us_(s->interval),
        .snd_interval_us = (u32)(s->send_interval / 1000),
        .rcv_interval_us = (u32)(s->ack_interval / 1000),
        .rtt_us = (long)sojourn_span_us_(s->rtt),
        .losses = (int)s->losses,
        .acked_sacked = s->acked_sacked,
        .prior_in_flight = s->prior_in_flight,
        .last_end_seq = tcp_sk(sk)->snd_una,
        .is_app_limited = (s->flags & SOJOURN_CC_SAMPLE_APP_LIMITED) != 0,
        .is_retrans = (s->flags & SOJOURN_CC_RETRANSMITTED) != 0,
        .is_ack_delayed = (s->flags & SOJOURN_CC_ACK_DELAYED) != 0,
    };
    inet_csk(sk)->icsk_ca_ops->cong_control(sk, &rs);
    sojourn_store_((struct sojourn_linux_connection *)connection, f);
}

/* --- Export --- */

static int sojourn_create_(const char *parameters, const sojourn_cc_host *host, void **state)
{
    struct sojourn_linux_connection *c;
    struct sock *sk;

    /* Without a stack the parameters are checked only. */
    if (host->stack != 0 && host->stack[0] != 0 && host->ticks_per_second != SOJOURN_LINUX_HZ) {
        snprintf(sojourn_linux_error, sizeof sojourn_linux_error,
                 "the stack %s has %u ticks per second, the library has %d; compile it with -DHZ=%u", host->stack,
                 host->ticks_per_second, SOJOURN_LINUX_HZ, host->ticks_per_second);
        return -1;
    }
    if (sojourn_take_params_(parameters) != 0)
        return -1;
    c = (struct sojourn_linux_connection *)calloc(1, sizeof *c);
    if (c == 0)
        return sojourn_refuse_("out of memory", "");
    c->random = host->random;
    c->tp.inet_conn.icsk_ca_ops = sojourn_linux.ops;
    c->tp.snd_cwnd_clamp = ~0U;
    c->tp.reordering = 3;
    c->tp.ecn_flags = host->ecn ? TCP_ECN_OK : 0;
    c->tp.rx_opt.saw_tstamp = c->tp.rx_opt.sack_ok = 1;
    sk = &c->tp.inet_conn.icsk_inet.sk;
    sk->sk_state = TCP_ESTABLISHED;
    sk->sk_pacing_status = host->is_paced ? SK_PACING_FQ : SK_PACING_NONE;
    sk->sk_pacing_shift = SK_PACING_SHIFT_DEFAULT;
    sk->sk_max_pacing_rate = ~0UL;
    sk->sk_gso_max_size = GSO_LEGACY_MAX_SIZE;
    sk->sk_gso_max_segs = 65535;
    *state = c;
    return 0;
}

static void sojourn_free_(void *connection)
{
    struct sojourn_linux_connection *c = (struct sojourn_linux_connection *)connection;
    sojourn_linux_current = c;
    if (c->is_started && sojourn_ops_(c)->release != 0)
        sojourn_ops_(c)->release(&c->tp.inet_conn.icsk_inet.sk);
    free(c);
    sojourn_lock_();
    sojourn_linux.connections--;
    sojourn_unlock_();
}

static int sojourn_clone_(const void *connection, void **copy)
{
    const struct sojourn_linux_connection *c = (const struct sojourn_linux_connection *)connection;
    if (c->has_memory)
        return sojourn_refuse_("a control that allocates memory cannot be copied", "");
    *copy = malloc(sizeof *c);
    if (*copy == 0)
        return sojourn_refuse_("out of memory", "");
    memcpy(*copy, c, sizeof *c);
    sojourn_lock_();
    sojourn_linux.connections++;
    sojourn_unlock_();
    return 0;
}

static const char *sojourn_error_(void) { return sojourn_linux_error; }

__attribute__((visibility("default"))) sojourn_cc_library sojourn_cc = {
    .size = sizeof(sojourn_cc_library),
    .abi = SOJOURN_CC_ABI,
    .source = "a congestion control of Linux",
    .create = sojourn_create_,
    .free = sojourn_free_,
    .clone = sojourn_clone_,
    .error = sojourn_error_,
    .start = sojourn_start_,
    .idle = sojourn_idle_,
    .state = sojourn_state_,
};

/* Completes the export. */
static inline int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
    u32 needs = 0;
    sojourn_linux.ops = ops;
    sojourn_cc.name = ops->name;
    sojourn_cc.ssthresh = ops->ssthresh != 0 ? sojourn_ssthresh_ : 0;
    sojourn_cc.undo = ops->undo_cwnd != 0 ? sojourn_undo_ : 0;
    if (ops->flags & TCP_CONG_NEEDS_ECN)
        needs |= SOJOURN_CC_ECN | SOJOURN_CC_ECHO_PER_PACKET | SOJOURN_CC_ECT_ON_CONTROL;
    if (ops->cong_control != 0) {
        sojourn_cc.face = SOJOURN_CC_STEER;
        sojourn_cc.ack = sojourn_ack_;
        sojourn_cc.acked = ops->pkts_acked != 0 ? sojourn_acked_ : 0;
        needs |= SOJOURN_CC_PACES | SOJOURN_CC_LONG_RECOVERY;
    } else {
        sojourn_cc.face = SOJOURN_CC_WINDOW;
        sojourn_cc.grow = ops->cong_avoid != 0 ? sojourn_grow_ : 0;
        sojourn_cc.report = ops->pkts_acked != 0 || ops->in_ack_event != 0 ? sojourn_report_ : 0;
        sojourn_cc.reduced = ops->cwnd_event != 0 ? sojourn_reduced_ : 0;
        needs |= SOJOURN_CC_REPORTS | SOJOURN_CC_FLIGHT | SOJOURN_CC_CAUSES | SOJOURN_CC_GROWS_UNLIMITED;
    }
    if (ops->in_ack_event != 0) {
        sojourn_cc.delivered = sojourn_delivered_;
        needs |= SOJOURN_CC_SAMPLES;
    }
    if (ops->sndbuf_expand != 0)
        needs |= SOJOURN_CC_WIDE_BUFFER;
#ifdef SOJOURN_LINUX_NEEDS
    needs |= SOJOURN_LINUX_NEEDS;
#endif
    sojourn_cc.needs = needs;
    return 0;
}
#define tcp_unregister_congestion_control(ops) ((void)(ops))

#define MODULE_DESCRIPTION(text)                                                                                       \
    __attribute__((constructor)) static void sojourn_describe_(void) { sojourn_cc.summary = text; }
#define module_init(function)                                                                                          \
    __attribute__((constructor)) static void sojourn_init_(void)                                                       \
    {                                                                                                                  \
        sojourn_linux.init = function;                                                                                 \
        (void)function();                                                                                              \
    }
#define module_exit(function) static void (*sojourn_exit_)(void) __attribute__((unused)) = function;

#ifdef SOJOURN_LINUX_OPS
extern struct tcp_congestion_ops SOJOURN_LINUX_OPS;
__attribute__((constructor)) static void sojourn_init_(void) { tcp_register_congestion_control(&SOJOURN_LINUX_OPS); }
#endif

#endif

/* --- BPF programs of kind struct_ops --- */

#ifdef SOJOURN_LINUX_BPF
#define SEC(name)
#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define BPF_STRUCT_OPS(name, ...) name(__VA_ARGS__)
#define __ksym
#define __kconfig
#define bpf_jiffies64() ((u64)jiffies)
#define bpf_ktime_get_ns() tcp_clock_ns()
/* Programs declare it as a variable. */
__attribute__((visibility("hidden"))) unsigned long CONFIG_HZ = HZ;
#undef HZ
#endif

#endif
