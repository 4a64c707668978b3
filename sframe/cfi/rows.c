// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the call frame instructions of one function, and adds its rows.
 *
 * Four columns matter: the CFA, the return address, the frame pointer and the
 * stack pointer.  The instructions for others are parsed and ignored.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "cfi/rows.h"

/* Compilers do not nest remember_state deeper than 1; a deeper nest is hostile. */
#define MAX_REMEMBERED	64

/*
 * No machine has more registers.  libdw, which sframe check uses too, allocates all registers
 * below the highest that an instruction names.
 */
#define MAX_REGISTER	1023

enum column {
	COLUMN_CFA,
	COLUMN_RA,
	COLUMN_FP,
	COLUMN_SP,
	COLUMN_OTHER,		/* all registers that rows do not have */
	NUM_COLUMNS,
};

/*
 * How the CFA is given.  To replace its register or offset after an expression has no meaning in
 * DWARF.  libgcc goes on from before the expression, and libgcrypt relies on it; libdw has no CFA
 * from there on.
 */
enum cfa_kind { CFA_REGISTER, CFA_EXPRESSION, CFA_UNCLEAR };

struct columns {
	struct rule	rule[NUM_COLUMNS];
	enum cfa_kind	cfa;
};

struct run {
	const struct cfa_program *program;
	struct cfi	*cfi;
	struct columns	now;
	struct columns	initial;
	struct columns	remembered[MAX_REMEMBERED];
	unsigned int	num_remembered;
	u64		start;
	u64		size;
	u64		offset;		/* where the rules begin to hold */
	struct row	last;		/* the row that was added last */
	bool		noted;
	bool		in_cie;
	bool		bad;
};

static enum column column_of(u64 reg)
{
	switch (reg) {
	case REG_FP:
		return COLUMN_FP;
	case REG_SP:
		return COLUMN_SP;
	case REG_RA:
		return COLUMN_RA;
	default:
		return COLUMN_OTHER;
	}
}

/* Return @reg as the base of a rule, or REG_NONE for vector and invented registers. */
static u8 base_of(u64 reg)
{
	return reg < NUM_REGS ? reg : REG_NONE;
}

static void set_offset(struct rule *rule, u8 kind, u8 base, s64 offset)
{
	if (base == REG_NONE || offset != (s32)offset) {
		/* Valid, but a row cannot hold it. */
		*rule = (struct rule){ .kind = RULE_OTHER };
		return;
	}
	*rule = (struct rule){ .kind = kind, .base = base, .offset = offset };
}

static s64 run_factored(const struct run *run, s64 offset)
{
	s64 result;

	if (__builtin_mul_overflow(offset, run->program->data_align, &result))
		return INT64_MAX;
	return result;
}

/* Add a row for run->offset if its rules differ from the last row's. */
static void run_note_row(struct run *run)
{
	struct row row = {
		.start = run->offset,
		.cfa = run->now.rule[COLUMN_CFA],
		.ra = run->now.rule[COLUMN_RA],
		.fp = run->now.rule[COLUMN_FP],
		.sp = run->now.rule[COLUMN_SP],
	};

	if (run->now.cfa == CFA_UNCLEAR) {
		row.cfa = (struct rule){ .kind = RULE_OTHER };
		row.sp = row.cfa;
	}
	row_normalise(&row);
	if (run->noted && row_equal(&row, &run->last) &&
	    rule_equal(&row.sp, &run->last.sp))
		return;
	cfi_add_row(run->cfi, &row);
	run->last = row;
	run->noted = true;
}

static void run_advance(struct run *run, u64 delta)
{
	u64 bytes;

	if (__builtin_mul_overflow(delta, run->program->code_align, &bytes) ||
	    __builtin_add_overflow(run->offset, bytes, &bytes)) {
		run->bad = true;
		return;
	}
	if (bytes == run->offset)
		return;
	if (run->offset < run->size)
		run_note_row(run);
	run->offset = bytes;
}

