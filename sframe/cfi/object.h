/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_OBJECT_H
#define _SFRAME_OBJECT_H

#include <gelf.h>
#include <linux/types.h>

#include "base/sframe_file.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

/*
 * Ten times the largest browser's .eh_frame.  A hostile file can make the tool use ten times
 * this size in memory.
 */
#define OBJECT_MAX_CFI	0x8000000ULL

enum object_state {
	OBJECT_OK,
	OBJECT_NO_CFI,		/* neither .eh_frame nor .debug_frame */
	OBJECT_NOT_ELF,
	OBJECT_OTHER_MACHINE,	/* not x86-64 */
	OBJECT_NOT_LINKED,	/* a relocatable object or a core dump */
	OBJECT_DAMAGED,
	OBJECT_GONE,		/* there is no such file, or no longer */
};

/**
 * struct cfi_section - .eh_frame or .debug_frame
 * @data:	Its bytes; NULL if there is no such section.
 * @vaddr:	Its address; pointers in it count from there.
 * @offset:	Where in the file it starts.
 */
struct cfi_section {
	Elf_Data	*data;
	u64		vaddr;
	u64		offset;
};

/**
 * struct own_table - where an object's own table is, as its program header says
 * @present:	It has one.
 * @vaddr:	Its address.
 * @offset:	Where in the file it is; not checked.
 * @size:	Its size in bytes; not checked.
 */
struct own_table {
	bool	present;
	u64	vaddr;
	u64	offset;
	u64	size;
};

/**
 * struct object - an ELF file whose fields that are used have been checked
 * @name:		As the user named it.
 * @error:		What is wrong with it; set for all states but OBJECT_OK.
 * @fd:			The open file.
 * @elf:		libelf's handle of the file.
 * @file_size:		The file's size in bytes.
 * @low:		Lowest address of a segment.
 * @high:		End of the highest segment, exclusive.
 * @fixed:		It is linked for fixed addresses.
 * @detached:		It is a separate debug file, without the code.
 * @text:		Its executable segments.
 * @num_text:		Their number.
 * @search:		Its first PT_GNU_EH_FRAME; zero if it has none.
 * @build_id:		Its build-id, or what it has in its place: see sframe_file.h.
 * @build_id_size:	The build-id's size in bytes; 0 if it has none of 2 to 20 bytes.
 * @is_known:		@build_id has been read.
 * @eh_frame:		Its unwind information.
 * @debug_frame:	The unwind information of its debugging information; see debug_add().
 * @table:		Its .sframe section, if it has one.
 * @own:		Its first PT_GNU_SFRAME.
 * @debug:		Its separate debug file, if @debug_frame is from there; or NULL.
 * @debug_error:	Why its separate debug file is not used; or NULL.
 */
struct object {
	const char		*name;
	const char		*error;
	int			fd;
	Elf			*elf;
	u64			file_size;
	u64			low;
	u64			high;
	bool			fixed;
	bool			detached;
	struct sframe_file_text	text[SFRAME_FILE_MAX_TEXT];
	u32			num_text;
	struct sframe_file_text	search;
	u8			build_id[SFRAME_FILE_MAX_ID];
	u32			build_id_size;
	bool			is_known;
	struct cfi_section	eh_frame;
	struct cfi_section	debug_frame;
	struct cfi_section	table;
	struct own_table	own;
	struct object		*debug;
	const char		*debug_error;
};

enum object_state object_open_file(struct object *obj, const char *name);
enum object_state object_read(struct object *obj);
enum object_state object_open(struct object *obj, const char *name);
void object_close(struct object *obj);
bool object_has_cfi(const struct object *obj);
Elf_Data *object_next_section(const struct object *obj, Elf_Scn **scn, u32 types,
			      GElf_Shdr *shdr, u64 *left);
bool object_is_code(const struct object *obj, u64 start, u64 size);

#endif /* _SFRAME_OBJECT_H */
