// SPDX-License-Identifier: GPL-2.0
/*
 * Known call chains of a program without frame pointers: exact frames in exact
 * order, alone, in threads, in signal handlers and in children.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "chain.h"

static uint64_t main_return;

#define DEEPEST	100
#define THREADS	4
#define ROUNDS	50

#define NEED_DEFERRED()						\
	do {							\
		const char *missing = unwind_perf_missing();	\
								\
		if (missing)					\
			SKIP(return, "%s", missing);		\
	} while (0)

static int open_faults(struct unwind_perf *perf)
{
	return unwind_perf_open(perf, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
				0);
}

/* Take the deferred stack of the chain's innermost frame. */
static bool take(struct unwind_perf *perf, const struct chain *chain,
		 struct unwind_record *record)
{
	return unwind_perf_stack_at(perf, chain->ips[0], record);
}

TEST(depth_1_to_100)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	struct chain chain;

	NEED_DEFERRED();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_faults(&perf));
	chain.last = main_return;
	for (unsigned int depth = 0; depth < DEEPEST; depth++) {
		unwind_perf_drain(&perf);
		chain_run(&chain, depth);
		/* The fault, each chain_down(), chain_run() and this function. */
		ASSERT_EQ(depth + 4, chain.nr);
		ASSERT_TRUE(take(&perf, &chain, &record)) TH_LOG("depth %u: no record", depth);
		ASSERT_EQ(getpid(), record.pid);
		ASSERT_EQ(gettid(), record.tid);
		ASSERT_TRUE(chain_matches(&chain, &record)) TH_LOG("depth %u", depth);
	}
}

struct worker {
	pthread_t		thread;
	unsigned int		depth;
	unsigned int		good;
	unsigned int		foreign;
	pthread_barrier_t	*barrier;
};

static keep void *work(void *data)
{
	static __thread struct unwind_record record;
	struct worker *worker = data;
	struct unwind_perf perf;
	struct chain chain;

	if (!chain_init(&chain, 0) || open_faults(&perf)) {
		pthread_barrier_wait(worker->barrier);
		return NULL;
	}
	pthread_barrier_wait(worker->barrier);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		chain_run(&chain, worker->depth);
		if (!take(&perf, &chain, &record))
			continue;
		worker->foreign += record.tid != gettid();
		chain.ips[chain.nr++] = chain_return_address();
		worker->good += chain_matches(&chain, &record);
	}
	unwind_perf_close(&perf);
	return NULL;
}

TEST(threads_at_once)
{
	struct worker workers[THREADS];
	pthread_barrier_t barrier;

	NEED_DEFERRED();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .depth = 3 + 11 * i, .barrier = &barrier };
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(ROUNDS, workers[i].good);
		EXPECT_EQ(0, workers[i].foreign);
	}
}

/* What the handlers below find, and where they come from. */
static struct chain handler_chain;
static uint64_t handler_return;

static keep void handler(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	handler_return = chain_return_address();
	chain_run(&handler_chain, 2);
	/* Behind ud2. */
	if (signal == SIGILL)
		interrupted->uc_mcontext.gregs[REG_RIP] += 2;
	asm volatile("" ::: "memory");
}

static keep bool handle(int signal, int flags)
{
	struct sigaction action = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | flags,
	};

	return chain_init(&handler_chain, 0) && !sigaction(signal, &action, NULL);
}

/* The handler's chain goes on with the trampoline and what was interrupted. */
static void add_interrupted(uint64_t ip, uint64_t return_address)
{
	struct chain *chain = &handler_chain;

	/* chain_run() returns to the handler: the last entry so far. */
	chain->ips[chain->nr++] = handler_return;
	chain->ips[chain->nr++] = ip;
	chain->ips[chain->nr++] = return_address;
	chain->last = main_return;
}

TEST(signal_handler)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	uint64_t back;

	NEED_DEFERRED();
	ASSERT_TRUE(handle(SIGUSR1, 0));
	ASSERT_EQ(0, open_faults(&perf));
	back = chain_syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	add_interrupted((uintptr_t)chain_syscall_ip, back);
	ASSERT_TRUE(take(&perf, &handler_chain, &record));
	EXPECT_TRUE(chain_matches(&handler_chain, &record));
}

