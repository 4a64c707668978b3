/* SPDX-License-Identifier: GPL-2.0 */
/* The number of the uppermost bit that is set in @word, which is not 0 */
#define __fls(word)		(8 * sizeof(long) - 1 - __builtin_clzl(word))
#define rol32(word, by)		((u32)(word) << (by) | (u32)(word) >> (32 - (by)))
