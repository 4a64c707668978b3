// SPDX-License-Identifier: GPL-2.0
/*
 * A task looks at files whose code it executes, so that the kernel knows them.
 *
 * A walk that meets an unknown file goes on without its rows, and asks for a look.  The walk
 * may be in NMI, and a look has to take a VMA lock and to read the page cache.  So the task
 * looks on its way back to user space, at the mapping that the walk has met and at those that
 * follow: the libraries of a process lie side by side.
 *
 * A look does not wait: it takes no mmap_lock, skips a mapping that somebody changes, reads
 * resident pages only, and holds no reference on a file, whose last one might be costly to
 * drop.  What it costs is bounded, however many mappings the process has.  A worker asks for
 * the readahead of pages that are not resident, of files of root, one of a file system at a
 * time.
 *
 * Only a deferred walk waits, for a moment, as nobody needs its stack yet.
 */

#include <linux/fadvise.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/unwind_user.h>
#include <linux/workqueue.h>

#include "file.h"
#include "look.h"

/* Number of mappings that a look passes */
#define LOOK_MAX_MAPPINGS	256
/* Number of file systems from which readahead is asked for at a time */
#define LOOK_MAX_READAHEAD	32
/* Part of a file to read ahead: program headers, notes, and a small table near the start */
#define LOOK_READAHEAD		SZ_64K
/* Number of objects' own tables that a look reads, and a deferred walk that waits */
#define LOOK_MAX_OWN		1
#define LOOK_MAX_OWN_DEFERRED	16
/* Maximum time that a task waits for tables, each time it enters the kernel */
#define LOOK_WAIT		max(HZ / 20, 1)

/**
 * struct look_readahead - a request for readahead
 * @work:	Runs the request.
 * @list:	Entry in look_readaheads.
 * @file:	The file, with a reference.
 */
struct look_readahead {
	struct work_struct	work;
	struct list_head	list;
	struct file		*file;
};

/* Protects look_readaheads. */
static DEFINE_SPINLOCK(look_lock);
static LIST_HEAD(look_readaheads);

static void look_read_ahead(struct work_struct *work)
{
	struct look_readahead *request = container_of(work, struct look_readahead, work);

	vfs_fadvise(request->file, 0, LOOK_READAHEAD, POSIX_FADV_WILLNEED);
	scoped_guard(spinlock, &look_lock)
		list_del(&request->list);
	fput(request->file);
	kfree(request);
}

/* Add @request, unless its file system or too many others have one.  Returns whether it was. */
static bool look_add_readahead(struct look_readahead *request)
{
	const struct look_readahead *other;
	unsigned int nr = 0;
	bool add = true;

	spin_lock(&look_lock);
	list_for_each_entry(other, &look_readaheads, list)
		if (file_inode(other->file)->i_sb == file_inode(request->file)->i_sb ||
		    ++nr == LOOK_MAX_READAHEAD)
			add = false;
	if (add)
		list_add(&request->list, &look_readaheads);
	spin_unlock(&look_lock);
	return add;
}

/* Ask for the readahead of @file, which a mapping has open.  Nobody waits for it. */
static void look_ask_for_readahead(struct file *file)
{
	struct look_readahead *request = kzalloc(sizeof(*request), GFP_NOWAIT | __GFP_NOWARN);

	if (!request)
		return;
	request->file = file;
	if (!look_add_readahead(request)) {
		kfree(request);
		return;
	}
	get_file(file);
	INIT_WORK(&request->work, look_read_ahead);
	queue_work(system_unbound_wq, &request->work);
}

/*
 * Look at the mapping at @start.  Returns 0 if there is nothing to wait for, or an error of
 * unwind_file_look().  *@own counts objects' own tables that have been read.
 */
