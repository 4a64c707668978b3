// SPDX-License-Identifier: GPL-2.0
/* Rows and errors as texts, and what holds for each row. */
#include <errno.h>
#include <stdio.h>

#include "test.h"

static const struct {
	int		error;
	const char	*name;
} errors[] = {
	{ 0, "0" },
	{ -ENOENT, "-ENOENT" },
	{ -ENODATA, "-ENODATA" },
	{ -EOPNOTSUPP, "-EOPNOTSUPP" },
	{ -EBADMSG, "-EBADMSG" },
	{ -E2BIG, "-E2BIG" },
	{ -ENOMEM, "-ENOMEM" },
	{ -EINTR, "-EINTR" },
};

const char *test_error(int error)
{
	static char other[16];

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].error == error)
			return errors[i].name;
	snprintf(other, sizeof(other), "%d", error);
	return other;
}

static const char *base_text(u8 base)
{
	static const char * const names[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "fp", "sp",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		"cfa", "same", "unknown",
	};

	return base < ARRAY_SIZE(names) ? names[base] : "?";
}

static void rule_text(const struct sframe_rule *rule, char *to, size_t len)
{
	if (rule->base == SFRAME_BASE_SAME)
		snprintf(to, len, "same");
	else
		snprintf(to, len, rule->deref ? "*(%s%+d)" : "%s%+d",
			 base_text(rule->base), rule->offset);
}

static bool same_rule(const struct sframe_rule *a, const struct sframe_rule *b)
{
	if (a->base == SFRAME_BASE_SAME || b->base == SFRAME_BASE_SAME)
		return a->base == b->base;
	return a->base == b->base && a->offset == b->offset &&
	       a->deref == b->deref;
}

static bool in_frame(const struct sframe_rule *rule)
{
	return rule->base == SFRAME_BASE_CFA && rule->deref;
}

/* The rows of most functions are shown in short. */
static bool is_short(const struct sframe_row *row)
{
	return !row->cfa.deref && in_frame(&row->ra) &&
	       (row->fp.base == SFRAME_BASE_SAME || in_frame(&row->fp));
}

void test_row_text(int error, const struct sframe_row *row, char *to, size_t len)
{
	char cfa[32], ra[32], fp[32], add[16] = "";
	const char *mark;

	if (error) {
		snprintf(to, len, "%s", test_error(error));
		return;
	}
	mark = row->signal ? " signal" : row->followed ? " followed" : "";
	if (row->outermost) {
		snprintf(to, len, "outermost%s", mark);
		return;
	}
	rule_text(&row->cfa, cfa, sizeof(cfa));
	rule_text(&row->ra, ra, sizeof(ra));
	rule_text(&row->fp, fp, sizeof(fp));
	if (row->cfa_add)
		snprintf(add, sizeof(add), "%+d", row->cfa_add);
	if (!is_short(row))
		snprintf(to, len, "cfa=%s%s ra=%s fp=%s%s", cfa, add, ra, fp, mark);
	else if (row->fp.base != SFRAME_BASE_SAME)
		snprintf(to, len, "%s ra%+d fp%+d%s", cfa, row->ra.offset,
			 row->fp.offset, mark);
	else
		snprintf(to, len, "%s ra%+d%s", cfa, row->ra.offset, mark);
}

bool test_same_row(const struct sframe_row *a, const struct sframe_row *b)
{
	if (a->signal != b->signal || a->followed != b->followed)
		return false;
	if (a->outermost || b->outermost)
		return a->outermost == b->outermost;
	return same_rule(&a->cfa, &b->cfa) && a->cfa_add == b->cfa_add &&
	       same_rule(&a->ra, &b->ra) && same_rule(&a->fp, &b->fp);
}

bool test_same_found(const struct sframe_row *a, const struct sframe_row *b)
{
	return a->error == b->error && (a->error || test_same_row(a, b));
}

/* What sframe_row::plain says */
static bool is_plain_row(const struct sframe_row *row)
{
	return !row->outermost && !row->signal && !row->followed && !row->cfa.deref &&
	       (row->cfa.base == SFRAME_BASE_SP || row->cfa.base == SFRAME_BASE_FP) &&
	       in_frame(&row->ra) && row->ra.offset == -8 &&
	       (row->fp.base == SFRAME_BASE_SAME ||
		(in_frame(&row->fp) && row->fp.offset <= -16));
}

static bool is_walked(unsigned int base)
{
	return base == SFRAME_BASE_SP || base == SFRAME_BASE_FP;
}

static bool is_read(const struct sframe_rule *rule)
{
	return rule->deref && (is_walked(rule->base) || rule->base == SFRAME_BASE_CFA);
}

/* What sframe_row::direct says */
bool test_is_direct_row(const struct sframe_row *row)
{
	if (row->error || row->plain || row->outermost || row->signal || row->followed)
		return false;
	return is_walked(row->cfa.base) && is_read(&row->ra) &&
	       (is_read(&row->fp) || row->fp.base == SFRAME_BASE_SAME);
}

/* What row.h promises of every row without an error */
bool test_sound_row(const struct sframe_row *row)
{
	if (row->error || (row->plain && !is_plain_row(row)) ||
	    row->direct != test_is_direct_row(row))
		return false;
	if (row->outermost)
		return true;
	return row->cfa.base <= SFRAME_BASE_UNKNOWN &&
	       row->cfa.base != SFRAME_BASE_CFA &&
	       row->cfa.base != SFRAME_BASE_SAME &&
	       row->ra.base <= SFRAME_BASE_UNKNOWN &&
	       row->ra.base != SFRAME_BASE_SAME &&
	       row->fp.base <= SFRAME_BASE_UNKNOWN;
}
