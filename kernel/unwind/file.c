// SPDX-License-Identifier: GPL-2.0
/*
 * Cache of the unwind tables of files.  The kernel reads and checks the table of a file once,
 * and all processes that map the file share it.
 *
 * A walk never reads a file.  Discovery asks for a file's table, and a worker loads it; until
 * then, walks go on without the table.  The cache identifies a file by its device, its inode
 * and the time of its last change.  A file that changes while the worker reads it gets no
 * table.  If somebody may write to the file, its entry is private: only the mapping for which
 * the worker read the table gets it, and the entry ends with that mapping.
 *
 *	unwind_file	entry of the cache: the file's code, or why it has no table
 *	unwind_segment	a stretch of the file's code, which mappings refer to
 *	unwind_table	the rows of a segment, which may be evicted and loaded again
 *
 * A file system that never answers delays only its own files.  The workers read one file of
 * each file system at a time, and file systems that a process or another machine serves have
 * a queue of their own.  The size of a table is bounded before memory is allocated.  The
 * memory is charged to the first process that asked for the table.
 *
 * Two things bound the cache: memory pressure, see unwind_files_scan(), and the sysctl
 * kernel.unwind_table_kbytes, see file_make_room().
 */

#include <linux/debugfs.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/iversion.h>
#include <linux/magic.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/shmem_fs.h>
#include <linux/shrinker.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/timekeeping.h>
#include <linux/unwind_files.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "file.h"
#include "stats.h"

/* Maximum number of files in the cache, with tables or without */
#define FILE_MAX_KNOWN		16384
/* Maximum number of private files of a process */
#define FILE_MAX_PRIVATE	1024
/* Maximum number of files that are loaded at a time, per queue */
#define FILE_MAX_LOADS		8
/* Time until a file without a table is read again: it may have a valid table by then. */
#define FILE_AGAIN		(60 * HZ)
/* A table that a walk has read within this time is not evicted for another table. */
#define FILE_KEPT		(10 * HZ)
/* By default, tables may take 1/32 of memory. */
#define FILE_MEMORY_SHARE	32
/* A file may change again without a change of its ctime if the ctime is younger than this. */
#define FILE_FRESH_SECONDS	2

/* unwind_file::state is one of these, 0, or another error. */
#define FILE_LOADING	(-EINPROGRESS)
#define FILE_EVICTED	(-EAGAIN)

/**
 * struct unwind_file_key - identifies a file and a version of its content
 * @reader:	The private files of the process that the file is loaded for, if the content may
 *		change unnoticed; else NULL.
 * @start:	First address of the mapping that the file is loaded for, if @reader is set.
 * @object:	For an object in memory, its image.  For a file, NULL, or the inode if inode
 *		numbers are not unique in the file system.  Only compared, never dereferenced.
 * @dev:	Device of the file system.
 * @ino:	Inode number.
 * @generation:	Generation of the inode number.
 * @size:	Size of the file or the image in bytes.
 * @version:	The inode's change counter, 0 if the file system has none.  On tmpfs, a shared
 *		mapping that may be written counts as a change.
 * @ctime:	Time of the last change.
 */
struct unwind_file_key {
	struct unwind_private_files	*reader;
	unsigned long		start;
	const void		*object;
	dev_t			dev;
	u64			ino;
	u64			generation;
	u64			size;
	u64			version;
	struct timespec64	ctime;
};

/**
 * struct unwind_file - a file in the cache
 * @node:	Entry in unwind_files; unhashed if no lookup may find the file any more.
 * @recent:	Entry in unwind_files_recent while @node is hashed.
 * @private:	Entry in the files of @key.reader while @node is hashed.
 * @end:	First address after the mapping that the file is loaded for.
 * @taken:	The mapping has its table.  No lookup may find the file.
 * @users:	References of the cache, of a load and of callers.
 * @key:	Identity of the file.
 * @state:	0 if the file has tables; FILE_*; or the error that says why it has none.
 * @nr_parts:	Number of entries in @parts.
 * @parts:	Stretches of code.  Set by the first load that succeeds, constant from then on.
 * @bytes:	Size of the file's tables in bytes.
 * @generation:	unwind_tables_generation at the last request to load the file.
 * @evict_after: Time in jiffies: if a walk has read a table since, eviction skips the file
 *		once.
 * @object:	The object to read, during a load.
 * @sb:		Superblock of the file in @object; NULL for an image.
 * @work:	Loads the file.
 * @load:	Entry in unwind_files_waiting or unwind_files_loading, during a load.
 * @started:	@work has been queued: the load cannot be cancelled any more.
 *
 * unwind_files_lock protects everything that is not constant.
 */
