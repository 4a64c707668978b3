// SPDX-License-Identifier: GPL-2.0
/*
 * A program to run with libsframe-audit.so.
 *
 *	feature			does the kernel take tables?
 *	tables TEXT		number of mappings with TEXT in their names
 *	dlopen LIB N TEXT	load and unload LIB, N times: prints the number
 *				of such mappings before, while it is there and
 *				after, and what PR_REMOVE_SFRAME says of LIB's
 *				table in the end
 *	dlmopen LIB TEXT	the same, number while LIB is in a namespace of
 *				its own, and after
 *	fork LIB N TEXT		load LIB in a child, in a child of that, and so on
 *				N times; prints the number of mappings in the last
 *	filter LIB		load it when prctl() kills
 *	filtered PROGRAM [ARGUMENT]...
 *				run it where prctl() kills
 *	status NAME		print that value of /proc/self/status
 *	strict			enter seccomp's strict mode and end
 *	load LIB		only that
 *	spin SECONDS		use that much of a processor
 *	in DIR [NAME=VALUE]... PROGRAM [ARGUMENT]...
 *				run it with DIR for its root, and these variables
 *	starts N PROGRAM	nanoseconds from one start of PROGRAM to its end,
 *				the mean of N
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prctl.h"

#define MAX_MAPS	256

/* Starts of mappings with @text in their names. */
static int list_maps(const char *text, unsigned long *starts)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	int count = 0;

	while (maps && count < MAX_MAPS && fgets(line, sizeof(line), maps))
		if (strstr(line, text))
			starts[count++] = strtoul(line, NULL, 16);
	if (maps)
		fclose(maps);
	return count;
}

static int count_maps(const char *text)
{
	unsigned long starts[MAX_MAPS];

	return list_maps(text, starts);
}

static const char *remove_table(unsigned long start)
{
	struct sframe_region region = { .sframe_start = start,
					.sframe_size = 4096,
					.text_start = 4096 };

	if (!prctl(PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0))
		return "0";
	return errno == ENOENT ? "ENOENT" : strerror(errno);
}

static int feature(void)
{
	return strcmp(remove_table(4096), "ENOENT") != 0;
}

/* The table of LIB is the one that was not there before. */
static unsigned long new_table(const char *text, const unsigned long *old,
			       int num_old)
{
	unsigned long starts[MAX_MAPS], found = 0;
	int count = list_maps(text, starts);

	for (int i = 0; i < count; i++) {
		int at = 0;

		while (at < num_old && old[at] != starts[i])
			at++;
		if (at == num_old)
			found = starts[i];
	}
	return found;
}

static int load_often(const char *lib, int times, const char *text)
{
	unsigned long old[MAX_MAPS], table = 0;
	int before = list_maps(text, old), during = 0;

	for (int i = 0; i < times; i++) {
		void *handle = dlopen(lib, RTLD_NOW);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		if (!i) {
			during = count_maps(text);
			table = new_table(text, old, before);
		}
		dlclose(handle);
	}
	printf("%d %d %d %s\n", before, during, count_maps(text),
	       table ? remove_table(table) : "none");
	return 0;
}

static int load_apart(const char *lib, const char *text)
{
	void *handle = dlmopen(LM_ID_NEWLM, lib, RTLD_NOW);
	int during = count_maps(text);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	dlclose(handle);
	printf("%d %d\n", during, count_maps(text));
	return 0;
}

/* Each generation has what its parent had, and can add to it. */
static int fork_often(const char *lib, int times, const char *text)
{
	int before = count_maps(text), status = 0;
	pid_t pid;

	for (int i = 0; i < times; i++) {
		fflush(stdout);
		pid = fork();
		if (pid) {
			if (waitpid(pid, &status, 0) != pid)
				return 1;
			return status ? 1 : 0;
		}
		if (count_maps(text) != before)
			return 1;
		if (!dlopen(lib, RTLD_NOW))
			return 1;
		before = count_maps(text);
	}
	printf("%d\n", before);
	return 0;
}

static int load(const char *lib)
{
	if (dlopen(lib, RTLD_NOW))
		return 0;
	fprintf(stderr, "%s\n", dlerror());
	return 1;
}

static bool set_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int load_filtered(const char *lib)
{
	return set_filter() ? load(lib) : 2;
}

static int run_filtered(char **argv)
{
	if (set_filter())
		execvp(*argv, argv);
	return 2;
}

static int print_status(const char *name)
{
	FILE *status = fopen("/proc/self/status", "re");
	size_t len = strlen(name);
	char line[4096];
	int ret = 1;

	while (status && ret && fgets(line, sizeof(line), status))
		if (!strncmp(line, name, len) && line[len] == ':')
			ret = printf("%s", line + len + 2) < 0;
	if (status)
		fclose(status);
	return ret;
}

static int strict(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 2;
	syscall(SYS_exit, 0);
	return 1;
}

static volatile unsigned long sink;

/* Not inlined, and no tail calls: frames that a stack has to show. */
__attribute__((noinline)) static void burn(int depth)
{
	if (depth)
		burn(depth - 1);
	for (int i = 0; i < 1000; i++)
		sink += i;
	asm volatile("");
}

static int spin(double seconds)
{
	while (clock() < seconds * CLOCKS_PER_SEC)
		burn(10);
	return 0;
}

static unsigned long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

static int start(char *program)
{
	char *argv[] = { program, NULL };
	int status;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid)
		return 1;
	return status;
}

static int start_often(int times, char *program)
{
	unsigned long begin;

	/* What is read from files is in memory after the first. */
	if (start(program))
		return 1;
	begin = now();
	for (int i = 0; i < times; i++)
		if (start(program))
			return 1;
	printf("%lu\n", (now() - begin) / times);
	return 0;
}

static int run_in(const char *root, char **argv)
{
	if (chroot(root) || chdir("/"))
		return 2;
	for (; *argv && strchr(*argv, '='); argv++)
		putenv(*argv);
	if (*argv)
		execv(*argv, argv);
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "feature"))
		return feature();
	if (!strcmp(what, "tables") && argc == 3)
		return printf("%d\n", count_maps(argv[2])) < 0;
	if (!strcmp(what, "dlopen") && argc == 5)
		return load_often(argv[2], atoi(argv[3]), argv[4]);
	if (!strcmp(what, "fork") && argc == 5)
		return fork_often(argv[2], atoi(argv[3]), argv[4]);
	if (!strcmp(what, "dlmopen") && argc == 4)
		return load_apart(argv[2], argv[3]);
	if (!strcmp(what, "filter") && argc == 3)
		return load_filtered(argv[2]);
	if (!strcmp(what, "filtered") && argc > 2)
		return run_filtered(argv + 2);
	if (!strcmp(what, "status") && argc == 3)
		return print_status(argv[2]);
	if (!strcmp(what, "strict"))
		return strict();
	if (!strcmp(what, "load") && argc == 3)
		return load(argv[2]);
	if (!strcmp(what, "spin") && argc == 3)
		return spin(atof(argv[2]));
	if (!strcmp(what, "in") && argc > 3)
		return run_in(argv[2], argv + 3);
	if (!strcmp(what, "starts") && argc == 4)
		return start_often(atoi(argv[2]), argv[3]);
	return 2;
}
