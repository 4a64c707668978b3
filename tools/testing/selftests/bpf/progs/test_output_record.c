// SPDX-License-Identifier: GPL-2.0
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "test_output_record.h"

char _license[] SEC("license") = "GPL";

/* libbpf needs a structure of this name, but not its fields. */
struct bpf_map {
	__u32 id;
};

extern int bpf_output_record(struct bpf_map *map, const struct record *rec,
			     __u32 rec__sz, struct bpf_map *stacks__nullable,
			     const struct bpf_dynptr *data__nullable) __ksym;
extern int bpf_dynptr_from_xdp(struct xdp_md *xdp, __u64 flags,
			       struct bpf_dynptr *ptr__uninit) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags,
			       struct bpf_dynptr *ptr__uninit) __ksym;
extern int bpf_dynptr_adjust(const struct bpf_dynptr *ptr, __u32 start, __u32 end) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, int);
	__type(value, int);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 64);
	__type(key, __u32);
	__uint(value_size, DEPTH * sizeof(__u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(map_flags, BPF_F_STACK_BUILD_ID);
	__uint(max_entries, 64);
	__type(key, __u32);
	__uint(value_size, DEPTH * sizeof(struct bpf_stack_build_id));
} build_ids SEC(".maps");

/* Memory that a program passes to bpf_output_record(): the structure and the first piece. */
struct head {
	struct record rec;
	char bytes[HEAD_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, struct head);
} heads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, char[DATA_MAX]);
} payload SEC(".maps");

/* Inputs */
int my_tid = 0;
__u32 head_size = 0, data_size = 0, packet_from = 0;
int to = 0, stacks_map = 0;
bool with_data = false, store = false, empty_dynptr = false;

/* Outputs */
long ret = 0;
__u64 hits = 0;
long kernel_id = 0, user_id = 0;
/* Frames that bpf_get_stack() returns in the same hit, and their size */
__u64 kernel_frames[DEPTH], user_frames[DEPTH];
long kernel_bytes = 0, user_bytes = 0;

static __always_inline long output(struct head *head, struct bpf_dynptr *data)
{
	const struct record *rec = &head->rec;
	__u32 size = sizeof(head->rec) + head_size;

	if (size > sizeof(*head))
		return 1;
	if (to == TO_RINGBUF)
		return bpf_output_record((void *)&ring, rec, size, (void *)&stacks, data);
	if (to == TO_ARRAY)
		return bpf_output_record((void *)&heads, rec, size, NULL, data);
	if (stacks_map == STACKS_BUILD_ID)
		return bpf_output_record((void *)&events, rec, size, (void *)&build_ids,
					 data);
	if (stacks_map == STACKS_ARRAY)
		return bpf_output_record((void *)&events, rec, size, (void *)&heads, data);
	if (stacks_map == STACKS_NONE)
		return bpf_output_record((void *)&events, rec, size, NULL, data);
	return bpf_output_record((void *)&events, rec, size, (void *)&stacks, data);
}

SEC("tp/syscalls/sys_enter_getpgid")
int output_mem(void *ctx)
{
	struct bpf_dynptr data;
	struct head *head;
	__u32 size = data_size;
	int zero = 0;
	char *bytes;

	if ((__u32)bpf_get_current_pid_tgid() != my_tid)
		return 0;
	head = bpf_map_lookup_elem(&heads, &zero);
	bytes = bpf_map_lookup_elem(&payload, &zero);
	if (!head || !bytes || size > DATA_MAX)
		return 0;

	hits++;
	kernel_bytes = bpf_get_stack(ctx, kernel_frames, sizeof(kernel_frames), 0);
	user_bytes = bpf_get_stack(ctx, user_frames, sizeof(user_frames), BPF_F_USER_STACK);
	if (store) {
		kernel_id = bpf_get_stackid(ctx, &stacks, 0);
		user_id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
		head->rec.kernel_id = kernel_id;
		head->rec.user_id = user_id;
	}
	if (!with_data) {
		ret = output(head, NULL);
		return 0;
	}
	/* Unknown flags result in an empty dynptr. */
	bpf_dynptr_from_mem(bytes, size, empty_dynptr, &data);
	ret = output(head, &data);
	return 0;
}

/* Write a part of the packet that @data refers to. */
static __always_inline void output_packet(struct bpf_dynptr *data)
{
	struct head *head;
	int zero = 0;

	head = bpf_map_lookup_elem(&heads, &zero);
	if (!head)
		return;
	hits++;
	bpf_dynptr_adjust(data, packet_from, packet_from + data_size);
	ret = output(head, data);
}

SEC("xdp.frags")
int output_xdp(struct xdp_md *xdp)
{
	struct bpf_dynptr data;

	bpf_dynptr_from_xdp(xdp, 0, &data);
	output_packet(&data);
	return XDP_PASS;
}

SEC("tc")
int output_skb(struct __sk_buff *skb)
{
	struct bpf_dynptr data;

	bpf_dynptr_from_skb(skb, 0, &data);
	output_packet(&data);
	return 0;
}

/* The verifier must refuse these program types. */
SEC("?cgroup/sysctl")
int output_sysctl(void *ctx)
{
	struct record rec = { .size = sizeof(rec) };

	return bpf_output_record((void *)&ring, &rec, sizeof(rec), NULL, NULL);
}

/* Iterators reach maps that were not given to them. */
SEC("?iter/bpf_map")
int output_iter(void *ctx)
{
	struct record rec = { .size = sizeof(rec) };

	return bpf_output_record((void *)&ring, &rec, sizeof(rec), NULL, NULL);
}

/* So do LSM programs, and extensions of their functions. */
__noinline int of_lsm(int i)
{
	asm volatile("");
	return i;
}

SEC("?lsm/bpf_map")
int calls_of_lsm(void *ctx)
{
	of_lsm(0);
	return 0;
}

SEC("?freplace/of_lsm")
int output_for_lsm(int i)
{
	struct record rec = { .size = sizeof(rec) };

	return bpf_output_record((void *)&ring, &rec, sizeof(rec), NULL, NULL);
}

/* The memory is smaller than the size. */
SEC("?tp/syscalls/sys_enter_getpgid")
int output_beyond(void *ctx)
{
	struct record rec = { .size = sizeof(rec) };

	return bpf_output_record((void *)&ring, &rec, sizeof(rec) + 8, NULL,
				 NULL);
}

/* An invalid pointer */
SEC("?tp/syscalls/sys_enter_getpgid")
int output_null(void *ctx)
{
	struct record rec = { .size = sizeof(rec) };

	return bpf_output_record(NULL, &rec, sizeof(rec), NULL, NULL);
}

SEC("?tp/syscalls/sys_enter_getpgid")
int output_no_map(void *ctx)
{
	struct record rec = { .size = sizeof(rec) };
	int zero = 0;
	void *value = bpf_map_lookup_elem(&payload, &zero);

	if (!value)
		return 0;
	return bpf_output_record(value, &rec, sizeof(rec), NULL, NULL);
}
