// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: does what the environment's ATTEMPT says when libelf begins to parse a file,
 * as if a hostile file had taken the process over.  See cache_rights.sh.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void *begin_fn(int fd, int cmd, void *ref);

static begin_fn *next;
static const char *attempt;

[[gnu::constructor]]
static void prepare(void)
{
	next = dlsym(RTLD_NEXT, "elf_begin");
	attempt = getenv("ATTEMPT") ?: "";
}

static void call_of_i386(void)
{
	long result;

	/* getpid() */
	asm volatile("int $0x80" : "=a" (result) : "a" (20) : "memory");
}

static void lie(void)
{
	static char bytes[8192];

	memset(bytes, 0xff, sizeof(bytes));
	if (write(3, bytes, sizeof(bytes)) < 0)
		_exit(0);
}

static void make_attempt(int fd)
{
	if (!strcmp(attempt, "open"))
		open("/etc/shadow", O_RDONLY);
	else if (!strcmp(attempt, "exec"))
		execl("/bin/true", "true", NULL);
	else if (!strcmp(attempt, "kill"))
		kill(getppid(), 0);
	else if (!strcmp(attempt, "signal-owner"))
		fcntl(fd, F_SETOWN, getppid());
	else if (!strcmp(attempt, "socket"))
		socket(AF_UNIX, SOCK_STREAM, 0);
	else if (!strcmp(attempt, "x32"))
		syscall(0x40000000 + SYS_read, fd, NULL, 0);
	else if (!strcmp(attempt, "i386"))
		call_of_i386();
	else if (!strcmp(attempt, "lie"))
		lie();
	else if (!strcmp(attempt, "abort"))
		abort();
	while (!strcmp(attempt, "spin"))
		;
}

void *elf_begin(int fd, int cmd, void *ref)
{
	make_attempt(fd);
	return next(fd, cmd, ref);
}
