// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of bpf_get_stackid() on any kernel: the medians for new and for stored
 * stacks, and that of bpf_get_stack() for the same frames, which is the walk alone.
 * Times are nanoseconds of CLOCK_MONOTONIC, which are instructions in a guest whose clock
 * counts them.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stack_map_lib.h"

#define ROUNDS	201

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median(uint64_t *times)
{
	qsort(times, ROUNDS, sizeof(*times), compare);
	return times[ROUNDS / 2];
}

static void bench(struct stacks *stacks, const char *what, unsigned int frames, bool hit,
		  uint64_t flags)
{
	volatile struct map_times *times = &stacks->skel->bss->times;
	uint64_t id[ROUNDS], walk[ROUNDS];
	unsigned int lost = 0;

	/*
	 * Little unused room, which the helper would clear, but one frame more than the
	 * stack has, so that the walk finds the end.
	 */
	stacks->skel->bss->walk_size = (frames < MAP_DEPTH ? frames + 1 : frames) *
				       sizeof(uint64_t);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		lost += stacks_take(stacks, 0, hit ? 0 : i, frames,
				    BPF_F_USER_STACK | flags) < 0;
		id[i] = times->id - times->empty;
		walk[i] = times->walk - times->empty;
	}
	printf("%-8s frames %3u, stackid %5llu, walk %5llu, difference %5lld, lost %u\n", what,
	       frames, (unsigned long long)median(id), (unsigned long long)median(walk),
	       (long long)(median(id) - median(walk)), lost);
}

int main(void)
{
	static const unsigned int depths[] = { 5, 13, 20, 25, 60, 110, 127 };

	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		struct stacks stacks;
		int err = stacks_open(&stacks, 8192, MAP_DEPTH, 0, STACKS_TIMED);

		if (err) {
			fprintf(stderr, "map_bench: %s\n", strerror(-err));
			return 1;
		}
		bench(&stacks, "new", depths[i], false, 0);
		bench(&stacks, "hit", depths[i], true, 0);
		bench(&stacks, "hit fast", depths[i], true, BPF_F_FAST_STACK_CMP);
		stacks_close(&stacks);
	}
	return 0;
}
