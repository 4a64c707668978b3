/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loads the tables of an ELF object as segments: see load.c.
 */
#ifndef _KERNEL_UNWIND_LOAD_H
#define _KERNEL_UNWIND_LOAD_H

#include <linux/types.h>

#include "object.h"
#include "segment.h"

/* Maximum number of executable segments of an object.  ld makes one. */
#define UNWIND_MAX_PARTS	8

/**
 * struct unwind_part - a stretch of a file that contains code
 * @offset:	Offset of its first byte in the file.
 * @size:	Its size in the file.
 * @segment:	Its rows; NULL if the file's table does not cover it.
 */
struct unwind_part {
	u64			offset;
	u64			size;
	struct unwind_segment	*segment;
};

int unwind_load_parts(const struct unwind_object *object, struct unwind_part *parts);
void unwind_free_parts(struct unwind_part *parts, unsigned int nr);

#endif /* _KERNEL_UNWIND_LOAD_H */
