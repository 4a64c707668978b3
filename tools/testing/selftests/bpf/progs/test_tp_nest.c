// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

#define IN_A_SYSTEM_CALL	1

/* inputs: whose hits count, and how long a program runs */
int watched = 0;
int turns = 0;

/* state: whether a program is in its loop, and number of programs that run now */
int inside = 0;
int depth = 0;

/* outputs */
__u64 calls = 0;
__u64 ticks = 0;
__u64 ticks_inside = 0;
__u64 overwritten = 0;
int depth_max = 0;
__u64 sum = 0;

struct prefix {
	__u32 len;
	__u32 data;
};

/* A map that allocates with its lock held. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct prefix);
	__type(value, __u64);
} trie SEC(".maps");

/* A large value, which system calls on a map copy with interrupts enabled. */
struct large {
	char bytes[1 << 16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct large);
} larges SEC(".maps");

/* A buffer of each CPU, which two programs use as if no other ran there. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} buffer SEC(".maps");

/* The same by the number of the CPU, of which the test uses one of the first. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} slots SEC(".maps");

static int turn(__u32 index, void *ctx)
{
	sum += index;
	return 0;
}

/* In a system call this runs for long.  The same program may be attached to the timer too. */
SEC("tp/syscalls/sys_enter_getpgid")
int linger(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != watched)
		return 1;
	depth++;
	if (depth > depth_max)
		depth_max = depth;
	if (bpf_get_attach_cookie(ctx) == IN_A_SYSTEM_CALL) {
		calls++;
		inside = 1;
		bpf_loop(turns, turn, NULL, 0);
		inside = 0;
	}
	depth--;
	return 1;
}

/* In interrupts. */
SEC("tp/timer/hrtimer_expire_entry")
int tick(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != watched)
		return 1;
	ticks++;
	ticks_inside += inside;
	return 1;
}

/* As linger() and tick(), with a buffer. */
static __always_inline int linger_with(__u64 *mine)
{
	if (bpf_get_current_pid_tgid() >> 32 != watched || !mine)
		return 1;
	calls++;
	*mine = calls;
	bpf_loop(turns, turn, NULL, 0);
	overwritten += *(volatile __u64 *)mine != calls;
	return 1;
}

static __always_inline int tick_with(__u64 *mine)
{
	if (mine)
		*mine = -1;
	ticks++;
	return 1;
}

static __always_inline __u64 *get_slot(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&slots, &cpu);
}

SEC("tp/syscalls/sys_enter_getpgid")
int linger_with_buffer(void *ctx)
{
	return linger_with(bpf_map_lookup_elem(&buffer, &(__u32){ 0 }));
}

SEC("tp/timer/hrtimer_expire_entry")
int tick_with_buffer(void *ctx)
{
	return tick_with(bpf_map_lookup_elem(&buffer, &(__u32){ 0 }));
}

SEC("tp/syscalls/sys_enter_getpgid")
int linger_with_slot(void *ctx)
{
	return linger_with(get_slot());
}

SEC("tp/timer/hrtimer_expire_entry")
int tick_with_slot(void *ctx)
{
	return tick_with(get_slot());
}

/* This program allocates no memory itself. */
SEC("tp/kmem/kmalloc")
int allocated(void *ctx)
{
	struct prefix key = { 32, 0 };

	if (bpf_get_current_pid_tgid() >> 32 == watched && bpf_map_lookup_elem(&trie, &key))
		calls++;
	return 1;
}

/* A program that hits a tracepoint through a helper. */
SEC("tp/syscalls/sys_enter_getpgid")
int print(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == watched) {
		bpf_printk("hit");
		calls++;
	}
	return 1;
}

SEC("tp/bpf_trace/bpf_trace_printk")
int printed(void *ctx)
{
	ticks++;
	return 1;
}
