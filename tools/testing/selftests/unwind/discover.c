// SPDX-License-Identifier: GPL-2.0
/*
 * Test discovery of tables in the mappings of a program, with objects that have none and
 * with invalid headers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unwind_test.h"
#include "lying_object.h"

/* Value of a counter in debugfs' unwind/stats. */
static long long stat_of(const char *name)
{
	FILE *file = fopen("/sys/kernel/debug/unwind/stats", "r");
	long long value = -1, found = -1;
	char line[64];

	if (!file)
		return -2;
	while (fscanf(file, "%63s %lld", line, &value) == 2)
		if (!strcmp(line, name))
			found = value;
	fclose(file);
	return found;
}

static void *open_object(const char *name)
{
	const char *object = path_beside_program(name);

	return !object || access(object, R_OK) ? NULL : dlopen(object, RTLD_NOW);
}

typedef int callee_function(struct chain *chain, unsigned int depth);

/* Get the sample at the chain's innermost frame. */
static bool take_sample(struct unwind_perf *perf, const struct chain *chain,
			struct unwind_record *record, bool at_once)
{
	return at_once ? unwind_perf_sample_at(perf, chain->ips[0], record) :
			 unwind_perf_stack_at(perf, chain->ips[0], record);
}

FIXTURE(object)
{
	struct unwind_perf	perf;
	struct unwind_perf	looks;
	struct chain		chain;
	struct unwind_record	record;
	void			*object;
	callee_function		*function;
};

FIXTURE_VARIANT(object)
{
	const char	*name;
	bool		at_once;
};

FIXTURE_VARIANT_ADD(object, deferred) {
	.name = "libcallee_now.so",
};

FIXTURE_VARIANT_ADD(object, at_once) {
	.name = "libcallee_now.so",
	.at_once = true,
};

FIXTURE_VARIANT_ADD(object, v3_deferred) {
	.name = "libcallee_v3.so",
};

FIXTURE_VARIANT_ADD(object, v3_at_once) {
	.name = "libcallee_v3.so",
	.at_once = true,
};

typedef FIXTURE_DATA(object) object_data;
typedef FIXTURE_VARIANT(object) object_variant;

static bool object_load(object_data *self, const char *name)
{
	self->object = open_object(name);
	self->function = self->object ? dlsym(self->object, "callee") : NULL;
	return self->function;
}

FIXTURE_SETUP(object)
{
	unsigned int flags = variant->at_once ? UNWIND_NO_REQUESTS | UNWIND_NO_RECORDS : 0;

	NEED_DISCOVERY();
	ASSERT_TRUE(chain_init(&self->chain, 0));
	self->chain.last = main_return;
	ASSERT_EQ(0, open_faults(&self->perf, flags));
	ASSERT_EQ(0, open_counter(&self->looks, "unwind/sframe_discover"));
	if (!object_load(self, variant->name))
		SKIP(return, "no %s: made without V3_BINUTILS", variant->name);
}

FIXTURE_TEARDOWN(object)
{
}

/* Whether the stack from the shared object to main() is exact. */
static keep bool call_is_exact(object_data *self, bool at_once)
{
	unwind_perf_drain(&self->perf);
	self->chain.returns_nr = 0;
	self->function(&self->chain, 4);
	if (!take_sample(&self->perf, &self->chain, &self->record, at_once))
		return false;
	return chain_equal(&self->chain, &self->record);
}

/* Retry until the stack is exact, to give the kernel time to load tables. */
static keep bool becomes_exact(object_data *self, bool at_once)
{
	bool exact;
	time_t end = 0;

	do {
		exact = call_is_exact(self, at_once);
	} while (!exact && !is_over(&end));
	if (!exact)
		chain_print(&self->chain, &self->record);
	return exact;
}

TEST_F(object, is_found_without_prctl)
{
	uint64_t looks;

	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	looks = count(&self->looks);
	/* The table must stay attached without another discovery. */
	for (int i = 0; i < 20; i++)
		EXPECT_TRUE(call_is_exact(self, variant->at_once));
	EXPECT_EQ(looks, count(&self->looks));
}

TEST_F(object, is_found_again_after_dlclose)
{
	struct unwind_perf removed;

	ASSERT_EQ(0, open_counter(&removed, "unwind/sframe_remove"));
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(becomes_exact(self, variant->at_once)) TH_LOG("round %d", i);
		EXPECT_EQ(i, count(&removed));
		ASSERT_EQ(0, dlclose(self->object));
		EXPECT_EQ(i + 1, count(&removed));
		ASSERT_TRUE(object_load(self, variant->name));
	}
}

