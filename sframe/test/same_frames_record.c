// SPDX-License-Identifier: GPL-2.0
/*
 * Records a program: its samples with registers, stack and the cookie of their deferred
 * callchain, the deferred records, and the records of its mappings.
 *
 * Each CPU has a ring, because the kernel allows inherited events only so.
 */
#include "same_frames.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf_ring.h"

/* Each ring has room for 500 dumps. */
#define RING_SIZE	(1ul << 25)
#define LOOK_MS		20
#define MAX_CPUS	64
/* The kernel's limit */
#define STACK_SIZE	65528

/* AX to IP and R8 to R15. */
#define REGS_MASK	0xff01ffull

struct event_ring {
	int			fd;
	struct perf_ring	ring;
};

static unsigned int cpus;
static struct event_ring rings[MAX_CPUS];

static double clock_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void ring_open(struct event_ring *event, pid_t pid, int cpu, unsigned int frequency,
		      enum walk walk)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = frequency,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		/* The default clock may differ between CPUs. */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_SIZE / 8,
		.sample_regs_user = REGS_MASK,
		.sample_stack_user = STACK_SIZE,
	};

	if (walk == WALK_DEFERRED)
		perf_attr_add_flags(&attr, ATTR_DEFER_CALLCHAIN | ATTR_DEFER_OUTPUT);
	event->fd = syscall(__NR_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (event->fd < 0)
		die(errno == EINVAL ? "the kernel has no deferred callchains" :
		    "perf_event_open");
	if (!perf_ring_map(&event->ring, event->fd, RING_SIZE))
		die("the ring of a CPU");
}

/*
 * Return how many words of a sample to keep: up to the end of the bytes that were dumped of the
 * stack.  Sets the stack's size to their number.
 */
static size_t trim_sample(uint64_t *words)
{
	/* ip, tid, time, nr, ips, abi, regs, size, stack, dumped */
	uint64_t *abi = words + 4 + words[3];
	uint64_t *size = abi + 1 + (*abi ? SAMPLED_REGS : 0);

	if (*size)
		*size = size[1 + *size / sizeof(*size)];
	return size + 1 + *size / sizeof(*size) - words;
}

static void recording_keep(struct recording *to, const struct perf_event_header *header,
			   uint64_t *words, size_t count)
{
	static size_t room;
	const uint64_t *id;
	struct event *event;

	if (header->type == PERF_RECORD_SAMPLE) {
		id = words + 1;
		count = trim_sample(words);
	} else {
		count -= 2;
		id = words + count;
	}
	event = grow(NULL, sizeof(*event) + count * sizeof(*words));
	*event = (struct event){
		.time = id[1],
		.order = to->nr,
		.type = header->type,
		.misc = header->misc,
		.pid = (uint32_t)id[0],
		.tid = id[0] >> 32,
	};
	memcpy(event->words, words, count * sizeof(*words));
	if (to->nr == room) {
		room = room ? 2 * room : 4096;
		to->events = grow(to->events, room * sizeof(event));
	}
	to->events[to->nr++] = event;
}

static void take_record(struct recording *to, const struct perf_event_header *header,
			uint64_t *words, size_t count)
{
	switch (header->type) {
	case PERF_RECORD_LOST:
		to->lost += words[1];
		break;
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case RECORD_DEFERRED:
		recording_keep(to, header, words, count);
		break;
	}
}

static void rings_drain(struct recording *to)
{
	static uint64_t words[PERF_RING_WORDS];
	struct perf_event_header header;

	for (unsigned int i = 0; i < cpus; i++)
		while (perf_ring_next(&rings[i].ring, &header, words))
			take_record(to, &header, words,
				    (header.size - sizeof(header)) / sizeof(*words));
}

static int by_time(const void *a, const void *b)
{
	const struct event *left = *(struct event * const *)a;
	const struct event *right = *(struct event * const *)b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

/* The child waits for a byte on @go before it becomes the program. */
static pid_t start_program(char **argv, int go[2])
{
	pid_t pid;
	char byte;

	if (pipe(go))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(127);
	close(go[0]);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

static void wait_for_end(struct recording *to, pid_t pid, double end)
{
	struct pollfd polls[MAX_CPUS];

	for (unsigned int i = 0; i < cpus; i++)
		polls[i] = (struct pollfd){ .fd = rings[i].fd, .events = POLLIN };
	while (!waitpid(pid, &to->status, WNOHANG)) {
		if (clock_seconds() >= end && !to->stopped) {
			to->stopped = true;
			kill(pid, SIGTERM);
		}
		poll(polls, cpus, LOOK_MS);
		rings_drain(to);
	}
}

void record_program(struct recording *to, char **argv, unsigned int frequency,
		    double seconds)
{
	int go[2];
	pid_t pid = start_program(argv, go);

	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (cpus > MAX_CPUS)
		die("more than 64 CPUs");
	for (unsigned int i = 0; i < cpus; i++)
		ring_open(&rings[i], pid, i, frequency, to->walk);
	/* Otherwise the program's threads could keep this process from emptying the rings. */
	setpriority(PRIO_PROCESS, 0, -20);
	close(go[0]);
	if (write(go[1], "", 1) != 1)
		die("the program");
	close(go[1]);
	wait_for_end(to, pid, seconds ? clock_seconds() + seconds : 1e300);
	rings_drain(to);
	qsort(to->events, to->nr, sizeof(*to->events), by_time);
}

struct sample event_sample(const struct event *event)
{
	const uint64_t *ips = event->words + 4, nr = event->words[3];
	const uint64_t *abi = ips + nr;
	const uint64_t *size = abi + 1 + (*abi ? SAMPLED_REGS : 0);
	struct sample sample = {
		.pid = event->pid,
		.tid = event->tid,
		.ip = event->words[0],
		.regs = *abi ? abi + 1 : NULL,
		.stack = (const uint8_t *)(size + 1),
		.stack_size = *size,
	};

	if (nr >= 2 && ips[nr - 2] == CONTEXT_DEFERRED) {
		sample.cookie = ips[nr - 1];
	} else if (nr && ips[0] == (uint64_t)PERF_CONTEXT_USER) {
		sample.ips = ips + 1;
		sample.nr = nr - 1;
	}
	return sample;
}
