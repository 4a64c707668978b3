// SPDX-License-Identifier: GPL-2.0
/*
 * The unwind tables that a process registers with prctl().
 *
 * A program that makes code at run time knows what no file says.  The kernel copies its table
 * and makes rows of it during the system call.  A table lives as long as the mapping of its
 * text.
 *
 *	mm->sframe --> struct sframe_registry
 *			by_text: maple tree, text range -> struct sframe_section
 *
 * Writers hold the mmap_lock for writing, which everything that changes mappings holds
 * anyway.  Readers take no lock and may be in NMI: they look a table up in by_text under RCU
 * and use it only as long as they hold RCU.  Code without a table here has that of its file,
 * see file.c.
 */

#include <linux/maple_tree.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sframe.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "file.h"
#include "sframe.h"
#include "sframe_region.h"
#include "stats.h"

#define CREATE_TRACE_POINTS
#include <trace/events/sframe.h>

/* Maximum number of tables of a process */
#define SFRAME_MAX_SECTIONS	8192

/* Maximum size of a table that prctl() copies.  Debian's largest program has 10 MiB. */
#define SFRAME_MAX_COPY		SZ_64M

/**
 * struct sframe_section - a table that a program has registered
 * @users:	Number of processes that have the table.  fork() shares it with the child.
 * @start:	First address of the text.
 * @end:	First address after the text.
 * @sframe_start: Address of the table that prctl() copied.
 * @table:	The rows, from @start on.
 * @rcu:	Defers freeing until no reader is left.
 */
struct sframe_section {
	refcount_t		users;
	unsigned long		start;
	unsigned long		end;
	unsigned long		sframe_start;
	struct unwind_table	*table;
	struct rcu_head		rcu;
};

static void sframe_free_section(struct rcu_head *rcu)
{
	struct sframe_section *section = container_of(rcu, struct sframe_section, rcu);

	unwind_table_free(section->table);
	kfree(section);
}

static void sframe_put_section(struct sframe_section *section)
{
	if (refcount_dec_and_test(&section->users))
		call_rcu(&section->rcu, sframe_free_section);
}

/*
 * Get the tables of @mm, and make it ready to have some.  The mmap_lock is held for writing.
 * Returns NULL if there is no memory.
 */
static struct sframe_registry *sframe_get_registry(struct mm_struct *mm)
{
	struct sframe_registry *index = mm->sframe;

	mmap_assert_write_locked(mm);
	if (index)
		return index;

	index = kzalloc(sizeof(*index), GFP_KERNEL_ACCOUNT);
	if (!index)
		return NULL;
	mt_init_flags(&index->by_text, MT_FLAGS_USE_RCU | MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(&index->by_text, &mm->mmap_lock);
	/* Publishes an empty index to readers, in NMI too. */
	smp_store_release(&mm->sframe, index);
	return index;
}

static void sframe_remove_section(struct mm_struct *mm, struct sframe_section *section)
{
	struct sframe_registry *index = mm->sframe;

	MA_STATE(mas, &index->by_text, section->start, section->end - 1);

	/*
	 * No reader finds the table from here on.  munmap() cannot fail halfway for lack of
	 * memory, and a table must not outlive its mapping.  Hence __GFP_NOFAIL for the few
	 * nodes that this allocates.
	 */
	mas_store_gfp(&mas, NULL, GFP_KERNEL | __GFP_NOFAIL);
	WRITE_ONCE(index->nr, index->nr - 1);
	unwind_count(UNWIND_TABLES_REMOVED);
	trace_sframe_remove(section->sframe_start, section->start, section->end);
	sframe_put_section(section);
}

/* Whether a table covers part of [@start, @last].  The mmap_lock is held. */
static bool sframe_has_text(struct sframe_registry *index, unsigned long start, unsigned long last)
{
	return mt_find(&index->by_text, &start, last);
}

/*
 * Add @section to the tables of @mm.  On success, @mm takes over the caller's reference.  The
 * mmap_lock is held for writing.
 */
static int sframe_add_section(struct mm_struct *mm, struct sframe_section *section)
{
	struct sframe_registry *index = sframe_get_registry(mm);
	int ret;

	if (!index)
		return -ENOMEM;
	if (sframe_has_text(index, section->start, section->end - 1))
		return -EEXIST;
	if (index->nr >= SFRAME_MAX_SECTIONS)
		return -ENOSPC;

	MA_STATE(mas, &index->by_text, section->start, section->end - 1);
	/* mas_store_gfp() would try an allocation without accounting first. */
	ret = mas_preallocate(&mas, section, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	mas_store_prealloc(&mas, section);
	WRITE_ONCE(index->nr, index->nr + 1);
	return 0;
}

/* Whether [start, end) is mapped without a hole, and each mapping has all @flags. */
static bool sframe_range_has(struct mm_struct *mm, unsigned long start,
			     unsigned long end, vm_flags_t flags)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_start > start || (vma->vm_flags & flags) != flags)
			return false;
		start = vma->vm_end;
	}
	return start >= end;
}

