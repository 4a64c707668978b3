// SPDX-License-Identifier: GPL-2.0
/*
 * Test split tables: the kernel must find them by build-id and layout, and refuse them and
 * their index if users other than root may have written them, or if they are damaged.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "unwind_test.h"
#include "lying_object.h"
#include "sframe_file.h"
#include "sha256.h"

#define SYSCTL "/proc/sys/kernel/unwind_table_path"

/* In the fourth byte of a function's attributes: see sframe_file.h */
#define FLEXIBLE	0x01
#define FOLLOWED	0x20
/* Where the object's second function is in its code, a copy of the first */
#define SECOND	64
#define MAX_ENTRIES 4

/* An index, with room for more entries than the tests need. */
struct index {
	struct sframe_index		head;
	struct sframe_index_entry	entries[MAX_ENTRIES];
};

FIXTURE(split)
{
	char			dir[64];	/* where tables are */
	char			part[96];	/* the first byte of the build-id, below it */
	char			name[192];	/* the table */
	char			index_name[96];
	char			path[512];	/* the sysctl, as it was */
	int			fd;		/* the object */
	struct lying_object	headers;
	struct lying_map	map;
	struct sframe_file	head;
	struct lying_table	table;
	struct index		index;
};

typedef FIXTURE_DATA(split) split_data;

/* Write an object with @second as its second function; nobody has it open for writing then. */
static int write_object_with(const struct lying_object *headers, const struct lying_table *table,
			     const uint8_t *second, size_t size)
{
	char name[] = "/tmp/split_object.XXXXXX";
	int fd = mkstemp(name);
	bool done = write_lying_object(fd, headers, table) &&
		    pwrite(fd, second, size, PAGE + SECOND) == (ssize_t)size;

	close(fd);
	fd = done ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	unlink(name);
	let_grow_old(fd);
	return fd;
}

static int write_object(const struct lying_object *headers, const struct lying_table *table)
{
	return write_object_with(headers, table, lying_code, sizeof(lying_code));
}

/* Make the headers of an object without a table, with a unique build-id. */
static bool make_headers(struct lying_object *headers)
{
	int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	bool done;

	write_headers(headers);
	headers->text.p_filesz = SECOND + sizeof(lying_code);
	headers->text.p_memsz = headers->text.p_filesz;
	headers->sframe.p_type = PT_NULL;
	headers->notes = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4,
		.p_offset = offsetof(struct lying_object, note),
		.p_vaddr = offsetof(struct lying_object, note),
		.p_filesz = sizeof(*headers) - offsetof(struct lying_object, note),
	};
	headers->note = (Elf64_Nhdr){ 4, sizeof(headers->id), NT_GNU_BUILD_ID };
	memcpy(headers->owner, "GNU", 4);
	done = read(random, headers->id, sizeof(headers->id)) == sizeof(headers->id);
	close(random);
	/* Differs from the ids in the invalid files below */
	headers->id[19] = 1;
	return done;
}

static bool has_id(const struct lying_object *headers)
{
	return headers->notes.p_type == PT_NOTE && headers->note.n_descsz == sizeof(headers->id);
}

/* What an object as write_headers() makes it is known by, see sframe_file.h. */
static void id_of(const struct lying_object *headers, uint8_t id[SFRAME_INDEX_MAX_ID])
{
	static uint8_t bytes[SFRAME_FILE_HEADERS + 5 * sizeof(Elf64_Phdr)];
	uint8_t digest[32];

	memcpy(bytes, headers, sizeof(*headers));
	memcpy(bytes + SFRAME_FILE_HEADERS, &headers->load, 5 * sizeof(Elf64_Phdr));
	sha256(bytes, sizeof(bytes), digest);
	memcpy(id, has_id(headers) ? headers->id : digest, SFRAME_INDEX_MAX_ID);
}

/* The layout of such an object */
static void layout_of(const struct lying_object *headers, uint8_t layout[SFRAME_FILE_LAYOUT])
{
	uint64_t words[] = {
		htole64(has_id(headers) ? sizeof(headers->id) : 0),
		htole64(headers->text.p_vaddr), htole64(headers->text.p_memsz), 0, 0,
	};
	uint8_t digest[32];

	sha256(words, sizeof(words), digest);
	memcpy(layout, digest, SFRAME_FILE_LAYOUT);
}

