// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the rows that unwind_table_build() makes, and its errors for damaged SFrame tables.
 * tools/testing/sframe has further tests: real tables, damage to every field, random
 * mutations.
 */

#include <kunit/test.h>

#include <linux/align.h>
#include <linux/err.h>
#include <linux/minmax.h>

#include "../table.h"
#include "sframe_builder.h"

#define TEXT	0x400000ULL
#define TABLE	0x500000ULL

/* The SFrame table that table_build() reads.  Tests run one at a time and share it. */
static struct sframe_build build;
/* Size of the code that @build describes, in bytes */
static u32 text_size;
static bool private_rules;

/*
 * 0x00-0x1f: push %rbp at 0x01, mov %rsp,%rbp at 0x04; the row at 0x04 has an FP
 * 0x20-0x20: empty function at the start of the next
 * 0x20-0x2f: leaf
 * 0x40-0x7f: PLT, 16 bytes a stub
 * 0x80-0x8f: outermost
 */
static void table_write(void)
{
	sframe_build_start(&build, SFRAME_VERSION_2);
	sframe_build_function(&build, 0x00, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_row(&build, 0x01, false, 2, (s8[]){ 16, -16 });
	sframe_build_row(&build, 0x04, true, 2, (s8[]){ 16, -16 });
	sframe_build_function(&build, 0x20, 0x00, SFRAME_FRE_ADDR1, 0);
	sframe_build_function(&build, 0x20, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_function(&build, 0x30, 0x00, SFRAME_FRE_ADDR1, 0);
	sframe_build_function(&build, 0x40, 0x40,
			      SFRAME_FRE_ADDR1 | SFRAME_FDE_PCMASK, 16);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_row(&build, 0x0b, false, 1, (s8[]){ 16 });
	sframe_build_function(&build, 0x80, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x02, false, 0, NULL);
	sframe_build_finish(&build, TABLE, TEXT);
}

/*
 * A table of version 3, with flexible and signal functions:
 *
 * 0x00-0x0f: leaf
 * 0x10-0x2f: a function that realigns its stack: CFA = R10 from 0x15, *(FP - 16) from 0x19;
 *	      the CFA has an unknown register from 0x20; outermost from 0x28
 * 0x30-0x3f: signal
 * 0x40-0x7f: PLT
 * 0x80-0x8f: outermost, without a row
 */
static void table_write_v3(void)
{
	sframe_build_start(&build, SFRAME_VERSION_3);
	sframe_build_function(&build, 0x00, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_function(&build, 0x10, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_flexible(&build);
	sframe_build_row(&build, 0x00, false, 2, (s8[]){ SFRAME_BUILD_REG(7), 8 });
	sframe_build_row(&build, 0x05, false, 2, (s8[]){ SFRAME_BUILD_REG(10), 0 });
	sframe_build_row(&build, 0x09, false, 5,
			 (s8[]){ SFRAME_BUILD_MEM(6), -16, 0, SFRAME_BUILD_MEM(6), 0 });
	sframe_build_row(&build, 0x10, false, 2, (s8[]){ SFRAME_BUILD_REG(17), 0 });
	sframe_build_row(&build, 0x18, false, 0, NULL);
	sframe_build_function(&build, 0x30, 0x10,
			      SFRAME_FRE_ADDR1 | (u8)SFRAME_V3_FDE_SIGNAL, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_function(&build, 0x40, 0x40,
			      SFRAME_FRE_ADDR1 | SFRAME_FDE_PCMASK, 16);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_row(&build, 0x0b, false, 1, (s8[]){ 16 });
	sframe_build_function(&build, 0x80, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_finish(&build, TABLE, TEXT);
}

static struct unwind_table *table_build_from(const u8 *bytes, size_t len)
{
	const struct unwind_table_source source = {
		.bytes = bytes,
		.len = len,
		.start = TABLE,
		.text_start = TEXT,
		.text_end = TEXT + text_size,
		.private_rules = private_rules,
	};

	return unwind_table_build(&source, 1, GFP_KERNEL);
}

static struct unwind_table *table_build(void)
{
	return table_build_from(build.bytes, build.len);
}

static int table_init(struct kunit *test)
{
	text_size = 0x90;
	private_rules = false;
	table_write();
	return 0;
}

struct table_case {
	u64			offset;
	int			ret;
	struct sframe_row	row;
};

/* Rules of common rows */
#define AT_SP(off)	.cfa = { .base = SFRAME_BASE_SP, .offset = (off) }
#define AT_FP(off)	.cfa = { .base = SFRAME_BASE_FP, .offset = (off) }
#define IN_FRAME(off)	{ .base = SFRAME_BASE_CFA, .offset = (off), .deref = true }
#define CALLED		.ra = IN_FRAME(-8)
#define FP_KEPT		.fp = { .base = SFRAME_BASE_SAME }
#define PLAIN_FP_KEPT	FP_KEPT, .plain = true
#define FP_SAVED(off)	.fp = IN_FRAME(off)
#define PLAIN(off)	.plain = true, .slot = (off)

static const struct table_case table_cases[] = {
	{ 0x00, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	{ 0x01, 0, { AT_SP(16), CALLED, FP_SAVED(-16), PLAIN(-16) } },
	{ 0x03, 0, { AT_SP(16), CALLED, FP_SAVED(-16), PLAIN(-16) } },
	{ 0x04, 0, { AT_FP(16), CALLED, FP_SAVED(-16), PLAIN(-16) } },
	{ 0x1f, 0, { AT_FP(16), CALLED, FP_SAVED(-16), PLAIN(-16) } },
	/* After an empty function, at the same address */
	{ 0x20, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	{ 0x2f, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	/* A gap between functions that is too large for padding */
	{ 0x30, -ENOENT },
	{ 0x3f, -ENOENT },
	/* Rows that repeat. */
	{ 0x40, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	{ 0x4a, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	{ 0x4b, 0, { AT_SP(16), CALLED, PLAIN_FP_KEPT } },
	{ 0x70, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	{ 0x7f, 0, { AT_SP(16), CALLED, PLAIN_FP_KEPT } },
	/* Before the first row of a function. */
	{ 0x81, -ENODATA },
	{ 0x82, 0, { .outermost = true } },
	/* Outside the text. */
	{ 0x90, -ENOENT },
	{ 1ULL << 32, -ENOENT },
	{ -1ULL, -ENOENT },
};

static const struct table_case table_cases_v3[] = {
	{ 0x00, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	{ 0x10, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x15, 0, { .cfa = { .base = 10 }, CALLED, FP_KEPT } },
	{ 0x19, 0, { .cfa = { .base = SFRAME_BASE_FP, .offset = -16, .deref = true },
		     CALLED,
		     .fp = { .base = SFRAME_BASE_FP, .deref = true } } },
	{ 0x20, 0, { .cfa = { .base = SFRAME_BASE_UNKNOWN }, CALLED, FP_KEPT } },
	{ 0x28, 0, { .outermost = true } },
	{ 0x30, 0, { AT_SP(8), CALLED, FP_KEPT, .signal = true } },
	{ 0x40, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	{ 0x4b, 0, { AT_SP(16), CALLED, PLAIN_FP_KEPT } },
	{ 0x70, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	{ 0x80, 0, { .outermost = true } },
	{ 0x8f, 0, { .outermost = true } },
	{ 0x90, -ENOENT },
};

static void table_expect_rule(struct kunit *test, u64 offset, const char *name,
			      const struct sframe_rule *got,
			      const struct sframe_rule *want)
{
	KUNIT_EXPECT_EQ_MSG(test, got->base, want->base, "offset %#llx %s", offset, name);
	KUNIT_EXPECT_EQ_MSG(test, got->offset, want->offset, "offset %#llx %s", offset, name);
	KUNIT_EXPECT_EQ_MSG(test, got->deref, want->deref, "offset %#llx %s", offset, name);
}

static void table_expect_row(struct kunit *test, const struct unwind_table *table,
			     const struct table_case *want)
{
	struct sframe_row row;
	int ret;

	ret = unwind_table_find(table, want->offset, &row);
	KUNIT_EXPECT_EQ_MSG(test, ret, want->ret, "offset %#llx", want->offset);
	if (ret || want->ret)
		return;
	KUNIT_EXPECT_EQ_MSG(test, (bool)row.outermost, (bool)want->row.outermost, "offset %#llx",
			    want->offset);
	KUNIT_EXPECT_EQ_MSG(test, (bool)row.signal, (bool)want->row.signal, "offset %#llx",
			    want->offset);
	KUNIT_EXPECT_EQ_MSG(test, (bool)row.followed, (bool)want->row.followed, "offset %#llx",
			    want->offset);
	KUNIT_EXPECT_EQ_MSG(test, (bool)row.plain, (bool)want->row.plain, "offset %#llx",
			    want->offset);
	KUNIT_EXPECT_EQ_MSG(test, row.slot, want->row.slot, "offset %#llx", want->offset);
	if (row.outermost)
		return;
	table_expect_rule(test, want->offset, "cfa", &row.cfa, &want->row.cfa);
	table_expect_rule(test, want->offset, "ra", &row.ra, &want->row.ra);
	table_expect_rule(test, want->offset, "fp", &row.fp, &want->row.fp);
}

/* Build the table and expect the rows in @want. */
static void table_expect(struct kunit *test, const struct table_case *want, unsigned int nr)
{
	struct unwind_table *table = table_build();
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	for (i = 0; i < nr; i++)
		table_expect_row(test, table, &want[i]);
	unwind_table_free(table);
}

/* Expect that the build failed with @error.  @what and @nr name the case in messages. */
static void table_expect_error(struct kunit *test, struct unwind_table *table, int error,
			       const char *what, u32 nr)
{
	KUNIT_EXPECT_EQ_MSG(test, PTR_ERR_OR_ZERO(table), error, "%s %u", what, nr);
	if (!IS_ERR(table))
		unwind_table_free(table);
}

static void unwind_table_has_the_row_of_each_address(struct kunit *test)
{
	table_expect(test, table_cases, ARRAY_SIZE(table_cases));
}

static void unwind_table_has_the_row_of_each_address_v3(struct kunit *test)
{
	table_write_v3();
	table_expect(test, table_cases_v3, ARRAY_SIZE(table_cases_v3));
}

/* The same row in every width of starts and offsets */
static void unwind_table_has_rows_of_every_width(struct kunit *test)
{
	static const u8 rows[][14] = {
		/* start, info: SP, 2 offsets of 1, 2, 4 bytes; 24, -16 */
		{ 0, 0x05, 24, -16 },
		{ 0, 0, 0x25, 24, 0, 0xf0, 0xff },
		{ 0, 0, 0, 0, 0x45, 24, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff },
	};
	const struct table_case want = {
		0x05, 0, { AT_SP(24), CALLED, FP_SAVED(-16), PLAIN(-16) }
	};
	int type;

	for (type = 0; type < ARRAY_SIZE(rows); type++) {
		sframe_build_start(&build, SFRAME_VERSION_2);
		sframe_build_function(&build, 0, 0x10, type, 0);
		build.fdes[0].num_fres = 1;
		build.header.fre_len = sizeof(rows[type]);
		memcpy(build.fres, rows[type], sizeof(rows[type]));
		sframe_build_finish(&build, TABLE, TEXT);
		table_expect(test, &want, 1);
	}
}

/* Other rows take the walk that checks each word that it reads. */
static void unwind_table_has_plain_rows_of_near_slots_only(struct kunit *test)
{
	static const struct table_case slots[] = {
		{ 0x05, 0, { AT_SP(24), CALLED, FP_SAVED(-8) } },
		{ 0x05, 0, { AT_SP(24), CALLED, FP_SAVED(-16), PLAIN(-16) } },
		{ 0x05, 0, { AT_SP(24), CALLED, FP_SAVED(-32768), PLAIN(-32768) } },
		{ 0x05, 0, { AT_SP(24), CALLED, FP_SAVED(-32776) } },
		{ 0x05, 0, { AT_SP(24), CALLED, FP_SAVED(S32_MIN) } },
		{ 0x05, 0, { AT_SP(24), CALLED, FP_SAVED(16) } },
	};
	struct {
		u32	start;
		u8	info;
		s32	cfa, fp;
	} __packed row = { .info = 0x45, .cfa = 24 };
	int i;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		row.fp = slots[i].row.fp.offset;
		sframe_build_start(&build, SFRAME_VERSION_2);
		sframe_build_function(&build, 0, 0x10, SFRAME_FRE_ADDR4, 0);
		build.fdes[0].num_fres = 1;
		build.header.fre_len = sizeof(row);
		memcpy(build.fres, &row, sizeof(row));
		sframe_build_finish(&build, TABLE, TEXT);
		table_expect(test, &slots[i], 1);
	}
}

static void unwind_table_has_rows_of_pc_relative_starts(struct kunit *test)
{
	u32 i;

	build.bytes[3] |= SFRAME_F_FDE_FUNC_START_PCREL;
	for (i = 0; i < build.header.num_fdes; i++) {
		struct sframe_fde *fde = (void *)build.bytes +
			sizeof(struct sframe_header) + i * sizeof(*fde);

		fde->func_start -= (u8 *)fde - build.bytes;
	}
	table_expect(test, table_cases, ARRAY_SIZE(table_cases));
}

/* The row before padding covers the padding; other gaps between functions have no rule. */
static void unwind_table_has_a_row_for_alignment_alone(struct kunit *test)
{
	static const struct table_case cases[] = {
		{ 0x17, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
		{ 0x18, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
		{ 0x1f, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
		{ 0x20, 0, { AT_SP(16), CALLED, PLAIN_FP_KEPT } },
		/* No padding, as the next function is not aligned */
		{ 0x28, -ENOENT },
		{ 0x2b, -ENOENT },
		{ 0x2c, 0, { AT_SP(24), CALLED, PLAIN_FP_KEPT } },
		/* Too large for padding */
		{ 0x30, -ENOENT },
		{ 0x3f, -ENOENT },
		{ 0x40, 0, { AT_SP(32), CALLED, PLAIN_FP_KEPT } },
		{ 0x48, -ENOENT },
	};

	sframe_build_start(&build, SFRAME_VERSION_2);
	sframe_build_function(&build, 0x00, 0x18, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_function(&build, 0x20, 0x08, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 16 });
	sframe_build_function(&build, 0x2c, 0x04, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 24 });
	sframe_build_function(&build, 0x40, 0x08, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 32 });
	sframe_build_finish(&build, TABLE, TEXT);
	table_expect(test, cases, ARRAY_SIZE(cases));
}

/* The CFA's offset from the stack pointer at @offset, or an error */
static int table_cfa_at(const struct unwind_table *table, u64 offset)
{
	struct sframe_row row;
	int ret = unwind_table_find(table, offset, &row);

	return ret ? ret : row.cfa.offset;
}

/* Many rows up to the end of a region of 64 KiB, two regions in one row, and a row at a start */
static void unwind_table_has_the_rows_of_each_region(struct kunit *test)
{
	struct unwind_table *table;
	u32 at;

	text_size = 0x48000;
	sframe_build_start(&build, SFRAME_VERSION_2);
	sframe_build_function(&build, 0xffc0, 0x80, SFRAME_FRE_ADDR1, 0);
	for (at = 0; at < 0x40; at += 2)
		sframe_build_row(&build, at, false, 1, (s8[]){ 8 + at });
	sframe_build_function(&build, 0x20000, 0x20000, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 16 });
	sframe_build_function(&build, 0x40000, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 24 });
	sframe_build_row(&build, 0x01, false, 1, (s8[]){ 32 });
	sframe_build_finish(&build, TABLE, TEXT);
	table = table_build();
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	for (at = 0; at < 0x40; at++)
		KUNIT_EXPECT_EQ_MSG(test, table_cfa_at(table, 0xffc0 + at), 8 + at / 2 * 2,
				    "byte %#x", at);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0xffbf), -ENOENT);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x10000), 8 + 0x3e);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x1003f), 8 + 0x3e);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x10040), -ENOENT);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x1ffff), -ENOENT);
	for (at = 0x20000; at < 0x40000; at += 0x7fff)
		KUNIT_EXPECT_EQ_MSG(test, table_cfa_at(table, at), 16, "at %#x", at);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x3ffff), 16);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x40000), 24);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x40001), 32);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x4000f), 32);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x40010), -ENOENT);
	KUNIT_EXPECT_EQ(test, table_cfa_at(table, 0x47fff), -ENOENT);
	unwind_table_free(table);
}

