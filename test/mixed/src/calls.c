// SPDX-License-Identifier: GPL-2.0
/* Call the function that the argument names, directly, four calls below main(). */
#include <string.h>
#include "rounds.h"

#define CALL_IF_NAMED(leaf)             \
	do {                            \
		extern void leaf(void); \
		if (!strcmp(name, #leaf)) \
			leaf();         \
	} while (0)

/* GCC writes a row for it, but no change of the stack pointer. */
KEEP __attribute__((naked)) void leaf_naked(void)
{
	asm("push %rbx\n\tpush %r12\n\tmov $400000, %ecx\n"
	    "1:\tlea 1(%rax), %rax\n\tdec %ecx\n\tjnz 1b\n\t"
	    "pop %r12\n\tpop %rbx\n\tret");
}

static KEEP void direct_caller(const char *name)
{
	CALL_IF_NAMED(leaf_none);
	CALL_IF_NAMED(leaf_three);
	CALL_IF_NAMED(leaf_six);
	CALL_IF_NAMED(leaf_zero);
	CALL_IF_NAMED(leaf_zero_two);
	CALL_IF_NAMED(leaf_naked);
	sink++;
}

static KEEP void second(const char *name)
{
	direct_caller(name);
	sink++;
}

static KEEP void third(const char *name)
{
	second(name);
	sink++;
}

int main(int argc, char **argv)
{
	for (;;) {
		third(argv[argc - 1]);
		round_done();
	}
}
