// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a table in memory and compares it with .eh_frame, row by row.
 *
 * The tool's reader and the kernel's table.c read the table.  libdw reads .eh_frame, and
 * not the code that made the table.  At the first, middle and last byte of each of libdw's
 * rows, both sides unwind a machine with invented registers and memory.  They find the same
 * caller only if they use the same rules.  The rows of code without .eh_frame are compared with
 * what following the code has yielded.
 *
 * On a hostile file, libdw may take any amount of time and memory: it runs a function's
 * instructions again for each row, and allocates as many registers as they name.  So
 * base/pool.c runs this in a process of its own and limits both.  "sframe gen" needs no such
 * process: there, libdw only finds the entries.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/err.h>
#include <linux/gfp_types.h>

#include "base/search.h"
#include "base/text.h"
#include "cfi/debug.h"
#include "cfi/read.h"
#include "cfi/text.h"
#include "check/compare.h"
#include "check/eval.h"
#include "check/given.h"
#include "code/add.h"
#include "table.h"
#include "table/bare.h"
#include "table/sframe_table.h"

/* An arbitrary load address: a table must not depend on it. */
#define BIAS		0x100000000000ULL
/* How many bytes of a row to compare at most, if each may have its own rule. */
#define MAX_STEPS	65536

struct comparison {
	const struct check_options *options;
	const struct object	*obj;
	struct cfi		*cfi;
	const struct plan	*plan;
	const struct gap	*gap;		/* the first that ends after the pc */
	struct table		table;
	/* By executable segment; NULL if the table has no function there. */
	struct unwind_table	*kernel[SFRAME_FILE_MAX_TEXT];
	Dwarf_CFI		*eh_frame;
	Dwarf_CFI		*debug_frame;
	struct report		*report;
	struct tally		*tally;
	size_t			function;
};

static bool kernel_open(struct comparison *cmp, const struct image *image)
{
	for (u32 i = 0; i < cmp->obj->num_text; i++) {
		const struct sframe_file_text *text = &cmp->obj->text[i];
		struct unwind_table_source source = {
			.bytes = image->bytes,
			.len = image->size,
			.start = image->vaddr,
			.text_start = text->vaddr,
			.text_end = text->vaddr + text->size,
			.private_rules = image->private_rules,
		};
		struct unwind_table *table = unwind_table_build(&source, 0, GFP_KERNEL);

		if (!IS_ERR(table))
			cmp->kernel[i] = table;
		else if (PTR_ERR(table) != -ENOENT)
			return false;
	}
	return true;
}

static void kernel_close(struct comparison *cmp)
{
	for (u32 i = 0; i < cmp->obj->num_text; i++) {
		unwind_table_free(cmp->kernel[i]);
		cmp->kernel[i] = NULL;
	}
}

static struct rule rule_of_kernel(const struct sframe_rule *rule)
{
	if (rule->base == SFRAME_BASE_SAME)
		return (struct rule){ .kind = RULE_SAME };
	if (rule->base == SFRAME_BASE_UNKNOWN)
		return (struct rule){ .kind = RULE_UNDEFINED };
	return (struct rule){
		.kind = rule->deref ? RULE_MEMORY : RULE_VALUE,
		.base = rule->base == SFRAME_BASE_CFA ? REG_CFA : rule->base,
		.offset = rule->offset,
	};
}

/* Set @row to the kernel's row for @pc.  Returns false if there is none. */
static bool kernel_look(const struct comparison *cmp, u64 pc, struct sframe_row *row)
{
	for (u32 i = 0; i < cmp->obj->num_text; i++) {
		const struct sframe_file_text *text = &cmp->obj->text[i];

		if (cmp->kernel[i] && pc >= text->vaddr && pc - text->vaddr < text->size)
			return !unwind_table_find(cmp->kernel[i], pc - text->vaddr, row);
	}
	return false;
}

static int kernel_find(const struct comparison *cmp, u64 pc, struct row *row,
		       struct marks *marks)
{
	struct sframe_row found;

	if (!kernel_look(cmp, pc, &found))
		return -ENOENT;
	*row = (struct row){
		.cfa = rule_of_kernel(&found.cfa),
		.ra = rule_of_kernel(&found.ra),
		.fp = rule_of_kernel(&found.fp),
	};
	row->cfa.add = found.cfa_add;
	if (found.outermost)
		row->ra.kind = RULE_UNDEFINED;
	*marks = (struct marks){ .signal = found.signal, .followed = found.followed };
	return 0;
}

