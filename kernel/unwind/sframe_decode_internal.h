/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that sframe_decode.c takes from outside.  tools/testing/sframe has headers of
 * these names for the build in user space.
 */
#ifndef _KERNEL_UNWIND_SFRAME_DECODE_INTERNAL_H
#define _KERNEL_UNWIND_SFRAME_DECODE_INTERNAL_H

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#endif /* _KERNEL_UNWIND_SFRAME_DECODE_INTERNAL_H */
