/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common parts of tests that run chains in their own process: the harness, and a main()
 * that tests can distinguish from the C library that calls it.
 *
 * Each program includes this once, in place of kselftest_harness.h, and ends with
 * TEST_HARNESS_MAIN as usual.
 */
#ifndef _UNWIND_TEST_H
#define _UNWIND_TEST_H

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "chain.h"

/* Long enough for a debug kernel under emulation; no test depends on this timeout. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

/* Return address of main(), for chain.last. */
static uint64_t main_return;

/* In a test: skip it if the kernel does not walk stacks by tables. */
#define NEED_UNWIND()						\
	do {							\
		const char *missing = unwind_perf_missing();	\
								\
		if (missing)					\
			SKIP(return, "%s", missing);		\
	} while (0)

/* The path of a file beside this program, in static memory; NULL without /proc. */
static inline const char *path_beside_program(const char *name)
{
	static char object[PATH_MAX + 32];
	char path[PATH_MAX] = "";

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return NULL;
	snprintf(object, sizeof(object), "%s/%s", dirname(path), name);
	return object;
}

/* Sample this thread's page faults, with @flags of enum unwind_flags. */
static inline int open_faults(struct unwind_perf *perf, unsigned int flags)
{
	return unwind_perf_open(perf, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
				flags);
}

/* Fault once, as open_faults() samples it. */
static inline bool touch_new_page(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return false;
	*(volatile char *)page = 1;
	return !munmap(page, 4096);
}

/* Let page faults in @page wait for answers through the descriptor returned; -1 on failure. */
static inline int hold_faults(void *page)
{
	struct uffdio_register range = {
		.range = { (uintptr_t)page, 4096 }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &range))
		return fd;
	close(fd);
	return -1;
}

/* Set the sysctl, which fails while an event with callchains exists. */
static inline bool set_max_stack(unsigned int frames)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_stack", "w");
	bool done = file && fprintf(file, "%u", frames) > 0;

	return file && !fclose(file) && done;
}

/*
 * Make this program and its libraries known to the kernel, by samples in a child.  A walk does
 * not wait long for a load, so the first test would get short stacks on a slow machine.  Pages
 * that are not resident are read ahead after a sample, and used at a later one.
 */
static void load_tables(void)
{
	struct unwind_perf perf;
	pid_t child = fork();

	if (child > 0)
		waitpid(child, NULL, 0);
	if (child)
		return;
	if (unwind_perf_missing() || open_faults(&perf, 0))
		_exit(0);
	for (int tries = 0; (tries < 4 || unwind_is_loading()) && tries < 600; tries++) {
		if (!touch_new_page())
			_exit(0);
		usleep(100000);
	}
	_exit(0);
}

/* Defined by TEST_HARNESS_MAIN. */
int harness_main(int argc, char **argv);

int main(int argc, char **argv)
{
	int result;

	load_tables();
	main_return = chain_return_address();
	result = harness_main(argc, argv);
	/* Work after the call prevents a tail call. */
	asm volatile("" : "+r"(result));
	return result;
}

#define main(...) harness_main(__VA_ARGS__)

#endif /* _UNWIND_TEST_H */
