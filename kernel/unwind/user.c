// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the current task's user space stack.
 *
 * For each frame, the rule for getting to its caller comes from the SFrame
 * table that covers the instruction; where there is none, a signal trampoline
 * is recognised by its code, and all else is taken to keep a frame pointer.
 *
 * Runs in any context: in NMI and with locks held on the memory that is
 * resident, elsewhere faulting in what is not.  Stack and tables are the task's
 * own and may hold anything: the stack pointer has to rise from frame to frame
 * but for signal frames, the caller's buffer bounds the frames, and a budget
 * bounds the bytes of tables that are read.
 */

#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include <asm/tlbflush.h>
#include <asm/unwind_user.h>

#include "row_cache.h"
#include "sframe.h"
#include "stats.h"
#include "user.h"

/*
 * Rows that one walk may pass in search of its own, which have to be passed one by
 * one.  Where others wait, in NMI above all, a hostile table must not hold them up.
 */
#define UNWIND_USER_BUDGET_FAULTABLE	SZ_128K
#define UNWIND_USER_BUDGET_RESIDENT	SZ_32K

/**
 * struct unwind_user_walk - where a walk stands
 * @ip:		The frame's instruction: see @exact.
 * @sp:		Its stack pointer.
 * @fp:		Its frame pointer register, whatever it is used for.
 * @fp_error:	Why @fp is not known: 0, or as unwind_user_apply_rule().  Rules of
 *		the stack pointer can do without.
 * @exact:	@ip is the next instruction of the frame, as it is for the
 *		innermost one and one that a signal interrupted; else it is a
 *		return address, and the frame is in the call before it.
 * @word:	Size of a stack word.
 * @regs:	The user registers, while the frame is the innermost; then NULL.
 * @sigframe:	Where the frame's registers are in memory (see
 *		ARCH_UNWIND_SIGFRAME_IP), where a signal interrupted it; else 0.
 * @reader:	Reads user memory in the way that this context allows.
 * @rcu:	The walk is under RCU, with page faults disabled, and has @tables.
 * @tables:	Rows found before, and where to search for others.
 * @searched:	Frames whose row was searched for.
 * @table_fault: A table was needed that is not in memory.
 * @no_table:	None speaks of the frame that was last looked up.
 * @end:	Valid when the walk has ended.
 */
struct unwind_user_walk {
	unsigned long		ip;
	unsigned long		sp;
	unsigned long		fp;
	int			fp_error;
	bool			exact;
	u8			word;
	const struct pt_regs	*regs;
	unsigned long		sigframe;
	struct sframe_reader	reader;
	bool			rcu;
	struct sframe_cursor	tables;
	unsigned int		searched;
	bool			table_fault;
	bool			no_table;
	enum unwind_user_end	end;
};

/*
 * Reads are of some words: a copy for all sizes takes longer to begin than this to
 * end.  In NMI, only behind nmi_uaccess_okay().
 */
int unwind_user_read_resident(void *to, u64 from, size_t len)
{
	const void __user *at = (const void __user *)from;
	int ret = -EFAULT;
	u64 eight;
	u32 four;
	u8 one;

	pagefault_disable();
	if (!user_read_access_begin(at, len))
		goto out;
	for (; len >= sizeof(eight); len -= sizeof(eight)) {
		unsafe_get_user(eight, (const u64 __user *)at, end);
		put_unaligned(eight, (u64 *)to);
		at += sizeof(eight);
		to += sizeof(eight);
	}
	if (len >= sizeof(four)) {
		unsafe_get_user(four, (const u32 __user *)at, end);
		put_unaligned(four, (u32 *)to);
		at += sizeof(four);
		to += sizeof(four);
		len -= sizeof(four);
	}
	for (; len; len--) {
		unsafe_get_user(one, (const u8 __user *)at++, end);
		*(u8 *)to++ = one;
	}
	ret = 0;
end:
	user_read_access_end();
out:
	pagefault_enable();
	return ret;
}

/*
 * Map the pages of [start, end) that are in memory.  After fork() that may be
 * any page of a file: page tables are filled on demand.
 */
static void unwind_user_map(unsigned long start, unsigned long end)
{
	struct mm_struct *mm = current->mm;

	if (end > TASK_SIZE_MAX || !mmap_read_trylock(mm))
		return;
	start = PAGE_ALIGN_DOWN(start);
	get_user_pages(start, (PAGE_ALIGN(end) - start) >> PAGE_SHIFT,
		       FOLL_NOWAIT, NULL);
	mmap_read_unlock(mm);
}

