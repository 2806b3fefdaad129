/* The program that runs as the guest's only process: what its parts share. */
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

/* Ends the run: the reason goes to the console, which the host shows. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The monotonic clock, ns. */
uint64_t now(void);

/* Memory that is there and zero. */
void *get_memory(size_t bytes);

FILE *open_file(const char *name, const char *mode);

/* Tells the host how far the run is, from 0 to 1; costs nothing where little has changed. */
void report_progress(double share);

/* Sleeps until the monotonic clock is there. */
void sleep_until(uint64_t at);

/* Moves the process into a network namespace by name. */
void enter_namespace(const char *name);

/* Whoever sleeps until a deadline wakes up at it. */
void be_punctual(void);

/* `run FILE OUT`: the traffic of a scenario. */
void run_traffic(const char *file, const char *out);

/* `replay DEVICE ARRIVALS OUT END`: scripted packets through a device's queue discipline, which has sent all at END ns. */
void replay(const char *device, const char *arrivals, const char *out, uint64_t end);

/* `qdisc DEVICE PARENT HANDLE KIND [NUMBER:BYTES:VALUE]...`: adds a queue discipline with options by their numbers. */
void add_qdisc(char **words);

#endif
