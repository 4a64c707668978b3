// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_output_record(): a record of several pieces.
 *
 *   head | u64 nr | nr frames and marks, as in a perf callchain | data | tail
 *
 * Each piece is copied once, from its source to the ring buffer.  The source of a stack
 * that is walked now is the walker's buffer; that of a stored stack is the stack map;
 * that of the data is the memory or packet that its dynptr points to.  All lengths are
 * known before room is reserved, and all checks that can be made early come before that
 * as well, because reserved room in a perf ring buffer cannot be returned.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_output.h>
#include <linux/bpf_record.h>
#include <linux/bpf_verifier.h>
#include <linux/btf_ids.h>
#include <linux/packet_copy.h>
#include <linux/perf_callchain.h>
#include <linux/perf_event.h>

#include "stackmap.h"

/* Head, number of frames, mark and frames of both stacks, data, tail. */
#define PIECES_MAX	8

/* Size of the first version of struct bpf_record. */
#define RECORD_SIZE_VER0	32

struct piece {
	/* Copies from @from, or NULL if @from points to plain memory. */
	perf_copy_f copy;
	const void *from;
	u32 size;
};

struct stored_stack {
	const struct bpf_stack_table *table;
	u32 id;
};

struct output {
	struct piece pieces[PIECES_MAX];
	u32 nr_pieces;
	u32 size;

	/* Number of frames and marks in the callchain. */
	u64 nr;
	struct stored_stack kernel, user;
	/* Contexts to pass to perf_callchain_release(), or -1. */
	int kernel_rctx, user_rctx;
	union {
		struct skb_copier skb;
		struct xdp_copier xdp;
	};
};

static const u64 kernel_mark = PERF_CONTEXT_KERNEL;
static const u64 user_mark = PERF_CONTEXT_USER;

static void add_piece(struct output *out, perf_copy_f copy, const void *from, u32 size)
{
	out->pieces[out->nr_pieces++] = (struct piece){ copy, from, size };
	out->size += size;
}

static void add_frames(struct output *out, perf_copy_f copy, const void *from, u32 nr,
		       const u64 *mark)
{
	if (!nr)
		return;
	add_piece(out, NULL, mark, sizeof(*mark));
	add_piece(out, copy, from, nr * sizeof(u64));
	out->nr += 1 + nr;
}

static unsigned long stored_copy(void *dst, const void *from, unsigned long off,
				 unsigned long len)
{
	const struct stored_stack *stack = from;

	return bpf_stack_table_read(stack->table, stack->id, off, dst, len) ? len : 0;
}

static int add_stored(struct output *out, struct bpf_map *stacks, u32 id,
		      struct stored_stack *stack, const u64 *mark)
{
	int nr;

	/* bpf_get_stackid() had failed: the record has an empty stack. */
	if ((s32)id < 0)
		return 0;
	stack->table = &to_stack_map(stacks)->table;
	stack->id = id;
	nr = bpf_stack_table_words(stack->table, id);
	if (nr < 0)
		return nr;
	add_frames(out, stored_copy, stack, nr, mark);
	return 0;
}

static int add_walked(struct output *out, struct bpf_map *stacks, struct pt_regs *regs,
		      u32 skip, int *rctx, const u64 *mark)
{
	bool user = mark == &user_mark;
	const struct perf_callchain_entry *entry;

	entry = perf_callchain_hold(regs, !user, user, stack_map_max_depth(stacks, skip),
				    false, rctx);
	if (!entry) {
		*rctx = -1;
		return -EBUSY;
	}
	if (entry->nr > skip)
		add_frames(out, NULL, entry->ip + skip, entry->nr - skip, mark);
	return 0;
}

/* The memory of a dynptr, or NULL if it is not contiguous. */
static void *linear_data(const struct bpf_dynptr_kern *data)
{
	enum bpf_dynptr_type type = bpf_dynptr_get_type(data);

	if (type != BPF_DYNPTR_TYPE_LOCAL && type != BPF_DYNPTR_TYPE_RINGBUF)
		return NULL;
	return data->data + data->offset;
}

