// SPDX-License-Identifier: GPL-2.0
/*
 * Test tracepoint hits while another program runs on the CPU, or while a task there is in
 * a system call on a map: which programs run, and which are counted as missed.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <test_progs.h>
#include "test_tp_nest.skel.h"
#include "tp_event.h"

#define IN_A_SYSTEM_CALL	1
#define IN_AN_INTERRUPT		2
/* Minimum number of interrupts in the tested code. */
#define ENOUGH			20
#define SECONDS_MAX		60
#define TURNS			(1 << 20)

static struct test_tp_nest *nest_load(void)
{
	struct test_tp_nest *skel = test_tp_nest__open_and_load();

	if (!ASSERT_OK_PTR(skel, "load"))
		return NULL;
	skel->bss->watched = getpid();
	skel->bss->turns = TURNS;
	return skel;
}

static __u64 misses(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (!ASSERT_OK(bpf_prog_get_info_by_fd(bpf_program__fd(prog), &info, &len), "info"))
		return 0;
	return info.recursion_misses;
}

static struct bpf_link *attach_linger(struct test_tp_nest *skel, const char *category,
				      const char *name, __u64 cookie)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = cookie);

	return bpf_program__attach_tracepoint_opts(skel->progs.linger, category, name, &opts);
}

static void call_linger(struct test_tp_nest *skel)
{
	syscall(SYS_getpgid, 0);
}

static void update_trie(struct test_tp_nest *skel)
{
	struct { __u32 prefixlen, data; } key = { 32, 0 };
	__u64 value = 1;

	bpf_map_update_elem(bpf_map__fd(skel->maps.trie), &key, &value, BPF_ANY);
}

static void update_map(struct test_tp_nest *skel)
{
	static char value[1 << 16];
	__u32 key = 0;

	bpf_map_update_elem(bpf_map__fd(skel->maps.larges), &key, value, BPF_ANY);
}

/* Call @once until *@count reaches ENOUGH or the time is up. */
static void repeat(struct test_tp_nest *skel, void (*once)(struct test_tp_nest *skel),
		   const volatile __u64 *count)
{
	time_t end = time(NULL) + SECONDS_MAX;

	while (*count < ENOUGH && time(NULL) < end)
		once(skel);
}

/* A program must run in an interrupt of another program. */
static void test_in_a_program(void)
{
	struct bpf_link *call = NULL, *timer = NULL;
	struct test_tp_nest *skel = nest_load();

	if (!skel)
		return;
	call = attach_linger(skel, "syscalls", "sys_enter_getpgid", IN_A_SYSTEM_CALL);
	timer = bpf_program__attach(skel->progs.tick);
	if (ASSERT_OK_PTR(call, "call") && ASSERT_OK_PTR(timer, "timer")) {
		repeat(skel, call_linger, &skel->bss->ticks_inside);
		ASSERT_GE(skel->bss->ticks_inside, ENOUGH, "ticks");
		ASSERT_EQ(misses(skel->progs.tick), 0, "misses");
		ASSERT_EQ(misses(skel->progs.linger), 0, "misses");
	}
	bpf_link__destroy(timer);
	bpf_link__destroy(call);
	test_tp_nest__destroy(skel);
}

/* A program must not run in an interrupt of itself. */
static void test_in_itself(void)
{
	struct bpf_link *call = NULL, *timer = NULL;
	struct test_tp_nest *skel = nest_load();
	time_t end = time(NULL) + SECONDS_MAX;

	if (!skel)
		return;
	call = attach_linger(skel, "syscalls", "sys_enter_getpgid", IN_A_SYSTEM_CALL);
	timer = attach_linger(skel, "timer", "hrtimer_expire_entry", IN_AN_INTERRUPT);
	if (ASSERT_OK_PTR(call, "call") && ASSERT_OK_PTR(timer, "timer")) {
		while (misses(skel->progs.linger) < ENOUGH && time(NULL) < end)
			call_linger(skel);
		ASSERT_GE(misses(skel->progs.linger), ENOUGH, "misses");
		ASSERT_EQ(skel->bss->depth_max, 1, "depth");
	}
	bpf_link__destroy(timer);
	bpf_link__destroy(call);
	test_tp_nest__destroy(skel);
}

