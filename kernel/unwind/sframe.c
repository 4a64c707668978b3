// SPDX-License-Identifier: GPL-2.0
/*
 * The unwind tables of each process.
 *
 * mm->sframe points to an index of the process's tables.  The first table or the first
 * discovery allocates it.  discover.c attaches the tables of mapped files.  prctl() registers
 * any table: the kernel copies it and makes rows of it during the system call.  A table
 * lives as long as the mapping of its text.
 *
 *	mm->sframe --> struct sframe_index
 *			by_text: maple tree, text range -> table   readers
 *			without: maple tree, mappings known to have no table
 *
 * Writers hold the mmap_lock for writing, which everything that changes mappings holds
 * anyway.  Readers take no lock and may be in NMI: they look a table up in by_text under RCU
 * and use it only as long as they hold RCU.
 */

#include <linux/jiffies.h>
#include <linux/maple_tree.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sframe.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>
#include <linux/xarray.h>

#include "file.h"
#include "load.h"
#include "sframe.h"
#include "sframe_region.h"
#include "stats.h"

#define CREATE_TRACE_POINTS
#include <trace/events/sframe.h>

/*
 * Maximum number of tables of a process, and of mappings that are remembered as having no
 * table.
 */
#define SFRAME_MAX_SECTIONS	8192

/* Maximum size of a table that prctl() copies.  Debian's largest program has 10 MiB. */
#define SFRAME_MAX_COPY		SZ_64M

/**
 * struct sframe_section - a table of the process
 * @start:	First address of the text.
 * @end:	First address after the text.
 * @segment:	The segment with the rows for the text.
 * @base:	Address at which @segment starts in this process.
 * @sframe_start: Address of the table that prctl() copied; 0 for the table of a file.
 * @origin:	How the table was registered.
 * @own:	The entry of by_text if it is more than a tagged @segment, else NULL.
 *
 * sframe_section_at() makes this from an entry of by_text.  Nearly all tables belong to files
 * that are mapped from the start of a segment on.  Their entry is the tagged pointer to the
 * segment, so a process pays for nothing but the tree.
 */
struct sframe_section {
	unsigned long		start;
	unsigned long		end;
	struct unwind_segment	*segment;
	unsigned long		base;
	unsigned long		sframe_start;
	enum sframe_origin	origin;
	struct sframe_own	*own;
};

/**
 * struct sframe_own - an entry of by_text that a tagged segment cannot represent
 * @segment:	See struct sframe_section.
 * @base:	See struct sframe_section.
 * @sframe_start: See struct sframe_section.
 * @origin:	See struct sframe_section.
 * @rcu:	Defers freeing until no reader is left.
 */
struct sframe_own {
	struct unwind_segment	*segment;
	unsigned long		base;
	unsigned long		sframe_start;
	enum sframe_origin	origin;
	struct rcu_head		rcu;
};

/* Tag of an entry that points to a segment, not to a struct sframe_own */
#define SFRAME_BARE		1

static struct unwind_segment *sframe_entry_segment(void *entry)
{
	if (xa_pointer_tag(entry) == SFRAME_BARE)
		return xa_untag_pointer(entry);
	return ((struct sframe_own *)entry)->segment;
}

/* Describe the table of @entry, which @mas has found.  Any context, NMI included. */
static struct sframe_section sframe_section_at(const struct ma_state *mas, void *entry)
{
	struct sframe_section section = {
		.start	 = mas->index,
		.end	 = mas->last + 1,
		.segment = sframe_entry_segment(entry),
		.base	 = mas->index,
		.origin	 = SFRAME_DISCOVERED,
	};

	if (xa_pointer_tag(entry) != SFRAME_BARE) {
		section.own = entry;
		section.base = section.own->base;
		section.sframe_start = section.own->sframe_start;
		section.origin = section.own->origin;
	}
	return section;
}

/* Make an entry of by_text for @section.  Returns NULL if there is no memory. */
static void *sframe_new_entry(const struct sframe_section *section, gfp_t gfp)
{
	struct sframe_own *own;

	if (section->origin == SFRAME_DISCOVERED && section->base == section->start)
		return xa_tag_pointer(section->segment, SFRAME_BARE);
	own = kzalloc(sizeof(*own), gfp);
	if (!own)
		return NULL;
	own->segment = section->segment;
	own->base = section->base;
	own->sframe_start = section->sframe_start;
	own->origin = section->origin;
	return own;
}

