// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of the events offcpu-time and offcpu-waker, which "perf record --off-cpu" writes.
 *
 * A sample is about a task that is just about to run, and the kernel would fill in the
 * fields of the current task. So the BPF program writes them to the raw data:
 *
 *	u32 pid, tid;
 *	u64 period;		how long the task was off the CPU, in ns
 *	u64 nr;
 *	u64 ips[nr];		as in a callchain
 *	u64 cgroup;
 *	u64 state;		enum off_cpu_state; other versions of perf end before it
 *	u32 pid, tid;		of offcpu-waker only: the task that was off the CPU
 *
 * All but the last line are about the task that was off the CPU, or, of offcpu-waker, that
 * woke it up; but the state and the period are those of the former.
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
 * evsel__has_offcpu_data - whether an event's samples are to be read by
 *			    off_cpu_parse_sample()
 * @evsel: any event
 */
bool evsel__has_offcpu_data(const struct evsel *evsel)
{
	return evsel->core.attr.sample_type & PERF_SAMPLE_RAW &&
	       evsel__is_offcpu_event((struct evsel *)evsel);
}

/**
 * off_cpu_parse_sample - take the task, the period and the callchain from the raw data
 * @sample: of an event with evsel__has_offcpu_data(), as evsel__parse_sample() has it so
 *	    far.  Gets no raw data, as nobody else could read them.
 *
 * Return: 0, or -EFAULT if the data cannot be that of a sample.
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
	/* Behind the u32 that says how long the raw data are: not aligned to 8 bytes. */
	sample->callchain = (struct ip_callchain *)(pos + offsetof(struct off_cpu_head, nr));
	/* A mark and the first frame. Other versions of perf write one word for no stack. */
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
