// SPDX-License-Identifier: GPL-2.0
/*
 * Discovery: finds the tables of the files that a process has mapped, and attaches them.
 *
 * The dynamic linker maps objects with mmap() and does not report their tables to the
 * kernel.  So the kernel looks for tables itself when somebody walks the process's stack.
 * Discovery asks for the table of each file whose code is mapped and attaches the table once
 * it has been loaded.  It remembers which mappings have no table, so that it looks at each
 * mapping once.  It never looks at a process that nobody profiles.
 *
 * Discovery looks at all code of a process, not only at the code on one stack.  Immediate
 * walks cannot run discovery; they would be short for each object that no earlier stack
 * contained.  mm->exec_vm says when there is new code, as it changes whenever code is mapped
 * or unmapped.
 *
 * A walk that may sleep waits a moment for tables that are being loaded.  It waits once for
 * each mapping, so that a file whose file system never answers does not stop its users again
 * and again.
 *
 * The vDSO is an object like any other, but discovery looks at it only in a process that has
 * tables.  The vDSO keeps frame pointers, so other processes do not need its table.
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

/* Number of mappings in a batch; their files are loaded at the same time */
#define DISCOVER_BATCH		16
/* Delay until the next discovery after one that found nothing or has to be repeated */
#define DISCOVER_REST		max(HZ / 10, 1)
/* Maximum time that a walk waits for files to be loaded */
#define DISCOVER_WAIT		max(HZ / 20, 1)

/**
 * struct discover_object - a mapping of code and its object
 * @uf:		The object's entry in the cache of tables.
 * @file:	The mapped file, with a reference; NULL for the vDSO.
 * @start:	First address of the mapping.
 * @end:	First address after the mapping.
 * @offset:	Offset of @start in the file.
 * @waited:	A walk has waited for the object's table before.
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
 * struct discover_batch - mappings of a process that discovery handles together
 * @nr:		Number of entries in @objects.
 * @left:	Time that discovery may still wait for files, in jiffies.
 * @again:	Discovery has to look at a mapping again later.
 * @objects:	The mappings.
 */
struct discover_batch {
	unsigned int		nr;
	long			left;
	bool			again;
	struct discover_object	objects[DISCOVER_BATCH];
};

/* Whether @vma may map code of an object, judged without reading it. */
static bool discover_is_code(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_EXEC) || vma_is_anonymous(vma) ||
	    vma->vm_flags & (VM_IO | VM_PFNMAP))
		return false;
	if (vma->vm_file)
		return S_ISREG(file_inode(vma->vm_file)->i_mode);
	return vma->vm_mm->sframe && vma->vm_mm->sframe->nr;
}

/* Offset of the start of @vma in its object. */
static u64 discover_offset(const struct vm_area_struct *vma)
{
	return vma->vm_file ? (u64)vma->vm_pgoff << PAGE_SHIFT : 0;
}

/*
 * Get the cache entry of the object in @vma, whose process has an index.  Returns NULL without
 * memory or an object.
 */
static struct unwind_file *discover_get_file(struct vm_area_struct *vma)
{
	const void *image;
	size_t size;

	if (!vma->vm_file) {
		image = arch_unwind_vdso(vma, &size);
		return image ? unwind_file_get_image(image, size) : NULL;
	}
	return unwind_file_get(vma->vm_file, &vma->vm_mm->sframe->private, vma->vm_start,
			       vma->vm_end);
}

/*
 * Fill @batch with the next mappings of code from @from on that discovery has to look at.
 * Returns 0, or -EINTR if the task was killed.
 */
static int discover_find(struct mm_struct *mm, unsigned long from, struct discover_batch *batch)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;

	int ret;

	batch->nr = 0;
	ret = mmap_read_lock_killable(mm);
	if (ret)
		return ret;
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
	return 0;
}

/*
 * Whether the mapping is still the one that discover_find() saw.  The mmap_lock was dropped
 * since, and other threads may have changed the mappings.
 */
