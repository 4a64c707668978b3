// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the current task's user stack.
 *
 * For each frame, the table that covers the frame's instruction has the rule for getting to
 * the caller.  Without a table, the walk recognises a signal trampoline by its code.  For
 * all other code it guesses the caller: by the frame pointer, if there is a return address
 * beside it, or by the first return address on the stack.
 *
 * An immediate walk runs in any context, NMI included and with locks held, and reads only
 * resident memory.  Other walks may sleep and fault memory in.  The task writes its own
 * stack, so the content is hostile.  A walk ends nevertheless: the stack pointer has to rise
 * from frame to frame, except across signal frames, and the caller's buffer bounds the
 * number of frames.
 */

#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include <asm/tlb.h>
#include <asm/unwind_user.h>

#include "call.h"
#include "sframe.h"
#include "stats.h"

/* Number of words above the stack pointer that a scan for a return address reads */
#define UNWIND_USER_SCAN	4
/*
 * Maximum number of words that the scans of one walk may reject.  Each costs some 390
 * instructions, and a walk in NMI has to end soon on any stack.
 */
#define UNWIND_USER_MAX_REJECTED	1024

/**
 * struct unwind_user_walk - the state of a walk
 * @ip:		Instruction pointer of the frame, see @exact.
 * @sp:		Stack pointer of the frame.
 * @fp:		The frame pointer register, whatever the function uses it for.
 * @fp_error:	0 if @fp is known, else the error of unwind_user_apply_rule().  The walk can
 *		go on without @fp as long as the rules are based on the stack pointer.
 * @exact:	@ip is the frame's next instruction.  This holds for the innermost frame and
 *		for one that a signal interrupted.  Else @ip is a return address, and the
 *		frame's current instruction is the call before it.
 * @word:	Size of a stack word in bytes.
 * @regs:	The user registers while the frame is the innermost, else NULL.
 * @sigframe:	Address of the frame's saved registers (see ARCH_UNWIND_SIGFRAME_IP) if a
 *		signal interrupted the frame, else 0.
 * @resident:	The walk holds RCU and has page faults disabled.
 * @tables:	The table of the last frame's code.  Its content is valid under RCU.
 * @no_table:	No table covers the frame that was looked up last.
 * @scanned:	A scan has found a caller.  All frames from that one on are guesses.
 * @rejected:	Number of words that scans have rejected.
 * @certain:	Number of frames before the first scan that found a caller.
 * @certain_end: Why the walk would have ended without that scan.
 * @end:	Why the walk ended; valid once it has.
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
	bool			resident;
	struct sframe_cursor	tables;
	bool			no_table;
	bool			scanned;
	unsigned int		rejected;
	unsigned int		certain;
	enum unwind_user_end	certain_end;
	enum unwind_user_end	end;
};

/*
 * Only a few words are read at a time; a general copy's setup would cost more than this loop.
 * The caller has disabled page faults.
 */
