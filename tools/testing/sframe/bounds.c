// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that are written piece by piece: what one may grow to, how long it may take, and
 * rows at the edges of blocks, of functions and of what numbers can say.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sframe_format.h"
#include "test.h"

#define TEXT		0x600000ull
#define SP_1(size)	(SFRAME_FRE_CFA_BASE_SP | 1 << 1 | (size) << 5)
#define REPEATS		(SFRAME_FRE_ADDR4 | SFRAME_FDE_PCMASK)

/* An SFrame table of version 2 that is being written */
struct writer {
	struct unwind_table_source	source;
	u8				*bytes;
	u32				nr_fdes;
	u32				fre_len;
};

static struct writer start(u32 nr_fdes, u32 fre_len, u64 text_size)
{
	struct sframe_header header = test_header(SFRAME_VERSION_2, nr_fdes, fre_len);
	struct writer writer = {
		.source = {
			.len = sizeof(header) + header.freoff + fre_len, .start = TEST_TABLE,
			.text_start = TEXT, .text_end = TEXT + text_size,
		},
	};

	writer.bytes = calloc(1, writer.source.len);
	memcpy(writer.bytes, &header, sizeof(header));
	writer.source.bytes = writer.bytes;
	return writer;
}

static void add_function(struct writer *writer, u64 at, u32 size, u32 fre_off, u32 num_fres,
			 u8 info, u8 rep_size)
{
	struct sframe_fde fde = {
		TEXT + at - TEST_TABLE, size, fre_off, num_fres, info, rep_size, 0
	};

	memcpy(writer->bytes + sizeof(struct sframe_header) + writer->nr_fdes++ * sizeof(fde),
	       &fde, sizeof(fde));
}

/* A row with a start of four bytes and a CFA of SP + @cfa, 4 bytes as well. */
#define ROW_LEN	9
static void add_row(struct writer *writer, u32 at, s32 cfa)
{
	u32 fdes = ((struct sframe_header *)writer->bytes)->freoff;
	u8 *to = writer->bytes + sizeof(struct sframe_header) + fdes + writer->fre_len;

	memcpy(to, &at, 4);
	to[4] = SP_1(2);
	memcpy(to + 5, &cfa, 4);
	writer->fre_len += ROW_LEN;
}

static void refused(struct writer *writer, int error, const char *name)
{
	test_refused(name, &writer->source, error);
	free(writer->bytes);
}

static void free_built(struct writer *writer, const struct unwind_table *table)
{
	unwind_table_free(table);
	free(writer->bytes);
}

/* What the row at @offset has as its CFA's offset, or the lookup's error. */
static int cfa_at(const struct unwind_table *table, u64 offset)
{
	struct sframe_row row;
	int error = unwind_table_find(table, offset, &row);

	return error ? error : row.cfa.offset;
}

static void test_bombs(void)
{
	struct writer writer;

	/* 4 GiB of a function whose row repeats after each byte */
	writer = start(1, ROW_LEN, UINT32_MAX);
	add_row(&writer, 0, 8);
	add_function(&writer, 0, 0xffff0000, 0, 1, REPEATS, 1);
	refused(&writer, -E2BIG, "repeats_for_4_gib");

	/* The same with as many rows as bytes */
	writer = start(1, ROW_LEN, UINT32_MAX);
	add_row(&writer, 0, 8);
	add_function(&writer, 0, 0xfffff000, 0, UINT32_MAX, REPEATS, 1);
	refused(&writer, -E2BIG, "repeats_4_gi_rows_for_4_gib");

	/* And without a row */
	writer = start(1, ROW_LEN, UINT32_MAX);
	add_function(&writer, 0, 0xfffff000, 0, 0, REPEATS, 1);
	refused(&writer, -E2BIG, "repeats_nothing_for_4_gib");

	/* Functions that all have the same rows */
	writer = start(1000, 10000 * ROW_LEN, 1000 * 10000);
	for (int i = 0; i < 10000; i++)
		add_row(&writer, i, i % 2 * 8);
	for (int i = 0; i < 1000; i++)
		add_function(&writer, i * 10000, 10000, 0, 10000, SFRAME_FRE_ADDR4, 0);
	refused(&writer, -E2BIG, "shares_rows");

	/* As many rules as rows */
	writer = start(1, 70000 * ROW_LEN, 70000);
	for (int i = 0; i < 70000; i++)
		add_row(&writer, i, i * 8);
	add_function(&writer, 0, 70000, 0, 70000, SFRAME_FRE_ADDR4, 0);
	refused(&writer, -E2BIG, "has_too_many_rules");

	/* Rows that are said to be there */
	writer = start(1, ROW_LEN, 70000);
	add_row(&writer, 0, 8);
	add_function(&writer, 0, 70000, 0, UINT32_MAX, SFRAME_FRE_ADDR4, 0);
	refused(&writer, -E2BIG, "claims_rows");
}

