/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the stress share. */
#ifndef _STRESS_H
#define _STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRESS_PAGE	4096ul

/* What happened, by all processes together; see stress_count(). */
enum stress_event {
	STRESS_DEEDS,
	STRESS_TABLES_TAKEN,
	STRESS_TABLES_REFUSED,
	STRESS_TABLES_REMOVED,
	STRESS_REMAPS,
	STRESS_FORKS,
	STRESS_VFORKS,
	STRESS_EXECS,
	STRESS_FORGED,
	STRESS_SIGNALS,
	STRESS_KILLS,
	STRESS_DIED,
	STRESS_EVENTS,
};

/**
 * struct stress_shared - in memory that all processes share
 * @stop:	The honest ones are to end.
 * @counts:	By enum stress_event.
 */
struct stress_shared {
	bool		stop;
	unsigned long	counts[STRESS_EVENTS];
};

extern struct stress_shared *stress_shared;

/* Counts for nobody in a process that exec has cut off. */
static inline void stress_count(enum stress_event event)
{
	if (stress_shared)
		__atomic_fetch_add(&stress_shared->counts[event], 1, __ATOMIC_RELAXED);
}

static inline bool stress_stopped(void)
{
	return stress_shared && __atomic_load_n(&stress_shared->stop, __ATOMIC_RELAXED);
}

/* xorshift64; @state is never 0. */
static inline uint64_t stress_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline unsigned int stress_below(uint64_t *state, unsigned int limit)
{
	return (stress_random(state) >> 16) % limit;
}

/*
 * Touch @page with the stack pointer at @stack and the frame pointer @fp, in code
 * whose row says that *@stack is the return address.
 */
void stress_forge(void *page, const uint64_t *stack, uint64_t fp);

/* Does harm until it is killed, or some thousand deeds long. */
void stress_hostile(uint64_t seed);

/* The argument that has the program call stress_hostile() with the next one. */
#define STRESS_HOSTILE "--hostile"

#endif /* _STRESS_H */
