// SPDX-License-Identifier: GPL-2.0
/*
 * How the SFrame decoder reads rows, and that it says what is wrong with a table
 * that is damaged.  tools/testing/sframe goes on where this stops: real tables,
 * every field damaged, random mutations.
 */

#include <kunit/test.h>

#include "../sframe_decode.h"
#include "sframe_builder.h"

#define TEXT	0x400000ULL
#define TABLE	0x500000ULL

/* The table that decode_read() reads: one test at a time. */
static struct sframe_build build;
/* decode_read() fails for what lies at or behind this address. */
static u64 readable_end;

static int decode_read(void *to, u64 from, size_t len)
{
	if (from < TABLE || from + len > TABLE + build.len ||
	    from + len > readable_end)
		return -EFAULT;
	memcpy(to, build.bytes + (from - TABLE), len);
	return 0;
}

static struct sframe_reader decode_reader(u32 budget)
{
	return (struct sframe_reader){ .read = decode_read, .budget = budget };
}

/*
 * 0x00-0x1f: push %rbp at 0x01, mov %rsp,%rbp at 0x04; the row at 0x04 has an FP
 * 0x20-0x20: empty function at the start of the next
 * 0x20-0x2f: leaf
 * 0x40-0x7f: PLT, 16 bytes a stub
 * 0x80-0x8f: outermost
 */
static void decode_build(void)
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
	readable_end = TABLE + build.len;
}

/*
 * The same, and more, in version 3:
 *
 * 0x00-0x0f: leaf
 * 0x10-0x2f: a stack that is realigned: CFA = R10 from 0x15, *(FP - 16) from 0x19;
 *	      the CFA is of a register that nobody has from 0x20; outermost from 0x28
 * 0x30-0x3f: signal
 * 0x40-0x7f: PLT
 * 0x80-0x8f: outermost, without a row
 */
static void decode_build_v3(void)
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
	readable_end = TABLE + build.len;
}

static int decode_open(struct sframe_table *table)
{
	struct sframe_reader reader = decode_reader(1024);

	table->text_start = TEXT;
	table->text_end = TEXT + 0x90;
	return sframe_open(&reader, TABLE, TABLE + build.len, table);
}

static int decode_init(struct kunit *test)
{
	decode_build();
	return 0;
}

struct decode_case {
	u32			ip;
	int			ret;
	struct sframe_row	row;
};

/* The rules of most rows. */
#define AT_SP(off)	.cfa = { .base = SFRAME_BASE_SP, .offset = (off) }
#define AT_FP(off)	.cfa = { .base = SFRAME_BASE_FP, .offset = (off) }
#define IN_FRAME(off)	{ .base = SFRAME_BASE_CFA, .offset = (off), .deref = true }
#define CALLED		.ra = IN_FRAME(-8)
#define FP_KEPT		.fp = { .base = SFRAME_BASE_SAME }
#define FP_SAVED(off)	.fp = IN_FRAME(off)

static const struct decode_case decode_cases[] = {
	{ 0x00, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x01, 0, { AT_SP(16), CALLED, FP_SAVED(-16) } },
	{ 0x03, 0, { AT_SP(16), CALLED, FP_SAVED(-16) } },
	{ 0x04, 0, { AT_FP(16), CALLED, FP_SAVED(-16) } },
	{ 0x1f, 0, { AT_FP(16), CALLED, FP_SAVED(-16) } },
	/* Behind and beside an empty function. */
	{ 0x20, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x2f, 0, { AT_SP(8), CALLED, FP_KEPT } },
	/* Between functions. */
	{ 0x30, -ENOENT },
	{ 0x3f, -ENOENT },
	/* Rows that repeat. */
	{ 0x40, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x4a, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x4b, 0, { AT_SP(16), CALLED, FP_KEPT } },
	{ 0x70, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x7f, 0, { AT_SP(16), CALLED, FP_KEPT } },
	/* Before the first row of a function. */
	{ 0x81, -ENODATA },
	{ 0x82, 0, { .outermost = true } },
	/* Outside the text. */
	{ 0x90, -ENOENT },
	{ -1, -ENOENT },
};

static const struct decode_case decode_cases_v3[] = {
	{ 0x00, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x10, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x15, 0, { .cfa = { .base = 10 }, CALLED, FP_KEPT } },
	{ 0x19, 0, { .cfa = { .base = SFRAME_BASE_FP, .offset = -16, .deref = true },
		     CALLED,
		     .fp = { .base = SFRAME_BASE_FP, .deref = true } } },
	{ 0x20, 0, { .cfa = { .base = SFRAME_BASE_UNKNOWN }, CALLED, FP_KEPT } },
	{ 0x28, 0, { .outermost = true } },
	{ 0x30, 0, { AT_SP(8), CALLED, FP_KEPT, .signal = true } },
	{ 0x40, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x4b, 0, { AT_SP(16), CALLED, FP_KEPT } },
	{ 0x70, 0, { AT_SP(8), CALLED, FP_KEPT } },
	{ 0x80, 0, { .outermost = true } },
	{ 0x8f, 0, { .outermost = true } },
	{ 0x90, -ENOENT },
};

