// SPDX-License-Identifier: GPL-2.0
/*
 * Test bcc's own class for a stack map.  clear_table_non_atomic() deletes the ids from 0
 * to the number of entries, in this order, and ignores the results.  That must empty the
 * map, however often its ids were reused before.
 */
#include <bcc/BPFTable.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <vector>

#include "stack_map_lib.h"

namespace {

const int rounds = 10;
unsigned int number, failed;

void result(bool passed, const char *map, const char *name)
{
	printf("%sok %u bcc_class.%s.%s\n", passed ? "" : "not ", ++number, map, name);
	failed += !passed;
}

/* The class keeps a reference to the descriptor. */
ebpf::TableDesc desc_of(const struct stacks &stacks)
{
	return ebpf::TableDesc("stacks", ebpf::FileDesc(dup(stacks.fd)),
			       BPF_MAP_TYPE_STACK_TRACE, sizeof(int),
			       MAP_DEPTH * sizeof(uint64_t), stacks.entries, 0);
}

/* Whether @id leads to the whole stack of @seed. */
bool is_stack(ebpf::BPFStackTable &table, int id, uint32_t seed)
{
	std::vector<uintptr_t> got = table.get_stack_addr(id);
	std::vector<uint64_t> want(stacks_depth(seed));

	stacks_fill(want.data(), seed, want.size());
	return got.size() == want.size() && std::equal(got.begin() + 1, got.end(), want.begin() + 1);
}

bool is_empty(const struct stacks &stacks)
{
	uint32_t key;

	return bpf_map_get_next_key(stacks.fd, nullptr, &key) == -ENOENT;
}

void fill_and_clear(const char *map, uint32_t entries)
{
	bool full = true, whole = true, cleared = true, stale = false;
	std::vector<int> before, ids;
	struct stacks stacks;
	uint32_t seed = 0;

	if (stacks_open(&stacks, entries, MAP_DEPTH, 0, 0)) {
		result(false, map, "open");
		return;
	}
	ebpf::TableDesc desc = desc_of(stacks);
	ebpf::BPFStackTable table(desc, false, false);
	for (int round = 0; round < rounds; round++) {
		ids.clear();
		for (uint32_t i = 0; i < entries; i++, seed++) {
			long id = stacks_take(&stacks, 0, seed, stacks_depth(seed),
					      BPF_F_USER_STACK);

			full &= id >= 0;
			/* The old table may give an id to another stack at once. */
			whole &= id < 0 || is_stack(table, id, seed);
			ids.push_back(id);
		}
		for (int id : before)
			stale |= id >= 0 && !table.get_stack_addr(id).empty();
		before = ids;
		table.clear_table_non_atomic();
		cleared &= is_empty(stacks);
		if (!full || !cleared)
			printf("# %s: round %d, %zu ids, %s\n", map, round,
			       size_t(std::count_if(ids.begin(), ids.end(),
						    [](int id) { return id >= 0; })),
			       is_empty(stacks) ? "empty" : "not empty");
	}
	result(cleared, map, "clear_leaves_nothing");
	result(full, map, "full_again_after_each_clear");
	result(whole, map, "addresses_of_an_id");
	result(!stale, map, "cleared_id_never_names_another");
	stacks_close(&stacks);
}

} /* namespace */

extern "C" __attribute__((noinline)) long take_here_for_bcc(struct stacks *stacks)
{
	long id = stacks_take_here(stacks, 0, BPF_F_USER_STACK);

	asm volatile("" : "+r"(id));
	return id;
}

static void symbols()
{
	std::vector<std::string> names;
	struct stacks stacks;

	if (stacks_open(&stacks, 64, MAP_DEPTH, 0, 0)) {
		result(false, "n64", "open");
		return;
	}
	ebpf::TableDesc desc = desc_of(stacks);
	ebpf::BPFStackTable table(desc, false, false);
	names = table.get_stack_symbol(take_here_for_bcc(&stacks), getpid());
	result(std::count(names.begin(), names.end(), "take_here_for_bcc") == 1 &&
	       std::count(names.begin(), names.end(), "main") == 1, "n64", "symbols_of_an_id");
	table.clear_table_non_atomic();
	result(is_empty(stacks), "n64", "clear_of_a_map_that_is_not_full");
	stacks_close(&stacks);
}

int main()
{
	setlinebuf(stdout);
	printf("TAP version 13\n");
	fill_and_clear("n1024", 1024);
	fill_and_clear("n1000", 1000);
	symbols();
	printf("1..%u\n# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:0 error:0\n", number,
	       number - failed, failed);
	return failed ? 1 : 0;
}
