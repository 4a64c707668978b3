// SPDX-License-Identifier: GPL-2.0
/* Programs that are attached to a tracepoint's program that does not read the record. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

struct rename {
	__u64 common;
	__s32 pid;
};

/* input: task whose hits count; output: pid in the record if it is the right one */
__s32 self = 0;
__s32 pid = 0;

SEC("freplace/reads_nothing")
int replacement(struct rename *ctx __arg_ctx)
{
	__s32 found = ctx->pid;

	if (found == self)
		pid = found;
	return 1;
}

SEC("fentry/reads_nothing_either")
int before(__u64 *args)
{
	struct rename record = {};

	bpf_probe_read_kernel(&record, sizeof(record), (void *)args[0]);
	if (record.pid == self)
		pid = record.pid;
	return 0;
}
