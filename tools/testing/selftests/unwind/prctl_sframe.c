// SPDX-License-Identifier: GPL-2.0
/*
 * Test tables registered by prctl(): which are refused, how they change walks, and when
 * the kernel removes them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind_test.h"
#include "lying.h"

#define PAGE 4096ul

static int add_size(const struct unwind_region *region, unsigned long size)
{
	return prctl(UNWIND_PR_ADD_SFRAME, region, size, 0, 0) ? -errno : 0;
}

static int add(const struct unwind_region *region)
{
	return add_size(region, sizeof(*region));
}

static int remove_region(const struct unwind_region *region)
{
	return prctl(UNWIND_PR_REMOVE_SFRAME, region, sizeof(*region), 0, 0) ? -errno : 0;
}

/* Register the table for other code. */
static int add_for(struct lying_table *table, uint8_t *text, uint64_t size)
{
	struct unwind_region region = {
		(uintptr_t)table, sizeof(*table), (uintptr_t)text, size,
	};

	*table = lying_table(text - (uint8_t *)table);
	table->size = size;
	return add(&region);
}

/* Whether the region is not registered any more, so that registering it succeeds. */
static bool is_gone(const struct unwind_region *region)
{
	return remove_region(region) == -ENOENT;
}

FIXTURE(lying)
{
	uint8_t			*area;	/* text, a page of nothing, table, fault page */
	struct lying_table	*table;
	void			*fault;
	struct unwind_region	region;
	struct unwind_perf	perf;
	struct unwind_record	record;
};

