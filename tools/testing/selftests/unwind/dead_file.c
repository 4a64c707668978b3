// SPDX-License-Identifier: GPL-2.0
/*
 * Test files whose reads never complete, and a great many files.  They must hold up neither
 * the processes that map them nor the tables of other files.
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
/* As many files as the kernel knows of those that others than root may have written */
#define OTHERS 8192
#define MORE 512
/* Number of mappings that a look covers */
#define AT_ONCE 256
/* A walk waits 50 ms, but an emulated machine is slow. */
#define MAX_MS 3000

FIXTURE(dead)
{
	char			dir[32];
	int			fuse;		/* where its requests come from */
	pthread_t		server;
	int			fd;		/* an object that is alive */
	struct lying_map	map;
	void			*dead[FILES];
	struct stat		st[FILES];
	unsigned int		reads;		/* requests that wait */
	bool			unmounted;
};

FIXTURE_VARIANT(dead)
{
	unsigned long	flags;
	unsigned int	reads;
};

/* The kernel reads one file of root ahead, and waits for it before it does so with others. */
FIXTURE_VARIANT_ADD(dead, of_root) {
	.flags = MS_NODEV,
	.reads = 1,
};

/* Anybody may mount a file system like this one, so the kernel reads nothing. */
FIXTURE_VARIANT_ADD(dead, of_others) {
	.flags = MS_NODEV | MS_NOSUID,
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

	NEED_FILES();
	self->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (self->fuse < 0)
		SKIP(return, "no /dev/fuse");
	strcpy(self->dir, "/tmp/dead.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0",
		 self->fuse);
	ASSERT_EQ(0, mount("dead", self->dir, "fuse", variant->flags, options));
	ASSERT_EQ(0, pthread_create(&self->server, NULL, serve, self));
	for (int i = 0; i < FILES; i++) {
		int fd = open_dead(self, i, O_RDONLY);

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, fstat(fd, &self->st[i]));
		self->dead[i] = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		ASSERT_NE(MAP_FAILED, self->dead[i]);
		close(fd);
	}
	self->fd = write_living();
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(prepare_map(&self->map));
}

static void unmap_dead(dead_data *self)
{
	for (int i = 0; i < FILES; i++) {
		if (self->dead[i])
			munmap(self->dead[i], PAGE);
		self->dead[i] = NULL;
	}
}

FIXTURE_TEARDOWN(dead)
{
	char path[64];

	if (!self->dir[0])
		return;
	unmap_dead(self);
	/* All waiting requests get an error. */
	if (!self->unmounted)
		self->unmounted = !umount2(self->dir, MNT_FORCE | MNT_DETACH);
	EXPECT_TRUE(self->unmounted);
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

/* Open the object that is alive again, so that nobody may write to it, and map it. */
static bool map_read_only(dead_data *self)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	close(self->fd);
	self->fd = fd;
	return fd >= 0 && map_object(&self->map, fd);
}

/*
 * Have the kernel look at the object that is alive and at the dead files, which are mapped
 * above it.  The object may still be written, so the look does not end with its table.
 * Returns milliseconds, or -1.
 */
static long look_at_all(dead_data *self)
{
	int found;

	return map_object(&self->map, self->fd) ? time_walks(&self->map, 1, &found) : -1;
}

/* Wait until the server has got all reads that it gets, and return their number. */
static unsigned int reads_of(dead_data *self, unsigned int want)
{
	time_t over = 0;

	while (__atomic_load_n(&self->reads, __ATOMIC_RELAXED) < want && !is_over(&over))
		usleep(1000);
	return __atomic_load_n(&self->reads, __ATOMIC_RELAXED);
}

TEST_F(dead, holds_up_nobody)
{
	long first, later;
	int fd, found;

	first = look_at_all(self);
	ASSERT_LE(0, first);
	EXPECT_GE(MAX_MS, first);
	/* Files of an earlier mount with the same numbers may still be in the list. */
	for (int i = 0; i < FILES; i++)
		EXPECT_LE(1, lines_of(&self->st[i], "not resident"));
	/* Tables of files on other file systems must be loaded. */
	ASSERT_TRUE(map_read_only(self));
	EXPECT_TRUE(comes_to_have_table(self));
	EXPECT_EQ(variant->reads, reads_of(self, variant->reads));
	later = time_walks(&self->map, 20, &found);
	EXPECT_EQ(20, found);
	EXPECT_GE(MAX_MS, later);
	ksft_print_msg("figure: first walk %ld ms, twenty later ones %ld ms\n", first, later);
	EXPECT_EQ(variant->reads, reads_of(self, variant->reads));
	/* A pending read must not keep others from opening the file for writing. */
	for (int i = 0; i < FILES; i++) {
		fd = open_dead(self, i, O_WRONLY);
		EXPECT_LE(0, fd);
		close(fd);
	}
}

/*
 * A file that is known does not keep its file system mounted; only a read of the kernel does,
 * until it fails.
 */