static bool discover_is_unchanged(struct mm_struct *mm, const struct discover_object *object)
{
	struct vm_area_struct *vma = vma_lookup(mm, object->start);

	return vma && vma->vm_start == object->start && vma->vm_end == object->end &&
	       vma->vm_file == object->file && discover_offset(vma) == object->offset &&
	       discover_is_code(vma);
}

static int discover_attach(struct mm_struct *mm, const struct discover_object *object)
{
	struct unwind_part part;
	int ret;

	/* It may be a later mapping of the same file, with other content. */
	if (!unwind_file_is_usable(object->uf, object->file))
		return -ESTALE;
	ret = unwind_file_find(object->uf, object->offset, object->end - object->start, &part);
	if (ret)
		return ret;
	ret = sframe_attach(mm, &part, object->start, object->end, object->offset);
	unwind_segment_put(part.segment);
	if (!ret)
		unwind_file_take(object->uf);
	return ret;
}

/* A file that may change unseen has to be read anew if its mapping did not take the table. */
static void discover_done(const struct discover_object *object)
{
	if (object->uf)
		unwind_file_done(object->uf);
}

/*
 * Attach the table of @object if it was loaded (@found is 0), or remember that there is none.
 * The mmap_lock is held for writing.
 */
static void discover_answer(struct mm_struct *mm, const struct discover_object *object,
			    int found, struct discover_batch *batch)
{
	int ret = 0;

	/* Another thread's discovery or the program's prctl() may have been faster. */
	if (sframe_is_known(mm->sframe, object->start, object->end)) {
		discover_done(object);
		return;
	}
	if (!found)
		found = discover_attach(mm, object);
	if (found == -EINPROGRESS || found == -ENOMEM || (found == -ESTALE && !object->waited)) {
		batch->again = true;
		if (found != -ENOMEM)
			ret = sframe_add_without(mm, object->start, object->end, SFRAME_PENDING);
		return;
	}
	/* The next discovery has the file read again. */
	if (found && object->uf && unwind_file_is_outdated(object->uf)) {
		batch->again = true;
		return;
	}
	discover_done(object);
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
	if (discover_is_unchanged(mm, object)) {
		discover_answer(mm, object, found, batch);
	} else {
		discover_done(object);
		batch->again = true;
	}
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

/* Look at all code.  Returns 1 if there was new code, 0 if there was none, or an error. */
static int discover_all(struct mm_struct *mm, struct discover_batch *batch)
{
	unsigned long from = 0;
	unsigned int i, nr;
	int ret = 0;

	/* @from rises with each batch, so this ends even if mappings keep appearing. */
	do {
		ret = discover_find(mm, from, batch);
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
 * sframe_discover() - find and attach the tables of the current process's mappings
 *
 * Does nothing unless sframe_discovery_is_due().
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
	/* Slow down if there was nothing new, or if a mapping has to be looked at again. */
	if (ret <= 0 || batch->again)
		sframe_rest_discovery(DISCOVER_REST, ret < 0 || batch->again);
	kfree(batch);
}

/**
 * unwind_user_mapped() - attach the table of a new mapping
 * @vma: A mapping that was created or became executable while callchains are in use.
 *
 * If the file's table has been loaded, this attaches it.  So the first sample of a process
 * is complete, however short its life.  Else this has the table loaded.
 *
 * Context: Process context, the mmap_lock of @vma's mm held for writing.
 */
void unwind_user_mapped(struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	struct discover_object object = {
		.file = vma->vm_file,
		.start = vma->vm_start,
		.end = vma->vm_end,
		.offset = discover_offset(vma),
	};

	if (!discover_is_code(vma) || !current->mm || !sframe_get_index(mm, UNWIND_GFP_PROFILED) ||
	    sframe_is_known(mm->sframe, vma->vm_start, vma->vm_end))
		return;
	object.uf = discover_get_file(vma);
	if (!object.uf || unwind_file_state(object.uf) || discover_attach(mm, &object))
		WRITE_ONCE(mm->sframe->seen, 0);
	if (object.uf)
		unwind_file_put(object.uf);
}
