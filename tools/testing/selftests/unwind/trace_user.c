// SPDX-License-Identifier: GPL-2.0
/*
 * Test the user stacks that ftrace records with its option userstacktrace: known callchains
 * of programs with and without tables, and the contexts that
 * Documentation/trace/callchain-contexts.rst lists for them.
 *
 * Tests that do not need tables pass on kernels without this unwinder, too.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "contexts.h"
#include "unwind_test.h"

#define TRACING	"/sys/kernel/tracing"
#define FAULT	"exceptions/page_fault_user"
/* Number of frames that ftrace records of a stack */
#define FRAMES	8
/* The line above the frames of a stack */
#define STACK	"<user stack trace>"
#define DEEPEST	10
#define CALLS	10

/*
 * Number of events until the tables are known.  Not a constant, as each call of an unrolled
 * loop would have a different return address.
 */
static volatile unsigned int warm = 3;

/* An instance of ftrace with user stacks, and without events so far */
FIXTURE(trace)
{
	char path[64];
};

FIXTURE_SETUP(trace)
{
	if (access(TRACING "/instances", W_OK))
		SKIP(return, "no " TRACING "/instances, or no permission");
	snprintf(self->path, sizeof(self->path), TRACING "/instances/unwind_%d", getpid());
	ASSERT_EQ(0, mkdir(self->path, 0700));
	ASSERT_TRUE(write_file(self->path, "options/userstacktrace", "1"));
}

/* In the parent, as an assertion that fails ends the test's process. */
FIXTURE_TEARDOWN_PARENT(trace)
{
	rmdir(self->path);
}

/* Record @event, of the tasks that trace_only() names if it has been called. */
static bool trace_event(const char *path, const char *event)
{
	char file[128];

	snprintf(file, sizeof(file), "events/%s/enable", event);
	return write_file(path, file, "1");
}

static bool trace_only(const char *path, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return write_file(path, "set_event_pid", text);
}

static bool trace_clear(const char *path)
{
	return write_file(path, "tracing_on", "1") && write_file(path, "trace", "");
}

/* Stop, so that the trace does not change while it is read. */
static FILE *trace_open(const char *path)
{
	char file[80];

	snprintf(file, sizeof(file), "%s/trace", path);
	return write_file(path, "tracing_on", "0") ? fopen(file, "r") : NULL;
}

/* Number of lines of the trace that contain @text. */
static unsigned int trace_count(const char *path, const char *text)
{
	FILE *trace = trace_open(path);
	unsigned int nr = 0;
	char line[256];

	while (trace && fgets(line, sizeof(line), trace))
		nr += !!strstr(line, text);
	if (trace)
		fclose(trace);
	return nr;
}

/* Get the last user stack of the trace whose innermost frame is @ip. */
static bool trace_stack_at(const char *path, uint64_t ip, struct unwind_record *record)
{
	FILE *trace = trace_open(path);
	bool found = false, its = false;
	unsigned long address;
	unsigned int nr = 0;
	char line[256];

	while (trace && fgets(line, sizeof(line), trace)) {
		if (strstr(line, STACK))
			nr = 0;
		if (sscanf(line, " => <%lx>", &address) != 1)
			continue;
		if (!nr++) {
			its = address == ip;
			if (its)
				record->nr = 0;
			found |= its;
		}
		if (its && record->nr < UNWIND_MAX_IPS)
			record->ips[record->nr++] = address;
	}
	if (trace)
		fclose(trace);
	return found;
}

/* Whether the trace has the stack of @chain: all of it, or as much as ftrace records. */
static bool trace_has_chain(const char *path, struct chain *chain, struct unwind_record *record)
{
	if (chain->nr > FRAMES)
		chain->nr = FRAMES;
	return trace_stack_at(path, chain->ips[0], record) && chain_matches(chain, record);
}

