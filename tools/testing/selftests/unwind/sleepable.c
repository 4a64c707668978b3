// SPDX-License-Identifier: GPL-2.0
/*
 * Test bpf_get_stack() in a program that may fault.  It must read stack pages that are
 * not resident, where a program that may not fault has to stop.  So has an iterator over the
 * mappings: a page fault would wait for the mmap_lock that it holds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "unwind_test.h"
#include "sleepable.skel.h"

#define PAGE	4096ul
#define STACK	(1ul << 20)

/* Offset of @address in the program's file, or 0 if it is not there. */
static uint64_t file_offset(uint64_t address)
{
	FILE *file = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset, found = 0;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    address >= start && address < end)
			found = address - start + offset;
	}
	if (file)
		fclose(file);
	return found;
}

FIXTURE(probe)
{
	struct sleepable_bpf *skel;
	struct chain chain;
};

FIXTURE_VARIANT(probe)
{
	bool may_fault;
	bool iterates;
};

FIXTURE_VARIANT_ADD(probe, sleepable) { .may_fault = true };
FIXTURE_VARIANT_ADD(probe, not_sleepable) { .may_fault = false };
FIXTURE_VARIANT_ADD(probe, iterator) { .iterates = true };

FIXTURE_SETUP(probe)
{
	const char *missing = unwind_perf_missing();
	struct bpf_program *program;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_TRUE(chain_init(&self->chain, 0));
	self->chain.last = main_return;
	self->skel = sleepable_bpf__open();
	ASSERT_NE(NULL, self->skel);
	self->skel->rodata->tgid = getpid();
	if (variant->iterates) {
		bpf_program__set_autoload(self->skel->progs.iterates, true);
		ASSERT_EQ(0, sleepable_bpf__load(self->skel));
		self->skel->links.iterates =
			bpf_program__attach_iter(self->skel->progs.iterates, NULL);
		ASSERT_NE(NULL, self->skel->links.iterates);
		return;
	}
	program = variant->may_fault ? self->skel->progs.faultable : self->skel->progs.at_once;
	bpf_program__set_autoload(program, true);
	ASSERT_EQ(0, sleepable_bpf__load(self->skel));
	self->skel->links.faultable =
		bpf_program__attach_uprobe(program, false, getpid(), "/proc/self/exe",
					   file_offset((uint64_t)chain_fault_ip));
	ASSERT_NE(NULL, self->skel->links.faultable);
}

FIXTURE_TEARDOWN(probe)
{
	sleepable_bpf__destroy(self->skel);
}

/* Let the iterator run, which takes the stack of its reader. */
static bool iterate(struct sleepable_bpf *skel)
{
	int iter = bpf_iter_create(bpf_link__fd(skel->links.iterates));
	char byte;

	skel->bss->runs = 0;
	/* From a function with a table, which that of the C library may lack */
	chain_syscall(SYS_read, iter, (long)&byte, 1);
	return !close(iter);
}

/* Let the program take the stack at the end of a chain of @depth frames. */
static bool take(struct sleepable_bpf *skel, struct chain *chain, unsigned int depth,
		 struct unwind_record *record)
{
	uint64_t runs = skel->bss->runs;

	if (skel->links.iterates) {
		runs = 0;
		if (!iterate(skel))
			return false;
	} else {
		chain_run(chain, depth);
	}
	if (skel->bss->runs != runs + 1 || skel->bss->bytes < 0)
		return false;
	record->nr = skel->bss->bytes / sizeof(uint64_t);
	memcpy(record->ips, skel->bss->ips, skel->bss->bytes);
	return true;
}

static bool has(const struct unwind_record *record, uint64_t ip)
{
	for (unsigned int i = 0; i < record->nr; i++) {
		if (record->ips[i] == ip)
			return true;
	}
	return false;
}

/* Not a constant, so that the loop is not unrolled and its call has one return address. */
static volatile unsigned int rounds = 3;

/* Parameters of a thread with its own stack, and its result. */
struct far_stack {
	struct sleepable_bpf	*skel;
	struct chain		*chain;
	uint64_t		caller;
	bool			taken;
	bool			has_caller;
};

/* Called two pages further down: drop the page with the return address of the caller. */
static keep bool take_below(struct far_stack *far, void *page)
{
	static struct unwind_record record;
	char gap[2 * PAGE];

	memset(gap, 0, sizeof(gap));
	asm volatile("" :: "r"(gap) : "memory");
	/* The file still has the contents of the page. */
	if (madvise(page, PAGE, MADV_DONTNEED) ||
	    !take(far->skel, far->chain, 5, &record))
		return false;
	far->has_caller = has(&record, far->caller);
	return true;
}

static keep void *far_thread(void *data)
{
	/* The return address is above the frame pointer. */
	uintptr_t at = (uintptr_t)__builtin_frame_address(0) + sizeof(uint64_t);
	struct far_stack *far = data;

	far->caller = chain_return_address();
	far->taken = take_below(far, (void *)(at & -PAGE));
	return NULL;
}

/* Map a file as stack, whose pages can be dropped without losing their contents. */
static void *map_stack(size_t size)
{
	int file = memfd_create("stack", 0);
	void *stack = MAP_FAILED;

	if (file >= 0 && !ftruncate(file, size))
		stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return stack;
}

/* The faulting program must read the page; the other one must stop there. */
TEST_F(probe, stack_that_is_not_mapped)
{
	struct far_stack far = { .skel = self->skel, .chain = &self->chain };
	pthread_attr_t attr;
	pthread_t thread;
	void *stack = map_stack(STACK);

	ASSERT_NE(MAP_FAILED, stack);
	ASSERT_EQ(0, pthread_attr_init(&attr));
	ASSERT_EQ(0, pthread_attr_setstack(&attr, stack, STACK));
	for (unsigned int i = 0; i < rounds; i++) {
		ASSERT_EQ(0, pthread_create(&thread, &attr, far_thread, &far));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		ASSERT_TRUE(far.taken);
		/* In the first round, tables may not be known yet. */
		if (i)
			EXPECT_EQ(variant->may_fault, far.has_caller);
	}
	munmap(stack, STACK);
}

/* If all pages are resident, all programs must find the whole stack. */
TEST_F(probe, stack_that_is_mapped)
{
	static struct unwind_record record;

	for (unsigned int i = 0; i <= rounds; i++) {
		ASSERT_TRUE(take(self->skel, &self->chain, 20, &record));
		if (i < rounds)
			continue;
		EXPECT_TRUE(variant->iterates ? has(&record, main_return) :
						chain_matches(&self->chain, &record));
	}
}

TEST_HARNESS_MAIN
