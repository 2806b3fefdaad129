/* sojourn_aqm.h: Sojourn's AQMs for programs in C, and AQMs in C for Sojourn.
 *
 * C99 and C++98. docs/c_interface.md explains it with examples; a test compiles this file and compares every size,
 * offset and constant with the library's.
 *
 * Two sides use it:
 * - A host (a network stack, a simulator) links with libsojourn_aqm and calls the functions sojourn_queue_*.
 * - A shared library with its own AQM defines `struct sojourn_queue` as it likes and exports one object,
 *   `sojourn_library`. It needs none of the functions. Sojourn loads it by its file name.
 *
 * Rules for both:
 * - Times are signed nanoseconds since an origin that the host chooses, and never decrease from call to call.
 * - Each packet has one opaque pointer, `handle`. A queue that accepted a packet returns that pointer exactly once: from
 *   `dequeue`, or in a call of `dropped`. `enqueue` accepts the packet unless it returns an error.
 * - Calls of a queue may come from any thread, one at a time. The callbacks `dropped` and `see` must not call the same
 *   queue.
 * - The creator of a struct that begins with `size` sets it to sizeof the struct. Later versions add fields at the end
 *   only. A field beyond `size` counts as zero.
 * - A function that returns int returns a negative number for an error, and then has done nothing, except for
 *   SOJOURN_PANICKED; sojourn_error() returns the text. Exceptions must not leave a function of either side.
 */
#ifndef SOJOURN_AQM_H
#define SOJOURN_AQM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It is incremented only for incompatible changes, not for additions. */
#define SOJOURN_AQM_ABI 1u

/* A time or a duration in nanoseconds. */
typedef int64_t sojourn_time;

/* A queue with its AQM. Opaque to a host; a library that exports `sojourn_library` defines it. */
typedef struct sojourn_queue sojourn_queue;

/* ECN field of the IP header (RFC 3168). */
enum { SOJOURN_NOT_ECT = 0, SOJOURN_ECT1 = 1, SOJOURN_ECT0 = 2, SOJOURN_CE = 3 };

/* Results of `enqueue`. */
enum {
    SOJOURN_QUEUED = 0, /* the packet is queued */
    SOJOURN_MARKED = 1, /* the packet is queued and newly marked CE */
    SOJOURN_DROPPED = 2 /* the packet, or for some queues another one in its place, was dropped; `dropped` was called */
};

/* Results of `dequeue`. */
enum {
    SOJOURN_EMPTY = 0,     /* the queue is empty */
    SOJOURN_PACKET = 1,    /* transmit this packet now */
    SOJOURN_NOT_BEFORE = 2 /* packets are queued, but none may leave before a later time (shapers) */
};

/* Errors. Every other function returns 0 on success. */
enum {
    SOJOURN_INVALID = -1,  /* an argument is null, out of range or too small */
    SOJOURN_REFUSED = -2,  /* the text names no AQM, or a parameter is wrong */
    SOJOURN_UNKNOWN = -3,  /* there is no statistic or state variable of this name */
    SOJOURN_BUSY = -4,     /* another call of the queue is in progress: from `dropped`, or from another thread */
    SOJOURN_PANICKED = -5, /* the queue failed in this call, and has accepted the packet of an `enqueue` */
    SOJOURN_FAILED = -6    /* the queue failed in an earlier call; free it, which returns all packets */
};

/* Reasons of drops. Later versions may add reasons; sojourn_reason() names them. */
enum {
    SOJOURN_LIMIT = 0,      /* the queue was full */
    SOJOURN_EARLY = 1,      /* by the AQM, on arrival */
    SOJOURN_LATE = 2,       /* by the AQM, on departure */
    SOJOURN_HARD_LIMIT = 3, /* a hard limit on the sojourn time */
    SOJOURN_REPLACED = 4,   /* another qdisc replaced the packet's */
    SOJOURN_FREED = 255     /* the queue was freed while the packet was queued; in no statistic */
};