static void write_text(uint8_t *text)
{
	mmap(text, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
	memcpy(text, lying_code, sizeof(lying_code));
	mprotect(text, PAGE, PROT_READ | PROT_EXEC);
}

static void write_table(struct lying_table *table, const uint8_t *text)
{
	mmap(table, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
	*table = lying_table(text - (uint8_t *)table);
}

FIXTURE_SETUP(lying)
{
	NEED_UNWIND();
	self->area = mmap(NULL, 6 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->area);
	self->table = (struct lying_table *)(self->area + 2 * PAGE);
	self->fault = self->area + 4 * PAGE;
	ASSERT_EQ(0, mprotect(self->fault, PAGE, PROT_READ | PROT_WRITE));
	write_text(self->area);
	write_table(self->table, self->area);
	self->region = (struct unwind_region){
		(uintptr_t)self->table, sizeof(*self->table),
		(uintptr_t)self->area, sizeof(lying_code),
	};
	ASSERT_EQ(0, open_faults(&self->perf, 0));
}

FIXTURE_TEARDOWN(lying)
{
}

/* Run the code, and return whether the kernel used the table. */
typedef FIXTURE_DATA(lying) lying_data;

static keep int believes(lying_data *self)
{
	lying_function *function = (lying_function *)self->area;

	madvise(self->fault, PAGE, MADV_DONTNEED);
	unwind_perf_drain(&self->perf);
	function(self->fault, POISON);
	if (!unwind_perf_stack_at(&self->perf, (uintptr_t)self->area + LYING_FAULT,
				  &self->record))
		return -1;
	return self->record.nr > 1 && self->record.ips[1] == POISON;
}

TEST_F(lying, added_table_is_used)
{
	EXPECT_EQ(0, believes(self));
	ASSERT_EQ(0, add(&self->region));
	EXPECT_EQ(1, believes(self));
}

TEST_F(lying, removed_table_is_not_used)
{
	ASSERT_EQ(0, add(&self->region));
	EXPECT_EQ(1, believes(self));
	ASSERT_EQ(0, remove_region(&self->region));
	EXPECT_EQ(0, believes(self));
	EXPECT_EQ(-ENOENT, remove_region(&self->region));
	ASSERT_EQ(0, add(&self->region));
	EXPECT_EQ(1, believes(self));
}

TEST_F(lying, remove_by_table_alone)
{
	struct unwind_region by_table = { self->region.sframe_start };

	ASSERT_EQ(0, add(&self->region));
	EXPECT_EQ(0, remove_region(&by_table));
	EXPECT_EQ(0, believes(self));
	EXPECT_EQ(-ENOENT, remove_region(&by_table));
}

TEST_F(lying, remove_of_other_text)
{
	struct unwind_region other = self->region;

	ASSERT_EQ(0, add(&self->region));
	other.text_start += 1;
	other.text_size -= 1;
	EXPECT_EQ(-ENOENT, remove_region(&other));
	EXPECT_EQ(1, believes(self));
}

TEST_F(lying, size_of_structure)
{
	static const unsigned long sizes[] = { 0, 1, 31, 33, 40, 4096, ~0ul };

	for (int i = 0; i < 7; i++) {
		EXPECT_EQ(-EINVAL, add_size(&self->region, sizes[i]))
			TH_LOG("size %lu", sizes[i]);
		errno = 0;
		EXPECT_EQ(-1, prctl(UNWIND_PR_REMOVE_SFRAME, &self->region, sizes[i], 0, 0));
		EXPECT_EQ(EINVAL, errno);
	}
}

TEST_F(lying, further_arguments)
{
	errno = 0;
	EXPECT_EQ(-1, prctl(UNWIND_PR_ADD_SFRAME, &self->region, sizeof(self->region), 1, 0));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, prctl(UNWIND_PR_ADD_SFRAME, &self->region, sizeof(self->region), 0, 1));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, add(&self->region));
	errno = 0;
	EXPECT_EQ(-1, prctl(UNWIND_PR_REMOVE_SFRAME, &self->region, sizeof(self->region),
			    1, 0));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, prctl(UNWIND_PR_REMOVE_SFRAME, &self->region, sizeof(self->region),
			    0, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(1, believes(self));
}

TEST_F(lying, structure_not_readable)
{
	EXPECT_EQ(-EFAULT, add((struct unwind_region *)(self->area + PAGE)));
	EXPECT_EQ(-EFAULT, add(NULL));
	EXPECT_EQ(-EFAULT, remove_region(NULL));
}

TEST_F(lying, ranges_that_cannot_be)
{
	static const struct {
		const char		*what;
		struct unwind_region	change;
	} cases[] = {
		/*
		 * Each value other than 0 replaces that of the valid region; 1 stands for
		 * 0.
		 */
		{ "table of no size", { .sframe_size = 1 } },
		{ "text of no size", { .text_size = 1 } },
		{ "table wraps", { .sframe_size = -4096ul } },
		{ "text wraps", { .text_size = -4096ul } },
		{ "table in the kernel", { .sframe_start = 0xffff888000000000ul } },
		{ "text in the kernel", { .text_start = 0xffffffff81000000ul } },
		{ "table not canonical", { .sframe_start = 0x800000000000ul } },
		{ "text ends in the kernel", { .text_size = 0xffff800000000000ul } },
	};

	for (int i = 0; i < 8; i++) {
		struct unwind_region region = self->region;
		const uint64_t *from = (const uint64_t *)&cases[i].change;
		uint64_t *to = (uint64_t *)&region;

		for (int j = 0; j < 4; j++)
			if (from[j])
				to[j] = from[j] == 1 ? 0 : from[j];
		EXPECT_EQ(-EINVAL, add(&region)) TH_LOG("%s", cases[i].what);
	}
}

TEST_F(lying, not_mapped)
{
	struct unwind_region region = self->region;

	region.text_start = (uintptr_t)self->area + PAGE;
	EXPECT_EQ(-EFAULT, add(&region)) TH_LOG("text without access");
	region.text_start = (uintptr_t)self->fault;
	EXPECT_EQ(-EFAULT, add(&region)) TH_LOG("text not executable");
	region = self->region;
	region.text_size = 2 * PAGE;
	EXPECT_EQ(-EFAULT, add(&region)) TH_LOG("text with an end without access");
	region = self->region;
	region.sframe_start = (uintptr_t)self->area + PAGE;
	EXPECT_EQ(-EFAULT, add(&region)) TH_LOG("table not readable");
	region = self->region;
	region.sframe_size = 2 * PAGE;
	EXPECT_EQ(-EFAULT, add(&region)) TH_LOG("table with an end not readable");
	ASSERT_EQ(0, munmap(self->area + PAGE, PAGE));
	region = self->region;
	region.text_start = (uintptr_t)self->area + PAGE;
	EXPECT_EQ(-EFAULT, add(&region)) TH_LOG("text not mapped");
	region = self->region;
	region.sframe_start = (uintptr_t)self->area + PAGE;
	EXPECT_EQ(-EFAULT, add(&region)) TH_LOG("table not mapped");
	EXPECT_EQ(0, add(&self->region));
}

TEST_F(lying, tables_that_are_none)
{
	self->table->magic = 0xdee3;
	EXPECT_EQ(-EBADMSG, add(&self->region));
	EXPECT_TRUE(is_gone(&self->region));
	self->table->magic = 0xdee2;
	self->table->version = 4;
	EXPECT_EQ(-EOPNOTSUPP, add(&self->region));
	EXPECT_TRUE(is_gone(&self->region));
	self->table->version = 2;
	self->table->flags = 0;
	EXPECT_EQ(-EOPNOTSUPP, add(&self->region));
	self->table->flags = 1;
	self->table->num_fdes = 1000;
	EXPECT_EQ(-EBADMSG, add(&self->region));
	self->table->num_fdes = 1;
	self->region.sframe_size = 27;
	EXPECT_EQ(-EBADMSG, add(&self->region));
	self->region.sframe_size = sizeof(*self->table);
	self->table->info = 15;
	EXPECT_EQ(-EBADMSG, add(&self->region)) TH_LOG("rows of no width");
	self->table->info = 0;
	self->table->num_rows = 3;
	EXPECT_EQ(-EBADMSG, add(&self->region)) TH_LOG("a row behind the last");
	self->table->num_rows = 2;
	self->table->size++;
	EXPECT_EQ(-ENOENT, add(&self->region)) TH_LOG("other code");
	self->table->size--;
	self->region.sframe_size = 65ul << 20;
	EXPECT_EQ(-EFAULT, add(&self->region)) TH_LOG("not mapped");
	self->region.sframe_start = (uintptr_t)mmap(NULL, self->region.sframe_size, PROT_READ,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT_EQ(-E2BIG, add(&self->region)) TH_LOG("too large");
	self->region.sframe_start = (uintptr_t)self->table;
	self->region.sframe_size = sizeof(*self->table);
	EXPECT_EQ(0, add(&self->region));
}

TEST_F(lying, text_that_has_a_table)
{
	struct unwind_region region = self->region;

	ASSERT_EQ(0, add(&self->region));
	EXPECT_EQ(-EEXIST, add(&self->region));
	region.text_size = 1;
	EXPECT_EQ(-EEXIST, add(&region));
	region.text_start += region.text_size;
	region.text_size = PAGE - 1;
	EXPECT_EQ(-EEXIST, add(&region));
	region.text_start = self->region.text_start + self->region.text_size - 1;
	region.text_size = 1;
	EXPECT_EQ(-EEXIST, add(&region));
	/* Adjacent regions do not overlap. */
	EXPECT_EQ(0, add_for(self->table, (uint8_t *)region.text_start + 1, 1));
	EXPECT_EQ(1, believes(self));
}

TEST_F(lying, gone_with_its_text)
{
	ASSERT_EQ(0, add(&self->region));
	ASSERT_EQ(0, munmap(self->area, PAGE));
	EXPECT_TRUE(is_gone(&self->region));
	write_text(self->area);
	EXPECT_EQ(0, believes(self));
	EXPECT_EQ(0, add(&self->region));
	EXPECT_EQ(1, believes(self));
}

TEST_F(lying, stays_without_its_bytes)
{
	ASSERT_EQ(0, add(&self->region));
	ASSERT_EQ(0, munmap(self->table, PAGE));
	EXPECT_EQ(1, believes(self));
	EXPECT_EQ(0, remove_region(&self->region));
	EXPECT_EQ(0, believes(self));
}

TEST_F(lying, gone_when_text_is_mapped_over)
{
	ASSERT_EQ(0, add(&self->region));
	write_text(self->area);
	EXPECT_EQ(0, believes(self));
	EXPECT_TRUE(is_gone(&self->region));
}

TEST_F(lying, gone_when_text_moves)
{
	void *to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, to);
	ASSERT_EQ(0, add(&self->region));
	ASSERT_EQ(to, mremap(self->area, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	write_text(self->area);
	EXPECT_EQ(0, believes(self));
	EXPECT_TRUE(is_gone(&self->region));
}

TEST_F(lying, gone_when_something_moves_over_text)
{
	uint8_t *from = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, from);
	write_text(from);
	ASSERT_EQ(0, add(&self->region));
	ASSERT_EQ(self->area, mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
				     self->area));
	EXPECT_EQ(0, believes(self));
	EXPECT_TRUE(is_gone(&self->region));
}

TEST_F(lying, stays_when_others_are_unmapped)
{
	ASSERT_EQ(0, add(&self->region));
	ASSERT_EQ(0, munmap(self->area + PAGE, PAGE));
	ASSERT_EQ(0, munmap(self->area + 3 * PAGE, PAGE));
	EXPECT_EQ(1, believes(self));
}

TEST_F(lying, changed_later_is_as_it_was)
{
	ASSERT_EQ(0, add(&self->region));
	self->table->info = 15;
	EXPECT_EQ(1, believes(self));
	self->table->magic = 0;
	EXPECT_EQ(1, believes(self));
	ASSERT_EQ(0, mprotect(self->table, PAGE, PROT_NONE));
	EXPECT_EQ(1, believes(self));
}

TEST_F(lying, fork_copies)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, add(&self->region));
	unwind_perf_close(&self->perf);
	pid = fork();
	if (!pid) {
		int result = 8;

		if (!open_faults(&self->perf, 0))
			result = believes(self) == 1 ? 0 : 1;
		if (!result && remove_region(&self->region))
			result = 2;
		if (!result && believes(self))
			result = 3;
		_exit(result);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	/* The child has removed only its own copy. */
	ASSERT_EQ(0, open_faults(&self->perf, 0));
	EXPECT_EQ(1, believes(self));
	EXPECT_EQ(0, remove_region(&self->region));
}