/* Check that table and text of a valid region are mapped.  The mmap_lock is held. */
static int sframe_check_mapped(struct mm_struct *mm, const struct sframe_region *region)
{
	if (!sframe_range_has(mm, region->sframe_start,
			      region->sframe_start + region->sframe_size, VM_READ) ||
	    !sframe_range_has(mm, region->text_start,
			      region->text_start + region->text_size, VM_EXEC))
		return -EFAULT;
	return 0;
}

static int sframe_register(const struct sframe_region *region, struct sframe_section *section)
{
	struct mm_struct *mm = current->mm;
	int ret;

	ret = mmap_write_lock_killable(mm);
	if (ret)
		return ret;
	ret = sframe_check_mapped(mm, region);
	if (!ret)
		ret = sframe_add_section(mm, section);
	mmap_write_unlock(mm);
	return ret;
}

static int sframe_copy_region(struct sframe_region *region, unsigned long from,
			      unsigned long size)
{
	/* A larger struct has fields that this kernel would ignore: refuse it. */
	if (size != sizeof(*region))
		return -EINVAL;
	if (copy_from_user(region, (void __user *)from, size))
		return -EFAULT;
	return 0;
}

/* Check everything that does not need the content of the table.  @region is valid. */
static int sframe_check_prctl(const struct sframe_region *region)
{
	struct mm_struct *mm = current->mm;
	int ret;

	ret = mmap_read_lock_killable(mm);
	if (ret)
		return ret;
	ret = sframe_check_mapped(mm, region);
	if (!ret && mm->sframe && sframe_has_text(mm->sframe, region->text_start,
						  region->text_start + region->text_size - 1))
		ret = -EEXIST;
	mmap_read_unlock(mm);
	if (!ret && region->sframe_size > SFRAME_MAX_COPY)
		ret = -E2BIG;
	return ret;
}

/* Copy the table of a valid region, and make rows of it. */
static struct unwind_table *sframe_copy_table(const struct sframe_region *region, u8 *version)
{
	struct unwind_table_source source = {
		.len = region->sframe_size,
		.start = region->sframe_start,
		.text_start = region->text_start,
		.text_end = region->text_start + region->text_size,
	};
	struct unwind_table *table = ERR_PTR(-EFAULT);
	void *bytes;
	int ret;

	ret = sframe_check_prctl(region);
	if (ret)
		return ERR_PTR(ret);
	bytes = kvmalloc(source.len, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bytes)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_user(bytes, (void __user *)region->sframe_start, source.len)) {
		source.bytes = bytes;
		table = unwind_table_build(&source, get_random_u32(), GFP_KERNEL_ACCOUNT);
		*version = source.len > 2 ? source.bytes[2] : 0;
	}
	kvfree(bytes);
	return table;
}

/* Copy a valid region's table and register it. */
static int sframe_add_region(const struct sframe_region *region, u8 *version)
{
	struct unwind_table *table = sframe_copy_table(region, version);
	struct sframe_section *section;
	int ret;

	if (IS_ERR(table))
		return PTR_ERR(table);
	section = kzalloc(sizeof(*section), GFP_KERNEL_ACCOUNT);
	if (!section) {
		unwind_table_free(table);
		return -ENOMEM;
	}
	refcount_set(&section->users, 1);
	section->start = region->text_start;
	section->end = region->text_start + region->text_size;
	section->sframe_start = region->sframe_start;
	section->table = table;
	ret = sframe_register(region, section);
	if (ret)
		sframe_put_section(section);
	return ret;
}

