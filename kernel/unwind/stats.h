/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What walks and tables came to, counted: see stats.c.
 */
#ifndef _KERNEL_UNWIND_STATS_H
#define _KERNEL_UNWIND_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/unwind_user.h>

/* What happened to tables. */
enum unwind_table_count {
	UNWIND_TABLES_EXEC,		/* registered by exec, as enum sframe_origin */
	UNWIND_TABLES_PRCTL,
	UNWIND_TABLES_DISCOVERED,
	UNWIND_TABLES_REFUSED,		/* by whomever it was to be registered */
	UNWIND_TABLES_REMOVED,		/* by prctl(), or with their mapping */
	UNWIND_OBJECTS_WITHOUT,		/* looked at, and had none */
	UNWIND_NR_TABLE_COUNTS,
};

/**
 * struct unwind_stats - the counters of one CPU
 * @walks:	Ended, by way and reason.
 * @frames:	That they found, by way.
 * @tables:	By enum unwind_table_count.
 *
 * Anybody on that CPU adds, NMI included, with this_cpu operations alone.
 */
struct unwind_stats {
	u64	walks[UNWIND_USER_NR_ACCESSES][UNWIND_USER_NR_ENDS];
	u64	frames[UNWIND_USER_NR_ACCESSES];
	u64	tables[UNWIND_NR_TABLE_COUNTS];
};

DECLARE_PER_CPU(struct unwind_stats, unwind_stats);

static inline void unwind_count_table(enum unwind_table_count count)
{
	this_cpu_inc(unwind_stats.tables[count]);
}

void unwind_user_ended(const struct unwind_user_trace *trace,
		       enum unwind_user_access access);

#endif /* _KERNEL_UNWIND_STATS_H */
