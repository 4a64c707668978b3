// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* More than fits in a record */
#define PAYLOAD_SIZE	(128 << 10)

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, int);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, char[PAYLOAD_SIZE]);
} payload SEC(".maps");

/* inputs */
int my_tid = 0;
__u32 size = 0;

/* outputs */
long ret = 0;
__u64 hits = 0;

SEC("tp/syscalls/sys_enter_getpgid")
int output(void *ctx)
{
	__u64 len = size;
	int zero = 0;
	char *data;

	if ((__u32)bpf_get_current_pid_tgid() != my_tid)
		return 0;

	data = bpf_map_lookup_elem(&payload, &zero);
	if (!data || len > PAYLOAD_SIZE)
		return 0;
	ret = bpf_perf_event_output(ctx, &ring, 0, data, len);
	hits++;
	return 0;
}