struct unwind_file {
	struct hlist_node	node;
	struct list_head	recent;
	struct hlist_node	private;
	unsigned long		end;
	bool			taken;
	refcount_t		users;
	struct unwind_file_key	key;
	int			state;
	unsigned int		nr_parts;
	struct unwind_part	parts[UNWIND_MAX_PARTS];
	size_t			bytes;
	unsigned int		generation;
	unsigned long		evict_after;

	struct unwind_object	object;
	struct super_block	*sb;
	struct work_struct	work;
	struct list_head	load;
	bool			started;
};

/* Protects the files, and the variables up to unwind_files_loading except the sysctl. */
static DEFINE_SPINLOCK(unwind_files_lock);
static DEFINE_HASHTABLE(unwind_files, 10);
/* The same files, most recently used first */
static LIST_HEAD(unwind_files_recent);
/* Number of files in unwind_files, and the size of their tables in bytes */
static unsigned int unwind_files_nr;
static size_t unwind_files_bytes;
/* Upper limit of unwind_files_bytes, in KiB: a sysctl, see file_make_room(). */
static unsigned int unwind_table_kbytes;
/* Loads that have not been queued yet, indexed by file_is_remote().  None of them may begin. */
static struct list_head unwind_files_waiting[] = {
	LIST_HEAD_INIT(unwind_files_waiting[0]),
	LIST_HEAD_INIT(unwind_files_waiting[1]),
};

/* Loads that have been queued */
static struct list_head unwind_files_loading[] = {
	LIST_HEAD_INIT(unwind_files_loading[0]),
	LIST_HEAD_INIT(unwind_files_loading[1]),
};

/* Woken when any load has ended */
static DECLARE_WAIT_QUEUE_HEAD(unwind_files_loaded);
/* Indexed by file_is_remote() */
static struct workqueue_struct *unwind_files_queue[2];

/**
 * unwind_file_put() - release a reference
 * @uf: The file.
 *
 * Context: Any but NMI.
 */
void unwind_file_put(struct unwind_file *uf)
{
	if (!refcount_dec_and_test(&uf->users))
		return;
	unwind_free_parts(uf->parts, uf->nr_parts);
	kfree(uf);
}

/*
 * Whether the file may change without a change of its key.  Only the first write through a
 * mapping sets the ctime, on tmpfs not even that one does, and hugetlbfs never sets it.
 */
static bool file_may_change_unseen(struct inode *inode)
{
	return inode_is_open_for_write(inode) || mapping_writably_mapped(inode->i_mapping) ||
	       inode->i_sb->s_magic == HUGETLBFS_MAGIC ||
	       ktime_get_real_seconds() - inode_get_ctime_sec(inode) < FILE_FRESH_SECONDS;
}

/* Set @key to the key of @file as it is now, without a reader. */
static void file_read_key(struct file *file, struct unwind_file_key *key)
{
	struct inode *inode = file_inode(file);

	/* Keys are compared byte by byte, padding included. */
	memset(key, 0, sizeof(*key));
	/*
	 * Each btrfs subvolume numbers its own inodes, so add the inode's address.  Other file
	 * systems do not need it, and there it would change when the inode is dropped and read
	 * again.
	 */
	if (inode->i_sb->s_magic == BTRFS_SUPER_MAGIC)
		key->object = inode;
	key->dev = inode->i_sb->s_dev;
	key->ino = inode->i_ino;
	key->generation = inode->i_generation;
	key->size = i_size_read(inode);
	/* A memfd has no superblock that says so, but shmem_mmap() counts there, too. */
	if (IS_I_VERSION(inode) || shmem_mapping(inode->i_mapping))
		key->version = inode_query_iversion(inode);
	key->ctime = inode_get_ctime(inode);
}

