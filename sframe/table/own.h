/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_OWN_TABLE_H
#define _SFRAME_OWN_TABLE_H

#include "table/sframe_table.h"

/* What the kernel reads of an object itself; it uses a larger table only if it is packed. */
#define OWN_MAX_TABLE	(32 << 10)
#define OWN_MAX_TEXT	(16ULL << 20)

/**
 * struct coverage - how much of .eh_frame a table describes
 * @functions:	Functions of .eh_frame that a table can describe.
 * @covered:	How many of them the table describes.
 */
struct coverage {
	size_t	functions;
	size_t	covered;
};

const char *own_read(const struct object *obj, struct table *table);
void own_compare(const struct table *table, const struct cfi *cfi, struct coverage *coverage);

#endif /* _SFRAME_OWN_TABLE_H */
