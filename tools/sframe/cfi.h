/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_CFI_H
#define _TOOLS_SFRAME_CFI_H

#include "object.h"
#include "rule.h"

/**
 * struct function - what one entry (FDE) of .eh_frame or .debug_frame describes
 * @start:		Its first address.
 * @size:		Its bytes.
 * @first_row:		Index of its first row.
 * @num_rows:		Rows, ascending; the first starts at 0.
 * @cause:		Why it has none, as far as that is known already.
 * @signal:		The frame of a signal handler's caller.
 * @debug:		From .debug_frame.
 */
struct function {
	u64		start;
	u64		size;
	size_t		first_row;
	u32		num_rows;
	enum cause	cause;
	bool		signal;
	bool		debug;
};

/**
 * struct cfi - all of an object's call frame information
 * @functions:		Sorted by start; none overlaps the next.
 * @num_functions:	Their number.
 * @room_functions:	How many there is room for.
 * @rows:		The rows of all of them.
 * @num_rows:		Their number.
 * @room_rows:		How many there is room for.
 * @max_rows:		The most that are read.
 * @empty:		Entries of no length, which are left out.
 * @repeated:		Entries of .debug_frame for what .eh_frame describes, too;
 *			left out.
 * @error:		Why the reading ended early.
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

bool cfi_read(const struct object *obj, struct cfi *cfi);
void cfi_free(struct cfi *cfi);

/* cfa.c */

/**
 * struct cfa_program - the instructions for one function
 * @initial:		Those of its CIE ...
 * @initial_end:	... and where they end.
 * @insns:		Its own ...
 * @insns_end:		... and where they end.
 * @code_align:		What distances of code are multiplied with.
 * @data_align:		What offsets are multiplied with.
 * @encoding:		That of addresses.
 * @budget:		Instruction bytes still allowed.
 */
struct cfa_program {
	const u8	*initial;
	const u8	*initial_end;
	const u8	*insns;
	const u8	*insns_end;
	u64		code_align;
	s64		data_align;
	u8		encoding;
	u64		*budget;
};

enum cause cfa_run(const struct cfa_program *program, u64 start, u64 size,
		   struct cfi *cfi);
void cfi_add_row(struct cfi *cfi, const struct row *row);

#endif /* _TOOLS_SFRAME_CFI_H */