static bool file_key_is(const struct unwind_file_key *a, const struct unwind_file_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static unsigned long file_hash_of(const struct unwind_file_key *key)
{
	unsigned long object = key->dev ? key->ino : (unsigned long)key->object;

	return object + (unsigned long)key->reader + key->start;
}

/* Whether a process or another machine may serve the file system. */
static bool file_is_remote(const struct super_block *sb)
{
	if (!sb || sb->s_bdev)
		return false;
	return sb->s_magic != TMPFS_MAGIC && sb->s_magic != RAMFS_MAGIC &&
	       sb->s_magic != BTRFS_SUPER_MAGIC;
}

static void file_look_again(struct work_struct *work)
{
	unwind_tables_look_again();
}

static DECLARE_DELAYED_WORK(unwind_files_again, file_look_again);

/* Release what the load of @uf held, except its reference on @uf; the lock is held. */
static void file_end_load(struct unwind_file *uf)
{
	if (uf->object.file)
		fput(uf->object.file);
	mem_cgroup_put(uf->object.memcg);
	uf->object = (struct unwind_object){ };
	list_del(&uf->load);
}

/* Cancel the load of @uf, which has not started; the lock is held. */
static void file_cancel_load(struct unwind_file *uf)
{
	file_end_load(uf);
	/* Pairs with unwind_file_state(). */
	smp_store_release(&uf->state, -ESTALE);
	unwind_count(UNWIND_FILES_REFUSED);
	schedule_delayed_work(&unwind_files_again, FILE_AGAIN);
	wake_up_all(&unwind_files_loaded);
	unwind_file_put(uf);
}

/*
 * Free the tables of @uf; the lock is held.  A table refers to nothing else, so kvfree_rcu() can
 * free it.
 */
static void file_drop_tables(struct unwind_file *uf)
{
	unsigned int i;

	for (i = 0; i < uf->nr_parts; i++) {
		struct unwind_segment *segment = uf->parts[i].segment;
		struct unwind_table *table;

		if (!segment)
			continue;
		table = rcu_replace_pointer(segment->table, NULL,
					    lockdep_is_held(&unwind_files_lock));
		if (table)
			kvfree_rcu(table, rcu);
	}
	uf->state = FILE_EVICTED;
	unwind_files_bytes -= uf->bytes;
	uf->bytes = 0;
}

/*
 * Remove @uf from the cache; the lock is held.  Mappings may still refer to its segments.  The
 * tables are evicted first, because nothing could evict or count them later.  A walk that
 * misses them has the file added again.
 */
static void file_unhash(struct unwind_file *uf)
{
	if (hlist_unhashed(&uf->node))
		return;
	if (!uf->state) {
		file_drop_tables(uf);
		WRITE_ONCE(uf->state, -ESTALE);
	}
	if (uf->state == FILE_LOADING && !uf->started)
		file_cancel_load(uf);
	hash_del(&uf->node);
	list_del(&uf->recent);
	if (uf->key.reader) {
		hlist_del(&uf->private);
		uf->key.reader->nr--;
	}
	unwind_files_nr--;
	unwind_file_put(uf);
}

/* Evict the tables of @uf, which may end @uf; the lock is held. */
static void file_evict(struct unwind_file *uf)
{
	file_drop_tables(uf);
	unwind_count(UNWIND_FILES_EVICTED);
	/* Nobody could have these tables loaded again. */
	if (uf->taken)
		file_unhash(uf);
}

/* Time at which a walk last read any table of @uf. */
static unsigned long file_used(const struct unwind_file *uf)
{
	unsigned long used = uf->evict_after;
	unsigned int i;

	for (i = 0; i < uf->nr_parts; i++) {
		const struct unwind_segment *segment = uf->parts[i].segment;

		if (segment && time_after(READ_ONCE(segment->used), used))
			used = READ_ONCE(segment->used);
	}
	return used;
}

/*
 * Evict up to @nr files, least recently used first.  A file whose tables a walk has read
 * since the last scan stays and moves to the front.  Returns the number of evicted files.
 */
static unsigned long file_evict_some(unsigned long nr)
{
	struct unwind_file *uf, *next;
	unsigned long evicted = 0, used;

	spin_lock(&unwind_files_lock);
	list_for_each_entry_safe_reverse(uf, next, &unwind_files_recent, recent) {
		if (evicted == nr)
			break;
		if (uf->state)
			continue;
		used = file_used(uf);
		if (time_after(used, uf->evict_after)) {
			uf->evict_after = used;
			list_move(&uf->recent, &unwind_files_recent);
			continue;
		}
		file_evict(uf);
		evicted++;
	}
	spin_unlock(&unwind_files_lock);
	return evicted;
}

/* Whether the limit allows @bytes more; the lock is held. */
static bool file_has_room(size_t bytes)
{
	u64 limit = (u64)READ_ONCE(unwind_table_kbytes) * SZ_1K;

	return unwind_files_bytes + bytes <= limit;
}

/*
 * Evict files, least recently used first, until the limit allows @bytes more.  Files whose
 * tables a walk has read within the last @kept jiffies stay: if the tables in use exceed the
 * limit, they must not evict each other in turns.  Returns whether there is room now; if not,
 * the caller refuses the new table.  The lock is held.
 */
static bool file_make_room(size_t bytes, unsigned long kept)
{
	struct unwind_file *uf, *next;

	list_for_each_entry_safe_reverse(uf, next, &unwind_files_recent, recent) {
		if (file_has_room(bytes))
			break;
		if (!uf->state && time_after_eq(jiffies, file_used(uf) + kept))
			file_evict(uf);
	}
	return file_has_room(bytes);
}

static unsigned long unwind_files_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	return READ_ONCE(unwind_files_bytes) ? READ_ONCE(unwind_files_nr) : SHRINK_EMPTY;
}