/* Whether @pc is in the alignment between the current function and the next one. */
static bool is_padding(const struct comparison *cmp, u64 pc)
{
	const struct function *f = &cmp->cfi->functions[cmp->function];
	u64 end = f->start + f->size;

	if (cmp->function + 1 == cmp->cfi->num_functions)
		return false;
	return pc >= end && pc < f[1].start && f[1].start % CODE_ALIGNMENT == 0 &&
	       f[1].start - end < CODE_ALIGNMENT;
}

/* Find the table's row for @pc.  Only version 3 sets @marks. */
static int find_row(struct comparison *cmp, u64 pc, struct row *row, struct marks *marks)
{
	int ret = table_find(&cmp->table, pc + BIAS, row, marks), ret2;
	struct marks marks_again;
	struct row again;

	ret2 = kernel_find(cmp, pc, &again, &marks_again);
	if (ret == -ENOENT && !ret2 && is_padding(cmp, pc))
		return ret;
	/* Both readers of the table have to agree. */
	if (ret != ret2 || (!ret && (!row_equal(row, &again) ||
				     marks->signal != marks_again.signal ||
				     marks->followed != marks_again.followed)))
		return -EBADMSG;
	return ret;
}

static bool has_row(struct comparison *cmp, u64 pc)
{
	struct marks marks;
	struct row row;

	return find_row(cmp, pc, &row, &marks) != -ENOENT;
}

static bool same_caller(u64 pc, Dwarf_Frame *frame, const struct row *row)
{
	struct caller want, got;
	struct machine m;

	for (u64 seed = 1; seed <= 2; seed++) {
		machine_make(&m, pc, seed);
		if (!eval_frame(&m, frame, &want))
			return false;
		eval_row(&m, row, &got);
		if (!caller_equal(&want, &got))
			return false;
	}
	return true;
}

/* Whether the plan leaves out @pc, which is in the current function. */
static bool in_gap(struct comparison *cmp, u64 pc)
{
	const struct gap *end;

	if (!cmp->plan->num_gaps)
		return false;
	end = cmp->plan->gaps + cmp->plan->num_gaps;
	while (cmp->gap < end && (cmp->gap->function < cmp->function ||
				  (cmp->gap->function == cmp->function &&
				   pc >= cmp->gap->start + cmp->gap->size)))
		cmp->gap++;
	return cmp->gap < end && cmp->gap->function == cmp->function &&
	       pc >= cmp->gap->start;
}

enum verdict { EQUAL, LEFT_OUT, DIFFERING };

static enum verdict compare_at(struct comparison *cmp, u64 pc,
			       Dwarf_Frame *frame, bool want_signal)
{
	struct marks marks;
	struct row row;
	int ret = find_row(cmp, pc, &row, &marks);

	if (in_gap(cmp, pc))
		return ret == -ENOENT ? LEFT_OUT : DIFFERING;
	if (ret || marks.followed)
		return DIFFERING;
	if (cmp->plan->format == FORMAT_V3 && marks.signal != want_signal)
		return DIFFERING;
	return same_caller(pc, frame, &row) ? EQUAL : DIFFERING;
}

/* The value of an expression may depend on the instruction, as in a PLT. */
static bool has_expression(Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t count;

	return !dwarf_frame_cfa(frame, &ops, &count) && count > 2;
}

static enum verdict compare_row(struct comparison *cmp, u64 start, u64 end,
				Dwarf_Frame *frame, bool signal)
{
	u64 middle = (end - start) / 2, step = middle ? middle : 1;
	enum verdict verdict;
	u64 pc;

	/* An odd step reaches each byte of the 16-byte stubs; few rows need more than 1. */
	if (has_expression(frame))
		step = (end - start) / MAX_STEPS | 1;
	if (cmp->options->every_byte)
		step = 1;
	verdict = compare_at(cmp, start, frame, signal);
	for (pc = start + step; pc < end - 1; pc += step)
		if (compare_at(cmp, pc, frame, signal) != verdict)
			return DIFFERING;
	if (end - start > 1 &&
	    compare_at(cmp, end - 1, frame, signal) != verdict)
		return DIFFERING;
	return verdict;
}

