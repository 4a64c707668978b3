/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_UNCOVERED_H
#define _SFRAME_UNCOVERED_H

#include "table/sframe_table.h"

/**
 * struct uncovered - how much of an object's text has no row
 * @text:	The text in bytes, without padding between functions.
 * @bytes:	How much of it no function of the table describes.
 * @framed:	An estimate of how much of @bytes keeps frame pointers.
 */
struct uncovered {
	u64	text;
	u64	bytes;
	u64	framed;
};

void uncovered_count(const struct object *obj, const struct table *table,
		     struct uncovered *uncovered);
void uncovered_add(struct uncovered *to, const struct uncovered *from);
double uncovered_percent(const struct uncovered *uncovered);
bool uncovered_is_possible(const struct uncovered *uncovered);
bool uncovered_is_framed(const struct uncovered *uncovered);

#endif /* _SFRAME_UNCOVERED_H */
