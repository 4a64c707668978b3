// SPDX-License-Identifier: GPL-2.0
/*
 * Parse samples of the events offcpu-time and offcpu-waker of "perf record --off-cpu".
 *
 * A sample describes a task that is not the current one, but the kernel fills in the
 * fields of the current task. The BPF program therefore writes these fields to the raw
 * data:
 *
 *	u32 pid, tid;
 *	u64 period;		how long the task was off the CPU, in ns
 *	u64 nr;
 *	u64 ips[nr];		as in a callchain
 *	u64 cgroup;
 *	u64 state;		enum off_cpu_state; other versions of perf end before it
 *	u32 pid, tid;		of offcpu-waker only: the task that was off the CPU
 *
 * In offcpu-time, all fields describe the task that was off the CPU. In offcpu-waker, the
 * first pid and tid, the callchain and the cgroup describe the task that woke it up.
 *
 * perf 6.12 wrote samples with a callchain and without raw data.
 */
#include <errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <string.h>

#include "util/event.h"
#include "util/evsel.h"
#include "util/off_cpu.h"
#include "util/sample.h"

const char off_cpu_state_chars[OFF_CPU_STATES] = {
	[OFF_CPU_SLEEPING] = 'S',
	[OFF_CPU_DISK]	   = 'D',
	[OFF_CPU_IDLE]	   = 'I',
	[OFF_CPU_STOPPED]  = 'T',
	[OFF_CPU_TRACED]   = 't',
	[OFF_CPU_RUNNABLE] = 'R',
};

struct off_cpu_head {
	u32 pid;
	u32 tid;
	u64 period;
	u64 nr;
};

bool evsel__is_offcpu_event(struct evsel *evsel)
{
	return evsel__is_bpf_output(evsel) && (evsel__name_is(evsel, OFFCPU_EVENT) ||
					       evsel__name_is(evsel, OFFCPU_WAKER_EVENT));
}

/**
 * evsel__has_offcpu_data - whether off_cpu_parse_sample() can parse an event's samples
 * @evsel: any event
 *
 * Return: true for off-CPU events with raw data.
 */
bool evsel__has_offcpu_data(const struct evsel *evsel)
{
	return evsel->core.attr.sample_type & PERF_SAMPLE_RAW &&
	       evsel__is_offcpu_event((struct evsel *)evsel);
}

/**
 * off_cpu_parse_sample - take the task, the period and the callchain from the raw data
 * @sample: sample of an event with evsel__has_offcpu_data(), parsed by
 *	    evsel__parse_sample() up to the raw data.  The raw data are removed from the
 *	    sample, as no other code can interpret them.
 *
 * Return: 0, or -EFAULT if the raw data are malformed.
 */
int off_cpu_parse_sample(struct perf_sample *sample)
{
	const void *end = sample->raw_data + sample->raw_size;
	const void *pos = sample->raw_data;
	struct off_cpu_head head;
	u64 ips[2] = {};
	u32 wakee[2];
	u64 state;

	if (!pos || sample->raw_size < sizeof(head))
		return -EFAULT;
	memcpy(&head, pos, sizeof(head));
	if (head.nr > (sample->raw_size - sizeof(head)) / sizeof(u64))
		return -EFAULT;

	sample->pid = head.pid;
	sample->tid = head.tid;
	sample->period = head.period;
	/* Not aligned to 8 bytes: a u32 with the size precedes the raw data. */
	sample->callchain = (struct ip_callchain *)(pos + offsetof(struct off_cpu_head, nr));
	/* A mark and the first frame. Without a stack, other versions of perf write one word. */
	memcpy(ips, pos + sizeof(head), min_t(u64, head.nr, 2) * sizeof(u64));
	sample->ip = ips[1];
	if (ips[0] == PERF_CONTEXT_KERNEL)
		sample->cpumode = PERF_RECORD_MISC_KERNEL;
	else
		sample->cpumode = PERF_RECORD_MISC_USER;

	pos += sizeof(head) + head.nr * sizeof(u64);
	if (end - pos >= (ssize_t)sizeof(u64))
		memcpy(&sample->cgroup, pos, sizeof(u64));
	pos += sizeof(u64);
	if (end - pos >= (ssize_t)sizeof(u64)) {
		memcpy(&state, pos, sizeof(u64));
		if (state < OFF_CPU_STATES)
			sample->task_state = off_cpu_state_chars[state];
	}
	pos += sizeof(u64);
	if (end - pos >= (ssize_t)sizeof(wakee)) {
		memcpy(wakee, pos, sizeof(wakee));
		sample->wakee_pid = wakee[0];
		sample->wakee_tid = wakee[1];
	}
	sample->raw_data = NULL;
	sample->raw_size = 0;
	return 0;
}
