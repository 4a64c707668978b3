/* SPDX-License-Identifier: GPL-2.0-only */
/* All CPUs share one set of counters, as the tests check only the sums. */
#include <stdlib.h>

#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define alloc_percpu_gfp(type, gfp)	((void)(gfp), (type *)calloc(1, sizeof(type)))
#define free_percpu(p)			free(p)
#define per_cpu_ptr(p, cpu)		((p) + (cpu))
#define this_cpu_inc(x)			((void)__atomic_fetch_add(&(x), 1, __ATOMIC_RELAXED))
