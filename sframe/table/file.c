// SPDX-License-Identifier: GPL-2.0
/* Writes and reads table files (base/sframe_file.h), and replaces files at once. */
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_regular.h"
#include "cfi/identity.h"
#include "cfi/text.h"
#include "code/add.h"
#include "table/file.h"

/* The size at which offsets no longer fit their fields. */
#define MAX_TABLE	0x100000000ULL

/**
 * file_hash() - compute the SHA-256 of bytes
 * @digest:	Filled in.
 * @bytes:	The bytes.
 * @size:	Their number.
 */
void file_hash(u8 digest[32], const void *bytes, size_t size)
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, bytes, size);
	SHA256Final(digest, &sha);
}

static void hash_text(const struct object *obj, SHA2_CTX *sha)
{
	struct ranges text = { };

	text_find(obj, &text);
	for (size_t i = 0; i < text.count; i++)
		identity_hash(obj, sha, text.at[i].offset, text.at[i].end - text.at[i].start);
	free(text.at);
}

/* Whether nothing but the code tells apart the tables of objects that are known by the same */
static bool depends_on_text(const struct object *obj)
{
	if (obj->detached)
		return false;
	return obj->eh_frame.data ? !obj->build_id_size : text_size(obj) <= CODE_MAX;
}

/* cache_look() compares an object's .eh_frame with this. */
static void fill_eh_frame(struct sframe_file *head, const struct object *obj)
{
	const struct cfi_section *eh_frame = &obj->eh_frame;
	SHA2_CTX sha;

	SHA256Init(&sha);
	if (eh_frame->data) {
		head->eh_frame_offset = eh_frame->offset;
		head->eh_frame_size = eh_frame->data->d_size;
		SHA256Update(&sha, eh_frame->data->d_buf, eh_frame->data->d_size);
	}
	if (depends_on_text(obj))
		hash_text(obj, &sha);
	SHA256Final(head->eh_frame_sha256, &sha);
}

/**
 * file_layout() - compute an object's layout
 * @obj:	The object.
 * @layout:	Filled in.
 *
 * On x86-64, all words are little endian already.
 */
void file_layout(const struct object *obj, u8 layout[SFRAME_FILE_LAYOUT])
{
	u64 words[1 + 2 * SFRAME_FILE_MAX_TEXT + 2] = { obj->build_id_size }, *to = words + 1;
	u8 digest[32];

	for (u32 i = 0; i < obj->num_text; i++) {
		*to++ = obj->text[i].vaddr;
		*to++ = obj->text[i].size;
	}
	*to++ = obj->search.vaddr;
	*to++ = obj->search.size;
	file_hash(digest, words, (to - words) * sizeof(*to));
	memcpy(layout, digest, SFRAME_FILE_LAYOUT);
}

/**
 * file_describe() - fill in what the header of a table file says about the object
 * @head:	Filled in; what it says about the table stays 0.
 * @obj:	The object.
 */
void file_describe(struct sframe_file *head, const struct object *obj)
{
	*head = (struct sframe_file){
		.num_text = obj->num_text,
		.build_id_size = obj->build_id_size,
	};
	memcpy(head->build_id, obj->build_id, sizeof(head->build_id));
	memcpy(head->text, obj->text, sizeof(head->text));
	fill_eh_frame(head, obj);
	file_layout(obj, head->layout);
}

static void fill_head(struct sframe_file *head, const struct sframe_file *object,
		      const struct image *image, enum format format)
{
	*head = *object;
	memcpy(head->magic, SFRAME_FILE_MAGIC, sizeof(head->magic));
	head->version = SFRAME_FILE_VERSION;
	head->header_size = offsetof(struct sframe_file, text) +
			    head->num_text * sizeof(head->text[0]);
	head->table_offset = SFRAME_FILE_TABLE;
	head->table_size = image->size;
	head->table_vaddr = image->vaddr;
	head->format = format;
	head->flags = image->private_rules ? SFRAME_FILE_PRIVATE_RULES : 0;
	head->unused = 0;
}

