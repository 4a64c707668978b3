// SPDX-License-Identifier: GPL-2.0
/*
 * Opens an ELF file, and finds its segments, build-id and unwind information.
 *
 * The file may be hostile.  It is read, not mapped: if it shrinks meanwhile, reading fails,
 * where a mapping would raise SIGBUS.  libelf checks that sections lie inside the file.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/open_regular.h"
#include "cfi/identity.h"
#include "cfi/object.h"

#define MAX_NOTE_SIZE	0x100000ULL
/* The size of a decompressed section, in multiples of the file's size */
#define MAX_EXPANSION	16

static enum object_state object_fail(struct object *obj, enum object_state state,
				     const char *error)
{
	obj->error = error;
	return state;
}

static enum object_state check_header(struct object *obj)
{
	const char *ident = elf_getident(obj->elf, NULL);
	GElf_Ehdr ehdr;

	if (elf_kind(obj->elf) != ELF_K_ELF)
		return object_fail(obj, OBJECT_NOT_ELF, "not an ELF file");
	if (!ident || ident[EI_CLASS] != ELFCLASS64 ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return object_fail(obj, OBJECT_OTHER_MACHINE, "not an x86-64 file");
	if (!gelf_getehdr(obj->elf, &ehdr))
		return object_fail(obj, OBJECT_DAMAGED, "no ELF header");
	if (ehdr.e_machine != EM_X86_64)
		return object_fail(obj, OBJECT_OTHER_MACHINE, "not an x86-64 file");
	if (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN)
		return object_fail(obj, OBJECT_NOT_LINKED,
				   "neither a program nor a shared library");
	obj->fixed = ehdr.e_type == ET_EXEC;
	if (ehdr.e_shoff > obj->file_size ||
	    (u64)ehdr.e_shnum * sizeof(Elf64_Shdr) >
			obj->file_size - ehdr.e_shoff)
		return object_fail(obj, OBJECT_DAMAGED,
				   "the section headers lie beyond the end of the file");
	if (ehdr.e_phoff > obj->file_size ||
	    (u64)ehdr.e_phnum * sizeof(Elf64_Phdr) >
			obj->file_size - ehdr.e_phoff)
		return object_fail(obj, OBJECT_DAMAGED,
				   "the program headers lie beyond the end of the file");
	return OBJECT_OK;
}

static enum object_state add_segment(struct object *obj, const GElf_Phdr *phdr)
{
	/* User addresses have 48 bits, and sums of two of them cannot wrap. */
	if (phdr->p_vaddr >> 48 || phdr->p_memsz >> 48)
		return object_fail(obj, OBJECT_DAMAGED,
				   "a segment lies outside the address space");
	if (phdr->p_vaddr < obj->low)
		obj->low = phdr->p_vaddr;
	if (phdr->p_vaddr + phdr->p_memsz > obj->high)
		obj->high = phdr->p_vaddr + phdr->p_memsz;
	if (!(phdr->p_flags & PF_X) || !phdr->p_memsz)
		return OBJECT_OK;
	if (obj->num_text == SFRAME_FILE_MAX_TEXT)
		return object_fail(obj, OBJECT_DAMAGED,
				   "more executable segments than any program has");
	obj->text[obj->num_text].vaddr = phdr->p_vaddr;
	obj->text[obj->num_text].size = phdr->p_memsz;
	obj->num_text++;
	return OBJECT_OK;
}

static enum object_state read_segments(struct object *obj)
{
	enum object_state state;
	size_t count, i;
	bool has_search = false;
	GElf_Phdr phdr;

	if (elf_getphdrnum(obj->elf, &count))
		return object_fail(obj, OBJECT_DAMAGED, "no program headers");
	obj->low = ~0ULL;
	for (i = 0; i < count; i++) {
		if (!gelf_getphdr(obj->elf, i, &phdr))
			return object_fail(obj, OBJECT_DAMAGED,
					   "a program header cannot be read");
		if (phdr.p_type == PT_GNU_EH_FRAME && !has_search) {
			obj->search.vaddr = phdr.p_vaddr;
			obj->search.size = phdr.p_memsz;
			has_search = true;
		}
		if (phdr.p_type == PT_GNU_SFRAME && !obj->own.present)
			obj->own = (struct own_table){
				.present = true,
				.vaddr = phdr.p_vaddr,
				.offset = phdr.p_offset,
				.size = phdr.p_filesz,
			};
		if (phdr.p_type != PT_LOAD)
			continue;
		state = add_segment(obj, &phdr);
		if (state)
			return state;
	}
	if (!obj->num_text)
		return object_fail(obj, OBJECT_NO_CFI, "no executable segment");
	return OBJECT_OK;
}

/* The program headers of a separate debug file say where notes would be, so look for sections. */
static void read_notes(struct object *obj)
{
	size_t offset, name, desc;
	u64 left = MAX_NOTE_SIZE;
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;
	GElf_Nhdr note;

	memset(obj->build_id, 0, sizeof(obj->build_id));
	obj->build_id_size = 0;
	obj->is_known = false;
	while ((data = object_next_section(obj, &scn, 1 << SHT_NOTE, &shdr, &left)))
		for (offset = 0; (offset = gelf_getnote(data, offset, &note, &name, &desc)) > 0;)
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			    !memcmp((char *)data->d_buf + name, "GNU", 4) &&
			    identity_set(obj, (u8 *)data->d_buf + desc, note.n_descsz))
				return;
}