/* The next process that maps the object must have its table from the first sample on. */
TEST_F(object, is_attached_as_it_is_mapped)
{
	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, dlclose(self->object));
		ASSERT_TRUE(object_load(self, variant->name));
		EXPECT_TRUE(call_is_exact(self, variant->at_once)) TH_LOG("round %d", i);
	}
}

static bool drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
	bool dropped = fd >= 0 && write(fd, "2", 1) == 1;

	close(fd);
	return dropped;
}

/*
 * The kernel must evict rows when memory is short, and load them again when a walk misses
 * them.
 */
TEST_F(object, comes_back_when_evicted)
{
	long long evicted = stat_of("files_evicted"), loaded;

	if (evicted < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	loaded = stat_of("files_loaded");
	/* Rows that were used since the last pass survive one more. */
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(drop_caches());
	EXPECT_LT(evicted, stat_of("files_evicted"));
	/* Rows cached by walks go with the mapping. */
	ASSERT_EQ(0, dlclose(self->object));
	ASSERT_TRUE(object_load(self, variant->name));
	EXPECT_TRUE(becomes_exact(self, variant->at_once));
	EXPECT_LT(loaded, stat_of("files_loaded"));
	for (int i = 0; i < 5; i++)
		EXPECT_TRUE(call_is_exact(self, variant->at_once));
}

/* A walk that misses rows must have them loaded, even if no mapping changes. */
TEST_F(object, comes_back_where_it_stays_mapped)
{
	long long evicted = stat_of("files_evicted");

	if (evicted < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(drop_caches());
	EXPECT_LT(evicted, stat_of("files_evicted"));
	EXPECT_TRUE(becomes_exact(self, variant->at_once));
}

/* A child must inherit its parent's attachments without a discovery of its own. */
TEST_F(object, is_known_to_a_forked_process)
{
	int status;
	pid_t pid;

	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	unwind_perf_close(&self->perf);
	unwind_perf_close(&self->looks);
	pid = fork();
	if (!pid) {
		unsigned int flags = variant->at_once ?
			UNWIND_NO_REQUESTS | UNWIND_NO_RECORDS : 0;

		if (open_faults(&self->perf, flags) ||
		    open_counter(&self->looks, "unwind/sframe_discover"))
			_exit(1);
		if (!becomes_exact(self, variant->at_once))
			_exit(2);
		_exit(count(&self->looks) ? 3 : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* A table registered by prctl() must replace a discovered one. */
TEST_F(object, gives_way_to_prctl)
{
	struct unwind_region region;

	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	ASSERT_TRUE(unwind_find_region(variant->name, &region));
	ASSERT_EQ(0, prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region), 0, 0));
	EXPECT_EQ(-1, prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region), 0, 0));
	EXPECT_EQ(EEXIST, errno);
	EXPECT_TRUE(becomes_exact(self, variant->at_once));
}

/* The kernel must remember that an object has no table. */
TEST(object_without_table_is_looked_at_once)
{
	static struct unwind_record record;
	struct unwind_perf perf, looks;
	callee_function *function;
	struct chain chain;
	time_t end = 0;
	uint64_t before;
	void *object;

	NEED_DISCOVERY();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_counter(&looks, "unwind/sframe_discover"));
	ASSERT_EQ(0, open_faults(&perf, 0));
	/*
	 * Wait until all present mappings are done; those still loading are looked at
	 * again later.
	 */
	do {
		before = count(&looks);
		usleep(300000);
		chain_run(&chain, 1);
	} while ((unwind_is_loading() || count(&looks) != before) && !is_over(&end));

	object = open_object("libcallee_none.so");
	ASSERT_NE(NULL, object);
	function = dlsym(object, "callee");
	ASSERT_NE(NULL, function);
	end = 0;
	do {
		chain.returns_nr = 0;
		function(&chain, 4);
	} while (count(&looks) == before && !is_over(&end));
	EXPECT_EQ(before + 1, count(&looks));

	for (int i = 0; i < 100; i++) {
		chain.returns_nr = 0;
		function(&chain, 4);
		unwind_perf_drain(&perf);
	}
	EXPECT_EQ(before + 1, count(&looks));
	chain.returns_nr = 0;
	function(&chain, 4);
	ASSERT_TRUE(unwind_perf_stack_at(&perf, chain.ips[0], &record));
	EXPECT_FALSE(chain_equal(&chain, &record));
}

FIXTURE(headers)
{
	struct lying_object	*headers;	/* of the file, writable */
	struct lying_map	map;
	int			fd;
};

typedef FIXTURE_DATA(headers) headers_data;

