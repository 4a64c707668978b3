/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Split tables: SFrame tables in separate files, found by what their objects say.  See split.c.
 */
#ifndef _KERNEL_UNWIND_SPLIT_H
#define _KERNEL_UNWIND_SPLIT_H

#include <linux/jiffies.h>
#include <linux/types.h>

#include <uapi/linux/sframe_file.h>

#include "file.h"
#include "tables.h"

/**
 * struct unwind_split - the split table of all objects with a build-id and a layout
 * @tables:	Its rows.
 * @node:	Entry in the hash of split tables.
 * @waiting:	Entry in the worker's queue while @state is -EINPROGRESS.
 * @users:	Number of known files with this table.
 * @key:	Build-id and layout, as in an index.
 * @id_size:	Size of the build-id in bytes; 0 if the object is known by its headers.
 * @nr_code:	Number of executable segments.
 * @state:	0 if the rows are loaded; -EINPROGRESS while they are to be loaded; -EAGAIN if they
 *		were evicted, or never asked for; or the error for which they were refused.
 * @by_root:	An object that only root can have written has asked for the rows.
 * @generation: unwind_tables_generation when the rows were last asked for.
 * @again:	Earliest time in jiffies to load the rows again.
 * @backoff:	Time from the next eviction to @again, in jiffies.
 * @loaded:	Time of the last load, in jiffies.
 * @patience:	Nobody waits for the rows until then, in jiffies.
 * @rcu:	Defers freeing until no reader is left.
 *
 * unwind_tables_lock protects everything that is not constant; walks read @state and @again.
 */
struct unwind_split {
	struct unwind_tables		tables;
	struct hlist_node		node;
	struct list_head		waiting;
	unsigned int			users;
	struct sframe_index_entry	key;
	u8				id_size;
	u8				nr_code;
	int				state;
	bool				by_root;
	unsigned int			generation;
	unsigned long			again;
	unsigned long			backoff;
	unsigned long			loaded;
	unsigned long			patience;
	struct rcu_head			rcu;
};

/* Whether a walk that misses the rows has to ask for them.  Any context, NMI included. */
static inline bool unwind_split_is_due(const struct unwind_split *split)
{
	return READ_ONCE(split->state) == -EINPROGRESS ||
	       READ_ONCE(split->generation) != atomic_read(&unwind_tables_generation) ||
	       time_after_eq(jiffies, READ_ONCE(split->again));
}

#ifdef CONFIG_UNWIND_USER_SPLIT
struct unwind_split *unwind_split_get(const struct unwind_object *object,
				      const struct unwind_layout *layout, enum unwind_look how);
void unwind_split_put(struct unwind_split *split);
int unwind_split_ask(struct unwind_split *split, bool by_root, enum unwind_look how);
#else
static inline struct unwind_split *unwind_split_get(const struct unwind_object *object,
						    const struct unwind_layout *layout,
						    enum unwind_look how)
{
	return NULL;
}

static inline void unwind_split_put(struct unwind_split *split)
{
}

static inline int unwind_split_ask(struct unwind_split *split, bool by_root,
				   enum unwind_look how)
{
	return 0;
}
#endif

#endif /* _KERNEL_UNWIND_SPLIT_H */
