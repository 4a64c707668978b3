// SPDX-License-Identifier: GPL-2.0
/* A chain of functions that always runs in the innermost one. */
#define keep __attribute__((noinline, noipa))

volatile unsigned long turns;

keep int spin(int n)
{
	for (int i = 0; i < 1000000; i++)
		turns += n;
	return n;
}

keep int inner(int n)
{
	return spin(n + 1) + 1;
}

keep int middle(int n)
{
	return inner(n + 1) + 1;
}

keep int outer(int n)
{
	return middle(n + 1) + 1;
}

int main(void)
{
	for (;;)
		turns += outer(1);
}