/* Free the memory of an entry that no reader can see. */
static void sframe_free_entry(void *entry)
{
	if (xa_pointer_tag(entry) != SFRAME_BARE)
		kfree(entry);
}

static void sframe_init_tree(struct mm_struct *mm, struct maple_tree *tree)
{
	mt_init_flags(tree, MT_FLAGS_USE_RCU | MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(tree, &mm->mmap_lock);
}

/**
 * sframe_get_index() - get the tables of a process, and make it ready to have some
 * @mm: The process.
 * @gfp: How to allocate memory.
 *
 * Context: Process context, @mm's mmap_lock held for writing.
 * Return: mm->sframe; NULL if there is no memory.
 */
struct sframe_index *sframe_get_index(struct mm_struct *mm, gfp_t gfp)
{
	struct sframe_index *index = mm->sframe;

	mmap_assert_write_locked(mm);
	if (index)
		return index;

	index = kzalloc(sizeof(*index), gfp);
	if (!index)
		return NULL;
	sframe_init_tree(mm, &index->by_text);
	sframe_init_tree(mm, &index->without);
	index->rest_until = jiffies;
	/* Publishes an empty index to readers, in NMI too. */
	smp_store_release(&mm->sframe, index);
	return index;
}

/* Get the current process's tables, or NULL if it has none. */
static struct sframe_index *sframe_current_index(void)
{
	/* Pairs with sframe_get_index(). */
	return current->mm ? smp_load_acquire(&current->mm->sframe) : NULL;
}

/* The range of @section's text in by_text, whose ends are inclusive. */
static struct ma_state sframe_text_state(struct sframe_index *index,
					 const struct sframe_section *section)
{
	MA_STATE(mas, &index->by_text, section->start, section->end - 1);

	return mas;
}

/*
 * munmap() cannot fail halfway for lack of memory, and a table must not outlive its mapping.
 * Hence __GFP_NOFAIL for the few nodes that this allocates.
 */
static void sframe_erase(struct ma_state *mas)
{
	mas_store_gfp(mas, NULL, GFP_KERNEL | __GFP_NOFAIL);
}

static void sframe_remove_section(struct mm_struct *mm,
				  const struct sframe_section *section)
{
	struct sframe_index *index = mm->sframe;
	struct ma_state mas = sframe_text_state(index, section);

	/* No reader finds the table from here on. */
	sframe_erase(&mas);
	WRITE_ONCE(index->nr, index->nr - 1);
	unwind_count(UNWIND_TABLES_REMOVED);
	trace_sframe_remove(section->sframe_start, section->start, section->end,
			    section->origin);
	/* Both are freed after the readers that have found the table. */
	unwind_segment_put(section->segment);
	if (section->own)
		kfree_rcu(section->own, rcu);
}

/* Whether the rows of @segment have been evicted. */
static bool sframe_is_evicted(const struct unwind_segment *segment)
{
	return !rcu_access_pointer(segment->table);
}

/*
 * Check that a table of @origin may cover [@start, @last].  A table that the program
 * registers replaces discovered ones; a discovered table replaces evicted ones only.
 */
static int sframe_check_text(struct sframe_index *index, unsigned long start,
			     unsigned long last, enum sframe_origin origin)
{
	MA_STATE(mas, &index->by_text, start, start);
	struct sframe_section other;
	void *entry;

	mas_for_each(&mas, entry, last) {
		other = sframe_section_at(&mas, entry);
		if (other.origin != SFRAME_DISCOVERED ||
		    (origin == SFRAME_DISCOVERED && !sframe_is_evicted(other.segment)))
			return -EEXIST;
	}
	return 0;
}

/* Remove the tables that @section replaces. */
static int sframe_take_text(struct mm_struct *mm, const struct sframe_section *section)
{
	unsigned long last = section->end - 1;
	struct sframe_section other;
	struct ma_state mas;
	void *entry;
	int ret;

	ret = sframe_check_text(mm->sframe, section->start, last, section->origin);
	if (ret)
		return ret;
	for (;;) {
		mas = sframe_text_state(mm->sframe, section);
		entry = mas_find(&mas, last);
		if (!entry)
			return 0;
		other = sframe_section_at(&mas, entry);
		sframe_remove_section(mm, &other);
	}
}

static int sframe_insert(struct mm_struct *mm, const struct sframe_section *section,
			 void *entry, gfp_t gfp)
{
	struct sframe_index *index = sframe_get_index(mm, gfp);
	struct ma_state mas;
	int ret;

	if (!index)
		return -ENOMEM;
	if (index->nr >= SFRAME_MAX_SECTIONS)
		return -ENOSPC;
	ret = sframe_take_text(mm, section);
	if (ret)
		return ret;

	mas = sframe_text_state(index, section);
	/* mas_store_gfp() would try an allocation without accounting first. */
	ret = mas_preallocate(&mas, entry, gfp);
	if (ret)
		return ret;
	mas_store_prealloc(&mas, entry);
	/* Discovery skips the vDSO until the process has a table: have it run again. */
	if (!index->nr)
		WRITE_ONCE(index->seen, 0);
	WRITE_ONCE(index->nr, index->nr + 1);
	return 0;
}

/*
 * Add @section to the tables of @mm.  On success, @mm takes over the caller's reference on
 * the segment.  The mmap_lock is held for writing.
 */
static int sframe_add_section(struct mm_struct *mm, const struct sframe_section *section,
			      gfp_t gfp)
{
	void *entry = sframe_new_entry(section, gfp);
	int ret;

	if (!entry)
		return -ENOMEM;
	ret = sframe_insert(mm, section, entry, gfp);
	if (ret)
		sframe_free_entry(entry);
	return ret;
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

/*
 * Register @segment, which starts at @base, for the text of the valid @region.  On success,
 * this takes over the caller's reference on @segment.  The mmap_lock is held for writing.
 */
static int sframe_register_locked(struct mm_struct *mm, const struct sframe_region *region,
				  enum sframe_origin origin, struct unwind_segment *segment,
				  unsigned long base)
{
	gfp_t gfp = origin == SFRAME_DISCOVERED ? UNWIND_GFP_PROFILED :
						  GFP_KERNEL_ACCOUNT;
	struct sframe_section section = {
		.start	      = region->text_start,
		.end	      = region->text_start + region->text_size,
		.segment      = segment,
		.base	      = base,
		.sframe_start = region->sframe_start,
		.origin	      = origin,
	};

	return sframe_add_section(mm, &section, gfp);
}

/* Count and trace a registration that ended with @ret.  Returns @ret. */
static int sframe_registered(const struct sframe_region *region,
			     enum sframe_origin origin,
			     u8 version, int ret)
{
	static const u8 counts[] = {
		[SFRAME_PRCTL]	    = UNWIND_TABLES_PRCTL,
		[SFRAME_DISCOVERED] = UNWIND_TABLES_DISCOVERED,
	};

	unwind_count(ret ? UNWIND_TABLES_REFUSED : counts[origin]);
	trace_sframe_add(region, origin, ret ? 0 : version, ret);
	return ret;
}

static int sframe_register_table(const struct sframe_region *region,
				 struct unwind_segment *segment)
{
	struct mm_struct *mm = current->mm;
	int ret;

	ret = mmap_write_lock_killable(mm);
	if (ret)
		return ret;
	ret = sframe_check_mapped(mm, region);
	if (!ret)
		ret = sframe_register_locked(mm, region, SFRAME_PRCTL, segment,
					     region->text_start);
	mmap_write_unlock(mm);
	return ret;
}

/*
 * Forget the mappings in [@start, @end) that are known to have no table.  Returns whether
 * there were any.
 */
static bool sframe_forget_without(struct sframe_index *index,
				  unsigned long start, unsigned long end)
{
	bool known = false;

	for (;;) {
		MA_STATE(mas, &index->without, start, start);

		if (!mas_find(&mas, end - 1))
			return known;
		/* Erase the whole entry, as discovery can look at the rest of it again. */
		sframe_erase(&mas);
		index->nr_without--;
		known = true;
	}
}

/**
 * sframe_attach() - give a mapping the table of its file
 * @mm: The process.
 * @part: The stretch of the file that is mapped.  This takes a reference of its own on the
 *	segment.
 * @start: First address of the mapping.
 * @end: First address after the mapping.
 * @offset: Offset of @start in the file; in @part, or in the page in which @part starts.
 *
 * Context: Process context, @mm's mmap_lock held for writing.
 * Return: 0; -EEXIST if part of the text has a table already; -ENOSPC if the process has too
 * many tables; -ENOMEM.
 */
int sframe_attach(struct mm_struct *mm, const struct unwind_part *part, unsigned long start,
		  unsigned long end, u64 offset)
{
	/* If the mapping starts amid @part, this may wrap below 0; lookups subtract it again. */
	unsigned long base = start - (offset - part->offset);
	struct sframe_region region = { };
	struct unwind_segment *segment;
	int ret;

	region.text_start = offset < part->offset ? base : start;
	region.text_size = min(part->offset + part->size - offset, end - start) -
			   (region.text_start - start);
	segment = unwind_segment_get(part->segment);
	ret = sframe_register_locked(mm, &region, SFRAME_DISCOVERED, segment, base);
	if (ret)
		unwind_segment_put(segment);
	else
		sframe_forget_without(mm->sframe, start, end);
	return sframe_registered(&region, SFRAME_DISCOVERED, 0, ret);
}

/* Remove the evicted tables of [@start, @end): they cannot be loaded again. */
static void sframe_forget_evicted(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	MA_STATE(mas, &mm->sframe->by_text, start, start);
	struct sframe_section section;
	void *entry;

	while ((entry = mas_find(&mas, end - 1))) {
		section = sframe_section_at(&mas, entry);
		if (!sframe_is_evicted(section.segment))
			continue;
		sframe_remove_section(mm, &section);
		mas_set(&mas, start);
	}
}

/**
 * sframe_add_without() - remember that a mapping has no table
 * @mm: The process.
 * @start: First address of the mapping.
 * @end: First address after the mapping.
 * @why: Why the mapping has no table.
 *
 * The kernel remembers this until part of the mapping is unmapped.  The program can still
 * register a table for the mapping.
 *
 * Context: Process context, @mm's mmap_lock held for writing.
 * Return: 0; -ENOSPC if too many mappings are remembered; -ENOMEM.
 */
int sframe_add_without(struct mm_struct *mm, unsigned long start, unsigned long end,
		       enum sframe_without why)
{
	struct sframe_index *index = sframe_get_index(mm, UNWIND_GFP_PROFILED);
	void *entry = xa_mk_value(why);
	struct ma_state mas;
	int ret;

	if (!index)
		return -ENOMEM;
	if (index->nr_without >= SFRAME_MAX_SECTIONS)
		return -ENOSPC;
	sframe_forget_evicted(mm, start, end);
	sframe_forget_without(index, start, end);
	mas_init(&mas, &index->without, start);
	mas_set_range(&mas, start, end - 1);
	ret = mas_preallocate(&mas, entry, UNWIND_GFP_PROFILED);
	if (ret)
		return ret;
	mas_store_prealloc(&mas, entry);
	index->nr_without++;
	return 0;
}

/**
 * sframe_is_known() - whether discovery can skip a mapping
 * @index: The tables of the process.
 * @start: First address of the mapping.
 * @end: First address after the mapping.
 *
 * Context: Process context, the mmap_lock held.
 * Return: true if the mapping has a table that is not evicted, or has none and will not get
 * one later.
 */
bool sframe_is_known(struct sframe_index *index, unsigned long start,
		     unsigned long end)
{
	unsigned long at = start;
	void *entry;

	entry = mt_find(&index->by_text, &at, end - 1);
	if (entry)
		return !sframe_is_evicted(sframe_entry_segment(entry));
	at = start;
	entry = mt_find(&index->without, &at, end - 1);
	return entry == xa_mk_value(SFRAME_WITHOUT) || entry == xa_mk_value(SFRAME_REMOVED);
}

/**
 * sframe_is_pending() - whether a wait for the table of a mapping has timed out
 * @index: The tables of the process.
 * @start: First address of the mapping.
 * @end: First address after the mapping.
 *
 * Context: Process context, the mmap_lock held.
 * Return: true if a walk has waited for the table and it was not loaded in time.
 */
bool sframe_is_pending(struct sframe_index *index, unsigned long start, unsigned long end)
{
	return mt_find(&index->without, &start, end - 1) == xa_mk_value(SFRAME_PENDING);
}

/*
 * If tables may have appeared since the last discovery, forget which mappings have none, but
 * for those whose table the process has removed.  The mmap_lock is held for writing.
 */
static void sframe_look_again(struct sframe_index *index)
{
	unsigned int generation = atomic_read(&unwind_tables_generation);
	unsigned long next = 0;
	void *entry;

	if (index->generation == generation)
		return;
	while ((entry = mt_find(&index->without, &next, ULONG_MAX)))
		if (entry != xa_mk_value(SFRAME_REMOVED))
			sframe_forget_without(index, next - 1, next);
	WRITE_ONCE(index->generation, generation);
}

/**
 * sframe_begin_discovery() - start discovery for the current process if it is needed
 *
 * Context: Process context, may sleep; takes the mmap_lock for writing.
 * Return: true if the caller has to run discovery.  Other callers get false until the
 * process maps or unmaps code again.
 */
bool sframe_begin_discovery(void)
{
	struct mm_struct *mm = current->mm;
	struct sframe_index *index = NULL;

	if (mmap_write_lock_killable(mm))
		return false;
	if (unwind_user_is_unseen())
		index = sframe_get_index(mm, UNWIND_GFP_PROFILED);
	if (index) {
		sframe_look_again(index);
		WRITE_ONCE(index->seen, mm->exec_vm);
	}
	mmap_write_unlock(mm);
	return index;
}

/**
 * sframe_rest_discovery() - delay the next discovery of the current process
 * @ticks: Delay in jiffies.
 * @again: Have discovery run after the delay even if the process maps no more code.
 *
 * Context: Process context, after sframe_begin_discovery() returned true.
 */
void sframe_rest_discovery(unsigned long ticks, bool again)
{
	struct sframe_index *index = current->mm->sframe;

	WRITE_ONCE(index->rest_until, jiffies + ticks);
	if (again)
		WRITE_ONCE(index->seen, 0);
}

/**
 * sframe_discovery_is_due() - whether discovery should run for the current process now
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: true if discovery is needed and no delay by sframe_rest_discovery() is running.
 */
bool sframe_discovery_is_due(void)
{
	struct sframe_index *index;

	if (likely(!unwind_user_is_unseen()))
		return false;
	index = sframe_current_index();
	return !index ||
	       time_after_eq(jiffies, READ_ONCE(index->rest_until));
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
	if (!ret && mm->sframe)
		ret = sframe_check_text(mm->sframe, region->text_start,
					region->text_start + region->text_size - 1,
					SFRAME_PRCTL);
	mmap_read_unlock(mm);
	if (!ret && region->sframe_size > SFRAME_MAX_COPY)
		ret = -E2BIG;
	return ret;
}

/* Copy the table of a valid region and make a segment of it. */
static struct unwind_segment *sframe_copy_table(const struct sframe_region *region, u8 *version)
{
	struct unwind_table_source source = {
		.len = region->sframe_size,
		.start = region->sframe_start,
		.text_start = region->text_start,
		.text_end = region->text_start + region->text_size,
	};
	struct unwind_segment *segment = ERR_PTR(-EFAULT);
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
		segment = unwind_segment_build(&source, GFP_KERNEL_ACCOUNT);
		*version = source.len > 2 ? source.bytes[2] : 0;
	}
	kvfree(bytes);
	return segment;
}

/* Copy a valid region's table and register it. */
static int sframe_add_region(const struct sframe_region *region, u8 *version)
{
	struct unwind_segment *segment;
	int ret;

	segment = sframe_copy_table(region, version);
	if (IS_ERR(segment))
		return PTR_ERR(segment);
	ret = sframe_register_table(region, segment);
	if (ret)
		unwind_segment_put(segment);
	return ret;
}

/**
 * sframe_prctl_add() - prctl(PR_ADD_SFRAME)
 * @from: User address of a struct sframe_region.
 * @size: Size of that struct as the caller knows it.
 * @flags: Must be 0.
 *
 * Reads and checks the whole table; the program may unmap it afterwards.  The memory of the
 * rows is charged to the caller's memory cgroup.
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
	return sframe_registered(&region, SFRAME_PRCTL, version, ret);
}

/*
 * Whether prctl(PR_REMOVE_SFRAME) of @region removes @section.  A text_size of 0 matches any
 * text.
 */
static bool sframe_region_names(const struct sframe_region *region,
				const struct sframe_section *section)
{
	if (section->origin != SFRAME_PRCTL || section->sframe_start != region->sframe_start)
		return false;
	return !region->text_size ||
	       (section->start == region->text_start &&
		section->end - section->start == region->text_size);
}

/*
 * The program has removed @section, so discovery must not bring a table back.  Only mappings
 * of files need to be remembered, because discovery ignores anonymous memory.
 */
static void sframe_leave_without(struct mm_struct *mm,
				 const struct sframe_section *section)
{
	struct vm_area_struct *vma = vma_lookup(mm, section->start);

	if (vma && vma->vm_file)
		sframe_add_without(mm, section->start, section->end, SFRAME_REMOVED);
}

/* Remove the first table that @region names; the mmap_lock is held for writing. */
static bool sframe_remove_one(struct mm_struct *mm, const struct sframe_region *region)
{
	unsigned long first = region->text_size ? region->text_start : 0;
	unsigned long last = region->text_size ? region->text_start : ULONG_MAX;
	struct sframe_section section;
	void *entry;

	if (!mm->sframe)
		return false;
	MA_STATE(mas, &mm->sframe->by_text, first, first);
	mas_for_each(&mas, entry, last) {
		section = sframe_section_at(&mas, entry);
		if (!sframe_region_names(region, &section))
			continue;
		sframe_leave_without(mm, &section);
		sframe_remove_section(mm, &section);
		return true;
	}
	return false;
}

/**
 * sframe_prctl_remove() - prctl(PR_REMOVE_SFRAME)
 * @from: User address of a struct sframe_region.  If its @text_size is 0, this removes all
 *	tables that were registered with its @sframe_start.
 * @size: Size of that struct as the caller knows it.
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
	ret = -ENOENT;
	while (sframe_remove_one(mm, &region))
		ret = 0;
	mmap_write_unlock(mm);
	return ret;
}

/* Whether any mapping in [@start, @end) has one of @flags; the mmap_lock is held. */
static bool sframe_range_has_any(struct mm_struct *mm, unsigned long start,
				 unsigned long end, vm_flags_t flags)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, end)
		if (vma->vm_flags & flags)
			return true;
	return false;
}

