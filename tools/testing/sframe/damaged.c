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

#define TABLE		0x500000ull
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
#define FROM_TABLE(at)	((s32)((at) - TABLE))

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
		.header = {
			.preamble = { SFRAME_MAGIC, SFRAME_VERSION_2,
				      SFRAME_F_FDE_SORTED },
			.abi_arch = SFRAME_ABI_AMD64_LE,
			.cfa_fixed_ra_offset = -8,
			.num_fdes = FUNCTIONS,
			.num_fres = 13,
			.fre_len = sizeof(rows),
			.freoff = FUNCTIONS * sizeof(struct sframe_fde),
		},
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
	memcpy(image->rows, rows, sizeof(rows));
}

/* What happened: the code of sframe_open() or, after it, sframe_find_row(). */
struct outcome {
	bool			opened;
	int			error;
	struct sframe_row	row;
	u32			passed;		/* rows */
	bool			budget_kept;
};

static struct outcome look_up_in(u64 end, u64 text, u64 text_end, u64 ip, u32 budget)
{
	struct sframe_reader reader = test_reader(budget);
	struct outcome out = { };
	struct sframe_table table;

	/* Rubbish, so that what is not filled in shows. */
	memset(&table, 0xa5, sizeof(table));
	memset(&out.row, 0xa5, sizeof(out.row));
	out.error = sframe_open(&reader, test_memory.start, end, &table);
	if (!out.error) {
		out.opened = true;
		table.text_start = text;
		table.text_end = text_end;
		out.error = sframe_find_row(&reader, &table, ip, &out.row);
	}
	out.passed = budget - reader.budget;
	out.budget_kept = test_budget_kept(&reader, budget);
	return out;
}

static struct outcome look_up(u64 ip)
{
	return look_up_in(TABLE + test_memory.len, TEXT, TEXT_END, ip, TEST_BUDGET);
}

/* The good table in memory; @pcrel: its functions' starts count from themselves. */
static struct image *set_good(bool pcrel)
{
	struct image image;

