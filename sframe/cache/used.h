/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_USED_H
#define _SFRAME_CACHE_USED_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/list.h"

/**
 * struct used - the objects that need their tables
 * @keys:	A key of cache_key() for each, CACHE_KEY_SIZE bytes, sorted; "" for files
 *		that are no objects.
 * @count:	Their number.
 */
struct used {
	char	*keys;
	size_t	count;
};

int used_read(struct used *used, struct file_list *list, unsigned int workers,
	      unsigned int seconds);
bool used_has(const struct used *used, const char *key);
void used_free(struct used *used);

#endif /* _SFRAME_CACHE_USED_H */
