// SPDX-License-Identifier: GPL-2.0
/*
 * Files of code that the kernel knows, and their tables.
 *
 * A walk goes from an instruction to the mapping, its file, the inode, and from there to the
 * rows, all under RCU:
 *
 *	mm_mt --> vma --> file --> inode
 *				     | hash, key
 *				     v
 *	                      struct unwind_file --> struct unwind_split --> rows
 *	                                         --> struct unwind_own   --> rows
 *
 * The kernel knows files, not processes.  So a process costs nothing, and is walked by rows
 * from its first instruction on if any process has executed its files before.
 *
 * A known file is an entry that holds nothing: no inode, no file system.  Its key has the
 * inode's address, which the entry never follows, and the number that i_sequence gives to each
 * inode for its time in memory.  So an entry can be of an inode that is gone, but never be
 * taken for one of another inode.  Size and time of the last change tell one content of the
 * inode from another.
 *
 * When a walk meets a file that is not known, the task looks at its files on its way back to
 * user space: see look.c.  It reads program headers and build-id from resident pages.  That
 * makes the file known, unless its content may change without a change of the key.
 *
 * The split table that root has made for a file comes first, see split.c.  The table that an
 * object carries itself is asked where that has no row.  It is as hostile as the object, so
 * it is used only if it is so small that the task can read it in passing.
 *
 * Files that others than root may have written have at most half of the entries, and half of the
 * memory of own tables.  When they have that, they displace each other only.
 */

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/unwind_user.h>

#include <asm/unwind_user.h>

#include "file.h"
#include "sframe.h"
#include "split.h"
#include "stats.h"
#include "tables.h"

/* Maximum number of known files, with tables or without; and of those that root does not own */
#define FILE_MAX_KNOWN		16384
#define FILE_MAX_OTHERS		(FILE_MAX_KNOWN / 2)
/* A file whose content or pages are not settled is looked at again after this: at first, at most */
#define FILE_MIN_AGAIN		max(HZ / 10, 1)
#define FILE_MAX_AGAIN		(10 * HZ)
/* Where another machine or a process serves the file, it may change unnoticed for this time. */
#define FILE_TRUSTED		(10 * HZ)
/* A known file that a walk has met within this time is not forgotten before others. */
#define FILE_KEPT		(10 * HZ)
/* Number of files in use to skip when one has to be forgotten */
#define FILE_MAX_SKIPPED	16

/*
 * Largest table of its own that an object has, and the most code that the table may be for:
 * the task reads and decodes it in some 200 microseconds.
 */
#define FILE_MAX_OWN_TABLE	SZ_32K
#define FILE_MAX_OWN_CODE	SZ_16M
/* Share of all rows that objects' own tables may take: those of root, and those of others */
#define FILE_OWN_SHARE		16

/* unwind_file::state is one of these, 0, or the error for which the file was refused. */
#define FILE_WITHOUT		(-ENOENT)
#define FILE_NO_OBJECT		(-ENOEXEC)
#define FILE_UNSETTLED		(-ETXTBSY)
#define FILE_NOT_RESIDENT	(-EAGAIN)

/**
 * struct unwind_file_key - identifies an inode and a version of its content
 * @inode:	The inode.  Only compared, never dereferenced.
 * @sequence:	The inode's number, which no other inode has had since boot.
 * @size:	Size of the file in bytes.
 * @ctime:	Seconds of the last change.
 * @ctime_nsec:	Nanoseconds of the last change.
 */
struct unwind_file_key {
	const struct inode	*inode;
	u64			sequence;
	u64			size;
	s64			ctime;
	u32			ctime_nsec;
};

/**
 * struct unwind_own - the table that an object carries
 * @tables:	Its rows.
 * @file:	The known file.
 * @recent:	Entry in the list of its class.
 * @bytes:	Size of the rows.
 * @rcu:	Defers freeing until no reader is left.
 */
struct unwind_own {
	struct unwind_tables	tables;
	struct unwind_file	*file;
	struct list_head	recent;
	size_t			bytes;
	struct rcu_head		rcu;
};

/**
 * struct unwind_part - an executable segment of a known file
 * @offset:	Offset of the segment in the file.
 * @size:	Its size in the file.
 */
struct unwind_part {
	u64	offset;
	u64	size;
};

