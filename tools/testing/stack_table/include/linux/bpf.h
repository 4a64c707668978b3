/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include <linux/types.h>

struct bpf_map;
void *bpf_map_kvcalloc(struct bpf_map *map, size_t n, size_t size, gfp_t gfp);
void *bpf_map_area_alloc(u64 size, int node);
void bpf_map_area_free(void *mem);

/* Makes bpf_map_kvcalloc() fail. */
extern bool shim_no_memory;
