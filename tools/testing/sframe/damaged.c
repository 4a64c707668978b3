// SPDX-License-Identifier: GPL-2.0
/*
 * Hand-made tables: a good one, and one case for each way in which a table can
 * be damaged or hostile.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/build_bug.h>

#include "sframe_format.h"
#include "test.h"

#define TEXT		0x401000ull
#define TEXT_END	0x402000ull

/* The functions of the good table, by index. */
enum { SMALL, MEDIUM, WIDE, STUBS, LAST, FUNCTIONS };

#define SMALL_AT	0x401000ull
#define MEDIUM_AT	0x401020ull
#define WIDE_AT		0x401400ull
#define STUBS_AT	0x401600ull
#define LAST_AT		0x401f00ull

/* A function's start as the table has it. */
#define FROM_TABLE(at)	((s32)((at) - TEST_TABLE))

#define SP(n, size)	(1 | (n) << 1 | (size) << 5)
#define FP(n, size)	((n) << 1 | (size) << 5)

/* Rows as bytes: start, info, offsets. */
static const u8 rows[] = {
	/* SMALL, at 0 */
	0, SP(1, 0), 8,
	1, SP(2, 0), 16, (u8)-16,
	4, FP(2, 0), 16, (u8)-16,
	31, SP(1, 0), 8,
	/* MEDIUM, at 14: starts of two bytes */
	0, 0, SP(1, 0), 8,
	0x10, 0, SP(2, 1), 0x08, 0x10, 0xf0, 0xef,
	0xff, 2, SP(1, 0), 8,
	/* WIDE, at 29: starts of four bytes */
	0, 0, 0, 0, SP(1, 0), 8,
	4, 0, 0, 0, SP(2, 2), 0x48, 0x23, 0x01, 0, 0xf0, 0xff, 0xff, 0xff,
	/* STUBS, at 48: repeat after 16 bytes */
	0, SP(1, 0), 8,
	11, SP(1, 0), 16,
	/* LAST, at 54: outermost from byte 4 on */
	0, SP(1, 0), 8,
	4, SP(0, 0),
};

#define ROWS_SMALL	0
#define ROWS_MEDIUM	14
#define ROWS_WIDE	29
#define ROWS_STUBS	48
#define ROWS_LAST	54

struct image {
	struct sframe_header	header;
	struct sframe_fde	fdes[FUNCTIONS];
	u8			rows[sizeof(rows)];
} __packed;

#define FDE(i)		(offsetof(struct image, fdes) + (i) * sizeof(struct sframe_fde))
#define AT_HEADER(f)	offsetof(struct sframe_header, f)
#define AT_FDE(i, f)	(FDE(i) + offsetof(struct sframe_fde, f))
#define AT_ROW(n)	(offsetof(struct image, rows) + (n))

#define PREAMBLE(f)	offsetof(struct sframe_preamble, f)

static void good_image(struct image *image)
{
	*image = (struct image){
		.header = test_header(SFRAME_VERSION_2, FUNCTIONS, sizeof(rows)),
		.fdes = {
			[SMALL] = { FROM_TABLE(SMALL_AT), 0x20, ROWS_SMALL, 4,
				    SFRAME_FRE_ADDR1, 0, 0 },
			[MEDIUM] = { FROM_TABLE(MEDIUM_AT), 0x300, ROWS_MEDIUM, 3,
				     SFRAME_FRE_ADDR2, 0, 0 },
			[WIDE] = { FROM_TABLE(WIDE_AT), 0x100, ROWS_WIDE, 2,
				   SFRAME_FRE_ADDR4, 0, 0 },
			[STUBS] = { FROM_TABLE(STUBS_AT), 0x40, ROWS_STUBS, 2,
				    SFRAME_FRE_ADDR1 | SFRAME_FDE_PCMASK, 16, 0 },
			[LAST] = { FROM_TABLE(LAST_AT), 0x100, ROWS_LAST, 2,
				   SFRAME_FRE_ADDR1, 0, 0 },
		},
	};
	image->header.num_fres = 13;
	memcpy(image->rows, rows, sizeof(rows));
}