/**
 * struct unwind_file - a known file
 * @node:	Entry in the hash of known files.
 * @recent:	Entry in the list of its class.
 * @rcu:	Defers freeing until no reader is left.
 * @key:	Identity of the file.
 * @dev:	Device of the file system, for people.
 * @ino:	Inode number, for people.
 * @state:	0 if the file has a table, FILE_*, or the error for which the file was refused.
 * @generation: unwind_tables_generation when the file became known.
 * @again:	Earliest time in jiffies to look again if the file is not settled; see
 *		file_is_due().
 * @backoff:	Time in jiffies from one look to the next, if the file is not settled.
 * @patience:	Nobody waits for the file until then, in jiffies.
 * @used:	Time in jiffies of the last walk that met the file.
 * @by_root:	Only root can have written the file.
 * @is_remote:	The file may change unnoticed.
 * @nr_parts:	Number of @parts.
 * @split:	Its split table, or NULL.
 * @own:	The table that it carries, or NULL.
 * @parts:	Its executable segments.
 */
struct unwind_file {
	struct hlist_node	node;
	struct list_head	recent;
	struct rcu_head		rcu;
	struct unwind_file_key	key;
	dev_t			dev;
	u64			ino;
	int			state;
	unsigned int		generation;
	unsigned long		again;
	unsigned long		backoff;
	unsigned long		patience;
	unsigned long		used;
	bool			by_root;
	bool			is_remote;
	u8			nr_parts;
	struct unwind_split	*split;
	struct unwind_own	*own;
	struct unwind_part	parts[] __counted_by(nr_parts);
};

/* Known files by inode, under unwind_tables_lock as all that follows; readers hold RCU. */
static DEFINE_HASHTABLE(file_known, 12);

/**
 * struct file_class - the known files that only root can have written, or all others
 * @recent:	The files, those that became known last first.
 * @nr:		Number of files.
 * @own_recent:	Their own tables, likewise.
 * @own_bytes:	Size of the rows of these.
 */
struct file_class {
	struct list_head	recent;
	unsigned int		nr;
	struct list_head	own_recent;
	size_t			own_bytes;
};

/* Indexed by unwind_file::by_root */
static struct file_class file_classes[] = {
	{
		.recent = LIST_HEAD_INIT(file_classes[0].recent),
		.own_recent = LIST_HEAD_INIT(file_classes[0].own_recent),
	}, {
		.recent = LIST_HEAD_INIT(file_classes[1].recent),
		.own_recent = LIST_HEAD_INIT(file_classes[1].own_recent),
	},
};

/* The vDSO, which is no file; NULL before it is known */
static struct unwind_file *file_vdso;

/*
 * Read the key of @inode as it is now.  In NMI, the fields may be in the middle of a change:
 * then the key differs from all others, or is that of the time before or after.
 */
static void file_read_key(const struct inode *inode, struct unwind_file_key *key)
{
	key->inode = inode;
	key->sequence = atomic64_read(&inode->i_sequence);
	key->size = i_size_read(inode);
	key->ctime = READ_ONCE(inode->i_ctime_sec);
	key->ctime_nsec = READ_ONCE(inode->i_ctime_nsec);
}

static bool file_key_is(const struct unwind_file_key *a, const struct unwind_file_key *b)
{
	return a->inode == b->inode && a->sequence == b->sequence && a->size == b->size &&
	       a->ctime == b->ctime && a->ctime_nsec == b->ctime_nsec;
}

/* Find what is known of @inode, at whatever time.  The caller holds RCU. */
static struct unwind_file *file_find(const struct inode *inode)
{
	struct unwind_file *file;

	hash_for_each_possible_rcu(file_known, file, node, (unsigned long)inode)
		if (file->key.inode == inode)
			return file;
	return NULL;
}

/* Whether the content or the pages of the file were not settled when the task looked. */
static bool file_is_unsettled(const struct unwind_file *file)
{
	return file->state == FILE_UNSETTLED || file->state == FILE_NOT_RESIDENT;
}

/* The same, unless @key is of an inode that has come in place of that one. */
static bool file_is_still_unsettled(const struct unwind_file *file,
				    const struct unwind_file_key *key)
{
	return file_is_unsettled(file) && file->key.sequence == key->sequence;
}

/*
 * Whether the task has to look at the inode with @key, of which @file is known.  If its content
 * does not settle, looks become rare, so that they cost a process little however often it is
 * sampled.
 */
static bool file_is_due(const struct unwind_file *file, const struct unwind_file_key *key)
{
	if (file_is_still_unsettled(file, key))
		return time_after_eq(jiffies, READ_ONCE(file->again));
	if (!file_key_is(&file->key, key) ||
	    (file->is_remote && time_after_eq(jiffies, READ_ONCE(file->again))))
		return true;
	if (file->split)
		return READ_ONCE(file->split->state) && unwind_split_is_due(file->split);
	return READ_ONCE(file->generation) != atomic_read(&unwind_tables_generation);
}

