// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the .debug_frame that strip has moved to a separate debug file,
 *
 *	DIR/.build-id/<first byte>/<other bytes>.debug
 *
 * in lower case hexadecimal digits of the build-id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/open_regular.h"
#include "base/text.h"
#include "cfi/debug.h"
#include "cfi/read.h"

/**
 * debug_open() - open the separate debug file of an object
 * @id:		The object's build-id.
 * @id_size:	Its size in bytes; 0 if the object has none.
 * @dir:	The directory of debug files.
 *
 * Return: a file descriptor, which the caller closes; -1 if there is no such file.
 */
int debug_open(const u8 *id, u32 id_size, const char *dir)
{
	char digits[2 * SFRAME_FILE_MAX_ID + 1], *name;
	struct stat st;
	int fd;

	if (!id_size)
		return -1;
	text_digits(digits, id, id_size);
	if (asprintf(&name, "%s/.build-id/%.2s/%s.debug", dir, digits, digits + 2) < 0)
		return -1;
	fd = open_regular(name, 0, &st);
	free(name);
	return fd;
}

/* Objects may share a build-id, and have code at other addresses. */
static bool is_debug_of(const struct object *debug, const struct object *obj)
{
	return debug->build_id_size == obj->build_id_size &&
	       !memcmp(debug->build_id, obj->build_id, obj->build_id_size) &&
	       debug->num_text == obj->num_text &&
	       !memcmp(debug->text, obj->text, obj->num_text * sizeof(obj->text[0]));
}

/* An object is as it was before if its debug file is damaged. */
static bool is_readable(const struct object *debug)
{
	struct cfi cfi;
	bool is_read = cfi_read(debug, &cfi);

	cfi_free(&cfi);
	return is_read;
}

/**
 * debug_add() - use the .debug_frame of a separate debug file
 * @obj:	The object.  It is left as it was if it has a .debug_frame itself.
 * @fd:		What debug_open() has returned.
 * @state:	What object_read() has returned for @obj.
 *
 * Return: the object's state now.
 */
enum object_state debug_add(struct object *obj, int fd, enum object_state state)
{
	struct object *debug;
	struct stat st;

	if ((state && state != OBJECT_NO_CFI) || obj->debug_frame.data || obj->detached ||
	    !obj->num_text || fd < 0 || fstat(fd, &st)) {
		if (fd >= 0)
			close(fd);
		return state;
	}
	debug = require_memory(calloc(1, sizeof(*debug)));
	*debug = (struct object){ .name = obj->name, .fd = fd, .file_size = st.st_size };
	if (object_read(debug) || !debug->debug_frame.data || !is_debug_of(debug, obj) ||
	    !is_readable(debug)) {
		if (debug->debug_frame.data && is_debug_of(debug, obj))
			obj->debug_error = "the .debug_frame of its separate debug file is damaged";
		object_close(debug);
		free(debug);
		return state;
	}
	obj->debug = debug;
	obj->debug_frame = debug->debug_frame;
	obj->error = NULL;
	return OBJECT_OK;
}

/**
 * debug_find() - use the .debug_frame of an object's separate debug file, if there is one
 * @obj:	The object.
 * @dir:	The directory of debug files.
 * @state:	What object_open() has returned.
 *
 * Return: the object's state now.
 */
enum object_state debug_find(struct object *obj, const char *dir, enum object_state state)
{
	if (state && state != OBJECT_NO_CFI)
		return state;
	return debug_add(obj, debug_open(obj->build_id, obj->build_id_size, dir), state);
}