int unwind_user_read_nowait(void *to, u64 from, size_t len)
{
	if (!unwind_user_read_resident(to, from, len))
		return 0;
	unwind_user_map(from, from + len);
	return unwind_user_read_resident(to, from, len);
}

int unwind_user_read_faultable(void *to, u64 from, size_t len)
{
	return copy_from_user(to, (void __user *)from, len) ? -EFAULT : 0;
}

static int unwind_user_read(struct unwind_user_walk *walk, void *to,
			    unsigned long from, size_t len)
{
	return walk->reader.read(to, from, len);
}

/* Read @nr stack words at @from, widened to 64 bits. */
static int unwind_user_read_words(struct unwind_user_walk *walk, u64 *words,
				  unsigned long from, unsigned int nr)
{
	u32 narrow[2];
	int ret;

	if (walk->word == sizeof(u64))
		return unwind_user_read(walk, words, from, nr * sizeof(u64));

	ret = unwind_user_read(walk, narrow, from, nr * sizeof(u32));
	while (!ret && nr--)
		words[nr] = narrow[nr];
	return ret;
}

static bool unwind_user_stop(struct unwind_user_walk *walk,
			     enum unwind_user_end end)
{
	walk->end = end;
	return false;
}

/* Whether a uretprobe has put its trampoline's address into a frame of the task's. */
static __always_inline bool unwind_user_has_uretprobes(void)
{
#ifdef CONFIG_UPROBES
	const struct uprobe_task *utask = current->utask;

	return utask && utask->return_instances;
#else
	return false;
#endif
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
 * A uretprobe has put a trampoline's address in place of the return address
 * that stood at @slot.  The task's own list tells the true one.
 */
static __always_inline unsigned long unwind_user_true_return(unsigned long ip,
							     unsigned long slot)
{
#ifdef CONFIG_UPROBES
	if (unlikely(unwind_user_has_uretprobes()))
		return unwind_user_probed_return(current->utask, ip, slot);
#endif
	return ip;
}

/* What holds of a step to the caller, whatever the rule: @ip was found at @slot. */
static bool unwind_user_step(struct unwind_user_walk *walk, unsigned long ip,
			     unsigned long sp, unsigned long fp,
			     unsigned long slot)
{
	walk->ip = unwind_user_true_return(ip, slot);
	walk->sp = sp;
	walk->fp = fp;
	walk->exact = false;
	walk->regs = NULL;
	walk->sigframe = 0;
	if (!walk->ip)
		return unwind_user_stop(walk, UNWIND_USER_COMPLETE);
	return true;
}

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
	if (reg > SFRAME_BASE_R15)
		return -ENODATA;
	if (walk->regs) {
		*value = arch_unwind_user_register(walk->regs, reg);
		return 0;
	}
	if (walk->sigframe)
		return unwind_user_read_words(walk, value, walk->sigframe +
					      arch_unwind_sigframe_register(reg),
					      1);
	return -ENODATA;
}

/* Work out a rule of a table.  Returns 0, -EFAULT, or -ENODATA: see above. */
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
	return rule->deref ? unwind_user_read_words(walk, value, *value, 1) : 0;
}

#ifdef CONFIG_UPROBES
/*
 * In the trampoline of uretprobes: its function has returned, and the frame is the one
 * that called it.  Until the kernel has handled the return, the task's list has the
 * function's slot, as far up as the trampoline has pushed registers: the first one, as
 * those of its callers are further up.  Then the trampoline's stack has the true address.
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
		/* It has popped registers: the return was handled before. */
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
	if (unwind_user_read_words(walk, &ip, slot, 1))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	walk->ip = ip;
	walk->sp = slot + walk->word;
	return true;
}
#endif

/*
 * Where the task runs, or was interrupted, or the trampoline that has taken the place of
 * where it is to run.  Returns false, with the reason, when that cannot be read.
 */
static bool unwind_user_leave_trampoline(struct unwind_user_walk *walk)
{
#ifdef CONFIG_UPROBES
	const struct uprobe_task *utask = current->utask;
	unsigned long offset;

	if (likely(!utask))
		return true;
	offset = walk->ip - uprobe_get_trampoline_vaddr();
	if (unlikely(offset < ARCH_UNWIND_URETPROBE_LEN))
		return unwind_user_in_trampoline(walk, utask, offset);
#endif
	return true;
}

