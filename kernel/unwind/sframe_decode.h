/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_DECODE_H
#define _KERNEL_UNWIND_SFRAME_DECODE_H

#include <linux/types.h>

/**
 * struct sframe_reader - how the decoder reads a table
 * @read:	Copies @len bytes at the address @from to @to; returns 0, or
 *		-EFAULT when any of them cannot be read now.
 * @budget:	Table bytes that may still be read.  A caller that sets it once
 *		a walk bounds the time that a hostile table can cost.
 */
struct sframe_reader {
	int	(*read)(void *to, u64 from, size_t len);
	u32	budget;
};

/**
 * struct sframe_table - a table whose header has been checked
 * @start:	Address of the section.
 * @fdes:	Address of the first function descriptor.
 * @fres:	Address of the first row.
 * @fres_end:	First address behind the rows.
 * @text_start:	The code that the table may speak of ...
 * @text_end:	... and the first address behind it.
 * @num_fdes:	Number of function descriptors.
 * @pcrel:	Function starts count from their own address.
 */
struct sframe_table {
	u64	start;
	u64	fdes;
	u64	fres;
	u64	fres_end;
	u64	text_start;
	u64	text_end;
	u32	num_fdes;
	bool	pcrel;
};

/**
 * struct sframe_row - how to get from a frame to its caller's
 * @cfa_off:	The caller's stack pointer (CFA) is @cfa_off above the frame
 *		pointer where @cfa_fp, else above the stack pointer.
 * @ra_off:	The return address lies at CFA + @ra_off.
 * @fp_off:	The caller's frame pointer lies at CFA + @fp_off where
 *		@fp_saved; else it is still in its register.
 * @cfa_fp:	See @cfa_off.
 * @fp_saved:	See @fp_off.
 * @outermost:	There is no caller; the other fields mean nothing.
 */
struct sframe_row {
	s32	cfa_off;
	s32	ra_off;
	s32	fp_off;
	bool	cfa_fp;
	bool	fp_saved;
	bool	outermost;
};

int sframe_open(struct sframe_reader *reader, u64 start, u64 end,
		struct sframe_table *table);
int sframe_find_row(struct sframe_reader *reader,
		    const struct sframe_table *table, u64 ip,
		    struct sframe_row *row);

#endif /* _KERNEL_UNWIND_SFRAME_DECODE_H */
