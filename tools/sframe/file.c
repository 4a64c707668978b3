// SPDX-License-Identifier: GPL-2.0
/* Writes and reads table files (sframe_file.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "open.h"
#include "tool.h"

/* The largest table whose offsets fit their fields. */
#define MAX_TABLE	0x100000000ULL

static void fill_head(struct sframe_file *head, const struct object *obj,
		      const struct image *image, enum format format)
{
	memcpy(head->magic, SFRAME_FILE_MAGIC, sizeof(head->magic));
	head->version = SFRAME_FILE_VERSION;
	head->header_size = offsetof(struct sframe_file, text) +
			    obj->num_text * sizeof(head->text[0]);
	head->table_offset = SFRAME_FILE_TABLE;
	head->table_size = image->size;
	head->table_vaddr = image->vaddr;
	head->format = format;
	head->num_text = obj->num_text;
	head->build_id_size = obj->build_id_size;
	memcpy(head->build_id, obj->build_id, sizeof(head->build_id));
	memcpy(head->text, obj->text, sizeof(head->text));
}

static bool write_all(int fd, const void *bytes, size_t size)
{
	while (size) {
		ssize_t ret = write(fd, bytes, size);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return false;
		bytes = (const char *)bytes + ret;
		size -= ret;
	}
	return true;
}

/* Nothing is to be left over by an interruption, not even under another name. */
static void hold_signals(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, old);
}

/**
 * file_write() - write a table file
 * @name:	Its name; it appears whole or not at all.
 * @obj:	The object that the table is for.
 * @image:	The table.
 * @format:	Its version.
 *
 * Return: EXIT_OK or EXIT_FAILED, which has been told.
 */
int file_write(const char *name, const struct object *obj,
	       const struct image *image, enum format format)
{
	union {
		struct sframe_file head;
		u8 page[SFRAME_FILE_TABLE];
	} first = { };
	int fd, ret = EXIT_OK;
	char *partial;
	sigset_t old;
	bool good;

	fill_head(&first.head, obj, image, format);
	if (asprintf(&partial, "%s.XXXXXX", name) < 0)
		return complain(name, "out of memory");
	hold_signals(&old);
	fd = mkostemp(partial, O_CLOEXEC);
	if (fd < 0) {
		ret = complain(name, "cannot be created: %s; name another file by --output",
			       strerror(errno));
		goto out_free;
	}
	good = write_all(fd, &first, sizeof(first)) &&
	       write_all(fd, image->bytes, image->size) && !fchmod(fd, 0644);
	good = !close(fd) && good;
	if (!good || rename(partial, name)) {
		ret = complain(name, "cannot be written: %s", strerror(errno));
		unlink(partial);
	}
out_free:
	sigprocmask(SIG_SETMASK, &old, NULL);
	free(partial);
	return ret;
}

static const char *check_head(const struct sframe_file *head, u64 file_size)
{
	if (memcmp(head->magic, SFRAME_FILE_MAGIC, sizeof(head->magic)))
		return "not a table file";
	if (head->version != SFRAME_FILE_VERSION)
		return "a table file of another version";
	if (head->num_text > SFRAME_FILE_MAX_TEXT ||
	    head->build_id_size > SFRAME_FILE_MAX_ID)
		return "the header is damaged";
	if (head->table_offset > file_size ||
	    head->table_size > file_size - head->table_offset ||
	    head->table_size >= MAX_TABLE)
		return "the table is behind the file's end";
	return NULL;
}

static bool read_all(int fd, void *to, size_t size, u64 offset)
{
	while (size) {
		ssize_t ret = pread(fd, to, size, offset);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return false;
		to = (char *)to + ret;
		size -= ret;
		offset += ret;
	}
	return true;
}

/**
 * file_read_open() - read a table file that is open
 * @fd:		The file.
 * @head:	Filled in and checked.
 * @table:	The table, to be freed.
 *
 * Return: NULL, or what is wrong with it.
 */
const char *file_read_open(int fd, struct sframe_file *head, u8 **table)
{
	const char *error = NULL;
	struct stat st;

	*table = NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    !read_all(fd, head, sizeof(*head), 0))
		error = "not a table file";
	if (!error)
		error = check_head(head, st.st_size);
	if (!error) {
		*table = malloc(head->table_size + 1);
		if (!*table || !read_all(fd, *table, head->table_size,
					 head->table_offset))
			error = "cannot be read whole";
	}
	return error;
}

/**
 * file_read() - read a table file
 * @name:	Its name.
 * @head:	Filled in and checked.
 * @table:	The table, to be freed.
 *
 * Return: NULL, or what is wrong with it.
 */
const char *file_read(const char *name, struct sframe_file *head, u8 **table)
{
	const char *error;
	struct stat st;
	int fd;

	*table = NULL;
	fd = open_regular(name, 0, &st);
	if (fd < 0)
		return open_error(errno);
	error = file_read_open(fd, head, table);
	close(fd);
	return error;
}
