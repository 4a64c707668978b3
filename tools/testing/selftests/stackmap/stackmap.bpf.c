// SPDX-License-Identifier: GPL-2.0-only
/* Takes the stack of one task at each of its getpgid(), and counts what comes of it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define MAX_DEPTH	127

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, MAX_DEPTH * sizeof(__u64));
	__uint(max_entries, 1024);
} stacks SEC(".maps");

/* Input */
__u32 pid;
__u64 flags;
/* Also time a walk alone, into as many bytes */
__u32 walk_size;

/* Output: the last result, and how often each came */
long last_id;
__u64 taken, full, exist, other;
__u64 id_ns, walk_ns, empty_ns, walked;

/* Output of the two programs for nesting */
long outer_id;
__u64 nested;

/* State */
static __u64 frames[MAX_DEPTH + 1];
static __u64 nested_frames[MAX_DEPTH + 1];

SEC("tp/syscalls/sys_enter_getpgid")
int take_stack(void *ctx)
{
	__u64 t0, t1, t2, t3;

	if (bpf_get_current_pid_tgid() >> 32 != pid)
		return 0;
	t0 = bpf_ktime_get_ns();
	t1 = bpf_ktime_get_ns();
	last_id = bpf_get_stackid(ctx, &stacks, flags);
	t2 = bpf_ktime_get_ns();
	empty_ns = t1 - t0;
	id_ns = t2 - t1;
	if (walk_size) {
		t2 = bpf_ktime_get_ns();
		walked = bpf_get_stack(ctx, frames, walk_size & (sizeof(frames) - 1),
				       BPF_F_USER_STACK);
		t3 = bpf_ktime_get_ns();
		walk_ns = t3 - t2;
	}

	if (last_id >= 0)
		taken++;
	else if (last_id == -12 /* ENOMEM */)
		full++;
	else if (last_id == -17 /* EEXIST */)
		exist++;
	else
		other++;
	return 0;
}

/* As take_stack(), by a kind of program that does not keep others from running. */
SEC("?raw_tp/sys_enter")
int outer(struct bpf_raw_tracepoint_args *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == pid && ctx->args[1] == 121 /* getpgid */)
		outer_id = bpf_get_stackid(ctx, &stacks, flags);
	return 0;
}

/* On a function that an insertion calls: walks another stack in the same context. */
SEC("?kprobe")
int inner(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != pid)
		return 0;
	if (bpf_get_stack(ctx, nested_frames, sizeof(nested_frames), 0) > 0)
		nested++;
	return 0;
}
