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
 * taken for one of another inode.  Size, mtime and ctime tell one content of the inode from
 * another.  If only ctime has changed, as link(), chmod() and chown() do, walks use the rows
 * until a task has looked whether the content has.
 *
 * When a walk meets a file that is not known, the task looks at its files on its way back to
 * user space: see look.c.  What it reads of one, see draft.c, makes the file known, unless its
 * content may change without a change of the key.
 *
 * The split table that root has made for a file comes first, see split.c.  The table that an
 * object carries itself is asked where that has no row.  It is as hostile as the object, so
 * it is used only if it is so small that the task can read it in passing.
 *
 * Files that others than root may have written have at most half of the entries, and half of the
 * memory of own tables.  When they have that, they displace each other only.
 */

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/unwind_user.h>

#include <asm/unwind_user.h>

#include "file.h"
#include "file_state.h"
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
/* Share of all rows that objects' own tables may take: those of root, and those of others */
#define FILE_OWN_SHARE		16

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
	return file->state == FILE_UNSETTLED || file->state == FILE_YOUNG ||
	       file->state == FILE_NOT_RESIDENT;
}

/* The same, unless @key is of an inode that has come in place of that one. */
static bool file_is_still_unsettled(const struct unwind_file *file,
				    const struct unwind_file_key *key)
{
	return file_is_unsettled(file) && file->key.sequence == key->sequence;
}

/*
 * Whether @file may be of another content than the inode with @key has.  Once a task has looked,
 * it is believed for a while.
 */
static bool file_is_stale(const struct unwind_file *file, const struct unwind_file_key *key)
{
	if (unlikely(!unwind_file_key_is_alike(&file->key, key)))
		return true;
	return (file->is_remote || !unwind_file_key_is(&file->key, key)) &&
	       time_after_eq(jiffies, READ_ONCE(file->again));
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
	if (file_is_stale(file, key))
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
		unwind_file_read_key(inode, key);
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
		return arch_unwind_is_vdso(vma) ? READ_ONCE(unwind_file_vdso) : NULL;
	if (!file_is_code(vma))
		return NULL;
	file = file_of(vma, &key);
	if (unlikely(!file || file_is_due(file, &key)) && !cursor->look)
		cursor->look = ip;
	if (!file || !unwind_file_key_is_alike(&file->key, &key))
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
	cursor->gap.start = first;
	/* All addresses are a gap whose size wraps to 0. */
	cursor->gap.size = last - first + 1 ?: ULONG_MAX;
	return error;
}

/* Find the rows of @ip, which is at @offset in @file and mapped with [@first, @last]. */
static int file_seek_part(struct sframe_cursor *cursor, const struct unwind_file *file, u64 offset,
			  unsigned long ip, unsigned long first, unsigned long last)
{
	const struct unwind_table *rows, *own;
	struct sframe_found *found;
	unsigned long before;
	unsigned int i;

	for (i = 0; i < file->nr_parts; i++)
		if (offset - file->parts[i].offset < file->parts[i].size)
			break;
	/* Other code of the mapping may have rows. */
	if (i == file->nr_parts)
		return file_no_rows(cursor, ip, ip, file->state ? -ENXIO : -ENOENT);
	rows = file_rows(file, i, &own);
	if (!rows && file->nr_parts > 1)
		return file_no_rows(cursor, ip, ip, -ENXIO);
	if (!rows)
		return file_no_rows(cursor, first, last, -ENXIO);
	offset -= file->parts[i].offset;
	if (offset >= rows->text_size)
		return file_no_rows(cursor, ip, ip, -ENOENT);
	/* The mapping may begin amid the part, or the part amid the mapping. */
	before = min_t(u64, offset, ip - first);
	found = sframe_replace(cursor);
	found->table = rows;
	found->start = ip - before;
	found->offset = offset - before;
	found->size = min_t(u64, last - found->start + 1, rows->text_size - found->offset);
	found->own = own;
	return 0;
}

