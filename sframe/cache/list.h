/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_LIST_H
#define _SFRAME_CACHE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/identity.h"

/**
 * struct left_out - a directory that is not walked
 * @dir:	Its name; "" if another file system was mounted on it.
 * @excluded:	The user excluded it.  If not, list_add_system() leaves it out.
 * @met:	A walk has come to it.
 */
struct left_out {
	char	*dir;
	bool	excluded;
	bool	met;
};

/**
 * struct file_list - ELF files, each once
 * @names:	Their names.
 * @count:	Their number.
 * @seen:	Tree of the files and directories found so far, by device and inode.
 * @root:	The directory that stands for "/", without slashes at its end; NULL for "/"
 *		itself.  list_free() frees it.
 * @root_fd:	The same directory, open; only where @root is set.
 * @left_out:	The directories to leave out.
 * @num_left_out: Their number.
 * @in_system:	list_add_system() is looking for files, all below @root.
 * @real:	While a walk goes on, the real name of its top directory; NULL if unknown.
 * @top_len:	The length of that directory's name; 0 for "/".
 * @no_right:	How many the caller may not read; each was reported.
 * @failed:	How many could not be read for another reason; each was reported.
 */
struct file_list {
	char		**names;
	size_t		count;
	void		*seen;
	char		*root;
	int		root_fd;
	struct left_out	*left_out;
	size_t		num_left_out;
	bool		in_system;
	char		*real;
	size_t		top_len;
	size_t		no_right;
	size_t		failed;
};

int list_set_root(struct file_list *list, const char *dir);
bool list_leads_outside(const struct file_list *list, const char *name);
void list_exclude(struct file_list *list, const char *dir);
void list_leave_out_remote(struct file_list *list);
void list_add_file(struct file_list *list, const char *name);
void list_add_known(struct file_list *list, const char *name, const struct identity *id);
void list_add_below(struct file_list *list, const char *name);
void list_add_tree(struct file_list *list, const char *dir);
void list_add_dir(struct file_list *list, const char *dir);
void list_add_running(struct file_list *list);
void list_free(struct file_list *list);

#endif /* _SFRAME_CACHE_LIST_H */
