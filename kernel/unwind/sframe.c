// SPDX-License-Identifier: GPL-2.0
/*
 * The SFrame tables of each process.
 *
 * A process's tables hang off its mm_struct, in an index that is allocated with
 * the first of them, or when they are first looked for.  discover.c attaches those of the
 * files that are mapped, prctl() adds any.  A table lives as long as the mapping of its
 * text; one that is read in place, where the process has it, as long as that, too.  What
 * prctl() adds is copied and made into rows at once, unless that is put off.
 *
 *	mm->sframe --> struct sframe_index
 *			by_text: maple tree, text range -> table   readers
 *			by_data: interval tree, table's own bytes  writers only
 *			without: maple tree, mappings known to have no table
 *
 * Writers hold the mmap_lock for writing, as all that changes mappings does
 * anyway.  Readers take no lock and may be in NMI: they find a table in
 * by_text under RCU and copy what they need.  What they then read through the
 * copy is user memory, which may change or vanish at any moment whether a lock
 * is held or not.
 */

#include <linux/interval_tree.h>
#include <linux/jiffies.h>
#include <linux/maple_tree.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
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
#include "row_cache.h"
#include "sframe.h"
#include "sframe_decode.h"
#include "sframe_region.h"
#include "stats.h"

#define CREATE_TRACE_POINTS
#include <trace/events/sframe.h>

/*
 * A process that registers more than this many tables is refused more; nor are
 * more mappings remembered that have none.
 */
#define SFRAME_MAX_SECTIONS	8192

/*
 * How much of its tables a process has brought into memory at a time, and how long
 * before the next: there may be none for them.  Those of Debian's largest programs,
 * with all of their libraries, take some MiB.
 */
#define SFRAME_FETCH_BYTES	SZ_64M
#define SFRAME_FETCH_REST	max(HZ / 10, 1)

/* prctl() copies no larger table.  Debian's largest program has one of 10 MiB. */
#define SFRAME_MAX_COPY		SZ_64M

/*
 * Whether sframe_section::table has been read from the process's memory.
 */
enum sframe_state {
	SFRAME_NEW,		/* not yet */
	SFRAME_OPENING,		/* whoever made this transition is writing ->table */
	SFRAME_OPEN,		/* ->table is valid, and constant from now on */
};

/**
 * struct sframe_section - a registered table
 * @data:	Its own bytes, in sframe_index::by_data; none, where it is a file's.
 * @segment:	The code and its rows, or NULL: they are found in the table's own bytes, by
 *		@table.
 * @base:	Where @segment starts here.
 * @table:	Valid in SFRAME_OPEN; the text range in it always is.
 * @state:	enum sframe_state.  sframe_publish() stores SFRAME_OPEN with
 *		release, sframe_snapshot() loads with acquire.
 * @origin:	Who registered it.
 * @rcu:	Defers freeing until no reader can be copying @table.
 *
 * Allocated and inserted by sframe_insert(), freed by sframe_remove_section()
 * after a grace period or with the whole index.
 */
struct sframe_section {
	struct interval_tree_node data;
	struct unwind_segment	*segment;
	unsigned long		base;
	struct sframe_table	table;
	int			state;
	enum sframe_origin	origin;
	struct rcu_head		rcu;
};

static void sframe_init_tree(struct mm_struct *mm, struct maple_tree *tree)
{
	mt_init_flags(tree, MT_FLAGS_USE_RCU | MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(tree, &mm->mmap_lock);
}

static struct sframe_index *sframe_get_index(struct mm_struct *mm, gfp_t gfp)
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
	index->by_data = RB_ROOT_CACHED;
	index->rest_until = jiffies;
	index->fetch_after = jiffies;
	/* Publishes an empty index to sframe_snapshot(), in NMI too. */
	smp_store_release(&mm->sframe, index);
	return index;
}

/* The current process's tables, or NULL. */
static struct sframe_index *sframe_current_index(void)
{
	/* Pairs with sframe_get_index(). */
	return current->mm ? smp_load_acquire(&current->mm->sframe) : NULL;
}

