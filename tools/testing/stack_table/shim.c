// SPDX-License-Identifier: GPL-2.0-only
/* CPUs, memory and random numbers for the headers in include/ */
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>
#include <linux/random.h>
#include <linux/smp.h>

u32 shim_cpus = 2;
__thread u32 shim_cpu;
u64 shim_seed = 1;
bool shim_no_memory;

void *bpf_map_area_alloc(u64 size, int node)
{
	void *mem;

	(void)node;
	if (posix_memalign(&mem, 64, size))
		abort();
	return memset(mem, 0, size);
}

void bpf_map_area_free(void *mem)
{
	free(mem);
}

void *bpf_map_kvcalloc(struct bpf_map *map, size_t n, size_t size, gfp_t gfp)
{
	(void)map;
	return shim_no_memory ? NULL : bpf_map_area_alloc(n * size, gfp);
}

u64 get_random_u64(void)
{
	/* splitmix64 */
	u64 z = shim_seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}
