/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_DYNAMIC_H
#define _SFRAME_DOCTOR_DYNAMIC_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct dynamic - what an x86-64 program or library asks of the dynamic linker
 * @linker:		The dynamic linker (PT_INTERP); NULL if it names none.
 * @name:		Its own name (DT_SONAME), or NULL.
 * @rpath:		Where to look for its libraries, and for theirs, or NULL.
 * @runpath:		Where to look for its libraries, or NULL.
 * @no_default:		Not to look in the default directories.
 * @needed:		The libraries that it needs, in order.
 * @num_needed:		Their number.
 */
struct dynamic {
	char	*linker;
	char	*name;
	char	*rpath;
	char	*runpath;
	bool	no_default;
	char	**needed;
	size_t	num_needed;
};

bool dynamic_read(struct dynamic *dynamic, int fd, size_t *room);
void dynamic_free(struct dynamic *dynamic);

#endif /* _SFRAME_DOCTOR_DYNAMIC_H */