/* Add the frames in @data, which the program has walked itself. */
static int add_given(struct output *out, const struct bpf_dynptr_kern *data,
		     const u64 *mark)
{
	void *frames;
	u32 size;

	if (!data || !data->data)
		return -EINVAL;
	size = __bpf_dynptr_size(data);
	frames = linear_data(data);
	if (!frames || size % sizeof(u64))
		return -EINVAL;
	add_frames(out, NULL, frames, size / sizeof(u64), mark);
	return 0;
}

static int add_stacks(struct output *out, const struct bpf_record *rec,
		      struct bpf_map *stacks, const struct bpf_dynptr_kern *data,
		      struct pt_regs *regs)
{
	int err = 0;

	add_piece(out, NULL, &out->nr, sizeof(out->nr));
	if (rec->stack & BPF_RECORD_KERNEL_ID)
		err = add_stored(out, stacks, rec->kernel_id, &out->kernel, &kernel_mark);
	else if (rec->stack & BPF_RECORD_KERNEL)
		err = add_walked(out, stacks, regs, rec->skip, &out->kernel_rctx,
				 &kernel_mark);
	else if (rec->stack & BPF_RECORD_KERNEL_DATA)
		err = add_given(out, data, &kernel_mark);
	if (err)
		return err;
	if (rec->stack & BPF_RECORD_USER_ID)
		err = add_stored(out, stacks, rec->user_id, &out->user, &user_mark);
	else if (rec->stack & BPF_RECORD_USER)
		err = add_walked(out, stacks, regs, 0, &out->user_rctx, &user_mark);
	return err;
}

static int add_skb(struct output *out, const struct bpf_dynptr_kern *data, u32 size)
{
	struct sk_buff *skb = data->data;

	if (data->offset + size > skb->len)
		return -EFAULT;
	if (data->offset + size > skb_headlen(skb) && !skb_frags_readable(skb))
		return -EFAULT;
	skb_copier_begin(&out->skb, skb, data->offset, size);
	add_piece(out, skb_copier_copy, &out->skb, size);
	return 0;
}

static int add_xdp(struct output *out, const struct bpf_dynptr_kern *data, u32 size)
{
	struct xdp_buff *xdp = data->data;

	if (data->offset + size > xdp_get_buff_len(xdp))
		return -EFAULT;
	xdp_copier_begin(&out->xdp, xdp, data->offset);
	add_piece(out, xdp_copier_copy, &out->xdp, size);
	return 0;
}

static int add_data(struct output *out, const struct bpf_dynptr_kern *data)
{
	void *linear;
	u32 size;

	if (!data->data)
		return -EINVAL;
	size = __bpf_dynptr_size(data);
	linear = linear_data(data);
	if (linear) {
		add_piece(out, NULL, linear, size);
		return 0;
	}
	switch (bpf_dynptr_get_type(data)) {
	case BPF_DYNPTR_TYPE_SKB:
		return IS_ENABLED(CONFIG_NET) ? add_skb(out, data, size) : -EINVAL;
	case BPF_DYNPTR_TYPE_XDP:
		return IS_ENABLED(CONFIG_NET) ? add_xdp(out, data, size) : -EINVAL;
	default:
		return -EINVAL;
	}
}

/* Copy function for perf_raw_frag::copy that copies all pieces in turn. */
static unsigned long output_copy(void *dst, const void *from, unsigned long off,
				 unsigned long len)
{
	const struct output *out = from;
	const struct piece *piece;
	unsigned long n, left;

	for (piece = out->pieces; len; piece++) {
		if (off >= piece->size) {
			off -= piece->size;
			continue;
		}
		n = min(len, piece->size - off);
		if (piece->copy) {
			left = piece->copy(dst, piece->from, off, n);
			if (unlikely(left))
				return len - n + left;
		} else {
			memcpy(dst, piece->from + off, n);
		}
		dst += n;
		len -= n;
		off = 0;
	}
	return 0;
}