/* A CFA's offset, one for each @i, that a row cannot have itself, as it is no multiple of eight */
static u32 odd_offset(u32 i)
{
	return i * 8 + 1;
}

/* The maximum of rules that rows number: 32,768, two of which say that there is no row */
static void test_most_rules(void)
{
	const u32 nr = 32766;

	for (u32 more = 0; more < 2; more++) {
		struct writer writer = start(1, (nr + more) * ROW_LEN, nr + more);
		struct unwind_table *table;
		u32 wrong = 0;

		for (u32 i = 0; i < nr + more; i++)
			add_row(&writer, i, odd_offset(i));
		add_function(&writer, 0, nr + more, 0, nr + more, SFRAME_FRE_ADDR4, 0);
		if (more) {
			refused(&writer, -E2BIG, "has_a_rule_too_many");
			break;
		}
		table = test_built(&writer.source, "most_rules");
		for (u32 i = 0; table && i < nr; i++)
			wrong += cfa_at(table, i) != odd_offset(i);
		test_result(table && !wrong, "most_rules_every_byte: %u of %u wrong", wrong, nr);
		free_built(&writer, table);
	}
}

static void test_no_function(void)
{
	struct writer writer = start(2, ROW_LEN, 0x100);

	add_row(&writer, 0, 8);
	add_function(&writer, -0x10ull, 0x20, 0, 1, SFRAME_FRE_ADDR4, 0);
	add_function(&writer, 0xf0, 0x20, 0, 1, SFRAME_FRE_ADDR4, 0);
	refused(&writer, -ENOENT, "functions_reach_outside");

	writer = start(1, ROW_LEN, 0);
	add_row(&writer, 0, 8);
	add_function(&writer, 0, 0x20, 0, 1, SFRAME_FRE_ADDR4, 0);
	refused(&writer, -ENOENT, "has_no_code");

	writer = start(2, ROW_LEN, 0x100);
	add_row(&writer, 0, 8);
	add_function(&writer, 0x20, 0x10, 0, 1, SFRAME_FRE_ADDR4, 0);
	add_function(&writer, 0x10, 0x10, 0, 1, SFRAME_FRE_ADDR4, 0);
	refused(&writer, -EBADMSG, "is_not_sorted");
}

/* Rows on both sides of the blocks' edges, blocks without a row, and the last byte. */
static const u32 edges[] = { 1, 2, 511, 512, 513, 1023, 1024, 4096, 20480, 24576 };
#define EDGES_END	24577
#define NEXT_AT		24592
#define EDGES_TEXT	40000

static struct writer write_edges(void)
{
	struct writer writer = start(2, ARRAY_SIZE(edges) * ROW_LEN, EDGES_TEXT);

	for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
		add_row(&writer, edges[i] - 1, 8 * i + 8);
	add_function(&writer, 1, EDGES_END - 1, 0, ARRAY_SIZE(edges), SFRAME_FRE_ADDR4, 0);
	add_function(&writer, NEXT_AT, 1, 0, 1, SFRAME_FRE_ADDR4, 0);
	return writer;
}

static int edges_cfa(u64 offset)
{
	int cfa = -ENOENT;

	if (offset == NEXT_AT)
		return 8;
	if (offset > NEXT_AT)
		return -ENOENT;
	/* The last one's row goes on up to the next function. */
	for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
		if (offset >= edges[i])
			cfa = 8 * i + 8;
	return cfa;
}