/* A function that is not entirely in the code has no rows. */
static void unwind_table_leaves_out_what_crosses_the_end(struct kunit *test)
{
	static const struct table_case cases[] = {
		{ 0x7f, 0, { AT_SP(16), CALLED, PLAIN_FP_KEPT } },
		{ 0x80, -ENOENT },
		{ 0x82, -ENOENT },
		{ 0x8e, -ENOENT },
	};

	text_size = 0x8f;
	table_expect(test, cases, ARRAY_SIZE(cases));
	/* The first function does not fit, either. */
	text_size = 0x1f;
	table_expect_error(test, table_build(), -ENOENT, "text of", text_size);
	text_size = 0;
	table_expect_error(test, table_build(), -ENOENT, "text of", text_size);
}

/* Offset of a byte in the header, its new value, and the expected error */
static const struct {
	u32	at;
	u8	value;
	int	ret;
} header_cases[] = {
	{ 0, 0xe3, -EBADMSG },			/* magic */
	{ 2, 1, -EOPNOTSUPP },			/* version */
	{ 2, 4, -EOPNOTSUPP },
	{ 3, 0x0, -EOPNOTSUPP },		/* not sorted */
	{ 3, 0x9, -EOPNOTSUPP },		/* unknown flag */
	{ 4, 2, -EOPNOTSUPP },			/* architecture */
	{ 5, 8, -EOPNOTSUPP },			/* fixed frame pointer offset */
	{ 6, 0, -EOPNOTSUPP },			/* fixed return address offset */
	{ 7, 0xff, -EBADMSG },			/* auxiliary header */
	{ 8, 0, -ENOENT },			/* no functions */
	{ 11, 0xff, -EBADMSG },			/* number of functions */
	{ 19, 0xff, -EBADMSG },			/* length of rows */
	{ 23, 0xff, -EBADMSG },			/* offset of functions */
	{ 27, 0xff, -EBADMSG },			/* offset of rows */
};

