// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the call frame instructions of one function and notes the rows.
 *
 * Four columns matter: the CFA, the return address, the frame pointer and the
 * stack pointer.  The instructions for others are parsed and forgotten.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "bytes.h"
#include "cfi.h"

/* Compilers nest remember_state once; the rest is a damaged file. */
#define MAX_REMEMBERED	64

/*
 * No machine has as many registers; libdw, which check asks too, makes room for
 * all below the highest that is named.
 */
#define MAX_REGISTER	1023

enum column {
	COLUMN_CFA,
	COLUMN_RA,
	COLUMN_FP,
	COLUMN_SP,
	COLUMN_OTHER,		/* all that nobody tracks */
	NUM_COLUMNS,
};

struct columns {
	struct rule	rule[NUM_COLUMNS];
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
	u64		offset;		/* of the instruction spoken of */
	struct row	last;		/* the row that was noted last */
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

/* A register as a base: vectors and numbers made up are none. */
static u8 base_of(u64 reg)
{
	return reg < NUM_REGS ? reg : REG_NONE;
}

static void set_offset(struct rule *rule, u8 kind, u8 base, s64 offset)
{
	if (base == REG_NONE || offset != (s32)offset) {
		/* Honest, but nothing that a row could hold. */
		*rule = (struct rule){ .kind = RULE_OTHER };
		return;
	}
	*rule = (struct rule){ .kind = kind, .base = base, .offset = offset };
}

static s64 factored(const struct run *run, s64 offset)
{
	s64 result;

	if (__builtin_mul_overflow(offset, run->program->data_align, &result))
		return INT64_MAX;
	return result;
}

/* Note the rules that hold from run->offset on, if they are others. */
static void note_row(struct run *run)
{
	struct row row = {
		.start = run->offset,
		.cfa = run->now.rule[COLUMN_CFA],
		.ra = run->now.rule[COLUMN_RA],
		.fp = run->now.rule[COLUMN_FP],
		.sp = run->now.rule[COLUMN_SP],
	};

	row_normalise(&row);
	if (run->noted && row_equal(&row, &run->last) &&
	    rule_equal(&row.sp, &run->last.sp))
		return;
	cfi_add_row(run->cfi, &row);
	run->last = row;
	run->noted = true;
}

static void advance(struct run *run, u64 delta)
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
		note_row(run);
	run->offset = bytes;
}

static void set_location(struct run *run, struct bytes *in)
{
	u64 to;

	/* Nobody writes it but for absolute addresses. */
	if (run->program->encoding != DW_EH_PE_absptr) {
		run->bad = true;
		return;
	}
	to = get_fixed(in, 8) - run->start;
	if (to < run->offset)
		run->bad = true;
	else
		advance(run, (to - run->offset) / run->program->code_align);
}

/* Back to the CIE's rule, which the CIE itself cannot mean. */
static void restore(struct run *run, u64 reg)
{
	enum column column = column_of(reg);

	if (run->in_cie)
		run->bad = true;
	run->now.rule[column] = run->initial.rule[column];
}

static void remember(struct run *run)
{
	if (run->num_remembered == MAX_REMEMBERED)
		run->bad = true;
	else
		run->remembered[run->num_remembered++] = run->now;
}

static void recall(struct run *run)
{
	if (!run->num_remembered)
		run->bad = true;
	else
		run->now = run->remembered[--run->num_remembered];
}

static void set_expression(struct run *run, struct bytes *in, struct rule *rule,
			   bool value)
{
	u64 len = get_uleb(in);
	const u8 *expr = get_block(in, len);
	bool cfa = rule == &run->now.rule[COLUMN_CFA];

	if (expr)
		*rule = rule_from_expression(expr, len, cfa, value);
}

static void change_cfa(struct run *run, bool reg, u64 value)
{
	struct rule *cfa = &run->now.rule[COLUMN_CFA];

	if (cfa->kind == RULE_OTHER)
		return;
	if (cfa->kind != RULE_VALUE)
		run->bad = true;
	else if (reg)
		set_offset(cfa, RULE_VALUE, base_of(value), cfa->offset);
	else
		set_offset(cfa, RULE_VALUE, cfa->base, value);
}