static int look_at(struct mm_struct *mm, unsigned long start, enum unwind_look how,
		   unsigned int *own)
{
	struct unwind_draft draft;
	struct vm_area_struct *vma;
	int ret;

	vma = lock_vma_under_rcu(mm, start);
	/* Somebody is changing it. */
	if (!vma)
		return -EINPROGRESS;
	ret = unwind_file_look(vma, how, &draft);
	if (ret == -EAGAIN)
		look_ask_for_readahead(vma->vm_file);
	vma_end_read(vma);
	*own += !!draft.table;
	if (draft.file)
		unwind_file_add(&draft);
	return ret;
}

/*
 * Find the next mapping from *@next on that has to be looked at, among *@left mappings.  Returns
 * its first address or 0, and sets @next and @left to where to go on.
 */
static unsigned long look_find(struct mm_struct *mm, enum unwind_look how, unsigned long *next,
			       unsigned int *left)
{
	MA_STATE(mas, &mm->mm_mt, *next, *next);
	const struct vm_area_struct *vma;

	guard(rcu)();
	while (*left && (vma = mas_find(&mas, ULONG_MAX))) {
		(*left)--;
		*next = mas.last + 1;
		if (unwind_file_is_unknown(vma, how))
			return mas.index;
	}
	return 0;
}

/*
 * Look at the mapping of @from and at those that follow.  Returns whether it is worth waiting.
 * Few objects' own tables are read at a time, as that takes time.
 */
static bool look_from(unsigned long from, enum unwind_look how)
{
	unsigned int max_own = how == UNWIND_LOOK_ONCE ? LOOK_MAX_OWN : LOOK_MAX_OWN_DEFERRED;
	unsigned int left = LOOK_MAX_MAPPINGS, own = 0;
	struct mm_struct *mm = current->mm;
	unsigned long at;
	bool wait = false;
	int ret;

	while (own < max_own && (at = look_find(mm, how, &from, &left))) {
		ret = look_at(mm, at, how, &own);
		wait |= ret == -EINPROGRESS || ret == -EAGAIN;
	}
	return wait;
}

/**
 * unwind_look() - look at files of the current process, and wait for their tables
 * @at: An instruction in the first of the files.
 * @wait: Maximum time to wait, in jiffies; set to the time that is left of it.
 *
 * Context: Process context, may sleep if @wait is not 0.  Any signal ends the wait, and the task
 * can be frozen meanwhile.
 */
void unwind_look(unsigned long at, long *wait)
{
	enum unwind_look how = *wait > 0 ? UNWIND_LOOK_AGAIN : UNWIND_LOOK_ONCE;
	unsigned long start;

	while (look_from(at, how) && how == UNWIND_LOOK_AGAIN && !signal_pending(current)) {
		start = jiffies;
		set_current_state(TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		schedule_timeout(1);
		*wait -= max(jiffies - start, 1UL);
		if (*wait <= 0)
			how = UNWIND_LOOK_GIVE_UP;
	}
}

/**
 * unwind_look_wait() - how long a deferred walk may wait for tables
 *
 * A real-time task does not wait at all.
 *
 * Context: Process context.
 * Return: the time in jiffies, for all walks of a kernel entry together.
 */
long unwind_look_wait(void)
{
	return rt_or_dl_task(current) ? 0 : LOOK_WAIT;
}

/* When a CPU last saw whether its task has to look, in jiffies */
DEFINE_PER_CPU(unsigned long, unwind_look_time);

/* See unwind_user_look_later(). */
void __unwind_user_look_later(struct pt_regs *regs)
{
	struct mm_struct *mm = current->mm;
	const struct vm_area_struct *vma;
	bool look;

	if (!mm)
		return;
	this_cpu_write(unwind_look_time, jiffies);
	scoped_guard(rcu) {
		vma = mtree_load(&mm->mm_mt, instruction_pointer(regs));
		look = vma && unwind_file_is_unknown(vma, UNWIND_LOOK_ONCE);
	}
	if (look)
		unwind_look_later(instruction_pointer(regs));
}
