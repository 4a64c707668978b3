// SPDX-License-Identifier: GPL-2.0
/*
 * Split tables: SFrame tables in separate files, for objects that carry no table.
 *
 * Distributions build programs without SFrame tables.  "sframe cache" or a package makes
 * tables from their .eh_frame.  Root sets a list of directories in the sysctl
 * kernel.unwind_table_path.  Each has an index of the build-ids and layouts of the objects that
 * its tables are for.  The kernel has all indexes in memory, so a task finds out for itself
 * whether its file has a table.  Only then does it ask a worker to load that.  An empty path
 * turns split tables off.
 *
 * The worker reads files of root in root's directories and nothing else, so nobody else can
 * make it wait.  A kernel that opens files by path has to say whose path it is: the worker
 * opens tables as firmware is opened, in the mount namespace of init.
 *
 * An object says itself what its build-id and its layout are; one without a build-id is known by
 * a hash of its headers.  One that lies gets the rows of another object, and shows wrong stacks of
 * itself.  It costs others nothing: a request of an object that others than root may have written
 * never evicts rows, and rows that were evicted are loaded again after a time that doubles.
 */

#include <linux/bsearch.h>
#include <linux/elf.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/init_task.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/unaligned.h>
#include <linux/workqueue.h>

#include <crypto/sha2.h>

#include "sframe_format.h"
#include "split.h"
#include "stats.h"

#define SPLIT_INDEX_NAME	"index.v4"
#define SPLIT_FILE_SUFFIX	".v4"
#define SPLIT_MAX_PATH		256
#define SPLIT_MAX_DIRECTORIES	8
/* Maximum number of tables in a directory */
#define SPLIT_MAX_INDEX		SFRAME_INDEX_MAX
/* Maximum size of a table.  Debian's largest program has 10 MiB. */
#define SPLIT_MAX_TABLE		SZ_64M
/* Number of bytes to read before offering to reschedule */
#define SPLIT_READ_AT_ONCE	SZ_1M
/* Time until rows that were refused are asked for again, or indexes that were empty are read */
#define SPLIT_AGAIN		(60 * HZ)
/* Time until rows that were evicted are loaded again: at first, and at most */
#define SPLIT_MIN_BACKOFF	max(HZ / 10, 1)
#define SPLIT_MAX_BACKOFF	(60 * HZ)

static_assert(sizeof(CONFIG_UNWIND_TABLE_PATH) <= SPLIT_MAX_PATH);
static_assert(sizeof(struct sframe_file) <= SFRAME_FILE_TABLE);
static_assert(sizeof_field(struct unwind_layout, id) == SFRAME_INDEX_MAX_ID);

/**
 * struct split_index - the index of a directory, in memory
 * @nr:		Number of entries.
 * @entries:	The entries, sorted.
 */
struct split_index {
	u64				nr;
	struct sframe_index_entry	entries[] __counted_by(nr);
};

/**
 * struct split_indexes - the indexes of all directories of the path
 * @read:	Time in jiffies when they were read.
 * @nr:		Number of all entries.
 * @of:		The indexes; NULL for a directory without a valid one.
 */
struct split_indexes {
	unsigned long		read;
	u64			nr;
	struct split_index	*of[SPLIT_MAX_DIRECTORIES];
};

/* Serialises changes of the path and of the indexes. */
static DEFINE_MUTEX(split_lock);
static char split_path[SPLIT_MAX_PATH] = CONFIG_UNWIND_TABLE_PATH;
/* NULL until they are read for the first time */
static struct split_indexes __rcu *split_indexes;
/* Nobody waits for the indexes until then, in jiffies. */
static unsigned long split_patience = INITIAL_JIFFIES;

/* Known split tables by build-id, under unwind_tables_lock */
static DEFINE_HASHTABLE(split_known, 10);
/* Those that the worker has to load, in this order; under unwind_tables_lock */
static LIST_HEAD(split_waiting);

static void split_work(struct work_struct *work);
static DECLARE_WORK(split_worker, split_work);

/* Open @name below @directory, in the mount namespace and root directory of init. */
static struct file *split_open_at(const char *directory, const char *name)
{
	struct file *file;
	struct path root;
	char *path;

