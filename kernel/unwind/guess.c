// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the callers of frames for which no table has a rule.
 *
 * Such code is made at run time, is written in assembly, or belongs to an object without
 * tables.  Much of it keeps frame pointers, and nothing else is known about it.  So the walk
 * follows frame pointers wherever they lead to code, as a walk without tables does.  What it
 * finds is not less than what such a walk finds.
 *
 * Guesses are read only where memory is resident, also by walks that may sleep: a word that
 * only looks like a frame pointer may lead to a file system that does not answer.
 */

#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include <asm/unwind_user.h>

#include "walk.h"

/* Number of words above the stack pointer that are looked at for a return address */
#define UNWIND_USER_SCAN	4
/*
 * What the guesses of one walk may cost, as a walk in NMI has to end soon on any stack.  The unit
 * is a read of a few words, some 70 instructions.
 */
#define UNWIND_USER_MAX_COST	1280
/* To read the words of a scan */
#define UNWIND_USER_COST_SCAN	2
/* To look at the code before a return address */
#define UNWIND_USER_COST_CALL	2
/* The same, and to look for its row */
#define UNWIND_USER_COST_RETURN	4
/* Number of bytes at the end of a mapping in which a signal trampoline need not fit */
#define UNWIND_USER_SPARE	(2 * sizeof(u64))
static_assert(UNWIND_USER_SPARE >= ARCH_UNWIND_SIGRETURN_LEN);
/* Maximum number of frame records that all calls of unwind_user_resume() may pass over */
#define UNWIND_USER_MAX_PASSED	1280
/* Maximum distance and number of frame records of callees that have returned */
#define UNWIND_USER_STALE_SIZE	SZ_64K
#define UNWIND_USER_STALE	16
/* Maximum number of times that a walk goes on with the chain of the innermost frame */
#define UNWIND_USER_RESUMED	8

/**
 * struct unwind_user_record - what a frame pointer points to
 * @fp:	The caller's frame pointer.
 * @ip:	The return address.
 * @sp:	The caller's stack pointer.
 */
struct unwind_user_record {
	u64	fp;
	u64	ip;
	u64	sp;
};

/**
 * unwind_user_find_bare() - find code without a table that the walk remembers
 * @walk: The walk.
 * @at: Address of an instruction.
 *
 * Context: As the walk.
 * Return: the addresses around @at, or NULL.
 */
const struct unwind_range *unwind_user_find_bare(const struct unwind_user_walk *walk,
						 unsigned long at)
{
	const struct unwind_range *bare = walk->bare;
	const struct unwind_range *end = bare + min(walk->met_bare, UNWIND_USER_BARE);

	for (; bare < end; bare++)
		if (unwind_in_range(bare, at))
			return bare;
	return NULL;
}

/**
 * unwind_user_add_bare() - remember code without a table
 * @walk: The walk, which has found no table for @at.
 * @at: Address of an instruction.
 *
 * Context: As the walk.
 * Return: the addresses around @at in the walk's gap and its mapping of code, without the last
 * bytes of that; NULL if nothing is known but of @at.
 */
const struct unwind_range *unwind_user_add_bare(struct unwind_user_walk *walk, unsigned long at)
{
	const struct unwind_range *gap = &walk->tables.gap, *mapping = walk->code;
	struct unwind_range *bare = &walk->bare[walk->met_bare % UNWIND_USER_BARE];
	unsigned long start = max(gap->start, mapping->start);
	unsigned long end = min(gap->start + gap->size,
				mapping->start + mapping->size - UNWIND_USER_SPARE);

	if (gap->size == 1 || mapping->size < UNWIND_USER_SPARE || at < start || at >= end)
		return NULL;
	*bare = (struct unwind_range){ start, end - start };
	walk->met_bare++;
	return bare;
}

/* Whether the walk has spent on guesses what it may. */
static bool unwind_user_is_spent(const struct unwind_user_walk *walk)
{
	return walk->cost > UNWIND_USER_MAX_COST;
}

/*
 * Whether the walk may do what costs as much as @cost reads.  If not, it looks at no more words
 * for evidence, and goes on as a walk without tables does: by frame pointers that lead to code.
 */
static bool unwind_user_spend(struct unwind_user_walk *walk, unsigned int cost)
{
	walk->cost += cost;
	return !unwind_user_is_spent(walk);
}

/*
 * Decode the instruction before @ip, see unwind_call_before().  If the walk may spend no more, no
 * call is found.
 */
