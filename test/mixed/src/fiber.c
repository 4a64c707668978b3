// SPDX-License-Identifier: GPL-2.0
/* A function that runs on a fiber of Boost.Context's and goes back to main() after each round. */
#include <stdlib.h>
#include "rounds.h"

struct transfer {
	void *from;
	void *data;
};

struct transfer jump_fcontext(void *to, void *data);
void *make_fcontext(void *stack, size_t size, void (*f)(struct transfer));

static KEEP void tick(void)
{
	sink++;
}

static KEEP void work(int depth)
{
	if (depth)
		work(depth - 1);
	else
		for (int i = 0; i < 50000; i++)
			tick();
	sink++;
}

static KEEP void fiber_entry(struct transfer other)
{
	for (;;) {
		work(10);
		other = jump_fcontext(other.from, NULL);
	}
}

int main(void)
{
	const size_t size = 64 << 10;
	char *stack = malloc(size);
	struct transfer fiber = { make_fcontext(stack + size, size, fiber_entry), NULL };

	for (;;) {
		fiber = jump_fcontext(fiber.from, NULL);
		round_done();
	}
}
