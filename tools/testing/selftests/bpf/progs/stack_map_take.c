// SPDX-License-Identifier: GPL-2.0
/*
 * Take stacks on request.  A thread calls getpgid() with its slot as first argument, and
 * MAP_MAGIC and the flags of bpf_get_stackid() as the second, which getpgid() ignores.
 * The program stores the result in results[slot] before the system call itself runs.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <asm/unistd.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "stack_map_take.h"

char _license[] SEC("license") = "GPL";

/* Tests set the number of entries, the depth and the flags before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

/* Inputs: process whose stacks sample(), sample_nmi(), burst() and nested() take. */
const volatile __u32 tgid;
/* Number of stacks for burst() to take; it clears this when done. */
__u32 burst_wanted;
/* Number of frames that timed() does not copy of its walk */
__u32 walk_skip;

/* Outputs */
struct map_result results[MAP_SLOTS];
__u64 samples, samples_skipped, samples_error;
__u64 nmis;
__u64 burst_taken, burst_lost;
struct map_times times;
__u64 nested_runs;
/* Ids + 1 of stacks that the samples stored, for a thread that deletes them; 0 if empty. */
__u64 sampled[MAP_SAMPLED];

/* State: next index in sampled[], and scratch buffers of timed() and nested() */
__u64 sampled_next;
__u64 walked_stack[MAP_WALK];
__u64 nested_stack[64];

/*
 * The place for the result of a request, whose flags are returned as well, or NULL if
 * this system call is no request.
 */
static __always_inline struct map_result *
request_of(struct bpf_raw_tracepoint_args *ctx, __u64 *flags)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	__u64 slot, request;

	if (ctx->args[1] != __NR_getpgid)
		return NULL;
	if (bpf_probe_read_kernel(&request, sizeof(request), &PT_REGS_PARM2_SYSCALL(regs)) ||
	    request >> 32 != MAP_MAGIC)
		return NULL;
	if (bpf_probe_read_kernel(&slot, sizeof(slot), &PT_REGS_PARM1_SYSCALL(regs)) ||
	    slot >= MAP_SLOTS)
		return NULL;
	*flags = (__u32)request;
	return &results[slot];
}

SEC("?raw_tp/sys_enter")
int take(struct bpf_raw_tracepoint_args *ctx)
{
	struct map_result *result;
	__u64 flags;

	result = request_of(ctx, &flags);
	if (!result)
		return 0;
	result->id = bpf_get_stackid(ctx, &stacks, flags);
	result->calls++;
	return 0;
}

/* Take a stack as take() does, and measure its cost and that of a walk that copies nearly none. */
SEC("?raw_tp/sys_enter")
int timed(struct bpf_raw_tracepoint_args *ctx)
{
	struct map_result *result;
	__u64 flags, t0, t1, t2, t3;

	result = request_of(ctx, &flags);
	if (!result)
		return 0;
	t0 = bpf_ktime_get_ns();
	t1 = bpf_ktime_get_ns();
	result->id = bpf_get_stackid(ctx, &stacks, flags);
	t2 = bpf_ktime_get_ns();
	bpf_get_stack(ctx, walked_stack, 2 * sizeof(__u64),
		      BPF_F_USER_STACK | (walk_skip & BPF_F_SKIP_FIELD_MASK));
	t3 = bpf_ktime_get_ns();
	times.empty = t1 - t0;
	times.id = t2 - t1;
	times.walk = t3 - t2;
	result->calls++;
	return 0;
}

/*
 * In a timer interrupt: take many new stacks with interrupts off.  Each skips one more
 * frame than the last.
 */
SEC("?perf_event")
int burst(struct bpf_perf_event_data *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != tgid || !burst_wanted)
		return 0;
	for (__u32 skip = 0; skip < MAP_WALK && skip < burst_wanted; skip++) {
		if (bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | skip) < 0)
			burst_lost++;
		else
			burst_taken++;
	}
	burst_wanted = 0;
	return 0;
}

/*
 * Some frames are skipped, so these stacks differ from those that take() stores.  If
 * sampled[] is full, no stack is taken until the deleting thread catches up, so that they
 * do not fill the map.
 */
static __always_inline void store_sample(void *ctx, __u64 skip)
{
	__u64 at = __sync_fetch_and_add(&sampled_next, 1) % MAP_SAMPLED;
	long id;

	if (sampled[at]) {
		__sync_fetch_and_add(&samples_skipped, 1);
		return;
	}
	id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | skip);
	if (id == -14) {
		/* The stack has no more frames. */
		return;
	}
	__sync_fetch_and_add(&samples, 1);
	if (id < 0) {
		__sync_fetch_and_add(&samples_error, 1);
		return;
	}
	sampled[at] = id + 1;
}

/* In a timer interrupt, at any point of the process */
SEC("?perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == tgid)
		store_sample(ctx, 1);
	return 0;
}

/*
 * In an NMI, at any point.  An NMI may come before the kernel has saved the user
 * registers.  The walk then starts from those of the previous entry and may mix two
 * stacks.  The program therefore skips the frame by which readers recognise stacks.
 */
SEC("?raw_tp/nmi_handler")
int sample_nmi(struct bpf_raw_tracepoint_args *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	__sync_fetch_and_add(&nmis, 1);
	store_sample(ctx, 2);
	return 0;
}

/*
 * For an event whose records have callchains: call all helpers that read perf's
 * callchain, and let perf write the record.
 */
SEC("?perf_event")
int record(struct bpf_perf_event_data *ctx)
{
	long user, kernel;
	__u64 at;

	if (bpf_get_current_pid_tgid() >> 32 != tgid)
		return 1;
	user = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	kernel = bpf_get_stackid(ctx, &stacks, 0);
	/* Fewer frames than the stack has */
	bpf_get_stack(ctx, walked_stack, 2 * sizeof(__u64), BPF_F_USER_STACK);
	bpf_get_stack(ctx, walked_stack, 2 * sizeof(__u64), 0);
	at = __sync_fetch_and_add(&samples, 1) % MAP_SAMPLED;
	/* Samples in user mode have no kernel frames: -EFAULT. */
	if (user < 0 || (kernel < 0 && kernel != -14))
		__sync_fetch_and_add(&samples_error, 1);
	else
		sampled[at] = kernel < 0 ? 0 : kernel + 1;
	return 1;
}

/* In the middle of an insertion: walk another stack in the same context. */
SEC("?kprobe.multi")
int nested(struct pt_regs *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	bpf_get_stack(ctx, nested_stack, sizeof(nested_stack), 0);
	__sync_fetch_and_add(&nested_runs, 1);
	return 0;
}
