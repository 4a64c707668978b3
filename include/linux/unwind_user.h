/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the current task's user stack.
 */
#ifndef _LINUX_UNWIND_USER_H
#define _LINUX_UNWIND_USER_H

#include <linux/atomic.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/types.h>

#ifdef CONFIG_UNWIND_USER_SFRAME
#include <linux/sframe.h>

extern atomic_t unwind_tables_generation;
#endif

struct pt_regs;

/**
 * enum unwind_user_access - how a walk may read user memory
 * @UNWIND_USER_RESIDENT:  An immediate walk: it reads resident pages only.  Any context,
 *			   NMI included.
 * @UNWIND_USER_FAULTABLE: The walk may fault pages in.  The caller may sleep.
 * @UNWIND_USER_DEFERRED:  As UNWIND_USER_FAULTABLE, for a deferred walk.
 */
enum unwind_user_access {
	UNWIND_USER_RESIDENT,
	UNWIND_USER_FAULTABLE,
	UNWIND_USER_DEFERRED,
	/* private: */
	UNWIND_USER_NR_ACCESSES,
};

/**
 * enum unwind_user_end - why a walk ended
 * @UNWIND_USER_COMPLETE: The walk reached the outermost frame.
 * @UNWIND_USER_FULL:	  The caller has no room for more frames.
 * @UNWIND_USER_NO_TABLE: No table covers the code, and the code keeps no frame pointer.
 * @UNWIND_USER_NO_ROW:	  A table covers the code but has no row for the instruction, and
 *			  the code keeps no frame pointer.
 * @UNWIND_USER_NO_RULE:  A table describes the function but has no rule for the
 *			  instruction.
 * @UNWIND_USER_NO_REGISTER: The rule needs a register whose value is known only in the
 *			  innermost frame.
 * @UNWIND_USER_FAULT:	  The walk could not read memory that it needed.
 * @UNWIND_USER_CORRUPT:  The stack contradicts the table.
 * @UNWIND_USER_NO_STACK: The task is a kernel thread or has no mm, or the CPU was in a mode
 *			  that is not walked (vm86).
 * @UNWIND_USER_NO_MEMORY: There was no memory for the entries.
 */
enum unwind_user_end {
	UNWIND_USER_COMPLETE,
	UNWIND_USER_FULL,
	UNWIND_USER_NO_TABLE,
	UNWIND_USER_NO_ROW,
	UNWIND_USER_NO_RULE,
	UNWIND_USER_NO_REGISTER,
	UNWIND_USER_FAULT,
	UNWIND_USER_CORRUPT,
	UNWIND_USER_NO_STACK,
	UNWIND_USER_NO_MEMORY,
	/* private: */
	UNWIND_USER_NR_ENDS,
};

/**
 * struct unwind_user_trace - a user stack
 * @entries:	Instruction pointers, innermost frame first.  The caller owns the array.
 * @max:	Number of entries that @entries has room for.
 * @nr:		Number of entries in @entries.
 * @end:	Why the walk ended.
 */
struct unwind_user_trace {
	u64			*entries;
	unsigned int		max;
	unsigned int		nr;
	enum unwind_user_end	end;
};

void unwind_user(struct unwind_user_trace *trace, struct pt_regs *regs,
		 enum unwind_user_access access);

#if defined(CONFIG_UNWIND_USER_SFRAME) && defined(CONFIG_UNWIND_DEFERRED)
void unwind_user_discover_later(void);
#else
static inline void unwind_user_discover_later(void) { }
#endif

#ifdef CONFIG_UNWIND_USER_SFRAME
void unwind_user_mapped(struct vm_area_struct *vma);
#else
static inline void unwind_user_mapped(struct vm_area_struct *vma) { }
#endif

/**
 * unwind_user_has_tables() - whether the current task has tables of its code
 *
 * Without tables, unwind_user() relies on frame pointers, signal frames and guesses.
 *
 * Context: Any task, any context, NMI included.
 * Return: true if the task has tables.  A task without an mm has none: a kernel thread, or
 * an exiting task that may still have user registers.
 */
static inline bool unwind_user_has_tables(void)
{
#ifdef CONFIG_UNWIND_USER_SFRAME
	const struct mm_struct *mm = current->mm;
	const struct sframe_index *index = mm ? READ_ONCE(mm->sframe) : NULL;

	return index && READ_ONCE(index->nr);
#else
	return false;
#endif
}

/**
 * unwind_user_is_unseen() - whether the current task may have tables unknown so far
 *
 * Discovery is needed after the task maps or unmaps code.  It is also needed after
 * unwind_tables_generation changes, as objects without a table may have one now.  See
 * unwind_user_discover_later().
 *
 * Context: Any task, any context, NMI included.
 * Return: true if discovery is needed; false for a task without an mm.
 */
static inline bool unwind_user_is_unseen(void)
{
#ifdef CONFIG_UNWIND_USER_SFRAME
	const struct mm_struct *mm = current->mm;
	const struct sframe_index *index;

	if (!mm)
		return false;
	index = READ_ONCE(mm->sframe);
	return !index || READ_ONCE(index->seen) != READ_ONCE(mm->exec_vm) ||
	       READ_ONCE(index->generation) != atomic_read(&unwind_tables_generation);
#else
	return false;
#endif
}

#endif /* _LINUX_UNWIND_USER_H */
