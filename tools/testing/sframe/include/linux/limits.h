/* SPDX-License-Identifier: GPL-2.0 */
#include_next <linux/limits.h>

#ifndef _SFRAME_TEST_LINUX_LIMITS_H
#define _SFRAME_TEST_LINUX_LIMITS_H

#define U32_MAX 0xffffffffU

#endif /* _SFRAME_TEST_LINUX_LIMITS_H */
