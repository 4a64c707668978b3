/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_JHASH_H
#define _SFRAME_TEST_LINUX_JHASH_H

#include <linux/types.h>

/* Any hash will do. */
static inline u32 jhash2(const u32 *words, u32 len, u32 seed)
{
	u64 hash = seed;

	while (len--)
		hash = (hash ^ *words++) * 0x9e3779b97f4a7c15ull;
	return hash >> 32;
}

#endif /* _SFRAME_TEST_LINUX_JHASH_H */