	good_image(&image);
	if (pcrel) {
		image.header.preamble.flags |= SFRAME_F_FDE_FUNC_START_PCREL;
		for (int i = 0; i < FUNCTIONS; i++)
			image.fdes[i].func_start -= FDE(i);
	}
	test_memory_set(TABLE, &image, sizeof(image));
	return (struct image *)test_memory.bytes;
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

static void test_good(bool pcrel)
{
	unsigned int wrong = 0, looked = 0;
	char text[64], first[128] = "";

	set_good(pcrel);
	for (u64 ip = TEXT - 32; ip < TEXT_END + 32; ip++) {
		struct outcome out = look_up(ip);

		looked++;
		test_row_text(out.error, &out.row, text, sizeof(text));
		if (out.opened && out.budget_kept && !strcmp(text, good_row(ip)))
			continue;
		if (!wrong++)
			snprintf(first, sizeof(first), ": first %#llx %s, not %s",
				 (unsigned long long)ip, text, good_row(ip));
	}
	test_result(!wrong, "good_table%s: %u of %u addresses wrong%s",
		    pcrel ? "_pcrel" : "", wrong, looked, first);
}

#define MAX_PATCHES 4
#define OPEN_FAILS true

struct damage {
	const char	*name;
	u64		ip;
	bool		open_fails;
	int		error;
	/* The row, where @error is 0. */
	const char	*row;
	struct {
		u32	at;
		u32	width;
		u64	value;
	} patches[MAX_PATCHES];
};

static const struct damage damages[] = {
	/* The header */
	{ "bad_magic", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { PREAMBLE(magic), 2, 0xdee3 } } },
	{ "swapped_magic", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { PREAMBLE(magic), 2, 0xe2de } } },
	{ "version_0", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(version), 1, 0 } } },
	{ "version_1", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(version), 1, 1 } } },
	{ "version_4", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(version), 1, 4 } } },
	{ "unknown_flag_3", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(flags), 1, 0x9 } } },
	{ "unknown_flag_7", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(flags), 1, 0x81 } } },
	{ "not_sorted", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { PREAMBLE(flags), 1, 0 } } },
	{ "frame_pointer_flag_is_harmless", SMALL_AT, false, 0, "sp+8 ra-8",
	  { { PREAMBLE(flags), 1, 0x3 } } },
	{ "abi_aarch64_big", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(abi_arch), 1, 1 } } },
	{ "abi_s390x", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(abi_arch), 1, 4 } } },
	{ "abi_0", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(abi_arch), 1, 0 } } },
	{ "ra_untracked", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(cfa_fixed_ra_offset), 1, 0 } } },
	{ "ra_above_cfa", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(cfa_fixed_ra_offset), 1, 8 } } },
	{ "ra_far_below_cfa", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(cfa_fixed_ra_offset), 1, 0x80 } } },
	{ "fixed_fp", SMALL_AT, OPEN_FAILS, -EOPNOTSUPP, NULL,
	  { { AT_HEADER(cfa_fixed_fp_offset), 1, -16 } } },
	{ "aux_header_pushes_rows_past_end", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(auxhdr_len), 1, 1 } } },
	{ "fdeoff_past_rows", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(fdeoff), 4, 1 } } },
	{ "fdeoff_wraps", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(fdeoff), 4, -4 } } },
	{ "freoff_wraps", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(freoff), 4, -4 } } },
	{ "freoff_and_fre_len_wrap_together", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(freoff), 4, 0x80000000 },
	    { AT_HEADER(fre_len), 4, 0x80000000 } } },
	{ "fre_len_past_end", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(fre_len), 4, sizeof(rows) + 1 } } },
	{ "fre_len_wraps", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(fre_len), 4, 0xffffffff } } },
	{ "num_fdes_one_too_many", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(num_fdes), 4, FUNCTIONS + 1 } } },
	/* 20 * 0x33333334 is 0x10 modulo 2^32. */
	{ "num_fdes_wraps_32_bits", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(num_fdes), 4, 0x33333334 } } },
	{ "num_fdes_all_ones", SMALL_AT, OPEN_FAILS, -EBADMSG, NULL,
	  { { AT_HEADER(num_fdes), 4, 0xffffffff } } },
	{ "no_functions", SMALL_AT, false, -ENOENT, NULL,
	  { { AT_HEADER(num_fdes), 4, 0 } } },
	{ "header_num_fres_is_not_used", WIDE_AT + 4, false, 0, "sp+74568 ra-8 fp-16",
	  { { AT_HEADER(num_fres), 4, 0xffffffff } } },

	/* A function */
	{ "fre_type_3", SMALL_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, info), 1, 3 } } },
	{ "fre_type_15", SMALL_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, info), 1, 15 } } },
	{ "pcmask_repeats_after_0", STUBS_AT + 0x11, false, -EBADMSG, NULL,
	  { { AT_FDE(STUBS, rep_size), 1, 0 } } },
	{ "pcinc_ignores_repetition", SMALL_AT + 5, false, 0, "fp+16 ra-8 fp-16",
	  { { AT_FDE(SMALL, rep_size), 1, 0 } } },
	{ "padding_is_not_used", SMALL_AT + 5, false, 0, "fp+16 ra-8 fp-16",
	  { { AT_FDE(SMALL, padding), 2, 0xffff } } },
	{ "rows_start_at_their_end", SMALL_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, fre_off), 4, sizeof(rows) } } },
	{ "rows_start_past_their_end", SMALL_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, fre_off), 4, sizeof(rows) + 1 } } },
	{ "rows_start_wraps", SMALL_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, fre_off), 4, 0xffffffff } } },
	{ "no_rows", SMALL_AT, false, -ENODATA, NULL,
	  { { AT_FDE(SMALL, num_fres), 4, 0 } } },
	{ "function_ends_behind_text", LAST_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(LAST, func_size), 4, 0x101 } } },
	{ "function_size_all_ones", LAST_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(LAST, func_size), 4, 0xffffffff } } },
	{ "function_starts_before_text", SMALL_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, func_start), 4, SMALL_AT - TABLE - 1 } } },
	{ "function_start_is_most_negative", SMALL_AT + 0x10, false, -ENOENT, NULL,
	  { { AT_FDE(SMALL, func_start), 4, 0x80000000 } } },
	{ "zero_size_function", SMALL_AT, false, -ENOENT, NULL,
	  { { AT_FDE(SMALL, func_size), 4, 0 } } },
	{ "duplicate_start_first_is_empty", MEDIUM_AT + 0x20, false, 0, "sp+4104 ra-8 fp-4112",
	  { { AT_FDE(SMALL, func_start), 4, MEDIUM_AT - TABLE },
	    { AT_FDE(SMALL, func_size), 4, 0 } } },
	{ "duplicate_start_second_is_empty", SMALL_AT + 5, false, 0, "fp+16 ra-8 fp-16",
	  { { AT_FDE(MEDIUM, func_start), 4, SMALL_AT - TABLE },
	    { AT_FDE(MEDIUM, func_size), 4, 0 } } },
	{ "three_empty_behind", SMALL_AT + 5, false, 0, "fp+16 ra-8 fp-16",
	  { { AT_FDE(MEDIUM, func_start), 4, SMALL_AT - TABLE },
	    { AT_FDE(MEDIUM, func_size), 4, 0 },
	    { AT_FDE(WIDE, func_start), 4, SMALL_AT + 1 - TABLE },
	    { AT_FDE(WIDE, func_size), 4, 0 } } },

	/* Rows */
	{ "first_row_above_ip", SMALL_AT, false, -ENODATA, NULL,
	  { { AT_ROW(ROWS_SMALL), 1, 1 } } },
	{ "first_row_above_ip_later_ip", SMALL_AT + 1, false, 0, "sp+16 ra-8 fp-16",
	  { { AT_ROW(ROWS_SMALL), 1, 1 } } },
	{ "rows_decrease", SMALL_AT + 31, false, -EBADMSG, NULL,
	  { { AT_ROW(ROWS_SMALL + 7), 1, 0 } } },
	{ "row_starts_behind_function", SMALL_AT + 31, false, 0, "fp+16 ra-8 fp-16",
	  { { AT_ROW(ROWS_SMALL + 11), 1, 200 } } },
	{ "row_starts_at_function_end", SMALL_AT + 31, false, 0, "fp+16 ra-8 fp-16",
	  { { AT_ROW(ROWS_SMALL + 11), 1, 32 } } },
	{ "offset_size_3", SMALL_AT, false, -EBADMSG, NULL,
	  { { AT_ROW(ROWS_SMALL + 1), 1, SP(1, 3) } } },
	{ "offset_size_3_of_the_last_row", SMALL_AT, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, num_fres), 4, 1 }, { AT_ROW(ROWS_SMALL + 1), 1, SP(1, 3) } } },
	{ "three_offsets", SMALL_AT + 4, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, num_fres), 4, 1 }, { AT_ROW(ROWS_SMALL + 1), 1, SP(3, 0) } } },
	{ "fifteen_wide_offsets", SMALL_AT + 4, false, -EBADMSG, NULL,
	  { { AT_FDE(SMALL, num_fres), 4, 1 }, { AT_ROW(ROWS_SMALL + 1), 1, SP(15, 1) } } },
	{ "outermost_row", SMALL_AT, false, 0, "outermost",
	  { { AT_FDE(SMALL, num_fres), 4, 1 }, { AT_ROW(ROWS_SMALL + 1), 1, SP(0, 0) } } },
	{ "negative_cfa_is_passed_on", SMALL_AT, false, 0, "sp-128 ra-8",
	  { { AT_ROW(ROWS_SMALL + 2), 1, 0x80 } } },
	{ "offsets_past_end", LAST_AT + 4, false, -EBADMSG, NULL,
	  { { AT_ROW(ROWS_LAST + 4), 1, SP(1, 0) } } },
	{ "row_head_past_end", LAST_AT + 4, false, -EBADMSG, NULL,
	  { { AT_HEADER(fre_len), 4, sizeof(rows) - 1 } } },
	{ "row_count_past_end", LAST_AT + 4, false, -EBADMSG, NULL,
	  { { AT_FDE(LAST, num_fres), 4, 3 } } },
	{ "row_count_all_ones_next_row_behind_ip", SMALL_AT + 3, false, 0,
	  "sp+16 ra-8 fp-16", { { AT_FDE(SMALL, num_fres), 4, 0xffffffff } } },
};

