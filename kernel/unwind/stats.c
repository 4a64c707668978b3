// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of walks and tables, and the tracepoints of both.
 *
 * The counters are this_cpu additions, which an NMI may interrupt anywhere and add
 * to as well; they are summed up when somebody reads debugfs' unwind/stats.  That is
 * where numbers belong which people read and no program depends on: /proc/vmstat
 * is an ABI, and tracefs may not be there.
 */

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/seq_file.h>

#include "stats.h"

#define CREATE_TRACE_POINTS
#include <trace/events/unwind.h>

DEFINE_PER_CPU(struct unwind_stats, unwind_stats);

/**
 * unwind_user_ended() - count a walk, and trace it
 * @trace: What it found, and why it ended.
 * @access: How it was made.
 *
 * Context: Any, NMI included.  Whoever takes a user stack in the tracepoint comes
 * back here; perf and BPF refuse to be entered again from their own handlers, which
 * ends that.
 */
void unwind_user_ended(const struct unwind_user_trace *trace,
		       enum unwind_user_access access)
{
	this_cpu_inc(unwind_stats.walks[access][trace->end]);
	this_cpu_add(unwind_stats.frames[access], trace->nr);
	this_cpu_add(unwind_stats.searched[access], trace->searched);
	trace_unwind_user_walk(trace, access);
}

#ifdef CONFIG_DEBUG_FS

/* The names are the tracepoint's. */
#define EM(value, name)		\
	[value] = name,
#define EMe(value, name)	EM(value, name)

static const char * const unwind_way_names[] = { UNWIND_WAYS };
static const char * const unwind_end_names[] = { UNWIND_ENDS };
static const char * const unwind_counter_names[] = {
	[UNWIND_TABLES_PRCTL]	   = "tables_prctl",
	[UNWIND_TABLES_DISCOVERED] = "tables_discovered",
	[UNWIND_TABLES_REFUSED]	   = "tables_refused",
	[UNWIND_TABLES_REMOVED]	   = "tables_removed",
	[UNWIND_OBJECTS_WITHOUT]   = "objects_without_table",
	[UNWIND_FILES_LOADED]	   = "files_loaded",
	[UNWIND_FILES_WITHOUT]	   = "files_without_table",
	[UNWIND_FILES_REFUSED]	   = "files_refused",
	[UNWIND_FILES_EVICTED]	   = "files_evicted",
	[UNWIND_CACHES_ALLOCATED]  = "row_caches_allocated",
	[UNWIND_CACHES_FREED]	   = "row_caches_freed",
};

static_assert(ARRAY_SIZE(unwind_way_names) == UNWIND_USER_NR_ACCESSES);
static_assert(ARRAY_SIZE(unwind_end_names) == UNWIND_USER_NR_ENDS);
static_assert(ARRAY_SIZE(unwind_counter_names) == UNWIND_NR_COUNTERS);

/* @counter of all CPUs; they go on counting meanwhile. */
#define unwind_sum(counter)						\
({									\
	u64 sum_ = 0;							\
	int cpu_;							\
									\
	for_each_possible_cpu(cpu_)					\
		/* A sum of what changes is out of date in any case. */	\
		sum_ += data_race(per_cpu(unwind_stats, cpu_).counter);	\
	sum_;								\
})

/* A line for each counter: its name and the number since boot. */
static int unwind_stats_show(struct seq_file *file, void *unused)
{
	unsigned int way, i;

	for (way = 0; way < UNWIND_USER_NR_ACCESSES; way++) {
		for (i = 0; i < UNWIND_USER_NR_ENDS; i++)
			seq_printf(file, "walks_%s_%s %llu\n",
				   unwind_way_names[way], unwind_end_names[i],
				   unwind_sum(walks[way][i]));
		seq_printf(file, "frames_%s %llu\n", unwind_way_names[way],
			   unwind_sum(frames[way]));
		seq_printf(file, "searched_%s %llu\n", unwind_way_names[way],
			   unwind_sum(searched[way]));
	}
	for (i = 0; i < UNWIND_NR_COUNTERS; i++)
		seq_printf(file, "%s %llu\n", unwind_counter_names[i],
			   unwind_sum(counters[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(unwind_stats);

/**
 * unwind_debugfs() - the unwinder's directory in debugfs
 *
 * Context: At boot.
 */
struct dentry *__init unwind_debugfs(void)
{
	static struct dentry *dir;

	if (!dir)
		dir = debugfs_create_dir("unwind", NULL);
	return dir;
}

static int __init unwind_stats_init(void)
{
	debugfs_create_file("stats", 0400, unwind_debugfs(), NULL, &unwind_stats_fops);
	return 0;
}
late_initcall(unwind_stats_init);

#endif /* CONFIG_DEBUG_FS */
