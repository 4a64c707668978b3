// SPDX-License-Identifier: GPL-2.0
/* Finds ELF files: below directories, and those that processes run. */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cache_list.h"
#include "complain.h"
#include "open.h"

/* A file by any of its names. */
struct identity {
	dev_t	device;
	ino_t	inode;
};

static int compare_identity(const void *left, const void *right)
{
	const struct identity *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return 0;
}

static bool is_new(struct file_list *list, const struct stat *st)
{
	struct identity *id = malloc(sizeof(*id)), **found;

	if (!id)
		return true;
	id->device = st->st_dev;
	id->inode = st->st_ino;
	found = tsearch(id, &list->seen, compare_identity);
	if (found && *found == id)
		return true;
	free(id);
	return !found;
}

static void append(struct file_list *list, const char *name)
{
	char *copy = strdup(name), **names = list->names;

	/* Room is doubled where the number is a power of two. */
	if (!(list->count & (list->count - 1)))
		names = reallocarray(names, 2 * list->count + 1,
				     sizeof(*names));
	if (!names || !copy) {
		perror("sframe");
		exit(EXIT_FAILURE);
	}
	list->names = names;
	names[list->count++] = copy;
}

/* Told here: whoever fills a list need not know why something is not in it. */
static void tell(struct file_list *list, const char *name, int error)
{
	/* Files come and go while the tree is walked. */
	if (error == ENOENT || error == ENOTDIR)
		return;
	if (error == EACCES || error == EPERM)
		list->no_right++;
	else
		list->failed++;
	complain(name, "%s; it is passed over", open_error(error));
}

/*
 * Most files are something else, which is not worth a process to find out.  What
 * the name means by now may be another file than the one that was found.
 */
static bool is_program(struct file_list *list, const char *name,
		       const struct stat *found, int flags)
{
	Elf64_Ehdr ehdr;
	struct stat st;
	ssize_t got;
	int fd;

	fd = open_regular(name, flags, &st);
	if (fd < 0) {
		if (errno != NOT_REGULAR)
			tell(list, name, errno);
		return false;
	}
	got = read(fd, &ehdr, sizeof(ehdr));
	if (got < 0)
		tell(list, name, errno);
	close(fd);
	return st.st_dev == found->st_dev && st.st_ino == found->st_ino &&
	       got == sizeof(ehdr) && !memcmp(ehdr.e_ident, ELFMAG, SELFMAG) &&
	       ehdr.e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr.e_machine == EM_X86_64 &&
	       (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);
}

/* @flags: O_NOFOLLOW where the name was not that of a link. */
static void add_found(struct file_list *list, const char *name,
		      const struct stat *st, int flags)
{
	if (S_ISREG(st->st_mode) && st->st_size >= (off_t)sizeof(Elf64_Ehdr) &&
	    is_new(list, st) && is_program(list, name, st, flags))
		append(list, name);
}

/* A link of another root directory may lead into this one. */
static bool leads_outside(const struct file_list *list, const char *name)
{
	size_t len;
	char *path;
	bool ret;

	if (!list->root || !*list->root)
		return false;
	len = strlen(list->root);
	path = realpath(name, NULL);
	ret = !path || strncmp(path, list->root, len) ||
	      (path[len] && path[len] != '/');
	free(path);
	return ret;
}

static void add_link(struct file_list *list, const char *name)
{
	struct stat st;

	if (!stat(name, &st) && S_ISREG(st.st_mode) &&
	    !leads_outside(list, name))
		add_found(list, name, &st, 0);
}

static void add_entry(struct file_list *list, FTS *tree, FTSENT *entry,
		      bool below)
{
	switch (entry->fts_info) {
	case FTS_F:
		add_found(list, entry->fts_path, entry->fts_statp, O_NOFOLLOW);
		break;
	case FTS_SL:
		add_link(list, entry->fts_path);
		break;
	case FTS_D:
		/* One that was walked for its own sake was not walked down. */
		if (entry->fts_level && !below)
			fts_set(tree, entry, FTS_SKIP);
		else if (below && !is_new(list, entry->fts_statp))
			fts_set(tree, entry, FTS_SKIP);
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		tell(list, entry->fts_path, entry->fts_errno);
		break;
	}
}

static void walk(struct file_list *list, const char *dir, bool below)
{
	char *paths[2] = { (char *)dir };
	FTSENT *entry;
	FTS *tree;

	if (leads_outside(list, dir))
		return;
	tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW,
			NULL);
	if (!tree) {
		tell(list, dir, errno);
		return;
	}
	while ((entry = fts_read(tree)))
		add_entry(list, tree, entry, below);
	fts_close(tree);
}

/**
 * list_set_root() - say of which system the files are
 * @list:	The list, which is empty.
 * @dir:	Its root directory; NULL: the system that runs.
 *
 * Return: EXIT_OK or EXIT_FAILED, which has been told.
 */
