// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of objects: who has some, how much memory they take, and which go first.
 *
 * A lookup finds the rows under RCU and takes no reference, so anybody may take them away:
 * memory pressure, or another object whose rows have no room.  Who misses them has them
 * loaded again.
 *
 * No process is charged for the memory, as the process that asks first may be one of a
 * thousand that use the rows.  The sysctl kernel.unwind_table_kbytes bounds them all.
 */

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/random.h>
#include <linux/shrinker.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/unwind_user.h>

#include <uapi/linux/sframe_file.h>

#include "stats.h"
#include "tables.h"

/* By default, rows may take 1/32 of memory. */
#define TABLES_MEMORY_SHARE	32
/* Rows that a walk has read within this time are not taken away for other rows. */
#define TABLES_KEPT		(10 * HZ)
/* Rows that a walk has read within this time are not taken away for lack of memory. */
#define TABLES_KEPT_FROM_SHRINKER	HZ

/* Protects all tables, known files and split tables.  A leaf: nothing is locked under it. */
DEFINE_SPINLOCK(unwind_tables_lock);

/* Incremented when objects without a table may have got one. */
atomic_t unwind_tables_generation = ATOMIC_INIT(1);

/* Whether files have tables; see unwind_user_has_tables() */
bool unwind_tables_in_use;
/* Number of tables with rows, and whether others can be loaded */
static unsigned int tables_loaded;
static bool tables_expected;

/* The tables with rows, those loaded last first; and their size in bytes */
static LIST_HEAD(tables_recent);
static size_t tables_bytes;
/* Upper limit of tables_bytes, in KiB: a sysctl */
unsigned int unwind_tables_kbytes;

/**
 * unwind_tables_look_again() - have all objects without a table looked at again
 *
 * Call this when tables may have appeared, or may have room now.
 *
 * Context: Any.
 */
void unwind_tables_look_again(void)
{
	/* A task that finds the tables of before remembers the generation of before. */
	smp_mb__before_atomic();
	atomic_inc(&unwind_tables_generation);
}

static void tables_update_use(void)
{
	WRITE_ONCE(unwind_tables_in_use, tables_loaded || tables_expected);
}

/**
 * unwind_tables_expect() - say whether there are tables that can be loaded
 * @any: There are some.  From then on, all walks look for tables.
 *
 * Context: Process context.
 */
void unwind_tables_expect(bool any)
{
	spin_lock(&unwind_tables_lock);
	tables_expected = any;
	tables_update_use();
	spin_unlock(&unwind_tables_lock);
}

/**
 * unwind_tables_limit() - how much memory all rows may take together
 *
 * Return: the limit in bytes.
 */
size_t unwind_tables_limit(void)
{
	return (size_t)READ_ONCE(unwind_tables_kbytes) * SZ_1K;
}

/**
 * unwind_tables_init() - initialize tables without rows
 * @tables: The tables.
 * @evicted: See struct unwind_tables.
 */
void unwind_tables_init(struct unwind_tables *tables, void (*evicted)(struct unwind_tables *))
{
	*tables = (struct unwind_tables){ .used = jiffies, .evicted = evicted };
	INIT_LIST_HEAD(&tables->recent);
}

/**
 * unwind_tables_build() - make the rows of an object from an SFrame table
 * @table: The SFrame table, for any code.
 * @text: The executable segments of the object.
 * @nr: Number of @text and of @rows.
 * @rows: All NULL; set to the rows of each segment.  The caller frees them with
 *	unwind_tables_free_rows(), also after an error.
 * @gfp: Flags for all allocations.
 *
 * Context: Process context, may sleep for others to run.
 * Return: 0; -ENOENT if no segment has rows; other errors of unwind_table_build().
 */
int unwind_tables_build(const struct unwind_table_source *table,
			const struct sframe_file_text *text, unsigned int nr,
			struct unwind_table **rows, gfp_t gfp)
{
	struct unwind_table_source source = *table;
	struct unwind_table *made;
	int ret = -ENOENT;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		source.text_start = text[i].vaddr;
		source.text_end = text[i].vaddr + text[i].size;
		made = unwind_table_build(&source, get_random_u32(), gfp);
		if (PTR_ERR_OR_ZERO(made) == -ENOENT)
			continue;
		if (IS_ERR(made))
			return PTR_ERR(made);
		rows[i] = made;
		ret = 0;
	}
	return ret;
}

/**
 * unwind_tables_size() - how much memory rows take
 * @rows: The rows of each segment.
 * @nr: Number of @rows.
 *
 * Return: the size in bytes.
 */
size_t unwind_tables_size(struct unwind_table **rows, unsigned int nr)
{
	size_t size = 0;

	while (nr--)
		size += rows[nr] ? rows[nr]->size : 0;
	return size;
}

/**
 * unwind_tables_free_rows() - free rows that no reader has seen
 * @rows: The rows of each segment; cleared.
 * @nr: Number of @rows.
 */
void unwind_tables_free_rows(struct unwind_table **rows, unsigned int nr)
{
	while (nr--) {
		unwind_table_free(rows[nr]);
		rows[nr] = NULL;
	}
}

/**
 * unwind_tables_add() - publish rows
 * @tables: Tables without rows.
 * @rows: The rows of each segment, which @tables takes over.
 * @nr: Number of @rows.
 *
 * Context: Process context, unwind_tables_lock held.
 */
