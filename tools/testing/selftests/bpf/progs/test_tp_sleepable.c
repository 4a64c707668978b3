// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>
#include <string.h>

char _license[] SEC("license") = "GPL";

#define PATH_MAX	64

/* inputs: process whose hits count, and return value of the programs for them */
int watched = 0;
int verdict = 0;
int plain_verdict = 0;

/* outputs; each error is that of the program's last hit */
int hits = 0;
int exit_hits = 0;
int plain_hits = 0;
int plain_order = 0;
long err = 0;
long plain_err = 0;
long ret = 0;
unsigned short type = 0;
__u64 cookies = 0;
char path[PATH_MAX] = {};
char exit_path[PATH_MAX] = {};
char plain_path[PATH_MAX] = {};
long stack = 0;
/* Number of times that the task was switched out while it copied */
int switches = 0;

static const char *path_arg;
static bool copies;
static __u64 frames[16];

struct enter_args {
	unsigned short common_type;
	unsigned char common_flags;
	unsigned char common_preempt_count;
	int common_pid;
	int nr;
	long long args[6];
};

struct exit_args {
	unsigned long long header;
	int nr;
	long ret;
};

static bool is_watched(void)
{
	return bpf_get_current_pid_tgid() >> 32 == watched;
}

/* Read the path that a task passes to access(2). */
SEC("tp/syscalls/sys_enter_access")
int enter_sleepable(struct enter_args *ctx)
{
	if (!is_watched())
		return 1;
	path_arg = (const char *)ctx->args[0];
	copies = true;
	err = bpf_copy_from_user(path, sizeof(path), path_arg);
	copies = false;
	type = ctx->common_type;
	cookies += bpf_get_attach_cookie(ctx);
	stack = bpf_get_stack(ctx, frames, sizeof(frames), BPF_F_USER_STACK);
	__sync_fetch_and_add(&hits, 1);
	return verdict;
}

SEC("tp/syscalls/sys_exit_access")
int exit_sleepable(struct exit_args *ctx)
{
	if (!is_watched())
		return 1;
	err = bpf_copy_from_user(exit_path, sizeof(exit_path), path_arg);
	ret = ctx->ret;
	__sync_fetch_and_add(&exit_hits, 1);
	return verdict;
}

SEC("tp/syscalls/sys_enter_access")
int enter_plain(struct enter_args *ctx)
{
	if (!is_watched())
		return 1;
	plain_err = bpf_probe_read_user(plain_path, sizeof(plain_path), (void *)ctx->args[0]);
	plain_order = hits;
	__sync_fetch_and_add(&plain_hits, 1);
	return plain_verdict;
}

struct switch_args {
	unsigned long long header;
	char prev_comm[16];
	int prev_pid;
};

SEC("tp/sched/sched_switch")
int switch_plain(struct switch_args *ctx)
{
	if (copies && ctx->prev_pid == watched)
		switches++;
	return 1;
}

/* A tracepoint where no program may sleep. */
SEC("tp/sched/sched_switch")
int switch_sleepable(void *ctx)
{
	return 1;
}
