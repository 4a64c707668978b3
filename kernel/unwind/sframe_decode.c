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
 * bounded.  A lookup takes:
 *
 *	32 rounds	of the search among the functions, at most, since their
 *			number has 32 bits
 *	5 functions	that are read where others of no size stand beside them
 *	rows		of one function, which are passed one by one: as many as
 *			the reader's budget has left, and it is the walk's
 *
 * So a walk of N frames costs N times a constant, which a table cannot change, and
 * its budget of rows.
 *
 * What looks a row up is compiled twice.  Once it loads from user memory in place,
 * within one user_read_access_begin(): a load for a field, where a call would cost
 * ten times as much.  And once it reads by sframe_reader::read, byte for byte what
 * is needed; this does where the first may not be used, or met a fault.
 *
 * Return values of all functions here:
 *   0			done
 *   -ENOENT		the table says nothing of this instruction
 *   -ENODATA		it has the function, and no row for this instruction
 *   -EFAULT		a part of the table cannot be read now
 *   -EOPNOTSUPP	a table, but not of a form that is read here
 *   -EBADMSG		the table contradicts itself
 *   -E2BIG		the reader's budget of rows is used up
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

/* Bytes of a row that are loaded at once: the whole of most. */
#define SFRAME_WORD	8

/* sframe_function::flags */
#define SFRAME_FLEXIBLE		1	/* its rows name their registers */
#define SFRAME_SIGNAL		2	/* see sframe_row::signal */
#define SFRAME_EMPTY_OUTERMOST	4	/* without a row, there is no caller */

/* A function descriptor with its addresses resolved. */
struct sframe_function {
	u64	start;
	u64	rows;		/* address of the first row */
	u32	size;
	u32	num_rows;
	u32	offset;		/* of the instruction, as rows count it */
	u8	fre_type;	/* of its rows' starts: SFRAME_FRE_ADDR* */
	u8	flags;
};

/* A row, as far as it has been read. */
struct sframe_found {
	u64	at;		/* address of its data words */
	u64	words;		/* the words, where they have been loaded */
	u32	len;		/* bytes of them */
	u8	info;
	bool	loaded;
	bool	any;		/* there is a row */
};

static const u8 __user *sframe_user(u64 at)
{
	return (const u8 __user *)(unsigned long)at;
}

/*
 * Read @len bytes, a constant and a multiple of four.  In place, whoever calls is
 * between user_read_access_begin() and _end(): no function may be called here.
 */
static __always_inline int sframe_fetch(struct sframe_reader *reader, void *to,
					u64 from, const size_t len,
					const bool direct)
{
	const u8 __user *at = sframe_user(from);
	u64 eight;
	u32 four;

	if (!direct)
		return reader->read(to, from, len);

	if (len >= 8) {
		unsafe_get_user(eight, (const u64 __user *)at, fault);
		put_unaligned(eight, (u64 *)to);
	}
	if (len >= 16) {
		unsafe_get_user(eight, (const u64 __user *)(at + 8), fault);
		put_unaligned(eight, (u64 *)(to + 8));
	}
	if (len & 4) {
		unsafe_get_user(four, (const u32 __user *)(at + (len & ~7)), fault);
		put_unaligned(four, (u32 *)(to + (len & ~7)));
	}
	return 0;
fault:
	return -EFAULT;
}

/**
 * sframe_check_preamble() - check that a table is of a form that is read here
 * @preamble: What the table begins with.
 *
 * Context: any.
 * Return: 0, -EBADMSG or -EOPNOTSUPP as listed at the top of this file.
 */
int sframe_check_preamble(const struct sframe_preamble *preamble)
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
	return !reader->read(&next, from, sizeof(next)) &&
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

	ret = reader->read(&header, start, sizeof(header));
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

