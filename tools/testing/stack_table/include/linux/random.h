/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/types.h>

u64 get_random_u64(void);
#define get_random_u32()		((u32)get_random_u64())

/* Seed of all random numbers */
extern u64 shim_seed;
