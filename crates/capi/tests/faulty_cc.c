/* Reno in a shared library, with the one fault that its text names; STEERS selects the other face. */
#include <sojourn_cc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#ifndef FUTURE
#define FUTURE 0
#endif

struct control {
    char fault[24];
    uint32_t calls;
};

static jmp_buf earlier;

/* Uses a page of the stack per step; compilers cannot turn it into a loop. */
static uint32_t recurse(uint32_t depth)
{
    volatile char page[4096];

    page[depth % sizeof page] = (char)depth;
    return depth == UINT32_MAX ? 0 : recurse(depth + 1) + page[depth % sizeof page];
}

static int is(const struct control *control, const char *fault)
{
    return !strcmp(control->fault, fault);
}

static int create(const char *parameters, const sojourn_cc_host *host, void **state)
{
    struct control *control;

    if (!strcmp(parameters, "refuses"))
        return -2;
    /* States that only check the parameters have this stream. */
    if (!strcmp(parameters, "refuses later") && host->random != 1)
        return -2;
    control = calloc(1, sizeof *control);
    strncpy(control->fault, parameters, sizeof control->fault - 1);
    if (is(control, "jumps"))
        (void)setjmp(earlier);
    *state = control;
    return 0;
}

static void release(void *state)
{
    if (is(state, "crashes at the end") && ((struct control *)state)->calls)
        *(volatile int *)16 = 1;
    free(state);
}

static const char *error(void)
{
    return "wants another\nparameter";
}

/* The faults that end the program, and those of the window. */
static void fail(struct control *control, sojourn_cc_flight *flight)
{
    if (control->calls++ < 50)
        return;
    if (is(control, "crashes"))
        *(volatile int *)16 = 1;
    if (is(control, "divides"))
        raise(SIGFPE); /* what a division by zero raises on most processors */
    if (is(control, "aborts"))
        abort();
    if (is(control, "exits"))
        exit(0);
    if (is(control, "recurses"))
        flight->cwnd += recurse(1);
    if (is(control, "jumps"))
        longjmp(earlier, 1);
    if (is(control, "ends the thread"))
        pthread_exit(NULL);
    if (is(control, "cwnd 0"))
        flight->cwnd = 0;
    if (is(control, "cwnd in bytes"))
        flight->cwnd = 1u << 31;
    if (is(control, "ssthresh 0"))
        flight->ssthresh = 0;
    if (is(control, "no rate"))
        flight->pacing_rate = 0;
    if (is(control, "paces"))
        flight->pacing_rate = 1000000;
    if (is(control, "larger segments"))
        flight->mss += 1;
    /* Fields of the host: changes have no effect. */
    if (is(control, "harmless")) {
        flight->in_flight = flight->state = flight->packets_out = 77;
        flight->now = flight->srtt = -5;
        flight->una = flight->nxt = flight->delivered = 0;
    }
}

#ifndef STEERS
static uint32_t ssthresh(void *state, sojourn_cc_flight *flight, int cause)
{
    (void)cause;
    if (is(state, "window in ssthresh"))
        flight->cwnd = 3;
    if (is(state, "ssthresh too large"))
        return 1u << 31;
    return flight->cwnd > 4 ? flight->cwnd / 2 : 2;
}

static void grow(void *state, sojourn_cc_flight *flight, const sojourn_cc_ack *ack)
{
    flight->cwnd_cnt += ack->packets;
    if (flight->cwnd < flight->ssthresh || flight->cwnd_cnt >= flight->cwnd) {
        flight->cwnd_cnt = 0;
        flight->cwnd += 1;
    }
    fail(state, flight);
}

#endif

static uint32_t undo(void *state, sojourn_cc_flight *flight)
{
    (void)state;
    return 2 * flight->ssthresh;
}

#ifdef STEERS
static void ack(void *state, sojourn_cc_flight *flight, const sojourn_cc_sample *sample)
{
    (void)sample;
    flight->cwnd = 20;
    flight->pacing_rate = 4000000;
    fail(state, flight);
}
#endif

const sojourn_cc_library sojourn_cc = {
    .size = sizeof(sojourn_cc_library),
    .abi = SOJOURN_CC_ABI + FUTURE,
    .name = "faulty",
    .create = create,
    .free = release,
    .error = error,
#ifdef STEERS
    .face = SOJOURN_CC_STEER,
    .needs = SOJOURN_CC_PACES,
    .ack = ack,
#else
    .ssthresh = ssthresh,
    .grow = grow,
#endif
    .undo = undo,
};
