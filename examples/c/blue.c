/* BLUE (W. Feng, D. Kandlur, D. Saha, K. Shin, University of Michigan CSE-TR-387-99, 1999, Figure 2) in a shared
 * library: a drop probability that is increased when the queue overflows and decreased when the link is idle.
 *
 *   cc -shared -fPIC -I include -o blue.so blue.c
 *   sojourn compare --aqm "codel,./blue.so increment 0.05 ecn"
 *
 * It includes the header and nothing else of Sojourn. */
#include <sojourn_aqm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A queued packet. */
struct waiting {
    struct waiting *next;
    sojourn_packet packet;
};

struct sojourn_queue {
    sojourn_host host;
    struct waiting *head, **tail;
    uint32_t packets;
    uint64_t bytes;
    uint64_t arrived, departed, dropped; /* packets */
    /* state of BLUE */
    double p;                      /* probability with which an arriving packet is dropped or marked */
    double increment, decrement;   /* d1, d2 */
    sojourn_time freeze_time;      /* minimum time between two changes of p */
    sojourn_time last_update;
    int has_updated, ecn;
};

static char message[160];

static const char *error(void)
{
    return message;
}

/* Uniform in [0, 1), by splitmix64 seeded with `host.random`. */
static double uniform(sojourn_queue *queue)
{
    uint64_t z = queue->host.random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static void update(sojourn_queue *queue, sojourn_time now, double change)
{
    if (queue->has_updated && now - queue->last_update <= queue->freeze_time)
        return;
    queue->p += change;
    queue->p = queue->p < 0 ? 0 : queue->p > 1 ? 1 : queue->p;
    queue->last_update = now;
    queue->has_updated = 1;
}

static int fits(const sojourn_queue *queue, uint32_t length)
{
    const sojourn_host *host = &queue->host;
    uint64_t bytes = queue->bytes + length;

    return (!host->limit_packets || queue->packets < host->limit_packets)
        && (!host->limit_bytes || bytes <= host->limit_bytes)
        && (!host->limit_time || (double)bytes * 8e9 <= (double)host->rate * (double)host->limit_time);
}

static int drop(sojourn_queue *queue, const sojourn_packet *packet, int reason)
{
    queue->dropped++;
    queue->host.dropped(queue->host.user, packet, reason);
    return SOJOURN_DROPPED;
}

static int blue_enqueue(sojourn_queue *queue, sojourn_time now, const sojourn_packet *offered)
{
    struct waiting *last;
    sojourn_packet packet = *offered;
    int marked = 0;

    queue->arrived++;
    packet.enqueued = now;
    if (!fits(queue, packet.length)) {
        update(queue, now, queue->increment);
        return drop(queue, &packet, SOJOURN_LIMIT);
    }
    if (uniform(queue) < queue->p) {
        if (!queue->ecn || packet.ecn == SOJOURN_NOT_ECT)
            return drop(queue, &packet, SOJOURN_EARLY);
        marked = packet.ecn != SOJOURN_CE;
        packet.ecn = SOJOURN_CE;
    }
    last = malloc(sizeof *last);
    if (!last)
        return drop(queue, &packet, SOJOURN_LIMIT);
    last->packet = packet;
    last->next = NULL;
    *queue->tail = last;
    queue->tail = &last->next;
    queue->packets++;
    queue->bytes += packet.length;
    return marked ? SOJOURN_MARKED : SOJOURN_QUEUED;
}

/* Removes the head. */
static sojourn_packet take(sojourn_queue *queue)
{
    struct waiting *head = queue->head;
    sojourn_packet packet = head->packet;

    queue->head = head->next;
    if (!queue->head)
        queue->tail = &queue->head;
    queue->packets--;
    queue->bytes -= packet.length;
    free(head);
    return packet;
}

static int blue_dequeue(sojourn_queue *queue, sojourn_time now, sojourn_packet *packet, sojourn_time *not_before)
{
    (void)not_before;
    if (!queue->head) {
        update(queue, now, -queue->decrement);
        return SOJOURN_EMPTY;
    }
    *packet = take(queue);
    queue->departed++;
    return SOJOURN_PACKET;
}

static int blue_backlog(const sojourn_queue *queue, uint32_t *packets, uint64_t *bytes)
{
    *packets = queue->packets;
    *bytes = queue->bytes;
    return 0;
}

static int blue_statistics(const sojourn_queue *queue, sojourn_see_statistic see, void *user)
{
    see(user, "arrived_packets", queue->arrived);
    see(user, "departed_packets", queue->departed);
    see(user, "dropped_packets", queue->dropped);
    return 0;
}

static int blue_states(const sojourn_queue *queue, sojourn_see_state see, void *user)
{
    see(user, "p", queue->p);
    return 0;
}

static void blue_free(sojourn_queue *queue)
{
    while (queue->head) {
        sojourn_packet packet = take(queue);

        queue->host.dropped(queue->host.user, &packet, SOJOURN_FREED);
    }
    free(queue);
}

/* Parses "freeze_time 100ms increment 0.02 decrement 0.002 ecn". */
static int read_text(sojourn_queue *queue, const char *text)
{
    char word[32], value[32], *end;
    int read;

    for (; sscanf(text, " %31s%n", word, &read) == 1; text += read) {
        double number;

        if (!strcmp(word, "ecn")) {
            queue->ecn = 1;
            continue;
        }
        text += read;
        if (sscanf(text, " %31s%n", value, &read) != 1) {
            snprintf(message, sizeof message, "%s lacks its value; write e.g. increment 0.02", word);
            return SOJOURN_REFUSED;
        }
        number = strtod(value, &end);
        if (!strcmp(word, "freeze_time") && end != value && !strcmp(end, "ms") && number >= 0 && number < 1e6)
            queue->freeze_time = (sojourn_time)(number * 1e6 + 0.5);
        else if (!strcmp(word, "increment") && end != value && !*end && number >= 0 && number <= 1)
            queue->increment = number;
        else if (!strcmp(word, "decrement") && end != value && !*end && number >= 0 && number <= 1)
            queue->decrement = number;
        else {
            snprintf(message, sizeof message, "\"%s %s\" is no parameter; one of freeze_time (in ms), increment, "
                "decrement (0 to 1), ecn", word, value);
            return SOJOURN_REFUSED;
        }
    }
    return 0;
}

static int blue_create(const char *text, const sojourn_host *host, sojourn_queue **made)
{
    sojourn_queue *queue = calloc(1, sizeof *queue);
    int result;

    if (!queue || host->size < sizeof *host) {
        snprintf(message, sizeof message, queue ? "made for a later version of sojourn_aqm.h" : "no memory");
        free(queue);
        return SOJOURN_INVALID;
    }
    queue->host = *host;
    queue->tail = &queue->head;
    queue->increment = 0.02;
    queue->decrement = 0.002;
    queue->freeze_time = 100000000;
    result = read_text(queue, text);
    if (result == 0)
        *made = queue;
    else
        free(queue);
    return result;
}

const sojourn_discipline sojourn_library = {
    .size = sizeof(sojourn_discipline),
    .abi = SOJOURN_AQM_ABI,
    .order = SOJOURN_FIFO,
    .name = "blue",
    .summary = "BLUE: a drop probability steered by overflows and idle times",
    .source = "W. Feng et al., University of Michigan CSE-TR-387-99, 1999",
    .create = blue_create,
    .free = blue_free,
    .enqueue = blue_enqueue,
    .dequeue = blue_dequeue,
    .backlog = blue_backlog,
    .statistics = blue_statistics,
    .states = blue_states,
    .error = error,
};
