// SPDX-License-Identifier: GPL-2.0
/*
 * Reads .eh_frame and .debug_frame.
 *
 * It walks the section's entries, and does not use the search table in .eh_frame_hdr, which a
 * linker may omit and a packer may falsify.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cfi/read.h"
#include "cfi/rows.h"

/*
 * Limits the bytes of instructions that run, and of CIEs that are read, to a multiple of the
 * section's size.  A CIE's instructions run again for each function that names it, so a
 * hostile file could make a long CIE run a million times.  Usual files need less than 2.
 */
#define BUDGET_FACTOR	32
#define BUDGET_LEAST	65536

/*
 * A large browser has 5 million rows.  A row takes at least two bytes of the section, so only
 * a hostile compressed section can have more rows than half of the file's bytes.
 */
#define MAX_ROWS	(32U << 20)

/* A parsed CIE.  A linked file has a handful of them. */
struct cie {
	u64		offset;
	Dwarf_CIE	raw;
	u8		encoding;	/* of a function's start */
	u8		handlers;	/* of the address of its exception handlers */
	bool		has_length;	/* 'z': augmentation data has a length */
	bool		signal;
	bool		good;
};

#define NUM_CIES	16

static u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

struct reading {
	const struct object	*obj;
	const struct cfi_section *section;
	struct cfi		*cfi;
	bool			eh_frame;
	u64			budget;
	struct cie		cies[NUM_CIES];
	unsigned int		next_cie;	/* the next one to replace */
	unsigned int		num_cies;
};

static int next_entry(const struct reading *rd, u64 offset, Dwarf_Off *next,
		      Dwarf_CFI_Entry *entry)
{
	const char *ident = elf_getident(rd->obj->elf, NULL);

	return dwarf_next_cfi((const unsigned char *)ident, rd->section->data,
			      rd->eh_frame, offset, next, entry);
}

/* Return the size of a value with this encoding, or 0 if it is unknown. */
static unsigned int encoded_size(u8 encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	default:
		return 0;
	}
}

static u64 get_encoded(struct bytes *in, u8 encoding)
{
	unsigned int size = encoded_size(encoding);

	if ((encoding & 0x0f) >= DW_EH_PE_signed)
		return get_signed(in, size);
	return get_fixed(in, size);
}

