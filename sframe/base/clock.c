// SPDX-License-Identifier: GPL-2.0
/* Measures how long a run takes. */
#include <time.h>

#include "base/clock.h"

/**
 * clock_seconds() - read a clock that never goes back
 *
 * Return: the seconds since some time before the program started.
 */
double clock_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}
