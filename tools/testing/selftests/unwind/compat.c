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

FIXTURE(i386_program_with_frame_pointers)
{
	struct unwind_perf perf;
	pid_t pid;
};

FIXTURE_VARIANT(i386_program_with_frame_pointers)
{
	unsigned int flags;
	bool (*take)(struct unwind_perf *perf, uint64_t ip, struct unwind_record *record);
};

FIXTURE_VARIANT_ADD(i386_program_with_frame_pointers, deferred) {
	.take = unwind_perf_stack_at,
};

FIXTURE_VARIANT_ADD(i386_program_with_frame_pointers, at_once) {
	.flags = UNWIND_AT_ONCE,
	.take = unwind_perf_sample_at,
};

FIXTURE_SETUP(i386_program_with_frame_pointers)
{
	self->pid = -1;
}

FIXTURE_TEARDOWN(i386_program_with_frame_pointers)
{
	int status;

	if (self->pid <= 0)
		return;
	kill(self->pid, SIGKILL);
	waitpid(self->pid, &status, 0);
	unwind_perf_close(&self->perf);
}

/* Reads what compat_target prints: the fault, 31 frames of down(), main(). */
static void read_chain(struct chain *chain, const char *line)
{
	const char *at = line;

	for (char *end; chain->nr < CHAIN_MAX; at = end) {
		uint64_t ip = strtoull(at, &end, 16);

		if (end == at)
			return;
		chain->ips[chain->nr++] = ip;
	}
}

TEST_F(i386_program_with_frame_pointers, stack)
{
	static struct unwind_record record;
	char file[PATH_MAX] = "", path[PATH_MAX + 16], line[4096];
	const char *missing = unwind_perf_missing();
	int out[2], start[2], status;
	struct chain chain = { };
	ssize_t len;
	pid_t pid;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_LT(0, readlink("/proc/self/exe", file, sizeof(file) - 1));
	snprintf(path, sizeof(path), "%s/compat_target", dirname(file));
	ASSERT_EQ(0, pipe(out));
	ASSERT_EQ(0, pipe(start));
	self->pid = fork();
	if (!self->pid) {
		char byte;

		close(start[1]);
		dup2(out[1], STDOUT_FILENO);
		if (read(start[0], &byte, 1) == 1)
			execl(path, path, NULL);
		_exit(99);
	}
	close(out[1]);
	ASSERT_EQ(0, unwind_perf_open(&self->perf, self->pid, PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS,
				      UNWIND_ON_EXEC | variant->flags));
	ASSERT_EQ(1, write(start[1], "", 1));
	len = read(out[0], line, sizeof(line) - 1);
	pid = self->pid;
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	self->pid = -1;
	ASSERT_EQ(0, status) TH_LOG("%s does not run", path);
	ASSERT_LT(0, len);
	line[len] = 0;
	read_chain(&chain, line);
	ASSERT_EQ(33, chain.nr);
	ASSERT_TRUE(variant->take(&self->perf, chain.ips[0], &record));
	EXPECT_EQ(pid, record.tid);
	EXPECT_TRUE(chain_matches(&chain, &record));
}

TEST_HARNESS_MAIN
