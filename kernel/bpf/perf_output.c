// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of records that BPF programs could not write to perf ring buffers, in each
 * BPF_MAP_TYPE_PERF_EVENT_ARRAY.
 *
 * A perf event counts a record that its ring buffer has no room for.  But if a program
 * finds no event, no event can count the record.  The map therefore counts all lost
 * records by reason, and its fdinfo shows the sums.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_output.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

static const char *const loss_names[BPF_OUTPUT_LOSSES] = {
	[BPF_OUTPUT_NO_EVENT]	= "lost_no_event",
	[BPF_OUTPUT_OTHER_CPU]	= "lost_other_cpu",
	[BPF_OUTPUT_BAD_EVENT]	= "lost_bad_event",
	[BPF_OUTPUT_NESTED]	= "lost_nested",
	[BPF_OUTPUT_TOO_LONG]	= "lost_too_long",
	[BPF_OUTPUT_NO_ROOM]	= "lost_no_room",
	[BPF_OUTPUT_UNREADABLE]	= "lost_unreadable",
	[BPF_OUTPUT_BAD_PIECE]	= "lost_bad_piece",
};

static struct bpf_output_stats __percpu *stats_of(const struct bpf_map *map)
{
	return container_of(map, struct bpf_array, map)->output_stats;
}

/**
 * bpf_output_lost - count a record that a program could not write
 * @map:	Map of perf events that the program wrote to.
 * @why:	Reason for the loss.
 *
 * Context: Any, NMI included.
 */
void bpf_output_lost(struct bpf_map *map, enum bpf_output_loss why)
{
	this_cpu_inc(stats_of(map)->lost[why]);
}

/**
 * bpf_output_stats_init - allocate the counters of a map of perf events
 * @map:	New map of perf events, which nothing else can reach yet.
 *
 * Context: Process context.  May sleep.
 * Return: 0, or -ENOMEM if memory is short.
 */
int bpf_output_stats_init(struct bpf_map *map)
{
	struct bpf_array *array = container_of(map, struct bpf_array, map);

	array->output_stats = alloc_percpu_gfp(struct bpf_output_stats,
					       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return array->output_stats ? 0 : -ENOMEM;
}

/**
 * bpf_output_stats_free - free the counters of a map of perf events
 * @map:	Map of perf events that is about to be freed.
 */
void bpf_output_stats_free(struct bpf_map *map)
{
	free_percpu(stats_of(map));
}

/**
 * bpf_output_stats_show - print the counters of a map of perf events
 * @map:	Map of perf events.
 * @m:		File to print to, the map's fdinfo.
 */
void bpf_output_stats_show(const struct bpf_map *map, struct seq_file *m)
{
	struct bpf_output_stats __percpu *stats = stats_of(map);
	u64 sum;
	int i, cpu;

	for (i = 0; i < BPF_OUTPUT_LOSSES; i++) {
		sum = 0;
		/* Other CPUs keep counting; each sum is only a snapshot. */
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(stats, cpu)->lost[i]);
		seq_printf(m, "%s:\t%llu\n", loss_names[i], sum);
	}
}