/* Whether the function whose descriptor is at @fde starts at or before @ip. */
static __always_inline int
sframe_starts_before(struct sframe_reader *reader,
		     const struct sframe_table *table, u64 fde, u64 ip,
		     bool *before, const bool direct, const bool v3,
		     const bool pcrel)
{
	s64 key = ip - (pcrel ? fde : table->start);
	__s32 narrow;
	__s64 start;
	int ret;

	static_assert(offsetof(struct sframe_fde, func_start) == 0);
	static_assert(offsetof(struct sframe_v3_fde, func_start) == 0);
	if (v3) {
		ret = sframe_fetch(reader, &start, fde, sizeof(start), direct);
		*before = start <= key;
		return ret;
	}
	ret = sframe_fetch(reader, &narrow, fde, sizeof(narrow), direct);
	/* Without @pcrel, sframe_find_function() has seen to it that it fits. */
	*before = pcrel ? narrow <= key : narrow <= (s32)key;
	return ret;
}

/*
 * The last function that starts at or before @ip, or else the first one, in what is
 * said to be sorted: a binary search whose steps are powers of two, so that a round
 * is a few instructions.  The first one makes the rest such a power: it leaves out
 * either the first functions or the last ones.
 */
static __always_inline int
sframe_search(struct sframe_reader *reader, const struct sframe_table *table,
	      u64 ip, u64 *fde, const bool direct, const bool v3, const bool pcrel)
{
	const u64 size = v3 ? sizeof(struct sframe_v3_fde) :
			      sizeof(struct sframe_fde);
	u64 step = size << (fls(table->num_fdes) - 1);
	u64 at = table->fdes, mid = at + table->num_fdes * size - step;

	for (;;) {
		bool before;
		int ret;

		ret = sframe_starts_before(reader, table, mid, ip, &before, direct,
					   v3, pcrel);
		if (ret)
			return ret;
		if (before)
			at = mid;
		if (step == size)
			break;
		step /= 2;
		mid = at + step;
	}
	*fde = at;
	return 0;
}

/* What versions 2 and 3 say of a function in the same way. */
static __always_inline int sframe_set_info(struct sframe_function *func, u64 ip,
					   u8 info, u8 rep_size)
{
	func->fre_type = SFRAME_FDE_FRE_TYPE(info);
	if (func->fre_type > SFRAME_FRE_ADDR4)
		return -EBADMSG;

	func->offset = ip - func->start;
	if (unlikely(info & SFRAME_FDE_PCMASK)) {
		if (!rep_size)
			return -EBADMSG;
		func->offset %= rep_size;
	}
	return 0;
}

static __always_inline bool sframe_covers(const struct sframe_function *func,
					  u64 ip)
{
	/* Wraps to what no size reaches, where it starts behind @ip. */
	return ip - func->start < func->size;
}

/*
 * The function whose descriptor is at @fde_at, with a start that counts from @base.
 * Where it does not cover @ip, only its start and size are set.
 */
static __always_inline int
sframe_read_function_v2(struct sframe_reader *reader,
			const struct sframe_table *table, u64 fde_at, u64 base,
			u64 ip, struct sframe_function *func, const bool direct)
{
	struct sframe_fde fde;
	int ret;

	ret = sframe_fetch(reader, &fde, fde_at, sizeof(fde), direct);
	if (ret)
		return ret;
	func->start = base + (s64)fde.func_start;
	func->size = fde.func_size;
	if (!sframe_covers(func, ip))
		return 0;

	func->num_rows = fde.num_fres;
	func->flags = 0;
	if (fde.fre_off > table->fres_end - table->fres)
		return -EBADMSG;
	func->rows = table->fres + fde.fre_off;
	return sframe_set_info(func, ip, fde.info, fde.rep_size);
}

/*
 * Load what is at @at, a row or a function's attributes, of which @head bytes are needed.
 * In place that is a whole word, or behind the last one what there is up to @end.
 */