static bool unwind_user_stop_error(struct unwind_user_walk *walk, int error)
{
	return unwind_user_stop(walk, error == -EFAULT ?
				UNWIND_USER_FAULT : UNWIND_USER_NO_REGISTER);
}

/* Without this a stack could lead in a circle. */
static bool unwind_user_sp_rises(const struct unwind_user_walk *walk,
				 unsigned long sp)
{
	return sp > walk->sp && sp < TASK_SIZE_MAX &&
	       IS_ALIGNED(sp, walk->word);
}

/*
 * The most ordinary of rules: the CFA is @base + @offset, the return address is the
 * word below it, and the frame pointer, if it was @saved, is @below bytes below it.
 * Page faults are disabled.
 */
static __always_inline bool unwind_user_apply_frame(struct unwind_user_walk *walk,
						    bool from_fp, long offset,
						    bool saved, long below)
{
	unsigned long base = from_fp ? walk->fp : walk->sp;
	unsigned long cfa = base + offset, ip, fp = walk->fp;
	unsigned long slot = cfa - sizeof(u64), from = slot;

	if (unlikely(from_fp && walk->fp_error))
		return unwind_user_stop_error(walk, walk->fp_error);
	if (!unwind_user_sp_rises(walk, cfa))
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);

	if (saved)
		from = cfa - below;
	if (!user_read_access_begin((void __user *)from, cfa - from))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	unsafe_get_user(ip, (unsigned long __user *)slot, no_ip);
	if (saved) {
		unsafe_get_user(fp, (unsigned long __user *)from, no_fp);
		walk->fp_error = 0;
	}
	user_read_access_end();
	return unwind_user_step(walk, ip, cfa, fp, slot);

no_fp:
	user_read_access_end();
	walk->fp_error = -EFAULT;
	return unwind_user_step(walk, ip, cfa, 0, slot);
no_ip:
	user_read_access_end();
	return unwind_user_stop(walk, UNWIND_USER_FAULT);
}

static bool unwind_user_apply_packed(struct unwind_user_walk *walk, u64 row)
{
	return unwind_user_apply_frame(walk, row & ROW_CFA_FP, ROW_CFA_OFFSET(row),
				       row & ROW_FP_SAVED, ROW_FP_OFFSET(row));
}

/* Whether @row, a plain one, has the frame pointer kept, or below the return address. */
static bool unwind_user_fp_in_frame(const struct sframe_row *row)
{
	return !row->fp.deref || row->fp.offset <= -16;
}

/* Apply rules of any sort to the frame. */
static noinline bool unwind_user_apply_rules(struct unwind_user_walk *walk,
					     const struct sframe_row *row)
{
	bool ra_saved = row->ra.base == SFRAME_BASE_CFA && row->ra.deref;
	u64 cfa, ra, fp = 0;
	int ret;

	if (row->outermost)
		return unwind_user_stop(walk, UNWIND_USER_COMPLETE);

	ret = unwind_user_apply_rule(walk, &row->cfa, 0, &cfa);
	/* A signal may have come on another stack; it is the caller's room that ends. */
	if (!ret && !row->signal && !unwind_user_sp_rises(walk, cfa))
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);
	if (!ret)
		ret = unwind_user_apply_rule(walk, &row->ra, cfa, &ra);
	if (ret)
		return unwind_user_stop_error(walk, ret);

	/*
	 * Compilers say it wrongly of epilogues that have restored the frame
	 * pointer already.  It may not be needed.
	 */
	walk->fp_error = unwind_user_apply_rule(walk, &row->fp, cfa, &fp);
	if (!unwind_user_step(walk, ra, cfa, fp,
			      ra_saved ? cfa + row->ra.offset : 0))
		return false;
	walk->exact = row->signal;
	return !walk->exact || unwind_user_leave_trampoline(walk);
}

/*
 * Apply @row to the frame.  Returns false, with the reason, when there is no
 * caller.
 */
static bool unwind_user_apply(struct unwind_user_walk *walk,
			      const struct sframe_row *row)
{
	if (walk->rcu && row->plain && unwind_user_fp_in_frame(row))
		return unwind_user_apply_frame(walk,
					       row->cfa.base == SFRAME_BASE_FP,
					       row->cfa.offset, row->fp.deref,
					       -(long)row->fp.offset);
	return unwind_user_apply_rules(walk, row);
}