/* A packet. */
typedef struct sojourn_packet {
    uint32_t size;          /* sizeof(sojourn_packet) */
    uint32_t length;        /* bytes on the wire as this queue accounts them, at least 1 */
    uint32_t segments;      /* segments on the wire: 1, more for a GSO super-packet; 0 counts as 1 */
    uint32_t flow;          /* flow identifier, such as a hash of the 5-tuple */
    uint32_t source;        /* identifier of the sending host, such as its IPv4 address; 0 if unknown */
    uint32_t destination;   /* identifier of the receiving host */
    uint8_t dscp;           /* differentiated services code point, 0 to 63 */
    uint8_t ecn;            /* ECN field; returned as SOJOURN_CE if the packet was marked, unless it was freed */
    uint16_t reserved;      /* 0 */
    uint32_t header_length; /* bytes at `header` */
    const void *header;     /* IP and further headers, unchanged until the packet returns; null if unavailable */
    void *handle;           /* the host's pointer, never dereferenced; may be null */
    sojourn_time enqueued;  /* set by the queue: time of `enqueue` */
    uint32_t priority;      /* Linux's skb->priority: a class (0x10010 for tc's 1:10), or a priority from 1 to 15;
                             * 0: none, the DSCP decides */
    uint32_t reserved_2;    /* 0 */
} sojourn_packet;

/* Callback for a dropped packet, not necessarily the one being enqueued. `packet` is valid during the call only. */
typedef void (*sojourn_dropped)(void *user, const sojourn_packet *packet, int reason);

/* Callbacks for a statistic (packets, bytes) and for a state variable (times in seconds), with its name. */
typedef void (*sojourn_see_statistic)(void *user, const char *name, uint64_t value);
typedef void (*sojourn_see_state)(void *user, const char *name, double value);

/* Environment of a queue. Zero the struct, then set at least `size`, `rate` and `dropped`. */
typedef struct sojourn_host {
    uint32_t size;           /* sizeof(sojourn_host) */
    uint32_t mtu;            /* maximum packet in bytes, as this queue accounts it; 0 counts as 1500 */
    uint64_t rate;           /* nominal rate of the link in bit/s, at least 1 */
    uint64_t random;         /* initial state of the queue's random stream (splitmix64) */
    sojourn_time start;      /* time of creation; periodic updates count from here */
    uint32_t limit_packets;  /* maximum backlog in packets; 0: no such limit */
    uint32_t reserved;       /* 0 */
    uint64_t limit_bytes;    /* maximum backlog in bytes; 0: no such limit */
    sojourn_time limit_time; /* maximum backlog as a time at the nominal rate; 0: no such limit */
    sojourn_dropped dropped; /* must not be null */
    void *user;              /* first argument of `dropped` */
    sojourn_time delay;      /* one-way propagation delay of the link; 0 if unknown */
} sojourn_host;

/* Export of a shared library, named `sojourn_library`. The functions work as those of libsojourn_aqm below; the last
 * five may be null. `text` is the part of the configuration after the library's name, "" if there is none. */
typedef struct sojourn_discipline {
    uint32_t size;       /* sizeof(sojourn_discipline) */
    uint32_t abi;        /* SOJOURN_AQM_ABI */
    uint32_t order;      /* departure order of packets; see below */
    uint32_t reserved;   /* 0 */
    const char *name;    /* a word: "blue" */
    const char *summary; /* one sentence; may be null */
    const char *source;  /* publication of the algorithm; may be null */
    int (*create)(const char *text, const sojourn_host *host, sojourn_queue **queue);
    void (*free)(sojourn_queue *queue);
    int (*enqueue)(sojourn_queue *queue, sojourn_time now, const sojourn_packet *packet);
    int (*dequeue)(sojourn_queue *queue, sojourn_time now, sojourn_packet *packet, sojourn_time *not_before);
    int (*backlog)(const sojourn_queue *queue, uint32_t *packets, uint64_t *bytes);
    int (*settle)(sojourn_queue *queue, sojourn_time now);
    int (*statistics)(const sojourn_queue *queue, sojourn_see_statistic see, void *user);
    int (*states)(const sojourn_queue *queue, sojourn_see_state see, void *user);
    const char *(*error)(void); /* text of this thread's last error */
    int (*pass)(sojourn_queue *queue, sojourn_time now, const sojourn_packet *packet);
} sojourn_discipline;

