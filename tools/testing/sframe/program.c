// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose functions have frames of all shapes.  Its tables test table.c, see
 * real.c, and sframe/test compares its .eh_frame with the tables that sframe makes.  It is
 * never run.
 *
 * COMPILED_ONLY leaves out the functions that no compiler writes, and the longest one.
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define keep __attribute__((noinline, noipa))

volatile int input = 3;
volatile char sink[16];

keep int leaf(int a)
{
	return a * 3 + input;
}

keep int pushes(int a, int b, int c, int d)
{
	int x = leaf(a), y = leaf(b), z = leaf(c), w = leaf(d);

	return leaf(x) + leaf(y + z) + x + y + z + w + a + b + c + d;
}

keep int big_frame(int a)
{
	char buffer[70000];

	memset(buffer, a, sizeof(buffer));
	return buffer[leaf(a) & 0xffff];
}

keep int middle_frame(int a)
{
	char buffer[3000];

	memset(buffer, a, sizeof(buffer));
	return buffer[leaf(a) & 0x3ff] + leaf(buffer[0]);
}

keep int dynamic_frame(int a)
{
	char *buffer = alloca(a + 16);

	memset(buffer, a, a + 16);
	return leaf(buffer[a]);
}

/* Realigns its stack by another register: no SFrame row can say that. */
keep int drap_frame(int a, ...)
{
	__attribute__((aligned(64))) char buffer[128];
	char *more = alloca(a);
	va_list args;

	va_start(args, a);
	a += va_arg(args, int);
	va_end(args);
	memset(buffer, a, sizeof(buffer));
	more[0] = buffer[3];
	return leaf(buffer[a & 127] + more[0]);
}

/* Keeps the CFA of its realigned stack in memory. */
keep int drap_in_memory(int a)
{
	__attribute__((aligned(32))) double buffer[32];
	char *more = alloca(a);

	memset(buffer, a, sizeof(buffer));
	memset(more, a, a);
	return leaf(((char *)buffer)[a & 63] + more[0]);
}

keep int variadic(int a, ...)
{
	va_list args;
	int sum = 0;

	va_start(args, a);
	while (a--)
		sum += leaf(va_arg(args, int));
	va_end(args);
	return sum;
}

keep int floating(double a, ...)
{
	va_list args;
	double sum = 0;

	va_start(args, a);
	while (a-- > 0)
		sum += va_arg(args, double);
	va_end(args);
	return sum;
}

keep int table(int a)
{
	switch (a) {
	case 0:
		return leaf(1);
	case 1:
		return leaf(a) + 7;
	case 2:
		puts("two");
		return 4;
	case 3:
		return pushes(a, 1, 2, 3);
	case 4:
		return variadic(2, a, a);
	case 5:
		return printf("%d\n", a);
	case 6:
		return middle_frame(a) + 1;
	case 7:
		abort();
	default:
		return a;
	}
}

keep int recursive(int a)
{
	if (a < 2)
		return a;
	return recursive(a - 1) + recursive(a - 2);
}

/* Long enough for rows whose starts take two bytes. */
static inline __attribute__((always_inline)) int line(int a, int n)
{
	return input == n ? leaf(a + n) * pushes(a, n, a, n) : a;
}

static inline __attribute__((always_inline)) int lines(int a, int n)
{
	a = line(a, n);
	a = line(a, n + 1);
	a = line(a, n + 2);
	a = line(a, n + 3);
	return line(a, n + 4);
}

keep int longer(int a)
{
	int b = input;

	if (b == 1000)
		return a;
	a = lines(a, 0);
	a = lines(a, 5);
	a = lines(a, 10);
	a = lines(a, 15);
	a = lines(a, 20);
	a = lines(a, 25);
	a = lines(a, 30);
	if (a == b)
		return dynamic_frame(a);
	a = lines(a, 35);
	a = lines(a, 40);
	a = lines(a, 45);
	a = lines(a, 50);
	return a + b;
}

#ifndef COMPILED_ONLY
/* And for starts of four bytes: more than 64 KiB of code. */
#define SPACE ".rept 30000\n\tnop\n\t.endr\n\tnopl 0x11223344(%rax)\n"
keep int longest(int a)
{
	if (input == 5)
		return pushes(a, a, a, a);
	asm volatile(SPACE SPACE SPACE);
	a += leaf(a);
	if (input == 6)
		return a;
	return pushes(a, 1, a, 2) + a;
}
#endif

static jmp_buf back;

keep void never(int a)
{
	if (a)
		longjmp(back, a);
	exit(leaf(a));
}

keep int calls_never(int a)
{
	if (setjmp(back))
		return 1;
	never(a);
	return 0;
}

#ifndef COMPILED_ONLY
/* An honest table's oddity: functions of no size, two with one start. */
asm(".pushsection .text\n"
	"empty_one:\n\t.cfi_startproc\n\t.cfi_endproc\n"
	"empty_two:\n\t.cfi_startproc\n\t.cfi_endproc\n"
	"\t.globl after_empty\n"
	"after_empty:\n\t.cfi_startproc\n"
	"\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %rbx, 0\n"
	"\tpop %rbx\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %rbx\n"
	"\tret\n\t.cfi_endproc\n\t.popsection\n");
int after_empty(void);

/* A first row that starts behind the function's first byte. */
asm(".pushsection .text\n"
	"\t.globl late_row\n"
	"late_row:\n\t.cfi_startproc simple\n"
	"\tnop\n\tnop\n"
	"\t.cfi_def_cfa %rsp, 8\n\t.cfi_offset %rip, -8\n"
	"\tnop\n\tret\n\t.cfi_endproc\n\t.popsection\n");
int late_row(void);

/* What only version 3 can say: binutils 2.44 leaves these out, or the mark away. */
asm(".pushsection .text\n"
	"\t.globl v3_rbx_cfa\n"
	"v3_rbx_cfa:\n\t.cfi_startproc\n"
	"\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n"
	"\tmov %rsp, %rbx\n\t.cfi_def_cfa_register %rbx\n"
	"\tand $-64, %rsp\n\tnop\n"
	"\tmov %rbx, %rsp\n\t.cfi_def_cfa_register %rsp\n"
	"\tpop %rbx\n\t.cfi_adjust_cfa_offset -8\n"
	"\tret\n\t.cfi_endproc\n"
	"\t.globl v3_outermost\n"
	"v3_outermost:\n\t.cfi_startproc\n\t.cfi_undefined %rip\n"
	"\tnop\n\tnop\n\t.cfi_endproc\n"
	"\t.globl v3_signal\n"
	"v3_signal:\n\t.cfi_startproc\n\t.cfi_signal_frame\n"
	"\tnop\n\tnop\n\t.cfi_endproc\n\t.popsection\n");
int v3_rbx_cfa(void);
int v3_outermost(void);
int v3_signal(void);
#endif

int main(int argc, char **argv)
{
	int sum = atoi(argv[0]);

	for (int i = 0; i < argc; i++)
		sum += table(i) + recursive(i) + longer(i);
	sum += big_frame(sum) + dynamic_frame(sum) + drap_frame(sum, sum);
	sum += drap_in_memory(sum);
	sum += floating(3.0, 1.0, 2.0, 3.0) + calls_never(sum);
#ifndef COMPILED_ONLY
	sum += longest(sum) + after_empty() + late_row();
	sum += v3_rbx_cfa() + v3_outermost() + v3_signal();
#endif
	/* A pointer to a function of a library, which makes .plt.got. */
	atexit((void (*)(void))&puts ? (void (*)(void))abort : NULL);
	abort();
	return sum;
}
