// SPDX-License-Identifier: GPL-2.0
/* Random mutations of a real table: nothing may crash, and the budget holds. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/err.h>

#include "sframe_format.h"
#include "table.h"
#include "test.h"

#define MOST_BYTES 8

static u64 random_state;

/* splitmix64 */
static u64 random_next(void)
{
	u64 x = random_state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static u64 random_below(u64 limit)
{
	return random_next() % limit;
}

/* A third of the mutations hit the header, where each byte matters most. */
static size_t random_place(size_t len)
{
	if (!random_below(3))
		return 4 + random_below(sizeof(struct sframe_header) - 4);
	return random_below(len);
}

static u8 random_byte(u8 old)
{
	static const u8 edges[] = { 0, 1, 0x7f, 0x80, 0xff };

	switch (random_below(3)) {
	case 0:
		return old ^ 1 << random_below(8);
	case 1:
		return edges[random_below(ARRAY_SIZE(edges))];
	default:
		return random_next();
	}
}

struct tally {
	unsigned int	opened;
	unsigned int	rows;
	unsigned int	refused;
	unsigned int	built;
	unsigned int	wrong;
};

/* A table that can be made of it says the same. */
static void try_built(const struct test_elf *elf, const struct sframe_table *table,
		      struct tally *tally)
{
	struct unwind_table *built = test_build(elf);

	if (IS_ERR(built)) {
		tally->wrong += !test_known_error(PTR_ERR(built));
		return;
	}
	tally->built++;
	for (int i = 0; i < 4; i++) {
		u64 ip = elf->text_start + random_below(elf->text_end - elf->text_start);

		tally->wrong += test_compare_built(built, table, ip) == BUILT_DIFFERENT;
	}
	unwind_table_free(built);
}

static void try_table(const struct test_elf *elf, struct tally *tally)
{
	/* Small ones too: the end of the budget is a path of its own. */
	u32 budget = random_below(4) ? TEST_BUDGET : random_below(8);
	struct sframe_reader reader = test_reader(budget);
	u64 end = elf->sframe_start + elf->sframe_size;
	struct sframe_table table = { };
	bool lookups_kept = true;
	struct sframe_row row;
	int error;

	error = sframe_open(&reader, elf->sframe_start, end, &table);
	tally->wrong += !test_known_error(error) || error == -ENOENT;
	if (!error) {
		tally->opened++;
		table.text_start = elf->text_start;
		table.text_end = elf->text_end;
		for (int i = 0; i < 4; i++) {
			u64 ip = elf->text_start - 16 +
				 random_below(elf->text_end - elf->text_start + 32);

			reader = test_reader(budget);
			error = sframe_find_row(&reader, &table, ip, &row);
			lookups_kept &= test_budget_kept(&reader, budget);
			tally->wrong += !test_known_error(error);
			tally->rows += !error;
			tally->refused += error && error != -ENOENT &&
					  error != -ENODATA;
			tally->wrong += !error && !test_sound_row(&row);
		}
		try_built(elf, &table, tally);
	}
	tally->wrong += !lookups_kept;
}

void test_mutations(const char *path, u64 seed, unsigned int rounds)
{
	struct tally tally = { };
	struct test_elf elf;

	if (!test_elf_read(path, &elf))
		return;
	random_state = seed;
	test_memory_set(elf.sframe_start, elf.sframe, elf.sframe_size);
	for (unsigned int i = 0; i < rounds; i++) {
		size_t at[MOST_BYTES], nr = 1 + random_below(MOST_BYTES);

		for (size_t j = 0; j < nr; j++) {
			at[j] = random_place(elf.sframe_size);
			test_memory.bytes[at[j]] = random_byte(test_memory.bytes[at[j]]);
		}
		try_table(&elf, &tally);
		for (size_t j = 0; j < nr; j++)
			test_memory.bytes[at[j]] = elf.sframe[at[j]];
	}
	test_result(!tally.wrong && tally.opened && tally.rows && tally.refused && tally.built,
		    "mutations: seed %" PRIu64
		    ", %u tables, %u opened, %u rows, %u refused, %u built, %u wrong",
		    seed, rounds, tally.opened, tally.rows, tally.refused, tally.built,
		    tally.wrong);
	free(elf.sframe);
}