static int unwind_user_read_resident(void *to, unsigned long from, size_t len)
{
	const void __user *at = (const void __user *)from;
	u64 eight;
	u32 four;
	u8 one;

	if (!user_read_access_begin(at, len))
		return -EFAULT;
	for (; len >= sizeof(eight); len -= sizeof(eight)) {
		unsafe_get_user(eight, (const u64 __user *)at, fault);
		put_unaligned(eight, (u64 *)to);
		at += sizeof(eight);
		to += sizeof(eight);
	}
	if (len >= sizeof(four)) {
		unsafe_get_user(four, (const u32 __user *)at, fault);
		put_unaligned(four, (u32 *)to);
		at += sizeof(four);
		to += sizeof(four);
		len -= sizeof(four);
	}
	for (; len; len--) {
		unsafe_get_user(one, (const u8 __user *)at++, fault);
		*(u8 *)to++ = one;
	}
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

static int unwind_user_read(struct unwind_user_walk *walk, void *to,
			    unsigned long from, size_t len)
{
	if (walk->resident)
		return unwind_user_read_resident(to, from, len);
	return copy_from_user(to, (void __user *)from, len) ? -EFAULT : 0;
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
static __always_inline unsigned long unwind_user_true_return(unsigned long ip,
							     unsigned long slot)
{
#ifdef CONFIG_UPROBES
	if (unlikely(unwind_user_has_uretprobes()))
		return unwind_user_probed_return(current->utask, ip, slot);
#endif
	return ip;
}

/* Step to the caller, whose return address @ip was read from @slot. */
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
	if (reg >= SFRAME_BASE_CFA)
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
	return rule->deref ? unwind_user_read_words(walk, value, *value, 1) : 0;
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
	if (unwind_user_read_words(walk, &ip, slot, 1))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	walk->ip = ip;
	walk->sp = slot + walk->word;
	return true;
}
#endif

/*
 * If @walk is in the trampoline of uretprobes, go to the frame that the trampoline will
 * return to.  Call this where @walk->ip is exact: at the start of the walk and after a
 * signal frame.  Returns false, with @walk->end set, if memory cannot be read.
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

/* Why the walk ends after this error of unwind_user_apply_rule(). */
static enum unwind_user_end unwind_user_end_of(int error)
{
	return error == -EFAULT ? UNWIND_USER_FAULT : UNWIND_USER_NO_REGISTER;
}

/* A stack pointer that has to rise keeps a hostile stack from leading in a circle. */
static bool unwind_user_sp_rises(const struct unwind_user_walk *walk,
				 unsigned long sp)
{
	return sp > walk->sp && sp < TASK_SIZE_MAX &&
	       IS_ALIGNED(sp, walk->word);
}

static bool unwind_user_is_sigreturn_at(struct unwind_user_walk *walk,
					unsigned long start)
{
	u8 code[ARCH_UNWIND_SIGRETURN_LEN];

	return !unwind_user_read(walk, code, start, sizeof(code)) &&
	       !memcmp(code, ARCH_UNWIND_SIGRETURN_CODE, sizeof(code));
}

/* Whether a word found by the frame pointer may be a return address. */
static bool unwind_user_may_return(struct unwind_user_walk *walk, unsigned long ip)
{
	/* 32-bit signal trampolines cannot be recognised here, so any code will do. */
	if (walk->word != sizeof(u64))
		return unwind_is_code(ip);
	/* No call instruction precedes the trampoline that a signal handler returns to. */
	return unwind_is_return(ip) || unwind_user_is_sigreturn_at(walk, ip);
}

/* Go to the caller by @row.  Returns false, with @walk->end set, if there is no caller. */
static bool unwind_user_apply(struct unwind_user_walk *walk, const struct sframe_row *row)
{
	bool ra_saved = row->ra.base == SFRAME_BASE_CFA && row->ra.deref;
	u64 cfa, ra, fp = 0;
	int ret;

	if (row->outermost)
		return unwind_user_stop(walk, UNWIND_USER_COMPLETE);

	ret = unwind_user_apply_rule(walk, &row->cfa, 0, &cfa);
	if (!ret)
		cfa += row->cfa_add;
	/*
	 * A signal handler may run on another stack, at any address.  So this check cannot
	 * bound the walk across signal frames; the room in the caller's buffer does.
	 */
	if (!ret && !row->signal && !unwind_user_sp_rises(walk, cfa))
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);
	if (!ret)
		ret = unwind_user_apply_rule(walk, &row->ra, cfa, &ra);
	if (ret)
		return unwind_user_stop(walk, unwind_user_end_of(ret));

	/*
	 * In epilogues that have restored the frame pointer already, compilers describe it
	 * wrongly.  So an error here does not end the walk: the frame pointer may not be
	 * needed.
	 */
	walk->fp_error = unwind_user_apply_rule(walk, &row->fp, cfa, &fp);
	if (!unwind_user_step(walk, ra, cfa, fp,
			      ra_saved ? cfa + row->ra.offset : 0))
		return false;
	/* After a guess, check every return address: a wrong one refutes the guess. */
	if (walk->scanned && !row->signal && !unwind_user_may_return(walk, walk->ip))
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);
	walk->exact = row->signal;
	return !walk->exact || unwind_user_leave_trampoline(walk);
}

