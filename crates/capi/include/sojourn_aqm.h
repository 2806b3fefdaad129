/* sojourn_aqm.h: queue managers of Sojourn for programs in C, and queue managers in C for Sojourn.
 *
 * C99 and C++98. docs/c_interface.md explains it with examples; a test compiles this file and compares every size,
 * offset and number in it with the library's own.
 *
 * Two sides use it:
 * - A host (a network stack, a simulator) links with libsojourn_aqm and calls the functions sojourn_queue_*.
 * - A shared library that brings a queue manager of its own defines `struct sojourn_queue` as it likes and exports one
 *   object, `sojourn_library`. It needs none of the functions. Sojourn then knows it by the name of its file.
 *
 * Rules for both:
 * - Times are nanoseconds since an origin that the host chooses, signed, and never go back from call to call.
 * - Each packet has one opaque pointer, `handle`. A queue that took a packet gives that pointer back exactly once: by
 *   `dequeue`, or by a call of `dropped`. `enqueue` takes the packet unless it returns an error.
 * - One call at a time for each queue, from any thread. Within `dropped` and within the functions that show statistics
 *   or states, the same queue must not be called.
 * - A struct that begins with `size` carries sizeof itself, set by whoever made it. Later versions add fields at the
 *   end only. A field beyond `size` counts as zero.
 * - A function that returns int returns a negative number for an error, and then has done nothing, except for
 *   SOJOURN_PANICKED; sojourn_error() has the text. Neither side lets an exception out of its functions.
 */
#ifndef SOJOURN_AQM_H
#define SOJOURN_AQM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It grows only when something here changes its meaning, not when something is added. */
#define SOJOURN_AQM_ABI 1u

/* A time or a span in nanoseconds. */
typedef int64_t sojourn_time;

/* A queue that manages itself. Opaque for a host; a library that exports `sojourn_library` defines it. */
typedef struct sojourn_queue sojourn_queue;

/* ECN field of the IP header (RFC 3168). */
enum { SOJOURN_NOT_ECT = 0, SOJOURN_ECT1 = 1, SOJOURN_ECT0 = 2, SOJOURN_CE = 3 };

/* What `enqueue` returns. */
enum {
    SOJOURN_QUEUED = 0, /* the packet waits */
    SOJOURN_MARKED = 1, /* it waits, newly marked CE */
    SOJOURN_DROPPED = 2 /* it was dropped, or for some queues another one in its place; `dropped` was called */
};

/* What `dequeue` returns. */
enum {
    SOJOURN_EMPTY = 0,     /* nothing waits */
    SOJOURN_PACKET = 1,    /* transmit this packet now */
    SOJOURN_NOT_BEFORE = 2 /* something waits that may not go before a later time (shapers) */
};

/* Errors. What else succeeds returns 0. */
enum {
    SOJOURN_INVALID = -1,  /* an argument is null, out of range or too small */
    SOJOURN_REFUSED = -2,  /* the text names no queue manager, or a parameter is wrong */
    SOJOURN_UNKNOWN = -3,  /* there is no statistic or state of this name */
    SOJOURN_BUSY = -4,     /* the queue is being called already: from `dropped`, or from another thread */
    SOJOURN_PANICKED = -5, /* the queue failed in this call, which has taken the packet that it was offered */
    SOJOURN_FAILED = -6    /* the queue failed in an earlier call. Only freeing it is left, which hands back all packets */
};

/* Why a packet was dropped. Further reasons may come; sojourn_reason() names them. */
enum {
    SOJOURN_LIMIT = 0,      /* the queue was full */
    SOJOURN_EARLY = 1,      /* the queue manager, on arrival */
    SOJOURN_LATE = 2,       /* the queue manager, on departure */
    SOJOURN_HARD_LIMIT = 3, /* a hard bound on the sojourn time */
    SOJOURN_REPLACED = 4,   /* another discipline took the place of the one in which the packet waited */
    SOJOURN_FREED = 255     /* the queue was freed while the packet waited; counted in no statistic */
};