/* Whether fork() copies all mappings in [@start, @last] to the child. */
static bool sframe_range_forked(struct mm_struct *mm, unsigned long start,
				unsigned long last)
{
	return !sframe_range_has_any(mm, start, last + 1, VM_DONTCOPY | VM_WIPEONFORK);
}

void __sframe_unmap(struct mm_struct *mm, unsigned long start,
		    unsigned long end)
{
	struct sframe_index *index = mm->sframe;
	unsigned int before = index->nr;
	struct sframe_section section;
	void *entry;

	mmap_assert_write_locked(mm);
	unwind_file_unmapped(&index->private, start, end);
	for (;;) {
		MA_STATE(mas, &index->by_text, start, start);

		entry = mas_find(&mas, end - 1);
		if (!entry)
			break;
		section = sframe_section_at(&mas, entry);
		sframe_remove_section(mm, &section);
	}
	/*
	 * Force a discovery: if the process maps as much code next as it unmaps here, exec_vm
	 * will not differ.  The entries count as well, because their text may have lost
	 * VM_EXEC since.
	 */
	if (sframe_forget_without(index, start, end) || index->nr != before ||
	    sframe_range_has_any(mm, start, end, VM_EXEC))
		WRITE_ONCE(index->seen, 0);
}

/*
 * Copy the mappings that are known to have no table.  If memory runs out, discovery in the
 * child finds that out again.
 */
