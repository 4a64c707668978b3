/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/types.h>

extern u32 shim_cpus;
/* CPU that the thread plays */
extern __thread u32 shim_cpu;

#define num_possible_cpus()		(shim_cpus)
#define nr_cpu_ids			(shim_cpus)
#define raw_smp_processor_id()		(shim_cpu)