static void unwind_table_refuses_a_damaged_header(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(header_cases); i++) {
		u8 *byte = &build.bytes[header_cases[i].at], old = *byte;

		*byte = header_cases[i].value;
		table_expect_error(test, table_build(), header_cases[i].ret, "header byte",
				   header_cases[i].at);
		*byte = old;
	}
}

/* KASAN reports reads beyond the end. */
static void unwind_table_refuses_a_table_that_is_cut_off(struct kunit *test)
{
	u32 len;

	for (len = 1; len < build.len; len++) {
		u8 *bytes = kunit_kmalloc(test, len, GFP_KERNEL);

		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bytes);
		memcpy(bytes, build.bytes, len);
		table_expect_error(test, table_build_from(bytes, len), -EBADMSG, "length", len);
		kunit_kfree(test, bytes);
	}
}

static void unwind_table_refuses_unsorted_functions(struct kunit *test)
{
	swap(build.fdes[0].func_start, build.fdes[1].func_start);
	sframe_build_finish(&build, TABLE, TEXT);
	table_expect_error(test, table_build(), -EBADMSG, "function", 1);
}

/* The build must refuse a repetition of 0 bytes, not divide by it. */
static void unwind_table_refuses_a_repetition_of_no_bytes(struct kunit *test)
{
	build.bytes[sizeof(struct sframe_header) +
		    4 * sizeof(struct sframe_fde) +
		    offsetof(struct sframe_fde, rep_size)] = 0;
	table_expect_error(test, table_build(), -EBADMSG, "function", 4);
}

