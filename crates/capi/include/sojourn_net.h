/* sojourn_net.h: a simulated network for the tests of transport stacks in C.
 *
 * C99 and C++98, with POSIX sockets' addresses. docs/net_c.md explains it with an example; a test compiles this file and
 * compares every size, offset and constant with the library's.
 *
 * A net is the run of a scenario whose flows of `kind = "endpoint"` have open ends. The program takes the events of the
 * ends one by one and sends between them: with sojourn_net_next the net's clock leads (pull), with sojourn_net_advance
 * the program's (follow). Both give the same run.
 *
 * Rules:
 * - Times are signed nanoseconds since the start of the run. A stack that counts microseconds rounds its deadlines up.
 * - The creator of a struct that begins with `size` sets it to sizeof the struct. Later versions add fields at the end
 *   only.
 * - Calls of a net may come from any thread, one at a time. Different nets do not affect each other.
 * - A function that returns int returns a negative number for an error, and then has done nothing, except for
 *   SOJOURN_NET_PANICKED and SOJOURN_NET_FAULT; sojourn_net_error() returns the text.
 */
#ifndef SOJOURN_NET_H
#define SOJOURN_NET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It is incremented only for incompatible changes, not for additions. */
#define SOJOURN_NET_ABI 1u

/* A net. */
typedef struct sojourn_net sojourn_net;

/* The time of a deadline that does not exist, and of `due` once the run has ended. */
#define SOJOURN_NET_NEVER INT64_MAX

/* ECN field of the IP header (RFC 3168). */
enum { SOJOURN_NET_NOT_ECT = 0, SOJOURN_NET_ECT1 = 1, SOJOURN_NET_ECT0 = 2, SOJOURN_NET_CE = 3 };

/* Results of sojourn_net_expect. */
enum { SOJOURN_NET_HOLDS = 0, SOJOURN_NET_BROKEN = 1 };

/* Errors. Every other function returns 0 on success. */
enum {
    SOJOURN_NET_INVALID = -1,     /* an argument is null, out of range or too small */
    SOJOURN_NET_REFUSED = -2,     /* the scenario, the sentence or the folder is wrong */
    SOJOURN_NET_UNKNOWN = -3,     /* there is no end, group or tag of this name or number */
    SOJOURN_NET_BUSY = -4,        /* another call of the net is in progress */
    SOJOURN_NET_PANICKED = -5,    /* the net failed in this call */
    SOJOURN_NET_FAILED = -6,      /* the net failed in an earlier call; free it */
    SOJOURN_NET_WOULD_BLOCK = -7, /* the host accepts no datagram now; wait for SOJOURN_NET_ROOM */
    SOJOURN_NET_FAULT = -8,       /* the run cannot go on: an end is woken at one instant for ever */
    SOJOURN_NET_ENDED = -9        /* the run was ended by sojourn_net_expect or sojourn_net_finish */
};

/* Events. */
enum {
    SOJOURN_NET_END = 0,      /* the run has ended; after `advance`, the net's clock is at the time given */
    SOJOURN_NET_BEGIN = 1,    /* the flow of the end starts */
    SOJOURN_NET_WAKE = 2,     /* the end's deadline has passed, and is cleared; one that was moved later may still wake
                               * the end at its former time, and then remains */
    SOJOURN_NET_ROOM = 3,     /* the end's host accepts datagrams again */
    SOJOURN_NET_STOP = 4,     /* the group's `stop`: the application has no more data */
    SOJOURN_NET_DATAGRAM = 5, /* a datagram arrives */
    SOJOURN_NET_TOO_BIG = 6   /* a packet to `remote` was larger than the path's `mtu` */
};

/* A datagram to send, or several of one size. Zero the struct, then set at least size, length, bytes and remote. In a
 * group with `layer = "ip"` the bytes are an IP packet, whose header has the addresses and the ECN field; `remote`,
 * `local` and `ecn` are ignored, and a received packet has the ECN field of its arrival in its header too. */
typedef struct sojourn_datagram {
    uint32_t size;                  /* sizeof(sojourn_datagram) */
    uint8_t ecn;                    /* ECN field */
    uint8_t tag;                    /* number of a tag, from sojourn_net_tag; 0 for none */
    uint16_t reserved;              /* 0 */
    uint32_t segment_size;          /* bytes of each datagram but the last, if there are several (at most 64); else 0 */
    uint32_t reserved_2;            /* 0 */
    int64_t at;                     /* earliest departure (SO_TXTIME); 0 or a time in the past for now */
    size_t length;                  /* bytes of payload above UDP */
    const void *bytes;              /* payload; may be null if the length is 0 */
    struct sockaddr_storage remote; /* destination; AF_UNSPEC with layer = "ip" */
    struct sockaddr_storage local;  /* source; AF_UNSPEC for the end's own address */
} sojourn_datagram;

