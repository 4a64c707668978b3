// SPDX-License-Identifier: GPL-2.0
/* Finds the code of an object. */
#include <gelf.h>
#include <stdlib.h>

#include "base/grow.h"
#include "cfi/text.h"

/**
 * range_add() - add a range
 * @to:		Where to add it.
 * @start:	Its first address.
 * @size:	Its size in bytes.
 * @offset:	Where in the file it is.
 */
void range_add(struct ranges *to, u64 start, u64 size, u64 offset)
{
	to->at = grow(to->at, &to->room, to->count, sizeof(*to->at));
	to->at[to->count++] = (struct range){ start, start + size, offset };
}

static int compare_ranges(const void *a, const void *b)
{
	u64 first = ((const struct range *)a)->start, second = ((const struct range *)b)->start;

	return first < second ? -1 : first > second;
}

/**
 * ranges_sort() - sort ranges, and have none overlap the next
 * @ranges:	The ranges.
 */
void ranges_sort(struct ranges *ranges)
{
	u64 end = 0;

	if (ranges->count)
		qsort(ranges->at, ranges->count, sizeof(*ranges->at), compare_ranges);
	for (size_t i = 0; i < ranges->count; i++) {
		struct range *range = &ranges->at[i];

		if (range->start < end) {
			range->offset += end - range->start;
			range->start = end;
		}
		if (range->end < range->start)
			range->end = range->start;
		end = range->end;
	}
}

/**
 * ranges_size() - add the sizes of ranges
 * @ranges:	The ranges.
 *
 * Return: the sum in bytes.
 */
u64 ranges_size(const struct ranges *ranges)
{
	u64 size = 0;

	for (size_t i = 0; i < ranges->count; i++)
		size += ranges->at[i].end - ranges->at[i].start;
	return size;
}

static void add_text(const struct object *obj, struct ranges *text, u64 start, u64 size,
		     u64 offset)
{
	if (size && offset <= obj->file_size && size <= obj->file_size - offset &&
	    object_is_code(obj, start, size))
		range_add(text, start, size, offset);
}

/* Without sections, other parts of an executable segment count as text, too. */
static void add_segments(const struct object *obj, struct ranges *text)
{
	GElf_Phdr phdr;
	size_t count;

	if (elf_getphdrnum(obj->elf, &count))
		return;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(obj->elf, i, &phdr) && phdr.p_type == PT_LOAD &&
		    phdr.p_flags & PF_X)
			add_text(obj, text, phdr.p_vaddr, phdr.p_filesz, phdr.p_offset);
}

/**
 * text_find() - find the text of an object
 * @obj:	The object.
 * @text:	Its sections with code are added, sorted; without sections, its segments.
 */
void text_find(const struct object *obj, struct ranges *text)
{
	const u64 wanted = SHF_ALLOC | SHF_EXECINSTR;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(obj->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_PROGBITS &&
		    (shdr.sh_flags & wanted) == wanted)
			add_text(obj, text, shdr.sh_addr, shdr.sh_size, shdr.sh_offset);
	if (!text->count)
		add_segments(obj, text);
	ranges_sort(text);
}

/**
 * text_size() - get the size of an object's text
 * @obj:	The object.
 *
 * Return: the size in bytes.
 */
u64 text_size(const struct object *obj)
{
	struct ranges text = { };
	u64 size;

	text_find(obj, &text);
	size = ranges_size(&text);
	free(text.at);
	return size;
}
