// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of files, read and checked once and shared by all who have the file mapped.
 *
 * A walk never reads a file.  Discovery asks for a file's table, and a worker loads it;
 * until then, walks go on without the table.  A file is known by what it is and
 * by when it was last changed; there is no table of one that changes while it is read, and that
 * of one which somebody may write to is for the mapping that it was read for alone.
 *
 *	unwind_file	what is known of a file: its code, or why there is no table
 *	unwind_segment	a stretch of its code, which mappings refer to
 *	unwind_table	its rows, which may be evicted at any time, and loaded again
 *
 * A file that never answers holds up the others of its file system alone: of each, one is
 * read at a time, and those that a process or another machine serves have a queue of their
 * own.  Files are read in user space's stead, with the size of a table bounded before
 * memory is taken, which is charged to the first who asked.
 *
 * What the cache holds is bounded by memory: see unwind_files_scan().
 */

#include <linux/debugfs.h>
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/iversion.h>
#include <linux/magic.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/shrinker.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "file.h"
#include "split.h"
#include "stats.h"

/* ld writes a dozen program headers. */
#define FILE_MAX_PHDRS		64
/* Stretches of code that a file may have.  ld makes one. */
#define FILE_MAX_PARTS		8
/* No larger table is read.  That of Debian's largest program has 10 MiB. */
#define FILE_MAX_TABLE		SZ_64M
/* Bytes between two chances for others to run */
#define FILE_READ_AT_ONCE	SZ_1M
/* Files that are known, with tables or without */
#define FILE_MAX_KNOWN		16384
/* How many are read at a time, of each class of file systems */
#define FILE_MAX_LOADS		8
/* When a file without a table is looked at again: one may have been made, or mended. */
#define FILE_AGAIN		(60 * HZ)
/* A time stamp that is younger than this may hide a change. */
#define FILE_FRESH_SECONDS	2

/* unwind_file::state, beside 0 and errors */
#define FILE_LOADING	(-EINPROGRESS)
#define FILE_EVICTED	(-EAGAIN)

/**
 * struct unwind_file_key - which file it is, and in what state
 * @reader: The process that it is loaded for, as an address, where its content may change
 *	unseen; else NULL.
 * @object:	The image; of a file, NULL, or the inode where that tells apart what has the
 *	same number.  Compared, and never followed.
 * @dev:	Of its file system.
 * @ino:	Its number there.
 * @generation:	Of the number.
 * @size:	Of the file.
 * @version:	Changes with it, where the file system keeps that.
 * @ctime:	When it was last changed.
 */
struct unwind_file_key {
	const void		*reader;
	const void		*object;
	dev_t			dev;
	u64			ino;
	u64			generation;
	u64			size;
	u64			version;
	struct timespec64	ctime;
};

/**
 * struct unwind_file - what is known of a file
 * @node:	In unwind_files, unless nobody is to find it.
 * @recent:	In unwind_files_recent, where @node is hashed.
 * @users:	References of the cache, of a load and of callers.
 * @key:	The file.
 * @state:	0: it has tables; FILE_*; or why it has none.
 * @nr_parts:	Valid once it has been loaded, and constant from then on.
 * @parts:	The same.
 * @bytes:	Of its tables.
 * @generation:	unwind_files_generation when it was last asked for.
 * @evict_after: In jiffies; a table that was read since is kept once more.
 * @file:	What to read, while it is being loaded.
 * @image:	The same, in the kernel's memory.
 * @sb:		Of @file.
 * @memcg:	Who is charged.
 * @work:	Loads it.
 * @load:	In unwind_files_waiting or unwind_files_loading.
 *
 * What is not constant is protected by unwind_files_lock.
 */
struct unwind_file {
	struct hlist_node	node;
	struct list_head	recent;
	refcount_t		users;
	struct unwind_file_key	key;
	int			state;
	unsigned int		nr_parts;
	struct unwind_part	parts[FILE_MAX_PARTS];
	size_t			bytes;
	unsigned int		generation;
	unsigned long		evict_after;

	struct file		*file;
	const void		*image;
	struct super_block	*sb;
	struct mem_cgroup	*memcg;
	struct work_struct	work;
	struct list_head	load;
};