/*
 * A uprobe hit the first instruction of a function that is about to save the frame pointer.
 * The register still has the caller's frame pointer, and the return address is at the stack
 * pointer.
 */
static bool unwind_user_next_at_entry(struct unwind_user_walk *walk)
{
	u64 ip;

	if (unwind_user_read_words(walk, &ip, walk->sp, 1))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	return unwind_user_step(walk, ip, walk->sp + walk->word, walk->fp,
				walk->sp);
}

/*
 * Whether a word on the stack can be the return address of the current frame.  @call is the
 * instruction before that address, @target what it calls.  Stale return addresses of earlier
 * calls follow a call as well, so a direct call has to target the code of this frame.
 */
static bool unwind_user_calls_here(const struct unwind_user_walk *walk, enum unwind_call call,
				   unsigned long target)
{
	return call == UNWIND_CALL_INDIRECT ||
	       (call == UNWIND_CALL_DIRECT && target <= walk->ip &&
		unwind_same_code(target, walk->ip));
}

/*
 * Scan for the return address of a frame that keeps no frame pointer.  In a small frame, such
 * as that of a trampoline made at run time, it is the first return address on the stack.  If
 * the scan finds none, the walk ends with @end.
 */
static bool unwind_user_next_scanned(struct unwind_user_walk *walk, enum unwind_user_end end)
{
	u64 words[UNWIND_USER_SCAN];
	unsigned long slot = walk->sp, ip, target;
	unsigned int i;

	if (walk->word != sizeof(u64) || !IS_ALIGNED(slot, sizeof(u64)) ||
	    unwind_user_read_words(walk, words, slot, UNWIND_USER_SCAN))
		return unwind_user_stop(walk, end);
	for (i = 0; i < UNWIND_USER_SCAN; i++, slot += sizeof(u64)) {
		ip = unwind_user_true_return(words[i], slot);
		if (!unwind_user_calls_here(walk, unwind_call_before(ip, &target), target)) {
			if (++walk->rejected == UNWIND_USER_MAX_REJECTED)
				break;
			continue;
		}
		if (!walk->scanned)
			walk->certain_end = end;
		walk->scanned = true;
		return unwind_user_step(walk, ip, slot + sizeof(u64), walk->fp, slot);
	}
	return unwind_user_stop(walk, end);
}

/*
 * Go to the caller by the frame pointer, if it is one: it points to the caller's frame
 * pointer, and the return address is the next word.
 */
static bool unwind_user_next_fp(struct unwind_user_walk *walk)
{
	unsigned long cfa = walk->fp + 2 * walk->word, slot = cfa - walk->word;
	enum unwind_user_end end = walk->no_table ? UNWIND_USER_NO_TABLE : UNWIND_USER_NO_ROW;
	u64 words[2];

	if (walk->regs && arch_unwind_user_at_entry(walk->regs))
		return unwind_user_next_at_entry(walk);
	if (walk->fp_error)
		return unwind_user_next_scanned(walk, unwind_user_end_of(walk->fp_error));
	/* By the psABI, a frame pointer of 0 marks the outermost frame. */
	if (!walk->fp)
		return unwind_user_next_scanned(walk, UNWIND_USER_COMPLETE);
	/* A frame pointer points into the used part of the stack. */
	if (walk->fp < walk->sp || !unwind_user_sp_rises(walk, cfa) ||
	    unwind_user_read_words(walk, words, walk->fp, 2))
		return unwind_user_next_scanned(walk, end);
	/* A return address of 0 marks the outermost frame, unless this is no frame at all. */
	if (!words[1])
		return unwind_user_next_scanned(walk, UNWIND_USER_COMPLETE);
	if (!unwind_user_may_return(walk, unwind_user_true_return(words[1], slot)))
		return unwind_user_next_scanned(walk, end);
	return unwind_user_step(walk, words[1], cfa, words[0], slot);
}