	path = kasprintf(GFP_KERNEL, "%s/%s", directory, name);
	if (!path)
		return ERR_PTR(-ENOMEM);
	task_lock(&init_task);
	get_fs_root(init_task.fs, &root);
	task_unlock(&init_task);
	/* O_NONBLOCK: do not wait for the other end of a FIFO. */
	file = file_open_root(&root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_LARGEFILE, 0);
	path_put(&root);
	kfree(path);
	if (IS_ERR(file) ||
	    (S_ISREG(file_inode(file)->i_mode) && unwind_is_of_root(file_inode(file))))
		return file;
	fput(file);
	return ERR_PTR(-EPERM);
}

/*
 * Open @name in the first directory of the path that has it.  An error there is final: later
 * directories are not tried.
 */
static struct file *split_open(const char *name)
{
	struct file *file = ERR_PTR(-ENOENT);
	char path[SPLIT_MAX_PATH], *rest = path, *directory;

	scoped_guard(mutex, &split_lock)
		strscpy(path, split_path);
	while (PTR_ERR_OR_ZERO(file) == -ENOENT && (directory = strsep(&rest, ":")))
		if (*directory == '/')
			file = split_open_at(directory, name);
	return file;
}

/* Read @len bytes of @file at @from, without making writers fail with ETXTBSY. */
static int split_read(struct file *file, void *to, u64 from, u64 len)
{
	if (file->f_flags & O_DIRECT || !file->f_op->read_iter || file->f_op->read)
		return -EINVAL;
	while (len) {
		loff_t at = from;
		ssize_t ret;

		ret = __kernel_read(file, to, min_t(u64, len, SPLIT_READ_AT_ONCE), &at);
		if (ret <= 0)
			return ret ? ret : -EBADMSG;
		to += ret;
		from += ret;
		len -= ret;
		cond_resched();
	}
	return 0;
}

static int split_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sframe_index_entry));
}

/* Whether @index is sorted and has each entry once. */
static bool split_is_sorted(const struct split_index *index)
{
	u64 i;

	for (i = 1; i < index->nr; i++) {
		if (split_compare(&index->entries[i - 1], &index->entries[i]) >= 0)
			return false;
		if (!(i % SZ_4K))
			cond_resched();
	}
	return true;
}

static struct split_index *split_read_index(struct file *file)
{
	struct split_index *index;
	struct sframe_index head;
	u64 nr;
	int ret;

	ret = split_read(file, &head, 0, sizeof(head));
	if (ret)
		return ERR_PTR(ret);
	if (memcmp(head.magic, SFRAME_INDEX_MAGIC, sizeof(head.magic)) ||
	    head.entry_size != sizeof(struct sframe_index_entry))
		return ERR_PTR(-EBADMSG);
	if (head.version != SFRAME_INDEX_VERSION)
		return ERR_PTR(-EOPNOTSUPP);
	nr = head.nr;
	if (nr > SPLIT_MAX_INDEX)
		return ERR_PTR(-E2BIG);
	index = kvmalloc(struct_size(index, entries, nr), GFP_KERNEL | __GFP_NOWARN);
	if (!index)
		return ERR_PTR(-ENOMEM);
	index->nr = nr;
	ret = split_read(file, index->entries, sizeof(head), nr * sizeof(*index->entries));
	if (!ret && !split_is_sorted(index))
		ret = -EBADMSG;
	if (!ret)
		return index;
	kvfree(index);
	return ERR_PTR(ret);
}

static struct split_index *split_read_index_of(const char *directory)
{
	struct file *file = split_open_at(directory, SPLIT_INDEX_NAME);
	struct split_index *index;

	if (IS_ERR(file))
		return ERR_CAST(file);
	index = split_read_index(file);
	fput(file);
	return index;
}

/* Read the indexes of all directories of @path. */
static struct split_indexes *split_read_indexes(char *path)
{
	struct split_indexes *indexes;
	struct split_index *index;
	unsigned int nr = 0;
	char *directory;