/* The range of @section's text in by_text, whose ends are inclusive. */
static struct ma_state sframe_text_state(struct sframe_index *index,
					 struct sframe_section *section)
{
	MA_STATE(mas, &index->by_text, section->table.text_start,
		 section->table.text_end - 1);

	return mas;
}

/*
 * munmap() cannot fail for want of memory in the middle, and nothing must outlive
 * its mapping: hence __GFP_NOFAIL for the few nodes that this takes.
 */
static void sframe_erase(struct ma_state *mas)
{
	mas_store_gfp(mas, NULL, GFP_KERNEL | __GFP_NOFAIL);
}

static void sframe_remove_section(struct mm_struct *mm,
				  struct sframe_section *section)
{
	struct sframe_index *index = mm->sframe;
	struct ma_state mas = sframe_text_state(index, section);

	/* Make it unreachable ... */
	sframe_erase(&mas);
	if (section->data.start)
		interval_tree_remove(&section->data, &index->by_data);
	WRITE_ONCE(index->nr, index->nr - 1);
	if (!section->segment)
		WRITE_ONCE(index->nr_in_place, index->nr_in_place - 1);
	/* A full barrier, with sframe_add_row(): no row of it can come later. */
	row_cache_free(xchg(&index->rows, NULL));
	unwind_count(UNWIND_TABLES_REMOVED);
	trace_sframe_remove(section->data.start, section->table.text_start,
			    section->table.text_end, section->origin);
	/* ... and free it when the last reader has left. */
	unwind_segment_put(section->segment);
	kfree_rcu(section, rcu);
}

/* Whether @section's rows have been taken for their memory. */
static bool sframe_is_evicted(const struct sframe_section *section)
{
	return section->segment && !rcu_access_pointer(section->segment->table);
}

/*
 * Whether a table by @origin may have the text up to @last.  What the program says of
 * its code counts more than what the kernel has found there.
 */
static int sframe_check_text(struct sframe_index *index, unsigned long start,
			     unsigned long last, enum sframe_origin origin)
{
	MA_STATE(mas, &index->by_text, start, start);
	struct sframe_section *other;

	mas_for_each(&mas, other, last)
		if (other->origin != SFRAME_DISCOVERED ||
		    (origin == SFRAME_DISCOVERED && !sframe_is_evicted(other)))
			return -EEXIST;
	return 0;
}

/* Make room for @section's text. */
static int sframe_take_text(struct mm_struct *mm, struct sframe_section *section)
{
	unsigned long last = section->table.text_end - 1;
	struct sframe_section *other;
	struct ma_state mas;
	int ret;

	ret = sframe_check_text(mm->sframe, section->table.text_start, last,
				section->origin);
	if (ret)
		return ret;
	for (;;) {
		mas = sframe_text_state(mm->sframe, section);
		other = mas_find(&mas, last);
		if (!other)
			return 0;
		sframe_remove_section(mm, other);
	}
}

static int sframe_insert(struct mm_struct *mm, struct sframe_section *section,
			 gfp_t gfp)
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
	/* mas_store_gfp() would try without accounting first. */
	ret = mas_preallocate(&mas, section, gfp);
	if (ret)
		return ret;
	mas_store_prealloc(&mas, section);
	if (section->data.start)
		interval_tree_insert(&section->data, &index->by_data);
	/* The vDSO's is looked for in processes that have others. */
	if (!index->nr)
		WRITE_ONCE(index->seen, 0);
	WRITE_ONCE(index->nr, index->nr + 1);
	if (!section->segment)
		WRITE_ONCE(index->nr_in_place, index->nr_in_place + 1);
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

/*
 * @segment: The code, of which the caller gives its reference, or NULL: the table is read
 *	on demand.
 * @base: Where @segment starts.
 */
static struct sframe_section *
sframe_alloc_section(const struct sframe_region *region, enum sframe_origin origin,
		     struct unwind_segment *segment, unsigned long base, gfp_t gfp)
{
	struct sframe_section *section;