static int sframe_dup_without(struct mm_struct *mm, struct mm_struct *oldmm)
{
	MA_STATE(mas, &oldmm->sframe->without, 0, 0);
	void *entry;
	int ret;

	mas_for_each(&mas, entry, ULONG_MAX) {
		if (!sframe_range_forked(oldmm, mas.index, mas.last))
			continue;
		ret = sframe_add_without(mm, mas.index, mas.last + 1, xa_to_value(entry));
		if (ret)
			return ret;
	}
	return 0;
}

int __sframe_dup_mm(struct mm_struct *mm, struct mm_struct *oldmm)
{
	MA_STATE(mas, &oldmm->sframe->by_text, 0, 0);
	struct sframe_section section;
	void *entry;
	int ret;

	mmap_assert_write_locked(oldmm);
	mas_for_each(&mas, entry, ULONG_MAX) {
		section = sframe_section_at(&mas, entry);
		if (!sframe_range_forked(oldmm, section.start, section.end - 1))
			continue;
		unwind_segment_get(section.segment);
		ret = sframe_add_section(mm, &section, GFP_KERNEL_ACCOUNT);
		if (ret) {
			unwind_segment_put(section.segment);
			return ret;
		}
	}
	/*
	 * The parent may be in the middle of a discovery, so the child looks for itself: that
	 * costs it one pass over its mappings.
	 */
	if (!sframe_dup_without(mm, oldmm) && mm->sframe)
		mm->sframe->generation = oldmm->sframe->generation;
	return 0;
}