static DEFINE_SPINLOCK(unwind_files_lock);
static DEFINE_HASHTABLE(unwind_files, 10);
static LIST_HEAD(unwind_files_recent);
static unsigned int unwind_files_nr;
static size_t unwind_files_bytes;
static LIST_HEAD(unwind_files_waiting);
static LIST_HEAD(unwind_files_loading);
/* Counts up when tables may be found that were not there before. */
unsigned int unwind_files_generation;
/* Woken when any load has ended */
static DECLARE_WAIT_QUEUE_HEAD(unwind_files_loaded);
/* By file_is_remote() */
static struct workqueue_struct *unwind_files_queue[2];

/**
 * unwind_segment_build() - make a segment that has one user, and its table
 * @source: What the table is made of.
 * @gfp: How memory is taken.
 *
 * Context: Process context, may sleep.
 * Return: The segment, for unwind_segment_put(); or an error as unwind_table_build().
 */
struct unwind_segment *unwind_segment_build(const struct unwind_table_source *source, gfp_t gfp)
{
	struct unwind_table *table = unwind_table_build(source, get_random_u32(), gfp);
	struct unwind_segment *segment;

	if (IS_ERR(table))
		return ERR_CAST(table);
	segment = kzalloc(sizeof(*segment), gfp);
	if (!segment) {
		unwind_table_free(table);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&segment->users, 1);
	RCU_INIT_POINTER(segment->table, table);
	segment->used = jiffies;
	return segment;
}

/**
 * unwind_segment_get() - one more user
 * @segment: The segment, or NULL.
 *
 * Return: @segment.
 */
struct unwind_segment *unwind_segment_get(struct unwind_segment *segment)
{
	if (segment)
		refcount_inc(&segment->users);
	return segment;
}

static void unwind_segment_free(struct rcu_head *rcu)
{
	struct unwind_segment *segment = container_of(rcu, struct unwind_segment, rcu);

	unwind_table_free(rcu_dereference_protected(segment->table, true));
	kfree(segment);
}

/**
 * unwind_segment_put() - one user less
 * @segment: The segment, or NULL.  RCU readers may still use it.
 *
 * Context: Any but NMI.
 */
void unwind_segment_put(struct unwind_segment *segment)
{
	if (segment && refcount_dec_and_test(&segment->users))
		call_rcu(&segment->rcu, unwind_segment_free);
}

static void file_free_parts(struct unwind_part *parts, unsigned int nr)
{
	while (nr--)
		unwind_segment_put(parts[nr].segment);
}

/**
 * unwind_file_put() - give a reference back
 * @uf: The file.
 *
 * Context: Any but NMI.
 */
void unwind_file_put(struct unwind_file *uf)
{
	if (!refcount_dec_and_test(&uf->users))
		return;
	file_free_parts(uf->parts, uf->nr_parts);
	kfree(uf);
}

static void file_read_key(struct file *file, struct unwind_file_key *key)
{
	struct inode *inode = file_inode(file);

	/* It is compared as bytes. */
	memset(key, 0, sizeof(*key));
	if (inode_is_open_for_write(inode) || ktime_get_real_seconds() -
	    inode_get_ctime_sec(inode) < FILE_FRESH_SECONDS)
		key->reader = current->mm;
	/* An inode may be dropped with its last user; but subvolumes count for themselves. */
	if (inode->i_sb->s_magic == BTRFS_SUPER_MAGIC)
		key->object = inode;
	key->dev = inode->i_sb->s_dev;
	key->ino = inode->i_ino;
	key->generation = inode->i_generation;
	key->size = i_size_read(inode);
	key->version = IS_I_VERSION(inode) ? inode_query_iversion(inode) : 0;
	key->ctime = inode_get_ctime(inode);
}

static bool file_key_is(const struct unwind_file_key *a, const struct unwind_file_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static unsigned long file_hash_of(const struct unwind_file_key *key)
{
	return key->dev ? key->ino : (unsigned long)key->object;
}

/* Whether somebody beyond this kernel answers for the file: a process, another machine. */
static bool file_is_remote(const struct super_block *sb)
{
	if (!sb || sb->s_bdev)
		return false;
	return sb->s_magic != TMPFS_MAGIC && sb->s_magic != RAMFS_MAGIC &&
	       sb->s_magic != BTRFS_SUPER_MAGIC;
}

/* Forget @uf; the lock is held. */
static void file_unhash(struct unwind_file *uf)
{
	if (hlist_unhashed(&uf->node))
		return;
	hash_del(&uf->node);
	list_del(&uf->recent);
	unwind_files_nr--;
	unwind_files_bytes -= uf->bytes;
	unwind_file_put(uf);
}

/* Take the tables of @uf, which refer to nothing else; the lock is held. */
static void file_evict(struct unwind_file *uf)
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
	unwind_count(UNWIND_FILES_EVICTED);
}

