// SPDX-License-Identifier: GPL-2.0
/*
 * Takes stacks on request: a thread calls getpgid() with its slot as first argument,
 * and MAP_MAGIC and the flags of bpf_get_stackid() as the second, which getpgid()
 * does not read. What came of it stands in results[slot] before the system call
 * itself runs.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <asm/unistd.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "map_take.h"

char _license[] SEC("license") = "GPL";

/* The tests set entries, depth and flags before they load it. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

/* What sample() stored, for a thread that deletes it. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 4096);
	__type(value, __u32);
} sampled SEC(".maps");

/* Inputs: whom sample() and nested() are about. */
const volatile __u32 tgid;

/* Outputs */
struct map_result results[MAP_SLOTS];
__u64 samples, samples_lost, samples_error;
__u64 nested_runs;

/* State: what nested() overwrites; nobody reads it. */
__u64 nested_stack[64];

SEC("raw_tp/sys_enter")
int take(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	struct map_result *result;
	__u64 slot, request;

	if (ctx->args[1] != __NR_getpgid)
		return 0;
	if (bpf_probe_read_kernel(&request, sizeof(request), &PT_REGS_PARM2_SYSCALL(regs)) ||
	    request >> 32 != MAP_MAGIC)
		return 0;
	if (bpf_probe_read_kernel(&slot, sizeof(slot), &PT_REGS_PARM1_SYSCALL(regs)) ||
	    slot >= MAP_SLOTS)
		return 0;
	result = &results[slot];
	result->id = bpf_get_stackid(ctx, &stacks, (__u32)request);
	result->calls++;
	return 0;
}

/*
 * By timer interrupt, amidst whatever the process does. Skips one frame, and so never
 * is a stack that take() stores.
 */
SEC("?perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	__u32 key;
	long id;

	if (bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | 1);
	if (id == -14) {
		/* A stack of one frame. */
		return 0;
	}
	__sync_fetch_and_add(&samples, 1);
	if (id < 0) {
		__sync_fetch_and_add(&samples_error, 1);
		return 0;
	}
	key = id;
	if (bpf_map_push_elem(&sampled, &key, 0))
		__sync_fetch_and_add(&samples_lost, 1);
	return 0;
}

/* In the midst of an insertion: walks another stack in the same context. */
SEC("?kprobe.multi")
int nested(struct pt_regs *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	bpf_get_stack(ctx, nested_stack, sizeof(nested_stack), 0);
	__sync_fetch_and_add(&nested_runs, 1);
	return 0;
}
