// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a struct unwind_table from an SFrame table.
 *
 * This file depends on no task and no file, so that tests compile it in user space.  Anybody
 * may have written the SFrame table, so its content is hostile.  All checks are made here,
 * once: reads stay within its bounds, its functions and their rows have to be sorted, and the
 * size of the result is bounded before memory is allocated:
 *
 *	rows	one for each byte of the SFrame table, plus TABLE_MORE_ROWS; twice as many where
 *		table_lay_out() repeats the last ones, and 16 for each 64 KiB of code.  The
 *		largest of Debian's files have a quarter of that, although their functions
 *		share rows.
 *	rules	32,768 that rows number, including the two that stand for "no rule"
 *	index	one word for each five rows, plus one for each 2 KiB of code
 *
 * Errors of unwind_table_build():
 *   -EOPNOTSUPP	an SFrame table in a form that this file does not read
 *   -EBADMSG		the SFrame table contradicts itself
 *   -E2BIG		the table would exceed the limits above
 *   -ENOENT		the SFrame table has no function in the code
 *   -ENOMEM
 *   -EINTR		the task was killed
 */

#include "table_internal.h"
#include "sframe_format.h"
#include "table.h"

/*
 * Alignment of functions.  A smaller gap before an aligned function is padding.  It never
 * runs, so the row before it may cover it.  A row for each such gap would be a fifth of all
 * rows.
 */
#define TABLE_PADDING		16

/* Number of rows that even a small SFrame table may have, for PLTs of some thousand entries */
#define TABLE_MORE_ROWS		16384

/* What a row can number */
#define TABLE_MAX_RULES		UNWIND_ROW_PLAIN
#define TABLE_MIN_ROOM		64

/* What the index can number */
#define TABLE_MAX_ROWS		(UNWIND_TABLE_INDEX_FIRST + 1)

/* Blocks have at most so many rows on average, if a size from 32 to 2048 bytes allows it. */
#define TABLE_BLOCK_ROWS	10
#define TABLE_MIN_SHIFT		5
#define TABLE_MAX_SHIFT		11

/* Size of blocks until it is known how many rows there are */
#define TABLE_BLOCK_SHIFT	9
#define TABLE_BLOCK		512U

/* Number of functions and rows to read before offering to reschedule */
#define TABLE_BATCH		4096

/* table_function::flags */
#define TABLE_FLEXIBLE		1	/* its rows name their registers */
#define TABLE_SIGNAL		2	/* see sframe_row::signal */
#define TABLE_EMPTY_OUTERMOST	4	/* outermost if it has no rows */
#define TABLE_UNKNOWN		8	/* it uses bits that this file does not know */
#define TABLE_FOLLOWED		16	/* see sframe_row::followed */

/**
 * struct table_function - a function of the SFrame table
 * @address:	Address of the function.
 * @start:	Offset of the function in the code; valid if @size is not 0.
 * @size:	Size of the function in bytes; 0 if it does not lie in the code.
 * @rows:	Offset of the function's first row in table_build::fres.
 * @num_rows:	Number of rows.
 * @repeat:	The rows repeat every @repeat bytes; 0 if they do not repeat.
 * @fre_type:	Width of the rows' starts, SFRAME_FRE_ADDR*.
 * @flags:	TABLE_*.
 * @empty:	The size of the function is 0 in the SFrame table.
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
 * @start:	Offset of the row's start in its function.
 * @info:	The row's info byte: number and size of the data words, base of the CFA.
 * @words:	The data words that have not been read yet.
 * @len:	Size of @words in bytes.
 */
struct table_row {
	u32		start;
	u8		info;
	const u8	*words;
	u32		len;
};

/**
 * struct table_build - the state of making a table
 * @source:	The SFrame table, and the range of code.
 * @text_size:	Size of the code in bytes.
 * @version:	Version of the SFrame format.
 * @pcrel:	The starts of functions are relative to their own address.
 * @fdes:	The FDEs of the SFrame table.
 * @num_fdes:	Number of @fdes.
 * @fres:	The FREs of the SFrame table.
 * @fre_len:	Size of @fres in bytes.
 * @rows:	The rows of the new table, but for those that table_lay_out() adds.
 * @nr_rows:	Number of rows in @rows.
 * @max_rows:	Number of rows that @rows has room for.
 * @index:	For each block up to @block, the number of rows in those before.
 * @nr_blocks:	Number of blocks of code.
 * @block:	Block of the last row in @rows.
 * @rule:	What the last row in @rows has as its rule.
 * @end:	Offset in the code at which the last function ends.
 * @rules:	The distinct rules of the new table.
 * @nr_rules:	Number of rules in @rules.
 * @room:	Number of rules that @rules has room for, a power of two.
 * @slots:	Hash table of 2 * @room slots: the number of a rule plus 1, or 0.
 * @seed:	Seed of the hash.
 * @gfp:	Flags for allocations.
 * @steps:	Number of functions and rows that have been read.
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

	struct unwind_table_row	*rows;
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

/*
 * Offer to reschedule now and then; called for each function and row.  Returns 0, or -EINTR
 * if the task was killed.
 */
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