static __always_inline int
sframe_load_word(struct sframe_reader *reader, u64 at, u64 end, u32 head,
		 u64 *word, const bool direct)
{
	u64 left = end - at;
	int ret;

	if (direct && likely(at <= end - SFRAME_WORD))
		return sframe_fetch(reader, word, at, SFRAME_WORD, true);
	if (at > end || left < head)
		return -EBADMSG;
	*word = 0;
	if (!direct)
		return reader->read(word, at, head);
	/* The last bytes of all, behind the header at least. */
	ret = sframe_fetch(reader, word, end - SFRAME_WORD, SFRAME_WORD, true);
	*word >>= 8 * (SFRAME_WORD - left);
	return ret;
}

/* In a word with attributes: bits that are not known, and those that few functions have. */
#define SFRAME_V3_ATTR(info, info2)	((info) << 16 | (u64)(info2) << 24)
#define SFRAME_V3_ATTR_UNKNOWN						\
	SFRAME_V3_ATTR(SFRAME_V3_FDE_UNUSED, SFRAME_V3_FDE_UNUSED2 |	\
		       (SFRAME_V3_FDE_TYPE(0xff) & ~SFRAME_V3_FDE_FLEX))
#define SFRAME_V3_ATTR_RARE						\
	SFRAME_V3_ATTR(SFRAME_V3_FDE_SIGNAL, SFRAME_V3_FDE_FLEX)

static_assert(offsetof(struct sframe_v3_attributes, num_fres) == 0);
static_assert(offsetof(struct sframe_v3_attributes, info) == 2);
static_assert(offsetof(struct sframe_v3_attributes, info2) == 3);
static_assert(offsetof(struct sframe_v3_attributes, rep_size) == 4);

static __always_inline int
sframe_read_attributes(struct sframe_reader *reader,
		       const struct sframe_table *table, u32 fre_off, u64 ip,
		       struct sframe_function *func, const bool direct)
{
	const u32 len = sizeof(struct sframe_v3_attributes);
	u64 at = table->fres + fre_off, word;
	int ret;

	ret = sframe_load_word(reader, at, table->fres_end, len, &word, direct);
	if (ret)
		return ret;
	/* Whoever sets more than is known here means something by it. */
	if (word & SFRAME_V3_ATTR_UNKNOWN)
		return -EOPNOTSUPP;

	func->rows = at + len;
	func->num_rows = (u16)word;
	/* A signal's frame has a caller, which the kernel's frame tells. */
	func->flags = SFRAME_EMPTY_OUTERMOST;
	if (unlikely(word & SFRAME_V3_ATTR_RARE)) {
		func->flags = 0;
		if (word & SFRAME_V3_ATTR(0, SFRAME_V3_FDE_FLEX))
			func->flags |= SFRAME_FLEXIBLE;
		if (word & SFRAME_V3_ATTR(SFRAME_V3_FDE_SIGNAL, 0))
			func->flags |= SFRAME_SIGNAL;
	}
	return sframe_set_info(func, ip, word >> 16, word >> 32);
}

/* As sframe_read_function_v2(). */
static __always_inline int
sframe_read_function_v3(struct sframe_reader *reader,
			const struct sframe_table *table, u64 fde_at, u64 base,
			u64 ip, struct sframe_function *func, const bool direct)
{
	struct sframe_v3_fde fde;
	int ret;

	ret = sframe_fetch(reader, &fde, fde_at, sizeof(fde), direct);
	if (ret)
		return ret;
	func->start = base + fde.func_start;
	func->size = fde.func_size;
	/* The rest is in another place. */
	if (!sframe_covers(func, ip))
		return 0;
	return sframe_read_attributes(reader, table, fde.fre_off, ip, func, direct);
}

/*
 * One table may serve several stretches of text; a function lies in one.  The
 * caller knows that some instruction of @func is in this one.
 */
static __always_inline int sframe_check_text(const struct sframe_table *table,
					     const struct sframe_function *func)
{
	if (func->start < table->text_start ||
	    table->text_end - func->start < func->size)
		return -EBADMSG;
	return 0;
}

