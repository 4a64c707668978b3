/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The unwind tables of a process: registration by prctl(), fork, munmap and exit.
 */
#ifndef _LINUX_SFRAME_H
#define _LINUX_SFRAME_H

#include <linux/errno.h>
#include <linux/maple_tree.h>
#include <linux/mm_types.h>
#include <linux/types.h>

#include <uapi/linux/sframe.h>

/**
 * struct sframe_registry - the tables that a process has registered
 * @nr:		Number of entries in @by_text.
 * @by_text:	Maps a text range to its table.  Ranges do not overlap.
 *
 * The first registration publishes the index in mm->sframe, __sframe_exit_mm() frees it.
 * Writers hold the mmap_lock for writing; see kernel/unwind/sframe.c.
 */
struct sframe_registry {
	unsigned int		nr;
	struct maple_tree	by_text;
};

#ifdef CONFIG_UNWIND_USER_SFRAME

int sframe_prctl_add(unsigned long region, unsigned long size,
		     unsigned long flags);
int sframe_prctl_remove(unsigned long region, unsigned long size);

int __sframe_dup_mm(struct mm_struct *mm, struct mm_struct *oldmm);
void __sframe_unmap(struct mm_struct *mm, unsigned long start,
		    unsigned long end);
void __sframe_exit_mm(struct mm_struct *mm);

/* fork() copies the parent's mm_struct, but the child must not own the parent's tables. */
static inline void sframe_init_mm(struct mm_struct *mm)
{
	mm->sframe = NULL;
}

/**
 * sframe_dup_mm() - give a forked process its parent's tables
 * @mm: The child's mm, which no other task can see yet.
 * @oldmm: The parent's mm.
 *
 * Context: Process context, both mmap_locks held for writing.
 * Return: 0, or -ENOMEM.  On failure, too, sframe_exit_mm() frees the tables of @mm.
 */
static inline int sframe_dup_mm(struct mm_struct *mm, struct mm_struct *oldmm)
{
	return oldmm->sframe ? __sframe_dup_mm(mm, oldmm) : 0;
}

/**
 * sframe_unmap() - remove the tables of text that is about to be unmapped
 * @mm: The process.
 * @start: First address of the range.
 * @end: First address after the range.
 *
 * Call this before the range can be mapped again.  Otherwise a table would cover code that
 * it does not describe.
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
 * sframe_exit_mm() - free all tables of an mm that has no users left
 * @mm: The mm.
 *
 * Context: Process context.  Only tasks whose ->mm is @mm look up its tables, and each of
 * them holds a reference in ->mm_users.  So no reader is left.
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