static void name_table(split_data *self)
{
	uint8_t id[SFRAME_INDEX_MAX_ID];
	char *at = self->name;

	id_of(&self->headers, id);
	snprintf(self->part, sizeof(self->part), "%s/%02x", self->dir, id[0]);
	at += sprintf(at, "%s/", self->part);
	for (size_t i = 1; i < sizeof(id); i++)
		at += sprintf(at, "%02x", id[i]);
	strcpy(at, ".v4");
}

/* Name the table as that of another layout than the usual one of the build-id. */
static void name_table_by_layout(split_data *self, const uint8_t layout[SFRAME_FILE_LAYOUT])
{
	char *at;

	name_table(self);
	at = self->name + strlen(self->name) - strlen(".v4");
	*at++ = '-';
	for (int i = 0; i < SFRAME_FILE_LAYOUT; i++)
		at += sprintf(at, "%02x", layout[i]);
	strcpy(at, ".v4");
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
		.build_id_size = has_id(&self->headers) ? sizeof(self->headers.id) : 0,
		.text = { { PAGE, self->headers.text.p_memsz } },
	};
	memcpy(self->head.magic, SFRAME_FILE_MAGIC, sizeof(self->head.magic));
	id_of(&self->headers, self->head.build_id);
	layout_of(&self->headers, self->head.layout);
	self->table = lying_table(-(int)PAGE);
}

/* Write the first @size bytes of the file with @table. */
static bool write_bytes(split_data *self, const void *table, size_t table_size, size_t size)
{
	static uint8_t bytes[2 * PAGE];

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &self->head, sizeof(self->head));
	memcpy(bytes + SFRAME_FILE_TABLE, table, table_size);
	unlink(self->name);
	return write_file(self->name, bytes, size);
}

static bool write_table(split_data *self, size_t size)
{
	return write_bytes(self, &self->table, sizeof(self->table), size);
}

/* Give @table, of version 3, its header, and write it.  The functions end at @rows_at. */
static bool write_as_version_3(split_data *self, void *table, size_t size, size_t rows_at)
{
	size_t header = offsetof(struct lying_table, start);

	self->table.version = 3;
	self->table.num_fdes = (rows_at - header) / 16;
	self->table.freoff = rows_at - header;
	self->table.fre_len = size - rows_at;
	memcpy(table, &self->table, header);
	self->head.format = 3;
	self->head.table_size = size;
	return write_bytes(self, table, size, SFRAME_FILE_TABLE + size);
}

/* Write a table of version 3 with the same rows for all of the code. */
static bool write_version_3(split_data *self, uint8_t info2)
{
	struct {
		uint8_t		header[offsetof(struct lying_table, start)];
		int64_t		start;
		uint32_t	size;
		uint32_t	rows_at;
		uint16_t	num_rows;
		uint8_t		info;
		uint8_t		info2;
		uint8_t		repeat;
		uint8_t		rows[sizeof(lying_rows)];
	} __attribute__((packed)) table = {
		.start = -(int)PAGE,
		.size = SECOND + sizeof(lying_code),
		.num_rows = 2,
		.info2 = info2,
	};

	memcpy(table.rows, lying_rows, sizeof(lying_rows));
	return write_as_version_3(self, &table, sizeof(table), offsetof(typeof(table), num_rows));
}

#define WHOLE (SFRAME_FILE_TABLE + sizeof(struct lying_table))

/* Set the sysctl, which has the kernel read the indexes, and look at all files again. */
static bool set_path(const char *path)
{
	return write_file(SYSCTL, path, strlen(path));
}

static int compare_entries(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sframe_index_entry));
}

/* Add an object to the index in memory. */
static void add_entry(split_data *self, const struct lying_object *headers)
{
	struct index *index = &self->index;
	struct sframe_index_entry *entry = &index->entries[index->head.nr++];

	id_of(headers, entry->build_id);
	layout_of(headers, entry->layout);
	qsort(index->entries, index->head.nr, sizeof(*entry), compare_entries);
}

