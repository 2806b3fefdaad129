/* Invalid calls: each returns its error code and a line of text, and no packet is lost. */
#include <sojourn_aqm.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static sojourn_queue *queue;
static int faults, returned, reasons[256], inner;

static void check(int line, int expected, int found, const char *text)
{
    if (found == expected && (found >= 0 || strstr(sojourn_error(), text)))
        return;
    faults++;
    fprintf(stderr, "line %d: %d where %d was expected: %s\n", line, found, expected, sojourn_error());
}
#define CHECK(expected, call, text) check(__LINE__, expected, call, text)

static void take_back(void *user, const sojourn_packet *packet, int reason)
{
    returned += *(int *)packet->handle;
    reasons[reason]++;
    *(int *)packet->handle = 0;
    if (user)
        inner = sojourn_queue_settle(queue, 0);
}

static void from_statistics(void *user, const char *name, uint64_t value)
{
    (void)name;
    (void)value;
    *(int *)user = sojourn_queue_backlog(queue, NULL, NULL);
}

static void from_states(void *user, const char *name, double value)
{
    if (!strcmp(name, "count") && value == 0)
        ++*(int *)user;
}

/* A packet's class selects its band; `priority` is ignored for a program compiled before the field existed. */
static void classes(sojourn_host host)
{
    static const uint32_t sizes[2] = { sizeof(sojourn_packet), offsetof(sojourn_packet, priority) };
    int tokens[2] = { 0, 0 }, known, at;
    sojourn_packet packet, out;

    for (known = 0; known < 2; known++) {
        CHECK(0, sojourn_queue_create("prio", &host, &queue), "");
        memset(&packet, 0, sizeof packet);
        packet.size = sizes[known];
        packet.length = 1301;
        for (at = 0; at < 2; at++) {
            packet.handle = &tokens[at];
            packet.priority = at ? 0x10001 : 0;
            CHECK(SOJOURN_QUEUED, sojourn_queue_enqueue(queue, host.start, &packet), "");
        }
        for (at = 0; at < 2; at++) {
            memset(&out, 0, sizeof out);
            out.size = sizes[known];
            CHECK(SOJOURN_PACKET, sojourn_queue_dequeue(queue, host.start, &out, NULL), "");
            faults += out.handle != &tokens[known ? at : 1 - at];
            faults += out.priority != (!known && !at ? 0x10001 : 0);
        }
        sojourn_queue_free(queue);
    }
}

/* Unbounded nesting in a text must not overflow the stack. */
static void deep(sojourn_host host)
{
    static const char *const begins[] = { "tbf { ", "fq(", "prio { band 1 { ", "htb { class 1 rate 1mbit { ", "netem { " };
    static char text[100000];
    size_t kind, at, length;

    for (kind = 0; kind < sizeof begins / sizeof *begins; kind++) {
        length = strlen(begins[kind]);
        for (at = 0; at + length < sizeof text; at += length)
            memcpy(text + at, begins[kind], length);
        text[at] = 0;
        CHECK(SOJOURN_REFUSED, sojourn_queue_create(text, &host, &queue), "nested more than 64 deep");
    }
}