/*
 * A uprobe on the first instruction of a function that is about to save its frame
 * pointer: the caller's is still in the register.
 */
static bool unwind_user_next_at_entry(struct unwind_user_walk *walk)
{
	u64 ip;

	if (unwind_user_read_words(walk, &ip, walk->sp, 1))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	return unwind_user_step(walk, ip, walk->sp + walk->word, walk->fp,
				walk->sp);
}

/* The frame keeps a frame pointer: its caller's, then the return address. */
static bool unwind_user_next_fp(struct unwind_user_walk *walk)
{
	unsigned long cfa = walk->fp + 2 * walk->word;
	u64 words[2];

	if (walk->regs && arch_unwind_user_at_entry(walk->regs))
		return unwind_user_next_at_entry(walk);
	if (walk->fp_error)
		return unwind_user_stop_error(walk, walk->fp_error);
	/* The psABI has the outermost frame mark itself so. */
	if (!walk->fp)
		return unwind_user_stop(walk, UNWIND_USER_COMPLETE);
	/* Not a frame pointer: it would not point into the stack's used part. */
	if (walk->fp < walk->sp || !unwind_user_sp_rises(walk, cfa))
		return unwind_user_stop(walk, walk->no_table ? UNWIND_USER_NO_TABLE :
					UNWIND_USER_NO_ROW);
	if (unwind_user_read_words(walk, words, walk->fp, 2))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	return unwind_user_step(walk, words[1], cfa, words[0],
				cfa - walk->word);
}

static bool unwind_user_is_sigreturn_at(struct unwind_user_walk *walk,
					unsigned long start)
{
	u8 code[ARCH_UNWIND_SIGRETURN_LEN];

	return !unwind_user_read(walk, code, start, sizeof(code)) &&
	       !memcmp(code, ARCH_UNWIND_SIGRETURN_CODE, sizeof(code));
}

static bool unwind_user_is_sigreturn(struct unwind_user_walk *walk)
{
	if (walk->word != 8)
		return false;
	if (unwind_user_is_sigreturn_at(walk, walk->ip))
		return true;
	/* Before the system call, and in it. */
	return walk->exact &&
	       (unwind_user_is_sigreturn_at(walk, walk->ip -
					    ARCH_UNWIND_SIGRETURN_SYSCALL) ||
		unwind_user_is_sigreturn_at(walk, walk->ip -
					    ARCH_UNWIND_SIGRETURN_LEN));
}

/*
 * The frame is a signal trampoline's, which the handler returns to: its caller
 * is what the signal interrupted, perhaps on another stack.
 */
static bool unwind_user_next_signal(struct unwind_user_walk *walk)
{
	unsigned long from = walk->sp;
	u64 ip, sp, fp;

	if (unwind_user_read_words(walk, &ip, from + ARCH_UNWIND_SIGFRAME_IP,
				   1) ||
	    unwind_user_read_words(walk, &sp, from + ARCH_UNWIND_SIGFRAME_SP,
				   1) ||
	    unwind_user_read_words(walk, &fp, from + ARCH_UNWIND_SIGFRAME_FP, 1))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);

	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
	walk->fp_error = 0;
	walk->exact = true;
	walk->regs = NULL;
	walk->sigframe = from;
	return unwind_user_leave_trampoline(walk);
}

/* Where tables have no row for the frame. */
static bool unwind_user_next_no_row(struct unwind_user_walk *walk)
{
	if (unwind_user_is_sigreturn(walk))
		return unwind_user_next_signal(walk);
	return unwind_user_next_fp(walk);
}

/* Where a table has the function, and says nothing of the instruction. */
static bool unwind_user_next_no_rule(struct unwind_user_walk *walk)
{
	if (unwind_user_is_sigreturn(walk))
		return unwind_user_next_signal(walk);
	/* What made the table could not say it: a guess would be a wild one. */
	return unwind_user_stop(walk, UNWIND_USER_NO_RULE);
}

/* @word: What the row cache has in the slot, of walks under RCU; else 0. */
static int unwind_user_find_row(struct unwind_user_walk *walk, unsigned long ip,
				u64 word, struct sframe_row *row)
{
	if (row_is_at(word, ip))
		return row_unpack(word, row);
	if (!walk->rcu)
		return sframe_lookup(&walk->reader, ip, row, &walk->searched);
	walk->searched++;
	return sframe_search_rcu(&walk->reader, &walk->tables, ip, row);
}

