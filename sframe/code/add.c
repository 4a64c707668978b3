// SPDX-License-Identifier: GPL-2.0
/*
 * Adds rows for code that .eh_frame does not describe, by following it.
 *
 * Functions begin at symbols, and where code calls; so do the parts of a PLT that bind lazily.
 * What pointers lead to is guessed to be a function, and what nothing leads to, if it follows the
 * end of another one; if that is not aligned, it is less likely.  Tables of jumps whose end is not
 * known lead to guesses, too.  A guess counts only if it returns to its caller, or has a frame and
 * leaves by a jump to another function, and if its frame is then as it was at all such places.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cfi/text.h"
#include "code/add.h"
#include "code/callee.h"
#include "code/follow.h"
#include "code/haskell.h"

#define CALL		0xe8
#define CALL_SIZE	5

/* So many guesses in a row are wrong where functions do not return, as in Haskell. */
#define MAX_WRONG	1000

/* There may be many instructions without a row, and many with the same. */
#define NO_ROW		UINT32_MAX

/**
 * struct found - an instruction that some way leads to
 * @start:	Its address.
 * @row:	The index of its rules, or NO_ROW.
 * @length:	Its length in bytes.
 */
struct found {
	u64	start;
	u32	row;
	u8	length;
};

/**
 * struct adding - what is being added
 * @obj:	The object.
 * @cfi:	Its call frame information.
 * @limits:	The text that it does not describe.
 * @follow:	That text.
 * @found:	The instructions there.
 * @num_found:	Their number.
 * @room_found:	How many @found has room for.
 * @wrong:	How many guesses in a row were wrong.
 * @rows:	Their rules.
 * @num_rows:	Their number.
 * @room_rows:	How many @rows has room for.
 */
struct adding {
	const struct object	*obj;
	struct cfi		*cfi;
	struct ranges		limits;
	struct follow		*follow;
	struct found		*found;
	size_t			num_found;
	size_t			room_found;
	size_t			wrong;
	struct row		*rows;
	size_t			num_rows;
	size_t			room_rows;
};

/* Find the text between functions.  Returns its size in bytes. */
static u64 find_limits(struct adding *adding)
{
	const struct cfi *cfi = adding->cfi;
	struct ranges text = { };
	size_t next = 0;
	u64 bytes = 0;

	text_find(adding->obj, &text);
	for (size_t i = 0; i < text.count; i++) {
		u64 at = text.at[i].start, end = text.at[i].end;

		for (; next < cfi->num_functions && cfi->functions[next].start < end; next++) {
			const struct function *f = &cfi->functions[next];

			if (f->start > at) {
				range_add(&adding->limits, at, f->start - at, 0);
				bytes += f->start - at;
			}
			if (f->start + f->size > at)
				at = f->start + f->size;
			if (f->start + f->size > end)
				break;
		}
		if (at < end) {
			range_add(&adding->limits, at, end - at, 0);
			bytes += end - at;
		}
	}
	free(text.at);
	ranges_sort(&adding->limits);
	return bytes;
}

static void enter_symbols(struct adding *adding, Elf_Data *data)
{
	GElf_Sym sym;

	for (int i = 0; gelf_getsym(data, i, &sym); i++)
		if (sym.st_shndx != SHN_UNDEF && sym.st_value &&
		    (GELF_ST_TYPE(sym.st_info) == STT_FUNC ||
		     GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC))
			follow_enter(adding->follow, sym.st_value);
}

static void enter_all_symbols(struct adding *adding)
{
	u64 left = adding->obj->file_size;
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;

	while ((data = object_next_section(adding->obj, &scn, 1 << SHT_SYMTAB | 1 << SHT_DYNSYM,
					   &shdr, &left)))
		enter_symbols(adding, data);
}

