/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cache of the unwind tables of files, shared by all processes: see file.c.
 */
#ifndef _KERNEL_UNWIND_FILE_H
#define _KERNEL_UNWIND_FILE_H

#include <linux/types.h>

#include "load.h"

struct file;
struct unwind_file;
struct unwind_private_files;

struct unwind_file *unwind_file_get(struct file *file, struct unwind_private_files *reader,
				    unsigned long start, unsigned long end);
struct unwind_file *unwind_file_get_image(const void *image, size_t size);
void unwind_file_put(struct unwind_file *uf);
int unwind_file_state(const struct unwind_file *uf);
bool unwind_file_is_outdated(const struct unwind_file *uf);
int unwind_file_wait(struct unwind_file *uf, long *left);
bool unwind_file_is_usable(const struct unwind_file *uf, struct file *file);
void unwind_file_take(struct unwind_file *uf);
void unwind_file_done(struct unwind_file *uf);
void unwind_file_unmapped(struct unwind_private_files *reader, unsigned long start,
			  unsigned long end);
int unwind_file_find(struct unwind_file *uf, u64 offset, u64 size, struct unwind_part *part);

#endif /* _KERNEL_UNWIND_FILE_H */
