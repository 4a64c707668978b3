// SPDX-License-Identifier: GPL-2.0
/*
 * Sample hostile processes at the highest rate, while the stacks of honest processes must
 * stay exact.
 *
 * UNWIND_SECONDS sets the duration (default 10), UNWIND_SEED the random seed (default 1).
 * The kernel log must stay free of warnings, preferably on a kernel with KASAN, lockdep
 * and kmemleak.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest.h"
#include "chain.h"
#include "layout.h"
#include "stress.h"

#define MAX_CPUS	16
#define HOSTILES	4
#define DEEPEST		90
#define SHORTEST_PERIOD	10000ul
#define TURN_NS		5000000l
#define DEEDS_A_KILL	50
#define TURNS_A_KILL	1000
/* Priority over the many other processes */
#define NICE_SUPERVISOR	(-10)

struct stress_shared *stress_shared;

/* Results of an honest process. */
struct honest {
	unsigned long	rounds;
	unsigned long	wrong;
	unsigned long	absent;
};

static uint64_t main_return;

static unsigned long number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 0) : otherwise;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void *new_shared(size_t size)
{
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	return page;
}

/* Sample this thread's page faults, with @flags of enum unwind_flags. */
static void watch_own_faults(struct unwind_perf *perf, unsigned int flags)
{
	int error = unwind_perf_open(perf, 0, PERF_TYPE_SOFTWARE,
				     PERF_COUNT_SW_PAGE_FAULTS, flags);

	if (error)
		ksft_exit_fail_msg("perf_event_open: %s\n", strerror(-error));
}

static void judge(struct honest *honest, const struct chain *chain, bool taken,
		  const struct unwind_record *record)
{
	honest->rounds++;
	if (!taken)
		honest->absent++;
	else if (!chain_equal(chain, record) && honest->wrong++ < 3)
		chain_print(chain, record);
}

/*
 * Chains of random depth, sampled with deferred and immediate walks.  Immediate walks may
 * miss rows in the first rounds.
 */
static void honest_chains(struct honest *deferred, struct honest *at_once, uint64_t random)
{
	static struct unwind_record record;
	struct unwind_perf perfs[2];
	struct chain chain;

	watch_own_faults(&perfs[0], 0);
	watch_own_faults(&perfs[1], UNWIND_AT_ONCE);
	chain_init(&chain, 0);
	chain.last = main_return;
	for (unsigned long round = 0; !stress_stopped(); round++) {
		for (int i = 0; i < 2; i++)
			unwind_perf_drain(&perfs[i]);
		chain_run(&chain, stress_below(&random, DEEPEST));
		judge(deferred, &chain,
		      unwind_perf_stack_at(&perfs[0], chain.ips[0], &record), &record);
		if (round < DEEPEST)
			continue;
		judge(at_once, &chain,
		      unwind_perf_sample_at(&perfs[1], chain.ips[0], &record), &record);
	}
}

/* An address at which functions replace each other. */
struct changing {
	uint8_t		*text;
	uint8_t		*table;
	void		*page;
	bool		known;
};

#define RETURNING	2

/* Thread of that process.  @page is mapped before anything is unmapped. */
struct returning {
	uint8_t		*page;
	uint64_t	stack[64];
};

/* Thread whose stacks return to the changing address, so walks look it up all the time. */
static void *returns_to_changing(void *data)
{
	struct returning *returning = data;

	while (!stress_stopped()) {
		madvise(returning->page, STRESS_PAGE, MADV_DONTNEED);
		stress_forge(returning->page, returning->stack, 0);
	}
	return NULL;
}

static void start_returning(const struct changing *changing)
{
	static struct returning all[RETURNING];
	pthread_t thread;

	for (int i = 0; i < RETURNING; i++) {
		for (int j = 0; j < 64; j++)
			all[i].stack[j] = (uintptr_t)changing->text + LAYOUT_FAULT + 1;
		all[i].page = mmap(NULL, STRESS_PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pthread_create(&thread, NULL, returns_to_changing, &all[i]))
			_exit(3);
	}
}

