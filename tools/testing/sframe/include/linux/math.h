/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_MATH_H
#define _SFRAME_TEST_LINUX_MATH_H

#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))

#endif /* _SFRAME_TEST_LINUX_MATH_H */