/*
 * Whether @vma is what the tree has at [@mas->index, @mas->last], and not in the middle of a
 * split or a merge, when its fields may not fit together.  Sets @offset to the offset in the file
 * of its first address.  vma_set_range() changes the range before the offset, and the tree has
 * the new range after both, so read the range last.
 */
static bool file_mapping_is_stable(const struct vm_area_struct *vma, const struct ma_state *mas,
				   u64 *offset)
{
	*offset = vma->vm_file ? (u64)READ_ONCE(vma->vm_pgoff) << PAGE_SHIFT : 0;
	/* Pairs with vma_set_range(). */
	smp_rmb();
	return READ_ONCE(vma->vm_start) == mas->index && READ_ONCE(vma->vm_end) - 1 == mas->last;
}

/**
 * unwind_file_seek() - find the table of the file that is mapped at an instruction
 * @cursor: Uses the table from now on; on failure, its gap is set to what has no table.  Its text,
 *	which is empty, is set to the mapping if that is executable.
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
	if (READ_ONCE(vma->vm_flags) & VM_EXEC)
		cursor->text = (struct unwind_range){ mas.index, mas.last - mas.index + 1 };
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
	if (file->split && !file_is_stale(file, key))
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
	return ret == -ESTALE ? unwind_draft_make(vma, how, draft) : ret;
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
		/* A change of ctime is looked at immediately. */
		file->again = file->is_remote ? jiffies + FILE_TRUSTED : jiffies;
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
 * Whether the rows of @old, what is known of the same inode, are as good as those that a task
 * could not make for @file now.  If a young file is remote, the time of a change may come later.
 */
static bool file_has_rows(const struct unwind_file *old, const struct unwind_file *file)
{
	if (file->state == FILE_NOT_RESIDENT)
		return old->own && !old->split && unwind_file_key_is(&old->key, &file->key);
	return file->state == FILE_YOUNG && !file->is_remote && (old->own || old->split) &&
	       unwind_file_key_is_alike(&old->key, &file->key);
}

/* Whether to leave it at what is known of the same inode, instead of @file.  The lock is held. */
static bool file_keep_old(const struct unwind_file *file)
{
	struct unwind_file *old;

	scoped_guard(rcu)
		old = file_find(file->key.inode);
	if (!old || !file_has_rows(old, file))
		return false;
	WRITE_ONCE(old->generation, file->generation);
	WRITE_ONCE(old->again, jiffies + (file->state == FILE_YOUNG ? FILE_MIN_AGAIN :
								      FILE_TRUSTED));
	return true;
}

static void file_note_state(int state)
{
	unwind_count(UNWIND_FILES_KNOWN);
	if (state == FILE_WITHOUT || state == FILE_NO_OBJECT)
		unwind_count(UNWIND_FILES_WITHOUT);
	else if (state && state != FILE_UNSETTLED && state != FILE_YOUNG &&
		 state != FILE_NOT_RESIDENT)
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
		ret = own ? unwind_draft_rows(draft, rows) : -ENOMEM;
	}
	scoped_guard(spinlock, &unwind_tables_lock) {
		if (!ret)
			ret = file_add_own(file, own, rows);
		/* What only went wrong this time is tried again soon. */
		if (ret == -ENOMEM || ret == -EINTR)
			ret = FILE_NOT_RESIDENT;
		if (!file->split && !file->state)
			file->state = ret;
		keep = file_keep_old(file);
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
	case FILE_YOUNG:
		return "unsettled";
	default:
		return NULL;
	}
}

/* Device and inode as in /proc/PID/maps, and the size of the rows that walks of it may use */
static void file_show(struct seq_file *seq, const struct unwind_file *file)
{
	int state = file->split ? READ_ONCE(file->split->state) : file->state;
	const char *name = file_state_name(state);
	size_t bytes = 0;

	if (file->split)
		bytes += READ_ONCE(file->split->tables.bytes);
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

	guard(rcu)();
	hash_for_each_rcu(file_known, i, file, node)
		file_show(seq, file);
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