static void fill_note(struct sframe_note *to, const struct sframe_note *from,
		      const struct image *image)
{
	if (from)
		*to = *from;
	memcpy(to->magic, SFRAME_NOTE_MAGIC, sizeof(to->magic));
	to->maker = SFRAME_NOTE_MAKER;
	file_hash(to->sha256, image->bytes, image->size);
}

static bool write_all(int fd, const void *bytes, size_t size)
{
	while (size) {
		ssize_t ret = write(fd, bytes, size);

		if (ret < 0 && errno == EINTR)
			continue;
		if (!ret)
			errno = EIO;
		if (ret <= 0)
			return false;
		bytes = (const char *)bytes + ret;
		size -= ret;
	}
	return true;
}

/* Hold signals back, so that no partial file is left over. */
static void hold_signals(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, old);
}

/**
 * file_replace() - write a file at once
 * @name:	The file, which appears complete or not at all, readable by all.
 * @parts:	What to write, one part after the other.
 * @count:	Number of parts.
 *
 * Return: 0, or a negative errno.
 */
int file_replace(const char *name, const struct file_part *parts, size_t count)
{
	int fd, ret = 0;
	char *partial;
	sigset_t old;

	if (asprintf(&partial, "%s.XXXXXX", name) < 0)
		return -ENOMEM;
	hold_signals(&old);
	fd = mkostemp(partial, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		goto out_free;
	}
	for (size_t i = 0; i < count && !ret; i++)
		if (!write_all(fd, parts[i].bytes, parts[i].size))
			ret = -errno;
	if (!ret && fchmod(fd, 0644))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(partial, name))
		ret = -errno;
	if (ret)
		unlink(partial);
out_free:
	sigprocmask(SIG_SETMASK, &old, NULL);
	free(partial);
	return ret;
}

/**
 * file_write() - write a table file
 * @name:	The file, which appears complete or not at all.
 * @object:	The object that the table is for, as file_describe() describes it.
 * @image:	The table.
 * @format:	The version of the format.
 * @note:	What to note, besides magic, maker and hash; NULL for nothing.
 *
 * Return: 0, or a negative errno.
 */
int file_write(const char *name, const struct sframe_file *object, const struct image *image,
	       enum format format, const struct sframe_note *note)
{
	union {
		struct sframe_file head;
		struct {
			u8 before[SFRAME_NOTE_OFFSET];
			struct sframe_note note;
		};
		u8 page[SFRAME_FILE_TABLE];
	} first = { };
	struct file_part parts[] = {
		{ &first, sizeof(first) },
		{ image->bytes, image->size },
	};

	fill_head(&first.head, object, image, format);
	fill_note(&first.note, note, image);
	return file_replace(name, parts, ARRAY_SIZE(parts));
}

static const char *check_head(const struct sframe_file *head, u64 file_size)
{
	if (memcmp(head->magic, SFRAME_FILE_MAGIC, sizeof(head->magic)))
		return "not a table file";
	if (head->version != SFRAME_FILE_VERSION ||
	    head->flags & ~SFRAME_FILE_PRIVATE_RULES)
		return "a table file of another version";
	if (head->num_text > SFRAME_FILE_MAX_TEXT ||
	    head->build_id_size > SFRAME_FILE_MAX_ID)
		return "the header is damaged";
	if (head->table_offset > file_size ||
	    head->table_size > file_size - head->table_offset ||
	    head->table_size >= MAX_TABLE)
		return "the table lies beyond the end of the file";
	return NULL;
}

static bool read_all(int fd, void *to, size_t size, u64 offset)
{
	while (size) {
		ssize_t ret = pread(fd, to, size, offset);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return false;
		to = (char *)to + ret;
		size -= ret;
		offset += ret;
	}
	return true;
}

