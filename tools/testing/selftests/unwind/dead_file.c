// SPDX-License-Identifier: GPL-2.0
/*
 * Test files whose reads never complete.  They must block neither the processes that map
 * them nor the loading of tables from other file systems.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unwind_test.h"
#include "lying_object.h"

#define FILES 3
/* As many as the kernel's cache of files has room for, FILE_MAX_KNOWN */
#define KNOWN 16384
#define MORE 1000
/* A walk waits 50 ms once for each mapping, but an emulated machine is slow. */
#define MAX_MS 3000

FIXTURE(dead)
{
	char			dir[32];
	int			fuse;		/* where its requests come from */
	pthread_t		server;
	int			fd;		/* an object that is alive */
	struct lying_map	map;
	void			*dead[FILES];
	unsigned int		reads;		/* requests that wait */
};

typedef FIXTURE_DATA(dead) dead_data;

static void answer(int fuse, const struct fuse_in_header *in, int error, const void *body,
		   size_t size)
{
	static char out[4096];
	struct fuse_out_header *header = (void *)out;

	*header = (struct fuse_out_header){
		.len = sizeof(*header) + size, .error = error, .unique = in->unique,
	};
	if (size)
		memcpy(header + 1, body, size);
	if (write(fuse, out, header->len) < 0)
		return;
}

/* Node 1 is the directory; the name of a file is its node number. */
static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node, .nlink = 1, .size = 3 * PAGE, .blocks = 24, .blksize = PAGE,
		.mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755,
	};
}

static void serve_one(dead_data *self, const struct fuse_in_header *in)
{
	const char *name = (const char *)(in + 1);
	struct fuse_attr_out attr = { .attr_valid = 1000, .attr = attributes(in->nodeid) };
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = PAGE,
	};
	struct fuse_entry_out entry = { .entry_valid = 1000, .attr_valid = 1000 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(self->fuse, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		entry.nodeid = 2 + atoi(name);
		entry.attr = attributes(entry.nodeid);
		answer(self->fuse, in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(self->fuse, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_READ:
		/* Count the read, and never answer it. */
		__atomic_add_fetch(&self->reads, 1, __ATOMIC_RELAXED);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		/* The kernel opens files without FUSE_OPEN then, and keeps their pages. */
		answer(self->fuse, in, -ENOSYS, NULL, 0);
	}
}

static void *serve(void *data)
{
	static char request[FUSE_MIN_READ_BUFFER + PAGE];
	dead_data *self = data;

	while (read(self->fuse, request, sizeof(request)) > 0)
		serve_one(self, (void *)request);
	return NULL;
}

static int open_dead(const dead_data *self, int i, int flags)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/%d", self->dir, i);
	return open(name, flags | O_CLOEXEC);
}

static int write_living(void)
{
	struct lying_table table = lying_table(-(int)PAGE);
	char name[] = "/tmp/living.XXXXXX";
	struct lying_object headers;
	int fd = mkstemp(name);

	write_headers(&headers);
	unlink(name);
	return write_lying_object(fd, &headers, &table) ? fd : -1;
}

FIXTURE_SETUP(dead)
{
	char options[64];

	NEED_DISCOVERY();
	self->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (self->fuse < 0)
		SKIP(return, "no /dev/fuse");
	strcpy(self->dir, "/tmp/dead.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0",
		 self->fuse);
	ASSERT_EQ(0, mount("dead", self->dir, "fuse", MS_NOSUID | MS_NODEV, options));
	ASSERT_EQ(0, pthread_create(&self->server, NULL, serve, self));
	for (int i = 0; i < FILES; i++) {
		int fd = open_dead(self, i, O_RDONLY);

		ASSERT_LE(0, fd);
		self->dead[i] = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		ASSERT_NE(MAP_FAILED, self->dead[i]);
		close(fd);
	}
	self->fd = write_living();
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(prepare_map(&self->map));
}

FIXTURE_TEARDOWN(dead)
{
	char path[64];

	if (!self->dir[0])
		return;
	/* All waiting requests get an error. */
	for (int i = 0; i < FILES; i++)
		munmap(self->dead[i], PAGE);
	EXPECT_EQ(0, umount2(self->dir, MNT_FORCE | MNT_DETACH));
	snprintf(path, sizeof(path), "%s", self->dir);
	close(self->fuse);
	EXPECT_EQ(0, rmdir(path));
}

static long milliseconds_since(const struct timespec *begin)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin->tv_sec) * 1000 + (end.tv_nsec - begin->tv_nsec) / 1000000;
}

