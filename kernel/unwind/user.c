// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the current task's user stack.
 *
 * For each frame, the table that covers the frame's instruction has the rule for getting to
 * the caller.  Without a table, the walk recognises a signal trampoline by its code.  For
 * all other code it guesses the caller: see guess.c.
 *
 * An immediate walk runs in any context, NMI included and with locks held, and reads only
 * resident memory.  Other walks may sleep and fault memory in where a table's rule leads.
 * The task writes its own stack, so the content is hostile.  A walk ends nevertheless: the
 * stack pointer has to rise from frame to frame, except across signal frames and a few
 * switches of stacks, and the caller's buffer bounds the number of frames.
 */

#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include <asm/tlb.h>
#include <asm/unwind_user.h>

#include "look.h"
#include "stats.h"
#include "walk.h"

/* Maximum number of times that a deferred walk looks at files and begins again */
#define UNWIND_USER_LOOKS	4
/* Number of slow steps after which a walk no longer looks for plain and direct rows */
#define UNWIND_USER_SLOW	2

/*
 * Read the stack word at @from.  In a resident walk, page faults are disabled; where a register
 * that callees may have changed leads, too.
 */
int unwind_user_read_word(const struct unwind_user_walk *walk, u64 *value, unsigned long from)
{
	u32 narrow = 0;
	int ret;

	if (unlikely(walk->supposed))
		return unwind_read_resident(value, from, sizeof(*value)) ? 0 : -EFAULT;
	if (likely(walk->word == sizeof(u64)))
		return get_user(*value, (u64 __user *)from);
	ret = get_user(narrow, (u32 __user *)from);
	*value = narrow;
	return ret;
}

#ifdef CONFIG_UPROBES
static noinline unsigned long
unwind_user_probed_return(const struct uprobe_task *utask, unsigned long ip,
			  unsigned long slot)
{
	struct return_instance *ri;

	if (ip != uprobe_get_trampoline_vaddr())
		return ip;
	for (ri = utask->return_instances; ri; ri = ri->next)
		if (ri->stack == slot)
			return ri->orig_ret_vaddr;
	return ip;
}
#endif

/*
 * Get the original return address if a uretprobe has replaced the one at @slot with the
 * address of its trampoline.  The task's list of uretprobes has the original.
 */
unsigned long unwind_user_true_return(unsigned long ip, unsigned long slot)
{
#ifdef CONFIG_UPROBES
	if (unlikely(unwind_user_has_uretprobes()))
		return unwind_user_probed_return(current->utask, ip, slot);
#endif
	return ip;
}

/* Step to the frame at @ip, by other means than a frame pointer. */
void unwind_user_step(struct unwind_user_walk *walk, unsigned long ip, unsigned long sp,
		      unsigned long fp)
{
	walk->no_record = walk->no_record && fp == walk->fp;
	if (sp < walk->sp)
		walk->low = sp;
	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
	walk->by_fp = false;
	walk->exact = false;
	walk->own = false;
	walk->supposed = 0;
}

/*
 * Code that keeps its frame in a register while it calls relies on its callees to keep that.  The
 * walk does not know whether they have: the caller has to check what comes of it.
 */
static int unwind_user_get_register(struct unwind_user_walk *walk,
				    unsigned int reg, u64 *value)
{
	if (reg == SFRAME_BASE_SP) {
		*value = walk->sp;
		return 0;
	}
	if (reg == SFRAME_BASE_FP) {
		*value = walk->fp;
		return walk->fp_error;
	}
	if (reg >= SFRAME_BASE_CFA)
		return -ENODATA;
	if (!walk->own) {
		if (walk->switches || walk->scanned)
			return -ENODATA;
		walk->supposed |= BIT(reg);
	}
	if (walk->regs) {
		*value = arch_unwind_user_register(walk->regs, reg);
		return 0;
	}
	if (walk->sigframe)
		return unwind_user_read_word(walk, value,
					     walk->sigframe + arch_unwind_sigframe_register(reg));
	return -ENODATA;
}