/* Attributes of the last function of version 3, which has no rows */
static const struct {
	struct sframe_v3_attributes	attr;
	int				refused;
	int				found;	/* result of the lookup, if not refused */
} attribute_cases[] = {
	{ { .info = 3 }, -EBADMSG },
	{ { .info = SFRAME_FDE_PCMASK }, -EBADMSG },
	/* A function with an unknown bit has no rules. */
	{ { .info = SFRAME_V3_FDE_UNUSED }, 0, -ENODATA },
	{ { .info2 = 2 }, 0, -ENODATA },
	{ { .info2 = 0x20 }, 0, -ENODATA },
	/* The row would lie beyond the end of the table. */
	{ { .num_fres = 1 }, -EBADMSG },
	/* Without rows, flexible functions and signal frames are not outermost. */
	{ { .info2 = SFRAME_V3_FDE_FLEX }, 0, -ENODATA },
	{ { .info = SFRAME_V3_FDE_SIGNAL }, 0, -ENODATA },
};

static void unwind_table_refuses_damaged_attributes_v3(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(attribute_cases); i++) {
		const struct table_case want = { 0x80, attribute_cases[i].found };

		table_write_v3();
		*sframe_build_attributes(&build) = attribute_cases[i].attr;
		sframe_build_finish(&build, TABLE, TEXT);
		if (!attribute_cases[i].refused)
			table_expect(test, &want, 1);
		else
			table_expect_error(test, table_build(), attribute_cases[i].refused,
					   "attributes", i);
	}
}

