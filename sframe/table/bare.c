// SPDX-License-Identifier: GPL-2.0
/* Decides what to do with objects without unwind information. */
#include <stdlib.h>

#include "cfi/text.h"
#include "code/add.h"
#include "table/bare.h"
#include "table/uncovered.h"

/**
 * bare_judge() - decide what an object without unwind information can have
 * @obj:	The object.
 *
 * Code with frame pointers needs no table, and following some of it is not possible: Go's functions
 * go on in other stacks.
 *
 * Return: what it can have; BARE_FOLLOWED also if following its code will yield nothing.
 */
enum bare bare_judge(const struct object *obj)
{
	struct uncovered uncovered;

	uncovered_count(obj, NULL, &uncovered);
	if (uncovered_is_framed(&uncovered))
		return BARE_FRAMED;
	return text_size(obj) <= CODE_MAX ? BARE_FOLLOWED : BARE_NOTHING;
}

/**
 * bare_follow() - follow the code of an object without unwind information
 * @obj:	The object.
 * @cfi:	Filled in; the caller frees it.
 *
 * Return: what it can have.
 */
enum bare bare_follow(const struct object *obj, struct cfi *cfi)
{
	enum bare bare = bare_judge(obj);

	*cfi = (struct cfi){ };
	if (bare == BARE_FOLLOWED)
		code_add(obj, cfi);
	return bare == BARE_FOLLOWED && !cfi->num_functions ? BARE_NOTHING : bare;
}
