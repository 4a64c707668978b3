// SPDX-License-Identifier: GPL-2.0
/*
 * sframe doctor: reads what a program or library asks of the dynamic linker.
 *
 * The file may be hostile.  It is read here, not in a process of its own, so this reads only
 * headers and strings of limited size, and no library parses the file.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/types.h>

#include "doctor/dynamic.h"

/* Stock files have 14 program headers, 1000 entries, and paths of 1 KB at most. */
#define MAX_HEADERS	256
#define MAX_ENTRIES	8192
#define MAX_STRING	4096

/**
 * struct reader - an open ELF file
 * @fd:		The file.
 * @room:	How many bytes of strings may still be kept.
 * @headers:	Its program headers.
 * @count:	Their number.
 * @strings:	Where in the file its strings start.
 * @size:	How many bytes of strings there are.
 */
struct reader {
	int		fd;
	size_t		*room;
	Elf64_Phdr	headers[MAX_HEADERS];
	unsigned int	count;
	u64		strings;
	u64		size;
};

static bool read_headers(struct reader *in)
{
	Elf64_Ehdr ehdr;
	size_t size;

	if (pread(in->fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_machine != EM_X86_64 || (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN) ||
	    ehdr.e_phentsize != sizeof(Elf64_Phdr) || ehdr.e_phnum > MAX_HEADERS)
		return false;
	in->count = ehdr.e_phnum;
	size = in->count * sizeof(in->headers[0]);
	return pread(in->fd, in->headers, size, ehdr.e_phoff) == size;
}

static const Elf64_Phdr *find_header(const struct reader *in, u32 type)
{
	for (unsigned int i = 0; i < in->count; i++)
		if (in->headers[i].p_type == type)
			return &in->headers[i];
	return NULL;
}

/* Return the string of at most @size bytes at @offset, which the caller frees, or NULL. */
static char *read_string(struct reader *in, u64 offset, u64 size)
{
	char text[MAX_STRING + 1];
	ssize_t got = pread(in->fd, text, size < MAX_STRING ? size : MAX_STRING, offset);
	size_t len;

	if (got <= 0)
		return NULL;
	text[got] = '\0';
	len = strlen(text);
	if (len == got)
		return NULL;
	if (len >= *in->room) {
		*in->room = 0;
		return NULL;
	}
	*in->room -= len + 1;
	return strdup(text);
}

/* The dynamic linker finds the strings by their address in memory. */
static void set_strings(struct reader *in, u64 vaddr, u64 size)
{
	for (unsigned int i = 0; i < in->count; i++) {
		const Elf64_Phdr *load = &in->headers[i];

		if (load->p_type == PT_LOAD && vaddr >= load->p_vaddr &&
		    vaddr - load->p_vaddr < load->p_filesz) {
			in->strings = load->p_offset + (vaddr - load->p_vaddr);
			in->size = size;
			return;
		}
	}
}

static char *entry_string(struct reader *in, const Elf64_Dyn *entry)
{
	u64 offset = entry->d_un.d_val;

	return offset < in->size ? read_string(in, in->strings + offset, in->size - offset) :
	       NULL;
}

/* The first of two equal entries counts. */
static void set_string(char **to, struct reader *in, const Elf64_Dyn *entry)
{
	if (!*to)
		*to = entry_string(in, entry);
}

static void add_needed(struct dynamic *dynamic, struct reader *in, const Elf64_Dyn *entry)
{
	char *name = entry_string(in, entry);

	if (name)
		dynamic->needed[dynamic->num_needed++] = name;
}

static void take_entry(struct dynamic *dynamic, struct reader *in, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_NEEDED:
		add_needed(dynamic, in, entry);
		break;
	case DT_SONAME:
		set_string(&dynamic->name, in, entry);
		break;
	case DT_RPATH:
		set_string(&dynamic->rpath, in, entry);
		break;
	case DT_RUNPATH:
		set_string(&dynamic->runpath, in, entry);
		break;
	case DT_FLAGS_1:
		dynamic->no_default = entry->d_un.d_val & DF_1_NODEFLIB;
		break;
	}
}

static void take_entries(struct dynamic *dynamic, struct reader *in, const Elf64_Dyn *entries,
			 size_t count)
{
	u64 vaddr = 0, size = 0;
	size_t end, needed = 0;

	for (end = 0; end < count && entries[end].d_tag != DT_NULL; end++) {
		if (entries[end].d_tag == DT_STRTAB)
			vaddr = entries[end].d_un.d_ptr;
		else if (entries[end].d_tag == DT_STRSZ)
			size = entries[end].d_un.d_val;
		needed += entries[end].d_tag == DT_NEEDED;
	}
	set_strings(in, vaddr, size);
	dynamic->needed = calloc(needed + 1, sizeof(*dynamic->needed));
	for (size_t i = 0; i < end && dynamic->needed; i++)
		take_entry(dynamic, in, &entries[i]);
	/* RPATH is for files that have no RUNPATH. */
	if (dynamic->runpath) {
		free(dynamic->rpath);
		dynamic->rpath = NULL;
	}
}

static void read_entries(struct dynamic *dynamic, struct reader *in, const Elf64_Phdr *header)
{
	size_t count = header->p_filesz / sizeof(Elf64_Dyn);
	Elf64_Dyn *entries;
	ssize_t got;

	if (count > MAX_ENTRIES)
		count = MAX_ENTRIES;
	entries = calloc(count + 1, sizeof(*entries));
	if (!entries)
		return;
	got = pread(in->fd, entries, count * sizeof(*entries), header->p_offset);
	if (got > 0)
		take_entries(dynamic, in, entries, got / sizeof(*entries));
	free(entries);
}

/**
 * dynamic_read() - read what a file asks of the dynamic linker
 * @dynamic:	Filled in; the caller frees it in any case.
 * @fd:		The open file.
 * @room:	How many bytes of strings may be kept; reduced by those that are.  0 afterwards
 *		if they were not enough.
 *
 * Return: whether the file is an x86-64 program or library.
 */
bool dynamic_read(struct dynamic *dynamic, int fd, size_t *room)
{
	struct reader in = { .fd = fd, .room = room };
	const Elf64_Phdr *header;

	*dynamic = (struct dynamic){ };
	if (!read_headers(&in))
		return false;
	header = find_header(&in, PT_INTERP);
	if (header)
		dynamic->linker = read_string(&in, header->p_offset, header->p_filesz);
	header = find_header(&in, PT_DYNAMIC);
	if (header)
		read_entries(dynamic, &in, header);
	return true;
}

/**
 * dynamic_free() - free what dynamic_read() has allocated
 * @dynamic:	The result; the structure itself is not freed.
 */
void dynamic_free(struct dynamic *dynamic)
{
	for (size_t i = 0; i < dynamic->num_needed; i++)
		free(dynamic->needed[i]);
	free(dynamic->needed);
	free(dynamic->linker);
	free(dynamic->name);
	free(dynamic->rpath);
	free(dynamic->runpath);
}