/*
 * Compute a register of the caller.  Returns 0; -EFAULT if memory cannot be read; -ENODATA
 * if the value of the rule's base is not known in this frame.
 */
static int unwind_user_apply_rule(struct unwind_user_walk *walk,
				  const struct sframe_rule *rule,
				  unsigned long cfa, u64 *value)
{
	u64 base = cfa;
	int ret = 0;

	if (rule->base == SFRAME_BASE_SAME) {
		*value = walk->fp;
		return walk->fp_error;
	}
	if (rule->base != SFRAME_BASE_CFA)
		ret = unwind_user_get_register(walk, rule->base, &base);
	if (ret)
		return ret;
	*value = base + rule->offset;
	return rule->deref ? unwind_user_read_word(walk, value, *value) : 0;
}

#ifdef CONFIG_UPROBES
/*
 * The task is in the trampoline of uretprobes: the probed function has returned, and the
 * frame is its caller's.  Until the kernel has handled the return, the task's list has the
 * function's return address, by its slot on the stack.  The slot is at most as far above the
 * stack pointer as the registers that the trampoline has pushed.  The first such entry is
 * the right one, as the slots of its callers are further up.  Once the kernel has handled
 * the return, the original address is on the trampoline's stack.
 */
static noinline bool unwind_user_in_trampoline(struct unwind_user_walk *walk,
					       const struct uprobe_task *utask,
					       unsigned long offset)
{
	int on_stack = arch_unwind_uretprobe_slot(offset);
	unsigned long slot = walk->sp - walk->word;
	const struct return_instance *ri;
	u64 ip;

	for (ri = utask->return_instances; ri; ri = ri->next) {
		/* The trampoline has popped registers: the kernel has handled the return. */
		if (on_stack >= 0 && on_stack < ARCH_UNWIND_URETPROBE_PUSHED - walk->word)
			break;
		if (ri->stack - slot > ARCH_UNWIND_URETPROBE_PUSHED)
			continue;
		walk->ip = ri->orig_ret_vaddr;
		walk->sp = ri->stack + walk->word;
		return true;
	}
	if (on_stack < 0 || walk->word != 8)
		return true;
	slot = walk->sp + on_stack;
	if (unwind_user_read_word(walk, &ip, slot))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	walk->ip = ip;
	walk->sp = slot + walk->word;
	return true;
}
#endif

/*
 * If @walk is in the trampoline of uretprobes, go to the frame that the trampoline will
 * return to.  Call this where @walk->ip is exact: at the start of the walk and after a
 * signal frame.  Returns false, with @walk->end set, if memory cannot be read or has no
 * address of code.
 */
bool unwind_user_leave_trampoline(struct unwind_user_walk *walk)
{
#ifdef CONFIG_UPROBES
	const struct uprobe_task *utask = current->utask;
	unsigned long ip = walk->ip, offset;

	if (likely(!utask))
		return true;
	offset = ip - uprobe_get_trampoline_vaddr();
	if (likely(offset >= ARCH_UNWIND_URETPROBE_LEN))
		return true;
	if (!unwind_user_in_trampoline(walk, utask, offset))
		return false;
	if (!unwind_is_code(walk->code, walk->ip)) {
		walk->ip = ip;
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);
	}
#endif
	return true;
}

/*
 * Whether a row may lead to @cfa.  A stack pointer that rises keeps a hostile stack from
 * leading in a circle.  It need not rise where the innermost function has its return address
 * in a register, and @lower is set where it falls.
 */
static bool unwind_user_may_lead_to(const struct unwind_user_walk *walk,
				    const struct sframe_row *row, unsigned long cfa, bool *lower)
{
	/* A signal handler may run on another stack; the caller's buffer bounds these steps. */
	if (row->signal)
		return true;
	if (cfa >= TASK_SIZE_MAX || !IS_ALIGNED(cfa, walk->word))
		return false;
	if (cfa > walk->sp)
		return true;
	if (cfa == walk->sp)
		return !row->ra.deref && row->ra.base < SFRAME_BASE_CFA;
	*lower = true;
	return walk->switches < UNWIND_USER_SWITCHES;
}

