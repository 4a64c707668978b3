// SPDX-License-Identifier: GPL-2.0
/*
 * A program with frame pointers and without a table: compat_target for i386, fp_target for
 * x86-64.  Prints the stack that the kernel should find at its page fault, or with an
 * argument the offset of down() in its file.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define keep __attribute__((noinline, noipa))
#define DEPTH 30

extern const char fault_ip[] __attribute__((visibility("hidden")));

static uintptr_t returns[DEPTH + 4];
static int returns_nr;

static void note(void *address)
{
	returns[returns_nr++] = (uintptr_t)address;
}

static keep int down(char *page, int depth)
{
	int result = depth;

	note(__builtin_return_address(0));
	if (depth)
		result = down(page, depth - 1);
	else
		asm volatile(".globl fault_ip\n"
			     "fault_ip:\n"
			     "	movb $1, (%0)"
			     : : "r"(page) : "memory");
	return (result ^ depth) * 3;
}

int main(int argc, char **argv)
{
	extern const char __executable_start[];

	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return 1;
	if (argc > 1) {
		printf("%lx\n", (unsigned long)((const char *)down - __executable_start));
		return 0;
	}
	note(__builtin_return_address(0));
	down(page, DEPTH);
	printf("%lx", (unsigned long)fault_ip);
	while (returns_nr)
		printf(" %lx", (unsigned long)returns[--returns_nr]);
	putchar('\n');
	return 0;
}
