/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_LIST_H
#define _SFRAME_CACHE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct file_list - ELF files, each once
 * @names:	Their names.
 * @count:	Their number.
 * @seen:	Tree of the files and directories found so far, by device and inode.
 * @root:	The directory that stands for "/", without slashes at its end; NULL for "/"
 *		itself.  list_free() frees it.
 * @root_fd:	The same directory, open; only where @root is set.
 * @in_system:	list_add_system() is looking for files, all below @root.
 * @no_right:	How many the caller may not read; each was reported.
 * @failed:	How many could not be read for another reason; each was reported.
 */
struct file_list {
	char		**names;
	size_t		count;
	void		*seen;
	char		*root;
	int		root_fd;
	bool		in_system;
	size_t		no_right;
	size_t		failed;
};

int list_set_root(struct file_list *list, const char *dir);
void list_add_file(struct file_list *list, const char *name);
void list_add_below(struct file_list *list, const char *name);
void list_add_tree(struct file_list *list, const char *dir);
void list_add_dir(struct file_list *list, const char *dir);
void list_add_running(struct file_list *list);
void list_free(struct file_list *list);

#endif /* _SFRAME_CACHE_LIST_H */