static void map_anew(uint8_t *at, uint64_t *random)
{
	void *from;

	switch (stress_below(random, 3)) {
	case 0:
		munmap(at, STRESS_PAGE);
		break;
	case 1:
		from = mmap(NULL, STRESS_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mremap(from, STRESS_PAGE, STRESS_PAGE,
			   MREMAP_MAYMOVE | MREMAP_FIXED, at) == at)
			return;
		break;
	}
	if (mmap(at, STRESS_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		_exit(1);
}

/*
 * Put another function at the same address, by replacing text or table.  No row of the
 * old function may be left: without a new table there must be no rows at all.
 */
static void change(struct changing *changing, uint64_t *random)
{
	unsigned int frame = 8 * (1 + stress_below(random, LAYOUT_MAX_FRAME / 8));
	struct unwind_region region = layout_region(changing->table, changing->text);

	if (changing->known && stress_below(random, 2)) {
		if (prctl(UNWIND_PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0))
			_exit(3);
		mprotect(changing->text, STRESS_PAGE, PROT_READ | PROT_WRITE);
	} else {
		map_anew(changing->text, random);
	}
	layout_write_text(changing->text, frame);
	mprotect(changing->text, STRESS_PAGE, PROT_READ | PROT_EXEC);
	changing->known = stress_below(random, 4);
	if (!changing->known)
		return;
	layout_write_table(changing->table, changing->text, frame);
	if (prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region), 0, 0))
		_exit(2);
}

/* Call the changing function from the program, whose rows do not change. */
static keep uint64_t call_changing(const struct changing *changing)
{
	((layout_function *)changing->text)(changing->page);
	asm volatile("" ::: "memory");
	return chain_return_address();
}

/* Whether the stack of the fault in @changing continues in call_changing(). */
static bool is_exact(const struct changing *changing, uint64_t caller,
		     const struct unwind_record *record)
{
	return record->nr > 2 && record->ips[1] > (uintptr_t)call_changing &&
	       record->ips[1] < (uintptr_t)call_changing + 128 &&
	       record->ips[2] == caller;
}

static void honest_changes(struct honest *honest, uint64_t random)
{
	static struct unwind_record record;
	struct changing changing = { };
	struct unwind_perf perf;

	watch_own_faults(&perf, 0);
	changing.text = mmap(NULL, 3 * STRESS_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	changing.table = changing.text + STRESS_PAGE;
	changing.page = changing.text + 2 * STRESS_PAGE;
	start_returning(&changing);
	while (!stress_stopped()) {
		struct chain none = { };
		uint64_t caller;

		change(&changing, &random);
		madvise(changing.page, STRESS_PAGE, MADV_DONTNEED);
		unwind_perf_drain(&perf);
		caller = call_changing(&changing);
		honest->rounds++;
		if (!unwind_perf_stack_at(&perf, (uintptr_t)changing.text +
					  LAYOUT_FAULT, &record))
			honest->absent++;
		else if (is_exact(&changing, caller, &record) != changing.known &&
			 honest->wrong++ < 3)
			chain_print(&none, &record);
	}
}

/* Events with which the supervisor samples all tasks. */
struct watch {
	struct unwind_perf	perfs[MAX_CPUS * 8];
	unsigned int		nr;
	unsigned long		samples;
	unsigned long		deferred;
	unsigned long		records;
};

/*
 * Timer period that leaves CPU time for the load, from the cost of a page fault's sample
 * in CPU time of this thread.
 */
static uint64_t timer_period(void)
{
	uint64_t period = SHORTEST_PERIOD, taken;
	struct unwind_perf perf;
	struct chain chain;

	watch_own_faults(&perf, 0);
	chain_init(&chain, 0);
	taken = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < 100; i++) {
		chain_run(&chain, 20);
		unwind_perf_drain(&perf);
	}
	taken = now_ns(CLOCK_THREAD_CPUTIME_ID) - taken;
	unwind_perf_close(&perf);
	if (taken / 100 * 4 > period)
		period = taken / 100 * 4;
	return period;
}

static void watch_event(struct watch *watch, struct unwind_event event)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	event.pid = -1;
	for (event.cpu = 0; event.cpu < cpus && event.cpu < MAX_CPUS; event.cpu++) {
		int error = unwind_perf_open_event(&watch->perfs[watch->nr++], &event);

		if (error)
			ksft_exit_fail_msg("event %u/%llu: %s\n", event.type,
					   (unsigned long long)event.config,
					   strerror(-error));
	}
}