static void decode_expect_rule(struct kunit *test, u32 ip, const char *name,
			       const struct sframe_rule *got,
			       const struct sframe_rule *want)
{
	KUNIT_EXPECT_EQ_MSG(test, got->base, want->base, "ip %#x %s", ip, name);
	KUNIT_EXPECT_EQ_MSG(test, got->offset, want->offset, "ip %#x %s", ip, name);
	KUNIT_EXPECT_EQ_MSG(test, got->deref, want->deref, "ip %#x %s", ip, name);
}

static void decode_expect(struct kunit *test, const struct decode_case *want)
{
	struct sframe_reader reader = decode_reader(4096);
	struct sframe_table table;
	struct sframe_row row;
	int ret;

	KUNIT_ASSERT_EQ(test, decode_open(&table), 0);
	ret = sframe_find_row(&reader, &table, TEXT + (s32)want->ip, &row);
	KUNIT_EXPECT_EQ_MSG(test, ret, want->ret, "ip %#x", want->ip);
	if (ret || want->ret)
		return;
	KUNIT_EXPECT_EQ_MSG(test, row.outermost, want->row.outermost, "ip %#x",
			    want->ip);
	KUNIT_EXPECT_EQ_MSG(test, row.signal, want->row.signal, "ip %#x",
			    want->ip);
	if (row.outermost)
		return;
	decode_expect_rule(test, want->ip, "cfa", &row.cfa, &want->row.cfa);
	decode_expect_rule(test, want->ip, "ra", &row.ra, &want->row.ra);
	decode_expect_rule(test, want->ip, "fp", &row.fp, &want->row.fp);
}

static void sframe_decode_finds_the_row_of_each_address(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(decode_cases); i++)
		decode_expect(test, &decode_cases[i]);
}

static void sframe_decode_finds_the_row_of_each_address_v3(struct kunit *test)
{
	int i;

	decode_build_v3();
	for (i = 0; i < ARRAY_SIZE(decode_cases_v3); i++)
		decode_expect(test, &decode_cases_v3[i]);
}

/* Starts and offsets of every width mean the same. */
static void sframe_decode_reads_every_width(struct kunit *test)
{
	static const u8 rows[][14] = {
		/* start, info: SP, 2 offsets of 1, 2, 4 bytes; 24, -16 */
		{ 0, 0x05, 24, -16 },
		{ 0, 0, 0x25, 24, 0, 0xf0, 0xff },
		{ 0, 0, 0, 0, 0x45, 24, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff },
	};
	int type;

	for (type = 0; type < ARRAY_SIZE(rows); type++) {
		struct sframe_reader reader = decode_reader(4096);
		struct sframe_table table;
		struct sframe_row row;

		sframe_build_start(&build, SFRAME_VERSION_2);
		sframe_build_function(&build, 0, 0x10, type, 0);
		build.fdes[0].num_fres = 1;
		build.header.fre_len = sizeof(rows[type]);
		memcpy(build.fres, rows[type], sizeof(rows[type]));
		sframe_build_finish(&build, TABLE, TEXT);
		readable_end = TABLE + build.len;

		KUNIT_ASSERT_EQ(test, decode_open(&table), 0);
		KUNIT_ASSERT_EQ(test, sframe_find_row(&reader, &table, TEXT + 5,
						      &row), 0);
		KUNIT_EXPECT_EQ(test, row.cfa.offset, 24);
		KUNIT_EXPECT_EQ(test, row.fp.offset, -16);
		KUNIT_EXPECT_TRUE(test, row.fp.deref);
	}
}

static void sframe_decode_reads_pc_relative_starts(struct kunit *test)
{
	struct sframe_reader reader = decode_reader(4096);
	struct sframe_table table;
	struct sframe_row row;
	u32 i;

	build.bytes[3] |= SFRAME_F_FDE_FUNC_START_PCREL;
	for (i = 0; i < build.header.num_fdes; i++) {
		struct sframe_fde *fde = (void *)build.bytes +
			sizeof(struct sframe_header) + i * sizeof(*fde);

		fde->func_start -= (u8 *)fde - build.bytes;
	}
	KUNIT_ASSERT_EQ(test, decode_open(&table), 0);
	KUNIT_ASSERT_EQ(test, sframe_find_row(&reader, &table, TEXT + 0x4b, &row), 0);
	KUNIT_EXPECT_EQ(test, row.cfa.offset, 16);
}

