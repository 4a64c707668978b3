/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An unwind table has one row for each byte of a stretch of code.  A lookup searches it
 * without decoding anything.  unwind_table_build() makes it from an SFrame table and checks
 * it.  The table never changes afterwards, so a lookup needs no checks.
 *
 *	rules	the distinct rules that rows name; the first two stand for "no rule", see below
 *	rows	four bytes each: where the row starts, and its rule or the number of that
 *	index	a word for each block of code: the rows that a lookup searches
 *
 * A row applies up to the start of the next row.  The first row starts at offset 0.  So each
 * byte has a row, which may say that there is no rule.
 *
 * The size of blocks is a power of two for which they have ten rows at most on average.
 * A row has the lower 16 bits of its start, so rows are sorted within a region of 64 KiB.  Each
 * region begins with a row of its own.  A block's rows and the one before them are searched as 16
 * rows or, if they are more, as the next power of two, since those beyond start later.  So that
 * none of them is the next region's, the last row of a region stands there more than once if need
 * be.
 */
#ifndef _KERNEL_UNWIND_TABLE_H
#define _KERNEL_UNWIND_TABLE_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/gfp_types.h>
#include <linux/nospec.h>
#include <linux/types.h>

#include "row.h"

/*
 * A word of the index: the number of the first row to search and, above it, how often 16 rows have
 * to be doubled to have all rows of the block
 */
#define UNWIND_TABLE_INDEX_SHIFT	27
#define UNWIND_TABLE_INDEX_FIRST	((1U << UNWIND_TABLE_INDEX_SHIFT) - 1)
/* Number of rows in which the last four steps of a search find one, so no other is possible */
#define UNWIND_TABLE_SEARCH	16U
/* Offsets have 32 bits; code after this offset is not indexed. */
#define UNWIND_TABLE_MAX_TEXT	0xfffff000ULL

/*
 * The rule of a row: its number or, with the uppermost bit, a plain rule itself, see struct
 * sframe_row.  Then the others have the base and the offset of the CFA, and where the frame pointer
 * is saved: so many words below the return address, or it is unchanged.  Nearly all rules of
 * compilers are like this.
 */
#define UNWIND_ROW_PLAIN	0x8000U
#define UNWIND_ROW_FP		0x4000U	/* the base is FP, else SP */
#define UNWIND_ROW_CFA		0x3ff0U	/* the offset from it in words */
#define UNWIND_ROW_CFA_SHIFT	4
#define UNWIND_ROW_SLOT		0x000fU	/* 0: unchanged */
#define UNWIND_ROW_WORD		8

/* The first rules of each table */
enum {
	UNWIND_RULE_NOWHERE,	/* no function: -ENOENT */
	UNWIND_RULE_NONE,	/* a function without a rule: -ENODATA */
};

/**
 * struct unwind_table_row - a row
 * @rule:	Its rule, or the number of that.
 * @start:	The lower 16 bits of the offset of its first byte in the code.
 */
struct unwind_table_row {
	u16	rule;
	u16	start;
};

/**
 * struct unwind_table_source - an SFrame table and the range of code to build for
 * @bytes:	The SFrame table, in kernel memory.  Nobody may change it during the build.
 * @len:	Size of @bytes; may be larger than the SFrame table.
 * @start:	Address of the SFrame table.  The starts of its functions are relative to it.
 * @text_start:	First address of the code, in the same address space.
 * @text_end:	First address after the code.
 * @private_rules: The SFrame table may use the private extensions of sframe_format.h.
 */
struct unwind_table_source {
	const u8	*bytes;
	size_t		len;
	u64		start;
	u64		text_start;
	u64		text_end;
	bool		private_rules;
};

/**
 * struct unwind_table - the rows of a stretch of code
 * @text_size:	Size of the code in bytes.
 * @shift:	The binary logarithm of the size of a block.
 * @nr_rules:	Number of entries in @rules.
 * @nr_rows:	Number of entries in @rows.
 * @size:	Memory that the table takes, in bytes.
 * @rows:	The rows, see the top of this file.
 * @index:	The index, see the top of this file.
 * @rcu:	Defers freeing until no reader is left.
 * @pad:	So that on 64-bit machines, no rule is in two cache lines.
 * @rules:	The rules, see the top of this file.
 */
struct unwind_table {
	u32			text_size;
	u32			shift;
	u32			nr_rules;
	u32			nr_rows;
	size_t			size;
	const struct unwind_table_row *rows;
	const u32		*index;
	struct rcu_head		rcu;
	u64			pad;
	struct sframe_row	rules[];
};

struct unwind_table *unwind_table_build(const struct unwind_table_source *source,
					u32 seed, gfp_t gfp);
void unwind_table_free(const struct unwind_table *table);

