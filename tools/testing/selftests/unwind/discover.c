// SPDX-License-Identifier: GPL-2.0
/*
 * Test how the kernel finds the tables of files that a program maps, with objects that have
 * none and with invalid headers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unwind_test.h"
#include "lying_object.h"

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

static unsigned int flags_of(const object_variant *variant)
{
	return variant->at_once ? UNWIND_AT_ONCE : 0;
}

FIXTURE_SETUP(object)
{
	NEED_FILES();
	ASSERT_TRUE(chain_init(&self->chain, 0));
	self->chain.last = main_return;
	ASSERT_EQ(0, open_faults(&self->perf, flags_of(variant)));
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
	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	for (int i = 0; i < 20; i++)
		EXPECT_TRUE(call_is_exact(self, variant->at_once));
}

/* The kernel knows the file, wherever it is mapped. */
TEST_F(object, is_found_again_after_dlclose)
{
	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, dlclose(self->object));
		ASSERT_TRUE(object_load(self, variant->name));
		EXPECT_TRUE(call_is_exact(self, variant->at_once)) TH_LOG("round %d", i);
	}
}

/* Run @body in a child with an event of its own.  Returns its exit status. */
static int in_child(object_data *self, const object_variant *variant,
		    bool (*body)(object_data *self, const object_variant *variant))
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(open_faults(&self->perf, flags_of(variant)) ? 2 : !body(self, variant));
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static bool maps_an_object(object_data *self, const object_variant *variant)
{
	return object_load(self, variant->name) && call_is_exact(self, variant->at_once);
}

/* The next process that maps the object must have its table from the first sample on. */
TEST_F(object, is_known_to_the_next_process)
{
	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	unwind_perf_close(&self->perf);
	ASSERT_EQ(0, dlclose(self->object));
	for (int i = 0; i < 3; i++) {
		int failed = in_child(self, variant, maps_an_object);

		EXPECT_EQ(0, failed) TH_LOG("round %d", i);
	}
}

static bool calls_an_object(object_data *self, const object_variant *variant)
{
	return call_is_exact(self, variant->at_once);
}

TEST_F(object, is_known_to_a_forked_process)
{
	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	unwind_perf_close(&self->perf);
	EXPECT_EQ(0, in_child(self, variant, calls_an_object));
}

static bool drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
	bool dropped = fd >= 0 && write(fd, "2", 1) == 1;

	close(fd);
	return dropped;
}

/*
 * The kernel must evict rows when memory is short, but not those that were read within the
 * last second, and load them again when a walk misses them.
 */
TEST_F(object, comes_back_when_evicted)
{
	long long evicted, loaded;

	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	evicted = stat_of("files_evicted");
	loaded = stat_of("files_loaded");
	ASSERT_LE(0, evicted);
	usleep(1200000);
	ASSERT_TRUE(drop_caches());
	EXPECT_LT(evicted, stat_of("files_evicted"));
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
	long long evicted;

	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	evicted = stat_of("files_evicted");
	ASSERT_LE(0, evicted);
	ASSERT_TRUE(evict_all_tables());
	EXPECT_LT(evicted, stat_of("files_evicted"));
	EXPECT_TRUE(becomes_exact(self, variant->at_once));
}

/* A table registered by prctl() comes before that of the file, which stays. */
TEST_F(object, gives_way_to_prctl)
{
	struct unwind_region region;

	ASSERT_TRUE(becomes_exact(self, variant->at_once));
	ASSERT_TRUE(unwind_find_region(variant->name, &region));
	ASSERT_EQ(0, prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region), 0, 0));
	EXPECT_EQ(-1, prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region), 0, 0));
	EXPECT_EQ(EEXIST, errno);
	EXPECT_TRUE(call_is_exact(self, variant->at_once));
	ASSERT_EQ(0, prctl(UNWIND_PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0));
	EXPECT_TRUE(becomes_exact(self, variant->at_once));
}

FIXTURE(headers)
{
	int			fd;
	struct lying_object	headers;
	struct lying_map	map;
};

typedef FIXTURE_DATA(headers) headers_data;

/* Write the headers to the file, which must not be mapped for writing. */
static bool put_headers(headers_data *self)
{
	return pwrite(self->fd, &self->headers, sizeof(self->headers), 0) ==
	       sizeof(self->headers);
}