/* A byte of the header, what it becomes, and what the decoder says. */
static const struct {
	u32	at;
	u8	value;
	int	ret;
} header_cases[] = {
	{ 0, 0xe3, -EBADMSG },			/* magic */
	{ 2, 1, -EOPNOTSUPP },			/* version */
	{ 2, 4, -EOPNOTSUPP },
	{ 3, 0x0, -EOPNOTSUPP },		/* not sorted */
	{ 3, 0x9, -EOPNOTSUPP },		/* a flag that nobody knows */
	{ 4, 2, -EOPNOTSUPP },			/* architecture */
	{ 5, 8, -EOPNOTSUPP },			/* fixed frame pointer offset */
	{ 6, 0, -EOPNOTSUPP },			/* fixed return address offset */
	{ 7, 0xff, -EBADMSG },			/* auxiliary header */
	{ 11, 0xff, -EBADMSG },			/* number of functions */
	{ 19, 0xff, -EBADMSG },			/* length of rows */
	{ 23, 0xff, -EBADMSG },			/* where functions start */
	{ 27, 0xff, -EBADMSG },			/* where rows start */
};

static void sframe_decode_refuses_a_damaged_header(struct kunit *test)
{
	struct sframe_table table;
	int i;

	for (i = 0; i < ARRAY_SIZE(header_cases); i++) {
		u8 *byte = &build.bytes[header_cases[i].at], old = *byte;

		*byte = header_cases[i].value;
		KUNIT_EXPECT_EQ_MSG(test, decode_open(&table),
				    header_cases[i].ret, "byte %u = %#x",
				    header_cases[i].at, header_cases[i].value);
		*byte = old;
	}
	build.len = sizeof(struct sframe_header) - 1;
	KUNIT_EXPECT_EQ(test, decode_open(&table), -EBADMSG);
}

/* An early version of this format's support divided by it. */
static void sframe_decode_refuses_a_repetition_of_no_bytes(struct kunit *test)
{
	const struct decode_case want = { 0x44, -EBADMSG };

	build.bytes[sizeof(struct sframe_header) +
		    4 * sizeof(struct sframe_fde) +
		    offsetof(struct sframe_fde, rep_size)] = 0;
	decode_expect(test, &want);
}

/* The attributes of the last function of version 3, which has no row. */
static const struct {
	struct sframe_v3_attributes	attr;
	int				ret;
} attribute_cases[] = {
	{ { .info = 3 }, -EBADMSG },
	{ { .info = SFRAME_FDE_PCMASK }, -EBADMSG },
	{ { .info = SFRAME_V3_FDE_UNUSED }, -EOPNOTSUPP },
	{ { .info2 = 2 }, -EOPNOTSUPP },
	{ { .info2 = 0x20 }, -EOPNOTSUPP },
	/* It would lie behind the end. */
	{ { .num_fres = 1 }, -EBADMSG },
	/* Only plain functions say by this that there is no caller. */
	{ { .info2 = SFRAME_V3_FDE_FLEX }, -ENODATA },
	{ { .info = SFRAME_V3_FDE_SIGNAL }, -ENODATA },
};

static void sframe_decode_refuses_damaged_attributes_v3(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(attribute_cases); i++) {
		const struct decode_case want = { 0x80, attribute_cases[i].ret };

		decode_build_v3();
		*sframe_build_attributes(&build) = attribute_cases[i].attr;
		sframe_build_finish(&build, TABLE, TEXT);
		decode_expect(test, &want);
	}
}

static void sframe_decode_refuses_attributes_behind_the_end_v3(struct kunit *test)
{
	u32 len, off;

	decode_build_v3();
	len = build.header.fre_len;
	for (off = len - 4; off < len + 2; off++) {
		const struct decode_case want = { 0x80, -EBADMSG };

		build.fdes[build.header.num_fdes - 1].fre_off = off;
		sframe_build_finish(&build, TABLE, TEXT);
		decode_expect(test, &want);
	}
}