FIXTURE_SETUP(headers)
{
	struct lying_table table = lying_table(-(int)PAGE);
	struct lying_object headers;

	NEED_DISCOVERY();
	self->fd = memfd_create("lying", MFD_CLOEXEC);
	ASSERT_LE(0, self->fd);
	write_headers(&headers);
	ASSERT_TRUE(write_lying_object(self->fd, &headers, &table));
	self->headers = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, self->headers);
	ASSERT_TRUE(prepare_map(&self->map));
}

FIXTURE_TEARDOWN(headers)
{
}

static bool map_it(headers_data *self)
{
	return map_object(&self->map, self->fd);
}

static int comes_to_believe(headers_data *self)
{
	return comes_to_believe_in(&self->map);
}

TEST_F(headers, that_are_right)
{
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	/* A new mapping must be looked at again. */
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
}

#define LIE(field, lie) LIE_OF(struct lying_object, field, lie)

static const struct lie lies[] = {
	LIE(header.e_ident[EI_MAG1], 'x'),
	LIE(header.e_ident[EI_CLASS], ELFCLASS32),
	LIE(header.e_ident[EI_DATA], ELFDATA2MSB),
	LIE(header.e_type, ET_REL),
	LIE(header.e_machine, EM_386),
	LIE(header.e_phentsize, 0),
	LIE(header.e_phentsize, 32),
	LIE(header.e_phnum, 0),
	LIE(header.e_phnum, 0xffff),
	LIE(header.e_phoff, 4096),
	LIE(header.e_phoff, 4000),
	LIE(header.e_phoff, ~0ull),
	LIE(header.e_phoff, -64ull),
	LIE(header.e_phoff, 1ull << 63),
	LIE(text.p_type, PT_NULL),
	LIE(text.p_flags, PF_R),
	LIE(text.p_offset, 0x2000),
	LIE(text.p_offset, ~0ull),
	LIE(text.p_filesz, 0),
	LIE(text.p_vaddr, 0),
	LIE(text.p_vaddr, ~0ull),
	LIE(sframe.p_type, PT_NULL),
	LIE(sframe.p_vaddr, 0),
	LIE(sframe.p_vaddr, 0x1000),
	LIE(sframe.p_vaddr, 0x3000),
	LIE(sframe.p_vaddr, 1ull << 47),
	LIE(sframe.p_vaddr, 1ull << 63),
	LIE(sframe.p_vaddr, -0x1000ull),
	LIE(sframe.p_vaddr, ~0ull),
	LIE(sframe.p_filesz, 0),
	LIE(sframe.p_filesz, 27),
	LIE(sframe.p_filesz, ~0ull),
};

TEST_F_TIMEOUT(headers, that_lie, 200)
{
	/* A table must not be shared if its file is mapped for writing, as this one is. */
	let_grow_old(self->fd);
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		write_headers(self->headers);
		tell(self->headers, &lies[i]);
		ASSERT_TRUE(map_it(self));
		EXPECT_EQ(0, comes_to_believe(self)) TH_LOG("%s", lies[i].what);
	}
	/* After all that, valid headers must still work. */
	write_headers(self->headers);
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
}

/* The kernel must read the file, not the program's memory. */
TEST_F(headers, that_cannot_be_read_in_memory)
{
	ASSERT_TRUE(map_it(self));
	ASSERT_EQ(0, mprotect(self->map.area, PAGE, PROT_NONE));
	EXPECT_EQ(1, comes_to_believe(self));
}

TEST_F(headers, that_are_not_mapped)
{
	ASSERT_TRUE(map_it(self));
	ASSERT_EQ(0, munmap(self->map.area, PAGE));
	EXPECT_EQ(1, comes_to_believe(self));
}

TEST_F(headers, that_another_file_hides)
{
	int other = memfd_create("other", MFD_CLOEXEC);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, ftruncate(other, PAGE));
	ASSERT_EQ(sizeof(*self->headers),
		  pwrite(other, self->headers, sizeof(*self->headers), 0));
	ASSERT_TRUE(map_it(self));
	ASSERT_TRUE(map_part(&self->map, 0, PROT_READ, other));
	EXPECT_EQ(1, comes_to_believe(self));
}

/* The pages are mapped, but beyond the end of the file. */
TEST_F(headers, whose_table_is_cut_off)
{
	ASSERT_EQ(0, ftruncate(self->fd, 2 * PAGE));
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(0, comes_to_believe(self));
}

