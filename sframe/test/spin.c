// SPDX-License-Identifier: GPL-2.0
/*
 * Uses CPU time, ten calls deep.
 *
 * usage: spin SECONDS
 */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

/* Neither inlined nor a tail call: a stack has to show each frame. */
__attribute__((noinline)) static void burn(int depth)
{
	if (depth)
		burn(depth - 1);
	for (int i = 0; i < 1000; i++)
		sink += i;
	asm volatile("");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	while (clock() < atof(argv[1]) * CLOCKS_PER_SEC)
		burn(10);
	return 0;
}