static enum unwind_call unwind_user_call_before(struct unwind_user_walk *walk,
						unsigned long ip, unsigned long *target)
{
	if (!unwind_user_spend(walk, UNWIND_USER_COST_CALL))
		return UNWIND_CALL_NONE;
	return unwind_call_before(walk->code, ip, target);
}

/* Read @nr stack words at @from, widened to 64 bits, if they are resident. */
static bool unwind_user_read_guess(const struct unwind_user_walk *walk, u64 *words,
				   unsigned long from, unsigned int nr)
{
	u32 narrow[2];

	if (from >= TASK_SIZE_MAX || !IS_ALIGNED(from, walk->word))
		return false;
	if (walk->word == sizeof(u64))
		return unwind_read_resident(words, from, nr * sizeof(u64));
	if (!unwind_read_resident(narrow, from, nr * sizeof(u32)))
		return false;
	while (nr--)
		words[nr] = narrow[nr];
	return true;
}

/* Read the frame record at @fp.  Returns false if there is none. */
static bool unwind_user_read_record(const struct unwind_user_walk *walk, unsigned long fp,
				    struct unwind_user_record *record)
{
	unsigned long slot = fp + walk->word;
	u64 words[2];

	if (!unwind_user_read_guess(walk, words, fp, 2))
		return false;
	*record = (struct unwind_user_record){
		.fp = words[0],
		.ip = unwind_user_true_return(words[1], slot),
		.sp = slot + walk->word,
	};
	return true;
}

static bool unwind_user_is_sigreturn_at(struct unwind_user_walk *walk, unsigned long start)
{
	u8 code[ARCH_UNWIND_SIGRETURN_LEN];
	u64 word;

	/* The first word tells nearly all other code. */
	return unwind_is_code(walk->code, start) &&
	       unwind_is_code(walk->code, start + sizeof(code) - 1) &&
	       unwind_read_resident(&word, start, sizeof(word)) &&
	       word == ARCH_UNWIND_SIGRETURN_WORD &&
	       unwind_read_resident(code, start, sizeof(code)) &&
	       !memcmp(code, ARCH_UNWIND_SIGRETURN_CODE, sizeof(code));
}

/* Whether the frame is that of a signal trampoline without a row. */
bool unwind_user_is_sigreturn(struct unwind_user_walk *walk)
{
	if (walk->word != sizeof(u64))
		return false;
	if (unwind_user_is_sigreturn_at(walk, walk->ip))
		return true;
	/* The trampoline has two instructions: @ip may be at the second, or after it. */
	return walk->exact &&
	       (unwind_user_is_sigreturn_at(walk, walk->ip - ARCH_UNWIND_SIGRETURN_SYSCALL) ||
		unwind_user_is_sigreturn_at(walk, walk->ip - ARCH_UNWIND_SIGRETURN_LEN));
}

/*
 * Step to the frame that a signal interrupted.  A call through a bad pointer leads to no code;
 * then step to the frame of that call.  Returns false, with @walk->end set, if there is none.
 */
bool unwind_user_step_interrupted(struct unwind_user_walk *walk, unsigned long ip,
				  unsigned long sp, unsigned long fp)
{
	unsigned long target;
	u64 ra;

	walk->fp_saved = false;
	walk->regs = NULL;
	walk->sigframe = 0;
	if (unwind_is_code(walk->code, ip)) {
		unwind_user_step(walk, ip, sp, fp);
		walk->low = sp;
		walk->exact = true;
		return true;
	}
	if (!unwind_user_read_guess(walk, &ra, sp, 1) ||
	    unwind_call_before(walk->code, ra, &target) == UNWIND_CALL_NONE)
		return unwind_user_stop(walk, UNWIND_USER_CORRUPT);
	unwind_user_step(walk, ra, sp + walk->word, fp);
	return true;
}

/*
 * The frame belongs to a signal trampoline, which the handler returns to.  Its caller is the
 * code that the signal interrupted, perhaps on another stack.
 */
bool unwind_user_next_signal(struct unwind_user_walk *walk)
{
	unsigned long from = walk->sp;
	u64 ip, sp, fp;

	if (unwind_user_read_word(walk, &ip, from + ARCH_UNWIND_SIGFRAME_IP) ||
	    unwind_user_read_word(walk, &sp, from + ARCH_UNWIND_SIGFRAME_SP) ||
	    unwind_user_read_word(walk, &fp, from + ARCH_UNWIND_SIGFRAME_FP))
		return unwind_user_stop(walk, UNWIND_USER_FAULT);
	if (!unwind_user_step_interrupted(walk, ip, sp, fp))
		return false;
	walk->fp_error = 0;
	if (!walk->exact)
		return true;
	walk->sigframe = from;
	walk->own = true;
	return unwind_user_leave_trampoline(walk);
}

