/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_BITOPS_H
#define _SFRAME_TEST_LINUX_BITOPS_H

/* The number of the uppermost bit that is set in @word, which is not 0 */
static inline unsigned long __fls(unsigned long word)
{
	return 8 * sizeof(word) - 1 - __builtin_clzl(word);
}

#endif /* _SFRAME_TEST_LINUX_BITOPS_H */
