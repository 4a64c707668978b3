// SPDX-License-Identifier: GPL-2.0
/* The stack of an i386 program, by frame pointers. */
#define _GNU_SOURCE
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "chain.h"

TEST(i386_program_with_frame_pointers)
{
	static struct unwind_record record;
	char self[PATH_MAX] = "", path[PATH_MAX + 16], line[4096], *at = line;
	const char *missing = unwind_perf_missing();
	struct chain chain = { };
	struct unwind_perf perf;
	int out[2], start[2], status;
	ssize_t len;
	pid_t pid;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_LT(0, readlink("/proc/self/exe", self, sizeof(self) - 1));
	snprintf(path, sizeof(path), "%s/compat_target", dirname(self));
	ASSERT_EQ(0, pipe(out));
	ASSERT_EQ(0, pipe(start));
	pid = fork();
	if (!pid) {
		char byte;

		dup2(out[1], STDOUT_FILENO);
		if (read(start[0], &byte, 1) == 1)
			execl(path, path, NULL);
		_exit(99);
	}
	close(out[1]);
	ASSERT_EQ(0, unwind_perf_open(&perf, pid, PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS, UNWIND_ON_EXEC));
	ASSERT_EQ(1, write(start[1], "", 1));
	len = read(out[0], line, sizeof(line) - 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status) TH_LOG("%s does not run", path);
	ASSERT_LT(0, len);
	line[len] = 0;
	for (char *end; chain.nr < CHAIN_MAX; at = end) {
		uint64_t ip = strtoull(at, &end, 16);

		if (end == at)
			break;
		chain.ips[chain.nr++] = ip;
	}
	/* The fault, 31 frames of down(), main(). */
	ASSERT_EQ(33, chain.nr);
	ASSERT_TRUE(unwind_perf_stack_at(&perf, chain.ips[0], &record));
	EXPECT_EQ(pid, record.tid);
	EXPECT_TRUE(chain_matches(&chain, &record));
}

TEST_HARNESS_MAIN