/* Whether @vma maps code of a file. */
static bool file_is_code(const struct vm_area_struct *vma)
{
	unsigned long flags = READ_ONCE(vma->vm_flags);

	return vma->vm_file && (flags & (VM_EXEC | VM_IO | VM_PFNMAP | VM_HUGETLB)) == VM_EXEC;
}

/*
 * Find what is known of the file that @vma maps, and set @key to the key of its inode now.
 * Returns NULL if nothing is known.  The caller holds RCU, so the inode is not freed: once @vma
 * is unmapped, its file may be recycled for another inode, but both are freed by RCU.  Only an
 * inode that is known is dereferenced.
 */
static struct unwind_file *file_of(const struct vm_area_struct *vma, struct unwind_file_key *key)
{
	const struct inode *inode = READ_ONCE(vma->vm_file->f_inode);
	struct unwind_file *file = file_find(inode);

	if (file)
		file_read_key(inode, key);
	return file;
}

/**
 * unwind_file_is_unknown() - whether the task should look at the file of a mapping
 * @vma: A mapping of the current process.
 * @how: Why the task looks.
 *
 * Context: Any, NMI included.  The caller holds RCU.
 * Return: true if @vma maps code of a file that is not known, or whose rows are missing.
 */
bool unwind_file_is_unknown(const struct vm_area_struct *vma, enum unwind_look how)
{
	const struct unwind_file *file;
	struct unwind_file_key key;

	if (!file_is_code(vma))
		return false;
	file = file_of(vma, &key);
	if (file && file_is_still_unsettled(file, &key) && how != UNWIND_LOOK_ONCE)
		return time_after_eq(jiffies, READ_ONCE(file->patience));
	return !file || file_is_due(file, &key);
}

/* Find the file of @vma whose rows a walk may use, and note whether a look is due. */
static const struct unwind_file *file_use(struct sframe_cursor *cursor, unsigned long ip,
					  const struct vm_area_struct *vma)
{
	unsigned long now = jiffies;
	struct unwind_file_key key;
	struct unwind_file *file;

	if (!vma->vm_file)
		return arch_unwind_is_vdso(vma) ? READ_ONCE(file_vdso) : NULL;
	if (!file_is_code(vma))
		return NULL;
	file = file_of(vma, &key);
	if (unlikely(!file || file_is_due(file, &key)) && !cursor->look)
		cursor->look = ip;
	if (!file || !file_key_is(&file->key, &key))
		return NULL;
	if (READ_ONCE(file->used) != now)
		WRITE_ONCE(file->used, now);
	return file;
}

/* Get the rows of part @nr of @file: first those to ask, and in *@own those to ask after them. */
static const struct unwind_table *file_rows(const struct unwind_file *file, unsigned int nr,
					    const struct unwind_table **own)
{
	const struct unwind_table *rows = NULL;

	*own = file->own ? unwind_tables_use(&file->own->tables, nr) : NULL;
	if (file->split)
		rows = unwind_tables_use(&file->split->tables, nr);
	return rows ?: *own;
}

/* No table covers [@first, @last].  Returns @error. */
static int file_no_rows(struct sframe_cursor *cursor, unsigned long first, unsigned long last,
			int error)
{
	cursor->gap_start = first;
	/* All addresses are a gap whose size wraps to 0. */
	cursor->gap_size = last - first + 1 ?: ULONG_MAX;
	return error;
}

/* Find the rows of @ip, which is at @offset in @file and mapped with [@first, @last]. */
static int file_seek_part(struct sframe_cursor *cursor, const struct unwind_file *file, u64 offset,
			  unsigned long ip, unsigned long first, unsigned long last)
{
	const struct unwind_table *rows;
	unsigned long before;
	unsigned int i;

	for (i = 0; i < file->nr_parts; i++)
		if (offset - file->parts[i].offset < file->parts[i].size)
			break;
	/* Other code of the mapping may have rows. */
	if (i == file->nr_parts)
		return file_no_rows(cursor, ip, ip, file->state ? -ENXIO : -ENOENT);
	rows = file_rows(file, i, &cursor->own);
	if (!rows && file->nr_parts > 1)
		return file_no_rows(cursor, ip, ip, -ENXIO);
	if (!rows)
		return file_no_rows(cursor, first, last, -ENXIO);
	offset -= file->parts[i].offset;
	if (offset >= rows->text_size)
		return file_no_rows(cursor, ip, ip, -ENOENT);
	/* The mapping may begin amid the part, or the part amid the mapping. */
	before = min_t(u64, offset, ip - first);
	cursor->table = rows;
	cursor->start = ip - before;
	cursor->offset = offset - before;
	cursor->size = min_t(u64, last - cursor->start + 1, rows->text_size - cursor->offset);
	return 0;
}

