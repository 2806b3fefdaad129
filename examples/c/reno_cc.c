/* Reno (RFC 5681) as a congestion control in a shared library, in the arithmetic of each of Sojourn's stacks:
 *   cc -shared -fPIC -I include -o libreno.so reno_cc.c && sojourn run FILE --set flows.0.cc=./libreno.so */
#include <sojourn_cc.h>
#include <stdlib.h>

/* A connection needs no state beside the window. */
static int create(const char *parameters, const sojourn_cc_host *host, void **state)
{
    (void)host;
    *state = malloc(1);
    return *state == 0 || *parameters != 0 ? -1 : 0;
}

static const char *error(void) { return "it has no parameters"; }

static uint32_t ssthresh(void *state, sojourn_cc_flight *f, int cause)
{
    (void)state, (void)cause;
    return f->cwnd / 2 < 2 ? 2 : f->cwnd / 2;
}

/* One segment more per `n` counted. */
static void count(sojourn_cc_flight *f, uint32_t n) { f->cwnd += f->cwnd_cnt / n, f->cwnd_cnt %= n; }

static void grow(void *state, sojourn_cc_flight *f, const sojourn_cc_ack *ack)
{
    const uint32_t unit = f->counting & 0xff, limit = f->counting >> 8, packets = ack->packets;
    const uint64_t full = f->bytes_acked / f->mss, window = (uint64_t)f->cwnd * f->mss;
    const uint32_t room = f->cwnd < f->ssthresh ? f->ssthresh - f->cwnd : 0;
    (void)state;
    if (unit == SOJOURN_CC_PACKETS) { /* packets that slow start does not use count above the threshold */
        uint32_t used = packets < room ? packets : room;
        f->cwnd += used;
        if (packets == used)
            return;
        if (f->cwnd_cnt >= f->cwnd) /* counted in a larger window: worth one segment, not several */
            f->cwnd_cnt = 0, f->cwnd++;
        f->cwnd_cnt += packets - used;
        count(f, f->cwnd);
    } else if (unit == SOJOURN_CC_FRACTIONS) { /* cwnd_cnt is a fraction of 2^20 */
        uint64_t exact = ((uint64_t)f->cwnd << 20) + f->cwnd_cnt;
        f->cwnd_cnt += room > 0 ? 1 << 20 : (uint32_t)(((uint64_t)1 << 40) / exact);
        count(f, 1 << 20);
    } else if (f->cwnd > f->ssthresh && unit == SOJOURN_CC_BYTES) {
        if (f->bytes_acked >= window)
            f->bytes_acked -= window, f->cwnd++;
    } else if (f->cwnd > f->ssthresh) { /* compared before it is incremented, as in Linux before 4.0 */
        f->cwnd_cnt = f->cwnd_cnt >= f->cwnd ? f->cwnd++, 0 : f->cwnd_cnt + 1;
    } else if (unit == SOJOURN_CC_PACKETS_IN_SLOW_START) {
        f->cwnd += packets < room + 1 ? packets : room + 1;
    } else if (unit != SOJOURN_CC_BYTES || full > 0) {
        f->cwnd_cnt += f->cwnd * (unit != SOJOURN_CC_BYTES ? 1 : full < limit ? (uint32_t)full : limit);
        for (f->bytes_acked = 0; f->cwnd_cnt >= f->cwnd; f->cwnd++)
            f->cwnd_cnt -= f->cwnd;
    }
}

const sojourn_cc_library sojourn_cc = { .size = sizeof(sojourn_cc_library), .abi = SOJOURN_CC_ABI, .name = "reno",
    .face = SOJOURN_CC_WINDOW, .needs = SOJOURN_CC_PARTIAL_ACK_ENDS, .summary = "Reno (RFC 5681)", .create = create,
    .free = free, .error = error, .ssthresh = ssthresh, .grow = grow };
