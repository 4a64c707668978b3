// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of bpf_get_stackid() for new and for stored stacks, and that of
 * bpf_get_stack() for the same frames, of which it copies one: the walk alone.  The program
 * itself reads the clock before and after each, so that the system call is not measured.
 * Times are nanoseconds, which are instructions in a guest whose clock counts them.
 */
#include <argp.h>
#include <stdint.h>

#include "bench.h"
#include "../stack_map_lib.h"

#define ROUNDS	201

static struct {
	struct stacks	stacks;
	uint64_t	id[ROUNDS];
	uint64_t	walk[ROUNDS];
	long		taken;
	long		lost;
} ctx;

static struct {
	unsigned int	frames;
} args = {
	.frames = 20,
};

enum {
	ARG_STACK_FRAMES = 13000,
};

static const struct argp_option opts[] = {
	{ "stack-frames", ARG_STACK_FRAMES, "FRAMES", 0, "Depth of the stacks, 2 to 127" },
	{},
};

static error_t parse_arg(int key, char *arg, struct argp_state *state)
{
	if (key != ARG_STACK_FRAMES)
		return ARGP_ERR_UNKNOWN;
	args.frames = strtoul(arg, NULL, 10);
	if (args.frames < 2 || args.frames > MAP_DEPTH) {
		fprintf(stderr, "Invalid number of frames (2 to %d)\n", MAP_DEPTH);
		argp_usage(state);
	}
	return 0;
}

const struct argp bench_stackmap_argp = {
	.options = opts,
	.parser = parse_arg,
};

static void validate(void)
{
	if (env.producer_cnt != 1 || env.consumer_cnt != 0) {
		fprintf(stderr, "benchmark needs one producer and no consumer!\n");
		exit(1);
	}
}

static void setup(void)
{
	int err;

	setup_libbpf();
	err = stacks_open(&ctx.stacks, 8192, MAP_DEPTH, 0, STACKS_TIMED);
	if (err) {
		fprintf(stderr, "failed to load the program: %s\n", strerror(-err));
		exit(1);
	}
	/* One frame more than the stack has is walked to, so that the walk finds the end. */
	ctx.stacks.skel->bss->walk_skip = args.frames - 1;
}

static void take(uint32_t seed, uint64_t flags)
{
	volatile struct map_times *times = &ctx.stacks.skel->bss->times;

	ctx.lost += stacks_take(&ctx.stacks, 0, seed, args.frames, BPF_F_USER_STACK | flags) < 0;
	ctx.id[ctx.taken] = times->id - times->empty;
	ctx.walk[ctx.taken] = times->walk - times->empty;
	atomic_inc(&ctx.taken);
}

static void *produce_new(void *input)
{
	while (ctx.taken < ROUNDS)
		take(ctx.taken, 0);
	return NULL;
}

static void *produce_hits(void *input)
{
	/* The first one is new; the median does not see it. */
	while (ctx.taken < ROUNDS)
		take(0, 0);
	return NULL;
}

static void *produce_fast_hits(void *input)
{
	while (ctx.taken < ROUNDS)
		take(0, BPF_F_FAST_STACK_CMP);
	return NULL;
}

static void measure(struct bench_res *res)
{
	res->hits = ctx.taken;
	res->drops = ctx.lost;
}

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

static void report_final(struct bench_res res[], int res_cnt)
{
	uint64_t id, walk;

	if (ctx.taken < ROUNDS) {
		fprintf(stderr, "%ld of %d stacks taken; raise --duration\n", ctx.taken, ROUNDS);
		exit(1);
	}
	id = median(ctx.id);
	walk = median(ctx.walk);
	printf("%s, %u frames: stackid %5llu ns, walk %5llu ns, difference %5lld ns, lost %ld\n",
	       bench->name, args.frames, (unsigned long long)id, (unsigned long long)walk,
	       (long long)(id - walk), ctx.lost);
}

const struct bench bench_stackmap_new = {
	.name = "stackmap-new",
	.argp = &bench_stackmap_argp,
	.validate = validate,
	.setup = setup,
	.producer_thread = produce_new,
	.measure = measure,
	.report_final = report_final,
};

const struct bench bench_stackmap_hit = {
	.name = "stackmap-hit",
	.argp = &bench_stackmap_argp,
	.validate = validate,
	.setup = setup,
	.producer_thread = produce_hits,
	.measure = measure,
	.report_final = report_final,
};

const struct bench bench_stackmap_hit_fast = {
	.name = "stackmap-hit-fast",
	.argp = &bench_stackmap_argp,
	.validate = validate,
	.setup = setup,
	.producer_thread = produce_fast_hits,
	.measure = measure,
	.report_final = report_final,
};