static struct unwind_table_source source_of(const void *table, size_t len)
{
	return test_source(table, len, TEXT, TEXT_END);
}

static struct unwind_table_source good_source(void)
{
	struct image image;

	good_image(&image);
	return source_of(&image, sizeof(image));
}

/* The rows of the good table, looked up by hand. */
static const char *good_row(u64 ip)
{
	if (ip >= SMALL_AT && ip < SMALL_AT + 0x20) {
		u64 at = ip - SMALL_AT;

		return at < 1 ? "sp+8 ra-8" : at < 4 ? "sp+16 ra-8 fp-16" :
		       at < 31 ? "fp+16 ra-8 fp-16" : "sp+8 ra-8";
	}
	if (ip >= MEDIUM_AT && ip < MEDIUM_AT + 0x300) {
		u64 at = ip - MEDIUM_AT;

		return at < 0x10 || at == 0x2ff ? "sp+8 ra-8" : "sp+4104 ra-8 fp-4112";
	}
	if (ip >= WIDE_AT && ip < WIDE_AT + 0x100)
		return ip - WIDE_AT < 4 ? "sp+8 ra-8" : "sp+74568 ra-8 fp-16";
	if (ip >= STUBS_AT && ip < STUBS_AT + 0x40)
		return (ip - STUBS_AT) % 16 < 11 ? "sp+8 ra-8" : "sp+16 ra-8";
	if (ip >= LAST_AT && ip < LAST_AT + 0x100)
		return ip - LAST_AT < 4 ? "sp+8 ra-8" : "outermost";
	return "-ENOENT";
}

