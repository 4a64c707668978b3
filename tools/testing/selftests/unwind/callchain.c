// SPDX-License-Identifier: GPL-2.0
/*
 * Test known callchains of a program without frame pointers for exact frames in exact
 * order: in a single thread, in several threads, in signal handlers, coroutines and
 * children.
 *
 * Compiled twice: with AT_ONCE, all walks are immediate.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "unwind_test.h"
#include "between.h"

#define DEEPEST	100
#define THREADS	4
#define ROUNDS	50

#ifdef AT_ONCE
#define FLAGS		UNWIND_AT_ONCE
#define TAKEN		PERF_RECORD_SAMPLE
#else
#define FLAGS		0
#define TAKEN		UNWIND_RECORD_DEFERRED
#endif

/* Immediate walks use only tables of files that an earlier sample has made known. */
static int open_chain(struct unwind_perf *perf)
{
	int err = open_faults(perf, FLAGS);

	if (!err && !touch_new_page())
		err = -ENOMEM;
	return err;
}

/* Take the stack of the chain's innermost frame. */
static bool take(struct unwind_perf *perf, const struct chain *chain,
		 struct unwind_record *record)
{
	while (unwind_perf_next(perf, record))
		if (record->type == TAKEN && unwind_user_part(record) &&
		    record->ips[0] == chain->ips[0])
			return true;
	return false;
}

TEST(depth_1_to_100)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_chain(&perf));
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

	if (!chain_init(&chain, 0) || open_chain(&perf)) {
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

	NEED_UNWIND();
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

/* The callchain that the handlers below should find, and their return address. */
static struct chain handler_chain;
static uint64_t handler_return;

static keep void handler(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	handler_return = chain_return_address();
	chain_run(&handler_chain, 2);
	/* The instruction after ud2. */
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

/* Continue the handler's chain with the trampoline and the interrupted frames. */
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

	NEED_UNWIND();
	ASSERT_TRUE(handle(SIGUSR1, 0));
	ASSERT_EQ(0, open_chain(&perf));
	back = chain_syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	add_interrupted((uintptr_t)chain_syscall_ip, back);
	ASSERT_TRUE(take(&perf, &handler_chain, &record));
	EXPECT_TRUE(chain_matches(&handler_chain, &record));
}

static bool handle_on_alternate_stack(int signal)
{
	stack_t stack = { .ss_size = 65536 };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return stack.ss_sp != MAP_FAILED && !sigaltstack(&stack, NULL) &&
	       handle(signal, SA_ONSTACK);
}

TEST(signal_handler_on_alternate_stack)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	uint64_t back;

	NEED_UNWIND();
	ASSERT_TRUE(handle_on_alternate_stack(SIGUSR1));
	ASSERT_EQ(0, open_chain(&perf));
	back = chain_syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	add_interrupted((uintptr_t)chain_syscall_ip, back);
	ASSERT_TRUE(take(&perf, &handler_chain, &record));
	EXPECT_TRUE(chain_matches(&handler_chain, &record));
}

static uint64_t outer_return, outer_back;

static keep void outer_handler(int signal, siginfo_t *info, void *context)
{
	outer_return = chain_return_address();
	outer_back = chain_syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	asm volatile("" ::: "memory");
}

/* A signal during a signal handler, on another stack. */
TEST(signal_handler_in_signal_handler)
{
	struct sigaction action = { .sa_sigaction = outer_handler, .sa_flags = SA_SIGINFO };
	static struct unwind_record record;
	struct unwind_perf perf;
	uint64_t back;

	NEED_UNWIND();
	ASSERT_TRUE(handle_on_alternate_stack(SIGUSR1));
	ASSERT_EQ(0, sigaction(SIGUSR2, &action, NULL));
	ASSERT_EQ(0, open_chain(&perf));
	back = chain_syscall(SYS_tgkill, getpid(), gettid(), SIGUSR2);
	add_interrupted((uintptr_t)chain_syscall_ip, outer_back);
	handler_chain.ips[handler_chain.nr++] = outer_return;
	handler_chain.ips[handler_chain.nr++] = (uintptr_t)chain_syscall_ip;
	handler_chain.ips[handler_chain.nr++] = back;
	ASSERT_TRUE(take(&perf, &handler_chain, &record));
	EXPECT_TRUE(chain_matches(&handler_chain, &record));
}

/*
 * The interrupted instruction is the first of a function after a gap, so a lookup one
 * byte before it would find no row.
 */
TEST(signal_at_first_instruction)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	uint64_t back;

	NEED_UNWIND();
	ASSERT_TRUE(handle(SIGILL, 0));
	ASSERT_EQ(0, open_chain(&perf));
	back = chain_illegal();
	add_interrupted((uintptr_t)chain_illegal, back);
	ASSERT_TRUE(take(&perf, &handler_chain, &record));
	EXPECT_TRUE(chain_matches(&handler_chain, &record));
}

