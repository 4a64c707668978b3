// SPDX-License-Identifier: GPL-2.0
/* Computes for ever, ten calls deep; linked statically. */
static volatile unsigned int sum;

__attribute__((noipa)) static void down(unsigned int depth)
{
	for (unsigned int i = 0; !depth && i < 100000; i++)
		sum += i;
	if (depth)
		down(depth - 1);
	sum++;
}

int main(void)
{
	for (;;)
		down(10);
}