/* Make an index with the object and one that is nowhere, which comes after it. */
static void fill_index(split_data *self)
{
	struct lying_object other = self->headers;

	self->index = (struct index){
		.head = {
			.version = SFRAME_INDEX_VERSION,
			.entry_size = sizeof(struct sframe_index_entry),
		},
	};
	memcpy(self->index.head.magic, SFRAME_INDEX_MAGIC, sizeof(self->index.head.magic));
	add_entry(self, &self->headers);
	other.id[19]++;
	add_entry(self, &other);
}

/* Write the index but for its last @less bytes. */
static bool write_index(split_data *self, size_t less)
{
	size_t size = sizeof(self->index.head) +
		      self->index.head.nr % (MAX_ENTRIES + 1) * sizeof(self->index.entries[0]);

	unlink(self->index_name);
	return write_file(self->index_name, &self->index, size - less);
}

/* Write the index and have the kernel read it. */
static bool publish(split_data *self)
{
	return write_index(self, 0) && set_path(self->dir);
}

/* Map the object again, and return whether the kernel finds a table for it. */
static int finds(split_data *self)
{
	return map_object(&self->map, self->fd) ? comes_to_believe_in(&self->map) : -4;
}

FIXTURE_SETUP(split)
{
	ssize_t size;
	int fd;

	NEED_FILES();
	fd = open(SYSCTL, O_RDWR);
	if (fd < 0)
		SKIP(return, "no " SYSCTL);
	size = read(fd, self->path, sizeof(self->path) - 1);
	ASSERT_LE(0, size);
	close(fd);
	strcpy(self->dir, "/tmp/split.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	ASSERT_EQ(0, chmod(self->dir, 0755));
	ASSERT_TRUE(make_headers(&self->headers));
	name_table(self);
	fill_table(self);
	fill_index(self);
	self->fd = write_object(&self->headers, &self->table);
	ASSERT_LE(0, self->fd);
	snprintf(self->index_name, sizeof(self->index_name), "%s/index.v4", self->dir);
	ASSERT_EQ(0, mkdir(self->part, 0755));
	ASSERT_TRUE(prepare_map(&self->map));
}

FIXTURE_TEARDOWN(split)
{
	if (!self->part[0])
		return;
	EXPECT_TRUE(set_path(self->path));
	unlink(self->name);
	unlink(self->index_name);
	rmdir(self->part);
	EXPECT_EQ(0, rmdir(self->dir));
}

TEST_F(split, is_found)
{
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
	EXPECT_TRUE(file_is(self->fd, "loaded"));
}

TEST_F(split, is_found_in_the_second_directory)
{
	char path[128];

	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(write_index(self, 0));
	snprintf(path, sizeof(path), "/nowhere::relative:%s\n", self->dir);
	ASSERT_TRUE(set_path(path));
	EXPECT_EQ(1, finds(self));
}

TEST_F(split, is_not_looked_for_without_path)
{
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(write_index(self, 0));
	ASSERT_TRUE(set_path("\n"));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "without"));
}

/* Only objects in the index cost the kernel more than a search in memory. */
TEST_F(split, is_not_looked_for_without_index)
{
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(set_path(self->dir));
	EXPECT_EQ(0, finds(self));
	self->index.entries[0] = self->index.entries[1];
	self->index.head.nr = 1;
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "without"));
	self->index.head.nr = 0;
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "without"));
}

/* A new table must be found without mapping the object again or restarting the program. */
TEST_F(split, is_found_when_it_appears)
{
	ASSERT_TRUE(set_path(self->dir));
	EXPECT_EQ(0, finds(self));
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, comes_to_believe_in(&self->map));
}

/* The index may come before its tables, and be read again while nothing has changed. */
TEST_F(split, is_found_when_it_follows_its_index)
{
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(0, finds(self));
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(set_path(self->dir));
	EXPECT_EQ(1, comes_to_believe_in(&self->map));
	ASSERT_TRUE(set_path(self->dir));
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
	/* The layout of make_headers() begins with 0x21 and ends with 0xf2. */
	LIE(head.layout[0], 0),
	LIE(head.layout[SFRAME_FILE_LAYOUT - 1], 0),
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

	ASSERT_TRUE(write_index(self, 0));
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
	EXPECT_EQ(1, finds(self));
}

