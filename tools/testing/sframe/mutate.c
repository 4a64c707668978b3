// SPDX-License-Identifier: GPL-2.0
/*
 * Random mutations of a real table: nothing may crash, and what is made of one says what the
 * mutated table says.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sframe_format.h"
#include "test.h"

#define MOST_BYTES	8
#define LOOKUPS		8
/* Bytes on both sides of the code */
#define AROUND		16

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

/* Some of the mutations hit the header, where each byte matters most. */
static size_t random_place(size_t len)
{
	if (!random_below(16))
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
	unsigned int	built;
	unsigned int	refused;
	unsigned int	rows;
	unsigned int	none;
	unsigned int	wrong;
};

static void look_up(const struct unwind_table *table, const struct unwind_table_source *source,
		    struct tally *tally)
{
	u64 size = source->text_end - source->text_start;

	for (int i = 0; i < LOOKUPS; i++) {
		u64 offset = random_below(size + 2 * AROUND) - AROUND;
		struct sframe_row row;

		*(unwind_table_find(table, offset, &row) ? &tally->none : &tally->rows) += 1;
		tally->wrong += test_compare(table, source, source->text_start + offset) ==
				TEST_DIFFERENT;
	}
}

static void try_table(const struct unwind_table_source *source, struct tally *tally)
{
	struct unwind_table *table = test_build(source, random_next());

	if (test_broken) {
		printf("# %s\n", test_broken);
		tally->wrong++;
	}
	if (IS_ERR(table)) {
		tally->refused++;
		return;
	}
	tally->built++;
	look_up(table, source, tally);
	unwind_table_free(table);
}

static void mutate(struct unwind_table_source *source, unsigned int rounds, struct tally *tally)
{
	const u8 *original = source->bytes;
	u8 *bytes = test_copy(original, source->len);

	source->bytes = bytes;
	for (unsigned int i = 0; i < rounds; i++) {
		size_t at[MOST_BYTES], nr = 1 + random_below(1 + random_below(MOST_BYTES));

		for (size_t j = 0; j < nr; j++) {
			at[j] = random_place(source->len);
			bytes[at[j]] = random_byte(bytes[at[j]]);
		}
		try_table(source, tally);
		for (size_t j = 0; j < nr; j++)
			bytes[at[j]] = original[at[j]];
	}
	free(bytes);
	source->bytes = original;
}

static void mutate_program(struct unwind_table_source *source, u8 version, u64 seed,
			   unsigned int rounds)
{
	struct tally tally = { };
	bool passed;

	random_state = seed;
	mutate(source, rounds, &tally);
	passed = !tally.wrong && tally.built && tally.refused && tally.rows && tally.none &&
		 !test_heap.used;
	test_result(passed,
		    "mutations_of_version_%u: seed %llu, %u tables, %u built, %u refused, %u rows, %u without a row, %u wrong",
		    version, (unsigned long long)seed, rounds, tally.built, tally.refused,
		    tally.rows, tally.none, tally.wrong);
}

void test_mutations(char **paths, unsigned int count, u64 seed, unsigned int rounds)
{
	bool seen[256] = { };

	for (unsigned int i = 0; i < count; i++) {
		struct unwind_table_source source;
		u8 version;

		if (!test_elf_read(paths[i], &source))
			continue;
		version = source.bytes[offsetof(struct sframe_preamble, version)];
		if (!seen[version])
			mutate_program(&source, version, seed, rounds);
		seen[version] = true;
		free((void *)source.bytes);
	}
}
