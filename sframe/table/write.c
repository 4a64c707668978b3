// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a plan as the bytes of a table, version 2 or 3.
 *
 *	header | one index entry a function, sorted | rows of all functions
 *
 * The start of a function is relative to its own field (FDE_FUNC_START_PCREL).  Functions
 * with the same bytes of rows share them, as most short functions do.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/grow.h"
#include "sframe_format.h"
#include "table/sframe_table.h"

/* A control word without an offset after it: no rule. */
#define CONTROL_NONE	0

/* If a hostile file makes all hashes collide, it costs space but not time. */
#define MAX_PROBES	32

/* The rows written so far, by a hash of their bytes. */
struct shared {
	u32	*offset;	/* that of the rows plus 1; 0 if the slot is free */
	u32	*length;
	size_t	mask;
};

struct writing {
	const struct plan	*plan;
	struct image		*rows;
	struct shared		shared;
	u32			num_rows;	/* shared ones counted once */
};

static void image_put(struct image *image, const void *bytes, size_t len)
{
	if (!len)
		return;
	/* Offsets in a table have 32 bits. */
	if (image->size + len > UINT32_MAX) {
		image->too_large = true;
		return;
	}
	while (image->size + len > image->room)
		image->bytes = grow(image->bytes, &image->room, image->room, 1);
	memcpy(image->bytes + image->size, bytes, len);
	image->size += len;
}

static void put_fixed(struct image *image, u64 value, unsigned int size)
{
	image_put(image, &value, size);
}

static unsigned int width_code(u64 max)
{
	if (max <= UINT8_MAX)
		return SFRAME_FRE_ADDR1;
	return max <= UINT16_MAX ? SFRAME_FRE_ADDR2 : SFRAME_FRE_ADDR4;
}

/* Return the code of the smallest size that holds a signed offset. */
static unsigned int size_code(s64 value)
{
	if (value == (s8)value)
		return 0;
	return value == (s16)value ? 1 : 2;
}

/**
 * struct words - the data words of a row
 * @value:	The words.
 * @count:	Their number.
 * @size:	The code of the size that holds all of them.
 */
struct words {
	s64		value[7];
	unsigned int	count;
	unsigned int	size;
};

static void add_word(struct words *words, s64 value, unsigned int size)
{
	words->value[words->count++] = value;
	if (size > words->size)
		words->size = size;
}

static void default_words(struct words *words, const struct row *row)
{
	add_word(words, row->cfa.offset, size_code(row->cfa.offset));
	if (row->fp.kind == RULE_MEMORY)
		add_word(words, row->fp.offset, size_code(row->fp.offset));
}

static void add_pair(struct words *words, const struct rule *rule)
{
	unsigned int control = 0;

	if (rule->base != REG_CFA)
		control = SFRAME_V3_CONTROL_REG |
			  rule->base << SFRAME_V3_CONTROL_REG_SHIFT;
	if (rule->kind == RULE_MEMORY)
		control |= SFRAME_V3_CONTROL_DEREF;
	if (rule->add)
		control |= SFRAME_V3_CONTROL_ADD;
	/* Control words are unsigned: 255 still fits a byte. */
	add_word(words, control, width_code(control));
	add_word(words, rule->offset, size_code(rule->offset));
	if (rule->add)
		add_word(words, rule->add, size_code(rule->add));
}

static void flexible_words(struct words *words, const struct row *row)
{
	bool ra_default = row->ra.kind == RULE_MEMORY &&
			  row->ra.base == REG_CFA && row->ra.offset == -8;
	bool fp_same = row->fp.kind == RULE_SAME;

	add_pair(words, &row->cfa);
	if (!ra_default)
		add_pair(words, &row->ra);
	else if (!fp_same)
		add_word(words, CONTROL_NONE, 0);
	if (!fp_same)
		add_pair(words, &row->fp);
}

static void put_row(struct image *out, const struct row *row,
		    unsigned int width, bool flexible)
{
	struct words words = { };
	u8 info;

	/* The row of an outermost frame has no words. */
	if (row->ra.kind != RULE_UNDEFINED) {
		if (flexible)
			flexible_words(&words, row);
		else
			default_words(&words, row);
	}
	info = words.count << 1 | words.size << 5;
	/* A flexible row names its base in the control word. */
	if (!flexible && row->cfa.base == REG_SP)
		info |= SFRAME_FRE_CFA_BASE_SP;
	put_fixed(out, row->start, 1 << width);
	put_fixed(out, info, 1);
	for (unsigned int i = 0; i < words.count; i++)
		put_fixed(out, words.value[i], 1 << words.size);
}

static const struct row *entry_rows(const struct writing *wr,
				    const struct entry *entry)
{
	return &wr->plan->rows[entry->first_row];
}

static bool is_flexible(const struct writing *wr, const struct entry *entry)
{
	const struct row *rows = entry_rows(wr, entry);

	for (u32 i = 0; i < entry->num_rows; i++)
		if (!row_is_default(&rows[i]))
			return true;
	return false;
}

static unsigned int entry_width(const struct writing *wr,
				const struct entry *entry)
{
	return entry->num_rows ? width_code(entry_rows(wr, entry)[entry->num_rows - 1].start) : 0;
}

static u8 entry_info(const struct writing *wr, const struct entry *entry)
{
	u8 info = entry_width(wr, entry);

	if (entry->repeat)
		info |= SFRAME_FDE_PCMASK;
	if (entry->signal && wr->plan->format == FORMAT_V3)
		info |= SFRAME_V3_FDE_SIGNAL;
	return info;
}

