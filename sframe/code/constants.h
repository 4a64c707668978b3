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
 * @count:	Their number.
 * @at:		The values, sorted; those that are not used are zero.
 */
struct constants {
	u32	count;
	s64	at[MAX_CONSTANTS];
};

/**
 * struct constant_sets - all that was found in registers, each once
 * @sets:	They.
 * @num_sets:	Their number.
 * @room_sets:	How many @sets has room for.
 * @hash:	Their indexes by what is in them; all bits set where none is.
 * @hash_size:	A power of two, or 0.
 */
struct constant_sets {
	struct constants	*sets;
	size_t			num_sets;
	size_t			room_sets;
	u32			*hash;
	size_t			hash_size;
};

bool constants_join(struct constants *constants, const struct constants *other);
bool constants_find(struct constant_sets *sets, const struct constants *constants, u32 *index);
void constants_free(struct constant_sets *sets);

#endif /* _SFRAME_CODE_CONSTANTS_H */