static const struct test_damage damages[] = {
	/* The header */
	{ "bad_magic", SMALL_AT, -EBADMSG, NULL,
	  { { PREAMBLE(magic), 2, 0xdee3 } } },
	{ "swapped_magic", SMALL_AT, -EBADMSG, NULL,
	  { { PREAMBLE(magic), 2, 0xe2de } } },
	{ "version_0", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(version), 1, 0 } } },
	{ "version_1", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(version), 1, 1 } } },
	{ "version_4", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(version), 1, 4 } } },
	{ "unknown_flag_3", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(flags), 1, 0x9 } } },
	{ "unknown_flag_7", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(flags), 1, 0x81 } } },
	{ "not_sorted", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(flags), 1, 0 } } },
	{ "frame_pointer_flag_is_harmless", SMALL_AT, 0, "sp+8 ra-8",
	  { { PREAMBLE(flags), 1, 0x3 } } },
	{ "abi_aarch64_big", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(abi_arch), 1, 1 } } },
	{ "abi_s390x", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(abi_arch), 1, 4 } } },
	{ "abi_0", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(abi_arch), 1, 0 } } },
	{ "ra_untracked", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(cfa_fixed_ra_offset), 1, 0 } } },
	{ "ra_above_cfa", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(cfa_fixed_ra_offset), 1, 8 } } },
	{ "ra_far_below_cfa", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(cfa_fixed_ra_offset), 1, 0x80 } } },
	{ "fixed_fp", SMALL_AT, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(cfa_fixed_fp_offset), 1, -16 } } },
	{ "aux_header_pushes_rows_past_end", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(auxhdr_len), 1, 1 } } },
	{ "fdeoff_past_rows", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(fdeoff), 4, 1 } } },
	{ "fdeoff_wraps", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(fdeoff), 4, -4 } } },
	{ "freoff_wraps", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(freoff), 4, -4 } } },
	{ "freoff_and_fre_len_wrap_together", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(freoff), 4, 0x80000000 },
	    { AT_HEADER(fre_len), 4, 0x80000000 } } },
	{ "fre_len_past_end", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(fre_len), 4, sizeof(rows) + 1 } } },
	{ "fre_len_wraps", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(fre_len), 4, 0xffffffff } } },
	{ "num_fdes_one_too_many", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(num_fdes), 4, FUNCTIONS + 1 } } },
	/* 20 * 0x33333334 is 0x10 modulo 2^32. */
	{ "num_fdes_wraps_32_bits", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(num_fdes), 4, 0x33333334 } } },
	{ "num_fdes_all_ones", SMALL_AT, -EBADMSG, NULL,
	  { { AT_HEADER(num_fdes), 4, 0xffffffff } } },
	{ "no_functions", SMALL_AT, -ENOENT, NULL,
	  { { AT_HEADER(num_fdes), 4, 0 } } },
	{ "header_num_fres_is_not_used", WIDE_AT + 4, 0, "sp+74568 ra-8 fp-16",
	  { { AT_HEADER(num_fres), 4, 0xffffffff } } },

	/* A function */
	{ "fre_type_3", SMALL_AT, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, info), 1, 3 } } },
	{ "fre_type_15", SMALL_AT, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, info), 1, 15 } } },
	{ "pcmask_repeats_after_0", STUBS_AT + 0x11, -EBADMSG, NULL,
	  { { AT_FDE(STUBS, rep_size), 1, 0 } } },
	{ "pcinc_ignores_repetition", SMALL_AT + 5, 0, "fp+16 ra-8 fp-16",
	  { { AT_FDE(SMALL, rep_size), 1, 0 } } },
	{ "padding_is_not_used", SMALL_AT + 5, 0, "fp+16 ra-8 fp-16",
	  { { AT_FDE(SMALL, padding), 2, 0xffff } } },
	{ "rows_start_at_their_end", SMALL_AT, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, fre_off), 4, sizeof(rows) } } },
	{ "rows_start_past_their_end", SMALL_AT, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, fre_off), 4, sizeof(rows) + 1 } } },
	{ "rows_start_wraps", SMALL_AT, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, fre_off), 4, 0xffffffff } } },
	{ "no_rows", SMALL_AT, 0, "-ENODATA",
	  { { AT_FDE(SMALL, num_fres), 4, 0 } } },
	{ "function_ends_behind_text", LAST_AT, 0, "-ENOENT",
	  { { AT_FDE(LAST, func_size), 4, 0x101 } } },
	{ "function_size_all_ones", LAST_AT, 0, "-ENOENT",
	  { { AT_FDE(LAST, func_size), 4, 0xffffffff } } },
	{ "function_starts_before_text", SMALL_AT, 0, "-ENOENT",
	  { { AT_FDE(SMALL, func_start), 4, SMALL_AT - TEST_TABLE - 1 } } },
	{ "function_start_is_most_negative", SMALL_AT + 0x10, 0, "-ENOENT",
	  { { AT_FDE(SMALL, func_start), 4, 0x80000000 } } },
	{ "zero_size_function", SMALL_AT, 0, "-ENOENT",
	  { { AT_FDE(SMALL, func_size), 4, 0 } } },
	{ "duplicate_start_first_is_empty", MEDIUM_AT + 0x20, 0, "sp+4104 ra-8 fp-4112",
	  { { AT_FDE(SMALL, func_start), 4, MEDIUM_AT - TEST_TABLE },
	    { AT_FDE(SMALL, func_size), 4, 0 } } },
	{ "duplicate_start_second_is_empty", SMALL_AT + 5, 0, "fp+16 ra-8 fp-16",
	  { { AT_FDE(MEDIUM, func_start), 4, SMALL_AT - TEST_TABLE },
	    { AT_FDE(MEDIUM, func_size), 4, 0 } } },
	{ "three_empty_behind", SMALL_AT + 5, 0, "fp+16 ra-8 fp-16",
	  { { AT_FDE(MEDIUM, func_start), 4, SMALL_AT - TEST_TABLE },
	    { AT_FDE(MEDIUM, func_size), 4, 0 },
	    { AT_FDE(WIDE, func_start), 4, SMALL_AT + 1 - TEST_TABLE },
	    { AT_FDE(WIDE, func_size), 4, 0 } } },

	/* Rows */
	{ "first_row_above_ip", SMALL_AT, 0, "-ENODATA",
	  { { AT_ROW(ROWS_SMALL), 1, 1 } } },
	{ "first_row_above_ip_later_ip", SMALL_AT + 1, 0, "sp+16 ra-8 fp-16",
	  { { AT_ROW(ROWS_SMALL), 1, 1 } } },
	{ "rows_decrease", SMALL_AT + 31, -EBADMSG, NULL,
	  { { AT_ROW(ROWS_SMALL + 7), 1, 0 } } },
	{ "row_starts_behind_function", SMALL_AT + 31, 0, "fp+16 ra-8 fp-16",
	  { { AT_ROW(ROWS_SMALL + 11), 1, 200 } } },
	{ "row_starts_at_function_end", SMALL_AT + 31, 0, "fp+16 ra-8 fp-16",
	  { { AT_ROW(ROWS_SMALL + 11), 1, 32 } } },
	{ "offset_size_3", SMALL_AT, -EBADMSG, NULL,
	  { { AT_ROW(ROWS_SMALL + 1), 1, SP(1, 3) } } },
	{ "offset_size_3_of_the_last_row", SMALL_AT, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, num_fres), 4, 1 }, { AT_ROW(ROWS_SMALL + 1), 1, SP(1, 3) } } },
	{ "three_offsets", SMALL_AT + 4, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, num_fres), 4, 1 }, { AT_ROW(ROWS_SMALL + 1), 1, SP(3, 0) } } },
	{ "fifteen_wide_offsets", SMALL_AT + 4, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, num_fres), 4, 1 }, { AT_ROW(ROWS_SMALL + 1), 1, SP(15, 1) } } },
	{ "outermost_row", SMALL_AT, 0, "outermost",
	  { { AT_FDE(SMALL, num_fres), 4, 1 }, { AT_ROW(ROWS_SMALL + 1), 1, SP(0, 0) } } },
	{ "negative_cfa_is_passed_on", SMALL_AT, 0, "sp-128 ra-8",
	  { { AT_ROW(ROWS_SMALL + 2), 1, 0x80 } } },
	{ "offsets_past_end", LAST_AT + 4, -EBADMSG, NULL,
	  { { AT_ROW(ROWS_LAST + 4), 1, SP(1, 0) } } },
	{ "row_head_past_end", LAST_AT + 4, -EBADMSG, NULL,
	  { { AT_HEADER(fre_len), 4, sizeof(rows) - 1 } } },
	{ "row_count_past_end", LAST_AT + 4, -EBADMSG, NULL,
	  { { AT_FDE(LAST, num_fres), 4, 3 } } },
	{ "row_count_all_ones", SMALL_AT + 3, -E2BIG, NULL,
	  { { AT_FDE(SMALL, num_fres), 4, 0xffffffff } } },
};