static void test_blocks(void)
{
	struct writer writer = write_edges();
	struct unwind_table *table = test_built(&writer.source, "blocks");
	unsigned int wrong = 0, padding = 0;

	for (u64 offset = -100ull; table && offset != EDGES_TEXT + 100; offset++) {
		wrong += cfa_at(table, offset) != edges_cfa(offset);
		padding += test_compare(table, &writer.source, TEXT + offset) == TEST_PADDING;
	}
	test_result(table && !wrong && padding == NEXT_AT - EDGES_END,
		    "blocks_every_byte: %u wrong, %u of padding", wrong, padding);
	free_built(&writer, table);
}

/*
 * Two functions: the bytes between them have the first one's last row if they are
 * alignment, and otherwise no row.
 */
static void test_padding(void)
{
	static const struct {
		const char	*name;
		u32		end;
		u32		next;
		int		between;
	} cases[] = {
		{ "padding_of_no_byte", 0x20, 0x20, 16 },
		{ "padding_of_1_byte", 0x1f, 0x20, 16 },
		{ "padding_of_15_bytes", 0x11, 0x20, 16 },
		{ "padding_of_16_bytes", 0x10, 0x20, -ENOENT },
		{ "padding_of_17_bytes", 0x0f, 0x20, -ENOENT },
		{ "padding_to_48", 0x2a, 0x30, 16 },
		{ "padding_to_an_address_that_is_not_aligned", 0x1f, 0x28, -ENOENT },
		{ "padding_to_the_next_byte", 0x20, 0x21, -ENOENT },
		{ "padding_across_blocks", 0x1f8, 0x200, 16 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 end = cases[i].end, next = cases[i].next;
		struct writer writer = start(2, 4 * ROW_LEN, 0x400);
		struct unwind_table *table;
		unsigned int wrong = 0;

		add_row(&writer, 0, 8);
		add_row(&writer, 4, 16);
		/* This one starts where the function ends: it never holds. */
		add_row(&writer, end, 32);
		add_row(&writer, 0, 24);
		add_function(&writer, 0, end, 0, 3, SFRAME_FRE_ADDR4, 0);
		add_function(&writer, next, 8, 3 * ROW_LEN, 1, SFRAME_FRE_ADDR4, 0);
		table = test_built(&writer.source, cases[i].name);
		for (u32 at = 0; table && at < 0x400; at++) {
			int want = at < 4 ? 8 : 16;

			if (at >= end)
				want = cases[i].between;
			if (at >= next)
				want = at < next + 8 ? 24 : -ENOENT;
			wrong += cfa_at(table, at) != want;
		}
		test_result(table && !wrong, "%s: %u wrong", cases[i].name, wrong);
		free_built(&writer, table);
	}
}

/* Offsets of the CFA that a row can have itself, and those around */
static void test_plain_rules(void)
{
	const int from = -16, nr = 8300;
	struct writer writer = start(1, nr * ROW_LEN, nr);
	struct unwind_table *table;
	unsigned int wrong = 0;

	for (int i = 0; i < nr; i++)
		add_row(&writer, i, from + i);
	add_function(&writer, 0, nr, 0, nr, SFRAME_FRE_ADDR4, 0);
	table = test_built(&writer.source, "plain_rules");
	for (int i = 0; table && i < nr; i++)
		wrong += cfa_at(table, i) != from + i;
	/* Multiples of eight from 0 to 8184, of -16 to 8283 */
	test_result(table && !wrong && table->nr_rules == 2 + nr - 1024,
		    "plain_rules_every_byte: %u wrong", wrong);
	free_built(&writer, table);
}

/* Before the first function and after the last one nothing is padding. */
static void test_no_padding(void)
{
	struct writer writer = start(1, ROW_LEN, 0x20);
	struct unwind_table *table;
	unsigned int wrong = 0;

	add_row(&writer, 0, 8);
	add_function(&writer, 0x10, 8, 0, 1, SFRAME_FRE_ADDR4, 0);
	table = test_built(&writer.source, "no_padding");
	for (u32 at = 0; table && at < 0x20; at++)
		wrong += cfa_at(table, at) != (at >= 0x10 && at < 0x18 ? 8 : -ENOENT);
	test_result(table && !wrong, "no_padding_at_the_ends_of_code: %u wrong", wrong);
	free_built(&writer, table);
}

/* The last row of a region is there so often, for searches of its last block. */
#define REPEATED 16

/* A row that says the same as the one before is not stored, across functions either. */
static void test_equal_rows(void)
{
	struct writer writer = start(3, 3 * ROW_LEN, 0x3000);
	struct unwind_table *table;

	add_row(&writer, 0, 8);
	add_row(&writer, 1, 8);
	add_row(&writer, 2, 8);
	for (int i = 0; i < 3; i++)
		add_function(&writer, i * 0x1000, 0x1000, 0, 3, REPEATS, 3);
	table = test_built(&writer.source, "equal_rows");
	test_result(table && table->nr_rows == REPEATED && cfa_at(table, 0) == 8 &&
		    cfa_at(table, 0x2fff) == 8, "equal_rows_are_one: %u",
		    table ? table->nr_rows : 0);
	free_built(&writer, table);
}

/*
 * Functions that overlap: each one ends where the next one starts, and of two that start
 * at the same place the last one counts.
 */
static void test_overlap(void)
{
	static const int want[] = {
		8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 32, 32, 32, 32,
		-ENOENT, -ENOENT, -ENOENT, -ENOENT,
	};
	struct writer writer = start(4, 4 * ROW_LEN, ARRAY_SIZE(want));
	struct unwind_table *table;
	unsigned int wrong = 0;

	for (int i = 0; i < 4; i++)
		add_row(&writer, 0, 8 * i + 8);
	add_function(&writer, 0, 20, 0, 1, SFRAME_FRE_ADDR4, 0);
	add_function(&writer, 4, 16, ROW_LEN, 1, SFRAME_FRE_ADDR4, 0);
	add_function(&writer, 12, 8, 2 * ROW_LEN, 1, SFRAME_FRE_ADDR4, 0);
	add_function(&writer, 12, 4, 3 * ROW_LEN, 1, SFRAME_FRE_ADDR4, 0);
	table = test_built(&writer.source, "overlap");
	for (u32 at = 0; table && at < ARRAY_SIZE(want); at++)
		wrong += cfa_at(table, at) != want[at];
	test_result(table && !wrong, "overlap_every_byte: %u wrong", wrong);
	free_built(&writer, table);
}

/*
 * Sizes that are near to 32 bits.  Where a row starts before the last block of its 64 KiB, these
 * have one more: the first, and those where the function ends unless it ends in that block.
 */
static void test_large_function(void)
{
	static const u32 sizes[] = { 0x7fffffff, 0x80000001, 0xc6000080, 0xffffeff0 };
	static const u32 more[] = { 1, 2, 2, 1 };
	const u32 regions = 1 + (UNWIND_TABLE_MAX_TEXT - 1) / 65536;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const u32 rows = regions * REPEATED + more[i];
		struct writer writer = start(1, ROW_LEN, UINT32_MAX);
		struct unwind_table *table;
		char name[32];

		snprintf(name, sizeof(name), "function_of_%#x", sizes[i]);
		add_row(&writer, 4, 8);
		add_function(&writer, 0, sizes[i], 0, 1, SFRAME_FRE_ADDR4, 0);
		table = test_built(&writer.source, name);
		test_result(table && table->nr_rows == rows && cfa_at(table, 3) == -ENODATA &&
			    cfa_at(table, 4) == 8 && cfa_at(table, sizes[i] - 1) == 8 &&
			    cfa_at(table, sizes[i]) == -ENOENT, "%s_has_its_row", name);
		free_built(&writer, table);
	}
}

