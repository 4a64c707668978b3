// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the row for an instruction in an SFrame table.
 *
 * Pure code: it knows no task, no memory and no lock, and reads the table only
 * through a struct sframe_reader.  It runs in any context in which the reader
 * does, NMI included, and compiles in user space for tests.
 *
 * The table is another process's memory: hostile, and free to change between
 * two reads.  So what is read is judged by the copy that is used, every
 * address is computed in 64 bits from checked 32-bit fields, and every loop is
 * bounded by the fields' width and by the reader's budget.
 *
 * Return values of all functions here:
 *   0			done
 *   -ENOENT		the table says nothing of this instruction
 *   -EFAULT		a part of the table cannot be read now
 *   -EOPNOTSUPP	a table, but not of a form that is read here
 *   -EBADMSG		the table contradicts itself
 *   -E2BIG		the reader's budget is used up
 */

#include "sframe_decode_internal.h"
#include "sframe_decode.h"
#include "sframe_format.h"

/* x86-64: the call instruction pushed the return address right below the CFA. */
#define SFRAME_AMD64_RA_OFFSET	-8

/*
 * Functions of no size and functions that start at the same address stand side
 * by side in honest tables (an empty .cfi_startproc/.cfi_endproc).  So the
 * function that covers an instruction may stand a few places before the last
 * one that starts at or before it.
 */
#define SFRAME_MAX_EMPTY_FDES	4

/* Bytes of rows that are fetched at once: those of most functions, and any row. */
#define SFRAME_WINDOW		72

static_assert(SFRAME_WINDOW >= SFRAME_FRE_MAX_LEN);

/* A stretch of rows, copied from the table. */
struct sframe_window {
	u64	start;
	u32	len;
	u8	bytes[SFRAME_WINDOW];
};

/* A function descriptor with its addresses resolved. */
struct sframe_function {
	u64	start;
	u64	rows;		/* address of the first row */
	u32	size;
	u32	num_rows;
	u8	start_width;	/* bytes of a row's start */
	u8	repeat;		/* 0, or the bytes after which the rows repeat */
	bool	flexible;	/* its rows name their registers */
	bool	signal;		/* see sframe_row::signal */
	bool	empty_outermost; /* without a row, there is no caller */
};

static int sframe_read(struct sframe_reader *reader, void *to, u64 from,
		       size_t len)
{
	if (reader->budget < len)
		return -E2BIG;
	reader->budget -= len;
	return reader->read(to, from, len);
}

static int sframe_check_preamble(const struct sframe_preamble *preamble)
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
	 * A linker that does not merge .sframe sections leaves them one behind
	 * the other and unsorted: the first header then speaks of one object
	 * file only.
	 */
	if (!(preamble->flags & SFRAME_F_FDE_SORTED))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Whether another table stands behind one that ends at @from: input that a linker
 * put one behind the other.  Functions of the second would seem to have no row.
 * What cannot be read is no table; most sections end here.
 */
static bool sframe_is_followed(struct sframe_reader *reader, u64 from, u64 end)
{
	struct sframe_preamble next;

	from = (from + 7) & ~7ULL;
	if (from > end || end - from < sizeof(struct sframe_header))
		return false;
	return !sframe_read(reader, &next, from, sizeof(next)) &&
	       next.magic == SFRAME_MAGIC &&
	       next.version >= SFRAME_VERSION_1 &&
	       next.version <= SFRAME_VERSION_3;
}

static u32 sframe_fde_size(const struct sframe_table *table)
{
	return table->version == SFRAME_VERSION_3 ?
	       sizeof(struct sframe_v3_fde) : sizeof(struct sframe_fde);
}

/**
 * sframe_open() - check a table's header
 * @reader: How to read it.
 * @start: Address of the section.
 * @end: First address behind it; the table itself may be shorter.
 * @table: Filled in, but for @text_start and @text_end, which stay untouched.
 *
 * Context: any in which @reader->read works.
 * Return: 0 or an error as listed at the top of this file, never -ENOENT.
 */