/*
 * Copy the fields that the program's version of the structure has; fields that this
 * kernel does not know must be zero.  Returns the offset of the record's first piece,
 * or an error.
 */
static int record_get(struct bpf_record *rec, const void *from, u32 size)
{
	u32 known;

	if (size < RECORD_SIZE_VER0)
		return -EINVAL;
	memcpy(&known, from, sizeof(known));
	if (known < RECORD_SIZE_VER0 || known > size || known > PAGE_SIZE)
		return -EINVAL;
	if (known > sizeof(*rec) &&
	    memchr_inv(from + sizeof(*rec), 0, known - sizeof(*rec)))
		return -E2BIG;
	memset(rec, 0, sizeof(*rec));
	memcpy(rec, from, min_t(u32, known, sizeof(*rec)));
	return known;
}

static bool record_is_valid(const struct bpf_record *rec, const struct bpf_map *map,
			    const struct bpf_map *stacks)
{
	const u32 kernel = BPF_RECORD_KERNEL | BPF_RECORD_KERNEL_ID |
			   BPF_RECORD_KERNEL_DATA;
	const u32 user = BPF_RECORD_USER | BPF_RECORD_USER_ID;

	if (map->map_type != BPF_MAP_TYPE_PERF_EVENT_ARRAY &&
	    map->map_type != BPF_MAP_TYPE_RINGBUF)
		return false;
	if (rec->stack & ~(kernel | user) || rec->skip > BPF_F_SKIP_FIELD_MASK)
		return false;
	/* Each stack has one source. */
	if (hweight32(rec->stack & kernel) > 1 || hweight32(rec->stack & user) > 1)
		return false;
	if (!(rec->stack & ~BPF_RECORD_KERNEL_DATA))
		return true;
	return stacks && stacks->map_type == BPF_MAP_TYPE_STACK_TRACE &&
	       !stack_map_use_build_id(stacks);
}

static int output_write(struct output *out, struct bpf_map *map, u64 flags)
{
	if (map->map_type == BPF_MAP_TYPE_RINGBUF)
		return bpf_ringbuf_output_copy(map, out->size, flags, output_copy, out);
	if (flags & ~BPF_F_INDEX_MASK)
		return -EINVAL;
	return bpf_event_output(map, flags, NULL, 0, out, out->size, output_copy);
}

static void output_end(struct output *out)
{
	if (out->user_rctx >= 0)
		perf_callchain_release(out->user_rctx);
	if (out->kernel_rctx >= 0)
		perf_callchain_release(out->kernel_rctx);
}

__bpf_kfunc_start_defs();

/**
 * bpf_output_record - write a record of several pieces
 * @map:	Destination: BPF_MAP_TYPE_PERF_EVENT_ARRAY or BPF_MAP_TYPE_RINGBUF.
 * @rec:	Description of the record, followed by the bytes of its first and last
 *		piece.
 * @rec__sz:	Size of the description and these bytes.
 * @stacks__nullable: Map of type BPF_MAP_TYPE_STACK_TRACE without build ids.  It holds
 *		the stored stacks, and its value size limits the depth of stacks that are
 *		walked now.  May be NULL if @rec asks for neither.
 * @data__nullable: Next to last piece of the record, or NULL.  With
 *		BPF_RECORD_KERNEL_DATA, the frames of the kernel stack.
 *
 * A kernel stack that is walked now begins in the caller of this function, the program.
 * A program with registers of its own, on a kprobe or a perf event, should store its
 * stack with bpf_get_stackid() and pass the id.  Programs that may sleep can use neither
 * perf arrays nor stack maps.
 *
 * Programs that handle packets need CAP_PERFMON, as stacks consist of addresses.
 * Iterators and LSM programs may not call this function, as they can reach maps that
 * were not given to them.
 *
 * Context: Any, NMI included.
 * Return: 0, or a negative error:
 *
 * * -EINVAL: @rec, its flags or the type of a map is invalid, or the dynptr is empty
 * * -E2BIG: the record is too long for its header or for the ring buffer, or @rec uses
 *   fields that this kernel does not know
 * * -ENOENT: a stack is no longer stored, or the perf array has no event at the index
 * * -EBUSY: too many nested programs walk stacks or write records
 * * -EFAULT: the packet is shorter than the dynptr, or not readable.  The record may be
 *   in a perf ring buffer nevertheless, with zeroes from the unreadable byte on
 * * -ENOSPC, -EOPNOTSUPP: as for bpf_perf_event_output()
 * * -EAGAIN: the BPF ring buffer has no room, or the code that an NMI interrupted holds
 *   its lock
 */
