// SPDX-License-Identifier: GPL-2.0
/*
 * A hand-made table of version 3, and one case for each way in which what is new
 * in that version can be damaged or hostile; damaged.c has what both share.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <linux/build_bug.h>

#include "sframe_format.h"
#include "test.h"

#define TABLE		0x500000ull
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

static void set_good(void)
{
	struct image image = {
		.header = {
			.preamble = { SFRAME_MAGIC, SFRAME_VERSION_3,
				      SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL },
			.abi_arch = SFRAME_ABI_AMD64_LE,
			.cfa_fixed_ra_offset = -8,
			.num_fdes = FUNCTIONS,
			.num_fres = 12,
			.fre_len = sizeof(rows),
			.freoff = FUNCTIONS * sizeof(struct sframe_v3_fde),
		},
		.fdes = {
			[PLAIN] = { PLAIN_AT, 0x20, ROWS_PLAIN },
			[DRAP] = { DRAP_AT, 0x20, ROWS_DRAP },
			[SIGNAL] = { SIGNAL_AT, 0x10, ROWS_SIGNAL },
			[STUBS] = { STUBS_AT, 0x40, ROWS_STUBS },
			[NO_ROWS] = { NO_ROWS_AT, 0x10, ROWS_NO_ROWS },
		},
	};

	memcpy(image.rows, rows, sizeof(rows));
	for (int i = 0; i < FUNCTIONS; i++)
		image.fdes[i].func_start -= TABLE + FDE(i);
	test_memory_set(TABLE, &image, sizeof(image));
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

/* The row at @ip as a text, or why there is none. */
static int look_up(u64 ip, char *text, size_t len)
{
	struct sframe_reader reader = test_reader(TEST_BUDGET);
	struct sframe_table table;
	struct sframe_row row;
	int error;

	/* Rubbish, so that what is not filled in shows. */
	memset(&table, 0xa5, sizeof(table));
	error = sframe_open(&reader, TABLE, TABLE + test_memory.len, &table);
	if (!error) {
		table.text_start = TEXT;
		table.text_end = TEXT_END;
		error = sframe_find_row(&reader, &table, ip, &row);
	}
	test_row_text(error, &row, text, len);
	return error;
}

static void test_good(void)
{
	unsigned int wrong = 0, looked = 0;
	char text[128], first[256] = "";

	set_good();
	for (u64 ip = TEXT - 32; ip < TEXT_END + 32; ip++) {
		looked++;
		look_up(ip, text, sizeof(text));
		if (!strcmp(text, good_row(ip)))
			continue;
		if (!wrong++)
			snprintf(first, sizeof(first), ": first %#llx %s, not %s",
				 (unsigned long long)ip, text, good_row(ip));
	}
	test_result(!wrong, "v3_good_table: %u of %u addresses wrong%s", wrong,
		    looked, first);
}

#define MAX_PATCHES 3

struct damage {
	const char	*name;
	u64		ip;
	const char	*row;	/* or the error */
	struct {
		u32	at;
		u32	width;
		u64	value;
	} patches[MAX_PATCHES];
};