/*
 * Whether a word beside a frame pointer may be a return address, see unwind_user_may_return().  A
 * walk that may spend no more accepts any address of code.  After a scan it accepts none: without
 * this check, a wrong scan would add functions that never called each other.
 */
static bool unwind_user_guess_may_return(struct unwind_user_walk *walk, unsigned long ip)
{
	if (!unwind_user_is_spent(walk))
		return unwind_user_may_return(walk, ip);
	return !walk->scanned && unwind_is_code(walk->code, ip - 1);
}

/*
 * Whether a word may be a return address.  Compilers return only behind a call, so code with a
 * table needs one.  Interpreters and JIT compilers push return addresses that no call stands
 * before.
 */
bool unwind_user_may_return(struct unwind_user_walk *walk, unsigned long ip)
{
	unsigned long target;
	struct sframe_row row;
	int ret;

	/* Tables exist for 64-bit code only. */
	if (walk->word != sizeof(u64))
		return unwind_is_code(walk->code, ip);
	/* A signal trampoline may be the first code of its mapping. */
	if (!unwind_is_code(walk->code, ip - 1))
		return unwind_user_is_sigreturn_at(walk, ip);
	walk->cost += UNWIND_USER_COST_RETURN;
	ret = unwind_user_find_row(walk, ip - 1, &row);
	if (ret && ret != -ENODATA)
		return true;
	return unwind_call_before(walk->code, ip, &target) != UNWIND_CALL_NONE ||
	       unwind_user_is_sigreturn_at(walk, ip);
}

/* Step to the caller that @record leads to. */
static bool unwind_user_step_record(struct unwind_user_walk *walk,
				    const struct unwind_user_record *record)
{
	unwind_user_step(walk, record->ip, record->sp, record->fp);
	walk->fp_error = 0;
	walk->fp_saved = true;
	walk->by_fp = true;
	return true;
}

/*
 * Whether a word on the stack can be the return address of the current frame.  @call is the
 * instruction before that address, @target what it calls.  Stale return addresses of earlier
 * calls follow a call as well, so a direct call has to target the code of this frame.
 */
static bool unwind_user_calls_here(struct unwind_user_walk *walk, enum unwind_call call,
				   unsigned long target)
{
	return call == UNWIND_CALL_INDIRECT ||
	       (call == UNWIND_CALL_DIRECT && target <= walk->ip &&
		unwind_is_code(walk->code, walk->ip) && unwind_in_range(walk->code, target));
}

/*
 * Scan for the return address of a frame that keeps no frame pointer.  In a small frame, such
 * as that of a trampoline made at run time, it is the first return address on the stack.  If
 * the scan finds none, the walk ends with @end.
 */
static bool unwind_user_next_scanned(struct unwind_user_walk *walk, enum unwind_user_end end)
{
	unsigned long slot = walk->sp, ip, target;
	u64 words[UNWIND_USER_SCAN];
	enum unwind_call call;
	unsigned int i;

	if (walk->word != sizeof(u64) || !unwind_user_spend(walk, UNWIND_USER_COST_SCAN) ||
	    !unwind_user_read_guess(walk, words, slot, UNWIND_USER_SCAN))
		return unwind_user_stop(walk, end);
	for (i = 0; i < UNWIND_USER_SCAN; i++, slot += sizeof(u64)) {
		ip = unwind_user_true_return(words[i], slot);
		call = unwind_user_call_before(walk, ip, &target);
		if (!unwind_user_calls_here(walk, call, target))
			continue;
		if (!walk->scanned) {
			walk->certain.sp = walk->sp;
			walk->certain.low = walk->low;
			walk->certain.fp = walk->fp;
			walk->certain.fp_error = walk->fp_error;
			walk->certain.fp_saved = walk->fp_saved;
			walk->certain.end = end;
		}
		walk->scanned = true;
		walk->checked = 0;
		unwind_user_step(walk, ip, slot + sizeof(u64), walk->fp);
		return true;
	}
	return unwind_user_stop(walk, end);
}

/*
 * Look for a direct call of the current function.  Where the function's prologue says that the
 * return address is, this is better evidence than the frame pointer: a function that keeps
 * none leaves its caller's in the register, and would hide the caller.
 */