static bool unwind_user_is_sigreturn(struct unwind_user_walk *walk)
{
	if (walk->word != 8)
		return false;
	if (unwind_user_is_sigreturn_at(walk, walk->ip))
		return true;
	/* The trampoline has two instructions: @ip may be at the second, or after it. */
	return walk->exact &&
	       (unwind_user_is_sigreturn_at(walk, walk->ip -
					    ARCH_UNWIND_SIGRETURN_SYSCALL) ||
		unwind_user_is_sigreturn_at(walk, walk->ip -
					    ARCH_UNWIND_SIGRETURN_LEN));
}

/*
 * The frame belongs to a signal trampoline, which the handler returns to.  Its caller is the
 * code that the signal interrupted, perhaps on another stack.
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

/* Go to the caller of a frame that no row covers. */
static bool unwind_user_next_no_row(struct unwind_user_walk *walk)
{
	if (unwind_user_is_sigreturn(walk))
		return unwind_user_next_signal(walk);
	return unwind_user_next_fp(walk);
}

/* Go to the caller of a frame whose function is in a table that has no rule for it. */
static bool unwind_user_next_no_rule(struct unwind_user_walk *walk)
{
	if (unwind_user_is_sigreturn(walk))
		return unwind_user_next_signal(walk);
	/* The tool that made the table could not describe this code: do not guess here. */
	return unwind_user_stop(walk, UNWIND_USER_NO_RULE);
}

/* Find the row for @ip.  Returns 0, or an error of sframe_find(). */
static int unwind_user_find_row(struct unwind_user_walk *walk, unsigned long ip,
				struct sframe_row *row)
{
	const struct sframe_row *found;
	int ret;

	guard(rcu)();
	/* Without RCU since the last frame, the table may have been freed. */
	if (!walk->resident)
		walk->tables.size = 0;
	ret = sframe_find(&walk->tables, ip, &found);
	if (!ret)
		*row = *found;
	return ret;
}

