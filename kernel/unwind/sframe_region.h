/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a region has to be before it is looked at; the numbers are a user's.  Pure
 * code: compiles in user space for tests.
 */
#ifndef _KERNEL_UNWIND_SFRAME_REGION_H
#define _KERNEL_UNWIND_SFRAME_REGION_H

#include <linux/types.h>

#include <uapi/linux/sframe.h>

/* Whether [start, start + size) holds something and ends at @limit at the latest. */
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
