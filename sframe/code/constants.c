// SPDX-License-Identifier: GPL-2.0
/*
 * Sets of constants: the addresses that a register may have where ways meet, so that an indirect
 * jump has targets.  States name a set by its index, so equal sets have one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "code/constants.h"

#define MAX_SETS	65536
#define FIRST_HASH	256
#define NONE		UINT32_MAX

/**
 * constants_join() - add values to a set
 * @constants:	The set.
 * @other:	The values to add.
 *
 * Return: whether @constants now has all; false if they are too many.
 */
bool constants_join(struct constants *constants, const struct constants *other)
{
	struct constants both = { };
	u32 a = 0, b = 0;

	while (a < constants->count || b < other->count) {
		bool first = b == other->count ||
			     (a < constants->count && constants->at[a] <= other->at[b]);
		s64 value = first ? constants->at[a] : other->at[b];

		if (both.count == MAX_CONSTANTS)
			return false;
		both.at[both.count++] = value;
		a += a < constants->count && constants->at[a] == value;
		b += b < other->count && other->at[b] == value;
	}
	*constants = both;
	return true;
}

static u32 *find_slot(struct constant_sets *sets, const struct constants *constants)
{
	u64 hash = 0;

	for (u32 i = 0; i < constants->count; i++)
		hash = (hash ^ constants->at[i]) * 0x9e3779b97f4a7c15ULL;
	for (size_t at = hash >> 32;; at++) {
		u32 *slot = &sets->hash[at & (sets->hash_size - 1)];

		if (*slot == NONE ||
		    !memcmp(&sets->sets[*slot], constants, sizeof(*constants)))
			return slot;
	}
}

static void grow_hash(struct constant_sets *sets)
{
	sets->hash_size = sets->hash_size ? 2 * sets->hash_size : FIRST_HASH;
	free(sets->hash);
	sets->hash = require_memory(calloc(sets->hash_size, sizeof(*sets->hash)));
	memset(sets->hash, 0xff, sets->hash_size * sizeof(*sets->hash));
	for (u32 i = 0; i < sets->num_sets; i++)
		*find_slot(sets, &sets->sets[i]) = i;
}

/**
 * constants_find() - find a set, or add it
 * @sets:	All sets.
 * @constants:	The set.
 * @index:	Set to its index.
 *
 * Return: whether @sets has it; false if there are too many.
 */
bool constants_find(struct constant_sets *sets, const struct constants *constants, u32 *index)
{
	u32 *slot;

	if (2 * sets->num_sets >= sets->hash_size)
		grow_hash(sets);
	slot = find_slot(sets, constants);
	if (*slot == NONE) {
		if (sets->num_sets == MAX_SETS)
			return false;
		sets->sets = grow(sets->sets, &sets->room_sets, sets->num_sets,
				  sizeof(*sets->sets));
		*slot = sets->num_sets;
		sets->sets[sets->num_sets++] = *constants;
	}
	*index = *slot;
	return true;
}

/**
 * constants_free() - free all sets
 * @sets:	They.
 */
void constants_free(struct constant_sets *sets)
{
	free(sets->sets);
	free(sets->hash);
}