FIXTURE_SETUP(headers)
{
	struct lying_table table = lying_table(-(int)PAGE);

	NEED_FILES();
	self->fd = memfd_create("lying", MFD_CLOEXEC);
	ASSERT_LE(0, self->fd);
	write_headers(&self->headers);
	ASSERT_TRUE(write_lying_object(self->fd, &self->headers, &table));
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
	EXPECT_TRUE(file_is(self->fd, "loaded"));
	/* The file is known, so a new mapping has its rows at once. */
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, believes_in(&self->map));
	EXPECT_EQ(1, lines_of(&self->map.st, ""));
}

/* The kernel must remember that an object has no table. */
TEST_F(headers, of_an_object_without_table)
{
	long long without, known;

	self->headers.sframe.p_type = PT_NULL;
	ASSERT_TRUE(put_headers(self));
	let_grow_old(self->fd);
	without = stat_of("files_without_table");
	ASSERT_LE(0, without);
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(0, comes_to_believe(self));
	EXPECT_TRUE(file_is(self->fd, "without"));
	EXPECT_LT(without, stat_of("files_without_table"));
	known = stat_of("files_known");
	for (int i = 0; i < 200; i++)
		EXPECT_EQ(0, believes_in(&self->map));
	/* The kernel looks again at the program and its libraries if another machine has them. */
	EXPECT_GT(known + 100, stat_of("files_known"));
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
	LIE(text.p_filesz, ~0ull),
	LIE(text.p_memsz, 0),
	LIE(text.p_memsz, sizeof(lying_code) - 1),
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
	LIE(sframe.p_offset, 0x3000),
	LIE(sframe.p_offset, ~0ull),
	LIE(sframe.p_filesz, 0),
	LIE(sframe.p_filesz, 27),
	LIE(sframe.p_filesz, 32769),
	LIE(sframe.p_filesz, ~0ull),
};

TEST_F_TIMEOUT(headers, that_lie, 200)
{
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		write_headers(&self->headers);
		tell(&self->headers, &lies[i]);
		ASSERT_TRUE(put_headers(self));
		let_grow_old(self->fd);
		ASSERT_TRUE(map_it(self));
		EXPECT_EQ(0, comes_to_believe(self)) TH_LOG("%s", lies[i].what);
	}
	/* After all that, valid headers must still work. */
	write_headers(&self->headers);
	ASSERT_TRUE(put_headers(self));
	let_grow_old(self->fd);
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
	ASSERT_EQ(sizeof(self->headers),
		  pwrite(other, &self->headers, sizeof(self->headers), 0));
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
	EXPECT_TRUE(file_is(self->fd, "refused"));
}

/*
 * A file that takes 12 KiB on the disk and would take the task that is sampled long: a large
 * table for much code.  The first look refuses it, without reading the table.
 */
TEST_F(headers, of_a_sparse_file)
{
	const unsigned long much = 128ul << 20;
	struct stat st;

	self->headers.text.p_filesz = much;
	self->headers.text.p_memsz = much;
	self->headers.sframe.p_filesz = much / 2;
	self->headers.sframe.p_memsz = much / 2;
	ASSERT_TRUE(put_headers(self));
	ASSERT_EQ(0, ftruncate(self->fd, much + 2 * PAGE));
	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_GE(24, st.st_blocks);
	let_grow_old(self->fd);
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(0, believes_in(&self->map));
	EXPECT_TRUE(file_is(self->fd, "refused -7"));
	EXPECT_EQ(0, comes_to_believe(self));
	/* A small table for much code is refused, too. */
	self->headers.sframe.p_filesz = sizeof(struct lying_table);
	ASSERT_TRUE(put_headers(self));
	let_grow_old(self->fd);
	EXPECT_EQ(0, believes_in(&self->map));
	EXPECT_TRUE(file_is(self->fd, "refused -7"));
}

/* The object's start address would be below 0. */
TEST_F(headers, whose_code_is_mapped_below_its_offset)
{
	const unsigned long offset = 8ul << 20;
	struct lying_table table = lying_table(offset - 2 * PAGE);
	time_t end = 0;
	void *code;

	self->headers.text.p_filesz = offset;
	self->headers.text.p_memsz = offset;
	ASSERT_TRUE(put_headers(self));
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
	EXPECT_TRUE(file_is(self->fd, "refused"));
}

/* Open the file again. */
static int open_again(const headers_data *self, int flags)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", self->fd);
	return open(name, flags | O_CLOEXEC);
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

#define RIGHT_MAGIC 0xdee2
#define WRONG_MAGIC 0xdee3

