/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_STACKMAP_H
#define _BPF_STACKMAP_H

#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "stack_table.h"

/* Maximum depth of a value, even if the sysctl allows fewer frames. */
#define STACK_MAP_MAX_DEPTH	2048U

/* Number of stacks that a map with build ids remembers by their addresses. */
#define STACK_MAP_RECENT	1024U

/**
 * struct bpf_stack_map - a map of type BPF_MAP_TYPE_STACK_TRACE
 * @map:	The generic map.
 * @table:	Table of the map's stacks.
 * @recent:	With build ids: {half of the hash of the addresses:32, id:32} of recent
 *		stacks, indexed by the other half of the hash.
 * @sweep:	Number of keys that have been deleted in order, see stack_map_sweep().
 * @passed:	Indexes of the stacks that this sweep has passed without deleting them.
 * @reserved:	Set if the map owes a perf_callchain_unreserve().
 */
struct bpf_stack_map {
	struct bpf_map map;
	struct bpf_stack_table table;
	atomic64_t *recent;
	unsigned long *passed;
	u32 sweep;
	bool reserved;
};

static inline struct bpf_stack_map *to_stack_map(struct bpf_map *map)
{
	return container_of(map, struct bpf_stack_map, map);
}

static inline bool stack_map_use_build_id(const struct bpf_map *map)
{
	return map->map_flags & BPF_F_STACK_BUILD_ID;
}

static inline int stack_map_data_size(const struct bpf_map *map)
{
	return stack_map_use_build_id(map) ?
		sizeof(struct bpf_stack_build_id) : sizeof(u64);
}

#ifdef CONFIG_PERF_EVENTS	/* syscall.c is built without, too. */
/*
 * Number of frames to walk for a value of @map, with the frames that @flags skips.
 * Callers that must detect deeper stacks walk one more frame.
 */
static inline u32 stack_map_max_depth(struct bpf_map *map, u64 flags)
{
	u32 depth = stack_map_use_build_id(map) ?
		    map->value_size / sizeof(struct bpf_stack_build_id) :
		    map->value_size / sizeof(u64);
	u32 limit = max_t(u32, depth, READ_ONCE(sysctl_perf_event_max_stack));

	return min_t(u32, depth + (flags & BPF_F_SKIP_FIELD_MASK), limit);
}
#endif

/* A kfunc, declared to avoid -Wmissing-prototypes warnings. */
int bpf_stack_map_copy(void *p__map, u32 id, void *dst, u32 dst__sz);

void bpf_stackmap_show_fdinfo(const struct bpf_map *map, struct seq_file *m);

#endif /* _BPF_STACKMAP_H */
