// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the program headers and the build-id of an object in memory.
 *
 * A link map tells an object's bias and its dynamic section.  The ELF header
 * lies at the bias of all objects that are linked for address 0, which is all
 * but programs at fixed addresses; theirs the kernel has told.  Either is
 * believed if it leads to the same dynamic section.
 */
#include <errno.h>

#include "audit.h"

/* The largest note segment that is looked through. */
#define MAX_NOTES	0x10000UL

/*
 * sigprocmask() reads the set before it finds that 'how' is none.  Every seccomp
 * filter allows it, and it gives EFAULT for what a read would crash on.
 */
static bool is_readable(const void *at)
{
	return sys4(SYS_rt_sigprocmask, ~0UL, (u64)at, 0, 8) != -EFAULT;
}

static bool leads_to(const struct loaded *obj, const struct link_map *map)
{
	for (u32 i = 0; i < obj->num_phdr; i++)
		if (obj->phdr[i].p_type == PT_DYNAMIC)
			return obj->bias + obj->phdr[i].p_vaddr ==
			       (u64)map->l_ld;
	return false;
}

static bool by_elf_header(const struct link_map *map, struct loaded *obj)
{
	const Elf64_Ehdr *ehdr = (const void *)map->l_addr;

	if (!ehdr || (u64)ehdr % AUDIT_PAGE || !is_readable(ehdr))
		return false;
	if (*(const u32 *)ehdr->e_ident != 0x464c457f ||
	    ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr->e_machine != EM_X86_64 ||
	    ehdr->e_phentsize != sizeof(Elf64_Phdr))
		return false;
	/* The rest of the page is readable too; no more is known. */
	if (ehdr->e_phoff % 8 || ehdr->e_phoff > AUDIT_PAGE ||
	    ehdr->e_phnum > (AUDIT_PAGE - ehdr->e_phoff) / sizeof(Elf64_Phdr))
		return false;
	obj->phdr = (const void *)(map->l_addr + ehdr->e_phoff);
	obj->num_phdr = ehdr->e_phnum;
	return leads_to(obj, map);
}

static bool by_kernel(const struct link_map *map, struct loaded *obj)
{
	obj->phdr = audit.phdr;
	obj->num_phdr = audit.num_phdr;
	return audit.phdr && leads_to(obj, map);
}

/* Is it in a segment that can be read, and has come from the file? */
static bool is_loaded(const struct loaded *obj, u64 vaddr, u64 size)
{
	for (u32 i = 0; i < obj->num_phdr; i++) {
		const Elf64_Phdr *phdr = &obj->phdr[i];

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_R) &&
		    vaddr >= phdr->p_vaddr &&
		    vaddr - phdr->p_vaddr <= phdr->p_filesz &&
		    size <= phdr->p_filesz - (vaddr - phdr->p_vaddr))
			return true;
	}
	return false;
}

static u64 round_up(u64 value, u64 align)
{
	return (value + align - 1) & -align;
}

static bool take_id(struct loaded *obj, const Elf64_Nhdr *note, const u8 *desc)
{
	if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 ||
	    *(const u32 *)(note + 1) != 0x00554e47 ||
	    note->n_descsz > SFRAME_FILE_MAX_ID || note->n_descsz < 2)
		return false;
	obj->id = desc;
	obj->id_size = note->n_descsz;
	return true;
}

static bool search_notes(struct loaded *obj, const Elf64_Phdr *phdr)
{
	u64 align = phdr->p_align == 8 ? 8 : 4;
	const u8 *start = (const u8 *)(obj->bias + phdr->p_vaddr);
	u64 size = phdr->p_filesz, at = 0;

	if (phdr->p_vaddr % 4 || size > MAX_NOTES ||
	    !is_loaded(obj, phdr->p_vaddr, size))
		return false;
	while (at < size && size - at >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *note = (const void *)(start + at);
		u64 desc = at + round_up(sizeof(*note) + (u64)note->n_namesz,
					 align);
		u64 end = desc + note->n_descsz;

		if (end > size)
			return false;
		if (take_id(obj, note, start + desc))
			return true;
		at = round_up(end, align);
	}
	return false;
}

/**
 * object_in_memory() - describe an object that has been loaded
 * @map:	The object.
 * @obj:	Filled in.
 *
 * Return: whether its program headers were found.
 */
bool object_in_memory(const struct link_map *map, struct loaded *obj)
{
	*obj = (struct loaded){ .bias = map->l_addr };
	if (!by_elf_header(map, obj) && !by_kernel(map, obj))
		return false;
	for (u32 i = 0; i < obj->num_phdr; i++)
		if (obj->phdr[i].p_type == PT_NOTE &&
		    search_notes(obj, &obj->phdr[i]))
			break;
	return true;
}
