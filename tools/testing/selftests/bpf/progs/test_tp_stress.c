// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

struct rename_args {
	unsigned long long header;
	int pid;
	char oldcomm[16];
	char newcomm[16];
	short oom_score_adj;
};

struct enter_args {
	unsigned long long header;
	int nr;
	long long args[6];
};

/* Verdict of a program.  Programs disagree; some read the record and some do not. */
static int verdict(void)
{
	return bpf_get_prandom_u32() % 3;
}

SEC("tp/task/task_rename")
int rename(struct rename_args *ctx)
{
	__u32 key = (__u32)ctx->pid % 128;
	__u64 value = ctx->newcomm[0];

	if (bpf_map_update_elem(&seen, &key, &value, BPF_ANY))
		bpf_map_delete_elem(&seen, &key);
	return verdict();
}

SEC("tp/task/task_rename")
int rename_blind(void *ctx)
{
	return verdict();
}

SEC("tp/sched/sched_switch")
int sched_switch(void *ctx)
{
	__u32 key = bpf_get_smp_processor_id();
	__u64 one = 1;

	bpf_map_update_elem(&seen, &key, &one, BPF_ANY);
	return verdict();
}

SEC("tp/syscalls/sys_enter_getpgid")
int enter_call(struct enter_args *ctx)
{
	return verdict() + ctx->nr * 0;
}

SEC("tp/syscalls/sys_exit_getpgid")
int exit_call(void *ctx)
{
	return verdict();
}

/* This program may sleep. */
SEC("tp/syscalls/sys_enter_access")
int enter_access(struct enter_args *ctx)
{
	char path[64];

	return bpf_copy_from_user(path, sizeof(path), (void *)ctx->args[0]) ? 0 : verdict();
}

SEC("tp/syscalls/sys_enter_access")
int enter_access_plain(struct enter_args *ctx)
{
	char path[64];

	return bpf_probe_read_user(path, sizeof(path), (void *)ctx->args[0]) ? 0 : verdict();
}
