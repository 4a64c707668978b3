// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the build-ids and layouts of objects that need their tables, for sframe cache --prune.
 *
 * A table that is removed by mistake may be lost for good: nobody can make that of a deleted
 * file again.  So all files have to be read, or nothing is removed.
 *
 * The name by which a mapped file is opened may go through a process, and end with it, while
 * others have the file mapped.  Processes are then listed again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/complain.h"
#include "base/grow.h"
#include "base/pool.h"
#include "base/sandbox.h"
#include "cache/mapped.h"
#include "cache/path.h"
#include "cache/used.h"
#include "cfi/object.h"
#include "table/file.h"

/* The process that starts the workers */
static pid_t main_process;

/* How often processes are listed to find one that lives until its file is read. */
#define MAX_ROUNDS	10

/**
 * struct reading - the result of reading a file's build-id and layout
 * @key:	Both; "" if the file is no object, and so has no table.
 * @gone:	There is no such file any more.
 * @error:	Why the file could not be read, or "".
 */
struct reading {
	char	key[CACHE_KEY_SIZE];
	int	gone;
	char	error[128];
};

/**
 * struct search - the state of used_read()
 * @used:	The result.
 * @room:	How many keys there is room for.
 * @workers:	How many files to read at a time.
 * @seconds:	How long one file may take.
 * @failed:	How many files could not be read; each was reported.
 */
struct search {
	struct used	*used;
	size_t		room;
	unsigned int	workers;
	unsigned int	seconds;
	size_t		failed;
};

/* libelf takes some of these for damage, but the file may be read another time. */
static bool is_passing(int error)
{
	return error == EIO || error == ENOMEM || error == ESTALE || error == ENOTCONN ||
	       error == ETIMEDOUT;
}

/* Nothing of the file is parsed before the process has given up its rights. */
static enum object_state read_without_rights(struct object *obj, const char *name)
{
	enum object_state state = object_open_file(obj, name);

	if (state)
		return state;
	obj->error = sandbox_enter(main_process);
	/* That there is no sandbox says nothing about the file either. */
	errno = obj->error ? EIO : 0;
	return obj->error ? OBJECT_DAMAGED : object_read(obj);
}

static void read_id(const char *name, void *result)
{
	struct reading *reading = result;
	u8 layout[SFRAME_FILE_LAYOUT];
	enum object_state state;
	struct object obj;
	int error;

	state = read_without_rights(&obj, name);
	error = errno;
	if (obj.is_known) {
		file_layout(&obj, layout);
		cache_key(obj.build_id, obj.build_id_size, layout, reading->key);
	}
	reading->gone = state == OBJECT_GONE;
	/* What cannot be read is damaged, too.  No table is made of a file that is damaged. */
	if (state == OBJECT_DAMAGED && !obj.is_known &&
	    (obj.fd < 0 || is_passing(error)))
		snprintf(reading->error, sizeof(reading->error), "%s", obj.error);
	object_close(&obj);
}

static void read_done(const struct job *job)
{
	struct reading *reading = job->result;

	/* A hostile file may have taken the worker over. */
	reading->key[sizeof(reading->key) - 1] = '\0';
	reading->error[sizeof(reading->error) - 1] = '\0';
	if (!job->signal)
		return;
	*reading = (struct reading){ };
	/* Nothing will be removed then, so wait for no other file of a server that is down. */
	if (job->signal == SIGALRM) {
		pool_stop();
		snprintf(reading->error, sizeof(reading->error),
			 "takes too long; allow more time by --timeout");
	} else if (job->signal == SIGSYS) {
		snprintf(reading->error, sizeof(reading->error), "%s", sandbox_error);
	} else if (job->signal > 0) {
		snprintf(reading->error, sizeof(reading->error), "%s ended the worker",
			 strsignal(job->signal));
	} else {
		snprintf(reading->error, sizeof(reading->error),
			 "the worker ended without a result");
	}
}

static void add_key(struct search *search, const char *key)
{
	struct used *used = search->used;

	used->keys = grow(used->keys, &search->room, used->count, CACHE_KEY_SIZE);
	strcpy(used->keys + used->count++ * CACHE_KEY_SIZE, key);
}

static void tell_unread(struct search *search, const char *name, const char *error)
{
	complain(name, "%s; it may need a table", error);
	search->failed++;
}

/*
 * Read the files.  @files are those of @names if processes have them mapped, or NULL.  The caller
 * frees the result, in which it looks for files that are gone.
 */
static struct reading *read_files(struct search *search, char **names, size_t count,
				  struct mapped_file **files)
{
	struct reading *readings = require_memory(calloc(count + 1, sizeof(*readings)));
	struct job *jobs = require_memory(calloc(count + 1, sizeof(*jobs)));

