/* SPDX-License-Identifier: GPL-2.0 */
/* Definitions that the parts of the stress test share. */
#ifndef _STRESS_H
#define _STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRESS_PAGE	4096ul

/* Events counted over all processes, see stress_count(). */
enum stress_event {
	STRESS_DEEDS,
	STRESS_TABLES_TAKEN,
	STRESS_TABLES_REFUSED,
	STRESS_TABLES_REMOVED,
	STRESS_REMAPS,
	STRESS_FILES_MAPPED,
	STRESS_FILES_WRITTEN,
	STRESS_FILES_REPLACED,
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
 * struct stress_shared - memory that all processes share
 * @stop:	Set to end the honest processes.
 * @counts:	Counters by enum stress_event.
 */
struct stress_shared {
	bool		stop;
	unsigned long	counts[STRESS_EVENTS];
};

extern struct stress_shared *stress_shared;

/* Count an event.  Does nothing in a process that lost the shared memory by exec. */
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
 * Touch @page with the stack pointer @stack and the frame pointer @fp, in code whose row
 * locates the return address at *@stack.
 */
void stress_forge(void *page, const uint64_t *stack, uint64_t fp);

/* Files "0", "1", ... in a directory on overlayfs, first copies of the program. */
#define STRESS_FILES	8

/* Append the running program to @to.  Returns 0, or -1. */
int stress_copy_program(int to);

/*
 * Misbehave until killed, or for some thousand deeds.  @dir has the files that all hostile
 * processes map, write and replace.
 */
void stress_hostile(uint64_t seed, const char *dir);

/* Argument that makes the program call stress_hostile() with the next two. */
#define STRESS_HOSTILE "--hostile"

#endif /* _STRESS_H */