TEST_F(lying, exec_drops)
{
	char self_path[PATH_MAX] = "", path[PATH_MAX + 16], start[32], size[32];
	int status;
	pid_t pid;

	ASSERT_LT(0, readlink("/proc/self/exe", self_path, sizeof(self_path) - 1));
	snprintf(path, sizeof(path), "%s/exec_target", dirname(self_path));
	snprintf(start, sizeof(start), "%#llx",
		 (unsigned long long)self->region.sframe_start);
	snprintf(size, sizeof(size), "%llu", (unsigned long long)self->region.sframe_size);
	ASSERT_EQ(0, add(&self->region));
	pid = fork();
	if (!pid) {
		execl(path, path, start, size, NULL);
		_exit(254);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(ENOENT, WEXITSTATUS(status));
	EXPECT_EQ(1, believes(self));
}

/* The number of tables is limited, far above the needs of a process. */
/* The timeout is long, as a debug kernel saves a stack trace at each allocation. */
TEST_F_TIMEOUT(lying, many_tables, 200)
{
	enum { MANY = 10000 };
	uint8_t *text = mmap(NULL, MANY, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	struct unwind_region region = self->region;
	int error = 0, i;

	ASSERT_NE(MAP_FAILED, text);
	for (i = 0; i < MANY && !error; i++)
		error = add_for(self->table, text + i, 1);
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_LT(1000, i);
	/* Remove all tables by one call. */
	region = (struct unwind_region){ self->region.sframe_start };
	EXPECT_EQ(0, remove_region(&region));
	write_table(self->table, self->area);
	EXPECT_EQ(0, add(&self->region));
	EXPECT_EQ(1, believes(self));
}

/*
 * Code generated at run time comes and goes, and its rows must be created and freed each
 * time.
 */
TEST_F_TIMEOUT(lying, comes_and_goes, 200)
{
	enum { ROUNDS = 20000 };

	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, add(&self->region));
		ASSERT_EQ(0, remove_region(&self->region));
	}
	ASSERT_EQ(0, add(&self->region));
	EXPECT_EQ(1, believes(self));
}

