// SPDX-License-Identifier: GPL-2.0
/*
 * sframe doctor: finds the libraries that the dynamic linker maps for a program.
 *
 * "ld.so --list" and ldd would run code that the program chooses: its dynamic linker and its
 * auditors.  So this follows the program's and the libraries' headers, in the order of
 * ld.so(8), and runs nothing.  Any of the files may be hostile, and a name may mean another
 * file at any time.  Each file is opened once, and the work is limited.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/types.h>

#include "base/complain.h"
#include "base/grow.h"
#include "base/open_regular.h"
#include "doctor/dynamic.h"
#include "doctor/ldcache.h"
#include "doctor/linker.h"
#include "doctor/tell.h"

/* A browser has 150 libraries.  Their strings take 200 KB, and to find them, 20,000 names. */
#define MAX_OBJECTS	1024
#define MAX_STRINGS	0x1000000
#define MAX_TRIES	200000

#define CACHE		"/etc/ld.so.cache"
#define PRELOAD		"/etc/ld.so.preload"
#define MULTIARCH	"x86_64-linux-gnu"
/* The default directories of Debian, then those of others */
#define DEFAULT_DIRS	"/lib/" MULTIARCH ":/usr/lib/" MULTIARCH \
			":/lib64:/usr/lib64:/lib:/usr/lib"
#define MUSL_CONFIG	"/etc/ld-musl-x86_64.path"
#define MUSL_DIRS	"/lib:/usr/local/lib:/usr/lib"

/**
 * struct loaded - a program or library that the dynamic linker maps
 * @name:	The name by which it was needed.
 * @origin:	The directory that it is in.
 * @device:	Its device; with @inode 0, the file was not found.
 * @inode:	Its inode.
 * @dynamic:	What it asks for.
 * @by:		The object that needs it; NULL for the program.
 */
struct loaded {
	char		*name;
	char		*origin;
	dev_t		device;
	ino_t		inode;
	struct dynamic	dynamic;
	struct loaded	*by;
};

/**
 * struct search - the search for a program's libraries
 * @mapped:	The files that were found.
 * @file:	The program, as the user named it.
 * @objects:	What is mapped, in the order in which it was found; the program is the first.
 * @count:	Their number.
 * @linker:	The dynamic linker's own object, or NULL.
 * @linker_told: It is in @mapped.
 * @musl:	It is that of musl, not of glibc.
 * @cache:	The list of libraries.
 * @levels:	See ldcache_find().
 * @room:	How many bytes of strings may still be kept.
 * @tries:	How many names may still be tried.
 */
struct search {
	struct mapped	*mapped;
	const char	*file;
	struct loaded	*objects[MAX_OBJECTS];
	size_t		count;
	struct loaded	*linker;
	bool		linker_told;
	bool		musl;
	struct ldcache	cache;
	const char	*levels[5];
	size_t		room;
	size_t		tries;
};

static void object_forget(struct loaded *object)
{
	if (!object)
		return;
	dynamic_free(&object->dynamic);
	free(object->name);
	free(object->origin);
	free(object);
}

/* The kernel resolves the links to a program, but ld.so does not resolve those to a library. */
static char *origin_of(int fd, const char *path, bool is_program)
{
	char link[32], real[PATH_MAX] = "", *slash;
	ssize_t len = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (is_program || *path != '/')
		len = readlink(link, real, sizeof(real) - 1);
	if (len <= 0)
		snprintf(real, sizeof(real), "%s", path);
	slash = strrchr(real, '/');
	if (slash)
		slash[slash == real] = '\0';
	return strdup(real);
}

/* Open @path.  Returns NULL if it is no x86-64 program or library. */
static struct loaded *object_read(struct search *search, const char *path, const char *name,
				  struct loaded *by)
{
	struct loaded *object;
	struct stat st;
	int fd;

	if (!search->tries)
		return NULL;
	search->tries--;
	fd = open_regular(path, 0, &st);
	if (fd < 0)
		return NULL;
	object = require_memory(calloc(1, sizeof(*object)));
	object->name = require_memory(strdup(name));
	object->origin = require_memory(origin_of(fd, path, !by));
	object->device = st.st_dev;
	object->inode = st.st_ino;
	object->by = by;
	if (!dynamic_read(&object->dynamic, fd, &search->room)) {
		object_forget(object);
		object = NULL;
	}
	close(fd);
	return object;
}

static void object_append(struct search *search, struct loaded *object)
{
	if (search->count < MAX_OBJECTS) {
		search->objects[search->count++] = object;
		return;
	}
	object_forget(object);
	search->tries = 0;
}

static bool is_same(const struct loaded *a, const struct loaded *b)
{
	return a && b && a->inode && a->device == b->device && a->inode == b->inode;
}

static void tell_linker(struct search *search)
{
	if (!search->linker || search->linker_told)
		return;
	search->linker_told = true;
	mapped_add_opened(search->mapped, search->objects[0]->dynamic.linker,
			  search->linker->device, search->linker->inode);
}

static bool is_mapped(struct search *search, const struct loaded *object)
{
	if (is_same(search->linker, object)) {
		tell_linker(search);
		return true;
	}
	for (size_t i = 0; i < search->count; i++)
		if (is_same(search->objects[i], object))
			return true;
	return false;
}

