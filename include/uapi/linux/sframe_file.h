/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * A split table: a file with an SFrame table for an object that carries none.
 *
 *	+------------------------+ 0
 *	| struct sframe_file     |
 *	| notes of its maker     |
 *	+------------------------+ table_offset: SFRAME_FILE_TABLE
 *	| the table: the bytes   |
 *	| of a .sframe section   |
 *	+------------------------+ table_offset + table_size
 *
 * All fields are little endian and naturally aligned.
 *
 * The kernel looks for a table in each directory DIR of the sysctl kernel.unwind_table_path,
 * if DIR/index.v4 names the object's build-id and layout.  For the build-id xxyyyy..., in
 * lower case hexadecimal digits, it opens DIR/xx/yyyy....v4 first.  If that file has another
 * layout, the kernel opens DIR/xx/yyyy...-LAYOUT.v4, with the object's layout in lower case
 * hexadecimal digits.
 *
 * The start address in each FDE is relative to the FDE itself, as if the table were at
 * @table_vaddr in the object's address space.
 *
 * An object whose program headers name no build-id of 2 to SFRAME_INDEX_MAX_ID bytes, among the
 * first 16 notes, is known by its headers.  In place of the build-id, it has the first
 * SFRAME_INDEX_MAX_ID bytes of the SHA-256 of the first SFRAME_FILE_HEADERS bytes of its file, or
 * of all if there are fewer, and of its program headers once more.
 *
 * The layout of an object is the first SFRAME_FILE_LAYOUT bytes of the SHA-256 of these
 * 64-bit words, which are little endian:
 *
 *	size of the build-id in bytes; 0 if the object is known by its headers
 *	p_vaddr, p_memsz of each PT_LOAD with PF_X and p_memsz != 0, in the order of the
 *			 program headers
 *	p_vaddr, p_memsz of the first PT_GNU_EH_FRAME; 0, 0 if there is none
 */
#ifndef _UAPI_LINUX_SFRAME_FILE_H
#define _UAPI_LINUX_SFRAME_FILE_H

#include <linux/types.h>

#define SFRAME_FILE_MAGIC	"SFRMTAB1"
#define SFRAME_FILE_VERSION	4
#define SFRAME_FILE_TABLE	4096
#define SFRAME_FILE_MAX_TEXT	64
#define SFRAME_FILE_MAX_ID	32
#define SFRAME_FILE_HEADERS	4096
#define SFRAME_FILE_LAYOUT	12

/*
 * sframe_file::flags: the table has what no version of SFrame has.
 *
 * CFA rules of the form *(register + offset) + addend: in a flexible FDE of version 3, the
 * control word of such a CFA has the bits 0x7, and a third word, the addend, follows its offset.
 *
 * Functions, or parts of them, whose rows follow from instructions: in version 3,
 * bit 0x20 of the fourth byte of the attributes, which has the type of the FDE.  Readers check
 * the return addresses that these rows lead to.  Without rows, nothing is known of the code.
 */
#define SFRAME_FILE_PRIVATE_RULES	0x1

/**
 * struct sframe_file_text - an executable segment of the object
 * @vaddr:	Address of the segment as linked.
 * @size:	Size of the segment in memory, in bytes.
 */
struct sframe_file_text {
	__u64	vaddr;
	__u64	size;
};

/**
 * struct sframe_file - header of a split table
 * @magic:		SFRAME_FILE_MAGIC, without a terminating zero.
 * @version:		SFRAME_FILE_VERSION.  Readers refuse any other version.
 * @header_size:	Number of bytes up to the end of the last valid @text.
 * @table_offset:	Offset of the table in the file, SFRAME_FILE_TABLE.
 * @table_size:		Size of the table in bytes.
 * @table_vaddr:	Address of the table in the object's address space, modulo 2^64.  A
 *			table below the object has a "negative" address.
 * @format:		SFrame version of the table, 2 or 3.
 * @num_text:		Number of valid entries in @text, at most SFRAME_FILE_MAX_TEXT.
 * @build_id_size:	Size of the build-id in bytes, 0 if the object is known by its headers.
 * @flags:		SFRAME_FILE_* flags.  Readers refuse files with unknown flags.
 * @build_id:		Build-id of the object, or what it has in its place, with zeros after it.
 * @eh_frame_offset:	Offset of the .eh_frame section in the object's file.
 * @eh_frame_size:	Size of the .eh_frame section in bytes, 0 if there is none.
 * @eh_frame_sha256:	SHA-256 of the .eh_frame section.  If there is none, or no build-id, the
 *			code may follow.  Readers do not look at it.
 * @layout:		Layout of the object.
 * @unused:		0
 * @text:		Executable segments of the object.
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
	__u32	flags;
	__u8	build_id[SFRAME_FILE_MAX_ID];
	__u64	eh_frame_offset;
	__u64	eh_frame_size;
	__u8	eh_frame_sha256[32];
	__u8	layout[SFRAME_FILE_LAYOUT];
	__u32	unused;
	struct sframe_file_text text[SFRAME_FILE_MAX_TEXT];
};

/*
 * The index of a directory, DIR/index.v4: struct sframe_index, and @nr entries.  They are
 * sorted as by memcmp(), and no two are equal.  A directory without a valid index has no
 * tables.
 */
#define SFRAME_INDEX_MAGIC	"SFRMIDX1"
#define SFRAME_INDEX_VERSION	4
#define SFRAME_INDEX_MAX_ID	20
#define SFRAME_INDEX_MAX	262144

/**
 * struct sframe_index - header of an index
 * @magic:	SFRAME_INDEX_MAGIC, without a terminating zero.
 * @version:	SFRAME_INDEX_VERSION.  Readers refuse any other version.
 * @entry_size:	Size of struct sframe_index_entry in bytes.
 * @nr:		Number of entries, at most SFRAME_INDEX_MAX.
 */
struct sframe_index {
	char	magic[8];
	__u32	version;
	__u32	entry_size;
	__u64	nr;
};

/**
 * struct sframe_index_entry - an object whose table is in the directory
 * @build_id:	Build-id of the object, or what it has in its place, with zeros after it.
 * @layout:	Layout of the object.
 */
struct sframe_index_entry {
	__u8	build_id[SFRAME_INDEX_MAX_ID];
	__u8	layout[SFRAME_FILE_LAYOUT];
};

#endif /* _UAPI_LINUX_SFRAME_FILE_H */