/* The word of a lazily bound function leads to the PLT at first. */
static void enter_lazy(struct adding *adding, Elf_Data *data)
{
	GElf_Rela rela;
	u64 target;

	for (int i = 0; gelf_getrela(data, i, &rela); i++)
		if (GELF_R_TYPE(rela.r_info) == R_X86_64_JUMP_SLOT &&
		    follow_word(adding->follow, rela.r_offset, &target) &&
		    follow_is_within(adding->follow, target))
			follow_enter(adding->follow, target);
}

static void guess_pointers(struct adding *adding, Elf_Data *data)
{
	GElf_Rela rela;

	for (int i = 0; gelf_getrela(data, i, &rela); i++)
		if ((GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE ||
		     GELF_R_TYPE(rela.r_info) == R_X86_64_IRELATIVE) &&
		    follow_is_within(adding->follow, rela.r_addend) &&
		    !follow_has_seen(adding->follow, rela.r_addend))
			follow_guess(adding->follow, rela.r_addend, GUESS_LIKELY);
}

typedef void relocations_each(struct adding *adding, Elf_Data *data);

static void visit_relocations(struct adding *adding, relocations_each *each)
{
	u64 left = adding->obj->file_size;
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;

	while ((data = object_next_section(adding->obj, &scn, 1 << SHT_RELA, &shdr, &left)))
		if (shdr.sh_flags & SHF_ALLOC)
			each(adding, data);
}

/* Whether an instruction begins at @address.  *@at is that of another one before it; moves on. */
static bool is_insn(struct adding *adding, u64 *at, u64 address)
{
	struct insn insn;

	while (*at < address && follow_decode(adding->follow, *at, &insn))
		*at += insn.length;
	return *at == address;
}

/* Find direct calls from code that .eh_frame describes, up to @end. */
static void enter_callees_of(struct adding *adding, u64 start, u64 end)
{
	u64 insn = start, left;
	const u8 *code = follow_bytes(adding->follow, start, &left);
	s32 offset;

	if (!code || left < end - start)
		return;
	for (; end - start >= CALL_SIZE; start++, code++) {
		if (*code != CALL)
			continue;
		memcpy(&offset, code + 1, sizeof(offset));
		if (follow_is_within(adding->follow, start + CALL_SIZE + offset) &&
		    is_insn(adding, &insn, start))
			follow_enter(adding->follow, start + CALL_SIZE + offset);
	}
}

static void enter_all_callees(struct adding *adding)
{
	const struct function *functions = adding->cfi->functions;
	size_t num_functions = adding->cfi->num_functions;

	for (size_t i = 0; i < num_functions; i++) {
		u64 end = functions[i].start + functions[i].size;

		/* Damaged entries may overlap. */
		if (i + 1 < num_functions && functions[i + 1].start < end)
			end = functions[i + 1].start;
		enter_callees_of(adding, functions[i].start, end);
	}
}

/* Return the index of @row, which is often the last one. */
static u32 number_row(struct adding *adding, const struct row *row)
{
	if (adding->num_rows && row_equal(row, &adding->rows[adding->num_rows - 1]))
		return adding->num_rows - 1;
	adding->rows = grow(adding->rows, &adding->room_rows, adding->num_rows, sizeof(*row));
	adding->rows[adding->num_rows] = *row;
	return adding->num_rows++;
}

static void note_found(const struct followed *followed, void *data)
{
	struct adding *adding = data;
	struct found found = {
		.start = followed->address,
		.row = NO_ROW,
		.length = followed->length,
	};
	struct row row;

	if (followed->is_sure && state_row(followed->state, &row) &&
	    !row_cause(&row, FORMAT_V3, false))
		found.row = number_row(adding, &row);
	adding->found = grow(adding->found, &adding->room_found, adding->num_found,
			     sizeof(found));
	adding->found[adding->num_found++] = found;
}

static int compare_found(const void *a, const void *b)
{
	const struct found *first = a, *second = b;

	if (first->start != second->start)
		return first->start < second->start ? -1 : 1;
	return (int)first->length - second->length;
}