/* The same file with the same size, but another time stamp. */
TEST_F(headers, that_stay_while_the_table_changes)
{
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

/* Have an immediate walk, and so a look that does not wait. */
static keep bool run_at_once(headers_data *self, struct unwind_perf *perf)
{
	lying_function *function = (lying_function *)(self->map.area + PAGE);

	if (madvise(self->map.fault, PAGE, MADV_DONTNEED) ||
	    ioctl(perf->fd, PERF_EVENT_IOC_ENABLE, 0))
		return false;
	function(self->map.fault, POISON);
	return !ioctl(perf->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/*
 * Two changes in quick succession may have the same time stamp, so the kernel must not use what
 * it reads in between.
 */
TEST_F(headers, that_change_twice_in_a_tick)
{
	struct unwind_perf perf;

	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_TRUE(map_it(self));
	for (int i = 0; i < 20; i++) {
		ASSERT_TRUE(rewrite_table(self, RIGHT_MAGIC));
		ASSERT_TRUE(run_at_once(self, &perf));
		ASSERT_TRUE(rewrite_table(self, WRONG_MAGIC));
		let_grow_old(self->fd);
		EXPECT_EQ(0, comes_to_believe(self)) TH_LOG("round %d", i);
	}
}

/* As by a build: a deferred walk waits until the file settles. */
TEST_F(headers, that_are_run_as_soon_as_they_are_written)
{
	time_t end = 0;

	ASSERT_TRUE(put_headers(self));
	ASSERT_TRUE(map_it(self));
	while (believes_in(&self->map) != 1 && !is_over(&end))
		;
	EXPECT_EQ(1, believes_in(&self->map));
}

TEST_F(headers, that_may_be_written)
{
	int fd = open_again(self, O_WRONLY);
	void *page;

	ASSERT_LE(0, fd);
	let_grow_old(self->fd);
	ASSERT_TRUE(map_it(self));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, believes_in(&self->map));
	EXPECT_TRUE(file_is(self->fd, "unsettled"));
	/* The same while it is mapped. */
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, close(fd));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, believes_in(&self->map));
	EXPECT_TRUE(file_is(self->fd, "unsettled"));
	ASSERT_EQ(0, munmap(page, PAGE));
	EXPECT_EQ(1, comes_to_believe(self));
}

/* Neither mapping may go on to use the table. */
TEST_F(headers, that_change_while_they_are_mapped)
{
	static struct lying_map second;

	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	self->headers.sframe.p_type = PT_NULL;
	ASSERT_TRUE(put_headers(self));
	EXPECT_EQ(0, comes_to_believe(self));
	ASSERT_TRUE(prepare_map(&second));
	ASSERT_TRUE(map_object(&second, self->fd));
	EXPECT_EQ(0, comes_to_believe_in(&second));
}

/* When memory is short, rows go that no walk has read for a second. */
TEST_F(headers, whose_rows_are_evicted)
{
	time_t end = 0;

	ASSERT_TRUE(map_it(self));
	ASSERT_EQ(1, comes_to_believe(self));
	do {
		ASSERT_TRUE(drop_caches());
		usleep(100000);
	} while (file_is(self->fd, "loaded") && !is_over(&end));
	EXPECT_FALSE(file_is(self->fd, "loaded"));
	EXPECT_EQ(1, comes_to_believe(self));
	EXPECT_TRUE(file_is(self->fd, "loaded"));
}

/* Have the kernel look at all files without a split table again, all the time. */
static void keep_looking(void)
{
	FILE *file = fopen(BOUND, "r");
	char bound[32];

	if (!file || !fgets(bound, sizeof(bound), file))
		_exit(1);
	while (set_bound(bound))
		;
	_exit(1);
}

/* Have an immediate walk, and return whether it has used the rows. */
static keep bool has_rows_at_once(headers_data *self, struct unwind_perf *perf)
{
	struct unwind_record *record = &self->map.record;
	uintptr_t fault = (uintptr_t)self->map.area + PAGE + LYING_FAULT;

	unwind_perf_drain(perf);
	return run_at_once(self, perf) && unwind_perf_sample_at(perf, fault, record) &&
	       record->nr > 1 && record->ips[1] == POISON;
}

