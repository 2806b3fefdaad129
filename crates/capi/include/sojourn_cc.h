/* sojourn_cc.h: congestion controls in C for Sojourn.
 *
 * C99 and C++98. docs/own_cc.md explains it with examples; a test compiles this file and compares every size, offset
 * and constant with the library's.
 *
 * A shared library exports one object, `sojourn_cc`, with functions that a sender calls. It needs nothing else of
 * Sojourn, which loads it by its file name: cc = "./libmine.so". A control has one of two faces:
 * - window: the TCP stack recovers from losses, the control grows the window and says what it falls to, as Linux's
 *   tcp_congestion_ops do. It has at least `ssthresh` and `grow`.
 * - steer: the control sets window, pacing rate and burst itself, as Linux's cong_control does. It has at least `ack`.
 *
 * Rules:
 * - Windows are counted in segments, as in Linux, also over QUIC (packets). Times are signed nanoseconds of simulated
 *   time, -1 for none. Rates are bit/s of payload.
 * - A call may change these fields of the flight: cwnd, ssthresh, cwnd_cnt, bytes_acked; with the face steer also
 *   pacing_rate, burst, mss (downwards), and the flags marked so below. Calls that return a value change none.
 * - After each call 1 <= cwnd <= 2^30, 1 <= ssthresh <= 2^31 - 1 (0 with the face steer), and pacing_rate is not 0. A
 *   broken rule ends the run with one line that names library, call, rule and time.
 * - Functions of one connection are called one at a time. Take time from `now` and randomness from `host.random` only,
 *   and keep no state in static variables that outlives a connection.
 * - The creator of a struct that begins with `size` sets it to sizeof the struct. Later versions add fields at the end
 *   only. A field beyond `size` counts as zero. Exceptions must not leave a function.
 */
#ifndef SOJOURN_CC_H
#define SOJOURN_CC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It is incremented only for incompatible changes, not for additions. */
#define SOJOURN_CC_ABI 1u

/* Faces. */
enum { SOJOURN_CC_WINDOW = 0, SOJOURN_CC_STEER = 1 };

/* Needs: services beyond the calls that every control gets. Those marked * need Linux 3.10 or later, or QUIC. */
enum {
    SOJOURN_CC_SAMPLES = 1 << 0,          /* * `delivered` is called */
    SOJOURN_CC_REPORTS = 1 << 1,          /* * `report` is called for every acknowledgment, duplicates included */
    SOJOURN_CC_LOSSES = 1 << 2,           /* `lost` is called for each segment marked lost; face steer */
    SOJOURN_CC_PACES = 1 << 3,            /* * segments are paced: at the control's rate with the face steer, otherwise
                                           *   at 200 % of the window per RTT in slow start and 120 % after it */
    SOJOURN_CC_ECN = 1 << 4,              /* ECN is negotiated, whatever the scenario says */
    SOJOURN_CC_ECT1 = 1 << 5,             /* packets are sent as ECT(1) (L4S, RFC 9331) */
    SOJOURN_CC_ACCURATE_ECN = 1 << 6,     /* * acknowledgments carry the number of marked packets (RFC 9768) */
    SOJOURN_CC_ECHO_PER_PACKET = 1 << 7,  /* the receiver echoes the mark of each packet (RFC 8257) */
    SOJOURN_CC_SENT = 1 << 8,             /* * `sent` is called */
    SOJOURN_CC_FLIGHT = 1 << 9,           /* with the face window, the fields of the flight from `in_flight` on are
                                           *   those of the event; otherwise of the last `delivered` */
    SOJOURN_CC_CAUSES = 1 << 10,          /* `ssthresh` is also called for losses and time-outs; see there */
    SOJOURN_CC_GROWS_UNLIMITED = 1 << 11, /* `grow` is called although the window was not the limit, as in Linux */
    SOJOURN_CC_PARTIAL_ACK_ENDS = 1 << 12,/* without SACK the first partial acknowledgment ends recovery (Reno) */
    SOJOURN_CC_ECT_ON_CONTROL = 1 << 13,  /* SYN, pure acknowledgments and retransmissions are ECN-capable too */
    SOJOURN_CC_WIDE_BUFFER = 1 << 14,     /* the send buffer holds three windows instead of two */
    SOJOURN_CC_LONG_RECOVERY = 1 << 15    /* over QUIC recovery lasts until a round trip has no loss; face steer */
};