/*
 * Whether a register that callees may have changed may lead to @cfa: further up, or to another
 * stack.  On this one, frames of calls that have ended have return addresses as well.
 */
static bool unwind_user_may_suppose(struct unwind_user_walk *walk,
				    const struct sframe_row *row, unsigned long cfa)
{
	if (row->signal)
		return false;
	return cfa > walk->sp || (unwind_user_find_stack(walk, walk->sp - walk->word) &&
				  !unwind_in_range(&walk->stack, cfa - walk->word));
}

/*
 * Whether the return address @ip that a row yields is one.  @check: look at its code.  Where the
 * row has used a register that callees may have changed, only a call is evidence enough.
 */
static bool unwind_user_is_return(struct unwind_user_walk *walk, unsigned long ip, bool check)
{
	unsigned long target;

	if (!ip)
		return false;
	if (walk->supposed)
		return unwind_call_before(walk->code, ip, &target) > UNWIND_CALL_UNKNOWN;
	if (check)
		return unwind_user_may_return(walk, ip);
	return sframe_is_at(&walk->tables, ip - 1) || unwind_is_code(walk->code, ip - 1) ||
	       unwind_is_code(walk->code, ip);
}

/*
 * Go to the caller by @row.  Returns 0; -ESRCH, with @walk->end set, if there is no caller;
 * -EINVAL if the stack contradicts @row, or if that has no unwind information and leads nowhere.
 */
static int unwind_user_apply(struct unwind_user_walk *walk, const struct sframe_row *row)
{
	bool ra_saved = row->ra.base == SFRAME_BASE_CFA && row->ra.deref;
	u64 cfa, ra, fp = 0;
	bool lower = false;
	u32 supposed;
	int ret;

	if (row->outermost) {
		unwind_user_stop(walk, UNWIND_USER_COMPLETE);
		return -ESRCH;
	}
	ret = unwind_user_apply_rule(walk, &row->cfa, 0, &cfa);
	if (!ret) {
		cfa += row->cfa_add;
		if (!unwind_user_may_lead_to(walk, row, cfa, &lower))
			return -EINVAL;
		ret = unwind_user_apply_rule(walk, &row->ra, cfa, &ra);
	}
	if (ret && (row->followed || walk->supposed))
		return -EINVAL;
	if (ret) {
		unwind_user_stop(walk, unwind_user_end_of(ret));
		return -ESRCH;
	}
	if (ra_saved)
		ra = unwind_user_true_return(ra, cfa + row->ra.offset);
	/*
	 * After a guess, check the next return addresses: a wrong one refutes the guess.
	 * Another stack needs good evidence as well, and so does a row without unwind
	 * information.
	 */
	supposed = walk->supposed;
	if (supposed && !unwind_user_may_suppose(walk, row, cfa))
		return -EINVAL;
	if (!row->signal &&
	    !unwind_user_is_return(walk, ra, unwind_user_has_to_check(walk) || lower ||
						 row->followed))
		return -EINVAL;
	walk->checked += walk->scanned && !row->signal;

	/*
	 * In epilogues that have restored the frame pointer already, compilers describe it
	 * wrongly.  So an error here does not end the walk: the frame pointer may not be
	 * needed.
	 */
	walk->fp_error = unwind_user_apply_rule(walk, &row->fp, cfa, &fp);
	/* The return address is no evidence for another register. */
	if (walk->supposed != supposed)
		walk->fp_error = -ENODATA;
	walk->fp_saved = row->fp.deref || (walk->fp_saved && row->fp.base == SFRAME_BASE_SAME);
	if (row->signal)
		return unwind_user_step_interrupted(walk, ra, cfa, fp) &&
		       (!walk->exact || unwind_user_leave_trampoline(walk)) ? 0 : -ESRCH;
	walk->switches += lower;
	unwind_user_step(walk, ra, cfa, fp);
	return 0;
}