static __always_inline int
sframe_find_function(struct sframe_reader *reader,
		     const struct sframe_table *table, u64 ip,
		     struct sframe_function *func, const bool direct,
		     const bool v3, const bool pcrel)
{
	u32 tries = SFRAME_MAX_EMPTY_FDES;
	u64 fde;
	int ret;

	if (!table->num_fdes)
		return -ENOENT;
	/* No function is that far away. */
	if (!v3 && !pcrel && ip - table->start != (u64)(s64)(s32)(ip - table->start))
		return -ENOENT;
	ret = sframe_search(reader, table, ip, &fde, direct, v3, pcrel);
	while (!ret) {
		u64 base = pcrel ? fde : table->start;

		ret = v3 ? sframe_read_function_v3(reader, table, fde, base, ip,
						   func, direct) :
			   sframe_read_function_v2(reader, table, fde, base, ip,
						   func, direct);
		if (ret)
			break;
		/* The start may have changed since the search: look again. */
		if (likely(sframe_covers(func, ip)))
			return sframe_check_text(table, func);
		/* A function that ends before @ip: @ip is in no function. */
		if (func->size || fde == table->fdes || !tries--)
			return -ENOENT;
		fde -= sframe_fde_size(table);
	}
	return ret;
}

/*
 * There are no words of that size.  A row that is so long ends behind the rows, which
 * are less than 4 GiB, and this is what tells that it is wrong.
 */
#define SFRAME_NO_LENGTH	0xffffffff

/*
 * Bytes of a row's data words, by its info byte without the uppermost bit: 32 info
 * bytes for each size of a word, of which two have the same number of words.
 */
static const u32 sframe_lengths[] = {
	0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7,
	8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15,
	0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14,
	16, 16, 18, 18, 20, 20, 22, 22, 24, 24, 26, 26, 28, 28, 30, 30,
	0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28,
	32, 32, 36, 36, 40, 40, 44, 44, 48, 48, 52, 52, 56, 56, 60, 60,
	[96 ... 127] = SFRAME_NO_LENGTH,
};

static_assert(sizeof(sframe_lengths) == 128 * sizeof(u32));

static __always_inline u64 sframe_words_len(u8 info)
{
	return sframe_lengths[info & 127];
}

/* A row's start has 1 << SFRAME_FRE_ADDR* bytes. */
static_assert(1 << SFRAME_FRE_ADDR1 == 1);
static_assert(1 << SFRAME_FRE_ADDR2 == 2);
static_assert(1 << SFRAME_FRE_ADDR4 == 4);

/*
 * Rows have no fixed length, so they are passed one by one until the next one
 * starts behind the instruction; @found is the last that does not.  Their number is a
 * user's: what bounds the loop is the reader's budget, and the end of the rows.
 */
static __always_inline int
sframe_scan_rows(struct sframe_reader *reader, const struct sframe_table *table,
		 const struct sframe_function *func,
		 struct sframe_found *found, const bool direct)
{
	const u32 head = (1 << func->fre_type) + 1, start_bits = 8 * head - 8;
	const u32 rows = min(func->num_rows, reader->budget);
	const u64 start_mask = (1ULL << start_bits) - 1;
	const u64 end = table->fres_end;
	u64 at = func->rows, found_word = 0;
	u32 previous = 0, left;

	for (left = rows; left; left--) {
		u64 word;
		u32 start;
		int ret;

		ret = sframe_load_word(reader, at, end, head, &word, direct);
		if (ret)
			return ret;
		start = word & start_mask;
		if (start > func->offset)
			break;
		if (start < previous)
			return -EBADMSG;
		previous = start;
		found_word = word;
		at += head + sframe_words_len(word >> start_bits);
	}
	reader->budget -= rows - left;
	if (at > end)
		return -EBADMSG;
	if (!left && rows < func->num_rows)
		return -E2BIG;
	found->any = left < rows;
	found->info = found_word >> start_bits;
	found->len = sframe_words_len(found->info);
	found->at = at - found->len;
	found->words = found_word >> 8 >> start_bits;
	found->loaded = direct && found->len + head <= SFRAME_WORD;
	return 0;
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
	const u8 *bytes = words->bytes;

