/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_IDENTITY_H
#define _SFRAME_IDENTITY_H

#include <sys/stat.h>
#include <sys/types.h>

/* Identifies a file, whatever its name. */
struct identity {
	dev_t	device;
	ino_t	inode;
};

static inline struct identity identity_of(const struct stat *st)
{
	return (struct identity){ .device = st->st_dev, .inode = st->st_ino };
}

/* For tsearch() and its kin, of structures that begin with an identity. */
static inline int compare_identity(const void *left, const void *right)
{
	const struct identity *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return 0;
}

#endif /* _SFRAME_IDENTITY_H */
