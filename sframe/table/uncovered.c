// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the text that no row describes: what is written in assembly, or by a compiler that makes
 * no unwind information.
 *
 * There, the kernel follows frame pointers, so it matters whether functions keep them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi/text.h"
#include "table/uncovered.h"

/* How much of a file is read at a time.  A block with a prologue keeps frame pointers. */
#define BLOCK	4096

static void find_functions(const struct table *table, struct ranges *functions)
{
	struct entry_reader entry;

	for (u32 i = 0; table && i < table->num_entries; i++)
		/* That of an outermost frame may have no rows, but it is described. */
		if (table_entry(table, i, &entry) &&
		    (entry.num_rows || (table->version == FORMAT_V3 && !entry.is.followed)))
			range_add(functions, entry.start, entry.size, 0);
	ranges_sort(functions);
}

/* Return the length of the padding at @code, which assemblers and linkers use, or 0. */
static size_t padding_at(const u8 *code, size_t left)
{
	static const u8 operands[] = { [0x00] = 1, [0x40] = 2, [0x44] = 3, [0x80] = 5, [0x84] = 6 };
	size_t prefixes = 0, size;

	if (*code == 0x00 || *code == 0x90 || *code == 0xcc)
		return 1;
	while (prefixes < left && (code[prefixes] == 0x66 || code[prefixes] == 0x2e))
		prefixes++;
	code += prefixes;
	left -= prefixes;
	if (left && *code == 0x90)
		return prefixes + 1;
	/* A nop with operands */
	if (left < 3 || *code != 0x0f || code[1] != 0x1f || code[2] >= sizeof(operands))
		return 0;
	size = 2 + operands[code[2]];
	return size > 2 && size <= left ? prefixes + size : 0;
}

static size_t skip_padding(const u8 *code, size_t size)
{
	size_t at = 0, len = 1;

	while (at < size && len) {
		len = padding_at(code + at, size - at);
		at += len;
	}
	return at;
}

/* push %rbp; mov %rsp,%rbp, in both of its encodings */
static bool has_prologue(const u8 *code, size_t size)
{
	return memmem(code, size, "\x55\x48\x89\xe5", 4) ||
	       memmem(code, size, "\x55\x48\x8b\xec", 4);
}

static void count_block(const u8 *code, size_t size, struct uncovered *uncovered)
{
	size_t skip = skip_padding(code, size);

	code += skip;
	size -= skip;
	uncovered->text += size;
	uncovered->bytes += size;
	if (has_prologue(code, size))
		uncovered->framed += size;
}

/* @budget: how many bytes may be read, because sections may share their bytes. */
static void count_gap(const struct object *obj, const struct range *text, u64 start, u64 end,
		      u64 *budget, struct uncovered *uncovered)
{
	u8 block[BLOCK];

	/* The kernel takes this for padding, too. */
	if (end - start < CODE_ALIGNMENT && end < text->end && !(end % CODE_ALIGNMENT))
		return;
	while (start < end) {
		size_t size = end - start < BLOCK ? end - start : BLOCK;

		if (size > *budget ||
		    pread(obj->fd, block, size, text->offset + (start - text->start)) !=
		    (ssize_t)size)
			return;
		count_block(block, size, uncovered);
		*budget -= size;
		start += size;
	}
}

/* Count one range of text.  Returns the first function that may reach into the next one. */
static size_t count_text(const struct object *obj, const struct range *text,
			 const struct ranges *functions, size_t next, u64 *budget,
			 struct uncovered *uncovered)
{
	u64 at = text->start;

	for (; next < functions->count && functions->at[next].start < text->end; next++) {
		const struct range *function = &functions->at[next];
		u64 end = function->end < text->end ? function->end : text->end;

		if (function->start > at)
			count_gap(obj, text, at, function->start, budget, uncovered);
		if (end > at) {
			uncovered->text += end - (function->start > at ? function->start : at);
			at = end;
		}
		if (function->end > text->end)
			break;
	}
	if (at < text->end)
		count_gap(obj, text, at, text->end, budget, uncovered);
	return next;
}

/**
 * uncovered_count() - find out how much of an object's text has no row
 * @obj:	The object.
 * @table:	Its table; NULL for none.
 * @uncovered:	Filled in.
 *
 * Reads no text but what lies between functions.
 */
void uncovered_count(const struct object *obj, const struct table *table,
		     struct uncovered *uncovered)
{
	struct ranges text = { }, functions = { };
	u64 budget = obj->file_size;
	size_t next = 0;

	*uncovered = (struct uncovered){ };
	text_find(obj, &text);
	find_functions(table, &functions);
	for (size_t i = 0; i < text.count; i++)
		next = count_text(obj, &text.at[i], &functions, next, &budget, uncovered);
	free(text.at);
	free(functions.at);
}

/**
 * uncovered_add() - add one object's text to a sum
 * @to:		The sum.
 * @from:	The object's.
 */
void uncovered_add(struct uncovered *to, const struct uncovered *from)
{
	to->text += from->text;
	to->bytes += from->bytes;
	to->framed += from->framed;
}

/**
 * uncovered_percent() - the share of text without rows
 * @uncovered:	The text.
 *
 * Return: the share in percent; 0 if there is no text.
 */
double uncovered_percent(const struct uncovered *uncovered)
{
	return uncovered->text ? 100.0 * uncovered->bytes / uncovered->text : 0;
}

/**
 * uncovered_is_possible() - whether numbers that somebody else has noted agree with each other
 * @uncovered:	The text.
 *
 * Return: whether no part is more than the whole, which addresses of 48 bits can hold.
 */
bool uncovered_is_possible(const struct uncovered *uncovered)
{
	return uncovered->framed <= uncovered->bytes && uncovered->bytes <= uncovered->text &&
	       !(uncovered->text >> 48);
}

/**
 * uncovered_is_framed() - whether nearly all text without rows keeps frame pointers
 * @uncovered:	The text.
 *
 * Return: whether that is so for 9 tenths of it.
 */
bool uncovered_is_framed(const struct uncovered *uncovered)
{
	return uncovered->bytes && 10 * uncovered->framed >= 9 * uncovered->bytes;
}
