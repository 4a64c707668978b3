// SPDX-License-Identifier: GPL-2.0
/* Finds ELF files: below directories, and those that processes run. */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_list.h"

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

/* Most files are something else, which is not worth a process to find out. */
static bool is_program(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	Elf64_Ehdr ehdr;
	bool ret;

	if (fd < 0)
		return false;
	ret = read(fd, &ehdr, sizeof(ehdr)) == sizeof(ehdr) &&
	      !memcmp(ehdr.e_ident, ELFMAG, SELFMAG) &&
	      ehdr.e_ident[EI_CLASS] == ELFCLASS64 &&
	      ehdr.e_machine == EM_X86_64 &&
	      (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);
	close(fd);
	return ret;
}

static void add_found(struct file_list *list, const char *name,
		      const struct stat *st)
{
	if (S_ISREG(st->st_mode) && is_new(list, st) && is_program(name))
		append(list, name);
}

/**
 * list_add_tree() - add the x86-64 programs and libraries below a directory
 * @list:	The list.
 * @dir:	The directory; links in it are not followed.
 */
void list_add_tree(struct file_list *list, const char *dir)
{
	char *paths[] = { (char *)dir, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW,
			     NULL);
	FTSENT *entry;

	if (!tree)
		return;
	while ((entry = fts_read(tree)))
		if (entry->fts_info == FTS_F)
			add_found(list, entry->fts_path, entry->fts_statp);
	fts_close(tree);
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

void list_free(struct file_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
	tdestroy(list->seen, free);
}