/* When any of @uf's tables was last read. */
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
 * Take up to @nr tables away, of those that were not read for longest.  One that was read
 * since it was last looked at stays.  Returns their number.
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

static unsigned long unwind_files_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	return READ_ONCE(unwind_files_bytes) ? READ_ONCE(unwind_files_nr) : SHRINK_EMPTY;
}

/* Also for a table that is attached: its readers ask for it again. */
static unsigned long unwind_files_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	return file_evict_some(sc->nr_to_scan) ?: SHRINK_STOP;
}

/* Forget the files that were asked for longest ago; the lock is held. */
static void file_bound_known(void)
{
	while (unwind_files_nr > FILE_MAX_KNOWN)
		file_unhash(list_last_entry(&unwind_files_recent, struct unwind_file, recent));
}

/**
 * unwind_file_read() - read a part of a file
 * @file: The file, open for reading.
 * @to: Where to.
 * @from: Offset in the file.
 * @len: How much.
 *
 * Context: Process context, may sleep.
 * Return: 0; -ESTALE where the file ends before; other errors of its file system.
 */
int unwind_file_read(struct file *file, void *to, u64 from, u64 len)
{
	if (!S_ISREG(file_inode(file)->i_mode) || !(file->f_mode & FMODE_READ) ||
	    file->f_flags & O_DIRECT || !file->f_op->read_iter || file->f_op->read)
		return -EINVAL;
	while (len) {
		loff_t at = from;
		ssize_t ret;

		ret = __kernel_read(file, to, min_t(u64, len, FILE_READ_AT_ONCE), &at);
		if (ret <= 0)
			return ret ? ret : -ESTALE;
		to += ret;
		from += ret;
		len -= ret;
		cond_resched();
	}
	return 0;
}

/* Read @len bytes of the object that @uf stands for. */
static int file_read(const struct unwind_file *uf, void *to, u64 from, u64 len)
{
	if (from > uf->key.size || uf->key.size - from < len)
		return -ENOEXEC;
	if (uf->file)
		return unwind_file_read(uf->file, to, from, len);
	memcpy(to, uf->image + from, len);
	return 0;
}

static int file_read_phdrs(const struct unwind_file *uf, struct elf64_phdr *phdrs,
			   unsigned int *nr)
{
	struct elf64_hdr header;
	int ret;

	ret = file_read(uf, &header, 0, sizeof(header));
	if (ret)
		return ret;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELF_DATA ||
	    !elf_check_arch(&header) ||
	    (header.e_type != ET_DYN && header.e_type != ET_EXEC) ||
	    header.e_phentsize != sizeof(struct elf64_phdr) ||
	    header.e_phnum > FILE_MAX_PHDRS)
		return -ENOEXEC;
	*nr = header.e_phnum;
	return file_read(uf, phdrs, header.e_phoff, *nr * sizeof(*phdrs));
}

