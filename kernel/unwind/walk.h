/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a walk of the current task's user stack, for user.c and guess.c.
 */
#ifndef _KERNEL_UNWIND_WALK_H
#define _KERNEL_UNWIND_WALK_H

#include <linux/sched.h>
#include <linux/types.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include "call.h"
#include "sframe.h"

/* Maximum number of steps of a walk that lower the stack pointer */
#define UNWIND_USER_SWITCHES	8
/* Number of steps by rows after a scan whose return addresses the walk checks */
#define UNWIND_USER_CHECKED	16
/* Number of ranges of code without tables that a walk remembers */
#define UNWIND_USER_BARE	16

/**
 * struct unwind_user_walk - the state of a walk
 * @ip:		Instruction pointer of the frame, see @exact.
 * @sp:		Stack pointer of the frame.
 * @low:	Stack pointer of the innermost frame that the walk has found on this stack.
 * @fp:		The frame pointer register, whatever the function uses it for.
 * @fp_error:	0 if @fp is known, else the error of unwind_user_apply_rule().  The walk can
 *		go on without @fp as long as the rules are based on the stack pointer.
 * @fp_saved:	A function has saved @fp on the stack.  Else the register may hold anything.
 * @no_record:	@fp does not point to a frame record.
 * @by_fp:	The walk got to the frame by a frame pointer.
 * @exact:	@ip is the frame's next instruction.  This holds for the innermost frame and
 *		for one that a signal interrupted.  Else @ip is a return address, and the
 *		frame's current instruction is the call before it.
 * @word:	Size of a stack word in bytes.
 * @regs:	The user registers of the innermost frame; NULL once the walk has passed a signal.
 * @sigframe:	Address of the saved registers (see ARCH_UNWIND_SIGFRAME_IP) of the last frame
 *		that a signal interrupted, else 0.
 * @own:	The registers at @regs or @sigframe are those of this frame, not of one that it
 *		has called.
 * @supposed:	The registers, a bit each, that the last row took from there nevertheless.
 * @resident:	The walk holds RCU and has page faults disabled.
 * @not_plain:	A row led to no code, so check each step.
 * @slow:	Number of steps by rows since unwind_user_walk_rows() has stored a frame, or
 *		since a plain or direct row showed that it is worth trying again.
 * @tables:	The tables of the last frames' code.  Their content is valid under RCU.
 * @code:	The mapping of code that contained the address that was checked last, and the one
 *		before.
 * @bare:	The last UNWIND_USER_BARE ranges of code without tables that the walk has met, each
 *		in a mapping of code.
 * @met_bare:	Number of ranges that were put there, one after the other.
 * @stack:	The mapping that contained the stack pointer when that was needed last.
 * @no_table:	No table covers the frame that was looked up last.
 * @switches:	Number of steps that lowered the stack pointer, except across signal frames.
 * @scanned:	A scan has found a caller.  All frames from that one on are guesses.
 * @checked:	Number of steps by rows since the last scan, see UNWIND_USER_CHECKED.
 * @cost:	What guesses have cost, in reads, see UNWIND_USER_MAX_COST.
 * @passed:	Number of frame records that unwind_user_resume() has passed over.
 * @certain:	The walk as it was before the first scan that found a caller.
 * @doubted:	A frame record that a scan was preferred to, or 0.
 * @leaf_fp:	The frame pointer register of the innermost frame.
 * @resumed:	Number of times that the walk went on with @leaf_fp's chain.
 * @resumed_at:	Record with which it last did.
 * @first_end:	Why the walk would have ended without that; valid if @resumed is not 0.
 * @end:	Why the walk ended; valid once it has.
 */
