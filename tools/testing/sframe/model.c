// SPDX-License-Identifier: GPL-2.0
/*
 * A second reader of SFrame tables, for tests to hold unwind_table_find() against.  It is
 * as simple as it can be: for each address anew it looks at all functions and at the rows of
 * one.  It is for tables that unwind_table_build() has accepted, and checks nothing.
 */
#include <errno.h>
#include <string.h>

#include <linux/minmax.h>

#include "sframe_format.h"
#include "test.h"

#define ALIGNMENT	16

/* The data words of a row, of 1 << @size bytes each */
struct words {
	const u8	*at;
	u32		left;
	u32		size;
};

static struct sframe_header read_header(const struct unwind_table_source *source)
{
	struct sframe_header header;

	memcpy(&header, source->bytes, sizeof(header));
	return header;
}

static const u8 *rows_of(const struct unwind_table_source *source)
{
	struct sframe_header header = read_header(source);

	return source->bytes + sizeof(header) + header.auxhdr_len + header.freoff;
}

u32 test_num_functions(const struct unwind_table_source *source)
{
	return read_header(source).num_fdes;
}

static bool is_version_3(const struct unwind_table_source *source)
{
	return read_header(source).preamble.version == SFRAME_VERSION_3;
}

struct test_function test_function(const struct unwind_table_source *source, u32 index)
{
	struct sframe_header header = read_header(source);
	u64 size = is_version_3(source) ? sizeof(struct sframe_v3_fde) : sizeof(struct sframe_fde);
	u64 at = sizeof(header) + header.auxhdr_len + header.fdeoff + index * size;
	bool pcrel = header.preamble.flags & SFRAME_F_FDE_FUNC_START_PCREL;
	u64 base = source->start + (pcrel ? at : 0);
	struct sframe_v3_fde wide;
	struct sframe_fde fde;

	if (is_version_3(source)) {
		memcpy(&wide, source->bytes + at, sizeof(wide));
		return (struct test_function){
			.start = base + wide.func_start, .size = wide.func_size,
			.rows = wide.fre_off, .private_rules = source->private_rules,
		};
	}
	memcpy(&fde, source->bytes + at, sizeof(fde));
	return (struct test_function){
		.start = base + (s64)fde.func_start, .size = fde.func_size,
		.rows = fde.fre_off, .num_rows = fde.num_fres,
		.info = fde.info, .repeat = fde.rep_size,
	};
}

/* Whether all of it is code that the table is made for. */
static bool is_in_code(const struct unwind_table_source *source, const struct test_function *func)
{
	u64 size = min_t(u64, source->text_end - source->text_start, UNWIND_TABLE_MAX_TEXT);
	u64 at = func->start - source->text_start;

	return at < size && func->size <= size - at;
}

/* The last function of any size that starts at or before @ip, if it covers it. */
static bool find_function(const struct unwind_table_source *source, u64 ip,
			  struct test_function *found)
{
	u32 nr = test_num_functions(source);

	memset(found, 0, sizeof(*found));
	for (u32 i = 0; i < nr; i++) {
		struct test_function func = test_function(source, i);

		/* Signed: it may start below the code. */
		if (func.size && (s64)(func.start - source->text_start) <=
				 (s64)(ip - source->text_start))
			*found = func;
	}
	return ip - found->start < found->size && is_in_code(source, found);
}

static u32 take_word(struct words *words)
{
	u32 word = 0;

	memcpy(&word, words->at, 1u << words->size);
	words->at += 1u << words->size;
	words->left--;
	return word;
}

static s32 take_offset(struct words *words)
{
	u32 unused = 32 - (8u << words->size);

	return (s32)(take_word(words) << unused) >> unused;
}

/* A rule of a flexible row; @add is for private ones. False: it uses a bit that it may not. */
static bool read_flexible(struct words *words, struct sframe_rule *rule, s32 *add)
{
	u32 control = words->left ? take_word(words) : 0;
	u32 reg = control >> SFRAME_V3_CONTROL_REG_SHIFT;

	if (!control)
		return true;
	if (control & SFRAME_V3_CONTROL_ADD && !add)
		return false;
	rule->base = !(control & SFRAME_V3_CONTROL_REG) ? SFRAME_BASE_CFA :
		     reg < SFRAME_BASE_CFA ? reg : SFRAME_BASE_UNKNOWN;
	rule->deref = !!(control & SFRAME_V3_CONTROL_DEREF);
	rule->offset = take_offset(words);
	if (control & SFRAME_V3_CONTROL_ADD)
		*add = take_offset(words);
	return true;
}

static void read_default(struct words *words, u8 info, struct sframe_row *row)
{
	row->cfa.base = info & SFRAME_FRE_CFA_BASE_SP ? SFRAME_BASE_SP : SFRAME_BASE_FP;
	row->cfa.offset = take_offset(words);
	if (words->left)
		row->fp = (struct sframe_rule){ take_offset(words), SFRAME_BASE_CFA, 1 };
	row->plain = !row->signal && !row->followed &&
		     (!row->fp.deref || (row->fp.offset <= -16 && row->fp.offset >= -32768));
	row->slot = row->plain && row->fp.deref ? row->fp.offset : 0;
}

