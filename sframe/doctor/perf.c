// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: checks the kernel's limits of perf, and what the installed perf can do. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_regular.h"
#include "doctor/command.h"
#include "doctor/kernel.h"
#include "doctor/perf.h"
#include "doctor/tell.h"

/* The kernel's default, which is too small for interpreters and compilers */
#define FEW_FRAMES	127
/* The name of the record in all versions of perf that know deferred stacks */
#define DEFERRED	"CALLCHAIN_DEFERRED"
/* perf is no larger, even with all that it can be linked with. */
#define MAX_PERF	(256 << 20)
#define BLOCK		65536

static bool read_number(const char *name, int *value)
{
	FILE *file = kernel_open(name);
	bool found = file && fscanf(file, "%d", value) == 1;

	if (file)
		fclose(file);
	return found;
}

static void check_max_stack(void)
{
	int frames;

	if (!read_number("/proc/sys/kernel/perf_event_max_stack", &frames))
		return;
	if (frames > FEW_FRAMES)
		tell(WELL, "perf", NULL, "a stack has up to %d frames", frames);
	else
		tell(NOTE, "perf",
		     COMMAND("raise it while no profiler runs",
			     "sysctl kernel.perf_event_max_stack=1024"),
		     "a stack has up to %d frames, and those of Java, Ruby and compilers are often cut off",
		     frames);
}

/* Without Debian's patch, 3 is as 2. */
static void check_paranoid(void)
{
	static const char * const allowed[] = {
		"all users may record all processes and the kernel",
		"users may record their own processes, with the kernel",
		"users may record their own processes, without the kernel",
		"with Debian's patch, only root may record",
	};
	int level;

	if (!read_number("/proc/sys/kernel/perf_event_paranoid", &level))
		return;
	tell(level > 2 && geteuid() ? NOTE : WELL, "perf", NULL,
	     "kernel.perf_event_paranoid is %d: %s", level,
	     allowed[level < 0 ? 0 : level > 3 ? 3 : level]);
}

/* Whether an open file contains @text.  It is read, not mapped: it may shrink meanwhile. */
static bool contains(int fd, const char *text)
{
	static char block[BLOCK];
	size_t len = strlen(text), kept = 0;
	ssize_t got;

	for (size_t all = 0; all < MAX_PERF; all += got) {
		got = read(fd, block + kept, sizeof(block) - kept);
		if (got <= 0)
			return false;
		if (memmem(block, kept + got, text, len))
			return true;
		/* The text may go on in the next block. */
		kept += got;
		if (kept >= len) {
			memmove(block, block + kept - (len - 1), len - 1);
			kept = len - 1;
		}
	}
	return false;
}

static void tell_deferred(int fd, const char *name)
{
	char magic[SELFMAG];

	/* A script may choose among several. */
	if (pread(fd, magic, SELFMAG, 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG))
		return;
	if (contains(fd, DEFERRED))
		tell(WELL, "perf", NULL, "%s knows deferred stacks (--call-graph fp,defer)", name);
	else
		tell(NOTE, "perf", ADVISE("install the perf of Linux 7.0 or later"),
		     "%s knows no deferred stacks, so a program's first ones may be short", name);
}

static void check_perf(void)
{
	char *name = command_find("perf");
	struct stat st;
	int fd = name ? open_regular(name, 0, &st) : -1;

	if (fd >= 0) {
		tell_deferred(fd, name);
		close(fd);
	}
	free(name);
}

/**
 * perf_check() - check what limits the stacks that perf shows
 */
void perf_check(void)
{
	check_max_stack();
	check_paranoid();
	check_perf();
}
