// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of the worst walks, with stacks and tables made for that, beside an ordinary
 * walk of as many frames.
 *
 * All stacks have 1024 frames.  Those of the ordinary walk have plain rows.  Of the hostile table,
 * each lookup is in a block with a row for each byte, the most that there can be, and each rule
 * reads three words of the stack.  The other stacks have frames that no table covers.  Prints
 * instructions a sample if the guest's clock counts them.
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
#define MAX_TEXTS	32

/*
 * push %rbp; mov %rsi, %rbp; mov $SYS_getppid, %eax; xchg %rsp, %rdi; syscall; xchg %rsp, %rdi;
 * pop %rbp; ret
 */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xf5, 0xb8, SYS_getppid, 0, 0, 0, 0x48, 0x87,
				0xe7, 0x0f, 0x05, 0x48, 0x87, 0xe7, 0x5d, 0xc3 };

/* A table of one function */
struct table {
	struct sframe_header		header;
	struct sframe_v3_fde		fde;
	struct sframe_v3_attributes	attributes;
	uint8_t				rows[];
} __attribute__((packed));

/* CFA = SP + 16 */
struct plain_row {
	uint16_t	start;
	uint8_t		info;
	int8_t		cfa;
} __attribute__((packed));

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

/* Memory for code; a hole keeps the mapping apart from the next one. */
static uint8_t *map_text(void)
{
	uint8_t *text = map(TEXT_BYTES + PERF_RING_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);

	munmap(text + TEXT_BYTES, PERF_RING_PAGE);
	return text;
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

/* Register a table of @nr rows of @size bytes each for @text. */
static void add_table(uint8_t *text, const void *rows, unsigned int nr, size_t size, uint8_t info2)
{
	struct table *table = map(sizeof(*table) + nr * size, PROT_READ | PROT_WRITE);
	struct sframe_region region = {
		.sframe_start = (uintptr_t)table,
		.sframe_size = sizeof(*table) + nr * size,
		.text_start = (uintptr_t)text,
		.text_size = TEXT_BYTES,
	};

	*table = (struct table){
		.header = {
			.preamble = { SFRAME_MAGIC, SFRAME_VERSION_3, SFRAME_F_FDE_SORTED },
			.abi_arch = SFRAME_ABI_AMD64_LE,
			.cfa_fixed_ra_offset = -8,
			.num_fdes = 1,
			.fre_len = sizeof(table->attributes) + nr * size,
			.freoff = sizeof(table->fde),
		},
		.fde = { text - (uint8_t *)table, BYTES, 0 },
		.attributes = {
			.num_fres = nr,
			.info = SFRAME_FRE_ADDR2,
			.info2 = info2,
		},
	};
	memcpy(table->rows, rows, nr * size);
	if (prctl(PR_ADD_SFRAME, &region, sizeof(region), 0, 0))
		fail("PR_ADD_SFRAME");
}

static void add_plain_table(uint8_t *text)
{
	/* One offset of a byte, from the stack pointer */
	struct plain_row row = { 0, 1 << 1 | 1, 16 };

	add_table(text, &row, 1, sizeof(row), 0);
}

static void add_deep_table(uint8_t *text)
{
	static struct deep_row rows[BYTES];

	for (unsigned int i = 0; i < BYTES; i++)
		rows[i] = deep_row(i);
	add_table(text, rows, BYTES, sizeof(rows[0]), SFRAME_V3_FDE_FLEX);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* Minimum time of several samples in the code at @entry.  Sets @depth to the last depth. */
static double sample(uint8_t *entry, uint64_t *stack, uint64_t *fp, struct perf_ring *ring,
		     unsigned long *depth)
{
	static uint64_t words[PERF_RING_WORDS];
	struct perf_event_header header;
	double best = 1e18;

	for (int i = 0; i < ROUNDS; i++) {
		double start = now(), cost;

		((void (*)(void *, void *))entry)(stack, fp);
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

/* Code with an indirect call every 16 bytes, before the address that this returns for @i. */
static uint64_t after_call(uint8_t *text, unsigned int i)
{
	uint8_t *at = text + 64 + 16 * (i % FRAMES);

	memcpy(at, (uint8_t[]){ 0xff, 0xd0 }, 2);
	return (uintptr_t)at + 2;
}

/* Each frame is two words: the address of the next frame, and a return address. */
static uint64_t *fill_by_table(uint64_t *stack, uint8_t **texts, unsigned int nr)
{
	for (int i = 0; i < FRAMES + 16; i++) {
		stack[2 * i] = (uintptr_t)&stack[2 * i + 2];
		stack[2 * i + 1] = (uintptr_t)texts[0] + 64 + i % FRAMES;
	}
	return NULL;
}

/* Frames with plain rows of @nr tables in turn */
static uint64_t *fill_by_tables(uint64_t *stack, uint8_t **texts, unsigned int nr)
{
	for (unsigned int i = 1; i < nr; i++)
		add_plain_table(texts[i]);
	for (unsigned int i = 0; i < FRAMES + 16; i++)
		stack[2 * i + 1] = after_call(texts[i % nr], i % 64);
	return NULL;
}

/* Each frame is @nr words, all addresses of code, of which only the last follows a call. */
static uint64_t *fill_by_scan(uint64_t *stack, uint8_t **texts, unsigned int nr)
{
	for (unsigned int i = 0; i < nr * (FRAMES + 16); i++)
		stack[i] = after_call(texts[0], i) + ((i + 1) % nr ? 6 : 0);
	return NULL;
}

/* Only the innermost frame has no row. */
static uint64_t *fill_after_scan(uint64_t *stack, uint8_t **texts, unsigned int nr)
{
	add_plain_table(texts[1]);
	for (int i = 0; i < FRAMES + 16; i++)
		stack[2 * i + 1] = after_call(texts[1], i % 64);
	return NULL;
}

/*
 * A function calls itself that has pushed three words, which may be return addresses, too.  The
 * system call is one of its instructions.
 */
static uint64_t *fill_by_call(uint64_t *stack, uint8_t **texts, unsigned int nr)
{
	/* The code begins with the third one. */
	static const uint8_t pushes[] = { 0x53, 0x53 };
	int32_t back = -64 - 5 - (int)sizeof(pushes);
	uint8_t *text = texts[0];

	/* The code that the event hits moves behind the pushes, see struct walk's @entry. */
	memmove(text + sizeof(pushes), text, sizeof(code));
	memcpy(text, pushes, sizeof(pushes));
	text[64 + sizeof(pushes)] = 0xe8;
	memcpy(text + 64 + sizeof(pushes) + 1, &back, sizeof(back));
	for (int i = 0; i < 4 * (FRAMES + 16); i++)
		stack[i] = (uintptr_t)text + ((i + 1) % 4 ? 128 : 64 + sizeof(pushes) + 5);
	return NULL;
}

/* Frame records, and code in @nr mappings in turn */
static uint64_t *fill_by_records(uint64_t *stack, uint8_t **texts, unsigned int nr)
{
	for (unsigned int i = 0; i < FRAMES + 16; i++) {
		stack[2 * i] = (uintptr_t)&stack[2 * i + 2];
		stack[2 * i + 1] = after_call(texts[i % nr], i);
	}
	return stack;
}

/* Frame records, and code of which the table knows nothing */
static uint64_t *fill_by_records_in_table(uint64_t *stack, uint8_t **texts, unsigned int nr)
{
	for (unsigned int i = 0; i < FRAMES + 16; i++) {
		stack[2 * i] = (uintptr_t)&stack[2 * i + 2];
		stack[2 * i + 1] = (uintptr_t)texts[0] + 2 * BYTES + 16 * i;
	}
	return stack;
}

/* Every second frame has a row, which leaves the frame pointer alone. */
static uint64_t *fill_by_records_and_rows(uint64_t *stack, uint8_t **texts, unsigned int nr)
{
	add_plain_table(texts[1]);
	for (int i = 0; i < FRAMES + 16; i++) {
		stack[4 * i] = (uintptr_t)&stack[4 * i + 4];
		stack[4 * i + 1] = after_call(texts[1], i % 64);
		stack[4 * i + 3] = after_call(texts[0], i);
	}
	return stack;
}

static const struct walk {
	const char	*name;
	void		(*add_table)(uint8_t *text);
	/* Fills the stack, for code in the @texts, and returns the frame pointer. */
	uint64_t	*(*fill)(uint64_t *stack, uint8_t **texts, unsigned int nr);
	unsigned int	nr;
	/* Offset of the code to call in the first text */
	unsigned int	entry;
} walks[] = {
	{ "ordinary", add_plain_table, fill_by_table },
	{ "slow table", add_deep_table, fill_by_table },
	{ "two tables in turn", add_plain_table, fill_by_tables, 2 },
	{ "four tables in turn", add_plain_table, fill_by_tables, 4 },
	{ "32 tables in turn", add_plain_table, fill_by_tables, MAX_TEXTS },
	{ "scans, first word", NULL, fill_by_scan, 1 },
	{ "scans, second word", NULL, fill_by_scan, 2 },
	{ "scans, fourth word", NULL, fill_by_scan, 4 },
	{ "rows after a scan", NULL, fill_after_scan },
	{ "direct calls", NULL, fill_by_call, .entry = 2 },
	{ "frame pointers, two mappings", NULL, fill_by_records, 2 },
	{ "frame pointers, three mappings", NULL, fill_by_records, 3 },
	{ "frame pointers, 16 mappings", NULL, fill_by_records, 16 },
	{ "frame pointers, 32 mappings", NULL, fill_by_records, MAX_TEXTS },
	{ "frame pointers, code without rows", add_plain_table, fill_by_records_in_table },
	{ "frame pointers between rows", NULL, fill_by_records_and_rows },
};

/* Print the cost of a sample of @walk, and how that compares with that of the @first. */
static void measure(const struct walk *walk, struct perf_ring *ring, double none, double *first)
{
	uint64_t *stack = map(4 * (FRAMES + 64) * sizeof(*stack), PROT_READ | PROT_WRITE), *fp;
	uint8_t *texts[MAX_TEXTS];
	unsigned long frames = 0;
	double cost;

	for (int i = 0; i < MAX_TEXTS; i++)
		texts[i] = map_text();
	memcpy(texts[0], code, sizeof(code));
	if (walk->add_table)
		walk->add_table(texts[0]);
	fp = walk->fill(stack, texts, walk->nr);
	cost = sample(texts[0] + walk->entry, stack, fp, ring, &frames) - none;
	if (!*first)
		*first = cost;
	printf("%-32s %5lu entries %7.0f, %.1f of an ordinary walk\n", walk->name, frames, cost,
	       cost / *first);
}

int main(void)
{
	uint8_t *text = map_text();
	uint64_t stack[8] = { 0 };
	struct perf_ring ring;
	double none, first = 0;

	memcpy(text, code, sizeof(code));
	none = sample(text, stack, NULL, NULL, NULL);
	open_event(&ring);
	for (unsigned int i = 0; i < sizeof(walks) / sizeof(walks[0]); i++)
		measure(&walks[i], &ring, none, &first);
	return 0;
}
