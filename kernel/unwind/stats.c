// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of walks and tables, and the tracepoint of walks.
 *
 * this_cpu additions increment the counters, so an NMI may interrupt one anywhere and add to
 * the same counter.  A read of unwind/stats in debugfs sums them up.  They are in debugfs
 * because people read them and no program may depend on them: /proc/vmstat is an ABI, and
 * tracefs may not be mounted.
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
 * unwind_user_ended() - count and trace a walk
 * @trace: The frames that the walk found, and why it ended.
 * @access: How the walk read user memory.
 *
 * Context: Any, NMI included.  A program on the tracepoint that takes a user stack calls this
 * function again.  The recursion ends because perf and BPF do not enter their handlers from
 * their own handlers.
 */
void unwind_user_ended(const struct unwind_user_trace *trace,
		       enum unwind_user_access access)
{
	this_cpu_inc(unwind_stats.walks[access][trace->end]);
	this_cpu_add(unwind_stats.frames[access], trace->nr);
	trace_unwind_user_walk(trace, access);
}

#ifdef CONFIG_DEBUG_FS

/* Use the same names as the tracepoint. */
#define EM(value, name)		\
	[value] = name,
#define EMe(value, name)	EM(value, name)

static const char * const unwind_way_names[] = { UNWIND_WAYS };
static const char * const unwind_end_names[] = { UNWIND_ENDS };
static const char * const unwind_counter_names[] = {
	[UNWIND_TABLES_PRCTL]	   = "tables_prctl",
	[UNWIND_TABLES_REFUSED]	   = "tables_refused",
	[UNWIND_TABLES_REMOVED]	   = "tables_removed",
	[UNWIND_FILES_KNOWN]	   = "files_known",
	[UNWIND_FILES_LOADED]	   = "files_loaded",
	[UNWIND_FILES_WITHOUT]	   = "files_without_table",
	[UNWIND_FILES_REFUSED]	   = "files_refused",
	[UNWIND_FILES_EVICTED]	   = "files_evicted",
};

static_assert(ARRAY_SIZE(unwind_way_names) == UNWIND_USER_NR_ACCESSES);
static_assert(ARRAY_SIZE(unwind_end_names) == UNWIND_USER_NR_ENDS);
static_assert(ARRAY_SIZE(unwind_counter_names) == UNWIND_NR_COUNTERS);

/* Sum of @counter over all CPUs, which may go on counting meanwhile. */
#define unwind_sum(counter)						\
({									\
	u64 sum_ = 0;							\
	int cpu_;							\
									\
	for_each_possible_cpu(cpu_)					\
		/* The counters change anyway while they are summed. */	\
		sum_ += data_race(per_cpu(unwind_stats, cpu_).counter);	\
	sum_;								\
})

/* Print a line for each counter: its name and its value since boot. */
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
	}
	for (i = 0; i < UNWIND_NR_COUNTERS; i++)
		seq_printf(file, "%s %llu\n", unwind_counter_names[i],
			   unwind_sum(counters[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(unwind_stats);

/**
 * unwind_debugfs() - get the directory "unwind" in debugfs
 *
 * The first call creates the directory.
 *
 * Context: Boot, late initcalls or later.
 * Return: The directory.
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
