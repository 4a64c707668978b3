/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_RULE_H
#define _SFRAME_RULE_H

#include <linux/types.h>

#include "base/sframe_file.h"

/* DWARF's register numbers */
#define REG_FP		6
#define REG_SP		7
#define REG_RA		16
#define NUM_REGS	17
/* Bases that are no registers: the CFA, and none that a rule can have. */
#define REG_CFA		0xfe
#define REG_NONE	0xff

enum rule_kind {
	RULE_SAME,		/* the register is unchanged */
	RULE_UNDEFINED,
	RULE_VALUE,		/* base + offset */
	RULE_MEMORY,		/* the word at base + offset */
	RULE_PLT,		/* sp + 8; from @offset of each stub on, sp + 16 */
	RULE_OTHER,		/* any other expression */
};

/**
 * struct rule - where a caller's register is found
 * @kind:	How to find it; see enum rule_kind.
 * @base:	A DWARF register or REG_CFA.
 * @offset:	The offset from @base.
 * @add:	Added to the word in memory; only for a CFA of RULE_MEMORY.
 */
struct rule {
	u8	kind;
	u8	base;
	s32	offset;
	s32	add;
};

/**
 * struct row - the rules that hold from an instruction on
 * @start:	Offset of the instruction in its function.
 * @cfa:	The caller's stack pointer.
 * @ra:		The return address.
 * @fp:		The caller's frame pointer.
 * @sp:		The caller's stack pointer by .eh_frame; the same as the CFA, usually.
 */
struct row {
	u32		start;
	struct rule	cfa;
	struct rule	ra;
	struct rule	fp;
	struct rule	sp;
};

/* Why code has no row in the table; names in cause_name(). */
enum cause {
	CAUSE_NONE,
	CAUSE_CFA_EXPRESSION,
	CAUSE_CFA_REGISTER,
	CAUSE_CFA_MEMORY,
	CAUSE_RA_EXPRESSION,
	CAUSE_RA_PLACE,
	CAUSE_RA_UNCHANGED,
	CAUSE_FP_EXPRESSION,
	CAUSE_FP_PLACE,
	CAUSE_FP_VALUE,
	CAUSE_FP_UNDEFINED,
	CAUSE_SP_RULE,
	CAUSE_SIGNAL,
	CAUSE_TOO_FAR,
	CAUSE_TOO_LONG,
	CAUSE_NO_CODE,
	CAUSE_OVERLAP,
	CAUSE_DAMAGED,
	NUM_CAUSES,
};

/* What a DWARF expression computes. */
enum expression {
	EXPRESSION_CFA,
	EXPRESSION_ADDRESS,	/* of the word with a register's value */
	EXPRESSION_VALUE,	/* a register's value */
};

static inline bool rule_equal(const struct rule *a, const struct rule *b)
{
	return a->kind == b->kind && a->base == b->base &&
	       a->offset == b->offset && a->add == b->add;
}

const char *cause_name(enum cause cause);
struct rule rule_from_expression(const u8 *expr, size_t len,
				 enum expression kind);
void row_normalise(struct row *row);
bool row_is_default(const struct row *row);
bool row_equal(const struct row *a, const struct row *b);
enum cause row_cause(const struct row *row, enum format format, bool signal);

#endif /* _SFRAME_RULE_H */
