// SPDX-License-Identifier: GPL-2.0
/*
 * Test that no row outlives its table, and no table its mapping.  The tests replace a
 * function by one with a different frame at the same address.  Each walk must use the row
 * of the current function, both from cached rows and from the table.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind_test.h"
#include "layout.h"

#define PAGE		4096ul
#define BEFORE		24
#define AFTER		72

FIXTURE(layout)
{
	uint8_t			*text;	/* two pages; the function is in the second */
	uint8_t			*entry;
	uint8_t			*table;	/* two pages; it begins in the first's end */
	uint8_t			*table_pages;
	void			*page;
	struct unwind_region	region;
	struct unwind_perf	perf;
	struct unwind_record	record;
};

FIXTURE_VARIANT(layout)
{
	unsigned int	flags;
};

FIXTURE_VARIANT_ADD(layout, deferred) {
	.flags = 0,
};

FIXTURE_VARIANT_ADD(layout, at_once) {
	.flags = UNWIND_AT_ONCE,
};

typedef FIXTURE_DATA(layout) layout_data;

static void *map(void *at, size_t pages)
{
	return mmap(at, pages * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

/* Write a function with this frame size to the text, whose pages are writable. */
static bool make_text(layout_data *self, unsigned int frame)
{
	if (mprotect(self->text, 2 * PAGE, PROT_READ | PROT_WRITE))
		return false;
	layout_write_text(self->entry, frame);
	return !mprotect(self->text, 2 * PAGE, PROT_READ | PROT_EXEC);
}

static bool add(layout_data *self, unsigned int frame)
{
	layout_write_table(self->table, self->entry, frame);
	return !prctl(UNWIND_PR_ADD_SFRAME, &self->region, sizeof(self->region), 0, 0);
}

static bool is_gone(layout_data *self)
{
	return prctl(UNWIND_PR_REMOVE_SFRAME, &self->region, sizeof(self->region), 0, 0) &&
	       errno == ENOENT;
}

FIXTURE_SETUP(layout)
{
	uint8_t *area;

	NEED_UNWIND();
	/* Reserve the area, so that no other mapping gets into holes that the tests make. */
	area = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, area);
	self->text = map(area + PAGE, 2);
	self->table_pages = map(area + 5 * PAGE, 2);
	self->page = map(area + 9 * PAGE, 1);
	ASSERT_NE(MAP_FAILED, self->page);
	/* The function is in the second page, the region from the first on. */
	self->entry = self->text + PAGE;
	self->table = self->table_pages + PAGE - 16;
	self->region = layout_region(self->table, self->entry);
	self->region.text_start = (uintptr_t)self->text;
	self->region.text_size = PAGE + LAYOUT_TEXT_SIZE;
	ASSERT_TRUE(make_text(self, BEFORE));
	ASSERT_TRUE(add(self, BEFORE));
	ASSERT_EQ(0, open_faults(&self->perf, variant->flags));
}

FIXTURE_TEARDOWN(layout)
{
}

static keep uint64_t call_layout(layout_data *self)
{
	((layout_function *)self->entry)(self->page);
	asm volatile("" ::: "memory");
	return chain_return_address();
}

/* Take the user stack of the fault, from a sample or a record. */
static bool take(layout_data *self)
{
	uint64_t ip = (uintptr_t)self->entry + LAYOUT_FAULT;

	while (unwind_perf_next(&self->perf, &self->record))
		if (unwind_user_part(&self->record) && self->record.ips[0] == ip)
			return true;
	return false;
}

/*
 * Call the function, and check that the stack continues in its callers.  Call it twice,
 * as the first immediate walk may find files that are not known yet.
 */
static keep bool is_exact(layout_data *self)
{
	const struct unwind_record *record = &self->record;
	bool exact = false;

	for (volatile int i = 0; i < 2; i++) {
		uint64_t caller;

		madvise(self->page, PAGE, MADV_DONTNEED);
		unwind_perf_drain(&self->perf);
		caller = call_layout(self);
		if (!take(self))
			return false;
		exact = record->nr > 2 && record->ips[1] > (uintptr_t)call_layout &&
			record->ips[1] < (uintptr_t)call_layout + 128 &&
			record->ips[2] == caller;
	}
	return exact;
}

/* Ways to remove the old function; each leaves writable memory. */
typedef bool replace_function(layout_data *self);

static bool text_unmapped(layout_data *self)
{
	return !munmap(self->text, 2 * PAGE) && map(self->text, 2) == self->text;
}

static bool text_partly_unmapped(layout_data *self)
{
	return !munmap(self->entry, PAGE) && map(self->entry, 1) == self->entry;
}

/* Unmap text beside the function, which the table covers as well. */
static bool text_unmapped_beside(layout_data *self)
{
	return !munmap(self->text, PAGE) && map(self->text, 1) == self->text;
}

static bool text_mapped_over(layout_data *self)
{
	return map(self->entry, 1) == self->entry;
}

static bool text_moved_away(layout_data *self)
{
	uint8_t *to = self->text + 10 * PAGE;

	return mremap(self->text, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		      to) == to && map(self->text, 2) == self->text;
}

static bool text_moved_over(layout_data *self)
{
	uint8_t *from = map(self->text + 10 * PAGE, 1);

	return mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, self->entry) ==
	       self->entry;
}