/* Read the kernel's log from where @kmsg is, and return whether a line has @what. */
static bool is_logged(int kmsg, const char *what)
{
	char line[8192];
	bool found = false;
	ssize_t size;

	/* EPIPE: lines were overwritten before they were read. */
	while ((size = read(kmsg, line, sizeof(line) - 1)) > 0 || (size < 0 && errno == EPIPE)) {
		line[size > 0 ? size : 0] = '\0';
		found = found || strstr(line, what);
	}
	return found;
}

/* Ways to spoil an index.  The log names these first ones, but not each of many. */
enum {
	UNSORTED, TOO_LONG, OF_A_GROUP, NR_LOGGED,
	TWICE = NR_LOGGED, OF_ALL, OF_ANOTHER, INDEX_LINK, INDEX_FIFO, SHORT, NO_HEAD, OTHER_MAGIC,
	OTHER_VERSION, OTHER_SIZE, NR_INDEXES,
};

static bool spoil_index(split_data *self, int what)
{
	struct index *index = &self->index;
	struct sframe_index_entry first = index->entries[0];
	char other[200];

	switch (what) {
	case UNSORTED:
		index->entries[0] = index->entries[1];
		index->entries[1] = first;
		break;
	case TWICE:
		index->entries[1] = first;
		break;
	case TOO_LONG:
		index->head.nr = SFRAME_INDEX_MAX + 1;
		break;
	case OTHER_MAGIC:
		index->head.magic[7]++;
		break;
	case OTHER_VERSION:
		index->head.version--;
		break;
	case OTHER_SIZE:
		index->head.entry_size = 24;
		break;
	}
	if (!write_index(self, what == SHORT ? 1 : what == NO_HEAD ? 2 * sizeof(first) + 1 : 0))
		return false;
	switch (what) {
	case OF_A_GROUP:
		return !chmod(self->index_name, 0664);
	case OF_ALL:
		return !chmod(self->index_name, 0646);
	case OF_ANOTHER:
		return !chown(self->index_name, 65534, 65534);
	case INDEX_FIFO:
		return !unlink(self->index_name) && !mkfifo(self->index_name, 0600);
	case INDEX_LINK:
		snprintf(other, sizeof(other), "%s.other", self->index_name);
		return !rename(self->index_name, other) && !symlink(other, self->index_name);
	}
	return true;
}

/* A directory whose index is not valid has no tables, and the administrator is told so. */
TEST_F_TIMEOUT(split, is_not_in_an_index_that_is_refused, 300)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char other[200];

	ASSERT_LE(0, kmsg);
	ASSERT_TRUE(write_table(self, WHOLE));
	for (int i = 0; i < NR_INDEXES; i++) {
		fill_index(self);
		ASSERT_TRUE(spoil_index(self, i)) TH_LOG("index %d", i);
		ASSERT_LE(0, lseek(kmsg, 0, SEEK_END));
		ASSERT_TRUE(set_path(self->dir));
		EXPECT_TRUE(i >= NR_LOGGED || is_logged(kmsg, self->index_name))
			TH_LOG("index %d", i);
		EXPECT_EQ(0, finds(self)) TH_LOG("index %d", i);
		EXPECT_TRUE(file_is(self->fd, "without")) TH_LOG("index %d", i);
	}
	snprintf(other, sizeof(other), "%s.other", self->index_name);
	EXPECT_EQ(0, unlink(other));
	close(kmsg);
	/* A corrected index must be used. */
	fill_index(self);
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
}

/* The index promises a table that the object's program headers contradict. */
TEST_F(split, of_another_layout_is_refused)
{
	struct lying_object other = self->headers;

	other.text.p_memsz++;
	layout_of(&other, self->head.layout);
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "refused"));
	/* The same under the name of the object's layout */
	unlink(self->name);
	name_table_by_layout(self, self->index.entries[0].layout);
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(set_path(self->dir));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "refused"));
	/* The table itself */
	fill_table(self);
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(set_path(self->dir));
	EXPECT_EQ(1, finds(self));
}