static bool unwind_user_next_called(struct unwind_user_walk *walk)
{
	unsigned long slot = walk->sp, ip, target;
	u64 words[UNWIND_USER_SCAN];
	unsigned int i;

	if (!unwind_is_code(walk->code, walk->ip) ||
	    !unwind_user_read_guess(walk, words, slot, UNWIND_USER_SCAN))
		return false;
	for (i = 0; i < UNWIND_USER_SCAN; i++, slot += sizeof(u64)) {
		ip = unwind_user_true_return(words[i], slot);
		/* A direct call comes from the same mapping, which saves a look at all others. */
		if (!unwind_in_range(walk->code, ip - 1) ||
		    unwind_user_call_before(walk, ip, &target) != UNWIND_CALL_DIRECT ||
		    !unwind_in_range(walk->code, target) ||
		    unwind_pushed(target, walk->ip) != slot - walk->sp)
			continue;
		unwind_user_step(walk, ip, slot + sizeof(u64), walk->fp);
		return true;
	}
	return false;
}

/* Go to the caller by @record, if it is a frame record.  If not, scan or end with @end. */
static bool unwind_user_next_record(struct unwind_user_walk *walk,
				    const struct unwind_user_record *record,
				    enum unwind_user_end end)
{
	/* A return address of 0 marks the outermost frame, unless this is no frame at all. */
	if (!record->ip && walk->fp_saved)
		end = UNWIND_USER_COMPLETE;
	if (!record->ip || !unwind_user_guess_may_return(walk, record->ip)) {
		walk->no_record = true;
		return unwind_user_next_scanned(walk, end);
	}
	return unwind_user_step_record(walk, record);
}

/*
 * Whether the frame pointer, which is below the stack pointer, leads to a frame that is done
 * with, and its chain back to the frames of the stack.  If so, replace the frame pointer by the
 * first one of these.  Such a frame is that of a callee that has returned; or the walk has been
 * to it (@seen), as the rows of all frames since say nothing about the frame pointer.
 */
static bool unwind_user_skip_stale(struct unwind_user_walk *walk, bool *seen)
{
	struct unwind_user_record record;
	unsigned long fp = walk->fp;
	bool near = !walk->scanned && walk->sp - fp <= UNWIND_USER_STALE_SIZE;
	unsigned int i;

	if ((!near && fp < walk->low) || !unwind_user_find_stack(walk, walk->sp))
		return false;
	*seen = fp >= walk->low && unwind_in_range(&walk->stack, walk->low);
	if (!near && !*seen)
		return false;
	for (i = 0; *seen || i < UNWIND_USER_STALE; i++) {
		if (!unwind_user_spend(walk, 1))
			return false;
		if (!unwind_in_range(&walk->stack, fp) ||
		    !unwind_user_read_record(walk, fp, &record) ||
		    !unwind_user_guess_may_return(walk, record.ip))
			return false;
		fp = record.fp;
		if (fp < walk->sp)
			continue;
		if (!unwind_in_range(&walk->stack, fp))
			return false;
		walk->fp = fp;
		walk->fp_saved = true;
		return true;
	}
	return false;
}

/*
 * Whether @record may be two words of data: the register leads to another mapping than the
 * stack, and no call stands before the return address.  Code made at run time is full of
 * tables with addresses of code, and its callers use the register as they like.
 */
static bool unwind_user_is_doubtful(struct unwind_user_walk *walk,
				    const struct unwind_user_record *record)
{
	unsigned long target;

	return !walk->by_fp && !walk->scanned && record->ip && !unwind_user_is_spent(walk) &&
	       unwind_user_find_stack(walk, walk->sp) &&
	       !unwind_in_range(&walk->stack, walk->fp) &&
	       unwind_user_may_return(walk, record->ip) &&
	       unwind_user_call_before(walk, record->ip, &target) == UNWIND_CALL_NONE;
}

