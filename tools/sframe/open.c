// SPDX-License-Identifier: GPL-2.0
/*
 * Opens files by names that others may give another meaning at any time.
 *
 * What opening a device does is its driver's affair: a tape is rewound, a terminal
 * hangs up, a watchdog starts.  So the file is taken hold of first, which touches
 * nothing, looked at, and opened for reading only then, and not by its name again.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "open.h"

static int reopen(int held)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", held);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* The file itself is held. */
	if (fd < 0 && errno == ENOENT)
		errno = NO_PROC;
	return fd;
}

/**
 * open_regular() - open a regular file for reading, and nothing else
 * @name:	The file.
 * @flags:	O_NOFOLLOW: not by a link; or 0.
 * @st:		What the file is; filled in if it could be found.
 *
 * Return: the file descriptor, or -1 and errno.
 */
int open_regular(const char *name, int flags, struct stat *st)
{
	int held = open(name, O_PATH | O_CLOEXEC | flags), fd = -1, error;

	if (held < 0)
		return -1;
	if (!fstat(held, st)) {
		if (S_ISREG(st->st_mode))
			fd = reopen(held);
		else
			errno = NOT_REGULAR;
	}
	error = errno;
	close(held);
	errno = error;
	return fd;
}

/**
 * open_error() - put an error of open_regular() into words
 * @error:	Its errno.
 *
 * Return: the words.
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
