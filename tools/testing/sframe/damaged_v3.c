// SPDX-License-Identifier: GPL-2.0
/*
 * A hand-made table of version 3, and one case for each way in which what is new
 * in that version can be damaged or hostile; damaged.c has what both share.
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
enum { PLAIN, DRAP, SIGNAL, STUBS, NO_ROWS, FUNCTIONS };

#define PLAIN_AT	0x401000ull
#define DRAP_AT		0x401020ull
#define SIGNAL_AT	0x401100ull
#define STUBS_AT	0x401200ull
#define NO_ROWS_AT	0x401f00ull

#define SP(n, size)	(1 | (n) << 1 | (size) << 5)
#define FLEX(n, size)	((n) << 1 | (size) << 5)
#define REG(n)		((n) << SFRAME_V3_CONTROL_REG_SHIFT | SFRAME_V3_CONTROL_REG)
#define MEM(n)		(REG(n) | SFRAME_V3_CONTROL_DEREF)
#define CFA_MEM		SFRAME_V3_CONTROL_DEREF

/* Before each function's rows, attributes: rows (2 bytes), info, info2, repetition. */
static const u8 rows[] = {
	/* PLAIN, at 0 */
	3, 0, SFRAME_FRE_ADDR1, 0, 0,
	0, SP(1, 0), 8,
	1, SP(2, 0), 16, (u8)-16,
	4, 2 << 1, 16, (u8)-16,
	/* DRAP, at 16 */
	6, 0, SFRAME_FRE_ADDR1, SFRAME_V3_FDE_FLEX, 0,
	0, FLEX(2, 0), REG(7), 8,
	5, FLEX(2, 0), REG(10), 0,
	9, FLEX(5, 0), MEM(6), (u8)-16, 0, MEM(6), 0,
	12, FLEX(6, 1), MEM(6), 0, 0xf0, 0xff, CFA_MEM, 0, 0xf8, 0xff, MEM(6), 0, 0, 1,
	20, FLEX(4, 0), REG(7), 8, REG(2), 0,
	24, FLEX(0, 0),
	/* SIGNAL, at 58: as the kernel's frame has it */
	1, 0, SFRAME_FRE_ADDR1 | SFRAME_V3_FDE_SIGNAL, SFRAME_V3_FDE_FLEX, 0,
	0, FLEX(6, 1), MEM(7), 0, 160, 0, MEM(7), 0, 168, 0, MEM(7), 0, 120, 0,
	/* STUBS, at 77 */
	2, 0, SFRAME_FRE_ADDR1 | SFRAME_FDE_PCMASK, 0, 16,
	0, SP(1, 0), 8,
	11, SP(1, 0), 16,
	/* NO_ROWS, at 88 */
	0, 0, SFRAME_FRE_ADDR1, 0, 0,
};

#define ROWS_PLAIN	0
#define ROWS_DRAP	16
#define ROWS_SIGNAL	(ROWS_DRAP + 5 + 4 + 4 + 7 + 14 + 6 + 2)
#define ROWS_STUBS	(ROWS_SIGNAL + 5 + 14)
#define ROWS_NO_ROWS	(ROWS_STUBS + 5 + 6)
static_assert(ROWS_NO_ROWS + 5 == sizeof(rows));

struct image {
	struct sframe_header	header;
	struct sframe_v3_fde	fdes[FUNCTIONS];
	u8			rows[sizeof(rows)];
	/* Whatever follows the section. */
	u8			behind[40];
} __packed;

#define FDE(i)		(offsetof(struct image, fdes) + (i) * sizeof(struct sframe_v3_fde))
#define AT_FDE(i, f)	(FDE(i) + offsetof(struct sframe_v3_fde, f))
#define AT_ATTR(n, f)	(AT_ROW(n) + offsetof(struct sframe_v3_attributes, f))
#define AT_ROW(n)	(offsetof(struct image, rows) + (n))
#define AT_DRAP_ROW(n)	AT_ROW(ROWS_DRAP + 5 + (n))
/* Where a table that a linker put behind this one would start. */
#define AT_NEXT		((offsetof(struct image, behind) + 7) & ~7)

static struct unwind_table_source good_source(void)
{
	struct image image = {
		.header = test_header(SFRAME_VERSION_3, FUNCTIONS, sizeof(rows)),
		.fdes = {
			[PLAIN] = { PLAIN_AT, 0x20, ROWS_PLAIN },
			[DRAP] = { DRAP_AT, 0x20, ROWS_DRAP },
			[SIGNAL] = { SIGNAL_AT, 0x10, ROWS_SIGNAL },
			[STUBS] = { STUBS_AT, 0x40, ROWS_STUBS },
			[NO_ROWS] = { NO_ROWS_AT, 0x10, ROWS_NO_ROWS },
		},
	};

