/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * A split table: a file with an SFrame table for an object that carries none.
 *
 *	+------------------------+ 0
 *	| struct sframe_file     |
 *	| zeros                  |
 *	+------------------------+ table_offset: SFRAME_FILE_TABLE
 *	| the table: the bytes   |
 *	| of a .sframe section   |
 *	+------------------------+ table_offset + table_size
 *
 * All fields are little endian and naturally aligned.  The kernel looks for the table of an
 * object with the build-id xxyyyy... at DIR/xx/yyyy....v3, in lower case hexadecimal digits,
 * in each of the directories of the sysctl kernel.unwind_table_path.
 *
 * The starts of functions count from their own place in the table, which the table takes
 * to be at @table_vaddr in the object's own address space.
 */
#ifndef _UAPI_LINUX_SFRAME_FILE_H
#define _UAPI_LINUX_SFRAME_FILE_H

#include <linux/types.h>

#define SFRAME_FILE_MAGIC	"SFRMTAB1"
#define SFRAME_FILE_VERSION	2
/* Of the tables in a cache. */
#define SFRAME_FILE_FORMAT	3
#define SFRAME_FILE_TABLE	4096
#define SFRAME_FILE_MAX_TEXT	64
#define SFRAME_FILE_MAX_ID	32

/**
 * struct sframe_file_text - an executable segment of the object
 * @vaddr:	Its address as linked.
 * @size:	Its bytes in memory.
 */
struct sframe_file_text {
	__u64	vaddr;
	__u64	size;
};

/**
 * struct sframe_file - the start of a split table
 * @magic:		SFRAME_FILE_MAGIC, no zero at its end.
 * @version:		SFRAME_FILE_VERSION; a reader refuses any other.
 * @header_size:	Bytes up to and with the last valid @text.
 * @table_offset:	Where in the file the table starts: SFRAME_FILE_TABLE.
 * @table_size:		Bytes of the table.
 * @table_vaddr:	Where in the object's own address space the table lies, modulo
 *			2^64: below the object, it is "negative".
 * @format:		SFrame version of the table: 2 or 3.
 * @num_text:		Number of @text, SFRAME_FILE_MAX_TEXT at most.
 * @build_id_size:	Valid bytes of @build_id; 0: the object has none.
 * @reserved:		Zero.
 * @build_id:		The object's build-id.
 * @text:		The object's executable segments.
 */
struct sframe_file {
	char	magic[8];
	__u32	version;
	__u32	header_size;
	__u64	table_offset;
	__u64	table_size;
	__u64	table_vaddr;
	__u32	format;
	__u32	num_text;
	__u32	build_id_size;
	__u32	reserved;
	__u8	build_id[SFRAME_FILE_MAX_ID];
	struct sframe_file_text text[SFRAME_FILE_MAX_TEXT];
};

#endif /* _UAPI_LINUX_SFRAME_FILE_H */