/* Search for the table for @at, and remember its mapping of code if the search has found that. */
int unwind_user_search(struct unwind_user_walk *walk, unsigned long at)
{
	int ret = sframe_seek(&walk->tables, at);

	if (ret && unwind_in_range(&walk->tables.text, at) && !unwind_in_range(walk->code, at)) {
		walk->code[1] = walk->code[0];
		walk->code[0] = walk->tables.text;
	}
	return ret;
}

static noinline int unwind_user_seek_other(struct unwind_user_walk *walk, unsigned long at)
{
	int ret;

	if (unwind_user_find_bare(walk, at))
		return -ENXIO;
	ret = unwind_user_search(walk, at);
	if (ret == -ENXIO)
		unwind_user_add_bare(walk, at);
	return ret;
}

/* Find the table for @at, unless the walk knows that there is none.  Returns as sframe_seek(). */
static __always_inline int unwind_user_seek(struct unwind_user_walk *walk, unsigned long at)
{
	if (sframe_is_at(&walk->tables, at))
		return 0;
	if (sframe_is_in_gap(&walk->tables, at))
		return -ENXIO;
	if (sframe_recall(&walk->tables, at))
		return 0;
	return unwind_user_seek_other(walk, at);
}

static int unwind_user_get_row(struct unwind_user_walk *walk, unsigned long ip,
			       struct sframe_row *row)
{
	int ret = unwind_user_seek(walk, ip);

	return ret ?: sframe_row(&walk->tables, ip, row);
}

static int unwind_user_get_row_rcu(struct unwind_user_walk *walk, unsigned long ip,
				   struct sframe_row *row)
{
	guard(rcu)();
	sframe_forget(&walk->tables);
	return unwind_user_get_row(walk, ip, row);
}

/* Find the row for @ip.  Returns 0, or an error of sframe_seek() or sframe_row(). */
int unwind_user_find_row(struct unwind_user_walk *walk, unsigned long ip, struct sframe_row *row)
{
	return walk->resident ? unwind_user_get_row(walk, ip, row) :
				unwind_user_get_row_rcu(walk, ip, row);
}

/*
 * The stack contradicts @row, as hand-written code may have wrong rows.  The innermost frame's
 * caller can be guessed; the row of another frame has told the stack pointer that a guess would
 * need.  Where the row is not from unwind information, go on as without it.
 */
static noinline bool unwind_user_refuted(struct unwind_user_walk *walk,
					 const struct sframe_row *row)
{
	walk->no_table = false;
	if (row->followed)
		return unwind_user_is_sigreturn(walk) ? unwind_user_next_signal(walk) :
							unwind_user_guess(walk);
	return (unwind_user_is_innermost(walk) && unwind_user_guess(walk)) ||
	       unwind_user_stop(walk, walk->supposed ? UNWIND_USER_NO_REGISTER :
						       UNWIND_USER_CORRUPT);
}

/*
 * Code that keeps its frame in a register calls a function that saves it: the row of the call's
 * last byte leads by what is saved, that of its other bytes by the register.  What is below the
 * stack pointer of the innermost frame is not saved yet, or not any more.  Set @row accordingly.
 */
static void unwind_user_check_saved(struct unwind_user_walk *walk, struct sframe_row *row)
{
	struct sframe_row call;

	if (row->followed && row->cfa.base == SFRAME_BASE_SP && row->cfa.deref && !walk->exact &&
	    walk->sp + row->cfa.offset < walk->low &&
	    !unwind_user_find_row(walk, walk->ip - 2, &call))
		*row = call;
}

