// SPDX-License-Identifier: GPL-2.0
/*
 * Program that single_step.c steps through.  It has functions with prologues, bodies and
 * epilogues of all kinds, calls through the PLT and back, a signal handler, and a call
 * that does not return.  It registers the table of its shared object itself, and prints a
 * sum so that the compiler keeps all calls.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "step.h"
#include "unwind_perf.h"

volatile int input = 3;

keep int leaf(int a)
{
	return a * 3 + input;
}

keep int pushes(int a, int b, int c, int d, int e)
{
	int v = leaf(a), w = leaf(b), x = leaf(c), y = leaf(d), z = leaf(e);

	return leaf(v ^ w) + leaf(x + y) + z + v + w + a * b + c * d + e;
}

keep int big_frame(int a)
{
	volatile char buffer[9000];

	buffer[0] = a;
	buffer[8999] = a + 1;
	return leaf(buffer[0]) + leaf(buffer[8999]);
}

keep int dynamic_frame(int a)
{
	volatile char *buffer = alloca(a + 40);

	buffer[a] = a;
	buffer[0] = leaf(buffer[a]);
	return buffer[0] + leaf(a);
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

keep double floating(int a, ...)
{
	va_list args;
	double sum = 0;

	va_start(args, a);
	while (a--)
		sum += va_arg(args, double);
	va_end(args);
	return sum;
}

#ifdef STEP_REALIGNED
/* Realigns its stack by another register, which only version 3 of SFrame can describe. */
keep int realigned(int a, ...)
{
	__attribute__((aligned(64))) volatile char buffer[128];
	volatile char *more = alloca(a + 40);
	va_list args;

	va_start(args, a);
	a += va_arg(args, int);
	va_end(args);
	buffer[3] = a;
	more[0] = leaf(buffer[3]);
	return leaf(more[0] + buffer[3]);
}
#else
keep int realigned(int a, int b)
{
	return a + b;
}
#endif

keep int cases(int a)
{
	switch (a) {
	case 0:
		return leaf(1);
	case 1:
		return leaf(a) + 7;
	case 2:
		return big_frame(a);
	case 3:
		return pushes(a, 1, 2, 3, 4);
	case 4:
		return variadic(2, a, a);
	case 5:
		return dynamic_frame(a) + 1;
	case 6:
		return step_lib_leaf(a);
	case 7:
		return (int)floating(2, 1.5, 2.5);
	case 8:
		return step_lib_deep(a, a);
	case 9:
		return realigned(a, a);
	default:
		return a;
	}
}

keep int fibonacci(int a)
{
	if (a < 2)
		return a;
	return fibonacci(a - 1) + fibonacci(a - 2);
}

keep int deep(int a)
{
	int below;

	if (!a)
		return leaf(a);
	below = deep(a - 1);
	return (below ^ a) * 3;
}

/* Ends with a jump to a sibling, not with a call. */
keep int sibling(int a)
{
	return leaf(a + input);
}

/* Starts with an early exit, so that gcc moves the prologue after it. */
keep int wrapped(int a)
{
	int x, y;

	if (a < 0)
		return -1;
	x = leaf(a);
	y = leaf(x);
	return pushes(x, y, a, x, y) + x * y;
}

static volatile sig_atomic_t handled;

static keep void handler(int signal)
{
	handled += leaf(signal);
}

/* The signal arrives on the return from the system call, in this function. */
keep long interrupted(int signal)
{
	long result = SYS_kill;
	volatile int around[12];

	around[3] = signal;
	asm volatile("syscall"
		     : "+a"(result)
		     : "D"((long)getpid()), "S"((long)signal)
		     : "rcx", "r11", "memory");
	return result + leaf(around[3]);
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

static int from_lib(int a)
{
	return pushes(a, a, a, a, a);
}

static keep __attribute__((noreturn)) void die(int status)
{
	volatile int around[4];

	around[0] = leaf(status);
	exit(around[0] == 12345);
}

/* The call is the last instruction: its return address is the next function's. */
static keep __attribute__((noreturn)) void calls_die(int status)
{
	leaf(status);
	die(status);
}

int main(int argc, char **argv)
{
	int numbers[] = { 5, 2, 9, 1, 7 };
	struct sigaction action = { .sa_handler = handler };
	struct unwind_region region;
	int sum = 0;

	if (argc > 1 && unwind_find_region(argv[1], &region))
		sum += prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region), 0, 0);
	sigaction(SIGUSR1, &action, NULL);

	for (int i = 0; i < 10; i++)
		sum += cases(i);
	sum += fibonacci(12) + deep(60) + sibling(sum);
	sum += wrapped(sum) + wrapped(-sum) + wrapped(-1);
	sum += step_lib_call_back(from_lib, sum);
	qsort(numbers, 5, sizeof(int), compare);
	sum += interrupted(SIGUSR1) + handled;
	printf("# step_target: %d\n", sum + numbers[0]);
	fflush(stdout);
	calls_die(sum);
}
