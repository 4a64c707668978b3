// SPDX-License-Identifier: GPL-2.0
/* Take the current task's user stack where the task may have none. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "task_stack.h"

#define PF_EXITING	0x00000004
#define PF_USER_WORKER	0x00004000
#define PF_KTHREAD	0x00200000

char _license[] SEC("license") = "GPL";

struct task_struct {
	unsigned int flags;
	void *mm;
} __attribute__((preserve_access_index));

/* Input: process whose exit is traced */
__u32 tgid;

/* Outputs */
__u64 ips[TASK_STACK_FRAMES];
long at_exit_bytes = -1;
__u64 walks[TASK_STACK_KINDS];
__u64 frames[TASK_STACK_KINDS];
__u64 errors[TASK_STACK_KINDS];

/* Stacks of the next task in a switch: kernel frames, errors, and refused user stacks */
__u64 next_frames, next_errors, next_refused;

/* Number of stack ids and build ids, by kind of task */
__u64 ids[TASK_STACK_KINDS];
__u64 build_ids[TASK_STACK_KINDS];

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__uint(value_size, TASK_STACK_FRAMES * sizeof(__u64));
} stacks SEC(".maps");

/* State: buffers for the stacks of a switch, which no test reads */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[TASK_STACK_FRAMES]);
} scratch SEC(".maps");

static enum task_stack_kind kind_of(const struct task_struct *task)
{
	if (task->flags & PF_KTHREAD)
		return task->mm ? KTHREAD_WITH_MM : KTHREAD;
	if (task->flags & PF_USER_WORKER)
		return USER_WORKER;
	if (!task->mm)
		return WITHOUT_MM;
	return task->flags & PF_EXITING ? EXITING : ORDINARY;
}

SEC("?tp_btf/sched_process_exit")
int at_exit(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (bpf_get_current_pid_tgid() >> 32 == tgid && !task->mm)
		at_exit_bytes = bpf_get_task_stack(task, ips, sizeof(ips), BPF_F_USER_STACK);
	return 0;
}

SEC("?tp_btf/sched_switch")
int at_switch(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum task_stack_kind kind = kind_of(task);
	__u32 zero = 0;
	long bytes;
	void *to;

	to = bpf_map_lookup_elem(&scratch, &zero);
	if (!to || kind >= TASK_STACK_KINDS)
		return 0;
	bytes = bpf_get_task_stack(task, to, TASK_STACK_FRAMES * sizeof(__u64),
				   BPF_F_USER_STACK);
	__sync_fetch_and_add(&walks[kind], 1);
	if (bytes < 0)
		__sync_fetch_and_add(&errors[kind], 1);
	else
		__sync_fetch_and_add(&frames[kind], bytes / sizeof(__u64));

	if (bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | BPF_F_REUSE_STACKID) >= 0)
		__sync_fetch_and_add(&ids[kind], 1);
	if (bpf_get_task_stack(task, to, TASK_STACK_FRAMES * sizeof(__u64),
			       BPF_F_USER_STACK | BPF_F_USER_BUILD_ID) >= 0)
		__sync_fetch_and_add(&build_ids[kind], 1);

	/* preempt, prev, next, prev_state */
	task = (struct task_struct *)ctx[2];
	bytes = bpf_get_task_stack(task, to, TASK_STACK_FRAMES * sizeof(__u64), 0);
	if (bytes < 0)
		__sync_fetch_and_add(&next_errors, 1);
	else
		__sync_fetch_and_add(&next_frames, bytes / sizeof(__u64));
	if (bpf_get_task_stack(task, to, TASK_STACK_FRAMES * sizeof(__u64),
			       BPF_F_USER_STACK) < 0)
		__sync_fetch_and_add(&next_refused, 1);
	return 0;
}