/* Go to the caller.  Returns false, with @walk->end set, if there is none. */
static bool unwind_user_next(struct unwind_user_walk *walk)
{
	struct sframe_row row;
	int ret = -ENXIO;

	/* Tables exist for 64-bit code only. */
	if (walk->word == 8)
		ret = unwind_user_find_row(walk, walk->exact ? walk->ip : walk->ip - 1, &row);
	walk->slow = ret || ((row.plain || row.direct) && walk->slow >= UNWIND_USER_SLOW) ?
		     0 : walk->slow + 1;
	if (!ret) {
		unwind_user_check_saved(walk, &row);
		ret = unwind_user_apply(walk, &row);
		if (ret != -EINVAL)
			return !ret;
		return unwind_user_refuted(walk, &row);
	}
	if (unwind_user_is_sigreturn(walk))
		return unwind_user_next_signal(walk);
	/* The tool that made the table could not describe this code: do not guess here. */
	if (ret == -ENODATA)
		return unwind_user_stop(walk, UNWIND_USER_NO_RULE);
	walk->no_table = ret != -ENOENT;
	return unwind_user_guess(walk);
}

/*
 * A task may single-step a copy of a probed instruction, in another mapping.  The instruction
 * pointer is then that of the copy; all other registers are as at the original.
 */
static unsigned long unwind_user_true_ip(unsigned long ip)
{
#ifdef CONFIG_UPROBES
	struct uprobe_task *utask = current->utask;

	if (unlikely(utask && utask->active_uprobe && utask->xol_vaddr == ip))
		return utask->vaddr;
#endif
	return ip;
}

/**
 * struct unwind_user_frame - what a walk by plain and direct rows needs
 * @ip:		Instruction pointer, as in struct unwind_user_walk.
 * @sp:		Stack pointer.
 * @fp:		Frame pointer register.
 * @found:	The table of its code.
 */
struct unwind_user_frame {
	unsigned long		ip;
	unsigned long		sp;
	unsigned long		fp;
	const struct sframe_found *found;
};

static __always_inline void unwind_user_set_frame(struct unwind_user_frame *frame,
						  unsigned long ip, unsigned long sp,
						  unsigned long fp)
{
	frame->ip = ip;
	frame->sp = sp;
	frame->fp = fp;
}

/* Read the word that @rule of a direct row leads to, at any address. */
static __always_inline bool unwind_user_direct_word(unsigned long *value,
						    const struct unwind_user_frame *frame,
						    const struct sframe_rule *rule,
						    unsigned long cfa, unsigned long limit)
{
	unsigned long from = rule->base == SFRAME_BASE_SP ? frame->sp :
			     rule->base == SFRAME_BASE_FP ? frame->fp : cfa;

	from += rule->offset;
	if (from >= limit)
		return false;
	unsafe_get_user(*value, (unsigned long __user *)array_index_nospec(from, limit), fault);
	return true;
fault:
	return false;
}

/* As unwind_user_row_caller(), by a direct row. */
static __always_inline bool unwind_user_direct_caller(struct unwind_user_frame *frame,
						      const struct sframe_row *row,
						      unsigned long limit)
{
	unsigned long cfa, fp = frame->fp, ip;

	if (!row->direct)
		return false;
	if (!row->cfa.deref)
		cfa = (row->cfa.base == SFRAME_BASE_FP ? fp : frame->sp) + row->cfa.offset;
	else if (!unwind_user_direct_word(&cfa, frame, &row->cfa, 0, limit))
		return false;
	cfa += row->cfa_add;
	if (cfa <= frame->sp || cfa >= limit || !IS_ALIGNED(cfa, sizeof(u64)) ||
	    !unwind_user_direct_word(&ip, frame, &row->ra, cfa, limit) ||
	    (row->fp.deref && !unwind_user_direct_word(&fp, frame, &row->fp, cfa, limit)))
		return false;
	unwind_user_set_frame(frame, ip, cfa, fp);
	return true;
}