/* Take @path for @name if it is a program or library. */
static bool try_path(struct search *search, struct loaded *by, const char *name,
		     const char *path)
{
	struct loaded *object = object_read(search, path, name, by);

	if (!object)
		return false;
	if (is_mapped(search, object)) {
		object_forget(object);
		return true;
	}
	mapped_add_opened(search->mapped, path, object->device, object->inode);
	object_append(search, object);
	return true;
}

/*
 * Replace $ORIGIN, $LIB and $PLATFORM at the start of @text by what they stand for.  Returns
 * the length of the name; 0 if it is none of them.
 */
static size_t replace_name(const char *text, const char *origin, const char **by)
{
	static const char * const names[] = { "ORIGIN", "LIB", "PLATFORM" };
	bool braces = text[0] == '$' && text[1] == '{';

	for (size_t i = 0; i < ARRAY_SIZE(names) && *text == '$'; i++) {
		size_t len = strlen(names[i]);

		if (strncmp(text + 1 + braces, names[i], len) ||
		    (braces && text[2 + len] != '}'))
			continue;
		if (i == 0)
			*by = origin;
		else if (i == 1)
			*by = access("/lib/" MULTIARCH, F_OK) ? "lib64" : "lib/" MULTIARCH;
		else
			*by = "x86_64";
		return 1 + len + 2 * braces;
	}
	return 0;
}

/* Copy @len bytes of @text with all names replaced.  Returns false if they do not fit. */
static bool expand(char to[PATH_MAX], const char *text, size_t len, const char *origin)
{
	const char *end = text + len, *part;
	size_t used = 0, size, skip;

	while (text < end) {
		skip = replace_name(text, origin, &part);
		if (!skip)
			part = text;
		size = skip ? strlen(part) : 1;
		if (size >= PATH_MAX - used)
			return false;
		memcpy(to + used, part, size);
		used += size;
		text += skip ?: 1;
	}
	to[used] = '\0';
	return true;
}

/* Try @dir and, before that, its subdirectories for the processor. */
static bool search_dir(struct search *search, struct loaded *by, const char *name,
		       const char *dir)
{
	char path[PATH_MAX + 32];

	for (size_t i = 0; search->levels[i]; i++) {
		bool sub = *search->levels[i];
		int len = snprintf(path, sizeof(path), "%s%s%s/%s", *dir ? dir : ".",
				   sub ? "/glibc-hwcaps/" : "", search->levels[i], name);

		if (len < sizeof(path) && try_path(search, by, name, path))
			return true;
	}
	return false;
}

/* @dirs may be NULL, and is @owner's. */
static bool search_dirs(struct search *search, struct loaded *by, const char *name,
			const char *dirs, const char *separators, const struct loaded *owner)
{
	char dir[PATH_MAX];

	while (dirs && *dirs && search->tries) {
		size_t len = strcspn(dirs, separators);

		search->tries--;
		if (expand(dir, dirs, len, owner->origin) && search_dir(search, by, name, dir))
			return true;
		dirs += len + !!dirs[len];
	}
	return false;
}

static bool is_default(const char *path)
{
	return !strncmp(path, "/lib", 4) || !strncmp(path, "/usr/lib", 8);
}

static bool search_as_glibc(struct search *search, struct loaded *by, const char *name)
{
	const struct dynamic *own = &by->dynamic;
	const char *path;

	for (struct loaded *owner = by; owner && !own->runpath; owner = owner->by)
		if (search_dirs(search, by, name, owner->dynamic.rpath, ":", owner))
			return true;
	if (search_dirs(search, by, name, getenv("LD_LIBRARY_PATH"), ":;", search->objects[0]) ||
	    search_dirs(search, by, name, own->runpath, ":", by))
		return true;
	path = ldcache_find(&search->cache, name, search->levels);
	if (path && !(own->no_default && is_default(path)) && try_path(search, by, name, path))
		return true;
	return !own->no_default &&
	       search_dirs(search, by, name, DEFAULT_DIRS, ":", search->objects[0]);
}

/* Read a small file; the caller frees the result.  Returns NULL if there is none. */
static char *read_small(const char *name)
{
	char text[4096];
	struct stat st;
	int fd = open_regular(name, 0, &st);
	ssize_t got;

	if (fd < 0)
		return NULL;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got < 0 ? 0 : got] = '\0';
	return strdup(text);
}

static bool search_as_musl(struct search *search, struct loaded *by, const char *name)
{
	char *config;
	bool found;

	if (search_dirs(search, by, name, getenv("LD_LIBRARY_PATH"), ":\n", search->objects[0]))
		return true;
	for (struct loaded *owner = by; owner; owner = owner->by)
		if (search_dirs(search, by, name, owner->dynamic.runpath ?: owner->dynamic.rpath,
				":", owner))
			return true;
	config = read_small(MUSL_CONFIG);
	found = search_dirs(search, by, name, config ?: MUSL_DIRS, ":\n", search->objects[0]);
	free(config);
	return found;
}

