/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_STACKMAP_H
#define _BPF_STACKMAP_H

#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "stack_table.h"

/* Frames of a value, whatever the sysctl says. */
#define STACK_MAP_MAX_DEPTH	2048U

/* Stacks that a map of build ids knows by their addresses. */
#define STACK_MAP_RECENT	1024U

/**
 * struct bpf_stack_map - a map of type BPF_MAP_TYPE_STACK_TRACE
 * @map:	The map.
 * @table:	Its stacks.
 * @recent:	With build ids: {half of the hash of the addresses:32, id:32} of stacks,
 *		by the other half.
 * @sweep:	Number of keys that were deleted in order, and whether one of them was
 *		no stack's id, see stack_map_is_swept().
 * @reserved:	perf_callchain_unreserve() is due.
 */
struct bpf_stack_map {
	struct bpf_map map;
	struct bpf_stack_table table;
	atomic64_t *recent;
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

/* Frames that a walk for @map is to give; one more tells of a deeper stack. */
static inline u32 stack_map_max_depth(struct bpf_map *map, u64 flags)
{
	u32 depth = stack_map_use_build_id(map) ?
		    map->value_size / sizeof(struct bpf_stack_build_id) :
		    map->value_size / sizeof(u64);
	u32 limit = max_t(u32, depth, READ_ONCE(sysctl_perf_event_max_stack));

	return min_t(u32, depth + (flags & BPF_F_SKIP_FIELD_MASK), limit);
}

/* A kfunc: declared for those who check that all global functions are. */
int bpf_stack_map_copy(void *p__map, u32 id, void *dst, u32 dst__sz);

void bpf_stackmap_show_fdinfo(const struct bpf_map *map, struct seq_file *m);

#endif /* _BPF_STACKMAP_H */