static const struct {
	u8	nr;
	s8	words[6];
	int	ret;
} flexible_cases[] = {
	/* No CFA, or one that counts from itself. */
	{ 1, { SFRAME_BUILD_REG(7) }, -EBADMSG },
	{ 2, { 0, 8 }, -EBADMSG },
	{ 2, { SFRAME_V3_CONTROL_DEREF, 8 }, -EBADMSG },
	{ 2, { SFRAME_BUILD_REG(7) | SFRAME_V3_CONTROL_UNUSED, 8 }, -EOPNOTSUPP },
	/* A rule without its offset, and words that no rule takes. */
	{ 3, { SFRAME_BUILD_REG(7), 8, SFRAME_V3_CONTROL_DEREF }, -EBADMSG },
	{ 4, { SFRAME_BUILD_REG(7), 8, 0, SFRAME_BUILD_MEM(6) }, -EBADMSG },
	{ 5, { SFRAME_BUILD_REG(7), 8, 0, 0, 8 }, -EBADMSG },
	{ 6, { SFRAME_BUILD_REG(7), 8, 0, SFRAME_BUILD_MEM(6), 0, 0 }, -EBADMSG },
};

static void sframe_decode_refuses_damaged_flexible_rows(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(flexible_cases); i++) {
		const struct decode_case want = { 0, flexible_cases[i].ret };

		sframe_build_start(&build, SFRAME_VERSION_3);
		sframe_build_function(&build, 0, 0x10, SFRAME_FRE_ADDR1, 0);
		sframe_build_flexible(&build);
		sframe_build_row(&build, 0, false, flexible_cases[i].nr,
				 flexible_cases[i].words);
		sframe_build_finish(&build, TABLE, TEXT);
		readable_end = TABLE + build.len;
		decode_expect(test, &want);
	}
}

/* As a linker leaves it that does not merge: one table behind the other. */
static void sframe_decode_refuses_concatenated_tables(struct kunit *test)
{
	struct sframe_reader reader = decode_reader(1024);
	u32 next = ALIGN(build.len, 8);
	struct sframe_table table;

	memcpy(build.bytes + next, build.bytes, sizeof(struct sframe_header));
	build.len = next + sizeof(struct sframe_header);
	readable_end = TABLE + build.len;
	KUNIT_EXPECT_EQ(test, sframe_open(&reader, TABLE, TABLE + build.len,
					  &table), -EOPNOTSUPP);
}

static void sframe_decode_stops_at_the_budget(struct kunit *test)
{
	struct sframe_table table;
	struct sframe_row row;
	u32 budget, needed = U32_MAX;

	KUNIT_ASSERT_EQ(test, decode_open(&table), 0);
	for (budget = 0; budget < 16; budget++) {
		struct sframe_reader reader = decode_reader(budget);
		int ret = sframe_find_row(&reader, &table, TEXT + 4, &row);

		if (!ret) {
			needed = budget;
			KUNIT_EXPECT_EQ(test, reader.budget, 0);
			break;
		}
		KUNIT_EXPECT_EQ(test, ret, -E2BIG);
	}
	/* The rows of the function up to the one that holds. */
	KUNIT_EXPECT_EQ(test, needed, 3);
}

static void sframe_decode_reports_unreadable_bytes(struct kunit *test)
{
	u64 whole = readable_end;
	struct sframe_table table;
	struct sframe_row row;

	KUNIT_ASSERT_EQ(test, decode_open(&table), 0);
	for (readable_end = TABLE; readable_end < whole; readable_end++) {
		struct sframe_reader reader = decode_reader(4096);

		/* The last function: its row is the last byte of all. */
		KUNIT_EXPECT_EQ(test, sframe_find_row(&reader, &table,
						      TEXT + 0x82, &row),
				-EFAULT);
	}
}

static struct kunit_case sframe_decode_cases[] = {
	KUNIT_CASE(sframe_decode_finds_the_row_of_each_address),
	KUNIT_CASE(sframe_decode_finds_the_row_of_each_address_v3),
	KUNIT_CASE(sframe_decode_reads_every_width),
	KUNIT_CASE(sframe_decode_reads_pc_relative_starts),
	KUNIT_CASE(sframe_decode_refuses_a_damaged_header),
	KUNIT_CASE(sframe_decode_refuses_a_repetition_of_no_bytes),
	KUNIT_CASE(sframe_decode_refuses_damaged_attributes_v3),
	KUNIT_CASE(sframe_decode_refuses_attributes_behind_the_end_v3),
	KUNIT_CASE(sframe_decode_refuses_damaged_flexible_rows),
	KUNIT_CASE(sframe_decode_refuses_concatenated_tables),
	KUNIT_CASE(sframe_decode_stops_at_the_budget),
	KUNIT_CASE(sframe_decode_reports_unreadable_bytes),
	{}
};

static struct kunit_suite sframe_decode_suite = {
	.name = "sframe_decode",
	.init = decode_init,
	.test_cases = sframe_decode_cases,
};

kunit_test_suite(sframe_decode_suite);

MODULE_DESCRIPTION("KUnit tests of the SFrame decoder");
MODULE_LICENSE("GPL");