/* A packet. */
typedef struct sojourn_packet {
    uint32_t size;          /* sizeof(sojourn_packet) */
    uint32_t length;        /* bytes on the wire as this queue accounts them, at least 1 */
    uint32_t segments;      /* packets on the wire that it stands for: 1, more for a super-packet (GSO); 0 counts as 1 */
    uint32_t flow;          /* number of its flow, as a hash of the 5-tuple */
    uint32_t source;        /* number of the sending host, as its IPv4 address; 0 if not known */
    uint32_t destination;   /* number of the receiving host */
    uint8_t dscp;           /* differentiated services code point, 0 to 63 */
    uint8_t ecn;            /* ECN field; comes back as SOJOURN_CE if it was marked, unless the packet is freed */
    uint16_t reserved;      /* 0 */
    uint32_t header_length; /* bytes at `header` */
    const void *header;     /* its headers from IP's on, unchanged until the packet comes back; null if not to be had */
    void *handle;           /* the host's own, never looked at; null is allowed */
    sojourn_time enqueued;  /* set by the queue: when it was enqueued */
    uint32_t priority;      /* what its sender names, as Linux's skb->priority: a class, 0x10010 for tc's 1:10, or a
                             * priority from 1 to 15; 0: nothing, and the DSCP says */
    uint32_t reserved_2;    /* 0 */
} sojourn_packet;

/* Takes back a packet that was dropped, which need not be the one being offered. `packet` lives during the call only. */
typedef void (*sojourn_dropped)(void *user, const sojourn_packet *packet, int reason);

/* Is shown a statistic (packets, bytes) or a variable of state (times in seconds), with its name. */
typedef void (*sojourn_see_statistic)(void *user, const char *name, uint64_t value);
typedef void (*sojourn_see_state)(void *user, const char *name, double value);

/* What a queue is built for. Set all to zero first, then `size`, `rate` and `dropped` at least. */
typedef struct sojourn_host {
    uint32_t size;           /* sizeof(sojourn_host) */
    uint32_t mtu;            /* largest packet in bytes, as this queue accounts it; 0 counts as 1500 */
    uint64_t rate;           /* nominal rate of the link below, bit/s, at least 1 */
    uint64_t random;         /* start of the queue's random stream: the same number draws the same (splitmix64) */
    sojourn_time start;      /* the time at which the queue begins: periodic updates count from here */
    uint32_t limit_packets;  /* most packets that may wait; 0: no such limit */
    uint32_t reserved;       /* 0 */
    uint64_t limit_bytes;    /* most bytes that may wait; 0: no such limit */
    sojourn_time limit_time; /* most waiting time at the nominal rate; 0: no such limit */
    sojourn_dropped dropped; /* must not be null */
    void *user;              /* the first argument of `dropped` */
    sojourn_time delay;      /* propagation delay of the link, one way; 0 where it is not known */
} sojourn_host;

/* What a shared library exports, under the name `sojourn_library`. The functions mean what those of libsojourn_aqm
 * mean, below; the last five may be null. Here `text` is what follows the library's name, "" for nothing. */
typedef struct sojourn_discipline {
    uint32_t size;       /* sizeof(sojourn_discipline) */
    uint32_t abi;        /* SOJOURN_AQM_ABI */
    uint32_t order;      /* the order in which packets leave; see below */
    uint32_t reserved;   /* 0 */
    const char *name;    /* a word: "blue" */
    const char *summary; /* what it does, in a sentence; may be null */
    const char *source;  /* where it is published; may be null */
    int (*create)(const char *text, const sojourn_host *host, sojourn_queue **queue);
    void (*free)(sojourn_queue *queue);
    int (*enqueue)(sojourn_queue *queue, sojourn_time now, const sojourn_packet *packet);
    int (*dequeue)(sojourn_queue *queue, sojourn_time now, sojourn_packet *packet, sojourn_time *not_before);
    int (*backlog)(const sojourn_queue *queue, uint32_t *packets, uint64_t *bytes);
    int (*settle)(sojourn_queue *queue, sojourn_time now);
    int (*statistics)(const sojourn_queue *queue, sojourn_see_statistic see, void *user);
    int (*states)(const sojourn_queue *queue, sojourn_see_state see, void *user);
    const char *(*error)(void); /* the text of this thread's last error */
    int (*pass)(sojourn_queue *queue, sojourn_time now, const sojourn_packet *packet);
} sojourn_discipline;

