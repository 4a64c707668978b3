// SPDX-License-Identifier: GPL-2.0
/*
 * Loads the tables of an object: finds the table, reads it, and makes rows of it for each
 * executable segment.
 *
 * The object's own table comes first, then its split table.  What is allocated is bounded by
 * constants and by the object's size before it is allocated.  The tables are charged to the
 * object's memory cgroup.  If the cgroup is full, the load fails; the OOM killer does not run.
 * The pages of the file are not charged to it: the page cache does not fail, so that the OOM
 * killer would run.
 */

#include <linux/elf.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "load.h"
#include "split.h"

/* Maximum size of a table that is read.  Debian's largest program has 10 MiB. */
#define LOAD_MAX_TABLE		SZ_64M

/**
 * unwind_free_parts() - release the segments of parts
 * @parts: The parts.
 * @nr: Number of @parts.
 *
 * Context: Any but NMI.
 */
void unwind_free_parts(struct unwind_part *parts, unsigned int nr)
{
	while (nr--)
		unwind_segment_put(parts[nr].segment);
}

static int load_build_part(const struct unwind_object *object,
			   const struct unwind_table_source *source,
			   const struct elf64_phdr *phdr, struct unwind_part *part)
{
	struct unwind_table_source of_code = *source;
	struct unwind_segment *segment;

	part->segment = NULL;
	/* The table's index grows with the code, so the file has to contain all of the code. */
	if (phdr->p_offset > object->size || object->size - phdr->p_offset < phdr->p_filesz)
		return -EBADMSG;

	part->offset = phdr->p_offset;
	part->size = phdr->p_filesz;
	of_code.text_start = phdr->p_vaddr;
	of_code.text_end = phdr->p_vaddr + phdr->p_filesz;
	segment = unwind_segment_build(&of_code, UNWIND_GFP_PROFILED);
	if (IS_ERR(segment))
		return PTR_ERR(segment) == -ENOENT ? 0 : PTR_ERR(segment);
	part->segment = segment;
	return 0;
}

/* Make rows for all executable segments.  Returns the number of parts or an error. */
static int load_build(const struct unwind_object *object,
		      const struct unwind_table_source *source,
		      const struct elf64_phdr *phdrs, unsigned int nr_phdrs,
		      struct unwind_part *parts)
{
	unsigned int i, nr = 0;
	bool any = false;
	int ret = 0;

	for (i = 0; i < nr_phdrs && !ret; i++) {
		if (phdrs[i].p_type != PT_LOAD || !(phdrs[i].p_flags & PF_X))
			continue;
		if (nr == UNWIND_MAX_PARTS) {
			ret = -E2BIG;
			break;
		}
		ret = load_build_part(object, source, &phdrs[i], &parts[nr++]);
		any = any || parts[nr - 1].segment;
	}
	if (!ret && !any)
		ret = -ENOENT;
	if (!ret)
		return nr;
	unwind_free_parts(parts, nr);
	return ret;
}

static int load_table(const struct unwind_object *object, const struct unwind_place *place,
		      const struct elf64_phdr *phdrs, unsigned int nr_phdrs,
		      struct unwind_part *parts)
{
	struct unwind_table_source source = {
		.len = place->size,
		.start = place->vaddr,
		.private_rules = place->private_rules,
	};
	struct mem_cgroup *active;
	u64 room = place->file ? i_size_read(file_inode(place->file)) : object->size;
	void *bytes;
	int ret;

	/* Bound the size before memory is allocated. */
	if (place->size > LOAD_MAX_TABLE)
		return -E2BIG;
	if (place->offset > room || room - place->offset < place->size)
		return -EBADMSG;
	active = set_active_memcg(object->memcg);
	bytes = kvmalloc(place->size, UNWIND_GFP_PROFILED);
	set_active_memcg(active);
	if (!bytes)
		return -ENOMEM;
	source.bytes = bytes;
	if (place->file)
		ret = unwind_file_read(place->file, bytes, place->offset, place->size);
	else
		ret = unwind_object_read(object, bytes, place->offset, place->size);
	active = set_active_memcg(object->memcg);
	if (!ret)
		ret = load_build(object, &source, phdrs, nr_phdrs, parts);
	set_active_memcg(active);
	kvfree(bytes);
	return ret;
}

static int load_with_phdrs(const struct unwind_object *object, const struct elf64_phdr *phdrs,
			   unsigned int nr_phdrs, struct unwind_part *parts)
{
	struct unwind_place place = { };
	int ret;

	ret = unwind_object_find_table(object, phdrs, nr_phdrs, &place);
	if (ret && object->file)
		ret = unwind_split_find(object->file, phdrs, nr_phdrs, &place);
	if (ret)
		return ret;
	ret = load_table(object, &place, phdrs, nr_phdrs, parts);
	if (place.file)
		fput(place.file);
	return ret;
}

/**
 * unwind_load_parts() - load the tables of an object
 * @object: The object.
 * @parts: Room for UNWIND_MAX_PARTS; filled in on success, for unwind_free_parts().
 *
 * Context: Process context, may sleep for as long as the object's file system takes; no locks
 * held.
 * Return: The number of parts, at least one of which has a segment; -ENOENT if there is no
 * table; -ENOEXEC if @object is no ELF object; -E2BIG if the table is too large or has too
 * many parts; -EBADMSG if the table or an executable segment ends after its file; -ENOMEM; an
 * error of unwind_table_build(), unwind_split_find() or unwind_file_read().
 */
int unwind_load_parts(const struct unwind_object *object, struct unwind_part *parts)
{
	struct elf64_phdr *phdrs;
	unsigned int nr_phdrs;
	int ret;

	phdrs = kmalloc_array(UNWIND_MAX_PHDRS, sizeof(*phdrs), UNWIND_GFP_PROFILED);
	if (!phdrs)
		return -ENOMEM;
	ret = unwind_object_read_phdrs(object, phdrs, &nr_phdrs);
	if (!ret)
		ret = load_with_phdrs(object, phdrs, nr_phdrs, parts);
	kfree(phdrs);
	return ret;
}