static void patch(u32 at, u32 width, u64 value)
{
	while (width--) {
		test_memory.bytes[at++] = value;
		value >>= 8;
	}
}

static void test_one_damage(const struct damage *damage)
{
	struct outcome out;
	char text[64];
	bool passed;

	set_good(false);
	for (int i = 0; i < MAX_PATCHES; i++)
		patch(damage->patches[i].at, damage->patches[i].width,
		      damage->patches[i].value);
	out = look_up(damage->ip);
	test_row_text(out.error, &out.row, text, sizeof(text));
	passed = out.opened != damage->open_fails && out.budget_kept &&
		 out.error == damage->error && !test_memory.escaped;
	if (passed && !out.error)
		passed = !strcmp(text, damage->row);
	test_result(passed, "damaged_%s: %s %s%s", damage->name,
		    out.opened ? "find_row" : "open", text,
		    test_memory.escaped ? ", read outside the table" : "");
}

/* Any section too short for the header, and any end inside the table. */
static void test_truncated(void)
{
	unsigned int wrong = 0;
	struct outcome out;

	set_good(false);
	for (u64 len = 0; len < sizeof(struct image); len++) {
		struct outcome out = look_up_in(TABLE + len, TEXT, TEXT_END,
						SMALL_AT, TEST_BUDGET);

		wrong += out.opened || out.error != -EBADMSG ||
			 (len < sizeof(struct sframe_header) && test_memory.count);
	}
	test_result(!wrong, "truncated_at_every_byte: -EBADMSG, %u of %zu lengths wrong",
		    wrong, sizeof(struct image));

	out = look_up_in(TABLE - 1, TEXT, TEXT_END, SMALL_AT, TEST_BUDGET);
	test_result(out.error == -EBADMSG && !test_memory.count,
		    "end_before_start: %s, %llu bytes read", test_error(out.error),
		    (unsigned long long)test_memory.count);
	test_result(!look_up_in(TABLE + sizeof(struct image) + 4096, TEXT, TEXT_END,
				SMALL_AT, TEST_BUDGET).error,
		    "section_longer_than_table: accepted");
}