FIXTURE(callee)
{
	void			*object;
	int			(*function)(struct chain *chain, unsigned int depth);
	struct unwind_region	region;
	struct unwind_perf	perf;
	struct chain		chain;
	struct unwind_record	record;
};

FIXTURE_VARIANT(callee)
{
	const char	*name;
	int		flags;
};

FIXTURE_VARIANT_ADD(callee, lazy) {
	.name = "libcallee_lazy.so",
	.flags = RTLD_LAZY,
};

FIXTURE_VARIANT_ADD(callee, now) {
	.name = "libcallee_now.so",
	.flags = RTLD_NOW,
};

FIXTURE_SETUP(callee)
{
	char path[PATH_MAX] = "", object[PATH_MAX + 32];

	NEED_UNWIND();
	ASSERT_LT(0, readlink("/proc/self/exe", path, sizeof(path) - 1));
	snprintf(object, sizeof(object), "%s/%s", dirname(path), variant->name);
	self->object = dlopen(object, variant->flags);
	ASSERT_NE(NULL, self->object) TH_LOG("%s", dlerror());
	self->function = dlsym(self->object, "callee");
	ASSERT_NE(NULL, self->function);
	ASSERT_TRUE(unwind_find_region(variant->name, &self->region));
	ASSERT_TRUE(chain_init(&self->chain, 0));
	self->chain.last = main_return;
	ASSERT_EQ(0, open_faults(&self->perf, 0));
}