static void count_row(struct comparison *cmp, enum verdict verdict, u64 start,
		      u64 end)
{
	cmp->tally->rows++;
	if (verdict == EQUAL) {
		cmp->tally->equal++;
	} else if (verdict == DIFFERING) {
		cmp->tally->differing++;
		if (cmp->options->verbose)
			text_line("%s: v%d: %#" PRIx64 "..%#" PRIx64 " differs",
				  cmp->obj->name, cmp->plan->format, start, end);
	}
}

/* Where libdw cannot read a row, the table must not have one. */
static u64 compare_unreadable(struct comparison *cmp, u64 pc, u64 end)
{
	if (in_gap(cmp, pc) && !has_row(cmp, pc)) {
		u64 gap_end = cmp->gap->start + cmp->gap->size;

		count_row(cmp, LEFT_OUT, pc, gap_end);
		return gap_end < end ? gap_end : end;
	}
	count_row(cmp, DIFFERING, pc, end);
	return end;
}

static u64 compare_one(struct comparison *cmp, u64 pc, u64 function_end,
		       Dwarf_CFI *source)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end;
	bool signal;

	if (!source || dwarf_cfi_addrframe(source, pc, &frame))
		return compare_unreadable(cmp, pc, function_end);
	if (dwarf_frame_info(frame, &start, &end, &signal) < 0 ||
	    start > pc || end <= pc) {
		free(frame);
		return compare_unreadable(cmp, pc, function_end);
	}
	if (end > function_end)
		end = function_end;
	count_row(cmp, compare_row(cmp, pc, end, frame, signal), pc, end);
	free(frame);
	return end;
}

/* Between a function and the next one, the table must have no row. */
static void compare_after(struct comparison *cmp, const struct function *f)
{
	bool is_last = cmp->function + 1 == cmp->cfi->num_functions;
	u64 end = f->start + f->size, last = is_last ? end : f[1].start - 1;

	if (!is_last && f[1].start <= end)
		return;
	if (has_row(cmp, end) || has_row(cmp, last))
		count_row(cmp, DIFFERING, end, last + 1);
}

static bool is_followed_by(struct comparison *cmp, u64 pc, const struct row *want)
{
	struct marks marks;
	struct row row;

	return !find_row(cmp, pc, &row, &marks) && marks.followed && !marks.signal &&
	       row_equal(&row, want);
}

/* There is no other reader of code than the one that made the table. */
static void compare_added(struct comparison *cmp, const struct function *f)
{
	const struct row *row = &cmp->cfi->rows[f->first_row];
	u64 start, last;

	if (!f->num_rows && (has_row(cmp, f->start) || has_row(cmp, f->start + f->size - 1)))
		count_row(cmp, DIFFERING, f->start, f->start + f->size);
	for (u32 i = 0; i < f->num_rows; i++, row++) {
		start = f->start + row->start;
		last = f->start + (i + 1 < f->num_rows ? row[1].start : f->size) - 1;
		if (!is_followed_by(cmp, start, row) || !is_followed_by(cmp, last, row))
			count_row(cmp, DIFFERING, start, last + 1);
		else
			cmp->report->gained += last + 1 - start;
	}
	compare_after(cmp, f);
}

static void compare_function(struct comparison *cmp)
{
	const struct function *f = &cmp->cfi->functions[cmp->function];
	Dwarf_CFI *source = f->debug ? cmp->debug_frame : cmp->eh_frame;
	u64 pc = f->start, end = f->start + f->size;

	if (f->followed) {
		compare_added(cmp, f);
		return;
	}
	/* It has no rows to compare, and its addresses may be wrong. */
	if (f->cause)
		return;
	while (pc < end)
		pc = compare_one(cmp, pc, end, source);
	compare_after(cmp, f);
}

static const char *symbol_in(const struct object *obj, u64 address,
			     u32 section)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(obj->elf, scn))) {
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != section)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++)
			if (sym.st_value == address && sym.st_name &&
			    GELF_ST_TYPE(sym.st_info) != STT_SECTION)
				return elf_strptr(obj->elf, shdr.sh_link,
						  sym.st_name);
	}
	return NULL;
}

