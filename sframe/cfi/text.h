/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CFI_TEXT_H
#define _SFRAME_CFI_TEXT_H

#include "cfi/object.h"

/*
 * Functions are aligned to this.  The kernel takes a shorter gap before a function for
 * alignment (table_is_padding() in its table.c): the row before the gap holds there.
 */
#define CODE_ALIGNMENT	16

/**
 * struct range - addresses that belong together
 * @start:	The first one.
 * @end:	The end, exclusive.
 * @offset:	Where in the file @start is.
 */
struct range {
	u64	start;
	u64	end;
	u64	offset;
};

/**
 * struct ranges - an array of ranges
 * @at:		The ranges; the caller frees them.
 * @count:	Their number.
 * @room:	How many @at has room for.
 */
struct ranges {
	struct range	*at;
	size_t		count;
	size_t		room;
};

void range_add(struct ranges *to, u64 start, u64 size, u64 offset);
void ranges_sort(struct ranges *ranges);
u64 ranges_size(const struct ranges *ranges);
void text_find(const struct object *obj, struct ranges *text);
u64 text_size(const struct object *obj);

#endif /* _SFRAME_CFI_TEXT_H */