/* An event. The caller sets `size`; fields that an event does not name are 0, addresses AF_UNSPEC. */
typedef struct sojourn_event {
    uint32_t size;                  /* sizeof(sojourn_event) */
    uint32_t kind;                  /* SOJOURN_NET_BEGIN, … */
    uint32_t end;                   /* the end that it concerns, of all events but SOJOURN_NET_END */
    uint8_t ecn;                    /* DATAGRAM: ECN field as received */
    uint8_t tag;                    /* DATAGRAM: tag of its sender */
    uint16_t reserved;              /* 0 */
    uint32_t mtu;                   /* TOO_BIG: IP bytes of the largest packet that passes */
    uint32_t reserved_2;            /* 0 */
    int64_t now;                    /* time of the net */
    size_t length;                  /* DATAGRAM: bytes of payload */
    const void *bytes;              /* DATAGRAM: payload, valid until the next event is taken or the run ends */
    struct sockaddr_storage remote; /* DATAGRAM: source on the wire; TOO_BIG: destination of the packet */
    struct sockaddr_storage local;  /* DATAGRAM: the local address that it was sent to */
} sojourn_event;

/* SOJOURN_NET_ABI of the linked library. */
uint32_t sojourn_net_abi(void);

/* Text of this thread's last error: one line with location and remedy. Valid until the next error in this thread; ""
 * before the first. */
const char *sojourn_net_error(void);

/* Opens a net over the scenario `toml` (TOML or JSON). Relative paths of files start from `folder`; null is the working
 * folder. `abi` is SOJOURN_NET_ABI. */
int sojourn_net_open(uint32_t abi, const char *toml, const char *folder, uint64_t seed, sojourn_net **net);

/* Writes the number of an end by name: "call.source", or "call.3.source" in a group with a `count`. */
int sojourn_net_end(sojourn_net *net, const char *name, uint32_t *end);

/* Writes the address of an end. */
int sojourn_net_address(sojourn_net *net, uint32_t end, struct sockaddr_storage *address);

/* Writes the number of a group's tag. */
int sojourn_net_tag(sojourn_net *net, const char *group, const char *tag, uint8_t *number);

/* Sends a datagram, or several of one size, at this instant; the bytes are copied. */
int sojourn_net_send(sojourn_net *net, uint32_t end, const sojourn_datagram *datagram);

/* Whether the end's host accepts a datagram now: 1 or 0. */
int sojourn_net_has_room(sojourn_net *net, uint32_t end);

/* Sets the one deadline of an end; SOJOURN_NET_NEVER for none, a time in the past for now. */
int sojourn_net_wake(sojourn_net *net, uint32_t end, int64_t at);

/* Moves the clock to the next event, and writes it. */
int sojourn_net_next(sojourn_net *net, sojourn_event *event);

/* Writes the next event up to and including `now`, SOJOURN_NET_END if there is none; then the net's clock is there. Time
 * never goes back. Advance before you send, and ask for sojourn_net_due after it. */
int sojourn_net_advance(sojourn_net *net, int64_t now, sojourn_event *event);

/* When the next event of the run is due; SOJOURN_NET_NEVER once it has ended. Negative for errors. */
int64_t sojourn_net_due(sojourn_net *net);

/* Time of the net. Negative for errors. */
int64_t sojourn_net_now(sojourn_net *net);

/* Adds a value to the statistics of an end's `name`: note(call.source.cwnd) in sentences. */
int sojourn_net_note(sojourn_net *net, uint32_t end, const char *name, double value);

/* Counts a transfer of the end's group that began at `begun` and has arrived now: p95(completion, call). */
int sojourn_net_completed(sojourn_net *net, uint32_t end, int64_t begun, uint64_t bytes);

/* Ends the run here, and writes its results into `folder`: the record for `sojourn gate`, and the decision log for
 * `sojourn net replay`. A null `folder` writes nothing. Further calls write them again. */
int sojourn_net_finish(sojourn_net *net, const char *folder);

/* Ends the run here, and judges a sentence about it: "p99(delay, call.rtp) <= 30 ms and share(call) >= 30 %".
 * SOJOURN_NET_HOLDS, or SOJOURN_NET_BROKEN; then `why` gets a message of several lines with both sides' numbers, cut to
 * `length` bytes with the final zero. `why` may be null if `length` is 0. */
int sojourn_net_expect(sojourn_net *net, const char *sentence, char *why, size_t length);

/* Ends the run here, and writes the hash of all its datagrams (time, end, addresses, size, ECN field,
 * tag), and that of every verdict and departure of its queues. Either may be null. */
int sojourn_net_hashes(sojourn_net *net, uint64_t *decisions, uint64_t *fingerprint);

/* Frees a net. `net` may be null. */
void sojourn_net_free(sojourn_net *net);

#ifdef __cplusplus
}
#endif

#endif