/* Each allocation fails once; those of rules that grow are among them. */
static void test_no_memory(void)
{
	enum { ROWS = 200, ALLOCATIONS = 9 };
	struct writer writer = start(1, ROWS * ROW_LEN, ROWS);
	struct unwind_table *table;
	bool good = true;
	int failed = -1;

	for (int i = 0; i < ROWS; i++)
		add_row(&writer, i, odd_offset(i));
	add_function(&writer, 0, ROWS, 0, ROWS, SFRAME_FRE_ADDR4, 0);
	do {
		test_heap.left = ++failed;
		table = test_build(&writer.source, 1);
		good &= !test_broken && (!IS_ERR(table) || PTR_ERR(table) == -ENOMEM);
	} while (IS_ERR(table) && failed < 100);
	test_heap.left = -1;
	good &= !IS_ERR(table);
	free_built(&writer, IS_ERR(table) ? NULL : table);
	test_result(good && failed == ALLOCATIONS && !test_heap.used,
		    "without_memory: of %d allocations, each failed once", failed);
}

static bool is_killed;

bool test_killed(void)
{
	return is_killed;
}

static void killed(struct writer *writer, const char *name)
{
	is_killed = true;
	refused(writer, -EINTR, name);
	is_killed = false;
}

/* No part of a long build goes on after the task was killed. */
static void test_interrupted(void)
{
	struct writer writer;

	writer = start(10000, ROW_LEN, 0x100);
	add_row(&writer, 0, 8);
	for (int i = 0; i < 10000; i++)
		add_function(&writer, 0x10, i == 9999, 0, 1, SFRAME_FRE_ADDR4, 0);
	killed(&writer, "killed_among_functions");

	writer = start(1, 10000 * ROW_LEN, 10000);
	for (int i = 0; i < 10000; i++)
		add_row(&writer, i, i % 2 * 8);
	add_function(&writer, 0, 10000, 0, 10000, SFRAME_FRE_ADDR4, 0);
	killed(&writer, "killed_among_rows");

	writer = start(1, ROW_LEN, 10000);
	add_row(&writer, 0, 8);
	add_function(&writer, 0, 8000, 0, 1, REPEATS, 1);
	killed(&writer, "killed_among_rows_that_repeat");

	writer = start(1, ROW_LEN, 10000);
	add_function(&writer, 0, 10000, 0, 0, REPEATS, 1);
	killed(&writer, "killed_among_repetitions_of_nothing");
}

