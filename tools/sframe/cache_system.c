// SPDX-License-Identifier: GPL-2.0
/*
 * Where a system keeps its programs and libraries: the directories of the
 * hierarchy standard, those of the dynamic linker, and those of the shell.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache_list.h"
#include "tool.h"

/* What a shell and login have where nobody says otherwise. */
#define DEFAULT_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#define CONFIG		"/etc/ld.so.conf"
/* An include that includes itself ends here. */
#define MAX_INCLUDES	16

/*
 * /usr as a whole: editors and browsers lie in /usr/share.  The others are links
 * into it on most systems, and then not walked again.
 */
static const char * const trees[] = {
	"/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64", "/libx32",
};

/* @path below the list's root directory; to be freed. */
static char *rooted(const struct file_list *list, const char *path)
{
	char *whole;

	if (asprintf(&whole, "%s%s", list->root ?: "", path) >= 0)
		return whole;
	perror("sframe");
	exit(EXIT_FAILED);
}

typedef void add_fn(struct file_list *list, const char *dir);

static void add_rooted(struct file_list *list, const char *dir, add_fn *add)
{
	char *path;

	/* The shell takes a relative one from wherever it is. */
	if (*dir != '/')
		return;
	path = rooted(list, dir);
	add(list, path);
	free(path);
}

static void read_config(struct file_list *list, const char *name, int depth);

static void include(struct file_list *list, const char *pattern, int depth)
{
	glob_t found;
	char *path, *whole;

	if (asprintf(&path, "%s%s", *pattern == '/' ? "" : "/etc/",
		     pattern) < 0)
		return;
	whole = rooted(list, path);
	if (!glob(whole, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_config(list, found.gl_pathv[i], depth + 1);
		globfree(&found);
	}
	free(whole);
	free(path);
}

/* "# comment", "include PATTERN", "DIRECTORY" or "DIRECTORY=TYPE" */
static void read_line(struct file_list *list, char *line, int depth)
{
	char *word, *state;

	line[strcspn(line, "#\n")] = '\0';
	word = strtok_r(line, " \t", &state);
	if (!word)
		return;
	if (!strcmp(word, "include")) {
		while ((word = strtok_r(NULL, " \t", &state)))
			include(list, word, depth);
		return;
	}
	word[strcspn(word, "=")] = '\0';
	add_rooted(list, word, list_add_tree);
}

static void read_config(struct file_list *list, const char *name, int depth)
{
	FILE *file = depth < MAX_INCLUDES ? fopen(name, "re") : NULL;
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return;
	while (getline(&line, &room, file) > 0)
		read_line(list, line, depth);
	free(line);
	fclose(file);
}

/**
 * list_add_system() - add the programs and libraries of a system
 * @list:	The list; its root directory says of which.
 *
 * All below /usr, /opt, /bin, /sbin, /lib* and the directories that
 * /etc/ld.so.conf names, and what is in those of PATH themselves.
 */
void list_add_system(struct file_list *list)
{
	/* This PATH is about another system than that below a root directory. */
	const char *path = list->root ? NULL : getenv("PATH");
	char *config = rooted(list, CONFIG), *copy, *dir, *state;

	for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
		add_rooted(list, trees[i], list_add_tree);
	read_config(list, config, 0);
	free(config);

	copy = strdup(path ?: DEFAULT_PATH);
	for (dir = copy ? strtok_r(copy, ":", &state) : NULL; dir;
	     dir = strtok_r(NULL, ":", &state))
		add_rooted(list, dir, list_add_dir);
	free(copy);
}
