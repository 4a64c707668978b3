/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a process registers a split table that the kernel does not find: check that @build_id
 * is the object's build-id.  Map @table_size bytes from @table_offset read-only at
 * @table_vaddr + bias, where bias is the difference between the object's addresses in memory
 * and in the file (l_addr of its link map).  Register the table and each of @text with the
 * kernel, adding bias.
 *
 * The start of a function is relative to its own field in the table, so a table is valid at
 * one distance from its object only.  By default, the table lies 1 GiB below the object's
 * lowest address.  Objects do not overlap, so their tables do not overlap either, as long as
 * a table is not longer than its object.  Below a program at fixed addresses there is no
 * room; its table lies 1 GiB above its end, where only a very large heap reaches it.  If the
 * addresses are in use (map with MAP_FIXED_NOREPLACE), copy the table to another place and
 * add (table_vaddr + bias - place) to each function's start.
 *
 * Tables of version 1 may lack functions of .debug_frame.
 */
#ifndef _SFRAME_FILE_H
#define _SFRAME_FILE_H

#include "uapi/linux/sframe_file.h"

enum format {
	FORMAT_V2 = 2,
	FORMAT_V3 = 3,
	FORMAT_DEFAULT = FORMAT_V3,
};

/*
 * The tool's own note is in the first page, after the largest header.  The kernel does not
 * read it, and a file of another maker may have none.
 */
#define SFRAME_NOTE_OFFSET	2048
#define SFRAME_NOTE_MAGIC	"SFRMNOTE"

/*
 * Grows with what the tool's tables have; sframe cache makes older ones anew.  1: followed code;
 * 2: callers by what their callees save; 3: parts that change the frame pointer; 4: registers that
 * parts keep; 5: functions whose CFA has no meaning somewhere, where it has one; 6: frames that are
 * probed, and more jumps by tables.
 */
#define SFRAME_NOTE_MAKER	6

/* sframe_note::flags: the object was not one of the system's; see cache_look(). */
#define SFRAME_NOTE_OUTSIDE	0x1
/* The object's separate debug file has been read, too. */
#define SFRAME_NOTE_DEBUG	0x2

/* Room for the name of a file, with its zero, up to the end of the page */
#define SFRAME_NOTE_NAME	1976

/**
 * struct sframe_note - what the tool notes about a table
 * @magic:	SFRAME_NOTE_MAGIC, without a terminating zero.
 * @flags:	SFRAME_NOTE_* flags.
 * @maker:	SFRAME_NOTE_MAKER of the tool that made the table.
 * @sha256:	SHA-256 of the table.
 * @text:	As in struct uncovered; 0 if it is not known.
 * @uncovered:	As @bytes in struct uncovered.
 * @framed:	As in struct uncovered.
 * @name:	The file that the table was made from; "" if it is not known.
 */
struct sframe_note {
	char	magic[8];
	__u32	flags;
	__u32	maker;
	__u8	sha256[32];
	__u64	text;
	__u64	uncovered;
	__u64	framed;
	char	name[SFRAME_NOTE_NAME];
};

_Static_assert(sizeof(struct sframe_file) <= SFRAME_NOTE_OFFSET,
	       "the note is after the header");
_Static_assert(SFRAME_NOTE_OFFSET + sizeof(struct sframe_note) == SFRAME_FILE_TABLE,
	       "the note ends where the table begins");

#endif /* _SFRAME_FILE_H */