/* Attached tables may be evicted, too: the next lookup has them loaded again. */
static unsigned long unwind_files_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	return file_evict_some(sc->nr_to_scan) ?: SHRINK_STOP;
}

/* Remove the least recently used files from a cache that has too many; the lock is held. */
static void file_bound_known(void)
{
	while (unwind_files_nr > FILE_MAX_KNOWN)
		file_unhash(list_last_entry(&unwind_files_recent, struct unwind_file, recent));
}

/*
 * Move the tables of @parts to the segments of an evicted file, which mappings refer to.
 * Fails if @parts are not the same stretches of code.
 */
static int file_restore_parts(struct unwind_file *uf, struct unwind_part *parts, unsigned int nr)
{
	unsigned int i;

	if (nr != uf->nr_parts)
		return -ESTALE;
	for (i = 0; i < nr; i++)
		if (parts[i].offset != uf->parts[i].offset || parts[i].size != uf->parts[i].size ||
		    !parts[i].segment != !uf->parts[i].segment)
			return -ESTALE;
	for (i = 0; i < nr; i++) {
		if (!parts[i].segment)
			continue;
		rcu_assign_pointer(uf->parts[i].segment->table,
				   rcu_replace_pointer(parts[i].segment->table, NULL, true));
	}
	return 0;
}

/* Size of the tables of @parts in bytes.  No reader can see @parts yet. */
static size_t file_parts_size(const struct unwind_part *parts, unsigned int nr)
{
	size_t size = 0;

	while (nr--)
		if (parts[nr].segment)
			size += rcu_dereference_protected(parts[nr].segment->table, true)->size;
	return size;
}

/*
 * Finish a load: take over @parts, or the error in @ret.  Returns 0 or the error that counts.
 * The lock is held.
 */
static int file_loaded(struct unwind_file *uf, struct unwind_part *parts, int ret)
{
	unsigned int nr = ret < 0 ? 0 : ret;
	size_t bytes = file_parts_size(parts, nr);

	/* The cache forgot the file during the load, so nothing could evict these tables. */
	if (ret > 0 && hlist_unhashed(&uf->node))
		ret = -ESTALE;
	if (ret > 0 && !file_make_room(bytes, FILE_KEPT))
		ret = -ENOSPC;
	if (ret > 0 && uf->nr_parts) {
		ret = file_restore_parts(uf, parts, nr);
	} else if (ret > 0) {
		memcpy(uf->parts, parts, nr * sizeof(*parts));
		memset(parts, 0, nr * sizeof(*parts));
		uf->nr_parts = nr;
		ret = 0;
	}
	/* Pairs with unwind_file_state(). */
	smp_store_release(&uf->state, ret);
	if (!ret) {
		uf->bytes = bytes;
		unwind_files_bytes += bytes;
	}
	uf->evict_after = jiffies;
	/* These errors say nothing about the file: forget it, so that it can be read again. */
	if (ret == -ENOMEM || ret == -ESTALE || ret == -EINTR)
		file_unhash(uf);
	return ret;
}

/* Whether @uf is the entry of @file as it is now. */
static bool file_is_unchanged(const struct unwind_file *uf, struct file *file)
{
	struct unwind_file_key key;

	file_read_key(file, &key);
	key.reader = uf->key.reader;
	key.start = uf->key.start;
	return file_key_is(&key, &uf->key);
}

/* The result of a load that returned @ret: -ESTALE if the file has changed meanwhile. */
static int file_check_key(const struct unwind_file *uf, int ret)
{
	struct file *file = uf->object.file;

	if (!file)
		return ret;
	if (!file_is_unchanged(uf, file) ||
	    (!uf->key.reader && file_may_change_unseen(file_inode(file))))
		return -ESTALE;
	/* This error is the file system's own: do not retry as for a change. */
	return ret == -ESTALE ? -EIO : ret;
}

