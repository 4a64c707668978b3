// SPDX-License-Identifier: GPL-2.0
/* ELF objects as a process has mapped them. */
#include "same_frames.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* Copy this process's vDSO, which is the same for all processes, to a file. */
static int vdso_file(void)
{
	const Elf64_Ehdr *header = (void *)getauxval(AT_SYSINFO_EHDR);
	static int file = -1;
	size_t size;

	if (file >= 0 || !header)
		return file;
	/* The section headers come last in the vDSO. */
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
		elf_end(elf);
	}
	close(file);
	to->name = strdup(name);
	return is_elf && to->name;
}