void __sframe_exit_mm(struct mm_struct *mm)
{
	MA_STATE(mas, &mm->sframe->by_text, 0, 0);
	struct sframe_index *index = mm->sframe;
	void *entry;

	/* No reader is left, see sframe_exit_mm(); the maple tree asserts the lock. */
	mmap_write_lock(mm);
	unwind_file_unmapped(&index->private, 0, ULONG_MAX);
	mas_for_each(&mas, entry, ULONG_MAX) {
		unwind_segment_put(sframe_entry_segment(entry));
		sframe_free_entry(entry);
	}
	__mt_destroy(&index->by_text);
	__mt_destroy(&index->without);
	mmap_write_unlock(mm);
	kfree(index);
	mm->sframe = NULL;
}

/**
 * sframe_seek() - find the table for an instruction of the current process
 * @cursor: Set to the table; on failure, set to no table, and to the gap around @ip if there is
 *	one.
 * @ip: Address of the instruction; for a caller, the return address minus one.
 *
 * Context: Any, NMI included.  The caller holds RCU as long as it uses @cursor.
 * Return: 0; -ENXIO if no table covers @ip; -EAGAIN if the rows have been evicted, which
 * also makes discovery load them again; -ENOENT if @ip is mapped, but outside the code of
 * its table.
 */
