// SPDX-License-Identifier: GPL-2.0
/*
 * Gives the mappings of a process the tables of the files that they are of.
 *
 * Objects are mapped by exec and by the dynamic linker, of which the kernel sees mmap() and
 * no more.  So it looks for itself, when somebody walks the process's stack: it asks for the
 * table of each file whose code is mapped, and attaches it once it has been loaded; of what
 * has none that is remembered.  So a mapping is looked at once, and a process that nobody
 * profiles never.
 *
 * All of a process's code is looked at in one go, and not that of one stack: samples
 * that are taken at once cannot look, and are short for each object that was not on a
 * stack before.  mm->exec_vm tells when there is code to look at: it changes whenever
 * code is mapped or unmapped.
 *
 * A walk that may sleep waits a moment for what is being loaded: once for each mapping, so
 * that a file that never answers does not stop those who run it over and over.
 *
 * The vDSO is an object like any other, but looked at only in a process that has
 * tables: it keeps frame pointers, and to others its table would be of no use.
 */

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sframe.h>
#include <linux/slab.h>

#include <asm/unwind_user.h>

#include "file.h"
#include "sframe.h"
#include "stats.h"

#include <trace/events/sframe.h>

/* Mappings that are looked at together: their files are loaded at the same time. */
#define DISCOVER_BATCH		16
/* For how long a process is left alone that maps code in which there is nothing. */
#define DISCOVER_REST		max(HZ / 10, 1)
/* How long a walk waits for files that are loaded. */
#define DISCOVER_WAIT		max(HZ / 20, 1)

/**
 * struct discover_object - a mapping of code, and the object that it is of
 * @uf:		What is known of the object.
 * @file:	What is mapped, with a reference; NULL for the vDSO.
 * @start:	The mapping ...
 * @end:	... and the first address behind it.
 * @offset:	Of @start in the file.
 * @waited:	A walk has waited for it before.
 */
struct discover_object {
	struct unwind_file	*uf;
	struct file		*file;
	unsigned long		start;
	unsigned long		end;
	u64			offset;
	bool			waited;
};

/**
 * struct discover_batch - some mappings of a process
 * @nr:		How many.
 * @left:	Jiffies that are still waited for their files.
 * @again:	Something has to be looked at another time.
 * @objects:	They.
 */
struct discover_batch {
	unsigned int		nr;
	long			left;
	bool			again;
	struct discover_object	objects[DISCOVER_BATCH];
};

/* Whether @vma is of an object's code, as far as that can be seen from outside. */
static bool discover_is_code(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_EXEC) || vma_is_anonymous(vma) ||
	    vma->vm_flags & (VM_IO | VM_PFNMAP))
		return false;
	if (vma->vm_file)
		return S_ISREG(file_inode(vma->vm_file)->i_mode);
	return vma->vm_mm->sframe && vma->vm_mm->sframe->nr;
}

/* Where @vma starts in its object. */
static u64 discover_offset(const struct vm_area_struct *vma)
{
	return vma->vm_file ? (u64)vma->vm_pgoff << PAGE_SHIFT : 0;
}

/* NULL where there is no memory, or nothing to look at. */
static struct unwind_file *discover_get_file(struct vm_area_struct *vma)
{
	const void *image;
	size_t size;

	if (vma->vm_file)
		return unwind_file_get(vma->vm_file);
	image = arch_unwind_vdso(vma, &size);
	return image ? unwind_file_get_image(image, size) : NULL;
}

/* Find the first mappings of code from @from on that nobody has looked at. */
static void discover_find(struct mm_struct *mm, unsigned long from, struct discover_batch *batch)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;

	batch->nr = 0;
	if (mmap_read_lock_killable(mm))
		return;
	for_each_vma(vmi, vma) {
		struct discover_object *object = &batch->objects[batch->nr];

		if (!discover_is_code(vma) ||
		    sframe_is_known(mm->sframe, vma->vm_start, vma->vm_end))
			continue;
		object->uf = discover_get_file(vma);
		object->file = vma->vm_file ? get_file(vma->vm_file) : NULL;
		object->start = vma->vm_start;
		object->end = vma->vm_end;
		object->offset = discover_offset(vma);
		object->waited = sframe_is_pending(mm->sframe, vma->vm_start, vma->vm_end);
		if (++batch->nr == DISCOVER_BATCH)
			break;
	}
	mmap_read_unlock(mm);
}

/* Whether what is mapped there is still the same; the lock was let go of. */
static bool discover_is_unchanged(struct mm_struct *mm, const struct discover_object *object)
{
	struct vm_area_struct *vma = vma_lookup(mm, object->start);

	if (!vma || vma->vm_start != object->start || vma->vm_end != object->end ||
	    vma->vm_file != object->file || !discover_is_code(vma))
		return false;
	return discover_offset(vma) == object->offset;
}