	indexes = kzalloc(sizeof(*indexes), GFP_KERNEL);
	if (!indexes)
		return NULL;
	indexes->read = jiffies;
	while ((directory = strsep(&path, ":"))) {
		if (*directory != '/')
			continue;
		if (nr == SPLIT_MAX_DIRECTORIES) {
			pr_warn_once("kernel.unwind_table_path: only %u directories are used\n",
				     SPLIT_MAX_DIRECTORIES);
			break;
		}
		index = split_read_index_of(directory);
		if (!IS_ERR(index)) {
			indexes->nr += index->nr;
			indexes->of[nr++] = index;
		} else if (PTR_ERR(index) != -ENOENT) {
			pr_warn_ratelimited("%s/%s: cannot use this index of tables: error %ld\n",
					    directory, SPLIT_INDEX_NAME, PTR_ERR(index));
		}
	}
	return indexes;
}

/* Read all indexes and replace those in use; split_lock is held. */
static void split_renew_indexes(void)
{
	struct split_indexes *old, *new;
	char path[SPLIT_MAX_PATH];
	unsigned int i;

	lockdep_assert_held(&split_lock);
	strscpy(path, split_path);
	new = split_read_indexes(path);
	if (!new)
		return;
	old = rcu_replace_pointer(split_indexes, new, lockdep_is_held(&split_lock));
	unwind_tables_expect(new->nr);
	unwind_tables_look_again();
	if (!old)
		return;
	synchronize_rcu();
	for (i = 0; i < SPLIT_MAX_DIRECTORIES; i++)
		kvfree(old->of[i]);
	kfree(old);
}

/* Whether the indexes have to be read; also where a directory may have appeared since boot. */
static bool split_needs_indexes(const struct split_indexes *indexes)
{
	return !indexes || (!indexes->nr && READ_ONCE(split_path[0]) &&
			    time_after_eq(jiffies, indexes->read + SPLIT_AGAIN));
}

/* Whether an index has @key.  Returns -EINPROGRESS if that is not known yet. */
static int split_look_up(const struct sframe_index_entry *key)
{
	const struct split_indexes *indexes;
	unsigned int i;

	guard(rcu)();
	indexes = rcu_dereference(split_indexes);
	if (split_needs_indexes(indexes))
		queue_work(system_unbound_wq, &split_worker);
	if (!indexes)
		return -EINPROGRESS;
	for (i = 0; i < SPLIT_MAX_DIRECTORIES && indexes->of[i]; i++)
		if (bsearch(key, indexes->of[i]->entries, indexes->of[i]->nr, sizeof(*key),
			    split_compare))
			return 0;
	return -ENOENT;
}

/* Add @len bytes of @object to @hash.  Returns 0 or an error of unwind_object_read(). */
static int split_hash(const struct unwind_object *object, struct sha256_state *hash, u64 from,
		      u64 len)
{
	u8 bytes[SHA256_BLOCK_SIZE];
	unsigned int nr;
	int ret;

	for (; len; from += nr, len -= nr) {
		nr = min_t(u64, len, sizeof(bytes));
		ret = unwind_object_read(object, bytes, from, nr);
		if (ret)
			return ret;
		sha256_update(hash, bytes, nr);
	}
	return 0;
}

/*
 * Set @id to what an object without a build-id is known by: see
 * include/uapi/linux/sframe_file.h.  This takes as long as 80 small hashes.
 */
static int split_hash_headers(const struct unwind_object *object, u8 id[SFRAME_INDEX_MAX_ID])
{
	u8 digest[SHA256_DIGEST_SIZE];
	struct sha256_state hash;
	struct elf64_hdr header;
	int ret;

	sha256_init(&hash);
	ret = unwind_object_read(object, &header, 0, sizeof(header)) ?:
	      split_hash(object, &hash, 0, min_t(u64, object->size, SFRAME_FILE_HEADERS)) ?:
	      split_hash(object, &hash, header.e_phoff,
			 header.e_phnum * sizeof(struct elf64_phdr));
	sha256_final(&hash, digest);
	memcpy(id, digest, SFRAME_INDEX_MAX_ID);
	return ret;
}

/* Set @key to what an index says of an object, see include/uapi/linux/sframe_file.h. */
static int split_make_key(const struct unwind_object *object, const struct unwind_layout *layout,
			  struct sframe_index_entry *key)
{
	__le64 words[2 * UNWIND_MAX_CODE + 3];
	u8 digest[SHA256_DIGEST_SIZE];
	unsigned int i, nr = 0;