TEST(signal_handler_on_alternate_stack)
{
	static struct unwind_record record;
	stack_t stack = { .ss_size = 65536 };
	struct unwind_perf perf;
	uint64_t back;

	NEED_DEFERRED();
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, stack.ss_sp);
	ASSERT_EQ(0, sigaltstack(&stack, NULL));
	ASSERT_TRUE(handle(SIGUSR1, SA_ONSTACK));
	ASSERT_EQ(0, open_faults(&perf));
	back = chain_syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	add_interrupted((uintptr_t)chain_syscall_ip, back);
	ASSERT_TRUE(take(&perf, &handler_chain, &record));
	EXPECT_TRUE(chain_matches(&handler_chain, &record));
}

/*
 * The interrupted instruction is a function's first, behind a gap: a look-up one
 * byte before it finds nothing.
 */
TEST(signal_at_first_instruction)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	uint64_t back;

	NEED_DEFERRED();
	ASSERT_TRUE(handle(SIGILL, 0));
	ASSERT_EQ(0, open_faults(&perf));
	back = chain_illegal();
	add_interrupted((uintptr_t)chain_illegal, back);
	ASSERT_TRUE(take(&perf, &handler_chain, &record));
	EXPECT_TRUE(chain_matches(&handler_chain, &record));
}

/* What a child writes for its parent, in shared memory. */
struct child_report {
	struct chain		chain;
	struct unwind_record	record;
	bool			taken;
};

static struct child_report *new_report(void)
{
	struct child_report *report = mmap(NULL, sizeof(*report),
					   PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return report == MAP_FAILED ? NULL : report;
}

static keep int child_body(void *data)
{
	struct child_report *report = data;
	struct unwind_perf perf;

	if (!chain_init(&report->chain, 0) || open_faults(&perf))
		return 1;
	chain_run(&report->chain, 5);
	report->taken = take(&perf, &report->chain, &report->record);
	report->chain.ips[report->chain.nr++] = chain_return_address();
	unwind_perf_close(&perf);
	return 0;
}

TEST(forked_child)
{
	struct child_report *report = new_report();
	int status;
	pid_t pid;

	NEED_DEFERRED();
	ASSERT_NE(NULL, report);
	pid = fork();
	if (!pid)
		_exit(child_body(report));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_TRUE(report->taken);
	report->chain.last = main_return;
	EXPECT_EQ(pid, report->record.tid);
	EXPECT_TRUE(chain_matches(&report->chain, &report->record));
}

TEST(vforked_child)
{
	struct child_report *report = new_report();
	int status;
	pid_t pid;

	NEED_DEFERRED();
	ASSERT_NE(NULL, report);
	pid = vfork();
	if (!pid)
		_exit(child_body(report));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_TRUE(report->taken);
	report->chain.last = main_return;
	EXPECT_EQ(pid, report->record.tid);
	EXPECT_TRUE(chain_matches(&report->chain, &report->record));
}

/* Shares memory, has its own stack; what is below its function is the C library's. */
TEST(cloned_child)
{
	static char stack[65536] __attribute__((aligned(64)));
	struct child_report *report = new_report();
	int status;
	pid_t pid;

	NEED_DEFERRED();
	ASSERT_NE(NULL, report);
	pid = clone(child_body, stack + sizeof(stack), CLONE_VM | SIGCHLD, report);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_TRUE(report->taken);
	EXPECT_EQ(pid, report->record.tid);
	EXPECT_TRUE(chain_matches(&report->chain, &report->record));
}

#define main(...) harness_main(__VA_ARGS__)
TEST_HARNESS_MAIN
#undef main

int main(int argc, char **argv)
{
	int result;

	main_return = chain_return_address();
	result = harness_main(argc, argv);
	asm volatile("" : "+r"(result));
	return result;
}
