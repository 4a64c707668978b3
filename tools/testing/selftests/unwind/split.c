// SPDX-License-Identifier: GPL-2.0
/*
 * Test split tables: the kernel must find them by build-id, and refuse them if users
 * other than root may have written them or if they belong to another object.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unwind_test.h"
#include "lying_object.h"
#include "sframe_file.h"

#define SYSCTL "/proc/sys/kernel/unwind_table_path"
#define BOUND "/proc/sys/kernel/unwind_table_kbytes"

/* Offset of zeros after the object's code, more than the kernel reads at a time. */
#define EH_FRAME_OFFSET	(2 * PAGE)
#define EH_FRAME_SIZE	200000
static const uint8_t eh_frame_sha256[] = {
	0x4c, 0xbb, 0xd9, 0xbe, 0x0c, 0xba, 0x68, 0x58, 0x35, 0x75, 0x5f, 0x82, 0x77, 0x58, 0x70,
	0x5d, 0xb5, 0xa4, 0x13, 0xc5, 0x49, 0x4c, 0x34, 0x26, 0x2c, 0xd2, 0x59, 0x46, 0xa7, 0x3e,
	0x75, 0x82,
};

static bool write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	bool done = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;

	return fd >= 0 && !close(fd) && done;
}

FIXTURE(split)
{
	char			dir[64];	/* where tables are */
	char			part[96];	/* the first byte of the build-id, below it */
	char			name[192];	/* the table */
	char			path[512];	/* the sysctl, as it was */
	int			fd;		/* the object */
	struct lying_object	headers;
	struct lying_map	map;
	struct sframe_file	head;
	struct lying_table	table;
};

typedef FIXTURE_DATA(split) split_data;

/* Write an object without a table, with a unique build-id. */
static int write_object(split_data *self)
{
	struct lying_object *headers = &self->headers;
	char name[] = "/tmp/split_object.XXXXXX";
	int fd = mkstemp(name), random = open("/dev/urandom", O_RDONLY);

	write_headers(headers);
	headers->sframe = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4,
		.p_offset = offsetof(struct lying_object, note),
		.p_vaddr = offsetof(struct lying_object, note),
		.p_filesz = sizeof(*headers) - offsetof(struct lying_object, note),
	};
	headers->header.e_phnum = 4;
	headers->note = (Elf64_Nhdr){ 4, sizeof(headers->id), NT_GNU_BUILD_ID };
	memcpy(headers->owner, "GNU", 4);
	if (read(random, headers->id, sizeof(headers->id)) != sizeof(headers->id))
		return -1;
	/* Differs from the ids in the invalid files below */
	headers->id[19] = 1;
	if (ftruncate(fd, EH_FRAME_OFFSET + EH_FRAME_SIZE) ||
	    pwrite(fd, headers, sizeof(*headers), 0) != sizeof(*headers) ||
	    pwrite(fd, lying_code, sizeof(lying_code), PAGE) != sizeof(lying_code))
		return -1;
	close(random);
	close(fd);
	/* Reopen read-only, as for a file that nobody writes. */
	fd = open(name, O_RDONLY | O_CLOEXEC);
	unlink(name);
	return fd;
}

static void name_table(split_data *self)
{
	char *at = self->name;

	snprintf(self->part, sizeof(self->part), "%s/%02x", self->dir, self->headers.id[0]);
	at += sprintf(at, "%s/", self->part);
	for (size_t i = 1; i < sizeof(self->headers.id); i++)
		at += sprintf(at, "%02x", self->headers.id[i]);
	strcpy(at, ".v3");
}

static void fill_table(split_data *self)
{
	self->head = (struct sframe_file){
		.version = SFRAME_FILE_VERSION,
		.header_size = offsetof(struct sframe_file, text[1]),
		.table_offset = SFRAME_FILE_TABLE,
		.table_size = sizeof(struct lying_table),
		.table_vaddr = 2 * PAGE,
		.format = 2,
		.num_text = 1,
		.build_id_size = sizeof(self->headers.id),
		.eh_frame_offset = EH_FRAME_OFFSET,
		.eh_frame_size = EH_FRAME_SIZE,
		.text = { { PAGE, sizeof(lying_code) } },
	};
	memcpy(self->head.magic, SFRAME_FILE_MAGIC, sizeof(self->head.magic));
	memcpy(self->head.build_id, self->headers.id, sizeof(self->headers.id));
	memcpy(self->head.eh_frame_sha256, eh_frame_sha256, sizeof(eh_frame_sha256));
	self->table = lying_table(-(int)PAGE);
}

