// SPDX-License-Identifier: GPL-2.0
/* Read stored stacks in a program, at each getpgid() of one process. */
#include <linux/bpf.h>
#include <asm/unistd.h>
#include <bpf/bpf_helpers.h>

#include "stack_map_take.h"

char _license[] SEC("license") = "GPL";

extern int bpf_stack_map_copy(void *p__map, __u32 id, void *dst, __u32 dst__sz) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 64);
	__type(key, __u32);
	__uint(value_size, KFUNC_DEPTH * sizeof(__u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} no_stacks SEC(".maps");

/* Inputs */
const volatile __u32 tgid;
/* The frame to look for */
__u64 wanted;
/* Id of the stack to read, or -1 for the stack taken now */
long wanted_id = -1;

/* Outputs */
long id;
/*
 * Return values for the whole stack, one frame, a size of no whole frame, and a map of
 * another type
 */
long whole, part, odd, other_map;
__u64 copy[KFUNC_DEPTH + 1], first[1];
__u64 matches, runs;

/* Arguments: registers, number of the system call */
SEC("tp_btf/sys_enter")
int filter(__u64 *ctx)
{
	if (ctx[1] != __NR_getpgid || bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	if (wanted_id >= 0)
		id = wanted_id;
	whole = bpf_stack_map_copy(&stacks, id, copy, sizeof(copy));
	part = bpf_stack_map_copy(&stacks, id, first, sizeof(first));
	odd = bpf_stack_map_copy(&stacks, id, copy, sizeof(copy) - 1);
	other_map = bpf_stack_map_copy(&no_stacks, id, copy, sizeof(copy));
	/* The use case: filter by one frame. */
	for (int i = 0; i < KFUNC_DEPTH; i++)
		matches += copy[i] == wanted;
	runs++;
	return 0;
}
