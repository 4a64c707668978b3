// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: finds a file's table as the kernel does. */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cache/index.h"
#include "cache/path.h"
#include "cfi/debug.h"
#include "cfi/read.h"
#include "doctor/file.h"
#include "doctor/kernel.h"
#include "table/bare.h"
#include "table/file.h"
#include "table/own.h"

static enum table_state state_for(struct look *look, enum table_state state,
				  const char *why)
{
	snprintf(look->why, sizeof(look->why), "%s", why);
	return state;
}

/* Return why the kernel does not read a table that is in order, or "". */
static void check_own_size(struct look *look, const struct object *obj)
{
	u64 text = 0;

	for (u32 i = 0; i < obj->num_text; i++)
		text += obj->text[i].size;
	if (obj->own.size > OWN_MAX_TABLE)
		snprintf(look->why, sizeof(look->why),
			 "%llu KiB, and the kernel reads at most %d KiB of an object",
			 (unsigned long long)(obj->own.size + 1023) >> 10, OWN_MAX_TABLE >> 10);
	else if (text > OWN_MAX_TEXT)
		snprintf(look->why, sizeof(look->why),
			 "for %llu MiB of code, and the kernel reads those for at most %llu MiB",
			 (unsigned long long)(text + (1 << 20) - 1) >> 20, OWN_MAX_TEXT >> 20);
}

/* Linkers leave out what is compiled without SFrame, and what their version cannot describe. */
static bool is_partial(struct look *look, const struct object *obj, const struct table *table)
{
	struct coverage coverage = { };
	struct cfi cfi;

	if (cfi_read(obj, &cfi))
		own_compare(table, &cfi, &coverage);
	cfi_free(&cfi);
	if (coverage.covered == coverage.functions)
		return false;
	snprintf(look->why, sizeof(look->why), "%zu of %zu functions", coverage.covered,
		 coverage.functions);
	return true;
}

/* The kernel asks this table only where one in the path has no row; there is none. */
static enum table_state look_at_own(struct look *look, const struct object *obj)
{
	struct table table;
	const char *error = own_read(obj, &table);

	look->no_cache = error && !object_has_cfi(obj);
	if (error)
		return state_for(look, TABLE_OWN_DAMAGED, error);
	check_own_size(look, obj);
	if (*look->why)
		return TABLE_OWN_LARGE;
	uncovered_count(obj, &table, &look->uncovered);
	return is_partial(look, obj, &table) ? TABLE_OWN_PARTIAL : TABLE_OWN;
}

static enum table_state look_at_table(struct look *look, const struct sframe_file *object,
				      const char *name)
{
	struct sframe_note note;
	struct sframe_file head;
	const char *error;
	struct stat st;

	snprintf(look->table, sizeof(look->table), "%s", name);
	error = cache_refusal(name, &head, &st, &note);
	if (!error && !file_names(&head, object))
		error = "it was made for another object";
	/* The kernel compares the build-id and the layout only. */
	if (!error && !file_is_of(&head, object))
		return TABLE_WRONG;
	return error ? state_for(look, TABLE_REFUSED, error) : TABLE_IN_PATH;
}

/* Look for a table by one of its two names. */
static enum table_state look_by_name(struct look *look, const struct sframe_file *object,
				     const char *dir, enum place place)
{
	char *name = cache_file_name(dir, object, place);
	enum table_state state = TABLE_MISSING;
	struct stat st;

	if (!name)
		return state_for(look, TABLE_UNREADABLE, "out of memory");
	if (!lstat(name, &st))
		state = look_at_table(look, object, name);
	else if (errno != ENOENT && errno != ENOTDIR)
		state = state_for(look, TABLE_UNREADABLE, strerror(errno));
	free(name);
	return state;
}

