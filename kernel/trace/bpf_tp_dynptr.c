// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_dynptr_from_data_loc(): lets programs read the dynamic fields of a tracepoint's
 * record, __data_loc in its format, without a copy.
 */
#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/trace_events.h>

#include "trace.h"

__bpf_kfunc_start_defs();

/**
 * bpf_dynptr_from_data_loc - read a dynamic field of a tracepoint's record in place
 * @data_loc:		Value of a __data_loc field: the offset of the data in the record in
 *			the lower 16 bits, their length in the upper 16 bits.  For a
 *			__rel_loc field, add the offset of the end of the field.
 * @flags:		Must be 0.
 * @ptr__uninit:	Set to a read-only dynptr of the data, valid while the program
 *			runs.  Set to a null dynptr after an error.
 *
 * Only programs on tracepoints can call this function.
 *
 * Context: Any.
 * Return: 0; -EINVAL if @flags is not 0; -ERANGE if the data are not in the record, after
 * its common fields; -ENODATA if this hit has no record.
 */
__bpf_kfunc int bpf_dynptr_from_data_loc(u32 data_loc, u64 flags,
					 struct bpf_dynptr *ptr__uninit)
{
	struct bpf_dynptr_kern *ptr = (struct bpf_dynptr_kern *)ptr__uninit;
	const struct bpf_trace_run_ctx *run_ctx;
	u32 offset = data_loc & 0xffff, len = data_loc >> 16;
	int err = 0;

	/* tp_kfunc_filter() admits only tracepoint programs, which have such a run_ctx. */
	run_ctx = container_of(current->bpf_ctx, struct bpf_trace_run_ctx, run_ctx);
	if (flags)
		err = -EINVAL;
	else if (!run_ctx->tp_record)
		err = -ENODATA;
	else if (offset < sizeof(struct trace_entry) || offset + len > run_ctx->tp_size)
		err = -ERANGE;
	if (err) {
		bpf_dynptr_set_null(ptr);
		return err;
	}

	bpf_dynptr_init(ptr, run_ctx->tp_record + offset, BPF_DYNPTR_TYPE_LOCAL, 0, len);
	bpf_dynptr_set_rdonly(ptr);
	return 0;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(tp_kfunc_ids)
BTF_ID_FLAGS(func, bpf_dynptr_from_data_loc)
BTF_KFUNCS_END(tp_kfunc_ids)

BTF_ID_LIST_SINGLE(data_loc_id, func, bpf_dynptr_from_data_loc)

/**
 * tp_prog_reads_record - whether a program reads the record by bpf_dynptr_from_data_loc()
 * @prog:	Program whose calls still hold BTF ids rather than addresses.
 *
 * Return: true if the program calls bpf_dynptr_from_data_loc().
 */
bool tp_prog_reads_record(const struct bpf_prog *prog)
{
	const struct bpf_insn *insn;

	for (insn = prog->insnsi; insn < prog->insnsi + prog->len; insn++)
		if (insn->code == (BPF_JMP | BPF_CALL) &&
		    insn->src_reg == BPF_PSEUDO_KFUNC_CALL && !insn->off &&
		    insn->imm == *data_loc_id)
			return true;
	return false;
}

static int tp_kfunc_filter(const struct bpf_prog *prog, u32 kfunc_id)
{
	if (!btf_id_set8_contains(&tp_kfunc_ids, kfunc_id))
		return 0;
	return resolve_prog_type(prog) == BPF_PROG_TYPE_TRACEPOINT ? 0 : -EACCES;
}

static const struct btf_kfunc_id_set tp_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &tp_kfunc_ids,
	.filter = tp_kfunc_filter,
};

static int __init bpf_tp_kfunc_init(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACEPOINT, &tp_kfunc_set);
}
late_initcall(bpf_tp_kfunc_init);