static enum object_state take_section(struct object *obj, Elf_Scn *scn,
				      GElf_Shdr *shdr, const char *name)
{
	struct cfi_section *to;

	/* A separate debug file has the headers of sections that it lacks. */
	if (shdr->sh_type == SHT_NOBITS && (shdr->sh_flags & SHF_EXECINSTR))
		obj->detached = true;
	if (!strcmp(name, ".eh_frame"))
		to = &obj->eh_frame;
	else if (!strcmp(name, ".debug_frame"))
		to = &obj->debug_frame;
	else if (!strcmp(name, ".sframe"))
		to = &obj->table;
	else
		return OBJECT_OK;

	/* libelf keeps a copy of each section that is read, so read one of each name only. */
	if (shdr->sh_type == SHT_NOBITS || !shdr->sh_size || to->data)
		return OBJECT_OK;
	if (shdr->sh_flags & SHF_COMPRESSED) {
		GElf_Chdr chdr;

		if (!gelf_getchdr(scn, &chdr) || chdr.ch_size > OBJECT_MAX_CFI ||
		    chdr.ch_size / MAX_EXPANSION > obj->file_size ||
		    elf_compress(scn, 0, 0) < 0)
			return object_fail(obj, OBJECT_DAMAGED,
					   "a section cannot be decompressed");
	} else if (shdr->sh_size > OBJECT_MAX_CFI) {
		return object_fail(obj, OBJECT_DAMAGED,
				   "the unwind section is larger than any program's");
	}
	to->data = elf_rawdata(scn, NULL);
	if (!to->data || !to->data->d_buf)
		return object_fail(obj, OBJECT_DAMAGED,
				   "the unwind section lies beyond the end of the file");
	to->vaddr = shdr->sh_addr;
	to->offset = shdr->sh_offset;
	return OBJECT_OK;
}

static enum object_state read_sections(struct object *obj)
{
	enum object_state state;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(obj->elf, &names))
		return object_fail(obj, OBJECT_DAMAGED, "no section names");
	while ((scn = elf_nextscn(obj->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &shdr))
			return object_fail(obj, OBJECT_DAMAGED,
					   "a section header cannot be read");
		name = elf_strptr(obj->elf, names, shdr.sh_name);
		if (!name)
			return object_fail(obj, OBJECT_DAMAGED,
					   "a section's name cannot be read");
		state = take_section(obj, scn, &shdr, name);
		if (state)
			return state;
	}
	return OBJECT_OK;
}

/*
 * Find the bytes from @vaddr to the end of its segment, @min at least.  Sets @offset to where
 * in the file they are; returns NULL if they are not in the file.
 */
static Elf_Data *data_at(struct object *obj, u64 vaddr, u64 min, u64 *offset)
{
	size_t count, i;
	GElf_Phdr phdr;

	if (elf_getphdrnum(obj->elf, &count))
		return NULL;
	for (i = 0; i < count; i++) {
		u64 skip, len;

		if (!gelf_getphdr(obj->elf, i, &phdr) ||
		    phdr.p_type != PT_LOAD || vaddr < phdr.p_vaddr)
			continue;
		skip = vaddr - phdr.p_vaddr;
		if (skip >= phdr.p_filesz || phdr.p_filesz - skip < min ||
		    phdr.p_offset > obj->file_size ||
		    phdr.p_filesz > obj->file_size - phdr.p_offset)
			continue;
		len = phdr.p_filesz - skip;
		if (len > OBJECT_MAX_CFI)
			return NULL;
		*offset = phdr.p_offset + skip;
		return elf_getdata_rawchunk(obj->elf, *offset, len, ELF_T_BYTE);
	}
	return NULL;
}

/*
 * PT_GNU_EH_FRAME names the search table.  It starts with version 1, three encodings and the
 * pointer to .eh_frame, which all linkers write in four bytes, relative to itself.  The
 * segment goes on after .eh_frame, whose last entry has the length 0.
 */
static void take_eh_frame_hdr(struct object *obj, const GElf_Phdr *phdr)
{
	struct cfi_section *eh_frame = &obj->eh_frame;
	Elf_Data *hdr;
	s32 distance;
	u64 offset;

	hdr = data_at(obj, phdr->p_vaddr, 8, &offset);
	if (!hdr || memcmp(hdr->d_buf, "\1\x1b", 2))
		return;
	memcpy(&distance, (char *)hdr->d_buf + 4, sizeof(distance));
	eh_frame->vaddr = phdr->p_vaddr + 4 + (s64)distance;
	eh_frame->data = data_at(obj, eh_frame->vaddr, 4, &eh_frame->offset);
}