/*
 * Whether @vma is what the tree has at [@mas->index, @mas->last], and not in the middle of a
 * split or a merge, when its fields may not fit together.  Sets @offset to the offset in the file
 * of its first address.  The start may differ while the offset changes, see commit_merge(), so
 * read it before and after that.
 */
static bool file_mapping_is_stable(const struct vm_area_struct *vma, const struct ma_state *mas,
				   u64 *offset)
{
	unsigned long start;

	/* Pairs with commit_merge(). */
	start = smp_load_acquire(&vma->vm_start);
	*offset = vma->vm_file ? (u64)READ_ONCE(vma->vm_pgoff) << PAGE_SHIFT : 0;
	/* Pairs with commit_merge(). */
	smp_rmb();
	return start == mas->index && READ_ONCE(vma->vm_start) == start &&
	       READ_ONCE(vma->vm_end) - 1 == mas->last;
}

/**
 * unwind_file_seek() - find the table of the file that is mapped at an instruction
 * @cursor: Without a table.  Set to the table; on failure, its gap is set to what has no table.
 * @ip: Address of the instruction; for a caller, the return address minus one.
 * @first: First of the addresses around @ip that have no table other than that of a file.
 * @last: Last of these addresses.
 *
 * Context: Any, NMI included.  The caller holds RCU as long as it uses @cursor.
 * Return: 0; -ENXIO if no table covers @ip; -ENOENT if @ip is outside of the code of its file.
 */
int unwind_file_seek(struct sframe_cursor *cursor, unsigned long ip, unsigned long first,
		     unsigned long last)
{
	MA_STATE(mas, &current->mm->mm_mt, ip, ip);
	const struct vm_area_struct *vma;
	const struct unwind_file *file;
	u64 offset;

	vma = mas_walk(&mas);
	first = max(first, mas.index);
	last = min(last, mas.last);
	if (!vma)
		return file_no_rows(cursor, first, last, -ENXIO);
	if (!file_mapping_is_stable(vma, &mas, &offset))
		return file_no_rows(cursor, ip, ip, -ENXIO);
	file = file_use(cursor, ip, vma);
	if (!file || !file->nr_parts)
		return file_no_rows(cursor, first, last, -ENXIO);
	return file_seek_part(cursor, file, offset + (ip - mas.index), ip, first, last);
}

/* Forget @file.  Walks may still use it under RCU.  The lock is held. */
static void file_forget(struct unwind_file *file)
{
	struct file_class *class = &file_classes[file->by_root];
	struct unwind_own *own = file->own;

	lockdep_assert_held(&unwind_tables_lock);
	hash_del_rcu(&file->node);
	list_del(&file->recent);
	class->nr--;
	if (own) {
		class->own_bytes -= own->bytes;
		list_del(&own->recent);
		unwind_tables_put(&own->tables);
		kfree_rcu(own, rcu);
	}
	if (file->split)
		unwind_split_put(file->split);
	kfree_rcu(file, rcu);
}

/* The file's own rows were evicted.  They are nowhere else, so the file is not known any more. */
static void file_own_evicted(struct unwind_tables *tables)
{
	file_forget(container_of(tables, struct unwind_own, tables)->file);
}

/* Forget the file of @class that no walk has met for longest, but for some in use. */
static void file_forget_one(struct file_class *class)
{
	struct unwind_file *file;
	unsigned int skipped;

	for (skipped = 0;; skipped++) {
		file = list_last_entry(&class->recent, struct unwind_file, recent);
		if (skipped == FILE_MAX_SKIPPED ||
		    !time_before(jiffies, READ_ONCE(file->used) + FILE_KEPT))
			break;
		list_move(&file->recent, &class->recent);
	}
	file_forget(file);
}

/* Forget another file if one too many is known now; the lock is held. */
static void file_bound_known(bool by_root)
{
	if (!by_root && file_classes[0].nr > FILE_MAX_OTHERS)
		file_forget_one(&file_classes[0]);
	else if (file_classes[0].nr + file_classes[1].nr > FILE_MAX_KNOWN)
		file_forget_one(&file_classes[1]);
}