	section = kzalloc(sizeof(*section), gfp);
	if (!section)
		return NULL;
	section->state = SFRAME_NEW;
	section->origin = origin;
	section->segment = segment;
	section->base = base;
	section->data.start = region->sframe_start;
	section->data.last = region->sframe_start + region->sframe_size - 1;
	section->table.text_start = region->text_start;
	section->table.text_end = region->text_start + region->text_size;
	return section;
}

/* Whether a valid region is mapped as it has to be.  The mmap_lock is held. */
static int sframe_check_mapped(struct mm_struct *mm, const struct sframe_region *region)
{
	if (!sframe_range_has(mm, region->sframe_start,
			      region->sframe_start + region->sframe_size, VM_READ) ||
	    !sframe_range_has(mm, region->text_start,
			      region->text_start + region->text_size, VM_EXEC))
		return -EFAULT;
	return 0;
}

/* The mmap_lock is held for writing, and @region is valid. */
static int sframe_register_locked(struct mm_struct *mm, const struct sframe_region *region,
				  enum sframe_origin origin, struct unwind_segment *segment,
				  unsigned long base)
{
	gfp_t gfp = origin == SFRAME_DISCOVERED ? UNWIND_GFP_PROFILED :
						  GFP_KERNEL_ACCOUNT;
	struct sframe_section *section;
	int ret;

	section = sframe_alloc_section(region, origin, segment, base, gfp);
	if (!section)
		return -ENOMEM;
	ret = sframe_insert(mm, section, gfp);
	if (ret)
		kfree(section);
	return ret;
}

/* Count and trace what came of registering; returns @ret. */
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

static int sframe_register_table(const struct sframe_region *region, u8 version,
				 struct unwind_segment *segment)
{
	struct mm_struct *mm = current->mm;
	int ret = -EINVAL;

	if (sframe_region_valid(region, TASK_SIZE_MAX)) {
		ret = mmap_write_lock_killable(mm);
		if (!ret) {
			ret = sframe_check_mapped(mm, region);
			if (!ret)
				ret = sframe_register_locked(mm, region, SFRAME_PRCTL, segment,
							     region->text_start);
			mmap_write_unlock(mm);
		}
	}
	return sframe_registered(region, SFRAME_PRCTL, version, ret);
}

/**
 * sframe_attach() - give a mapping the table of its file
 * @mm: The process.
 * @part: The stretch of the file that it is of; its segment stays the caller's.
 * @start: Where the mapping starts ...
 * @end: ... and the first address behind it.
 * @offset: Of @start in the file; in @part, or in the page in which @part starts.
 *
 * Context: Process context, @mm's mmap_lock held for writing.
 * Return: 0; -EEXIST when part of the text has a table already; -ENOSPC when the process has
 * too many; -ENOMEM.
 */
int sframe_attach(struct mm_struct *mm, const struct unwind_part *part, unsigned long start,
		  unsigned long end, u64 offset)
{
	/* Where all of @part would start may be below 0; lookups subtract it again. */
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
	return sframe_registered(&region, SFRAME_DISCOVERED, 0, ret);
}

/* Forget of [@start, @end) that it has no table; returns whether that was known. */
static bool sframe_forget_without(struct sframe_index *index,
				  unsigned long start, unsigned long end)
{
	bool known = false;

	for (;;) {
		MA_STATE(mas, &index->without, start, start);

		if (!mas_find(&mas, end - 1))
			return known;
		/* The whole entry: what is left of its mapping can be looked at anew. */
		sframe_erase(&mas);
		index->nr_without--;
		known = true;
	}
}

/* What was evicted there cannot be loaded again. */
static void sframe_forget_evicted(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	MA_STATE(mas, &mm->sframe->by_text, start, start);
	struct sframe_section *section;

	while ((section = mas_find(&mas, end - 1))) {
		if (!sframe_is_evicted(section))
			continue;
		sframe_remove_section(mm, section);
		mas_set(&mas, start);
	}
}