/* Departure orders. The conformance suite checks the one that a library declares. */
enum {
    SOJOURN_FIFO = 0,                 /* in order of arrival */
    SOJOURN_PER_FLOW = 1,             /* in order of arrival within each flow */
    SOJOURN_PER_FLOW_AND_ECN = 2,     /* ... among packets with the same ECN field on arrival */
    SOJOURN_PER_FLOW_ECN_AND_DSCP = 3 /* ... among packets with the same ECN field and DSCP on arrival */
};

/* libsojourn_aqm has this export too, so that its AQMs can be loaded like those of any library. */
extern const sojourn_discipline sojourn_library;

/* ---- libsojourn_aqm ---- */

/* SOJOURN_AQM_ABI of the linked library; a host compares it with the one that it was compiled with. */
uint32_t sojourn_aqm_abi(void);

/* Version of the library, such as "0.1.0". */
const char *sojourn_aqm_version(void);

/* Text of this thread's last error: one line with location and remedy. Valid until the next error in this thread; ""
 * before the first. */
const char *sojourn_error(void);

/* Name of a drop reason ("limit", "early", "late", "hard-limit", "replaced", "freed"); "unknown" for other numbers. */
const char *sojourn_reason(int reason);

/* Initial state of the simulator's random stream for component `index` of `kind` in a run with `seed`, for
 * sojourn_host.random. The first link's queue has kind "queue" and index 0. A null `kind` counts as "". */
uint64_t sojourn_random(uint64_t seed, const char *kind, uint64_t index);

/* Creates a queue with the AQM that `text` configures, in tc's syntax: "codel target 5ms ecn", "fq(codel@act)".
 * Names and parameters: `sojourn aqm list`, `sojourn aqm show NAME`. */
int sojourn_queue_create(const char *text, const sojourn_host *host, sojourn_queue **queue);

/* Frees a queue. Queued packets are passed to `dropped` with the reason SOJOURN_FREED. `queue` may be null. */
void sojourn_queue_free(sojourn_queue *queue);

/* Enqueues a packet: SOJOURN_QUEUED, SOJOURN_MARKED or SOJOURN_DROPPED. */
int sojourn_queue_enqueue(sojourn_queue *queue, sojourn_time now, const sojourn_packet *packet);

/* Dequeues the packet to transmit at `now`: SOJOURN_EMPTY, SOJOURN_PACKET or SOJOURN_NOT_BEFORE. The host sets
 * `packet->size`; for SOJOURN_PACKET, the fields that it covers are filled. For SOJOURN_NOT_BEFORE, `*not_before` is
 * set; the pointer may be null. */
int sojourn_queue_dequeue(sojourn_queue *queue, sojourn_time now, sojourn_packet *packet, sojourn_time *not_before);

/* Passes a packet through an empty queue to an idle link. SOJOURN_PACKET: done, counted as `enqueue` and `dequeue`; the
 * host keeps the packet and transmits it. SOJOURN_EMPTY: nothing was done, call these two; most AQMs need to see every
 * packet. Optional for hosts. */
int sojourn_queue_pass(sojourn_queue *queue, sojourn_time now, const sojourn_packet *packet);

/* Writes the queued packets and bytes. Either pointer may be null. */
int sojourn_queue_backlog(const sojourn_queue *queue, uint32_t *packets, uint64_t *bytes);

/* Runs the periodic updates that are due up to and including `now`; needed only before the state is read, not before
 * packets. */
int sojourn_queue_settle(sojourn_queue *queue, sojourn_time now);

/* Calls `see` for each statistic since the start: arrived, departed, marked and dropped packets and bytes
 * ("arrived_packets", "marked_bytes", ...), and drops per reason ("dropped_hard_limit_packets", ...). */
int sojourn_queue_statistics(const sojourn_queue *queue, sojourn_see_statistic see, void *user);

/* Calls `see` for each state variable of the AQM, by its name in the source ("count", "drop_next", "p", ...). */
int sojourn_queue_states(const sojourn_queue *queue, sojourn_see_state see, void *user);

/* Writes the statistic, or the state variable, `name` to `value`. */
int sojourn_queue_statistic(const sojourn_queue *queue, const char *name, uint64_t *value);
int sojourn_queue_state(const sojourn_queue *queue, const char *name, double *value);

#ifdef __cplusplus
}
#endif

#endif
