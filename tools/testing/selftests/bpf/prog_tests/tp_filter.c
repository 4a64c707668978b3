// SPDX-License-Identifier: GPL-2.0
/*
 * Test how the verdict of a BPF program on a tracepoint affects perf events there: those
 * of its own session, which is the process that opened the program's event, and those of
 * others.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <test_progs.h>
#include "test_tp_filter.skel.h"
#include "tp_event.h"

#define HITS	1000
#define WAKEUPS	50

static void getpgid_once(void)
{
	syscall(SYS_getpgid, 0);
}

static void rename_once(void)
{
	prctl(PR_SET_NAME, "test_progs");
}

/* Tracepoints of each kind, and how a task hits them. */
static const struct point {
	const char *name;
	const char *event;
	void (*hit)(void);
} points[] = {
	{ "enter", "syscalls/sys_enter_getpgid", getpgid_once },
	{ "exit", "syscalls/sys_exit_getpgid", getpgid_once },
	{ "rename", "task/task_rename", rename_once },
	{ "wakeup", "sched/sched_wakeup", NULL },
};

static void hit(const struct point *point)
{
	int i;

	for (i = 0; i < HITS; i++)
		point->hit();
}

/* Open an event for task @pid, or this task if 0, on @cpu, or all CPUs if -1. */
static int event_open(const struct point *point, pid_t pid, int cpu, bool inherit)
{
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_RAW,
		.inherit = inherit,
	};

	return tp_event_open(&attr, point->event, pid, cpu);
}

/* Number of this task's hits that an event of this process counts. */
static long count_hits(const struct point *point)
{
	int fd = event_open(point, 0, -1, false);
	long count;

	if (fd < 0)
		return -1;
	hit(point);
	count = tp_event_count(fd);
	close(fd);
	return count;
}

/* Attach program _a to the tracepoint, and with @both program _b as well. */
static struct test_tp_filter *filters_load(const struct point *point, bool both)
{
	struct test_tp_filter *skel = test_tp_filter__open();
	struct bpf_program *prog;
	const char *name;

	if (!ASSERT_OK_PTR(skel, "open"))
		return NULL;
	bpf_object__for_each_program(prog, skel->obj) {
		name = bpf_program__name(prog);
		bpf_program__set_autoload(prog, !strncmp(name, point->name, strlen(point->name)) &&
					  (both || !strstr(name, "_b")));
	}
	if (ASSERT_OK(test_tp_filter__load(skel), "load")) {
		skel->bss->watched = getpid();
		return skel;
	}
	test_tp_filter__destroy(skel);
	return NULL;
}

static struct test_tp_filter *filters_attach(const struct point *point, bool both)
{
	struct test_tp_filter *skel = filters_load(point, both);

	if (skel && !ASSERT_OK(test_tp_filter__attach(skel), "attach")) {
		test_tp_filter__destroy(skel);
		return NULL;
	}
	return skel;
}

/* The program of filters_load(). */
static struct bpf_program *loaded(struct test_tp_filter *skel)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj) {
		if (bpf_program__fd(prog) >= 0)
			break;
	}
	return prog;
}

/* Another process, which hits the tracepoint on request. */
struct stranger {
	pid_t pid;
	int order[2], answer[2];
};

/* The stranger's hits as counted by its own event, and by ours. */
struct counts {
	long strangers, ours;
};

/*
 * If @verdict is 0 or 1, the stranger attaches a program that returns it.  Else, if @shared
 * is given, it attaches that program, as its parent does.
 */
static bool stranger_start(struct stranger *stranger, const struct point *point, int verdict,
			   struct test_tp_filter *shared)
{
	struct test_tp_filter *skel = NULL;
	int fd;
	long count = -1;
	char byte;