static keep int below_between(struct chain *chain)
{
	chain->returns[chain->returns_nr++] = chain_return_address();
	return chain_run(chain, 3) + 1;
}

static keep int above_between(struct chain *chain)
{
	uint64_t *returns_to;

	chain->returns[chain->returns_nr++] = chain_return_address();
	returns_to = &chain->returns[chain->returns_nr++];
	return between(below_between, chain, returns_to) + 1;
}

/* Tables, a frame pointer, and tables again; twice. */
TEST(frame_pointer_between_tables)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	struct chain chain;
	uint64_t *returns_to;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_chain(&perf));
	chain.last = main_return;
	returns_to = &chain.returns[chain.returns_nr++];
	between(above_between, &chain, returns_to);
	/* The fault, four times chain_down(), chain_run(), and these four. */
	ASSERT_EQ(11, chain.nr);
	ASSERT_TRUE(take(&perf, &chain, &record));
	EXPECT_TRUE(chain_matches(&chain, &record));
}

static ucontext_t coroutine_context, caller_context;
static struct chain coroutine_chain;

static keep void coroutine(void)
{
	chain_run(&coroutine_chain, 4);
	coroutine_chain.ips[coroutine_chain.nr++] = chain_return_address();
}

/* No function calls a coroutine: the walk must end there, and not continue in its creator. */
TEST(coroutine_ends_the_stack)
{
	static char stack[65536] __attribute__((aligned(64)));
	static struct unwind_record record;
	struct unwind_perf perf;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&coroutine_chain, 0));
	ASSERT_EQ(0, open_chain(&perf));
	ASSERT_EQ(0, getcontext(&coroutine_context));
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = sizeof(stack);
	coroutine_context.uc_link = &caller_context;
	makecontext(&coroutine_context, coroutine, 0);
	ASSERT_EQ(0, swapcontext(&caller_context, &coroutine_context));
	ASSERT_EQ(9, coroutine_chain.nr);
	ASSERT_TRUE(take(&perf, &coroutine_chain, &record));
	EXPECT_TRUE(chain_matches(&coroutine_chain, &record));
	/* The C library has no table here, so a guess may add one frame. */
	EXPECT_LE(record.nr, coroutine_chain.nr + 1);
}

static keep int deep(void *page, unsigned int depth)
{
	int result = depth ? deep(page, depth - 1) : (int)chain_fault(page);

	return (result ^ depth) * 3;
}

/* Number of frames of deep() in a sample of a stack with @depth of them. */
static keep unsigned int frames_of_deep(struct chain *chain, unsigned int depth)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	unsigned int same = 1;
	bool taken;

	if (open_chain(&perf))
		return 0;
	chain->ips[0] = (uintptr_t)chain_fault_ip;
	/* The first round touches the stack, which faults as well. */
	for (volatile int i = 0; i < 2; i++) {
		madvise(chain->page, 4096, MADV_DONTNEED);
		unwind_perf_drain(&perf);
		deep(chain->page, depth);
	}
	taken = take(&perf, chain, &record);
	unwind_perf_close(&perf);
	if (!taken)
		return 0;
	/* The call of the fault, then the recursive calls. */
	while (same + 1 < record.nr && record.ips[same + 1] == record.ips[2])
		same++;
	return record.nr == same + 1 ? record.nr : 0;
}

/* A sample must have the innermost frames, up to the system's limit. */
TEST(deeper_than_the_limit)
{
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	EXPECT_EQ(127, frames_of_deep(&chain, 3000));
	ASSERT_TRUE(set_max_stack(1024));
	EXPECT_EQ(1024, frames_of_deep(&chain, 3000));
	ASSERT_TRUE(set_max_stack(127));
	EXPECT_EQ(127, frames_of_deep(&chain, 3000));
}

/* Opens a uretprobe on @function. */
static int open_uretprobe(struct unwind_perf *perf, const void *function)
{
	struct unwind_event event = {
		.type = unwind_pmu("uprobe"),
		.config = 1,
		.config1 = (uintptr_t)"/proc/self/exe",
		.config2 = unwind_file_offset((uintptr_t)function),
		.flags = UNWIND_AT_ONCE,
		.cpu = -1,
	};

	return unwind_perf_open_event(perf, &event);
}

/*
 * All return addresses in the frames are that of the trampoline; the callchain must have
 * the original ones.
 */
TEST(functions_with_uretprobes)
{
	static struct unwind_record record;
	struct unwind_perf perf, probe;
	struct chain chain, without = { };

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_chain(&perf));
	for (volatile int i = 0; i < 2; i++) {
		if (i == 1) {
			without = chain;
			ASSERT_EQ(0, open_uretprobe(&probe, chain_down));
		}
		chain.returns_nr = 0;
		unwind_perf_drain(&perf);
		chain_run(&chain, 10);
	}
	/* The functions must see the trampoline, which shows that the probes are active. */
	ASSERT_EQ(without.nr, chain.nr);
	EXPECT_NE(without.ips[3], chain.ips[3]);
	EXPECT_EQ(chain.ips[3], chain.ips[4]);
	without.last = main_return;
	ASSERT_TRUE(take(&perf, &without, &record));
	EXPECT_TRUE(chain_matches(&without, &record));
}