static void test_good(void)
{
	struct unwind_table_source source = good_source();

	test_every_byte("good_table", &source, good_row);
	test_source_free(&source);
}

/* Functions' starts count from themselves. */
static void test_good_pcrel(void)
{
	struct unwind_table_source source;
	struct image image;

	good_image(&image);
	image.header.preamble.flags |= SFRAME_F_FDE_FUNC_START_PCREL;
	for (int i = 0; i < FUNCTIONS; i++)
		image.fdes[i].func_start -= FDE(i);
	source = source_of(&image, sizeof(image));
	test_every_byte("good_table_pcrel", &source, good_row);
	test_source_free(&source);
}

static void test_each_damage(void)
{
	struct unwind_table_source source = good_source();

	test_damages("damaged", &source, damages, ARRAY_SIZE(damages));
	test_source_free(&source);
}

/* Any section too short for the table, and one that is longer. */
static void test_ends(void)
{
	u8 longer[sizeof(struct image) + 4096] = { };
	struct unwind_table_source source = good_source();

	test_truncated("truncated_at_every_byte", &source, sizeof(struct image), good_row);
	memcpy(longer, source.bytes, source.len);
	test_source_free(&source);
	source = source_of(longer, sizeof(longer));
	test_every_byte("section_longer_than_table", &source, good_row);
	test_source_free(&source);
}

