// SPDX-License-Identifier: GPL-2.0
/*
 * Attach and detach programs, open, close, inherit and sample events, and take CPUs
 * offline and online, while tasks hit the tracepoints.  A witness opens its own events
 * and attaches no programs; no verdict may affect its events.
 *
 * TP_STRESS_SECONDS sets the duration, TP_STRESS_SEED the random seed.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <test_progs.h>
#include "cpu_online.h"
#include "test_tp_stress.skel.h"
#include "tp_event.h"

#define PAGE_SIZE	4096
#define SECONDS		5
#define HITTERS		3
#define ATTACHERS	3
#define WITNESSES	2
#define OPEN_MAX	24
/* Pages of a ring buffer, with its header page. */
#define RING_SIZE	((8 + 1) * PAGE_SIZE)

static const char file_page[PAGE_SIZE] __attribute__((aligned(PAGE_SIZE))) = "/none/in/file";

static const char * const points[] = {
	"task/task_rename", "sched/sched_switch", "syscalls/sys_enter_getpgid",
	"syscalls/sys_exit_getpgid", "syscalls/sys_enter_access",
};

static unsigned int from_env(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? atoi(text) : otherwise;
}

static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static bool until(time_t end)
{
	return time(NULL) < end;
}

static void rename_once(unsigned int i)
{
	prctl(PR_SET_NAME, i % 2 ? "stress" : "test_progs");
}

/* Hit all tracepoints, with the page of the path resident or not. */
static int run_hitter(time_t end, unsigned int random)
{
	unsigned int i;

	for (i = 0; until(end); i++) {
		rename_once(i);
		syscall(SYS_getpgid, 0);
		if (next_random(&random) % 16 == 0)
			madvise((void *)file_page, PAGE_SIZE, MADV_PAGEOUT);
		syscall(SYS_access, file_page, F_OK);
		if (next_random(&random) % 64 == 0)
			usleep(100);
	}
	return 0;
}

/* A child and a grandchild inherit an event, and both hit the tracepoint. */
static void fork_twice(void)
{
	pid_t pid = fork();

	if (!pid) {
		rename_once(1);
		pid = fork();
		if (!pid) {
			rename_once(0);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

struct opened {
	struct bpf_link *link;
	void *ring;
	int fd;
};

static void close_opened(struct opened *opened)
{
	bpf_link__destroy(opened->link);
	if (opened->ring)
		munmap(opened->ring, RING_SIZE);
	if (opened->fd >= 0)
		close(opened->fd);
	*opened = (struct opened){ .fd = -1 };
}

static void open_event(struct opened *opened, unsigned int *random)
{
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_RAW };
	const char *point = points[next_random(random) % ARRAY_SIZE(points)];
	bool of_cpu = next_random(random) % 2;

	attr.inherit = !of_cpu && next_random(random) % 2;
	if (next_random(random) % 2)
		attr.sample_period = 1 + next_random(random) % 3;
	opened->fd = tp_event_open(&attr, point, of_cpu ? -1 : 0, of_cpu ? 0 : -1);
	if (opened->fd < 0 || attr.inherit || next_random(random) % 2)
		return;
	opened->ring = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, opened->fd,
			    0);
	if (opened->ring == MAP_FAILED)
		opened->ring = NULL;
}

/* Attach a program.  Fails if it is already attached there with this cookie. */
static void attach_program(struct opened *opened, struct test_tp_stress *skel,
			   unsigned int *random)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = next_random(random) % 8);
	struct bpf_program *progs[] = {
		skel->progs.rename, skel->progs.rename_blind, skel->progs.sched_switch,
		skel->progs.enter_call, skel->progs.exit_call, skel->progs.enter_access,
		skel->progs.enter_access_plain,
	};
	struct bpf_program *prog = progs[next_random(random) % ARRAY_SIZE(progs)];
	char name[64], *event;

	snprintf(name, sizeof(name), "%s", bpf_program__section_name(prog) + strlen("tp/"));
	event = strchr(name, '/');
	*event++ = '\0';
	opened->link = bpf_program__attach_tracepoint_opts(prog, name, event, &opts);
}

static int run_attacher(time_t end, unsigned int random)
{
	struct opened opened[OPEN_MAX];
	struct test_tp_stress *skel = test_tp_stress__open();
	unsigned int i;

	if (!skel)
		return 1;
	bpf_program__set_flags(skel->progs.enter_access, BPF_F_SLEEPABLE);
	if (test_tp_stress__load(skel))
		return 1;
	for (i = 0; i < OPEN_MAX; i++)
		opened[i] = (struct opened){ .fd = -1 };
	while (until(end)) {
		i = next_random(&random) % OPEN_MAX;
		if (opened[i].link || opened[i].fd >= 0)
			close_opened(&opened[i]);
		else if (next_random(&random) % 2)
			attach_program(&opened[i], skel, &random);
		else
			open_event(&opened[i], &random);
		if (next_random(&random) % 8 == 0)
			fork_twice();
	}
	for (i = 0; i < OPEN_MAX; i++)
		close_opened(&opened[i]);
	test_tp_stress__destroy(skel);
	return 0;
}

/* The events of a witness must count exactly its own hits. */
static int run_witness(time_t end, unsigned int random)
{
	struct perf_event_attr attr = {};
	int renames = tp_event_open(&attr, "task/task_rename", 0, -1);
	int calls = tp_event_open(&attr, "syscalls/sys_enter_getpgid", 0, -1);
	long hits;

	if (renames < 0 || calls < 0)
		return 1;
	for (hits = 0; until(end); hits++) {
		rename_once(hits);
		syscall(SYS_getpgid, 0);
	}
	if (tp_event_count(renames) == hits && tp_event_count(calls) == hits)
		return 0;
	fprintf(stderr, "witness: %ld hits, %ld renames, %ld calls\n", hits,
		tp_event_count(renames), tp_event_count(calls));
	return 1;
}

static int run_hotplug(time_t end, unsigned int random)
{
	unsigned int cpus = sysconf(_SC_NPROCESSORS_CONF), cpu;

	while (until(end)) {
		cpu = next_random(&random) % cpus;
		if (cpu_set_online(cpu, false)) {
			usleep(next_random(&random) % 100000);
			cpu_set_online(cpu, true);
		}
		usleep(next_random(&random) % 100000);
	}
	return 0;
}

static const struct part {
	const char *name;
	int (*run)(time_t end, unsigned int random);
	unsigned int nr;
} parts[] = {
	{ "hitter", run_hitter, HITTERS },
	{ "attacher", run_attacher, ATTACHERS },
	{ "witness", run_witness, WITNESSES },
	{ "hotplug", run_hotplug, 1 },
};

#define NR_PROCESSES	(HITTERS + ATTACHERS + WITNESSES + 1)

void serial_test_tp_stress(void)
{
	unsigned int random = from_env("TP_STRESS_SEED", 1), i, j, nr = 0;
	time_t end = time(NULL) + from_env("TP_STRESS_SECONDS", SECONDS);
	const char *names[NR_PROCESSES];
	pid_t pids[NR_PROCESSES];
	int status;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		for (j = 0; j < parts[i].nr; j++) {
			next_random(&random);
			names[nr] = parts[i].name;
			pids[nr] = fork();
			if (!pids[nr])
				_exit(parts[i].run(end, random));
			nr++;
		}
	}
	for (i = 0; i < nr; i++) {
		if (ASSERT_GT(pids[i], 0, names[i]) &&
		    ASSERT_EQ(waitpid(pids[i], &status, 0), pids[i], names[i]))
			ASSERT_OK(status, names[i]);
	}
}