/* The object's start address would be below 0. */
TEST_F(headers, whose_code_is_mapped_below_its_offset)
{
	const unsigned long offset = 1ul << 30;
	struct lying_table table = lying_table(offset - 2 * PAGE);
	time_t end = 0;
	void *code;

	self->headers->text.p_filesz = offset;
	self->headers->text.p_memsz = offset;
	ASSERT_EQ(0, ftruncate(self->fd, offset + PAGE));
	ASSERT_EQ(sizeof(lying_code),
		  pwrite(self->fd, lying_code, sizeof(lying_code), offset));
	ASSERT_EQ(sizeof(table), pwrite(self->fd, &table, sizeof(table), 2 * PAGE));
	code = mmap((void *)0x20000, PAGE, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_FIXED_NOREPLACE, self->fd, offset);
	ASSERT_EQ((void *)0x20000, code);
	self->map.area = code - PAGE;
	while (believes_in(&self->map) != 1 && !is_over(&end))
		;
	EXPECT_EQ(1, believes_in(&self->map));
	EXPECT_EQ(0, munmap(code, PAGE));
}

TEST_F(headers, whose_table_is_none)
{
	struct lying_table table = lying_table(-(int)PAGE);

	table.magic = 0xdee3;
	ASSERT_EQ(sizeof(table), pwrite(self->fd, &table, sizeof(table), 2 * PAGE));
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(0, comes_to_believe(self));
}

/* Open the file again. */
static int open_again(const headers_data *self, int flags)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", self->fd);
	return open(name, flags | O_CLOEXEC);
}

/* Close all writable descriptors, so that the table may be shared. */
static bool end_writing(headers_data *self)
{
	int fd = open_again(self, O_RDONLY);

	if (fd < 0 || munmap(self->headers, PAGE) || close(self->fd))
		return false;
	self->fd = fd;
	return true;
}

/* Write the magic number, which decides whether the table is valid. */
static bool rewrite_table(headers_data *self, uint16_t magic)
{
	struct lying_table table = lying_table(-(int)PAGE);
	int fd = open_again(self, O_WRONLY);
	bool done;

	table.magic = magic;
	done = fd >= 0 && pwrite(fd, &table, sizeof(table), 2 * PAGE) == sizeof(table);
	return !close(fd) && done;
}

/* Rewrite the table as a linker does that maps its output.  It has read the page before. */
static bool rewrite_table_in_memory(headers_data *self, uint16_t magic)
{
	int fd = open_again(self, O_RDWR);
	struct lying_table *table = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
					 2 * PAGE);

	close(fd);
	if (table == MAP_FAILED || *(volatile uint16_t *)&table->magic == magic)
		return false;
	*(volatile uint16_t *)&table->magic = magic;
	return !munmap(table, PAGE);
}

