// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_get_stack() in a program that may fault: it reads tables that are not in memory,
 * where one that may not has to stop.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "unwind_test.h"
#include "sleepable.skel.h"

/* Where @address of this program is in its file; 0: nowhere. */
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
	struct unwind_region region;
	struct chain chain;
};

FIXTURE_VARIANT(probe)
{
	bool may_fault;
};

FIXTURE_VARIANT_ADD(probe, sleepable) { .may_fault = true };
FIXTURE_VARIANT_ADD(probe, not_sleepable) { .may_fault = false };

FIXTURE_SETUP(probe)
{
	const char *missing = unwind_perf_missing();
	struct bpf_program *program;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_TRUE(chain_init(&self->chain, 0));
	ASSERT_TRUE(unwind_find_region("", &self->region));
	self->chain.last = main_return;
	self->skel = sleepable_bpf__open();
	ASSERT_NE(NULL, self->skel);
	self->skel->rodata->tgid = getpid();
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

/* Its rows go with the table. */
static bool forget(const struct unwind_region *region)
{
	/* The first time there is none but the file's. */
	prctl(UNWIND_PR_REMOVE_SFRAME, region, sizeof(*region), 0, 0);
	return !prctl(UNWIND_PR_ADD_SFRAME, region, sizeof(*region), UNWIND_SFRAME_ADD_LAZY, 0) &&
	       unwind_forget_table(region);
}

/* What the program found at the end of a chain of @depth frames. */
static bool take(struct sleepable_bpf *skel, struct chain *chain, unsigned int depth,
		 struct unwind_record *record)
{
	uint64_t runs = skel->bss->runs;

	chain_run(chain, depth);
	if (skel->bss->runs != runs + 1 || skel->bss->bytes < 0)
		return false;
	record->nr = skel->bss->bytes / sizeof(uint64_t);
	memcpy(record->ips, skel->bss->ips, skel->bss->bytes);
	return true;
}

/* No constant, so that the loop has one call with one return address. */
static volatile unsigned int rounds = 3;

/* The first walk of the one is whole, that of the other ends where the table is needed. */
TEST_F(probe, table_that_is_not_in_memory)
{
	static struct unwind_record record;

	for (unsigned int i = 0; i < rounds; i++) {
		ASSERT_TRUE(forget(&self->region));
		ASSERT_TRUE(take(self->skel, &self->chain, 20, &record));
		EXPECT_EQ(variant->may_fault, chain_matches(&self->chain, &record));
		EXPECT_EQ(!variant->may_fault, record.nr == 1);
	}
}

/* Where all is in memory, both see all. */
TEST_F(probe, table_that_is_in_memory)
{
	static struct unwind_record record;

	for (unsigned int i = 0; i <= rounds; i++) {
		ASSERT_TRUE(take(self->skel, &self->chain, 20, &record));
		if (i < rounds)
			continue;
		EXPECT_TRUE(chain_matches(&self->chain, &record));
	}
}

TEST_HARNESS_MAIN