/**
 * sframe_add_without() - remember that a mapping has no table
 * @mm: The process.
 * @start: Where the mapping starts ...
 * @end: ... and the first address behind it.
 * @why: Whether there may be one later.
 *
 * It counts until some of it is unmapped.  A table may be registered there
 * nevertheless, and is used.
 *
 * Context: Process context, @mm's mmap_lock held for writing.
 * Return: 0; -ENOSPC when that is known of too many; -ENOMEM.
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
 * sframe_is_known() - whether tables have been looked for in a mapping
 * @index: Of its process.
 * @start: Where the mapping starts ...
 * @end: ... and the first address behind it.
 *
 * Context: Process context, the mmap_lock held.
 */
bool sframe_is_known(struct sframe_index *index, unsigned long start,
		     unsigned long end)
{
	const struct sframe_section *section;
	unsigned long at = start;

	section = mt_find(&index->by_text, &at, end - 1);
	if (section)
		return !sframe_is_evicted(section);
	at = start;
	return mt_find(&index->without, &at, end - 1) == xa_mk_value(SFRAME_WITHOUT);
}

/**
 * sframe_is_pending() - whether somebody has waited for the table of a mapping in vain
 * @index: Of its process.
 * @start: Where the mapping starts ...
 * @end: ... and the first address behind it.
 *
 * Context: Process context, the mmap_lock held.
 */
bool sframe_is_pending(struct sframe_index *index, unsigned long start, unsigned long end)
{
	return mt_find(&index->without, &start, end - 1) == xa_mk_value(SFRAME_PENDING);
}

/* There may be tables by now for what had none; the mmap_lock is held for writing. */
static void sframe_look_again(struct mm_struct *mm, struct sframe_index *index)
{
	unsigned int generation = READ_ONCE(unwind_files_generation);

	if (index->generation == generation)
		return;
	__mt_destroy(&index->without);
	sframe_init_tree(mm, &index->without);
	index->nr_without = 0;
	WRITE_ONCE(index->generation, generation);
}

/**
 * sframe_begin_discovery() - whether the current process's tables are to be looked for
 *
 * Whoever is told so has to do it: nobody else will be before the process maps or
 * unmaps code again.
 *
 * Context: Process context, may sleep; takes the mmap_lock for writing.
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
		sframe_look_again(mm, index);
		WRITE_ONCE(index->seen, mm->exec_vm);
	}
	mmap_write_unlock(mm);
	return index;
}

/**
 * sframe_rest_discovery() - have the next discovery wait
 * @ticks: For how long.
 * @again: It is due then, even if the process maps no more code.
 *
 * Context: Process context, after sframe_begin_discovery().
 */
void sframe_rest_discovery(unsigned long ticks, bool again)
{
	struct sframe_index *index = current->mm->sframe;

	WRITE_ONCE(index->rest_until, jiffies + ticks);
	if (again)
		WRITE_ONCE(index->seen, 0);
}

/**
 * sframe_discovery_is_due() - whether the current process may have unknown tables
 *
 * Context: Any; a task that has an mm.
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
	/* A caller that knows of more fields must not believe that they count. */
	if (size != sizeof(*region))
		return -EINVAL;
	if (copy_from_user(region, (void __user *)from, size))
		return -EFAULT;
	return 0;
}

/* What can be refused without a look at the table.  @region is valid. */
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

/* Read the table of a valid region, and make rows of it. */
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

/**
 * sframe_prctl_add() - prctl(PR_ADD_SFRAME)
 * @from: User address of a struct sframe_region.
 * @size: Its size as the caller knows it.
 * @flags: SFRAME_ADD_LAZY or 0.
 *
 * Reads and checks the whole table, unless the caller wants that to be put off until
 * a walk needs it.  What was read is charged to the caller's memory cgroup.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL for a range that cannot be; -EFAULT when the table is not
 * mapped readable or the text not executable, without holes; -EEXIST when part
 * of the text has a table of the program's already; -ENOSPC when the process has too many;
 * -ENOMEM; -EINTR when killed; as unwind_table_build() for a table that is damaged,
 * of another version, too large, or of other code.
 */
