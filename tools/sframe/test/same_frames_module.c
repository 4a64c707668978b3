// SPDX-License-Identifier: GPL-2.0
/* ELF objects as a process has mapped them. */
#include "same_frames.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* The vDSO is the same for each process, so our own serves: as a file. */
static int vdso_file(void)
{
	const Elf64_Ehdr *header = (void *)getauxval(AT_SYSINFO_EHDR);
	static int file = -1;
	size_t size;

	if (file >= 0 || !header)
		return file;
	/* Its sections' headers are the last that is in it. */
	size = header->e_shoff + header->e_shnum * header->e_shentsize;
	file = memfd_create("vdso", MFD_CLOEXEC);
	if (file < 0 || write(file, header, size) != (ssize_t)size)
		die("a copy of the vDSO");
	return file;
}

int module_file(const struct module *module)
{
	return module->is_vdso ? dup(vdso_file()) :
	       open(module->name, O_RDONLY | O_CLOEXEC);
}

/* The cache has an object's table in DIR/xx/xxxx.vN, the digits of its build-id. */
static char *table_name(Elf *elf)
{
	const uint8_t *id;
	const void *note;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &note);
	char *name, *to;

	if (size < 2)
		return NULL;
	id = note;
	name = grow(NULL, 2 * size + sizeof("//.v"));
	to = name + sprintf(name, "/%02x/", id[0]);
	for (ssize_t i = 1; i < size; i++)
		to += sprintf(to, "%02x", id[i]);
	sprintf(to, ".v");
	return name;
}

static bool read_segments(struct module *to, Elf *elf, uint64_t start, uint64_t offset)
{
	uint64_t low = UINT64_MAX, high = 0, page = getpagesize();
	bool found = false;
	size_t count;

	if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		if (phdr.p_vaddr < low)
			low = phdr.p_vaddr;
		if (phdr.p_vaddr + phdr.p_memsz > high)
			high = phdr.p_vaddr + phdr.p_memsz;
		if (offset < (phdr.p_offset & -page) ||
		    offset >= phdr.p_offset + phdr.p_filesz ||
		    !(phdr.p_flags & PF_X))
			continue;
		to->bias = start - (phdr.p_vaddr + (offset - phdr.p_offset));
		found = true;
	}
	to->start = to->bias + low;
	to->end = to->bias + high;
	return found;
}

bool module_open(struct module *to, const char *name, uint64_t start, uint64_t offset)
{
	bool is_elf = false;
	int file;
	Elf *elf;

	*to = (struct module){ .is_vdso = !strcmp(name, "[vdso]") };
	to->name = (char *)name;
	file = module_file(to);
	if (file < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
	if (elf) {
		is_elf = read_segments(to, elf, start, to->is_vdso ? 0 : offset);
		to->table = is_elf ? table_name(elf) : NULL;
		elf_end(elf);
	}
	close(file);
	to->name = strdup(name);
	return is_elf && to->name;
}