static void run_set_location(struct run *run, struct bytes *in)
{
	u64 to;

	/* Compilers write this instruction only with absolute addresses. */
	if (run->program->encoding != DW_EH_PE_absptr) {
		run->bad = true;
		return;
	}
	to = get_fixed(in, 8) - run->start;
	if (to < run->offset)
		run->bad = true;
	else
		run_advance(run, (to - run->offset) / run->program->code_align);
}

/* Restore the CIE's rule.  Inside the CIE, the instruction has no meaning. */
static void run_restore(struct run *run, u64 reg)
{
	enum column column = column_of(reg);

	if (run->in_cie)
		run->bad = true;
	run->now.rule[column] = run->initial.rule[column];
}

static void run_remember(struct run *run)
{
	if (run->num_remembered == MAX_REMEMBERED)
		run->bad = true;
	else
		run->remembered[run->num_remembered++] = run->now;
}

static void run_recall(struct run *run)
{
	if (!run->num_remembered)
		run->bad = true;
	else
		run->now = run->remembered[--run->num_remembered];
}

static void set_expression(struct bytes *in, struct rule *rule, enum expression kind)
{
	u64 len = get_uleb(in);
	const u8 *expr = get_block(in, len);

	if (expr)
		*rule = rule_from_expression(expr, len, kind);
}

static void set_cfa(struct run *run, u8 base, s64 offset)
{
	set_offset(&run->now.rule[COLUMN_CFA], RULE_VALUE, base, offset);
	run->now.cfa = CFA_REGISTER;
}

/*
 * Whether the CFA is a register plus an offset, one of which may be replaced.  After an expression,
 * it is unclear from here on.
 */
static bool can_change_cfa(struct run *run)
{
	if (run->now.cfa != CFA_REGISTER)
		run->now.cfa = CFA_UNCLEAR;
	return run->now.cfa == CFA_REGISTER && run->now.rule[COLUMN_CFA].kind == RULE_VALUE;
}

static void set_cfa_base(struct run *run, u64 reg)
{
	if (can_change_cfa(run))
		set_cfa(run, base_of(reg), run->now.rule[COLUMN_CFA].offset);
}

static void set_cfa_offset(struct run *run, s64 offset)
{
	if (can_change_cfa(run))
		set_cfa(run, run->now.rule[COLUMN_CFA].base, offset);
}

static void run_cfa_insn(struct run *run, u8 op, struct bytes *in)
{
	u64 reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = get_uleb(in);
		set_cfa(run, base_of(reg), get_uleb(in));
		break;
	case DW_CFA_def_cfa_sf:
		reg = get_uleb(in);
		set_cfa(run, base_of(reg), run_factored(run, get_sleb(in)));
		break;
	case DW_CFA_def_cfa_register:
		set_cfa_base(run, get_uleb(in));
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa_offset(run, get_uleb(in));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_offset(run, run_factored(run, get_sleb(in)));
		break;
	case DW_CFA_def_cfa_expression:
		set_expression(in, &run->now.rule[COLUMN_CFA], EXPRESSION_CFA);
		run->now.cfa = CFA_EXPRESSION;
		break;
	}
}