/* States of congestion avoidance, Linux's TCP_CA_*. */
enum {
    SOJOURN_CC_OPEN = 0,     /* nothing suspicious */
    SOJOURN_CC_DISORDER = 1, /* duplicates or SACKs have arrived */
    SOJOURN_CC_CWR = 2,      /* the window is being reduced because of a mark */
    SOJOURN_CC_RECOVERY = 3, /* fast recovery; over QUIC a recovery period that a loss began */
    SOJOURN_CC_LOSS = 4      /* the retransmission timer expired; over QUIC persistent congestion */
};

/* Flags of a flight. */
enum {
    SOJOURN_CC_CWND_LIMITED = 1,    /* the window limits transmission */
    SOJOURN_CC_APP_LIMITED = 2,     /* the application limits the rate */
    SOJOURN_CC_EXACT_BURST = 4,     /* set by the control: `burst` is the number, not the minimum */
    SOJOURN_CC_MARK_APP_LIMITED = 8 /* set by the control: it sends less than it could, so rate samples of what is sent
                                     * now count as limited by the application */
};

/* `pacing_rate` without pacing, and `ssthresh` before the first reduction. */
#define SOJOURN_CC_UNPACED UINT64_MAX
#define SOJOURN_CC_INFINITE 0x7fffffffu

/* Unit of growth, for a control that grows as the stack's Reno does; byte counting (RFC 3465) has its limit in the
 * second byte. */
enum {
    SOJOURN_CC_PACKETS = 0,               /* packets (Linux since 4.0, QUIC) */
    SOJOURN_CC_PACKETS_IN_SLOW_START = 1, /* … in slow start, acknowledgments above (Linux 3.13 to 3.19) */
    SOJOURN_CC_ACKNOWLEDGMENTS = 2,       /* acknowledgments (before) */
    SOJOURN_CC_FRACTIONS = 3,             /* acknowledgments, each exactly 1 / cwnd (ns-2); cwnd_cnt is of 2^20 */
    SOJOURN_CC_BYTES = 4
};

/* State of a connection. */
typedef struct sojourn_cc_flight {
    uint32_t size;         /* sizeof(sojourn_cc_flight) */
    uint32_t mss;          /* payload of a full segment in bytes */
    int64_t now;           /* time of the event */
    int64_t srtt;          /* smoothed RTT; 0 before the first sample */
    int64_t min_rtt;       /* minimum RTT of the last 300 s; -1 without */
    uint32_t cwnd;         /* congestion window in segments */
    uint32_t ssthresh;     /* slow-start threshold in segments */
    uint32_t cwnd_cnt;     /* packets acknowledged since the last change of cwnd; the control's to use */
    uint32_t in_flight;    /* segments estimated to be in the network */
    uint32_t burst;        /* segments per burst, at least; 0: the stack's choice */
    uint32_t state;        /* state of congestion avoidance: SOJOURN_CC_OPEN, … */
    uint64_t pacing_rate;  /* bit/s of payload, or SOJOURN_CC_UNPACED */
    uint64_t delivered;    /* packets delivered since the start, the SYN included */
    uint64_t delivered_ce; /* … those of them with a CE mark */
    uint64_t lost;         /* packets marked lost since the start */
    uint64_t una;          /* cumulative acknowledgment: all before it has arrived; over QUIC packet numbers */
    uint64_t nxt;          /* next sequence number to be sent; a round ends when `una` passes an earlier `nxt` */
    uint64_t bytes_acked;  /* bytes acknowledged since the last increase, for byte counting */
    int64_t delivered_at;  /* time of the last delivery, on the clock of the host: compare it with itself only */
    int64_t next_departure; /* earliest departure of the next burst */
    uint32_t packets_out;  /* segments sent and not acknowledged */
    uint32_t flags;        /* SOJOURN_CC_CWND_LIMITED, … */
    uint32_t counting;     /* unit of growth: SOJOURN_CC_PACKETS, … */
    uint32_t prior_cwnd;   /* in `undo` with the face window since Linux 4.14: window before the reduction; else 0 */
} sojourn_cc_flight;

/* Flags of an acknowledgment. */
enum {
    SOJOURN_CC_SLOW_PATH = 1, /* `report`: a duplicate, or with SACK blocks or an ECN echo (Linux CA_ACK_SLOWPATH) */
    SOJOURN_CC_LIMITED = 2    /* `grow`: the window was the limit */
};

