// SPDX-License-Identifier: GPL-2.0
/* Test the stack of an i386 program with frame pointers. */
#define _GNU_SOURCE
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/personality.h>
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

/* Parse the output of compat_target: the fault, 31 frames of down(), main(). */
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

/* Read one line from @out; the program writes no more than that. */
static bool read_line(int out, char *line, size_t size)
{
	ssize_t len = read(out, line, size - 1);

	line[len > 0 ? len : 0] = 0;
	return len > 0;
}

/*
 * Prepare to run the program, always at the same addresses.  It starts when @start is
 * written to, and writes to @out.
 */
static pid_t start_target(const char *path, const char *argument, int *out, int *start)
{
	int outs[2], starts[2];
	char byte;
	pid_t pid;

	if (pipe(outs) || pipe(starts))
		return -1;
	pid = fork();
	if (!pid) {
		close(starts[1]);
		dup2(outs[1], STDOUT_FILENO);
		if (read(starts[0], &byte, 1) == 1 && personality(ADDR_NO_RANDOMIZE) >= 0)
			execl(path, path, argument, NULL);
		_exit(99);
	}
	close(outs[1]);
	close(starts[0]);
	*out = outs[0];
	*start = starts[1];
	return pid;
}

/* Get the output of the program with @argument, without samples. */
static bool run_target(const char *path, const char *argument, char *line, size_t size)
{
	int out, start, status;
	pid_t pid = start_target(path, argument, &out, &start);
	bool done = pid > 0 && write(start, "", 1) == 1 && read_line(out, line, size) &&
		    waitpid(pid, &status, 0) == pid && !status;

	close(out);
	close(start);
	return done;
}

static bool find_target(char *path, size_t size)
{
	char file[PATH_MAX] = "";

	return readlink("/proc/self/exe", file, sizeof(file) - 1) > 0 &&
	       snprintf(path, size, "%s/compat_target", dirname(file)) < (int)size;
}

TEST_F(i386_program_with_frame_pointers, stack)
{
	static struct unwind_record record;
	const char *missing = unwind_perf_missing();
	char path[PATH_MAX + 16], line[4096];
	int out, start, status;
	struct chain chain = { };
	pid_t pid;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_TRUE(find_target(path, sizeof(path)));
	self->pid = start_target(path, NULL, &out, &start);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(0, unwind_perf_open(&self->perf, self->pid, PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS,
				      UNWIND_ON_EXEC | variant->flags));
	ASSERT_EQ(1, write(start, "", 1));
	EXPECT_TRUE(read_line(out, line, sizeof(line)));
	pid = self->pid;
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	self->pid = -1;
	ASSERT_EQ(0, status) TH_LOG("%s does not run", path);
	read_chain(&chain, line);
	ASSERT_EQ(33, chain.nr);
	ASSERT_TRUE(variant->take(&self->perf, chain.ips[0], &record));
	EXPECT_EQ(pid, record.tid);
	EXPECT_TRUE(chain_matches(&chain, &record));
}

/*
 * The program must see the trampoline for each return address, the callchain the original
 * ones.
 */
TEST_F(i386_program_with_frame_pointers, stack_with_uretprobes)
{
	static struct unwind_record record;
	const char *missing = unwind_perf_missing();
	char path[PATH_MAX + 16], line[4096];
	struct unwind_event event = {
		.type = unwind_pmu("uprobe"),
		.config = 1,
		.config1 = (uintptr_t)path,
		.flags = UNWIND_AT_ONCE,
		.cpu = -1,
	};
	struct chain chain = { }, probed = { };
	struct unwind_perf probe;
	int out, start, status;
	pid_t pid;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_TRUE(find_target(path, sizeof(path)));
	ASSERT_TRUE(run_target(path, "offset", line, sizeof(line)));
	event.config2 = strtoull(line, NULL, 16);
	ASSERT_TRUE(run_target(path, NULL, line, sizeof(line)));
	read_chain(&chain, line);
	ASSERT_EQ(33, chain.nr);

	self->pid = start_target(path, NULL, &out, &start);
	ASSERT_LT(0, self->pid);
	event.pid = self->pid;
	ASSERT_EQ(0, unwind_perf_open_event(&probe, &event));
	ASSERT_EQ(0, unwind_perf_open(&self->perf, self->pid, PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS,
				      UNWIND_ON_EXEC | variant->flags));
	ASSERT_EQ(1, write(start, "", 1));
	EXPECT_TRUE(read_line(out, line, sizeof(line)));
	pid = self->pid;
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	self->pid = -1;
	ASSERT_EQ(0, status);
	read_chain(&probed, line);
	ASSERT_EQ(33, probed.nr);
	/* The addresses must be the same, except for those that the probes replaced. */
	EXPECT_EQ(chain.ips[0], probed.ips[0]);
	EXPECT_NE(chain.ips[1], probed.ips[1]);
	EXPECT_EQ(probed.ips[1], probed.ips[2]);
	ASSERT_TRUE(variant->take(&self->perf, chain.ips[0], &record));
	EXPECT_TRUE(chain_matches(&chain, &record));
	unwind_perf_close(&probe);
}

TEST_HARNESS_MAIN