/* The index has another layout of the build-id only. */
TEST_F(split, is_not_for_another_layout)
{
	self->headers.text.p_memsz++;
	fill_index(self);
	self->headers.text.p_memsz--;
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "without"));
}

/* Replace the object by one that is known by its headers, and make its table and the index. */
static bool know_by_headers(split_data *self)
{
	close(self->fd);
	self->fd = write_object(&self->headers, &self->table);
	rmdir(self->part);
	name_table(self);
	fill_table(self);
	fill_index(self);
	return self->fd >= 0 && !mkdir(self->part, 0755) && write_table(self, WHOLE) &&
	       publish(self);
}

TEST_F(split, of_an_object_without_a_build_id)
{
	char first[sizeof(self->name)];

	self->headers.notes.p_type = PT_NULL;
	ASSERT_TRUE(know_by_headers(self));
	EXPECT_EQ(1, finds(self));
	EXPECT_EQ(0, unlink(self->name));
	/* Too short, and longer than its segment */
	self->headers.notes.p_type = PT_NOTE;
	self->headers.note.n_descsz = 1;
	ASSERT_TRUE(know_by_headers(self));
	EXPECT_EQ(1, finds(self));
	EXPECT_EQ(0, unlink(self->name));
	self->headers.note.n_descsz = sizeof(self->headers.id) + 1;
	ASSERT_TRUE(know_by_headers(self));
	EXPECT_EQ(1, finds(self));
	/* Other headers, and an object that has their hash as its build-id */
	close(self->fd);
	self->headers.header.e_entry++;
	self->fd = write_object(&self->headers, &self->table);
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "without"));
	close(self->fd);
	memcpy(self->headers.id, self->head.build_id, sizeof(self->headers.id));
	self->headers.note.n_descsz = sizeof(self->headers.id);
	self->fd = write_object(&self->headers, &self->table);
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "without"));
	/* That has a table by its layout. */
	strcpy(first, self->name);
	fill_table(self);
	name_table_by_layout(self, self->head.layout);
	ASSERT_TRUE(write_table(self, WHOLE));
	fill_index(self);
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
	EXPECT_EQ(0, unlink(first));
}

/* As two builds with a build-id that somebody has chosen, or a program and its stripped copy. */
TEST_F(split, is_found_for_each_layout_of_a_build_id)
{
	struct lying_object first = self->headers;
	static struct lying_map second;
	uint8_t layout[SFRAME_FILE_LAYOUT];
	char name[sizeof(self->name)];
	int fd;

	ASSERT_TRUE(write_table(self, WHOLE));
	strcpy(name, self->name);
	self->headers.text.p_memsz++;
	fd = write_object(&self->headers, &self->table);
	ASSERT_LE(0, fd);
	fill_table(self);
	layout_of(&self->headers, layout);
	name_table_by_layout(self, layout);
	ASSERT_TRUE(write_table(self, WHOLE));
	fill_index(self);
	add_entry(self, &first);
	ASSERT_TRUE(publish(self));

	EXPECT_EQ(1, finds(self));
	ASSERT_TRUE(prepare_map(&second));
	ASSERT_TRUE(map_object(&second, fd));
	EXPECT_EQ(1, comes_to_believe_in(&second));
	EXPECT_EQ(1, believes_in(&self->map));
	EXPECT_EQ(0, unlink(name));
	close(fd);
}

/* Replace the object by one that has @table, or a part of one, itself. */
static bool give_own_table(split_data *self, const struct lying_table *table)
{
	close(self->fd);
	self->headers.sframe.p_type = PT_GNU_SFRAME;
	self->fd = write_object(&self->headers, table);
	return self->fd >= 0;
}

/* Whether the kernel uses a table for both functions of the object: bit 0 and bit 1. */
static int finds_both(split_data *self)
{
	int first = finds(self), second;

	self->map.at = SECOND;
	second = comes_to_believe_in(&self->map);
	self->map.at = 0;
	return first < 0 ? first : second < 0 ? second : first + 2 * second;
}