FIXTURE_TEARDOWN(callee)
{
}

/* Whether the stack from the shared object to main() is exact. */
typedef FIXTURE_DATA(callee) callee_data;

static keep bool call_is_exact(callee_data *self)
{
	unwind_perf_drain(&self->perf);
	self->chain.returns_nr = 0;
	self->function(&self->chain, 4);
	return unwind_perf_stack_at(&self->perf, self->chain.ips[0], &self->record) &&
	       chain_equal(&self->chain, &self->record);
}

/* Write the directories of tables to the sysctl as they are: all objects are looked up anew. */
static bool set_directories_again(void)
{
	int fd = open("/proc/sys/kernel/unwind_table_path", O_RDWR);
	char path[PATH_MAX];
	ssize_t len = read(fd, path, sizeof(path));
	bool set = len > 0 && pwrite(fd, path, len, 0) == len;

	close(fd);
	return set;
}

/* The object is known to the kernel, so its table applies where the program has none. */
TEST_F(callee, exact_whoever_has_its_table)
{
	EXPECT_TRUE(call_is_exact(self)) chain_print(&self->chain, &self->record);
	/* The stack is exact, now that the PLT is resolved. */
	EXPECT_TRUE(call_is_exact(self)) chain_print(&self->chain, &self->record);
	/* The table is the file's, so prctl() cannot remove it. */
	EXPECT_EQ(-ENOENT, remove_region(&self->region));
	EXPECT_TRUE(call_is_exact(self)) chain_print(&self->chain, &self->record);
	ASSERT_EQ(0, add(&self->region));
	EXPECT_TRUE(call_is_exact(self)) chain_print(&self->chain, &self->record);
	/* It stays while the kernel looks at all files again. */
	ASSERT_TRUE(set_directories_again());
	EXPECT_TRUE(call_is_exact(self)) chain_print(&self->chain, &self->record);
	ASSERT_EQ(0, remove_region(&self->region));
	EXPECT_TRUE(call_is_exact(self)) chain_print(&self->chain, &self->record);
	EXPECT_EQ(-ENOENT, remove_region(&self->region));
}