/* Kept apart: rows from the cache shall not pay for its registers. */
static noinline bool unwind_user_next_row(struct unwind_user_walk *walk,
					  unsigned long ip, u64 word)
{
	/* Filled in where it is used; clearing it would be in vain. */
	struct sframe_row row __uninitialized;
	int ret;

	ret = unwind_user_find_row(walk, ip, word, &row);
	if (likely(!ret))
		return unwind_user_apply(walk, &row);
	walk->no_table = ret == -ENXIO || ret == -EAGAIN;
	switch (ret) {
	case -EAGAIN:
	case -ENXIO:
	case -ENOENT:
	case -EOPNOTSUPP:
		return unwind_user_next_no_row(walk);
	case -ENODATA:
		return unwind_user_next_no_rule(walk);
	case -EFAULT:
		walk->table_fault = true;
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	case -E2BIG:
		return unwind_user_stop(walk, UNWIND_USER_BUDGET);
	default:
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);
	}
}

/* Go to the caller.  Returns false, with walk->end set, when there is none. */
static bool unwind_user_next(struct unwind_user_walk *walk)
{
	unsigned long ip = walk->exact ? walk->ip : walk->ip - 1;
	u64 row = 0;

	/* Tables exist for 64-bit code only. */
	if (walk->word != 8) {
		walk->no_table = true;
		return unwind_user_next_no_row(walk);
	}
	if (walk->tables.rows) {
		row = row_cache_slot(walk->tables.rows, ip);
		if (likely(row_is_frame_at(row, ip)))
			return unwind_user_apply_packed(walk, row);
	}
	return unwind_user_next_row(walk, ip, row);
}

/*
 * An instruction with a uprobe may be stepped in a copy, with its own registers
 * still as they were.
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

static bool unwind_user_may_fault(enum unwind_user_access access)
{
	return access == UNWIND_USER_FAULTABLE || access == UNWIND_USER_DEFERRED;
}

static struct sframe_reader unwind_user_reader(enum unwind_user_access access)
{
	switch (access) {
	case UNWIND_USER_FAULTABLE:
	case UNWIND_USER_DEFERRED:
		return (struct sframe_reader){
			.read = unwind_user_read_faultable,
			.budget = UNWIND_USER_BUDGET_FAULTABLE,
			.direct = true,
		};
	case UNWIND_USER_NOWAIT:
		return (struct sframe_reader){
			.read = unwind_user_read_nowait,
			.budget = UNWIND_USER_BUDGET_RESIDENT,
		};
	default:
		return (struct sframe_reader){
			.read = unwind_user_read_resident,
			.budget = UNWIND_USER_BUDGET_RESIDENT,
			.direct = true,
		};
	}
}

/*
 * What most stacks are made of: callers in one object, by rules as compilers write them.
 * Store these frames to @entries from @nr on, and return their end; whatever is not so
 * simple is left to unwind_user_next(), with reasons and all.  The walk is under RCU.
 */
static unsigned int unwind_user_walk_plain(struct unwind_user_walk *walk, u64 *entries,
					   unsigned int nr, unsigned int max)
{
	unsigned long ip = walk->ip, sp = walk->sp, fp = walk->fp;
	const struct sframe_cursor *cursor = &walk->tables;
	unsigned long cfa, from, next_ip, next_fp;
	const struct unwind_table *table;
	const struct sframe_row *row;

	if (!cursor->segment || walk->exact || walk->fp_error || unwind_user_has_uretprobes())
		return nr;
	table = rcu_dereference(cursor->segment->table);
	if (!table)
		return nr;
	while (nr < max && ip - 1 - cursor->start < cursor->size) {
		if (unwind_table_find(table, ip - 1 - cursor->base, &row) || !row->plain ||
		    !unwind_user_fp_in_frame(row))
			break;
		cfa = (row->cfa.base == SFRAME_BASE_FP ? fp : sp) + row->cfa.offset;
		if (cfa <= sp || !IS_ALIGNED(cfa, sizeof(u64)))
			break;
		from = cfa + (row->fp.deref ? row->fp.offset : -(long)sizeof(u64));
		/* Where this holds, the stack pointer is a user's. */
		if (!user_read_access_begin((void __user *)from, cfa - from))
			break;
		unsafe_get_user(next_ip, (unsigned long __user *)cfa - 1, fault);
		if (row->fp.deref)
			unsafe_get_user(next_fp, (unsigned long __user *)from, fault);
		else
			next_fp = fp;
		user_read_access_end();
		if (!next_ip)
			break;
		entries[nr++] = ip;
		ip = next_ip;
		sp = cfa;
		fp = next_fp;
	}
	goto out;
fault:
	user_read_access_end();
out:
	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
	return nr;
}