/* As unwind_user_row_caller(), by a plain row: @slot counts if the frame pointer is @saved. */
static __always_inline bool unwind_user_plain_caller(struct unwind_user_frame *frame,
						     unsigned long cfa, bool saved, long slot,
						     unsigned long limit)
{
	unsigned long fp = frame->fp, ip;

	/* 0 if it is no user address, so that it does not rise; in speculation, too */
	cfa = array_index_nospec(cfa, limit);
	if (cfa <= frame->sp || !IS_ALIGNED(cfa, sizeof(u64)))
		return false;
	unsafe_get_user(ip, (unsigned long __user *)(cfa + ARCH_SFRAME_RA_OFFSET), fault);
	if (saved)
		unsafe_get_user(fp, (unsigned long __user *)(cfa + slot), fault);
	unwind_user_set_frame(frame, ip, cfa, fp);
	return true;
fault:
	return false;
}

/*
 * Go to the caller by what a row of the table of @from has as its @rule.  The caller of this
 * function has begun to access user memory, of which @limit is the end.  Returns false if
 * unwind_user_next() has to handle the frame.
 */
static __always_inline bool unwind_user_row_caller(struct unwind_user_frame *frame,
						   const struct unwind_user_frame *from, u32 rule,
						   unsigned long limit)
{
	const struct sframe_row *row;
	unsigned long base;

	if (likely(rule & UNWIND_ROW_PLAIN)) {
		base = rule & UNWIND_ROW_FP ? frame->fp : frame->sp;
		return unwind_user_plain_caller(frame, base + unwind_row_cfa(rule),
						rule & UNWIND_ROW_SLOT, unwind_row_saved(rule),
						limit);
	}
	/* Read here, as in the loop it would take a register that is seldom needed. */
	row = unwind_table_numbered(READ_ONCE(from->found)->table, rule);
	if (!row->plain)
		return unwind_user_direct_caller(frame, row, limit);
	base = row->cfa.base == SFRAME_BASE_FP ? frame->fp : frame->sp;
	return unwind_user_plain_caller(frame, base + row->cfa.offset, row->slot, row->slot, limit);
}

/*
 * Walk frames with plain and direct rows of one table, from @at in @from on, and store them to
 * @entry.  Returns where the first frame goes that is not that simple, or has another table; it is
 * in @from then.
 */
static noinline u64 *unwind_user_walk_table(struct unwind_user_frame *from, unsigned long at,
					    u64 *entry, u64 *const end)
{
	/* Memory that the compiler knows nobody else writes, and registers */
	const struct sframe_found found = *from->found;
	const struct unwind_table_row *rows = found.table->rows;
	const u32 *index = found.table->index, shift = found.table->shift;
	const unsigned long after = found.start + 1;
	unsigned long offset = at - found.start, limit = TASK_SIZE_MAX;
	struct unwind_user_frame frame = *from;
	u32 rule;

	/*
	 * Without X86_5LEVEL this is a constant.  array_index_nospec() would pass it to cmp, which
	 * takes no 64-bit immediate.
	 */
	OPTIMIZER_HIDE_VAR(limit);
	/*
	 * Once for all frames: the addresses are checked, and safe for speculation, one by one.  On
	 * x86, this opens all of user memory.
	 */
	if (!user_read_access_begin((void __user *)frame.sp, sizeof(u64)))
		return entry;
	while (entry < end) {
		/* 0 if it is not in the table, in speculation, too, or the first byte of that. */
		offset = array_index_nospec(offset, found.size);
		if (!offset)
			break;
		rule = unwind_table_rule(rows, index, shift, found.offset + offset);
		*entry = frame.ip;
		if (!unwind_user_row_caller(&frame, from, rule, limit))
			break;
		entry++;
		offset = frame.ip - after;
	}
	user_read_access_end();
	unwind_user_set_frame(from, frame.ip, frame.sp, frame.fp);
	return entry;
}

/*
 * Walk frames with plain rows, which are most of them, and direct ones, and store them to @trace.
 * Stop at the first frame that is not that simple: unwind_user_next() handles it and says why the
 * walk ends.
 */
