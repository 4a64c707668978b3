// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the entries of .eh_frame and .debug_frame.
 *
 * check needs the total from another reader than the one that it checks (cfi/read.c).  So
 * this file shares nothing with cfi/read.c: it keeps no CIE from one entry to the next, and
 * asks libdw which addresses .eh_frame describes.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "check/count.h"

/* The encoding of an entry's start, which the CIE names. */
struct pointer {
	unsigned int	size;
	bool		is_signed;
	bool		relative;
};

/**
 * struct section - the section whose entries are counted
 * @cfi:	The section.
 * @ident:	The ELF file's e_ident.
 * @is_eh:	The section is .eh_frame.
 */
struct section {
	const struct cfi_section *cfi;
	const unsigned char	*ident;
	bool			is_eh;
};

static const u8 pointer_sizes[16] = {
	[DW_EH_PE_absptr] = 8,
	[DW_EH_PE_udata2] = 2,
	[DW_EH_PE_udata4] = 4,
	[DW_EH_PE_udata8] = 8,
	[DW_EH_PE_sdata2] = 2,
	[DW_EH_PE_sdata4] = 4,
	[DW_EH_PE_sdata8] = 8,
};

static bool set_pointer(struct pointer *to, u8 encoding)
{
	u8 base = encoding & 0xf0;

	to->size = pointer_sizes[encoding & 0x0f];
	to->is_signed = encoding & DW_EH_PE_signed;
	to->relative = base == DW_EH_PE_pcrel;
	return to->size && (base == DW_EH_PE_absptr || to->relative);
}

/* "zR", "zPLR", "zRS": R, L and P have a byte each, P's followed by a pointer. */
static bool read_letters(const Dwarf_CIE *cie, struct pointer *to)
{
	const u8 *at = cie->augmentation_data;
	size_t left = at ? cie->augmentation_data_size : 0, skip;

	set_pointer(to, DW_EH_PE_absptr);
	for (const char *letter = cie->augmentation; *letter; letter++) {
		if (!strchr("RLP", *letter))
			continue;
		if (!left)
			return false;
		if (*letter == 'R')
			return set_pointer(to, *at);
		skip = 1 + (*letter == 'P' ? pointer_sizes[*at & 0x0f] : 0);
		if (skip > left)
			return false;
		at += skip;
		left -= skip;
	}
	return true;
}

static bool find_pointer(const struct section *in, Dwarf_Off cie,
			 struct pointer *to)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	return !dwarf_next_cfi(in->ident, in->cfi->data, in->is_eh, cie, &next,
			       &entry) &&
	       dwarf_cfi_cie_p(&entry) && read_letters(&entry.cie, to);
}

static u64 read_value(const u8 *from, const struct pointer *how)
{
	unsigned int unused = 64 - 8 * how->size;
	u64 value = 0;

	memcpy(&value, from, how->size);
	if (how->is_signed)
		value = (s64)(value << unused) >> unused;
	return value;
}

static bool eh_frame_describes(Dwarf_CFI *eh_frame, u64 address)
{
	Dwarf_Frame *frame = NULL;
	bool known = eh_frame && !dwarf_cfi_addrframe(eh_frame, address, &frame);

	free(frame);
	return known;
}

/* An entry that cannot be read still counts as a function, without its code. */
static void count_entry(const struct section *in, const Dwarf_FDE *fde,
			Dwarf_CFI *eh_frame, struct entries *entries)
{
	const u8 *base = in->cfi->data->d_buf, *at = fde->start;
	struct pointer how;
	u64 start, size;

	entries->all++;
	if (!find_pointer(in, fde->CIE_pointer, &how) ||
	    fde->end - at < 2 * how.size)
		return;
	start = read_value(at, &how);
	if (how.relative)
		start += in->cfi->vaddr + (at - base);
	/* A length has no sign. */
	how.is_signed = false;
	size = read_value(at + how.size, &how);
	if (!size)
		entries->empty++;
	else if (!in->is_eh && eh_frame_describes(eh_frame, start))
		entries->repeated++;
	else
		entries->bytes += size;
}

static void count_section(const struct section *in, Dwarf_CFI *eh_frame,
			  struct entries *entries)
{
	Dwarf_Off at = 0, next = 0;
	Dwarf_CFI_Entry entry;

	while (!dwarf_next_cfi(in->ident, in->cfi->data, in->is_eh, at, &next,
			       &entry)) {
		if (!dwarf_cfi_cie_p(&entry))
			count_entry(in, &entry.fde, eh_frame, entries);
		if (next <= at)
			return;
		at = next;
	}
}

/**
 * entries_count() - count the entries of an object's unwind sections
 * @obj:	The object.
 * @eh_frame:	libdw's handle of its .eh_frame; NULL if it has none.
 * @entries:	Filled in.
 */
void entries_count(const struct object *obj, Dwarf_CFI *eh_frame,
		   struct entries *entries)
{
	struct section in = {
		.ident = (const unsigned char *)elf_getident(obj->elf, NULL),
	};

	*entries = (struct entries){ };
	if (obj->eh_frame.data) {
		in.cfi = &obj->eh_frame;
		in.is_eh = true;
		count_section(&in, eh_frame, entries);
	}
	if (obj->debug_frame.data) {
		in.cfi = &obj->debug_frame;
		in.is_eh = false;
		count_section(&in, eh_frame, entries);
	}
}

/**
 * entries_equal() - whether two readers have counted the same entries
 * @a:	The entries of one reader.
 * @b:	The entries of the other.
 *
 * Does not compare the code: the length of an entry that cannot be read is not known.
 *
 * Return: whether their numbers are equal.
 */
bool entries_equal(const struct entries *a, const struct entries *b)
{
	return a->all == b->all && a->empty == b->empty &&
	       a->repeated == b->repeated;
}