/* Walk @walks times and count in @found those that used the table.  Returns milliseconds. */
static long time_walks(struct lying_map *map, int walks, int *found)
{
	struct timespec begin;

	*found = 0;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < walks; i++)
		*found += believes_in(map) == 1;
	return milliseconds_since(&begin);
}

static keep bool comes_to_have_table(dead_data *self)
{
	time_t over = 0;

	while (believes_in(&self->map) != 1)
		if (is_over(&over))
			return false;
	return true;
}

TEST_F(dead, holds_up_nobody)
{
	long first, later;
	int fd, found;

	ASSERT_TRUE(map_object(&self->map, self->fd));
	first = time_walks(&self->map, 1, &found);
	EXPECT_GE(MAX_MS, first);
	/* Tables of files on other file systems must be loaded. */
	EXPECT_TRUE(comes_to_have_table(self));
	/* The kernel must have tried exactly one of the files, as it reads one at a time. */
	EXPECT_EQ(1, __atomic_load_n(&self->reads, __ATOMIC_RELAXED));
	later = time_walks(&self->map, 20, &found);
	EXPECT_EQ(20, found);
	EXPECT_GE(MAX_MS, later);
	ksft_print_msg("figure: first walk %ld ms, twenty later ones %ld ms\n", first, later);
	/* A pending read must not keep others from opening the file for writing. */
	for (int i = 0; i < FILES; i++) {
		fd = open_dead(self, i, O_WRONLY);
		EXPECT_LE(0, fd);
		close(fd);
	}
}

/* Map and unmap @nr files from number @from on.  Returns milliseconds, or -1. */
static long time_mapping(const dead_data *self, int from, int nr)
{
	struct timespec begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = from; i < from + nr; i++) {
		int fd = open_dead(self, i, O_RDONLY);
		void *map = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		close(fd);
		if (map == MAP_FAILED || munmap(map, PAGE))
			return -1;
	}
	return milliseconds_since(&begin);
}

/* Number of files that the whole system has open, which the kernel counts to some 100. */
static long open_files(void)
{
	FILE *file = fopen("/proc/sys/fs/file-nr", "r");
	long nr = -1;

	if (file && fscanf(file, "%ld", &nr) != 1)
		nr = -1;
	if (file)
		fclose(file);
	return nr;
}

/* Open the object that is alive again, so that nobody may write to it. */
static bool make_read_only(dead_data *self)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	close(self->fd);
	self->fd = fd;
	let_grow_old(fd);
	return fd >= 0;
}

/*
 * Loads that wait must keep only as many files open as the kernel remembers.  The tables of a
 * file that it forgets for others must not escape eviction: they are loaded again.
 */
TEST_F_TIMEOUT(dead, is_forgotten, 280)
{
	long before, known, more, first, last;

	ASSERT_TRUE(make_read_only(self));
	ASSERT_TRUE(map_object(&self->map, self->fd));
	ASSERT_TRUE(comes_to_have_table(self));
	EXPECT_TRUE(file_is(self->fd, "loaded"));
	before = open_files();
	ASSERT_LE(0, before);
	first = time_mapping(self, FILES, MORE);
	ASSERT_LE(0, first);
	ASSERT_LE(0, time_mapping(self, FILES + MORE, KNOWN - 2 * MORE));
	last = time_mapping(self, FILES + KNOWN - MORE, MORE);
	ASSERT_LE(0, last);
	known = open_files() - before;
	ASSERT_LE(0, time_mapping(self, FILES + KNOWN, MORE));
	more = open_files() - before;
	ksft_print_msg("figure: first %d files %ld ms, last of %d %ld ms; %ld open, then %ld\n",
		       MORE, first, KNOWN, last, known, more);
	/* The test means something only if the loads wait. */
	EXPECT_LE(KNOWN - MORE / 2, known);
	EXPECT_GE(KNOWN + MORE / 2, more);
	EXPECT_GE(4 * first, last);
	EXPECT_FALSE(file_is(self->fd, "loaded"));
	EXPECT_TRUE(comes_to_have_table(self));
	EXPECT_TRUE(file_is(self->fd, "loaded"));
}

/* A task that waits for a table must be killable. */
TEST_F(dead, lets_a_task_be_killed)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct chain chain;

		if (!chain_init(&chain, 0) || open_faults(&self->map.perf, 0))
			_exit(1);
		for (;;)
			chain_run(&chain, 3);
	}
	ASSERT_LT(0, pid);
	usleep(200000);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
}

TEST_HARNESS_MAIN
