/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks over the current task's user space stack.
 */
#ifndef _LINUX_UNWIND_USER_H
#define _LINUX_UNWIND_USER_H

#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/types.h>

#ifdef CONFIG_UNWIND_USER_SFRAME
#include <linux/sframe.h>

extern unsigned int unwind_files_generation;
#endif

struct pt_regs;

/**
 * enum unwind_user_access - how a walk may read user memory
 * @UNWIND_USER_RESIDENT:  Only what is mapped now; any context, NMI included.
 * @UNWIND_USER_NOWAIT:	   Also maps what is in memory, but waits for no page to
 *			   be read; where sleeping is allowed.
 * @UNWIND_USER_FAULTABLE: May fault pages in; where sleeping is allowed.
 * @UNWIND_USER_DEFERRED: The same, on the way back to user space.
 */
enum unwind_user_access {
	UNWIND_USER_RESIDENT,
	UNWIND_USER_NOWAIT,
	UNWIND_USER_FAULTABLE,
	UNWIND_USER_DEFERRED,
	/* private: */
	UNWIND_USER_NR_ACCESSES,
};

/**
 * enum unwind_user_end - why a walk ended
 * @UNWIND_USER_COMPLETE: It reached the outermost frame.
 * @UNWIND_USER_FULL:	  The caller had room for no more frames.
 * @UNWIND_USER_NO_TABLE: No table speaks of the code, and it keeps no frame pointer.
 * @UNWIND_USER_NO_ROW:	  A table does, but has no row for it; nor is there a frame
 *			  pointer.
 * @UNWIND_USER_NO_RULE:  A table has the function, and says that it has no rule.
 * @UNWIND_USER_NO_REGISTER: A table's rule counts from a register that is known in
 *			  the innermost frame alone.
 * @UNWIND_USER_FAULT:	  Memory that was needed could not be read.
 * @UNWIND_USER_CORRUPT:  A table or the stack contradicts itself.
 * @UNWIND_USER_BUDGET:  It passed as many rows of tables as a walk may.
 * @UNWIND_USER_NO_STACK: A kernel thread, or a mode that is not walked (vm86).
 * @UNWIND_USER_NO_MEMORY: No memory for the entries.
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
	UNWIND_USER_BUDGET,
	UNWIND_USER_NO_STACK,
	UNWIND_USER_NO_MEMORY,
	/* private: */
	UNWIND_USER_NR_ENDS,
};

/**
 * struct unwind_user_trace - a user stack
 * @entries:	Instruction pointers, the innermost first; the caller's.
 * @max:	Room in @entries.
 * @nr:		How many are filled in.
 * @searched:	For how many of them a row was searched for in tables.
 * @end:	Why there are no more.
 */
struct unwind_user_trace {
	u64			*entries;
	unsigned int		max;
	unsigned int		nr;
	unsigned int		searched;
	enum unwind_user_end	end;
};

void unwind_user(struct unwind_user_trace *trace, struct pt_regs *regs,
		 enum unwind_user_access access);

void unwind_user_discover_later(void);

#ifdef CONFIG_UNWIND_USER_SFRAME
void unwind_user_mapped(struct vm_area_struct *vma);
#else
static inline void unwind_user_mapped(struct vm_area_struct *vma) { }
#endif

/**
 * unwind_user_has_tables() - whether the current task has tables of its code
 *
 * Without, unwind_user() finds no more than frame pointers tell.
 *
 * Context: Any task in any context, NMI included.  A task without an mm - a kernel
 * thread, or one that exits - has none, even where registers of user mode are at hand.
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
 * It has mapped or unmapped code since the kernel last looked for the tables of its
 * objects, or tables may have been made of what had none; see unwind_user_discover_later().
 *
 * Context: As unwind_user_has_tables(); false without an mm.
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
	       READ_ONCE(index->generation) != READ_ONCE(unwind_files_generation);
#else
	return false;
#endif
}

#endif /* _LINUX_UNWIND_USER_H */
