// SPDX-License-Identifier: GPL-2.0
/*
 * Interprets the rules of .eh_frame, and knows which of them SFrame can express.
 *
 * A row of version 2 has two rules for the CFA (stack or frame pointer plus an offset), one
 * for the return address (CFA - 8) and two for the frame pointer (unchanged, or in memory
 * at the CFA plus an offset).  A flexible row of version 3 allows any register as the base of
 * each, and the word at the address as well as the address itself.  A private rule of split
 * tables adds a constant to this word, for the CFA only.  SFrame cannot express any other
 * computation.
 */
#include <dwarf.h>
#include <string.h>

#include "base/bytes.h"
#include "cfi/rule.h"

static const char * const cause_names[NUM_CAUSES] = {
	[CAUSE_NONE] = "none",
	[CAUSE_CFA_EXPRESSION] = "the CFA is computed",
	[CAUSE_CFA_REGISTER] = "the CFA's base is neither SP nor FP",
	[CAUSE_CFA_MEMORY] = "the CFA is read from memory",
	[CAUSE_RA_EXPRESSION] = "the return address is computed",
	[CAUSE_RA_PLACE] = "the return address is not at CFA - 8",
	[CAUSE_RA_UNCHANGED] = "the return address has no rule",
	[CAUSE_FP_EXPRESSION] = "FP's place is computed",
	[CAUSE_FP_PLACE] = "FP is not at an offset from the CFA",
	[CAUSE_FP_VALUE] = "FP is the CFA plus an offset",
	[CAUSE_FP_UNDEFINED] = "FP is undefined",
	[CAUSE_SP_RULE] = "the caller's SP is not the CFA",
	[CAUSE_SIGNAL] = "a signal frame cannot be marked",
	[CAUSE_TOO_FAR] = "the code is too far from the table",
	[CAUSE_TOO_LONG] = "the function is longer than 4 GiB",
	[CAUSE_NO_CODE] = "no executable segment holds the code",
	[CAUSE_OVERLAP] = "another function starts inside",
	[CAUSE_DAMAGED] = "the unwind instructions are damaged or unknown",
};

/**
 * cause_name() - put a cause into words
 * @cause:	The cause.
 *
 * Return: the words, which are not to be freed.
 */
const char *cause_name(enum cause cause)
{
	return cause_names[cause];
}

/*
 * Linkers describe a PLT by one expression.  A stub of 16 bytes pushes its number with an
 * instruction that ends at byte 11 (plain), 10 or 9 (with endbr64):
 * rsp + 8 + ((((rip & 15) >= 11)) << 3)
 */
static bool is_plt(const u8 *expr, size_t len)
{
	static const u8 head[] = {
		DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
	};
	static const u8 tail[] = {
		DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus,
	};

	return len == sizeof(head) + 1 + sizeof(tail) &&
	       !memcmp(expr, head, sizeof(head)) &&
	       expr[sizeof(head)] > DW_OP_lit0 &&
	       expr[sizeof(head)] <= DW_OP_lit15 &&
	       !memcmp(expr + sizeof(head) + 1, tail, sizeof(tail));
}

/* Parse the end of a CFA's expression after the dereference: at most a constant to add. */
static bool take_addend(struct bytes *in, s64 *add)
{
	*add = 0;
	if (bytes_left(in) && *in->at == DW_OP_plus_uconst) {
		in->at++;
		*add = get_uleb(in);
	}
	return !in->bad && !bytes_left(in) && *add == (s32)*add;
}

/* Parse the part before a dereference: a base, and constants added to it. */
static bool take_sum(struct bytes *in, u8 *base, s64 *offset)
{
	u64 constant;
	u8 op;

	while (bytes_left(in)) {
		op = in->at[0];
		if (op == DW_OP_deref)
			return true;
		in->at++;
		if (op >= DW_OP_breg0 && op <= DW_OP_breg16 && *base == REG_NONE) {
			*base = op - DW_OP_breg0;
			*offset = get_sleb(in);
		} else if (op == DW_OP_plus_uconst && *base != REG_NONE) {
			constant = get_uleb(in);
			if (constant > INT32_MAX || *offset > INT32_MAX)
				return false;
			*offset += constant;
		} else {
			return false;
		}
	}
	return true;
}

static const struct rule rule_other = { .kind = RULE_OTHER };