static void name_gap(const struct comparison *cmp, const struct gap *gap)
{
	u64 start = cmp->cfi->functions[gap->function].start;
	const char *name = symbol_in(cmp->obj, start, SHT_SYMTAB);

	if (!name)
		name = symbol_in(cmp->obj, start, SHT_DYNSYM);
	text_line("%s: v%d: %s at %#" PRIx64 ": %#" PRIx64 "..%#" PRIx64 ": %s",
		  cmp->obj->name, cmp->plan->format, name ? name : "function",
		  start, gap->start, gap->start + gap->size,
		  cause_name(gap->cause));
}

static u64 functions_of(const struct entries *entries)
{
	return entries->all - entries->empty - entries->repeated;
}

static void count_gaps(struct comparison *cmp)
{
	struct tally *tally = cmp->tally;
	size_t counted = ~0UL;

	/* The sections' entries are the whole; the reader's entries are the covered part. */
	tally->functions = functions_of(&cmp->report->entries);
	tally->bytes = cmp->report->entries.bytes;
	tally->covered = functions_of(&cmp->report->known);
	tally->covered_bytes = cmp->report->known.bytes;
	for (size_t i = 0; i < cmp->plan->num_gaps; i++) {
		const struct gap *gap = &cmp->plan->gaps[i];

		tally->cause_bytes[gap->cause] += gap->size;
		tally->covered_bytes -= gap->size;
		if (gap->function != counted) {
			tally->cause_functions[gap->cause]++;
			tally->covered -= !!tally->covered;
		}
		counted = gap->function;
		if (cmp->options->verbose)
			name_gap(cmp, gap);
	}
}

static const char *compare_table(struct comparison *cmp, const struct image *image)
{
	const char *error;

	/* To count, the object's own addresses are needed. */
	error = table_open(&cmp->table, image->bytes, image->size, image->vaddr);
	if (!error)
		uncovered_count(cmp->obj, &cmp->table, &cmp->report->uncovered);
	if (!error)
		error = table_open(&cmp->table, image->bytes, image->size, image->vaddr + BIAS);
	if (!error && cmp->table.version != cmp->plan->format)
		error = "the header of its table names another version";
	if (!error && !kernel_open(cmp, image))
		error = "the kernel refuses the table";
	cmp->tally->table_size = image->size;
	cmp->gap = cmp->plan->gaps;
	for (cmp->function = 0;
	     !error && cmp->function < cmp->cfi->num_functions; cmp->function++)
		compare_function(cmp);
	count_gaps(cmp);
	kernel_close(cmp);
	return error;
}

/* Return the first address from @start on that no function of the plan describes. */
static u64 planned_end(const struct plan *plan, u64 start)
{
	size_t next = search_starts(plan->entries, plan->num_entries, sizeof(*plan->entries),
				    start);

	if (next && start - plan->entries[next - 1].start < plan->entries[next - 1].size)
		start = plan->entries[next - 1].start + plan->entries[next - 1].size;
	for (; next < plan->num_entries && plan->entries[next].start == start; next++)
		start += plan->entries[next].size;
	return start;
}

/* A table that somebody else has made may have rows for code that .eh_frame does not describe. */
static void compare_entries(struct comparison *cmp)
{
	struct entry_reader entry;
	u64 start, end;

	for (u32 i = 0; i < cmp->table.num_entries; i++) {
		if (!table_entry(&cmp->table, i, &entry) || !entry.size)
			continue;
		start = entry.start - BIAS;
		end = planned_end(cmp->plan, start);
		if (end - start < entry.size)
			count_row(cmp, DIFFERING, end, start + entry.size);
	}
}

/* @image: the table; NULL to make it. */
static const char *check_format(struct comparison *cmp, enum format format,
				const struct image *image)
{
	struct image made = { };
	const char *error;
	struct plan plan;

	if (format == FORMAT_V3 && !cmp->obj->detached && object_has_cfi(cmp->obj))
		code_add(cmp->obj, cmp->cfi);
	/* For a table that is there, too: it may be in a place that is too far for any row. */
	plan_make(&plan, cmp->cfi, format, plan_vaddr(cmp->obj));
	cmp->plan = &plan;
	cmp->tally = &cmp->report->tally[format - FORMAT_V2];
	cmp->report->asked[format - FORMAT_V2] = true;
	if (!image && !image_make(&made, &plan))
		error = "the table is too large for its format";
	else
		error = compare_table(cmp, image ?: &made);
	if (!error && image)
		compare_entries(cmp);
	image_free(&made);
	plan_free(&plan);
	return error;
}

