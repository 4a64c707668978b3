// SPDX-License-Identifier: GPL-2.0
/*
 * Time off the CPU by who waited where and who woke it up from where.
 *
 * Raw tracepoints, and tasks known by the address of their task_struct: so it needs
 * no type information of the kernel, and no system call of a map's reader keeps it
 * from running.
 */
#include <linux/bpf.h>
#include <errno.h>
#include <bpf/bpf_helpers.h>

#include "offwaketime.h"

char _license[] SEC("license") = "GPL";

#define TASK_DEAD	0x80

struct task {
	/* 0: not blocked */
	__u64			since;
	/* Seen leaving the CPU, and of a process that nobody asked for */
	__u64			ignored;
	struct interval_key	key;
};

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

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
	__type(key, struct interval_key);
	__type(value, struct interval_sum);
} sums SEC(".maps");

/* Inputs */
const volatile __u32 only_tgid;
const volatile __u32 own_tgid;
const volatile __u64 min_ns;

/* Outputs */
__u64 losses[LOSSES];
/* Were about to wait, and stayed runnable: a signal or the wakeup came first. */
__u64 not_blocked;

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
	bpf_get_current_comm(who->comm, sizeof(who->comm));
	who->tgid = bpf_get_current_pid_tgid() >> 32;
	who->stacks.kernel = stack_id(ctx, 0);
	who->stacks.user = stack_id(ctx, BPF_F_USER_STACK);
}

static __always_inline void forget_waker(struct who *waker)
{
	__builtin_memset(waker, 0, sizeof(*waker));
	waker->tgid = (__u32)-1;
	waker->stacks.kernel = NO_STACK;
	waker->stacks.user = NO_STACK;
}

static __always_inline struct task *get_task(__u64 address)
{
	struct task *task = bpf_map_lookup_elem(&tasks, &address);
	static struct task none;

	if (task)
		return task;
	forget_waker(&none.key.waker);
	bpf_map_update_elem(&tasks, &address, &none, BPF_NOEXIST);
	task = bpf_map_lookup_elem(&tasks, &address);
	if (!task)
		count(LOST_TASK);
	return task;
}

/* The current task, which is about to leave the CPU. */
static __always_inline void switch_out(void *ctx, __u64 address, __u64 state,
				       __u64 now)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct task *task;

	/* Tasks of idle CPUs have the number 0. */
	if (!tgid)
		return;
	task = get_task(address);
	if (!task)
		return;
	task->ignored = tgid == own_tgid || (only_tgid && tgid != only_tgid);
	if (task->ignored || !state || state & TASK_DEAD)
		return;
	/* The waker may already be in there: it does not wait for this tracepoint. */
	fill(&task->key.target, ctx);
	task->since = now;
}

/* And the one that comes. */
static __always_inline void switch_in(__u64 address, __u64 now)
{
	static const struct interval_sum nothing;
	struct interval_sum *sum;
	struct task *task;
	__u64 ns;

	task = bpf_map_lookup_elem(&tasks, &address);
	if (!task || !task->since)
		return;
	ns = now - task->since;
	task->since = 0;
	if (task->key.waker.tgid == (__u32)-1) {
		/* Nobody is woken up unseen. */
		__sync_fetch_and_add(&not_blocked, 1);
	} else if (ns >= min_ns) {
		sum = bpf_map_lookup_elem(&sums, &task->key);
		if (!sum) {
			bpf_map_update_elem(&sums, &task->key, &nothing, BPF_NOEXIST);
			sum = bpf_map_lookup_elem(&sums, &task->key);
		}
		if (sum) {
			__sync_fetch_and_add(&sum->ns, ns);
			__sync_fetch_and_add(&sum->count, 1);
		} else {
			count(LOST_SUM);
		}
	}
	forget_waker(&task->key.waker);
}

/*
 * struct task_struct *task; the waker is the current one. Attached before on_switch(),
 * so that nobody is woken up unseen.
 */
SEC("raw_tp/sched_waking")
int on_waking(struct bpf_raw_tracepoint_args *ctx)
{
	struct task *task = get_task(ctx->args[0]);

	if (task && !task->ignored)
		fill(&task->key.waker, ctx);
	return 0;
}

/* bool preempt, struct task_struct *prev, *next, unsigned int prev_state */
SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 now = bpf_ktime_get_ns();

	/* A preempted task waits for nobody. */
	switch_out(ctx, ctx->args[1], ctx->args[0] ? 0 : (__u32)ctx->args[3], now);
	switch_in(ctx->args[2], now);
	return 0;
}

/* struct task_struct *task: its address may be another's next. */
SEC("raw_tp/sched_process_free")
int on_free(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 address = ctx->args[0];

	bpf_map_delete_elem(&tasks, &address);
	return 0;
}