/* A look replaces what is known of the file.  Walks of others must not miss the rows then. */
TEST_F(headers, that_others_look_at_again)
{
	unsigned int runs = 0, without = 0;
	struct unwind_perf perf;
	pid_t writer, other;
	long long looks;
	time_t end;

	ASSERT_TRUE(map_it(self));
	ASSERT_EQ(1, comes_to_believe(self));
	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_DISABLE, 0));
	writer = fork();
	ASSERT_LE(0, writer);
	if (!writer)
		keep_looking();
	other = fork();
	EXPECT_LT(-1, other);
	if (!other) {
		if (!watch_map(&self->map))
			_exit(1);
		for (;;)
			believes_in(&self->map);
	}
	looks = stat_of("files_known");
	for (end = time(NULL) + 4; time(NULL) < end; runs++)
		without += !has_rows_at_once(self, &perf);
	looks = stat_of("files_known") - looks;
	printf("# figure runs: %u, %u without rows; %lld looks\n", runs, without, looks);
	EXPECT_EQ(0, without);
	EXPECT_LT(100, runs);
	EXPECT_LT(100, looks);
	EXPECT_EQ(0, kill(writer, SIGKILL));
	if (other > 0)
		EXPECT_EQ(0, kill(other, SIGKILL));
	while (wait(NULL) > 0)
		;
	unwind_perf_close(&perf);
}

/*
 * Links and changes of mode keep the content, so no walk may miss the rows.  perf record links
 * each file that it has sampled.
 */
TEST_F(headers, whose_file_is_linked)
{
	struct unwind_perf perf;
	long long looks;
	int without = 0;

	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_DISABLE, 0));
	let_grow_old(self->fd);
	ASSERT_TRUE(map_it(self));
	ASSERT_EQ(1, comes_to_believe(self));
	looks = stat_of("files_known");
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(0, fchmod(self->fd, i % 2 ? 0700 : 0755));
		/* In the tick of the change, or only after it */
		if (i < 10)
			let_grow_old(self->fd);
		without += !has_rows_at_once(self, &perf);
		let_grow_old(self->fd);
		without += !has_rows_at_once(self, &perf);
		without += believes_in(&self->map) != 1;
	}
	EXPECT_EQ(0, without);
	EXPECT_LE(looks + 10, stat_of("files_known"));
	unwind_perf_close(&perf);
}

/* The same time of the last change, as cp --preserve writes it. */
TEST_F(headers, whose_table_changes_behind_mtime)
{
	struct timespec times[2];
	struct stat st;

	let_grow_old(self->fd);
	ASSERT_EQ(0, fstat(self->fd, &st));
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(rewrite_table(self, RIGHT_MAGIC));
		ASSERT_EQ(0, futimens(self->fd, times));
		let_grow_old(self->fd);
		ASSERT_TRUE(map_it(self));
		EXPECT_EQ(1, comes_to_believe(self));
		ASSERT_TRUE(rewrite_table(self, WRONG_MAGIC));
		ASSERT_EQ(0, futimens(self->fd, times));
		let_grow_old(self->fd);
		EXPECT_EQ(0, comes_to_believe(self));
	}
}

/* Make a file system with one object in it, whose table is valid or not. */
static int make_file_system(const headers_data *self, const char *directory, bool valid)
{
	struct lying_table table = lying_table(-(int)PAGE);
	char name[64];
	int fd;

	table.magic = valid ? RIGHT_MAGIC : WRONG_MAGIC;
	snprintf(name, sizeof(name), "%s/object", directory);
	if (mount("none", directory, "tmpfs", 0, NULL))
		return -1;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (fd < 0 || !write_lying_object(fd, &self->headers, &table) || close(fd))
		return -1;
	return open(name, O_RDONLY | O_CLOEXEC);
}

/*
 * What the kernel knows of a file does not keep its file system mounted.  The next file system
 * may get its number, and its file the same inode number and size.
 */
TEST_F(headers, of_a_file_system_that_is_unmounted)
{
	char directory[] = "/tmp/lying.XXXXXX";

	ASSERT_NE(NULL, mkdtemp(directory));
	for (int i = 0; i < 6; i++) {
		bool valid = i % 2 == 0;
		int fd = make_file_system(self, directory, valid);

		ASSERT_LE(0, fd);
		let_grow_old(fd);
		ASSERT_TRUE(map_object(&self->map, fd));
		EXPECT_EQ(valid, comes_to_believe(self)) TH_LOG("round %d", i);
		/* Another object takes the place of its mappings. */
		ASSERT_TRUE(map_it(self));
		ASSERT_EQ(0, close(fd));
		ASSERT_EQ(0, umount(directory)) TH_LOG("round %d: %s", i, strerror(errno));
	}
	EXPECT_EQ(0, rmdir(directory));
}