int list_set_root(struct file_list *list, const char *dir)
{
	if (!dir)
		return EXIT_OK;
	list->root = realpath(dir, NULL);
	if (!list->root)
		return complain(dir, "%s; --root takes a directory",
				strerror(errno));
	/* Names begin with a slash already. */
	if (!strcmp(list->root, "/"))
		*list->root = '\0';
	return EXIT_OK;
}

/**
 * list_add_tree() - add the x86-64 programs and libraries below a directory
 * @list:	The list.
 * @dir:	The directory.  Links in it are followed to files, but not to
 *		directories; no directory is walked twice.
 */
void list_add_tree(struct file_list *list, const char *dir)
{
	walk(list, dir, true);
}

/**
 * list_add_dir() - add the x86-64 programs and libraries in a directory
 * @list:	The list.
 * @dir:	The directory; those below it are left out.
 */
void list_add_dir(struct file_list *list, const char *dir)
{
	walk(list, dir, false);
}

/**
 * list_add_file() - add a file that the user named
 * @list:	The list.
 * @name:	The file, which is taken whatever it is, but for a directory.
 */
void list_add_file(struct file_list *list, const char *name)
{
	struct stat st;

	if (stat(name, &st) || (!S_ISDIR(st.st_mode) && is_new(list, &st)))
		append(list, name);
}

/**
 * list_add_below() - add what is below a directory that the user named
 * @list:	The list.
 * @name:	The directory; nothing is done for anything else.
 */
void list_add_below(struct file_list *list, const char *name)
{
	struct stat st;

	if (!stat(name, &st) && S_ISDIR(st.st_mode))
		list_add_tree(list, name);
}

/* A file that a process has mapped. */
struct mapping {
	const char	*path;
	dev_t		device;
	uintmax_t	inode;
};

/* File systems of several devices or layers have made-up ones, and not the same. */
static bool is_mapped(const struct mapping *map, const struct stat *st)
{
	return st->st_ino == map->inode &&
	       (st->st_dev == map->device || !major(st->st_dev) ||
		!major(map->device));
}

static bool add_if_mapped(struct file_list *list, const struct mapping *map,
			  const char *name)
{
	struct stat st;

	if (stat(name, &st) || !is_mapped(map, &st))
		return false;
	add_found(list, name, &st, 0);
	return true;
}

/*
 * A process may live in another root directory, and its file may have been
 * replaced since.  @foreign: not to be looked at from its root directory.
 */
static void add_mapped(struct file_list *list, const char *pid, bool foreign,
		       const struct mapping *map)
{
	char *name;

	if (add_if_mapped(list, map, map->path) || foreign ||
	    asprintf(&name, "/proc/%s/root%s", pid, map->path) < 0)
		return;
	add_if_mapped(list, map, name);
	free(name);
}

/* 7f00-7f10 r-xp 00001000 fe:00 1234    /usr/bin/xz */
static bool parse_mapping(char *line, struct mapping *map)
{
	unsigned int major, minor;
	char flags[5];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%*s %4s %*s %x:%x %" SCNuMAX " %n", flags, &major,
		   &minor, &map->inode, &path) != 4 ||
	    !path || flags[2] != 'x' || line[path] != '/')
		return false;
	map->path = line + path;
	map->device = makedev(major, minor);
	return true;
}

/*
 * Whoever makes a mount namespace says what lies where in it, and who owns that:
 * of a container root believes nothing, and what is not its own it does not know.
 */
static bool is_foreign_process(const char *pid)
{
	struct stat own, other;
	bool foreign;
	char *name;

	if (geteuid())
		return false;
	if (asprintf(&name, "/proc/%s/ns/mnt", pid) < 0)
		return true;
	foreign = stat("/proc/self/ns/mnt", &own) || stat(name, &other) ||
		  own.st_dev != other.st_dev || own.st_ino != other.st_ino;
	free(name);
	return foreign;
}

static void add_process(struct file_list *list, const char *pid)
{
	bool foreign = is_foreign_process(pid);
	char *name, *line = NULL;
	struct mapping map;
	size_t room = 0;
	FILE *maps;

	if (asprintf(&name, "/proc/%s/maps", pid) < 0)
		return;
	maps = fopen(name, "re");
	free(name);
	if (!maps)
		return;
	while (getline(&line, &room, maps) > 0)
		if (parse_mapping(line, &map))
			add_mapped(list, pid, foreign, &map);
	free(line);
	fclose(maps);
}

/**
 * list_add_running() - add what processes have mapped executable
 * @list:	The list.
 *
 * Processes that the caller may not look into are left out.  Where there is no
 * /proc, that is told and counts as a failure.
 */
void list_add_running(struct file_list *list)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0])) {
			add_process(list, entry->d_name);
			count++;
		}
	if (!count) {
		list->failed++;
		complain("/proc", "%s; mount it to have processes found",
			 proc ? "it shows no process" : strerror(errno));
	}
	if (proc)
		closedir(proc);
}

/**
 * list_free() - free a list's names
 * @list:	The list; not the list itself.
 */
void list_free(struct file_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
	free(list->root);
	tdestroy(list->seen, free);
}
