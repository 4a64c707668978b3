/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_CACHE_LIST_H
#define _TOOLS_SFRAME_CACHE_LIST_H

#include <stddef.h>

/**
 * struct file_list - ELF files, each once
 * @names:	Their names.
 * @count:	Their number.
 * @seen:	Tree of the files' identities.
 */
struct file_list {
	char	**names;
	size_t	count;
	void	*seen;
};

void list_add_named(struct file_list *list, const char *name);
void list_add_tree(struct file_list *list, const char *dir);
void list_add_running(struct file_list *list);
void list_free(struct file_list *list);

#endif /* _TOOLS_SFRAME_CACHE_LIST_H */
