// SPDX-License-Identifier: GPL-2.0
/*
 * What a task reads of a file, so that the kernel knows it.
 *
 * The task reads program headers and build-id from resident pages, finds the split table that
 * root has made for the file, and copies the table that the object carries itself, if that is
 * small.  What comes of it is a draft: file.c adds it to the known files after the task has given
 * up the VMA lock.
 */

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/unwind_user.h>

#include <asm/unwind_user.h>

#include "file.h"
#include "file_state.h"
#include "split.h"
#include "tables.h"

/*
 * Largest table of its own that an object has, and the most code that the table may be for:
 * the task reads and decodes it in some 200 microseconds.
 */
#define DRAFT_MAX_TABLE		SZ_32K
#define DRAFT_MAX_CODE		SZ_16M

/* See file_state.h. */
struct unwind_file *unwind_file_vdso;

/*
 * Whether only the machine's root can have written the file of @vma.  Anybody may mount a file
 * system that says so of its files, but then without set-user-ID programs.
 */
static bool draft_is_of_root(const struct vm_area_struct *vma)
{
	return unwind_is_of_root(file_inode(vma->vm_file)) &&
	       !(vma->vm_file->f_path.mnt->mnt_flags & MNT_NOSUID);
}

/*
 * Whether the file may change without a change of the key, as another machine or a process may
 * serve it.
 */
static bool draft_is_remote(const struct inode *inode)
{
	return IS_NOCMTIME(inode) ||
	       (!inode->i_sb->s_bdev && !shmem_mapping(inode->i_mapping));
}

/*
 * Whether each later change of the content changes the key: returns 0, FILE_UNSETTLED or
 * FILE_YOUNG.  The clock of ctime ticks with jiffies, or as coarsely as the file system stores
 * it.  A ctime ahead of now is of another clock, which says nothing.
 */
static int draft_is_unsettled(struct inode *inode)
{
	s64 grain = max_t(s64, jiffies_to_nsecs(2), 2LL * inode->i_sb->s_time_gran);
	struct timespec64 now, ctime = inode_get_ctime(inode);
	s64 age;

	if (inode_is_open_for_write(inode) || mapping_writably_mapped(inode->i_mapping))
		return FILE_UNSETTLED;
	ktime_get_coarse_real_ts64(&now);
	now = timespec64_sub(now, ctime);
	age = timespec64_to_ns(&now);
	return age > grain || age < -grain ? 0 : FILE_YOUNG;
}

static struct unwind_file *draft_alloc_file(const struct unwind_file_key *key,
					    unsigned int nr_parts)
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

static void draft_set_parts(struct unwind_file *file, const struct unwind_layout *layout)
{
	unsigned int i;

	for (i = 0; i < layout->nr_code; i++) {
		file->parts[i].offset = layout->code[i].offset;
		file->parts[i].size = layout->code[i].size;
	}
}

/* Copy the object's own table to @draft, if it is small.  Returns 0 or an error. */
static int draft_copy_table(const struct unwind_object *object, struct unwind_draft *draft)
{
	const struct unwind_layout *layout = &draft->layout;
	u64 code = 0;
	unsigned int i;
	int ret;

	for (i = 0; i < layout->nr_code; i++)
		code += layout->code[i].size;
	if (!layout->table.size)
		return -ENOENT;
	if (layout->table.size > DRAFT_MAX_TABLE || code > DRAFT_MAX_CODE)
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
static int draft_read_object(struct inode *inode, enum unwind_look how, struct unwind_draft *draft,
			     struct unwind_split **split)
{
	struct unwind_object object = { .mapping = inode->i_mapping, .size = i_size_read(inode) };
	int ret;

	if (!S_ISREG(inode->i_mode))
		return FILE_NO_OBJECT;
	ret = draft_is_unsettled(inode);
	if (ret)
		return ret;
	ret = unwind_object_parse(&object, &draft->layout);
	if (ret)
		return ret;
	*split = unwind_split_get(&object, &draft->layout, how);
	if (IS_ERR(*split)) {
		ret = PTR_ERR(*split);
		*split = NULL;
		return ret;
	}
	ret = draft_copy_table(&object, draft);
	/* The split table does, also where the object's own one cannot be used. */
	return *split ? 0 : ret;
}

static void draft_put_split(struct unwind_split *split)
{
	spin_lock(&unwind_tables_lock);
	if (split)
		unwind_split_put(split);
	spin_unlock(&unwind_tables_lock);
}

/**
 * unwind_draft_make() - make what is known of the file that a mapping belongs to
 * @vma: A mapping of the current process.  The caller holds its VMA lock.
 * @how: Why the task looks.
 * @draft: Zeroed; set to what becomes known.  The caller gives it to unwind_file_add(), if its
 *	   @file is set.
 *
 * Context: Process context; does not sleep.
 * Return: as unwind_file_look().
 */
int unwind_draft_make(struct vm_area_struct *vma, enum unwind_look how, struct unwind_draft *draft)
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
	unwind_file_read_key(inode, &key);
	ret = draft_read_object(inode, how, draft, &split);
	if (ret == -EINPROGRESS || ret == -ENOMEM)
		return ret;
	unwind_file_read_key(inode, &after);
	if (!ret)
		ret = draft_is_unsettled(inode);
	if (!ret && !unwind_file_key_is(&key, &after))
		ret = FILE_YOUNG;

	file = draft_alloc_file(&key, draft->layout.nr_code);
	if (!file || ret) {
		draft_put_split(split);
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
	file->by_root = draft_is_of_root(vma);
	file->is_remote = draft_is_remote(inode);
	draft_set_parts(file, &draft->layout);
	draft->file = file;
	if (ret == FILE_NOT_RESIDENT)
		return file->by_root ? -EAGAIN : -EINPROGRESS;
	return ret == FILE_UNSETTLED || ret == FILE_YOUNG ? -EINPROGRESS : 0;
}

/**
 * unwind_draft_rows() - make the rows of an object's own table
 * @draft: Has the copy of the table.
 * @rows: UNWIND_MAX_CODE pointers, all NULL; set to the rows of each segment.  The caller frees
 *	  them, on failure too.
 *
 * Context: Process context; does not sleep but for others to run.
 * Return: 0; an error of unwind_tables_build().
 */
int unwind_draft_rows(const struct unwind_draft *draft, struct unwind_table **rows)
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

/*
 * The vDSO is an object in the kernel's memory that carries a table, which is kept for good.
 * Only walks that have other tables use it: the vDSO keeps frame pointers.
 */
static int __init draft_vdso(void)
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
	ret = unwind_object_parse(&object, &draft.layout) ?: draft_copy_table(&object, &draft);
	if (!ret)
		ret = unwind_draft_rows(&draft, rows);
	draft.file = draft_alloc_file(&none, draft.layout.nr_code);
	own = kzalloc(sizeof(*own), GFP_KERNEL);
	if (ret || !draft.file || !own)
		goto out;
	draft_set_parts(draft.file, &draft.layout);
	for (size = 0; size < draft.file->nr_parts; size++)
		RCU_INIT_POINTER(own->tables.rows[size], rows[size]);
	memset(rows, 0, sizeof(rows));
	draft.file->own = own;
	/* Publishes the file to walks. */
	smp_store_release(&unwind_file_vdso, draft.file);
	own = NULL;
	draft.file = NULL;
out:
	unwind_tables_free_rows(rows, UNWIND_MAX_CODE);
	kfree(draft.file);
	kfree(own);
	kfree(draft.table);
	return ret == -ENOENT ? 0 : ret;
}
late_initcall(draft_vdso);