/*
 * Make room for @bytes of rows of an own table.  Rows that a walk has read lately stay, so that
 * who makes many objects displaces none in use.  Returns 0; -ENOSPC if there is never room, or
 * -EAGAIN.  The lock is held.
 */
static int file_make_own_room(struct file_class *class, size_t bytes)
{
	size_t limit = unwind_tables_limit() / FILE_OWN_SHARE;
	unsigned int skipped = 0;
	struct unwind_own *own;

	if (bytes > limit)
		return -ENOSPC;
	while (class->own_bytes + bytes > limit) {
		own = list_last_entry(&class->own_recent, struct unwind_own, recent);
		if (!time_before(jiffies, READ_ONCE(own->tables.used) + FILE_KEPT)) {
			unwind_count(UNWIND_FILES_EVICTED);
			file_forget(own->file);
		} else if (skipped++ < FILE_MAX_SKIPPED) {
			list_move(&own->recent, &class->own_recent);
		} else {
			return -EAGAIN;
		}
	}
	return unwind_tables_make_room(bytes, false) ? 0 : -EAGAIN;
}

/*
 * Whether only the machine's root can have written the file of @vma.  Anybody may mount a file
 * system that says so of its files, but then without set-user-ID programs.
 */
static bool file_is_of_root(const struct vm_area_struct *vma)
{
	return unwind_is_of_root(file_inode(vma->vm_file)) &&
	       !(vma->vm_file->f_path.mnt->mnt_flags & MNT_NOSUID);
}

/*
 * Whether the file may change without a change of the key, as another machine or a process may
 * serve it.
 */
static bool file_is_remote(const struct inode *inode)
{
	return IS_NOCMTIME(inode) ||
	       (!inode->i_sb->s_bdev && !shmem_mapping(inode->i_mapping));
}

/*
 * Whether each later change of the content changes the key.  The clock of ctime ticks with
 * jiffies, or as coarsely as the file system stores it.  A ctime ahead of now is of another
 * clock, which says nothing.
 */
static bool file_is_settled(struct inode *inode)
{
	s64 grain = max_t(s64, jiffies_to_nsecs(2), 2LL * inode->i_sb->s_time_gran);
	struct timespec64 now, ctime = inode_get_ctime(inode);
	s64 age;

	if (inode_is_open_for_write(inode) || mapping_writably_mapped(inode->i_mapping))
		return false;
	ktime_get_coarse_real_ts64(&now);
	now = timespec64_sub(now, ctime);
	age = timespec64_to_ns(&now);
	return age > grain || age < -grain;
}

static struct unwind_file *file_alloc(const struct unwind_file_key *key, unsigned int nr_parts)
{
	struct unwind_file *file;

	file = kzalloc(struct_size(file, parts, nr_parts), GFP_NOWAIT | __GFP_NOWARN);
	if (!file)
		return NULL;
	file->nr_parts = nr_parts;
	file->key = *key;
	file->again = jiffies;
	file->patience = jiffies;
	file->used = jiffies;
	return file;
}

static void file_set_parts(struct unwind_file *file, const struct unwind_layout *layout)
{
	unsigned int i;

	for (i = 0; i < layout->nr_code; i++) {
		file->parts[i].offset = layout->code[i].offset;
		file->parts[i].size = layout->code[i].size;
	}
}

/* Copy the object's own table to @draft, if it is small.  Returns 0 or an error. */
static int file_copy_table(const struct unwind_object *object, struct unwind_draft *draft)
{
	const struct unwind_layout *layout = &draft->layout;
	u64 code = 0;
	unsigned int i;
	int ret;

	for (i = 0; i < layout->nr_code; i++)
		code += layout->code[i].size;
	if (!layout->table.size)
		return -ENOENT;
	if (layout->table.size > FILE_MAX_OWN_TABLE || code > FILE_MAX_OWN_CODE)
		return -E2BIG;
	draft->table = kmalloc(layout->table.size, GFP_NOWAIT | __GFP_NOWARN);
	if (!draft->table)
		return -ENOMEM;
	ret = unwind_object_read(object, draft->table, layout->table.offset, layout->table.size);
	if (ret) {
		kfree(draft->table);
		draft->table = NULL;
	}
	return ret == -ENOEXEC ? -EBADMSG : ret;
}