/* Go to the caller by the frame pointer, or by a scan if that leads to no frame record. */
static bool unwind_user_next_fp(struct unwind_user_walk *walk)
{
	enum unwind_user_end end = walk->no_table ? UNWIND_USER_NO_TABLE : UNWIND_USER_NO_ROW;
	struct unwind_user_record record;
	bool lower, seen = false;

	if (walk->fp_error)
		return unwind_user_next_scanned(walk, unwind_user_end_of(walk->fp_error));
	if (walk->no_record)
		return unwind_user_next_scanned(walk, end);
	/* By the psABI, a frame pointer of 0 marks the outermost frame. */
	if (!walk->fp)
		return unwind_user_next_scanned(walk, walk->fp_saved ? UNWIND_USER_COMPLETE : end);
	lower = walk->fp < walk->sp && !unwind_user_skip_stale(walk, &seen);
	/* A program may have switched to a stack that is further up than that of the caller. */
	if (lower && (seen || walk->switches >= UNWIND_USER_SWITCHES))
		return unwind_user_next_scanned(walk, end);
	if (!unwind_user_read_record(walk, walk->fp, &record)) {
		walk->no_record = true;
		return unwind_user_next_scanned(walk, end);
	}
	if (unwind_user_is_doubtful(walk, &record) && unwind_user_next_scanned(walk, end)) {
		walk->doubted = walk->certain.fp;
		return true;
	}
	walk->switches += lower;
	return unwind_user_next_record(walk, &record, end);
}

/*
 * A uprobe hit the first instruction of a function that is about to save the frame pointer.
 * The register still has the caller's frame pointer, and the return address is at the stack
 * pointer.  Returns false if there is none.
 */
static bool unwind_user_next_at_entry(struct unwind_user_walk *walk)
{
	u64 ip;

	if (!unwind_user_read_guess(walk, &ip, walk->sp, 1))
		return false;
	ip = unwind_user_true_return(ip, walk->sp);
	if (!ip || !unwind_user_may_return(walk, ip))
		return false;
	unwind_user_step(walk, ip, walk->sp + walk->word, walk->fp);
	return true;
}

/**
 * unwind_user_guess() - go to the caller of a frame without a rule
 * @walk: The walk; its frame is not a signal trampoline.
 *
 * Context: As the walk.
 * Return: false, with @walk->end set, if no caller was found.
 */
bool unwind_user_guess(struct unwind_user_walk *walk)
{
	if (unwind_user_is_innermost(walk) && arch_unwind_user_at_entry(walk->regs) &&
	    unwind_user_next_at_entry(walk))
		return true;
	/*
	 * Where a frame pointer led to the frame, the next one is taken for good.  After a scan,
	 * all is guessed, and a hostile stack must not make each guess twice as expensive.
	 */
	if (walk->word == sizeof(u64) && !walk->by_fp && !walk->scanned &&
	    !unwind_user_is_spent(walk) && unwind_user_next_called(walk))
		return true;
	return unwind_user_next_fp(walk);
}

/*
 * Find the first record above the walk's frame in the chain of frame pointers that begins in
 * the innermost frame.  Returns its address, or 0.  @saved is set if another record led to it.
 */
static unsigned long unwind_user_find_record(struct unwind_user_walk *walk, unsigned int max,
					     bool *saved)
{
	unsigned long fp = walk->leaf_fp, last = 0, found = 0;
	struct unwind_user_record record;
	bool inside, was_inside = false;
	unsigned int i;

	/* If the stack pointer is in no mapping, as after an overflow, the range is empty. */
	unwind_user_find_stack(walk, walk->sp);
	for (i = 0; i < max && walk->stack.size && walk->passed < UNWIND_USER_MAX_PASSED; i++) {
		walk->passed++;
		inside = unwind_in_range(&walk->stack, fp);
		/*
		 * The walk has been to this record and those before: its stack pointer is
		 * behind the record, or it has gone on with it already.
		 */
		if (fp == walk->sp - 2 * walk->word || fp == walk->resumed_at) {
			found = 0;
		} else if (!found && (inside ? fp >= walk->sp || (was_inside && fp <= last) :
					       was_inside)) {
			/* It is above the frame, or on the stack of its caller. */
			found = fp;
			*saved = i;
		}
		if (!unwind_user_read_record(walk, fp, &record) || !record.fp)
			break;
		was_inside = inside;
		last = fp;
		fp = record.fp;
	}
	/* The rest of the chain may lead to a record that the walk has used already. */
	if (walk->passed >= UNWIND_USER_MAX_PASSED)
		found = 0;
	walk->resumed_at = found;
	if (found)
		return found;
	*saved = walk->fp_saved;
	return !walk->fp_error && walk->fp >= walk->sp ? walk->fp : 0;
}

