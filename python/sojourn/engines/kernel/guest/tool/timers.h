/* Deadlines of the traffic. */
#ifndef TIMERS_H
#define TIMERS_H
#include "guest.h"

/* Calls a function at an instant of the monotonic clock. */
void set_deadline(uint64_t at, void (*call)(void *), void *with);

/* The earliest deadline; UINT64_MAX if there is none. */
uint64_t next_deadline(void);

/* Calls what the earliest deadline is for; there is one. */
void meet_deadline(void);

#endif
