/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_COMPILER_H
#define _SFRAME_TEST_LINUX_COMPILER_H

#include <linux/types.h>

#endif /* _SFRAME_TEST_LINUX_COMPILER_H */