/* Part of an object may come from an assembler that makes tables. */
TEST_F(split, completes_the_table_of_the_object)
{
	struct lying_table table = lying_table(SECOND - (int)PAGE);

	ASSERT_TRUE(give_own_table(self, &table));
	EXPECT_EQ(2, finds_both(self));
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(3, finds_both(self));
}

/* An instruction that the table has a row for, after another one than a call */
static unsigned long after_no_call(const split_data *self)
{
	return (unsigned long)self->map.area + PAGE + SECOND + LYING_FAULT;
}

static keep unsigned long after_call(void)
{
	return (unsigned long)__builtin_return_address(0);
}

TEST_F(split, of_version_3_leads_where_it_says)
{
	ASSERT_TRUE(write_version_3(self, 0));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
	EXPECT_EQ(1, leads_to(&self->map, after_no_call(self)));
}

/* Return addresses that rows without unwind information lead to are checked. */
TEST_F(split, of_followed_code_leads_after_calls)
{
	self->head.flags = SFRAME_FILE_PRIVATE_RULES;
	ASSERT_TRUE(write_version_3(self, FOLLOWED));
	ASSERT_TRUE(publish(self));
	finds(self);
	EXPECT_EQ(1, leads_to(&self->map, after_call()));
	EXPECT_EQ(0, leads_to(&self->map, after_no_call(self)));
}

TEST_F(split, of_followed_code_has_to_say_so)
{
	ASSERT_TRUE(write_version_3(self, FOLLOWED));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(0, finds(self));
}

/* Returns from a signal, as the one of a C library that has no unwind information */
static const uint8_t trampoline[] = {
	0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0, 0,	/* mov $SYS_rt_sigreturn, %rax */
	0x0f, 0x05,					/* syscall */
};

static void *fault_in_handler;
static uint64_t interrupted;

static keep void fault_handler(int signal, siginfo_t *info, void *context)
{
	interrupted = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	*(volatile char *)fault_in_handler = 1;
}