/*
 * Read the object in @inode to @draft, and find its split table.  Returns 0 if it has a table,
 * or the state of its entry; -EINPROGRESS if that cannot be known before the indexes of split
 * tables have been read.
 */
static int file_read_object(struct inode *inode, enum unwind_look how, struct unwind_draft *draft,
			    struct unwind_split **split)
{
	struct unwind_object object = { .mapping = inode->i_mapping, .size = i_size_read(inode) };
	int ret;

	if (!S_ISREG(inode->i_mode))
		return FILE_NO_OBJECT;
	if (!file_is_settled(inode))
		return FILE_UNSETTLED;
	ret = unwind_object_parse(&object, &draft->layout);
	if (ret)
		return ret;
	*split = unwind_split_get(&draft->layout, how);
	if (IS_ERR(*split)) {
		ret = PTR_ERR(*split);
		*split = NULL;
		return ret;
	}
	ret = file_copy_table(&object, draft);
	/* The split table does, also where the object's own one cannot be used. */
	return *split ? 0 : ret;
}

static void file_put_split(struct unwind_split *split)
{
	spin_lock(&unwind_tables_lock);
	if (split)
		unwind_split_put(split);
	spin_unlock(&unwind_tables_lock);
}

/* Make what is known of the file that @vma maps.  Returns as unwind_file_look(). */
static int file_draft(struct vm_area_struct *vma, enum unwind_look how,
		      struct unwind_draft *draft)
{
	struct inode *inode = file_inode(vma->vm_file);
	struct unwind_file_key key, after;
	struct unwind_split *split = NULL;
	unsigned int generation = atomic_read(&unwind_tables_generation);
	struct unwind_file *file;
	int ret;

	/* Read the generation before the index, see unwind_tables_look_again(). */
	smp_rmb();
	/* Numbers the inode, if it has no number yet. */
	inode_get_sequence(inode);
	file_read_key(inode, &key);
	ret = file_read_object(inode, how, draft, &split);
	if (ret == -EINPROGRESS || ret == -ENOMEM)
		return ret;
	file_read_key(inode, &after);
	if (!ret && (!file_key_is(&key, &after) || !file_is_settled(inode)))
		ret = FILE_UNSETTLED;

	file = file_alloc(&key, draft->layout.nr_code);
	if (!file || ret) {
		file_put_split(split);
		split = NULL;
	}
	if (!file) {
		kfree(draft->table);
		return -ENOMEM;
	}
	file->dev = inode->i_sb->s_dev;
	file->ino = inode->i_ino;
	file->generation = generation;
	file->state = ret;
	file->split = split;
	file->by_root = file_is_of_root(vma);
	file->is_remote = file_is_remote(inode);
	file_set_parts(file, &draft->layout);
	draft->file = file;
	if (ret == FILE_NOT_RESIDENT)
		return file->by_root ? -EAGAIN : -EINPROGRESS;
	return ret == FILE_UNSETTLED ? -EINPROGRESS : 0;
}

/*
 * See what has to be done about the file with @key, of which @file is known.  Returns 0 if
 * nothing; -EINPROGRESS if it is worth waiting; -ESTALE if the file has to be looked at anew.
 * The lock is held.
 */
static int file_check(struct unwind_file *file, const struct unwind_file_key *key,
		      enum unwind_look how)
{
	if (file_is_still_unsettled(file, key) && how != UNWIND_LOOK_ONCE)
		return unwind_is_worth_waiting(&file->patience, how) ? -ESTALE : 0;
	if (!file_is_due(file, key))
		return 0;
	if (file->split && file_key_is(&file->key, key) &&
	    !(file->is_remote && time_after_eq(jiffies, file->again)))
		return unwind_split_ask(file->split, file->by_root, how);
	return -ESTALE;
}

/**
 * unwind_file_look() - look at the file that a mapping belongs to
 * @vma: A mapping of the current process.  The caller holds its VMA lock.
 * @how: Why the task looks.
 * @draft: Set to what becomes known, for unwind_file_add().
 *
 * Context: Process context; does not sleep.
 * Return: 0 if there is nothing to wait for; -EINPROGRESS if the file's rows are being loaded,
 * or if it may be known in a moment; -EAGAIN if that needs a page that is not resident, of a
 * file that only root can have written; -ENOMEM.
 */
int unwind_file_look(struct vm_area_struct *vma, enum unwind_look how,
		     struct unwind_draft *draft)
{
	struct unwind_file_key key;
	struct unwind_file *file;
	int ret = -ESTALE;