static void unwind_user_walk(struct unwind_user_walk *walk,
			     struct unwind_user_trace *trace,
			     enum unwind_user_access access)
{
	u64 *const entries = trace->entries;
	const unsigned int max = trace->max;
	unsigned int nr = 0;

	walk->end = UNWIND_USER_FULL;
	if (!unwind_user_leave_trampoline(walk))
		goto out;
	while (nr < max) {
		if (walk->rcu) {
			nr = unwind_user_walk_plain(walk, entries, nr, max);
			if (nr == max)
				break;
		}
		entries[nr++] = walk->ip;
		if (unwind_user_may_fault(access))
			cond_resched();
		if (!unwind_user_next(walk))
			break;
	}
out:
	trace->nr = nr;
}

static void unwind_user_walk_resident(struct unwind_user_walk *walk,
				      struct unwind_user_trace *trace)
{
	/* Another address space may be loaded while a task is switched. */
	if (!nmi_uaccess_okay()) {
		if (trace->max)
			trace->entries[trace->nr++] = walk->ip;
		walk->end = UNWIND_USER_FAULT;
		return;
	}

	guard(rcu)();
	walk->rcu = true;
	walk->tables.rows = sframe_rows();
	pagefault_disable();
	unwind_user_walk(walk, trace, UNWIND_USER_RESIDENT);
	pagefault_enable();
	/* Samples to come have all that this one missed. */
	if (walk->table_fault)
		sframe_table_missed();
	if (unwind_user_has_tables() &&
	    (sframe_wants_rows(walk->tables.rows) || walk->table_fault ||
	     sframe_discovery_is_due()))
		row_cache_request();
}

/**
 * unwind_user_discover_later() - look for tables on the way back to user space
 *
 * For those who do not walk, where unwind_user_is_unseen(): samples to come can be
 * walked by the tables that are found.
 *
 * Context: Any task in any context, NMI included.
 */
void unwind_user_discover_later(void)
{
	if (sframe_discovery_is_due())
		row_cache_request();
}

/**
 * unwind_user() - walk the current task's user stack
 * @trace: @trace->entries and @trace->max tell where the frames go; the rest is
 *	filled in.  What was found before the walk ended early is kept.
 * @regs: The task's user registers, as it entered the kernel or as the
 *	interrupt found them.
 * @access: How user memory may be read here.
 *
 * A deferred walk looks for the tables of what the task has mapped first; the others
 * have that done on the way back to user space.
 *
 * Context: Any with UNWIND_USER_RESIDENT, else process context that may sleep; no
 * mmap_lock held with UNWIND_USER_DEFERRED.
 */
void unwind_user(struct unwind_user_trace *trace, struct pt_regs *regs,
		 enum unwind_user_access access)
{
	struct unwind_user_walk walk = {
		.ip = unwind_user_true_ip(instruction_pointer(regs)),
		.sp = user_stack_pointer(regs),
		.fp = frame_pointer(regs),
		.exact = true,
		.word = arch_unwind_user_word(regs),
		.regs = regs,
		.reader = unwind_user_reader(access),
	};

	trace->nr = 0;
	if (!current->mm || !walk.word) {
		walk.end = UNWIND_USER_NO_STACK;
	} else if (access == UNWIND_USER_RESIDENT) {
		unwind_user_walk_resident(&walk, trace);
	} else {
		might_sleep();
		/* A BPF program may be run under the mmap_lock, which discovery takes. */
		if (access == UNWIND_USER_DEFERRED) {
			sframe_discover();
			sframe_fetch_tables();
		} else if (access == UNWIND_USER_FAULTABLE) {
			unwind_user_discover_later();
		}
		if (unwind_user_may_fault(access))
			sframe_alloc_rows();
		unwind_user_walk(&walk, trace, access);
	}
	trace->searched = walk.searched;
	trace->end = walk.end;
	unwind_user_ended(trace, access);
}
