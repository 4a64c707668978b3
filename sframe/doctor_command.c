// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: finds the files that a command maps when it starts. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "complain.h"
#include "doctor_command.h"
#include "doctor_tell.h"
#include "open_regular.h"

/* The kernel's limits for scripts and their first line */
#define MAX_SCRIPTS	5
#define MAX_LINE	256
/* Seconds that the dynamic linker may take to find the libraries. */
#define MAX_SECONDS	20

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* Find a command as the shell does.  Returns the file, which the caller frees, or NULL. */
static char *find_command(const char *name)
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
	return word ? find_command(word) : NULL;
}

/* Read the name of a program's dynamic linker.  Returns false if it names none. */
static bool read_linker(const char *file, char name[PATH_MAX])
{
	struct stat st;
	int fd = open_regular(file, 0, &st);
	Elf64_Phdr phdr = { };
	Elf64_Ehdr ehdr;
	bool found = false;

	if (fd < 0)
		return false;
	if (pread(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		ehdr.e_phnum = 0;
	for (int i = 0; i < ehdr.e_phnum && !found; i++)
		found = pread(fd, &phdr, sizeof(phdr), ehdr.e_phoff + i * sizeof(phdr)) ==
				sizeof(phdr) && phdr.p_type == PT_INTERP;
	if (found)
		found = phdr.p_filesz && phdr.p_filesz < PATH_MAX &&
			pread(fd, name, phdr.p_filesz, phdr.p_offset) == phdr.p_filesz;
	if (found)
		name[phdr.p_filesz] = '\0';
	close(fd);
	return found;
}

/* Run only known dynamic linkers: a program could name any file. */
static bool is_linker(const char *name)
{
	const char *base = strrchr(name, '/');
	struct stat st;

	return base && (!strncmp(base, "/ld-linux-", 10) || !strncmp(base, "/ld-musl-", 9)) &&
	       !stat(name, &st) && S_ISREG(st.st_mode) && !st.st_uid && !(st.st_mode & 022);
}

/* Whether only root can write @path, or replace it in a directory that may be a sticky one. */
static bool is_roots(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !st.st_uid &&
	       (!(st.st_mode & 022) || (S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX));
}

/*
 * Whether the dynamic linker may list the libraries of @file with the rights of this process.
 * It runs no code of the program itself, but that of auditors that the program names.  So root
 * lists only programs that root has installed: the file and all directories that lead to it.
 */
static bool may_be_listed(const char *file)
{
	char path[PATH_MAX], *slash;

	if (geteuid())
		return true;
	if (!realpath(file, path))
		return false;
	while (is_roots(path)) {
		slash = strrchr(path, '/');
		if (!path[1])
			return true;
		slash[slash == path] = '\0';
	}
	return false;
}

static void list_libraries(const char *linker, const char *file, int to)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0 ||
	    dup2(to, STDERR_FILENO) < 0)
		_exit(EXIT_FAILED);
	alarm(MAX_SECONDS);
	execl(linker, linker, "--list", file, NULL);
	_exit(EXIT_FAILED);
}

/*
 * "<tab>libc.so.6 => /lib/libc.so.6 (0x7f00)", "<tab>/lib64/ld-linux-x86-64.so.2 (0x7f00)";
 * a line without tab is an error message.
 */
static void add_library(struct mapped *mapped, const char *file, char *line)
{
	char *path = strstr(line, " => "), *end;

	line[strcspn(line, "\n")] = '\0';
	if (*line != '\t') {
		tell(PROBLEM, file, NULL, "the dynamic linker cannot load it: %s", line);
		return;
	}
	path = path ? path + 4 : line + 1;
	end = strstr(path, " (0x");
	if (*path != '/' || !end)
		return;
	*end = '\0';
	mapped_add_file(mapped, path);
}

/* Ask the dynamic linker: see may_be_listed(). */
static void add_libraries(struct mapped *mapped, const char *linker, const char *file)
{
	char *line = NULL;
	size_t room = 0;
	int ends[2];
	FILE *list;
	pid_t pid;

	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		list_libraries(linker, file, ends[1]);
	close(ends[1]);
	list = fdopen(ends[0], "r");
	while (list && getline(&line, &room, list) > 0)
		add_library(mapped, file, line);
	free(line);
	if (list)
		fclose(list);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void add_program(struct mapped *mapped, const char *file)
{
	char linker[PATH_MAX];
	int err = mapped_add_file(mapped, file);

	if (err) {
		tell(PROBLEM, file, NULL, "%s", strerror(-err));
		return;
	}
	if (!read_linker(file, linker))
		return;
	if (!is_linker(linker))
		tell(NOTE, file, NULL,
		     "its dynamic linker %s is not trusted and not run, so its libraries are not checked",
		     linker);
	else if (!may_be_listed(file))
		tell(NOTE, file, NULL,
		     "others than root may change it, so its libraries are not checked; run sframe doctor as its owner, or with the number of its process");
	else
		add_libraries(mapped, linker, file);
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
	char *file = find_command(name), *interpreter;

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
