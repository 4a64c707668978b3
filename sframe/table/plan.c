// SPDX-License-Identifier: GPL-2.0
/*
 * Decides what a table holds: turns the rows of .eh_frame into the functions and rows of a
 * format.
 *
 * A row that the format cannot express splits its function.  The table describes the code
 * before and after it, and has no row in between.  A wrong row would be worse than none,
 * because an unwinder without a row can try the frame pointer.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/grow.h"
#include "cfi/text.h"
#include "table/sframe_table.h"

/*
 * The default distance of a table from its object (see base/sframe_file.h).  Version 2 reaches
 * 2 GiB, so half of that is left for the code.
 */
#define TABLE_DISTANCE	0x40000000ULL
#define PAGE_MASK	(~4095ULL)

/*
 * A reader scans the rows of a function one by one.  To bound that, a function with more
 * rows is written as several functions, one after the other.  The limit of version 3 is
 * 65535.
 */
#define MAX_ROWS	256

#define PLT_STUB	16

struct planning {
	struct plan		*plan;
	const struct cfi	*cfi;
	const struct function	*function;
	struct entry		*entry;	/* the one that rows are added to, or NULL */
};

/**
 * plan_vaddr() - choose the address of an object's table
 * @obj:	The object.
 *
 * Below a program that starts at 4 MiB there is no room.
 *
 * Return: the table's address, in the object's addresses.
 */
u64 plan_vaddr(const struct object *obj)
{
	if (obj->fixed)
		return (obj->high & PAGE_MASK) + TABLE_DISTANCE;
	return (obj->low & PAGE_MASK) - TABLE_DISTANCE;
}

static void add_gap(struct planning *pl, u64 start, u64 size, enum cause cause)
{
	struct plan *plan = pl->plan;

	pl->entry = NULL;
	plan->gaps = grow(plan->gaps, &plan->room_gaps, plan->num_gaps,
			  sizeof(*plan->gaps));
	plan->gaps[plan->num_gaps++] = (struct gap){
		.start = start,
		.size = size,
		.function = pl->function - pl->cfi->functions,
		.cause = cause,
	};
}

static void add_entry(struct planning *pl, u64 start, u8 repeat)
{
	struct plan *plan = pl->plan;

	plan->entries = grow(plan->entries, &plan->room_entries,
			     plan->num_entries, sizeof(*plan->entries));
	pl->entry = &plan->entries[plan->num_entries++];
	*pl->entry = (struct entry){
		.start = start,
		.first_row = plan->num_rows,
		.repeat = repeat,
		.signal = pl->function->signal,
		.followed = pl->function->followed,
	};
}

static void add_row(struct planning *pl, const struct row *rules, u32 start)
{
	struct plan *plan = pl->plan;
	struct row row = *rules;

	row.start = start;
	if (pl->entry->num_rows &&
	    row_equal(&row, &plan->rows[plan->num_rows - 1]))
		return;
	plan->rows = grow(plan->rows, &plan->room_rows, plan->num_rows,
			  sizeof(row));
	plan->rows[plan->num_rows++] = row;
	pl->entry->num_rows++;
}

/* Add rules for @size bytes from @start, after those that were added last. */
static void add_stretch(struct planning *pl, const struct row *row, u64 start,
			u64 size)
{
	if (!size)
		return;
	if (!pl->entry || pl->entry->num_rows >= MAX_ROWS)
		add_entry(pl, start, 0);
	add_row(pl, row, start - pl->entry->start);
	pl->entry->size = start + size - pl->entry->start;
}

/*
 * The kernel would take a short gap for alignment, where the row before it still holds.  So
 * add a function for the gap.  Its only row starts at its end.
 */
static void add_silence(struct planning *pl, u64 start, u64 size)
{
	struct row unused = {
		.cfa = { .kind = RULE_VALUE, .base = REG_SP, .offset = 8 },
		.ra = { .kind = RULE_MEMORY, .base = REG_CFA, .offset = -8 },
		.sp = { .kind = RULE_VALUE, .base = REG_CFA, .offset = 0 },
	};

	add_entry(pl, start, 0);
	add_row(pl, &unused, size);
	pl->entry->size = size;
	pl->entry = NULL;
}

static struct row plt_row(const struct row *row, s32 offset)
{
	struct row plain = *row;

