// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a table of version 2 or 3.
 *
 * Written from the description of the format, not from table/write.c, because it checks that.
 * Every field may be hostile: it is compared with the end of the bytes before its use.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "sframe_format.h"
#include "table/sframe_table.h"

/* A control word without an offset after it: no rule. */
#define CONTROL_NONE	0

static unsigned int entry_size(const struct table *table)
{
	return table->version == SFRAME_VERSION_3 ?
	       sizeof(struct sframe_v3_fde) : sizeof(struct sframe_fde);
}

static const char *check_header(const struct sframe_header *header)
{
	const struct sframe_preamble *preamble = &header->preamble;

	if (preamble->magic != SFRAME_MAGIC)
		return "not an SFrame table";
	if (preamble->version != SFRAME_VERSION_2 &&
	    preamble->version != SFRAME_VERSION_3)
		return "a version of SFrame that is neither 2 nor 3";
	if (preamble->flags & ~SFRAME_F_KNOWN)
		return "unknown flags";
	if (header->abi_arch != SFRAME_ABI_AMD64_LE)
		return "not for x86-64";
	if (header->cfa_fixed_ra_offset != -8)
		return "the return address is not at CFA - 8";
	return NULL;
}

/**
 * table_open() - check a table's header
 * @table:	Filled in.
 * @bytes:	The table; more may follow.
 * @size:	The number of bytes.
 * @vaddr:	The table's address.
 *
 * Return: NULL, or what is wrong with the table.
 */
const char *table_open(struct table *table, const u8 *bytes, size_t size,
		       u64 vaddr)
{
	struct sframe_header header;
	const char *error;
	u64 end;

	if (size < sizeof(header))
		return "shorter than the header";
	memcpy(&header, bytes, sizeof(header));
	error = check_header(&header);
	if (error)
		return error;
	*table = (struct table){
		.start = bytes,
		.vaddr = vaddr,
		.version = header.preamble.version,
		.flags = header.preamble.flags,
		.num_entries = header.num_fdes,
		.num_rows = header.num_fres,
		.rows_size = header.fre_len,
	};
	table->entries = sizeof(header) + header.auxhdr_len +
			 (u64)header.fdeoff;
	table->rows = sizeof(header) + header.auxhdr_len + (u64)header.freoff;
	end = table->rows + header.fre_len;
	if (end > size)
		return "the rows lie beyond the end";
	if (table->entries + (u64)table->num_entries * entry_size(table) >
	    table->rows)
		return "the functions overlap the rows";
	table->size = end;
	return NULL;
}

static bool set_info(struct entry_reader *entry, u8 info, u8 repeat)
{
	switch (SFRAME_FDE_FRE_TYPE(info)) {
	case SFRAME_FRE_ADDR1:
	case SFRAME_FRE_ADDR2:
	case SFRAME_FRE_ADDR4:
		entry->width = 1 << SFRAME_FDE_FRE_TYPE(info);
		break;
	default:
		return false;
	}
	entry->repeat = 0;
	if (info & SFRAME_FDE_PCMASK) {
		entry->repeat = repeat;
		return repeat;
	}
	return true;
}

static bool set_rows(const struct table *table, struct entry_reader *entry,
		     u32 offset)
{
	if (offset > table->rows_size)
		return false;
	entry->at = table->start + table->rows + offset;
	entry->end = table->start + table->size;
	entry->left = entry->num_rows;
	return true;
}

static u64 start_base(const struct table *table, u32 index)
{
	if (!(table->flags & SFRAME_F_FDE_FUNC_START_PCREL))
		return table->vaddr;
	return table->vaddr + table->entries + (u64)index * entry_size(table);
}

static bool entry_v2(const struct table *table, u32 index,
		     struct entry_reader *entry)
{
	struct sframe_fde fde;

	memcpy(&fde, table->start + table->entries + (u64)index * sizeof(fde),
	       sizeof(fde));
	entry->start = start_base(table, index) + (s64)fde.func_start;
	entry->size = fde.func_size;
	entry->num_rows = fde.num_fres;
	return set_info(entry, fde.info, fde.rep_size) &&
	       set_rows(table, entry, fde.fre_off);
}

static bool entry_v3(const struct table *table, u32 index,
		     struct entry_reader *entry)
{
	struct sframe_v3_attributes attr;
	struct sframe_v3_fde fde;

