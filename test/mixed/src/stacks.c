// SPDX-License-Identifier: GPL-2.0
/*
 * work() < request() < serve() < main(), with what the argument names between request() and
 * work(): a switch of stacks (up, upcfi, down, downcfi, both) or an unusual way to call.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "rounds.h"

#define REGION (1 << 20)

void run_on(void *stack, void (*f)(void));
void run_on_cfi(void *stack, void (*f)(void));
void pushed(void (*f)(void));
void hand(void);
void in_register(void);

/* Two below the stack of main(), one in its frame */
static char *lower, *upper, *inner;
static const char *what;
#define is(name) (!strcmp(what, name))

static KEEP void tick(void)
{
	sink++;
}

/* Not a leaf, so that it keeps a frame pointer. */
KEEP void work(void)
{
	for (int i = 0; i < 100000; i++)
		tick();
	sink++;
}

static KEEP void request(void)
{
	if (is("both"))
		run_on(inner, work);
	else if (is("up") || is("down"))
		run_on(is("up") ? upper : lower, work);
	else if (is("upcfi") || is("downcfi"))
		run_on_cfi(is("upcfi") ? upper : lower, work);
	else if (is("pushed"))
		pushed(work);
	else if (is("hand"))
		hand();
	else if (is("register"))
		in_register();
	else
		work();
	sink++;
}

static KEEP void serve(void)
{
	request();
	sink++;
}

int main(int argc, char **argv)
{
	char frame[1 << 16] __attribute__((aligned(64)));
	char *region = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	lower = region + REGION / 4;
	upper = region + REGION - 64;
	inner = frame + sizeof(frame) / 2;
	what = argv[argc - 1];
	for (;;) {
		if (is("up") || is("upcfi") || is("both"))
			run_on(region + REGION / 2, serve);
		else
			serve();
		round_done();
	}
}
