// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the SFrame tables of the objects that a process has mapped.
 *
 * Exec knows two objects; the others are mapped by the dynamic linker, of which the
 * kernel sees mmap() and no more.  So it looks for itself, when somebody walks the
 * process's stack and may wait for memory: in each mapping of code that it does not
 * know yet it goes to the ELF header, which is mapped too, and on to PT_GNU_SFRAME.
 * What it finds is registered, and of what has none that is remembered; so a mapping
 * is looked at once, and a process that nobody profiles never.
 *
 * All of a process's code is looked at in one go, and not that of one stack: samples
 * that are taken at once cannot look, and are short for each object that was not on a
 * stack before.  mm->exec_vm tells when there is code to look at: it changes whenever
 * code is mapped or unmapped.
 *
 * The vDSO is an object like any other, but looked at only in a process that has
 * tables: it keeps frame pointers, and to others its table would be of no use.
 *
 * Headers are the process's own memory and may say anything, and something else to
 * the next who reads them.  Each is read once.  What comes of it is no more than the
 * program could register by prctl().
 */

#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sframe.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "sframe.h"
#include "sframe_decode.h"
#include "sframe_region.h"
#include "stats.h"
#include "user.h"

#include <trace/events/sframe.h>

/* ld writes a dozen program headers. */
#define DISCOVER_MAX_PHDRS	64
/* How many mappings before that of its code an object may begin. */
#define DISCOVER_MAX_BEFORE	16
/* Bytes that an object's headers and its table's may cost. */
#define DISCOVER_BUDGET		SZ_8K
/* For how long a process is left alone that maps code in which there is nothing. */
#define DISCOVER_REST		max(HZ / 10, 1)

/**
 * struct discover_object - a mapping of code, and the object that it is of
 * @file:	What is mapped, with a reference; NULL for the vDSO.
 * @start:	The mapping ...
 * @end:	... and the first address behind it.
 * @offset:	Of @start in the file.
 * @base:	Where the file's beginning is mapped; 0 when it is not.
 * @base_end:	The end of that mapping.
 */
struct discover_object {
	struct file	*file;
	unsigned long	start;
	unsigned long	end;
	u64		offset;
	unsigned long	base;
	unsigned long	base_end;
};

/* Reading memory of a device might do something to it. */
static bool discover_may_read(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_READ) && !(vma->vm_flags & (VM_IO | VM_PFNMAP));
}

static bool discover_same_file(const struct vm_area_struct *vma,
			       const struct file *file)
{
	return vma->vm_file && file_inode(vma->vm_file) == file_inode(file);
}

/* Whether @vma is of an object's code, as far as that can be seen from outside. */
static bool discover_is_code(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_EXEC) || vma_is_anonymous(vma))
		return false;
	if (vma->vm_file)
		return S_ISREG(file_inode(vma->vm_file)->i_mode);
	return vma->vm_mm->sframe->nr && discover_may_read(vma);
}

/* Find where the object of @vma begins; some mappings before it, or there. */
static void discover_find_base(struct discover_object *object,
			       struct vm_area_struct *vma)
{
	VMA_ITERATOR(vmi, vma->vm_mm, vma->vm_start);
	unsigned int i;

	object->base = 0;
	if (!vma->vm_file) {
		object->base = vma->vm_start;
		object->base_end = vma->vm_end;
		return;
	}
	vma = vma_find(&vmi, vma->vm_end);
	for (i = 0; vma && i <= DISCOVER_MAX_BEFORE; i++) {
		if (discover_same_file(vma, object->file) && !vma->vm_pgoff &&
		    discover_may_read(vma)) {
			object->base = vma->vm_start;
			object->base_end = vma->vm_end;
			return;
		}
		vma = vma_prev(&vmi);
	}
}

/*
 * Find the first mapping of code from @from on that nobody has looked at.  When it
 * returns true, @object->file has to be put.
 */
static bool discover_next(struct mm_struct *mm, unsigned long from,
			  struct discover_object *object)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;
	bool found = false;

	if (mmap_read_lock_killable(mm))
		return false;
	for_each_vma(vmi, vma) {
		if (!discover_is_code(vma) ||
		    sframe_is_known(mm->sframe, vma->vm_start, vma->vm_end))
			continue;
		object->file = vma->vm_file ? get_file(vma->vm_file) : NULL;
		object->start = vma->vm_start;
		object->end = vma->vm_end;
		object->offset = vma->vm_file ? (u64)vma->vm_pgoff << PAGE_SHIFT : 0;
		discover_find_base(object, vma);
		found = true;
		break;
	}
	mmap_read_unlock(mm);
	return found;
}

/* Whether what is mapped there is still the same; the lock was let go of. */
static bool discover_is_unchanged(struct mm_struct *mm,
				  const struct discover_object *object)
{
	struct vm_area_struct *vma = vma_lookup(mm, object->start);

	if (!vma || vma->vm_start != object->start || vma->vm_end != object->end ||
	    vma->vm_file != object->file || !discover_is_code(vma))
		return false;
	if (!object->file)
		return true;
	if ((u64)vma->vm_pgoff << PAGE_SHIFT != object->offset)
		return false;
	if (!object->base)
		return true;
	vma = vma_lookup(mm, object->base);
	return vma && vma->vm_start == object->base && !vma->vm_pgoff &&
	       discover_same_file(vma, object->file);
}

static int discover_read(struct sframe_reader *reader, void *to, u64 from,
			 u32 len)
{
	if (reader->budget < len)
		return -E2BIG;
	reader->budget -= len;
	return reader->read(to, from, len);
}