static void find_all(struct adding *adding)
{
	follow_for_each(adding->follow, note_found, adding);
	if (adding->num_found)
		qsort(adding->found, adding->num_found, sizeof(*adding->found), compare_found);
}

/* Whether a function may begin after @insn: execution does not go on there, or @insn pads. */
static bool ends_function(const struct insn *insn)
{
	return insn->kind == INSN_NOTHING || insn->kind == INSN_RETURN || insn->kind == INSN_STOP ||
	       insn->kind == INSN_JUMP;
}

/* Whether functions begin with the instruction at @address more often than other code does */
static bool is_prologue(const struct adding *adding, u64 address, const struct insn *insn)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	u64 left;
	const u8 *bytes = follow_bytes(adding->follow, address, &left);

	if (insn->length == sizeof(endbr64) && !memcmp(bytes, endbr64, sizeof(endbr64)))
		return true;
	return insn->kind == INSN_PUSH || (insn->kind == INSN_ADD && insn->to == GPR_SP);
}

/* @likely: whether a function is likely to begin at @address, whatever is there */
static bool may_guess(struct adding *adding, u64 address, const struct insn *insn, bool likely)
{
	if (follow_is_weak(adding->follow, address))
		return is_prologue(adding, address, insn);
	return !follow_has_seen(adding->follow, address) &&
	       (likely || is_prologue(adding, address, insn));
}

/* Guess where functions begin in the code from @at to @end that nothing has led to. */
static void guess_between(struct adding *adding, u64 at, u64 end, enum guess guess)
{
	bool may_begin = true, is_padded = true;
	struct insn insn, next;

	for (; at < end && adding->wrong < MAX_WRONG; at += insn.length) {
		if (!follow_decode(adding->follow, at, &insn)) {
			may_begin = false;
			insn.length = 1;
			continue;
		}
		if (may_begin && !ends_function(&insn) &&
		    may_guess(adding, at, &insn, is_padded || guess == GUESS_POSSIBLE))
			adding->wrong = follow_guess(adding->follow, at, guess) ? 0 :
					adding->wrong + 1;
		is_padded = insn.kind == INSN_NOTHING || insn.kind == INSN_STOP;
		may_begin = ends_function(&insn) &&
			    (guess == GUESS_POSSIBLE || (at + insn.length) % CODE_ALIGNMENT == 0);
		/* A call that never returns may be the end, too. */
		if (insn.kind == INSN_CALL)
			may_begin = follow_decode(adding->follow, at + insn.length, &next) &&
				    insn_saves(&next);
	}
}

static void guess_all(struct adding *adding, enum guess guess)
{
	adding->wrong = 0;
	for (size_t i = 0; i < adding->limits.count; i++)
		guess_between(adding, adding->limits.at[i].start, adding->limits.at[i].end, guess);
}

/* Instructions that overlap are of different ways to read the same bytes. */
static void drop_overlapping(struct adding *adding)
{
	u64 end = 0;

	for (size_t i = 0; i < adding->num_found; i++) {
		struct found *found = &adding->found[i];

		if (found->start < end) {
			found->row = NO_ROW;
			adding->found[i - 1].row = NO_ROW;
		}
		if (found->start + found->length > end)
			end = found->start + found->length;
	}
}

/* Add instructions @first to @last, which follow each other, as one function. */
static void add_function(struct adding *adding, size_t first, size_t last)
{
	const struct found *found = adding->found;
	struct function function = {
		.start = found[first].start,
		.size = found[last].start + found[last].length - found[first].start,
		.first_row = adding->cfi->num_rows,
		.followed = true,
	};
	struct row row;

	for (size_t i = first; i <= last; i++) {
		if (i > first && row_equal(&adding->rows[found[i].row],
					   &adding->rows[found[i - 1].row]))
			continue;
		row = adding->rows[found[i].row];
		row.start = found[i].start - function.start;
		cfi_add_row(adding->cfi, &row);
		function.num_rows++;
	}
	cfi_add_function(adding->cfi, &function);
}

