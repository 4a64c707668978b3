// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the files whose code processes have mapped, and a way to open each file.
 *
 * A process may end meanwhile, and a mapped file may be deleted; neither is an error.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/identity.h"
#include "base/open_regular.h"
#include "base/text.h"
#include "cache/mapped.h"

#define DELETED	" (deleted)"

/* A line of /proc/PID/maps; @name is "" or within the line. */
struct line {
	unsigned long	start;
	unsigned long	end;
	dev_t		device;
	uintmax_t	inode;
	char		*name;
};

/* A node of the tree that finds a file; the array of files moves as it grows. */
struct place {
	struct identity	id;
	size_t		at;
};

/**
 * mapped_is() - whether two pairs of device and inode may be one file
 * @device:		The first device.
 * @inode:		The first inode.
 * @other:		The second device.
 * @other_inode:	The second inode.
 *
 * File systems of several devices or layers invent device numbers, and stat() shows others
 * than the kernel's lists.
 *
 * Return: whether the inodes are equal, and the devices are equal or invented.
 */
bool mapped_is(dev_t device, uintmax_t inode, dev_t other, uintmax_t other_inode)
{
	return inode == other_inode &&
	       (device == other || !major(device) || !major(other));
}

static int stat_waiting(const char *name, struct identity *id)
{
	struct stat st;
	int err = stat(name, &st);

	if (!err)
		*id = identity_of(&st);
	return err;
}

static int stat_link(const char *name, struct identity *id)
{
	return stat_held(AT_FDCWD, name, id);
}

/**
 * mapped_find() - find a file by its device and inode
 * @mapped:	The files.
 * @device:	The device.
 * @inode:	The inode.
 *
 * Return: the file, or NULL if it is not one of them.
 */
struct mapped_file *mapped_find(const struct mapped *mapped, dev_t device, uintmax_t inode)
{
	const struct identity id = { .device = device, .inode = inode };
	struct place **found = tfind(&id, &mapped->places, compare_identity);

	return found ? &mapped->files[(*found)->at] : NULL;
}

static struct mapped_file *mapped_add(struct mapped *mapped, dev_t device, uintmax_t inode)
{
	struct mapped_file *file = mapped_find(mapped, device, inode);
	struct place *place;

	if (file)
		return file;
	/* Double the room when the count is a power of two. */
	if (!(mapped->count & (mapped->count - 1)))
		mapped->files = require_memory(reallocarray(mapped->files, 2 * mapped->count + 1,
							    sizeof(*mapped->files)));
	place = require_memory(malloc(sizeof(*place)));
	*place = (struct place){ .id = { .device = device, .inode = inode }, .at = mapped->count };
	require_memory(tsearch(place, &mapped->places, compare_identity));
	file = &mapped->files[mapped->count++];
	*file = (struct mapped_file){ .device = device, .inode = inode };
	return file;
}

/* Whether @name means the file of a line; if so, sets @id. */
static bool name_is(const char *name, const struct line *line, struct identity *id,
		    int (*look)(const char *name, struct identity *id))
{
	return !look(name, id) && mapped_is(id->device, id->inode, line->device, line->inode);
}

static bool is_deleted(const struct mapped *mapped, const struct line *line)
{
	size_t len = strlen(line->name), end = strlen(DELETED);
	struct identity id;

	return len > end && !strcmp(line->name + len - end, DELETED) &&
	       !name_is(line->name, line, &id, mapped->no_wait ? stat_known : stat_waiting);
}

/*
 * By now, the name may mean another file, or it may count from another root directory.  The
 * links in map_files are always right, but only root can use them.
 */
static char *name_to_open(pid_t pid, const struct line *line, struct identity *id, bool no_wait)
{
	char *name = text_format("%s", line->name);

	if (name_is(name, line, id, no_wait ? stat_known : stat_waiting))
		return name;
	free(name);
	name = text_format("/proc/%d/map_files/%lx-%lx", pid, line->start, line->end);
	errno = 0;
	if (name_is(name, line, id, no_wait ? stat_link : stat_waiting))
		return name;
	free(name);
	/* Root of a container may not use the links, so there is no other way than to wait. */
	if (no_wait)
		return errno == EPERM || errno == EACCES ?
		       name_to_open(pid, line, id, false) : NULL;
	name = text_format("/proc/%d/root%s", pid, line->name);
	if (name_is(name, line, id, stat_waiting))
		return name;
	free(name);
	return NULL;
}

