// SPDX-License-Identifier: GPL-2.0
/* Calls getpgid() argv[1] times; one in ten asks for process 7. */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++)
		getpgid(i % 10);
	return 0;
}
