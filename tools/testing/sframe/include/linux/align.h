/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_ALIGN_H
#define _SFRAME_TEST_LINUX_ALIGN_H

#define IS_ALIGNED(value, to) (!((value) & ((to) - 1)))

#endif /* _SFRAME_TEST_LINUX_ALIGN_H */