static bool text_shrunk(layout_data *self)
{
	return mremap(self->text, 2 * PAGE, PAGE, 0) == self->text &&
	       map(self->entry, 1) == self->entry;
}

static bool table_unmapped(layout_data *self)
{
	return !munmap(self->table_pages, 2 * PAGE) &&
	       map(self->table_pages, 2) == self->table_pages;
}

static bool table_removed(layout_data *self)
{
	return !prctl(UNWIND_PR_REMOVE_SFRAME, &self->region, sizeof(self->region), 0, 0);
}

/* Expect no table for a new function at first, and then the new table. */
static void expect_replaced(struct __test_metadata *_metadata, layout_data *self,
			    replace_function *replace)
{
	EXPECT_TRUE(is_exact(self));
	ASSERT_TRUE(replace(self));
	EXPECT_TRUE(is_gone(self));
	ASSERT_TRUE(make_text(self, AFTER));
	EXPECT_FALSE(is_exact(self));
	ASSERT_TRUE(add(self, AFTER));
	EXPECT_TRUE(is_exact(self));
}

TEST_F(layout, text_unmapped)
{
	expect_replaced(_metadata, self, text_unmapped);
}

TEST_F(layout, text_partly_unmapped)
{
	expect_replaced(_metadata, self, text_partly_unmapped);
}

TEST_F(layout, text_unmapped_beside)
{
	expect_replaced(_metadata, self, text_unmapped_beside);
}

TEST_F(layout, text_mapped_over)
{
	expect_replaced(_metadata, self, text_mapped_over);
}

TEST_F(layout, text_moved_away)
{
	expect_replaced(_metadata, self, text_moved_away);
}

TEST_F(layout, text_moved_over)
{
	expect_replaced(_metadata, self, text_moved_over);
}

TEST_F(layout, text_shrunk)
{
	expect_replaced(_metadata, self, text_shrunk);
}

/* The kernel has copied the table, so unmapping it must change nothing. */
TEST_F(layout, table_unmapped)
{
	EXPECT_TRUE(is_exact(self));
	ASSERT_TRUE(table_unmapped(self));
	EXPECT_TRUE(is_exact(self));
	EXPECT_FALSE(is_gone(self));
}

TEST_F(layout, table_removed)
{
	expect_replaced(_metadata, self, table_removed);
}

/* Enters @function with its argument @page, at the stack @stack without a return address. */
void enter_at_stack(void *page, const void *function, uint64_t *stack);
extern const char enter_at_stack_end[] __attribute__((visibility("hidden")));

asm(".pushsection .text\n"
	"	.type enter_at_stack, @function\n"
	"enter_at_stack:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset %rbx, -16\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	mov %rdx, %rsp\n"
	"	jmp *%rsi\n"
	"enter_at_stack_end:\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size enter_at_stack, . - enter_at_stack\n"
	"	.popsection\n");

