// SPDX-License-Identifier: GPL-2.0
/*
 * Finds what the kernel knows an object by: its build-id, or a hash of its headers.
 *
 * The kernel's object.c and split.c read the same bytes in the same order.  Section headers do
 * not count, as the kernel does not read them.
 */
#include <errno.h>
#include <sha2.h>
#include <string.h>
#include <unistd.h>

#include "cfi/identity.h"

/* As in the kernel's object.c */
#define MAX_NOTES	16
/* The name of a table has the first byte of the build-id and the others. */
#define MIN_ID		2

struct note_head {
	Elf64_Nhdr	note;
	char		name[4];
};

static bool read_at(const struct object *obj, void *to, u64 from, size_t size)
{
	return from <= obj->file_size && obj->file_size - from >= size &&
	       pread(obj->fd, to, size, from) == (ssize_t)size;
}

/* The size of a note's name or content with what pads it */
static u64 align_note(u32 size)
{
	return ((u64)size + 3) & ~3ULL;
}

static bool is_build_id(const struct note_head *head, u64 left)
{
	return head->note.n_type == NT_GNU_BUILD_ID && head->note.n_namesz == sizeof(head->name) &&
	       !memcmp(head->name, "GNU", sizeof(head->name)) &&
	       head->note.n_descsz >= MIN_ID &&
	       head->note.n_descsz <= SFRAME_INDEX_MAX_ID && head->note.n_descsz <= left;
}

/**
 * identity_set() - set the build-id of an object
 * @obj:	The object.
 * @id:		The build-id.
 * @size:	Its size in bytes.
 *
 * Return: false if the kernel does not take it for a build-id.
 */
bool identity_set(struct object *obj, const u8 *id, u32 size)
{
	if (size < MIN_ID || size > SFRAME_INDEX_MAX_ID)
		return false;
	memset(obj->build_id, 0, sizeof(obj->build_id));
	memcpy(obj->build_id, id, size);
	obj->build_id_size = size;
	obj->is_known = true;
	return true;
}

/*
 * Look for the build-id among the notes of a segment.  @notes counts down.  Returns false if they
 * cannot be read.
 */
static bool find_build_id(struct object *obj, const GElf_Phdr *phdr, unsigned int *notes)
{
	u64 at = phdr->p_offset, left = phdr->p_filesz, size;
	u8 id[SFRAME_INDEX_MAX_ID];
	struct note_head head;

	while (left >= sizeof(head) && *notes) {
		(*notes)--;
		if (!read_at(obj, &head, at, sizeof(head)))
			return false;
		size = sizeof(head.note) + align_note(head.note.n_namesz);
		if (size <= left && is_build_id(&head, left - size))
			return read_at(obj, id, at + size, head.note.n_descsz) &&
			       identity_set(obj, id, head.note.n_descsz);
		size += align_note(head.note.n_descsz);
		if (size > left)
			break;
		at += size;
		left -= size;
	}
	return true;
}

/**
 * identity_hash() - add a part of an object's file to a hash
 * @obj:	The object.
 * @hash:	The hash.
 * @from:	Where in the file the part begins.
 * @size:	Its size in bytes.
 *
 * Return: whether all of it could be read.
 */
bool identity_hash(const struct object *obj, SHA2_CTX *hash, u64 from, u64 size)
{
	u8 bytes[4096];

	for (size_t part; size; from += part, size -= part) {
		part = size < sizeof(bytes) ? size : sizeof(bytes);
		if (!read_at(obj, bytes, from, part))
			return false;
		SHA256Update(hash, bytes, part);
	}
	return true;
}

static bool hash_headers(struct object *obj)
{
	u64 first = obj->file_size < SFRAME_FILE_HEADERS ? obj->file_size : SFRAME_FILE_HEADERS;
	u8 digest[SHA256_DIGEST_LENGTH];
	GElf_Ehdr ehdr;
	SHA2_CTX hash;

	SHA256Init(&hash);
	if (!gelf_getehdr(obj->elf, &ehdr) || !identity_hash(obj, &hash, 0, first) ||
	    !identity_hash(obj, &hash, ehdr.e_phoff, ehdr.e_phnum * sizeof(Elf64_Phdr)))
		return false;
	SHA256Final(digest, &hash);
	memcpy(obj->build_id, digest, SFRAME_INDEX_MAX_ID);
	obj->is_known = true;
	return true;
}

/**
 * identity_find() - find what the kernel knows an object by
 * @obj:	The object, whose headers have been checked.
 *
 * The kernel refuses an object whose notes lie beyond its end.
 *
 * Return: false if it cannot be read; errno is 0 if it lies beyond the end of the file.
 */
bool identity_find(struct object *obj)
{
	unsigned int notes = MAX_NOTES;
	GElf_Phdr phdr;
	size_t count;

	errno = 0;
	if (elf_getphdrnum(obj->elf, &count))
		return false;
	for (size_t i = 0; i < count && !obj->is_known; i++)
		if (gelf_getphdr(obj->elf, i, &phdr) && phdr.p_type == PT_NOTE &&
		    !find_build_id(obj, &phdr, &notes))
			return false;
	return obj->is_known || hash_headers(obj);
}