TEST_F(trace, depth_1_to_10)
{
	static struct unwind_record record;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_TRUE(trace_only(self->path, getpid()));
	ASSERT_TRUE(trace_event(self->path, FAULT));
	for (unsigned int i = 0; i < warm; i++)
		chain_run(&chain, 1);
	for (unsigned int depth = 0; depth < DEEPEST; depth++) {
		ASSERT_TRUE(trace_clear(self->path));
		chain_run(&chain, depth);
		/* The fault, each chain_down(), chain_run() and this function. */
		ASSERT_EQ(depth + 4, chain.nr);
		EXPECT_TRUE(trace_has_chain(self->path, &chain, &record)) TH_LOG("depth %u", depth);
	}
}

static ucontext_t coroutine_context, caller_context;
static struct chain coroutine_chain;

static keep void coroutine(void)
{
	chain_run(&coroutine_chain, 1);
	coroutine_chain.ips[coroutine_chain.nr++] = chain_return_address();
}

/* A stack that is shorter than a record: nothing may follow its outermost frame. */
TEST_F(trace, coroutine_ends_the_stack)
{
	static char stack[65536] __attribute__((aligned(64)));
	static struct unwind_record record;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&coroutine_chain, 0));
	ASSERT_TRUE(trace_only(self->path, getpid()));
	ASSERT_TRUE(trace_event(self->path, FAULT));
	for (unsigned int i = 0; i < warm; i++)
		touch_new_page();
	ASSERT_EQ(0, getcontext(&coroutine_context));
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = sizeof(stack);
	coroutine_context.uc_link = &caller_context;
	makecontext(&coroutine_context, coroutine, 0);
	ASSERT_EQ(0, swapcontext(&caller_context, &coroutine_context));
	ASSERT_EQ(6, coroutine_chain.nr);
	EXPECT_TRUE(trace_has_chain(self->path, &coroutine_chain, &record));
	/* The C library has no table here, so a guess may add one frame. */
	EXPECT_LE(record.nr, coroutine_chain.nr + 1);
}

/*
 * The walk that ftrace makes for an event ends with an event itself.  ftrace records it, but
 * takes no stack of it: that would make another event, for ever.
 */
TEST_F(trace, of_the_event_of_walks)
{
	static struct unwind_record record;
	struct chain chain = { .nr = 2 };

	NEED_UNWIND();
	ASSERT_TRUE(trace_only(self->path, getpid()));
	ASSERT_TRUE(trace_event(self->path, "syscalls/sys_enter_getppid"));
	ASSERT_TRUE(trace_event(self->path, "unwind/unwind_user_walk"));
	for (unsigned int i = 0; i < warm; i++)
		chain_syscall(SYS_getppid, 0, 0, 0);
	ASSERT_TRUE(trace_clear(self->path));
	chain.ips[0] = (uintptr_t)chain_syscall_ip;
	for (volatile int i = 0; i < CALLS; i++)
		chain.ips[1] = chain_syscall(SYS_getppid, 0, 0, 0);
	EXPECT_EQ(CALLS, trace_count(self->path, " sys_getppid("));
	EXPECT_EQ(CALLS, trace_count(self->path, STACK));
	EXPECT_EQ(CALLS, trace_count(self->path, " unwind_user_walk: "));
	EXPECT_TRUE(trace_has_chain(self->path, &chain, &record));
}

/* A child that waits for its start, and a pipe for its output. */
struct child {
	pid_t	pid;
	int	start;
	int	out;
};

/* Start a child that runs the program @name beside this one; or only faults and exits. */
static bool start_child(struct child *child, const char *name)
{
	const char *path = name ? path_beside_program(name) : NULL;
	int starts[2], outs[2];
	char byte;

	if ((name && (!path || access(path, X_OK))) || pipe(starts) || pipe(outs))
		return false;
	child->pid = fork();
	if (child->pid) {
		close(starts[0]);
		close(outs[1]);
		child->start = starts[1];
		child->out = outs[0];
		return child->pid > 0;
	}
	close(starts[1]);
	if (read(starts[0], &byte, 1) != 1)
		_exit(99);
	if (path) {
		dup2(outs[1], STDOUT_FILENO);
		execl(path, path, NULL);
		_exit(99);
	}
	for (unsigned int i = 0; i < warm; i++)
		touch_new_page();
	chain_syscall(SYS_exit, 0, 0, 0);
	_exit(99);
}