/* Find the .eh_frame of a file without section headers. */
static void read_by_segments(struct object *obj)
{
	GElf_Phdr phdr;
	size_t count;

	if (elf_getphdrnum(obj->elf, &count))
		return;
	for (size_t i = 0; i < count && gelf_getphdr(obj->elf, i, &phdr); i++)
		if (phdr.p_type == PT_GNU_EH_FRAME) {
			take_eh_frame_hdr(obj, &phdr);
			return;
		}
}

/**
 * object_has_cfi() - whether a table can be made of an object
 * @obj:	The object.
 *
 * Return: whether it has .eh_frame or .debug_frame.
 */
bool object_has_cfi(const struct object *obj)
{
	return obj->eh_frame.data || obj->debug_frame.data;
}

static enum object_state read_object(struct object *obj)
{
	enum object_state state = check_header(obj);
	bool is_found;
	size_t sections;

	if (!state)
		state = read_segments(obj);
	if (state)
		return state;
	is_found = identity_find(obj);
	if (elf_getshdrnum(obj->elf, &sections))
		return object_fail(obj, OBJECT_DAMAGED, "no section headers");
	if (sections)
		state = read_sections(obj);
	else
		read_by_segments(obj);
	if (state)
		return state;
	if (obj->detached)
		read_notes(obj);
	else if (!is_found)
		return object_fail(obj, OBJECT_DAMAGED,
				   "its notes cannot be read, or lie beyond the end of the file");
	if (!object_has_cfi(obj))
		return object_fail(obj, OBJECT_NO_CFI, "no .eh_frame");
	return OBJECT_OK;
}

static enum object_state cannot_open(int error)
{
	switch (error) {
	case NOT_REGULAR:
		return OBJECT_NOT_ELF;
	case ENOENT:
	case ENOTDIR:
	/* The process of a file in /proc has ended, but its parent has not waited for it. */
	case ESRCH:
		return OBJECT_GONE;
	default:
		return OBJECT_DAMAGED;
	}
}

/**
 * object_open_file() - open a file, and read nothing
 * @obj:	Filled in; the caller closes it in any case.
 * @name:	The file.
 *
 * Return: OBJECT_OK, or another state that @obj->error explains.
 */
enum object_state object_open_file(struct object *obj, const char *name)
{
	struct stat st;

	*obj = (struct object){ .name = name };
	obj->fd = open_regular(name, 0, &st);
	if (obj->fd < 0)
		return object_fail(obj, cannot_open(errno), open_error(errno));
	obj->file_size = st.st_size;
	return OBJECT_OK;
}

/**
 * object_read() - parse an ELF file
 * @obj:	What object_open_file() has opened.
 *
 * Return: OBJECT_OK, or another state that @obj->error explains.
 */
enum object_state object_read(struct object *obj)
{
	elf_version(EV_CURRENT);
	obj->elf = elf_begin(obj->fd, ELF_C_READ, NULL);
	if (!obj->elf)
		return object_fail(obj, OBJECT_DAMAGED, elf_errmsg(-1));
	return read_object(obj);
}

/**
 * object_open() - open and parse an ELF file
 * @obj:	Filled in; the caller closes it in any case.
 * @name:	The file.
 *
 * Return: OBJECT_OK, or another state that @obj->error explains.
 */
enum object_state object_open(struct object *obj, const char *name)
{
	return object_open_file(obj, name) ?: object_read(obj);
}

/**
 * object_close() - close a file
 * @obj:	The object, whatever opening and reading it have returned.
 */
void object_close(struct object *obj)
{
	if (obj->debug)
		object_close(obj->debug);
	free(obj->debug);
	if (obj->elf)
		elf_end(obj->elf);
	if (obj->fd >= 0)
		close(obj->fd);
}

/**
 * object_next_section() - find the next section of some types, and read it
 * @obj:	The object.
 * @scn:	The last one found, or NULL; set to the next.
 * @types:	A bit for each type.
 * @shdr:	Filled in.
 * @left:	How many bytes may be read still; at first, the size of the file.  libelf copies
 *		each section, and sections may share their bytes.
 *
 * Return: the section's bytes; NULL if there is none.
 */
Elf_Data *object_next_section(const struct object *obj, Elf_Scn **scn, u32 types,
			      GElf_Shdr *shdr, u64 *left)
{
	Elf_Data *data;

	while ((*scn = elf_nextscn(obj->elf, *scn))) {
		if (!gelf_getshdr(*scn, shdr) || shdr->sh_type >= 32 ||
		    !(types & 1U << shdr->sh_type) || shdr->sh_size > *left)
			continue;
		*left -= shdr->sh_size;
		data = elf_getdata(*scn, NULL);
		if (data)
			return data;
	}
	return NULL;
}

/**
 * object_is_code() - whether an executable segment holds a range
 * @obj:	The object.
 * @start:	The range's first address.
 * @size:	Its size in bytes.
 *
 * Return: whether one segment holds all of it.
 */
bool object_is_code(const struct object *obj, u64 start, u64 size)
{
	for (u32 i = 0; i < obj->num_text; i++) {
		const struct sframe_file_text *text = &obj->text[i];

		if (start >= text->vaddr && start - text->vaddr < text->size &&
		    size <= text->size - (start - text->vaddr))
			return true;
	}
	return false;
}
