// SPDX-License-Identifier: GPL-2.0
/*
 * Stack maps in a memory cgroup that is at its limit because of page cache: the cache
 * goes, and the map is created and takes its stacks.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "map_lib.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 240

#define CGROUP		"/sys/fs/cgroup/stackmap-pressure"
#define LIMIT		(48 << 20)
#define ENTRIES		(1 << 14)
/* Directory with more than LIMIT of files, on a file system that caches */
#define CACHED		"/usr/lib/x86_64-linux-gnu"

FIXTURE(pressure)
{
	pid_t reader;
};

/* Read files, again and again: the process is killed in the end. */
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

static bool is_full(void)
{
	return number_in(CGROUP "/memory.current", "") > LIMIT - (2 << 20) &&
	       number_in(CGROUP "/memory.stat", "file ") > LIMIT / 2;
}

/* The reader's own reclaim takes it below now and then. */
static bool becomes_full(void)
{
	struct timespec pause = { .tv_nsec = 100000000 };

	for (int i = 0; i < 600; i++) {
		if (is_full())
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

FIXTURE_SETUP(pressure)
{
	char limit[32];

	self->reader = 0;
	write_to("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0755);
	snprintf(limit, sizeof(limit), "%d", LIMIT);
	if (!write_to(CGROUP "/memory.max", limit) ||
	    !write_to(CGROUP "/cgroup.procs", "0"))
		SKIP(return, "no control group: %s", strerror(errno));
	self->reader = fork();
	if (!self->reader) {
		read_files();
		_exit(1);
	}
	ASSERT_TRUE(becomes_full());
}

FIXTURE_TEARDOWN(pressure)
{
	if (self->reader > 0) {
		kill(self->reader, SIGKILL);
		waitpid(self->reader, NULL, 0);
	}
}

/* Take ENTRIES new stacks of @deeper frames more than usual, pausing after each. */
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

TEST_F(pressure, map_is_created_again_and_again)
{
	struct stacks stacks;
	int failed = 0;

	for (int i = 0; i < 20; i++) {
		int err = stacks_open(&stacks, ENTRIES, MAP_DEPTH, 0, 0);

		failed += !!err;
		if (!err)
			stacks_close(&stacks);
	}
	ksft_print_msg("figure created: %d of 20 failed\n", failed);
	EXPECT_EQ(0, failed);
}

TEST_F(pressure, burst_is_kept)
{
	struct stacks stacks;
	unsigned int lost;

	ASSERT_EQ(0, stacks_open(&stacks, ENTRIES, MAP_DEPTH, 0, 0));
	EXPECT_TRUE(becomes_full());
	lost = lost_of(&stacks, 0, 0);
	ksft_print_msg("figure pressure: burst, %u of %u lost\n", lost, ENTRIES);
	EXPECT_EQ(0, lost);
	stacks_close(&stacks);
}

/* About 10,000 a second, and deeper than the map expects: more memory is needed. */
TEST_F(pressure, deep_stacks_are_kept)
{
	struct stacks stacks;
	unsigned int lost;

	ASSERT_EQ(0, stacks_open(&stacks, ENTRIES, MAP_DEPTH, 0, 0));
	lost = lost_of(&stacks, 60, 50000);
	ksft_print_msg("figure pressure: paced, deep, %u of %u lost\n", lost, ENTRIES);
	EXPECT_EQ(0, lost);
	stacks_close(&stacks);
}

TEST_F(pressure, without_memory_in_advance)
{
	struct stacks stacks;
	unsigned int lost;

	ASSERT_EQ(0, stacks_open(&stacks, ENTRIES, MAP_DEPTH, BPF_F_NO_PREALLOC, 0));
	lost = lost_of(&stacks, 0, 50000);
	ksft_print_msg("figure pressure: paced, BPF_F_NO_PREALLOC, %u of %u lost\n", lost,
		       ENTRIES);
	EXPECT_EQ(0, lost);
	stacks_close(&stacks);
}

TEST_HARNESS_MAIN