	memcpy(&fde, table->start + table->entries + (u64)index * sizeof(fde),
	       sizeof(fde));
	entry->start = start_base(table, index) + fde.func_start;
	entry->size = fde.func_size;
	if (fde.fre_off > table->rows_size ||
	    table->rows_size - fde.fre_off < sizeof(attr))
		return false;
	memcpy(&attr, table->start + table->rows + fde.fre_off, sizeof(attr));
	entry->num_rows = attr.num_fres;
	entry->is.signal = attr.info & SFRAME_V3_FDE_SIGNAL;
	entry->is.followed = attr.info2 & SFRAME_V3_FDE_FOLLOWED;
	entry->flexible = SFRAME_V3_FDE_TYPE(attr.info2) == SFRAME_V3_FDE_FLEX;
	if (SFRAME_V3_FDE_TYPE(attr.info2) > SFRAME_V3_FDE_FLEX)
		return false;
	return set_info(entry, attr.info, attr.rep_size) &&
	       set_rows(table, entry, fde.fre_off + sizeof(attr));
}

/**
 * table_entry() - read a function of a table
 * @table:	The table.
 * @index:	Which function; below @table->num_entries.
 * @entry:	Filled in, ready for table_next_row().
 *
 * Return: false if the function is damaged.
 */
bool table_entry(const struct table *table, u32 index,
		 struct entry_reader *entry)
{
	*entry = (struct entry_reader){ };
	if (table->version == SFRAME_VERSION_3)
		return entry_v3(table, index, entry);
	return entry_v2(table, index, entry);
}

static bool default_row(struct bytes *in, u8 info, struct row *row)
{
	unsigned int size = 1 << SFRAME_FRE_SIZE(info);

	row->cfa.kind = RULE_VALUE;
	row->cfa.base = info & SFRAME_FRE_CFA_BASE_SP ? REG_SP : REG_FP;
	row->cfa.offset = get_signed(in, size);
	if (SFRAME_FRE_COUNT(info) > 2)
		return false;
	if (SFRAME_FRE_COUNT(info) == 2)
		row->fp = (struct rule){ .kind = RULE_MEMORY, .base = REG_CFA,
					 .offset = get_signed(in, size) };
	return true;
}

/* What a rule is for; only the CFA must have a rule. */
enum subject { OF_CFA, OF_REGISTER };

/* Read one rule of a flexible row.  Leaves @rule unchanged if the row has none. */
static bool flexible_rule(struct bytes *in, unsigned int size, enum subject subject,
			  struct rule *rule)
{
	bool cfa = subject == OF_CFA;
	u32 control, reg;

	if (!bytes_left(in))
		return !cfa;
	control = get_fixed(in, size);
	if (control == CONTROL_NONE)
		return !cfa;
	reg = control >> SFRAME_V3_CONTROL_REG_SHIFT;
	if (!(control & SFRAME_V3_CONTROL_REG)) {
		if (cfa)
			return false;
		reg = REG_CFA;
	} else if (reg >= REG_RA) {
		return false;
	}
	if (control & SFRAME_V3_CONTROL_ADD &&
	    (!cfa || !(control & SFRAME_V3_CONTROL_DEREF)))
		return false;
	*rule = (struct rule){
		.kind = control & SFRAME_V3_CONTROL_DEREF ? RULE_MEMORY :
							    RULE_VALUE,
		.base = reg,
		.offset = get_signed(in, size),
	};
	if (control & SFRAME_V3_CONTROL_ADD)
		rule->add = get_signed(in, size);
	return !in->bad;
}

static bool flexible_row(struct bytes *in, u8 info, struct row *row)
{
	unsigned int size = 1 << SFRAME_FRE_SIZE(info);

	return flexible_rule(in, size, OF_CFA, &row->cfa) &&
	       flexible_rule(in, size, OF_REGISTER, &row->ra) &&
	       flexible_rule(in, size, OF_REGISTER, &row->fp) && !bytes_left(in);
}

static bool decode_row(const struct entry_reader *entry, struct bytes *words,
		       u8 info, struct row *row)
{
	row->ra = (struct rule){ .kind = RULE_MEMORY, .base = REG_CFA, .offset = -8 };
	row->fp = (struct rule){ .kind = RULE_SAME };
	row->sp = (struct rule){ .kind = RULE_VALUE, .base = REG_CFA, .offset = 0 };
	if (!SFRAME_FRE_COUNT(info)) {
		row->ra.kind = RULE_UNDEFINED;
		return true;
	}
	if (entry->flexible)
		return flexible_row(words, info, row);
	return default_row(words, info, row);
}

