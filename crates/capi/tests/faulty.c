/* A FIFO queue in a shared library, with the one fault that its text names. */
#include <sojourn_aqm.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

struct sojourn_queue {
    sojourn_host host;
    sojourn_packet waiting[MOST], last;
    uint32_t n;
    char fault[24];
};

static int is(const sojourn_queue *queue, const char *fault)
{
    return !strcmp(queue->fault, fault);
}

static jmp_buf earlier;

/* Uses a page of the stack per step; compilers cannot turn it into a loop. */
static uint32_t recurse(uint32_t depth)
{
    volatile char page[4096];

    page[depth % sizeof page] = (char)depth;
    return depth == UINT32_MAX ? 0 : recurse(depth + 1) + page[depth % sizeof page];
}

static int create(const char *text, const sojourn_host *host, sojourn_queue **queue)
{
    if (!strcmp(text, "refuses"))
        return SOJOURN_REFUSED;
    if (!strcmp(text, "nothing"))
        return 0;
    *queue = calloc(1, sizeof **queue);
    (*queue)->host = *host;
    strncpy((*queue)->fault, text, sizeof (*queue)->fault - 1);
    if (is(*queue, "jumps"))
        (void)setjmp(earlier);
    return 0;
}

static void give(sojourn_queue *queue, const sojourn_packet *packet, int reason)
{
    queue->host.dropped(queue->host.user, packet, reason);
}

static void release(sojourn_queue *queue)
{
    while (queue->n-- > (is(queue, "keeps at the end") ? 1u : 0u))
        give(queue, &queue->waiting[queue->n], is(queue, "frees as late") ? SOJOURN_LATE : SOJOURN_FREED);
    free(queue);
}

static int fits(const sojourn_queue *queue, uint32_t length)
{
    const sojourn_host *host = &queue->host;
    uint64_t bytes = length;
    uint32_t i;

    for (i = 0; i < queue->n; i++)
        bytes += queue->waiting[i].length;
    return queue->n < MOST && (!host->limit_packets || queue->n < host->limit_packets)
        && (!host->limit_bytes || bytes <= host->limit_bytes)
        && (!host->limit_time || (double)bytes * 8e9 <= (double)host->rate * (double)host->limit_time);
}

static int enqueue(sojourn_queue *queue, sojourn_time now, const sojourn_packet *offered)
{
    sojourn_packet packet = *offered;

    packet.enqueued = now;
    if (is(queue, "crashes"))
        *(volatile int *)16 = 1;
    if (is(queue, "aborts"))
        abort();
    if (is(queue, "exits"))
        exit(0);
    if (is(queue, "recurses"))
        return (int)recurse(1);
    if (is(queue, "jumps"))
        longjmp(earlier, 1);
    if (is(queue, "ends the thread"))
        pthread_exit(NULL);
    while (is(queue, "hangs"))
        ;
    if (is(queue, "errs"))
        return SOJOURN_PANICKED;
    if (is(queue, "says 7"))
        return 7;
    if (is(queue, "says dropped"))
        return SOJOURN_DROPPED;
    if (!fits(queue, packet.length)) {
        give(queue, &packet, is(queue, "reason 9") ? 9 : SOJOURN_LIMIT);
        return is(queue, "says queued") ? SOJOURN_QUEUED : SOJOURN_DROPPED;
    }
    if (is(queue, "marks"))
        packet.ecn = SOJOURN_CE;
    if (is(queue, "changes ecn"))
        packet.ecn = SOJOURN_ECT1;
    queue->waiting[queue->n++] = packet;
    return is(queue, "says marked") ? SOJOURN_MARKED : SOJOURN_QUEUED;
}

static int dequeue(sojourn_queue *queue, sojourn_time now, sojourn_packet *packet, sojourn_time *not_before)
{
    if (is(queue, "twice") && queue->last.size) {
        *packet = queue->last;
        return SOJOURN_PACKET;
    }
    if (is(queue, "in the past") && queue->n) {
        *not_before = now;
        return SOJOURN_NOT_BEFORE;
    }
    if (is(queue, "waits for nothing") && !queue->n) {
        *not_before = now + 1;
        return SOJOURN_NOT_BEFORE;
    }
    if (!queue->n || (is(queue, "keeps") && queue->n == 1))
        return SOJOURN_EMPTY;
    queue->last = *packet = queue->waiting[is(queue, "last first") ? queue->n - 1 : 0];
    queue->n--;
    if (!is(queue, "last first"))
        memmove(queue->waiting, queue->waiting + 1, queue->n * sizeof *queue->waiting);
    if (is(queue, "wrong handle"))
        packet->handle = (char *)packet->handle + 40;
    if (is(queue, "wrong length"))
        packet->length++;
    if (is(queue, "both ways"))
        give(queue, packet, SOJOURN_LATE);
    return SOJOURN_PACKET;
}

static int backlog(const sojourn_queue *queue, uint32_t *packets, uint64_t *bytes)
{
    uint32_t i;

    for (i = 0, *bytes = 0; i < queue->n; i++)
        *bytes += queue->waiting[i].length;
    *packets = queue->n + (is(queue, "wrong backlog") && queue->n == 2);
    return 0;
}

static int statistics(const sojourn_queue *queue, sojourn_see_statistic see, void *user)
{
    if (is(queue, "wrong statistics"))
        see(user, "arrived_bytes", 11);
    see(user, "of_its_own", 12);
    return 0;
}

const sojourn_discipline sojourn_library = { .size = sizeof(sojourn_discipline), .abi = SOJOURN_AQM_ABI,
    .name = "faulty", .create = create, .free = release, .enqueue = enqueue, .dequeue = dequeue, .backlog = backlog,
    .statistics = statistics };
