/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads ELF objects: see object.c.
 */
#ifndef _KERNEL_UNWIND_OBJECT_H
#define _KERNEL_UNWIND_OBJECT_H

#include <linux/buildid.h>
#include <linux/types.h>

struct address_space;

/* Maximum number of executable segments of an object.  ld makes one. */
#define UNWIND_MAX_CODE		8

/**
 * struct unwind_object - an ELF object
 * @mapping:	The page cache of its file; NULL for an object in the kernel's memory.
 * @image:	Address of the object in memory, if @mapping is NULL.
 * @size:	Size of the file or of @image in bytes.
 */
struct unwind_object {
	struct address_space	*mapping;
	const void		*image;
	u64			size;
};

/**
 * struct unwind_code - an executable segment of an object
 * @vaddr:	Address of the segment as linked.
 * @memory:	Its size in memory, in bytes.
 * @offset:	Offset of the segment in the file.
 * @size:	Its size in the file, in bytes.
 */
struct unwind_code {
	u64	vaddr;
	u64	memory;
	u64	offset;
	u64	size;
};

/**
 * struct unwind_layout - what the program headers say about an object
 * @code:	The executable segments.
 * @nr_code:	Number of segments in @code.
 * @eh_frame:	Address and size of .eh_frame_hdr; both 0 if there is none.
 * @table:	Offset, size and address of the table that the object carries; the size is 0 if
 *		there is none.
 * @id:		The build-id, with zeros after it.
 * @id_size:	Size of the build-id in bytes; 0 if there is none that a split table can have.
 */
struct unwind_layout {
	struct unwind_code	code[UNWIND_MAX_CODE];
	unsigned int		nr_code;
	struct {
		u64	vaddr;
		u64	size;
	} eh_frame;
	struct {
		u64	offset;
		u64	size;
		u64	vaddr;
	} table;
	u8			id[BUILD_ID_SIZE_MAX];
	u8			id_size;
};

int unwind_object_read(const struct unwind_object *object, void *to, u64 from, u64 len);
int unwind_object_parse(const struct unwind_object *object, struct unwind_layout *layout);

#endif /* _KERNEL_UNWIND_OBJECT_H */