TEST_F(dead, can_be_unmounted)
{
	bool has_read = variant->reads;
	time_t over = 0;

	ASSERT_LE(0, look_at_all(self));
	EXPECT_LE(1, lines_of(&self->st[0], "not resident"));
	EXPECT_EQ(variant->reads, reads_of(self, variant->reads));
	unmap_dead(self);
	do {
		self->unmounted = !umount2(self->dir, has_read ? MNT_FORCE : 0);
	} while (!self->unmounted && has_read && !is_over(&over) && !usleep(10000));
	EXPECT_TRUE(self->unmounted);
}

/* A task that waits for a file must be killable. */
TEST_F(dead, lets_a_task_be_killed)
{
	int status;
	pid_t pid;

	unwind_perf_close(&self->map.perf);
	pid = fork();
	if (!pid) {
		if (!watch_map(&self->map) || look_at_all(self) < 0)
			_exit(1);
		for (;;)
			believes_in(&self->map);
	}
	ASSERT_LT(0, pid);
	usleep(200000);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
}

/* Map a file that anybody may write at @at, and get its device.  Returns false on failure. */
static bool map_other(void *at, bool with_code, dev_t *dev)
{
	int fd = memfd_create("other", MFD_CLOEXEC);
	struct stat st;
	bool done;

	done = fd >= 0 && !ftruncate(fd, PAGE) && !fstat(fd, &st) &&
	       (!with_code || pwrite(fd, lying_code, sizeof(lying_code), 0) > 0) &&
	       mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == at;
	if (done)
		*dev = st.st_dev;
	close(fd);
	return done;
}

/* Number of files on @dev that the kernel knows. */
static int known_on(dev_t dev)
{
	FILE *files = fopen(DEBUG_FILES, "r");
	char line[256], on[32];
	int nr = 0;

	snprintf(on, sizeof(on), "%02x:%02x ", major(dev), minor(dev));
	while (files && fgets(line, sizeof(line), files))
		nr += !strncmp(line, on, strlen(on));
	if (files)
		fclose(files);
	return nr;
}

/* Make a file of root on a file system of its own, and open it to read it. */
static int open_file_of_root(const char *dir)
{
	struct lying_table table = lying_table(-(int)PAGE);
	struct lying_object headers;
	char name[64];
	int fd;

	write_headers(&headers);
	snprintf(name, sizeof(name), "%s/object", dir);
	if (mount("none", dir, "tmpfs", 0, NULL))
		return -1;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || !write_lying_object(fd, &headers, &table) || close(fd))
		return -1;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	let_grow_old(fd);
	return fd;
}

/* The kernel knows so many files of others, and they displace none of root. */
TEST(files_of_others_displace_each_other)
{
	static struct lying_map map;
	char dir[] = "/tmp/known.XXXXXX";
	struct unwind_perf at_once;
	uint8_t *area;
	dev_t dev = 0;
	int fd;

	NEED_FILES();
	ASSERT_NE(NULL, mkdtemp(dir));
	fd = open_file_of_root(dir);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(prepare_map(&map));
	ASSERT_TRUE(map_object(&map, fd));
	ASSERT_EQ(1, comes_to_believe_in(&map));
	area = mmap(NULL, (OTHERS + MORE) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, area);
	/* These looks do not wait until the files settle. */
	ASSERT_EQ(0, open_faults(&at_once, UNWIND_AT_ONCE));
	ASSERT_EQ(0, ioctl(at_once.fd, PERF_EVENT_IOC_DISABLE, 0));
	/* All stay mapped, so that each has an inode of its own. */
	for (int i = 0; i < OTHERS + MORE; i++) {
		uint8_t *first = area + (i - i % AT_ONCE) * PAGE;

		ASSERT_TRUE(map_other(area + i * PAGE, i % AT_ONCE == 0, &dev));
		if (i % AT_ONCE != AT_ONCE - 1)
			continue;
		ASSERT_EQ(0, madvise(map.fault, PAGE, MADV_DONTNEED));
		ASSERT_EQ(0, ioctl(at_once.fd, PERF_EVENT_IOC_ENABLE, 0));
		((lying_function *)first)(map.fault, POISON);
		ASSERT_EQ(0, ioctl(at_once.fd, PERF_EVENT_IOC_DISABLE, 0));
	}
	unwind_perf_close(&at_once);
	EXPECT_GE(OTHERS, known_on(dev));
	EXPECT_LE(OTHERS - MORE, known_on(dev));
	EXPECT_TRUE(file_is(fd, "loaded"));
	EXPECT_EQ(1, believes_in(&map));
	ASSERT_EQ(0, munmap(area, (OTHERS + MORE) * PAGE));
	ASSERT_EQ(0, munmap(map.area, 3 * PAGE));
	close(fd);
	EXPECT_EQ(0, umount(dir));
	EXPECT_EQ(0, rmdir(dir));
}

TEST_HARNESS_MAIN