int sframe_seek(struct sframe_cursor *cursor, unsigned long ip)
{
	struct sframe_index *index = sframe_current_index();
	struct sframe_section section;
	unsigned long offset, size;
	struct ma_state mas;
	void *entry;

	cursor->size = 0;
	if (!index) {
		cursor->gap_start = 0;
		cursor->gap_size = ULONG_MAX;
		return -ENXIO;
	}
	mas_init(&mas, &index->by_text, ip);
	entry = mas_walk(&mas);
	if (!entry) {
		cursor->gap_start = mas.index;
		/* An empty tree has one gap, whose size wraps to 0. */
		cursor->gap_size = mas.last - mas.index + 1 ?: ULONG_MAX;
		return -ENXIO;
	}
	section = sframe_section_at(&mas, entry);
	cursor->table = unwind_segment_use(section.segment);
	if (!cursor->table) {
		WRITE_ONCE(index->seen, 0);
		return -EAGAIN;
	}
	/* The base may have wrapped below 0, see sframe_attach(): do not compare addresses. */
	offset = section.start - section.base;
	if ((long)offset < 0) {
		section.start = section.base;
		offset = 0;
	}
	size = cursor->table->text_size;
	if (ip < section.start || offset >= size || ip - section.start >= size - offset)
		return -ENOENT;
	cursor->start = section.start;
	cursor->size = min(section.end - section.start, size - offset);
	cursor->offset = offset;
	return 0;
}