/* Let the child run to its end.  Returns its wait status, or -1. */
static int end_child(struct child *child)
{
	int status;

	if (write(child->start, "", 1) != 1 || waitpid(child->pid, &status, 0) != child->pid)
		return -1;
	return status;
}

/* Parse the output of compat_target.c: the fault, 31 frames of down(), main(). */
static void read_chain(struct chain *chain, int out)
{
	char line[CHAIN_MAX * 17] = "", *at = line;

	if (read(out, line, sizeof(line) - 1) <= 0)
		return;
	for (char *end; chain->nr < CHAIN_MAX; at = end) {
		uint64_t ip = strtoull(at, &end, 16);

		if (end == at)
			return;
		chain->ips[chain->nr++] = ip;
	}
}

/* A program without tables: its walk follows frame pointers, as it always did. */
TEST_F(trace, of_a_program_with_frame_pointers)
{
	static struct unwind_record record;
	struct chain chain = { };
	struct child child;

	ASSERT_TRUE(start_child(&child, "fp_target"));
	ASSERT_TRUE(trace_only(self->path, child.pid));
	ASSERT_TRUE(trace_event(self->path, FAULT));
	ASSERT_EQ(0, end_child(&child));
	read_chain(&chain, child.out);
	ASSERT_LT(FRAMES, chain.nr);
	EXPECT_TRUE(trace_has_chain(self->path, &chain, &record));
	EXPECT_EQ(FRAMES, record.nr);
}

/* ftrace follows no 32-bit frame pointers: of such a program, it has the innermost frame. */
TEST_F(trace, of_an_i386_program)
{
	static struct unwind_record record;
	struct chain chain = { };
	struct child child;

	ASSERT_TRUE(start_child(&child, "compat_target"));
	ASSERT_TRUE(trace_only(self->path, child.pid));
	ASSERT_TRUE(trace_event(self->path, FAULT));
	ASSERT_EQ(0, end_child(&child));
	read_chain(&chain, child.out);
	ASSERT_LT(FRAMES, chain.nr);
	EXPECT_TRUE(trace_stack_at(self->path, chain.ips[0], &record));
}

/* The task has had tables, but the event of its exit comes when they are gone. */
TEST_F(trace, of_a_task_that_has_lost_its_mm)
{
	static struct unwind_record record;
	struct child child;

	ASSERT_TRUE(start_child(&child, NULL));
	ASSERT_TRUE(trace_only(self->path, child.pid));
	ASSERT_TRUE(trace_event(self->path, FAULT));
	ASSERT_TRUE(trace_event(self->path, "sched/sched_process_exit"));
	ASSERT_EQ(0, end_child(&child));
	EXPECT_EQ(1, trace_count(self->path, " sched_process_exit: "));
	EXPECT_TRUE(trace_stack_at(self->path, (uintptr_t)chain_syscall_ip, &record));
}

/* Their stacks are recorded, but have no frame. */
TEST_F(trace, of_kernel_threads)
{
	unsigned int events;

	ASSERT_TRUE(trace_event(self->path, "workqueue/workqueue_execute_start"));
	/* A kworker of each CPU sums up the statistics. */
	ASSERT_TRUE(write_file("/proc/sys/vm", "stat_refresh", "1"));
	events = trace_count(self->path, " workqueue_execute_start: ");
	EXPECT_LT(0, events);
	EXPECT_EQ(events, trace_count(self->path, STACK));
	EXPECT_EQ(0, trace_count(self->path, " => "));
}

TEST_HARNESS_MAIN