static int read_row(const struct test_function *func, u8 info, const u8 *at,
		    struct sframe_row *row)
{
	struct words words = { at, SFRAME_FRE_COUNT(info), SFRAME_FRE_SIZE(info) };

	*row = (struct sframe_row){
		.ra = { -8, SFRAME_BASE_CFA, 1 },
		.fp.base = SFRAME_BASE_SAME,
		.outermost = !words.left,
		.signal = func->info & SFRAME_V3_FDE_SIGNAL,
		.followed = func->info2 & SFRAME_V3_FDE_FOLLOWED,
	};
	if (row->outermost)
		return 0;
	if (SFRAME_V3_FDE_TYPE(func->info2) != SFRAME_V3_FDE_FLEX) {
		read_default(&words, info, row);
		return 0;
	}
	return read_flexible(&words, &row->cfa, func->private_rules ? &row->cfa_add : NULL) &&
	       read_flexible(&words, &row->ra, NULL) &&
	       read_flexible(&words, &row->fp, NULL) ? 0 : -ENODATA;
}

/* The last of a function's rows that starts at or before @offset */
static int find_row(const u8 *rows, const struct test_function *func, u32 offset,
		    struct sframe_row *row)
{
	u32 width = 1u << SFRAME_FDE_FRE_TYPE(func->info);
	const u8 *at = rows + func->rows, *found = NULL;

	for (u32 i = 0; i < func->num_rows; i++) {
		u32 start = 0;

		memcpy(&start, at, width);
		if (start > offset)
			break;
		found = at + width;
		at = found + 1 + (SFRAME_FRE_COUNT(*found) << SFRAME_FRE_SIZE(*found));
	}
	return found ? read_row(func, *found, found + 1, row) : -ENODATA;
}

/* In version 3: false, if a bit of them is not known. */
static bool read_attributes(const u8 *rows, struct test_function *func)
{
	u8 known = SFRAME_V3_FDE_FLEX | (func->private_rules ? SFRAME_V3_FDE_FOLLOWED : 0);
	struct sframe_v3_attributes attributes;

	memcpy(&attributes, rows + func->rows, sizeof(attributes));
	func->rows += sizeof(attributes);
	func->num_rows = attributes.num_fres;
	func->info = attributes.info;
	func->info2 = attributes.info2;
	func->repeat = attributes.rep_size;
	return !(func->info & SFRAME_V3_FDE_UNUSED) && !(func->info2 & ~known);
}

int test_model_row(const struct unwind_table_source *source, u64 ip, struct sframe_row *row)
{
	const u8 *rows = rows_of(source);
	struct test_function func;
	u32 offset;

	if (ip < source->text_start || ip >= source->text_end)
		return -ENOENT;
	if (!find_function(source, ip, &func))
		return -ENOENT;
	if (is_version_3(source)) {
		if (!read_attributes(rows, &func))
			return -ENODATA;
		if (!func.num_rows && func.info2 & SFRAME_V3_FDE_FOLLOWED)
			return -ENOENT;
		*row = (struct sframe_row){ .outermost = true };
		if (!func.num_rows && !func.info2 && !(func.info & SFRAME_V3_FDE_SIGNAL))
			return 0;
	} else {
		/* Version 2 has no such bits. */
		func.info &= ~(SFRAME_V3_FDE_SIGNAL | SFRAME_V3_FDE_UNUSED);
	}
	offset = ip - func.start;
	if (func.info & SFRAME_FDE_PCMASK)
		offset %= func.repeat;
	return find_row(rows, &func, offset, row);
}

bool test_is_alignment(const struct unwind_table_source *source, u64 ip)
{
	u64 next = (ip | (ALIGNMENT - 1)) + 1;
	u32 nr = test_num_functions(source);

	if (!(ip % ALIGNMENT))
		return false;
	for (u32 i = 0; i < nr; i++) {
		struct test_function func = test_function(source, i);

		if (func.start == next && func.size && is_in_code(source, &func))
			return true;
	}
	return false;
}

enum test_agreement test_compare(const struct unwind_table *table,
				 const struct unwind_table_source *source, u64 ip)
{
	struct sframe_row ours, before, row;
	int error, model;

	error = unwind_table_find(table, ip - source->text_start, &ours);
	model = test_model_row(source, ip, &row);
	if (!error && !model && test_same_row(&ours, &row) && ours.plain == row.plain &&
	    ours.slot == row.slot && ours.direct == test_is_direct_row(&row))
		return TEST_EQUAL;
	if (error && error == model)
		return TEST_EQUAL;
	unwind_table_find(table, ip - source->text_start - 1, &before);
	return model == -ENOENT && test_same_found(&before, &ours) &&
	       test_is_alignment(source, ip) ? TEST_PADDING : TEST_DIFFERENT;
}
