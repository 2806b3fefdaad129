/* Invalid calls of sojourn_net.h: each returns its error code and a line of text, and the net works on. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sojourn_net.h>
#include <stdio.h>
#include <string.h>

static int faults;

static void check(int line, int64_t expected, int64_t found, const char *text)
{
    if (found == expected && (found >= 0 || (strstr(sojourn_net_error(), text) && !strchr(sojourn_net_error(), '\n'))))
        return;
    faults++;
    fprintf(stderr, "line %d: %d where %d was expected: %s\n", line, (int)found, (int)expected, sojourn_net_error());
}
#define CHECK(expected, call, text) check(__LINE__, expected, call, text)

static const char *const world =
    "duration = '1 s'\n[link]\nrate = '10 Mbit/s'\naqm = 'codel'\n"
    "[[flows]]\nkind = 'endpoint'\nname = 'call'\ncount = 2\ntags = ['rtp']\naddress = ['2001:db8::1', '2001:db8::2']\n";

static void addresses(sojourn_net *net, sojourn_datagram good)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&good.remote;
    sojourn_datagram datagram = good;

    datagram.remote.ss_family = AF_UNIX;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "datagram.remote: family 1; give AF_INET");
    datagram.remote.ss_family = AF_UNSPEC;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "no destination");
    datagram = good;
    datagram.local.ss_family = AF_UNIX;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "datagram.local: family 1");
    datagram.local = good.remote;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "but the host has the address");
    memset(&good.remote, 0, sizeof good.remote);
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(0x0a000002);
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &good), "write both as IPv4 or both as IPv6");
}

static void datagrams(sojourn_net *net)
{
    static unsigned char bytes[65508];
    sojourn_datagram good, datagram;

    memset(&good, 0, sizeof good);
    good.size = sizeof good;
    good.bytes = bytes;
    good.length = 1000;
    CHECK(0, sojourn_net_address(net, 1, &good.remote), "");
    faults += good.remote.ss_family != AF_INET6;
    faults += ntohs(((struct sockaddr_in6 *)&good.remote)->sin6_port) != 443;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(NULL, 0, &good), "net is null; make one with sojourn_net_open");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, NULL), "datagram is null");
    CHECK(SOJOURN_NET_UNKNOWN, sojourn_net_send(net, 4, &good), "end 4: the net has 4 ends");
    CHECK(SOJOURN_NET_UNKNOWN, sojourn_net_send(net, UINT32_MAX, &good), "take numbers from sojourn_net_end");
    datagram = good, datagram.size = 8;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "datagram.size: 8 is below");
    datagram = good, datagram.bytes = NULL;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "datagram.bytes is null");
    datagram = good, datagram.length = sizeof bytes;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "a datagram of 65508 B; at most 65507 B");
    datagram = good, datagram.length = SIZE_MAX;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "datagram.length: ");
    datagram = good, datagram.segment_size = 10;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "at most 64 datagrams");
    datagram = good, datagram.ecn = 4;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "datagram.ecn: 4; it is from 0 to 3");
    datagram = good, datagram.tag = 2;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "tag 2; the group has 1");
    datagram = good, datagram.at = -1;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_send(net, 0, &datagram), "datagram.at: -1 ns is before the run");
    addresses(net, good);
    /* An empty datagram, one at a later time, and several of one size. */
    datagram = good, datagram.bytes = NULL, datagram.length = 0;
    CHECK(0, sojourn_net_send(net, 0, &datagram), "");
    datagram = good, datagram.segment_size = 400, datagram.at = 5000000;
    CHECK(0, sojourn_net_send(net, 0, &datagram), "");
}

