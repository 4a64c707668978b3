// SPDX-License-Identifier: GPL-2.0
/* The parent waits in vfork(), four calls below main(), while the child sleeps. */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <time.h>
#include "rounds.h"

static KEEP void start_child(void)
{
	struct timespec nap = { 0, 5000000 };
	pid_t pid = vfork();
	int status;

	if (!pid) {
		nanosleep(&nap, NULL);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	sink++;
}

static KEEP void level_two(void)
{
	start_child();
	sink++;
}

static KEEP void level_one(void)
{
	level_two();
	sink++;
}

int main(void)
{
	for (;;) {
		level_one();
		round_done();
	}
}