static bool is_linkers_name(const struct search *search, const char *name)
{
	if (!search->linker)
		return false;
	/* The C library of musl is its dynamic linker. */
	if (search->musl && (!strcmp(name, "libc.so") || !strncmp(name, "libc.musl-", 10)))
		return true;
	return !strcmp(name, search->linker->name) ||
	       (search->linker->dynamic.name && !strcmp(name, search->linker->dynamic.name));
}

static bool is_name_known(struct search *search, const char *name)
{
	if (is_linkers_name(search, name)) {
		tell_linker(search);
		return true;
	}
	for (size_t i = 0; i < search->count; i++) {
		const struct loaded *object = search->objects[i];

		if (!strcmp(name, object->name) ||
		    (object->dynamic.name && !strcmp(name, object->dynamic.name)))
			return true;
	}
	return false;
}

/* Find the library that @by needs.  Returns false if there is none. */
static bool find_library(struct search *search, struct loaded *by, const char *name)
{
	char path[PATH_MAX];

	if (!search->tries || is_name_known(search, name))
		return true;
	search->tries--;
	if (strchr(name, '/'))
		return expand(path, name, strlen(name), by->origin) &&
		       try_path(search, by, name, path);
	return search->musl ? search_as_musl(search, by, name) :
	       search_as_glibc(search, by, name);
}

static void tell_missing(struct search *search, struct loaded *by, const char *name)
{
	struct loaded *object = require_memory(calloc(1, sizeof(*object)));

	tell(PROBLEM, search->file,
	     ADVISE("install it, or name its directory in LD_LIBRARY_PATH"),
	     "the dynamic linker cannot load it: %s needs %s, which is in no directory that it searches",
	     by->name, name);
	/* Tell it once. */
	object->name = require_memory(strdup(name));
	object_append(search, object);
}

/* The dynamic linker ignores those that it does not find. */
static void add_preloads(struct search *search, const char *names, const char *separators)
{
	char *copy = names ? require_memory(strdup(names)) : NULL, *state;

	for (char *name = copy ? strtok_r(copy, separators, &state) : NULL; name;
	     name = strtok_r(NULL, separators, &state))
		find_library(search, search->objects[0], name);
	free(copy);
}

static void add_libraries(struct search *search)
{
	char *preload = search->musl ? NULL : read_small(PRELOAD);

	add_preloads(search, getenv("LD_PRELOAD"), " :");
	add_preloads(search, preload, " :\t\n");
	free(preload);
	for (size_t i = 0; i < search->count; i++) {
		struct loaded *by = search->objects[i];

		for (size_t j = 0; j < by->dynamic.num_needed; j++)
			if (!find_library(search, by, by->dynamic.needed[j]) && search->tries)
				tell_missing(search, by, by->dynamic.needed[j]);
	}
	tell_linker(search);
	if (!search->tries || !search->room)
		tell(PROBLEM, search->file, NULL,
		     "it needs more libraries than any program has, so not all are checked");
}

/* The levels of the x86-64 ABI, by the instructions that came last with each. */
static void set_levels(struct search *search)
{
	size_t count = 0;

	__builtin_cpu_init();
	if (!search->musl) {
		if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
			search->levels[count++] = "x86-64-v4";
		if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
		    __builtin_cpu_supports("fma"))
			search->levels[count++] = "x86-64-v3";
		if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
			search->levels[count++] = "x86-64-v2";
	}
	search->levels[count] = "";
}

static void add_for_linker(struct search *search, const char *path)
{
	const char *name = strrchr(path, '/');
	struct loaded *program = search->objects[0];
	bool glibc = name && !strncmp(name, "/ld-linux-", 10);

	search->musl = name && !strncmp(name, "/ld-musl-", 9);
	search->linker = object_read(search, path, name ? name + 1 : path, program);
	if (!search->linker) {
		tell(PROBLEM, search->file, ADVISE("install it"),
		     "its dynamic linker %s is missing, or is no x86-64 program", path);
	} else if (!glibc && !search->musl) {
		tell_linker(search);
		tell(NOTE, search->file, NULL,
		     "its dynamic linker %s is neither glibc's nor musl's, so its libraries are not checked",
		     path);
	} else {
		set_levels(search);
		if (glibc)
			ldcache_read(&search->cache, CACHE);
		add_libraries(search);
		ldcache_free(&search->cache);
	}
}

/**
 * linker_add() - add the libraries that the dynamic linker maps for a program
 * @mapped:	The files so far.
 * @file:	The program.
 *
 * Reports what it cannot find.
 */
void linker_add(struct mapped *mapped, const char *file)
{
	struct search *search = require_memory(calloc(1, sizeof(*search)));
	struct loaded *program;

	*search = (struct search){ .mapped = mapped, .file = file, .room = MAX_STRINGS,
				   .tries = MAX_TRIES };
	program = object_read(search, file, file, NULL);
	if (program) {
		object_append(search, program);
		if (program->dynamic.linker)
			add_for_linker(search, program->dynamic.linker);
	}
	for (size_t i = 0; i < search->count; i++)
		object_forget(search->objects[i]);
	object_forget(search->linker);
	free(search);
}