	for (size_t i = 0; i < count; i++)
		jobs[i] = (struct job){ .name = names[i], .result = &readings[i] };
	pool_run(jobs, count, sizeof(*readings), search->workers, search->seconds, ONE_FILE,
		 read_id, read_done);
	for (size_t i = 0; i < count; i++)
		if (*readings[i].error)
			tell_unread(search, files ? files[i]->name : names[i], readings[i].error);
		else if (!readings[i].gone)
			add_key(search, readings[i].key);
	free(jobs);
	return readings;
}

/*
 * A file of the list that is gone needs no table, unless a process has it mapped.  What is
 * installed meanwhile gets a table that is newer than this run.
 */
static void read_list(struct search *search, const struct file_list *list)
{
	free(read_files(search, list->names, list->count, NULL));
}

/*
 * Read those files of @mapped that are also in @wanted, or all.  Sets @missed to those whose
 * process has ended before they were read; the caller frees it.
 */
static void read_mapped(struct search *search, struct file_list *list,
			const struct mapped *mapped, const struct mapped *wanted,
			struct mapped *missed)
{
	struct mapped_file **files = require_memory(calloc(mapped->count + 1, sizeof(*files)));
	size_t first = list->count, before;
	struct reading *readings;

	for (size_t i = 0; i < mapped->count; i++) {
		struct mapped_file *file = &mapped->files[i];

		if (wanted && !mapped_find(wanted, file->device, file->inode))
			continue;
		before = list->count;
		if (file->open)
			list_add_known(list, file->open, wanted ? NULL : &file->id);
		else if (!geteuid())
			mapped_add_opened(missed, file->name, file->device, file->inode);
		if (list->count > before)
			files[before - first] = file;
	}
	readings = read_files(search, list->names + first, list->count - first, files);
	for (size_t i = 0; i < list->count - first; i++)
		if (readings[i].gone)
			mapped_add_opened(missed, files[i]->name, files[i]->device,
					  files[i]->inode);
	free(readings);
	free(files);
}

static int read_all_mapped(struct search *search, struct file_list *list,
			   const struct mapped *first)
{
	struct mapped mapped, missed = { }, wanted;
	int err = 0;

	read_mapped(search, list, first, NULL, &missed);
	for (int round = 1; missed.count && round < MAX_ROUNDS && !err; round++) {
		wanted = missed;
		missed = (struct mapped){ };
		mapped = (struct mapped){ .no_wait = first->no_wait };
		err = mapped_add_all(&mapped);
		if (!err)
			read_mapped(search, list, &mapped, &wanted, &missed);
		mapped_free(&mapped);
		mapped_free(&wanted);
	}
	for (size_t i = 0; i < missed.count; i++)
		tell_unread(search, missed.files[i].name,
			    "each process that has it mapped ended before it was read");
	mapped_free(&missed);
	return err;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Compare the first digits of a key only. */
static int compare_start(const void *start, const void *key)
{
	return strncmp(start, key, strlen(start));
}

/**
 * used_read() - find the build-ids and layouts of objects that need their tables
 * @used:	Filled in; the caller frees it in any case.
 * @list:	The files that need their tables; those that processes have mapped are added.
 * @workers:	How many files to read at a time.
 * @seconds:	How long one file may take.
 *
 * Return: EXIT_OK, or EXIT_FAILED after error messages if a file could not be read.
 */
int used_read(struct used *used, struct file_list *list, unsigned int workers,
	      unsigned int seconds)
{
	struct search search = { .used = used, .workers = workers, .seconds = seconds };
	struct mapped mapped = { .no_wait = !geteuid() };
	int err = mapped_add_all(&mapped);

	*used = (struct used){ };
	main_process = getpid();
	if (!err) {
		read_list(&search, list);
		err = read_all_mapped(&search, list, &mapped);
	}
	mapped_free(&mapped);
	if (err)
		return complain("/proc", "not all processes can be listed: %s; nothing is removed",
				strerror(-err));
	if (search.failed)
		return complain("cache", "%zu files could not be read; nothing is removed",
				search.failed);
	if (used->count)
		qsort(used->keys, used->count, CACHE_KEY_SIZE, compare_keys);
	return EXIT_OK;
}

/**
 * used_has() - whether an object needs a table
 * @used:	The objects.
 * @key:	The table's key, or its build-id and "-" for any layout.
 *
 * Return: whether one of the objects has this key.
 */
bool used_has(const struct used *used, const char *key)
{
	return used->count &&
	       bsearch(key, used->keys, used->count, CACHE_KEY_SIZE, compare_start);
}

/**
 * used_free() - free what used_read() has allocated
 * @used:	The objects; the structure itself is not freed.
 */
void used_free(struct used *used)
{
	free(used->keys);
}
