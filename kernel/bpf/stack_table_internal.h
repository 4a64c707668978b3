/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Includes everything that stack_table.c and stack_pool.c need from the kernel.
 * tools/testing has headers with the same names for the build in user space.
 */
#ifndef _BPF_STACK_TABLE_INTERNAL_H
#define _BPF_STACK_TABLE_INTERNAL_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/bpf.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/gfp_types.h>
#include <linux/irq_work.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/workqueue.h>

/* Stands before a loop over the cells of a line, which then takes no instructions of a loop. */
#if defined(__clang__)
#define stack_unrolled	_Pragma("clang loop unroll(full)")
#elif __GNUC__ >= 8
#define stack_unrolled	_Pragma("GCC unroll 8")
#else
#define stack_unrolled
#endif

#endif /* _BPF_STACK_TABLE_INTERNAL_H */