static void put_attributes(struct writing *wr, const struct entry *entry,
			   bool flexible)
{
	u8 info2 = flexible ? SFRAME_V3_FDE_FLEX : SFRAME_V3_FDE_DEFAULT;

	if (entry->followed)
		info2 |= SFRAME_V3_FDE_FOLLOWED;
	put_fixed(wr->rows, entry->num_rows, 2);
	put_fixed(wr->rows, entry_info(wr, entry), 1);
	put_fixed(wr->rows, info2, 1);
	put_fixed(wr->rows, entry->repeat, 1);
}

static u64 hash_bytes(const u8 *bytes, size_t len)
{
	u64 hash = 0xcbf29ce484222325ULL;

	while (len--)
		hash = (hash ^ *bytes++) * 0x100000001b3ULL;
	return hash ^ hash >> 29;
}

/* Remove the rows from @offset on if the same bytes were written before. */
static u32 share_rows(struct writing *wr, u32 offset)
{
	struct shared *sh = &wr->shared;
	struct image *rows = wr->rows;
	u32 len = rows->size - offset;
	size_t slot = hash_bytes(rows->bytes + offset, len) & sh->mask;

	for (int i = 0; sh->offset[slot]; slot = (slot + 1) & sh->mask) {
		u32 other = sh->offset[slot] - 1;

		if (++i > MAX_PROBES)
			return offset;
		if (sh->length[slot] == len &&
		    !memcmp(rows->bytes + other, rows->bytes + offset, len)) {
			rows->size = offset;
			return other;
		}
	}
	sh->offset[slot] = offset + 1;
	sh->length[slot] = len;
	return offset;
}

/* Write the entry's rows, and return their offset. */
static u32 put_rows(struct writing *wr, const struct entry *entry)
{
	const struct row *rows = entry_rows(wr, entry);
	bool flexible = is_flexible(wr, entry);
	u32 offset = wr->rows->size, shared;

	if (wr->plan->format == FORMAT_V3)
		put_attributes(wr, entry, flexible);
	if (entry->followed)
		wr->rows->private_rules = true;
	for (u32 i = 0; i < entry->num_rows; i++) {
		put_row(wr->rows, &rows[i], entry_width(wr, entry), flexible);
		if (rows[i].cfa.add)
			wr->rows->private_rules = true;
	}
	if (wr->rows->too_large)
		return 0;
	shared = share_rows(wr, offset);
	if (shared == offset)
		wr->num_rows += entry->num_rows;
	return shared;
}

static void put_entry(struct writing *wr, struct image *out,
		      const struct entry *entry)
{
	u64 from = wr->plan->vaddr + sizeof(struct sframe_header) + out->size;
	bool v3 = wr->plan->format == FORMAT_V3;

	put_fixed(out, entry->start - from, v3 ? 8 : 4);
	put_fixed(out, entry->size, 4);
	put_fixed(out, put_rows(wr, entry), 4);
	if (v3)
		return;
	put_fixed(out, entry->num_rows, 4);
	put_fixed(out, entry_info(wr, entry), 1);
	put_fixed(out, entry->repeat, 1);
	put_fixed(out, 0, 2);
}

static void put_header(const struct writing *wr, struct image *out,
		       u32 entries_size)
{
	struct sframe_header header = {
		.preamble.magic = SFRAME_MAGIC,
		.preamble.version = wr->plan->format,
		.preamble.flags = SFRAME_F_FDE_SORTED |
				  SFRAME_F_FDE_FUNC_START_PCREL,
		.abi_arch = SFRAME_ABI_AMD64_LE,
		.cfa_fixed_ra_offset = -8,
		.num_fdes = wr->plan->num_entries,
		.num_fres = wr->num_rows,
		.fre_len = wr->rows->size,
		.freoff = entries_size,
	};

	image_put(out, &header, sizeof(header));
}

static void shared_init(struct shared *sh, size_t count)
{
	size_t size = 16;

	while (size < count * 2)
		size *= 2;
	sh->mask = size - 1;
	sh->offset = calloc(size, sizeof(*sh->offset));
	sh->length = calloc(size, sizeof(*sh->length));
	if (!sh->offset || !sh->length)
		grow(NULL, &(size_t){ SIZE_MAX / 4 }, SIZE_MAX / 2, 1);
}

/**
 * image_make() - write a table
 * @image:	Filled in; the caller frees it in any case.
 * @plan:	The table's contents.
 *
 * Return: false if the table is too large for the format.
 */
bool image_make(struct image *image, const struct plan *plan)
{
	struct image entries = { }, rows = { };
	struct writing wr = { .plan = plan, .rows = &rows };

	*image = (struct image){ .vaddr = plan->vaddr };
	shared_init(&wr.shared, plan->num_entries);
	for (size_t i = 0; i < plan->num_entries; i++)
		put_entry(&wr, &entries, &plan->entries[i]);

	put_header(&wr, image, entries.size);
	image_put(image, entries.bytes, entries.size);
	image_put(image, rows.bytes, rows.size);
	image->too_large |= entries.too_large | rows.too_large;
	image->private_rules = rows.private_rules;

	free(wr.shared.offset);
	free(wr.shared.length);
	free(entries.bytes);
	free(rows.bytes);
	return !image->too_large;
}

/**
 * image_free() - free what image_make() filled in
 * @image:	The image; the structure itself is not freed.
 */
void image_free(struct image *image)
{
	free(image->bytes);
}