static void test_aux_header(void)
{
	struct image image;
	u8 bytes[sizeof(image) + 7] = { };
	struct outcome out;

	good_image(&image);
	image.header.auxhdr_len = 7;
	memcpy(bytes, &image.header, sizeof(image.header));
	memcpy(bytes + sizeof(image.header) + 7, image.fdes,
	       sizeof(image) - sizeof(image.header));
	test_memory_set(TABLE, bytes, sizeof(bytes));
	out = look_up(WIDE_AT + 4);
	test_result(!out.error && out.row.cfa.offset == 74568,
		    "aux_header_is_skipped: %s", test_error(out.error));
}

/* The text range that the table is registered for bounds what it can say. */
static void test_text_range(void)
{
	u64 end = TABLE + sizeof(struct image);
	struct outcome out;

	set_good(false);
	out = look_up_in(end, TEXT, LAST_AT + 0xff, LAST_AT, TEST_BUDGET);
	test_result(out.error == -EBADMSG, "function_crosses_text_end: %s",
		    test_error(out.error));
	out = look_up_in(end, SMALL_AT + 1, TEXT_END, SMALL_AT + 1, TEST_BUDGET);
	test_result(out.error == -EBADMSG, "function_crosses_text_start: %s",
		    test_error(out.error));
	out = look_up_in(end, TEXT, LAST_AT, LAST_AT, TEST_BUDGET);
	test_result(out.error == -ENOENT, "ip_at_text_end: %s", test_error(out.error));
	out = look_up_in(end, SMALL_AT + 1, TEXT_END, SMALL_AT, TEST_BUDGET);
	test_result(out.error == -ENOENT, "ip_before_text: %s", test_error(out.error));
	out = look_up_in(end, TEXT, TEXT, TEXT, TEST_BUDGET);
	test_result(out.error == -ENOENT, "empty_text: %s", test_error(out.error));
	out = look_up_in(end, 0, ~0ull, ~0ull - 1, TEST_BUDGET);
	test_result(out.error == -ENOENT, "ip_at_end_of_address_space: %s",
		    test_error(out.error));
	out = look_up_in(end, 0, ~0ull, 0, TEST_BUDGET);
	test_result(out.error == -ENOENT, "ip_0: %s", test_error(out.error));
}

