// SPDX-License-Identifier: GPL-2.0
/* Code that keeps a frame pointer and has no table, amid code that has one. */
#include "between.h"

int between(int (*call)(struct chain *chain), struct chain *chain, uint64_t *returns_to)
{
	*returns_to = (uint64_t)(uintptr_t)__builtin_return_address(0);
	return call(chain) + 1;
}
