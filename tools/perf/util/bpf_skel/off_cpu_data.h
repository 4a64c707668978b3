/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What off_cpu.bpf.c and bpf_off_cpu.c share. */
#ifndef UTIL_BPF_SKEL_OFF_CPU_DATA_H
#define UTIL_BPF_SKEL_OFF_CPU_DATA_H

/* The default of kernel.perf_event_max_stack */
#define OFF_CPU_MAX_STACK	127

/* Why a task does not run, with the letters of ps(1). Each is a bit in a mask. */
enum off_cpu_state {
	OFF_CPU_SLEEPING,	/* S: interruptible */
	OFF_CPU_DISK,		/* D: uninterruptible, or frozen */
	OFF_CPU_IDLE,		/* I: uninterruptible, but no load */
	OFF_CPU_STOPPED,	/* T: by a signal */
	OFF_CPU_TRACED,		/* t: by its tracer */
	OFF_CPU_RUNNABLE,	/* R: waits for a CPU */
	OFF_CPU_STATES,
};

enum off_cpu_mode {
	OFF_CPU_OFF,
	OFF_CPU_ON,
	/* No interval begins; those that end count up to ends_at, in the sums. */
	OFF_CPU_ENDING,
};

/* A row of sums. */
struct off_cpu_key {
	__u32 pid;
	__u32 tgid;
	/* Of bpf_get_stackid(): negative if there is no user stack. */
	__s32 stack_id;
	__u32 state;
	__u64 cgroup_id;
};

struct off_cpu_sum {
	__u64 ns;
	__u64 intervals;
};

/* What on_blocked() writes for a task that is still off the CPU. */
struct off_cpu_blocked {
	struct off_cpu_key key;
	/* In the state of the key, and after that, woken up */
	__u64 ns;
	__u64 runnable_ns;
	/* Frames of the kernel stack. */
	__u64 nr;
	/* One more, as the verifier sees that a size is 1023 bytes at most. */
	__u64 ips[OFF_CPU_MAX_STACK + 1];
};

/* How often something was lost. */
struct off_cpu_losses {
	/* Intervals in the sums: the ring buffer had no room, or the CPU has no event. */
	__u64 no_room;
	__u64 no_event;
	/* Intervals without a user stack: not readable, or the map is full. */
	__u64 no_stack;
	/* Intervals of which only the state is known: there was no room for a row. */
	__u64 no_row;
	/* Intervals of unknown length: there was no memory for when they began. */
	__u64 no_begin;
	/* Samples without one of the waker. */
	__u64 no_waker;
	/* Processes that were not followed: too many at a time. */
	__u64 not_followed;
};

#endif /* UTIL_BPF_SKEL_OFF_CPU_DATA_H */