static void run_cfa_insn(struct run *run, u8 op, struct bytes *in)
{
	struct rule *cfa = &run->now.rule[COLUMN_CFA];
	u64 reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = get_uleb(in);
		set_offset(cfa, RULE_VALUE, base_of(reg), get_uleb(in));
		break;
	case DW_CFA_def_cfa_sf:
		reg = get_uleb(in);
		set_offset(cfa, RULE_VALUE, base_of(reg),
			   factored(run, get_sleb(in)));
		break;
	case DW_CFA_def_cfa_register:
		change_cfa(run, true, get_uleb(in));
		break;
	case DW_CFA_def_cfa_offset:
		change_cfa(run, false, get_uleb(in));
		break;
	case DW_CFA_def_cfa_offset_sf:
		change_cfa(run, false, factored(run, get_sleb(in)));
		break;
	case DW_CFA_def_cfa_expression:
		set_expression(run, in, cfa, true);
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
			   factored(run, get_uleb(in)));
		break;
	case DW_CFA_offset_extended_sf:
		set_offset(rule, RULE_MEMORY, REG_CFA,
			   factored(run, get_sleb(in)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_offset(rule, RULE_MEMORY, REG_CFA,
			   factored(run, -(s64)get_uleb(in)));
		break;
	case DW_CFA_val_offset:
		set_offset(rule, RULE_VALUE, REG_CFA,
			   factored(run, get_uleb(in)));
		break;
	case DW_CFA_val_offset_sf:
		set_offset(rule, RULE_VALUE, REG_CFA,
			   factored(run, get_sleb(in)));
		break;
	case DW_CFA_register:
		set_offset(rule, RULE_VALUE, base_of(get_uleb(in)), 0);
		break;
	case DW_CFA_expression:
		set_expression(run, in, rule, false);
		break;
	case DW_CFA_val_expression:
		set_expression(run, in, rule, true);
		break;
	case DW_CFA_restore_extended:
		restore(run, reg);
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
		set_location(run, in);
		break;
	case DW_CFA_advance_loc1:
		advance(run, get_fixed(in, 1));
		break;
	case DW_CFA_advance_loc2:
		advance(run, get_fixed(in, 2));
		break;
	case DW_CFA_advance_loc4:
		advance(run, get_fixed(in, 4));
		break;
	case DW_CFA_remember_state:
		remember(run);
		break;
	case DW_CFA_restore_state:
		recall(run);
		break;
	case DW_CFA_GNU_args_size:
		get_uleb(in);
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
			advance(run, low);
			break;
		case DW_CFA_offset:
			set_offset(&run->now.rule[column_of(low)], RULE_MEMORY,
				   REG_CFA, factored(run, get_uleb(&in)));
			break;
		case DW_CFA_restore:
			restore(run, low);
			break;
		default:
			run_extended_insn(run, op, &in);
		}
		run->bad |= in.bad;
	}
}

/**
 * cfa_run() - note the rows of one function
 * @program:	Its instructions and those of its CIE.
 * @start:	Its address.
 * @size:	Its bytes, not 0.
 * @cfi:	Where the rows go.
 *
 * Return: CAUSE_NONE, or why there are none.
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

	/* No rule yet is not "unchanged": nothing has called this function. */
	run.now.rule[COLUMN_CFA].kind = RULE_OTHER;
	run.now.rule[COLUMN_SP] = (struct rule){ RULE_VALUE, REG_CFA, 0 };
	run_insns(&run, program->initial, program->initial_end);
	run.initial = run.now;
	run.in_cie = false;
	/* What the CIE's instructions may not do: they speak of no address. */
	if (run.offset || run.num_remembered)
		run.bad = true;
	if (!run.bad)
		run_insns(&run, program->insns, program->insns_end);
	if (run.bad)
		return CAUSE_DAMAGED;
	if (run.offset < run.size)
		note_row(&run);
	return CAUSE_NONE;
}