static noinline void unwind_user_walk_rows(struct unwind_user_walk *walk,
					   struct unwind_user_trace *trace)
{
	struct unwind_user_frame frame = { walk->ip, walk->sp, walk->fp };
	u64 *entry = trace->entries + trace->nr, *before;
	u64 *const end = trace->entries + trace->max;
	unsigned long at = walk->ip - !walk->exact;

	if (walk->fp_error || unwind_user_has_to_check(walk) || walk->not_plain ||
	    walk->word != sizeof(u64) || unwind_user_has_uretprobes())
		return;
	do {
		if (unwind_user_seek(walk, at))
			break;
		frame.found = sframe_now(&walk->tables);
		before = entry;
		entry = unwind_user_walk_table(&frame, at, entry, end);
		if (entry > before)
			at = frame.ip - 1;
	} while (entry > before && entry < end && !sframe_is_at(&walk->tables, at));
	if (entry == trace->entries + trace->nr)
		return;
	/* The last row led to no code.  Walk again with checks, to end where it goes wrong. */
	if (!sframe_is_at(&walk->tables, at) && !unwind_is_code(walk->code, at) &&
	    !unwind_user_may_return(walk, frame.ip)) {
		walk->not_plain = true;
		return;
	}
	trace->nr = entry - trace->entries;
	walk->slow = 0;
	walk->fp_saved = walk->fp_saved || frame.fp != walk->fp;
	unwind_user_step(walk, frame.ip, frame.sp, frame.fp);
}

/*
 * Drop all frames from the first scanned one on if they did not lead to the outermost frame.
 * Then go on by frame pointers if the walk has ended early.  Returns false if it has not, or
 * if there are no more frames.
 */
static bool unwind_user_go_on(struct unwind_user_walk *walk, struct unwind_user_trace *trace)
{
	enum unwind_user_end end;

	if (walk->end == UNWIND_USER_COMPLETE)
		return false;
	if (walk->scanned) {
		/* The walk has spent time on the frames that it drops. */
		walk->cost += trace->nr - walk->certain.nr;
		trace->nr = walk->certain.nr;
		walk->sp = walk->certain.sp;
		walk->low = walk->certain.low;
		walk->fp = walk->certain.fp;
		walk->fp_error = walk->certain.fp_error;
		walk->fp_saved = walk->certain.fp_saved;
		walk->end = walk->certain.end;
		walk->scanned = false;
		if (walk->end == UNWIND_USER_COMPLETE)
			return false;
	}
	/* Report the first reason: it says what is missing. */
	end = walk->resumed ? walk->first_end : walk->end;
	walk->first_end = end;
	if (unwind_user_resume(walk, trace->max))
		return true;
	if (walk->end != UNWIND_USER_COMPLETE)
		walk->end = end;
	return false;
}

/* Walk the frames that are simple.  RCU is held, and page faults are disabled. */
static void unwind_user_walk_simple(struct unwind_user_walk *walk, struct unwind_user_trace *trace)
{
	/* Where other rows follow each other, to look for such a one costs more than it saves. */
	if (walk->slow < UNWIND_USER_SLOW)
		unwind_user_walk_rows(walk, trace);
	if (walk->by_fp)
		unwind_user_walk_records(walk, trace);
}

/* The same in a walk that may sleep: it leaves a frame that is not resident to a slow step. */
static void unwind_user_try_simple(struct unwind_user_walk *walk, struct unwind_user_trace *trace)
{
	guard(rcu)();
	sframe_forget(&walk->tables);
	pagefault_disable();
	unwind_user_walk_simple(walk, trace);
	pagefault_enable();
}

