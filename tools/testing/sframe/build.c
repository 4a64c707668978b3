// SPDX-License-Identifier: GPL-2.0
/*
 * Makes tables, and checks each one: that errors and memory are as the top of table.c
 * promises, that rows and index have the order that the lookup relies on, and that the
 * lookup finds each row where it holds.
 */
#include <errno.h>

#include <linux/math.h>
#include <linux/minmax.h>

#include "test.h"

/* See the top of table.c: rows beside one for each byte, and rules. */
#define MORE_ROWS	16384
#define MAX_RULES	65536
#define MIN_RULES	64

#define BLOCK		(1u << UNWIND_TABLE_BLOCK_SHIFT)
/* A row that holds in many blocks is looked up in so many of them. */
#define LOOK_BLOCKS	8

const char *test_broken;

bool test_known_error(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
	case -EBADMSG:
	case -E2BIG:
	case -ENOENT:
	case -ENOMEM:
	case -EINTR:
		return true;
	default:
		return false;
	}
}

static u64 text_size(const struct unwind_table_source *source)
{
	if (source->text_end <= source->text_start)
		return 0;
	return min_t(u64, source->text_end - source->text_start, UNWIND_TABLE_MAX_TEXT);
}

size_t test_bound(const struct unwind_table_source *source)
{
	size_t rows = source->len + MORE_ROWS;
	size_t index = text_size(source) / BLOCK + 2, rules = MIN_RULES;

	/* An SFrame row has two bytes at least. */
	while (rules < MAX_RULES && rules < source->len / 2)
		rules *= 2;
	/*
	 * Rows, index and rules are copied once.  Rules have a hash of twice as many slots of
	 * two bytes, and half of both is there while they grow.
	 */
	return sizeof(struct unwind_table) + 2 * sizeof(u32) * (rows + index) +
	       (2 * sizeof(struct sframe_row) + 2 * 2 * sizeof(u16)) * rules;
}

static const char *check_rules(const struct unwind_table *table)
{
	if (table->nr_rules < 2 || table->nr_rules > MAX_RULES ||
	    table->rules[UNWIND_RULE_NOWHERE].error != -ENOENT ||
	    table->rules[UNWIND_RULE_NONE].error != -ENODATA)
		return "the rules for no row are missing";
	for (u32 i = UNWIND_RULE_NONE + 1; i < table->nr_rules; i++)
		if (!test_sound_row(&table->rules[i]))
			return "a rule that there cannot be";
	return NULL;
}

static u32 row_start(const struct unwind_table *table, u32 row)
{
	return table->rows[row] >> UNWIND_TABLE_ROW_SHIFT;
}

static const char *check_block(const struct unwind_table *table, u32 block)
{
	u32 begin = table->index[block], end = table->index[block + 1];

	if (begin > end || end > table->nr_rows)
		return "the index decreases";
	for (u32 row = begin; row < end; row++) {
		u64 start = (u64)block * BLOCK + row_start(table, row);

		if (row_start(table, row) >= BLOCK || start >= table->text_size)
			return "a row outside its block or beyond the code";
		if (row > begin && row_start(table, row) <= row_start(table, row - 1))
			return "rows of a block are not sorted";
		if ((table->rows[row] & UNWIND_TABLE_ROW_RULE) >= table->nr_rules)
			return "a row without a rule";
	}
	return NULL;
}

static const char *check_order(const struct unwind_table *table)
{
	u32 blocks = DIV_ROUND_UP((u64)table->text_size, BLOCK);
	const char *broken;

	if (table->index[0] || table->index[blocks] != table->nr_rows)
		return "the index leaves rows out";
	for (u32 block = 0; block < blocks; block++) {
		broken = check_block(table, block);
		if (broken)
			return broken;
	}
	if (!table->index[1] || row_start(table, 0))
		return "the first byte has no row";
	return NULL;
}

static bool finds(const struct unwind_table *table, u64 offset, u32 row)
{
	const struct sframe_row *want = &table->rules[table->rows[row] & UNWIND_TABLE_ROW_RULE];
	const struct sframe_row *found = NULL;

	return unwind_table_find(table, offset, &found) == want->error && found == want;
}

/* The row from @from to @to is found at both ends, and at the start of each block between. */
static bool finds_range(const struct unwind_table *table, u64 from, u64 to, u32 row)
{
	u64 at = from - from % BLOCK;

	for (int i = 0; i < LOOK_BLOCKS; i++) {
		at += BLOCK;
		if (at < to && !finds(table, at, row))
			return false;
	}
	return finds(table, from, row) && finds(table, to - 1, row);
}

/* Each row is found from its start up to the start of the next one. */
static const char *check_lookup(const struct unwind_table *table)
{
	u64 from = 0, to;
	u32 block = 0;

	for (u32 row = 0; row < table->nr_rows; row++) {
		to = table->text_size;
		if (row + 1 < table->nr_rows) {
			while (table->index[block + 1] <= row + 1)
				block++;
			to = (u64)block * BLOCK + row_start(table, row + 1);
		}
		if (!finds_range(table, from, to, row))
			return "a row is not found where it holds";
		from = to;
	}
	return NULL;
}

static const char *check_outside(const struct unwind_table *table)
{
	const u64 far[] = {
		table->text_size, table->text_size + 1ull, table->text_size + (u64)BLOCK,
		1ull << 32, (1ull << 32) + table->text_size / 2, (1ull << 32) + BLOCK,
		1ull << 63, (1ull << 63) + table->text_size - 1, ~0ull - BLOCK, ~0ull,
	};

	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		if (unwind_table_look(table, far[i])->error != -ENOENT)
			return "a row outside the code";
	return NULL;
}

static const char *check_table(const struct unwind_table *table,
			       const struct unwind_table_source *source, size_t used)
{
	const char *broken;

	if (table->text_size != text_size(source))
		return "code of another size";
	if (test_heap.used - used != table->size)
		return "memory that the table does not count";
	broken = check_rules(table);
	if (!broken)
		broken = check_order(table);
	if (!broken)
		broken = check_lookup(table);
	return broken ? broken : check_outside(table);
}

struct unwind_table *test_build(const struct unwind_table_source *source, u32 seed)
{
	size_t used = test_heap.used;
	struct unwind_table *table;

	test_heap.peak = used;
	table = unwind_table_build(source, seed, GFP_KERNEL);
	test_broken = NULL;
	if (!IS_ERR(table))
		test_broken = check_table(table, source, used);
	else if (!test_known_error(PTR_ERR(table)))
		test_broken = "an error that is not in the contract";
	else if (test_heap.used != used)
		test_broken = "memory that was not freed";
	if (!test_broken && test_heap.peak - used > test_bound(source))
		test_broken = "more memory than the bound";
	return table;
}