static void add_line(struct mapped *mapped, pid_t pid, struct line *line)
{
	struct mapped_file *file = mapped_add(mapped, line->device, line->inode);

	if (file->last != pid)
		file->processes++;
	file->last = pid;
	if (!file->name) {
		file->deleted = is_deleted(mapped, line);
		if (file->deleted)
			line->name[strlen(line->name) - strlen(DELETED)] = '\0';
		file->name = text_format("%s", line->name);
	}
	if (!file->open)
		file->open = name_to_open(pid, line, &file->id, mapped->no_wait);
}

/* 7f00-7f10 r-xp 00001000 fe:00 1234    /usr/bin/xz.  Returns whether it is executable. */
static bool parse_line(char *text, struct line *line)
{
	unsigned int major, minor;
	char flags[5];
	int name = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%lx-%lx %4s %*s %x:%x %ju %n", &line->start, &line->end, flags,
		   &major, &minor, &line->inode, &name) != 6 || !name || flags[2] != 'x')
		return false;
	line->device = makedev(major, minor);
	line->name = text + name;
	return true;
}

/* The kernel has the tables of what it maps itself, such as the vDSO. */
static bool is_made_by_program(const struct line *line)
{
	return *line->name != '[' || !strncmp(line->name, "[anon", 5) ||
	       !strcmp(line->name, "[heap]") || !strncmp(line->name, "[stack", 6);
}

/**
 * mapped_add_process() - add the files that a process has mapped executable
 * @mapped:	The files so far.
 * @pid:	The process.
 *
 * Return: 0, also if the process has no memory or ends meanwhile; or a negative errno.
 */
int mapped_add_process(struct mapped *mapped, pid_t pid)
{
	char *name = text_format("/proc/%d/maps", pid), *text = NULL;
	FILE *maps = fopen(name, "re");
	int error = errno;
	struct line line;
	size_t room = 0;

	free(name);
	if (!maps) {
		mapped->hidden += error == EACCES || error == EPERM;
		return -error;
	}
	mapped->processes++;
	while (getline(&text, &room, maps) > 0) {
		if (!parse_line(text, &line))
			continue;
		if (*line.name == '/')
			add_line(mapped, pid, &line);
		else if (is_made_by_program(&line))
			mapped->no_file += line.end - line.start;
	}
	free(text);
	fclose(maps);
	return 0;
}

/**
 * mapped_add_all() - add what all processes but the caller have mapped executable
 * @mapped:	The files so far.
 *
 * Return: 0, or a negative errno where /proc shows no process.
 */
int mapped_add_all(struct mapped *mapped)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;
	int err = 0;

	if (!proc)
		return -errno;
	while (!err && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		count++;
		if (pid != getpid())
			err = mapped_add_process(mapped, pid);
		/* It has ended, or is counted as hidden. */
		if (err == -ENOENT || err == -ESRCH || err == -EACCES || err == -EPERM)
			err = 0;
	}
	closedir(proc);
	return count ? err : -ENOENT;
}

/**
 * mapped_add_opened() - add a file that was opened
 * @mapped:	The files so far.
 * @name:	The file's name.
 * @device:	Its device.
 * @inode:	Its inode.
 */
void mapped_add_opened(struct mapped *mapped, const char *name, dev_t device, uintmax_t inode)
{
	struct mapped_file *file = mapped_add(mapped, device, inode);

	if (file->name)
		return;
	file->name = text_format("%s", name);
	file->open = text_format("%s", name);
}

/**
 * mapped_add_file() - add a file by its name
 * @mapped:	The files so far.
 * @name:	The file.
 *
 * Return: 0, or a negative errno.
 */
int mapped_add_file(struct mapped *mapped, const char *name)
{
	struct stat st;

	if (stat(name, &st))
		return -errno;
	mapped_add_opened(mapped, name, st.st_dev, st.st_ino);
	return 0;
}

/**
 * mapped_free() - free what a list holds
 * @mapped:	The list; the structure itself is not freed.
 */
void mapped_free(struct mapped *mapped)
{
	for (size_t i = 0; i < mapped->count; i++) {
		free(mapped->files[i].name);
		free(mapped->files[i].open);
	}
	free(mapped->files);
	tdestroy(mapped->places, free);
}