/* Read the object's header; afterwards its program headers are known to be mapped. */
static int discover_read_header(struct sframe_reader *reader,
				const struct discover_object *object,
				struct elf64_hdr *header)
{
	u64 room = object->base_end - object->base, size;
	int ret;

	if (!object->base || room < sizeof(*header))
		return -ENOEXEC;
	ret = discover_read(reader, header, object->base, sizeof(*header));
	if (ret)
		return ret;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELF_DATA ||
	    !elf_check_arch(header) ||
	    (header->e_type != ET_DYN && header->e_type != ET_EXEC) ||
	    header->e_phentsize != sizeof(struct elf64_phdr) ||
	    header->e_phnum > DISCOVER_MAX_PHDRS)
		return -ENOEXEC;
	size = header->e_phnum * sizeof(struct elf64_phdr);
	if (size > room || header->e_phoff > room - size)
		return -ENOEXEC;
	return 0;
}

/*
 * Find the program headers of the segment that is mapped, and of the table.  What
 * they say may wrap around; it is the sums that have to make sense in the end.
 */
static int discover_read_segments(struct sframe_reader *reader,
				  const struct discover_object *object,
				  const struct elf64_hdr *header, struct elf64_phdr *text,
				  struct elf64_phdr *sframe)
{
	u64 from = object->base + header->e_phoff;
	unsigned int i;

	text->p_type = PT_NULL;
	sframe->p_type = PT_NULL;
	for (i = 0; i < header->e_phnum; i++, from += sizeof(struct elf64_phdr)) {
		struct elf64_phdr segment;
		int ret;

		ret = discover_read(reader, &segment, from, sizeof(segment));
		if (ret)
			return ret;
		if (segment.p_type == PT_GNU_SFRAME)
			*sframe = segment;
		else if (segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
			 PAGE_ALIGN_DOWN(segment.p_offset) <= object->offset &&
			 object->offset - PAGE_ALIGN_DOWN(segment.p_offset) <
			 segment.p_filesz)
			*text = segment;
	}
	if (text->p_type == PT_NULL)
		return -ENOEXEC;
	return sframe->p_type == PT_NULL ? -ENOENT : 0;
}

/* Find the object's table and what of its code is mapped here. */
static int discover_read_object(const struct discover_object *object,
				struct sframe_region *region,
				struct sframe_table *table)
{
	struct sframe_reader reader = {
		.read = unwind_user_read_faultable,
		.budget = DISCOVER_BUDGET,
	};
	struct elf64_phdr text, sframe;
	u64 bias, start, end;
	struct elf64_hdr header;
	int ret;

	ret = discover_read_header(&reader, object, &header);
	if (!ret)
		ret = discover_read_segments(&reader, object, &header, &text, &sframe);
	if (ret)
		return ret;

	/* What an address in the headers has to be moved by, from the code ... */
	bias = object->start - (text.p_vaddr - text.p_offset + object->offset);
	start = max_t(u64, bias + text.p_vaddr, object->start);
	end = min_t(u64, bias + text.p_vaddr + text.p_filesz, object->end);
	region->sframe_start = bias + sframe.p_vaddr;
	region->sframe_size = sframe.p_filesz;
	region->text_start = start;
	region->text_size = end - start;
	if (end <= start || !sframe_region_valid(region, TASK_SIZE_MAX))
		return -EINVAL;
	ret = sframe_open(&reader, region->sframe_start,
			  region->sframe_start + region->sframe_size, table);
	if (ret)
		return ret;
	/* Linkers leave a size that may reach beyond what is mapped. */
	region->sframe_size = table->fres_end - region->sframe_start;
	return 0;
}

/*
 * Look at @object and remember the answer.  Returns 0 when there is one now, whatever
 * it is.
 */
static int discover_object(struct mm_struct *mm,
			   const struct discover_object *object)
{
	struct sframe_region region;
	struct sframe_table table;
	int found, ret;

	found = discover_read_object(object, &region, &table);
	/* Then no page fault waits for memory, and -EFAULT says nothing. */
	if (fatal_signal_pending(current))
		return -EINTR;

	ret = mmap_write_lock_killable(mm);
	if (ret)
		return ret;
	if (!discover_is_unchanged(mm, object)) {
		WRITE_ONCE(mm->sframe->seen, 0);
		mmap_write_unlock(mm);
		return 0;
	}
	/* Another thread, or the program itself, may have been faster. */
	if (!sframe_is_known(mm->sframe, object->start, object->end)) {
		if (!found)
			found = sframe_add_discovered(&region, &table);
		/* Memory may be there the next time. */
		if (found == -ENOMEM)
			ret = found;
		else if (found)
			ret = sframe_add_without(mm, object->start, object->end);
		if (found && !ret)
			unwind_count(UNWIND_OBJECTS_WITHOUT);
		trace_sframe_discover(object->start, object->end, object->base, found);
	}
	mmap_write_unlock(mm);
	return ret;
}

/**
 * sframe_discover() - find the tables of what the current process has mapped
 *
 * Does nothing where they have been looked for and no code was mapped since.
 *
 * Context: Process context, may sleep and fault; no mmap_lock held.
 */
void sframe_discover(void)
{
	struct mm_struct *mm = current->mm;
	struct discover_object object;
	unsigned long from = 0;
	int ret = 0;

	if (!sframe_discovery_is_due() || !sframe_begin_discovery())
		return;
	/* Each time further up: however many there are, this ends. */
	while (!ret && discover_next(mm, from, &object)) {
		ret = discover_object(mm, &object);
		if (object.file)
			fput(object.file);
		from = object.end;
		cond_resched();
	}
	/* Nothing new; or no room to remember it, which there may be later. */
	if (!from || ret)
		sframe_rest_discovery(DISCOVER_REST, ret == -ENOMEM);
}
