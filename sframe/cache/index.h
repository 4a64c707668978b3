/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_INDEX_H
#define _SFRAME_CACHE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/sframe_file.h"

#define CACHE_INDEX	"index.v4"

/**
 * struct index - the tables of a directory
 * @entries:	Their build-ids and layouts.  As in the file: sorted, each once.
 * @count:	Their number.
 * @owner:	Who owns the file, if the index was read.
 */
struct index {
	struct sframe_index_entry *entries;
	size_t	count;
	uid_t	owner;
};

/* Called for a file that is not in the index, with the reason. */
typedef void index_fn(const char *path, const char *reason);

int index_make(struct index *index, const char *dir, index_fn *left_out);
int index_update(const char *dir, index_fn *left_out, size_t *count);
const char *index_error(int error);
const char *index_read(struct index *index, const char *dir);
bool index_equal(const struct index *a, const struct index *b);
bool index_has(const struct index *index, const u8 *id, u32 id_size,
	       const u8 layout[SFRAME_FILE_LAYOUT]);
void index_free(struct index *index);

#endif /* _SFRAME_CACHE_INDEX_H */
