/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_INSN_H
#define _SFRAME_CODE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* General registers, by the number that instructions have for them */
enum {
	GPR_AX, GPR_CX, GPR_DX, GPR_BX, GPR_SP, GPR_BP, GPR_SI, GPR_DI,
	GPR_R8, GPR_R9, GPR_R10, GPR_R11, GPR_R12,
	NUM_GPRS = 16,
	GPR_NONE = 0xff,
};

/* Registers that functions do not keep, by the System V ABI */
#define CALLER_SAVED	(1 << GPR_AX | 1 << GPR_CX | 1 << GPR_DX | 1 << GPR_SI | 1 << GPR_DI | \
			 1 << GPR_R8 | 1 << GPR_R9 | 1 << GPR_R10 | 1 << GPR_R11)

/* What an instruction does, as far as it matters for the stack and for where code goes on. */
enum insn_kind {
	INSN_OTHER,		/* nothing but @writes and @memory */
	INSN_NOTHING,
	INSN_PUSH,		/* @from, or GPR_NONE for another value */
	INSN_POP,		/* to @to, or GPR_NONE for another place */
	INSN_ADD,		/* @to += @value */
	INSN_ADD_REGISTER,	/* @to += @from */
	INSN_AND,		/* @to &= @value */
	INSN_SET,		/* @to = @value */
	INSN_MOVE,		/* @to = @from, all 64 bits */
	INSN_MAYBE_MOVE,	/* @to = @from or unchanged, zero extended */
	INSN_EXTEND,		/* @to = the low bits of @from, zero or sign extended */
	INSN_ADDRESS,		/* @to = the address of @memory */
	INSN_LOAD,		/* @to = the word at @memory */
	INSN_LOAD_PART,		/* @to = fewer bytes at @memory, zero or sign extended */
	INSN_STORE,		/* the word at @memory = @from */
	INSN_EXCHANGE,		/* @to and @from */
	INSN_COMPARE,		/* @from, or @memory if that is GPR_NONE, with @value */
	INSN_COMPARE_REGISTERS,	/* @to with @from, all 64 bits */
	INSN_LEAVE,
	INSN_ENTER,		/* with @value bytes of locals */
	INSN_CALL,		/* to @target, if @has_target */
	INSN_JUMP,		/* to @target, if @has_target; else to @from, or as @memory says */
	INSN_BRANCH,		/* to @target or the next instruction */
	INSN_RETURN,		/* and pops @value bytes of arguments */
	INSN_STOP,		/* execution does not go on */
};

/* Conditions of INSN_BRANCH that tell something of a register which was compared */
enum condition {
	CONDITION_OTHER,
	CONDITION_ABOVE,
	CONDITION_ABOVE_EQUAL,
	CONDITION_BELOW,
	CONDITION_BELOW_EQUAL,
	CONDITION_EQUAL,
	CONDITION_UNEQUAL,
};

/**
 * struct memory - a memory operand
 * @size:	Its size in bytes; 0 if there is none.
 * @base:	The base register or GPR_NONE.
 * @index:	The index register or GPR_NONE.
 * @scale:	What the index is multiplied by.
 * @is_known:	Nothing but these makes the address: no segment, no narrow register.
 * @is_written:	The instruction writes it.
 * @offset:	The displacement; with neither base nor index the address.
 */
struct memory {
	u32	size;
	u8	base;
	u8	index;
	u8	scale;
	bool	is_known;
	bool	is_written;
	s64	offset;
};

/**
 * struct insn - a decoded instruction
 * @kind:	What it does.
 * @condition:	When an INSN_BRANCH is taken.
 * @length:	Its length in bytes.
 * @to:		The register that @kind writes, or compares.
 * @from:	The register that @kind reads.
 * @size:	How many bytes of @from INSN_EXTEND and INSN_COMPARE read, from the lowest one on.
 * @writes:	A bit for each general register that it writes.
 * @sets_flags:	It changes flags.
 * @zero_extends: INSN_EXTEND and INSN_LOAD_PART make the other bits of @to zero.
 * @has_target:	@target is known.
 * @value:	See enum insn_kind.
 * @target:	Where it goes.
 * @memory:	Its memory operand.
 */
struct insn {
	enum insn_kind	kind;
	enum condition	condition;
	u8		length;
	u8		to;
	u8		from;
	u8		size;
	u16		writes;
	bool		sets_flags;
	bool		zero_extends;
	bool		has_target;
	s64		value;
	u64		target;
	struct memory	memory;
};

/* Whether it pushes a register that functions keep */
static inline bool insn_saves(const struct insn *insn)
{
	return insn->kind == INSN_PUSH && insn->from != GPR_NONE &&
	       !(CALLER_SAVED & 1 << insn->from);
}

bool insn_decode(struct insn *insn, const u8 *bytes, size_t left, u64 address);

#endif /* _SFRAME_CODE_INSN_H */