static bool parse_augmentation(struct cie *cie)
{
	const char *letter = cie->raw.augmentation;
	struct bytes in = {
		.at = cie->raw.augmentation_data,
		.end = cie->raw.augmentation_data,
	};

	if (in.at)
		in.end += cie->raw.augmentation_data_size;
	cie->encoding = DW_EH_PE_absptr;
	cie->handlers = DW_EH_PE_omit;
	if (*letter == 'z') {
		cie->has_length = true;
		letter++;
	}
	for (; *letter; letter++) {
		switch (*letter) {
		case 'R':
			cie->encoding = get_fixed(&in, 1);
			break;
		case 'P': {
			u8 encoding = get_fixed(&in, 1);

			if (!encoded_size(encoding))
				return false;
			get_block(&in, encoded_size(encoding));
			break;
		}
		case 'L':
			cie->handlers = get_fixed(&in, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	}
	return !in.bad;
}

static bool cie_is_good(struct cie *cie)
{
	u8 from = cie->encoding & 0x70;

	return cie->raw.return_address_register == REG_RA &&
	       cie->raw.code_alignment_factor &&
	       encoded_size(cie->encoding) &&
	       !(cie->encoding & DW_EH_PE_indirect) &&
	       (from == DW_EH_PE_absptr || from == DW_EH_PE_pcrel);
}

/* Return the CIE at @offset, or NULL if it cannot be used. */
static struct cie *find_cie(struct reading *rd, u64 offset)
{
	Dwarf_CFI_Entry entry;
	struct cie *cie;
	Dwarf_Off next;

	for (unsigned int i = 0; i < rd->num_cies; i++)
		if (rd->cies[i].offset == offset)
			return rd->cies[i].good ? &rd->cies[i] : NULL;

	cie = &rd->cies[rd->next_cie++ % NUM_CIES];
	if (rd->num_cies < NUM_CIES)
		rd->num_cies++;
	*cie = (struct cie){ .offset = offset };
	if (!rd->budget || next_entry(rd, offset, &next, &entry) ||
	    !dwarf_cfi_cie_p(&entry))
		return NULL;
	/* CIEs for which there is no room are read again for each function. */
	rd->budget -= min_u64(rd->budget, next - offset);
	cie->raw = entry.cie;
	cie->good = parse_augmentation(cie) && cie_is_good(cie);
	return cie->good ? cie : NULL;
}

/* The address of a function's table of exception handlers, or 0, from augmentation data */
static u64 parse_handlers(const struct reading *rd, const struct cie *cie, const u8 *data,
			  u64 size)
{
	u8 from = cie->handlers & 0xf0;
	struct bytes in;
	u64 address;

	if (!data || cie->handlers == DW_EH_PE_omit || !encoded_size(cie->handlers) ||
	    (from != DW_EH_PE_absptr && from != DW_EH_PE_pcrel))
		return 0;
	in = (struct bytes){ .at = data, .end = data + size };
	address = get_encoded(&in, cie->handlers);
	if (in.bad || !address)
		return 0;
	if (from == DW_EH_PE_pcrel)
		address += rd->section->vaddr + (data - (u8 *)rd->section->data->d_buf);
	return address;
}

/* Parse a function's start, its size, and where its instructions begin. */
static bool parse_fde(const struct reading *rd, const struct cie *cie,
		      const Dwarf_FDE *fde, struct function *function,
		      const u8 **insns)
{
	struct bytes in = { .at = fde->start, .end = fde->end };
	const u8 *base = rd->section->data->d_buf, *data;
	u64 size;

	function->start = get_encoded(&in, cie->encoding);
	if ((cie->encoding & 0x70) == DW_EH_PE_pcrel)
		function->start += rd->section->vaddr + (fde->start - base);
	function->size = get_encoded(&in, cie->encoding & 0x07);
	size = cie->has_length ? get_uleb(&in) : cie->raw.fde_augmentation_data_size;
	data = get_block(&in, size);
	function->handlers = parse_handlers(rd, cie, data, size);
	*insns = in.at;
	function->signal = cie->signal;
	function->debug = !rd->eh_frame;
	return !in.bad;
}

static enum cause fde_cause(const struct reading *rd,
			    const struct function *function)
{
	if (function->size > UINT32_MAX)
		return CAUSE_TOO_LONG;
	if (!object_is_code(rd->obj, function->start, function->size))
		return CAUSE_NO_CODE;
	return CAUSE_NONE;
}

static void read_fde(struct reading *rd, const Dwarf_FDE *fde)
{
	struct function function = { };
	struct cfa_program program;
	struct cie *cie = find_cie(rd, fde->CIE_pointer);
	bool pops_arguments = false;

	if (!cie || !parse_fde(rd, cie, fde, &function, &program.insns)) {
		function.cause = CAUSE_DAMAGED;
		cfi_add_function(rd->cfi, &function);
		return;
	}
	if (!function.size) {
		rd->cfi->empty++;
		return;
	}
	function.first_row = rd->cfi->num_rows;
	function.cause = fde_cause(rd, &function);
	if (!function.cause) {
		program.initial = cie->raw.initial_instructions;
		program.initial_end = cie->raw.initial_instructions_end;
		program.insns_end = fde->end;
		program.code_align = cie->raw.code_alignment_factor;
		program.data_align = cie->raw.data_alignment_factor;
		program.encoding = cie->encoding;
		program.budget = &rd->budget;
		program.pops_arguments = &pops_arguments;
		function.cause = cfa_run(&program, function.start,
					 function.size, rd->cfi);
	}
	if (function.cause)
		rd->cfi->num_rows = function.first_row;
	if (pops_arguments)
		function.handlers = 0;
	function.num_rows = rd->cfi->num_rows - function.first_row;
	cfi_add_function(rd->cfi, &function);
}

static void read_section(struct reading *rd)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off offset = 0, next;
	int ret;

	rd->budget = rd->section->data->d_size * BUDGET_FACTOR + BUDGET_LEAST;
	while (!rd->cfi->error) {
		next = offset;
		ret = next_entry(rd, offset, &next, &entry);
		if (ret > 0)
			return;
		if (ret < 0) {
			rd->cfi->error = "the unwind section is damaged";
			return;
		}
		if (!dwarf_cfi_cie_p(&entry))
			read_fde(rd, &entry.fde);
		/* The end mark.  Also ends if libdw does not advance. */
		if (next <= offset)
			return;
		offset = next;
	}
}

/* In some builds, .debug_frame repeats .eh_frame: keep new functions, count the others. */
static void drop_known(struct cfi *cfi, size_t known)
{
	size_t kept = known;

	for (size_t i = known; i < cfi->num_functions; i++)
		if (!cfi_find(cfi->functions, known, cfi->functions[i].start))
			cfi->functions[kept++] = cfi->functions[i];
	cfi->repeated = cfi->num_functions - kept;
	cfi->num_functions = kept;
}

/*
 * Hand-written or damaged entries may overlap.  A lookup finds the last function that starts
 * at or before the address, so the earlier function would have the wrong rows from the start
 * of the later one on.
 */
static void mark_overlaps(struct cfi *cfi)
{
	for (size_t i = 1; i < cfi->num_functions; i++) {
		struct function *before = &cfi->functions[i - 1];

		if (cfi->functions[i].start - before->start < before->size)
			before->cause = CAUSE_OVERLAP;
	}
}

/**
 * cfi_read() - read all call frame information of an object
 * @obj:	The object.
 * @cfi:	Filled in; the caller frees it in any case.
 *
 * Return: whether all of it could be read; if not, @cfi->error says why not.
 */
bool cfi_read(const struct object *obj, struct cfi *cfi)
{
	struct reading rd = { .obj = obj, .cfi = cfi };
	size_t known;

	*cfi = (struct cfi){
		.max_rows = (obj->file_size + (obj->debug ? obj->debug->file_size : 0)) / 2,
	};
	if (cfi->max_rows > MAX_ROWS)
		cfi->max_rows = MAX_ROWS;
	if (obj->eh_frame.data) {
		rd.section = &obj->eh_frame;
		rd.eh_frame = true;
		read_section(&rd);
		cfi_sort(cfi);
	}
	known = cfi->num_functions;
	if (obj->debug_frame.data && !cfi->error) {
		rd.section = &obj->debug_frame;
		rd.eh_frame = false;
		rd.num_cies = 0;
		rd.next_cie = 0;
		read_section(&rd);
		drop_known(cfi, known);
		cfi_sort(cfi);
	}
	mark_overlaps(cfi);
	return !cfi->error;
}
