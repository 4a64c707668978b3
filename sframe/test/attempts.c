// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: does what the environment's ATTEMPT says when libelf begins to parse a file,
 * as if a hostile file had taken the process over.  See cache_rights.sh.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void *begin_fn(int fd, int cmd, void *ref);

static begin_fn *next;
static const char *attempt;

__attribute__((constructor))
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
	else if (!strcmp(attempt, "forge") && write(STDERR_FILENO, "sframe: forged\n", 15) < 0)
		_exit(0);
	else if (!strcmp(attempt, "stat"))
		fstatat(AT_FDCWD, "/etc/shadow", &(struct stat){ }, 0);
	while (!strcmp(attempt, "spin"))
		;
}

/* Only for readers: the tool's other pipes are made by pipe2(). */
int pipe(int fds[2])
{
	if (strcmp(attempt, "no-pipe"))
		return pipe2(fds, 0);
	errno = EMFILE;
	return -1;
}

void *elf_begin(int fd, int cmd, void *ref)
{
	make_attempt(fd);
	return next(fd, cmd, ref);
}
