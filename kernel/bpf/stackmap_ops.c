// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system calls on a map of type BPF_MAP_TYPE_STACK_TRACE, and a kfunc that lets
 * programs read it.  bpf_get_stackid() in stackmap.c stores the stacks.  The table
 * that holds them is in stack_table.c, which also describes contexts and concurrency.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/init.h>
#include <linux/perf_callchain.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "stackmap.h"

#define STACK_CREATE_FLAG_MASK						\
	(BPF_F_NO_PREALLOC | BPF_F_NUMA_NODE | BPF_F_RDONLY |		\
	 BPF_F_WRONLY | BPF_F_STACK_BUILD_ID)

static u32 max_depth(void)
{
	return max_t(u32, READ_ONCE(sysctl_perf_event_max_stack),
		     STACK_MAP_MAX_DEPTH);
}

static int stack_map_check(const union bpf_attr *attr)
{
	u32 size = attr->map_flags & BPF_F_STACK_BUILD_ID ?
		   sizeof(struct bpf_stack_build_id) : sizeof(u64);

	if (attr->map_flags & ~STACK_CREATE_FLAG_MASK)
		return -EINVAL;
	if (attr->max_entries == 0 || attr->key_size != sizeof(u32))
		return -EINVAL;
	if (attr->value_size < size || attr->value_size % size ||
	    attr->value_size / size > max_depth())
		return -EINVAL;
	return 0;
}

/*
 * Without BPF_F_NO_PREALLOC, a new map has memory for all its stacks if their mean
 * depth is at most this.  Most programs have shallower stacks.
 */
#define STACK_FILL_FRAMES	20U

static int stack_map_init_table(struct bpf_stack_map *smap,
				const union bpf_attr *attr, int node)
{
	u32 size = stack_map_data_size(&smap->map), words = attr->value_size / sizeof(u64);
	u32 fill = min(attr->value_size / size, STACK_FILL_FRAMES) * (size / sizeof(u64));

	smap->table.pool.map = &smap->map;
	if (stack_map_use_build_id(&smap->map)) {
		smap->recent = bpf_map_area_alloc(STACK_MAP_RECENT * sizeof(*smap->recent),
						  node);
		if (!smap->recent)
			return -ENOMEM;
	}
	if (attr->map_flags & BPF_F_NO_PREALLOC)
		fill = 0;
	return bpf_stack_table_init(&smap->table, attr->max_entries, words, fill, node);
}

static int stack_map_get_buffers(struct bpf_stack_map *smap)
{
	int err = get_callchain_buffers(sysctl_perf_event_max_stack);

	if (err)
		return err;
	/*
	 * build_id_words() converts frames to build ids in place, so the entry
	 * must hold a whole value.  One more word shows that a stack is deeper.
	 */
	err = perf_callchain_reserve(smap->map.value_size / sizeof(u64) + 1);
	if (err < 0) {
		put_callchain_buffers();
		return err;
	}
	smap->reserved = err;
	return 0;
}

static void stack_map_put_buffers(struct bpf_stack_map *smap)
{
	if (smap->reserved)
		perf_callchain_unreserve();
	put_callchain_buffers();
}

/* Called from syscall */
static struct bpf_map *stack_map_alloc(union bpf_attr *attr)
{
	int err = stack_map_check(attr), node = bpf_map_attr_numa_node(attr);
	struct bpf_stack_map *smap;

	if (err)
		return ERR_PTR(err);

	smap = bpf_map_area_alloc(sizeof(*smap), node);
	if (!smap)
		return ERR_PTR(-ENOMEM);
	bpf_map_init_from_attr(&smap->map, attr);

	err = stack_map_init_table(smap, attr, node);
	if (err)
		goto free_smap;
	err = -ENOMEM;
	smap->passed = bpf_map_area_alloc(bitmap_size(smap->table.nr_index), node);
	if (!smap->passed)
		goto free_table;
	err = stack_map_get_buffers(smap);
	if (err)
		goto free_table;
	return &smap->map;

free_table:
	bpf_stack_table_destroy(&smap->table);
free_smap:
	bpf_map_area_free(smap->passed);
	bpf_map_area_free(smap->recent);
	bpf_map_area_free(smap);
	return ERR_PTR(err);
}

/* Called when map->refcnt goes to zero, either from workqueue or from syscall */
static void stack_map_free(struct bpf_map *map)
{
	struct bpf_stack_map *smap = to_stack_map(map);

	bpf_stack_table_destroy(&smap->table);
	stack_map_put_buffers(smap);
	bpf_map_area_free(smap->passed);
	bpf_map_area_free(smap->recent);
	bpf_map_area_free(smap);
}

/* System calls copy instead, and the verifier lets no program call this. */
static void *stack_map_lookup_elem(struct bpf_map *map, void *key)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static long stack_map_update_elem(struct bpf_map *map, void *key, void *value,
				  u64 map_flags)
{
	return -EINVAL;
}

