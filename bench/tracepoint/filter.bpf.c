// SPDX-License-Identifier: GPL-2.0
/*
 * Programs at the same three places, one for each way to run a program there. They return
 * `verdict`; those named *_strings also fetch two strings, the old and the new name.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* 0 or 1, set before the program is loaded */
const volatile int verdict = 0;

/* The layout of task:task_rename, up to the names. */
struct rename {
	long common;
	int pid;
	char oldcomm[16];
	char newcomm[16];
};

char names[2][16];

SEC("tp/task/task_rename")
int tp_rename(void *ctx)
{
	return verdict;
}

SEC("tp/syscalls/sys_enter_getpgid")
int tp_getpgid(void *ctx)
{
	return verdict;
}

SEC("tp/sched/sched_switch")
int tp_switch(void *ctx)
{
	return verdict;
}

SEC("tp/task/task_rename")
int tp_rename_strings(struct rename *ctx)
{
	bpf_probe_read_kernel_str(names[0], sizeof(names[0]), ctx->oldcomm);
	bpf_probe_read_kernel_str(names[1], sizeof(names[1]), ctx->newcomm);
	return verdict;
}

SEC("kprobe/__set_task_comm")
int kprobe_rename(struct pt_regs *ctx)
{
	return verdict;
}

SEC("kprobe/__x64_sys_getpgid")
int kprobe_getpgid(struct pt_regs *ctx)
{
	return verdict;
}

SEC("kprobe/__set_task_comm")
int kprobe_rename_strings(struct pt_regs *ctx)
{
	bpf_get_current_comm(names[0], sizeof(names[0]));
	bpf_probe_read_kernel_str(names[1], sizeof(names[1]), (void *)PT_REGS_PARM2(ctx));
	return verdict;
}

SEC("raw_tp/task_rename")
int raw_tp_rename(void *ctx)
{
	return verdict;
}

SEC("raw_tp/sched_switch")
int raw_tp_switch(void *ctx)
{
	return verdict;
}