static void unwind_user_walk(struct unwind_user_walk *walk, struct unwind_user_trace *trace)
{
	if (!unwind_user_leave_trampoline(walk)) {
		/* Name at least the trampoline. */
		if (trace->max)
			trace->entries[trace->nr++] = walk->ip;
		if (!unwind_user_go_on(walk, trace))
			return;
	}
	while (trace->nr < trace->max) {
		if (walk->resident)
			unwind_user_walk_simple(walk, trace);
		else
			unwind_user_try_simple(walk, trace);
		if (trace->nr == trace->max)
			break;
		trace->entries[trace->nr++] = walk->ip;
		if (!walk->resident)
			cond_resched();
		if (!walk->scanned)
			walk->certain.nr = trace->nr;
		if (!unwind_user_next(walk) && !unwind_user_go_on(walk, trace))
			return;
	}
	walk->end = UNWIND_USER_FULL;
}

static void unwind_user_walk_resident(struct unwind_user_walk *walk,
				      struct unwind_user_trace *trace)
{
	/* During a task switch, the CPU may have another address space loaded. */
	if (!nmi_uaccess_okay()) {
		if (trace->max)
			trace->entries[trace->nr++] = walk->ip;
		walk->end = UNWIND_USER_FAULT;
		return;
	}

	guard(rcu)();
	walk->resident = true;
	pagefault_disable();
	unwind_user_walk(walk, trace);
	pagefault_enable();
}

/*
 * Walk the stack once, see unwind_user().  Returns the first instruction in a file that is not
 * known, or 0.
 */
static unsigned long unwind_user_once(struct unwind_user_trace *trace, struct pt_regs *regs,
				      enum unwind_user_access access)
{
	/* Not cleared in each sample */
	struct unwind_range bare[UNWIND_USER_BARE] __uninitialized;
	struct unwind_user_walk walk = {
		.ip = unwind_user_true_ip(instruction_pointer(regs)),
		.sp = user_stack_pointer(regs),
		.low = user_stack_pointer(regs),
		.fp = arch_unwind_user_register(regs, ARCH_SFRAME_FP),
		.exact = true,
		.word = arch_unwind_user_word(regs),
		.regs = regs,
		.own = true,
		.bare = bare,
		.leaf_fp = arch_unwind_user_register(regs, ARCH_SFRAME_FP),
	};

	trace->nr = 0;
	if (!current->mm || !walk.word)
		walk.end = UNWIND_USER_NO_STACK;
	else if (access == UNWIND_USER_RESIDENT)
		unwind_user_walk_resident(&walk, trace);
	else
		unwind_user_walk(&walk, trace);
	trace->end = walk.end;
	return walk.tables.look;
}

/* Walk again with the tables that were missing at @look, as long as that leads further. */
static void unwind_user_complete(struct unwind_user_trace *trace, struct pt_regs *regs,
				 unsigned long look)
{
	unsigned long last = 0;
	unsigned int i;

	for (i = 0; i < UNWIND_USER_LOOKS && look && look != last; i++) {
		last = look;
		unwind_look(look, &trace->wait);
		look = unwind_user_once(trace, regs, UNWIND_USER_DEFERRED);
	}
}

/**
 * unwind_user() - walk the current task's user stack
 * @trace: The caller sets @trace->entries, @trace->max and, for a deferred walk, @trace->wait;
 *	this function sets the rest.  Frames found before the walk ended early stay in @trace.
 * @regs: The task's user registers, as of its entry to the kernel or as the interrupt found
 *	them.
 * @access: How the walk may read user memory.
 *
 * If the walk meets a file that is not known, a deferred walk looks at it, waits for its table,
 * and begins again.  After any other walk, the task looks on its way back to user space.
 *
 * Context: Any with UNWIND_USER_RESIDENT, else process context, may sleep.
 */
void unwind_user(struct unwind_user_trace *trace, struct pt_regs *regs,
		 enum unwind_user_access access)
{
	unsigned long look;

	if (access != UNWIND_USER_RESIDENT)
		might_sleep();
	look = unwind_user_once(trace, regs, access);
	if (unlikely(look)) {
		if (access == UNWIND_USER_DEFERRED)
			unwind_user_complete(trace, regs, look);
		else
			unwind_look_later(look);
	}
	unwind_user_ended(trace, access);
}
