// SPDX-License-Identifier: GPL-2.0
/* Programs that take the user stack of each getppid(): see scale.c. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define DEPTH	64

char LICENSE[] SEC("license") = "GPL";

struct frames {
	__u64 ips[DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1 << 17);
	__type(key, __u32);
	__type(value, struct frames);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frames);
} frames SEC(".maps");

/* Number of stacks that were not stored, and the frames of a walk */
struct {
	unsigned long lost;
	unsigned long depth;
} counts;

SEC("tp/syscalls/sys_enter_getppid")
int walk(void *ctx)
{
	__u32 zero = 0;
	void *to = bpf_map_lookup_elem(&frames, &zero);
	long len = 0;

	if (to)
		len = bpf_get_stack(ctx, to, DEPTH * sizeof(__u64), BPF_F_USER_STACK);
	/* All CPUs would share the cache line. */
	if (!bpf_get_smp_processor_id())
		counts.depth = len / sizeof(__u64);
	return 0;
}

SEC("tp/syscalls/sys_enter_getppid")
int store(void *ctx)
{
	if (bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK) < 0)
		__sync_fetch_and_add(&counts.lost, 1);
	return 0;
}
