/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_USED_H
#define _SFRAME_CACHE_USED_H

#include <stdbool.h>
#include <stddef.h>

#include "cache_list.h"
#include "sframe_file.h"

/* A build-id as digits, with a zero after them. */
#define USED_MAX_DIGITS	(2 * SFRAME_FILE_MAX_ID)
#define USED_ID_SIZE	(USED_MAX_DIGITS + 1)

/**
 * struct used - the build-ids of objects that need their tables
 * @ids:	The build-ids, USED_ID_SIZE bytes each, sorted; "" for files without one.
 * @count:	Their number.
 */
struct used {
	char	*ids;
	size_t	count;
};

int used_read(struct used *used, struct file_list *list, unsigned int workers,
	      unsigned int seconds);
bool used_has(const struct used *used, const char *digits);
void used_free(struct used *used);

#endif /* _SFRAME_CACHE_USED_H */
