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
#include <unistd.h>

#include "cache_list.h"
#include "complain.h"

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
	complain(name, "%s; it is passed over", strerror(error));
}

/* Most files are something else, which is not worth a process to find out. */
static bool is_program(struct file_list *list, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	Elf64_Ehdr ehdr;
	ssize_t got;

	if (fd < 0) {
		tell(list, name, errno);
		return false;
	}
	got = read(fd, &ehdr, sizeof(ehdr));
	if (got < 0)
		tell(list, name, errno);
	close(fd);
	return got == sizeof(ehdr) && !memcmp(ehdr.e_ident, ELFMAG, SELFMAG) &&
	       ehdr.e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr.e_machine == EM_X86_64 &&
	       (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);
}

static void add_found(struct file_list *list, const char *name,
		      const struct stat *st)
{
	if (S_ISREG(st->st_mode) && st->st_size >= (off_t)sizeof(Elf64_Ehdr) &&
	    is_new(list, st) && is_program(list, name))
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
		add_found(list, name, &st);
}

static void add_entry(struct file_list *list, FTS *tree, FTSENT *entry,
		      bool below)
{
	switch (entry->fts_info) {
	case FTS_F:
		add_found(list, entry->fts_path, entry->fts_statp);
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
 * list_add_named() - add what the user named
 * @list:	The list.
 * @name:	A directory, or a file, which is taken whatever it is.
 */
void list_add_named(struct file_list *list, const char *name)
{
	struct stat st;

	if (stat(name, &st))
		append(list, name);
	else if (S_ISDIR(st.st_mode))
		list_add_tree(list, name);
	else if (is_new(list, &st))
		append(list, name);
}

/*
 * A process may live in another root directory, and its file may have been
 * replaced since.
 */
static void add_mapped(struct file_list *list, const char *pid,
		       const char *path, uintmax_t inode)
{
	struct stat st;
	char *name;

	if (!stat(path, &st) && st.st_ino == inode) {
		add_found(list, path, &st);
		return;
	}
	if (asprintf(&name, "/proc/%s/root%s", pid, path) < 0)
		return;
	if (!stat(name, &st) && st.st_ino == inode)
		add_found(list, name, &st);
	free(name);
}

/* 7f00-7f10 r-xp 00001000 fe:00 1234    /usr/bin/xz */
static void add_mapping(struct file_list *list, const char *pid, char *line)
{
	uintmax_t inode;
	char flags[5];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%*s %4s %*s %*s %" SCNuMAX " %n", flags, &inode,
		   &path) == 2 &&
	    path && flags[2] == 'x' && line[path] == '/')
		add_mapped(list, pid, line + path, inode);
}

static void add_process(struct file_list *list, const char *pid)
{
	char *name, *line = NULL;
	size_t room = 0;
	FILE *maps;

	if (asprintf(&name, "/proc/%s/maps", pid) < 0)
		return;
	maps = fopen(name, "re");
	free(name);
	if (!maps)
		return;
	while (getline(&line, &room, maps) > 0)
		add_mapping(list, pid, line);
	free(line);
	fclose(maps);
}

/**
 * list_add_running() - add what processes have mapped executable
 * @list:	The list.
 *
 * Processes that the caller may not look into are left out.
 */
void list_add_running(struct file_list *list)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		return;
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			add_process(list, entry->d_name);
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
