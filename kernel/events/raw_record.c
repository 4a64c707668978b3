// SPDX-License-Identifier: GPL-2.0
/*
 * The raw part of a sample: a record that a tracepoint, a BPF program or a PMU driver
 * assembles from fragments.
 *
 *   u32 size | fragment | fragment | ... | 0 to 7 zeroes
 *
 * The size counts all bytes that follow it, zeroes included.  Size and record together
 * are a multiple of eight bytes.  A fragment with a copy function is not contiguous in
 * memory; perf calls that function for each page of the ring buffer.
 */
#include <linux/perf_event.h>

#include "internal.h"

/* Write a fragment.  Unreadable bytes become zeroes, so later fragments keep their place. */
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

	/* Readers must not see old bytes of the ring buffer. */
	__output_zero(handle, NULL, left);
	return -EFAULT;
}

/**
 * perf_output_raw - write a raw record
 * @handle:	Handle from perf_output_begin(), with room for the record.
 * @raw:	Record whose size perf_sample_save_raw_data() has set.
 *
 * Context: Any that the copy functions of the fragments allow.
 * Return: 0, or -EFAULT if a part of a fragment could not be read.
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
