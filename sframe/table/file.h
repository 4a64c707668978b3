/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TABLE_FILE_H
#define _SFRAME_TABLE_FILE_H

#include "table/sframe_table.h"

/**
 * struct file_part - bytes to write
 * @bytes:	The bytes.
 * @size:	Their number.
 */
struct file_part {
	const void	*bytes;
	size_t		size;
};

int file_replace(const char *name, const struct file_part *parts, size_t count);
int file_write(const char *name, const struct sframe_file *object, const struct image *image,
	       enum format format, const struct sframe_note *note);
void file_hash(u8 digest[32], const void *bytes, size_t size);
void file_layout(const struct object *obj, u8 layout[SFRAME_FILE_LAYOUT]);
void file_describe(struct sframe_file *head, const struct object *obj);
bool file_names(const struct sframe_file *head, const struct sframe_file *object);
bool file_is_of(const struct sframe_file *head, const struct sframe_file *object);
bool file_note(int fd, struct sframe_note *note);
const char *file_read_head(int fd, struct sframe_file *head);
const char *file_read_open(int fd, struct sframe_file *head, u8 **table);
const char *file_check(int fd, const struct sframe_file *head, const u8 *bytes);
const char *file_read(const char *name, struct sframe_file *head, u8 **table);

#endif /* _SFRAME_TABLE_FILE_H */
