// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: finds the files that a command maps when it starts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_regular.h"
#include "doctor/command.h"
#include "doctor/linker.h"
#include "doctor/tell.h"

/* The kernel's limits for scripts and their first line */
#define MAX_SCRIPTS	5
#define MAX_LINE	256

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/**
 * command_find() - find a command as the shell does
 * @name:	The command; looked for in PATH if it has no slash.
 *
 * Return: the file, which the caller frees, or NULL.
 */
char *command_find(const char *name)
{
	const char *path = getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin";

	if (strchr(name, '/'))
		return strdup(name);
	for (;;) {
		size_t len = strcspn(path, ":");
		char *file;

		if (asprintf(&file, "%.*s/%s", len ? (int)len : 1, len ? path : ".",
			     name) < 0)
			return NULL;
		if (is_executable(file))
			return file;
		free(file);
		if (!path[len])
			return NULL;
		path += len + 1;
	}
}

/*
 * Return the program that runs a script, by "#!/bin/sh" or "#! /usr/bin/env python3".  The
 * caller frees it.  Returns NULL if the file is not a script.
 */
static char *find_interpreter(const char *file)
{
	char line[MAX_LINE + 1] = "", *word, *state;
	struct stat st;
	int fd = open_regular(file, 0, &st);

	if (fd < 0)
		return NULL;
	if (read(fd, line, MAX_LINE) < 0)
		*line = '\0';
	close(fd);
	if (strncmp(line, "#!", 2))
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &state);
	if (!word)
		return NULL;
	if (!strcmp(strrchr(word, '/') ?: "", "/env")) {
		do
			word = strtok_r(NULL, " \t", &state);
		while (word && (*word == '-' || strchr(word, '=')));
	}
	return word ? command_find(word) : NULL;
}

static void add_program(struct mapped *mapped, const char *file)
{
	int err = mapped_add_file(mapped, file);

	if (err)
		tell(PROBLEM, file, NULL, "%s", strerror(-err));
	else
		linker_add(mapped, file);
}

/**
 * command_add() - add the files that a command maps when it starts
 * @mapped:	The files so far.
 * @name:	The command; looked for in PATH if it has no slash.
 *
 * Adds the interpreter of a script.  Reports what it cannot find.
 */
void command_add(struct mapped *mapped, const char *name)
{
	char *file = command_find(name), *interpreter;

	for (int i = 0; file && i < MAX_SCRIPTS; i++) {
		interpreter = find_interpreter(file);
		if (!interpreter)
			break;
		tell(NOTE, file, NULL, "a script, which %s runs", interpreter);
		free(file);
		file = interpreter;
	}
	if (file)
		add_program(mapped, file);
	else
		tell(PROBLEM, name, NULL, "neither a process nor a command in PATH");
	free(file);
}