/* Go to the caller.  Returns false, with @walk->end set, if there is none. */
static bool unwind_user_next(struct unwind_user_walk *walk)
{
	struct sframe_row row;
	int ret = -ENXIO;

	/* Tables exist for 64-bit code only. */
	if (walk->word == 8)
		ret = unwind_user_find_row(walk, walk->exact ? walk->ip : walk->ip - 1, &row);
	if (!ret)
		return unwind_user_apply(walk, &row);
	if (ret == -ENODATA)
		return unwind_user_next_no_rule(walk);
	walk->no_table = ret != -ENOENT;
	return unwind_user_next_no_row(walk);
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

/* The state that plain rows need, small enough for the compiler to keep in registers */
struct unwind_user_frame {
	unsigned long	ip;
	unsigned long	sp;
	unsigned long	fp;
};

/*
 * Go to the caller by @row, which is plain.  @frame->ip is 0 afterwards if there is no
 * caller.  Returns false if unwind_user_next() has to handle the frame.
 */
static __always_inline bool unwind_user_plain_caller(struct unwind_user_frame *frame,
						     const struct sframe_row *row)
{
	unsigned long base = row->cfa.base == SFRAME_BASE_FP ? frame->fp : frame->sp;
	unsigned long cfa = base + row->cfa.offset, fp = frame->fp, ip, from;

	if (cfa <= frame->sp || !IS_ALIGNED(cfa, sizeof(u64)))
		return false;
	from = cfa + row->fp.offset;
	/* If this succeeds, the CFA is a user address as well. */
	if (!user_read_access_begin((void __user *)from, cfa - from))
		return false;
	unsafe_get_user(ip, (unsigned long __user *)(cfa + ARCH_SFRAME_RA_OFFSET), fault);
	if (row->fp.deref)
		unsafe_get_user(fp, (unsigned long __user *)from, fault);
	user_read_access_end();
	*frame = (struct unwind_user_frame){ ip, cfa, fp };
	return true;
fault:
	user_read_access_end();
	return false;
}

/*
 * Walk frames with plain rows, which are most of them, and store them to @trace.  Stop at
 * the first frame that is not that simple: unwind_user_next() handles it and says why the
 * walk ends.  Returns false if the walk has ended.
 */
static bool unwind_user_walk_plain(struct unwind_user_walk *walk, struct unwind_user_trace *trace)
{
	struct unwind_user_frame frame = { walk->ip, walk->sp, walk->fp };
	u64 *entry = trace->entries + trace->nr;
	u64 *const end = trace->entries + trace->max;
	unsigned long at = walk->ip - !walk->exact;
	const struct sframe_row *row;

	if (walk->fp_error || walk->scanned || walk->word != sizeof(u64) ||
	    unwind_user_has_uretprobes())
		return true;
	while (entry < end) {
		if (!sframe_is_at(&walk->tables, at) &&
		    (!frame.ip || sframe_seek(&walk->tables, at)))
			break;
		row = sframe_row_at(&walk->tables, at);
		*entry = frame.ip;
		if (!row->plain || !unwind_user_plain_caller(&frame, row))
			break;
		entry++;
		at = frame.ip - 1;
	}
	if (entry == trace->entries + trace->nr)
		return true;
	trace->nr = entry - trace->entries;
	walk->ip = frame.ip;
	walk->sp = frame.sp;
	walk->fp = frame.fp;
	walk->exact = false;
	walk->regs = NULL;
	walk->sigframe = 0;
	return frame.ip || unwind_user_stop(walk, UNWIND_USER_COMPLETE);
}

/* Drop all frames from the first guess on if they did not lead to the outermost frame. */
static void unwind_user_forget_guess(struct unwind_user_walk *walk,
				     struct unwind_user_trace *trace)
{
	if (!walk->scanned || walk->end == UNWIND_USER_COMPLETE ||
	    walk->end == UNWIND_USER_FULL)
		return;
	trace->nr = walk->certain;
	walk->end = walk->certain_end;
}

static void unwind_user_walk(struct unwind_user_walk *walk, struct unwind_user_trace *trace)
{
	walk->end = UNWIND_USER_FULL;
	if (!unwind_user_leave_trampoline(walk))
		return;
	while (trace->nr < trace->max) {
		if (walk->resident && !unwind_user_walk_plain(walk, trace))
			break;
		if (trace->nr == trace->max)
			break;
		trace->entries[trace->nr++] = walk->ip;
		if (!walk->resident)
			cond_resched();
		if (!walk->scanned)
			walk->certain = trace->nr;
		if (!unwind_user_next(walk))
			break;
	}
	unwind_user_forget_guess(walk, trace);
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

/**
 * unwind_user() - walk the current task's user stack
 * @trace: The caller sets @trace->entries and @trace->max, this function sets the rest.
 *	Frames found before the walk ended early stay in @trace.
 * @regs: The task's user registers, as of its entry to the kernel or as the interrupt found
 *	them.
 * @access: How the walk may read user memory.
 *
 * Context: Any with UNWIND_USER_RESIDENT, else process context, may sleep.
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
	};

	trace->nr = 0;
	if (!current->mm || !walk.word) {
		walk.end = UNWIND_USER_NO_STACK;
	} else if (access == UNWIND_USER_RESIDENT) {
		unwind_user_walk_resident(&walk, trace);
	} else {
		might_sleep();
		unwind_user_walk(&walk, trace);
	}
	trace->end = walk.end;
	unwind_user_ended(trace, access);
}
