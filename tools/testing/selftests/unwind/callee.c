// SPDX-License-Identifier: GPL-2.0
/* A shared object with a table, for prctl_sframe.c; calls itself through its PLT. */
#include "chain.h"

int callee_middle(struct chain *chain, unsigned int depth);

keep int callee_middle(struct chain *chain, unsigned int depth)
{
	int result;

	chain->returns[chain->returns_nr++] = chain_return_address();
	result = chain_run(chain, depth);
	return result + 1;
}

keep int callee(struct chain *chain, unsigned int depth)
{
	int result;

	chain->returns[chain->returns_nr++] = chain_return_address();
	result = callee_middle(chain, depth);
	return result + 2;
}
