/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_STATE_H
#define _SFRAME_CODE_STATE_H

#include "cfi/rule.h"
#include "code/constants.h"
#include "code/insn.h"

/* No table has more entries. */
#define MAX_TABLE	65536

/* What is known of a value.  @number and @count of struct fact say more. */
enum value_kind {
	VALUE_UNKNOWN,
	VALUE_ENTRY,		/* what register @number had at the entry, or REG_RA */
	VALUE_CFA,		/* the CFA + @number */
	VALUE_ALIGNED,		/* the aligned stack pointer + @number */
	VALUE_CONSTANT,		/* @number */
	VALUE_CONSTANTS,	/* one of set @count of struct constant_sets */
	VALUE_BELOW,		/* an unsigned number below @count, times @number */
	VALUE_NARROW,		/* an unsigned number of @count bytes */
	VALUE_OFFSET,		/* one of the @count offsets of the table at address @number */
	VALUE_TARGET,		/* that table's address and such an offset */
	VALUE_SHORT,		/* one of the 2-byte offsets of the table at address @number */
	VALUE_SHORT_TARGET,	/* such an offset and the address that is @count before the table */
	VALUE_POINTER,		/* one of the @count words of the table at address @number */
	VALUE_OUTERMOST,	/* no return address, but what a program starts with */
};

/* Where a value is. */
enum place_kind {
	PLACE_REGISTER,		/* register @where */
	PLACE_CFA,		/* the word at the CFA + @where */
	PLACE_ALIGNED,		/* the word at the aligned stack pointer + @where */
	PLACE_CALLER,		/* wherever the caller has saved it; @where is 0 */
	PLACE_PART,		/* the lowest bytes of a register: see part_of() */
	PLACE_MEMORY,		/* memory at a register + @number, likewise */
	PLACE_COMPARED,		/* a part of a register was compared last, with @count */
	PLACE_COMPARED_MEMORY,	/* memory was, as PLACE_MEMORY has it */
	PLACE_COMPARED_PAIR,	/* two registers were: see pair_of(); the value says nothing */
};

/**
 * struct fact - a value that is known before an instruction
 * @place:	Where it is.
 * @kind:	What is known of it.
 * @where:	See enum place_kind.
 * @count:	See enum value_kind.
 * @number:	See enum value_kind.
 */
struct fact {
	u8	place;
	u8	kind;
	s32	where;
	u32	count;
	s64	number;
};

/* What does not fit is not known. */
#define STATE_MAX_FACTS	21

/**
 * struct state - what is known before an instruction
 * @facts:	Sorted by place; all bytes that are not used are zero.
 * @num_facts:	Their number.
 */
struct state {
	struct fact	facts[STATE_MAX_FACTS];
	u32		num_facts;
};

void state_enter(struct state *state, bool fp_saved);
void state_start(struct state *state);
void state_call(struct state *state, u16 writes);
void state_step(struct state *state, const struct insn *insn);
bool state_branch(struct state *state, const struct insn *insn, bool taken);
bool state_meet(struct state *state, const struct state *other, struct constant_sets *sets);
const struct fact *state_register(const struct state *state, u8 reg);
bool state_has_cfa(const struct state *state);
bool state_is_left(const struct state *state);
bool state_fp_saved(const struct state *state);
bool state_constants(const struct state *state, const struct insn *insn,
		     const struct constant_sets *sets, struct constants *constants);
bool state_table(const struct state *state, const struct insn *insn, struct fact *table);
bool state_row(const struct state *state, struct row *row);
bool state_has_rule(const struct state *state, const struct rule *rule, const struct fact *value,
		    bool *known);

#endif /* _SFRAME_CODE_STATE_H */