	plain.cfa = (struct rule){ .kind = RULE_VALUE, .base = REG_SP, .offset = offset };
	return plain;
}

/* Add a part of one stub.  From @threshold on, the stub has pushed its number. */
static void add_stub_part(struct planning *pl, const struct row *row, u64 start,
			  u64 end)
{
	u64 threshold = start / PLT_STUB * PLT_STUB + row->cfa.offset;
	struct row before = plt_row(row, 8), after = plt_row(row, 16);
	u64 split = threshold < start ? start : threshold;

	if (split > end)
		split = end;
	add_stretch(pl, &before, start, split - start);
	add_stretch(pl, &after, split, end - split);
}

/* Add stubs.  Whole ones share rows that repeat; the parts at both ends have their own. */
static void add_plt(struct planning *pl, const struct row *row, u64 start,
		    u64 end)
{
	u64 first = (start + PLT_STUB - 1) / PLT_STUB * PLT_STUB;
	u64 last = end / PLT_STUB * PLT_STUB;
	struct row before = plt_row(row, 8), after = plt_row(row, 16);

	if (first >= last) {
		/* At most one whole stub, or parts of two */
		u64 cut = first > start && first < end ? first : end;

		add_stub_part(pl, row, start, cut);
		add_stub_part(pl, row, cut, end);
		return;
	}
	add_stub_part(pl, row, start, first);
	add_entry(pl, first, PLT_STUB);
	add_row(pl, &before, 0);
	add_row(pl, &after, row->cfa.offset);
	pl->entry->size = last - first;
	pl->entry = NULL;
	add_stub_part(pl, row, last, end);
}

/* Version 2 reaches 31 bits from each of its entries. */
static bool is_too_far(const struct planning *pl, u64 start)
{
	s64 distance = start - pl->plan->vaddr;
	s64 table = 64LL * (pl->cfi->num_functions + pl->cfi->num_rows);

	return pl->plan->format == FORMAT_V2 &&
	       (distance - table < INT32_MIN || distance > INT32_MAX);
}

static void leave_out(struct planning *pl, u64 start, u64 size, enum cause cause)
{
	add_gap(pl, start, size, cause);
	if (size && size < CODE_ALIGNMENT)
		add_silence(pl, start, size);
}

static void plan_rows(struct planning *pl)
{
	const struct function *function = pl->function;
	const struct row *row = &pl->cfi->rows[function->first_row];
	u64 end, start = function->start;
	enum cause cause;

	/* Nothing is known of it, which the table has to say: see code_add(). */
	if (!function->num_rows) {
		add_entry(pl, start, 0);
		pl->entry->size = function->size;
	}
	for (u32 i = 0; i < function->num_rows; i++, row++, start = end) {
		end = function->start + (i + 1 < function->num_rows ?
					 row[1].start : function->size);
		cause = row_cause(row, pl->plan->format, function->signal);
		if (cause)
			leave_out(pl, start, end - start, cause);
		else if (row->cfa.kind == RULE_PLT &&
			 row->ra.kind != RULE_UNDEFINED)
			add_plt(pl, row, start, end);
		else
			add_stretch(pl, row, start, end - start);
	}
}

/**
 * plan_make() - decide what a table holds
 * @plan:	Filled in; the caller frees it.
 * @cfi:	An object's call frame information.
 * @format:	The version of the format.
 * @vaddr:	The table's address.
 */
void plan_make(struct plan *plan, const struct cfi *cfi, enum format format,
	       u64 vaddr)
{
	struct planning pl = { .plan = plan, .cfi = cfi };

	*plan = (struct plan){ .format = format, .vaddr = vaddr };
	for (size_t i = 0; i < cfi->num_functions; i++) {
		enum cause cause = cfi->functions[i].cause;

		pl.function = &cfi->functions[i];
		pl.entry = NULL;
		if (!cause && is_too_far(&pl, pl.function->start))
			cause = CAUSE_TOO_FAR;
		if (cause)
			add_gap(&pl, pl.function->start, pl.function->size,
				cause);
		else
			plan_rows(&pl);
	}
}

/**
 * plan_free() - free what plan_make() filled in
 * @plan:	The plan; the structure itself is not freed.
 */
void plan_free(struct plan *plan)
{
	free(plan->entries);
	free(plan->rows);
	free(plan->gaps);
}
