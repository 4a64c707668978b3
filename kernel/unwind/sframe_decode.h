/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_DECODE_H
#define _KERNEL_UNWIND_SFRAME_DECODE_H

#include <linux/types.h>

/**
 * struct sframe_reader - how the decoder reads a table
 * @read:	Copies @len bytes at the address @from to @to; returns 0, or
 *		-EFAULT when any of them cannot be read now.
 * @budget:	Rows that may still be passed.  A caller that sets it once a walk
 *		bounds the time that a hostile table can cost.
 * @direct:	What @read reads is the current task's user memory, and loads from
 *		it in place, by unsafe_get_user(), may be tried here.
 */
struct sframe_reader {
	int	(*read)(void *to, u64 from, size_t len);
	u32	budget;
	bool	direct;
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
 * @version:	Of the format.
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
	u8	version;
	bool	pcrel;
};

/*
 * What a rule counts from: a register by its DWARF number on x86-64, the CFA, or
 * nothing.  The decoder passes no other number on.
 */
enum sframe_base {
	SFRAME_BASE_FP		= 6,
	SFRAME_BASE_SP		= 7,
	SFRAME_BASE_R15		= 15,	/* the last register of this sort */
	SFRAME_BASE_CFA,
	SFRAME_BASE_SAME,		/* the register has not been touched */
	SFRAME_BASE_UNKNOWN,		/* a register that cannot be known */
};

/**
 * struct sframe_rule - how a register of the caller is found
 * @offset:	What is added to the base.
 * @base:	enum sframe_base.
 * @deref:	1: the value is the word at base + @offset; 0: the sum itself.
 *
 * Eight bytes without a hole: it is stored at once.
 */
struct sframe_rule {
	s32	offset;
	u16	base;
	u16	deref;
};

/**
 * struct sframe_row - how to get from a frame to its caller's
 * @cfa:	The caller's stack pointer; not from the CFA.
 * @ra:		The return address; never SFRAME_BASE_SAME.
 * @fp:		The caller's frame pointer.
 * @outermost:	There is no caller; the rules mean nothing.
 * @signal:	The frame is a signal's: its caller was interrupted at the
 *		return address, perhaps on another stack.
 * @plain:	No more than most rows say: @cfa counts from SP or FP, the return
 *		address is the word below it, @fp is kept or saved in the frame.
 *
 * 32 bytes, as an array of them is indexed for each frame.
 */
struct sframe_row {
	struct sframe_rule	cfa;
	struct sframe_rule	ra;
	struct sframe_rule	fp;
	bool			outermost;
	bool			signal;
	bool			plain;
} __aligned(8);

struct sframe_preamble;

int sframe_check_preamble(const struct sframe_preamble *preamble);
int sframe_open(struct sframe_reader *reader, u64 start, u64 end,
		struct sframe_table *table);
int __sframe_find_row(struct sframe_reader *reader,
		      const struct sframe_table *table, u64 ip,
		      struct sframe_row *row);
int sframe_find_row(struct sframe_reader *reader,
		    const struct sframe_table *table, u64 ip,
		    struct sframe_row *row);

#endif /* _KERNEL_UNWIND_SFRAME_DECODE_H */