/*
 * Code on both sides of the address that is 2^63 bytes from the table: distances from
 * there are positive below it and negative above it.
 */
static struct writer write_far(bool sorted)
{
	struct {
		struct sframe_header	header;
		struct sframe_v3_fde	fdes[2];
		u8			rows[2 * sizeof(struct sframe_v3_attributes)];
	} __packed image = {
		.header = test_header(SFRAME_VERSION_3, 2, sizeof(image.rows)),
	};
	struct writer writer = { };

	image.fdes[!sorted] = (struct sframe_v3_fde){ INT64_MAX - 0xff, 0x10, 0 };
	image.fdes[sorted] = (struct sframe_v3_fde){ INT64_MIN + 0x100, 0x10, 5 };
	writer.source = test_source(&image, sizeof(image), TEST_TABLE + INT64_MAX - 0xfff,
				    TEST_TABLE + INT64_MAX + 0x1001);
	writer.bytes = (u8 *)writer.source.bytes;
	return writer;
}

static void test_far_code(void)
{
	struct writer writer = write_far(true);
	struct unwind_table *table = test_built(&writer.source, "far_code");
	unsigned int wrong = 0;

	for (u32 at = 0; table && at < 0x2000; at++) {
		int want = at - 0xf00 < 0x10 || at - 0x1100 < 0x10 ? 0 : -ENOENT;

		wrong += cfa_at(table, at) != want;
	}
	test_result(table && !wrong, "far_code_every_byte: %u wrong", wrong);
	free_built(&writer, table);
	writer = write_far(false);
	refused(&writer, -EBADMSG, "far_code_is_not_sorted");
}

void test_bounds(void)
{
	test_bombs();
	test_most_rules();
	test_plain_rules();
	test_no_function();
	test_blocks();
	test_padding();
	test_no_padding();
	test_equal_rows();
	test_overlap();
	test_large_function();
	test_no_memory();
	test_interrupted();
	test_far_code();
}
