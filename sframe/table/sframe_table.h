/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TABLE_H
#define _SFRAME_TABLE_H

#include "cfi/cfi.h"

/**
 * struct entry - a function (FDE) of a planned table
 * @start:	Its first address.
 * @size:	Its size in bytes.
 * @first_row:	Index of its first row.
 * @num_rows:	Number of rows; their starts are relative to @start.
 * @repeat:	0, or the number of bytes after which the rows repeat.
 * @signal:	It is a signal frame.
 * @followed:	Its rows follow from the code itself; without rows, nothing is known of it.
 */
struct entry {
	u64	start;
	u32	size;
	size_t	first_row;
	u32	num_rows;
	u8	repeat;
	bool	signal;
	bool	followed;
};

/**
 * struct gap - code of a function that the table leaves out
 * @start:	Its first address.
 * @size:	Its size in bytes; 0 if the function's address is not known.
 * @function:	The function's index in struct cfi.
 * @cause:	Why it is left out.
 */
struct gap {
	u64		start;
	u64		size;
	size_t		function;
	enum cause	cause;
};

/**
 * struct plan - the contents of a table that is to be written
 * @format:		The version of the format.
 * @vaddr:		The table's address, in the object's addresses.
 * @entries:		Its functions: sorted, none overlaps.
 * @num_entries:	Their number.
 * @room_entries:	How many @entries has room for.
 * @rows:		The rows of all functions.
 * @num_rows:		Their number.
 * @room_rows:		How many @rows has room for.
 * @gaps:		The code that it leaves out, sorted.
 * @num_gaps:		Their number.
 * @room_gaps:		How many @gaps has room for.
 */
struct plan {
	enum format	format;
	u64		vaddr;
	struct entry	*entries;
	size_t		num_entries;
	size_t		room_entries;
	struct row	*rows;
	size_t		num_rows;
	size_t		room_rows;
	struct gap	*gaps;
	size_t		num_gaps;
	size_t		room_gaps;
};

/**
 * struct image - a table as bytes
 * @bytes:	The bytes.
 * @size:	Their number.
 * @room:	How many bytes there is room for.
 * @vaddr:	The table's address, in the object's addresses.
 * @too_large:	The table is too large for the format.
 * @private_rules: The table has what no version has: see SFRAME_FILE_PRIVATE_RULES.
 */
struct image {
	u8	*bytes;
	size_t	size;
	size_t	room;
	u64	vaddr;
	bool	too_large;
	bool	private_rules;
};

/* table/plan.c */
u64 plan_vaddr(const struct object *obj);
void plan_make(struct plan *plan, const struct cfi *cfi, enum format format,
	       u64 vaddr);
void plan_free(struct plan *plan);

/* table/write.c */
bool image_make(struct image *image, const struct plan *plan);
void image_free(struct image *image);

/* table/read.c */

/**
 * struct table - a table whose header has been checked
 * @start:		Its bytes.
 * @size:		Their number.
 * @vaddr:		The table's address.
 * @version:		2 or 3.
 * @flags:		As in its header.
 * @num_entries:	Number of functions.
 * @num_rows:		Number of rows, as the header says.
 * @rows_size:		Size of the rows in bytes.
 * @entries:		Offset of the functions.
 * @rows:		Offset of the rows.
 */
struct table {
	const u8	*start;
	size_t		size;
	u64		vaddr;
	u8		version;
	u8		flags;
	u32		num_entries;
	u32		num_rows;
	u32		rows_size;
	u64		entries;
	u64		rows;
};

/**
 * struct marks - what a table says of a function besides its rows
 * @signal:	It is a signal frame.
 * @followed:	Its rows follow from the code itself.
 */
struct marks {
	bool	signal;
	bool	followed;
};

/**
 * struct entry_reader - a function of a table, and a position in its rows
 * @start:	The function's first address.
 * @size:	Its size in bytes.
 * @num_rows:	Its number of rows.
 * @repeat:	0, or the number of bytes after which the rows repeat.
 * @is:		What the table says of the function.
 * @flexible:	Its rows are flexible ones.
 * @width:	Size of a row's start in bytes.
 * @at:		The next row.
 * @end:	The end of all rows.
 * @left:	How many rows are left.
 */
struct entry_reader {
	u64		start;
	u32		size;
	u32		num_rows;
	u8		repeat;
	struct marks	is;
	bool		flexible;
	u8		width;
	const u8	*at;
	const u8	*end;
	u32		left;
};

const char *table_open(struct table *table, const u8 *bytes, size_t size,
		       u64 vaddr);
bool table_entry(const struct table *table, u32 index,
		 struct entry_reader *entry);
int table_next_row(struct entry_reader *entry, struct row *row);
const char *table_check(const struct table *table);
int table_find(const struct table *table, u64 pc, struct row *row, struct marks *marks);

#endif /* _SFRAME_TABLE_H */
