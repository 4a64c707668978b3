// SPDX-License-Identifier: GPL-2.0
/*
 * What the worst walk costs: a stack and a table made for that.
 *
 * 1024 frames, each of which looks its row up in a table of a million functions, in
 * one of as many rows as the walk's budget has for each of them, with a rule that
 * neither fits the row cache nor a load: the bound that kernel/unwind/sframe_decode.c
 * states, in both factors at once.  A second function has all rows of the budget.
 * Prints instructions a sample where the guest's clock counts them.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "prctl.h"
#include "sframe_format.h"

#define FRAMES		1024
/* Of a walk that cannot sleep: UNWIND_USER_BUDGET_RESIDENT in kernel/unwind/user.c. */
#define BUDGET		(32 << 10)
#define ROWS_EACH	(BUDGET / FRAMES)
#define ROWS_MANY	60000
#define FUNCTIONS	(1 << 20)
#define TEXT_BYTES	(4 << 20)
#define PAGES		64
#define ROUNDS		20

/* The functions that matter are the last two, where the search is longest. */
#define DEEP_AT		(2 << 20)
#define LONG_AT		(3 << 20)

/* mov $SYS_getppid, %eax; xchg %rsp, %rdi; syscall; xchg %rsp, %rdi; ret */
static const uint8_t code[] = { 0xb8, SYS_getppid, 0, 0, 0, 0x48, 0x87, 0xe7,
				0x0f, 0x05, 0x48, 0x87, 0xe7, 0xc3 };
/* A word for the start, the info byte, and words of four bytes. */
struct wide_row {
	uint32_t	start;
	uint8_t		info;
	int32_t		words[15];
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

/* The rows of a function at @to; all start at its first byte, the last one counts. */
static uint8_t *put_rows(uint8_t *to, unsigned int rows)
{
	struct sframe_v3_attributes attr = {
		.num_fres = rows,
		.info = SFRAME_FRE_ADDR4,
		.info2 = SFRAME_V3_FDE_FLEX,
	};
	struct wide_row row = { .info = 15 << 1 | 2 << 5 };

	memcpy(to, &attr, sizeof(attr));
	to += sizeof(attr);
	for (unsigned int i = 0; i < rows; i++) {
		size_t len = sizeof(row);

		if (i == rows - 1) {
			/* CFA = SP + 8, and FP = *(CFA - 24) as a rule of RBX cannot be. */
			row.info = 2 << 1 | 2 << 5;
			row.words[0] = 7 << SFRAME_V3_CONTROL_REG_SHIFT | SFRAME_V3_CONTROL_REG;
			row.words[1] = 8;
			len = 5 + 2 * 4;
		}
		memcpy(to, &row, len);
		to += len;
	}
	return to;
}

static void make_table(struct sframe_region *region, uint8_t *text)
{
	size_t fdes = sizeof(struct sframe_v3_fde) * FUNCTIONS;
	size_t room = sizeof(struct sframe_header) + fdes +
		      (ROWS_EACH + ROWS_MANY + 2) * sizeof(struct wide_row);
	uint8_t *table = map(room, PROT_READ | PROT_WRITE), *rows, *end;
	struct sframe_header *header = (void *)table;
	struct sframe_v3_fde *fde = (void *)(header + 1);
	int64_t start = text - table;

	rows = (uint8_t *)fde + fdes;
	for (int i = 0; i < FUNCTIONS; i++)
		fde[i] = (struct sframe_v3_fde){ start + i, 1, 0 };
	fde[FUNCTIONS - 2] = (struct sframe_v3_fde){ start + DEEP_AT, 1 << 20, 0 };
	end = put_rows(rows, ROWS_EACH);
	fde[FUNCTIONS - 1] = (struct sframe_v3_fde){ start + LONG_AT, 1 << 20, end - rows };
	end = put_rows(end, ROWS_MANY);
	*header = (struct sframe_header){
		.preamble = { SFRAME_MAGIC, SFRAME_VERSION_3, SFRAME_F_FDE_SORTED },
		.abi_arch = SFRAME_ABI_AMD64_LE,
		.cfa_fixed_ra_offset = -8,
		.num_fdes = FUNCTIONS,
		.fre_len = end - rows,
		.freoff = fdes,
	};
	region->sframe_start = (uintptr_t)table;
	region->sframe_size = room;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* The best of some samples in the code at @entry; *@depth: frames of the last one. */
static double sample(uint8_t *entry, uint64_t *stack, struct perf_event_mmap_page *ring,
		     unsigned long *depth)
{
	double best = 1e18;

	for (int i = 0; i < ROUNDS; i++) {
		uint8_t *data = (uint8_t *)ring + (ring ? ring->data_offset : 0);
		double start = now(), cost;

		((void (*)(void *))entry)(stack);
		cost = now() - start;
		best = cost < best ? cost : best;
		if (!ring)
			continue;
		*depth = *(uint64_t *)(data + (ring->data_tail +
					       sizeof(struct perf_event_header)) %
				       ring->data_size);
		ring->data_tail = ring->data_head;
	}
	return best;
}

static struct perf_event_mmap_page *open_event(void)
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
	void *ring;
	int event;

	if (!file || fscanf(file, "%llu", &attr.config) != 1)
		fail("sys_enter_getppid");
	fclose(file);
	event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	ring = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	if (event < 0 || ring == MAP_FAILED)
		fail("perf_event_open");
	return ring;
}

int main(void)
{
	uint8_t *text = map(TEXT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint64_t *stack = map((FRAMES + 64) * 8, PROT_READ | PROT_WRITE);
	struct sframe_region region = {
		.text_start = (uintptr_t)text,
		.text_size = TEXT_BYTES,
	};
	struct perf_event_mmap_page *ring;
	double none, deep, many;
	unsigned long frames = 0, ended = 0;

	make_table(&region, text);
	/* What is copied would be refused. */
	if (prctl(PR_ADD_SFRAME, &region, sizeof(region), SFRAME_ADD_LAZY, 0))
		fail("PR_ADD_SFRAME");
	memcpy(text + DEEP_AT, code, sizeof(code));
	memcpy(text + LONG_AT, code, sizeof(code));
	/* Each frame returns to an address of its own, of which no two share a slot. */
	for (int i = 0; i < FRAMES + 64; i++)
		stack[i] = (uintptr_t)text + DEEP_AT + 64 + i;

	none = sample(text + DEEP_AT, stack, NULL, NULL);
	ring = open_event();
	deep = sample(text + DEEP_AT, stack, ring, &frames);
	many = sample(text + LONG_AT, stack, ring, &ended);
	printf("hostile        no event %5.0f, %lu entries %7.0f: %.0f a frame; %d rows in one function: %lu entries %7.0f\n",
	       none, frames, deep, (deep - none) / frames, ROWS_MANY, ended, many);
	return 0;
}