	words->bytes += 1 << words->size;
	words->left--;
	switch (words->size) {
	case 0:
		return *bytes;
	case 1:
		return get_unaligned_le16(bytes);
	default:
		return get_unaligned_le32(bytes);
	}
}

static s32 sframe_take_offset(struct sframe_words *words)
{
	u32 unused = 32 - (8 << words->size);

	return (s32)(sframe_take_word(words) << unused) >> unused;
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
	rule->deref = !!(control & SFRAME_V3_CONTROL_DEREF);
	rule->offset = sframe_take_offset(words);
	return 0;
}

static int sframe_decode_outermost(struct sframe_row *row)
{
	row->outermost = true;
	row->plain = false;
	return 0;
}

static noinline int sframe_decode_flexible(struct sframe_reader *reader,
					   struct sframe_found found,
					   struct sframe_row *row)
{
	u8 bytes[SFRAME_FRE_MAX_COUNT * sizeof(u32)];
	struct sframe_words words = {
		.bytes = bytes,
		.left = SFRAME_FRE_COUNT(found.info),
		.size = SFRAME_FRE_SIZE(found.info),
	};
	int ret = 0;

	if (!words.left)
		return sframe_decode_outermost(row);
	row->cfa = (struct sframe_rule){ };
	if (found.loaded)
		put_unaligned_le64(found.words, bytes);
	else
		ret = reader->read(bytes, found.at, found.len);
	if (!ret)
		ret = sframe_decode_rule(&words, true, &row->cfa);
	if (!ret)
		ret = sframe_decode_rule(&words, false, &row->ra);
	if (!ret)
		ret = sframe_decode_rule(&words, false, &row->fp);
	if (!ret && words.left)
		return -EBADMSG;
	return ret;
}

/* The first word of @size, see SFRAME_FRE_SIZE(), and the next one. */
static __always_inline void sframe_split_words(u64 words, u32 size, s32 *first,
					       s32 *second)
{
	switch (size) {
	case 0:
		*first = (s8)words;
		*second = (s8)(words >> 8);
		break;
	case 1:
		*first = (s16)words;
		*second = (s16)(words >> 16);
		break;
	default:
		*first = (s32)words;
		*second = (s32)(words >> 32);
	}
}

/* One or two words: the offsets of the CFA and of where the frame pointer is. */
static __always_inline int sframe_decode_default(struct sframe_reader *reader,
						 const struct sframe_found *found,
						 struct sframe_row *row)
{
	u32 count = SFRAME_FRE_COUNT(found->info);
	s32 cfa, fp;

	if (unlikely(count - 1 > 1))
		return count ? -EBADMSG : sframe_decode_outermost(row);
	if (likely(found->loaded)) {
		sframe_split_words(found->words, SFRAME_FRE_SIZE(found->info),
				   &cfa, &fp);
	} else {
		u64 words = 0;
		int ret;

		ret = reader->read(&words, found->at, found->len);
		if (ret)
			return ret;
		sframe_split_words(words, SFRAME_FRE_SIZE(found->info), &cfa, &fp);
	}
	row->cfa = (struct sframe_rule){
		.offset = cfa,
		.base = found->info & SFRAME_FRE_CFA_BASE_SP ? SFRAME_BASE_SP :
							       SFRAME_BASE_FP,
	};
	if (count == 2)
		row->fp = (struct sframe_rule){
			.offset = fp, .base = SFRAME_BASE_CFA, .deref = 1,
		};
	return 0;
}

/* Turn what has been found into rules. */
static __always_inline int sframe_decode_row(struct sframe_reader *reader,
					     const struct sframe_function *func,
					     const struct sframe_found *found,
					     struct sframe_row *row)
{
	row->outermost = false;
	row->signal = false;
	row->plain = true;
	if (unlikely(func->flags & (SFRAME_SIGNAL | SFRAME_FLEXIBLE))) {
		row->signal = func->flags & SFRAME_SIGNAL;
		row->plain = false;
	}
	if (unlikely(!found->any))
		return !func->num_rows && func->flags & SFRAME_EMPTY_OUTERMOST ?
		       sframe_decode_outermost(row) : -ENODATA;