	words[nr++] = cpu_to_le64(layout->id_size);
	for (i = 0; i < layout->nr_code; i++) {
		words[nr++] = cpu_to_le64(layout->code[i].vaddr);
		words[nr++] = cpu_to_le64(layout->code[i].memory);
	}
	words[nr++] = cpu_to_le64(layout->eh_frame.vaddr);
	words[nr++] = cpu_to_le64(layout->eh_frame.size);
	sha256((const u8 *)words, nr * sizeof(*words), digest);
	memcpy(key->build_id, layout->id, sizeof(key->build_id));
	memcpy(key->layout, digest, sizeof(key->layout));
	return layout->id_size ? 0 : split_hash_headers(object, key->build_id);
}

static struct unwind_split *split_find(const struct sframe_index_entry *key)
{
	struct unwind_split *split;

	hash_for_each_possible(split_known, split, node, get_unaligned((u32 *)key->layout))
		if (!split_compare(&split->key, key))
			return split;
	return NULL;
}

/* Free @split if nobody uses it and it has no rows; the lock is held. */
static void split_free_unused(struct unwind_split *split)
{
	if (split->users || !split->state || split->state == -EINPROGRESS)
		return;
	hash_del(&split->node);
	kfree_rcu(split, rcu);
}

/* The rows were evicted.  Each time, wait longer before they are loaded again. */
static void split_evicted(struct unwind_tables *tables)
{
	struct unwind_split *split = container_of(tables, struct unwind_split, tables);
	unsigned long minutes = (jiffies - split->loaded) / (60 * HZ);

	split->backoff >>= min(minutes, BITS_PER_LONG - 1UL);
	split->backoff = clamp(2 * split->backoff, SPLIT_MIN_BACKOFF, SPLIT_MAX_BACKOFF);
	WRITE_ONCE(split->again, jiffies + split->backoff);
	WRITE_ONCE(split->state, -EAGAIN);
	split_free_unused(split);
}

static struct unwind_split *split_alloc(const struct sframe_index_entry *key, u8 id_size,
					u8 nr_code)
{
	struct unwind_split *split = kzalloc(sizeof(*split), GFP_NOWAIT | __GFP_NOWARN);

	if (!split)
		return NULL;
	unwind_tables_init(&split->tables, split_evicted);
	split->key = *key;
	split->id_size = id_size;
	split->nr_code = nr_code;
	split->state = -EAGAIN;
	split->again = jiffies;
	split->patience = jiffies;
	return split;
}

/**
 * unwind_split_get() - find the split table of an object
 * @object: The object.
 * @layout: What its program headers say.
 * @how: Why the task looks.
 *
 * This does not ask for the rows, see unwind_split_ask().
 *
 * Context: Process context; does not sleep.
 * Return: The table, for unwind_split_put(); NULL if there is none; -EINPROGRESS if that will
 * be known in a moment; -ENOMEM; an error of unwind_object_read().
 */
struct unwind_split *unwind_split_get(const struct unwind_object *object,
				      const struct unwind_layout *layout, enum unwind_look how)
{
	struct sframe_index_entry key;
	struct unwind_split *new, *split;
	int ret;

	if (!layout->nr_code)
		return NULL;
	ret = split_make_key(object, layout, &key);
	if (ret)
		return ERR_PTR(ret);
	ret = split_look_up(&key);
	if (ret == -EINPROGRESS && !unwind_is_worth_waiting(&split_patience, how))
		return NULL;
	if (ret)
		return ret == -ENOENT ? NULL : ERR_PTR(ret);
	new = split_alloc(&key, layout->id_size, layout->nr_code);
	scoped_guard(spinlock, &unwind_tables_lock) {
		split = split_find(&key);
		if (!split && new) {
			split = new;
			hash_add(split_known, &split->node, get_unaligned((u32 *)key.layout));
		}
		if (split)
			split->users++;
	}
	if (split != new)
		kfree(new);
	return split ?: ERR_PTR(-ENOMEM);
}

/**
 * unwind_split_put() - release a split table
 * @split: The table.  Walks may still use it under RCU.
 *
 * The rows stay until they are evicted.
 *
 * Context: Process context, unwind_tables_lock held.
 */
void unwind_split_put(struct unwind_split *split)
{
	lockdep_assert_held(&unwind_tables_lock);
	split->users--;
	split_free_unused(split);
}