/**
 * table_next_row() - read the next row of a function
 * @entry:	The function.
 * @row:	Filled in.
 *
 * Return: 1, 0 after the last row, or -EBADMSG if the row is damaged.
 */
int table_next_row(struct entry_reader *entry, struct row *row)
{
	struct bytes in = { .at = entry->at, .end = entry->end };
	struct bytes words;
	u8 info;

	if (!entry->left)
		return 0;
	*row = (struct row){ .start = get_fixed(&in, entry->width) };
	info = get_fixed(&in, 1);
	if (SFRAME_FRE_SIZE(info) == 3)
		return -EBADMSG;
	words.at = get_block(&in, SFRAME_FRE_COUNT(info) <<
				  SFRAME_FRE_SIZE(info));
	words.end = in.at;
	words.bad = false;
	if (in.bad || !decode_row(entry, &words, info, row))
		return -EBADMSG;
	entry->at = in.at;
	entry->left--;
	return 1;
}

/* Count the rows of a function; returns a negative errno if one is damaged. */
static s64 count_rows(struct entry_reader *entry)
{
	s64 count = 0;
	struct row row;
	int ret;

	while ((ret = table_next_row(entry, &row)) > 0)
		count++;
	return ret ?: count;
}

/* Check all functions; @seen has a bit for each byte of the rows. */
static const char *check_entries(const struct table *table, u8 *seen)
{
	struct entry_reader entry;
	s64 last = 0, distance, count;
	u64 num_rows = 0;

	for (u32 i = 0; i < table->num_entries; i++) {
		u64 offset;

		if (!table_entry(table, i, &entry))
			return "a function of the table is damaged";
		/* Code may lie below and above the table. */
		distance = entry.start - table->vaddr;
		if (i && distance < last)
			return "the functions of the table are not in order";
		last = distance;
		/* Functions share equal rows.  Read these once. */
		offset = entry.at - (table->start + table->rows);
		if (seen[offset / 8] & 1 << offset % 8)
			continue;
		seen[offset / 8] |= 1 << offset % 8;
		count = count_rows(&entry);
		if (count < 0)
			return "a row of the table is damaged";
		/* Overlapping rows would take too long. */
		num_rows += count;
		if (num_rows > table->rows_size)
			return "the table has more rows than room for them";
	}
	return NULL;
}

/**
 * table_check() - check each function and row of a table
 * @table:	The table.
 *
 * Return: NULL, or what is wrong with it.
 */
const char *table_check(const struct table *table)
{
	u8 *seen = calloc(table->rows_size / 8 + 1, 1);
	const char *error = seen ? check_entries(table, seen) : "out of memory";

	free(seen);
	return error;
}

/* Count the functions that start at or before @pc. */
static u32 count_starts(const struct table *table, u64 pc)
{
	u32 low = 0, high = table->num_entries;
	struct entry_reader entry;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		table_entry(table, mid, &entry);
		/* Code may lie below and above the table, so compare distances. */
		if ((s64)(entry.start - table->vaddr) <=
		    (s64)(pc - table->vaddr))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/**
 * table_find() - find the row for an instruction
 * @table:	The table.
 * @pc:		The instruction's address.
 * @row:	Filled in.
 * @marks:	Set to what the table says of the function, if there is a row.
 *
 * Return: 0, -ENOENT if there is no row, or -EBADMSG if the table is damaged.
 */
int table_find(const struct table *table, u64 pc, struct row *row, struct marks *marks)
{
	struct entry_reader entry;
	struct row next;
	u32 count, offset;
	int ret, found = -ENOENT;

	count = count_starts(table, pc);
	if (!count)
		return -ENOENT;
	if (!table_entry(table, count - 1, &entry))
		return -EBADMSG;
	if (pc - entry.start >= entry.size)
		return -ENOENT;
	offset = pc - entry.start;
	if (entry.repeat)
		offset %= entry.repeat;
	*marks = entry.is;
	/* The function of an outermost frame may have no row at all. */
	if (!entry.num_rows && table->version == SFRAME_VERSION_3 && !entry.is.followed) {
		struct bytes none = { };

		*row = (struct row){ };
		return decode_row(&entry, &none, 0, row) ? 0 : -EBADMSG;
	}
	while ((ret = table_next_row(&entry, &next)) > 0) {
		if (next.start > offset)
			break;
		*row = next;
		found = 0;
	}
	return ret < 0 ? ret : found;
}
