/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_IMPORTS_H
#define _SFRAME_CODE_IMPORTS_H

#include "cfi/object.h"

/**
 * struct import - a function that the dynamic linker finds by its name
 * @pointer:	Address of the pointer to it.
 * @target:	The function in this object that has the name; 0 if it is one that never returns.
 */
struct import {
	u64	pointer;
	u64	target;
};

/**
 * struct imports - all of an object
 * @at:		They, sorted by pointer.
 * @count:	Their number.
 * @room:	How many @at has room for.
 */
struct imports {
	struct import	*at;
	size_t		count;
	size_t		room;
};

void imports_add(struct imports *imports, const struct object *obj);
const struct import *imports_find(const struct imports *imports, u64 pointer);
void imports_free(struct imports *imports);

#endif /* _SFRAME_CODE_IMPORTS_H */
