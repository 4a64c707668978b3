/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of code that the kernel knows: see file.c.
 */
#ifndef _KERNEL_UNWIND_FILE_H
#define _KERNEL_UNWIND_FILE_H

#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "object.h"

struct sframe_cursor;
struct unwind_file;
struct vm_area_struct;

/**
 * enum unwind_look - why a task looks at its files
 * @UNWIND_LOOK_ONCE:	 For the walks to come.
 * @UNWIND_LOOK_AGAIN:	 A deferred walk waits for tables.
 * @UNWIND_LOOK_GIVE_UP: A deferred walk has waited too long: for a while, nobody waits for the
 *			 same tables.
 */
enum unwind_look {
	UNWIND_LOOK_ONCE,
	UNWIND_LOOK_AGAIN,
	UNWIND_LOOK_GIVE_UP,
};

/**
 * struct unwind_draft - a file that becomes known
 * @file:	The file; NULL if there is nothing to add.
 * @layout:	What its program headers say.
 * @table:	Copy of the table that it carries, or NULL.
 */
struct unwind_draft {
	struct unwind_file	*file;
	struct unwind_layout	layout;
	void			*table;
};

/* A file and its tables are not waited for until that time if it lies ahead. */
static inline bool unwind_is_worth_waiting(unsigned long *patience, enum unwind_look how)
{
	unsigned long now = jiffies;

	if (how == UNWIND_LOOK_GIVE_UP)
		WRITE_ONCE(*patience, now + HZ);
	return time_after_eq(now, READ_ONCE(*patience));
}

/* Whether nobody but the machine's root can have written @inode, if it tells the truth. */
static inline bool unwind_is_of_root(const struct inode *inode)
{
	return uid_eq(inode->i_uid, GLOBAL_ROOT_UID) && !(inode->i_mode & 0022) &&
	       inode->i_sb->s_user_ns == &init_user_ns;
}

int unwind_file_seek(struct sframe_cursor *cursor, unsigned long ip, unsigned long first,
		     unsigned long last);
bool unwind_file_is_unknown(const struct vm_area_struct *vma, enum unwind_look how);
int unwind_file_look(struct vm_area_struct *vma, enum unwind_look how,
		     struct unwind_draft *draft);
void unwind_file_add(struct unwind_draft *draft);

#endif /* _KERNEL_UNWIND_FILE_H */