static const struct damage damages[] = {
	/* Functions */
	{ "frame_pointer_flag_is_gone", PLAIN_AT, "-EOPNOTSUPP",
	  { { offsetof(struct sframe_preamble, flags), 1, 0x7 } } },
	{ "not_sorted", PLAIN_AT, "-EOPNOTSUPP",
	  { { offsetof(struct sframe_preamble, flags), 1, 0x4 } } },
	{ "start_is_most_negative", PLAIN_AT, "-ENOENT",
	  { { AT_FDE(PLAIN, func_start), 8, 1ull << 63 } } },
	{ "start_wraps", PLAIN_AT, "-ENOENT",
	  { { AT_FDE(PLAIN, func_start), 8, ~0ull >> 1 } } },
	{ "start_4_gib_away", PLAIN_AT, "-ENOENT",
	  { { AT_FDE(PLAIN, func_start) + 4, 4, 0 } } },
	{ "size_all_ones", NO_ROWS_AT, "-EBADMSG",
	  { { AT_FDE(NO_ROWS, func_size), 4, 0xffffffff } } },
	{ "attributes_at_end", PLAIN_AT, "-EBADMSG",
	  { { AT_FDE(PLAIN, fre_off), 4, sizeof(rows) } } },
	{ "attributes_cross_end", PLAIN_AT, "-EBADMSG",
	  { { AT_FDE(PLAIN, fre_off), 4, sizeof(rows) - 4 } } },
	{ "attributes_wrap", PLAIN_AT, "-EBADMSG",
	  { { AT_FDE(PLAIN, fre_off), 4, 0xffffffff } } },
	{ "fre_type_3", PLAIN_AT, "-EBADMSG",
	  { { AT_ATTR(ROWS_PLAIN, info), 1, 3 } } },
	{ "info_bit_6", PLAIN_AT, "-EOPNOTSUPP",
	  { { AT_ATTR(ROWS_PLAIN, info), 1, 0x40 } } },
	{ "pauth_key_means_nothing", PLAIN_AT, "sp+8 ra-8",
	  { { AT_ATTR(ROWS_PLAIN, info), 1, 0x20 } } },
	{ "fde_type_2", PLAIN_AT, "-EOPNOTSUPP",
	  { { AT_ATTR(ROWS_PLAIN, info2), 1, 2 } } },
	{ "info2_bit_5", PLAIN_AT, "-EOPNOTSUPP",
	  { { AT_ATTR(ROWS_PLAIN, info2), 1, 0x20 } } },
	{ "pcmask_repeats_after_0", STUBS_AT, "-EBADMSG",
	  { { AT_ATTR(ROWS_STUBS, rep_size), 1, 0 } } },
	{ "pcmask_repeats_after_1", STUBS_AT + 15, "sp+8 ra-8",
	  { { AT_ATTR(ROWS_STUBS, rep_size), 1, 1 } } },
	{ "row_count_all_ones", DRAP_AT + 31, "-EBADMSG",
	  { { AT_ATTR(ROWS_DRAP, num_fres), 2, 0xffff } } },
	{ "plain_without_rows_is_outermost", PLAIN_AT, "outermost",
	  { { AT_ATTR(ROWS_PLAIN, num_fres), 2, 0 } } },
	{ "flexible_without_rows_is_nothing", DRAP_AT, "-ENODATA",
	  { { AT_ATTR(ROWS_DRAP, num_fres), 2, 0 } } },
	{ "signal_without_rows_is_not_outermost", PLAIN_AT, "-ENODATA",
	  { { AT_ATTR(ROWS_PLAIN, num_fres), 2, 0 },
	    { AT_ATTR(ROWS_PLAIN, info), 1, SFRAME_V3_FDE_SIGNAL } } },
	{ "signal_with_rows", PLAIN_AT, "sp+8 ra-8 signal",
	  { { AT_ATTR(ROWS_PLAIN, info), 1, SFRAME_V3_FDE_SIGNAL } } },

	/* Rows */
	{ "three_words_in_default", PLAIN_AT + 5, "-EBADMSG",
	  { { AT_ROW(ROWS_PLAIN + 5 + 8), 1, 3 << 1 } } },
	{ "word_size_3", DRAP_AT, "-EBADMSG",
	  { { AT_DRAP_ROW(1), 1, FLEX(2, 3) } } },
	{ "cfa_without_offset", DRAP_AT, "-EBADMSG",
	  { { AT_DRAP_ROW(1), 1, FLEX(1, 0) },
	    { AT_ATTR(ROWS_DRAP, num_fres), 2, 1 } } },
	{ "cfa_of_no_rule", DRAP_AT, "-EBADMSG",
	  { { AT_DRAP_ROW(2), 1, 0 } } },
	{ "cfa_of_cfa", DRAP_AT, "-EBADMSG",
	  { { AT_DRAP_ROW(2), 1, CFA_MEM } } },
	{ "cfa_of_reserved_bit", DRAP_AT, "-EOPNOTSUPP",
	  { { AT_DRAP_ROW(2), 1, REG(7) | SFRAME_V3_CONTROL_UNUSED } } },
	{ "cfa_of_register_16", DRAP_AT, "unknown+8 ra-8",
	  { { AT_DRAP_ROW(2), 1, REG(16) } } },
	{ "cfa_of_register_31", DRAP_AT, "unknown+8 ra-8",
	  { { AT_DRAP_ROW(2), 1, REG(31) } } },
	{ "cfa_of_register_15", DRAP_AT, "r15+8 ra-8",
	  { { AT_DRAP_ROW(2), 1, REG(15) } } },
	{ "ra_without_offset", DRAP_AT + 9, "-EBADMSG",
	  { { AT_DRAP_ROW(9), 1, FLEX(3, 0) }, { AT_DRAP_ROW(12), 1, CFA_MEM } } },
	{ "fp_without_offset", DRAP_AT + 9, "-EBADMSG",
	  { { AT_DRAP_ROW(9), 1, FLEX(4, 0) } } },
	{ "words_behind_no_rule", DRAP_AT + 9, "-EBADMSG",
	  { { AT_DRAP_ROW(13), 1, 0 } } },
	{ "fp_in_frame_without_ra_rule", DRAP_AT + 20, "sp+8 ra-8 fp-16",
	  { { AT_DRAP_ROW(33), 3, 0 | CFA_MEM << 8 | 0xf0 << 16 },
	    { AT_DRAP_ROW(30), 1, FLEX(5, 0) },
	    { AT_ATTR(ROWS_DRAP, num_fres), 2, 5 } } },
	{ "words_left_over", DRAP_AT + 12, "-EBADMSG",
	  { { AT_DRAP_ROW(16), 1, FLEX(7, 1) },
	    { AT_ATTR(ROWS_DRAP, num_fres), 2, 4 } } },

	/* Sections that a linker put one behind the other */
	{ "followed_by_version_3", PLAIN_AT, "-EOPNOTSUPP",
	  { { AT_NEXT, 4, SFRAME_MAGIC | SFRAME_VERSION_3 << 16 } } },
	{ "followed_by_version_2", PLAIN_AT, "-EOPNOTSUPP",
	  { { AT_NEXT, 4, SFRAME_MAGIC | SFRAME_VERSION_2 << 16 } } },
	{ "followed_by_something_else", PLAIN_AT, "sp+8 ra-8",
	  { { AT_NEXT, 4, SFRAME_MAGIC | 9 << 16 } } },
};

