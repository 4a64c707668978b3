// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a struct unwind_table of an SFrame table.
 *
 * Pure code: it knows no task and no file, and compiles in user space for tests.  The
 * SFrame table may come from anybody.  What it says is checked here, once and for all:
 * it is read within its bounds, its functions and their rows have to be sorted, and
 * what it grows to is bounded before memory is taken:
 *
 *	rows	one for each of its bytes, and TABLE_MORE_ROWS; of Debian's files, the
 *		largest have a quarter of that, although functions share rows there
 *	rules	65,534
 *	index	a word for each 512 bytes of code
 *
 * Errors of unwind_table_build():
 *   -EOPNOTSUPP	a table, but not of a form that is read here
 *   -EBADMSG		the table contradicts itself
 *   -E2BIG		it would become larger than the above
 *   -ENOENT		it says nothing of the code
 *   -ENOMEM
 *   -EINTR		the task was killed
 */

#include "table_internal.h"
#include "sframe_format.h"
#include "table.h"

/* x86-64: the call instruction pushed the return address right below the CFA. */
#define TABLE_RA_OFFSET		-8

/*
 * Functions are aligned.  What lies between two of them in less space than this is
 * never run, and takes the last row of the first: a row each would be a fifth of all.
 */
#define TABLE_PADDING		16

/* Rows that any table may have, if only for a PLT of some thousand entries */
#define TABLE_MORE_ROWS		16384

#define TABLE_MAX_RULES		(UNWIND_TABLE_ROW_RULE + 1 - UNWIND_RULE_FIRST)
#define TABLE_MIN_ROOM		64

/* Functions and rows between two chances for others to run */
#define TABLE_BATCH		4096

/* table_function::flags */
#define TABLE_FLEXIBLE		1	/* its rows name their registers */
#define TABLE_SIGNAL		2	/* see sframe_row::signal */
#define TABLE_EMPTY_OUTERMOST	4	/* without a row, there is no caller */
#define TABLE_UNKNOWN		8	/* it uses bits that mean nothing here */

/**
 * struct table_function - a function of the SFrame table
 * @address:	Where it starts.
 * @start:	The same, in the code; valid if @size is not zero.
 * @size:	Its bytes; zero if it is not wanted.
 * @empty:	It has none in the SFrame table.
 * @rows:	Offset of its first row in the rows.
 * @num_rows:	How many it has.
 * @repeat:	They repeat after so many bytes; or zero.
 * @fre_type:	SFRAME_FRE_ADDR*: the width of their starts.
 * @flags:	TABLE_*.
 */
struct table_function {
	u64	address;
	u32	start;
	u32	size;
	u32	rows;
	u32	num_rows;
	u8	repeat;
	u8	fre_type;
	u8	flags;
	bool	empty;
};

/**
 * struct table_row - a row of the SFrame table
 * @start:	In its function.
 * @info:	How many data words there are, of which size, and what the CFA is.
 * @words:	They.
 * @len:	Bytes of them.
 */
struct table_row {
	u32		start;
	u8		info;
	const u8	*words;
	u32		len;
};

/**
 * struct table_build - a table that is being made
 * @source:	What it is made of.
 * @text_size:	Bytes of code.
 * @version:	Of the format.
 * @pcrel:	Function starts count from their own address.
 * @fdes:	The function descriptors ...
 * @num_fdes:	... and their number.
 * @fres:	The rows ...
 * @fre_len:	... and their bytes.
 * @rows:	Those that have been made.
 * @nr_rows:	Their number.
 * @max_rows:	Room.
 * @index:	Up to @block.
 * @nr_blocks:	Of code.
 * @block:	That of the last row.
 * @rule:	Its rule.
 * @end:	Where the last function ends.
 * @rules:	The distinct ones.
 * @nr_rules:	Their number.
 * @room:	For rules, a power of two.
 * @slots:	Twice as many: numbers of rules, from 1, by their hash.
 * @seed:	Of the hash.
 * @gfp:	How memory is taken.
 * @steps:	Functions and rows that have been read.
 */
struct table_build {
	const struct unwind_table_source *source;
	u32			text_size;
	u8			version;
	bool			pcrel;
	const u8		*fdes;
	u32			num_fdes;
	const u8		*fres;
	u32			fre_len;