/* Rows that end at any byte: the last one is missing, or a part of it. */
static void test_truncated_rows(void)
{
	unsigned int wrong = 0;
	struct image image;

	good_image(&image);
	for (u32 len = 0; len < sizeof(rows); len++) {
		struct unwind_table_source source;
		struct unwind_table *table;

		image.header.fre_len = len;
		source = source_of(&image, sizeof(image) - sizeof(rows) + len);
		table = test_build(&source, 1);
		wrong += !IS_ERR(table) || PTR_ERR(table) != -EBADMSG || test_broken;
		test_source_free(&source);
	}
	test_result(!wrong, "rows_truncated_at_every_byte: -EBADMSG, %u of %zu lengths wrong",
		    wrong, sizeof(rows));
}

static void test_aux_header(void)
{
	struct unwind_table_source source;
	struct image image;
	u8 bytes[sizeof(image) + 7] = { };

	good_image(&image);
	image.header.auxhdr_len = 7;
	memcpy(bytes, &image.header, sizeof(image.header));
	memcpy(bytes + sizeof(image.header) + 7, image.fdes,
	       sizeof(image) - sizeof(image.header));
	source = source_of(bytes, sizeof(bytes));
	test_every_byte("aux_header_is_skipped", &source, good_row);
	test_source_free(&source);
}

static const char *row_without_last(u64 ip)
{
	return ip >= LAST_AT ? "-ENOENT" : good_row(ip);
}

static const char *row_without_small(u64 ip)
{
	return ip < MEDIUM_AT ? "-ENOENT" : good_row(ip);
}

/* The code that the table is made for bounds what it can say. */
static void test_text_range(void)
{
	struct unwind_table_source source = good_source();

	source.text_end = LAST_AT + 0xff;
	test_every_byte("function_crosses_text_end", &source, row_without_last);
	source.text_end = LAST_AT;
	test_every_byte("function_behind_text", &source, good_row);
	source.text_end = TEXT_END;
	source.text_start = SMALL_AT + 1;
	test_every_byte("function_crosses_text_start", &source, row_without_small);
	source.text_start = MEDIUM_AT;
	test_every_byte("function_before_text", &source, row_without_small);

	source.text_start = LAST_AT + 0x100;
	test_refused("no_function_in_text", &source, -ENOENT);
	source.text_start = TEXT_END;
	test_refused("empty_text", &source, -ENOENT);
	source.text_start = TEXT_END + 1;
	test_refused("text_ends_before_its_start", &source, -ENOENT);
	test_source_free(&source);
}

/* All of the address space, of which no more is indexed than offsets can say. */
static void test_all_text(void)
{
	static const struct {
		const char	*name;
		u64		ip;
	} cases[] = {
		{ "ip_0", 0 },
		{ "ip_in_function", STUBS_AT + 0x3b },
		{ "ip_behind_the_index", UNWIND_TABLE_MAX_TEXT },
		{ "ip_in_function_4_gib_below", SMALL_AT + (1ull << 32) },
		{ "ip_at_end_of_address_space", ~0ull - 1 },
	};
	struct unwind_table_source source = good_source();
	struct unwind_table *table;
	struct sframe_row row;
	char text[64];

	source.text_start = 0;
	source.text_end = ~0ull;
	table = test_built(&source, "all_text");
	if (table)
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			int error = unwind_table_find(table, cases[i].ip, &row);

			test_row_text(error, &row, text, sizeof(text));
			test_result(!strcmp(text, good_row(cases[i].ip)), "%s: %s",
				    cases[i].name, text);
		}
	unwind_table_free(table);
	test_source_free(&source);
}

