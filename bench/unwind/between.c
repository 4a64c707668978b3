// SPDX-License-Identifier: GPL-2.0
/* The library of cost.c that is between its frames. */

double between(double (*down)(int, volatile char *), int depth, volatile char *above)
{
	volatile double cost = down(depth, above);

	return cost;
}