static void unwind_table_refuses_attributes_behind_the_end_v3(struct kunit *test)
{
	u32 len, off;

	table_write_v3();
	len = build.header.fre_len;
	for (off = len - 4; off < len + 2; off++) {
		build.fdes[build.header.num_fdes - 1].fre_off = off;
		sframe_build_finish(&build, TABLE, TEXT);
		table_expect_error(test, table_build(), -EBADMSG, "attributes at", off);
	}
}

/* Nothing is known of a function without rows, so that nothing takes it for alignment. */
static void unwind_table_marks_followed_functions(struct kunit *test)
{
	static const struct table_case private[] = {
		{ 0x00, 0, { AT_SP(8), CALLED, FP_KEPT, .followed = true } },
		{ 0x0b, 0, { AT_SP(8), CALLED, FP_KEPT, .followed = true } },
		{ 0x0c, -ENOENT },
		{ 0x0f, -ENOENT },
		{ 0x10, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	};
	static const struct table_case others[] = {
		{ 0x00, -ENODATA },
		{ 0x0c, -ENODATA },
		{ 0x10, 0, { AT_SP(8), CALLED, PLAIN_FP_KEPT } },
	};

	sframe_build_start(&build, SFRAME_VERSION_3);
	sframe_build_function(&build, 0x00, 0x0c, SFRAME_FRE_ADDR1, 0);
	sframe_build_attributes(&build)->info2 = SFRAME_V3_FDE_FOLLOWED;
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_function(&build, 0x0c, 0x04, SFRAME_FRE_ADDR1, 0);
	sframe_build_attributes(&build)->info2 = SFRAME_V3_FDE_FOLLOWED;
	sframe_build_function(&build, 0x10, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&build, 0x00, false, 1, (s8[]){ 8 });
	sframe_build_finish(&build, TABLE, TEXT);
	table_expect(test, others, ARRAY_SIZE(others));
	private_rules = true;
	table_expect(test, private, ARRAY_SIZE(private));
}

static const struct {
	u8	nr;
	s8	words[6];
	int	refused;
} flexible_cases[] = {
	/* No CFA, or a CFA that is based on itself */
	{ 1, { SFRAME_BUILD_REG(7) }, -EBADMSG },
	{ 2, { 0, 8 }, -EBADMSG },
	{ 2, { SFRAME_V3_CONTROL_DEREF, 8 }, -EBADMSG },
	/* A private rule where private rules are not allowed gives no rule. */
	{ 2, { SFRAME_BUILD_REG(7) | SFRAME_V3_CONTROL_ADD, 8 } },
	/* A rule without its offset; more words than rules */
	{ 3, { SFRAME_BUILD_REG(7), 8, SFRAME_V3_CONTROL_DEREF }, -EBADMSG },
	{ 4, { SFRAME_BUILD_REG(7), 8, 0, SFRAME_BUILD_MEM(6) }, -EBADMSG },
	{ 5, { SFRAME_BUILD_REG(7), 8, 0, 0, 8 }, -EBADMSG },
	{ 6, { SFRAME_BUILD_REG(7), 8, 0, SFRAME_BUILD_MEM(6), 0, 0 }, -EBADMSG },
};

static void unwind_table_refuses_damaged_flexible_rows(struct kunit *test)
{
	const struct table_case no_rule = { 0, -ENODATA };
	int i;

	for (i = 0; i < ARRAY_SIZE(flexible_cases); i++) {
		sframe_build_start(&build, SFRAME_VERSION_3);
		sframe_build_function(&build, 0, 0x10, SFRAME_FRE_ADDR1, 0);
		sframe_build_flexible(&build);
		sframe_build_row(&build, 0, false, flexible_cases[i].nr,
				 flexible_cases[i].words);
		sframe_build_finish(&build, TABLE, TEXT);
		if (!flexible_cases[i].refused)
			table_expect(test, &no_rule, 1);
		else
			table_expect_error(test, table_build(), flexible_cases[i].refused,
					   "row", i);
	}
}

/* Linkers that do not merge .sframe sections concatenate them. */
static void unwind_table_refuses_concatenated_tables(struct kunit *test)
{
	u32 next = ALIGN(build.len, 8);

	memcpy(build.bytes + next, build.bytes, sizeof(struct sframe_header));
	build.len = next + sizeof(struct sframe_header);
	table_expect_error(test, table_build(), -EOPNOTSUPP, "table at", next);
}

static struct kunit_case unwind_table_cases[] = {
	KUNIT_CASE(unwind_table_has_the_row_of_each_address),
	KUNIT_CASE(unwind_table_has_the_row_of_each_address_v3),
	KUNIT_CASE(unwind_table_has_rows_of_every_width),
	KUNIT_CASE(unwind_table_has_plain_rows_of_near_slots_only),
	KUNIT_CASE(unwind_table_has_rows_of_pc_relative_starts),
	KUNIT_CASE(unwind_table_has_a_row_for_alignment_alone),
	KUNIT_CASE(unwind_table_has_the_rows_of_each_region),
	KUNIT_CASE(unwind_table_marks_followed_functions),
	KUNIT_CASE(unwind_table_leaves_out_what_crosses_the_end),
	KUNIT_CASE(unwind_table_refuses_a_damaged_header),
	KUNIT_CASE(unwind_table_refuses_a_table_that_is_cut_off),
	KUNIT_CASE(unwind_table_refuses_unsorted_functions),
	KUNIT_CASE(unwind_table_refuses_a_repetition_of_no_bytes),
	KUNIT_CASE(unwind_table_refuses_damaged_attributes_v3),
	KUNIT_CASE(unwind_table_refuses_attributes_behind_the_end_v3),
	KUNIT_CASE(unwind_table_refuses_damaged_flexible_rows),
	KUNIT_CASE(unwind_table_refuses_concatenated_tables),
	{}
};

static struct kunit_suite unwind_table_suite = {
	.name = "unwind_table",
	.init = table_init,
	.test_cases = unwind_table_cases,
};

kunit_test_suite(unwind_table_suite);

MODULE_DESCRIPTION("KUnit tests of unwind tables");
MODULE_LICENSE("GPL");