__bpf_kfunc int bpf_output_record(struct bpf_map *map, const struct bpf_record *rec,
				  u32 rec__sz, struct bpf_map *stacks__nullable,
				  const struct bpf_dynptr *data__nullable)
{
	const struct bpf_dynptr_kern *data = (const void *)data__nullable;
	struct output out = { .kernel_rctx = -1, .user_rctx = -1 };
	struct bpf_map *stacks = stacks__nullable;
	struct bpf_record known;
	struct pt_regs regs;
	int head, err = 0;

	head = record_get(&known, rec, rec__sz);
	if (head < 0)
		return head;
	if (!record_is_valid(&known, map, stacks) || known.tail > rec__sz - head)
		return -EINVAL;

	guard(preempt)();
	/* Programs that may fault do not hold the RCU read lock. */
	guard(rcu)();
	add_piece(&out, NULL, (const void *)rec + head, rec__sz - head - known.tail);
	if (known.stack) {
		memset(&regs, 0, sizeof(regs));
		perf_fetch_caller_regs(&regs);
		err = add_stacks(&out, &known, stacks, data, &regs);
	}
	if (!err && data && !(known.stack & BPF_RECORD_KERNEL_DATA))
		err = add_data(&out, data);
	if (!err && known.tail)
		add_piece(&out, NULL, (const void *)rec + rec__sz - known.tail, known.tail);
	if (!err)
		err = output_write(&out, map, known.flags);
	else if (map->map_type == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		bpf_output_lost(map, err == -EBUSY ? BPF_OUTPUT_NESTED :
				     BPF_OUTPUT_BAD_PIECE);
	output_end(&out);
	return err;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(record_kfunc_ids)
BTF_ID_FLAGS(func, bpf_output_record, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(record_kfunc_ids)

static int record_filter(const struct bpf_prog *prog, u32 kfunc_id)
{
	/* An extension runs as a part of the program that it extends. */
	enum bpf_prog_type type = resolve_prog_type(prog);

	if (!btf_id_set8_contains(&record_kfunc_ids, kfunc_id))
		return 0;
	if (type == BPF_PROG_TYPE_LSM ||
	    (type == BPF_PROG_TYPE_TRACING &&
	     prog->expected_attach_type == BPF_TRACE_ITER))
		return -EACCES;
	/* Tracing programs needed CAP_PERFMON to be loaded; others are checked here. */
	return bpf_token_capable(prog->aux->token, CAP_PERFMON) ? 0 : -EACCES;
}

static const struct btf_kfunc_id_set record_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &record_kfunc_ids,
	.filter = record_filter,
};

static int __init bpf_record_init(void)
{
	/* TRACING stands for tracepoints and perf events as well. */
	static const enum bpf_prog_type types[] = {
		BPF_PROG_TYPE_TRACING, BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_SCHED_CLS,
		BPF_PROG_TYPE_SCHED_ACT, BPF_PROG_TYPE_XDP,
	};
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(types); i++)
		err = register_btf_kfunc_id_set(types[i], &record_kfunc_set);
	return err;
}
late_initcall(bpf_record_init);

#ifdef CONFIG_BPF_RECORD_KUNIT_TEST
#include "record_kunit.c"
#endif