/* Write the first @size bytes of the table. */
static bool write_table(split_data *self, size_t size)
{
	static uint8_t bytes[2 * PAGE];

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &self->head, sizeof(self->head));
	memcpy(bytes + SFRAME_FILE_TABLE, &self->table, sizeof(self->table));
	unlink(self->name);
	return write_file(self->name, bytes, size);
}

#define WHOLE (SFRAME_FILE_TABLE + sizeof(struct lying_table))

/* Set the sysctl, which also restarts discovery. */
static bool set_path(const char *path)
{
	return write_file(SYSCTL, path, strlen(path));
}

/* Map the object again, and return whether the kernel finds a table for it. */
static int finds(split_data *self)
{
	return map_object(&self->map, self->fd) ? comes_to_believe_in(&self->map) : -4;
}

/* Wait until the kernel finds a table, which may be attached when the object is mapped. */
static int comes_to_find(split_data *self)
{
	time_t end = 0;

	if (!map_object(&self->map, self->fd))
		return -4;
	while (believes_in(&self->map) != 1 && !is_over(&end))
		;
	return believes_in(&self->map);
}

FIXTURE_SETUP(split)
{
	ssize_t size;
	int fd;

	NEED_DISCOVERY();
	fd = open(SYSCTL, O_RDWR);
	if (fd < 0)
		SKIP(return, "no " SYSCTL);
	size = read(fd, self->path, sizeof(self->path) - 1);
	ASSERT_LE(0, size);
	close(fd);
	strcpy(self->dir, "/tmp/split.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	ASSERT_EQ(0, chmod(self->dir, 0755));
	self->fd = write_object(self);
	ASSERT_LE(0, self->fd);
	name_table(self);
	fill_table(self);
	ASSERT_EQ(0, mkdir(self->part, 0755));
	ASSERT_TRUE(prepare_map(&self->map));
	ASSERT_TRUE(set_path(self->dir));
}

FIXTURE_TEARDOWN(split)
{
	if (!self->part[0])
		return;
	EXPECT_TRUE(set_path(self->path));
	unlink(self->name);
	rmdir(self->part);
	EXPECT_EQ(0, rmdir(self->dir));
}

TEST_F(split, is_found)
{
	ASSERT_TRUE(write_table(self, WHOLE));
	EXPECT_EQ(1, comes_to_find(self));
}

TEST_F(split, is_found_in_the_second_directory)
{
	char path[128];

	ASSERT_TRUE(write_table(self, WHOLE));
	snprintf(path, sizeof(path), "/nowhere::relative:%s\n", self->dir);
	ASSERT_TRUE(set_path(path));
	EXPECT_EQ(1, comes_to_find(self));
}

TEST_F(split, is_not_looked_for_without_path)
{
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(set_path("\n"));
	EXPECT_EQ(0, finds(self));
}

/* A new table must be found without mapping the object again or restarting the program. */
TEST_F(split, is_found_when_it_appears)
{
	time_t end = 0;

	EXPECT_EQ(0, finds(self));
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(set_path(self->dir));
	while (believes_in(&self->map) != 1 && !is_over(&end))
		;
	EXPECT_EQ(1, believes_in(&self->map));
}

/* Ways to spoil the file of a table: wrong owner or mode, not a regular file, or cut off. */
enum {
	OWNED_BY_ANOTHER, WRITABLE_BY_GROUP, WRITABLE_BY_ALL, LINK, FIFO, DIRECTORY, EMPTY,
	CUT_OFF_HEADER, CUT_OFF_TABLE, NR_REFUSED,
};

static bool spoil(split_data *self, int what)
{
	char other[200];

	if (!write_table(self, what == EMPTY ? 0 : what == CUT_OFF_HEADER ? 40 :
			 what == CUT_OFF_TABLE ? WHOLE - 1 : WHOLE))
		return false;
	switch (what) {
	case OWNED_BY_ANOTHER:
		return !chown(self->name, 65534, 65534);
	case WRITABLE_BY_GROUP:
		return !chmod(self->name, 0664);
	case WRITABLE_BY_ALL:
		return !chmod(self->name, 0646);
	case FIFO:
		return !unlink(self->name) && !mkfifo(self->name, 0600);
	case DIRECTORY:
		return !unlink(self->name) && !mkdir(self->name, 0700);
	case LINK:
		snprintf(other, sizeof(other), "%s.other", self->name);
		return !rename(self->name, other) && !symlink(other, self->name);
	}
	return true;
}

#define LIE(field, lie) LIE_OF(split_data, field, lie)

static const struct lie lies[] = {
	LIE(head.magic[0], 'x'),
	LIE(head.version, SFRAME_FILE_VERSION + 1),
	LIE(head.flags, 0x80000000),
	LIE(head.build_id[19], 0),
	LIE(head.build_id_size, 0xffffffff),
	LIE(head.build_id_size, 0),
	LIE(head.num_text, 0),
	LIE(head.num_text, 0xffffffff),
	LIE(head.text[0].vaddr, PAGE + 1),
	LIE(head.text[0].size, 1),
	LIE(head.table_offset, 1ull << 40),
	LIE(head.table_offset, -8ull),
	LIE(head.table_size, PAGE),
	LIE(head.table_size, ~0ull),
	LIE(head.table_vaddr, 3 * PAGE),
	LIE(table.magic, 0xdee3),
};

/* Fields that are checked if users other than root may write the object. */
static const struct lie hash_lies[] = {
	LIE(head.eh_frame_sha256[0], 0),
	LIE(head.eh_frame_sha256[31], 0),
	LIE(head.eh_frame_offset, PAGE),
	LIE(head.eh_frame_offset, EH_FRAME_OFFSET + 1),
	LIE(head.eh_frame_offset, ~0ull),
	LIE(head.eh_frame_size, 0),
	LIE(head.eh_frame_size, EH_FRAME_SIZE - 1),
	LIE(head.eh_frame_size, 1ull << 40),
	LIE(head.eh_frame_size, ~0ull),
};

static void clean_up(split_data *self)
{
	char other[200];

	snprintf(other, sizeof(other), "%s.other", self->name);
	unlink(other);
	if (unlink(self->name))
		rmdir(self->name);
}

static void expect_refused(struct __test_metadata *_metadata, split_data *self,
			   const char *what)
{
	ASSERT_TRUE(set_path(self->dir));
	EXPECT_EQ(0, finds(self)) TH_LOG("%s", what);
	clean_up(self);
}

TEST_F_TIMEOUT(split, is_refused, 300)
{
	char what[32];

	for (int i = 0; i < NR_REFUSED; i++) {
		fill_table(self);
		snprintf(what, sizeof(what), "file %d", i);
		ASSERT_TRUE(spoil(self, i)) TH_LOG("%s", what);
		expect_refused(_metadata, self, what);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		fill_table(self);
		tell(self, &lies[i]);
		ASSERT_TRUE(write_table(self, WHOLE));
		expect_refused(_metadata, self, lies[i].what);
	}
	/* A corrected table must be found. */
	fill_table(self);
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(set_path(self->dir));
	EXPECT_EQ(1, comes_to_find(self));
}

/*
 * Another object may have the same build-id.  If only root may write the object, the
 * kernel trusts the id.
 */
TEST_F_TIMEOUT(split, is_of_the_same_eh_frame, 300)
{
	tell(self, &hash_lies[0]);
	ASSERT_TRUE(write_table(self, WHOLE));
	EXPECT_EQ(1, comes_to_find(self));
	ASSERT_EQ(0, fchmod(self->fd, 0646));
	for (size_t i = 0; i < ARRAY_SIZE(hash_lies); i++) {
		fill_table(self);
		tell(self, &hash_lies[i]);
		ASSERT_TRUE(write_table(self, WHOLE));
		expect_refused(_metadata, self, hash_lies[i].what);
	}
	fill_table(self);
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(set_path(self->dir));
	EXPECT_EQ(1, comes_to_find(self));
}

static bool set_bound(const char *kbytes)
{
	return write_file(BOUND, kbytes, strlen(kbytes));
}

/*
 * The kernel must evict or refuse a table that exceeds the memory limit, and find it
 * again when there is room.
 */
TEST_F_TIMEOUT(split, is_bounded, 300)
{
	char before[32];
	time_t end = 0;
	ssize_t size;
	int fd;

	fd = open(BOUND, O_RDONLY);
	ASSERT_LE(0, fd);
	size = read(fd, before, sizeof(before) - 1);
	close(fd);
	ASSERT_LT(0, size);
	before[size] = '\0';
	EXPECT_LT(0, atoi(before));
	ASSERT_TRUE(write_table(self, WHOLE));
	let_grow_old(self->fd);
	EXPECT_EQ(1, comes_to_find(self));
	EXPECT_TRUE(set_bound("0\n"));
	EXPECT_NE(1, believes_in(&self->map));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(set_bound(before));
	while (believes_in(&self->map) != 1 && !is_over(&end))
		;
	EXPECT_EQ(1, believes_in(&self->map));
	EXPECT_FALSE(set_bound("-1\n"));
}

TEST_HARNESS_MAIN
