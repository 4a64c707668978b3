/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cache of the unwind tables of files: see kernel/unwind/file.c.
 */
#ifndef _LINUX_UNWIND_FILES_H
#define _LINUX_UNWIND_FILES_H

#include <linux/types.h>

struct super_block;

/**
 * struct unwind_private_files - the files whose tables only one process may use
 * @files:	The files.
 * @nr:		Number of @files.
 *
 * kernel/unwind/file.c changes this under a lock of its own.
 */
struct unwind_private_files {
	struct hlist_head	files;
	unsigned int		nr;
};

#ifdef CONFIG_UNWIND_USER_SFRAME
void unwind_forget_super(struct super_block *sb);
#else
static inline void unwind_forget_super(struct super_block *sb) { }
#endif

#endif /* _LINUX_UNWIND_FILES_H */