/**
 * unwind_split_ask() - ask for the rows of a split table
 * @split: The table.
 * @by_root: Only root can have written the object that the rows are for.
 * @how: Why the task looks.
 *
 * Context: Process context, unwind_tables_lock held.
 * Return: 0 if there is nothing to wait for; -EINPROGRESS if the rows are to be loaded.
 */
int unwind_split_ask(struct unwind_split *split, bool by_root, enum unwind_look how)
{
	lockdep_assert_held(&unwind_tables_lock);
	if (!split->state)
		return 0;
	if (split->state != -EINPROGRESS &&
	    (unwind_split_is_due(split) || (by_root && !split->by_root))) {
		WRITE_ONCE(split->generation, atomic_read(&unwind_tables_generation));
		WRITE_ONCE(split->state, -EINPROGRESS);
		list_add_tail(&split->waiting, &split_waiting);
		queue_work(system_unbound_wq, &split_worker);
	}
	split->by_root = split->by_root || by_root;
	return split->state == -EINPROGRESS && unwind_is_worth_waiting(&split->patience, how) ?
	       -EINPROGRESS : 0;
}

/* Open the file @split, with its layout in the name if @by_layout. */
static struct file *split_open_table(const struct unwind_split *split, bool by_layout)
{
	char name[2 * (sizeof(split->key)) + sizeof("/-" SPLIT_FILE_SUFFIX)], *at = name;

	at = bin2hex(at, split->key.build_id, 1);
	*at++ = '/';
	at = bin2hex(at, split->key.build_id + 1,
		     (split->id_size ?: sizeof(split->key.build_id)) - 1);
	if (by_layout) {
		*at++ = '-';
		at = bin2hex(at, split->key.layout, sizeof(split->key.layout));
	}
	memcpy(at, SPLIT_FILE_SUFFIX, sizeof(SPLIT_FILE_SUFFIX));
	return split_open(name);
}

/* Check that @header is of the table @split.  Returns -ESTALE for one of another layout. */
static int split_check(const struct unwind_split *split, const struct sframe_file *header)
{
	if (memcmp(header->magic, SFRAME_FILE_MAGIC, sizeof(header->magic)))
		return -EBADMSG;
	if (header->version != SFRAME_FILE_VERSION ||
	    header->flags & ~SFRAME_FILE_PRIVATE_RULES)
		return -EOPNOTSUPP;
	if (memcmp(header->build_id, split->key.build_id, sizeof(split->key.build_id)))
		return -EBADMSG;
	/* A build-id may be the hash of another object's headers: their layouts differ. */
	if (memcmp(header->layout, split->key.layout, sizeof(header->layout)))
		return -ESTALE;
	if (header->build_id_size != split->id_size || header->num_text != split->nr_code ||
	    header->num_text > UNWIND_MAX_CODE)
		return -EBADMSG;
	return header->table_size > SPLIT_MAX_TABLE ? -E2BIG : 0;
}

/* Open the file of @split, and read its header. */
static struct file *split_find_file(const struct unwind_split *split, struct sframe_file *header)
{
	int by_layout, ret = 0;
	struct file *file;

	for (by_layout = 0; by_layout < 2; by_layout++) {
		file = split_open_table(split, by_layout);
		if (PTR_ERR_OR_ZERO(file) == -ENOENT)
			continue;
		if (IS_ERR(file))
			return file;
		ret = split_read(file, header, 0, sizeof(*header)) ?: split_check(split, header);
		if (!ret)
			return file;
		fput(file);
		if (ret != -ESTALE)
			break;
	}
	return ERR_PTR(ret ?: -ENOENT);
}

/*
 * Whether the rows of a table may have room.  The header of the table says how many rows it
 * has, and rows take four bytes each, so a table that does not fit is not read at all.
 */
static int split_has_room(const struct unwind_split *split, struct file *file,
			  const struct sframe_file *header)
{
	struct sframe_header head;
	bool room;
	int ret;

	if (header->table_size < sizeof(head))
		return -EBADMSG;
	ret = split_read(file, &head, header->table_offset, sizeof(head));
	if (ret)
		return ret;
	scoped_guard(spinlock, &unwind_tables_lock)
		room = unwind_tables_make_room(head.num_fres * sizeof(u32), split->by_root);
	return room ? 0 : -ENOSPC;
}