	*draft = (struct unwind_draft){ };
	if (!file_is_code(vma))
		return 0;
	scoped_guard(spinlock, &unwind_tables_lock) {
		guard(rcu)();
		file = file_of(vma, &key);
		if (file)
			ret = file_check(file, &key, how);
	}
	return ret == -ESTALE ? file_draft(vma, how, draft) : ret;
}

/* Make the rows of an object's own table.  Returns 0 or an error; the caller frees the rows. */
static int file_build_own(const struct unwind_draft *draft, struct unwind_table **rows)
{
	const struct unwind_layout *layout = &draft->layout;
	struct sframe_file_text text[UNWIND_MAX_CODE];
	struct unwind_table_source source = {
		.bytes = draft->table,
		.len = layout->table.size,
		.start = layout->table.vaddr,
	};
	unsigned int i;

	for (i = 0; i < layout->nr_code; i++) {
		text[i].vaddr = layout->code[i].vaddr;
		text[i].size = layout->code[i].size;
	}
	return unwind_tables_build(&source, text, layout->nr_code, rows, GFP_NOWAIT);
}

/* Give @file its own table, whose rows are @rows; the lock is held. */
static int file_add_own(struct unwind_file *file, struct unwind_own *own,
			struct unwind_table **rows)
{
	struct file_class *class = &file_classes[file->by_root];
	int ret;

	ret = file_make_own_room(class, unwind_tables_size(rows, file->nr_parts));
	if (ret)
		return ret;
	unwind_tables_init(&own->tables, file_own_evicted);
	own->file = file;
	unwind_tables_add(&own->tables, rows, file->nr_parts);
	own->bytes = own->tables.bytes;
	class->own_bytes += own->bytes;
	list_add(&own->recent, &class->own_recent);
	file->own = own;
	return 0;
}

/* Set the time of the next look at @file; @old is what was known of the same inode, or NULL. */
static void file_set_again(struct unwind_file *file, const struct unwind_file *old)
{
	if (!file_is_unsettled(file)) {
		file->again = jiffies + FILE_TRUSTED;
		return;
	}
	if (old && old->key.sequence == file->key.sequence && file_is_unsettled(old)) {
		/* A walk that has waited too long for the file keeps others from doing so. */
		file->patience = old->patience;
		file->backoff = old->backoff;
		file->again = old->again;
		/* A walk that waits looks again before the time has come. */
		if (time_before(jiffies, old->again))
			return;
	}
	file->backoff = clamp(2 * file->backoff, FILE_MIN_AGAIN, FILE_MAX_AGAIN);
	file->again = jiffies + file->backoff;
}

/*
 * Add @file, which replaces what was known of its inode.  Walks find the one or the other.  The
 * lock is held.
 */
static void file_add(struct unwind_file *file)
{
	struct unwind_file *old;

	scoped_guard(rcu)
		old = file_find(file->key.inode);
	file_set_again(file, old);
	/* The first one of an inode is found. */
	hash_add_rcu(file_known, &file->node, (unsigned long)file->key.inode);
	list_add(&file->recent, &file_classes[file->by_root].recent);
	file_classes[file->by_root].nr++;
	if (old)
		file_forget(old);
	file_bound_known(file->by_root);
}

/*
 * Whether rows are known for the content that @file was made for, so that a task that cannot
 * make them now leaves it at that.  The lock is held.
 */
static bool file_has_rows(const struct unwind_file *file)
{
	struct unwind_file *old;

	scoped_guard(rcu)
		old = file_find(file->key.inode);
	if (!old || !old->own || old->split || !file_key_is(&old->key, &file->key))
		return false;
	WRITE_ONCE(old->generation, file->generation);
	WRITE_ONCE(old->again, jiffies + FILE_TRUSTED);
	return true;
}

static void file_note_state(int state)
{
	unwind_count(UNWIND_FILES_KNOWN);
	if (state == FILE_WITHOUT || state == FILE_NO_OBJECT)
		unwind_count(UNWIND_FILES_WITHOUT);
	else if (state && state != FILE_UNSETTLED && state != FILE_NOT_RESIDENT)
		unwind_count(UNWIND_FILES_REFUSED);
}

/**
 * unwind_file_add() - make a file known
 * @draft: From unwind_file_look(); its @file is set.
 *
 * Reads the table that the object carries, if that was copied.
 *
 * Context: Process context; does not sleep but for others to run.
 */