/* A page of a stack, and what it is to contain once somebody has waited for it. */
struct held_page {
	layout_data	*self;
	int		fd;
	uint64_t	*page;
	uint64_t	word[PAGE / sizeof(uint64_t)];
};

/* Replace the table while somebody waits.  Returns NULL if everything went well. */
static void *replace_while_held(void *data)
{
	struct held_page *held = data;
	struct uffdio_copy copy = {
		.dst = (uintptr_t)held->page, .src = (uintptr_t)held->word, .len = PAGE,
	};
	struct uffd_msg message;
	bool done;

	done = read(held->fd, &message, sizeof(message)) == sizeof(message) &&
	       table_removed(held->self);
	/* A grace period, if the kernel can tell, and what waits for it */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	usleep(100000);
	done = done && add(held->self, AFTER);
	return ioctl(held->fd, UFFDIO_COPY, &copy) || !done ? held : NULL;
}

/*
 * The function seems to have called itself, and its first return address is not resident.  A
 * deferred walk waits for it, and then uses the table that the text has by then.  The function
 * itself returns past the smaller frame.
 */
TEST_F(layout, table_replaced_while_the_walk_waits)
{
	const uint64_t inside = (uintptr_t)self->entry + LAYOUT_FAULT + 3;
	static struct held_page held;
	pthread_t thread;
	void *failed;

	held.self = self;
	held.page = (uint64_t *)map(NULL, 2) + PAGE / sizeof(uint64_t);
	held.word[0] = inside;
	held.word[1 + BEFORE / 8] = (uintptr_t)enter_at_stack_end;
	held.word[1 + AFTER / 8] = (uintptr_t)chain_syscall_ip;
	held.fd = hold_faults(held.page);
	if (held.fd < 0)
		SKIP(return, "no userfaultfd");
	EXPECT_TRUE(is_exact(self));
	madvise(self->page, PAGE, MADV_DONTNEED);
	unwind_perf_drain(&self->perf);
	ASSERT_EQ(0, pthread_create(&thread, NULL, replace_while_held, &held));
	enter_at_stack(self->page, self->entry, held.page);
	ASSERT_EQ(0, pthread_join(thread, &failed));
	ASSERT_EQ(NULL, failed);
	ASSERT_TRUE(take(self));
	/* An immediate walk does not wait. */
	if (variant->flags & UNWIND_AT_ONCE)
		return;
	ASSERT_LT(2, self->record.nr);
	EXPECT_EQ(inside, self->record.ips[1]);
	EXPECT_EQ((uintptr_t)chain_syscall_ip, self->record.ips[2]);
}

/*
 * As a JIT compiler that reuses memory: unmap neither text nor table, but remove the
 * table.
 */
TEST_F(layout, rewritten_in_place)
{
	EXPECT_TRUE(is_exact(self));
	for (unsigned int frame = 8; frame <= LAYOUT_MAX_FRAME; frame += 8) {
		ASSERT_TRUE(table_removed(self));
		ASSERT_TRUE(make_text(self, frame));
		EXPECT_FALSE(is_exact(self)) TH_LOG("frame of %u bytes", frame);
		ASSERT_TRUE(add(self, frame));
		EXPECT_TRUE(is_exact(self)) TH_LOG("frame of %u bytes", frame);
	}
}

TEST_F(layout, protection_changes_nothing)
{
	EXPECT_TRUE(is_exact(self));
	ASSERT_EQ(0, mprotect(self->text, 2 * PAGE, PROT_NONE));
	ASSERT_EQ(0, mprotect(self->text, 2 * PAGE, PROT_READ | PROT_EXEC));
	EXPECT_TRUE(is_exact(self));
	ASSERT_EQ(0, mprotect(self->table_pages, 2 * PAGE, PROT_READ));
	EXPECT_TRUE(is_exact(self));
	EXPECT_FALSE(is_gone(self));
}

