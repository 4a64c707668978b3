/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the current task's user stack.
 */
#ifndef _LINUX_UNWIND_USER_H
#define _LINUX_UNWIND_USER_H

#include <linux/jiffies.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/types.h>

struct pt_regs;

#ifdef CONFIG_UNWIND_USER_SFRAME
extern bool unwind_tables_in_use;
DECLARE_PER_CPU(unsigned long, unwind_look_time);

void __unwind_user_look_later(struct pt_regs *regs);
#endif

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
 * @UNWIND_USER_NO_REGISTER: The rule needs a register that the functions which the frame
 *			  has called have changed, or that is not known above a signal frame.
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
 * @wait:	Maximum time in jiffies that a deferred walk waits for tables; set to what is left.
 * @nr:		Number of entries in @entries.
 * @end:	Why the walk ended.
 */
struct unwind_user_trace {
	u64			*entries;
	unsigned int		max;
	long			wait;
	unsigned int		nr;
	enum unwind_user_end	end;
};

void unwind_user(struct unwind_user_trace *trace, struct pt_regs *regs,
		 enum unwind_user_access access);

/**
 * unwind_user_look_later() - have the current task look on its way back to user space
 * @regs: The task's user registers.
 *
 * Call this where unwind_user_has_tables() is false, for the samples to come.  The task looks
 * if the file of the innermost frame is not known.  One sample in a jiffy is enough to find
 * that out.
 *
 * Context: Any task, in any context, NMI included.
 */
static inline void unwind_user_look_later(struct pt_regs *regs)
{
#ifdef CONFIG_UNWIND_USER_SFRAME
	unsigned long now = jiffies;

	if (unlikely(this_cpu_read(unwind_look_time) != now))
		__unwind_user_look_later(regs);
#endif
}

/**
 * unwind_user_has_tables() - whether the current task may have tables of its code
 *
 * Without tables, unwind_user() relies on frame pointers, signal frames and guesses.  Call
 * unwind_user_look_later() then.
 *
 * Context: Any task, any context, NMI included.
 * Return: true if the task has registered tables, or if tables of files are loaded.  A task
 * without an mm has none: a kernel thread, or an exiting task that may still have user
 * registers.
 */
static inline bool unwind_user_has_tables(void)
{
#ifdef CONFIG_UNWIND_USER_SFRAME
	const struct mm_struct *mm = current->mm;

	return mm && (READ_ONCE(unwind_tables_in_use) || READ_ONCE(mm->sframe));
#else
	return false;
#endif
}

#endif /* _LINUX_UNWIND_USER_H */