int sframe_open(struct sframe_reader *reader, u64 start, u64 end,
		struct sframe_table *table)
{
	struct sframe_header header;
	u64 fdes, fres, fres_end;
	int ret;

	if (end < start || end - start < sizeof(header))
		return -EBADMSG;

	ret = sframe_read(reader, &header, start, sizeof(header));
	if (ret)
		return ret;
	ret = sframe_check_preamble(&header.preamble);
	if (ret)
		return ret;
	if (header.abi_arch != SFRAME_ABI_AMD64_LE ||
	    header.cfa_fixed_ra_offset != SFRAME_AMD64_RA_OFFSET ||
	    header.cfa_fixed_fp_offset != 0)
		return -EOPNOTSUPP;

	/* Sums of a user address and 32-bit fields: no 64-bit overflow. */
	fdes = start + sizeof(header) + header.auxhdr_len + header.fdeoff;
	fres = start + sizeof(header) + header.auxhdr_len + header.freoff;
	fres_end = fres + header.fre_len;
	if (fres_end > end)
		return -EBADMSG;
	table->version = header.preamble.version;
	if (fdes + (u64)header.num_fdes * sframe_fde_size(table) > fres)
		return -EBADMSG;
	if (sframe_is_followed(reader, fres_end, end))
		return -EOPNOTSUPP;

	table->start = start;
	table->fdes = fdes;
	table->fres = fres;
	table->fres_end = fres_end;
	table->num_fdes = header.num_fdes;
	table->pcrel = header.preamble.flags & SFRAME_F_FDE_FUNC_START_PCREL;
	return 0;
}

static u64 sframe_fde_address(const struct sframe_table *table, u32 index)
{
	return table->fdes + (u64)index * sframe_fde_size(table);
}

/* Addresses wrap modulo 2^64: what lies outside the text is refused later. */
static u64 sframe_function_start(const struct sframe_table *table, u32 index,
				 s64 start)
{
	u64 base = table->pcrel ? sframe_fde_address(table, index) : table->start;

	return base + start;
}

/* The field by which the functions are sorted. */
static int sframe_read_start(struct sframe_reader *reader,
			     const struct sframe_table *table, u32 index,
			     u64 *start)
{
	u64 at = sframe_fde_address(table, index);
	__s64 wide;
	__s32 narrow;
	int ret;

	static_assert(offsetof(struct sframe_fde, func_start) == 0);
	static_assert(offsetof(struct sframe_v3_fde, func_start) == 0);
	if (table->version == SFRAME_VERSION_3) {
		ret = sframe_read(reader, &wide, at, sizeof(wide));
	} else {
		ret = sframe_read(reader, &narrow, at, sizeof(narrow));
		wide = narrow;
	}
	if (ret)
		return ret;
	*start = sframe_function_start(table, index, wide);
	return 0;
}

