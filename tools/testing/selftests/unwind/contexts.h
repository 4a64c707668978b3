/* SPDX-License-Identifier: GPL-2.0 */
/* Choose the CPU of a test, and write to cgroups and other kernel interfaces. */
#ifndef _CONTEXTS_H
#define _CONTEXTS_H

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

static inline bool stay_on_cpu_0(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* Write @text to @file in the directory @path, of a cgroup or another kernel interface. */
static inline bool write_file(const char *path, const char *file, const char *text)
{
	char name[PATH_MAX];
	FILE *stream;
	bool done;

	snprintf(name, sizeof(name), "%s/%s", path, file);
	stream = fopen(name, "w");
	done = stream && fputs(text, stream) >= 0;
	return stream && !fclose(stream) && done;
}

#endif /* _CONTEXTS_H */