static int file_build_part(const struct unwind_file *uf,
			   const struct unwind_table_source *source,
			   const struct elf64_phdr *phdr, struct unwind_part *part)
{
	struct unwind_table_source of_code = *source;
	struct unwind_segment *segment;

	part->segment = NULL;
	/* Its size bounds the table's. */
	if (phdr->p_offset > uf->key.size || uf->key.size - phdr->p_offset < phdr->p_filesz)
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

/* Make tables for all of the file's code; returns how many stretches there are, or an error. */
static int file_build(const struct unwind_file *uf, const struct unwind_table_source *source,
		      const struct elf64_phdr *phdrs, unsigned int nr_phdrs,
		      struct unwind_part *parts)
{
	unsigned int i, nr = 0;
	bool any = false;
	int ret = 0;

	for (i = 0; i < nr_phdrs && !ret; i++) {
		if (phdrs[i].p_type != PT_LOAD || !(phdrs[i].p_flags & PF_X))
			continue;
		if (nr == FILE_MAX_PARTS) {
			ret = -E2BIG;
			break;
		}
		ret = file_build_part(uf, source, &phdrs[i], &parts[nr++]);
		any = any || parts[nr - 1].segment;
	}
	if (!ret && !any)
		ret = -ENOENT;
	if (!ret)
		return nr;
	file_free_parts(parts, nr);
	return ret;
}

/* Find the table that the object carries. */
static int file_find_own(const struct unwind_file *uf, const struct elf64_phdr *phdrs,
			 unsigned int nr_phdrs, struct unwind_place *place)
{
	unsigned int i;

	for (i = 0; i < nr_phdrs; i++) {
		if (phdrs[i].p_type != PT_GNU_SFRAME)
			continue;
		place->file = uf->file ? get_file(uf->file) : NULL;
		place->offset = phdrs[i].p_offset;
		place->size = phdrs[i].p_filesz;
		place->vaddr = phdrs[i].p_vaddr;
		return 0;
	}
	return -ENOENT;
}

static int file_read_table(const struct unwind_file *uf, const struct unwind_place *place,
			   const struct elf64_phdr *phdrs, unsigned int nr_phdrs,
			   struct unwind_part *parts)
{
	struct unwind_table_source source = {
		.len = place->size,
		.start = place->vaddr,
	};
	u64 room = place->file ? i_size_read(file_inode(place->file)) : uf->key.size;
	void *bytes;
	int ret;

	/* Before memory is taken */
	if (place->size > FILE_MAX_TABLE)
		return -E2BIG;
	if (place->offset > room || room - place->offset < place->size)
		return -EBADMSG;
	bytes = kvmalloc(place->size, UNWIND_GFP_PROFILED);
	if (!bytes)
		return -ENOMEM;
	source.bytes = bytes;
	if (place->file)
		ret = unwind_file_read(place->file, bytes, place->offset, place->size);
	else
		ret = file_read(uf, bytes, place->offset, place->size);
	if (!ret)
		ret = file_build(uf, &source, phdrs, nr_phdrs, parts);
	kvfree(bytes);
	return ret;
}

/* Make tables of what the object carries, or else of its split table. */
static int file_load_tables(const struct unwind_file *uf, const struct elf64_phdr *phdrs,
			    unsigned int nr_phdrs, struct unwind_part *parts)
{
	struct unwind_place place;
	int ret;

	ret = file_find_own(uf, phdrs, nr_phdrs, &place);
	if (ret && uf->file)
		ret = unwind_split_find(uf->file, phdrs, nr_phdrs, &place);
	if (ret)
		return ret;
	ret = file_read_table(uf, &place, phdrs, nr_phdrs, parts);
	if (place.file)
		fput(place.file);
	return ret;
}

/* Returns how many stretches of code the file has, or why there is no table. */
static int file_load_parts(const struct unwind_file *uf, struct unwind_part *parts)
{
	struct elf64_phdr *phdrs;
	unsigned int nr_phdrs;
	int ret;

	phdrs = kmalloc_array(FILE_MAX_PHDRS, sizeof(*phdrs), UNWIND_GFP_PROFILED);
	if (!phdrs)
		return -ENOMEM;
	ret = file_read_phdrs(uf, phdrs, &nr_phdrs);
	if (!ret)
		ret = file_load_tables(uf, phdrs, nr_phdrs, parts);
	kfree(phdrs);
	return ret;
}

/* The code of an evicted file is where it was; take the tables of @parts for it. */
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

/* Take over what was loaded, or its error; the lock is held.  Returns the error. */
static int file_loaded(struct unwind_file *uf, struct unwind_part *parts, int ret)
{
	unsigned int i, nr = ret < 0 ? 0 : ret;

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
	for (i = 0; !ret && i < uf->nr_parts; i++) {
		const struct unwind_segment *segment = uf->parts[i].segment;

		if (segment)
			uf->bytes += rcu_dereference_protected(segment->table, true)->size;
	}
	if (!hlist_unhashed(&uf->node))
		unwind_files_bytes += uf->bytes;
	uf->evict_after = jiffies;
	/* What has nothing to do with the file is not remembered. */
	if (ret == -ENOMEM || ret == -ESTALE || ret == -EINTR)
		file_unhash(uf);
	return ret;
}

/**
 * unwind_files_look_again() - tables may have appeared for files that had none
 *
 * Context: Any.
 */
void unwind_files_look_again(void)
{
	/* A racing reader sees the new value at its next sample. */
	WRITE_ONCE(unwind_files_generation, READ_ONCE(unwind_files_generation) + 1);
}

static void file_look_again(struct work_struct *work)
{
	unwind_files_look_again();
}

static DECLARE_DELAYED_WORK(unwind_files_again, file_look_again);

static void file_start_loads(void);

static void file_load(struct work_struct *work)
{
	struct unwind_file *uf = container_of(work, struct unwind_file, work);
	struct mem_cgroup *charged = set_active_memcg(uf->memcg);
	struct unwind_part parts[FILE_MAX_PARTS] = { };
	struct unwind_file_key key;
	unsigned int nr;
	int ret;

	ret = file_load_parts(uf, parts);
	nr = ret < 0 ? 0 : ret;
	set_active_memcg(charged);
	if (uf->file) {
		file_read_key(uf->file, &key);
		/* It may have become old meanwhile. */
		key.reader = uf->key.reader;
		if (!file_key_is(&key, &uf->key))
			ret = -ESTALE;
		fput(uf->file);
	}
	mem_cgroup_put(uf->memcg);

	scoped_guard(spinlock, &unwind_files_lock) {
		uf->file = NULL;
		uf->image = NULL;
		uf->memcg = NULL;
		list_del(&uf->load);
		ret = file_loaded(uf, parts, ret);
		file_start_loads();
	}
	file_free_parts(parts, nr);
	unwind_count(!ret ? UNWIND_FILES_LOADED :
		     ret == -ENOENT || ret == -ENOEXEC ? UNWIND_FILES_WITHOUT :
		     UNWIND_FILES_REFUSED);
	/* While there are such files, and somebody profiles those who run them */
	if (ret)
		schedule_delayed_work(&unwind_files_again, FILE_AGAIN);
	wake_up_all(&unwind_files_loaded);
	unwind_file_put(uf);
}

/* Whether another load has to end before that of @waiting may begin; the lock is held. */
static bool file_has_to_wait(const struct unwind_file *waiting)
{
	bool remote = file_is_remote(waiting->sb);
	const struct unwind_file *uf;
	unsigned int nr = 0;

	list_for_each_entry(uf, &unwind_files_loading, load) {
		if (uf->sb == waiting->sb)
			return true;
		nr += file_is_remote(uf->sb) == remote;
	}
	return nr >= FILE_MAX_LOADS;
}

/* The lock is held. */
static void file_start_loads(void)
{
	struct unwind_file *uf, *next;

	list_for_each_entry_safe(uf, next, &unwind_files_waiting, load) {
		if (file_has_to_wait(uf))
			continue;
		list_move_tail(&uf->load, &unwind_files_loading);
		queue_work(unwind_files_queue[file_is_remote(uf->sb)], &uf->work);
	}
}

/* Have @uf loaded; the lock is held. */
static void file_request(struct unwind_file *uf, struct file *file, const void *image)
{
	uf->state = FILE_LOADING;
	uf->generation = READ_ONCE(unwind_files_generation);
	uf->file = file ? get_file(file) : NULL;
	uf->image = image;
	uf->sb = file ? file_inode(file)->i_sb : NULL;
	uf->memcg = get_mem_cgroup_from_mm(current->mm);
	refcount_inc(&uf->users);
	list_add_tail(&uf->load, &unwind_files_waiting);
	file_start_loads();
}

/* Whether @uf had no table that could be used, and may have one by now; the lock is held. */
static bool file_is_outdated(const struct unwind_file *uf)
{
	return uf->state && uf->state != FILE_LOADING &&
	       uf->generation != READ_ONCE(unwind_files_generation);
}

static struct unwind_file *file_find(const struct unwind_file_key *key)
{
	struct unwind_file *uf;

	hash_for_each_possible(unwind_files, uf, node, file_hash_of(key))
		if (file_key_is(&uf->key, key))
			return uf;
	return NULL;
}

static struct unwind_file *file_alloc(const struct unwind_file_key *key)
{
	struct unwind_file *uf = kzalloc(sizeof(*uf), UNWIND_GFP_PROFILED);

	if (uf) {
		/* The caller's */
		refcount_set(&uf->users, 1);
		uf->key = *key;
		uf->state = FILE_EVICTED;
		INIT_WORK(&uf->work, file_load);
	}
	return uf;
}

/* Have others find @uf; the lock is held. */
static void file_hash(struct unwind_file *uf)
{
	refcount_inc(&uf->users);
	hash_add(unwind_files, &uf->node, file_hash_of(&uf->key));
	list_add(&uf->recent, &unwind_files_recent);
	unwind_files_nr++;
	file_bound_known();
}

static struct unwind_file *file_get(const struct unwind_file_key *key, struct file *file,
				    const void *image)
{
	struct unwind_file *new = NULL, *uf;

	/* Memory ran out at boot. */
	if (!unwind_files_queue[0] || !unwind_files_queue[1])
		return NULL;
	for (;;) {
		scoped_guard(spinlock, &unwind_files_lock) {
			uf = file_find(key);
			if (uf) {
				refcount_inc(&uf->users);
				list_move(&uf->recent, &unwind_files_recent);
			} else if (new) {
				uf = new;
				new = NULL;
				file_hash(uf);
			}
			if (uf && (uf->state == FILE_EVICTED || file_is_outdated(uf)))
				file_request(uf, file, image);
		}
		if (uf)
			break;
		new = file_alloc(key);
		if (!new)
			return NULL;
	}
	kfree(new);
	return uf;
}

/**
 * unwind_file_get() - the tables of a file
 * @file: It; a regular one, open for reading.
 *
 * Has them loaded, if they are not: see unwind_file_wait().
 *
 * Context: Process context, may sleep for memory, and for nothing else; a task that has an
 * mm, to which the memory is charged.
 * Return: They, for unwind_file_put(); NULL where there is no memory.
 */
struct unwind_file *unwind_file_get(struct file *file)
{
	struct unwind_file_key key;

	file_read_key(file, &key);
	return file_get(&key, file, NULL);
}

/**
 * unwind_file_get_image() - the tables of an object in the kernel's memory
 * @image: The object, which stays.
 * @size: Its bytes.
 *
 * Context, Return: As unwind_file_get().
 */
struct unwind_file *unwind_file_get_image(const void *image, size_t size)
{
	struct unwind_file_key key;

	memset(&key, 0, sizeof(key));
	key.object = image;
	key.size = size;
	return file_get(&key, NULL, image);
}

/**
 * unwind_file_state() - whether the tables of a file have been loaded
 * @uf: The file.
 *
 * Context: Any.
 * Return: 0; -EINPROGRESS where they have not; -ENOENT where the file has none, or -ENOEXEC,
 * as it is no object; other errors for a table that was refused.
 */
int unwind_file_state(const struct unwind_file *uf)
{
	/* Pairs with file_loaded(). */
	int state = smp_load_acquire(&uf->state);

	/* As soon as it was loaded */
	return state == FILE_EVICTED ? FILE_LOADING : state;
}

/**
 * unwind_file_wait() - wait for the tables of a file to be loaded
 * @uf: The file.
 * @left: How many jiffies the caller still waits; lowered by those that were waited.
 *
 * Context: Process context, may sleep.
 * Return: As unwind_file_state(); -EINPROGRESS also where the task was killed.
 */
int unwind_file_wait(struct unwind_file *uf, long *left)
{
	DEFINE_WAIT(wait);
	int state;

	for (;;) {
		/* Neither a signal that does not kill nor suspending waits for a file. */
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
 * unwind_file_find() - find the code that is mapped
 * @uf: A file that has been loaded.
 * @offset: Where the mapping starts in the file.
 * @part: Set to the stretch that the mapping starts in, or that starts in its first page,
 *	with a reference on its segment.
 *
 * Return: 0; -ENOENT where the file's table does not speak of it.
 */
int unwind_file_find(struct unwind_file *uf, u64 offset, struct unwind_part *part)
{
	unsigned int i;

	for (i = 0; i < uf->nr_parts; i++) {
		*part = uf->parts[i];
		if (!part->segment || PAGE_ALIGN_DOWN(part->offset) > offset ||
		    offset - PAGE_ALIGN_DOWN(part->offset) >= part->size)
			continue;
		unwind_segment_get(part->segment);
		return 0;
	}
	return -ENOENT;
}

/**
 * unwind_file_done() - the caller has what it asked a file for
 * @uf: The file.
 *
 * Whoever asks next for one that may have changed unseen has it loaded again.
 *
 * Context: Process context.
 */
void unwind_file_done(struct unwind_file *uf)
{
	if (!uf->key.reader)
		return;
	spin_lock(&unwind_files_lock);
	file_unhash(uf);
	spin_unlock(&unwind_files_lock);
}

static int __init unwind_files_init(void)
{
	struct shrinker *shrinker;

	/* What never answers must not keep the machine from being suspended. */
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
	return 0;
}
core_initcall(unwind_files_init);

#ifdef CONFIG_DEBUG_FS

static unsigned int file_users(const struct unwind_file *uf)
{
	unsigned int i, users = 0;

	/* The file is one itself. */
	for (i = 0; i < uf->nr_parts; i++)
		if (uf->parts[i].segment)
			users += refcount_read(&uf->parts[i].segment->users) - 1;
	return users;
}

/* The numbers are those of /proc/PID/maps; the image of the vDSO has none. */
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
 * A line for each file that is known, last used first: device, inode, bytes of its tables,
 * mappings that have them, and what became of it.
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