/**
 * sframe_prctl_add() - prctl(PR_ADD_SFRAME)
 * @from: User address of a struct sframe_region.
 * @size: Size of that struct as the caller knows it.
 * @flags: Must be 0.
 *
 * Reads and checks the whole table; the program may unmap it afterwards.  The memory of the
 * rows is charged to the caller's memory cgroup.  The table comes before that of a mapped file.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL for an impossible range, a wrong @size or @flags; -EFAULT if @from cannot
 * be read, or if part of the table is not mapped readable or part of the text not
 * executable; -EEXIST if the program has registered a table for part of the text before;
 * -ENOSPC if the process has too many tables; -E2BIG if the table is too large; -ENOMEM;
 * -EINTR if the task is being killed; an error of unwind_table_build() if the table is
 * damaged, of another version, too large, or of other code.
 */
int sframe_prctl_add(unsigned long from, unsigned long size,
		     unsigned long flags)
{
	struct sframe_region region;
	u8 version = 0;
	int ret;

	if (flags)
		return -EINVAL;
	ret = sframe_copy_region(&region, from, size);
	if (ret)
		return ret;
	ret = -EINVAL;
	if (sframe_region_valid(&region, TASK_SIZE_MAX))
		ret = sframe_add_region(&region, &version);
	unwind_count(ret ? UNWIND_TABLES_REFUSED : UNWIND_TABLES_PRCTL);
	trace_sframe_add(&region, ret ? 0 : version, ret);
	return ret;
}

/*
 * Whether prctl(PR_REMOVE_SFRAME) of @region removes @section.  A text_size of 0 matches any
 * text.
 */
static bool sframe_region_names(const struct sframe_region *region,
				const struct sframe_section *section)
{
	if (section->sframe_start != region->sframe_start)
		return false;
	return !region->text_size ||
	       (section->start == region->text_start &&
		section->end - section->start == region->text_size);
}

/* Remove the tables that @region names; the mmap_lock is held for writing. */
static int sframe_remove(struct mm_struct *mm, const struct sframe_region *region)
{
	unsigned long at = region->text_size ? region->text_start : 0;
	unsigned long last = region->text_size ? region->text_start : ULONG_MAX;
	struct sframe_section *section;
	int ret = -ENOENT;

	if (!mm->sframe)
		return ret;
	mt_for_each(&mm->sframe->by_text, section, at, last) {
		if (!sframe_region_names(region, section))
			continue;
		sframe_remove_section(mm, section);
		ret = 0;
	}
	return ret;
}

/**
 * sframe_prctl_remove() - prctl(PR_REMOVE_SFRAME)
 * @from: User address of a struct sframe_region.  If its @text_size is 0, this removes all
 *	tables that were registered with its @sframe_start.
 * @size: Size of that struct as the caller knows it.
 *
 * If the text is that of a file with a table, that table applies again.
 *
 * Context: Process context, may sleep; takes the mmap_lock for writing.
 * Return: 0; -ENOENT if there is no such table; -EINVAL if @size is wrong; -EFAULT if @from
 * cannot be read; -EINTR if the task is being killed.
 */
int sframe_prctl_remove(unsigned long from, unsigned long size)
{
	struct mm_struct *mm = current->mm;
	struct sframe_region region;
	int ret;

	ret = sframe_copy_region(&region, from, size);
	if (ret)
		return ret;
	if (mmap_write_lock_killable(mm))
		return -EINTR;
	ret = sframe_remove(mm, &region);
	mmap_write_unlock(mm);
	return ret;
}

/* Whether fork() copies all mappings of @section to the child. */
static bool sframe_is_forked(struct mm_struct *mm, const struct sframe_section *section)
{
	VMA_ITERATOR(vmi, mm, section->start);
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, section->end)
		if (vma->vm_flags & (VM_DONTCOPY | VM_WIPEONFORK))
			return false;
	return true;
}