int sframe_prctl_add(unsigned long from, unsigned long size,
		     unsigned long flags)
{
	struct unwind_segment *segment = NULL;
	struct sframe_region region;
	u8 version = 0;
	int ret;

	if (flags & ~SFRAME_ADD_LAZY)
		return -EINVAL;
	ret = sframe_copy_region(&region, from, size);
	if (ret)
		return ret;
	/* What cannot be a region is refused below. */
	if (!(flags & SFRAME_ADD_LAZY) && sframe_region_valid(&region, TASK_SIZE_MAX)) {
		segment = sframe_copy_table(&region, &version);
		if (IS_ERR(segment))
			return sframe_registered(&region, SFRAME_PRCTL, 0, PTR_ERR(segment));
	}
	ret = sframe_register_table(&region, version, segment);
	if (ret)
		unwind_segment_put(segment);
	return ret;
}

/* Whether prctl(PR_REMOVE_SFRAME) means @section; no text stands for any text. */
static bool sframe_region_names(const struct sframe_region *region,
				const struct sframe_section *section)
{
	if (section->data.start != region->sframe_start)
		return false;
	return !region->text_size ||
	       (section->table.text_start == region->text_start &&
		section->table.text_end - section->table.text_start ==
		region->text_size);
}

/*
 * A program has taken @section back: the kernel must not find it again by itself.
 * It looks into files alone.
 */
static void sframe_leave_without(struct mm_struct *mm,
				 const struct sframe_section *section)
{
	struct vm_area_struct *vma = vma_lookup(mm, section->table.text_start);

	if (vma && vma->vm_file)
		sframe_add_without(mm, section->table.text_start,
				   section->table.text_end, SFRAME_WITHOUT);
}

/**
 * sframe_prctl_remove() - prctl(PR_REMOVE_SFRAME)
 * @from: User address of a struct sframe_region.  Its @text_size may be 0: then
 *	all that was registered with its @sframe_start goes.
 * @size: Its size as the caller knows it.
 *
 * Context: Process context, may sleep; takes the mmap_lock for writing.
 * Return: 0; -ENOENT when there is no such table; -EINVAL, -EFAULT, -EINTR.
 */
int sframe_prctl_remove(unsigned long from, unsigned long size)
{
	struct interval_tree_node *node, *next;
	struct mm_struct *mm = current->mm;
	struct sframe_region region;
	struct sframe_index *index;
	unsigned long start;
	int ret;

	ret = sframe_copy_region(&region, from, size);
	if (ret)
		return ret;
	start = region.sframe_start;

	if (mmap_write_lock_killable(mm))
		return -EINTR;
	ret = -ENOENT;
	index = mm->sframe;
	if (!index)
		goto unlock;
	for (node = interval_tree_iter_first(&index->by_data, start, start);
	     node; node = next) {
		struct sframe_section *section;

		next = interval_tree_iter_next(node, start, start);
		section = container_of(node, struct sframe_section, data);
		if (!sframe_region_names(&region, section))
			continue;
		sframe_leave_without(mm, section);
		sframe_remove_section(mm, section);
		ret = 0;
	}
unlock:
	mmap_write_unlock(mm);
	return ret;
}

void __sframe_unmap(struct mm_struct *mm, unsigned long start,
		    unsigned long end)
{
	struct sframe_index *index = mm->sframe;
	unsigned int before = index->nr;
	struct interval_tree_node *node, *next;
	struct sframe_section *section;

	mmap_assert_write_locked(mm);
	for (node = interval_tree_iter_first(&index->by_data, start, end - 1);
	     node; node = next) {
		next = interval_tree_iter_next(node, start, end - 1);
		section = container_of(node, struct sframe_section, data);
		if (!section->segment)
			sframe_remove_section(mm, section);
	}
	for (;;) {
		MA_STATE(mas, &index->by_text, start, start);

		section = mas_find(&mas, end - 1);
		if (!section)
			break;
		sframe_remove_section(mm, section);
	}
	/* What is mapped there next may be as large, so exec_vm would not tell. */
	if (sframe_forget_without(index, start, end) || index->nr != before)
		WRITE_ONCE(index->seen, 0);
}