	*stranger = (struct stranger){ -1, { -1, -1 }, { -1, -1 } };
	if (!ASSERT_OK(pipe(stranger->order), "pipe") ||
	    !ASSERT_OK(pipe(stranger->answer), "pipe"))
		return false;
	stranger->pid = fork();
	if (!stranger->pid) {
		close(stranger->order[1]);
		if (verdict >= 0) {
			skel = filters_attach(point, false);
			if (!skel)
				_exit(1);
			skel->bss->verdict_a = verdict;
		}
		if (shared) {
			fd = event_open(point, 0, -1, false);
			/* Older kernels refuse this, but the program filters all events. */
			if (ioctl(fd, PERF_EVENT_IOC_SET_BPF,
				  bpf_program__fd(loaded(shared))) && errno != EEXIST)
				_exit(1);
			/* The parent alone keeps its attachment. */
			test_tp_filter__detach(shared);
		}
		/* Report that the stranger is ready. */
		if (write(stranger->answer[1], "", 1) != 1 ||
		    read(stranger->order[0], &byte, 1) != 1)
			_exit(1);
		count = count_hits(point);
		_exit(write(stranger->answer[1], &count, sizeof(count)) != sizeof(count));
	}
	close(stranger->order[0]);
	close(stranger->answer[1]);
	return ASSERT_GT(stranger->pid, 0, "fork") &&
	       ASSERT_EQ(read(stranger->answer[0], &byte, 1), 1, "ready");
}

static struct counts stranger_hits(struct stranger *stranger, const struct point *point)
{
	struct counts counts = { -1, -1 };
	int fd = event_open(point, stranger->pid, -1, false);

	if (ASSERT_OK_FD(fd, "event") &&
	    ASSERT_EQ(write(stranger->order[1], "", 1), 1, "order") &&
	    ASSERT_EQ(read(stranger->answer[0], &counts.strangers, sizeof(long)),
		      sizeof(long), "answer"))
		counts.ours = tp_event_count(fd);
	close(fd);
	return counts;
}

static void stranger_end(struct stranger *stranger)
{
	close(stranger->order[1]);
	close(stranger->answer[0]);
	if (stranger->pid > 0)
		waitpid(stranger->pid, NULL, 0);
}

/*
 * A program that returns 0 must drop the hits for events of its own process; any other
 * value keeps them.
 */
static void test_own_events(const struct point *point)
{
	struct test_tp_filter *skel = filters_attach(point, false);

	if (!skel)
		return;
	skel->bss->verdict_a = 0;
	ASSERT_EQ(count_hits(point), 0, "dropped");
	skel->bss->verdict_a = 1;
	ASSERT_EQ(count_hits(point), HITS, "kept");
	ASSERT_EQ(skel->bss->hits_a, 2 * HITS, "hits");
	test_tp_filter__destroy(skel);
}

/* It must not drop hits for events of other processes, although it runs for their hits. */
static void test_events_of_others(const struct point *point)
{
	struct test_tp_filter *skel = filters_attach(point, false);
	struct stranger stranger;
	struct counts counts;

	if (!skel)
		return;
	skel->bss->verdict_a = 0;
	if (stranger_start(&stranger, point, -1, NULL)) {
		skel->bss->watched = stranger.pid;
		counts = stranger_hits(&stranger, point);
		ASSERT_EQ(counts.strangers, HITS, "strangers");
		ASSERT_EQ(counts.ours, 0, "ours");
		ASSERT_EQ(skel->bss->hits_a, HITS, "hits");
	}
	stranger_end(&stranger);
	test_tp_filter__destroy(skel);
}

/* Two sessions return different verdicts for the same hits. */
static void test_two_sessions(const struct point *point)
{
	struct test_tp_filter *skel = filters_attach(point, false);
	int verdict;

	if (!skel)
		return;
	for (verdict = 0; verdict < 2; verdict++) {
		struct stranger stranger;
		struct counts counts;

		skel->bss->verdict_a = verdict;
		if (stranger_start(&stranger, point, !verdict, NULL)) {
			counts = stranger_hits(&stranger, point);
			ASSERT_EQ(counts.strangers, !verdict * HITS, "strangers");
			ASSERT_EQ(counts.ours, verdict * HITS, "ours");
		}
		stranger_end(&stranger);
	}
	test_tp_filter__destroy(skel);
}

/*
 * Processes that attach the same program share its verdict.  It runs once for each hit,
 * and stays for as long as one of them has it attached.
 */
