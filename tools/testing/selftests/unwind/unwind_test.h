/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests have in common that run chains in their own process: the
 * harness, and a main() that they can tell from the C library below it.
 *
 * Included once a program, in place of kselftest_harness.h; the program ends in
 * TEST_HARNESS_MAIN as usual.
 */
#ifndef _UNWIND_TEST_H
#define _UNWIND_TEST_H

#include "kselftest_harness.h"
#include "chain.h"

/* An emulated debug kernel takes its time; no test waits for this in vain. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

/* Where main() returns to: for chain.last. */
static uint64_t main_return;

/* In a test: skips it where the kernel does not walk stacks by tables. */
#define NEED_UNWIND()						\
	do {							\
		const char *missing = unwind_perf_missing();	\
								\
		if (missing)					\
			SKIP(return, "%s", missing);		\
	} while (0)

/* Samples this thread's page faults; @flags: enum unwind_flags. */
static inline int open_faults(struct unwind_perf *perf, unsigned int flags)
{
	return unwind_perf_open(perf, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
				flags);
}

/* While there is an event with callchains it cannot be set. */
static inline bool set_max_stack(unsigned int frames)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_stack", "w");
	bool done = file && fprintf(file, "%u", frames) > 0;

	return file && !fclose(file) && done;
}

/* What TEST_HARNESS_MAIN defines below this header. */
int harness_main(int argc, char **argv);

int main(int argc, char **argv)
{
	int result;

	main_return = chain_return_address();
	result = harness_main(argc, argv);
	/* Work after the call, so that it is one. */
	asm volatile("" : "+r"(result));
	return result;
}

#define main(...) harness_main(__VA_ARGS__)

#endif /* _UNWIND_TEST_H */
