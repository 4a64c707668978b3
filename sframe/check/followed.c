// SPDX-License-Identifier: GPL-2.0
/*
 * Compares what following the code yields with .eh_frame: the proof that following is right.
 *
 * .eh_frame is not always right itself: hand-written code pushes registers and moves the stack
 * pointer without a rule for it.  So each function's rules are compared with single instructions
 * first, which needs no following.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/text.h"
#include "check/followed.h"
#include "check/handlers.h"
#include "code/follow.h"

/* The worse ones last */
enum verdict {
	VERDICT_NONE,		/* some way leads there, but what is known makes no row */
	VERDICT_EQUAL,
	VERDICT_OTHERWISE,	/* equal, but the rules name different registers */
	VERDICT_OPEN,
	VERDICT_DIFFERING,
};

/**
 * struct judged - an instruction that some way leads to
 * @address:	Its address.
 * @verdict:	How its row compares.
 * @row:	If it differs, the index of the row that follows from the code.
 */
struct judged {
	u64		address;
	enum verdict	verdict;
	u32		row;
};

/**
 * struct comparison - the comparison of one object
 * @cfi:	Its .eh_frame.
 * @follow:	Its code.
 * @judged:	The instructions that some way leads to.
 * @num_judged:	Their number.
 * @room_judged: How many @judged has room for.
 * @rows:	Rows that differ.
 * @num_rows:	Their number.
 * @room_rows:	How many @rows has room for.
 * @verbose:	Print rows that differ.
 * @name:	The object's name.
 * @tally:	The result.
 */
struct comparison {
	const struct cfi	*cfi;
	struct follow		*follow;
	struct judged		*judged;
	size_t			num_judged;
	size_t			room_judged;
	struct row		*rows;
	size_t			num_rows;
	size_t			room_rows;
	bool			verbose;
	const char		*name;
	struct followed_tally	*tally;
};

static bool has_rows(const struct function *function)
{
	return !function->cause && function->num_rows && !function->signal;
}

/*
 * Whether @function is entered at its start.  Another part of a function has other rules there,
 * but for a nop that keeps what handles exceptions from being at offset 0.
 */
static bool is_entered(struct follow *follow, const struct cfi *cfi,
		       const struct function *function)
{
	const struct row *row = &cfi->rows[function->first_row];
	struct insn insn;

	if (!has_rows(function) || row->cfa.kind != RULE_VALUE || row->cfa.base != REG_SP ||
	    row->cfa.offset != 8 || row->fp.kind != RULE_SAME || row->ra.kind != RULE_MEMORY)
		return false;
	return !follow_decode(follow, function->start, &insn) || insn.kind != INSN_NOTHING ||
	       insn.length != 1 || function->num_rows < 2 || row[1].start != 1;
}

/* Whether the return address and the stack pointer are where a call has left them */
static bool is_as_called(const struct row *row)
{
	return row->ra.kind == RULE_MEMORY && row->ra.base == REG_CFA && row->ra.offset == -8 &&
	       row->sp.kind == RULE_VALUE && row->sp.base == REG_CFA && !row->sp.offset;
}

static enum verdict judge(const struct state *state, const struct row *row, const struct row *ours)
{
	static const struct fact cfa = { .kind = VALUE_CFA };
	static const struct fact fp = { .kind = VALUE_ENTRY, .number = GPR_BP };
	bool knows_cfa, knows_fp, has_cfa, has_fp;

	has_cfa = state_has_rule(state, &row->cfa, &cfa, &knows_cfa);
	has_fp = state_has_rule(state, &row->fp, &fp, &knows_fp);
	if (has_cfa && has_fp && is_as_called(row))
		return rule_equal(&row->cfa, &ours->cfa) && rule_equal(&row->fp, &ours->fp) ?
		       VERDICT_EQUAL : VERDICT_OTHERWISE;
	/* It may describe the frame that the code is about to switch to. */
	if (!is_as_called(row))
		return VERDICT_OPEN;
	return (knows_cfa && !has_cfa) || (knows_fp && !has_fp) ? VERDICT_DIFFERING : VERDICT_OPEN;
}

