/* SPDX-License-Identifier: GPL-2.0 */
/* Another hash than the kernel's: the order of rules in a table does not depend on it. */
#ifndef _SFRAME_LINUX_JHASH_H
#define _SFRAME_LINUX_JHASH_H

#include <linux/types.h>

static inline u32 jhash2(const u32 *words, u32 nr, u32 seed)
{
	u64 sum = seed;

	for (u32 i = 0; i < nr; i++) {
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15;
		sum ^= sum >> 32;
	}
	return sum;
}

#endif /* _SFRAME_LINUX_JHASH_H */
