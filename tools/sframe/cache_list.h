/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_CACHE_LIST_H
#define _TOOLS_SFRAME_CACHE_LIST_H

#include <stddef.h>

/**
 * struct file_list - ELF files, each once
 * @names:	Their names.
 * @count:	Their number.
 * @seen:	Tree of the identities of files and directories.
 * @root:	The directory that stands for "/", a real path, to be freed; NULL: "/".
 * @no_right:	What the caller may not read; told.
 * @failed:	What cannot be read for another reason; told.
 */
struct file_list {
	char		**names;
	size_t		count;
	void		*seen;
	char		*root;
	size_t		no_right;
	size_t		failed;
};

int list_set_root(struct file_list *list, const char *dir);
void list_add_file(struct file_list *list, const char *name);
void list_add_below(struct file_list *list, const char *name);
void list_add_tree(struct file_list *list, const char *dir);
void list_add_dir(struct file_list *list, const char *dir);
void list_add_system(struct file_list *list);
void list_add_running(struct file_list *list);
void list_free(struct file_list *list);

#endif /* _TOOLS_SFRAME_CACHE_LIST_H */