/* Have the object's second function return from a signal whose handler faults. */
static bool return_by_trampoline(split_data *self)
{
	struct {
		void		(*handler)(int signal, siginfo_t *info, void *context);
		unsigned long	flags;
		void		*restorer;
		uint64_t	mask;
	} action = {
		.handler = fault_handler,
		.flags = SA_SIGINFO | 0x04000000 /* SA_RESTORER */,
		.restorer = self->map.area + PAGE + SECOND,
	};

	fault_in_handler = self->map.fault;
	watch_fault(&self->map);
	return !syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof(action.mask)) &&
	       !raise(SIGUSR1) && !ioctl(self->map.perf.fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Whether the stack of the fault leads through the trampoline to what the signal interrupted. */
static bool leads_through_trampoline(split_data *self)
{
	const struct unwind_record *record = &self->map.record;

	if (!return_by_trampoline(self))
		return false;
	while (unwind_perf_next(&self->map.perf, &self->map.record)) {
		if (record->type != UNWIND_RECORD_DEFERRED)
			continue;
		for (unsigned int i = 1; i + 1 < record->nr; i++)
			if (record->ips[i] == (uintptr_t)self->map.area + PAGE + SECOND)
				return record->ips[i + 1] == interrupted;
	}
	return false;
}

/* Rows of followed code must not hide that a signal has interrupted the caller. */
TEST_F(split, of_followed_code_leaves_signals_alone)
{
	close(self->fd);
	self->fd = write_object_with(&self->headers, &self->table, trampoline,
				     sizeof(trampoline));
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(write_version_3(self, 0));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
	/* A row that unwind information has made is believed. */
	EXPECT_FALSE(leads_through_trampoline(self));
	self->head.flags = SFRAME_FILE_PRIVATE_RULES;
	ASSERT_TRUE(write_version_3(self, FOLLOWED));
	ASSERT_TRUE(evict_all_tables());
	ASSERT_TRUE(publish(self));
	finds(self);
	EXPECT_EQ(1, leads_to(&self->map, after_call()));
	EXPECT_TRUE(leads_through_trampoline(self));
}

/*
 * Addresses its frame by RBX while it calls, and returns its return address.  What it calls has two
 * instructions that may fault: before it saves RBX, and after it has changed that.
 */
static const uint8_t by_rbx[] = {
	0x53,					/*  0	push %rbx */
	0x48, 0x89, 0xe3,			/*  1	mov %rsp, %rbx */
	0x48, 0x83, 0xec, 0x40,			/*  4	sub $64, %rsp */
	/* Where RBX will be saved: this leads nowhere. */
	0x48, 0xc7, 0x44, 0x24, 0xf0, 1, 0, 0, 0, /*  8	movq $1, -16(%rsp) */
	0xe8, 9, 0, 0, 0,			/* 17	call 31 */
	0x48, 0x8b, 0x43, 0x08,			/* 22	mov 8(%rbx), %rax */
	0x48, 0x89, 0xdc,			/* 26	mov %rbx, %rsp */
	0x5b,					/* 29	pop %rbx */
	0xc3,					/* 30	ret */
	0xc6, 0x07, 0x01,			/* 31	movb $1, (%rdi) */
	0x53,					/* 34	push %rbx */
	0x31, 0xdb,				/* 35	xor %ebx, %ebx */
	0xc6, 0x06, 0x01,			/* 37	movb $1, (%rsi) */
	0x5b,					/* 40	pop %rbx */
	0xc3,					/* 41	ret */
};

#define BY_RBX_LAST	21	/* last byte of the call */
#define BY_RBX_CALLEE	31
#define BY_RBX_SAVED	37

typedef uint64_t by_rbx_function(void *first, void *second);

/* Attributes (number of rows, fourth byte) and rows of the functions in write_by_rbx() */
static const uint8_t by_rbx_rows[] = {
	2, 0, 0, 0, 0,				/*  0	as lying_rows */
		0, 0x03, 8,
		9, 0x03, 32,
	1, 0, 0, FLEXIBLE, 0,			/* 11	CFA = rbx + 16 */
		0, 0x04, 0x19, 16,
	1, 0, 0, FLEXIBLE | FOLLOWED, 0,	/* 20	CFA = *(rsp - 16) + 16 */
		0, 0x06, 0x3f, 0xf0, 16,
	2, 0, 0, 0, 0,				/* 30	CFA = rsp + 8, rsp + 16 */
		0, 0x03, 8,
		4, 0x03, 16,
};

static bool write_by_rbx(split_data *self)
{
	const int second = SECOND - (int)PAGE;
	struct {
		uint8_t		header[offsetof(struct lying_table, start)];
		struct {
			int64_t		start;
			uint32_t	size;
			uint32_t	rows_at;
		} __attribute__((packed)) functions[4];
		uint8_t		rows[sizeof(by_rbx_rows)];
	} __attribute__((packed)) table = {
		.functions = {
			{ -(int)PAGE, sizeof(lying_code), 0 },
			{ second, BY_RBX_LAST, 11 },
			{ second + BY_RBX_LAST, 1, 20 },
			{ second + BY_RBX_CALLEE, sizeof(by_rbx) - BY_RBX_CALLEE, 30 },
		},
	};

	memcpy(table.rows, by_rbx_rows, sizeof(by_rbx_rows));
	self->head.flags = SFRAME_FILE_PRIVATE_RULES;
	return write_as_version_3(self, &table, sizeof(table), offsetof(typeof(table), rows));
}

/* Whether the stack of the fault at @at, in the page @first or @second, leads to this function. */
static keep bool leads_by_rbx(split_data *self, unsigned long at, void *first, void *second)
{
	uint64_t function = (uintptr_t)self->map.area + PAGE + SECOND, caller;
	const struct unwind_record *record = &self->map.record;

	watch_fault(&self->map);
	caller = ((by_rbx_function *)function)(first, second);
	ioctl(self->map.perf.fd, PERF_EVENT_IOC_DISABLE, 0);
	return unwind_perf_stack_at(&self->map.perf, function + at, &self->map.record) &&
	       record->nr > 2 && record->ips[1] == function + BY_RBX_LAST + 1 &&
	       record->ips[2] == caller;
}

/* Before the callee saves RBX, the row of the call's first bytes leads on, by the register. */
TEST_F(split, of_followed_code_leads_by_what_a_callee_saves)
{
	uint8_t byte = 0;

	close(self->fd);
	self->headers.text.p_filesz = SECOND + sizeof(by_rbx);
	self->headers.text.p_memsz = self->headers.text.p_filesz;
	fill_table(self);
	fill_index(self);
	self->fd = write_object_with(&self->headers, &self->table, by_rbx, sizeof(by_rbx));
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(write_by_rbx(self));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
	EXPECT_TRUE(leads_by_rbx(self, BY_RBX_SAVED, &byte, self->map.fault));
	EXPECT_TRUE(leads_by_rbx(self, BY_RBX_CALLEE, self->map.fault, &byte));
}

/* Where both have a row, that of root counts. */
TEST_F(split, comes_before_the_table_of_the_object)
{
	struct lying_table table = lying_table(-(int)PAGE);

	/* Where the return address really is */
	table.rows[5] = 48;
	ASSERT_TRUE(give_own_table(self, &table));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "loaded"));
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
}

