/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Includes everything that table.c needs from the kernel.  tools/testing has headers with the
 * same names for the build in user space.
 */
#ifndef _KERNEL_UNWIND_TABLE_INTERNAL_H
#define _KERNEL_UNWIND_TABLE_INTERNAL_H

#include <linux/align.h>
#include <linux/err.h>
#include <linux/jhash.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#endif /* _KERNEL_UNWIND_TABLE_INTERNAL_H */
