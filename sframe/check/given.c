// SPDX-License-Identifier: GPL-2.0
/* Reads the table that check compares, if it makes none itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/open_regular.h"
#include "cache/path.h"
#include "check/given.h"
#include "table/file.h"
#include "table/own.h"

/* Read the table in @name, whole.  The caller frees @bytes. */
static const char *read_table(const char *name, struct sframe_file *head, u8 **bytes,
			      struct sframe_note *note, enum table_fault *fault)
{
	const char *error;
	struct stat st;
	int fd = open_regular(name, 0, &st);

	*bytes = NULL;
	*note = (struct sframe_note){ };
	*fault = fd >= 0 || errno == ENOENT ? TABLE_BAD : TABLE_UNUSABLE;
	if (fd < 0)
		return errno == ENOENT ? "there is no table of it" : open_error(errno);
	error = file_read_open(fd, head, bytes);
	if (!error)
		error = file_check(fd, head, *bytes);
	if (!error)
		file_note(fd, note);
	close(fd);
	return error;
}

/* As the kernel does, look for the second name only if the first has another layout. */
static const char *read_from_cache(const char *dir, const struct sframe_file *object,
				   struct sframe_file *head, u8 **bytes,
				   struct sframe_note *note, enum table_fault *fault)
{
	const char *error = NULL;

	*bytes = NULL;
	for (enum place place = PLACE_FIRST; place <= PLACE_LAYOUT; place++) {
		char *name = require_memory(cache_file_name(dir, object, place));

		free(*bytes);
		error = read_table(name, head, bytes, note, fault);
		free(name);
		if (error || !memcmp(head->layout, object->layout, sizeof(head->layout)))
			break;
	}
	return error;
}

/* Read the table that is to be compared, whole.  The caller frees @bytes. */
static const char *read_given(const struct check_options *options,
			      const struct sframe_file *object, struct sframe_file *head,
			      u8 **bytes, struct sframe_note *note, enum table_fault *fault)
{
	if (options->table)
		return read_table(options->table, head, bytes, note, fault);
	return read_from_cache(options->dir, object, head, bytes, note, fault);
}

/**
 * given_uses_debug() - whether to read an object's separate debug file
 * @options:	Which table is to be compared, if any.
 * @obj:	The object.
 *
 * Return: whether the table was made with it, or is to be made.
 */
bool given_uses_debug(const struct check_options *options, const struct object *obj)
{
	struct sframe_file object, head;
	enum table_fault fault;
	struct sframe_note note;
	u8 *bytes;

	if (!options->table && !options->dir)
		return true;
	file_describe(&object, obj);
	read_given(options, &object, &head, &bytes, &note, &fault);
	free(bytes);
	return note.flags & SFRAME_NOTE_DEBUG;
}

static const char *compare_heads(const struct sframe_file *head, const struct sframe_file *object,
				 const struct sframe_note *note)
{
	if (head->format != FORMAT_V2 && head->format != FORMAT_V3)
		return "it has another version than 2 and 3";
	if (!file_names(head, object))
		return "it was made for another object";
	if (!file_is_of(head, object))
		return "it was made from another .eh_frame";
	if (note->maker < SFRAME_NOTE_MAKER && *note->magic)
		return "an older version of the tool made it";
	return NULL;
}

/**
 * given_table() - read the table that is to be compared with an object
 * @options:	Which table that is.
 * @obj:	The object.
 * @image:	Filled in; the caller frees it in any case.
 * @format:	Set to the table's version.
 * @report:	Its @table is set.
 *
 * Return: NULL, or why there is nothing to compare.
 */
const char *given_table(const struct check_options *options, const struct object *obj,
			struct image *image, enum format *format, struct report *report)
{
	struct sframe_file object, head;
	struct sframe_note note;
	const char *error;
	u8 *bytes;

	*image = (struct image){ };
	report->table = TABLE_UNUSABLE;
	file_describe(&object, obj);
	error = read_given(options, &object, &head, &bytes, &note, &report->table);
	image->bytes = bytes;
	if (!error)
		error = compare_heads(&head, &object, &note);
	if (!error && note.flags & SFRAME_NOTE_DEBUG && !obj->debug)
		error = "it was made with a separate debug file, which is gone";
	if (error)
		return error;
	report->table = TABLE_GOOD;
	image->size = head.table_size;
	image->vaddr = head.table_vaddr;
	image->private_rules = head.flags & SFRAME_FILE_PRIVATE_RULES;
	*format = head.format;
	return NULL;
}

/* Compare a table with the one that its object carries. */
static const char *compare_copy(const struct object *obj, const struct image *image)
{
	struct table own;

	if (!obj->own.present || own_read(obj, &own))
		return "the object has neither .eh_frame nor a table of its own to compare it with";
	if (own.size != image->size || own.vaddr != image->vaddr ||
	    memcmp(own.start, image->bytes, image->size))
		return "it is no copy of the object's own";
	return NULL;
}

/**
 * given_copy() - check the table of an object without .eh_frame
 * @options:	Which table that is; it may be none.
 * @obj:	The object.
 * @report:	Its @table is set.
 *
 * sframe cache copies the table that such an object carries.
 *
 * Return: NULL, or what is wrong with the table.
 */
const char *given_copy(const struct check_options *options, const struct object *obj,
		       struct report *report)
{
	enum format format;
	const char *error;
	struct image image;

	if (!options->table && !options->dir)
		return NULL;
	error = given_table(options, obj, &image, &format, report);
	if (error && options->dir && !obj->own.present) {
		/* It gets none. */
		report->table = TABLE_GOOD;
		error = NULL;
	} else if (!error) {
		error = compare_copy(obj, &image);
		report->table = error ? TABLE_BAD : TABLE_GOOD;
	}
	image_free(&image);
	return error;
}