static void test_same_program(const struct point *point)
{
	struct stranger strangers[3], other;
	struct test_tp_filter *skel;
	struct counts counts;
	int i, kept;

	skel = filters_attach(point, false);
	if (!skel)
		return;
	for (kept = 0; kept < 2; kept++) {
		skel->bss->verdict_a = kept;
		for (i = 0; i < ARRAY_SIZE(strangers); i++) {
			if (!stranger_start(&strangers[i], point, -1, skel))
				goto end;
		}
		/* Another program drops the same hits for another process. */
		if (!stranger_start(&other, point, 0, NULL))
			goto end_other;
		skel->bss->hits_a = 0;
		for (i = 0; i < ARRAY_SIZE(strangers); i++) {
			skel->bss->watched = strangers[i].pid;
			counts = stranger_hits(&strangers[i], point);
			ASSERT_EQ(counts.strangers, kept * HITS, "strangers");
			ASSERT_EQ(counts.ours, kept * HITS, "ours");
		}
		ASSERT_EQ(skel->bss->hits_a, ARRAY_SIZE(strangers) * HITS, "once");
		counts = stranger_hits(&other, point);
		ASSERT_EQ(counts.strangers, 0, "other");
end_other:
		stranger_end(&other);
		while (i-- > 0)
			stranger_end(&strangers[i]);
		ASSERT_EQ(count_hits(point), kept * HITS, "alone");
	}
	skel->bss->verdict_a = 0;
	if (stranger_start(&strangers[0], point, -1, skel)) {
		test_tp_filter__detach(skel);
		skel->bss->watched = strangers[0].pid;
		skel->bss->hits_a = 0;
		counts = stranger_hits(&strangers[0], point);
		ASSERT_EQ(counts.strangers, 0, "strangers_own");
		ASSERT_EQ(counts.ours, HITS, "detached");
		ASSERT_EQ(skel->bss->hits_a, HITS, "still_runs");
	}
	stranger_end(&strangers[0]);
	skel->bss->watched = getpid();
	skel->bss->hits_a = 0;
	hit(point);
	ASSERT_EQ(skel->bss->hits_a, 0, "gone");
	goto destroy;
end:
	while (i >= 0)
		stranger_end(&strangers[i--]);
destroy:
	test_tp_filter__destroy(skel);
}

/* Number of hits of a child that an inherited event counts. */
static long count_hits_of_child(const struct point *point)
{
	int fd = event_open(point, 0, -1, true);
	long count = -1;
	pid_t pid;

	if (!ASSERT_OK_FD(fd, "event"))
		return -1;
	pid = fork();
	if (!pid) {
		hit(point);
		_exit(0);
	}
	if (ASSERT_EQ(waitpid(pid, NULL, 0), pid, "child"))
		count = tp_event_count(fd);
	close(fd);
	return count;
}

/* An inherited event must belong to the session that opened its parent, and to no other. */
static void test_inherited_events(const struct point *point)
{
	struct test_tp_filter *skel = filters_attach(point, false);
	struct stranger stranger;

	if (!skel)
		return;
	skel->bss->verdict_a = 0;
	ASSERT_EQ(count_hits_of_child(point), 0, "dropped");
	skel->bss->verdict_a = 1;
	ASSERT_EQ(count_hits_of_child(point), HITS, "kept");
	if (stranger_start(&stranger, point, 0, NULL))
		ASSERT_EQ(count_hits_of_child(point), HITS, "not_dropped_by_others");
	stranger_end(&stranger);
	test_tp_filter__destroy(skel);
}

/*
 * A program must run as long as the event that it is attached through, whatever its
 * children do.
 */
static void test_child_leaves_program(const struct point *point)
{
	struct test_tp_filter *skel = filters_load(point, false);
	int fd = -1;
	pid_t pid;

	if (!skel)
		return;
	fd = event_open(point, 0, -1, true);
	if (ASSERT_OK_FD(fd, "event") &&
	    ASSERT_OK(ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(loaded(skel))),
		      "attach")) {
		pid = fork();
		if (!pid)
			_exit(0);
		ASSERT_EQ(waitpid(pid, NULL, 0), pid, "child");
		hit(point);
		ASSERT_EQ(skel->bss->hits_a, HITS, "hits");
	}
	close(fd);
	test_tp_filter__destroy(skel);
}