/**
 * rule_from_expression() - make a rule from a DWARF expression
 * @expr:	The expression's bytes.
 * @len:	Their number.
 * @kind:	What it computes.  The expression of a register starts with the CFA on its
 *		stack.
 *
 * Return: the rule; RULE_OTHER if SFrame cannot express it.
 */
struct rule rule_from_expression(const u8 *expr, size_t len,
				 enum expression kind)
{
	struct bytes in = { .at = expr, .end = expr + len };
	bool cfa = kind == EXPRESSION_CFA;
	bool deref = kind == EXPRESSION_ADDRESS;
	s64 offset = 0, add = 0;
	u8 base = REG_NONE;

	if (cfa && is_plt(expr, len))
		return (struct rule){
			.kind = RULE_PLT,
			.offset = expr[6] - DW_OP_lit0,
		};
	if (!cfa && bytes_left(&in) && *in.at == DW_OP_plus_uconst)
		base = REG_CFA;
	if (!take_sum(&in, &base, &offset) || in.bad || base == REG_NONE)
		return rule_other;
	if (bytes_left(&in)) {
		/* SFrame cannot express two dereferences. */
		if (deref)
			return rule_other;
		in.at++;
		if (cfa ? !take_addend(&in, &add) : bytes_left(&in) != 0)
			return rule_other;
		deref = true;
	}
	if (offset != (s32)offset)
		return rule_other;
	return (struct rule){
		.kind = deref ? RULE_MEMORY : RULE_VALUE,
		.base = base,
		.offset = offset,
		.add = add,
	};
}

static void rule_rebase(struct rule *rule, const struct rule *cfa)
{
	s64 offset = (s64)rule->offset - cfa->offset;

	if ((rule->kind == RULE_MEMORY || rule->kind == RULE_VALUE) &&
	    rule->base == cfa->base && offset == (s32)offset) {
		rule->base = REG_CFA;
		rule->offset = offset;
	}
}

/* Make a rule relative to the base of the CFA, not to the CFA. */
static bool rule_unbase(struct rule *rule, const struct rule *cfa)
{
	s64 offset = (s64)rule->offset + cfa->offset;

	if ((rule->kind != RULE_VALUE && rule->kind != RULE_MEMORY) ||
	    rule->base != REG_CFA)
		return true;
	if (cfa->kind != RULE_VALUE || offset != (s32)offset)
		return false;
	rule->base = cfa->base;
	rule->offset = offset;
	return true;
}

/*
 * SFrame's CFA is the caller's stack pointer.  In .eh_frame, the two differ in code that is
 * about to switch stacks, as in setcontext() and longjmp().  There the stack pointer's rule
 * replaces the CFA's.
 */
static void make_sp_the_cfa(struct row *row)
{
	struct row other = *row;

	if ((row->sp.kind != RULE_VALUE && row->sp.kind != RULE_MEMORY) ||
	    (row->sp.base == REG_CFA && !row->sp.offset))
		return;
	if (!rule_unbase(&other.sp, &row->cfa) ||
	    !rule_unbase(&other.ra, &row->cfa) ||
	    !rule_unbase(&other.fp, &row->cfa))
		return;
	other.cfa = other.sp;
	other.sp = (struct rule){ .kind = RULE_VALUE, .base = REG_CFA, .offset = 0 };
	*row = other;
}

/**
 * row_normalise() - make rules relative to the CFA where possible
 * @row: The row.
 *
 * If the CFA is %rbp + 16, a frame pointer at 0(%rbp) becomes one at CFA - 16.
 */
void row_normalise(struct row *row)
{
	if (rule_equal(&row->sp, &row->cfa))
		row->sp = (struct rule){ .kind = RULE_VALUE, .base = REG_CFA, .offset = 0 };
	make_sp_the_cfa(row);
	if (row->cfa.kind != RULE_VALUE)
		return;
	rule_rebase(&row->ra, &row->cfa);
	rule_rebase(&row->fp, &row->cfa);
	rule_rebase(&row->sp, &row->cfa);
}

static bool is_outermost(const struct row *row)
{
	return row->ra.kind == RULE_UNDEFINED;
}

static bool ra_is_default(const struct row *row)
{
	return row->ra.kind == RULE_MEMORY && row->ra.base == REG_CFA &&
	       row->ra.offset == -8;
}

