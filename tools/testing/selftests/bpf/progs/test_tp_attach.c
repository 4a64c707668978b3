// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

#define MAX_COOKIE	128

/* input: whose hits are counted */
int watched = 0;

/* output: hits by cookie */
__u64 hits[MAX_COOKIE] = {};

SEC("tp/syscalls/sys_enter_getpgid")
int count_by_cookie(void *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	if (bpf_get_current_pid_tgid() >> 32 == watched && cookie < MAX_COOKIE)
		__sync_fetch_and_add(&hits[cookie], 1);
	return 1;
}