/* Check that the SFrame table has a form that this file reads. */
static int table_check_preamble(const struct sframe_preamble *preamble)
{
	u8 known;

	if (preamble->magic != SFRAME_MAGIC)
		return -EBADMSG;
	switch (preamble->version) {
	case SFRAME_VERSION_2:
		known = SFRAME_F_KNOWN;
		break;
	case SFRAME_VERSION_3:
		known = SFRAME_V3_F_KNOWN;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (preamble->flags & ~known)
		return -EOPNOTSUPP;
	/*
	 * A linker that does not merge .sframe sections concatenates them, unsorted.
	 * The first header then covers only one object file.
	 */
	if (!(preamble->flags & SFRAME_F_FDE_SORTED))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Whether another SFrame table follows the one that ends at @from, because the linker has
 * concatenated them.  The functions of the second would seem to have no rows.
 */
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
	ret = table_check_preamble(&header.preamble);
	if (ret)
		return ret;
	if (header.abi_arch != ARCH_SFRAME_ABI ||
	    header.cfa_fixed_ra_offset != ARCH_SFRAME_RA_OFFSET || header.cfa_fixed_fp_offset)
		return -EOPNOTSUPP;

	build->version = header.preamble.version;
	build->pcrel = header.preamble.flags & SFRAME_F_FDE_FUNC_START_PCREL;
	build->num_fdes = header.num_fdes;
	build->fre_len = header.fre_len;
	/* Sums of 32-bit fields cannot overflow 64 bits. */
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

/* Read the attributes, which version 3 has before the rows of each function. */
static int table_read_attributes(const struct table_build *build, struct table_function *func)
{
	struct sframe_v3_attributes attributes;
	u8 unknown = SFRAME_V3_FDE_UNUSED2;

	if (!build->source->private_rules)
		unknown |= SFRAME_V3_FDE_FOLLOWED;
	if (func->rows > build->fre_len || build->fre_len - func->rows < sizeof(attributes))
		return -EBADMSG;
	memcpy(&attributes, build->fres + func->rows, sizeof(attributes));
	func->rows += sizeof(attributes);
	func->num_rows = attributes.num_fres;
	/* A bit that the format does not define yet may change the meaning of the rows. */
	if (attributes.info & SFRAME_V3_FDE_UNUSED || attributes.info2 & unknown ||
	    SFRAME_V3_FDE_TYPE(attributes.info2) > SFRAME_V3_FDE_FLEX) {
		func->flags = TABLE_UNKNOWN;
		func->num_rows = 0;
		return 0;
	}
	if (SFRAME_V3_FDE_TYPE(attributes.info2) == SFRAME_V3_FDE_FLEX)
		func->flags |= TABLE_FLEXIBLE;
	if (attributes.info & SFRAME_V3_FDE_SIGNAL)
		func->flags |= TABLE_SIGNAL;
	if (attributes.info2 & SFRAME_V3_FDE_FOLLOWED)
		func->flags |= TABLE_FOLLOWED;
	/*
	 * A function without rows is outermost, unless it is flexible, or nothing is known of it,
	 * or it is a signal's: a signal frame has a caller, which unwind_user_next_signal() finds.
	 */
	if (!func->flags)
		func->flags = TABLE_EMPTY_OUTERMOST;
	return table_set_info(func, attributes.info, attributes.rep_size);
}

/* Read FDE @index to @func.  A function that is not entirely in the code gets size 0. */
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

/*
 * Compute an upper bound of the number of rows before memory is allocated.  It may exceed the
 * number of FREs, because rows can repeat and functions can share FREs.
 */
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
		/* Signed, as the function may lie below the code. */
		at = func.address - build->source->text_start;
		if (i && at < previous)
			return -EBADMSG;
		previous = at;
		if (!func.size)
			continue;
		any = true;
		/* Each repetition may add a row before its first, the function one at its end. */
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
	struct unwind_table_row row = { .rule = rule, .start = offset };
	u32 block = offset >> TABLE_BLOCK_SHIFT;

	if (build->nr_rows) {
		struct unwind_table_row *last = &build->rows[build->nr_rows - 1];

		if (rule == build->rule)
			return;
		if (block == build->block && last->start == row.start) {
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

/* Find the number of @rule, or add the rule.  Returns the number or an error. */
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
	return *slot - 1;
}

/* Size of a row's data words in bytes.  An invalid size code gives U32_MAX, which never fits. */
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

/* Take the next data word of @row and sign-extend it if @is_signed.  There has to be one. */
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

/*
 * Read the next rule of a flexible row.  If the row has none, @rule is unchanged.  @add is
 * NULL if private rules are not allowed here.
 */
static int table_read_rule(struct table_row *row, bool is_cfa, struct sframe_rule *rule,
			   s32 *add)
{
	u32 control = row->len ? table_take_word(row, false) : 0;
	u32 reg = control >> SFRAME_V3_CONTROL_REG_SHIFT;

	if (!control)
		return is_cfa ? -EBADMSG : 0;
	if (control & SFRAME_V3_CONTROL_ADD && !add)
		return -EOPNOTSUPP;
	/* The rule for the CFA cannot be based on the CFA. */
	if (!row->len || (is_cfa && !(control & SFRAME_V3_CONTROL_REG)))
		return -EBADMSG;
	rule->base = SFRAME_BASE_CFA;
	if (control & SFRAME_V3_CONTROL_REG)
		rule->base = reg < SFRAME_BASE_CFA ? reg : SFRAME_BASE_UNKNOWN;
	rule->deref = !!(control & SFRAME_V3_CONTROL_DEREF);
	rule->offset = table_take_word(row, true);
	if (!(control & SFRAME_V3_CONTROL_ADD))
		return 0;
	if (!rule->deref || !row->len)
		return -EBADMSG;
	*add = table_take_word(row, true);
	return 0;
}

static int table_read_flexible(struct table_build *build, struct table_row *row,
			       struct sframe_row *rule)
{
	int ret;

	ret = table_read_rule(row, true, &rule->cfa,
			      build->source->private_rules ? &rule->cfa_add : NULL);
	if (!ret)
		ret = table_read_rule(row, false, &rule->ra, NULL);
	if (!ret)
		ret = table_read_rule(row, false, &rule->fp, NULL);
	if (!ret && row->len)
		return -EBADMSG;
	return ret;
}

/* Read a row of one or two words: the offsets of the CFA and of the saved frame pointer. */
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

/* What a row has as @rule, if that is plain and fits; else 0 */
static u16 table_plain_rule(const struct sframe_row *rule)
{
	u32 cfa = rule->cfa.offset, slot = rule->slot ? ARCH_SFRAME_RA_OFFSET - rule->slot : 0;

	if (!rule->plain || cfa % UNWIND_ROW_WORD || slot % UNWIND_ROW_WORD ||
	    cfa / UNWIND_ROW_WORD > UNWIND_ROW_CFA >> UNWIND_ROW_CFA_SHIFT ||
	    slot / UNWIND_ROW_WORD > UNWIND_ROW_SLOT)
		return 0;
	return UNWIND_ROW_PLAIN | (rule->cfa.base == SFRAME_BASE_FP ? UNWIND_ROW_FP : 0) |
	       cfa / UNWIND_ROW_WORD << UNWIND_ROW_CFA_SHIFT | slot / UNWIND_ROW_WORD;
}

/* Whether a plain row can have the frame pointer at @offset from the CFA. */
static bool table_is_slot(s32 offset)
{
	return offset <= 2 * ARCH_SFRAME_RA_OFFSET && offset == (s16)offset;
}

/* Whether a direct row can have @rule, for the return address or the frame pointer. */
static bool table_is_direct_word(const struct sframe_rule *rule)
{
	return rule->deref && (rule->base == SFRAME_BASE_CFA || rule->base == SFRAME_BASE_SP ||
			       rule->base == SFRAME_BASE_FP);
}

static bool table_is_direct(const struct sframe_row *rule)
{
	return !rule->plain && !rule->signal && !rule->followed &&
	       (rule->cfa.base == SFRAME_BASE_SP || rule->cfa.base == SFRAME_BASE_FP) &&
	       table_is_direct_word(&rule->ra) &&
	       (rule->fp.base == SFRAME_BASE_SAME || table_is_direct_word(&rule->fp));
}

/* Read the rule of @row.  Returns what a row has as its rule, or an error. */
static int table_read_rules(struct table_build *build, const struct table_function *func,
			    struct table_row *row)
{
	struct sframe_row rule;
	int ret;

	/* Rules are hashed and compared byte by byte. */
	memset(&rule, 0, sizeof(rule));
	rule.signal = func->flags & TABLE_SIGNAL;
	rule.followed = func->flags & TABLE_FOLLOWED;
	if (!row->len) {
		rule.outermost = true;
		return table_number_rule(build, &rule);
	}
	rule.ra = (struct sframe_rule){
		.offset = ARCH_SFRAME_RA_OFFSET, .base = SFRAME_BASE_CFA, .deref = 1,
	};
	rule.fp.base = SFRAME_BASE_SAME;
	if (func->flags & TABLE_FLEXIBLE) {
		ret = table_read_flexible(build, row, &rule);
	} else {
		ret = table_read_default(row, &rule);
		rule.plain = !rule.signal && !rule.followed &&
			     (!rule.fp.deref || table_is_slot(rule.fp.offset));
		if (rule.plain)
			rule.slot = rule.fp.offset;
	}
	if (ret == -EOPNOTSUPP)
		return UNWIND_RULE_NONE;
	if (ret)
		return ret;
	rule.direct = table_is_direct(&rule);
	return table_plain_rule(&rule) ?: table_number_rule(build, &rule);
}

/* Get the number of the rule of a function without rows, or an error. */
static int table_rule_of_none(struct table_build *build, const struct table_function *func)
{
	struct sframe_row rule;

	if (func->flags & TABLE_FOLLOWED)
		return UNWIND_RULE_NOWHERE;
	if (!(func->flags & TABLE_EMPTY_OUTERMOST))
		return UNWIND_RULE_NONE;
	memset(&rule, 0, sizeof(rule));
	rule.outermost = true;
	return table_number_rule(build, &rule);
}

/* Add the rows of @func once, at @offset in the code, for @size bytes at most. */
static int table_add_rows(struct table_build *build, const struct table_function *func,
			  u32 offset, u32 size)
{
	u32 i, at = func->rows, previous = 0;
	struct table_row row;
	int rule;

	if (!func->num_rows) {
		rule = table_step(build) ?: table_rule_of_none(build, func);
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

/*
 * Whether the gap between the last function and @func, if any, is padding.  It may also be
 * code that the table does not cover, such as another part of a function that was split.
 */
static bool table_is_padding(const struct table_build *build,
			     const struct table_function *func)
{
	return func->start - build->end < TABLE_PADDING &&
	       (func->start == build->end || IS_ALIGNED(func->address, TABLE_PADDING));
}

/* Add @func, up to @size bytes: it ends where the next function starts. */
static int table_add_function(struct table_build *build, const struct table_function *func,
			      u32 size)
{
	u32 at, step = func->repeat ? func->repeat : size;
	int ret;

	if (!table_is_padding(build, func))
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
 * Add all functions.  Of those that start at the same address, the last one counts.  A
 * function that is not entirely in the code also ends the one before it.
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

/**
 * struct table_layout - the final rows and the index
 * @rows:	The rows; NULL to count them only.
 * @index:	The index; NULL to count the rows only.
 * @shift:	As in struct unwind_table.
 * @nr_blocks:	Number of blocks.
 * @block:	The block that rows are added to.
 * @first:	Number of the first row that a lookup in it searches.
 * @nr:		Number of rows.
 * @end:	Number of rows up to the last one that a lookup compares.
 * @last:	The last row.
 */
struct table_layout {
	struct unwind_table_row	*rows;
	u32			*index;
	u32			shift;
	u32			nr_blocks;
	u32			block;
	u64			first;
	u64			nr;
	u64			end;
	struct unwind_table_row	last;
};

static void table_put_row(struct table_layout *to, struct unwind_table_row row)
{
	if (to->rows)
		to->rows[to->nr] = row;
	to->last = row;
	to->nr++;
}

/* Repeat the last row up to where a lookup may compare rows. */
static void table_put_end(struct table_layout *to)
{
	while (to->nr < to->end)
		table_put_row(to, to->last);
}

/* All rows of the block are there.  The next one begins with the last of them. */
static void table_end_block(struct table_layout *to)
{
	u64 rows = UNWIND_TABLE_SEARCH;
	u32 more = 0;

	for (; rows < to->nr - to->first; rows *= 2)
		more++;
	if (to->end < to->first + rows)
		to->end = to->first + rows;
	if (to->index)
		to->index[to->block] = to->first | more << UNWIND_TABLE_INDEX_SHIFT;
	if (++to->block < to->nr_blocks && !(u16)(to->block << to->shift)) {
		table_put_end(to);
		table_put_row(to, (struct unwind_table_row){ .rule = to->last.rule });
		cond_resched();
	}
	to->first = to->nr - 1;
}

static void table_lay_out_row(struct table_layout *to, u32 offset, u16 rule)
{
	while (to->block < offset >> to->shift)
		table_end_block(to);
	/* It takes the place of the row that every region begins with. */
	if (to->nr && !(u16)offset)
		to->nr--;
	table_put_row(to, (struct unwind_table_row){ .rule = rule, .start = offset });
	if (offset == to->block << to->shift)
		to->first = to->nr - 1;
}

/* Make the final rows and the index of them, see the top of table.h. */
static void table_lay_out(const struct table_build *build, struct table_layout *to)
{
	u32 block, i, start;

	for (block = 0; block < build->nr_blocks; block++) {
		start = block << TABLE_BLOCK_SHIFT;
		for (i = build->index[block]; i < build->index[block + 1]; i++)
			table_lay_out_row(to, start | build->rows[i].start % TABLE_BLOCK,
					  build->rows[i].rule);
	}
	while (to->block < to->nr_blocks)
		table_end_block(to);
	table_put_end(to);
}

static u32 table_shift(const struct table_build *build)
{
	u32 shift = TABLE_MIN_SHIFT;

	while (shift < TABLE_MAX_SHIFT &&
	       (u64)build->nr_rows << (shift + 1) <= (u64)build->text_size * TABLE_BLOCK_ROWS)
		shift++;
	return shift;
}

/* Copy everything to one allocation. */
static struct unwind_table *table_pack(const struct table_build *build)
{
	size_t rules = array_size(build->nr_rules, sizeof(*build->rules));
	struct table_layout layout = { .shift = table_shift(build) };
	struct unwind_table *table;
	size_t size, rows, index;

	layout.nr_blocks = DIV_ROUND_UP(build->text_size, 1U << layout.shift);
	index = array_size(layout.nr_blocks, sizeof(u32));
	table_lay_out(build, &layout);
	if (layout.nr > TABLE_MAX_ROWS)
		return ERR_PTR(-E2BIG);
	rows = array_size(layout.nr, sizeof(*build->rows));
	size = size_add(size_add(sizeof(*table), rules), size_add(rows, index));
	table = kvmalloc(size, build->gfp);
	if (!table)
		return NULL;
	table->text_size = build->text_size;
	table->nr_rules = build->nr_rules;
	table->shift = layout.shift;
	table->nr_rows = layout.nr;
	table->size = size;
	if (rules)
		memcpy(table->rules, build->rules, rules);
	layout = (struct table_layout){
		.shift = layout.shift,
		.nr_blocks = layout.nr_blocks,
		.rows = (struct unwind_table_row *)&table->rules[build->nr_rules],
		.index = (u32 *)((u8 *)&table->rules[build->nr_rules] + rows),
	};
	table_lay_out(build, &layout);
	table->rows = layout.rows;
	table->index = layout.index;
	return table;
}

/* Add the rules that stand for "no rule": UNWIND_RULE_NOWHERE and UNWIND_RULE_NONE */
static int table_add_no_rules(struct table_build *build)
{
	static const int errors[] = { -ENOENT, -ENODATA };
	struct sframe_row rule;
	int i, ret = 0;

	memset(&rule, 0, sizeof(rule));
	for (i = 0; i < 2 && ret >= 0; i++) {
		rule.error = errors[i];
		ret = table_number_rule(build, &rule);
	}
	return ret < 0 ? ret : 0;
}

static int table_fill(struct table_build *build)
{
	int ret;

	ret = table_read_header(build);
	if (!ret)
		ret = table_count_rows(build);
	if (ret)
		return ret;
	build->nr_blocks = DIV_ROUND_UP(build->text_size, TABLE_BLOCK);
	build->index = kvcalloc(build->nr_blocks + 1, sizeof(*build->index), build->gfp);
	build->rows = kvmalloc_array(build->max_rows, sizeof(*build->rows), build->gfp);
	if (!build->index || !build->rows)
		return -ENOMEM;
	ret = table_add_no_rules(build);
	if (ret)
		return ret;
	table_add_row(build, 0, UNWIND_RULE_NOWHERE);
	return table_add_functions(build);
}

/**
 * unwind_table_build() - make a table from an SFrame table
 * @source: The SFrame table, and the range of code.
 * @seed: A random number for the hash, so that a hostile table cannot force collisions.
 * @gfp: Flags for all allocations, temporary ones included.
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
 * unwind_table_free() - free a table that has no reader left
 * @table: A table of unwind_table_build(), or NULL.
 *
 * Context: Process context.
 */
void unwind_table_free(const struct unwind_table *table)
{
	kvfree(table);
}
