/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An unwind table has one row for each byte of a stretch of code.  A lookup searches it
 * without decoding anything.  unwind_table_build() makes it from an SFrame table and checks
 * it.  The table never changes afterwards, so a lookup needs no checks.
 *
 *	rules	the distinct rules; the first two stand for "no rule", see below
 *	rows	one word each: the offset of the row's start in its block in the upper bits,
 *		the number of its rule in the lower 16
 *	index	the number of the first row of each block of 512 bytes of code, and at the
 *		end the number of rows
 *
 * A row applies up to the start of the next row.  The first row starts at offset 0.  So each
 * byte has a row, which may say that there is no rule.
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

#define UNWIND_TABLE_BLOCK_SHIFT	9
#define UNWIND_TABLE_BLOCK_MASK	((1U << UNWIND_TABLE_BLOCK_SHIFT) - 1)
#define UNWIND_TABLE_ROW_SHIFT	(32 - UNWIND_TABLE_BLOCK_SHIFT)
#define UNWIND_TABLE_ROW_RULE	0xffffU
/* Offsets have 32 bits; code after this offset is not indexed. */
#define UNWIND_TABLE_MAX_TEXT	0xfffff000ULL

/* The first rules of each table */
enum {
	UNWIND_RULE_NOWHERE,	/* no function: -ENOENT */
	UNWIND_RULE_NONE,	/* a function without a rule: -ENODATA */
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
 * @nr_rules:	Number of entries in @rules.
 * @nr_rows:	Number of entries in @rows.
 * @size:	Memory that the table takes, in bytes.
 * @rows:	The rows, see the top of this file.  @index follows in memory and begins with
 *		0.  So if speculation reads a word too many, it reads a row with
 *		UNWIND_RULE_NOWHERE.
 * @index:	The index, see the top of this file.
 * @rcu:	Defers freeing until no reader is left.
 * @rules:	The rules, see the top of this file.
 */
struct unwind_table {
	u32			text_size;
	u32			nr_rules;
	u32			nr_rows;
	size_t			size;
	const u32		*rows;
	const u32		*index;
	struct rcu_head		rcu;
	struct sframe_row	rules[];
};

struct unwind_table *unwind_table_build(const struct unwind_table_source *source,
					u32 seed, gfp_t gfp);
void unwind_table_free(const struct unwind_table *table);

/**
 * unwind_table_row() - find the row of an instruction
 * @table: The table.
 * @offset: Offset of the instruction in the code of @table, below @table->text_size.  If user
 *	space chooses it, as it chooses return addresses, the caller has to make it safe for
 *	speculation with array_index_nospec().
 *
 * Context: Any, NMI included.
 * Return: The row, valid as long as @table.  Its @error is set if there is no rule.
 */
static __always_inline const struct sframe_row *
unwind_table_row(const struct unwind_table *table, unsigned long offset)
{
	const u32 *index = table->index + (offset >> UNWIND_TABLE_BLOCK_SHIFT);
	/* The shift drops the number of the block and keeps the offset in the block. */
	u32 last = (u32)offset << UNWIND_TABLE_ROW_SHIFT | ((1U << UNWIND_TABLE_ROW_SHIFT) - 1);
	unsigned long step, nr;
	const u32 *row_at;

	/*
	 * Find the last row that does not start after @offset.  It is a row of the block or
	 * the row before them, whose word is not compared.  The first block needs no row
	 * before it, as its first row starts at offset 0.  The first step leaves a power of
	 * two of candidates, and each further step halves it.
	 */
	row_at = table->rows + index[0] - 1;
	nr = index[1] - index[0] + 1;
	step = 1UL << __fls(nr);
	row_at += row_at[nr - step] <= last ? nr - step : 0;
	while (step >>= 1)
		row_at += row_at[step] <= last ? step : 0;
	return &table->rules[*row_at & UNWIND_TABLE_ROW_RULE];
}

/**
 * unwind_table_look() - find the row of an instruction at an unchecked offset
 * @table: The table.
 * @offset: Offset of the instruction in the code of @table, or any other number.  This
 *	function makes it safe for speculation.
 *
 * Context: Any, NMI included.
 * Return: The row, valid as long as @table.  Its @error is set if there is no rule.
 */
static inline const struct sframe_row *unwind_table_look(const struct unwind_table *table,
							 u64 offset)
{
	if (offset >= table->text_size)
		return &table->rules[UNWIND_RULE_NOWHERE];
	return unwind_table_row(table, array_index_nospec(offset, table->text_size));
}

/**
 * unwind_table_find() - find the rule of an instruction at an unchecked offset
 * @table: The table.
 * @offset: Offset of the instruction in the code of @table, or any other number.
 * @row: Set to the row.
 *
 * Context: Any, NMI included.
 * Return: 0; -ENOENT if no function covers @offset; -ENODATA if a function does but has no
 * rule there.
 */
static inline int unwind_table_find(const struct unwind_table *table, u64 offset,
				    const struct sframe_row **row)
{
	*row = unwind_table_look(table, offset);
	return (*row)->error;
}

#endif /* _KERNEL_UNWIND_TABLE_H */
