/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_MINMAX_H
#define _SFRAME_TEST_LINUX_MINMAX_H

#define min_t(type, a, b) ({			\
	type __a = (a), __b = (b);		\
	__a < __b ? __a : __b;			\
})

#define min(a, b) min_t(__typeof__(a), a, b)

#endif /* _SFRAME_TEST_LINUX_MINMAX_H */
