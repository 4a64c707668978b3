/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_CONSTANTS_H
#define _SFRAME_CODE_CONSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* A register with more is not known. */
#define MAX_CONSTANTS	32

/**
 * struct constants - the values that a register may have
 * @index:	Which one it is of struct constant_sets.
 * @count:	Their number.
 * @at:		The values, sorted.
 */
struct constants {
	u32	index;
	u32	count;
	s64	at[MAX_CONSTANTS];
};

/**
 * struct constant_sets - all that was found in registers, each once
 * @sets:	They.
 * @num_sets:	Their number.
 * @room_sets:	How many @sets has room for.
 * @tree:	A tree of them; see tsearch(3).
 * @low:	Address of the first byte of code.
 * @high:	The end of the last one.
 */
struct constant_sets {
	struct constants	**sets;
	size_t			num_sets;
	size_t			room_sets;
	void			*tree;
	s64			low;
	s64			high;
};

bool constants_join(struct constants *constants, const struct constants *other);
bool constants_find(struct constant_sets *sets, struct constants *constants);
void constants_free(struct constant_sets *sets);

#endif /* _SFRAME_CODE_CONSTANTS_H */
