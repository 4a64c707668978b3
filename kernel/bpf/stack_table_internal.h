/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All names that stack_table.c and stack_pool.c take from the kernel.  The tests in
 * tools/testing/stack_table define the same guard and supply these names in user
 * space.
 */
#ifndef _BPF_STACK_TABLE_INTERNAL_H
#define _BPF_STACK_TABLE_INTERNAL_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/bpf.h>
#include <linux/container_of.h>
#include <linux/irq_work.h>
#include <linux/jhash.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#endif /* _BPF_STACK_TABLE_INTERNAL_H */
