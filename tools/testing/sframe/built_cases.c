// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that are made of SFrame tables: each byte of a program has the row that the
 * decoder finds there, and no input makes one grow beyond its bounds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/err.h>

#include "sframe_format.h"
#include "table.h"
#include "test.h"

#define TABLE		0x500000ull
#define TEXT		0x600000ull
#define SP_1(size)	(SFRAME_FRE_CFA_BASE_SP | 1 << 1 | (size) << 5)

/* See table.c: what a table of so many bytes may take at most, while it is made. */
#define PEAK(len)	((((len) + 16384) * 4 + (1 << 20)) * 3)

static bool open_table(const struct test_elf *elf, struct sframe_table *table)
{
	struct sframe_reader reader = test_reader(TEST_BUDGET);

	if (sframe_open(&reader, test_memory.start, test_memory.start + test_memory.len, table))
		return false;
	table->text_start = elf->text_start;
	table->text_end = elf->text_end;
	return true;
}

static double milliseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

void test_built_program(const char *name, const struct test_elf *elf)
{
	unsigned long count[BUILT_NR] = { };
	struct unwind_table *built;
	struct sframe_table table;
	double begin;

	test_memory_set(elf->sframe_start, elf->sframe, elf->sframe_size);
	begin = milliseconds();
	built = test_build(elf);
	begin = milliseconds() - begin;
	if (!test_result(!IS_ERR(built) && open_table(elf, &table), "%s_is_built: %s", name,
			 IS_ERR(built) ? test_error(PTR_ERR(built)) : "0"))
		return;
	for (u64 ip = elf->text_start; ip < elf->text_end; ip++) {
		enum test_built what = test_compare_built(built, &table, ip);

		if (what == BUILT_DIFFERENT && !count[what])
			test_note("%s: %#" PRIx64 " differs", name, ip);
		count[what]++;
	}
	test_note("%s: %zu bytes of %" PRIu64 ", %u rows, %u rules, %.1f ms", name, built->size,
		  elf->sframe_size, built->nr_rows, built->nr_rules, begin);
	test_result(!count[BUILT_DIFFERENT] && count[BUILT_SAME],
		    "%s_every_byte_as_built: %lu equal, %lu of padding, %lu different", name,
		    count[BUILT_SAME], count[BUILT_PADDING], count[BUILT_DIFFERENT]);
	unwind_table_free(built);
	test_result(!test_heap.used, "%s_frees_all: %zu bytes left", name, test_heap.used);
}

/* An SFrame table of version 2 that is written piece by piece. */
struct writer {
	struct test_elf	elf;
	u32		nr_fdes;
	u32		fre_len;
	u8		*bytes;
};

static struct writer start(u32 nr_fdes, u32 fre_len, u64 text_size)
{
	struct sframe_header header = {
		.preamble = { SFRAME_MAGIC, SFRAME_VERSION_2, SFRAME_F_FDE_SORTED },
		.abi_arch = SFRAME_ABI_AMD64_LE,
		.cfa_fixed_ra_offset = -8,
		.num_fdes = nr_fdes,
		.fre_len = fre_len,
		.freoff = nr_fdes * sizeof(struct sframe_fde),
	};
	struct writer writer = {
		.elf = { TABLE, sizeof(header) + header.freoff + fre_len, TEXT, TEXT + text_size },
	};

	writer.bytes = calloc(1, writer.elf.sframe_size);
	memcpy(writer.bytes, &header, sizeof(header));
	return writer;
}

