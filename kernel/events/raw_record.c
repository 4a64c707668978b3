// SPDX-License-Identifier: GPL-2.0
/*
 * The raw part of a sample: a record that a tracepoint, a BPF program or a PMU's driver
 * puts together of fragments.
 *
 *   u32 size | fragment | fragment | ... | 0 to 7 zeroes
 *
 * The size is of all that follows it, the zeroes included, and size and record together
 * are a multiple of eight bytes.  A fragment with a copy function is not linear in
 * memory; that function is called for each page of the ring buffer.
 */
#include <linux/perf_event.h>

#include "internal.h"

/* Write a fragment.  What cannot be read is zeroes, and what follows is in its place. */
static int output_frag(struct perf_output_handle *handle,
		       const struct perf_raw_frag *frag)
{
	unsigned long left;

	if (frag->copy)
		left = __output_custom(handle, frag->copy, frag->data, frag->size);
	else
		left = __output_copy(handle, frag->data, frag->size);
	if (likely(!left))
		return 0;

	/* The reader must not see what was in the ring buffer before. */
	__output_zero(handle, NULL, left);
	return -EFAULT;
}

/**
 * perf_output_raw - write a raw record
 * @handle:	From perf_output_begin(), with room for the record.
 * @raw:	The record, with its size from perf_sample_save_raw_data().
 *
 * May be called in any context that the copy functions of the fragments allow.
 *
 * Return: 0, or -EFAULT if a fragment could not be read as a whole
 */
int perf_output_raw(struct perf_output_handle *handle,
		    const struct perf_raw_record *raw)
{
	const struct perf_raw_frag *frag = &raw->frag;
	int err;

	perf_output_put(handle, raw->size);
	err = output_frag(handle, frag);
	while (!perf_raw_frag_last(frag)) {
		frag = frag->next;
		err = output_frag(handle, frag) ?: err;
	}
	if (frag->pad)
		__output_zero(handle, NULL, frag->pad);
	return err;
}
