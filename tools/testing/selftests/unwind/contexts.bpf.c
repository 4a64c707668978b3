// SPDX-License-Identifier: GPL-2.0
/* Programs that take the user stack where it does not exist or cannot be walked yet. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* Input: process whose exit or system call is traced */
__u32 tgid;

/* Outputs */
__u64 ips[64];
long bytes;
long samples;
long at_exit_id = 1;

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 64);
	__type(key, __u32);
	__uint(value_size, sizeof(ips));
} stacks SEC(".maps");

/* Starts the walk from kernel registers. */
SEC("?raw_tp/sched_process_exit")
int id_at_exit(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == tgid)
		at_exit_id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	return 0;
}

/* Takes the first stack only. */
SEC("?tp/syscalls/sys_enter_getppid")
int stack_at_getppid(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == tgid && !samples++)
		bytes = bpf_get_stack(ctx, ips, sizeof(ips), BPF_F_USER_STACK);
	return 0;
}

/*
 * Takes a part of its event's callchain.  The kernel must refuse to attach it to an event
 * that defers callchains.
 */
SEC("?perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	bytes = bpf_get_stack(ctx, ips, 2 * sizeof(*ips), BPF_F_USER_STACK);
	/* Let perf write the sample. */
	return 1;
}