/*
 * A program must not run in an interrupt of another one with which it shares a per-CPU map,
 * or an array that both index by the number of the CPU, but must run in other interrupts.
 */
static void test_with_same_buffer(bool by_number)
{
	struct bpf_link *call = NULL, *timer = NULL;
	struct test_tp_nest *skel = nest_load();
	time_t end = time(NULL) + SECONDS_MAX;
	struct bpf_program *linger, *tick;

	if (!skel)
		return;
	linger = by_number ? skel->progs.linger_with_slot : skel->progs.linger_with_buffer;
	tick = by_number ? skel->progs.tick_with_slot : skel->progs.tick_with_buffer;
	call = bpf_program__attach(linger);
	timer = bpf_program__attach(tick);
	if (ASSERT_OK_PTR(call, "call") && ASSERT_OK_PTR(timer, "timer")) {
		while (time(NULL) < end && (misses(tick) < ENOUGH ||
					    *(volatile __u64 *)&skel->bss->ticks < ENOUGH))
			call_linger(skel);
		ASSERT_GE(misses(tick), ENOUGH, "misses");
		ASSERT_GE(skel->bss->ticks, ENOUGH, "ticks");
		ASSERT_EQ(skel->bss->overwritten, 0, "overwritten");
	}
	bpf_link__destroy(timer);
	bpf_link__destroy(call);
	test_tp_nest__destroy(skel);
}

/*
 * Programs must run in interrupts of system calls on a map, where this task spends most
 * of its time.
 */
static void test_in_map_call(void)
{
	struct test_tp_nest *skel = nest_load();
	struct bpf_link *timer;

	if (!skel)
		return;
	timer = bpf_program__attach(skel->progs.tick);
	if (ASSERT_OK_PTR(timer, "timer")) {
		skel->bss->ticks = 0;
		repeat(skel, update_map, &skel->bss->ticks);
		ASSERT_GE(skel->bss->ticks, ENOUGH, "ticks");
		ASSERT_EQ(misses(skel->progs.tick), 0, "misses");
	}
	bpf_link__destroy(timer);
	test_tp_nest__destroy(skel);
}

/* Each update allocates memory with the lock of the map held; no program may run there. */
static void test_in_map_lock(void)
{
	struct test_tp_nest *skel = nest_load();
	struct bpf_link *allocated;
	int i;

	if (!skel)
		return;
	allocated = bpf_program__attach(skel->progs.allocated);
	if (ASSERT_OK_PTR(allocated, "allocated")) {
		for (i = 0; i < ENOUGH; i++)
			update_trie(skel);
		ASSERT_GE(misses(skel->progs.allocated), ENOUGH, "misses");
		/* The system call also allocates without the lock. */
		ASSERT_GT(skel->bss->calls, 0, "calls");
	}
	bpf_link__destroy(allocated);
	test_tp_nest__destroy(skel);
}

/*
 * Neither programs nor events may see a hit that a program causes.  The program must
 * count it as missed, the event as lost.
 */
