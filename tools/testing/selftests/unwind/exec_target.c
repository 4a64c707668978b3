// SPDX-License-Identifier: GPL-2.0
/*
 * What prctl_sframe.c executes: tells by its exit status with which error the
 * table that was registered before exec can be removed; 0 when it is still there.
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
