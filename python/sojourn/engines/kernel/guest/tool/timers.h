/* Timers of the traffic. */
#ifndef TIMERS_H
#define TIMERS_H
#include "guest.h"

/* Call a function when the monotonic clock reads `at`. */
void set_deadline(uint64_t at, void (*callback)(void *), void *argument);

/* Earliest deadline; UINT64_MAX if there is none. */
uint64_t next_deadline(void);

/* Remove the earliest deadline and call its function. There must be one. */
void run_deadline(void);

#endif