static void judge_insn(const struct followed *followed, void *data)
{
	const struct function *function;
	struct comparison *cmp = data;
	struct judged judged = { .address = followed->address };
	const struct row *row;
	struct row ours;

	function = cfi_find(cmp->cfi->functions, cmp->cfi->num_functions, followed->address);
	if (!function || !has_rows(function))
		return;
	row = cfi_row_at(cmp->cfi, function, followed->address);
	if (row->ra.kind == RULE_UNDEFINED)
		return;
	if (followed->is_sure && state_row(followed->state, &ours))
		judged.verdict = judge(followed->state, row, &ours);
	if (judged.verdict == VERDICT_DIFFERING) {
		judged.row = cmp->num_rows;
		cmp->rows = grow(cmp->rows, &cmp->room_rows, cmp->num_rows, sizeof(ours));
		cmp->rows[cmp->num_rows++] = ours;
	}
	cmp->judged = grow(cmp->judged, &cmp->room_judged, cmp->num_judged, sizeof(judged));
	cmp->judged[cmp->num_judged++] = judged;
}

static int compare_judged(const void *a, const void *b)
{
	const struct judged *first = a, *second = b;

	if (first->address != second->address)
		return first->address < second->address ? -1 : 1;
	/* The worst verdict first: it is the one that counts. */
	return (int)second->verdict - (int)first->verdict;
}

static bool is_by_sp(const struct row *row)
{
	return row->cfa.kind == RULE_VALUE && row->cfa.base == REG_SP;
}

/* Whether a rule stays the same that uses the frame pointer */
static bool is_by_same_fp(const struct rule *before, const struct rule *after)
{
	return (before->kind == RULE_VALUE || before->kind == RULE_MEMORY) &&
	       before->base == REG_FP && rule_equal(before, after);
}

/*
 * Whether rows before and after an instruction contradict it.  A caller's stack pointer stays
 * where it is, a function returns by the word below it, and a register that is written does not
 * keep its value, nor do rules that use it.  In epilogues that have restored the frame pointer
 * already, compilers describe it wrongly.
 */
static bool is_contradicted(const struct insn *insn, const struct row *before,
			    const struct row *after)
{
	s64 by = 0;

	if (insn->kind == INSN_RETURN)
		return is_by_sp(before) && before->cfa.offset != 8;
	if (insn->kind >= INSN_CALL)
		return false;
	if (before->fp.kind == RULE_SAME && after->fp.kind == RULE_SAME &&
	    insn->kind != INSN_POP && insn->kind != INSN_LOAD && insn->writes & 1 << GPR_BP)
		return true;
	if (insn->writes & 1 << GPR_BP && (is_by_same_fp(&before->cfa, &after->cfa) ||
					   is_by_same_fp(&before->fp, &after->fp)))
		return true;
	if (!is_by_sp(before) || !is_by_sp(after))
		return false;
	if (insn->kind == INSN_PUSH)
		by = -8;
	else if (insn->kind == INSN_POP && insn->to != GPR_SP)
		by = 8;
	else if (insn->kind == INSN_ADD && insn->to == GPR_SP)
		by = insn->value;
	else if (insn->kind == INSN_ADDRESS && insn->to == GPR_SP &&
		 insn->memory.base == GPR_SP && insn->memory.index == GPR_NONE)
		by = insn->memory.offset;
	else if (insn->writes & 1 << GPR_SP)
		return false;
	return (s64)after->cfa.offset - before->cfa.offset != -by;
}

static void print_rule(const char *name, const struct rule *rule)
{
	printf(" %s %d:%d%+d%+d", name, rule->kind, rule->base, rule->offset, rule->add);
}

static void print_difference(const struct comparison *cmp, const struct judged *judged,
			     const struct function *function)
{
	const struct row *row = cfi_row_at(cmp->cfi, function, judged->address);

	text_print(cmp->name);
	printf(": %#" PRIx64 " in %#" PRIx64 ": .eh_frame", judged->address, function->start);
	print_rule("cfa", &row->cfa);
	print_rule("fp", &row->fp);
	printf(", code");
	print_rule("cfa", &cmp->rows[judged->row].cfa);
	print_rule("fp", &cmp->rows[judged->row].fp);
	putchar('\n');
}