/* How many functions start at or before @ip: a binary search, 32 rounds at most. */
static int sframe_count_starts(struct sframe_reader *reader,
			       const struct sframe_table *table, u64 ip,
			       u32 *count)
{
	u32 low = 0, high = table->num_fdes;

	while (low < high) {
		u32 mid = low + (high - low) / 2;
		u64 start;
		int ret;

		ret = sframe_read_start(reader, table, mid, &start);
		if (ret)
			return ret;
		if (start <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	*count = low;
	return 0;
}

/* What versions 2 and 3 say of a function in the same way. */
static int sframe_set_info(struct sframe_function *func, u8 info, u8 rep_size)
{
	switch (SFRAME_FDE_FRE_TYPE(info)) {
	case SFRAME_FRE_ADDR1:
		func->start_width = 1;
		break;
	case SFRAME_FRE_ADDR2:
		func->start_width = 2;
		break;
	case SFRAME_FRE_ADDR4:
		func->start_width = 4;
		break;
	default:
		return -EBADMSG;
	}

	func->repeat = 0;
	if (info & SFRAME_FDE_PCMASK) {
		/* It divides below. */
		if (!rep_size)
			return -EBADMSG;
		func->repeat = rep_size;
	}
	return 0;
}

static int sframe_read_function_v2(struct sframe_reader *reader,
				   const struct sframe_table *table, u32 index,
				   struct sframe_function *func)
{
	struct sframe_fde fde;
	int ret;

	ret = sframe_read(reader, &fde, sframe_fde_address(table, index),
			  sizeof(fde));
	if (ret)
		return ret;

	func->start = sframe_function_start(table, index, fde.func_start);
	func->size = fde.func_size;
	func->num_rows = fde.num_fres;
	func->flexible = false;
	func->signal = false;
	func->empty_outermost = false;

	if (fde.fre_off > table->fres_end - table->fres)
		return -EBADMSG;
	func->rows = table->fres + fde.fre_off;
	return sframe_set_info(func, fde.info, fde.rep_size);
}

static int sframe_read_attributes(struct sframe_reader *reader,
				  const struct sframe_table *table, u32 fre_off,
				  struct sframe_function *func)
{
	struct sframe_v3_attributes attr;
	u64 at = table->fres + fre_off;
	int ret;

	if (at > table->fres_end || table->fres_end - at < sizeof(attr))
		return -EBADMSG;
	ret = sframe_read(reader, &attr, at, sizeof(attr));
	if (ret)
		return ret;
	/* Whoever sets more than is known here means something by it. */
	if (SFRAME_V3_FDE_TYPE(attr.info2) > SFRAME_V3_FDE_FLEX ||
	    attr.info2 & SFRAME_V3_FDE_UNUSED2 ||
	    attr.info & SFRAME_V3_FDE_UNUSED)
		return -EOPNOTSUPP;

	func->rows = at + sizeof(attr);
	func->num_rows = attr.num_fres;
	func->flexible = SFRAME_V3_FDE_TYPE(attr.info2) == SFRAME_V3_FDE_FLEX;
	func->signal = attr.info & SFRAME_V3_FDE_SIGNAL;
	/* A signal's frame has a caller, which the kernel's frame tells. */
	func->empty_outermost = !func->flexible && !func->signal;
	return sframe_set_info(func, attr.info, attr.rep_size);
}

static int sframe_read_function_v3(struct sframe_reader *reader,
				   const struct sframe_table *table, u32 index,
				   u64 ip, struct sframe_function *func)
{
	struct sframe_v3_fde fde;
	int ret;

	ret = sframe_read(reader, &fde, sframe_fde_address(table, index),
			  sizeof(fde));
	if (ret)
		return ret;

	func->start = sframe_function_start(table, index, fde.func_start);
	func->size = fde.func_size;
	/* The rest is in another place; only one that covers @ip needs it. */
	if (ip < func->start || ip - func->start >= func->size)
		return 0;
	return sframe_read_attributes(reader, table, fde.fre_off, func);
}

/* Only @func's start and size are sure to be set where it does not cover @ip. */
static int sframe_read_function(struct sframe_reader *reader,
				const struct sframe_table *table, u32 index,
				u64 ip, struct sframe_function *func)
{
	if (table->version == SFRAME_VERSION_3)
		return sframe_read_function_v3(reader, table, index, ip, func);
	return sframe_read_function_v2(reader, table, index, func);
}

/*
 * One table may serve several stretches of text; a function lies in one.  The
 * caller knows that some instruction of @func is in this one.
 */
static int sframe_check_text(const struct sframe_table *table,
			     const struct sframe_function *func)
{
	if (func->start < table->text_start ||
	    table->text_end - func->start < func->size)
		return -EBADMSG;
	return 0;
}

static int sframe_find_function(struct sframe_reader *reader,
				const struct sframe_table *table, u64 ip,
				struct sframe_function *func)
{
	u32 count, tries;
	int ret;

	ret = sframe_count_starts(reader, table, ip, &count);
	if (ret)
		return ret;

	for (tries = 0; count && tries <= SFRAME_MAX_EMPTY_FDES; tries++) {
		count--;
		ret = sframe_read_function(reader, table, count, ip, func);
		if (ret)
			return ret;
		/* The start may have changed since the search: look again. */
		if (ip >= func->start && ip - func->start < func->size)
			return sframe_check_text(table, func);
		/* A function that ends before @ip: @ip is in no function. */
		if (func->size)
			return -ENOENT;
	}
	return -ENOENT;
}

/* Make @len bytes at @from available in @window. */
static int sframe_fetch(struct sframe_reader *reader,
			struct sframe_window *window, u64 from, u32 len,
			u64 end, const u8 **bytes)
{
	u32 take;
	int ret;

	if (from > end || end - from < len)
		return -EBADMSG;

	if (from < window->start ||
	    from + len > window->start + window->len) {
		take = min_t(u64, sizeof(window->bytes), end - from);
		ret = sframe_read(reader, window->bytes, from, take);
		if (ret == -EFAULT && take > len) {
			/* What lies behind may be on a page that is not there. */
			take = len;
			ret = sframe_read(reader, window->bytes, from, take);
		}
		window->start = from;
		window->len = ret ? 0 : take;
		if (ret)
			return ret;
	}
	*bytes = window->bytes + (from - window->start);
	return 0;
}

static u32 sframe_get_unsigned(const u8 *bytes, u8 width)
{
	switch (width) {
	case 1:
		return *bytes;
	case 2:
		return get_unaligned_le16(bytes);
	default:
		return get_unaligned_le32(bytes);
	}
}

/**
 * struct sframe_words - the data words of a row, which are taken one by one
 * @bytes:	The next one.
 * @left:	How many there are.
 * @size:	Each has 1 << @size bytes; 2 at most.
 */
struct sframe_words {
	const u8	*bytes;
	u8		left;
	u8		size;
};

/* The next word, which there is, unsigned; sframe_take_offset() has it signed. */
static u32 sframe_take_word(struct sframe_words *words)
{
	u32 word = sframe_get_unsigned(words->bytes, 1 << words->size);

	words->bytes += 1 << words->size;
	words->left--;
	return word;
}

static s32 sframe_take_offset(struct sframe_words *words)
{
	u32 word = sframe_take_word(words);

	switch (words->size) {
	case 0:
		return (s8)word;
	case 1:
		return (s16)word;
	default:
		return (s32)word;
	}
}

static int sframe_decode_default(u8 info, struct sframe_words *words,
				 struct sframe_row *row)
{
	if (words->left > 2)
		return -EBADMSG;
	row->cfa.base = info & SFRAME_FRE_CFA_BASE_SP ? SFRAME_BASE_SP :
							SFRAME_BASE_FP;
	row->cfa.offset = sframe_take_offset(words);
	if (words->left) {
		row->fp.base = SFRAME_BASE_CFA;
		row->fp.offset = sframe_take_offset(words);
		row->fp.deref = true;
	}
	return 0;
}

/* A rule of a flexible row; @rule stays as it is where the row has none. */
static int sframe_decode_rule(struct sframe_words *words, bool is_cfa,
			      struct sframe_rule *rule)
{
	u32 control, reg;

	control = words->left ? sframe_take_word(words) : 0;
	if (!control)
		return is_cfa ? -EBADMSG : 0;
	if (control & SFRAME_V3_CONTROL_UNUSED)
		return -EOPNOTSUPP;
	if (!words->left)
		return -EBADMSG;

	reg = control >> SFRAME_V3_CONTROL_REG_SHIFT;
	/* The CFA cannot be found from the CFA. */
	if (is_cfa && !(control & SFRAME_V3_CONTROL_REG))
		return -EBADMSG;
	rule->base = SFRAME_BASE_CFA;
	if (control & SFRAME_V3_CONTROL_REG)
		rule->base = reg <= SFRAME_BASE_R15 ? reg : SFRAME_BASE_UNKNOWN;
	rule->deref = control & SFRAME_V3_CONTROL_DEREF;
	rule->offset = sframe_take_offset(words);
	return 0;
}

static int sframe_decode_flexible(struct sframe_words *words,
				  struct sframe_row *row)
{
	int ret;

	ret = sframe_decode_rule(words, true, &row->cfa);
	if (!ret)
		ret = sframe_decode_rule(words, false, &row->ra);
	if (!ret)
		ret = sframe_decode_rule(words, false, &row->fp);
	if (!ret && words->left)
		return -EBADMSG;
	return ret;
}

/* Turn a row's info byte and words into rules. */
static int sframe_decode_row(const struct sframe_function *func, u8 info,
			     const u8 *bytes, struct sframe_row *row)
{
	struct sframe_words words = {
		.bytes = bytes,
		.left = SFRAME_FRE_COUNT(info),
		.size = SFRAME_FRE_SIZE(info),
	};

	memset(row, 0, sizeof(*row));
	row->signal = func->signal;
	if (!words.left) {
		row->outermost = true;
		return 0;
	}
	row->ra.base = SFRAME_BASE_CFA;
	row->ra.offset = SFRAME_AMD64_RA_OFFSET;
	row->ra.deref = true;
	row->fp.base = SFRAME_BASE_SAME;
	if (func->flexible)
		return sframe_decode_flexible(&words, row);
	return sframe_decode_default(info, &words, row);
}

/*
 * Rows have no fixed length, so they are passed one by one until the next one
 * starts behind @offset.  @num_rows is a user's 32-bit number: what bounds the
 * loop is the end of the rows and the reader's budget.
 */
static int sframe_scan_rows(struct sframe_reader *reader,
			    const struct sframe_table *table,
			    const struct sframe_function *func, u32 offset,
			    struct sframe_row *row)
{
	struct sframe_window window;
	/* The last row that starts at or before @offset, copied: it may leave the window. */
	u8 found[SFRAME_FRE_MAX_COUNT * sizeof(u32)];
	u32 previous = 0, i;
	u64 at = func->rows;
	int found_info = -1;

	window.start = at;
	window.len = 0;

	for (i = 0; i < func->num_rows; i++) {
		u32 start, head = func->start_width + 1, words;
		const u8 *bytes;
		u8 info;
		int ret;

		ret = sframe_fetch(reader, &window, at, head, table->fres_end,
				   &bytes);
		if (ret)
			return ret;
		start = sframe_get_unsigned(bytes, func->start_width);
		info = bytes[func->start_width];
		if (start < previous || SFRAME_FRE_SIZE(info) == 3)
			return -EBADMSG;
		if (start > offset)
			break;
		previous = start;

		words = SFRAME_FRE_COUNT(info) << SFRAME_FRE_SIZE(info);
		ret = sframe_fetch(reader, &window, at, head + words,
				   table->fres_end, &bytes);
		if (ret)
			return ret;
		memcpy(found, bytes + head, words);
		found_info = info;
		at += head + words;
	}

	if (found_info >= 0)
		return sframe_decode_row(func, found_info, found, row);
	if (func->num_rows || !func->empty_outermost)
		return -ENOENT;
	/* A row without words says the same. */
	return sframe_decode_row(func, 0, NULL, row);
}

/**
 * sframe_find_row() - find the row that holds at an instruction
 * @reader: How to read the table.
 * @table: What sframe_open() made, with the text range filled in.
 * @ip: Address of the instruction.  For a caller, whose instruction is the call
 *	before the return address, pass the return address less one.
 * @row: Filled in on success.
 *
 * Context: any in which @reader->read works.
 * Return: 0 or an error as listed at the top of this file.
 */
int sframe_find_row(struct sframe_reader *reader,
		    const struct sframe_table *table, u64 ip,
		    struct sframe_row *row)
{
	struct sframe_function func;
	u32 offset;
	int ret;

	if (ip < table->text_start || ip >= table->text_end)
		return -ENOENT;

	ret = sframe_find_function(reader, table, ip, &func);
	if (ret)
		return ret;

	offset = ip - func.start;
	if (func.repeat)
		offset %= func.repeat;
	return sframe_scan_rows(reader, table, &func, offset, row);
}