/* Called from syscall */
int bpf_stackmap_copy(struct bpf_map *map, void *key, void *value)
{
	struct bpf_stack_map *smap = to_stack_map(map);
	int ret;

	if (READ_ONCE(smap->sweep))
		WRITE_ONCE(smap->sweep, 0);
	guard(rcu)();
	ret = bpf_stack_table_copy(&smap->table, *(u32 *)key, value,
				   map->value_size / sizeof(u64));
	return ret < 0 ? ret : 0;
}

/*
 * Some tools empty the map as if it were an array: they delete the keys 0 to
 * max_entries - 1 in this order (bcc's BPFStackTable::clear_table_non_atomic()).  Once
 * stacks have been deleted, ids are no longer limited to these numbers, and such a
 * sweep would leave stacks behind.  So note which stacks a sweep passes, that is, those
 * whose index is the key or, beyond the last key, differs by max_entries.  Returns true
 * for the last key: the caller then deletes the noted stacks.  Stacks that are stored
 * behind the sweep stay, as they would in an array.
 *
 * A tool that reads stacks while it deletes keys has not read the stacks it passes, so
 * bpf_stackmap_copy() ends the sweep.  Two simultaneous sweeps count as one or as none.
 */
static bool stack_map_sweep(struct bpf_stack_map *smap, u32 key)
{
	const u32 end = smap->map.max_entries;
	u32 index;
	int id;

	/* A sweep of one key cannot be told from another delete. */
	if (key >= end || end == 1 || (key && key != READ_ONCE(smap->sweep)))
		return false;
	for (index = key; index < smap->table.nr_index; index += end) {
		id = bpf_stack_table_at(&smap->table, index);
		assign_bit(index, smap->passed, id >= 0 && id != key);
	}
	WRITE_ONCE(smap->sweep, key + 1);
	return key + 1 == end;
}

static void stack_map_delete_passed(struct bpf_stack_map *smap)
{
	u32 index;

	for_each_set_bit(index, smap->passed, smap->table.nr_index)
		bpf_stack_table_delete(&smap->table,
				       bpf_stack_table_at(&smap->table, index));
}

/* Called from syscall */
static long stack_map_delete_elem(struct bpf_map *map, void *key)
{
	struct bpf_stack_map *smap = to_stack_map(map);
	u32 id = *(u32 *)key;
	bool swept;
	int err;

	if (id > INT_MAX)
		return -E2BIG;
	guard(rcu)();
	swept = stack_map_sweep(smap, id);
	err = bpf_stack_table_delete(&smap->table, id);
	if (swept)
		stack_map_delete_passed(smap);
	return err;
}

/* The value returned is that of the deleted stack, as ids are not reused. */
static int stack_map_lookup_and_delete_elem(struct bpf_map *map, void *key,
					    void *value, u64 flags)
{
	int err = bpf_stackmap_copy(map, key, value);

	return err ?: stack_map_delete_elem(map, key);
}

/*
 * Keys are ordered by index.  An iteration therefore continues after a key that has
 * been deleted, and takes a single pass over the table.
 */
static int stack_map_get_next_key(struct bpf_map *map, void *key,
				  void *next_key)
{
	struct bpf_stack_table *table = &to_stack_map(map)->table;
	s64 after = -1;
	int id;

	if (key && *(u32 *)key <= INT_MAX)
		after = bpf_stack_table_index(table, *(u32 *)key);
	guard(rcu)();
	id = bpf_stack_table_next(table, after);
	if (id < 0)
		return id;
	*(u32 *)next_key = id;
	return 0;
}

/*
 * Move up to attr->batch.count stacks to user space.  Each stack is deleted after it
 * has been copied, so a fault loses none.  Stacks that another context deletes
 * meanwhile are left out.
 */
static int stack_map_lookup_and_delete_batch(struct bpf_map *map,
					     const union bpf_attr *attr,
					     union bpf_attr __user *uattr)
{
	u32 __user *keys = u64_to_user_ptr(attr->batch.keys);
	void __user *values = u64_to_user_ptr(attr->batch.values);
	void __user *in = u64_to_user_ptr(attr->batch.in_batch);
	void __user *out = u64_to_user_ptr(attr->batch.out_batch);
	u32 max_count = attr->batch.count, count = 0, key, at;
	bool first = !in, found;
	void *value;
	int err;

	if (attr->batch.elem_flags)
		return -EINVAL;
	if (!max_count)
		return 0;
	if (put_user(0, &uattr->batch.count))
		return -EFAULT;
	if (in && copy_from_user(&at, in, sizeof(at)))
		return -EFAULT;
	value = kvmalloc(map->value_size, GFP_USER | __GFP_NOWARN);
	if (!value)
		return -ENOMEM;

	for (err = 0; count < max_count;) {
		err = stack_map_get_next_key(map, first ? NULL : &at, &key);
		if (err)
			break;
		found = !bpf_stackmap_copy(map, &key, value);
		if (found &&
		    (put_user(key, &keys[count]) ||
		     copy_to_user(values + (u64)count * map->value_size, value,
				  map->value_size))) {
			/* The next batch begins with this stack. */
			err = -EFAULT;
			break;
		}
		first = false;
		at = key;
		if (!found)
			continue;
		bpf_disable_instrumentation();
		count += !stack_map_delete_elem(map, &key);
		bpf_enable_instrumentation();
		cond_resched();
	}

