/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_TRUST_H
#define _TOOLS_SFRAME_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>

/**
 * is_trusted() - whether a file is one to take a table from
 * @st:		What the open file is.
 * @uid:	The effective user of the process that gets the table.
 *
 * A table that others can write is as good as what they want profiles to say.
 * libsframe-audit.so asks, and whoever fills a cache or reads it: a table that is
 * of no use has to be made again.
 *
 * Return: whether nobody but root and that user can have written it.
 */
static inline bool is_trusted(const struct stat *st, uid_t uid)
{
	return S_ISREG(st->st_mode) && !(st->st_mode & 022) &&
	       (!st->st_uid || st->st_uid == uid);
}

#endif /* _TOOLS_SFRAME_TRUST_H */
