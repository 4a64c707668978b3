// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>
#include <errno.h>

char _license[] SEC("license") = "GPL";

#define NAME_MAX	64

/* input: whose exec counts */
int watched = 0;

/* outputs */
int execs = 0;
int blind_execs = 0;
int err = 0;
int flags_err = 0;
int beyond_err = 0;
int common_err = 0;
int blind_err = 0;
int write_err = 0;
__u32 size = 0;
bool is_null = false;
bool in_place = false;
bool same = false;
char name[NAME_MAX] = {};

extern int bpf_dynptr_from_data_loc(__u32 data_loc, __u64 flags,
				    struct bpf_dynptr *ptr__uninit) __ksym;
extern bool bpf_dynptr_is_null(const struct bpf_dynptr *ptr) __ksym;
extern __u32 bpf_dynptr_size(const struct bpf_dynptr *ptr) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *ptr, __u32 offset, void *buffer,
			      __u32 buffer__szk) __ksym;

struct exec_args {
	unsigned long long header;
	__u32 filename_loc;
	int pid;
	int old_pid;
};

static bool is_watched(void)
{
	return bpf_get_current_pid_tgid() >> 32 == watched;
}

SEC("tp/sched/sched_process_exec")
int read_name(struct exec_args *ctx)
{
	__u32 loc = ctx->filename_loc;
	struct bpf_dynptr ptr, none;
	char probed[8] = {};
	const char *slice;

	if (!is_watched())
		return 1;
	execs++;
	err = bpf_dynptr_from_data_loc(loc, 0, &ptr);
	size = bpf_dynptr_size(&ptr);
	slice = bpf_dynptr_slice(&ptr, 0, NULL, sizeof(probed));
	bpf_probe_read_kernel(probed, sizeof(probed), (void *)ctx + (loc & 0xffff));
	in_place = slice;
	same = slice && *(__u64 *)slice == *(__u64 *)probed;
	if (size <= sizeof(name))
		bpf_dynptr_read(name, size, &ptr, 0, 0);
	write_err = bpf_dynptr_write(&ptr, 0, probed, 1, 0);

	flags_err = bpf_dynptr_from_data_loc(loc, 1, &none);
	is_null = bpf_dynptr_is_null(&none);
	return 1;
}

SEC("tp/sched/sched_process_exec")
int read_beyond(struct exec_args *ctx)
{
	struct bpf_dynptr beyond, common;

	if (!is_watched())
		return 1;
	beyond_err = bpf_dynptr_from_data_loc(ctx->filename_loc + (0x1000 << 16), 0, &beyond);
	common_err = bpf_dynptr_from_data_loc(1 << 16 | 4, 0, &common);
	return 1;
}

/* This program never reads its context. */
SEC("tp/sched/sched_process_exec")
int read_blind(void *ctx)
{
	struct bpf_dynptr ptr;

	if (!is_watched())
		return 1;
	blind_execs++;
	/* The process that called exec. */
	blind_err = bpf_dynptr_from_data_loc(4 << 16 | 12, 0, &ptr);
	return 1;
}

/* Not a program on a tracepoint, so the verifier must refuse the call. */
SEC("?kprobe/do_nanosleep")
int kprobe_reads(void *ctx)
{
	struct bpf_dynptr ptr;

	return bpf_dynptr_from_data_loc(4 << 16 | 12, 0, &ptr);
}

SEC("?perf_event")
int perf_event_reads(void *ctx)
{
	struct bpf_dynptr ptr;

	return bpf_dynptr_from_data_loc(4 << 16 | 12, 0, &ptr);
}
