/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel knows of a file: see file.c, which has the known files, and draft.c, which makes
 * them.
 */
#ifndef _KERNEL_UNWIND_FILE_STATE_H
#define _KERNEL_UNWIND_FILE_STATE_H

#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/types.h>

#include "tables.h"

struct unwind_draft;
struct unwind_split;
struct vm_area_struct;
enum unwind_look;

/*
 * unwind_file::state is one of these, 0, or the error for which the file was refused.  An
 * unsettled file may be written now; a young one has changed so recently that another change
 * may get the same time stamp.
 */
#define FILE_WITHOUT		(-ENOENT)
#define FILE_NO_OBJECT		(-ENOEXEC)
#define FILE_UNSETTLED		(-ETXTBSY)
#define FILE_YOUNG		(-EBUSY)
#define FILE_NOT_RESIDENT	(-EAGAIN)

/**
 * struct unwind_file_key - identifies an inode and a version of its content
 * @inode:	The inode.  Only compared, never dereferenced.
 * @sequence:	The inode's number, which no other inode has had since boot.
 * @size:	Size of the file in bytes.
 * @mtime:	Seconds of the last change of the content, unless somebody has set that time.
 * @ctime:	Seconds of the last change of the inode.
 * @mtime_nsec:	Nanoseconds of @mtime.
 * @ctime_nsec:	Nanoseconds of @ctime.
 */
struct unwind_file_key {
	const struct inode	*inode;
	u64			sequence;
	u64			size;
	s64			mtime;
	s64			ctime;
	u32			mtime_nsec;
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
 * @again:	Earliest time in jiffies to look again if the file is not settled, is remote, or
 *		has another ctime; see file_is_due().
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

/*
 * Read the key of @inode as it is now.  In NMI, the fields may be in the middle of a change:
 * then the key differs from all others, or is that of the time before or after.
 */
static inline void unwind_file_read_key(const struct inode *inode,
					struct unwind_file_key *key)
{
	key->inode = inode;
	key->sequence = atomic64_read(&inode->i_sequence);
	key->size = i_size_read(inode);
	key->mtime = READ_ONCE(inode->i_mtime_sec);
	key->mtime_nsec = READ_ONCE(inode->i_mtime_nsec);
	key->ctime = READ_ONCE(inode->i_ctime_sec);
	key->ctime_nsec = READ_ONCE(inode->i_ctime_nsec);
}

/*
 * Whether @a and @b are of one content of one inode, unless somebody has changed the content and
 * then set mtime back.  Links and changes of mode or owner keep the content.
 */
static inline bool unwind_file_key_is_alike(const struct unwind_file_key *a,
					    const struct unwind_file_key *b)
{
	return a->inode == b->inode && a->sequence == b->sequence && a->size == b->size &&
	       a->mtime == b->mtime && a->mtime_nsec == b->mtime_nsec;
}

static inline bool unwind_file_key_is(const struct unwind_file_key *a,
				      const struct unwind_file_key *b)
{
	return unwind_file_key_is_alike(a, b) &&
	       a->ctime == b->ctime && a->ctime_nsec == b->ctime_nsec;
}

/* The vDSO, which is no file; NULL before it is known */
extern struct unwind_file *unwind_file_vdso;

int unwind_draft_make(struct vm_area_struct *vma, enum unwind_look how, struct unwind_draft *draft);
int unwind_draft_rows(const struct unwind_draft *draft, struct unwind_table **rows);

#endif /* _KERNEL_UNWIND_FILE_STATE_H */