static void add_functions(struct adding *adding)
{
	const struct found *found = adding->found;
	size_t first = 0;

	while (first < adding->num_found) {
		size_t last = first;

		if (found[first].row == NO_ROW) {
			first++;
			continue;
		}
		while (last + 1 < adding->num_found && found[last + 1].row != NO_ROW &&
		       found[last + 1].start == found[last].start + found[last].length)
			last++;
		add_function(adding, first, last);
		first = last + 1;
	}
}

/* Whether the bytes from @at to @end never run. */
static bool is_padding(struct adding *adding, u64 at, u64 end)
{
	struct insn insn;
	const u8 *byte;
	u64 left;

	for (; at < end; at += insn.length) {
		byte = follow_bytes(adding->follow, at, &left);
		if (byte && (*byte == 0x00 || *byte == 0xcc))
			insn.length = 1;
		else if (!follow_decode(adding->follow, at, &insn) || insn.kind != INSN_NOTHING)
			return false;
	}
	return true;
}

/*
 * The kernel takes a short gap before an aligned function for padding, where the row before it
 * holds.  Before or after code that was followed, the gap may be code that nothing led to, so add
 * a function without rows for it.
 */
static void mark_gaps(struct adding *adding)
{
	struct cfi *cfi = adding->cfi;
	size_t count = cfi->num_functions;

	for (size_t i = 0; i + 1 < count; i++) {
		const struct function *function = &cfi->functions[i], *next = function + 1;
		struct function gap = {
			.start = function->start + function->size,
			.first_row = cfi->num_rows,
			.followed = true,
		};

		if (next->start <= gap.start || next->start % CODE_ALIGNMENT ||
		    next->start - gap.start >= CODE_ALIGNMENT ||
		    (!function->followed && !next->followed) ||
		    is_padding(adding, gap.start, next->start))
			continue;
		gap.size = next->start - gap.start;
		cfi_add_function(cfi, &gap);
	}
	cfi_sort(cfi);
}

/* Follow code from all entries.  Returns false if that takes too long. */
static bool follow_all(struct adding *adding)
{
	GElf_Ehdr ehdr;

	if (gelf_getehdr(adding->obj->elf, &ehdr) && ehdr.e_entry)
		follow_start(adding->follow, ehdr.e_entry);
	enter_all_symbols(adding);
	enter_all_callees(adding);
	visit_relocations(adding, enter_lazy);
	visit_relocations(adding, guess_pointers);
	guess_all(adding, GUESS_LIKELY);
	guess_all(adding, GUESS_POSSIBLE);
	return follow_run(adding->follow);
}

/**
 * code_add() - add rows for code that .eh_frame does not describe
 * @obj:	The object.
 * @cfi:	From cfi_read(); functions that are followed are added.  All their rows are for
 *		version 3 only.
 *
 * Haskell code, and callers by what their callees save, need no following.
 *
 * Return: false if code is left out because it takes too long to follow.
 */
bool code_add(const struct object *obj, struct cfi *cfi)
{
	struct adding adding = { .obj = obj, .cfi = cfi };
	u64 bytes = find_limits(&adding);
	bool good;

	adding.follow = follow_new(obj, &adding.limits);
	if (haskell_add(adding.follow, cfi, &adding.limits)) {
		cfi_sort(cfi);
		follow_free(adding.follow);
		adding.follow = follow_new(obj, &adding.limits);
		bytes = ranges_size(&adding.limits);
	}
	good = bytes <= CODE_MAX && (!bytes || follow_all(&adding));
	callee_add(adding.follow, cfi);
	if (good) {
		find_all(&adding);
		drop_overlapping(&adding);
		cfi->max_rows += adding.num_found;
		add_functions(&adding);
	}
	cfi_sort(cfi);
	mark_gaps(&adding);
	follow_free(adding.follow);
	free(adding.found);
	free(adding.rows);
	free(adding.limits.at);
	return good;
}