static void count_judged(struct comparison *cmp, const struct judged *judged,
			 const struct function *function, bool contradicted)
{
	struct followed_tally *tally = cmp->tally;

	if (judged->verdict == VERDICT_NONE)
		return;
	tally->rows++;
	if (judged->verdict == VERDICT_EQUAL) {
		tally->equal++;
	} else if (judged->verdict == VERDICT_OTHERWISE) {
		tally->otherwise++;
	} else if (judged->verdict == VERDICT_OPEN) {
		tally->open++;
	} else if (contradicted) {
		tally->refuted++;
	} else {
		tally->differing++;
		if (cmp->verbose)
			print_difference(cmp, judged, function);
	}
}

/* Whether the rows of @function contradict one of its instructions. */
static bool function_is_contradicted(struct comparison *cmp, const struct function *function)
{
	u64 at = function->start, end = function->start + function->size;
	const struct row *row, *after;
	struct insn insn;

	for (; at < end && follow_decode(cmp->follow, at, &insn); at += insn.length) {
		row = cfi_row_at(cmp->cfi, function, at);
		after = at + insn.length < end ?
			cfi_row_at(cmp->cfi, function, at + insn.length) : row;
		if ((at + insn.length < end || insn.kind == INSN_RETURN) &&
		    is_contradicted(&insn, row, after))
			return true;
	}
	return false;
}

/*
 * Count the instructions of @function, one after the other.  What nothing leads to is padding if
 * it does nothing.  @next is the first that was judged there, or later.
 */
static void count_insns(struct comparison *cmp, const struct function *function, size_t next)
{
	u64 at = function->start, end = function->start + function->size;
	bool contradicted = function_is_contradicted(cmp, function), is_judged;
	struct insn insn;

	for (; at < end && follow_decode(cmp->follow, at, &insn); at += insn.length) {
		while (next < cmp->num_judged && cmp->judged[next].address < at)
			next++;
		is_judged = next < cmp->num_judged && cmp->judged[next].address == at;
		cmp->tally->insns += is_judged || insn.kind != INSN_NOTHING;
		if (is_judged)
			count_judged(cmp, &cmp->judged[next], function, contradicted);
	}
}

static void compare_functions(struct comparison *cmp)
{
	size_t next = 0;

	for (size_t i = 0; i < cmp->cfi->num_functions; i++) {
		const struct function *function = &cmp->cfi->functions[i];

		while (next < cmp->num_judged && cmp->judged[next].address < function->start)
			next++;
		if (has_rows(function))
			count_insns(cmp, function, next);
	}
}

/**
 * followed_compare() - compare what following the code yields with .eh_frame
 * @obj:	The object.
 * @cfi:	Its .eh_frame.
 * @verbose:	Print rows that differ.
 * @tally:	Filled in.
 *
 * Functions of .eh_frame whose first row is that of a function's entry are followed, and what
 * handles their exceptions.
 *
 * Return: NULL, or why there is no result.
 */
const char *followed_compare(const struct object *obj, const struct cfi *cfi, bool verbose,
			     struct followed_tally *tally)
{
	struct comparison cmp = {
		.cfi = cfi,
		.follow = follow_new(obj, NULL),
		.verbose = verbose,
		.name = obj->name,
		.tally = tally,
	};
	const char *error = NULL;

	*tally = (struct followed_tally){ };
	if (obj->detached) {
		follow_free(cmp.follow);
		return NULL;
	}
	for (size_t i = 0; i < cfi->num_functions; i++) {
		const struct function *function = &cfi->functions[i];

		if (has_rows(function))
			handlers_add(cmp.follow, function);
		if (is_entered(cmp.follow, cfi, function))
			follow_enter(cmp.follow, function->start);
	}
	if (follow_run(cmp.follow)) {
		follow_for_each(cmp.follow, judge_insn, &cmp);
		if (cmp.num_judged)
			qsort(cmp.judged, cmp.num_judged, sizeof(*cmp.judged), compare_judged);
		compare_functions(&cmp);
	} else {
		error = "following its code takes too long";
	}
	free(cmp.judged);
	free(cmp.rows);
	follow_free(cmp.follow);
	return error;
}
