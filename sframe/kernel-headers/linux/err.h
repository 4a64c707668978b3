/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>

#define ERR_PTR(error)		((void *)(long)(error))
#define PTR_ERR(ptr)		((long)(ptr))
#define IS_ERR(ptr)		((unsigned long)(ptr) >= (unsigned long)-4095)