/*
 * Any value but 0 keeps the record, so two programs that keep it must not drop it
 * together.
 */
static void test_verdicts_are_logical(const struct point *point)
{
	static const int pairs[][2] = { { 1, 2 }, { 2, 1 }, { 4, 8 }, { 1, 1 }, { -2, 1 } };
	struct test_tp_filter *skel = filters_attach(point, true);
	int i;

	if (!skel)
		return;
	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		skel->bss->verdict_a = pairs[i][0];
		skel->bss->verdict_b = pairs[i][1];
		ASSERT_EQ(count_hits(point), HITS, "both_keep");
	}
	skel->bss->verdict_b = 0;
	ASSERT_EQ(count_hits(point), 0, "second_drops");
	skel->bss->verdict_a = 0;
	skel->bss->verdict_b = 1;
	ASSERT_EQ(count_hits(point), 0, "first_drops");
	ASSERT_EQ(skel->bss->hits_a, 7 * HITS, "hits");
	ASSERT_EQ(skel->bss->hits_b, 7 * HITS, "hits");
	test_tp_filter__destroy(skel);
}

static bool wait_until_asleep(pid_t pid)
{
	char path[64], stat[256];
	int tries, fd;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (tries = 0; tries < 10000; tries++) {
		fd = open(path, O_RDONLY);
		len = read(fd, stat, sizeof(stat) - 1);
		close(fd);
		if (len <= 0)
			return false;
		stat[len] = 0;
		if (strstr(stat, ") S "))
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * Events of a woken task must count its wake-ups once.  They also count the few wake-ups
 * that interrupts make while the task runs.  Those are far fewer than the wake-ups of the
 * task, whose number would double if they counted for both tasks.
 */
static void test_events_of_woken_task(void)
{
	const struct point *point = &points[ARRAY_SIZE(points) - 1];
	struct test_tp_filter *skel;
	int pipes[2], fd, i;
	cpu_set_t old, one;
	long count;
	pid_t pid;
	char byte;

	sched_getaffinity(0, sizeof(old), &old);
	/* The program's event is on the first CPU, so run all of this on another one. */
	CPU_ZERO(&one);
	CPU_SET(1, &one);
	if (sched_setaffinity(0, sizeof(one), &one)) {
		test__skip();
		return;
	}
	skel = filters_attach(point, false);
	if (!skel || !ASSERT_OK(pipe(pipes), "pipe"))
		goto destroy;
	skel->bss->verdict_a = 1;
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		while (read(pipes[0], &byte, 1) == 1)
			;
		_exit(0);
	}
	fd = event_open(point, pid, 1, false);
	if (ASSERT_OK_FD(fd, "event")) {
		for (i = 0; i < WAKEUPS; i++) {
			if (!ASSERT_TRUE(wait_until_asleep(pid), "asleep") ||
			    !ASSERT_EQ(write(pipes[1], "", 1), 1, "write"))
				break;
		}
		count = tp_event_count(fd);
		ASSERT_GE(count, WAKEUPS, "wakeups");
		ASSERT_LT(count, 2 * WAKEUPS, "doubled");
		close(fd);
	}
	close(pipes[0]);
	close(pipes[1]);
	waitpid(pid, NULL, 0);
destroy:
	test_tp_filter__destroy(skel);
	sched_setaffinity(0, sizeof(old), &old);
}

static void run(const char *test_name, void (*test)(const struct point *point))
{
	char name[64];
	int i;

	for (i = 0; points[i].hit; i++) {
		snprintf(name, sizeof(name), "%s/%s", test_name, points[i].name);
		if (test__start_subtest(name))
			test(&points[i]);
	}
}

void serial_test_tp_filter(void)
{
	run("own_events", test_own_events);
	run("events_of_others", test_events_of_others);
	run("two_sessions", test_two_sessions);
	run("same_program", test_same_program);
	run("inherited_events", test_inherited_events);
	run("child_leaves_program", test_child_leaves_program);
	run("verdicts_are_logical", test_verdicts_are_logical);
	if (test__start_subtest("events_of_woken_task"))
		test_events_of_woken_task();
}