static void test_in_a_helper(void)
{
	struct bpf_link *print = NULL, *printed = NULL;
	struct test_tp_nest *skel = nest_load();
	struct perf_event_attr attr = { .read_format = PERF_FORMAT_LOST };
	struct { __u64 value, lost; } read_value = {};
	/* bpf_printk() hits this tracepoint. */
	int fd = tp_event_open(&attr, "bpf_trace/bpf_trace_printk", 0, -1), i;

	if (!skel)
		goto close;
	print = bpf_program__attach(skel->progs.print);
	printed = bpf_program__attach(skel->progs.printed);
	if (ASSERT_OK_FD(fd, "event") && ASSERT_OK_PTR(print, "print") &&
	    ASSERT_OK_PTR(printed, "printed")) {
		for (i = 0; i < ENOUGH; i++)
			syscall(SYS_getpgid, 0);
		ASSERT_EQ(skel->bss->calls, ENOUGH, "calls");
		ASSERT_EQ(read(fd, &read_value, sizeof(read_value)), sizeof(read_value), "read");
		ASSERT_EQ(read_value.value, 0, "value");
		ASSERT_EQ(read_value.lost, ENOUGH, "lost");
		ASSERT_EQ(misses(skel->progs.printed), ENOUGH, "misses");
	}
	bpf_link__destroy(printed);
	bpf_link__destroy(print);
	test_tp_nest__destroy(skel);
close:
	close(fd);
}

/* A thread's stack, with memory above it that cannot be read */
#define STACK_SIZE	(1 << 17)

/* Samples with a copy of the stack, as far as it can be read */
static void *rename_often(void *arg)
{
	struct perf_event_attr attr = {
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_STACK_USER,
		.sample_stack_user = STACK_SIZE / 4,
	};
	struct perf_event_attr faults = { .read_format = PERF_FORMAT_LOST };
	struct { __u64 value, lost; } read_value = {};
	int fd, fault_fd, i;
	void *ring;

	fd = tp_event_open(&attr, "task/task_rename", 0, -1);
	fault_fd = tp_event_open(&faults, "exceptions/page_fault_kernel", 0, -1);
	ring = mmap(NULL, 65 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ASSERT_OK_FD(fd, "event") && ASSERT_OK_FD(fault_fd, "faults") &&
	    ASSERT_NEQ(ring, MAP_FAILED, "ring")) {
		for (i = 0; i < ENOUGH; i++)
			prctl(PR_SET_NAME, "test_progs");
		ASSERT_EQ(tp_event_count(fd), ENOUGH, "renames");
		ASSERT_EQ(read(fault_fd, &read_value, sizeof(read_value)),
			  sizeof(read_value), "read");
		ASSERT_EQ(read_value.lost, 0, "lost");
	}
	if (ring != MAP_FAILED)
		munmap(ring, 65 * getpagesize());
	close(fault_fd);
	close(fd);
	return NULL;
}

/*
 * What perf does itself while it handles a hit is not lost to anybody.  Here it meets a
 * page fault when it copies a stack.
 */
static void test_in_perf_itself(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	char *stack;

	stack = mmap(NULL, 2 * STACK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!ASSERT_NEQ(stack, MAP_FAILED, "stack"))
		return;
	pthread_attr_init(&attr);
	if (ASSERT_OK(mprotect(stack, STACK_SIZE, PROT_READ | PROT_WRITE), "mprotect") &&
	    ASSERT_OK(pthread_attr_setstack(&attr, stack, STACK_SIZE), "setstack") &&
	    ASSERT_OK(pthread_create(&thread, &attr, rename_often, NULL), "thread"))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	munmap(stack, 2 * STACK_SIZE);
}

/* Serial, as the counters are per CPU. */
void serial_test_tp_nest(void)
{
	cpu_set_t old, one;

	sched_getaffinity(0, sizeof(old), &old);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (!ASSERT_OK(sched_setaffinity(0, sizeof(one), &one), "affinity"))
		return;
	if (test__start_subtest("in_a_program"))
		test_in_a_program();
	if (test__start_subtest("in_itself"))
		test_in_itself();
	if (test__start_subtest("in_a_helper"))
		test_in_a_helper();
	if (test__start_subtest("in_perf_itself"))
		test_in_perf_itself();
	if (test__start_subtest("with_same_buffer"))
		test_with_same_buffer(false);
	if (test__start_subtest("with_same_slot"))
		test_with_same_buffer(true);
	if (test__start_subtest("in_map_call"))
		test_in_map_call();
	if (test__start_subtest("in_map_lock"))
		test_in_map_lock();
	sched_setaffinity(0, sizeof(old), &old);
}
