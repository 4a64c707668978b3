/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_MAPPED_H
#define _SFRAME_MAPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/identity.h"

/**
 * struct mapped_file - a file whose code is mapped
 * @name:	Its name, as the process has it.
 * @open:	The name to open it by; NULL if the caller has no right to.
 * @id:		Its device and inode, as stat() shows them; only where @open is set.
 * @device:	Its device, as in /proc/PID/maps.
 * @inode:	Its inode, as in /proc/PID/maps.
 * @deleted:	It was deleted.
 * @processes:	How many processes have it mapped.
 * @last:	The last process that was counted in @processes.
 */
struct mapped_file {
	char		*name;
	char		*open;
	struct identity	id;
	dev_t		device;
	uintmax_t	inode;
	bool		deleted;
	size_t		processes;
	pid_t		last;
};

/**
 * struct mapped - the files that processes have mapped executable, each once
 * @files:	The files.
 * @count:	Their number.
 * @places:	Tree of the files, by device and inode.
 * @no_wait:	Set by the caller, root: do not wait for a file's server, which may be a user's
 *		program that never answers.
 * @processes:	How many processes were looked at.
 * @hidden:	How many the caller may not look at.
 * @no_file:	Bytes of executable memory that belong to no file.
 */
struct mapped {
	struct mapped_file	*files;
	size_t			count;
	void			*places;
	bool			no_wait;
	size_t			processes;
	size_t			hidden;
	unsigned long long	no_file;
};

struct mapped_file *mapped_find(const struct mapped *mapped, dev_t device, uintmax_t inode);
int mapped_add_process(struct mapped *mapped, pid_t pid);
int mapped_add_all(struct mapped *mapped);
void mapped_add_opened(struct mapped *mapped, const char *name, dev_t device, uintmax_t inode);
int mapped_add_file(struct mapped *mapped, const char *name);
bool mapped_is(dev_t device, uintmax_t inode, dev_t other, uintmax_t other_inode);
void mapped_free(struct mapped *mapped);

#endif /* _SFRAME_MAPPED_H */
