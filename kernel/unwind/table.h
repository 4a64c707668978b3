/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which row holds at each byte of a stretch of code, in a form that is searched
 * without being decoded.  unwind_table_build() makes it from an SFrame table and checks
 * it.  It never changes afterwards, so that a lookup needs no checks.
 *
 *	rules	the distinct ones
 *	rows	a word each: its start in the block << 16 | number of its rule
 *	index	the first row of each block of 512 bytes of code, and where the last's end
 *
 * A row holds up to the next one.  The first one starts at offset 0, so that each
 * byte has one, if only one that says that there is nothing.
 */
#ifndef _KERNEL_UNWIND_TABLE_H
#define _KERNEL_UNWIND_TABLE_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/gfp_types.h>
#include <linux/nospec.h>
#include <linux/types.h>

#include "sframe_decode.h"

#define UNWIND_TABLE_BLOCK_SHIFT	9
#define UNWIND_TABLE_BLOCK_MASK	((1U << UNWIND_TABLE_BLOCK_SHIFT) - 1)
#define UNWIND_TABLE_ROW_SHIFT	16
#define UNWIND_TABLE_ROW_RULE	0xffffU
/* Code behind this is not indexed: offsets have 32 bits. */
#define UNWIND_TABLE_MAX_TEXT	0xfffff000ULL

/* Numbers of rules that are none */
enum {
	UNWIND_RULE_NOWHERE,	/* in no function */
	UNWIND_RULE_NONE,	/* in one that has no rule here */
	UNWIND_RULE_FIRST,	/* the number of unwind_table::rules[0] */
};

/**
 * struct unwind_table_source - an SFrame table, and the code that it is wanted for
 * @bytes:	The table; kernel memory that nobody changes meanwhile.
 * @len:	Its size, or more.
 * @start:	Address of the table, from which its functions' starts count.
 * @text_start:	Where the code starts there ...
 * @text_end:	... and the first address behind it.
 */
struct unwind_table_source {
	const u8	*bytes;
	size_t		len;
	u64		start;
	u64		text_start;
	u64		text_end;
};

/**
 * struct unwind_table - rows of a stretch of code
 * @text_size:	Bytes of code.
 * @nr_rules:	How many rules there are.
 * @nr_rows:	How many rows there are.
 * @size:	Bytes of memory that all of it takes.
 * @rows:	See the top of this file.  What follows them in memory reads as a row
 *		without a rule, for speculation.
 * @index:	The same.
 * @rcu:	For whoever frees it while it is read.
 * @rules:	As @rows.
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
 * unwind_table_find() - find the row that holds at an instruction
 * @table: The table.
 * @offset: Of the instruction in its code, or what lies outside.
 * @row: Set to the row, which lives as long as @table.
 *
 * A user chooses @offset, as it is a return address: it is made safe for speculation.
 *
 * Context: Any, NMI included.
 * Return: 0; -ENOENT where no function is; -ENODATA in one that has no rule there.
 */
static __always_inline int unwind_table_find(const struct unwind_table *table, u64 offset,
					     const struct sframe_row **row)
{
	u32 block, last, rule, nr, half;
	const u32 *row_at;

	if (offset >= table->text_size)
		return -ENOENT;
	offset = array_index_nospec(offset, table->text_size);
	block = offset >> UNWIND_TABLE_BLOCK_SHIFT;
	last = (offset & UNWIND_TABLE_BLOCK_MASK) << UNWIND_TABLE_ROW_SHIFT |
	       UNWIND_TABLE_ROW_RULE;
	/*
	 * The last row that does not start behind it: one of the block's, or the one before
	 * them, which is never looked at.  The first block's first row starts with it.
	 */
	row_at = table->rows + table->index[block] - 1;
	nr = table->index[block + 1] - table->index[block] + 1;
	while (nr > 1) {
		half = nr / 2;
		row_at += row_at[half] <= last ? half : 0;
		nr -= half;
	}
	rule = *row_at & UNWIND_TABLE_ROW_RULE;
	if (unlikely(rule < UNWIND_RULE_FIRST))
		return rule == UNWIND_RULE_NONE ? -ENODATA : -ENOENT;
	*row = &table->rules[rule - UNWIND_RULE_FIRST];
	return 0;
}

#endif /* _KERNEL_UNWIND_TABLE_H */
