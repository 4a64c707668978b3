/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of walks and tables: see stats.c.
 */
#ifndef _KERNEL_UNWIND_STATS_H
#define _KERNEL_UNWIND_STATS_H

#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/unwind_user.h>

/* Counters of events that happen to tables */
enum unwind_counter {
	UNWIND_TABLES_PRCTL,		/* registered by prctl() */
	UNWIND_TABLES_REFUSED,		/* by prctl() */
	UNWIND_TABLES_REMOVED,		/* by prctl(), or with their mapping */
	UNWIND_FILES_KNOWN,		/* files that became known */
	UNWIND_FILES_LOADED,		/* tables of files whose rows were loaded */
	UNWIND_FILES_WITHOUT,		/* files that became known and have no table */
	UNWIND_FILES_REFUSED,		/* tables of files that are damaged, or have no room */
	UNWIND_FILES_EVICTED,		/* tables of files whose rows were evicted */
	UNWIND_NR_COUNTERS,
};

/**
 * struct unwind_stats - the counters of one CPU
 * @walks:	Number of walks, by access and by why they ended.
 * @frames:	Number of frames that walks found, by access.
 * @counters:	Indexed by enum unwind_counter.
 *
 * Only this CPU writes them, in any context including NMI, with this_cpu operations.
 */
struct unwind_stats {
	u64	walks[UNWIND_USER_NR_ACCESSES][UNWIND_USER_NR_ENDS];
	u64	frames[UNWIND_USER_NR_ACCESSES];
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