/* An acknowledgment. */
typedef struct sojourn_cc_ack {
    uint32_t size;     /* sizeof(sojourn_cc_ack) */
    uint32_t packets;  /* packets acknowledged, or by which the window may grow; 0 for a duplicate */
    int64_t rtt;       /* RTT of the newest of them, -1 if it was retransmitted; of `report` also of SACKed ones */
    int64_t one_way;   /* `report`: one-way delay plus an unknown constant, by timestamps in ticks; -1 without */
    uint32_t flags;    /* SOJOURN_CC_SLOW_PATH, … */
    uint32_t reserved; /* 0 */
} sojourn_cc_ack;

/* Flags of a sample. */
enum {
    SOJOURN_CC_SAMPLE_APP_LIMITED = 1, /* the application may have limited the rate */
    SOJOURN_CC_RETRANSMITTED = 2,      /* the sampled segment was retransmitted */
    SOJOURN_CC_ACK_DELAYED = 4,        /* probably a delayed acknowledgment of a single short segment */
    SOJOURN_CC_ACKS_PROBE = 8          /* acknowledges a tail loss probe or its original */
};

/* Rate sample of an acknowledgment: Linux's rate_sample. */
typedef struct sojourn_cc_sample {
    uint32_t size;            /* sizeof(sojourn_cc_sample) */
    uint32_t flags;           /* SOJOURN_CC_SAMPLE_APP_LIMITED, … */
    int64_t delivered;        /* packets delivered over `interval`; -1 without a sample */
    int64_t interval;         /* time over which; -1 without a valid sample */
    int64_t send_interval;    /* time between the transmissions of the first and the sampled segment */
    int64_t ack_interval;     /* time between their deliveries */
    uint64_t prior_delivered; /* `delivered` of the flight when the sampled segment was sent */
    int64_t rtt;              /* RTT of the newest segment sent once; -1 without */
    uint32_t acked_sacked;    /* packets that this acknowledgment newly acknowledged or SACKed */
    uint32_t ce;              /* … those of them with a CE mark */
    uint32_t losses;          /* packets marked lost on this acknowledgment */
    uint32_t prior_in_flight; /* packets in flight before it */
    uint32_t tx_in_flight;    /* packets in flight when the sampled segment was sent, with it */
    uint32_t lost;            /* packets marked lost since then */
    uint32_t delivered_ce;    /* those of `delivered` with a CE mark */
    uint32_t reserved;        /* 0 */
} sojourn_cc_sample;

/* Flags of a loss. */
enum {
    SOJOURN_CC_LOSS_APP_LIMITED = 1, /* the application may have limited the rate when it was sent */
    SOJOURN_CC_LOSS_CONTINUES = 2    /* the preceding segment in sequence order is lost too */
};

/* A segment marked lost. */
typedef struct sojourn_cc_loss {
    uint32_t size;         /* sizeof(sojourn_cc_loss) */
    uint32_t tx_in_flight; /* packets in flight right after its transmission */
    uint32_t lost;         /* packets marked lost since its transmission, this one included */
    uint32_t flags;        /* SOJOURN_CC_LOSS_APP_LIMITED, … */
} sojourn_cc_loss;

/* Occasions of `ssthresh`. */
enum {
    SOJOURN_CC_REDUCTION = 0,     /* a reduction begins, after a loss or a mark */
    SOJOURN_CC_LOSS_REDUCTION = 1,/* with SOJOURN_CC_CAUSES: recovery begins with a loss, also within a reduction that
                                   * a mark began; return 0 to leave the threshold */
    SOJOURN_CC_TIMEOUT_REDUCTION = 2 /* with SOJOURN_CC_CAUSES: the timer expired; return 0 to be asked as for 0 */
};

/* Kinds of congestion events. */
enum {
    SOJOURN_CC_EVENT_LOSS = 0,      /* a packet was lost and recovery begins */
    SOJOURN_CC_EVENT_ECN = 1,       /* a mark was reported */
    SOJOURN_CC_EVENT_TIMEOUT = 2,   /* the retransmission timer expired; cwnd is already one more than in flight */
    SOJOURN_CC_EVENT_PERSISTENT = 3 /* QUIC: persistent congestion (RFC 9002) */
};

