/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Split tables: SFrame tables in separate files, found by build-id.  See split.c.
 */
#ifndef _KERNEL_UNWIND_SPLIT_H
#define _KERNEL_UNWIND_SPLIT_H

#include <linux/errno.h>
#include <linux/types.h>

#include "object.h"

#ifdef CONFIG_UNWIND_USER_SPLIT
int unwind_split_find(struct file *object, const struct elf64_phdr *phdrs,
		      unsigned int nr_phdrs, struct unwind_place *place);
#else
static inline int unwind_split_find(struct file *object, const struct elf64_phdr *phdrs,
				    unsigned int nr_phdrs, struct unwind_place *place)
{
	return -ENOENT;
}
#endif

#endif /* _KERNEL_UNWIND_SPLIT_H */
