/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads ELF objects: see object.c.
 */
#ifndef _KERNEL_UNWIND_OBJECT_H
#define _KERNEL_UNWIND_OBJECT_H

#include <linux/types.h>

struct elf64_phdr;
struct file;
struct mem_cgroup;

/* ld writes a dozen program headers. */
#define UNWIND_MAX_PHDRS	64

/**
 * struct unwind_object - an ELF object
 * @file:	The file, or NULL for an object in the kernel's memory.
 * @image:	Address of the object in memory, if @file is NULL.
 * @size:	Size of the file or of @image in bytes.
 * @memcg:	The memory cgroup that is charged for its tables; NULL for none.
 */
struct unwind_object {
	struct file	*file;
	const void	*image;
	u64		size;
	struct mem_cgroup *memcg;
};

/**
 * struct unwind_place - where the table of an object is
 * @file:	The file that contains the table, with a reference; NULL for a table in the
 *		object's image.
 * @offset:	Offset of the table in @file or in the image.
 * @size:	Size of the table in bytes.
 * @vaddr:	Address of the table in the object's address space.
 * @private_rules: As in struct unwind_table_source.
 */
struct unwind_place {
	struct file	*file;
	u64		offset;
	u64		size;
	u64		vaddr;
	bool		private_rules;
};

int unwind_file_read(struct file *file, void *to, u64 from, u64 len);
int unwind_object_read(const struct unwind_object *object, void *to, u64 from, u64 len);
int unwind_object_read_phdrs(const struct unwind_object *object, struct elf64_phdr *phdrs,
			     unsigned int *nr);
int unwind_object_find_table(const struct unwind_object *object,
			     const struct elf64_phdr *phdrs, unsigned int nr_phdrs,
			     struct unwind_place *place);

#endif /* _KERNEL_UNWIND_OBJECT_H */