static void file_start_next(bool remote);

static void file_load(struct work_struct *work)
{
	struct unwind_file *uf = container_of(work, struct unwind_file, work);
	struct unwind_part parts[UNWIND_MAX_PARTS] = { };
	/* The file pins the superblock only until the load ends. */
	bool remote = file_is_remote(uf->sb);
	unsigned int nr;
	int ret;

	ret = unwind_load_parts(&uf->object, parts);
	nr = ret < 0 ? 0 : ret;
	ret = file_check_key(uf, ret);

	scoped_guard(spinlock, &unwind_files_lock) {
		file_end_load(uf);
		ret = file_loaded(uf, parts, ret);
		file_start_next(remote);
	}
	unwind_free_parts(parts, nr);
	unwind_count(!ret ? UNWIND_FILES_LOADED :
		     ret == -ENOENT || ret == -ENOEXEC ? UNWIND_FILES_WITHOUT :
		     UNWIND_FILES_REFUSED);
	/* Have discovery look at the file again later. */
	if (ret)
		schedule_delayed_work(&unwind_files_again, FILE_AGAIN);
	wake_up_all(&unwind_files_loaded);
	unwind_file_put(uf);
}

/* Whether another load has to end before the load of @waiting may begin; the lock is held. */
static bool file_has_to_wait(const struct unwind_file *waiting, bool remote)
{
	const struct unwind_file *uf;
	unsigned int nr = 0;

	list_for_each_entry(uf, &unwind_files_loading[remote], load) {
		if (uf->sb == waiting->sb)
			return true;
		nr++;
	}
	return nr >= FILE_MAX_LOADS;
}

/* Start the load of @uf, which waits, if it may begin; the lock is held. */
static bool file_start(struct unwind_file *uf, bool remote)
{
	if (file_has_to_wait(uf, remote))
		return false;
	list_move_tail(&uf->load, &unwind_files_loading[remote]);
	uf->started = true;
	queue_work(unwind_files_queue[remote], &uf->work);
	return true;
}

/*
 * Start another load after one has ended; the lock is held.  No second load may begin: either
 * the first takes the only place that is free, or it is of the file system of the load that
 * has ended.
 */
static void file_start_next(bool remote)
{
	struct unwind_file *uf;

	list_for_each_entry(uf, &unwind_files_waiting[remote], load)
		if (file_start(uf, remote))
			return;
}

/* Have @uf loaded; the lock is held. */
static void file_request(struct unwind_file *uf, struct file *file, const void *image)
{
	bool remote;

	uf->state = FILE_LOADING;
	uf->generation = atomic_read(&unwind_tables_generation);
	uf->object = (struct unwind_object){
		.file  = file ? get_file(file) : NULL,
		.image = image,
		.size  = uf->key.size,
		.memcg = get_mem_cgroup_from_mm(current->mm),
	};
	uf->sb = file ? file_inode(file)->i_sb : NULL;
	remote = file_is_remote(uf->sb);
	uf->started = false;
	refcount_inc(&uf->users);
	list_add_tail(&uf->load, &unwind_files_waiting[remote]);
	file_start(uf, remote);
}

/* Whether @uf had no usable table when it was read, and may have one now; the lock is held. */
static bool file_is_outdated(const struct unwind_file *uf)
{
	return uf->state && uf->state != FILE_LOADING &&
	       uf->generation != atomic_read(&unwind_tables_generation);
}

/**
 * unwind_file_is_outdated() - whether a file without a table may have one by now
 * @uf: The file.
 *
 * Context: Any but NMI.
 * Return: true if the file has no table and was requested before the last call of
 * unwind_tables_look_again().
 */
bool unwind_file_is_outdated(const struct unwind_file *uf)
{
	bool outdated;

	spin_lock(&unwind_files_lock);
	outdated = file_is_outdated(uf);
	spin_unlock(&unwind_files_lock);
	return outdated;
}

static struct unwind_file *file_find(const struct unwind_file_key *key)
{
	struct unwind_file *uf;

	hash_for_each_possible(unwind_files, uf, node, file_hash_of(key))
		if (!uf->taken && file_key_is(&uf->key, key))
			return uf;
	return NULL;
}

/* @end counts only if @key has a reader. */
static struct unwind_file *file_alloc(const struct unwind_file_key *key, unsigned long end)
{
	struct unwind_file *uf = kzalloc(sizeof(*uf), UNWIND_GFP_PROFILED);