static void add_function(struct writer *writer, u64 at, u32 size, u32 fre_off, u32 num_fres,
			 u8 info, u8 rep_size)
{
	struct sframe_fde fde = {
		TEXT + at - TABLE, size, fre_off, num_fres, info, rep_size, 0
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

static struct unwind_table *finish(struct writer *writer)
{
	test_memory_set(TABLE, writer->bytes, writer->elf.sframe_size);
	free(writer->bytes);
	test_heap.peak = 0;
	return test_build(&writer->elf);
}

static void refused(struct writer *writer, int error, const char *name)
{
	struct unwind_table *built = finish(writer);
	size_t bound = PEAK(writer->elf.sframe_size);

	test_result(IS_ERR(built) && PTR_ERR(built) == error && test_heap.peak <= bound &&
		    !test_heap.used, "built_%s: %s, %zu bytes at most, of %zu", name,
		    IS_ERR(built) ? test_error(PTR_ERR(built)) : "0", test_heap.peak, bound);
	if (!IS_ERR(built))
		unwind_table_free(built);
}

static void test_bombs(void)
{
	struct writer writer;

	/* 4 GiB of a function whose row repeats after each byte */
	writer = start(1, ROW_LEN, UINT32_MAX);
	add_row(&writer, 0, 8);
	add_function(&writer, 0, 0xffff0000, 0, 1, SFRAME_FRE_ADDR4 | SFRAME_FDE_PCMASK, 1);
	refused(&writer, -E2BIG, "repeats_for_4_gib");

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
static struct writer write_blocks(void)
{
	static const u32 starts[] = { 0, 1, 511, 512, 513, 1023, 4096, 20480, 24575 };
	struct writer writer = start(2, ARRAY_SIZE(starts) * ROW_LEN, 40000);

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		add_row(&writer, starts[i], 8 * i + 8);
	add_function(&writer, 3, 24576, 0, ARRAY_SIZE(starts), SFRAME_FRE_ADDR4, 0);
	add_function(&writer, 3 + 24576 + 15, 1, 0, 1, SFRAME_FRE_ADDR4, 0);
	return writer;
}

static void test_blocks(void)
{
	struct writer writer = write_blocks();
	struct unwind_table *built = finish(&writer);
	unsigned long count[BUILT_NR] = { };
	struct sframe_table table;

	if (!test_result(!IS_ERR(built) && open_table(&writer.elf, &table), "built_blocks"))
		return;
	for (u64 ip = TEXT - 100; ip < TEXT + 40100; ip++)
		count[test_compare_built(built, &table, ip)]++;
	test_result(!count[BUILT_DIFFERENT] && count[BUILT_PADDING] == 15,
		    "built_blocks_every_byte: %lu equal, %lu of padding, %lu different",
		    count[BUILT_SAME], count[BUILT_PADDING], count[BUILT_DIFFERENT]);
	unwind_table_free(built);
}

/* Sizes that are near to 32 bits */
static void test_large_function(void)
{
	static const u32 sizes[] = { 0x7fffffff, 0x80000001, 0xc6000080, 0xffffeff0 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct writer writer = start(1, ROW_LEN, UINT32_MAX);
		struct unwind_table *built;

		add_row(&writer, 4, 8);
		add_function(&writer, 0, sizes[i], 0, 1, SFRAME_FRE_ADDR4, 0);
		built = finish(&writer);
		if (!test_result(!IS_ERR(built) && built->nr_rows == 3, "built_function_of_%#x",
				 sizes[i]))
			continue;
		unwind_table_free(built);
	}
}

static void test_no_memory(void)
{
	struct unwind_table *built;
	int failed = -1;
	bool good = true;

	do {
		struct writer writer = write_blocks();

		test_heap.left = ++failed;
		built = finish(&writer);
		good &= !IS_ERR(built) || (PTR_ERR(built) == -ENOMEM && !test_heap.used);
	} while (IS_ERR(built) && failed < 100);
	test_heap.left = -1;
	good &= !IS_ERR(built);
	if (!IS_ERR(built))
		unwind_table_free(built);
	test_result(good && failed == 5 && !test_heap.used,
		    "built_without_memory: of %d allocations, each failed once", failed);
}

void test_built_cases(void)
{
	test_bombs();
	test_no_function();
	test_blocks();
	test_large_function();
	test_no_memory();
}