static void test_one_damage(const struct damage *damage)
{
	char text[128];

	set_good();
	for (int i = 0; i < MAX_PATCHES; i++)
		memcpy(test_memory.bytes + damage->patches[i].at,
		       &damage->patches[i].value, damage->patches[i].width);
	look_up(damage->ip, text, sizeof(text));
	test_result(!strcmp(text, damage->row) && !test_memory.escaped,
		    "damaged_v3_%s: %s", damage->name, text);
}

/* A page that is not there, at any place: a fault or the right row. */
static void test_faults(void)
{
	static const u64 ips[] = { PLAIN_AT + 4, DRAP_AT + 12, NO_ROWS_AT };
	unsigned int wrong = 0, faults = 0;
	char text[128];

	set_good();
	for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
		for (u32 at = 0; at < test_memory.len; at++) {
			test_memory.fault = TABLE + at;
			if (look_up(ips[i], text, sizeof(text)) == -EFAULT)
				faults++;
			else
				wrong += strcmp(text, good_row(ips[i])) != 0;
		}
	}
	test_result(!wrong && faults && !test_memory.escaped,
		    "v3_fault_at_every_byte: %u -EFAULT, %u wrong", faults, wrong);
}

void test_damaged_v3(void)
{
	test_good();
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++)
		test_one_damage(&damages[i]);
	test_faults();
}
