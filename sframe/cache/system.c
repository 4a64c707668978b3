// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the programs and libraries of a system: in the directories of the file system
 * hierarchy standard, of the dynamic linker, and of the shell.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/types.h>

#include "base/complain.h"
#include "base/grow.h"
#include "base/open_regular.h"
#include "cache/list.h"
#include "cache/system.h"

/* The default of shells and of login. */
#define DEFAULT_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#define CONFIG		"/etc/ld.so.conf"
/* An include that includes itself ends here. */
#define MAX_INCLUDES	16
/* Bytes in a configuration file. */
#define MAX_CONFIG	(1 << 20)

/*
 * All of /usr: some editors and browsers are in /usr/share.  On most systems, /bin, /lib and
 * the like are links into /usr; these are not walked again.
 */
static const char * const trees[] = {
	"/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64", "/libx32",
};

/**
 * system_has() - whether an open file is below one of the system's own directories
 * @fd:		The file.
 *
 * Return: whether its path leads to it from the caller's root directory, and is below /usr,
 * /opt or one of the others.
 */
bool system_has(int fd)
{
	char link[32], path[PATH_MAX];
	struct stat own, st;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return false;
	path[len] = '\0';
	/* In another mount namespace, the path may mean another file. */
	if (fstat(fd, &own) || stat(path, &st) || own.st_dev != st.st_dev ||
	    own.st_ino != st.st_ino)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++) {
		size_t end = strlen(trees[i]);

		if (!strncmp(path, trees[i], end) && path[end] == '/')
			return true;
	}
	return false;
}

/* Return @path below the list's root directory; the caller frees it. */
static char *list_rooted(const struct file_list *list, const char *path)
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

	/* A relative one depends on the shell's current directory. */
	if (*dir != '/')
		return;
	path = list_rooted(list, dir);
	add(list, path);
	free(path);
}

static void config_read(struct file_list *list, const char *name, int depth);

static void config_include(struct file_list *list, const char *pattern, int depth)
{
	glob_t found;
	char *path, *whole;

	if (asprintf(&path, "%s%s", *pattern == '/' ? "" : "/etc/",
		     pattern) < 0)
		return;
	whole = list_rooted(list, path);
	if (!glob(whole, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			config_read(list, found.gl_pathv[i], depth + 1);
		globfree(&found);
	}
	free(whole);
	free(path);
}

/* "# comment", "include PATTERN", "DIRECTORY" or "DIRECTORY=TYPE" */
static void config_read_line(struct file_list *list, char *line, int depth)
{
	char *word, *state;

	line[strcspn(line, "#\n")] = '\0';
	word = strtok_r(line, " \t", &state);
	if (!word)
		return;
	if (!strcmp(word, "include")) {
		while ((word = strtok_r(NULL, " \t", &state)))
			config_include(list, word, depth);
		return;
	}
	word[strcspn(word, "=")] = '\0';
	add_rooted(list, word, list_add_tree);
}

static ssize_t read_up_to(int fd, char *text, size_t room)
{
	size_t size = 0;
	ssize_t got;

	while (size < room && (got = read(fd, text + size, room - size)) > 0)
		size += got;
	return size;
}

/* Below another root directory, it may be anything. */
static void config_read(struct file_list *list, const char *name, int depth)
{
	char *text, *rest, *line;
	struct stat st;
	ssize_t size;
	int fd;

	if (depth >= MAX_INCLUDES || list_leads_outside(list, name))
		return;
	fd = open_regular(name, 0, &st);
	if (fd < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			complain(name, "%s; it is passed over", open_error(errno));
		return;
	}
	text = require_memory(malloc(MAX_CONFIG + 1));
	size = read_up_to(fd, text, MAX_CONFIG + 1);
	close(fd);
	if (size > MAX_CONFIG) {
		list->failed++;
		complain(name, "more than 1 MiB; it is passed over");
	} else {
		text[size] = '\0';
		for (rest = text; (line = strsep(&rest, "\n"));)
			config_read_line(list, line, depth);
	}
	free(text);
}

/**
 * list_add_system() - add the programs and libraries of a system
 * @list:	The list, with the system's root directory.
 *
 * Adds all below /usr, /opt, /bin, /sbin, /lib* and the directories that
 * /etc/ld.so.conf names, and the files in the directories of PATH.  Of the running system,
 * leaves out what servers and users have mounted there.
 */
void list_add_system(struct file_list *list)
{
	/* The environment's PATH does not describe another root directory. */
	const char *path = list->root ? NULL : getenv("PATH");
	char *config = list_rooted(list, CONFIG), *copy, *dir, *state;

	/* The mount table's names are those of the running system. */
	if (!list->root || !*list->root)
		list_leave_out_remote(list);
	list->in_system = true;
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
		add_rooted(list, trees[i], list_add_tree);
	config_read(list, config, 0);
	free(config);

	copy = strdup(path ?: DEFAULT_PATH);
	for (dir = copy ? strtok_r(copy, ":", &state) : NULL; dir;
	     dir = strtok_r(NULL, ":", &state))
		add_rooted(list, dir, list_add_dir);
	free(copy);
	list->in_system = false;
}
