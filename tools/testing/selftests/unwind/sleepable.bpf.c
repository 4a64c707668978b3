// SPDX-License-Identifier: GPL-2.0
/*
 * Take the user stack at a probe, in a program that may fault and in one that may not; and in
 * an iterator that may sleep, but holds the mmap_lock of the task.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>

struct task_struct {
	int tgid;
} __attribute__((preserve_access_index));

struct bpf_iter__task_vma {
	struct task_struct *task;
} __attribute__((preserve_access_index));

char _license[] SEC("license") = "GPL";

/* Input */
const volatile __u32 tgid;

/* Outputs */
__u64 ips[160];
long bytes;
__u64 runs;

static __always_inline int take(struct pt_regs *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	bytes = bpf_get_stack(ctx, ips, sizeof(ips), BPF_F_USER_STACK);
	runs++;
	return 0;
}

SEC("?uprobe.s")
int faultable(struct pt_regs *ctx)
{
	return take(ctx);
}

SEC("?uprobe")
int at_once(struct pt_regs *ctx)
{
	return take(ctx);
}

/* Another thread may be the first; the mappings are the same. */
SEC("?iter.s/task_vma")
int iterates(struct bpf_iter__task_vma *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || task->tgid != tgid || runs)
		return 0;
	bytes = bpf_get_task_stack(bpf_get_current_task_btf(), ips, sizeof(ips), BPF_F_USER_STACK);
	runs++;
	return 0;
}
