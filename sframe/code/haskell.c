// SPDX-License-Identifier: GPL-2.0
/*
 * Adds rows for the code of GHC, the Haskell compiler, which makes no unwind information.
 *
 * Haskell code is entered by jumps, never returns, and has its own stack in rbp.  StgRun() of the
 * run-time system, in C's stack, saves C's registers, reserves room and jumps to Haskell code.
 * From there on, the stack pointer stands still, but for calls of C:
 *
 *	sub $8, %rsp
 *	...
 *	call function
 *	add $8, %rsp
 *
 * So all Haskell code has the row that StgRun() has at its jump.  The functions between the
 * innermost one and StgRun() are in Haskell's own stack, and are left out.
 *
 * Sources: rts/StgCRun.c and compiler/GHC/CmmToAsm/X86/CodeGen.hs of GHC 9.
 */
#include <string.h>

#include "code/haskell.h"

/* Room that StgRun() reserves for what Haskell code spills, at least */
#define MIN_RESERVED	4096
/* Instructions from the stack pointer's move to the call */
#define MAX_INSNS	32
/* Haskell code leaves by a jump at least once in so many bytes, on average; and so often. */
#define MAX_BLOCK	512
#define MIN_JUMPS	2

/*
 * mov %rsi, %r13; mov %rdi, %rax; jmp *%rax: StgRun() takes the registers of the Haskell machine
 * and a function, which it jumps to.
 */
static const u8 stg_jump[] = { 0x49, 0x89, 0xf5, 0x48, 0x89, 0xf8, 0xff, 0xe0 };
#define JUMP_SIZE	2

/* Find the row that StgRun() has at its jump.  Returns whether there is one. */
static bool find_row(const struct follow *follow, const struct cfi *cfi, struct row *row)
{
	for (size_t i = 0; i < cfi->num_functions; i++) {
		const struct function *function = &cfi->functions[i];
		const struct row *found;
		const u8 *bytes, *jump;
		u64 left;

		bytes = follow_bytes(follow, function->start, &left);
		if (!bytes || function->cause || !function->num_rows)
			continue;
		if (left > function->size)
			left = function->size;
		jump = memmem(bytes, left, stg_jump, sizeof(stg_jump));
		if (!jump)
			continue;
		found = cfi_row_at(cfi, function, function->start + (jump - bytes) +
				   sizeof(stg_jump) - JUMP_SIZE);
		if (found->cfa.kind != RULE_VALUE || found->cfa.base != REG_SP ||
		    found->cfa.offset < MIN_RESERVED || row_cause(found, FORMAT_V3, false))
			continue;
		*row = *found;
		return true;
	}
	return false;
}

/* Count jumps to what rbx or rbp point to, and to the collector: Haskell code ends so. */
static u64 count_jumps(const u8 *bytes, u64 size)
{
	u64 count = 0;

	for (u64 i = 1; i + 1 < size; i++) {
		if (bytes[i] != 0xff)
			continue;
		if (bytes[i + 1] == 0x23)
			count++;
		else if (bytes[i + 1] == 0x65 && i + 2 < size &&
			 (!bytes[i + 2] || bytes[i - 1] == 0x41))
			count++;
	}
	return count;
}

static bool is_haskell(const struct follow *follow, const struct range *range)
{
	u64 left, jumps, size = range->end - range->start;
	const u8 *bytes = follow_bytes(follow, range->start, &left);

	if (!bytes || left < size || size > UINT32_MAX)
		return false;
	jumps = count_jumps(bytes, size);
	return jumps >= MIN_JUMPS && jumps > size / MAX_BLOCK;
}

/*
 * Find the end of what @insn, which moves the stack pointer, begins: a call, and a move back.
 * Returns 0 if it does not look like that.
 */
static u64 find_back(struct follow *follow, u64 at, const struct insn *insn)
{
	struct insn next;
	bool called = false;

	at += insn->length;
	for (unsigned int i = 0; i < MAX_INSNS && follow_decode(follow, at, &next); i++) {
		at += next.length;
		if (called)
			return next.kind == INSN_ADD && next.to == GPR_SP &&
			       next.value == -insn->value ? at : 0;
		called = next.kind == INSN_CALL;
		if (!called && (next.kind >= INSN_LEAVE || next.kind == INSN_PUSH ||
				next.kind == INSN_POP || next.writes & 1 << GPR_SP))
			return 0;
	}
	return 0;
}

static void add_row(struct cfi *cfi, struct function *function, const struct row *row, u64 start,
		    s64 moved)
{
	struct row copy = *row;

	copy.start = start - function->start;
	copy.cfa.offset += moved;
	cfi->max_rows++;
	cfi_add_row(cfi, &copy);
	function->num_rows++;
}

static void add_function(struct follow *follow, struct cfi *cfi, const struct range *range,
			 const struct row *row)
{
	struct function function = {
		.start = range->start,
		.size = range->end - range->start,
		.first_row = cfi->num_rows,
		.followed = true,
	};
	struct insn insn;
	const u8 *bytes;
	u64 left, back;

	add_row(cfi, &function, row, range->start, 0);
	for (u64 at = range->start; at < range->end; at++) {
		bytes = follow_bytes(follow, at, &left);
		/* sub $..., %rsp */
		if (left < 3 || bytes[0] != 0x48 || (bytes[1] | 2) != 0x83 || bytes[2] != 0xec ||
		    !follow_decode(follow, at, &insn) || insn.kind != INSN_ADD ||
		    insn.value >= 0 || insn.value < row->cfa.offset - INT32_MAX)
			continue;
		back = find_back(follow, at, &insn);
		if (!back || back >= range->end)
			continue;
		add_row(cfi, &function, row, at + insn.length, -insn.value);
		add_row(cfi, &function, row, back, 0);
		at = back - 1;
	}
	cfi_add_function(cfi, &function);
}

/**
 * haskell_add() - add rows for the code of GHC
 * @follow:	The object's code.
 * @cfi:	From cfi_read().  What is added is not sorted.
 * @limits:	The text that it does not describe.  What is Haskell code becomes empty.
 *
 * Return: whether there is such code.
 */
bool haskell_add(struct follow *follow, struct cfi *cfi, struct ranges *limits)
{
	bool found = false;
	struct row row;

	if (!find_row(follow, cfi, &row))
		return false;
	for (size_t i = 0; i < limits->count; i++) {
		if (!is_haskell(follow, &limits->at[i]))
			continue;
		add_function(follow, cfi, &limits->at[i], &row);
		limits->at[i].end = limits->at[i].start;
		found = true;
	}
	return found;
}
