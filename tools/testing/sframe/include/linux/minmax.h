/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_MINMAX_H
#define _SFRAME_TEST_LINUX_MINMAX_H

#define min_t(type, a, b) ({			\
	type __a = (a), __b = (b);		\
	__a < __b ? __a : __b;			\
})

#define max_t(type, a, b) ({			\
	type __c = (a), __d = (b);		\
	__c > __d ? __c : __d;			\
})

#define min(a, b) min_t(__typeof__(a), a, b)

#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)

#endif /* _SFRAME_TEST_LINUX_MINMAX_H */
