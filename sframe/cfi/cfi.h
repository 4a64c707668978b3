/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CFI_H
#define _SFRAME_CFI_H

#include "cfi/object.h"
#include "cfi/rule.h"

/**
 * struct function - what one entry (FDE) of .eh_frame or .debug_frame describes, or what
 * follows from the code
 * @start:		Its first address.
 * @size:		Its size in bytes.
 * @first_row:		Index of its first row.
 * @num_rows:		Number of rows, ascending; the first starts at 0.  A function that was
 *			followed may have none.
 * @cause:		Why it has no rows; CAUSE_NONE if it has some, or was followed.
 * @signal:		It is a signal frame.
 * @debug:		From .debug_frame.
 * @followed:		From the code itself.
 * @handlers:		Address of its table of exception handlers; 0 if it has none, or if their
 *			stack pointer is not that after the call.
 */
struct function {
	u64		start;
	u64		size;
	size_t		first_row;
	u32		num_rows;
	enum cause	cause;
	bool		signal;
	bool		debug;
	bool		followed;
	u64		handlers;
};

/**
 * struct cfi - all of an object's call frame information
 * @functions:		Sorted by start; none overlaps the next.
 * @num_functions:	Their number.
 * @room_functions:	How many @functions has room for.
 * @rows:		The rows of all functions.
 * @num_rows:		Their number.
 * @room_rows:		How many @rows has room for.
 * @max_rows:		How many rows to read at most.
 * @empty:		Number of entries of length 0, which are left out.
 * @repeated:		Number of .debug_frame entries for code that .eh_frame describes;
 *			left out.
 * @error:		Why reading ended early.
 */
struct cfi {
	struct function	*functions;
	size_t		num_functions;
	size_t		room_functions;
	struct row	*rows;
	size_t		num_rows;
	size_t		room_rows;
	size_t		max_rows;
	size_t		empty;
	size_t		repeated;
	const char	*error;
};

void cfi_add_function(struct cfi *cfi, const struct function *function);
void cfi_add_row(struct cfi *cfi, const struct row *row);
void cfi_sort(struct cfi *cfi);
const struct function *cfi_find(const struct function *functions, size_t count, u64 address);
const struct row *cfi_row_at(const struct cfi *cfi, const struct function *function, u64 address);
void cfi_free(struct cfi *cfi);

#endif /* _SFRAME_CFI_H */