/**
 * row_is_default() - whether a row of version 2, or a default one of version 3, can hold it
 * @row:	A row that row_cause() accepts for version 3.
 *
 * Return: whether the row needs no flexible row.
 */
bool row_is_default(const struct row *row)
{
	return row_cause(row, FORMAT_V2, false) == CAUSE_NONE;
}

/**
 * row_equal() - whether two rows have the same rules
 * @a:	A row.
 * @b:	Another row.
 *
 * Ignores where the rows start.
 *
 * Return: whether an unwinder does the same with both.
 */
bool row_equal(const struct row *a, const struct row *b)
{
	/* Unwinders ignore the other rules of an outermost frame. */
	if (is_outermost(a) && is_outermost(b))
		return true;
	return rule_equal(&a->cfa, &b->cfa) && rule_equal(&a->ra, &b->ra) &&
	       rule_equal(&a->fp, &b->fp);
}

static enum cause cfa_cause(const struct rule *cfa, enum format format)
{
	switch (cfa->kind) {
	case RULE_VALUE:
	case RULE_PLT:
		break;
	case RULE_MEMORY:
		if (format == FORMAT_V2)
			return cfa->add ? CAUSE_CFA_EXPRESSION : CAUSE_CFA_MEMORY;
		break;
	default:
		return CAUSE_CFA_EXPRESSION;
	}
	if (cfa->kind == RULE_PLT || cfa->base == REG_FP || cfa->base == REG_SP)
		return CAUSE_NONE;
	if (format == FORMAT_V2 || cfa->base >= REG_RA)
		return CAUSE_CFA_REGISTER;
	return CAUSE_NONE;
}

/* SFrame has no rules that are relative to the instruction's address. */
static bool is_sum(const struct rule *rule)
{
	return (rule->kind == RULE_VALUE || rule->kind == RULE_MEMORY) &&
	       rule->base != REG_RA;
}

static enum cause ra_cause(const struct row *row, enum format format)
{
	const struct rule *ra = &row->ra;

	if (ra_is_default(row))
		return CAUSE_NONE;
	if (ra->kind == RULE_SAME)
		return CAUSE_RA_UNCHANGED;
	if (!is_sum(ra))
		return CAUSE_RA_EXPRESSION;
	/* The control word of "CFA + offset" is that of "no rule". */
	if (format == FORMAT_V2 || row->cfa.kind == RULE_PLT ||
	    (ra->kind == RULE_VALUE && ra->base == REG_CFA))
		return CAUSE_RA_PLACE;
	return CAUSE_NONE;
}

static enum cause fp_cause(const struct row *row, enum format format)
{
	const struct rule *fp = &row->fp;

	switch (fp->kind) {
	case RULE_SAME:
		return CAUSE_NONE;
	case RULE_UNDEFINED:
		return CAUSE_FP_UNDEFINED;
	case RULE_VALUE:
		if (fp->base == REG_CFA)
			return CAUSE_FP_VALUE;
		break;
	case RULE_MEMORY:
		if (fp->base == REG_CFA)
			return CAUSE_NONE;
		break;
	default:
		return CAUSE_FP_EXPRESSION;
	}
	if (!is_sum(fp))
		return CAUSE_FP_EXPRESSION;
	if (format == FORMAT_V2 || row->cfa.kind == RULE_PLT)
		return CAUSE_FP_PLACE;
	return CAUSE_NONE;
}

/**
 * row_cause() - find out why a format cannot express a row
 * @row:	The row, normalised.
 * @format:	The format.
 * @signal:	The row belongs to a signal frame.
 *
 * Return: the first cause, or CAUSE_NONE if the format can express it.
 */
enum cause row_cause(const struct row *row, enum format format, bool signal)
{
	enum cause cause;

	if (is_outermost(row))
		return CAUSE_NONE;
	cause = cfa_cause(&row->cfa, format);
	if (!cause)
		cause = ra_cause(row, format);
	if (!cause)
		cause = fp_cause(row, format);
	if (!cause && (row->sp.kind != RULE_VALUE || row->sp.base != REG_CFA ||
		       row->sp.offset))
		cause = CAUSE_SP_RULE;
	if (!cause && signal && format == FORMAT_V2)
		cause = CAUSE_SIGNAL;
	return cause;
}
