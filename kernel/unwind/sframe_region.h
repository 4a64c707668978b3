/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Range checks for a struct sframe_region that a program passes to prctl().  This file has
 * no dependencies, so that tests compile it in user space.
 */
#ifndef _KERNEL_UNWIND_SFRAME_REGION_H
#define _KERNEL_UNWIND_SFRAME_REGION_H

#include <linux/types.h>

#include <uapi/linux/sframe.h>

/* Whether [start, start + size) is not empty and does not end after @limit. */
static inline bool sframe_range_valid(u64 start, u64 size, u64 limit)
{
	return size && size <= limit && start <= limit - size;
}

static inline bool sframe_region_valid(const struct sframe_region *region,
				       u64 limit)
{
	return sframe_range_valid(region->sframe_start, region->sframe_size,
				  limit) &&
	       sframe_range_valid(region->text_start, region->text_size, limit);
}

#endif /* _KERNEL_UNWIND_SFRAME_REGION_H */