/* The kernel must not identify files by name: here two files have the same name in turn. */
TEST_F(headers, of_a_file_that_is_replaced)
{
	char name[] = "/tmp/lying.XXXXXX", other[] = "/tmp/lying_too.XXXXXX";
	struct lying_table table = lying_table(-(int)PAGE);
	int fds[] = { mkstemp(name), mkstemp(other) };
	time_t end = 0;

	ASSERT_TRUE(write_lying_object(fds[0], &self->headers, &table));
	table.magic = WRONG_MAGIC;
	ASSERT_TRUE(write_lying_object(fds[1], &self->headers, &table));
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
	/* The file without a name has its table, though its time of change is another one. */
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

	moved.area = to - PAGE;
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	ASSERT_EQ(to, mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_EQ(1, believes_in(&moved));
	ASSERT_TRUE(write_code(from));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, believes_in(&self->map));
	EXPECT_EQ(1, believes_in(&moved));
}

/* What the kernel knew of the code that was there before must not count. */
TEST_F(headers, that_replace_as_much_other_code)
{
	uint8_t *code = self->map.area + PAGE;

	ASSERT_TRUE(write_code(code));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, believes_in(&self->map));
	ASSERT_EQ(0, munmap(code, PAGE));
	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
}

/* As JIT compilers do with all of their code, again and again. */
TEST_F(headers, whose_code_is_writable_in_turns)
{
	uint8_t *code = self->map.area + PAGE;

	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(0, mprotect(code, PAGE, PROT_READ | PROT_WRITE));
		/* A walk in between */
		ASSERT_EQ(0, ioctl(self->map.perf.fd, PERF_EVENT_IOC_ENABLE, 0));
		ASSERT_TRUE(touch_new_page());
		ASSERT_EQ(0, ioctl(self->map.perf.fd, PERF_EVENT_IOC_DISABLE, 0));
		ASSERT_EQ(0, mprotect(code, PAGE, PROT_READ | PROT_EXEC));
		EXPECT_EQ(1, believes_in(&self->map)) TH_LOG("round %d", i);
	}
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

/* Nobody looks at the files of a process that is not sampled, whatever events exist. */
TEST_F(headers, that_nobody_has_sampled)
{
	lying_function *function = (lying_function *)(self->map.area + PAGE);

	ASSERT_TRUE(map_it(self));
	let_grow_old(self->fd);
	/* The event is disabled. */
	for (int i = 0; i < 3; i++)
		function(self->map.fault, POISON);
	EXPECT_FALSE(file_is(self->fd, ""));
	EXPECT_EQ(1, comes_to_believe(self));
	EXPECT_TRUE(file_is(self->fd, "loaded"));
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

	NEED_FILES();
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

	NEED_FILES();
	ASSERT_TRUE(chain_init(&chain, 0));
	chain.last = main_return;
	for (int at_once = 0; at_once < 2; at_once++) {
		unsigned int flags = at_once ? UNWIND_AT_ONCE : 0;

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

TEST_F(headers, and_walks_are_counted)
{
	long long ended = walks_ended(), frames = stat_of("frames_deferred");
	long long known = stat_of("files_known"), loaded = stat_of("files_loaded");
	long long registered = stat_of("tables_prctl"), removed = stat_of("tables_removed");
	struct unwind_perf perf;
	struct chain chain;

	ASSERT_LE(0, ended);
	ASSERT_LE(0, frames);
	ASSERT_LE(0, known);
	ASSERT_LE(0, loaded);
	ASSERT_LE(0, removed);
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_faults(&perf, 0));
	for (int i = 0; i < 10; i++)
		chain_run(&chain, 3);
	unwind_perf_close(&perf);
	EXPECT_LE(ended + 10, walks_ended());
	EXPECT_LE(frames + 10 * 6, stat_of("frames_deferred"));

	ASSERT_TRUE(map_it(self));
	EXPECT_EQ(1, comes_to_believe(self));
	EXPECT_LT(known, stat_of("files_known"));
	EXPECT_LT(loaded, stat_of("files_loaded"));
	/* These are only of prctl(). */
	ASSERT_EQ(0, munmap(self->map.area, 3 * PAGE));
	EXPECT_EQ(registered, stat_of("tables_prctl"));
	EXPECT_EQ(removed, stat_of("tables_removed"));
}

TEST_HARNESS_MAIN
