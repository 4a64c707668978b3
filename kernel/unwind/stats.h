/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What walks and tables came to, counted: see stats.c.
 */
#ifndef _KERNEL_UNWIND_STATS_H
#define _KERNEL_UNWIND_STATS_H

#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/unwind_user.h>

/* What happened to tables, and to what walks found in them. */
enum unwind_counter {
	UNWIND_TABLES_PRCTL,		/* registered, as enum sframe_origin */
	UNWIND_TABLES_DISCOVERED,
	UNWIND_TABLES_REFUSED,		/* by whomever it was to be registered */
	UNWIND_TABLES_REMOVED,		/* by prctl(), or with their mapping */
	UNWIND_OBJECTS_WITHOUT,		/* looked at, and had none */
	UNWIND_FILES_LOADED,		/* their tables, by a worker */
	UNWIND_FILES_WITHOUT,		/* read, and had no table */
	UNWIND_FILES_REFUSED,		/* a table that is damaged, or could not be read */
	UNWIND_FILES_EVICTED,		/* tables taken away for their memory */
	UNWIND_CACHES_ALLOCATED,	/* row caches, of sizeof(struct row_cache) each */
	UNWIND_CACHES_FREED,		/* ... or soon, after a grace period */
	UNWIND_NR_COUNTERS,
};

/**
 * struct unwind_stats - the counters of one CPU
 * @walks:	Ended, by way and reason.
 * @frames:	That they found, by way.
 * @searched:	Those of them whose row was not in the row cache, by way.
 * @counters:	By enum unwind_counter.
 *
 * Anybody on that CPU adds, NMI included, with this_cpu operations alone.
 */
struct unwind_stats {
	u64	walks[UNWIND_USER_NR_ACCESSES][UNWIND_USER_NR_ENDS];
	u64	frames[UNWIND_USER_NR_ACCESSES];
	u64	searched[UNWIND_USER_NR_ACCESSES];
	u64	counters[UNWIND_NR_COUNTERS];
};

DECLARE_PER_CPU(struct unwind_stats, unwind_stats);

static inline void unwind_count(enum unwind_counter count)
{
	this_cpu_inc(unwind_stats.counters[count]);
}

struct dentry;

struct dentry *__init unwind_debugfs(void);
void unwind_user_ended(const struct unwind_user_trace *trace,
		       enum unwind_user_access access);

#endif /* _KERNEL_UNWIND_STATS_H */