/* The good table's first function, with rows of three bytes that all start at 0 */
static struct unwind_table_source endless_rows(u32 num_fres, u32 len)
{
	struct unwind_table_source source;
	struct image image;
	u8 *bytes;

	good_image(&image);
	image.header.num_fdes = 1;
	image.header.fre_len = len;
	image.fdes[SMALL].num_fres = num_fres;
	bytes = calloc(1, offsetof(struct image, rows) + len);
	memcpy(bytes, &image, offsetof(struct image, rows));
	for (u32 at = 0; at < len; at += 3)
		memcpy(bytes + offsetof(struct image, rows) + at, "\0\3\10", 3);
	source = source_of(bytes, offsetof(struct image, rows) + len);
	free(bytes);
	return source;
}

static const char *endless_row(u64 ip)
{
	return ip < SMALL_AT + 0x20 ? "sp+8 ra-8" : "-ENOENT";
}

static void test_endless_rows(void)
{
	const u32 nr = 1 << 20;
	struct unwind_table_source source = endless_rows(0xffffffff, 3 * nr);

	test_refused("endless_rows_of_4_gib", &source, -E2BIG);
	test_source_free(&source);
	source = endless_rows(nr + 1, 3 * nr);
	test_refused("endless_rows_one_too_many", &source, -EBADMSG);
	test_source_free(&source);
	source = endless_rows(nr, 3 * nr);
	test_every_byte("endless_rows_that_are_there", &source, endless_row);
	test_source_free(&source);
}

static const char *crowded_row(u64 ip)
{
	return ip < MEDIUM_AT ? good_row(ip) : "-ENOENT";
}

#define CROWD 1000

/* The first function among a thousand of no size, before, at and after its start */
static void test_many_empty(void)
{
	struct crowd {
		struct sframe_header	header;
		struct sframe_fde	fdes[CROWD];
		u8			rows[sizeof(rows)];
	} __packed;
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct unwind_table_source source;
	struct image image;

	good_image(&image);
	crowd->header = image.header;
	crowd->header.num_fdes = CROWD;
	crowd->header.freoff = sizeof(crowd->fdes);
	memcpy(crowd->rows, rows, sizeof(rows));
	for (int i = 0; i < CROWD; i++) {
		crowd->fdes[i] = image.fdes[SMALL];
		if (i < CROWD / 4)
			crowd->fdes[i].func_start--;
		if (i > CROWD * 3 / 4)
			crowd->fdes[i].func_start += i * 0x20 / CROWD;
		if (i != CROWD / 2)
			crowd->fdes[i].func_size = 0;
	}
	source = source_of(crowd, sizeof(*crowd));
	test_every_byte("among_a_thousand_empty", &source, crowded_row);
	test_source_free(&source);
	free(crowd);
}

/* A header that says sorted over functions in random order */
static void test_unsorted(void)
{
	struct unwind_table_source source = good_source();
	struct image *image = (struct image *)source.bytes;
	struct sframe_fde last = image->fdes[LAST];

	/* Even where only functions of no size are not in their place */
	last.func_size = 0;
	for (int i = 0; i < STUBS; i++) {
		struct sframe_fde old = image->fdes[i];
		char name[64];

		image->fdes[i] = last;
		snprintf(name, sizeof(name), "unsorted_claims_sorted_%d", i);
		test_refused(name, &source, -EBADMSG);
		image->fdes[i] = old;
	}
	test_source_free(&source);
}

void test_damaged(void)
{
	test_good();
	test_good_pcrel();
	test_each_damage();
	test_ends();
	test_truncated_rows();
	test_aux_header();
	test_text_range();
	test_all_text();
	test_endless_rows();
	test_many_empty();
	test_unsorted();
}