static int discover_attach(struct mm_struct *mm, const struct discover_object *object)
{
	struct unwind_part part;
	int ret;

	ret = unwind_file_find(object->uf, object->offset, &part);
	if (ret)
		return ret;
	ret = sframe_attach(mm, &part, object->start, object->end, object->offset);
	unwind_segment_put(part.segment);
	return ret;
}

/* Use what came of @object's file; the mmap_lock is held for writing. */
static void discover_answer(struct mm_struct *mm, const struct discover_object *object,
			    int found, struct discover_batch *batch)
{
	int ret = 0;

	/* Another thread, or the program itself, may have been faster. */
	if (sframe_is_known(mm->sframe, object->start, object->end))
		return;
	if (!found)
		found = discover_attach(mm, object);
	if (found == -EINPROGRESS || found == -ENOMEM) {
		batch->again = true;
		if (found == -EINPROGRESS)
			ret = sframe_add_without(mm, object->start, object->end, SFRAME_PENDING);
		return;
	}
	if (object->uf)
		unwind_file_done(object->uf);
	if (found)
		ret = sframe_add_without(mm, object->start, object->end, SFRAME_WITHOUT);
	if (ret)
		batch->again = true;
	else if (found)
		unwind_count(UNWIND_OBJECTS_WITHOUT);
	trace_sframe_discover(object->start, object->end, object->offset, found);
}

static int discover_object(struct mm_struct *mm, const struct discover_object *object,
			   struct discover_batch *batch)
{
	long none = 0;
	int found = object->file ? -ENOMEM : -ENOENT, ret;

	if (object->uf)
		found = unwind_file_wait(object->uf, object->waited ? &none : &batch->left);
	ret = mmap_write_lock_killable(mm);
	if (ret)
		return ret;
	if (discover_is_unchanged(mm, object))
		discover_answer(mm, object, found, batch);
	else
		WRITE_ONCE(mm->sframe->seen, 0);
	mmap_write_unlock(mm);
	return 0;
}

static void discover_release(struct discover_batch *batch)
{
	while (batch->nr--) {
		struct discover_object *object = &batch->objects[batch->nr];

		if (object->uf)
			unwind_file_put(object->uf);
		if (object->file)
			fput(object->file);
	}
}

/* Look at all code; returns whether there was any to look at, or an error. */
static int discover_all(struct mm_struct *mm, struct discover_batch *batch)
{
	unsigned long from = 0;
	unsigned int i, nr;
	int ret = 0;

	/* Each time further up: however many there are, this ends. */
	do {
		discover_find(mm, from, batch);
		nr = batch->nr;
		for (i = 0; i < nr && !ret; i++) {
			ret = discover_object(mm, &batch->objects[i], batch);
			from = batch->objects[i].end;
		}
		discover_release(batch);
		cond_resched();
	} while (nr == DISCOVER_BATCH && !ret);
	return ret ? ret : !!from;
}

/**
 * sframe_discover() - find the tables of what the current process has mapped
 *
 * Does nothing where they have been looked for and no code was mapped since.
 *
 * Context: Process context, may sleep; no mmap_lock held.
 */
void sframe_discover(void)
{
	struct mm_struct *mm = current->mm;
	struct discover_batch *batch;
	int ret;

	if (!sframe_discovery_is_due() || !sframe_begin_discovery())
		return;
	batch = kzalloc(sizeof(*batch), UNWIND_GFP_PROFILED);
	if (!batch) {
		sframe_rest_discovery(DISCOVER_REST, true);
		return;
	}
	batch->left = DISCOVER_WAIT;
	ret = discover_all(mm, batch);
	/* Nothing new; or no room to remember it, which there may be later. */
	if (ret <= 0 || batch->again)
		sframe_rest_discovery(DISCOVER_REST, ret < 0 || batch->again);
	kfree(batch);
}

/**
 * unwind_user_mapped() - code may have been mapped, while somebody wants callchains
 * @vma: What was mapped, or has become executable.
 *
 * Attaches the table of a file that has been loaded, so that the first sample of a process
 * is whole, however short it lives; has that of another one loaded.
 *
 * Context: Process context, the mmap_lock of @vma's mm held for writing.
 */
void unwind_user_mapped(struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	struct discover_object object = {
		.start = vma->vm_start,
		.end = vma->vm_end,
		.offset = discover_offset(vma),
	};

	if (!discover_is_code(vma) || !current->mm ||
	    (mm->sframe && sframe_is_known(mm->sframe, vma->vm_start, vma->vm_end)))
		return;
	object.uf = discover_get_file(vma);
	if (!object.uf)
		return;
	if (!unwind_file_state(object.uf))
		discover_attach(mm, &object);
	unwind_file_put(object.uf);
}