static void run_register_insn(struct run *run, u8 op, struct bytes *in)
{
	u64 reg = get_uleb(in);
	struct rule *rule = &run->now.rule[column_of(reg)];

	if (reg > MAX_REGISTER) {
		run->bad = true;
		return;
	}
	switch (op) {
	case DW_CFA_offset_extended:
		set_offset(rule, RULE_MEMORY, REG_CFA,
			   run_factored(run, get_uleb(in)));
		break;
	case DW_CFA_offset_extended_sf:
		set_offset(rule, RULE_MEMORY, REG_CFA,
			   run_factored(run, get_sleb(in)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_offset(rule, RULE_MEMORY, REG_CFA,
			   run_factored(run, -(s64)get_uleb(in)));
		break;
	case DW_CFA_val_offset:
		set_offset(rule, RULE_VALUE, REG_CFA,
			   run_factored(run, get_uleb(in)));
		break;
	case DW_CFA_val_offset_sf:
		set_offset(rule, RULE_VALUE, REG_CFA,
			   run_factored(run, get_sleb(in)));
		break;
	case DW_CFA_register:
		set_offset(rule, RULE_VALUE, base_of(get_uleb(in)), 0);
		break;
	case DW_CFA_expression:
		set_expression(in, rule, EXPRESSION_ADDRESS);
		break;
	case DW_CFA_val_expression:
		set_expression(in, rule, EXPRESSION_VALUE);
		break;
	case DW_CFA_restore_extended:
		run_restore(run, reg);
		break;
	case DW_CFA_undefined:
		*rule = (struct rule){ .kind = RULE_UNDEFINED };
		break;
	case DW_CFA_same_value:
		*rule = (struct rule){ .kind = RULE_SAME };
		break;
	}
}

static void run_extended_insn(struct run *run, u8 op, struct bytes *in)
{
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		run_set_location(run, in);
		break;
	case DW_CFA_advance_loc1:
		run_advance(run, get_fixed(in, 1));
		break;
	case DW_CFA_advance_loc2:
		run_advance(run, get_fixed(in, 2));
		break;
	case DW_CFA_advance_loc4:
		run_advance(run, get_fixed(in, 4));
		break;
	case DW_CFA_remember_state:
		run_remember(run);
		break;
	case DW_CFA_restore_state:
		run_recall(run);
		break;
	case DW_CFA_GNU_args_size:
		*run->program->pops_arguments |= get_uleb(in);
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		run_cfa_insn(run, op, in);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
		run_register_insn(run, op, in);
		break;
	default:
		run->bad = true;
	}
}

static void run_insns(struct run *run, const u8 *start, const u8 *end)
{
	struct bytes in = { .at = start, .end = end };

	if (*run->program->budget < bytes_left(&in)) {
		run->bad = true;
		return;
	}
	*run->program->budget -= bytes_left(&in);

	while (bytes_left(&in) && !run->bad) {
		u8 op = get_fixed(&in, 1), low = op & 0x3f;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			run_advance(run, low);
			break;
		case DW_CFA_offset:
			set_offset(&run->now.rule[column_of(low)], RULE_MEMORY,
				   REG_CFA, run_factored(run, get_uleb(&in)));
			break;
		case DW_CFA_restore:
			run_restore(run, low);
			break;
		default:
			run_extended_insn(run, op, &in);
		}
		run->bad |= in.bad;
	}
}

/**
 * cfa_run() - add the rows of one function
 * @program:	Its instructions and those of its CIE.
 * @start:	Its address.
 * @size:	Its size in bytes, not 0.
 * @cfi:	Where to add the rows.
 *
 * Return: CAUSE_NONE, or why the function has no rows.
 */
enum cause cfa_run(const struct cfa_program *program, u64 start, u64 size,
		   struct cfi *cfi)
{
	struct run run = {
		.program = program,
		.cfi = cfi,
		.start = start,
		.size = size,
		.in_cie = true,
	};

	/* A CFA without a rule is not an unchanged register. */
	run.now.rule[COLUMN_CFA].kind = RULE_OTHER;
	run.now.rule[COLUMN_SP] = (struct rule){ .kind = RULE_VALUE, .base = REG_CFA, .offset = 0 };
	run_insns(&run, program->initial, program->initial_end);
	run.initial = run.now;
	run.in_cie = false;
	/* The CIE's instructions may not advance, or leave a state remembered. */
	if (run.offset || run.num_remembered)
		run.bad = true;
	if (!run.bad)
		run_insns(&run, program->insns, program->insns_end);
	if (run.bad)
		return CAUSE_DAMAGED;
	if (run.offset < run.size)
		run_note_row(&run);
	return CAUSE_NONE;
}