	image.header.num_fres = 12;
	image.header.preamble.flags |= SFRAME_F_FDE_FUNC_START_PCREL;
	memcpy(image.rows, rows, sizeof(rows));
	for (int i = 0; i < FUNCTIONS; i++)
		image.fdes[i].func_start -= TEST_TABLE + FDE(i);
	return test_source(&image, sizeof(image), TEXT, TEXT_END);
}

/* The rows of the good table, looked up by hand. */
static const char *good_row(u64 ip)
{
	u64 at;

	if (ip >= PLAIN_AT && ip < PLAIN_AT + 0x20)
		return ip < PLAIN_AT + 1 ? "sp+8 ra-8" :
		       ip < PLAIN_AT + 4 ? "sp+16 ra-8 fp-16" : "fp+16 ra-8 fp-16";
	if (ip >= DRAP_AT && ip < DRAP_AT + 0x20) {
		at = ip - DRAP_AT;
		return at < 5 ? "sp+8 ra-8" :
		       at < 9 ? "r10+0 ra-8" :
		       at < 12 ? "cfa=*(fp-16) ra=*(cfa-8) fp=*(fp+0)" :
		       at < 20 ? "cfa=*(fp-16) ra=*(cfa-8) fp=*(fp+256)" :
		       at < 24 ? "cfa=sp+8 ra=rcx+0 fp=same" : "outermost";
	}
	if (ip >= SIGNAL_AT && ip < SIGNAL_AT + 0x10)
		return "cfa=*(sp+160) ra=*(sp+168) fp=*(sp+120) signal";
	if (ip >= STUBS_AT && ip < STUBS_AT + 0x40)
		return (ip - STUBS_AT) % 16 < 11 ? "sp+8 ra-8" : "sp+16 ra-8";
	if (ip >= NO_ROWS_AT && ip < NO_ROWS_AT + 0x10)
		return "outermost";
	return "-ENOENT";
}

