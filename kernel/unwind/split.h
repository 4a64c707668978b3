/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables in files of their own: see split.c.
 */
#ifndef _KERNEL_UNWIND_SPLIT_H
#define _KERNEL_UNWIND_SPLIT_H

#include <linux/errno.h>
#include <linux/types.h>

struct elf64_phdr;
struct file;

/**
 * struct unwind_place - where the table of an object is
 * @file:	The file that has it.
 * @offset:	Of the table in @file.
 * @size:	Its bytes.
 * @vaddr:	Where it lies among the object's own addresses.
 */
struct unwind_place {
	struct file	*file;
	u64		offset;
	u64		size;
	u64		vaddr;
};

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