void unwind_file_add(struct unwind_draft *draft)
{
	struct unwind_table *rows[UNWIND_MAX_CODE] = { };
	struct unwind_file *file = draft->file;
	struct unwind_own *own = NULL;
	bool keep = false;
	int ret = -ENOENT;

	if (draft->table && !file->state) {
		own = kzalloc(sizeof(*own), GFP_NOWAIT | __GFP_NOWARN);
		ret = own ? file_build_own(draft, rows) : -ENOMEM;
	}
	scoped_guard(spinlock, &unwind_tables_lock) {
		if (!ret)
			ret = file_add_own(file, own, rows);
		/* What only went wrong this time is tried again soon. */
		if (ret == -ENOMEM || ret == -EINTR)
			ret = FILE_NOT_RESIDENT;
		if (!file->split && !file->state)
			file->state = ret;
		keep = file->state == FILE_NOT_RESIDENT && file_has_rows(file);
		if (!keep) {
			file_add(file);
			file_note_state(file->state);
		}
		if (file->split)
			unwind_split_ask(file->split, file->by_root, UNWIND_LOOK_ONCE);
	}
	if (keep)
		kfree(file);
	if (ret) {
		unwind_tables_free_rows(rows, UNWIND_MAX_CODE);
		kfree(own);
	}
	kfree(draft->table);
}

/*
 * The vDSO is an object in the kernel's memory that carries a table, which is kept for good.
 * Only walks that have other tables use it: the vDSO keeps frame pointers.
 */
static int __init file_vdso_init(void)
{
	struct unwind_table *rows[UNWIND_MAX_CODE] = { };
	static const struct unwind_file_key none;
	struct unwind_draft draft = { };
	struct unwind_object object;
	struct unwind_own *own;
	size_t size;
	int ret;

	object = (struct unwind_object){ .image = arch_unwind_vdso(&size) };
	if (!object.image)
		return 0;
	object.size = size;
	ret = unwind_object_parse(&object, &draft.layout) ?: file_copy_table(&object, &draft);
	if (!ret)
		ret = file_build_own(&draft, rows);
	draft.file = file_alloc(&none, draft.layout.nr_code);
	own = kzalloc(sizeof(*own), GFP_KERNEL);
	if (ret || !draft.file || !own)
		goto out;
	file_set_parts(draft.file, &draft.layout);
	for (size = 0; size < draft.file->nr_parts; size++)
		RCU_INIT_POINTER(own->tables.rows[size], rows[size]);
	memset(rows, 0, sizeof(rows));
	draft.file->own = own;
	/* Publishes the file to walks. */
	smp_store_release(&file_vdso, draft.file);
	own = NULL;
	draft.file = NULL;
out:
	unwind_tables_free_rows(rows, UNWIND_MAX_CODE);
	kfree(draft.file);
	kfree(own);
	kfree(draft.table);
	return ret == -ENOENT ? 0 : ret;
}
late_initcall(file_vdso_init);

#ifdef CONFIG_DEBUG_FS

static const char *file_state_name(int state)
{
	switch (state) {
	case 0:
		return "loaded";
	case -EINPROGRESS:
		return "loading";
	case FILE_WITHOUT:
		return "without";
	case FILE_NO_OBJECT:
		return "no object";
	case FILE_UNSETTLED:
		return "unsettled";
	default:
		return NULL;
	}
}

/* Device and inode as in /proc/PID/maps, and the size of the rows that walks of it may use */
static void file_show(struct seq_file *seq, const struct unwind_file *file)
{
	int state = file->split ? file->split->state : file->state;
	const char *name = file_state_name(state);
	size_t bytes = 0;

	if (file->split)
		bytes += file->split->tables.bytes;
	if (file->own)
		bytes += file->own->bytes;
	seq_printf(seq, "%02x:%02x %llu %zu ", MAJOR(file->dev), MINOR(file->dev),
		   file->ino, bytes);
	if (name)
		seq_printf(seq, "%s\n", name);
	else if (state == -EAGAIN)
		seq_puts(seq, file->split ? "evicted\n" : "not resident\n");
	else
		seq_printf(seq, "refused %d\n", state);
}

/* Print a line for each known file: device, inode, size of its rows in bytes, and its state. */
static int unwind_files_show(struct seq_file *seq, void *unused)
{
	const struct unwind_file *file;
	unsigned int i;

	spin_lock(&unwind_tables_lock);
	for (i = 0; i < ARRAY_SIZE(file_classes); i++)
		list_for_each_entry(file, &file_classes[i].recent, recent)
			file_show(seq, file);
	spin_unlock(&unwind_tables_lock);
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
