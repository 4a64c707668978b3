// SPDX-License-Identifier: GPL-2.0
/* The shared object of the program that single_step.c steps through. */
#include "step.h"

keep int step_lib_leaf(int a)
{
	return a * 5 + 1;
}

keep int step_lib_deep(int a, int b)
{
	volatile char buffer[600];
	int sum = 0;

	for (int i = 0; i < 4; i++)
		buffer[i * 99] = a + i;
	for (int i = 0; i < 4; i++)
		sum += step_lib_leaf(buffer[i * 99] + b);
	return sum;
}

keep int step_lib_call_back(step_function *function, int a)
{
	int first = function(a);

	return first + function(a + 1) + step_lib_deep(a, first);
}
