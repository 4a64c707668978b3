/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The SFrame tables of a process: who registers them, and when they go.
 */
#ifndef _LINUX_SFRAME_H
#define _LINUX_SFRAME_H

#include <linux/errno.h>
#include <linux/maple_tree.h>
#include <linux/mm_types.h>
#include <linux/rbtree_types.h>
#include <linux/types.h>

#include <uapi/linux/sframe.h>

struct row_cache;

/**
 * enum sframe_origin - how a table came to be registered
 * @SFRAME_PRCTL:      By the program.
 * @SFRAME_DISCOVERED: The kernel found it in an object that the program has mapped.
 *		       prctl() may replace it.
 */
enum sframe_origin {
	SFRAME_PRCTL,
	SFRAME_DISCOVERED,
};

/**
 * struct sframe_index - all tables of a process
 * @nr:		How many there are ...
 * @nr_in_place: ... and those of them that are read in place.
 * @seen:	mm->exec_vm when they were last looked for ...
 * @generation: ... and unwind_files_generation.
 * @by_text:	Text range to struct sframe_section; ranges do not overlap.
 * @by_data:	The sections by their own bytes; overlaps are fine.  Writers only.
 * @without:	Mappings that have been looked at and have no table.
 * @nr_without:	How many entries it has.  Writers only.
 * @rest_until:	In jiffies: when tables may be looked for again.
 * @missed:	A walk that may not fault has met a table that is not in memory.
 * @fetch_after: In jiffies: when tables may be brought into memory again.
 * @rows:	What walks have found, or NULL: see kernel/unwind/row_cache.c.
 *
 * Published in mm->sframe by sframe_get_index(), freed by __sframe_exit_mm().
 * Writers hold the mmap_lock for writing; see kernel/unwind/sframe.c.
 */
struct sframe_index {
	unsigned int		nr;
	unsigned int		nr_in_place;
	unsigned long		seen;
	unsigned int		generation;
	struct maple_tree	by_text;
	struct rb_root_cached	by_data;
	struct maple_tree	without;
	unsigned int		nr_without;
	unsigned long		rest_until;
	bool			missed;
	unsigned long		fetch_after;
	struct row_cache	*rows;
};

#ifdef CONFIG_UNWIND_USER_SFRAME

int sframe_prctl_add(unsigned long region, unsigned long size,
		     unsigned long flags);
int sframe_prctl_remove(unsigned long region, unsigned long size);

int __sframe_dup_mm(struct mm_struct *mm, struct mm_struct *oldmm);
void __sframe_unmap(struct mm_struct *mm, unsigned long start,
		    unsigned long end);
void __sframe_exit_mm(struct mm_struct *mm);

/* A new mm_struct starts as a copy of its parent's: it owns no tables yet. */
static inline void sframe_init_mm(struct mm_struct *mm)
{
	mm->sframe = NULL;
}

/**
 * sframe_dup_mm() - give a forked process its parent's tables
 * @mm: The child's, not yet visible to anybody else.
 * @oldmm: The parent's.
 *
 * Context: Process context, both mmap_locks held for writing.
 * Return: 0 or -ENOMEM; the tables go with @mm in both cases.
 */
static inline int sframe_dup_mm(struct mm_struct *mm, struct mm_struct *oldmm)
{
	return oldmm->sframe ? __sframe_dup_mm(mm, oldmm) : 0;
}

/**
 * sframe_unmap() - forget the tables whose text or data is about to go
 * @mm: The process.
 * @start: Start of the range ...
 * @end: ... and first address behind it.
 *
 * Call it before the range can be mapped anew, so that a table never speaks of
 * other code than its own.
 *
 * Context: Process context, @mm's mmap_lock held for writing.
 */
static inline void sframe_unmap(struct mm_struct *mm, unsigned long start,
				unsigned long end)
{
	if (unlikely(mm->sframe))
		__sframe_unmap(mm, start, end);
}

/**
 * sframe_exit_mm() - free all tables of a process that has no user left
 * @mm: The process.
 *
 * Context: Process context.  Only a task whose ->mm is @mm looks tables up, and
 * such a task holds ->mm_users, so nobody can be reading any more.
 */
static inline void sframe_exit_mm(struct mm_struct *mm)
{
	if (mm->sframe)
		__sframe_exit_mm(mm);
}

#else /* !CONFIG_UNWIND_USER_SFRAME */

static inline int sframe_prctl_add(unsigned long region, unsigned long size,
				   unsigned long flags)
{
	return -EINVAL;
}

static inline int sframe_prctl_remove(unsigned long region, unsigned long size)
{
	return -EINVAL;
}

static inline void sframe_init_mm(struct mm_struct *mm) { }
static inline void sframe_exit_mm(struct mm_struct *mm) { }

static inline int sframe_dup_mm(struct mm_struct *mm, struct mm_struct *oldmm)
{
	return 0;
}

static inline void sframe_unmap(struct mm_struct *mm, unsigned long start,
				unsigned long end)
{
}

#endif /* CONFIG_UNWIND_USER_SFRAME */

#endif /* _LINUX_SFRAME_H */