static const struct test_damage damages[] = {
	/* Functions */
	{ "frame_pointer_flag_is_gone", PLAIN_AT, -EOPNOTSUPP, NULL,
	  { { offsetof(struct sframe_preamble, flags), 1, 0x7 } } },
	{ "not_sorted", PLAIN_AT, -EOPNOTSUPP, NULL,
	  { { offsetof(struct sframe_preamble, flags), 1, 0x4 } } },
	{ "start_is_most_negative", PLAIN_AT, 0, "-ENOENT",
	  { { AT_FDE(PLAIN, func_start), 8, 1ull << 63 } } },
	{ "start_wraps", PLAIN_AT, 0, "-ENOENT",
	  { { AT_FDE(PLAIN, func_start), 8, ~0ull >> 1 } } },
	{ "start_4_gib_away_is_not_sorted", PLAIN_AT, -EBADMSG, NULL,
	  { { AT_FDE(PLAIN, func_start) + 4, 4, 0 } } },
	{ "last_start_4_gib_away", NO_ROWS_AT, 0, "-ENOENT",
	  { { AT_FDE(NO_ROWS, func_start) + 4, 4, 0 } } },
	{ "size_all_ones", NO_ROWS_AT, 0, "-ENOENT",
	  { { AT_FDE(NO_ROWS, func_size), 4, 0xffffffff } } },
	{ "attributes_at_end", PLAIN_AT, -EBADMSG, NULL,
	  { { AT_FDE(PLAIN, fre_off), 4, sizeof(rows) } } },
	{ "attributes_cross_end", PLAIN_AT, -EBADMSG, NULL,
	  { { AT_FDE(PLAIN, fre_off), 4, sizeof(rows) - 4 } } },
	{ "attributes_wrap", PLAIN_AT, -EBADMSG, NULL,
	  { { AT_FDE(PLAIN, fre_off), 4, 0xffffffff } } },
	{ "fre_type_3", PLAIN_AT, -EBADMSG, NULL,
	  { { AT_ATTR(ROWS_PLAIN, info), 1, 3 } } },
	{ "info_bit_6", PLAIN_AT, 0, "-ENODATA",
	  { { AT_ATTR(ROWS_PLAIN, info), 1, 0x40 } } },
	{ "pauth_key_means_nothing", PLAIN_AT, 0, "sp+8 ra-8",
	  { { AT_ATTR(ROWS_PLAIN, info), 1, 0x20 } } },
	{ "fde_type_2", PLAIN_AT, 0, "-ENODATA",
	  { { AT_ATTR(ROWS_PLAIN, info2), 1, 2 } } },
	{ "info2_bit_5", PLAIN_AT, 0, "-ENODATA",
	  { { AT_ATTR(ROWS_PLAIN, info2), 1, 0x20 } } },
	{ "pcmask_repeats_after_0", STUBS_AT, -EBADMSG, NULL,
	  { { AT_ATTR(ROWS_STUBS, rep_size), 1, 0 } } },
	{ "pcmask_repeats_after_1", STUBS_AT + 15, 0, "sp+8 ra-8",
	  { { AT_ATTR(ROWS_STUBS, rep_size), 1, 1 } } },
	{ "row_count_all_ones", DRAP_AT + 31, -E2BIG, NULL,
	  { { AT_ATTR(ROWS_DRAP, num_fres), 2, 0xffff } } },
	{ "row_count_past_end", NO_ROWS_AT, -EBADMSG, NULL,
	  { { AT_ATTR(ROWS_NO_ROWS, num_fres), 2, 1 } } },
	{ "plain_without_rows_is_outermost", PLAIN_AT, 0, "outermost",
	  { { AT_ATTR(ROWS_PLAIN, num_fres), 2, 0 } } },
	{ "flexible_without_rows_is_nothing", DRAP_AT, 0, "-ENODATA",
	  { { AT_ATTR(ROWS_DRAP, num_fres), 2, 0 } } },
	{ "signal_without_rows_is_not_outermost", PLAIN_AT, 0, "-ENODATA",
	  { { AT_ATTR(ROWS_PLAIN, num_fres), 2, 0 },
	    { AT_ATTR(ROWS_PLAIN, info), 1, SFRAME_V3_FDE_SIGNAL } } },
	{ "signal_with_rows", PLAIN_AT, 0, "sp+8 ra-8 signal",
	  { { AT_ATTR(ROWS_PLAIN, info), 1, SFRAME_V3_FDE_SIGNAL } } },

	/* Rows */
	{ "three_words_in_default", PLAIN_AT + 5, -EBADMSG, NULL,
	  { { AT_ROW(ROWS_PLAIN + 5 + 8), 1, 3 << 1 } } },
	{ "word_size_3", DRAP_AT, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(1), 1, FLEX(2, 3) } } },
	{ "cfa_without_offset", DRAP_AT, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(1), 1, FLEX(1, 0) },
	    { AT_ATTR(ROWS_DRAP, num_fres), 2, 1 } } },
	{ "cfa_of_no_rule", DRAP_AT, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(2), 1, 0 } } },
	{ "cfa_of_cfa", DRAP_AT, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(2), 1, CFA_MEM } } },
	{ "cfa_of_reserved_bit", DRAP_AT, 0, "-ENODATA",
	  { { AT_DRAP_ROW(2), 1, REG(7) | SFRAME_V3_CONTROL_ADD } } },
	{ "cfa_of_register_16", DRAP_AT, 0, "unknown+8 ra-8",
	  { { AT_DRAP_ROW(2), 1, REG(16) } } },
	{ "cfa_of_register_31", DRAP_AT, 0, "unknown+8 ra-8",
	  { { AT_DRAP_ROW(2), 1, REG(31) } } },
	{ "cfa_of_register_15", DRAP_AT, 0, "r15+8 ra-8",
	  { { AT_DRAP_ROW(2), 1, REG(15) } } },
	{ "ra_without_offset", DRAP_AT + 9, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(9), 1, FLEX(3, 0) }, { AT_DRAP_ROW(12), 1, CFA_MEM } } },
	{ "fp_without_offset", DRAP_AT + 9, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(9), 1, FLEX(4, 0) } } },
	{ "words_behind_no_rule", DRAP_AT + 9, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(13), 1, 0 } } },
	{ "fp_in_frame_without_ra_rule", DRAP_AT + 20, 0, "sp+8 ra-8 fp-16",
	  { { AT_DRAP_ROW(33), 3, 0 | CFA_MEM << 8 | 0xf0 << 16 },
	    { AT_DRAP_ROW(30), 1, FLEX(5, 0) },
	    { AT_ATTR(ROWS_DRAP, num_fres), 2, 5 } } },
	{ "words_left_over", DRAP_AT + 12, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(16), 1, FLEX(7, 1) },
	    { AT_ATTR(ROWS_DRAP, num_fres), 2, 4 } } },

	/* Sections that a linker put one behind the other */
	{ "followed_by_version_3", PLAIN_AT, -EOPNOTSUPP, NULL,
	  { { AT_NEXT, 4, SFRAME_MAGIC | SFRAME_VERSION_3 << 16 } } },
	{ "followed_by_version_2", PLAIN_AT, -EOPNOTSUPP, NULL,
	  { { AT_NEXT, 4, SFRAME_MAGIC | SFRAME_VERSION_2 << 16 } } },
	{ "followed_by_something_else", PLAIN_AT, 0, "sp+8 ra-8",
	  { { AT_NEXT, 4, SFRAME_MAGIC | 9 << 16 } } },
};

