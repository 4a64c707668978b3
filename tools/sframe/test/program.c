// SPDX-License-Identifier: GPL-2.0
/* A program with the frames that compilers make; run.sh builds it many ways. */
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not static, so that nobody may assume what it holds. */
int sink;

static int leaf(int x)
{
	return x * 3 + sink;
}

static int saves_registers(int a, int b, int c)
{
	int x = leaf(a), y = leaf(b), z = leaf(c);

	return x * leaf(y) + y * leaf(z) + z * leaf(x);
}

static int large_frame(int n)
{
	char room[40000];

	memset(room, n, sizeof(room));
	sink = room[n];
	return leaf(sink);
}

static int variable_frame(int n)
{
	char *room = alloca(n);

	memset(room, 1, n);
	return room[n / 2] + leaf(n);
}

static int aligned_frame(int n)
{
	_Alignas(32) double room[32];
	char *more = alloca(n);

	memset(room, n, sizeof(room));
	memset(more, n, n);
	sink = ((char *)room)[n % 64] + more[0];
	return leaf(sink);
}

static int early_return(int n)
{
	if (n > 100)
		return leaf(n);
	if (n > 50)
		abort();
	return saves_registers(n, n + 1, n + 2);
}

static void handler(int signal)
{
	sink = signal;
}

/* Called through it, all of them stay functions of their own. */
int (*table[])(int) = {
	leaf, large_frame, variable_frame, aligned_frame, early_return, NULL,
};

int main(int argc, char **argv)
{
	int sum = 0;

	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	for (unsigned int i = 0; table[i]; i++)
		sum += table[i](argc * 20);
	printf("%d %zu %s\n", sum, strlen(argv[0]), getenv("HOME"));
	return 0;
}