/* Whether a forked process has what is mapped in [start, last] too. */
static bool sframe_range_forked(struct mm_struct *mm, unsigned long start,
				unsigned long last)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, last + 1)
		if (vma->vm_flags & (VM_DONTCOPY | VM_WIPEONFORK))
			return false;
	return true;
}

static bool sframe_section_forked(struct mm_struct *mm,
				  const struct sframe_section *section)
{
	return (section->segment ||
		sframe_range_forked(mm, section->data.start, section->data.last)) &&
	       sframe_range_forked(mm, section->table.text_start,
				   section->table.text_end - 1);
}

/* What is known to have no table; where memory runs out, it will be found anew. */
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
	struct sframe_section *old;

	mmap_assert_write_locked(oldmm);
	mas_for_each(&mas, old, ULONG_MAX) {
		struct sframe_section *new;
		int ret;

		if (!sframe_section_forked(oldmm, old))
			continue;
		new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
		if (!new)
			return -ENOMEM;
		new->data.start = old->data.start;
		new->data.last = old->data.last;
		new->table.text_start = old->table.text_start;
		new->table.text_end = old->table.text_end;
		new->origin = old->origin;
		new->segment = unwind_segment_get(old->segment);
		new->base = old->base;
		/* Another thread may be writing old->table: read it anew on demand. */
		new->state = SFRAME_NEW;
		ret = sframe_insert(mm, new, GFP_KERNEL_ACCOUNT);
		if (ret) {
			unwind_segment_put(new->segment);
			kfree(new);
			return ret;
		}
	}
	if (!sframe_dup_without(mm, oldmm) && mm->sframe) {
		mm->sframe->seen = oldmm->sframe->seen;
		mm->sframe->generation = oldmm->sframe->generation;
	}
	return 0;
}

void __sframe_exit_mm(struct mm_struct *mm)
{
	MA_STATE(mas, &mm->sframe->by_text, 0, 0);
	struct sframe_index *index = mm->sframe;
	struct sframe_section *section;

	/* No reader is left, see sframe_exit_mm(); the lock is for the maple tree. */
	mmap_write_lock(mm);
	mas_for_each(&mas, section, ULONG_MAX) {
		unwind_segment_put(section->segment);
		kfree(section);
	}
	__mt_destroy(&index->by_text);
	__mt_destroy(&index->without);
	mmap_write_unlock(mm);
	row_cache_free(index->rows);
	kfree(index);
	mm->sframe = NULL;
}

/* The section for @ip in the current process, under RCU. */
static struct sframe_section *sframe_find_section(unsigned long ip)
{
	struct sframe_index *index = sframe_current_index();

	return index ? mtree_load(&index->by_text, ip) : NULL;
}

/* Find the row of a section that has a segment.  Under RCU. */
static int sframe_find_copied(const struct sframe_section *section, unsigned long ip,
			      struct sframe_row *row)
{
	const struct sframe_row *found;
	int ret;

	ret = unwind_segment_find(section->segment, ip - section->base, &found);
	/* Evicted: look for it again. */
	if (ret == -EAGAIN)
		WRITE_ONCE(current->mm->sframe->seen, 0);
	if (!ret)
		*row = *found;
	return ret;
}

/*
 * Copy the section's table.  Returns 0, -ENXIO, or -EAGAIN when its header is
 * still to be read: then only the text range in @table and *@data are valid.
 */
static int sframe_snapshot(unsigned long ip, struct sframe_table *table,
			   struct interval_tree_node *data)
{
	struct sframe_section *section;

	guard(rcu)();
	section = sframe_find_section(ip);
	/* It may have taken another one's place meanwhile. */
	if (!section || section->segment)
		return -ENXIO;