/* Address of the trampoline, or 0 before a function with a uretprobe was called. */
static uint64_t trampoline(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long found = 0;
	char line[256];

	while (file && !found && fgets(line, sizeof(line), file))
		if (strstr(line, "[uprobes]"))
			found = strtoul(line, NULL, 16);
	if (file)
		fclose(file);
	return found;
}

static ucontext_t upper_context, resumed_context, lower_context;
static struct chain lower_chain;

/* The probed function, with three active calls at the same time. */
static keep int probed(int (*inner)(void))
{
	int result;

	result = inner();
	asm volatile("" : "+r"(result));
	return result;
}

static keep int in_lower(void)
{
	lower_chain.returns[0] = chain_return_address();
	swapcontext(&lower_context, &upper_context);
	lower_chain.ips[0] = (uintptr_t)chain_fault_ip;
	lower_chain.ips[1] = chain_fault(lower_chain.page);
	return swapcontext(&lower_context, &resumed_context);
}

static void lower(void)
{
	probed(in_lower);
}

static keep int resume_lower(void)
{
	return swapcontext(&resumed_context, &lower_context);
}

static keep int start_lower(void)
{
	swapcontext(&upper_context, &lower_context);
	return probed(resume_lower);
}

/*
 * A call of a probed function on a lower stack, then one on an upper stack: the kernel
 * assumes that longjmp() left the first call, and forgets its return address.  The
 * callchain must then have the trampoline, not the return address of another call.
 */
TEST(uretprobe_that_the_kernel_has_forgotten)
{
	static char stack[65536] __attribute__((aligned(64)));
	static struct unwind_record record;
	struct unwind_perf perf, probe;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&lower_chain, 0));
	ASSERT_EQ(0, open_chain(&perf));
	ASSERT_EQ(0, open_uretprobe(&probe, probed));
	ASSERT_EQ(0, getcontext(&lower_context));
	lower_context.uc_stack.ss_sp = stack;
	lower_context.uc_stack.ss_size = sizeof(stack);
	makecontext(&lower_context, lower, 0);
	probed(start_lower);

	/* The fault, in_lower(), probed() and the return address of that call. */
	lower_chain.ips[2] = lower_chain.returns[0];
	lower_chain.ips[3] = trampoline();
	lower_chain.nr = 4;
	ASSERT_NE(0, lower_chain.ips[3]);
	ASSERT_TRUE(take(&perf, &lower_chain, &record));
	EXPECT_TRUE(chain_matches(&lower_chain, &record));
}

static keep uint64_t returned(void)
{
	return chain_return_address();
}

/* Samples at the first instruction of the trampoline and in the kernel's handling of it. */
TEST(on_the_trampoline_itself)
{
	uint64_t handler = unwind_kernel_symbol("uprobe_handle_trampoline");
	static struct unwind_record record;
	struct unwind_perf perfs[2], probe;
	struct chain chain = { };

	NEED_UNWIND();
	ASSERT_NE(0, handler);
	for (volatile int i = 0; i < 3; i++) {
		uint64_t back = returned();

		if (i == 0) {
			chain.ips[chain.nr++] = back;
			chain.last = main_return;
			ASSERT_EQ(0, open_uretprobe(&probe, returned));
		} else if (i == 1) {
			EXPECT_EQ(trampoline(), back);
			ASSERT_EQ(0, unwind_perf_open(&perfs[0], 0, PERF_TYPE_BREAKPOINT,
						      back, FLAGS));
			ASSERT_EQ(0, unwind_perf_open(&perfs[1], 0, PERF_TYPE_BREAKPOINT,
						      handler, FLAGS));
		}
	}
	for (int i = 0; i < 2; i++) {
		EXPECT_TRUE(take(&perfs[i], &chain, &record)) TH_LOG("breakpoint %d", i);
		EXPECT_TRUE(chain_matches(&chain, &record));
	}
}

/* Shared memory in which a child reports to its parent. */
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

	if (!chain_init(&report->chain, 0) || open_chain(&perf))
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

	NEED_UNWIND();
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

	NEED_UNWIND();
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

/*
 * The child shares memory but has its own stack; callers of its function are in the C
 * library.
 */
TEST(cloned_child)
{
	static char stack[65536] __attribute__((aligned(64)));
	struct child_report *report = new_report();
	int status;
	pid_t pid;

	NEED_UNWIND();
	ASSERT_NE(NULL, report);
	pid = clone(child_body, stack + sizeof(stack), CLONE_VM | SIGCHLD, report);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_TRUE(report->taken);
	EXPECT_EQ(pid, report->record.tid);
	EXPECT_TRUE(chain_matches(&report->chain, &report->record));
}

TEST_HARNESS_MAIN
