/* SPDX-License-Identifier: GPL-2.0 */
/* Take CPUs offline and online, for tests. */
#ifndef __CPU_ONLINE_H
#define __CPU_ONLINE_H

#include <stdbool.h>
#include <stdio.h>

/* Switch a CPU off or on.  Returns false if that is not possible. */
static inline bool cpu_set_online(unsigned int cpu, bool online)
{
	char path[64];
	FILE *file;
	int put;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	file = fopen(path, "w");
	if (!file)
		return false;
	put = fputs(online ? "1" : "0", file);
	return fclose(file) == 0 && put >= 0;
}

#endif
