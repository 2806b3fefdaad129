/* A paced sender and an echo over a simulated bottleneck, through libsojourn_aqm.
 *
 * make capi OUT=out
 * cc examples/c/net_echo.c -o out/net_echo -I out/include -L out/lib -Wl,-rpath,$PWD/out/lib -lsojourn_aqm
 * out/net_echo 1          # pull: the net's clock leads
 * out/net_echo 1 follow   # follow: a clock of the program's leads
 */
#include <inttypes.h>
#include <sojourn_net.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP INT64_C(2345678) /* ns between datagrams */
#define STEP INT64_C(7321000) /* ns of the leader's own steps */

static const char *const world =
    "duration = '10 s'\n"
    "[link]\nrate = '10 Mbit/s'\ndelay = '15 ms'\naqm = 'fq_codel'\n"
    "[[flows]]\nkind = 'endpoint'\nname = 'call'\nrtt = '40 ms'\ntags = ['voice']\n"
    "[[flows]]\nkind = 'tcp'\ncc = 'cubic'\n";

static int check(int code)
{
    if (code < 0) {
        fprintf(stderr, "net_echo: %s\n", sojourn_net_error());
        exit(2);
    }
    return code;
}

struct program {
    sojourn_net *net;
    uint32_t source, sink;
    struct sockaddr_storage peer; /* the sink's address */
    uint8_t tag;
    int64_t next; /* departure of the next datagram */
    uint64_t echoes;
};

/* The source sends a datagram every GAP; the sink returns each with its tag and its ECN field. */
static void answer(struct program *p, const sojourn_event *event)
{
    static const unsigned char payload[1172];
    sojourn_datagram datagram;

    memset(&datagram, 0, sizeof datagram);
    datagram.size = sizeof datagram;
    if (event->end == p->sink && event->kind == SOJOURN_NET_DATAGRAM) {
        datagram.remote = event->remote;
        datagram.bytes = event->bytes;
        datagram.length = event->length;
        datagram.ecn = event->ecn;
        datagram.tag = event->tag;
        check(sojourn_net_send(p->net, p->sink, &datagram));
    } else if (event->end == p->source && event->kind == SOJOURN_NET_DATAGRAM) {
        p->echoes++;
    } else if (event->end == p->source) {
        if (event->kind == SOJOURN_NET_BEGIN)
            p->next = event->now;
        if (p->next <= event->now) {
            datagram.remote = p->peer;
            datagram.bytes = payload;
            datagram.length = sizeof payload;
            datagram.tag = p->tag;
            check(sojourn_net_send(p->net, p->source, &datagram));
            p->next += GAP;
        }
        check(sojourn_net_wake(p->net, p->source, p->next));
    }
}

static void pull(struct program *p, sojourn_event *event)
{
    while (check(sojourn_net_next(p->net, event)) == 0 && event->kind != SOJOURN_NET_END)
        answer(p, event);
}

static void follow(struct program *p, sojourn_event *event)
{
    int64_t due, now = 0;

    while ((due = sojourn_net_due(p->net)) != SOJOURN_NET_NEVER) {
        now = due < now + STEP ? due : now + STEP;
        while (check(sojourn_net_advance(p->net, now, event)) == 0 && event->kind != SOJOURN_NET_END)
            answer(p, event);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, decisions, fingerprint;
    struct program p;
    sojourn_event event;
    char why[2000];
    int broken;

    memset(&p, 0, sizeof p);
    event.size = sizeof event;
    check(sojourn_net_open(SOJOURN_NET_ABI, world, NULL, seed, &p.net));
    check(sojourn_net_end(p.net, "call.source", &p.source));
    check(sojourn_net_end(p.net, "call.sink", &p.sink));
    check(sojourn_net_address(p.net, p.sink, &p.peer));
    check(sojourn_net_tag(p.net, "call", "voice", &p.tag));
    (argc > 2 && !strcmp(argv[2], "follow") ? follow : pull)(&p, &event);
    check(sojourn_net_hashes(p.net, &decisions, &fingerprint));
    printf("%" PRIu64 " echoes, decisions %016" PRIx64 ", run %016" PRIx64 "\n", p.echoes, decisions, fingerprint);
    broken = check(sojourn_net_expect(p.net, "p99(delay, call.voice) <= 60 ms", why, sizeof why));
    if (broken)
        fprintf(stderr, "%s\n", why);
    sojourn_net_free(p.net);
    return broken;
}