/* Sample timers, faults, switches, system calls, and a breakpoint, which counts as NMI. */
static void watch_all(struct watch *watch, uint64_t period)
{
	const uint32_t software = PERF_TYPE_SOFTWARE;
	long enter = unwind_tracepoint("raw_syscalls/sys_enter");
	uint64_t getppid = unwind_kernel_symbol("__x64_sys_getppid");

	watch_event(watch, (struct unwind_event){
		.type = software, .config = PERF_COUNT_SW_CPU_CLOCK,
		.period = period, .flags = UNWIND_AT_ONCE });
	watch_event(watch, (struct unwind_event){
		.type = software, .config = PERF_COUNT_SW_CPU_CLOCK,
		.period = period * 3 / 2 });
	watch_event(watch, (struct unwind_event){
		.type = software, .config = PERF_COUNT_SW_PAGE_FAULTS,
		.flags = UNWIND_AT_ONCE });
	watch_event(watch, (struct unwind_event){
		.type = software, .config = PERF_COUNT_SW_CONTEXT_SWITCHES });
	watch_event(watch, (struct unwind_event){
		.type = software, .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.flags = UNWIND_AT_ONCE });
	if (enter >= 0)
		watch_event(watch, (struct unwind_event){
			.type = PERF_TYPE_TRACEPOINT, .config = enter });
	if (getppid)
		watch_event(watch, (struct unwind_event){
			.type = PERF_TYPE_BREAKPOINT, .config = getppid });
}

/* Keep a ring from filling up.  Read only a part, as other rings wait. */
static void read_rings(struct watch *watch)
{
	static struct unwind_record record;

	for (unsigned int i = 0; i < watch->nr; i++) {
		for (int j = 0; j < 200 && unwind_perf_next(&watch->perfs[i], &record); j++) {
			if (record.type == PERF_RECORD_SAMPLE) {
				watch->samples++;
				watch->deferred += !!record.cookie;
			} else {
				watch->records++;
			}
		}
	}
}

/* Directory with the files of hostile processes */
static char dir[] = "/tmp/unwind-stress-XXXXXX";

/* Make files that overlayfs shows from below, as those of a container's image are. */
static bool make_files(void)
{
	char path[64], options[128];
	int fd;

	if (!mkdtemp(dir) || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("stress", dir, "tmpfs", 0, NULL))
		return false;
	snprintf(options, sizeof(options), "lowerdir=%s/0,upperdir=%s/1,workdir=%s/2",
		 dir, dir, dir);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		if (mkdir(path, 0755))
			return false;
	}
	for (int i = 0; i < STRESS_FILES; i++) {
		snprintf(path, sizeof(path), "%s/0/%d", dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
		if (fd < 0 || stress_copy_program(fd) || close(fd))
			return false;
	}
	return !mount("stress", dir, "overlay", 0, options);
}

static void remove_files(void)
{
	umount(dir);
	umount(dir);
	rmdir(dir);
}

static pid_t start_hostile(uint64_t seed)
{
	pid_t pid = fork();

	if (!pid) {
		/* Drop the supervisor's priority. */
		setpriority(PRIO_PROCESS, 0, 0);
		stress_hostile(seed, dir);
	}
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	return pid;
}

/*
 * Whether to kill a process now: after a number of deeds, which take a debug kernel much
 * longer, or at random, in case no deeds are counted for long.
 */
static bool is_time_to_kill(uint64_t *random)
{
	static unsigned long next = DEEDS_A_KILL;

	if (stress_shared->counts[STRESS_DEEDS] < next && stress_below(random, TURNS_A_KILL))
		return false;
	next = stress_shared->counts[STRESS_DEEDS] + stress_below(random, 2 * DEEDS_A_KILL);
	return true;
}

/* Replace processes that have ended, and kill one now and then. */
static void keep_going(pid_t *hostiles, uint64_t *random)
{
	int killed = is_time_to_kill(random) ? stress_below(random, HOSTILES) : -1;

	for (int i = 0; i < HOSTILES; i++) {
		if (hostiles[i] && i == killed) {
			kill(hostiles[i], SIGKILL);
			stress_count(STRESS_KILLS);
		}
		if (hostiles[i]) {
			if (waitpid(hostiles[i], NULL, WNOHANG) != hostiles[i])
				continue;
			stress_count(STRESS_DIED);
		}
		hostiles[i] = start_hostile(stress_random(random));
	}
}

/*
 * Start the first process of a new pid namespace.  When it ends, the kernel kills all
 * others in the namespace, including orphans.
 */
static pid_t start_namespace(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		ksft_exit_fail_msg("a process namespace: %s\n", strerror(errno));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGCHLD, SIG_IGN);
		for (;;)
			pause();
	}
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	return pid;
}

