// SPDX-License-Identifier: GPL-2.0
/*
 * Test stack maps in a memory cgroup that page cache fills to its limit.  The kernel must
 * reclaim cache, so that the map can be created and can store its stacks.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <test_progs.h>
#include "cgroup_helpers.h"
#include "stack_map_lib.h"
#include "stack_map_take.skel.h"

#define GROUP		"/stack_map_pressure"
#define LIMIT		(48 << 20)
#define ENTRIES		(1 << 14)
/* Directory with more than LIMIT of files, on a file system that caches */
#define CACHED		"/usr/lib/x86_64-linux-gnu"

/* Read files in a loop until the parent kills this process. */
static void read_files(void)
{
	static char buffer[1 << 16];
	struct dirent *entry;
	DIR *dir;
	int fd;

	for (;;) {
		dir = opendir(CACHED);
		while (dir && (entry = readdir(dir))) {
			if (entry->d_type != DT_REG)
				continue;
			fd = openat(dirfd(dir), entry->d_name, O_RDONLY);
			while (fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0)
				;
			close(fd);
		}
		if (!dir)
			return;
		closedir(dir);
	}
}

static bool is_full(int cgroup)
{
	return number_of_group(cgroup, "memory.current", "") > LIMIT - (2 << 20) &&
	       number_of_group(cgroup, "memory.stat", "file ") > LIMIT / 2;
}

/* Retry, as the reader's own reclaim may keep the group below its limit for a moment. */
static bool becomes_full(int cgroup)
{
	for (int i = 0; i < 600; i++) {
		if (is_full(cgroup))
			return true;
		usleep(100000);
	}
	return false;
}

/*
 * Take ENTRIES new stacks, @deeper frames deeper than usual, and pause after each.
 * Returns the number of stacks lost.
 */
static unsigned int lost_of(struct stacks *stacks, unsigned int deeper, long pause_ns)
{
	struct timespec pause = { .tv_nsec = pause_ns };
	unsigned int lost = 0;

	for (uint32_t i = 0; i < ENTRIES; i++) {
		lost += stacks_take(stacks, 0, i, stacks_depth(i) + deeper,
				    BPF_F_USER_STACK) < 0;
		if (pause_ns)
			nanosleep(&pause, NULL);
	}
	return lost;
}

static void test_create(int cgroup)
{
	struct stacks stacks;
	int failed = 0;

	for (int i = 0; i < 20; i++) {
		int err = stacks_open(&stacks, ENTRIES, MAP_DEPTH, 0, 0);

		failed += !!err;
		if (!err)
			stacks_close(&stacks);
	}
	ASSERT_EQ(failed, 0, "failed");
}

static void test_burst(int cgroup)
{
	struct stacks stacks;

	if (!ASSERT_OK(stacks_open(&stacks, ENTRIES, MAP_DEPTH, 0, 0), "open"))
		return;
	ASSERT_TRUE(becomes_full(cgroup), "full_again");
	ASSERT_EQ(lost_of(&stacks, 0, 0), 0, "lost");
	stacks_close(&stacks);
}

/* About 10,000 stacks a second, deeper than the map expects, so it needs more memory. */
static void test_deep(int cgroup)
{
	struct stacks stacks;

	if (!ASSERT_OK(stacks_open(&stacks, ENTRIES, MAP_DEPTH, 0, 0), "open"))
		return;
	ASSERT_EQ(lost_of(&stacks, 60, 50000), 0, "lost");
	stacks_close(&stacks);
}

static void test_no_prealloc(int cgroup)
{
	struct stacks stacks;

	if (!ASSERT_OK(stacks_open(&stacks, ENTRIES, MAP_DEPTH, BPF_F_NO_PREALLOC, 0), "open"))
		return;
	ASSERT_EQ(lost_of(&stacks, 0, 50000), 0, "lost");
	stacks_close(&stacks);
}

static void run(const char *name, void (*test)(int cgroup))
{
	char limit[32];
	pid_t reader;
	int cgroup;

	if (!test__start_subtest(name))
		return;
	cgroup = test__join_cgroup(GROUP);
	if (!ASSERT_OK_FD(cgroup, "cgroup"))
		return;
	snprintf(limit, sizeof(limit), "%d", LIMIT);
	if (!ASSERT_OK(write_cgroup_file(GROUP, "memory.max", limit), "limit"))
		goto close;
	reader = fork();
	if (!reader) {
		read_files();
		_exit(1);
	}
	if (!ASSERT_GT(reader, 0, "fork"))
		goto close;
	if (ASSERT_TRUE(becomes_full(cgroup), "full"))
		test(cgroup);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
close:
	close(cgroup);
}

/*
 * In a child, whose memory cannot be reclaimed: with BPF_F_REUSE_STACKID, new stacks must
 * replace others if there is no memory for more.
 */
static int reuse_in_full_group(int cgroup)
{
	unsigned int lost = 0;
	struct stacks stacks;
	char limit[32];

	if (stacks_open(&stacks, ENTRIES, MAP_DEPTH, BPF_F_NO_PREALLOC, 0) ||
	    mlockall(MCL_CURRENT | MCL_FUTURE))
		return 101;
	snprintf(limit, sizeof(limit), "%lld",
		 number_of_group(cgroup, "memory.current", "") + (128 << 10));
	if (write_cgroup_file_parent(GROUP, "memory.max", limit))
		return 102;
	for (uint32_t i = 0; i < 3000; i++)
		lost += stacks_take(&stacks, 0, i, stacks_depth(i),
				    BPF_F_USER_STACK | BPF_F_REUSE_STACKID) < 0;
	return lost > 100 ? 100 : lost;
}

static void test_reuse(void)
{
	int cgroup = test__join_cgroup(GROUP), status = -1;
	pid_t pid;

	if (!ASSERT_OK_FD(cgroup, "cgroup") ||
	    !ASSERT_OK(write_cgroup_file(GROUP, "memory.max", "max"), "limit"))
		return;
	pid = fork();
	if (!pid)
		_exit(reuse_in_full_group(cgroup));
	ASSERT_EQ(waitpid(pid, &status, 0), pid, "waitpid");
	ASSERT_TRUE(WIFEXITED(status), "exited");
	ASSERT_EQ(WEXITSTATUS(status), 0, "lost");
	close(cgroup);
}

void serial_test_stack_map_pressure(void)
{
	run("create", test_create);
	run("burst", test_burst);
	run("deep", test_deep);
	run("no_prealloc", test_no_prealloc);
	if (test__start_subtest("reuse"))
		test_reuse();
}
