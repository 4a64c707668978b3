// SPDX-License-Identifier: GPL-2.0
/*
 * Sets of constants: the addresses that a register may have where ways meet, so that an indirect
 * jump has targets.  States name a set by its index, so equal sets have one.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "code/constants.h"

#define MAX_SETS	65536

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

static int compare_sets(const void *a, const void *b)
{
	const struct constants *first = a, *second = b;

	if (first->count != second->count)
		return first->count < second->count ? -1 : 1;
	return memcmp(first->at, second->at, first->count * sizeof(first->at[0]));
}

/**
 * constants_find() - find a set, or add it
 * @sets:	All sets.
 * @constants:	The set; its index is set.
 *
 * Return: whether @sets has it; false if there are too many.
 */
bool constants_find(struct constant_sets *sets, struct constants *constants)
{
	struct constants **known = tfind(constants, &sets->tree, compare_sets), *added;

	if (known) {
		constants->index = (*known)->index;
		return true;
	}
	if (sets->num_sets == MAX_SETS)
		return false;
	constants->index = sets->num_sets;
	added = require_memory(malloc(sizeof(*added)));
	*added = *constants;
	require_memory(tsearch(added, &sets->tree, compare_sets));
	sets->sets = grow(sets->sets, &sets->room_sets, sets->num_sets, sizeof(*sets->sets));
	sets->sets[sets->num_sets++] = added;
	return true;
}

/**
 * constants_free() - free all sets
 * @sets:	They.
 */
void constants_free(struct constant_sets *sets)
{
	tdestroy(sets->tree, free);
	free(sets->sets);
}
