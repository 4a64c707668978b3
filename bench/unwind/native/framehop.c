// SPDX-License-Identifier: GPL-2.0
/* The C part of framehop.rs: the sections of the files that the process has mapped. */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native.h"

struct section {
	uint64_t	address;
	size_t		size;
	const void	*bytes;
};

struct object {
	uint64_t	start, end, bias;
	struct section	text, got, eh_frame, eh_frame_hdr;
};

void *framehop_new(void);
void framehop_add(void *state, const struct object *object);
uint32_t framehop_frames(void *state, const uint64_t *registers, uint64_t start, uint64_t size,
			 uint64_t *ips, uint32_t max);

static void *state;

static struct section find_section(Elf *elf, const char *name)
{
	size_t names;
	Elf_Scn *section = NULL;

	if (elf_getshdrstrndx(elf, &names))
		return (struct section){ };
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) ||
		    strcmp(elf_strptr(elf, names, header.sh_name) ?: "", name))
			continue;
		data = header.sh_type == SHT_NOBITS ? NULL : elf_rawdata(section, NULL);
		if (data)
			return (struct section){ header.sh_addr, data->d_size, data->d_buf };
	}
	return (struct section){ };
}

/* The address at which the file's part at @offset was linked */
static uint64_t linked_at(Elf *elf, uint64_t offset)
{
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, i, &segment) && segment.p_type == PT_LOAD &&
		    offset == (segment.p_offset & ~4095ul))
			return segment.p_vaddr & ~4095ul;
	}
	return 0;
}

static void add_object(const struct mapping *mapping)
{
	int fd = open(mapping->path, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	struct object object = {
		.start = mapping->start,
		.end = mapping->end,
		.bias = mapping->start - linked_at(elf, mapping->offset),
		.text = find_section(elf, ".text"),
		.got = find_section(elf, ".got"),
		.eh_frame = find_section(elf, ".eh_frame"),
		.eh_frame_hdr = find_section(elf, ".eh_frame_hdr"),
	};

	framehop_add(state, &object);
}

void framehop_open(const struct process *process)
{
	elf_version(EV_CURRENT);
	state = framehop_new();
	for (unsigned int i = 0; i < process->nr; i++)
		if (process->mappings[i].code && process->mappings[i].path[0] == '/')
			add_object(&process->mappings[i]);
}

unsigned int framehop_walk(const struct stack *stack, uint64_t *ips)
{
	const uint64_t registers[] = { stack->regs.ip, stack->regs.sp, stack->regs.bp };

	return framehop_frames(state, registers, stack->start, stack->size, ips, MAX_FRAMES);
}
