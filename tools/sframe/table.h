/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_TABLE_H
#define _TOOLS_SFRAME_TABLE_H

#include "cfi.h"

/**
 * struct entry - a function of the table to be
 * @start:	Its first address.
 * @size:	Its bytes.
 * @first_row:	Index of its first row.
 * @num_rows:	Rows; the starts are relative to @start.
 * @repeat:	0, or the bytes after which the rows begin again.
 * @signal:	The frame of a signal handler's caller.
 */
struct entry {
	u64	start;
	u32	size;
	size_t	first_row;
	u32	num_rows;
	u8	repeat;
	bool	signal;
};

/**
 * struct gap - code of a function that the table leaves out
 * @start:	Its first address.
 * @size:	Its bytes; 0 for a function that cannot even be located.
 * @function:	The function's index in struct cfi.
 * @cause:	Why.
 */
struct gap {
	u64		start;
	u64		size;
	size_t		function;
	enum cause	cause;
};

/**
 * struct plan - what a table will hold, before it is bytes
 * @format:		Its version.
 * @vaddr:		Where it will lie, in the object's addresses.
 * @entries:		Its functions: sorted, none overlaps.
 * @num_entries:	Their number.
 * @room_entries:	How many there is room for.
 * @rows:		The rows of all of them.
 * @num_rows:		Their number.
 * @room_rows:		How many there is room for.
 * @gaps:		What it leaves out, sorted.
 * @num_gaps:		Their number.
 * @room_gaps:		How many there is room for.
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
 * @bytes:	They.
 * @size:	Their number.
 * @room:	How many there is room for.
 * @vaddr:	Where they have to lie, in the object's addresses.
 * @too_large:	The format cannot hold the table.
 */
struct image {
	u8	*bytes;
	size_t	size;
	size_t	room;
	u64	vaddr;
	bool	too_large;
};

void *grow(void *array, size_t *room, size_t count, size_t size);

/* plan.c */
u64 plan_vaddr(const struct object *obj);
void plan_make(struct plan *plan, const struct cfi *cfi, enum format format,
	       u64 vaddr);
void plan_free(struct plan *plan);

/* write.c */
bool image_make(struct image *image, const struct plan *plan);
void image_free(struct image *image);

/* read.c */

/**
 * struct table - a table whose header has been checked
 * @start:		Its bytes.
 * @size:		Their number.
 * @vaddr:		The address that it lies at.
 * @version:		2 or 3.
 * @flags:		As in its header.
 * @num_entries:	Functions.
 * @num_rows:		Rows, as the header counts them.
 * @rows_size:		Bytes of the rows.
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
 * struct entry_reader - a function of a table and the place in its rows
 * @start:	The function's first address.
 * @size:	Its bytes.
 * @num_rows:	Its rows.
 * @repeat:	0, or the bytes after which the rows begin again.
 * @signal:	The frame of a signal handler's caller.
 * @flexible:	Its rows are of the flexible kind.
 * @width:	Bytes of a row's start.
 * @at:		The next row.
 * @end:	The end of all rows.
 * @left:	Rows that are left.
 */
struct entry_reader {
	u64		start;
	u32		size;
	u32		num_rows;
	u8		repeat;
	bool		signal;
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
int table_find(const struct table *table, u64 pc, struct row *row,
	       bool *signal);

#endif /* _TOOLS_SFRAME_TABLE_H */