/* What is allowed where the table is marked. */
static const struct test_damage private_rules[] = {
	{ "cfa_loaded_and_added", DRAP_AT + 9, 0, "cfa=*(fp-16)+8 ra=*(fp+0) fp=same",
	  { { AT_DRAP_ROW(10), 1, MEM(6) | SFRAME_V3_CONTROL_ADD }, { AT_DRAP_ROW(12), 1, 8 } } },
	{ "followed", PLAIN_AT, 0, "sp+8 ra-8 followed",
	  { { AT_ATTR(ROWS_PLAIN, info2), 1, SFRAME_V3_FDE_FOLLOWED } } },
	{ "followed_flexible", DRAP_AT + 9, 0, "cfa=*(fp-16) ra=*(cfa-8) fp=*(fp+0) followed",
	  { { AT_ATTR(ROWS_DRAP, info2), 1, SFRAME_V3_FDE_FLEX | SFRAME_V3_FDE_FOLLOWED } } },
	{ "followed_without_rows", PLAIN_AT, 0, "-ENOENT",
	  { { AT_ATTR(ROWS_PLAIN, info2), 1, SFRAME_V3_FDE_FOLLOWED },
	    { AT_ATTR(ROWS_PLAIN, num_fres), 2, 0 } } },
	{ "followed_and_unknown", PLAIN_AT, 0, "-ENODATA",
	  { { AT_ATTR(ROWS_PLAIN, info2), 1, SFRAME_V3_FDE_FOLLOWED | 0x40 } } },
	{ "cfa_loaded_and_subtracted", DRAP_AT + 9, 0, "cfa=*(fp-16)-8 ra=*(fp+0) fp=same",
	  { { AT_DRAP_ROW(10), 1, MEM(6) | SFRAME_V3_CONTROL_ADD },
	    { AT_DRAP_ROW(12), 1, 0xf8 } } },
	{ "cfa_added_and_not_loaded", DRAP_AT + 9, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(10), 1, REG(6) | SFRAME_V3_CONTROL_ADD } } },
	{ "cfa_of_cfa_added", DRAP_AT + 9, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(10), 1, CFA_MEM | SFRAME_V3_CONTROL_ADD } } },
	{ "cfa_without_addend", DRAP_AT, -EBADMSG, NULL,
	  { { AT_DRAP_ROW(6), 1, MEM(10) | SFRAME_V3_CONTROL_ADD } } },
	{ "ra_added", DRAP_AT + 9, 0, "-ENODATA",
	  { { AT_DRAP_ROW(12), 1, MEM(6) | SFRAME_V3_CONTROL_ADD } } },
	{ "fp_added", DRAP_AT + 9, 0, "-ENODATA",
	  { { AT_DRAP_ROW(13), 1, MEM(6) | SFRAME_V3_CONTROL_ADD } } },
};

static void test_private_rules(void)
{
	struct unwind_table_source source = good_source();

	source.private_rules = true;
	test_every_byte("v3_good_table_with_private_rules", &source, good_row);
	test_damages("private_v3", &source, private_rules, ARRAY_SIZE(private_rules));
	test_source_free(&source);
}

static const char *row_without_plain(u64 ip)
{
	return ip < DRAP_AT ? "-ENODATA" : good_row(ip);
}

/* A bit that is not known is its function's alone. */
static void test_unknown_bits(void)
{
	static const u32 bytes[] = { AT_ATTR(ROWS_PLAIN, info), AT_ATTR(ROWS_PLAIN, info2) };
	static const u8 known[] = { 0xbf, 0x01 };
	struct unwind_table_source source = good_source();
	char name[64];

	for (int i = 0; i < 2; i++) {
		u8 *byte = (u8 *)source.bytes + bytes[i], old = *byte;

		for (int bit = 0; bit < 8; bit++) {
			if (known[i] & 1 << bit)
				continue;
			*byte = old | 1 << bit;
			snprintf(name, sizeof(name), "v3_unknown_bit_%d_of_info%s", bit,
				 i ? "2" : "");
			test_every_byte(name, &source, row_without_plain);
		}
		*byte = old;
	}
	test_source_free(&source);
}

void test_damaged_v3(void)
{
	struct unwind_table_source source = good_source();

	test_every_byte("v3_good_table", &source, good_row);
	test_damages("damaged_v3", &source, damages, ARRAY_SIZE(damages));
	test_truncated("v3_truncated_at_every_byte", &source, offsetof(struct image, behind),
		       good_row);
	test_source_free(&source);
	test_unknown_bits();
	test_private_rules();
}