/* Compare a table that somebody else has made. */
static const char *check_table(struct comparison *cmp)
{
	enum format format = FORMAT_DEFAULT;
	const char *error;
	struct image image;

	error = given_table(cmp->options, cmp->obj, &image, &format, cmp->report);
	if (!error)
		error = check_format(cmp, format, &image);
	image_free(&image);
	return error;
}

static struct entries known_entries(const struct cfi *cfi)
{
	struct entries known = {
		.all = cfi->num_functions + cfi->empty + cfi->repeated,
		.empty = cfi->empty,
		.repeated = cfi->repeated,
	};

	for (size_t i = 0; i < cfi->num_functions; i++)
		known.bytes += cfi->functions[i].size;
	return known;
}

/* @cfi: from cfi_read(), or from bare_follow() */
static const char *check_formats(const struct object *obj, struct cfi *cfi,
				 const struct check_options *options,
				 struct report *report)
{
	Dwarf *dwarf = obj->debug_frame.data ?
		       dwarf_begin_elf((obj->debug ?: obj)->elf, DWARF_C_READ, NULL) : NULL;
	struct comparison cmp = {
		.options = options,
		.obj = obj,
		.cfi = cfi,
		.eh_frame = dwarf_getcfi_elf(obj->elf),
		.debug_frame = dwarf ? dwarf_getcfi(dwarf) : NULL,
		.report = report,
	};
	const char *error = NULL;

	entries_count(obj, cmp.eh_frame, &report->entries);
	if (object_has_cfi(obj))
		report->known = known_entries(cfi);
	if (options->code && object_has_cfi(obj))
		error = followed_compare(obj, cfi, options->verbose, &report->followed);
	if (!error && (options->table || options->dir))
		error = check_table(&cmp);
	else
		for (int i = 0; i < NUM_FORMATS && !error; i++)
			if (options->asked[i] &&
			    (object_has_cfi(obj) || FORMAT_V2 + i == FORMAT_V3))
				error = check_format(&cmp, FORMAT_V2 + i, NULL);
	if (cmp.eh_frame)
		dwarf_cfi_end(cmp.eh_frame);
	if (dwarf)
		dwarf_end(dwarf);
	return error;
}

static enum object_state open_file(struct object *obj, const char *name,
				   const struct check_options *options)
{
	enum object_state state = object_open(obj, name);
	int debug;

	if (state && state != OBJECT_NO_CFI)
		return state;
	debug = debug_open(obj->build_id, obj->build_id_size, options->debug_dir);
	if (debug >= 0 && !given_uses_debug(options, obj)) {
		close(debug);
		return state;
	}
	return debug_add(obj, debug, state);
}

/**
 * check_file() - compare tables for one file with its .eh_frame
 * @name:	The file.
 * @options:	What to compare, and how.
 * @report:	Filled in.
 */
void check_file(const char *name, const struct check_options *options,
		struct report *report)
{
	struct object obj;
	struct cfi cfi = { };
	const char *error;

	memset(report, 0, sizeof(*report));
	report->state = open_file(&obj, name, options);
	report->file_size = obj.file_size;
	error = obj.error;
	if (obj.debug_error) {
		report->state = OBJECT_DAMAGED;
		error = obj.debug_error;
	} else if (report->state == OBJECT_NO_CFI && !obj.detached && !obj.own.present &&
		   bare_follow(&obj, &cfi) == BARE_FOLLOWED) {
		report->state = OBJECT_OK;
		error = check_formats(&obj, &cfi, options, report);
		if (error)
			report->state = OBJECT_DAMAGED;
	} else if (!report->state) {
		if (obj.eh_frame.data)
			report->cfi_size += obj.eh_frame.data->d_size;
		if (obj.debug_frame.data)
			report->cfi_size += obj.debug_frame.data->d_size;
		if (!cfi_read(&obj, &cfi))
			error = cfi.error;
		else
			error = check_formats(&obj, &cfi, options, report);
		if (error)
			report->state = OBJECT_DAMAGED;
	} else if (report->state == OBJECT_NO_CFI && !obj.detached) {
		uncovered_count(&obj, NULL, &report->uncovered);
		error = given_copy(options, &obj, report);
		if (error)
			report->state = OBJECT_DAMAGED;
		else
			error = obj.error;
	}
	if (error)
		snprintf(report->error, sizeof(report->error), "%s", error);
	cfi_free(&cfi);
	object_close(&obj);
}
