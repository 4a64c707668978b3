/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_LDCACHE_H
#define _SFRAME_DOCTOR_LDCACHE_H

#include <stddef.h>

/**
 * struct ldcache - the dynamic linker's list of libraries
 * @bytes:	The file, with a zero after its end; NULL if there is none.
 * @size:	Its size.
 */
struct ldcache {
	char	*bytes;
	size_t	size;
};

void ldcache_read(struct ldcache *cache, const char *name);
const char *ldcache_find(const struct ldcache *cache, const char *name,
			 const char * const *levels);
void ldcache_free(struct ldcache *cache);

#endif /* _SFRAME_DOCTOR_LDCACHE_H */