/*
 * A fault at a byte may only matter when the byte is needed: the answer is the
 * right one or -EFAULT, with a budget of the rows that are passed and the one behind.
 */
static void test_faults(void)
{
	static const u64 ips[] = {
		SMALL_AT, SMALL_AT + 31, MEDIUM_AT + 0x2ff, WIDE_AT + 0xff,
		STUBS_AT + 0x3b, LAST_AT + 1, LAST_AT + 0xff, LAST_AT - 1, TEXT_END - 1,
	};
	unsigned int wrong = 0, faults = 0, rights = 0;
	u64 end = TABLE + sizeof(struct image);
	char text[64];

	set_good(false);
	for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
		u32 need;

		test_memory.fault = 0;
		need = look_up(ips[i]).passed;
		for (u64 at = 0; at < sizeof(struct image); at++) {
			struct outcome out;

			test_memory.fault = TABLE + at;
			out = look_up_in(end, TEXT, TEXT_END, ips[i], need + 1);
			test_row_text(out.error, &out.row, text, sizeof(text));
			if (out.error == -EFAULT)
				faults++;
			else if (!strcmp(text, good_row(ips[i])))
				rights++;
			else
				wrong++;
			/* The whole header is needed. */
			if (at < sizeof(struct sframe_header) && out.opened)
				wrong++;
		}
	}
	test_result(!wrong && faults && rights,
		    "fault_at_every_byte: %u -EFAULT, %u right rows, %u wrong", faults,
		    rights, wrong);
}

/* -E2BIG when the budget is short by any number of rows, and not one more passed. */
static void test_budget(void)
{
	u64 end = TABLE + sizeof(struct image), ip = SMALL_AT + 31;
	unsigned int wrong = 0;
	struct outcome out;
	u32 need;

	set_good(false);
	need = look_up(ip).passed;
	for (u32 budget = 0; budget < need; budget++) {
		out = look_up_in(end, TEXT, TEXT_END, ip, budget);
		wrong += out.error != -E2BIG || out.passed > budget ||
			 !out.budget_kept;
	}
	out = look_up_in(end, TEXT, TEXT_END, ip, need);
	test_result(!wrong && !out.error && need == 4,
		    "budget_short_by_any_amount: -E2BIG, %u of %u wrong; %s with exactly enough",
		    wrong, need, test_error(out.error));
}

/* A million rows of three bytes that all start at 0, and a count of 2^32 - 1. */
static void test_endless_rows(void)
{
	static const u32 budgets[] = { 0, 1000, 65536, 1u << 19 };
	size_t len = sizeof(struct image) - sizeof(rows) + (3u << 20);
	struct image image;

	good_image(&image);
	image.header.fre_len = 3u << 20;
	image.fdes[SMALL].num_fres = 0xffffffff;
	test_memory_set(TABLE, NULL, len);
	memcpy(test_memory.bytes, &image, sizeof(image) - sizeof(rows));
	for (size_t at = sizeof(image) - sizeof(rows); at < len; at += 3)
		memcpy(test_memory.bytes + at, "\0\3\10", 3);

	for (size_t i = 0; i < ARRAY_SIZE(budgets); i++) {
		struct outcome out = look_up_in(TABLE + len, TEXT, TEXT_END,
						SMALL_AT, budgets[i]);

		test_result(out.error == -E2BIG && out.passed == budgets[i] &&
			    out.budget_kept,
			    "endless_rows_budget_%u: %s after %u rows", budgets[i],
			    test_error(out.error), out.passed);
	}
	test_result(look_up(SMALL_AT).error == -EBADMSG,
		    "endless_rows_end_of_rows: %s", test_error(look_up(SMALL_AT).error));
}