/* Replace both in a child, and check its own stack.  Returns 0 if it is right. */
static int replace_and_look(layout_data *self, unsigned int flags)
{
	unwind_perf_close(&self->perf);
	if (open_faults(&self->perf, flags))
		return 1;
	if (!text_mapped_over(self) || !make_text(self, AFTER))
		return 2;
	if (is_exact(self))
		return 3;
	if (!add(self, AFTER))
		return 4;
	return is_exact(self) ? 0 : 5;
}

TEST_F(layout, child_replaces_its_copy)
{
	int status;
	pid_t pid;

	EXPECT_TRUE(is_exact(self));
	pid = fork();
	if (!pid)
		_exit(replace_and_look(self, variant->flags));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(is_exact(self));
	EXPECT_FALSE(is_gone(self));
}

/* Runs in the memory of its parent, but not as its thread. */
static int replace_in_clone(void *data)
{
	layout_data *self = data;

	return !text_mapped_over(self) || !make_text(self, AFTER) || !add(self, AFTER);
}

static bool run_clone(layout_data *self, int flags)
{
	static char stack[65536] __attribute__((aligned(64)));
	int status;
	pid_t pid;

	pid = clone(replace_in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD | flags,
		    self);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

TEST_F(layout, clone_replaces_shared_memory)
{
	EXPECT_TRUE(is_exact(self));
	ASSERT_TRUE(run_clone(self, 0));
	EXPECT_TRUE(is_exact(self));
	EXPECT_FALSE(is_gone(self));
}

TEST_F(layout, vfork_replaces_shared_memory)
{
	EXPECT_TRUE(is_exact(self));
	ASSERT_TRUE(run_clone(self, CLONE_VFORK));
	EXPECT_TRUE(is_exact(self));
	EXPECT_FALSE(is_gone(self));
}

/* Cause walks in a loop until another thread's exit or exec ends it. */
static void *walked_without_end(void *data)
{
	static struct chain chain;
	layout_data *self = data;

	pthread_barrier_wait(self->page);
	if (!chain_init(&chain, 0))
		_exit(97);
	for (;;) {
		chain.returns_nr = 0;
		chain_run(&chain, 60);
	}
	return NULL;
}

/* In a child, call @end while the stacks of its other threads are walked. */
static void end_while_walked(layout_data *self, void (*end)(void))
{
	pthread_barrier_t barrier;
	pthread_t thread;

	self->page = &barrier;
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, walked_without_end, self))
		_exit(99);
	pthread_barrier_wait(&barrier);
	/* Repeat until the thread is likely to be in the middle of a walk. */
	for (int i = 0; i < 20; i++)
		sched_yield();
	end();
	_exit(98);
}

static void end_by_exit(void)
{
	syscall(SYS_exit_group, 7);
}

static void end_by_exec(void)
{
	char name[] = "true";
	char * const arguments[] = { name, NULL };

	execv("/bin/true", arguments);
}

static int status_of_end(layout_data *self, void (*end)(void))
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		end_while_walked(self, end);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
	       WEXITSTATUS(status) : -1;
}

#define ENDS 20

/* Sample all tasks on all CPUs, with immediate or deferred walks. */
static int watch_cpus(struct unwind_perf *perfs, unsigned int flags)
{
	struct unwind_event event = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
		.flags = flags, .pid = -1,
	};
	int error = 0;

	for (; event.cpu < 2 && !error; event.cpu++)
		error = unwind_perf_open_event(&perfs[event.cpu], &event);
	return error;
}

TEST_F(layout, exit_group_while_another_thread_is_walked)
{
	struct unwind_perf perfs[2];

	ASSERT_EQ(0, watch_cpus(perfs, variant->flags));
	for (int i = 0; i < ENDS; i++)
		EXPECT_EQ(7, status_of_end(self, end_by_exit));
}

TEST_F(layout, exec_while_another_thread_is_walked)
{
	struct unwind_perf perfs[2];

	ASSERT_EQ(0, watch_cpus(perfs, variant->flags));
	for (int i = 0; i < ENDS; i++)
		EXPECT_EQ(0, status_of_end(self, end_by_exec));
}

TEST_HARNESS_MAIN