/* Make rows for all executable segments; the caller frees them, also after an error. */
static int split_build(const struct sframe_file *header, const void *bytes,
		       struct unwind_table **rows)
{
	struct unwind_table_source source = {
		.bytes = bytes,
		.len = header->table_size,
		.start = header->table_vaddr,
		.private_rules = header->flags & SFRAME_FILE_PRIVATE_RULES,
	};

	return unwind_tables_build(&source, header->text, header->num_text, rows, GFP_KERNEL);
}

static int split_load_file(const struct unwind_split *split, struct file *file,
			   const struct sframe_file *header, struct unwind_table **rows)
{
	void *bytes;
	int ret;

	ret = split_has_room(split, file, header);
	if (ret)
		return ret;
	bytes = kvmalloc(header->table_size, GFP_KERNEL | __GFP_NOWARN);
	if (!bytes)
		return -ENOMEM;
	ret = split_read(file, bytes, header->table_offset, header->table_size);
	if (!ret)
		ret = split_build(header, bytes, rows);
	kvfree(bytes);
	return ret;
}

static int split_load(const struct unwind_split *split, struct unwind_table **rows)
{
	struct sframe_file *header;
	struct file *file;
	int ret;

	header = kzalloc(sizeof(*header), GFP_KERNEL);
	if (!header)
		return -ENOMEM;
	file = split_find_file(split, header);
	ret = PTR_ERR_OR_ZERO(file);
	if (!ret) {
		ret = split_load_file(split, file, header, rows);
		fput(file);
	}
	kfree(header);
	return ret;
}

/* Publish the rows of @split, or remember the error @ret.  Returns what counts. */
static int split_loaded(struct unwind_split *split, struct unwind_table **rows, int ret)
{
	lockdep_assert_held(&unwind_tables_lock);
	if (!ret && !unwind_tables_make_room(unwind_tables_size(rows, split->nr_code),
					     split->by_root))
		ret = -ENOSPC;
	if (!ret)
		unwind_tables_add(&split->tables, rows, split->nr_code);
	else
		unwind_count(UNWIND_FILES_REFUSED);
	split->loaded = jiffies;
	WRITE_ONCE(split->again, jiffies + SPLIT_AGAIN);
	WRITE_ONCE(split->state, ret);
	split_free_unused(split);
	return ret;
}

/* Take the next table to load from the queue; NULL if there is none. */
static struct unwind_split *split_take(void)
{
	struct unwind_split *split;

	spin_lock(&unwind_tables_lock);
	split = list_first_entry_or_null(&split_waiting, struct unwind_split, waiting);
	if (split)
		list_del(&split->waiting);
	spin_unlock(&unwind_tables_lock);
	return split;
}

static void split_work(struct work_struct *work)
{
	struct unwind_split *split;
	int ret;

	scoped_guard(mutex, &split_lock) {
		const struct split_indexes *indexes;

		indexes = rcu_dereference_protected(split_indexes, lockdep_is_held(&split_lock));
		if (split_needs_indexes(indexes))
			split_renew_indexes();
	}
	/* Nobody frees a table that is to be loaded. */
	while ((split = split_take())) {
		struct unwind_table *rows[UNWIND_MAX_CODE] = { };

		ret = split_load(split, rows);
		scoped_guard(spinlock, &unwind_tables_lock)
			ret = split_loaded(split, rows, ret);
		if (ret)
			unwind_tables_free_rows(rows, UNWIND_MAX_CODE);
		cond_resched();
	}
}

/*
 * Any write, even of the same path, has the kernel read the indexes again, and look again for
 * tables that it has not found.
 */
static int split_path_sysctl(const struct ctl_table *table, int write, void *buffer,
			     size_t *len, loff_t *pos)
{
	int ret;

	guard(mutex)(&split_lock);
	ret = proc_dostring(table, write, buffer, len, pos);
	if (write && !ret)
		split_renew_indexes();
	return ret;
}

static struct ctl_table split_sysctls[] = {
	{
		.procname	= "unwind_table_path",
		.data		= split_path,
		.maxlen		= sizeof(split_path),
		.mode		= 0644,
		.proc_handler	= split_path_sysctl,
	},
};

static int __init split_init(void)
{
	register_sysctl_init("kernel", split_sysctls);
	return 0;
}
late_initcall(split_init);
