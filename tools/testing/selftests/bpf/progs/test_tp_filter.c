// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* inputs */
int verdict_a = 0;
int verdict_b = 0;
/* the process whose hits are counted */
int watched = 0;

/* outputs */
__u64 hits_a = 0;
__u64 hits_b = 0;

static void count(__u64 *hits)
{
	if (bpf_get_current_pid_tgid() >> 32 == watched)
		__sync_fetch_and_add(hits, 1);
}

static int filter_a(void)
{
	count(&hits_a);
	return verdict_a;
}

static int filter_b(void)
{
	count(&hits_b);
	return verdict_b;
}

/* One tracepoint of each kind: a system call's, and one whose record a macro builds. */
SEC("tp/syscalls/sys_enter_getpgid")
int enter_a(void *ctx)
{
	return filter_a();
}

SEC("tp/syscalls/sys_enter_getpgid")
int enter_b(void *ctx)
{
	return filter_b();
}

SEC("tp/syscalls/sys_exit_getpgid")
int exit_a(void *ctx)
{
	return filter_a();
}

SEC("tp/syscalls/sys_exit_getpgid")
int exit_b(void *ctx)
{
	return filter_b();
}

SEC("tp/task/task_rename")
int rename_a(void *ctx)
{
	return filter_a();
}

SEC("tp/task/task_rename")
int rename_b(void *ctx)
{
	return filter_b();
}

SEC("tp/sched/sched_wakeup")
int wakeup_a(void *ctx)
{
	return filter_a();
}
