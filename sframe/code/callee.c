// SPDX-License-Identifier: GPL-2.0
/*
 * Adds rows for callers whose CFA is in a register that the callee saves.
 *
 * Hand-written code keeps its frame in rbx while it calls, as the dynamic linker does at each first
 * call of a function: _dl_runtime_resolve().  A walk knows rbx in the innermost frame only.  But if
 * the callee begins with pushes, rbx is at a known place below the caller's frame:
 *
 *	CFA = *(rsp - 8 * (1 + number of the push)) + offset
 *
 * Readers look a caller up by the last byte of its call, and no instruction begins there.  So this
 * row is for that byte, and the row of .eh_frame stays for all others.  Until the callee has pushed
 * the register, the place has any value, so the row is marked as followed.
 */
#include "code/callee.h"

#define WORD	8
/* A function saves registers with its first instructions. */
#define MAX_INSNS	32

/* The registers that a function keeps, but for SP and FP, have the same numbers in DWARF. */
static bool is_kept(u8 reg)
{
	return reg == GPR_BX || (reg >= GPR_R12 && reg < NUM_GPRS);
}

/*
 * Find where the function at @entry saves @reg.  Returns the offset from the stack pointer of its
 * caller, or 0 if it is not known to save it.
 */
static s32 find_saved(struct follow *follow, u64 entry, u8 reg)
{
	s32 offset = -WORD;
	struct insn insn;

	for (unsigned int i = 0; i < MAX_INSNS && follow_decode(follow, entry, &insn); i++) {
		entry += insn.length;
		if (insn.kind == INSN_PUSH) {
			offset -= WORD;
			if (insn.from == reg)
				return offset;
		} else if (insn.kind >= INSN_LEAVE || insn.writes & (1 << reg | 1 << GPR_SP)) {
			break;
		}
	}
	return 0;
}

/* Where row @index of @function ends, as an offset in the function */
static u64 row_end(const struct cfi *cfi, const struct function *function, u32 index)
{
	return index + 1 < function->num_rows ? cfi->rows[function->first_row + index + 1].start :
	       function->size;
}

/* The row for the last byte of a call, where @row holds.  Returns whether there is one. */
static bool make_row(struct follow *follow, const struct insn *call, const struct row *row,
		     struct row *caller)
{
	s32 offset;

	if (call->kind != INSN_CALL || !call->has_target || row->cfa.kind != RULE_VALUE ||
	    !is_kept(row->cfa.base))
		return false;
	offset = find_saved(follow, call->target, row->cfa.base);
	*caller = *row;
	caller->start = 0;
	caller->cfa = (struct rule){
		.kind = RULE_MEMORY, .base = REG_SP, .offset = offset, .add = row->cfa.offset,
	};
	return offset && !row_cause(caller, FORMAT_V3, false);
}

/*
 * Add the part of @whole from @start, which is in row @first, to @end.  If @caller is not NULL, the
 * part has this row.
 */
static void add_part(struct cfi *cfi, const struct function *whole, u32 first, u64 start, u64 end,
		     const struct row *caller)
{
	struct function part = *whole;

	part.start = start;
	part.size = end - start;
	part.first_row = cfi->num_rows;
	part.num_rows = 0;
	part.followed = caller;
	for (u32 i = first; i < whole->num_rows; i++) {
		struct row row = cfi->rows[whole->first_row + i];
		u64 from = whole->start + row.start;

		if (from >= end)
			break;
		row.start = from > start ? from - start : 0;
		cfi->max_rows++;
		cfi_add_row(cfi, caller ?: &row);
		part.num_rows++;
	}
	if (part.num_rows)
		cfi_add_function(cfi, &part);
}

/* Keep the part of function @index that ends before @end. */
static void keep_front(struct cfi *cfi, size_t index, u64 end)
{
	struct function *function = &cfi->functions[index];
	const struct row *rows = &cfi->rows[function->first_row];

	function->size = end - function->start;
	while (rows[function->num_rows - 1].start >= function->size)
		function->num_rows--;
}

/* Add rows for the calls in function @index, which ends before @end at the latest. */
static void add_callers(struct follow *follow, struct cfi *cfi, size_t index, u64 end)
{
	const struct function whole = cfi->functions[index];
	u64 at = whole.start, cut = at, next;
	u32 row = 0, cut_row = 0;
	struct row caller;
	struct insn insn;

	if (whole.start + whole.size < end)
		end = whole.start + whole.size;
	for (; follow_decode(follow, at, &insn) && at + insn.length <= end; at = next) {
		next = at + insn.length;
		while (row + 1 < whole.num_rows && row_end(cfi, &whole, row) <= at - whole.start)
			row++;
		if (!make_row(follow, &insn, &cfi->rows[whole.first_row + row], &caller))
			continue;
		if (cut == whole.start)
			keep_front(cfi, index, next - 1);
		else
			add_part(cfi, &whole, cut_row, cut, next - 1, NULL);
		add_part(cfi, &whole, row, next - 1, next, &caller);
		cut = next;
		cut_row = row;
	}
	if (cut > whole.start)
		add_part(cfi, &whole, cut_row, cut, whole.start + whole.size, NULL);
}

static bool uses_kept(const struct cfi *cfi, const struct function *function)
{
	for (u32 i = 0; i < function->num_rows; i++) {
		const struct rule *cfa = &cfi->rows[function->first_row + i].cfa;

		if (cfa->kind == RULE_VALUE && is_kept(cfa->base))
			return !function->cause && !function->signal;
	}
	return false;
}

/**
 * callee_add() - add rows for callers whose CFA is in a register that the callee saves
 * @follow:	The object's code.
 * @cfi:	From cfi_read().  What is added is not sorted.
 */
void callee_add(struct follow *follow, struct cfi *cfi)
{
	size_t count = cfi->num_functions;

	for (size_t i = 0; i < count; i++)
		if (uses_kept(cfi, &cfi->functions[i]))
			/* Damaged entries may overlap. */
			add_callers(follow, cfi, i,
				    i + 1 < count ? cfi->functions[i + 1].start : UINT64_MAX);
}