	u32			*rows;
	u32			nr_rows;
	u32			max_rows;
	u32			*index;
	u32			nr_blocks;
	u32			block;
	u32			rule;
	u32			end;

	struct sframe_row	*rules;
	u32			nr_rules;
	u32			room;
	u16			*slots;
	u32			seed;
	gfp_t			gfp;
	u32			steps;
};

/* Called for each function and row that is read.  Returns 0, or -EINTR. */
static int table_step(struct table_build *build)
{
	if (++build->steps % TABLE_BATCH)
		return 0;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static u32 table_fde_size(const struct table_build *build)
{
	return build->version == SFRAME_VERSION_3 ?
	       sizeof(struct sframe_v3_fde) : sizeof(struct sframe_fde);
}

/* Whether a second table follows at @from: see sframe_check_preamble(). */
static bool table_is_followed(const struct unwind_table_source *source, u64 from)
{
	struct sframe_preamble next;

	from += -(source->start + from) & 7;
	if (from > source->len || source->len - from < sizeof(struct sframe_header))
		return false;
	memcpy(&next, source->bytes + from, sizeof(next));
	return next.magic == SFRAME_MAGIC && next.version >= SFRAME_VERSION_1 &&
	       next.version <= SFRAME_VERSION_3;
}

static int table_read_header(struct table_build *build)
{
	const struct unwind_table_source *source = build->source;
	struct sframe_header header;
	u64 fdes, fres;
	int ret;

	if (source->len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, source->bytes, sizeof(header));
	ret = sframe_check_preamble(&header.preamble);
	if (ret)
		return ret;
	if (header.abi_arch != SFRAME_ABI_AMD64_LE ||
	    header.cfa_fixed_ra_offset != TABLE_RA_OFFSET || header.cfa_fixed_fp_offset)
		return -EOPNOTSUPP;

	build->version = header.preamble.version;
	build->pcrel = header.preamble.flags & SFRAME_F_FDE_FUNC_START_PCREL;
	build->num_fdes = header.num_fdes;
	build->fre_len = header.fre_len;
	/* Sums of 32-bit fields: no 64-bit overflow. */
	fdes = sizeof(header) + header.auxhdr_len + (u64)header.fdeoff;
	fres = sizeof(header) + header.auxhdr_len + (u64)header.freoff;
	if (fres + header.fre_len > source->len ||
	    fdes + (u64)header.num_fdes * table_fde_size(build) > fres)
		return -EBADMSG;
	if (table_is_followed(source, fres + header.fre_len))
		return -EOPNOTSUPP;
	build->fdes = source->bytes + fdes;
	build->fres = source->bytes + fres;
	return 0;
}

static int table_set_info(struct table_function *func, u8 info, u8 rep_size)
{
	func->fre_type = SFRAME_FDE_FRE_TYPE(info);
	if (func->fre_type > SFRAME_FRE_ADDR4)
		return -EBADMSG;
	if (info & SFRAME_FDE_PCMASK) {
		if (!rep_size)
			return -EBADMSG;
		func->repeat = rep_size;
	}
	return 0;
}

/* Version 3 has what is rare in front of the function's rows. */
static int table_read_attributes(const struct table_build *build, struct table_function *func)
{
	struct sframe_v3_attributes attributes;

	if (func->rows > build->fre_len || build->fre_len - func->rows < sizeof(attributes))
		return -EBADMSG;
	memcpy(&attributes, build->fres + func->rows, sizeof(attributes));
	func->rows += sizeof(attributes);
	func->num_rows = attributes.num_fres;
	/* A bit that the format does not define yet may change the meaning of the rows. */
	if (attributes.info & SFRAME_V3_FDE_UNUSED || attributes.info2 & SFRAME_V3_FDE_UNUSED2 ||
	    SFRAME_V3_FDE_TYPE(attributes.info2) > SFRAME_V3_FDE_FLEX) {
		func->flags = TABLE_UNKNOWN;
		func->num_rows = 0;
		return 0;
	}
	if (SFRAME_V3_FDE_TYPE(attributes.info2) == SFRAME_V3_FDE_FLEX)
		func->flags |= TABLE_FLEXIBLE;
	if (attributes.info & SFRAME_V3_FDE_SIGNAL)
		func->flags |= TABLE_SIGNAL;
	/* A signal's frame has a caller, which the kernel's frame tells. */
	if (!func->flags)
		func->flags = TABLE_EMPTY_OUTERMOST;
	return table_set_info(func, attributes.info, attributes.rep_size);
}

/* Read a function.  One that does not lie in the code as a whole has no size. */
static int table_read_function(const struct table_build *build, u32 index,
			       struct table_function *func)
{
	const struct unwind_table_source *source = build->source;
	const u8 *at = build->fdes + (size_t)index * table_fde_size(build);
	u64 base = source->start + (build->pcrel ? at - source->bytes : 0);
	struct sframe_v3_fde wide;
	struct sframe_fde fde;
	u64 start;

	*func = (struct table_function){ };
	if (build->version == SFRAME_VERSION_3) {
		memcpy(&wide, at, sizeof(wide));
		func->address = base + wide.func_start;
		func->size = wide.func_size;
		func->rows = wide.fre_off;
	} else {
		memcpy(&fde, at, sizeof(fde));
		func->address = base + (s64)fde.func_start;
		func->size = fde.func_size;
		func->rows = fde.fre_off;
		func->num_rows = fde.num_fres;
	}
	func->empty = !func->size;
	start = func->address - source->text_start;
	if (start >= build->text_size || func->size > build->text_size - start)
		func->size = 0;
	if (!func->size)
		return 0;
	func->start = start;
	if (build->version == SFRAME_VERSION_3)
		return table_read_attributes(build, func);
	return func->rows > build->fre_len ? -EBADMSG :
					     table_set_info(func, fde.info, fde.rep_size);
}

/* Bound the rows: some repeat, and functions may have theirs in common. */
static int table_count_rows(struct table_build *build)
{
	u64 max_rows = build->source->len + TABLE_MORE_ROWS;
	s64 at, previous = 0;
	u64 rows = 1, times;
	bool any = false;
	struct table_function func;
	u32 i;

	for (i = 0; i < build->num_fdes; i++) {
		int ret = table_step(build) ?: table_read_function(build, i, &func);

		if (ret)
			return ret;
		/* It may be below the table. */
		at = func.address - build->source->start;
		if (i && at < previous)
			return -EBADMSG;
		previous = at;
		if (!func.size)
			continue;
		any = true;
		/* There may be one before its first, each time, and one at its end. */
		times = func.repeat ? func.size / func.repeat + 1ULL : 1;
		rows += (func.num_rows + 1ULL) * times + 1;
		if (rows > max_rows || rows > U32_MAX)
			return -E2BIG;
	}
	build->max_rows = rows;
	return any ? 0 : -ENOENT;
}

static void table_add_row(struct table_build *build, u32 offset, u32 rule)
{
	u32 block = offset >> UNWIND_TABLE_BLOCK_SHIFT;
	u32 row = (offset & UNWIND_TABLE_BLOCK_MASK) << UNWIND_TABLE_ROW_SHIFT | rule;

	if (build->nr_rows) {
		u32 *last = &build->rows[build->nr_rows - 1];

		if (rule == build->rule)
			return;
		if (block == build->block &&
		    *last >> UNWIND_TABLE_ROW_SHIFT == row >> UNWIND_TABLE_ROW_SHIFT) {
			*last = row;
			build->rule = rule;
			return;
		}
	}
	while (build->block < block)
		build->index[++build->block] = build->nr_rows;
	build->rows[build->nr_rows++] = row;
	build->rule = rule;
}

static u32 table_hash(const struct table_build *build, const struct sframe_row *rule)
{
	return jhash2((const u32 *)rule, sizeof(*rule) / sizeof(u32), build->seed);
}

static u16 *table_find_slot(const struct table_build *build, const struct sframe_row *rule)
{
	u32 mask = 2 * build->room - 1, at = table_hash(build, rule) & mask;

	while (build->slots[at] &&
	       memcmp(&build->rules[build->slots[at] - 1], rule, sizeof(*rule)))
		at = (at + 1) & mask;
	return &build->slots[at];
}

static int table_grow_rules(struct table_build *build)
{
	u32 i, room = build->room ? 2 * build->room : TABLE_MIN_ROOM;
	struct sframe_row *rules;
	u16 *slots;

	rules = kvcalloc(room, sizeof(*rules), build->gfp);
	slots = kvcalloc(room, 2 * sizeof(*slots), build->gfp);
	if (!rules || !slots) {
		kvfree(rules);
		kvfree(slots);
		return -ENOMEM;
	}
	if (build->nr_rules)
		memcpy(rules, build->rules, build->nr_rules * sizeof(*rules));
	kvfree(build->rules);
	kvfree(build->slots);
	build->rules = rules;
	build->slots = slots;
	build->room = room;
	for (i = 0; i < build->nr_rules; i++)
		*table_find_slot(build, &rules[i]) = i + 1;
	return 0;
}

/* The number of @rule, or an error. */
static int table_number_rule(struct table_build *build, const struct sframe_row *rule)
{
	u16 *slot;
	int ret;

	if (build->nr_rules == build->room) {
		ret = table_grow_rules(build);
		if (ret)
			return ret;
	}
	slot = table_find_slot(build, rule);
	if (!*slot) {
		if (build->nr_rules == TABLE_MAX_RULES)
			return -E2BIG;
		memcpy(&build->rules[build->nr_rules], rule, sizeof(*rule));
		*slot = ++build->nr_rules;
	}
	return *slot - 1 + UNWIND_RULE_FIRST;
}

/* Bytes of a row's data words; a row with words of a size that there is none of has too many. */
static u32 table_words_len(u8 info)
{
	return SFRAME_FRE_SIZE(info) > 2 ? U32_MAX :
	       SFRAME_FRE_COUNT(info) << SFRAME_FRE_SIZE(info);
}

/* Read the row at offset *@at of the rows, and advance *@at to the next row. */
static int table_read_row(const struct table_build *build, const struct table_function *func,
			  u32 *at, struct table_row *row)
{
	u32 width = 1 << func->fre_type, left;
	const u8 *bytes;

	if (*at > build->fre_len || build->fre_len - *at < width + 1)
		return -EBADMSG;
	bytes = build->fres + *at;
	left = build->fre_len - *at - width - 1;
	switch (func->fre_type) {
	case SFRAME_FRE_ADDR1:
		row->start = *bytes;
		break;
	case SFRAME_FRE_ADDR2:
		row->start = get_unaligned_le16(bytes);
		break;
	default:
		row->start = get_unaligned_le32(bytes);
	}
	row->info = bytes[width];
	row->words = bytes + width + 1;
	row->len = table_words_len(row->info);
	if (row->len > left)
		return -EBADMSG;
	*at += width + 1 + row->len;
	return 0;
}

/* Take the next data word of @row, which there is; signed, if @is_signed. */
static u32 table_take_word(struct table_row *row, bool is_signed)
{
	u32 size = SFRAME_FRE_SIZE(row->info), word;

	switch (size) {
	case 0:
		word = is_signed ? (u32)(s8)*row->words : *row->words;
		break;
	case 1:
		word = get_unaligned_le16(row->words);
		if (is_signed)
			word = (s16)word;
		break;
	default:
		word = get_unaligned_le32(row->words);
	}
	row->words += 1 << size;
	row->len -= 1 << size;
	return word;
}

/* A rule of a flexible row; @rule stays as it is where the row has none. */
static int table_read_rule(struct table_row *row, bool is_cfa, struct sframe_rule *rule)
{
	u32 control = row->len ? table_take_word(row, false) : 0;
	u32 reg = control >> SFRAME_V3_CONTROL_REG_SHIFT;

	if (!control)
		return is_cfa ? -EBADMSG : 0;
	if (control & SFRAME_V3_CONTROL_UNUSED)
		return -EOPNOTSUPP;
	/* The CFA cannot be found from the CFA. */
	if (!row->len || (is_cfa && !(control & SFRAME_V3_CONTROL_REG)))
		return -EBADMSG;
	rule->base = SFRAME_BASE_CFA;
	if (control & SFRAME_V3_CONTROL_REG)
		rule->base = reg <= SFRAME_BASE_R15 ? reg : SFRAME_BASE_UNKNOWN;
	rule->deref = !!(control & SFRAME_V3_CONTROL_DEREF);
	rule->offset = table_take_word(row, true);
	return 0;
}

static int table_read_flexible(struct table_row *row, struct sframe_row *rule)
{
	int ret;

	ret = table_read_rule(row, true, &rule->cfa);
	if (!ret)
		ret = table_read_rule(row, false, &rule->ra);
	if (!ret)
		ret = table_read_rule(row, false, &rule->fp);
	if (!ret && row->len)
		return -EBADMSG;
	return ret;
}

/* One or two words: the offsets of the CFA and of where the frame pointer is. */
static int table_read_default(struct table_row *row, struct sframe_row *rule)
{
	if (SFRAME_FRE_COUNT(row->info) > 2)
		return -EBADMSG;
	rule->cfa.base = row->info & SFRAME_FRE_CFA_BASE_SP ? SFRAME_BASE_SP : SFRAME_BASE_FP;
	rule->cfa.offset = table_take_word(row, true);
	if (row->len)
		rule->fp = (struct sframe_rule){
			.offset = table_take_word(row, true),
			.base = SFRAME_BASE_CFA,
			.deref = 1,
		};
	return 0;
}

/* The number of the rule that @row says, or an error. */
static int table_read_rules(struct table_build *build, const struct table_function *func,
			    struct table_row *row)
{
	struct sframe_row rule;
	int ret;

	/* It is compared byte by byte. */
	memset(&rule, 0, sizeof(rule));
	rule.signal = func->flags & TABLE_SIGNAL;
	if (!row->len) {
		rule.outermost = true;
		return table_number_rule(build, &rule);
	}
	rule.ra = (struct sframe_rule){
		.offset = TABLE_RA_OFFSET, .base = SFRAME_BASE_CFA, .deref = 1,
	};
	rule.fp.base = SFRAME_BASE_SAME;
	if (func->flags & TABLE_FLEXIBLE) {
		ret = table_read_flexible(row, &rule);
	} else {
		rule.plain = !rule.signal;
		ret = table_read_default(row, &rule);
	}
	if (ret == -EOPNOTSUPP)
		return UNWIND_RULE_NONE;
	return ret ? ret : table_number_rule(build, &rule);
}

/* The rule of a function that has no row, or an error. */
static int table_rule_of_none(struct table_build *build, const struct table_function *func)
{
	struct sframe_row rule;

	if (!(func->flags & TABLE_EMPTY_OUTERMOST))
		return UNWIND_RULE_NONE;
	memset(&rule, 0, sizeof(rule));
	rule.outermost = true;
	return table_number_rule(build, &rule);
}

/* Add the rows of @func at @offset in the code, for @size bytes at most. */
static int table_add_rows(struct table_build *build, const struct table_function *func,
			  u32 offset, u32 size)
{
	u32 i, at = func->rows, previous = 0;
	struct table_row row;
	int rule;

	if (!func->num_rows) {
		rule = table_rule_of_none(build, func);
		if (rule < 0)
			return rule;
		table_add_row(build, offset, rule);
		return 0;
	}
	for (i = 0; i < func->num_rows; i++) {
		int ret = table_step(build) ?: table_read_row(build, func, &at, &row);

		if (ret)
			return ret;
		if (row.start < previous)
			return -EBADMSG;
		previous = row.start;
		if (!i && row.start)
			table_add_row(build, offset, UNWIND_RULE_NONE);
		if (row.start >= size)
			break;
		rule = table_read_rules(build, func, &row);
		if (rule < 0)
			return rule;
		table_add_row(build, offset + row.start, rule);
	}
	return 0;
}

/* Add @func, up to @size bytes of it: where the next one starts, it ends. */
static int table_add_function(struct table_build *build, const struct table_function *func,
			      u32 size)
{
	u32 at, step = func->repeat ? func->repeat : size;
	int ret;

	if (func->start - build->end >= TABLE_PADDING)
		table_add_row(build, build->end, UNWIND_RULE_NOWHERE);
	for (at = 0; at < size; at += min(step, size - at)) {
		ret = table_add_rows(build, func, func->start + at, min(step, size - at));
		if (ret)
			return ret;
	}
	build->end = func->start + size;
	return 0;
}

/*
 * Of those that start at the same place, the last one counts.  One that is not wanted
 * ends the one before it, too.
 */
static int table_add_functions(struct table_build *build)
{
	struct table_function func = { }, next;
	u64 room;
	u32 i;
	int ret;

	for (i = 0; i < build->num_fdes; i++) {
		ret = table_step(build) ?: table_read_function(build, i, &next);
		if (ret)
			return ret;
		if (next.empty)
			continue;
		room = next.address - func.address;
		if (func.size && room) {
			ret = table_add_function(build, &func, min_t(u64, func.size, room));
			if (ret)
				return ret;
		}
		func = next;
	}
	ret = func.size ? table_add_function(build, &func, func.size) : 0;
	if (ret)
		return ret;
	if (build->end < build->text_size)
		table_add_row(build, build->end, UNWIND_RULE_NOWHERE);
	while (build->block < build->nr_blocks)
		build->index[++build->block] = build->nr_rows;
	return 0;
}

/* All of it in one piece.  The first word of the index is 0: see unwind_table::rows. */
static struct unwind_table *table_pack(const struct table_build *build)
{
	size_t rules = array_size(build->nr_rules, sizeof(*build->rules));
	size_t rows = array_size(build->nr_rows, sizeof(u32));
	size_t index = array_size(build->nr_blocks + 1, sizeof(u32));
	struct unwind_table *table;
	size_t size;
	u32 *at;

	size = size_add(size_add(sizeof(*table), rules), size_add(rows, index));
	table = kvmalloc(size, build->gfp);
	if (!table)
		return NULL;
	table->text_size = build->text_size;
	table->nr_rules = build->nr_rules;
	table->nr_rows = build->nr_rows;
	table->size = size;
	at = (u32 *)&table->rules[build->nr_rules];
	if (rules)
		memcpy(table->rules, build->rules, rules);
	table->rows = memcpy(at, build->rows, rows);
	table->index = memcpy(at + build->nr_rows, build->index, index);
	return table;
}

static int table_fill(struct table_build *build)
{
	int ret;

	ret = table_read_header(build);
	if (!ret)
		ret = table_count_rows(build);
	if (ret)
		return ret;
	build->nr_blocks = DIV_ROUND_UP(build->text_size, 1U << UNWIND_TABLE_BLOCK_SHIFT);
	build->index = kvcalloc(build->nr_blocks + 1, sizeof(*build->index), build->gfp);
	build->rows = kvmalloc_array(build->max_rows, sizeof(*build->rows), build->gfp);
	if (!build->index || !build->rows)
		return -ENOMEM;
	table_add_row(build, 0, UNWIND_RULE_NOWHERE);
	return table_add_functions(build);
}

/**
 * unwind_table_build() - make a table
 * @source: What of.
 * @seed: A random number for the hash, so that a hostile table cannot force collisions.
 * @gfp: How memory is taken, and who is charged: of what is needed meanwhile, too.
 *
 * Context: Process context, may sleep.
 * Return: The table, for unwind_table_free(); or an error as listed at the top of this
 * file.
 */
struct unwind_table *unwind_table_build(const struct unwind_table_source *source, u32 seed,
					gfp_t gfp)
{
	struct table_build build = {
		.source = source,
		.seed = seed,
		.gfp = gfp | __GFP_NOWARN,
	};
	struct unwind_table *table;
	int ret;

	if (source->text_end <= source->text_start)
		return ERR_PTR(-ENOENT);
	build.text_size = min_t(u64, source->text_end - source->text_start,
				UNWIND_TABLE_MAX_TEXT);
	ret = table_fill(&build);
	table = ret ? ERR_PTR(ret) : table_pack(&build);
	kvfree(build.rows);
	kvfree(build.index);
	kvfree(build.rules);
	kvfree(build.slots);
	return table ? table : ERR_PTR(-ENOMEM);
}

/**
 * unwind_table_free() - free a table that nobody reads any more
 * @table: What unwind_table_build() returned, or NULL.
 *
 * Context: Process context.
 */
void unwind_table_free(const struct unwind_table *table)
{
	kvfree(table);
}
