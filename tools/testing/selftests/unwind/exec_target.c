// SPDX-License-Identifier: GPL-2.0
/*
 * Program that prctl_sframe.c executes.  Tries to remove the table that was registered
 * before exec, and exits with the error, or with 0 if the table was still there.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "unwind_perf.h"

int main(int argc, char **argv)
{
	struct unwind_region region = { };

	if (argc != 3)
		return 255;
	region.sframe_start = strtoull(argv[1], NULL, 0);
	region.sframe_size = strtoull(argv[2], NULL, 0);
	if (!prctl(UNWIND_PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0))
		return 0;
	return errno;
}
