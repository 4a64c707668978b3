/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tables of files, shared by all who have them mapped: see file.c.
 */
#ifndef _KERNEL_UNWIND_FILE_H
#define _KERNEL_UNWIND_FILE_H

#include <linux/gfp_types.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "table.h"

struct file;
struct unwind_file;

/*
 * For what is charged to a process because somebody else profiles it.  Where its
 * memory cgroup is full, stacks are short: nothing is killed for them.
 */
#define UNWIND_GFP_PROFILED	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct unwind_segment - a stretch of code and its table
 * @users:	Its file, and each mapping in each process.
 * @table:	Or NULL: it has been evicted.  Readers are under RCU.
 * @used:	When it was last read, in jiffies.
 * @rcu:	Defers freeing until no reader is left.
 */
struct unwind_segment {
	refcount_t			users;
	struct unwind_table __rcu	*table;
	unsigned long			used;
	struct rcu_head			rcu;
};

struct unwind_segment *unwind_segment_build(const struct unwind_table_source *source, gfp_t gfp);
struct unwind_segment *unwind_segment_get(struct unwind_segment *segment);
void unwind_segment_put(struct unwind_segment *segment);

/**
 * unwind_segment_find() - find the row that holds at an instruction
 * @segment: The code.
 * @offset: Of the instruction in it.
 * @row: Set to the row.
 *
 * Context: Any, NMI included; under RCU, and @row is valid as long.
 * Return: As unwind_table_find(); -EAGAIN where the table has been evicted.
 */
static __always_inline int unwind_segment_find(struct unwind_segment *segment, u64 offset,
					       const struct sframe_row **row)
{
	const struct unwind_table *table = rcu_dereference(segment->table);
	unsigned long now = jiffies;

	if (unlikely(!table))
		return -EAGAIN;
	/* Its cache line is shared. */
	if (unlikely(READ_ONCE(segment->used) != now))
		WRITE_ONCE(segment->used, now);
	return unwind_table_find(table, offset, row);
}

/**
 * struct unwind_part - a segment of a file
 * @offset:	Of its first byte in the file.
 * @size:	Its bytes there.
 * @segment:	Or NULL: the file's table does not speak of it.
 */
struct unwind_part {
	u64			offset;
	u64			size;
	struct unwind_segment	*segment;
};

void unwind_files_look_again(void);
int unwind_file_read(struct file *file, void *to, u64 from, u64 len);
struct unwind_file *unwind_file_get(struct file *file);
struct unwind_file *unwind_file_get_image(const void *image, size_t size);
void unwind_file_put(struct unwind_file *uf);
int unwind_file_state(const struct unwind_file *uf);
int unwind_file_wait(struct unwind_file *uf, long *left);
void unwind_file_done(struct unwind_file *uf);
int unwind_file_find(struct unwind_file *uf, u64 offset, struct unwind_part *part);

#endif /* _KERNEL_UNWIND_FILE_H */
