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
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include <asm/unwind_user.h>

#include "sframe.h"
#include "user.h"

/*
 * Bytes of tables that one walk may read.  An honest walk of a thousand frames
 * reads about one MiB, since the rows of a function are passed one by one.  Where
 * others wait, in NMI above all, a hostile table must not hold them up.
 */
#define UNWIND_USER_BUDGET_FAULTABLE	SZ_4M
#define UNWIND_USER_BUDGET_RESIDENT	SZ_256K

/**
 * struct unwind_user_walk - where a walk stands
 * @ip:		The frame's instruction: see @exact.
 * @sp:		Its stack pointer.
 * @fp:		Its frame pointer register, whatever it is used for.
 * @exact:	@ip is the next instruction of the frame, as it is for the
 *		innermost one and one that a signal interrupted; else it is a
 *		return address, and the frame is in the call before it.
 * @word:	Size of a stack word.
 * @reader:	Reads user memory in the way that this context allows.
 * @end:	Valid when the walk has ended.
 */
struct unwind_user_walk {
	unsigned long		ip;
	unsigned long		sp;
	unsigned long		fp;
	bool			exact;
	u8			word;
	struct sframe_reader	reader;
	enum unwind_user_end	end;
};

int unwind_user_read_resident(void *to, u64 from, size_t len)
{
	return copy_from_user_nofault(to, (void __user *)from, len);
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

/*
 * A uretprobe has put a trampoline's address in place of the return address
 * that stood at @slot.  The task's own list tells the true one.
 */
static unsigned long unwind_user_true_return(unsigned long ip,
					     unsigned long slot)
{
#ifdef CONFIG_UPROBES
	struct uprobe_task *utask = current->utask;
	struct return_instance *ri;

	if (likely(!utask || !utask->return_instances) ||
	    ip != uprobe_get_trampoline_vaddr())
		return ip;
	for (ri = utask->return_instances; ri; ri = ri->next)
		if (ri->stack == slot)
			return ri->orig_ret_vaddr;
#endif
	return ip;
}

/* Apply @row to the frame.  Returns false, with the reason, when there is no caller. */
static bool unwind_user_apply(struct unwind_user_walk *walk,
			      const struct sframe_row *row)
{
	unsigned long base = row->cfa_fp ? walk->fp : walk->sp;
	unsigned long cfa = base + row->cfa_off, slot = cfa + row->ra_off;
	u64 words[2];
	int ret;

	if (row->outermost)
		return unwind_user_stop(walk, UNWIND_USER_COMPLETE);

	/* Without this a stack could lead in a circle. */
	if (cfa <= walk->sp || base < walk->sp || cfa >= TASK_SIZE_MAX ||
	    !IS_ALIGNED(cfa, walk->word))
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);

	if (row->fp_saved && row->fp_off == row->ra_off - walk->word) {
		/* push %rbp was the first instruction: one read for both. */
		ret = unwind_user_read_words(walk, words, slot - walk->word, 2);
	} else {
		words[0] = walk->fp;
		ret = unwind_user_read_words(walk, &words[1], slot, 1);
		if (!ret && row->fp_saved)
			ret = unwind_user_read_words(walk, &words[0],
						     cfa + row->fp_off, 1);
	}
	if (ret)
		return unwind_user_stop(walk, UNWIND_USER_FAULT);

	walk->ip = unwind_user_true_return(words[1], slot);
	walk->sp = cfa;
	walk->fp = words[0];
	walk->exact = false;
	if (!walk->ip)
		return unwind_user_stop(walk, UNWIND_USER_COMPLETE);
	return true;
}

/* The code that keeps a frame pointer has this row everywhere. */
static bool unwind_user_next_fp(struct unwind_user_walk *walk)
{
	const struct sframe_row row = {
		.cfa_fp = true,
		.fp_saved = true,
		.cfa_off = 2 * walk->word,
		.ra_off = -1 * walk->word,
		.fp_off = -2 * walk->word,
	};

	/* The psABI has the outermost frame mark itself so. */
	if (!walk->fp)
		return unwind_user_stop(walk, UNWIND_USER_COMPLETE);
	/* Not a frame pointer: it would not point into the stack's used part. */
	if (walk->fp < walk->sp || !IS_ALIGNED(walk->fp, walk->word))
		return unwind_user_stop(walk, UNWIND_USER_NO_RULE);
	return unwind_user_apply(walk, &row);
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
	u64 ip, sp, fp;

	if (unwind_user_read_words(walk, &ip,
				   walk->sp + ARCH_UNWIND_SIGFRAME_IP, 1) ||
	    unwind_user_read_words(walk, &sp,
				   walk->sp + ARCH_UNWIND_SIGFRAME_SP, 1) ||
	    unwind_user_read_words(walk, &fp,
				   walk->sp + ARCH_UNWIND_SIGFRAME_FP, 1))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);

	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
	walk->exact = true;
	return true;
}

/* Go to the caller.  Returns false, with walk->end set, when there is none. */
static bool unwind_user_next(struct unwind_user_walk *walk)
{
	struct sframe_row row;
	int ret = -ENOENT;

	/* Tables exist for 64-bit code only. */
	if (walk->word == 8)
		ret = sframe_lookup(&walk->reader,
				    walk->exact ? walk->ip : walk->ip - 1,
				    &row);
	switch (ret) {
	case 0:
		return unwind_user_apply(walk, &row);
	case -ENOENT:
	case -EOPNOTSUPP:
		if (unwind_user_is_sigreturn(walk))
			return unwind_user_next_signal(walk);
		return unwind_user_next_fp(walk);
	case -EFAULT:
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	case -E2BIG:
		return unwind_user_stop(walk, UNWIND_USER_BUDGET);
	default:
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);
	}
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

static struct sframe_reader unwind_user_reader(enum unwind_user_access access)
{
	switch (access) {
	case UNWIND_USER_FAULTABLE:
		return (struct sframe_reader){
			.read = unwind_user_read_faultable,
			.budget = UNWIND_USER_BUDGET_FAULTABLE,
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
		};
	}
}

/**
 * unwind_user() - walk the current task's user stack
 * @trace: @trace->entries and @trace->max tell where the frames go; the rest is
 *	filled in.  What was found before the walk ended early is kept.
 * @regs: The task's user registers, as it entered the kernel or as the
 *	interrupt found them.
 * @access: How user memory may be read here.
 *
 * Context: Any with UNWIND_USER_RESIDENT, else process context that may sleep, no
 * mmap_lock held.
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
		.reader = unwind_user_reader(access),
	};

	trace->nr = 0;
	if (!current->mm || !walk.word) {
		trace->end = UNWIND_USER_NO_STACK;
		return;
	}
	if (access != UNWIND_USER_RESIDENT)
		might_sleep();

	walk.end = UNWIND_USER_FULL;
	while (trace->nr < trace->max) {
		trace->entries[trace->nr++] = walk.ip;
		if (access == UNWIND_USER_FAULTABLE)
			cond_resched();
		if (!unwind_user_next(&walk))
			break;
	}
	trace->end = walk.end;
}