TEST_F(callee, gone_with_dlclose)
{
	ASSERT_EQ(0, add(&self->region));
	EXPECT_TRUE(call_is_exact(self)) chain_print(&self->chain, &self->record);
	ASSERT_EQ(0, dlclose(self->object));
	EXPECT_TRUE(is_gone(&self->region));
}

/* Find the section by the file's section headers, if no segment refers to it. */
static bool find_section(const char *path, uint64_t bias, struct unwind_region *region)
{
	int fd = open(path, O_RDONLY);
	const Elf64_Shdr *sections;
	const Elf64_Ehdr *elf;
	const char *names;
	off_t size;

	size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	elf = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (elf == MAP_FAILED)
		return false;
	sections = (const void *)((const char *)elf + elf->e_shoff);
	names = (const char *)elf + sections[elf->e_shstrndx].sh_offset;
	for (int i = 0; i < elf->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, ".sframe"))
			continue;
		region->sframe_start = bias + sections[i].sh_addr;
		region->sframe_size = sections[i].sh_size;
		return true;
	}
	return false;
}

FIXTURE(concatenated)
{
	void			*object;
	int			(*function)(struct chain *chain, unsigned int depth);
	struct unwind_region	region;
	struct unwind_perf	perf;
	struct chain		chain;
	struct unwind_record	record;
};

FIXTURE_VARIANT(concatenated)
{
	const char	*name;
};

FIXTURE_VARIANT_ADD(concatenated, lld) {
	.name = "libcallee_lld.so",
};

FIXTURE_VARIANT_ADD(concatenated, mold) {
	.name = "libcallee_mold.so",
};

FIXTURE_SETUP(concatenated)
{
	char path[PATH_MAX] = "", object[PATH_MAX + 32];
	struct link_map *map;

	NEED_UNWIND();
	ASSERT_LT(0, readlink("/proc/self/exe", path, sizeof(path) - 1));
	snprintf(object, sizeof(object), "%s/%s", dirname(path), variant->name);
	self->object = dlopen(object, RTLD_LAZY);
	ASSERT_NE(NULL, self->object) TH_LOG("%s", dlerror());
	self->function = dlsym(self->object, "callee");
	ASSERT_NE(NULL, self->function);
	map = self->object;
	/* These linkers create no segment for the table. */
	ASSERT_FALSE(unwind_find_region(variant->name, &self->region));
	ASSERT_TRUE(find_section(object, map->l_addr, &self->region));
	ASSERT_TRUE(chain_init(&self->chain, 0));
	ASSERT_EQ(0, open_faults(&self->perf, 0));
}

FIXTURE_TEARDOWN(concatenated)
{
}

/*
 * Linkers that do not know the format concatenate the tables of the input objects.  The
 * kernel must refuse the result, which is not a valid table.
 */
TEST_F(concatenated, tables_of_objects_are_refused)
{
	EXPECT_EQ(-EOPNOTSUPP, add(&self->region));
	EXPECT_TRUE(is_gone(&self->region));
	self->function(&self->chain, 4);
	ASSERT_TRUE(unwind_perf_stack_at(&self->perf, self->chain.ips[0], &self->record));
	EXPECT_FALSE(chain_equal(&self->chain, &self->record));
}

TEST_HARNESS_MAIN
