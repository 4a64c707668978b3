/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_BUILD_BUG_H
#define _SFRAME_TEST_LINUX_BUILD_BUG_H

#undef static_assert
#define static_assert(condition) _Static_assert(condition, #condition)

#endif /* _SFRAME_TEST_LINUX_BUILD_BUG_H */