/**
 * file_read_head() - read the header of a table file that is open
 * @fd:		The file.
 * @head:	Filled in and checked.
 *
 * Return: NULL, or what is wrong with the file.
 */
const char *file_read_head(int fd, struct sframe_file *head)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    !read_all(fd, head, sizeof(*head), 0))
		return "not a table file";
	return check_head(head, st.st_size);
}

/**
 * file_read_open() - read a table file that is open
 * @fd:		The file.
 * @head:	Filled in and checked.
 * @table:	The table, which the caller frees.
 *
 * Return: NULL, or what is wrong with the file.
 */
const char *file_read_open(int fd, struct sframe_file *head, u8 **table)
{
	const char *error = file_read_head(fd, head);

	*table = NULL;
	if (!error) {
		*table = malloc(head->table_size + 1);
		if (!*table || !read_all(fd, *table, head->table_size,
					 head->table_offset))
			error = "cannot be read whole";
	}
	return error;
}

/**
 * file_names() - whether a table was made for an object
 * @head:	The header of the table's file.
 * @object:	The object, as file_describe() describes it.
 *
 * Return: whether build-id and executable segments are the same.
 */
bool file_names(const struct sframe_file *head, const struct sframe_file *object)
{
	return head->build_id_size == object->build_id_size &&
	       !memcmp(head->build_id, object->build_id, sizeof(head->build_id)) &&
	       head->num_text == object->num_text &&
	       !memcmp(head->text, object->text, head->num_text * sizeof(head->text[0]));
}

/**
 * file_is_of() - whether a table was made from an object's .eh_frame
 * @head:	The header of the table's file.
 * @object:	The object, as file_describe() describes it.
 *
 * Return: whether the place, the size and the SHA-256 of .eh_frame are the same, or those of the
 * text if there is none.
 */
bool file_is_of(const struct sframe_file *head, const struct sframe_file *object)
{
	return head->eh_frame_size == object->eh_frame_size &&
	       head->eh_frame_offset == object->eh_frame_offset &&
	       !memcmp(head->eh_frame_sha256, object->eh_frame_sha256,
		       sizeof(head->eh_frame_sha256));
}

/**
 * file_note() - read the tool's note
 * @fd:		The file of a table.
 * @note:	Filled in; zero without a note.
 *
 * Return: whether the file has a note.
 */
bool file_note(int fd, struct sframe_note *note)
{
	if (!read_all(fd, note, sizeof(*note), SFRAME_NOTE_OFFSET) ||
	    memcmp(note->magic, SFRAME_NOTE_MAGIC, sizeof(note->magic))) {
		*note = (struct sframe_note){ };
		return false;
	}
	note->name[sizeof(note->name) - 1] = '\0';
	return true;
}

/**
 * file_check() - check a table file from its header to its end
 * @fd:		The file.
 * @head:	What file_read_open() has filled in.
 * @bytes:	The table.
 *
 * Return: NULL, or what is wrong with the table.
 */
const char *file_check(int fd, const struct sframe_file *head, const u8 *bytes)
{
	struct sframe_note note;
	struct table table;
	const char *error;
	u8 digest[32];

	error = table_open(&table, bytes, head->table_size, head->table_vaddr);
	if (error)
		return error;
	if (!file_note(fd, &note))
		return table_check(&table);
	file_hash(digest, bytes, head->table_size);
	return memcmp(digest, note.sha256, sizeof(digest)) ? "the table is damaged" : NULL;
}

/**
 * file_read() - read a table file
 * @name:	Its name.
 * @head:	Filled in and checked.
 * @table:	The table, which the caller frees.
 *
 * Return: NULL, or what is wrong with the file.
 */
const char *file_read(const char *name, struct sframe_file *head, u8 **table)
{
	const char *error;
	struct stat st;
	int fd;

	*table = NULL;
	fd = open_regular(name, 0, &st);
	if (fd < 0)
		return open_error(errno);
	error = file_read_open(fd, head, table);
	close(fd);
	return error;
}