void unwind_tables_add(struct unwind_tables *tables, struct unwind_table **rows, unsigned int nr)
{
	lockdep_assert_held(&unwind_tables_lock);
	WRITE_ONCE(tables->bytes, unwind_tables_size(rows, nr));
	WRITE_ONCE(tables->used, jiffies);
	while (nr--)
		rcu_assign_pointer(tables->rows[nr], rows[nr]);
	list_add(&tables->recent, &tables_recent);
	tables_bytes += tables->bytes;
	tables_loaded++;
	tables_update_use();
	unwind_count(UNWIND_FILES_LOADED);
}

/* Free the rows, if they are loaded; @stay as the tables do.  The lock is held. */
static void tables_free_rows(struct unwind_tables *tables, bool stay)
{
	struct unwind_table *rows;
	unsigned int i;

	if (!unwind_tables_are_loaded(tables))
		return;
	for (i = 0; i < UNWIND_MAX_CODE; i++) {
		rows = rcu_dereference_protected(tables->rows[i],
						 lockdep_is_held(&unwind_tables_lock));
		if (stay)
			RCU_INIT_POINTER(tables->rows[i], NULL);
		/* Rows refer to nothing else. */
		if (rows)
			kvfree_rcu(rows, rcu);
	}
	list_del_init(&tables->recent);
	tables_bytes -= tables->bytes;
	WRITE_ONCE(tables->bytes, 0);
	tables_loaded--;
	tables_update_use();
}

/**
 * unwind_tables_drop() - take the rows away, if they are loaded
 * @tables: The tables, which stay.
 *
 * Context: Process context, unwind_tables_lock held.
 */
void unwind_tables_drop(struct unwind_tables *tables)
{
	tables_free_rows(tables, true);
}

/**
 * unwind_tables_put() - free the rows, if they are loaded, as the tables go
 * @tables: The tables.  The caller has unpublished them, and frees them by RCU.
 *
 * A walk that has found the tables before can still use the rows.
 *
 * Context: Process context, unwind_tables_lock held.
 */
void unwind_tables_put(struct unwind_tables *tables)
{
	tables_free_rows(tables, false);
}

/*
 * Evict tables that no walk has read for @kept jiffies, until those that are left take at
 * most @bytes.  Look at each table once, however many are in use.  Returns the number of
 * bytes that are free now.  The lock is held.
 */
static size_t tables_evict(size_t bytes, unsigned long kept)
{
	size_t before = tables_bytes;
	struct unwind_tables *tables, *next;

	list_for_each_entry_safe_reverse(tables, next, &tables_recent, recent) {
		if (tables_bytes <= bytes)
			break;
		if (time_before(jiffies, READ_ONCE(tables->used) + kept))
			continue;
		unwind_tables_drop(tables);
		unwind_count(UNWIND_FILES_EVICTED);
		tables->evicted(tables);
	}
	return before - tables_bytes;
}

/* Size of the tables that no walk has read for @kept jiffies; the lock is held. */
static size_t tables_idle(unsigned long kept)
{
	const struct unwind_tables *tables;
	size_t bytes = 0;

	list_for_each_entry(tables, &tables_recent, recent)
		if (!time_before(jiffies, READ_ONCE(tables->used) + kept))
			bytes += tables->bytes;
	return bytes;
}

/**
 * unwind_tables_make_room() - make room for rows
 * @bytes: Size of the rows.
 * @evict: Evict other rows that are not in use.  Nothing is evicted if that would not make room
 *	enough.
 *
 * Context: Process context, unwind_tables_lock held.
 * Return: true if there is room now; if not, the caller refuses the rows.
 */
bool unwind_tables_make_room(size_t bytes, bool evict)
{
	size_t limit = unwind_tables_limit();

	lockdep_assert_held(&unwind_tables_lock);
	if (bytes > limit)
		return false;
	if (tables_bytes <= limit - bytes)
		return true;
	if (!evict || tables_bytes - tables_idle(TABLES_KEPT) > limit - bytes)
		return false;
	tables_evict(limit - bytes, TABLES_KEPT);
	return tables_bytes <= limit - bytes;
}

/* The shrinker counts pages, as tables are of very different size. */
static unsigned long tables_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	return READ_ONCE(tables_bytes) >> PAGE_SHIFT ?: SHRINK_EMPTY;
}

static unsigned long tables_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	size_t wanted = sc->nr_to_scan << PAGE_SHIFT, freed;

	scoped_guard(spinlock, &unwind_tables_lock)
		freed = tables_evict(tables_bytes - min(tables_bytes, wanted),
				     TABLES_KEPT_FROM_SHRINKER);
	return freed >> PAGE_SHIFT ?: SHRINK_STOP;
}

/* Any write, even of the same value, has the kernel try again what it has refused. */
static int tables_kbytes_sysctl(const struct ctl_table *table, int write, void *buffer,
				size_t *len, loff_t *pos)
{
	int ret = proc_douintvec(table, write, buffer, len, pos);

	if (!write || ret)
		return ret;
	scoped_guard(spinlock, &unwind_tables_lock)
		tables_evict(unwind_tables_limit(), 0);
	unwind_tables_look_again();
	return 0;
}

static struct ctl_table tables_sysctls[] = {
	{
		.procname	= "unwind_table_kbytes",
		.data		= &unwind_tables_kbytes,
		.maxlen		= sizeof(unwind_tables_kbytes),
		.mode		= 0644,
		.proc_handler	= tables_kbytes_sysctl,
	},
};

static int __init tables_init(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "unwind_tables");

	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = tables_count;
	shrinker->scan_objects = tables_scan;
	shrinker_register(shrinker);
	unwind_tables_kbytes = min(PFN_PHYS(totalram_pages()) / TABLES_MEMORY_SHARE / SZ_1K,
				   UINT_MAX);
	register_sysctl_init("kernel", tables_sysctls);
	return 0;
}
core_initcall(tables_init);