/* A header that says sorted over functions in random order: bounded, never wrong. */
static void test_unsorted(void)
{
	enum { MANY = 100000 };
	size_t fdes = sizeof(struct sframe_fde) * MANY;
	size_t len = sizeof(struct sframe_header) + fdes + sizeof(rows);
	unsigned long most = 0, wrong = 0;
	struct sframe_header *header;
	struct sframe_fde *fde;
	struct image image;
	u64 state = 12345;

	good_image(&image);
	test_memory_set(TABLE, NULL, len);
	header = (struct sframe_header *)test_memory.bytes;
	*header = image.header;
	header->num_fdes = MANY;
	header->freoff = fdes;
	fde = (struct sframe_fde *)(header + 1);
	for (int i = 0; i < MANY; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		fde[i] = image.fdes[SMALL];
		fde[i].func_start = (int)(TEXT - TABLE) + (int)(state >> 40) % 0x1000;
		/* Half of them empty: the longest way back. */
		fde[i].func_size = i & 1 ? 0 : 0x20;
	}
	memcpy(test_memory.bytes + len - sizeof(rows), rows, sizeof(rows));

	for (u64 ip = TEXT; ip < TEXT_END; ip++) {
		struct outcome out = look_up(ip);

		wrong += !test_known_error(out.error) || !out.budget_kept;
		if (test_memory.reads > most)
			most = test_memory.reads;
	}
	/*
	 * The header, 17 rounds of the search, five functions in three loads each, four
	 * rows and the words of one.
	 */
	test_result(!wrong && !test_memory.escaped && most <= 1 + 17 + 15 + 4 + 1,
		    "unsorted_claims_sorted: at most %lu reads a look-up in %d functions",
		    most, MANY);
}

/* Changes the table behind the decoder's back, after the n-th read. */
static struct {
	unsigned long	after;
	u32		at;
	u8		value;
} change;

static void change_later(void)
{
	if (test_memory.reads == change.after)
		test_memory.bytes[change.at] = change.value;
}

static void test_changing(void)
{
	static const u8 values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	static const u64 ips[] = { SMALL_AT + 31, MEDIUM_AT + 0x2ff, STUBS_AT + 0x3b };
	unsigned long wrong = 0, tried = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ips); i++)
		for (change.at = 0; change.at < sizeof(struct image); change.at++)
			for (change.after = 1; change.after <= 12; change.after++)
				for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
					struct outcome out;

					set_good(false);
					test_memory.after = change_later;
					change.value = values[v];
					out = look_up(ips[i]);
					tried++;
					wrong += !test_known_error(out.error) ||
						 !out.budget_kept ||
						 test_memory.escaped ||
						 (!out.error &&
						  !test_sound_row(&out.row));
				}
	test_result(!wrong, "bytes_change_between_reads: %lu of %lu wrong", wrong, tried);
}

/* The header is copied once: what changes in it later changes nothing. */
static void test_header_read_once(void)
{
	unsigned int wrong = 0;
	char text[64];

	for (change.at = 0; change.at < sizeof(struct sframe_header); change.at++) {
		struct outcome out;

		set_good(false);
		test_memory.after = change_later;
		change.after = 1;
		change.value = 0xff;
		out = look_up(WIDE_AT + 5);
		test_row_text(out.error, &out.row, text, sizeof(text));
		wrong += strcmp(text, good_row(WIDE_AT + 5)) != 0;
	}
	test_result(!wrong, "header_read_once: %u of %zu bytes matter later", wrong,
		    sizeof(struct sframe_header));
}

void test_damaged(void)
{
	test_good(false);
	test_good(true);
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++)
		test_one_damage(&damages[i]);
	test_truncated();
	test_aux_header();
	test_text_range();
	test_faults();
	test_budget();
	test_endless_rows();
	test_unsorted();
	test_changing();
	test_header_read_once();
}
