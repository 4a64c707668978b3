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
#define MAX_RULES	32768
#define MIN_RULES	64

/* As long as the number of rows is not known */
#define BUILD_BLOCK	512
/* Each word of the index is for five rows, or for as much code. */
#define BLOCK_ROWS	5
#define MAX_BLOCK	2048
#define REGION		65536
/* A row has its rule itself, not the number of one. */
#define IS_RULE 0x8000
/* The last row of a region may stand there so often. */
#define REPEATS 16
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
	size_t built = rows + text_size(source) / BUILD_BLOCK + 2, rules = MIN_RULES;
	size_t final = 2 * rows + (text_size(source) / REGION + 1) * REPEATS +
		       rows / BLOCK_ROWS + text_size(source) / MAX_BLOCK + 2;

	/* An SFrame row has two bytes at least. */
	while (rules < MAX_RULES && rules < source->len / 2)
		rules *= 2;
	/*
	 * Rows, index and rules are copied once.  Rules have a hash of twice as many slots of
	 * two bytes, and half of both is there while they grow.
	 */
	return sizeof(struct unwind_table) + sizeof(u32) * (built + final) +
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

static u32 nr_blocks(const struct unwind_table *table)
{
	return DIV_ROUND_UP((u64)table->text_size, 1u << table->shift);
}

/* The first row that a lookup in @block searches; the number of rows if there is no such block */
static u32 first_of(const struct unwind_table *table, u32 block)
{
	return block < nr_blocks(table) ? table->index[block] & UNWIND_TABLE_INDEX_FIRST :
					  table->nr_rows;
}

/* The row after the last one of the region that @block is in */
static u32 region_end(const struct unwind_table *table, u32 block)
{
	u32 blocks = REGION >> table->shift;

	return first_of(table, block - block % blocks + blocks);
}

static const char *check_block(const struct unwind_table *table, u32 block)
{
	u32 first = first_of(table, block), next = first_of(table, block + 1);
	u64 end = first + (16ull << (table->index[block] >> UNWIND_TABLE_INDEX_SHIFT));
	u32 start = (block << table->shift) % REGION;

	if (first > next || next > table->nr_rows)
		return "the index decreases";
	if (end > region_end(table, block))
		return "a lookup compares rows of another region";
	if (table->rows[first].start > start)
		return "the first byte of a block has no row";
	for (u32 row = first + 1; row < region_end(table, block); row++) {
		if (table->rows[row].start < table->rows[row - 1].start ||
		    (table->rows[row].start == table->rows[row - 1].start &&
		     table->rows[row].rule != table->rows[row - 1].rule))
			return "rows of a region are not sorted";
		if (row >= end && table->rows[row].start < start + (1u << table->shift) &&
		    table->rows[row].start != table->rows[row - 1].start)
			return "a lookup does not compare a row of its block";
		if (row >= end && row >= next)
			break;
	}
	return NULL;
}

static const char *check_order(const struct unwind_table *table)
{
	const char *broken;

	if (first_of(table, 0))
		return "the index leaves rows out";
	for (u32 row = 0; row < table->nr_rows; row++)
		if (!(table->rows[row].rule & IS_RULE) && table->rows[row].rule >= table->nr_rules)
			return "a row without a rule";
	for (u32 block = 0; block < nr_blocks(table); block++) {
		broken = check_block(table, block);
		if (broken)
			return broken;
	}
	return NULL;
}

/* The rule of @row, by the description of the layout */
static struct sframe_row rule_of(const struct unwind_table *table, u32 row)
{
	u16 rule = table->rows[row].rule;
	struct sframe_row want = {
		.cfa = { (rule / 16 & 0x3ff) * 8, rule & 0x4000 ? 6 : 7, 0 },
		.ra = { -8, SFRAME_BASE_CFA, 1 },
		.fp.base = SFRAME_BASE_SAME,
		.plain = 1,
	};

	if (!(rule & IS_RULE))
		return table->rules[rule];
	if (rule % 16) {
		want.slot = -8 - 8 * (rule % 16);
		want.fp = (struct sframe_rule){ want.slot, SFRAME_BASE_CFA, 1 };
	}
	return want;
}

static bool finds(const struct unwind_table *table, u64 offset, u32 row)
{
	const struct sframe_row want = rule_of(table, row);
	struct sframe_row found;

	return unwind_table_find(table, offset, &found) == want.error &&
	       test_same_found(&found, &want) && found.plain == want.plain &&
	       found.slot == want.slot;
}

/* The row from @from to @to is found at both ends, and at the start of each block between. */
static bool finds_range(const struct unwind_table *table, u64 from, u64 to, u32 row)
{
	u32 block = 1u << table->shift;
	u64 at = from - from % block;

	for (int i = 0; i < LOOK_BLOCKS; i++) {
		at += block;
		if (at < to && !finds(table, at, row))
			return false;
	}
	return finds(table, from, row) && finds(table, to - 1, row);
}

/* Each row is found from its start up to the start of the next one. */
static const char *check_lookup(const struct unwind_table *table)
{
	for (u64 region = 0; region < table->text_size; region += REGION) {
		u32 row = first_of(table, region >> table->shift);
		u32 end = region_end(table, region >> table->shift);

		for (u64 from, to; row < end; row++) {
			from = region + table->rows[row].start;
			to = row + 1 < end ? region + table->rows[row + 1].start :
			     min_t(u64, region + REGION, table->text_size);
			if (from >= table->text_size || from > to)
				return "a row beyond the code";
			/* The last one may stand there more than once. */
			if (from < to && !finds_range(table, from, to, row))
				return "a row is not found where it holds";
		}
	}
	return NULL;
}

static const char *check_outside(const struct unwind_table *table)
{
	const u64 far[] = {
		table->text_size, table->text_size + 1ull, table->text_size + (u64)REGION,
		1ull << 32, (1ull << 32) + table->text_size / 2, (1ull << 32) + REGION,
		1ull << 63, (1ull << 63) + table->text_size - 1, ~0ull - REGION, ~0ull,
	};

	struct sframe_row row;

	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		if (unwind_table_find(table, far[i], &row) != -ENOENT)
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
