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

struct unwind_file *unwind_file_get(struct file *file, u64 reader, u64 offset);
struct unwind_file *unwind_file_get_image(const void *image, size_t size);
void unwind_file_put(struct unwind_file *uf);
int unwind_file_state(const struct unwind_file *uf);
bool unwind_file_is_outdated(const struct unwind_file *uf);
int unwind_file_wait(struct unwind_file *uf, long *left);
bool unwind_file_is_private(const struct unwind_file *uf);
void unwind_file_done(struct unwind_file *uf);
void unwind_file_unmapped(struct file *file, u64 reader, u64 start, u64 end);
int unwind_file_find(struct unwind_file *uf, u64 offset, struct unwind_part *part);

#endif /* _KERNEL_UNWIND_FILE_H */