static void events(sojourn_net *net)
{
    sojourn_event event;
    size_t lengths[4] = { 0, 400, 400, 200 };
    int count = 0;

    memset(&event, 0, sizeof event);
    CHECK(SOJOURN_NET_INVALID, sojourn_net_next(net, &event), "event.size: 0 is below");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_next(net, NULL), "event is null");
    event.size = sizeof event;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_advance(net, -1, &event), "now: -1 ns is before the run");
    do {
        CHECK(0, sojourn_net_advance(net, 400000000, &event), "");
        if (event.kind != SOJOURN_NET_DATAGRAM)
            continue;
        faults += count > 3 || event.length != lengths[count] || event.end != 1 || event.remote.ss_family != AF_INET6
            || ntohs(((struct sockaddr_in6 *)&event.local)->sin6_port) != 443 || event.now != sojourn_net_now(net);
        count++;
    } while (event.kind != SOJOURN_NET_END);
    faults += count != 4 || sojourn_net_now(net) != 400000000 || event.remote.ss_family != AF_UNSPEC || event.bytes;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_advance(net, 1, &event), "time never goes back");
}

int main(void)
{
    sojourn_net *net = NULL;
    uint32_t end = 9;
    uint8_t tag;
    char why[20];

    CHECK(SOJOURN_NET_INVALID, sojourn_net_open(SOJOURN_NET_ABI + 1, world, NULL, 1, &net), "abi: 2, but the library");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_open(SOJOURN_NET_ABI, NULL, NULL, 1, &net), "toml is null");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_open(SOJOURN_NET_ABI, world, NULL, 1, NULL), "net is null");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_open(SOJOURN_NET_ABI, "\xff", NULL, 1, &net), "is not UTF-8");
    CHECK(SOJOURN_NET_REFUSED, sojourn_net_open(SOJOURN_NET_ABI, "duration = 5", NULL, 1, &net), "duration");
    faults += net != NULL;
    CHECK(0, sojourn_net_open(SOJOURN_NET_ABI, world, ".", 1, &net), "");
    CHECK(SOJOURN_NET_UNKNOWN, sojourn_net_end(net, "call.source", &end), "choose from call.0.sink, call.0.source");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_end(net, NULL, &end), "name is null");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_end(net, "call.1.sink", NULL), "end is null");
    CHECK(0, sojourn_net_end(net, "call.1.sink", &end), "");
    faults += end != 3;
    CHECK(SOJOURN_NET_INVALID, sojourn_net_address(net, 0, NULL), "address is null");
    CHECK(SOJOURN_NET_UNKNOWN, sojourn_net_tag(net, "call", "rtcp", &tag), "has no tag \"rtcp\"");
    CHECK(SOJOURN_NET_UNKNOWN, sojourn_net_tag(net, "cal", "rtp", &tag), "choose from call");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_wake(net, 0, -1), "at: -1 ns is before the run");
    CHECK(SOJOURN_NET_UNKNOWN, sojourn_net_wake(net, 4, 0), "end 4");
    CHECK(0, sojourn_net_wake(net, 0, SOJOURN_NET_NEVER), "");
    CHECK(1, sojourn_net_has_room(net, 0), "");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_due(NULL), "net is null");
    datagrams(net);
    events(net);
    CHECK(0, sojourn_net_note(net, 0, "cwnd", 10), "");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_completed(net, 0, INT64_C(1) << 60, 1), "is in the future");
    CHECK(0, sojourn_net_completed(net, 0, 0, 1000), "");
    CHECK(SOJOURN_NET_REFUSED, sojourn_net_expect(net, "p99(delay, call.rtx) <", why, sizeof why), "");
    CHECK(SOJOURN_NET_INVALID, sojourn_net_expect(net, "loss(call) <= 1 %", NULL, 1), "why is null");
    CHECK(SOJOURN_NET_HOLDS, sojourn_net_expect(net, "loss(call) <= 1 %", NULL, 0), "");
    CHECK(SOJOURN_NET_BROKEN, sojourn_net_expect(net, "loss(call) >= 1 %", why, sizeof why), "");
    faults += strlen(why) != sizeof why - 1;
    CHECK(SOJOURN_NET_ENDED, sojourn_net_wake(net, 0, 0), "the run is over");
    CHECK(SOJOURN_NET_REFUSED, sojourn_net_finish(net, "/dev/null/x"), "check the path");
    CHECK(0, sojourn_net_finish(net, NULL), "");
    CHECK(0, sojourn_net_hashes(net, NULL, NULL), "");
    sojourn_net_free(net);
    sojourn_net_free(NULL);
    return faults != 0;
}