	if (uf) {
		/* The caller's reference */
		refcount_set(&uf->users, 1);
		uf->key = *key;
		uf->end = end;
		uf->state = FILE_EVICTED;
		INIT_WORK(&uf->work, file_load);
	}
	return uf;
}

/* Add @uf to the cache, which takes a reference of its own; the lock is held. */
static void file_hash(struct unwind_file *uf)
{
	refcount_inc(&uf->users);
	hash_add(unwind_files, &uf->node, file_hash_of(&uf->key));
	list_add(&uf->recent, &unwind_files_recent);
	if (uf->key.reader) {
		hlist_add_head(&uf->private, &uf->key.reader->files);
		uf->key.reader->nr++;
	}
	unwind_files_nr++;
	file_bound_known();
}

/* Whether the process of @key has too many private files for another one; the lock is held. */
static bool file_is_too_much(const struct unwind_file_key *key)
{
	return key->reader && key->reader->nr >= FILE_MAX_PRIVATE;
}

/*
 * Find the file of @key, or else add @new, and have it loaded if necessary; the lock is held.
 * Returns the file with a reference for the caller; NULL if there is neither.
 */
static struct unwind_file *file_find_or_add(const struct unwind_file_key *key,
					    struct unwind_file *new, struct file *file,
					    const void *image)
{
	struct unwind_file *uf = file_find(key);

	if (uf) {
		refcount_inc(&uf->users);
		list_move(&uf->recent, &unwind_files_recent);
	} else if (new && !file_is_too_much(key)) {
		uf = new;
		file_hash(uf);
	}
	if (uf && (uf->state == FILE_EVICTED || file_is_outdated(uf)))
		file_request(uf, file, image);
	return uf;
}

static struct unwind_file *file_get(const struct unwind_file_key *key, unsigned long end,
				    struct file *file, const void *image)
{
	struct unwind_file *new, *uf;

	/* unwind_files_init() failed. */
	if (!unwind_files_queue[0] || !unwind_files_queue[1])
		return NULL;
	scoped_guard(spinlock, &unwind_files_lock)
		uf = file_find_or_add(key, NULL, file, image);
	if (uf)
		return uf;
	new = file_alloc(key, end);
	if (!new)
		return NULL;
	scoped_guard(spinlock, &unwind_files_lock)
		uf = file_find_or_add(key, new, file, image);
	if (uf != new)
		kfree(new);
	return uf;
}

/**
 * unwind_file_get() - get a file of the cache
 * @file: A regular file, open for reading.
 * @reader: The private files of the process that maps @file.
 * @start: First address of the mapping.
 * @end: First address after the mapping.
 *
 * If the file's tables are not loaded, this requests the load but does not wait for it; see
 * unwind_file_wait().  If the file may change unseen, the caller calls unwind_file_unmapped()
 * before the mapping ends.
 *
 * Context: Process context, may sleep, but only for memory.  The task has an mm, which is
 * charged for the memory; its mmap_lock is held.
 * Return: The file, for unwind_file_put(); or NULL if there is no memory, or if the process has
 * too many files that may change unseen.
 */
struct unwind_file *unwind_file_get(struct file *file, struct unwind_private_files *reader,
				    unsigned long start, unsigned long end)
{
	struct unwind_file_key key;

	file_read_key(file, &key);
	if (file_may_change_unseen(file_inode(file))) {
		key.reader = reader;
		key.start = start;
	}
	return file_get(&key, end, file, NULL);
}

/**
 * unwind_file_get_image() - get the cache entry of an object in the kernel's memory
 * @image: The object, which is never freed.
 * @size: Size of @image in bytes.
 *
 * Context: Process context, may sleep, but only for memory.  The task has an mm, which is
 * charged for the memory.
 * Return: The entry, for unwind_file_put(); or NULL if there is no memory.
 */
struct unwind_file *unwind_file_get_image(const void *image, size_t size)
{
	struct unwind_file_key key;

	memset(&key, 0, sizeof(key));
	key.object = image;
	key.size = size;
	return file_get(&key, 0, NULL, image);
}

/**
 * unwind_file_state() - whether the tables of a file have been loaded
 * @uf: The file.
 *
 * Context: Any.
 * Return: 0 if the tables are loaded; -EINPROGRESS if they are not loaded yet; -ENOENT if the
 * file has no table; -ENOEXEC if the file is no ELF object; other errors if its table was
 * refused.
 */
int unwind_file_state(const struct unwind_file *uf)
{
	/* Pairs with file_loaded(). */
	int state = smp_load_acquire(&uf->state);

	/* The table was evicted right after its load: callers cannot use it yet, either. */
	return state == FILE_EVICTED ? FILE_LOADING : state;
}

