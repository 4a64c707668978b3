// SPDX-License-Identifier: GPL-2.0
/* Time off the CPU, by who waited where and who woke it up from where. */
#include <linux/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "offwaketime.h"

char _license[] SEC("license") = "GPL";

/* Values of task_struct's state */
#define TASK_UNINTERRUPTIBLE	0x02
#define TASK_DEAD		0x80
#define TASK_NOLOAD		0x400
/* Interruptible, stopped, traced, parked */
#define TASK_PLAIN		0x4d

struct mm_struct {
	struct file *exe_file;
	unsigned long start_stack;
	unsigned long exec_vm;
} __attribute__((preserve_access_index));

struct task_struct {
	struct mm_struct *mm;
} __attribute__((preserve_access_index));

struct task {
	/* When it was blocked; 0 if it is not */
	__u64		since;
	/* Left the CPU last as one that a filter leaves out */
	bool		ignored;
	bool		woken;
	struct pair	pair;
};

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, DEPTH * sizeof(__u64));
} stacks SEC(".maps");

/*
 * By the address of the task_struct. Task storage cannot be created in an interrupt that
 * comes while the task uses its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct pair);
	__type(value, __u64);
} sums SEC(".maps");

/* The images of which the tool got a note, once each */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct image);
	__type(value, bool);
} noted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} notes SEC(".maps");

/* Inputs */
const volatile __u32 only_tgid, only_tid, only_states, own_tgid;
const volatile __u64 min_ns = 1000, max_ns = -1;
const volatile bool kernel_only;

/* Outputs */
__u64 losses[LOSSES];

/* Of name_kernel_stack(): addresses in, names out */
__u64 ips[DEPTH];
char names[DEPTH][NAME_LEN];

static __always_inline void count(enum loss loss)
{
	__sync_fetch_and_add(&losses[loss], 1);
}

static __always_inline __s32 stack_id(void *ctx, __u64 flags)
{
	long id = bpf_get_stackid(ctx, &stacks, flags);

	if (id >= 0)
		return id;
	if (id == -EFAULT)
		return NO_STACK;
	count(id == -EEXIST ? LOST_EEXIST : id == -ENOMEM ? LOST_ENOMEM : LOST_OTHER);
	return LOST_STACK;
}

static __always_inline void fill(struct who *who, void *ctx)
{
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;
	struct note note = {
		.image = { (__u64)mm->exe_file, mm->start_stack, mm->exec_vm },
		.tgid = bpf_get_current_pid_tgid() >> 32,
	};
	const bool yes = true;

	bpf_get_current_comm(who->comm, sizeof(who->comm));
	who->kernel = stack_id(ctx, 0);
	who->user = kernel_only ? NO_STACK : stack_id(ctx, BPF_F_USER_STACK);
	who->image = note.image;
	/* It may be gone when its frames are named: the tool opens its files now. */
	if (who->user < 0 || bpf_map_lookup_elem(&noted, &note.image))
		return;
	bpf_map_update_elem(&noted, &note.image, &yes, BPF_ANY);
	if (bpf_ringbuf_output(&notes, &note, sizeof(note), 0))
		count(LOST_NOTE);
}

static __always_inline struct task *get_task(__u64 address)
{
	static const struct task none;
	struct task *task = bpf_map_lookup_elem(&tasks, &address);

	if (task)
		return task;
	bpf_map_update_elem(&tasks, &address, &none, BPF_NOEXIST);
	task = bpf_map_lookup_elem(&tasks, &address);
	if (!task)
		count(LOST_TASK);
	return task;
}

/* States are told apart as ps does. */
static __always_inline bool is_wanted(__u32 state)
{
	__u32 bit = state & TASK_PLAIN;

	if (!bit)
		bit = state & TASK_NOLOAD ?: TASK_UNINTERRUPTIBLE;
	return !only_states || only_states & bit;
}

static __always_inline void switch_in(struct task *task, __u64 now)
{
	__u64 nothing = 0, ns = now - task->since, *sum;

	/* If nobody woke it up, a signal came first and it stayed runnable. */
	if (task->since && task->woken && ns >= min_ns && ns <= max_ns) {
		bpf_map_update_elem(&sums, &task->pair, &nothing, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&sums, &task->pair);
		if (sum)
			__sync_fetch_and_add(sum, ns);
		else
			count(LOST_SUM);
	}
	task->since = 0;
	task->woken = false;
}

/* The current task wakes @woken up. Attached before on_switch(). */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *woken)
{
	struct task *task = get_task((__u64)woken);

	if (task && !task->ignored) {
		fill(&task->pair.waker, ctx);
		task->woken = true;
	}
	return 0;
}

/* @prev is still the current task. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int state)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, tid = bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns(), address = (__u64)next;
	struct task *task;

	/* Idle tasks have the number 0. */
	task = tgid ? get_task((__u64)prev) : NULL;
	if (task) {
		task->ignored = tgid == own_tgid || (only_tgid && tgid != only_tgid) ||
				(only_tid && tid != only_tid);
		/* A preempted task waits for nobody. */
		if (!task->ignored && !preempt && state && !(state & TASK_DEAD) &&
		    is_wanted(state)) {
			/* A waker may have filled in its part: it does not wait for this. */
			fill(&task->pair.target, ctx);
			task->since = now;
		}
	}
	task = bpf_map_lookup_elem(&tasks, &address);
	if (task)
		switch_in(task, now);
	return 0;
}

/* Another task may get its address next. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *freed)
{
	__u64 address = (__u64)freed;

	bpf_map_delete_elem(&tasks, &address);
	return 0;
}

/*
 * The kernel itself names its functions, those of modules and BPF programs included:
 * libdwfl needs a vmlinux with symbols, which few machines have.
 */
SEC("syscall")
int name_kernel_stack(void *ctx)
{
	/* All but the innermost are return addresses, after the call. */
	for (int i = 0; i < DEPTH && ips[i]; i++)
		BPF_SNPRINTF(names[i], NAME_LEN, "%ps", (void *)(ips[i] - (i > 0)));
	return 0;
}
