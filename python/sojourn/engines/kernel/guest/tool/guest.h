/* Shared declarations of the guest's init, its only process. */
#ifndef GUEST_H
#define GUEST_H

#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ull

/* Abort the run with a message on the console, which the host prints. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* CLOCK_MONOTONIC in ns. */
uint64_t now(void);

/* Allocate zeroed memory; fails the run if there is none. */
void *zalloc(size_t bytes);

FILE *open_file(const char *name, const char *mode);

/* Report the run's progress, 0 to 1, to the host; does nothing if it grew by less than 1 %. */
void report_progress(double share);

/* Sleep until the monotonic clock reads `at`. */
void sleep_until(uint64_t at);

/* Enter a network namespace; "-" is the first one. */
void enter_namespace(const char *name);

/* Use SCHED_FIFO, which has no timer slack: sleeps end at their deadline. */
void set_realtime_priority(void);

/* `run FILE OUT`: run the traffic of a scenario. */
void run_traffic(const char *file, const char *out);

/* `replay DEVICE ARRIVALS OUT END`: send scripted packets to a device's queue discipline, which is empty at END ns. */
void replay(const char *device, const char *arrivals, const char *out, uint64_t end);

/* `qdisc DEVICE PARENT HANDLE KIND [NUMBER:BYTES:VALUE]...`: add a queue discipline with options by their numbers. */
void add_qdisc(char **words);

#endif