void __sframe_unmap(struct mm_struct *mm, unsigned long start,
		    unsigned long end)
{
	struct sframe_section *section;
	unsigned long at = start;

	mmap_assert_write_locked(mm);
	mt_for_each(&mm->sframe->by_text, section, at, end - 1)
		sframe_remove_section(mm, section);
}

int __sframe_dup_mm(struct mm_struct *mm, struct mm_struct *oldmm)
{
	struct sframe_section *section;
	unsigned long at = 0;
	int ret;

	mmap_assert_write_locked(oldmm);
	mt_for_each(&oldmm->sframe->by_text, section, at, ULONG_MAX) {
		if (!sframe_is_forked(oldmm, section))
			continue;
		refcount_inc(&section->users);
		ret = sframe_add_section(mm, section);
		if (ret) {
			sframe_put_section(section);
			return ret;
		}
	}
	return 0;
}

void __sframe_exit_mm(struct mm_struct *mm)
{
	struct sframe_registry *index = mm->sframe;
	struct sframe_section *section;
	unsigned long at = 0;

	/* No reader is left, see sframe_exit_mm(); the maple tree asserts the lock. */
	mmap_write_lock(mm);
	mt_for_each(&index->by_text, section, at, ULONG_MAX)
		sframe_put_section(section);
	__mt_destroy(&index->by_text);
	mmap_write_unlock(mm);
	kfree(index);
	mm->sframe = NULL;
}

/**
 * sframe_replace() - make place for a table that a cursor uses from now on
 * @cursor: The cursor; forgets the table that it has known for longest, but not that which it used
 *	last.
 *
 * Context: As sframe_seek().
 * Return: the place, which the caller has to fill.
 */
struct sframe_found *sframe_replace(struct sframe_cursor *cursor)
{
	if (cursor->next == cursor->now)
		cursor->next = (cursor->next + 1) % SFRAME_FOUND;
	cursor->now = cursor->next;
	cursor->next = (cursor->next + 1) % SFRAME_FOUND;
	return &cursor->found[cursor->now];
}

/* Have @cursor use the table of @section, which covers @ip. */
static int sframe_use_section(struct sframe_cursor *cursor, const struct sframe_section *section,
			      unsigned long ip)
{
	unsigned long size = min(section->end - section->start, section->table->text_size);

	if (ip - section->start >= size)
		return -ENOENT;
	*sframe_replace(cursor) = (struct sframe_found){
		.table = section->table,
		.start = section->start,
		.size = size,
	};
	return 0;
}

/**
 * sframe_seek() - find the table for an instruction of the current process
 * @cursor: Uses the table from now on.  On failure, it goes on using the one that it has, and its
 *	gap contains @ip if no table does.  Its text is set as well.
 * @ip: Address of the instruction; for a caller, the return address minus one.  sframe_recall()
 *	has not found it.
 *
 * Context: Any task that has an mm, in any context, NMI included.  The caller holds RCU as long
 * as it uses @cursor.
 * Return: 0; -ENXIO if no table covers @ip; -ENOENT if @ip is mapped, but outside the code of
 * its table.
 */
int sframe_seek(struct sframe_cursor *cursor, unsigned long ip)
{
	unsigned long first = 0, last = ULONG_MAX;
	const struct sframe_section *section;
	struct sframe_registry *index;

	cursor->text.size = 0;
	/* Pairs with sframe_get_registry(). */
	index = smp_load_acquire(&current->mm->sframe);
	if (unlikely(index)) {
		MA_STATE(mas, &index->by_text, ip, ip);

		section = mas_walk(&mas);
		if (section)
			return sframe_use_section(cursor, section, ip);
		first = mas.index;
		last = mas.last;
	}
	return unwind_file_seek(cursor, ip, first, last);
}

/**
 * sframe_find_own() - ask the object's own table as well
 * @found: The table of a cursor; has one of the object.
 * @at: Offset of the instruction in the code of both tables.
 * @row: The row of @found, which is an error or not from unwind information; set to that of the
 *	object's own table if that is better.
 *
 * Context: As sframe_row(), which is the only caller.
 */
void sframe_find_own(const struct sframe_found *found, unsigned long at, struct sframe_row *row)
{
	struct sframe_row own;

	unwind_table_find(found->own, at, &own);
	if (row->error || !own.error)
		*row = own;
}
