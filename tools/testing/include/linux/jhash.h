/* SPDX-License-Identifier: GPL-2.0 */
/* The hash of 32-bit words in lookup3.c, by Bob Jenkins, 2006, in the public domain. */
#ifndef _TESTING_LINUX_JHASH_H
#define _TESTING_LINUX_JHASH_H

#include <linux/bitops.h>
#include <linux/types.h>

#define JHASH_INITVAL		0xdeadbeef

#define jhash_turn(x, y, z, by)	((x) -= (z), (x) ^= rol32(z, by), (z) += (y))
#define __jhash_mix(a, b, c)						\
	(jhash_turn(a, b, c, 4), jhash_turn(b, c, a, 6), jhash_turn(c, a, b, 8), \
	 jhash_turn(a, b, c, 16), jhash_turn(b, c, a, 19), jhash_turn(c, a, b, 4))

#define jhash_cut(x, y, by)	((x) ^= (y), (x) -= rol32(y, by))
#define __jhash_final(a, b, c)						\
	(jhash_cut(c, b, 14), jhash_cut(a, c, 11), jhash_cut(b, a, 25),	\
	 jhash_cut(c, b, 16), jhash_cut(a, c, 4), jhash_cut(b, a, 14), jhash_cut(c, b, 24))

static inline u32 jhash2(const u32 *words, u32 nr, u32 seed)
{
	u32 start = JHASH_INITVAL + 4 * nr + seed, sum[3] = { start, start, start };

	for (u32 i = 0; i < nr; i++) {
		if (i && i % 3 == 0)
			__jhash_mix(sum[0], sum[1], sum[2]);
		sum[i % 3] += words[i];
	}
	if (nr)
		__jhash_final(sum[0], sum[1], sum[2]);
	return sum[2];
}

#endif /* _TESTING_LINUX_JHASH_H */
