// SPDX-License-Identifier: GPL-2.0
/*
 * Reads ELF objects, from the page cache or from the kernel's memory.
 *
 * The content is hostile: every offset is checked against the object's size before it is
 * used.  Only pages that are resident are read.  So no file system can delay the reader,
 * which is a task that somebody profiles.
 */

#include <linux/elf.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/secretmem.h>
#include <linux/string.h>

#include "object.h"

/* ld writes a dozen program headers. */
#define OBJECT_MAX_PHDRS	64
/* Maximum number of notes of an object to look at */
#define OBJECT_MAX_NOTES	16
#define OBJECT_NOTE_BUILD_ID	3
/* The name of a table has the first byte of the build-id and the others. */
#define OBJECT_MIN_ID		2

/* Read from the page that contains @from.  Returns the number of bytes or an error. */
static ssize_t object_read_page(struct address_space *mapping, void *to, u64 from, u64 len)
{
	struct folio *folio = filemap_get_folio(mapping, from >> PAGE_SHIFT);
	ssize_t nr = -EAGAIN;

	if (IS_ERR(folio))
		return nr;
	if (folio_test_uptodate(folio) && !folio_contain_hwpoisoned_page(folio)) {
		nr = min_t(u64, len, PAGE_SIZE - offset_in_page(from));
		memcpy_from_folio(to, folio, offset_in_folio(folio, from), nr);
	}
	folio_put(folio);
	return nr;
}

/**
 * unwind_object_read() - read a part of an object
 * @object: The object.
 * @to: Buffer of at least @len bytes.
 * @from: Offset in the object.
 * @len: Number of bytes to read.
 *
 * Context: Process context; does not sleep.  Something keeps the inode of @object alive.
 * Return: 0; -ENOEXEC if the object ends before @from + @len; -EAGAIN if a page is not
 * resident.
 */
int unwind_object_read(const struct unwind_object *object, void *to, u64 from, u64 len)
{
	ssize_t nr;

	if (from > object->size || object->size - from < len)
		return -ENOEXEC;
	if (!object->mapping) {
		memcpy(to, object->image + from, len);
		return 0;
	}
	if (secretmem_mapping(object->mapping) || mapping_inaccessible(object->mapping))
		return -ENOEXEC;
	for (; len; from += nr, to += nr, len -= nr) {
		nr = object_read_page(object->mapping, to, from, len);
		if (nr < 0)
			return nr;
	}
	return 0;
}

static bool object_is_ours(const struct elf64_hdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELF_DATA &&
	       elf_check_arch(header) &&
	       (header->e_type == ET_DYN || header->e_type == ET_EXEC) &&
	       header->e_phentsize == sizeof(struct elf64_phdr) &&
	       header->e_phnum <= OBJECT_MAX_PHDRS;
}

/* Add an executable segment.  A byte of the file is code of one segment only. */
static int object_add_code(const struct unwind_object *object, const struct elf64_phdr *phdr,
			   struct unwind_layout *layout)
{
	const struct unwind_code *other;
	unsigned int i;

	if (!phdr->p_memsz)
		return 0;
	if (layout->nr_code == UNWIND_MAX_CODE)
		return -E2BIG;
	/* The index of rows grows with the code, so the file has to contain all of the code. */
	if (phdr->p_offset > object->size || object->size - phdr->p_offset < phdr->p_filesz ||
	    phdr->p_filesz > phdr->p_memsz)
		return -EBADMSG;
	for (i = 0; i < layout->nr_code; i++) {
		other = &layout->code[i];
		if (phdr->p_offset < other->offset + other->size &&
		    other->offset < phdr->p_offset + phdr->p_filesz)
			return -EBADMSG;
	}
	layout->code[layout->nr_code++] = (struct unwind_code){
		.vaddr = phdr->p_vaddr, .memory = phdr->p_memsz,
		.offset = phdr->p_offset, .size = phdr->p_filesz,
	};
	return 0;
}

/*
 * Look for the build-id among the notes of a segment, as build_id_parse() does, but at few notes
 * only: @notes counts down.
 */
static int object_find_id(const struct unwind_object *object, const struct elf64_phdr *phdr,
			  struct unwind_layout *layout, unsigned int *notes)
{
	static const char name[] = "GNU";
	u64 at = phdr->p_offset, left = phdr->p_filesz, size;
	struct {
		struct elf64_note	note;
		char			name[sizeof(name)];
	} head;
	int ret;

	while (left >= sizeof(head) && !layout->id_size && *notes) {
		(*notes)--;
		ret = unwind_object_read(object, &head, at, sizeof(head));
		if (ret)
			return ret;
		size = sizeof(head.note) + ALIGN((u64)head.note.n_namesz, 4);
		if (head.note.n_type == OBJECT_NOTE_BUILD_ID &&
		    head.note.n_namesz == sizeof(name) && !memcmp(head.name, name, sizeof(name)) &&
		    head.note.n_descsz >= OBJECT_MIN_ID &&
		    head.note.n_descsz <= sizeof(layout->id) &&
		    head.note.n_descsz <= left - size) {
			layout->id_size = head.note.n_descsz;
			return unwind_object_read(object, layout->id, at + size, layout->id_size);
		}
		size += ALIGN((u64)head.note.n_descsz, 4);
		if (size > left)
			break;
		at += size;
		left -= size;
	}
	return 0;
}

static int object_add_phdr(const struct unwind_object *object, const struct elf64_phdr *phdr,
			   struct unwind_layout *layout, unsigned int *notes)
{
	switch (phdr->p_type) {
	case PT_LOAD:
		return phdr->p_flags & PF_X ? object_add_code(object, phdr, layout) : 0;
	case PT_NOTE:
		return object_find_id(object, phdr, layout, notes);
	case PT_GNU_EH_FRAME:
		if (!layout->eh_frame.size) {
			layout->eh_frame.vaddr = phdr->p_vaddr;
			layout->eh_frame.size = phdr->p_memsz;
		}
		return 0;
	case PT_GNU_SFRAME:
		if (!layout->table.size) {
			layout->table.offset = phdr->p_offset;
			layout->table.size = phdr->p_filesz;
			layout->table.vaddr = phdr->p_vaddr;
		}
		return 0;
	default:
		return 0;
	}
}

/**
 * unwind_object_parse() - read the program headers and the build-id of an object
 * @object: The object.
 * @layout: Set to what they say.
 *
 * Context: As unwind_object_read().
 * Return: 0; -ENOEXEC if @object is no 64-bit ELF object of this architecture, or has too many
 * headers; -E2BIG if it has too many executable segments; -EBADMSG if they overlap in the file
 * or end after it; -EAGAIN if a page is not resident.
 */
int unwind_object_parse(const struct unwind_object *object, struct unwind_layout *layout)
{
	struct elf64_hdr header;
	unsigned int i, notes = OBJECT_MAX_NOTES;
	struct elf64_phdr phdr;
	int ret;

	*layout = (struct unwind_layout){ };
	ret = unwind_object_read(object, &header, 0, sizeof(header));
	if (!ret && !object_is_ours(&header))
		ret = -ENOEXEC;
	for (i = 0; !ret && i < header.e_phnum; i++) {
		ret = unwind_object_read(object, &phdr, header.e_phoff + i * sizeof(phdr),
					 sizeof(phdr));
		if (!ret)
			ret = object_add_phdr(object, &phdr, layout, &notes);
	}
	return ret;
}
