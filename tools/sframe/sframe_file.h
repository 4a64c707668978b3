/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a process uses a split table by itself, where the kernel does not find it: the
 * object's build-id must be @build_id.  Map @table_size bytes from @table_offset
 * read-only at @table_vaddr + bias, where bias is what the dynamic linker added to the
 * object's own addresses (l_addr of its link map), and name to the kernel the table and
 * each of @text, bias added.
 *
 * The starts of functions count from their own place in the table, so a table
 * is good at one distance from its object only.  The distance, 1 GiB below the
 * object's lowest address unless chosen otherwise, is the same for all
 * objects: objects do not overlap, so their tables do not either as long as a
 * table is no longer than its object, and the place is free in any process that
 * does not fill its address space.  A program at fixed addresses has no room
 * below; its table lies 1 GiB above its end, out of reach of all but the largest
 * heaps.  Where the place is taken (map with MAP_FIXED_NOREPLACE), copy the
 * table elsewhere and add (table_vaddr + bias - place) to each function's start.
 *
 * Tables of version 1 may lack functions of .debug_frame.
 */
#ifndef _TOOLS_SFRAME_FILE_H
#define _TOOLS_SFRAME_FILE_H

#include "uapi/linux/sframe_file.h"

_Static_assert(sizeof(struct sframe_file) <= SFRAME_FILE_TABLE,
	       "the header fits the first page");

#endif /* _TOOLS_SFRAME_FILE_H */
