/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BPF_PERF_OUTPUT_H
#define _LINUX_BPF_PERF_OUTPUT_H

#include <linux/types.h>

struct bpf_map;
struct seq_file;

/**
 * enum bpf_output_loss - reasons why a BPF program's record is lost or incomplete
 * @BPF_OUTPUT_NO_EVENT:	The map has no event at the index, or no such index.
 *				CPUs that came online after the tool started have none.
 * @BPF_OUTPUT_OTHER_CPU:	The event at the index counts on another CPU.
 * @BPF_OUTPUT_BAD_EVENT:	The event is not a BPF output event, or takes no raw data: then
 *				the sample is written without it.
 * @BPF_OUTPUT_NESTED:		Too many nested programs write records.
 * @BPF_OUTPUT_TOO_LONG:	The record exceeds the header's size field or the ring
 *				buffer.
 * @BPF_OUTPUT_NO_ROOM:		The ring buffer is full, paused or not mapped.
 * @BPF_OUTPUT_UNREADABLE:	The record was written with zeroes for unreadable bytes.
 * @BPF_OUTPUT_BAD_PIECE:	The record was not written, as one of its pieces is
 *				invalid or no longer stored.
 * @BPF_OUTPUT_LOSSES:		Number of reasons.
 */
enum bpf_output_loss {
	BPF_OUTPUT_NO_EVENT,
	BPF_OUTPUT_OTHER_CPU,
	BPF_OUTPUT_BAD_EVENT,
	BPF_OUTPUT_NESTED,
	BPF_OUTPUT_TOO_LONG,
	BPF_OUTPUT_NO_ROOM,
	BPF_OUTPUT_UNREADABLE,
	BPF_OUTPUT_BAD_PIECE,
	BPF_OUTPUT_LOSSES
};

/**
 * struct bpf_output_stats - lost records of one map on one CPU
 * @lost:	Number of records by reason.  Only this CPU writes them, in any context.
 */
struct bpf_output_stats {
	u64 lost[BPF_OUTPUT_LOSSES];
};

void bpf_output_lost(struct bpf_map *map, enum bpf_output_loss why);
int bpf_output_stats_init(struct bpf_map *map);
void bpf_output_stats_free(struct bpf_map *map);
void bpf_output_stats_show(const struct bpf_map *map, struct seq_file *m);

#endif /* _LINUX_BPF_PERF_OUTPUT_H */