	/* Pairs with sframe_publish(). */
	if (smp_load_acquire(&section->state) == SFRAME_OPEN) {
		*table = section->table;
		return 0;
	}
	data->start = section->data.start;
	data->last = section->data.last;
	table->text_start = section->table.text_start;
	table->text_end = section->table.text_end;
	return -EAGAIN;
}

/*
 * Store what a reader learnt of a header for the readers after it.  The section
 * may have gone meanwhile, or be written by a reader that this one interrupts:
 * then the knowledge serves this walk only.  One that prctl() has put in its place
 * is open from the start.
 */
static void sframe_publish(unsigned long ip, const struct sframe_table *table,
			   const struct interval_tree_node *data)
{
	struct sframe_section *section;
	int state = SFRAME_NEW;

	guard(rcu)();
	section = sframe_find_section(ip);
	if (!section || section->data.start != data->start ||
	    section->data.last != data->last ||
	    section->table.text_start != table->text_start ||
	    section->table.text_end != table->text_end)
		return;
	if (!try_cmpxchg(&section->state, &state, SFRAME_OPENING))
		return;
	section->table.start = table->start;
	section->table.fdes = table->fdes;
	section->table.fres = table->fres;
	section->table.fres_end = table->fres_end;
	section->table.num_fdes = table->num_fdes;
	section->table.version = table->version;
	section->table.pcrel = table->pcrel;
	/* Pairs with sframe_snapshot(). */
	smp_store_release(&section->state, SFRAME_OPEN);
}

/**
 * sframe_rows() - the rows that walks of the current process have found
 *
 * Context: Any; under RCU, and what it returns is valid as long.
 * Return: They, or NULL.
 */
struct row_cache *sframe_rows(void)
{
	struct sframe_index *index = sframe_current_index();

	/* Pairs with sframe_alloc_rows(). */
	return index ? smp_load_acquire(&index->rows) : NULL;
}

/**
 * sframe_wants_rows() - whether walks of the current process find rows that are to be kept
 * @rows: sframe_rows().
 *
 * Context: Any; a task that has tables.
 */
bool sframe_wants_rows(const struct row_cache *rows)
{
	return !rows && READ_ONCE(current->mm->sframe->nr_in_place);
}

/**
 * sframe_alloc_rows() - make room for rows, if the current process has tables to search in
 *
 * Context: Process context, may sleep.
 */
void sframe_alloc_rows(void)
{
	struct sframe_index *index = sframe_current_index();
	struct row_cache *rows;

	if (!index || !READ_ONCE(index->nr_in_place) || READ_ONCE(index->rows))
		return;
	rows = row_cache_alloc();
	/* Publishes it; another thread may have been faster. */
	if (rows && cmpxchg(&index->rows, NULL, rows))
		row_cache_free(rows);
}

/**
 * sframe_table_missed() - have the tables brought into memory
 *
 * Context: Any, NMI included; a task that has tables.
 */
void sframe_table_missed(void)
{
	WRITE_ONCE(current->mm->sframe->missed, true);
}

/* The first table whose text is at *@at or above, and move *@at behind it. */
static bool sframe_next_table(struct mm_struct *mm, unsigned long *at,
			      unsigned long *start, unsigned long *size)
{
	struct sframe_section *section;

	if (mmap_read_lock_killable(mm))
		return false;
	section = mt_find(&mm->sframe->by_text, at, ULONG_MAX);
	if (section) {
		*start = section->data.start;
		*size = section->segment ? 0 : section->data.last - section->data.start + 1;
	}
	mmap_read_unlock(mm);
	return section;
}

/**
 * sframe_fetch_tables() - bring the current process's tables into memory
 *
 * Where sframe_table_missed().  All of them: a sample that cannot wait comes from
 * anywhere in the program, and each part of a table that is not there costs one its
 * callers.  Their pages are the page cache's, shared with all who have the file.
 *
 * Context: Process context, may sleep and fault; no mmap_lock held.
 */