/* Environment of a connection. */
typedef struct sojourn_cc_host {
    uint32_t size;             /* sizeof(sojourn_cc_host) */
    uint32_t abi;              /* SOJOURN_CC_ABI */
    uint64_t random;           /* initial state of the connection's random stream (splitmix64) */
    const char *stack;         /* TCP stack, such as "linux-6.1"; over QUIC the one whose arithmetic is expected */
    uint32_t ticks_per_second; /* of the stack's clock: Linux's HZ */
    uint32_t is_quic;          /* 1 over QUIC */
    uint32_t is_paced;         /* 1 if segments are paced */
    uint32_t ecn;              /* 1 if the control needs ECN and the connection has it */
} sojourn_cc_host;

/* Export of a library, named `sojourn_cc`. `create`, `free`, and the functions that its face needs must not be null;
 * calls of absent functions cost nothing. */
typedef struct sojourn_cc_library {
    uint32_t size;       /* sizeof(sojourn_cc_library) */
    uint32_t abi;        /* SOJOURN_CC_ABI */
    uint32_t face;       /* SOJOURN_CC_WINDOW or SOJOURN_CC_STEER */
    uint32_t needs;      /* SOJOURN_CC_SAMPLES | … */
    const char *name;    /* a word: "mine" */
    const char *summary; /* one sentence; may be null */
    const char *source;  /* publication of the algorithm; may be null */
    /* Creates the state of a connection. `parameters` is the text after the library's name, "" if there is none. It is
     * also called once when the scenario is read, to check the parameters. Returns 0, or a negative number; then
     * `error` has the text. */
    int (*create)(const char *parameters, const sojourn_cc_host *host, void **state);
    void (*free)(void *state);
    /* Copies a state; may be null: then a connection cannot be copied, which only `sojourn cc check` asks for. */
    int (*clone)(const void *state, void **copy);
    const char *(*error)(void); /* text of the last error of `create` or `clone`; may be null */

    /* Face window. */
    uint32_t (*ssthresh)(void *state, sojourn_cc_flight *flight, int cause);
    void (*grow)(void *state, sojourn_cc_flight *flight, const sojourn_cc_ack *ack);
    void (*acked)(void *state, sojourn_cc_flight *flight, const sojourn_cc_ack *ack); /* RTT of new data; may end slow
                                                                                       * start (pkts_acked) */
    void (*report)(void *state, sojourn_cc_flight *flight, const sojourn_cc_ack *ack);
    void (*reduced)(void *state, sojourn_cc_flight *flight);   /* a reduction ended at the threshold (CA_EVENT_
                                                                * COMPLETE_CWR) */
    void (*timed_out)(void *state, sojourn_cc_flight *flight); /* the timer expired (CA_EVENT_LOSS) */
    uint32_t (*min_cwnd)(void *state, sojourn_cc_flight *flight); /* lower bound in rate halving; default ssthresh/2 */

    /* Both faces. */
    void (*state)(void *state, sojourn_cc_flight *flight, int entered); /* enters a state; flight->state is the old
                                                                         * one with the face window (set_state) */
    void (*delivered)(void *state, sojourn_cc_flight *flight, uint32_t packets, uint32_t ce); /* (in_ack_event) */
    void (*idle)(void *state, sojourn_cc_flight *flight, int64_t last_sent); /* data is sent with nothing in flight
                                                                              * (CA_EVENT_TX_START); -1 with the
                                                                              * face steer */
    uint32_t (*undo)(void *state, sojourn_cc_flight *flight); /* window after a needless reduction; default: with the
                                                               * face window max(cwnd, prior_cwnd), or 2 ssthresh
                                                               * if prior_cwnd is 0; with the face steer cwnd */
    void (*start)(void *state, sojourn_cc_flight *flight);    /* the connection is established */
    void (*sent)(void *state, sojourn_cc_flight *flight, uint32_t bytes); /* an event has sent data, new or again; over
                                                                           * QUIC a packet */

    /* Face steer. */
    void (*ack)(void *state, sojourn_cc_flight *flight, const sojourn_cc_sample *sample); /* each acknowledgment
                                                                                           * (cong_control) */
    void (*lost)(void *state, sojourn_cc_flight *flight, const sojourn_cc_loss *loss);
    void (*repaired)(void *state, sojourn_cc_flight *flight, int app_limited); /* a tail loss probe repaired a loss */
    void (*congestion)(void *state, sojourn_cc_flight *flight, int event);     /* after `state` */
} sojourn_cc_library;

#ifdef __cplusplus
}
#endif

#endif
