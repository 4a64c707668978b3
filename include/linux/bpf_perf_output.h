/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BPF_PERF_OUTPUT_H
#define _LINUX_BPF_PERF_OUTPUT_H

#include <linux/types.h>

struct bpf_map;
struct seq_file;

/**
 * enum bpf_output_loss - why a record that a BPF program wrote is not in a ring buffer
 * @BPF_OUTPUT_NO_EVENT:	The map has no event at the index, or no such index.
 *				CPUs that came up after the tool began have none.
 * @BPF_OUTPUT_OTHER_CPU:	The event at the index counts on another CPU.
 * @BPF_OUTPUT_BAD_EVENT:	It is no event for output, or takes no raw data.
 * @BPF_OUTPUT_NESTED:		Too many programs write records within one another.
 * @BPF_OUTPUT_TOO_LONG:	Longer than a header can say, or than the ring buffer.
 * @BPF_OUTPUT_NO_ROOM:		The ring buffer is full, paused, or not there.
 * @BPF_OUTPUT_UNREADABLE:	Written, with zeroes for what could not be read.
 * @BPF_OUTPUT_BAD_PIECE:	Not written, as one of several pieces is not there.
 * @BPF_OUTPUT_LOSSES:		How many reasons there are.
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
 * struct bpf_output_stats - records of a map's programs that were lost, by reason
 * @lost:	Written by the CPU that they belong to, in any context.
 */
struct bpf_output_stats {
	u64 lost[BPF_OUTPUT_LOSSES];
};

void bpf_output_lost(struct bpf_map *map, enum bpf_output_loss why);
int bpf_output_stats_init(struct bpf_map *map);
void bpf_output_stats_free(struct bpf_map *map);
void bpf_output_stats_show(const struct bpf_map *map, struct seq_file *m);

#endif /* _LINUX_BPF_PERF_OUTPUT_H */
