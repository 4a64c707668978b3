/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Types that off_cpu.bpf.c and bpf_off_cpu.c share. */
#ifndef UTIL_BPF_SKEL_OFF_CPU_DATA_H
#define UTIL_BPF_SKEL_OFF_CPU_DATA_H

/* Default value of kernel.perf_event_max_stack */
#define OFF_CPU_MAX_STACK	127

/* Reasons why a task does not run, with the letters of ps(1). Masks have a bit for each. */
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
	/* No new interval begins; running ones are added to the sums up to ends_at. */
	OFF_CPU_ENDING,
};

/* Values of a filter. Only tasks exit. */
enum off_cpu_filter {
	OFF_CPU_RUNS = 1,
	OFF_CPU_EXITS,
};

/* Key of a row of sums. */
struct off_cpu_key {
	__u32 pid;
	__u32 tgid;
	/* Return value of bpf_get_stackid(), negative if there is no user stack. */
	__s32 stack_id;
	__u32 state;
	__u64 cgroup_id;
};

struct off_cpu_sum {
	__u64 ns;
	__u64 intervals;
};

/* Record that on_blocked() writes for a task that is still off the CPU. */
struct off_cpu_blocked {
	struct off_cpu_key key;
	/* Time in the state of the key, and time since the wakeup */
	__u64 ns;
	__u64 runnable_ns;
	/* Number of frames of the kernel stack */
	__u64 nr;
	/* One more entry, as the verifier knows only that the size is below 1024 bytes. */
	__u64 ips[OFF_CPU_MAX_STACK + 1];
};

/* The raw data of a sample: see off_cpu_sample.c. */
struct off_cpu_row {
	__u32 pid;
	__u32 tid;
	__u64 period;
	__u64 nr;
	/* Two marks, both stacks, cgroup, state, padding */
	__u64 words[2 * OFF_CPU_MAX_STACK + 6];
};

/* Counters of lost data. */
struct off_cpu_losses {
	/* Intervals added to the sums: the ring buffer had no room, or the CPU has no event. */
	__u64 no_room;
	__u64 no_event;
	/* Intervals without a user stack: it was not readable, or the map was full. */
	__u64 no_stack;
	/* Intervals of which only the state is known: the map had no room for a row. */
	__u64 no_row;
	/* Intervals of unknown length: no memory was available for their start time. */
	__u64 no_begin;
	/* Samples whose waker's sample is missing. */
	__u64 no_waker;
	/* Processes not followed, because too many ran at a time. */
	__u64 not_followed;
};

#endif /* UTIL_BPF_SKEL_OFF_CPU_DATA_H */