	kvfree(value);

	if (put_user(count, &uattr->batch.count) ||
	    (!first && copy_to_user(out, &at, sizeof(at))))
		return -EFAULT;
	return err;
}

static u64 stack_map_mem_usage(const struct bpf_map *map)
{
	const struct bpf_stack_map *smap;

	smap = container_of(map, const struct bpf_stack_map, map);
	return sizeof(*smap) + bpf_stack_table_bytes(&smap->table) +
	       bitmap_size(smap->table.nr_index) +
	       (smap->recent ? STACK_MAP_RECENT * sizeof(*smap->recent) : 0);
}

/* Called for fdinfo: show the counters, among them the lost stacks by reason. */
void bpf_stackmap_show_fdinfo(const struct bpf_map *map, struct seq_file *m)
{
	const struct bpf_stack_map *smap;
	struct bpf_stack_stats stats;

	smap = container_of(map, const struct bpf_stack_map, map);
	stats = bpf_stack_table_stats(&smap->table);
	seq_printf(m,
		   "stacks:\t%u\n"
		   "stacks_stored:\t%llu\n"
		   "stacks_hit:\t%llu\n"
		   "stacks_deleted:\t%llu\n"
		   "stacks_evicted:\t%llu\n"
		   "stacks_truncated:\t%llu\n"
		   "stacks_lost_full:\t%llu\n"
		   "stacks_lost_nomem:\t%llu\n"
		   "stacks_lost_nested:\t%llu\n"
		   "stacks_races:\t%llu\n",
		   bpf_stack_table_count(&smap->table), stats.stored,
		   stats.hits, stats.deleted, stats.evicted, stats.truncated,
		   stats.lost_full, stats.lost_nomem, stats.lost_nested,
		   stats.races);
}

BTF_ID_LIST_SINGLE(stack_trace_map_btf_ids, struct, bpf_stack_map)
const struct bpf_map_ops stack_trace_map_ops = {
	.map_meta_equal = bpf_map_meta_equal,
	.map_alloc = stack_map_alloc,
	.map_free = stack_map_free,
	.map_get_next_key = stack_map_get_next_key,
	.map_lookup_elem = stack_map_lookup_elem,
	.map_lookup_and_delete_elem = stack_map_lookup_and_delete_elem,
	.map_lookup_batch = generic_map_lookup_batch,
	.map_lookup_and_delete_batch = stack_map_lookup_and_delete_batch,
	.map_delete_batch = generic_map_delete_batch,
	.map_update_elem = stack_map_update_elem,
	.map_delete_elem = stack_map_delete_elem,
	.map_check_btf = map_check_no_btf,
	.map_mem_usage = stack_map_mem_usage,
	.map_btf_id = &stack_trace_map_btf_ids[0],
};

__bpf_kfunc_start_defs();

/**
 * bpf_stack_map_copy - copy a stored stack to a program's memory
 * @p__map:	Map of type BPF_MAP_TYPE_STACK_TRACE.
 * @id:		Id that bpf_get_stackid() returned for this map.
 * @dst:	Buffer for the stack.  Bytes after the stack are zeroed.
 * @dst__sz:	Size of @dst in bytes, a multiple of 8.
 *
 * The program gets a copy, not a pointer.  A pointer would have to protect the stack
 * from deletion, and the verifier would have to know the length of the stack.
 *
 * Context: Any, NMI included.
 * Return: the size of the stack in bytes, which may be more than @dst__sz; -ENOENT if
 * no stack has the id; -EINVAL if @p__map has another type or @dst__sz is no multiple
 * of 8.
 */
__bpf_kfunc int bpf_stack_map_copy(void *p__map, u32 id, void *dst, u32 dst__sz)
{
	struct bpf_map *map = p__map;
	int ret;

	if (map->map_type != BPF_MAP_TYPE_STACK_TRACE ||
	    dst__sz % sizeof(u64) || !IS_ALIGNED((unsigned long)dst, 8))
		return -EINVAL;
	guard(rcu)();
	ret = bpf_stack_table_copy(&to_stack_map(map)->table, id, dst,
				   dst__sz / sizeof(u64));
	return ret < 0 ? ret : ret * (int)sizeof(u64);
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(stack_map_kfunc_ids)
BTF_ID_FLAGS(func, bpf_stack_map_copy, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(stack_map_kfunc_ids)

static const struct btf_kfunc_id_set stack_map_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &stack_map_kfunc_ids,
};

static int __init stack_map_init(void)
{
	/* The program types that may store stacks; TRACING stands for several. */
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING,
					 &stack_map_kfunc_set) ?:
	       register_btf_kfunc_id_set(BPF_PROG_TYPE_KPROBE,
					 &stack_map_kfunc_set);
}
late_initcall(stack_map_init);
