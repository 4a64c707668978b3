/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_ERR_H
#define _SFRAME_TEST_LINUX_ERR_H

#include <errno.h>
#include <stdbool.h>

#define ERR_PTR(error)	((void *)(long)(error))
#define PTR_ERR(ptr)	((long)(ptr))
#define IS_ERR(ptr)	((unsigned long)(ptr) >= (unsigned long)-4095)

#endif /* _SFRAME_TEST_LINUX_ERR_H */