/* Orders. The conformance suite holds a library to the one that it declares. */
enum {
    SOJOURN_FIFO = 0,                 /* as the packets came */
    SOJOURN_PER_FLOW = 1,             /* as they came within each flow */
    SOJOURN_PER_FLOW_AND_ECN = 2,     /* as they came within each flow, among those with the same ECN field on arrival */
    SOJOURN_PER_FLOW_ECN_AND_DSCP = 3 /* ... with the same ECN field and the same DSCP on arrival */
};

/* libsojourn_aqm exports one too, so that each of its queue managers can be loaded as a library is. */
extern const sojourn_discipline sojourn_library;

/* ---- libsojourn_aqm ---- */

/* SOJOURN_AQM_ABI of the library that is linked; a host compares it with the one that it was compiled with. */
uint32_t sojourn_aqm_abi(void);

/* Version of the library, as "0.1.0". */
const char *sojourn_aqm_version(void);

/* What went wrong in this thread's last call that returned an error: one line with place and remedy. Valid until the
 * next error in this thread; "" before the first. */
const char *sojourn_error(void);

/* The name of a reason for a drop ("limit", "early", "late", "hard-limit", "replaced", "freed"); "unknown" for other numbers. */
const char *sojourn_reason(int reason);

/* The random stream that Sojourn's simulator gives to component `index` of `kind` in a run with `seed`, for
 * sojourn_host.random: the first link's queue has kind "queue" and index 0. A null `kind` counts as "". */
uint64_t sojourn_random(uint64_t seed, const char *kind, uint64_t index);

/* Makes a queue under the manager that `text` describes, in tc's spelling: "codel target 5ms ecn", "fq(codel@act)".
 * Names and parameters: `sojourn aqm list`, `sojourn aqm show NAME`. */
int sojourn_queue_create(const char *text, const sojourn_host *host, sojourn_queue **queue);

/* Ends a queue. What still waits goes to `dropped` with the reason SOJOURN_FREED. Null is allowed. */
void sojourn_queue_free(sojourn_queue *queue);

/* Offers a packet: SOJOURN_QUEUED, SOJOURN_MARKED or SOJOURN_DROPPED. */
int sojourn_queue_enqueue(sojourn_queue *queue, sojourn_time now, const sojourn_packet *packet);

/* Asks for the packet to transmit at `now`: SOJOURN_EMPTY, SOJOURN_PACKET or SOJOURN_NOT_BEFORE. `packet->size` is set
 * by the host; the fields that it covers are filled for SOJOURN_PACKET. `*not_before` is set for SOJOURN_NOT_BEFORE;
 * the pointer may be null. */
int sojourn_queue_dequeue(sojourn_queue *queue, sojourn_time now, sojourn_packet *packet, sojourn_time *not_before);

/* Takes a packet straight through an empty queue to an idle link: SOJOURN_PACKET if this was done, which counts as
 * `enqueue` and at once `dequeue`; the host keeps the packet and transmits it. SOJOURN_EMPTY if nothing was done, and
 * these two are to be called: most managers want to see every packet. A host need not ask. */
int sojourn_queue_pass(sojourn_queue *queue, sojourn_time now, const sojourn_packet *packet);

/* What waits. Either pointer may be null. */
int sojourn_queue_backlog(const sojourn_queue *queue, uint32_t *packets, uint64_t *bytes);

/* Runs the periodic updates that are due up to and including `now`, before someone looks at the state. Packets need
 * no such call. */
int sojourn_queue_settle(sojourn_queue *queue, sojourn_time now);

/* Shows all statistics since the start: arrived, departed, marked and dropped packets and bytes ("arrived_packets",
 * "marked_bytes", ...), and those dropped for each reason ("dropped_hard_limit_packets", ...). */
int sojourn_queue_statistics(const sojourn_queue *queue, sojourn_see_statistic see, void *user);

/* Shows all variables of the manager's state by the names of its source ("count", "drop_next", "p", ...). */
int sojourn_queue_states(const sojourn_queue *queue, sojourn_see_state see, void *user);

/* The statistic, or the variable of state, called `name`. */
int sojourn_queue_statistic(const sojourn_queue *queue, const char *name, uint64_t *value);
int sojourn_queue_state(const sojourn_queue *queue, const char *name, double *value);

#ifdef __cplusplus
}
#endif

#endif