/* The same, if it sets no time stamp. */
static bool rewrite_table_unseen(headers_data *self, uint16_t magic)
{
	struct stat before, after;

	return !fstat(self->fd, &before) && rewrite_table_in_memory(self, magic) &&
	       !fstat(self->fd, &after) &&
	       !memcmp(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
}

#define RIGHT_MAGIC 0xdee2
#define WRONG_MAGIC 0xdee3

/* The same file with the same size, but another time stamp. */
TEST_F(headers, that_stay_while_the_table_changes)
{
	ASSERT_TRUE(end_writing(self));
	let_grow_old(self->fd);
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	ASSERT_TRUE(rewrite_table(self, WRONG_MAGIC));
	let_grow_old(self->fd);
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(0, comes_to_believe(self));
	ASSERT_TRUE(rewrite_table(self, RIGHT_MAGIC));
	let_grow_old(self->fd);
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
}

/* Whether the last change is so old that a second one would have a different time stamp. */
static bool is_old(int fd)
{
	struct stat st;

	return fstat(fd, &st) || time(NULL) - st.st_ctime >= 2;
}

/*
 * Two changes in quick succession may have the same time stamp, so a table that is read
 * soon after a change must not be shared.  Here the second change sets no time stamp, as
 * tmpfs sets none for a page that is already mapped.
 */
TEST_F(headers, that_were_written_a_moment_ago)
{
	time_t end = 0;
	int answer;

	ASSERT_TRUE(end_writing(self));
	do {
		ASSERT_TRUE(rewrite_table(self, RIGHT_MAGIC));
		ASSERT_TRUE(map_it(self));
		answer = comes_to_believe(self);
	} while (is_old(self->fd) && !is_over(&end));
	ASSERT_FALSE(is_old(self->fd));
	EXPECT_EQ(1, answer);
	ASSERT_TRUE(rewrite_table_unseen(self, WRONG_MAGIC));
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(0, comes_to_believe(self));
}

/*
 * A mapping that is written after a read fault has no fault at the write, so tmpfs sets no
 * time stamp.
 */
TEST_F(headers, that_were_written_in_memory)
{
	ASSERT_TRUE(end_writing(self));
	let_grow_old(self->fd);
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	ASSERT_TRUE(rewrite_table_unseen(self, WRONG_MAGIC));
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(0, comes_to_believe(self));
}

/* Map the object, and wait until its table has been loaded.  No walk uses the table. */
static bool map_until_loaded(headers_data *self)
{
	long long loaded = stat_of("files_loaded");
	time_t end = 0;

	if (!map_it(self))
		return false;
	while (stat_of("files_loaded") == loaded && !is_over(&end))
		usleep(1000);
	return stat_of("files_loaded") > loaded;
}

/* The headers are mapped for writing, so a table that is loaded is for one mapping only. */
TEST_F(headers, that_change_after_they_were_loaded)
{
	if (stat_of("files_loaded") < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	/* The first write through a mapping sets the time of change, and the next one does not. */
	write_headers(self->headers);
	ASSERT_TRUE(map_until_loaded(self));
	self->headers->sframe.p_type = PT_NULL;
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(0, comes_to_believe(self));
}

/* The table of the first mapping, which stays, must not go to the second one. */
TEST_F(headers, that_change_between_two_mappings)
{
	static struct lying_map second;

	if (stat_of("files_loaded") < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	write_headers(self->headers);
	ASSERT_TRUE(map_until_loaded(self));
	self->headers->sframe.p_type = PT_NULL;
	ASSERT_TRUE(prepare_map(&second));
	ASSERT_TRUE(map_object(&second, self->fd));
	EXPECT_EQ(0, comes_to_believe_in(&second));
}

/* The kernel must count and evict also a table that only one mapping may use. */
TEST_F(headers, that_may_change_and_are_evicted)
{
	time_t end = 0;

	if (stat_of("files_loaded") < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	ASSERT_TRUE(map_it(self));
	ASSERT_EQ(1, comes_to_believe(self));
	EXPECT_TRUE(file_is(self->fd, " loaded"));
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(drop_caches());
	EXPECT_FALSE(file_is(self->fd, " loaded"));
	while (believes_in(&self->map) != 1 && !is_over(&end))
		;
	EXPECT_EQ(1, believes_in(&self->map));
	EXPECT_TRUE(file_is(self->fd, " loaded"));
	ASSERT_EQ(0, munmap(self->map.area + PAGE, PAGE));
	EXPECT_FALSE(file_is(self->fd, ""));
}

struct other_file {
	int	fd;
	bool	stop;
};

static void *map_other_file(void *data)
{
	struct other_file *other = data;

	while (!__atomic_load_n(&other->stop, __ATOMIC_RELAXED)) {
		void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, other->fd, 0);

		if (page == MAP_FAILED || munmap(page, PAGE))
			return other;
	}
	return NULL;
}

/* A thread that unmaps other files must not keep the kernel from attaching the table. */
TEST_F(headers, that_load_while_other_files_are_unmapped)
{
	struct other_file other = { memfd_create("other", MFD_CLOEXEC) };
	long long loaded = stat_of("files_loaded");
	pthread_t thread;
	void *result;

	if (loaded < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	ASSERT_LE(0, other.fd);
	ASSERT_EQ(0, ftruncate(other.fd, PAGE));
	ASSERT_EQ(0, pthread_create(&thread, NULL, map_other_file, &other));
	for (int i = 0; i < 10; i++) {
		time_t end = 0;

		ASSERT_TRUE(map_it(self));
		while (believes_in(&self->map) != 1 && !is_over(&end))
			;
		EXPECT_EQ(1, believes_in(&self->map));
	}
	__atomic_store_n(&other.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(NULL, result);
	/* Once for each mapping; others may load a file, too. */
	EXPECT_GE(loaded + 15, stat_of("files_loaded"));
}

#define PRIVATE_MAX	1024	/* FILE_MAX_PRIVATE of kernel/unwind/file.c */
#define TOO_MANY	(PRIVATE_MAX + 100)

/* The kernel must bound what it keeps for the mappings of one process. */
TEST_F(headers, that_are_mapped_too_often)
{
	void *pages[TOO_MANY];
	struct stat st;

	ASSERT_EQ(0, fstat(self->fd, &st));
	if (stat_of("files_loaded") < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	for (int i = 0; i < TOO_MANY; i++) {
		pages[i] = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, self->fd, PAGE);
		ASSERT_NE(MAP_FAILED, pages[i]);
	}
	EXPECT_EQ(PRIVATE_MAX, lines_of(&st, ""));
	for (int i = 0; i < TOO_MANY; i++)
		ASSERT_EQ(0, munmap(pages[i], PAGE));
	EXPECT_EQ(0, lines_of(&st, ""));
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
}

/* Another file system may get the number of this one, and its files' numbers, too. */
TEST_F(headers, of_a_file_system_that_is_unmounted)
{
	char directory[] = "/tmp/lying.XXXXXX", name[64];
	struct lying_table table = lying_table(-(int)PAGE);
	time_t end = 0;
	struct stat st;
	int fd;

	if (stat_of("files_loaded") < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	ASSERT_NE(NULL, mkdtemp(directory));
	ASSERT_EQ(0, mount("none", directory, "tmpfs", 0, NULL));
	snprintf(name, sizeof(name), "%s/object", directory);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(write_lying_object(fd, self->headers, &table));
	close(fd);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	let_grow_old(fd);
	ASSERT_TRUE(map_object(&self->map, fd));
	ASSERT_EQ(1, comes_to_believe(self));
	ASSERT_EQ(0, fstat(fd, &st));
	EXPECT_EQ(1, lines_of(&st, " loaded"));
	close(fd);
	ASSERT_TRUE(map_it(self));
	/* The worker that has loaded the table may not have closed the file yet. */
	while (umount(directory) && !is_over(&end))
		usleep(10000);
	EXPECT_EQ(0, rmdir(directory));
	EXPECT_EQ(0, lines_of(&st, ""));
}

/* The next process may have its mm at the same address, and gets nothing of this one. */
TEST_F(headers, that_a_process_left_loaded)
{
	int status;
	pid_t pid;

	if (stat_of("files_loaded") < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	unwind_perf_close(&self->map.perf);
	unwind_perf_close(&self->map.looks);
	for (int i = 0; i < 20; i++) {
		bool lie = i % 2;

		self->headers->sframe.p_type = lie ? PT_NULL : PT_GNU_SFRAME;
		pid = fork();
		if (!pid) {
			if (!watch_map(&self->map))
				_exit(2);
			if (!lie)
				_exit(!map_until_loaded(self) || !file_is(self->fd, ""));
			_exit(!map_it(self) || comes_to_believe(self));
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) TH_LOG("process %d", i);
		EXPECT_FALSE(file_is(self->fd, "")) TH_LOG("process %d", i);
	}
}

/* The kernel must not identify files by name: here two files have the same name in turn. */
TEST_F(headers, of_a_file_that_is_replaced)
{
	char name[] = "/tmp/lying.XXXXXX", other[] = "/tmp/lying_too.XXXXXX";
	struct lying_table table = lying_table(-(int)PAGE);
	int fds[] = { mkstemp(name), mkstemp(other) };
	time_t end = 0;

	ASSERT_TRUE(write_lying_object(fds[0], self->headers, &table));
	table.magic = WRONG_MAGIC;
	ASSERT_TRUE(write_lying_object(fds[1], self->headers, &table));
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		fds[i] = open(i ? other : name, O_RDONLY | O_CLOEXEC);
		ASSERT_LE(0, fds[i]);
		let_grow_old(fds[i]);
	}
	ASSERT_TRUE(map_object(&self->map, fds[0]));
	EXPECT_EQ(1, comes_to_believe(self));
	ASSERT_EQ(0, rename(other, name));
	close(fds[1]);
	fds[1] = open(name, O_RDONLY | O_CLOEXEC);
	unlink(name);
	ASSERT_TRUE(map_object(&self->map, fds[1]));
	EXPECT_EQ(0, comes_to_believe(self));
	/* The file without a name must still be known. */
	ASSERT_TRUE(map_object(&self->map, fds[0]));
	while (believes_in(&self->map) != 1 && !is_over(&end))
		;
	EXPECT_EQ(1, believes_in(&self->map));
}

/* Write code to anonymous memory, which has no table. */
static bool write_code(void *at)
{
	if (mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != at)
		return false;
	memcpy(at, lying_code, sizeof(lying_code));
	return !mprotect(at, PAGE, PROT_READ | PROT_EXEC);
}

/*
 * The moved code must have its table at its new address; code mapped at the old one must
 * have none.
 */
TEST_F(headers, whose_code_is_moved)
{
	struct lying_map moved = self->map;
	uint8_t *from = self->map.area + PAGE, *to = self->map.area + 3 * PAGE;
	time_t end = 0;

	moved.area = to - PAGE;
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	ASSERT_EQ(to, mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	while (believes_in(&moved) != 1 && !is_over(&end))
		;
	EXPECT_EQ(1, believes_in(&moved));
	ASSERT_TRUE(write_code(from));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, believes_in(&self->map));
	EXPECT_EQ(1, believes_in(&moved));
}

/* The process has as much code as when the kernel last looked for tables. */
TEST_F(headers, that_replace_as_much_other_code)
{
	uint8_t *code = self->map.area + PAGE;

	ASSERT_TRUE(write_code(code));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, believes_in(&self->map));
	/* No event asks for callchains while the object is mapped. */
	unwind_perf_close(&self->map.perf);
	ASSERT_EQ(0, munmap(code, PAGE));
	ASSERT_TRUE(map_it(self));
	ASSERT_EQ(0, open_faults(&self->map.perf, 0));
	EXPECT_EQ(1, comes_to_believe(self));
}

/* As JIT compilers do with all of their code, again and again. */
TEST_F(headers, whose_code_is_writable_in_turns)
{
	uint8_t *code = self->map.area + PAGE;
	uint64_t looks;

	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	looks = count(&self->map.looks);
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(0, mprotect(code, PAGE, PROT_READ | PROT_WRITE));
		/* A walk in between */
		ASSERT_EQ(0, ioctl(self->map.perf.fd, PERF_EVENT_IOC_ENABLE, 0));
		ASSERT_TRUE(touch_new_page());
		ASSERT_EQ(0, ioctl(self->map.perf.fd, PERF_EVENT_IOC_DISABLE, 0));
		ASSERT_EQ(0, mprotect(code, PAGE, PROT_READ | PROT_EXEC));
		EXPECT_EQ(1, believes_in(&self->map)) TH_LOG("round %d", i);
	}
	/* The table must still be attached. */
	EXPECT_EQ(looks, count(&self->map.looks));
}

/* Otherwise the child would have a table for any code that it maps there. */
TEST_F(headers, whose_code_is_not_forked)
{
	uint8_t *code = self->map.area + PAGE;
	int status;
	pid_t pid;

	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	ASSERT_EQ(0, madvise(code, PAGE, MADV_DONTFORK));
	unwind_perf_close(&self->map.perf);
	pid = fork();
	if (!pid) {
		if (open_faults(&self->map.perf, 0) || !write_code(code))
			_exit(1);
		for (int i = 0; i < 3; i++)
			if (believes_in(&self->map))
				_exit(2);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Tables are loaded before the first sample, but only if a user of stacks exists. */
TEST_F(headers, that_nobody_has_sampled)
{
	struct unwind_perf perf;
	time_t end = 0;

	if (stat_of("files_loaded") < 0)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	unwind_perf_close(&self->map.perf);
	unwind_perf_close(&self->map.looks);
	ASSERT_TRUE(map_it(self));
	EXPECT_FALSE(file_is(self->fd, ""));
	ASSERT_EQ(0, open_faults(&perf, 0));
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_FALSE(file_is(self->fd, ""));
	ASSERT_TRUE(map_it(self));
	EXPECT_TRUE(file_is(self->fd, ""));
	while (!file_is(self->fd, " loaded") && !is_over(&end))
		;
	EXPECT_TRUE(file_is(self->fd, " loaded"));
	unwind_perf_close(&perf);
}

struct scribbler {
	struct lying_object	*headers;
	bool			stop;
};

/* Change words of the headers, and restore them. */
static void *scribble(void *data)
{
	struct scribbler *scribbler = data;
	unsigned int seed = 1;

	while (!__atomic_load_n(&scribbler->stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 1000; i++) {
			size_t at = rand_r(&seed) % (sizeof(struct lying_object) / 8);

			((volatile uint64_t *)scribbler->headers)[at] =
				(uint64_t)rand_r(&seed) << (rand_r(&seed) % 40);
		}
		write_headers(scribbler->headers);
	}
	return NULL;
}

/* The kernel may accept or refuse the headers, but must come to a result. */
TEST_F(headers, that_change_while_they_are_read)
{
	struct scribbler scribbler = { self->headers };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &scribbler));
	for (int i = 0; i < 50; i++) {
		ASSERT_TRUE(map_it(self));
		EXPECT_LE(0, comes_to_believe(self));
	}
	__atomic_store_n(&scribbler.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	write_headers(self->headers);
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
}

static keep int vdso_caller(int (*function)(clockid_t id, struct timespec *now),
			    struct timespec *now)
{
	/* Work after the call prevents a tail call. */
	return function(CLOCK_MONOTONIC_COARSE, now) * 3 + 1;
}

/* At its first instruction the vDSO has not saved its caller's frame pointer. */
TEST(vdso_is_found)
{
	static struct unwind_record record;
	int (*function)(clockid_t id, struct timespec *now);
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	struct unwind_region region;
	struct unwind_perf perf;
	struct timespec now;
	time_t end = 0;
	bool whole;

	NEED_DISCOVERY();
	ASSERT_NE(NULL, vdso);
	function = dlsym(vdso, "__vdso_clock_gettime");
	ASSERT_NE(NULL, function);
	if (!unwind_find_region("linux-vdso.so.1", &region))
		SKIP(return, "no table: this kernel's assembler did not make one");
	ASSERT_EQ(0, unwind_perf_open(&perf, 0, PERF_TYPE_BREAKPOINT, (uintptr_t)function,
				      0));
	do {
		unwind_perf_drain(&perf);
		vdso_caller(function, &now);
		ASSERT_TRUE(unwind_perf_stack_at(&perf, (uintptr_t)function, &record));
		whole = record.nr > 2 && record.ips[1] > (uintptr_t)vdso_caller &&
			record.ips[1] < (uintptr_t)vdso_caller + 128;
		for (unsigned int i = 2; whole && i < record.nr; i++)
			if (record.ips[i] == main_return)
				return;
	} while (!is_over(&end));
	for (unsigned int i = 0; i < record.nr; i++)
		TH_LOG("%u: %#llx", i, (unsigned long long)record.ips[i]);
	EXPECT_TRUE(false);
}

/* An event that walks a stack at the end of each walk must not recurse for ever. */
TEST(walks_of_the_event_of_walks)
{
	static struct unwind_record record;
	struct unwind_perf faults, walks;
	unsigned int runs = 0;
	struct chain chain;
	uint64_t before;

	NEED_DISCOVERY();
	ASSERT_TRUE(chain_init(&chain, 0));
	chain.last = main_return;
	for (int at_once = 0; at_once < 2; at_once++) {
		unsigned int flags = at_once ? UNWIND_NO_REQUESTS | UNWIND_NO_RECORDS : 0;

		ASSERT_EQ(0, open_faults(&faults, flags));
		ASSERT_EQ(0, unwind_perf_open(&walks, 0, PERF_TYPE_TRACEPOINT,
					      unwind_tracepoint("unwind/unwind_user_walk"),
					      flags));
		/* Bring in the tables and rows first. */
		for (int i = 0; i < 5; i++)
			chain_run(&chain, 3);
		before = count(&walks);
		for (runs = 0; runs < 10; runs++) {
			unwind_perf_drain(&faults);
			unwind_perf_drain(&walks);
			chain_run(&chain, 3);
			ASSERT_TRUE(take_sample(&faults, &chain, &record, at_once));
			EXPECT_TRUE(chain_matches(&chain, &record));
		}
		/*
		 * One walk for the fault, and at most one for each of its events.  During
		 * an immediate walk of the fault's sample, perf takes no other sample.
		 */
		EXPECT_LE(before + (at_once ? 0 : runs), count(&walks));
		EXPECT_GE(before + 4 * runs, count(&walks));
		unwind_perf_close(&faults);
		unwind_perf_close(&walks);
	}
}

/* Number of walks that ended; without a table for libc, walks end where main() returns. */
static long long walks_ended(void)
{
	long long complete = stat_of("walks_deferred_complete");

	return complete < 0 ? complete : complete + stat_of("walks_deferred_no_table");
}

TEST(walks_are_counted)
{
	long long ended, frames, added, removed;
	struct unwind_perf perf;
	struct chain chain;
	void *object;

	NEED_DISCOVERY();
	ended = walks_ended();
	if (ended == -2)
		SKIP(return, "no debugfs at /sys/kernel/debug");
	frames = stat_of("frames_deferred");
	added = stat_of("tables_discovered");
	removed = stat_of("tables_removed");
	ASSERT_LE(0, frames);
	ASSERT_LE(0, added);
	ASSERT_LE(0, removed);

	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_faults(&perf, 0));
	object = open_object("libcallee_now.so");
	ASSERT_NE(NULL, object);
	for (int i = 0; i < 10; i++)
		chain_run(&chain, 3);
	unwind_perf_close(&perf);
	ASSERT_EQ(0, dlclose(object));
	EXPECT_LE(ended + 10, walks_ended());
	EXPECT_LE(frames + 10 * 6, stat_of("frames_deferred"));
	EXPECT_LE(added + 1, stat_of("tables_discovered"));
	EXPECT_LE(removed + 1, stat_of("tables_removed"));
}

TEST_HARNESS_MAIN
