// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: finds a file's table as the kernel does. */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cache_path.h"
#include "doctor_file.h"
#include "doctor_kernel.h"
#include "table_file.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

static enum table_state state_for(struct look *look, enum table_state state,
				  const char *why)
{
	snprintf(look->why, sizeof(look->why), "%s", why);
	return state;
}

static bool find_own(const struct object *obj, GElf_Phdr *phdr)
{
	size_t count;

	if (elf_getphdrnum(obj->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(obj->elf, i, phdr) && phdr->p_type == PT_GNU_SFRAME)
			return true;
	return false;
}

/* If a header names a table, the kernel looks no further, even if the table is damaged. */
static enum table_state look_at_own(struct look *look, const struct object *obj,
				    const GElf_Phdr *phdr)
{
	Elf_Data *data = NULL;
	struct table table;
	const char *error;

	if (phdr->p_offset <= obj->file_size && phdr->p_filesz <= obj->file_size - phdr->p_offset)
		data = elf_getdata_rawchunk(obj->elf, phdr->p_offset, phdr->p_filesz,
					    ELF_T_BYTE);
	if (!data || !data->d_buf)
		return state_for(look, TABLE_OWN_DAMAGED, "it lies beyond the end of the file");
	error = table_open(&table, data->d_buf, data->d_size, phdr->p_vaddr);
	return error ? state_for(look, TABLE_OWN_DAMAGED, error) : TABLE_OWN;
}

static bool is_of(const struct sframe_file *head, const struct object *obj)
{
	return head->build_id_size == obj->build_id_size &&
	       !memcmp(head->build_id, obj->build_id, obj->build_id_size) &&
	       head->num_text == obj->num_text &&
	       !memcmp(head->text, obj->text, obj->num_text * sizeof(obj->text[0]));
}

/* The kernel compares .eh_frame only if others than root may have written the object. */
static bool is_hashed(const struct object *obj)
{
	struct stat st;

	return fstat(obj->fd, &st) || st.st_uid || (st.st_mode & 022);
}

static enum table_state look_at_table(struct look *look, const struct object *obj,
				      const char *name)
{
	struct sframe_file head;
	const char *error;
	struct stat st;

	snprintf(look->table, sizeof(look->table), "%s", name);
	error = cache_refusal(name, &head, &st);
	if (!error && !is_of(&head, obj))
		error = "it was made for another object";
	if (!error && !file_is_of(&head, obj)) {
		if (!is_hashed(obj))
			return TABLE_WRONG;
		error = "it was made from another .eh_frame";
	}
	return error ? state_for(look, TABLE_REFUSED, error) : TABLE_IN_PATH;
}

/* Look for a table by one of its two names. */
static enum table_state look_by_name(struct look *look, const struct object *obj, const char *dir,
				     enum place place)
{
	char *name = cache_file_name(dir, obj, place);
	enum table_state state = TABLE_MISSING;
	struct stat st;

	if (!name)
		return state_for(look, TABLE_UNREADABLE, "out of memory");
	if (!lstat(name, &st))
		state = look_at_table(look, obj, name);
	else if (errno != ENOENT && errno != ENOTDIR)
		state = state_for(look, TABLE_UNREADABLE, strerror(errno));
	free(name);
	return state;
}

/* Whether the file by the first name is a table of another layout. */
static bool has_other_layout(const struct object *obj, const char *dir)
{
	char *name = cache_file_name(dir, obj, PLACE_FIRST);
	u8 layout[SFRAME_FILE_LAYOUT];
	struct sframe_file head;
	struct stat st;
	bool other;

	file_layout(obj, layout);
	other = name && !cache_refusal(name, &head, &st) &&
		memcmp(head.layout, layout, sizeof(layout));
	free(name);
	return other;
}

/* The kernel takes the file of the first directory that has one. */
static enum table_state look_in_path(struct look *look, const struct object *obj)
{
	enum table_state state = TABLE_MISSING;
	const char *dir;

	for (size_t i = 0; state == TABLE_MISSING && (dir = kernel_dir(i)); i++)
		state = look_by_name(look, obj, dir, has_other_layout(obj, dir) ?
				     PLACE_LAYOUT : PLACE_FIRST);
	return state;
}

static enum table_state look_at_object(struct look *look, const struct object *obj,
				       bool has_cfi)
{
	enum table_state state;
	GElf_Phdr phdr;

	if (find_own(obj, &phdr))
		return look_at_own(look, obj, &phdr);
	if (!cache_can_name(obj))
		return TABLE_NO_BUILD_ID;
	state = look_in_path(look, obj);
	return state == TABLE_MISSING && !has_cfi ? TABLE_NO_CFI : state;
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

	switch (object_open(&obj, name)) {
	case OBJECT_OK:
		look->state = look_at_object(look, &obj, true);
		break;
	case OBJECT_NO_CFI:
		look->state = look_at_object(look, &obj, false);
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