int main(void)
{
    int tokens[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, busy = 0, counts = 0;
    uint64_t packets = 99;
    uint32_t waiting;
    double value = -1;
    sojourn_time not_before = 0;
    unsigned char larger[sizeof(sojourn_packet) + 8];
    sojourn_packet packet, out;
    sojourn_host host;

    CHECK(SOJOURN_INVALID, sojourn_queue_create("codel", NULL, &queue), "host is null");
    memset(&host, 0, sizeof host);
    CHECK(SOJOURN_INVALID, sojourn_queue_create("codel", &host, &queue), "host.size: 0 is below");
    host.size = sizeof host;
    CHECK(SOJOURN_INVALID, sojourn_queue_create("codel", &host, &queue), "host.dropped is null");
    host.dropped = take_back;
    CHECK(SOJOURN_INVALID, sojourn_queue_create("codel", &host, &queue), "host.rate is 0");
    host.rate = 7340033;
    CHECK(SOJOURN_INVALID, sojourn_queue_create("codel", &host, NULL), "queue is null");
    CHECK(SOJOURN_INVALID, sojourn_queue_create(NULL, &host, &queue), "text is null");
    CHECK(SOJOURN_INVALID, sojourn_queue_create("codel\xff", &host, &queue), "is not UTF-8");
    CHECK(SOJOURN_REFUSED, sojourn_queue_create("coddle", &host, &queue), "did you mean \"codel\"?");
    CHECK(SOJOURN_REFUSED, sojourn_queue_create("codel target 5", &host, &queue), "has no unit");
    deep(host);
    host.limit_time = -1;
    CHECK(SOJOURN_INVALID, sojourn_queue_create("codel", &host, &queue), "host.limit_time");
    host.limit_time = 0;
    host.reserved = 1;
    CHECK(SOJOURN_INVALID, sojourn_queue_create("codel", &host, &queue), "host.reserved");
    host.reserved = 0;
    host.limit_packets = 3;
    host.start = 1700000000000000000;
    classes(host);
    CHECK(0, sojourn_queue_create("codel", &host, &queue), "");

    memset(&packet, 0, sizeof packet);
    packet.handle = &tokens[0];
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start, &packet), "packet.size: 0 is below");
    packet.size = sizeof packet;
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start, &packet), "packet.length");
    packet.length = 1301;
    packet.dscp = 64;
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start, &packet), "packet.dscp");
    packet.dscp = 46;
    packet.ecn = 4;
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start, &packet), "packet.ecn");
    packet.ecn = SOJOURN_ECT1;
    packet.reserved = 9;
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start, &packet), "packet.reserved");
    packet.reserved = 0;
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start - 1, &packet), "is before");
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start + 86400000000001, &packet), "set host.start");
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(NULL, host.start, &packet), "queue is null");
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start, NULL), "packet is null");
    packet.size = sizeof packet;
    packet.segments = 3;
    CHECK(SOJOURN_QUEUED, sojourn_queue_enqueue(queue, host.start + 13, &packet), "");
    CHECK(SOJOURN_INVALID, sojourn_queue_settle(queue, host.start + 12), "is before");

    packet.reserved_2 = 1;
    CHECK(SOJOURN_INVALID, sojourn_queue_enqueue(queue, host.start + 13, &packet), "packet.reserved");
    packet.reserved_2 = 0;

    /* A caller with a later version's struct. */
    memset(larger, 7, sizeof larger);
    memcpy(larger, &packet, sizeof packet);
    ((sojourn_packet *)larger)->size = sizeof larger;
    ((sojourn_packet *)larger)->handle = &tokens[1];
    CHECK(SOJOURN_QUEUED, sojourn_queue_enqueue(queue, host.start + 14, (sojourn_packet *)larger), "");
    packet.handle = &tokens[2];
    CHECK(SOJOURN_QUEUED, sojourn_queue_enqueue(queue, host.start + 14, &packet), "");
    packet.handle = &tokens[3];
    CHECK(SOJOURN_DROPPED, sojourn_queue_enqueue(queue, host.start + 14, &packet), "");

    memset(&out, 0, sizeof out);
    CHECK(SOJOURN_INVALID, sojourn_queue_dequeue(queue, host.start + 15, &out, &not_before), "packet.size");
    CHECK(SOJOURN_INVALID, sojourn_queue_dequeue(queue, host.start + 15, NULL, &not_before), "packet is null");
    out.size = sizeof out;
    CHECK(SOJOURN_PACKET, sojourn_queue_dequeue(queue, host.start + 15, &out, NULL), "");
    faults += out.handle != &tokens[0] || out.enqueued != host.start + 13 || out.segments != 3 || out.dscp != 46
        || out.ecn != SOJOURN_ECT1 || out.length != 1301;
    ((sojourn_packet *)larger)->size = sizeof larger;
    CHECK(SOJOURN_PACKET, sojourn_queue_dequeue(queue, host.start + 16, (sojourn_packet *)larger, NULL), "");
    faults += ((sojourn_packet *)larger)->handle != &tokens[1] || larger[sizeof larger - 1] != 7;

    CHECK(SOJOURN_UNKNOWN, sojourn_queue_statistic(queue, "arrived", &packets), "one of arrived_packets");
    CHECK(SOJOURN_INVALID, sojourn_queue_statistic(queue, NULL, &packets), "name is null");
    CHECK(SOJOURN_INVALID, sojourn_queue_statistic(queue, "arrived_packets", NULL), "value is null");
    CHECK(0, sojourn_queue_statistic(queue, "arrived_bytes", &packets), "");
    faults += packets != 4 * 1301;
    CHECK(SOJOURN_UNKNOWN, sojourn_queue_state(queue, "cuont", &value), "one of");
    CHECK(0, sojourn_queue_state(queue, "count", &value), "");
    faults += value != 0;
    CHECK(SOJOURN_INVALID, sojourn_queue_states(queue, NULL, &counts), "see is null");
    CHECK(0, sojourn_queue_states(queue, from_states, &counts), "");
    CHECK(SOJOURN_INVALID, sojourn_queue_statistics(queue, NULL, &busy), "see is null");
    CHECK(0, sojourn_queue_statistics(queue, from_statistics, &busy), "");
    faults += busy != SOJOURN_BUSY || counts != 1;
    CHECK(0, sojourn_queue_backlog(queue, &waiting, &packets), "");
    faults += waiting != 1 || packets != 1301;
    sojourn_queue_free(queue);
    sojourn_queue_free(NULL);
    faults += returned != 2 || reasons[SOJOURN_LIMIT] != 1 || reasons[SOJOURN_FREED] != 1;

    /* A host that calls the queue from within `dropped`. */
    host.user = &busy;
    host.limit_packets = 1;
    host.start = 0;
    CHECK(0, sojourn_queue_create("drophead", &host, &queue), "");
    packet.handle = &tokens[4];
    CHECK(SOJOURN_QUEUED, sojourn_queue_enqueue(queue, 0, &packet), "");
    packet.handle = &tokens[5];
    CHECK(SOJOURN_QUEUED, sojourn_queue_enqueue(queue, 0, &packet), "");
    CHECK(SOJOURN_EMPTY, sojourn_queue_pass(queue, 0, &packet), "");
    CHECK(SOJOURN_INVALID, sojourn_queue_pass(queue, 0, NULL), "packet is null");
    faults += inner != SOJOURN_BUSY || returned != 3 || tokens[4] != 0 || tokens[5] != 1;
    sojourn_queue_free(queue);

    faults += strcmp(sojourn_reason(3), "hard-limit") || strcmp(sojourn_reason(5), "unknown");
    faults += strcmp(sojourn_reason(SOJOURN_FREED), "freed") || strcmp(sojourn_reason(-1), "unknown");
    if (faults)
        fprintf(stderr, "%d faults\n", faults);
    return faults != 0;
}
