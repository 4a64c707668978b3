// SPDX-License-Identifier: GPL-2.0
/*
 * Opens regular files by names that may mean another file at any time.
 *
 * Opening a device may have effects: a tape rewinds, a terminal hangs up, a watchdog starts.
 * So open_regular() first gets an O_PATH descriptor, which has no effect, and checks that it
 * is a regular file.  It then opens the same file for reading, not by its name.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/open_regular.h"

static int reopen_held(int held)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", held);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* The file exists, so it is /proc that is missing. */
	if (fd < 0 && errno == ENOENT)
		errno = NO_PROC;
	return fd;
}

/**
 * open_regular() - open a file for reading if it is a regular one
 * @name:	The file.
 * @flags:	0, or O_NOFOLLOW to refuse links.
 * @st:		Filled in if the file exists.
 *
 * Return: the file descriptor, or -1 with errno set.
 */
int open_regular(const char *name, int flags, struct stat *st)
{
	int held = open(name, O_PATH | O_CLOEXEC | flags), fd = -1, error;

	if (held < 0)
		return -1;
	if (!fstat(held, st)) {
		if (S_ISREG(st->st_mode))
			fd = reopen_held(held);
		else
			errno = NOT_REGULAR;
	}
	error = errno;
	close(held);
	errno = error;
	return fd;
}

/**
 * stat_held() - identify an open file, or the file that a link in /proc means
 * @fd:		The descriptor, or AT_FDCWD.
 * @name:	"", or the link.
 * @id:		Filled in.
 *
 * Asks no server, which may be down, or a user's program that never answers.
 *
 * Return: 0, or -1 with errno set.
 */
int stat_held(int fd, const char *name, struct identity *id)
{
	struct statx st;

	if (statx(fd, name, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st))
		return -1;
	*id = (struct identity){
		.device = makedev(st.stx_dev_major, st.stx_dev_minor), .inode = st.stx_ino,
	};
	return 0;
}

/**
 * stat_known() - identify a file if the kernel can find it without asking a server
 * @name:	The file.
 * @id:		Filled in.
 *
 * The kernel keeps the names of files that are mapped.
 *
 * Return: 0, or -1 with errno set: EAGAIN if the file system has to be asked.
 */
int stat_known(const char *name, struct identity *id)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	int fd = syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof(how)), err, error;

	if (fd < 0)
		return -1;
	err = stat_held(fd, "", id);
	error = errno;
	close(fd);
	errno = error;
	return err;
}

/**
 * open_error() - put an error of open_regular() into words
 * @error:	The errno.
 *
 * Return: the words, which are not to be freed.
 */
const char *open_error(int error)
{
	switch (error) {
	case NOT_REGULAR:
		return "not a regular file";
	case NO_PROC:
		return "it can be opened only where /proc is mounted";
	default:
		return strerror(error);
	}
}