TEST_F(split, stands_in_for_a_damaged_table)
{
	struct lying_table table = lying_table(-(int)PAGE);

	table.magic = 0xdee3;
	ASSERT_TRUE(give_own_table(self, &table));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "refused"));
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
}

/* The own table is too large for the task to read it. */
TEST_F(split, stands_in_for_a_large_table)
{
	close(self->fd);
	self->headers.sframe.p_type = PT_GNU_SFRAME;
	self->headers.sframe.p_filesz = 32769;
	self->fd = write_object(&self->headers, &self->table);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(file_is(self->fd, "refused -7"));
	ASSERT_TRUE(write_table(self, WHOLE));
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
}

/*
 * The kernel must evict or refuse a table that exceeds the memory limit, and find it
 * again when there is room.
 */
TEST_F_TIMEOUT(split, is_bounded, 300)
{
	char before[32];
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
	ASSERT_TRUE(publish(self));
	EXPECT_EQ(1, finds(self));
	EXPECT_TRUE(set_bound("0\n"));
	EXPECT_NE(1, believes_in(&self->map));
	EXPECT_EQ(0, finds(self));
	EXPECT_TRUE(set_bound(before));
	EXPECT_EQ(1, comes_to_believe_in(&self->map));
	EXPECT_FALSE(set_bound("-1\n"));
}

/* A table says that it has more rows than there is room for at all. */
TEST_F(split, that_cannot_fit_evicts_nothing)
{
	static struct lying_map second;
	char name[sizeof(self->name)], part[sizeof(self->part)];
	struct lying_object first = self->headers;
	long long evicted;
	int fd;

	ASSERT_TRUE(write_table(self, WHOLE));
	strcpy(name, self->name);
	strcpy(part, self->part);
	self->headers.id[0]++;
	fd = write_object(&self->headers, &self->table);
	ASSERT_LE(0, fd);
	name_table(self);
	fill_table(self);
	self->table.num_fres = ~0u;
	ASSERT_EQ(0, mkdir(self->part, 0755));
	ASSERT_TRUE(write_table(self, WHOLE));
	fill_index(self);
	add_entry(self, &first);
	ASSERT_TRUE(publish(self));

	EXPECT_EQ(1, finds(self));
	evicted = stat_of("files_evicted");
	ASSERT_TRUE(prepare_map(&second));
	ASSERT_TRUE(map_object(&second, fd));
	EXPECT_EQ(0, comes_to_believe_in(&second));
	EXPECT_TRUE(file_is(fd, "refused -28"));
	EXPECT_EQ(evicted, stat_of("files_evicted"));
	EXPECT_EQ(1, believes_in(&self->map));
	EXPECT_EQ(0, unlink(name));
	EXPECT_EQ(0, rmdir(part));
	close(fd);
}

TEST_HARNESS_MAIN