/**
 * unwind_file_wait() - wait for the tables of a file to be loaded
 * @uf: The file.
 * @left: Maximum time to wait, in jiffies; set to the time that is left of it.
 *
 * Context: Process context, may sleep.
 * Return: The result of unwind_file_state(); -EINPROGRESS if the time ran out or the task was
 * killed.
 */
int unwind_file_wait(struct unwind_file *uf, long *left)
{
	DEFINE_WAIT(wait);
	int state;

	for (;;) {
		/* Suspend must not wait for a file, and only a fatal signal ends the wait. */
		prepare_to_wait(&unwind_files_loaded, &wait, TASK_KILLABLE | TASK_FREEZABLE);
		state = unwind_file_state(uf);
		if (state != FILE_LOADING || *left <= 0 || fatal_signal_pending(current))
			break;
		*left = schedule_timeout(*left);
	}
	finish_wait(&unwind_files_loaded, &wait);
	return state;
}

/**
 * unwind_file_find() - find the part of a file that a mapping contains
 * @uf: A file that has been loaded.
 * @offset: Offset of the mapping in the file.
 * @size: Size of the mapping.
 * @part: Set to the part of which the mapping has most, with a reference on its segment.  Two
 *	parts may share a page, which the file has once and each of their mappings.
 *
 * Return: 0; -ENOENT if the file's table does not cover the mapping.
 */
int unwind_file_find(struct unwind_file *uf, u64 offset, u64 size, struct unwind_part *part)
{
	u64 from, to, most = 0;
	unsigned int i;

	for (i = 0; i < uf->nr_parts; i++) {
		from = max(offset, uf->parts[i].offset);
		to = min(offset + size, uf->parts[i].offset + uf->parts[i].size);
		if (!uf->parts[i].segment || to <= from || to - from <= most)
			continue;
		most = to - from;
		*part = uf->parts[i];
	}
	if (!most)
		return -ENOENT;
	unwind_segment_get(part->segment);
	return 0;
}

/**
 * unwind_file_is_usable() - whether a mapping may have the tables that were requested for it
 * @uf: A file that has been loaded.
 * @file: The file that is mapped; NULL for an object in the kernel's memory.
 *
 * Context: Process context, the mmap_lock held for writing.
 * Return: false if the file has changed since the request; if the file may change unseen and
 * the mapping ended meanwhile; or if another thread has attached the tables.
 */
bool unwind_file_is_usable(const struct unwind_file *uf, struct file *file)
{
	bool usable;

	if (file && !file_is_unchanged(uf, file))
		return false;
	if (!uf->key.reader)
		return true;
	spin_lock(&unwind_files_lock);
	usable = !hlist_unhashed(&uf->node) && !uf->taken;
	spin_unlock(&unwind_files_lock);
	return usable;
}

/**
 * unwind_file_take() - remember that a mapping uses the tables that were requested for it
 * @uf: A usable file.
 *
 * No other mapping gets a file that may change unseen.  Other files are shared.
 *
 * Context: Process context, the mmap_lock held for writing.
 */
void unwind_file_take(struct unwind_file *uf)
{
	if (!uf->key.reader)
		return;
	spin_lock(&unwind_files_lock);
	uf->taken = true;
	spin_unlock(&unwind_files_lock);
}

/**
 * unwind_file_done() - drop a private file that no mapping has taken
 * @uf: The file, which the caller will not use.
 *
 * The next unwind_file_get() of such a file has it loaded again.  Other files stay.
 *
 * Context: Process context.
 */
void unwind_file_done(struct unwind_file *uf)
{
	if (!uf->key.reader)
		return;
	spin_lock(&unwind_files_lock);
	if (!uf->taken)
		file_unhash(uf);
	spin_unlock(&unwind_files_lock);
}

/**
 * unwind_file_unmapped() - drop the private files of mappings that end
 * @reader: The private files of the process.
 * @start: First address that is unmapped.
 * @end: First address after it that stays mapped.
 *
 * Such a file may change before the process maps it again.
 *
 * Context: Process context, the mmap_lock held for writing.
 */
void unwind_file_unmapped(struct unwind_private_files *reader, unsigned long start,
			  unsigned long end)
{
	struct unwind_file *uf;
	struct hlist_node *next;

	/* Adding a file takes the mmap_lock. */
	if (hlist_empty(&reader->files))
		return;
	spin_lock(&unwind_files_lock);
	hlist_for_each_entry_safe(uf, next, &reader->files, private)
		if (uf->key.start < end && start < uf->end)
			file_unhash(uf);
	spin_unlock(&unwind_files_lock);
}