void sframe_fetch_tables(void)
{
	struct sframe_index *index = sframe_current_index();
	unsigned long at = 0, start, size, room = SFRAME_FETCH_BYTES;

	if (!index || !READ_ONCE(index->missed) ||
	    time_before(jiffies, READ_ONCE(index->fetch_after)))
		return;
	WRITE_ONCE(index->missed, false);
	WRITE_ONCE(index->fetch_after, jiffies + SFRAME_FETCH_REST);
	while (room && !fatal_signal_pending(current) &&
	       sframe_next_table(current->mm, &at, &start, &size)) {
		size = min(size, room);
		room -= size;
		/* What cannot be read is missed again. */
		fault_in_readable((const char __user *)start, size);
		cond_resched();
	}
}

/* Search the tables; -ENXIO: none of them speaks of @ip. */
static int sframe_search(struct sframe_reader *reader, unsigned long ip,
			 struct sframe_row *row)
{
	struct interval_tree_node data;
	struct sframe_table table;
	int ret;

	ret = sframe_snapshot(ip, &table, &data);
	if (ret == -EAGAIN) {
		ret = sframe_open(reader, data.start, data.last + 1, &table);
		if (!ret)
			sframe_publish(ip, &table, &data);
	}
	if (ret)
		return ret;
	return sframe_find_row(reader, &table, ip, row);
}

/* @found and @row as for row_pack(); @id: of the rows, before the search. */
static void sframe_add_row(u64 id, unsigned long ip, int found,
			   const struct sframe_row *row)
{
	struct row_cache *rows;

	guard(rcu)();
	rows = sframe_rows();
	/* Else a table may have gone, and the row with it. */
	if (rows && rows->id == id)
		row_cache_add(rows, ip, found, row);
}

/**
 * sframe_lookup() - find the row for an instruction of the current process
 * @reader: How its memory may be read in this context.
 * @ip: Address of the instruction; for a caller the return address less one.
 * @row: Filled in on success.
 * @searched: Counts up when the row cache does not have it.
 *
 * Context: Any in which @reader->read works, NMI included.  Sleeps only where
 * @reader->read does.
 * Return: 0, -ENOENT where the table has no row for @ip, -ENXIO where no table
 * speaks of it, or as sframe_find_row().
 */
int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
		  struct sframe_row *row, unsigned int *searched)
{
	struct sframe_section *section;
	struct row_cache *rows;
	u64 id = 0, word = 0;
	int ret;

	scoped_guard(rcu) {
		section = sframe_find_section(ip);
		if (section && section->segment)
			return sframe_find_copied(section, ip, row);
		rows = sframe_rows();
		if (rows) {
			id = rows->id;
			word = row_cache_find(rows, ip);
		}
	}
	if (word)
		return row_unpack(word, row);

	++*searched;
	ret = sframe_search(reader, ip, row);
	if (id)
		sframe_add_row(id, ip, ret, row);
	return ret;
}

/* sframe_search_rcu() where @cursor's table does not cover @ip. */
int __sframe_search_rcu(struct sframe_reader *reader,
			struct sframe_cursor *cursor, unsigned long ip,
			struct sframe_row *row)
{
	struct sframe_section *section;
	int ret;

	section = sframe_find_section(ip);
	if (!section)
		return -ENXIO;
	if (section->segment) {
		cursor->segment = section->segment;
		cursor->base = section->base;
		cursor->start = section->table.text_start;
		cursor->size = section->table.text_end - section->table.text_start;
		return sframe_find_copied(section, ip, row);
	}
	/* Pairs with sframe_publish(). */
	if (smp_load_acquire(&section->state) == SFRAME_OPEN) {
		cursor->table = &section->table;
		ret = sframe_find_row(reader, cursor->table, ip, row);
	} else {
		ret = sframe_search(reader, ip, row);
	}
	if (cursor->rows)
		row_cache_add(cursor->rows, ip, ret, row);
	return ret;
}