/* One step of a search: leave out the first @half rows from @row on if the next one applies. */
static __always_inline const struct unwind_table_row *
unwind_table_halve(const struct unwind_table_row *row, unsigned long half, u16 start)
{
	return row[half].start <= start ? row + half : row;
}

/* What the row has as its rule that unwind_table_row() finds in these parts of a table */
static __always_inline unsigned int unwind_table_rule(const struct unwind_table_row *rows,
						      const u32 *index, u32 shift,
						      unsigned long offset)
{
	const u32 word = index[offset >> shift];
	const struct unwind_table_row *row = rows + (word & UNWIND_TABLE_INDEX_FIRST);
	u32 more = word >> UNWIND_TABLE_INDEX_SHIFT;
	const u16 start = offset;

	/*
	 * Find the last row that does not start after @offset.  Where speculation goes on with the
	 * loop, it goes on by 0, so that it does not lead beyond the rows.
	 */
	for (; unlikely(more); more--)
		row = unwind_table_halve(row, ((unsigned long)UNWIND_TABLE_SEARCH / 2 << more) &
					      ~(UNWIND_TABLE_SEARCH - 1UL), start);
	row = unwind_table_halve(row, UNWIND_TABLE_SEARCH / 2, start);
	row = unwind_table_halve(row, UNWIND_TABLE_SEARCH / 4, start);
	row = unwind_table_halve(row, UNWIND_TABLE_SEARCH / 8, start);
	row = unwind_table_halve(row, UNWIND_TABLE_SEARCH / 16, start);
	return row->rule;
}

/* The offset of the CFA from its base, of the rule of a row with UNWIND_ROW_PLAIN */
static __always_inline long unwind_row_cfa(u32 rule)
{
	return ((rule & UNWIND_ROW_CFA) >> UNWIND_ROW_CFA_SHIFT) * UNWIND_ROW_WORD;
}

/* The offset of the frame pointer from the CFA, if such a rule has UNWIND_ROW_SLOT */
static __always_inline long unwind_row_saved(u32 rule)
{
	return ARCH_SFRAME_RA_OFFSET - (long)(rule & UNWIND_ROW_SLOT) * UNWIND_ROW_WORD;
}

/* The rule with the number @rule, which speculation may have taken for a number */
static __always_inline const struct sframe_row *
unwind_table_numbered(const struct unwind_table *table, u32 rule)
{
	return &table->rules[array_index_nospec(rule, table->nr_rules)];
}

/* Set @row to the rule that a row of @table has as @rule. */
static inline void unwind_table_expand(const struct unwind_table *table, u32 rule,
				       struct sframe_row *row)
{
	s32 slot = rule & UNWIND_ROW_SLOT ? unwind_row_saved(rule) : 0;

	if (!(rule & UNWIND_ROW_PLAIN)) {
		*row = *unwind_table_numbered(table, rule);
		return;
	}
	*row = (struct sframe_row){
		.cfa = { unwind_row_cfa(rule),
			 rule & UNWIND_ROW_FP ? SFRAME_BASE_FP : SFRAME_BASE_SP },
		.ra = { ARCH_SFRAME_RA_OFFSET, SFRAME_BASE_CFA, 1 },
		.fp = { slot, slot ? SFRAME_BASE_CFA : SFRAME_BASE_SAME, !!slot },
		.plain = true,
		.slot = slot,
	};
}

/**
 * unwind_table_row() - find the row of an instruction
 * @table: The table.
 * @offset: Offset of the instruction in the code of @table, below @table->text_size.  If user
 *	space chooses it, as it chooses return addresses, the caller has to make it safe for
 *	speculation with array_index_nospec().
 * @row: Set to the row; its @error is set if there is no rule.
 *
 * Context: Any, NMI included.
 */
static __always_inline void unwind_table_row(const struct unwind_table *table,
					     unsigned long offset, struct sframe_row *row)
{
	unwind_table_expand(table, unwind_table_rule(table->rows, table->index, table->shift,
						     offset), row);
}

/**
 * unwind_table_find() - find the rule of an instruction at an unchecked offset
 * @table: The table.
 * @offset: Offset of the instruction in the code of @table, or any other number.  This
 *	function makes it safe for speculation.
 * @row: Set to the row; its @error is what is returned.
 *
 * Context: Any, NMI included.
 * Return: 0; -ENOENT if no function covers @offset; -ENODATA if a function does but has no
 * rule there.
 */
static inline int unwind_table_find(const struct unwind_table *table, u64 offset,
				    struct sframe_row *row)
{
	if (offset < table->text_size)
		unwind_table_row(table, array_index_nospec(offset, table->text_size), row);
	else
		*row = table->rules[UNWIND_RULE_NOWHERE];
	return row->error;
}

#endif /* _KERNEL_UNWIND_TABLE_H */