static void storm(struct watch *watch, unsigned long seconds, uint64_t random)
{
	const struct timespec turn = { .tv_nsec = TURN_NS };
	uint64_t end = now_ns(CLOCK_MONOTONIC) + seconds * 1000000000ull;
	pid_t hostiles[HOSTILES] = { };
	pid_t first = start_namespace();

	while (now_ns(CLOCK_MONOTONIC) < end) {
		keep_going(hostiles, &random);
		read_rings(watch);
		nanosleep(&turn, NULL);
	}
	/* It ends after all others have been reaped. */
	kill(first, SIGKILL);
	for (int i = 0; i < HOSTILES; i++)
		waitpid(hostiles[i], NULL, 0);
	waitpid(first, NULL, 0);
}

static bool ended_well(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) == pid && !status)
		return true;
	ksft_print_msg("an honest process ended with status %#x\n", status);
	return false;
}

static void report_honest(const char *name, const struct honest *honest, bool ended)
{
	ksft_print_msg("figure %s: %lu stacks, %lu wrong, %lu absent\n", name,
		       honest->rounds, honest->wrong, honest->absent);
	ksft_test_result(ended && honest->rounds && !honest->wrong && !honest->absent,
			 "%s\n", name);
}

/* Fail if one of the events never happened, as the test has then not tested it. */
static void report_storm(const struct watch *watch)
{
	static const char * const names[STRESS_EVENTS] = {
		"deeds", "tables taken", "tables refused", "tables removed", "remaps",
		"files mapped", "files written", "files replaced", "forks", "vforks", "execs",
		"forged stacks", "signals", "kills", "ended",
	};
	unsigned long lost = 0, senseless = 0;
	bool all = watch->samples && watch->deferred && watch->records;

	for (int i = 0; i < STRESS_EVENTS; i++) {
		ksft_print_msg("figure %s: %lu\n", names[i], stress_shared->counts[i]);
		all = all && stress_shared->counts[i];
	}
	for (unsigned int i = 0; i < watch->nr; i++) {
		lost += watch->perfs[i].lost;
		senseless += watch->perfs[i].senseless;
	}
	ksft_print_msg("figure samples: %lu, deferred %lu, records %lu, lost %lu\n",
		       watch->samples, watch->deferred, watch->records, lost);
	ksft_test_result(all, "storm_was_one\n");
	ksft_test_result(!senseless, "records_make_sense\n");
}

static int run(void)
{
	unsigned long seconds = number("UNWIND_SECONDS", 10);
	uint64_t seed = number("UNWIND_SEED", 1);
	struct honest *honest = new_shared(3 * sizeof(*honest));
	uint64_t random = seed * 0x9e3779b97f4a7c15ull | 1;
	const char *missing = unwind_perf_missing();
	bool chains_well, changes_well;
	static struct watch watch;
	pid_t chains, changes;
	uint64_t period;

	ksft_print_header();
	if (missing)
		ksft_exit_skip("%s\n", missing);
	if (!make_files())
		ksft_exit_skip("files on overlayfs: %s\n", strerror(errno));
	ksft_set_plan(5);
	ksft_print_msg("seed %llu, %lu seconds\n", (unsigned long long)seed, seconds);
	period = timer_period();
	ksft_print_msg("a timer's sample each %lu us\n", (unsigned long)period / 1000);
	stress_shared = new_shared(sizeof(*stress_shared));
	fflush(stdout);
	chains = fork();
	if (!chains) {
		honest_chains(&honest[0], &honest[1], stress_random(&random));
		_exit(0);
	}
	changes = fork();
	if (!changes) {
		honest_changes(&honest[2], stress_random(&random));
		_exit(0);
	}
	watch_all(&watch, period);
	setpriority(PRIO_PROCESS, 0, NICE_SUPERVISOR);
	storm(&watch, seconds, random);
	stress_shared->stop = true;
	chains_well = ended_well(chains);
	changes_well = ended_well(changes);
	read_rings(&watch);
	report_honest("deferred_stacks_beside_it_are_exact", &honest[0], chains_well);
	report_honest("stacks_at_once_beside_it_are_exact", &honest[1], chains_well);
	report_honest("no_row_outlives_its_table", &honest[2], changes_well);
	report_storm(&watch);
	for (unsigned int i = 0; i < watch.nr; i++)
		unwind_perf_close(&watch.perfs[i]);
	remove_files();
	ksft_finished();
}

int main(int argc, char **argv)
{
	int result;

	main_return = chain_return_address();
	if (argc == 4 && !strcmp(argv[1], STRESS_HOSTILE))
		stress_hostile(strtoull(argv[2], NULL, 0), argv[3]);
	result = run();
	asm volatile("" : "+r"(result));
	return result;
}