	row->ra = (struct sframe_rule){
		.offset = SFRAME_AMD64_RA_OFFSET, .base = SFRAME_BASE_CFA, .deref = 1,
	};
	row->fp = (struct sframe_rule){ .base = SFRAME_BASE_SAME };
	if (unlikely(func->flags & SFRAME_FLEXIBLE))
		return sframe_decode_flexible(reader, *found, row);
	return sframe_decode_default(reader, found, row);
}

static int sframe_find_copied(struct sframe_reader *reader,
			      const struct sframe_table *table, u64 ip,
			      struct sframe_row *row);

/*
 * A fault in place has the lookup begin anew, with copies of no more than it needs;
 * the rows that were passed until then have not been charged.
 */
static __always_inline int sframe_find(struct sframe_reader *reader,
				       const struct sframe_table *table, u64 ip,
				       struct sframe_row *row, const bool direct,
				       const bool v3, const bool pcrel)
{
	struct sframe_function func;
	struct sframe_found found;
	int ret;

	if (direct && !user_read_access_begin(sframe_user(table->start),
					      table->fres_end - table->start))
		return sframe_find_copied(reader, table, ip, row);
	ret = sframe_find_function(reader, table, ip, &func, direct, v3, pcrel);
	if (!ret)
		ret = sframe_scan_rows(reader, table, &func, &found, direct);
	if (direct) {
		user_read_access_end();
		if (unlikely(ret == -EFAULT))
			return sframe_find_copied(reader, table, ip, row);
	}
	return ret ? ret : sframe_decode_row(reader, &func, &found, row);
}

static noinline int sframe_find_copied(struct sframe_reader *reader,
				       const struct sframe_table *table, u64 ip,
				       struct sframe_row *row)
{
	return sframe_find(reader, table, ip, row, false,
			   table->version == SFRAME_VERSION_3, table->pcrel);
}

/* The sorts of table that linkers write have code of their own. */
static noinline int sframe_find_v2(struct sframe_reader *reader,
				   const struct sframe_table *table, u64 ip,
				   struct sframe_row *row)
{
	return sframe_find(reader, table, ip, row, true, false, false);
}

static noinline int sframe_find_v2_pcrel(struct sframe_reader *reader,
					 const struct sframe_table *table, u64 ip,
					 struct sframe_row *row)
{
	return sframe_find(reader, table, ip, row, true, false, true);
}

static noinline int sframe_find_v3(struct sframe_reader *reader,
				   const struct sframe_table *table, u64 ip,
				   struct sframe_row *row)
{
	return sframe_find(reader, table, ip, row, true, true, false);
}

static noinline int sframe_find_v3_pcrel(struct sframe_reader *reader,
					 const struct sframe_table *table, u64 ip,
					 struct sframe_row *row)
{
	return sframe_find(reader, table, ip, row, true, true, true);
}

/**
 * __sframe_find_row() - sframe_find_row() for an instruction in the table's text
 * @reader: As there.
 * @table: As there.
 * @ip: As there, and in @table's text range.
 * @row: As there.
 *
 * Context: As there.
 * Return: As there.
 */
int __sframe_find_row(struct sframe_reader *reader,
		      const struct sframe_table *table, u64 ip,
		      struct sframe_row *row)
{
	if (!reader->direct)
		return sframe_find_copied(reader, table, ip, row);
	if (table->version == SFRAME_VERSION_3)
		return table->pcrel ? sframe_find_v3_pcrel(reader, table, ip, row) :
				      sframe_find_v3(reader, table, ip, row);
	return table->pcrel ? sframe_find_v2_pcrel(reader, table, ip, row) :
			      sframe_find_v2(reader, table, ip, row);
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
	if (ip < table->text_start || ip >= table->text_end)
		return -ENOENT;
	return __sframe_find_row(reader, table, ip, row);
}