/**
 * unwind_user_resume() - go on with a walk that has ended early
 * @walk: The walk.  If it has guessed by scans, it has been cut back to the frame before them.
 * @max: Maximum number of frame records to look at.
 *
 * A walk without tables follows the frame pointer of the innermost frame.  Go on with that
 * chain, above the frames that this walk has found.  A record that the walk passed over for a
 * scan that has led nowhere comes first.
 *
 * Context: As the walk.
 * Return: true if the walk is at another frame now.
 */
bool unwind_user_resume(struct unwind_user_walk *walk, unsigned int max)
{
	struct unwind_user_record record;
	unsigned long fp;
	bool saved = false;

	if (walk->resumed++ >= UNWIND_USER_RESUMED)
		return false;
	fp = walk->doubted ?: unwind_user_find_record(walk, max, &saved);
	walk->doubted = 0;
	if (!fp || !unwind_user_read_record(walk, fp, &record))
		return false;
	/* A walk without tables goes on above words that are no return addresses. */
	while (record.ip && !unwind_user_guess_may_return(walk, record.ip)) {
		if (record.fp <= fp || ++walk->passed >= UNWIND_USER_MAX_PASSED)
			return false;
		fp = record.fp;
		saved = false;
		if (!unwind_user_read_record(walk, fp, &record))
			return false;
	}
	if (!record.ip) {
		if (saved)
			walk->end = UNWIND_USER_COMPLETE;
		return false;
	}
	if (record.sp <= walk->sp && walk->switches++ >= UNWIND_USER_SWITCHES)
		return false;
	return unwind_user_step_record(walk, &record);
}

/*
 * Whether the instruction at @at is in code and has no row, and a trampoline that begins there lies
 * in the same mapping.  If the walk remembers the code around @at, set @bare to that.
 */
static bool unwind_user_is_bare(struct unwind_user_walk *walk, struct unwind_range *bare,
				unsigned long at)
{
	struct sframe_cursor *tables = &walk->tables;
	const struct unwind_range *known = NULL;

	if (!sframe_is_at(tables, at))
		known = unwind_user_find_bare(walk, at);
	if (!known) {
		if (at >= TASK_SIZE_MAX)
			return false;
		if (!sframe_is_at(tables, at) && !sframe_is_in_gap(tables, at) &&
		    !sframe_recall(tables, at))
			unwind_user_search(walk, at);
		if (!unwind_is_code(walk->code, at) ||
		    !unwind_in_range(walk->code, at + UNWIND_USER_SPARE))
			return false;
		if (sframe_is_at(tables, at))
			return !sframe_has_row(tables, at);
		known = unwind_user_add_bare(walk, at);
	}
	if (known)
		*bare = *known;
	return true;
}

/**
 * unwind_user_walk_records() - follow frame pointers through code without rows
 * @walk: The walk, at a frame that a frame pointer led to.  Its caller holds RCU and has page
 *	faults disabled.
 * @trace: Frames are stored here.
 *
 * This does the same as unwind_user_guess() for each frame, but counts no cost, and leaves all
 * that is not simple to it.  The frame at which it stops has been checked, but not been stored.
 *
 * Context: Any, NMI included.
 */
void unwind_user_walk_records(struct unwind_user_walk *walk, struct unwind_user_trace *trace)
{
	unsigned long ip = walk->ip, sp = walk->sp, fp = walk->fp, next_ip, next_fp, word;
	u64 *entry = trace->entries + trace->nr;
	u64 *const end = trace->entries + trace->max;
	struct unwind_range bare = { };

	if (walk->word != sizeof(u64) || walk->scanned || unwind_user_has_uretprobes() ||
	    !unwind_user_is_bare(walk, &bare, ip - 1))
		return;
	while (entry < end && fp >= sp && IS_ALIGNED(fp, sizeof(u64))) {
		if (!user_read_access_begin((void __user *)fp, 2 * sizeof(u64)))
			break;
		unsafe_get_user(next_fp, (unsigned long __user *)fp, fault);
		unsafe_get_user(next_ip, (unsigned long __user *)(fp + sizeof(u64)), fault);
		unsafe_get_user(word, (unsigned long __user *)ip, fault);
		user_read_access_end();
		if (word == ARCH_UNWIND_SIGRETURN_WORD ||
		    (!unwind_in_range(&bare, next_ip - 1) &&
		     !unwind_user_is_bare(walk, &bare, next_ip - 1)))
			break;
		*entry++ = ip;
		ip = next_ip;
		sp = fp + 2 * sizeof(u64);
		fp = next_fp;
	}
	goto out;
fault:
	user_read_access_end();
out:
	trace->nr = entry - trace->entries;
	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
}