struct unwind_user_walk {
	unsigned long		ip;
	unsigned long		sp;
	unsigned long		low;
	unsigned long		fp;
	int			fp_error;
	bool			fp_saved;
	bool			no_record;
	bool			by_fp;
	bool			exact;
	u8			word;
	const struct pt_regs	*regs;
	unsigned long		sigframe;
	bool			own;
	u32			supposed;
	bool			resident;
	bool			not_plain;
	unsigned int		slow;
	struct sframe_cursor	tables;
	struct unwind_range	code[2];
	struct unwind_range	*bare;
	unsigned int		met_bare;
	struct unwind_range	stack;
	bool			no_table;
	u8			switches;
	bool			scanned;
	unsigned int		checked;
	unsigned int		cost;
	unsigned int		passed;
	struct {
		unsigned int		nr;
		unsigned long		sp;
		unsigned long		low;
		unsigned long		fp;
		int			fp_error;
		bool			fp_saved;
		enum unwind_user_end	end;
	} certain;
	unsigned long		doubted;
	unsigned long		leaf_fp;
	u8			resumed;
	unsigned long		resumed_at;
	enum unwind_user_end	first_end;
	enum unwind_user_end	end;
};

static inline bool unwind_user_stop(struct unwind_user_walk *walk, enum unwind_user_end end)
{
	walk->end = end;
	return false;
}

/* Why the walk ends after this error of unwind_user_apply_rule(). */
static inline enum unwind_user_end unwind_user_end_of(int error)
{
	return error == -EFAULT ? UNWIND_USER_FAULT : UNWIND_USER_NO_REGISTER;
}

/* Whether the walk has to check the next return address, as a scan may have been wrong. */
static inline bool unwind_user_has_to_check(const struct unwind_user_walk *walk)
{
	return walk->scanned && walk->checked < UNWIND_USER_CHECKED;
}

static inline bool unwind_user_is_innermost(const struct unwind_user_walk *walk)
{
	return walk->regs && walk->own;
}

/* Set @walk->stack to the mapping of @sp.  Returns false, with none set, if there is none. */
static inline bool unwind_user_find_stack(struct unwind_user_walk *walk, unsigned long sp)
{
	return unwind_in_range(&walk->stack, sp) || unwind_find_mapping(&walk->stack, sp, false);
}

/* Whether a uretprobe has replaced a return address on the task's stack. */
static __always_inline bool unwind_user_has_uretprobes(void)
{
#ifdef CONFIG_UPROBES
	const struct uprobe_task *utask = current->utask;

	return utask && utask->return_instances;
#else
	return false;
#endif
}

/* user.c */
int unwind_user_read_word(const struct unwind_user_walk *walk, u64 *value, unsigned long from);
unsigned long unwind_user_true_return(unsigned long ip, unsigned long slot);
void unwind_user_step(struct unwind_user_walk *walk, unsigned long ip, unsigned long sp,
		      unsigned long fp);
bool unwind_user_leave_trampoline(struct unwind_user_walk *walk);
int unwind_user_search(struct unwind_user_walk *walk, unsigned long at);
int unwind_user_find_row(struct unwind_user_walk *walk, unsigned long ip, struct sframe_row *row);

/* guess.c */
const struct unwind_range *unwind_user_find_bare(const struct unwind_user_walk *walk,
						 unsigned long at);
const struct unwind_range *unwind_user_add_bare(struct unwind_user_walk *walk, unsigned long at);
bool unwind_user_guess(struct unwind_user_walk *walk);
bool unwind_user_may_return(struct unwind_user_walk *walk, unsigned long ip);
bool unwind_user_next_signal(struct unwind_user_walk *walk);
bool unwind_user_step_interrupted(struct unwind_user_walk *walk, unsigned long ip,
				  unsigned long sp, unsigned long fp);
bool unwind_user_is_sigreturn(struct unwind_user_walk *walk);
bool unwind_user_resume(struct unwind_user_walk *walk, unsigned int max);
void unwind_user_walk_records(struct unwind_user_walk *walk, struct unwind_user_trace *trace);

#endif /* _KERNEL_UNWIND_WALK_H */
