/* SPDX-License-Identifier: GPL-2.0 */
#define __fls(word)		(8 * sizeof(long) - 1 - __builtin_clzl(word))