/* Whether the file by the first name is a table of another layout. */
static bool has_other_layout(const struct sframe_file *object, const char *dir)
{
	char *name = cache_file_name(dir, object, PLACE_FIRST);
	struct sframe_note note;
	struct sframe_file head;
	struct stat st;
	bool other;

	other = name && !cache_refusal(name, &head, &st, &note) &&
		memcmp(head.layout, object->layout, sizeof(head.layout));
	free(name);
	return other;
}

/* The kernel takes the file of the first directory that has one and names it in its index. */
static enum table_state look_in_path(struct look *look, const struct object *obj)
{
	struct look unnamed = { .state = TABLE_MISSING };
	struct sframe_file object;
	enum table_state state;
	const char *dir;

	file_describe(&object, obj);
	for (size_t i = 0; (dir = kernel_dir(i)); i++) {
		bool named = index_has(kernel_index(i), object.build_id, object.build_id_size,
				       object.layout);
		struct look found = { };

		state = look_by_name(&found, &object, dir, has_other_layout(&object, dir) ?
				     PLACE_LAYOUT : PLACE_FIRST);
		if (named && state != TABLE_MISSING) {
			*look = found;
			return state;
		}
		if (state == TABLE_IN_PATH && unnamed.state == TABLE_MISSING) {
			unnamed = found;
			unnamed.state = TABLE_NOT_INDEXED;
		}
	}
	*look = unnamed;
	return unnamed.state;
}

/* Count what a good table leaves out. */
static void count_uncovered(struct look *look, const struct object *obj)
{
	struct sframe_file head;
	struct table table;
	u8 *bytes;

	if (!file_read(look->table, &head, &bytes) &&
	    !table_open(&table, bytes, head.table_size, head.table_vaddr))
		uncovered_count(obj, &table, &look->uncovered);
	free(bytes);
}

/*
 * Compilers that make no .eh_frame may keep frame pointers, as that of Go, which has .debug_frame
 * unless that is stripped.  Other code is followed.
 */
static enum table_state state_without_table(const struct object *obj)
{
	struct cfi cfi = { };
	enum bare bare;

	if (obj->eh_frame.data || obj->detached)
		return object_has_cfi(obj) ? TABLE_MISSING : TABLE_NO_CFI;
	bare = object_has_cfi(obj) ? bare_judge(obj) : bare_follow(obj, &cfi);
	cfi_free(&cfi);
	if (bare == BARE_FRAMED)
		return TABLE_FRAMED;
	return bare == BARE_FOLLOWED || object_has_cfi(obj) ? TABLE_MISSING : TABLE_NO_CFI;
}

static enum table_state look_at_object(struct look *look, const struct object *obj)
{
	enum table_state state = look_in_path(look, obj);

	look->has_own = obj->own.present;
	if (state == TABLE_IN_PATH)
		count_uncovered(look, obj);
	if (state != TABLE_MISSING)
		return state;
	if (obj->own.present)
		return look_at_own(look, obj);
	return state_without_table(obj);
}

static bool is_32_bit(const struct object *obj)
{
	const char *ident = elf_getident(obj->elf, NULL);

	return ident && ident[EI_CLASS] == ELFCLASS32;
}

/**
 * look_at_file() - find a file's table
 * @name:	The file.
 * @result:	A struct look, filled in.
 *
 * Runs in a process of its own, because the file may be hostile.
 */
void look_at_file(const char *name, void *result)
{
	struct look *look = result;
	struct object obj;

	switch (debug_find(&obj, DEBUG_DIR, object_open(&obj, name))) {
	case OBJECT_OK:
	case OBJECT_NO_CFI:
		look->state = look_at_object(look, &obj);
		break;
	case OBJECT_GONE:
		look->state = TABLE_GONE;
		break;
	case OBJECT_DAMAGED:
		look->state = state_for(look, TABLE_UNREADABLE, obj.error);
		break;
	case OBJECT_OTHER_MACHINE:
		look->state = is_32_bit(&obj) ? TABLE_32_BIT : TABLE_NO_OBJECT;
		break;
	default:
		look->state = TABLE_NO_OBJECT;
		break;
	}
	object_close(&obj);
}
