// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of the worst walks, with stacks and a table made for that.
 *
 * One stack has 1024 frames with tables.  The lookup of each is in a block with a row for
 * each byte, the most that there can be, and the rule reads three words of the stack.
 * The other stack has 1024 frames that no table covers; the walk finds each caller in the
 * last place that it tries.  Prints instructions a sample if the guest's clock counts
 * them.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/sframe.h>

#include "perf_ring.h"
#include "sframe_format.h"

#ifndef PR_ADD_SFRAME
#define PR_ADD_SFRAME	0x53464d41
#endif

#define FRAMES		1024
#define BYTES		(FRAMES + 128)
#define TEXT_BYTES	(1 << 16)
#define RING_SIZE	(64 * PERF_RING_PAGE)
#define ROUNDS		20

/* mov $SYS_getppid, %eax; xchg %rsp, %rdi; syscall; xchg %rsp, %rdi; ret */
static const uint8_t code[] = { 0xb8, SYS_getppid, 0, 0, 0, 0x48, 0x87, 0xe7,
				0x0f, 0x05, 0x48, 0x87, 0xe7, 0xc3 };
/*
 * CFA = *(SP), RA = *(CFA - 8), FP = *(CFA - 8 or - 16).  Two adjacent rows never have the
 * same rule.
 */
struct deep_row {
	uint16_t	start;
	uint8_t		info;
	int8_t		words[6];
} __attribute__((packed));

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void *map(size_t len, int prot)
{
	void *at = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

static struct deep_row deep_row(unsigned int at)
{
	struct deep_row row = { at, 6 << 1 };
	int8_t from_sp = 7 << SFRAME_V3_CONTROL_REG_SHIFT | SFRAME_V3_CONTROL_REG |
			 SFRAME_V3_CONTROL_DEREF;

	row.words[0] = from_sp;
	row.words[2] = SFRAME_V3_CONTROL_DEREF;
	row.words[3] = -8;
	row.words[4] = SFRAME_V3_CONTROL_DEREF;
	row.words[5] = at % 2 ? -8 : -16;
	return row;
}

static void make_table(struct sframe_region *region, uint8_t *text)
{
	struct table {
		struct sframe_header		header;
		struct sframe_v3_fde		fde;
		struct sframe_v3_attributes	attributes;
		struct deep_row			rows[BYTES];
	} __attribute__((packed)) *table = map(sizeof(*table), PROT_READ | PROT_WRITE);

	*table = (struct table){
		.header = {
			.preamble = { SFRAME_MAGIC, SFRAME_VERSION_3, SFRAME_F_FDE_SORTED },
			.abi_arch = SFRAME_ABI_AMD64_LE,
			.cfa_fixed_ra_offset = -8,
			.num_fdes = 1,
			.fre_len = sizeof(table->attributes) + sizeof(table->rows),
			.freoff = sizeof(table->fde),
		},
		.fde = { text - (uint8_t *)table, BYTES, 0 },
		.attributes = {
			.num_fres = BYTES,
			.info = SFRAME_FRE_ADDR2,
			.info2 = SFRAME_V3_FDE_FLEX,
		},
	};
	for (unsigned int i = 0; i < BYTES; i++)
		table->rows[i] = deep_row(i);
	region->sframe_start = (uintptr_t)table;
	region->sframe_size = sizeof(*table);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* Minimum time of several samples in the code at @entry.  Sets @depth to the last depth. */
static double sample(uint8_t *entry, uint64_t *stack, struct perf_ring *ring,
		     unsigned long *depth)
{
	static uint64_t words[PERF_RING_WORDS];
	struct perf_event_header header;
	double best = 1e18;

	for (int i = 0; i < ROUNDS; i++) {
		double start = now(), cost;

		((void (*)(void *))entry)(stack);
		cost = now() - start;
		best = cost < best ? cost : best;
		if (ring && perf_ring_next(ring, &header, words))
			*depth = words[0];
	}
	return best;
}

static void open_event(struct perf_ring *ring)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_kernel = 1,
		.sample_max_stack = FRAMES,
	};
	FILE *file = fopen("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", "r");
	int event;

	if (!file || fscanf(file, "%llu", &attr.config) != 1)
		fail("sys_enter_getppid");
	fclose(file);
	event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (event < 0 || !perf_ring_map(ring, event, RING_SIZE))
		fail("perf_event_open");
}

/* Each frame is two words: the address of the next frame, and a return address. */
static void fill_by_table(uint64_t *stack, const uint8_t *text)
{
	for (int i = 0; i < FRAMES + 16; i++) {
		stack[2 * i] = (uintptr_t)&stack[2 * i + 2];
		stack[2 * i + 1] = (uintptr_t)text + 64 + i % FRAMES;
	}
}

/*
 * Each frame is two words, both addresses of code, of which only the second follows a call.
 * With more words that do not follow a call, the walk would end sooner, see
 * UNWIND_USER_MAX_REJECTED.
 */
static void fill_by_guess(uint64_t *stack, uint8_t *text)
{
	for (int i = 64; i < TEXT_BYTES; i += 16)
		memcpy(text + i, (uint8_t[]){ 0xff, 0xd0 }, 2);
	for (int i = 0; i < 2 * (FRAMES + 16); i++)
		stack[i] = (uintptr_t)text + 64 + 16 * (i % FRAMES) + (i % 2 ? 2 : 8);
}

/* Print the cost of a sample; @none is the time of the system call without an event. */
static void measure(const char *name, uint8_t *text, uint64_t *stack, double none,
		    struct perf_ring *ring)
{
	unsigned long frames = 0;
	double deep;

	memcpy(text, code, sizeof(code));
	deep = sample(text, stack, ring, &frames);
	printf("%-14s no event %5.0f, %lu entries %7.0f: %.0f a frame\n", name, none, frames,
	       deep, (deep - none) / frames);
}

int main(void)
{
	uint8_t *text = map(TEXT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint64_t *stack = map(2 * (FRAMES + 64) * 8, PROT_READ | PROT_WRITE);
	struct sframe_region region = {
		.text_start = (uintptr_t)text,
		.text_size = TEXT_BYTES,
	};
	struct perf_ring ring;
	double none;

	make_table(&region, text);
	if (prctl(PR_ADD_SFRAME, &region, sizeof(region), 0, 0))
		fail("PR_ADD_SFRAME");
	memcpy(text, code, sizeof(code));
	none = sample(text, stack, NULL, NULL);
	open_event(&ring);
	fill_by_table(stack, text);
	measure("hostile table", text, stack, none, &ring);
	text = map(TEXT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
	fill_by_guess(stack, text);
	measure("hostile stack", text, stack, none, &ring);
	return 0;
}