/**
 * unwind_forget_super() - drop the files of a file system that is unmounted
 * @sb: The superblock, which has no inodes any more.
 *
 * Another file system may get its device number.
 *
 * Context: Process context.
 */
void unwind_forget_super(struct super_block *sb)
{
	struct unwind_file *uf, *next;

	spin_lock(&unwind_files_lock);
	list_for_each_entry_safe(uf, next, &unwind_files_recent, recent)
		if (uf->key.dev == sb->s_dev)
			file_unhash(uf);
	spin_unlock(&unwind_files_lock);
}

/*
 * Any write, even of the same value, makes the kernel try again to load the tables that it
 * has refused for lack of room.
 */
static int unwind_table_kbytes_sysctl(const struct ctl_table *table, int write, void *buffer,
				      size_t *len, loff_t *pos)
{
	int ret = proc_douintvec(table, write, buffer, len, pos);

	if (!write || ret)
		return ret;
	scoped_guard(spinlock, &unwind_files_lock)
		file_make_room(0, 0);
	unwind_tables_look_again();
	return 0;
}

static struct ctl_table unwind_files_sysctls[] = {
	{
		.procname	= "unwind_table_kbytes",
		.data		= &unwind_table_kbytes,
		.maxlen		= sizeof(unwind_table_kbytes),
		.mode		= 0644,
		.proc_handler	= unwind_table_kbytes_sysctl,
	},
};

static int __init unwind_files_init(void)
{
	struct shrinker *shrinker;

	/*
	 * Remote file systems may never answer.  Their queue is not freezable, as suspend would
	 * wait for its workers.
	 */
	unwind_files_queue[0] = alloc_workqueue("unwind_files", WQ_UNBOUND | WQ_FREEZABLE, 0);
	unwind_files_queue[1] = alloc_workqueue("unwind_remote_files", WQ_UNBOUND, 0);
	if (!unwind_files_queue[0] || !unwind_files_queue[1])
		return -ENOMEM;
	shrinker = shrinker_alloc(0, "unwind_files");
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = unwind_files_count;
	shrinker->scan_objects = unwind_files_scan;
	shrinker_register(shrinker);
	unwind_table_kbytes = min(PFN_PHYS(totalram_pages()) / FILE_MEMORY_SHARE / SZ_1K, UINT_MAX);
	register_sysctl_init("kernel", unwind_files_sysctls);
	return 0;
}
core_initcall(unwind_files_init);

#ifdef CONFIG_DEBUG_FS

static unsigned int file_users(const struct unwind_file *uf)
{
	unsigned int i, users = 0;

	/* The file itself holds one of the references. */
	for (i = 0; i < uf->nr_parts; i++)
		if (uf->parts[i].segment)
			users += refcount_read(&uf->parts[i].segment->users) - 1;
	return users;
}

/* Device and inode as in /proc/PID/maps; 0 for the image of the vDSO. */
static void file_show(struct seq_file *file, const struct unwind_file *uf)
{
	seq_printf(file, "%02x:%02x %llu %zu %u ", MAJOR(uf->key.dev), MINOR(uf->key.dev),
		   uf->key.ino, uf->bytes, file_users(uf));
	switch (uf->state) {
	case 0:
		seq_puts(file, "loaded\n");
		break;
	case FILE_LOADING:
		seq_puts(file, "loading\n");
		break;
	case FILE_EVICTED:
		seq_puts(file, "evicted\n");
		break;
	case -ENOENT:
		seq_puts(file, "without\n");
		break;
	case -ENOEXEC:
		seq_puts(file, "no object\n");
		break;
	default:
		seq_printf(file, "refused %d\n", uf->state);
	}
}

/*
 * Print a line for each file, most recently used first: device, inode, size of its tables in
 * bytes, number of mappings that use them, and its state.
 */
static int unwind_files_show(struct seq_file *file, void *unused)
{
	const struct unwind_file *uf;

	spin_lock(&unwind_files_lock);
	list_for_each_entry(uf, &unwind_files_recent, recent)
		file_show(file, uf);
	spin_unlock(&unwind_files_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(unwind_files);

static int __init unwind_files_debugfs(void)
{
	debugfs_create_file("files", 0400, unwind_debugfs(), NULL, &unwind_files_fops);
	return 0;
}
late_initcall(unwind_files_debugfs);

#endif /* CONFIG_DEBUG_FS */
