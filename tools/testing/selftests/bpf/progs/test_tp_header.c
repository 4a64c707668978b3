// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* The first fields in the format file of each tracepoint. */
struct header {
	__u16 common_type;
	__u8 common_flags;
	__u8 common_preempt_count;
	__s32 common_pid;
};

/* input: whose hits */
int watched = 0;

/* outputs: of the last one */
__u32 common_type = 0;
__u32 common_flags = 0;
__u32 common_preempt_count = 0;
__s32 common_pid = 0;
__u64 hits = 0;
long stack_bytes = 0;
__u64 stack[32];

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next SEC(".maps");

static int read_header(const struct header *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != watched)
		return 1;
	common_type = ctx->common_type;
	common_flags = ctx->common_flags;
	common_preempt_count = ctx->common_preempt_count;
	common_pid = ctx->common_pid;
	/* The registers from which this walk starts are stored next to the header. */
	stack_bytes = bpf_get_stack((void *)ctx, stack, sizeof(stack), 0);
	hits++;
	return 1;
}

SEC("tp/syscalls/sys_enter_getpgid")
int enter_call(struct header *ctx)
{
	return read_header(ctx);
}

SEC("tp/syscalls/sys_exit_getpgid")
int exit_call(struct header *ctx)
{
	return read_header(ctx);
}

SEC("tp/task/task_rename")
int rename_task(struct header *ctx)
{
	return read_header(ctx);
}

/* This program reads nothing itself. */
SEC("tp/task/task_rename")
int jump(struct header *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 1;
}
