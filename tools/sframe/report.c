// SPDX-License-Identifier: GPL-2.0
/* Adds results of files up and prints them. */
#include <stdio.h>

#include "check.h"

/**
 * tally_add() - add one file's result to a sum
 * @to:		The sum.
 * @from:	What is added.
 */
void tally_add(struct tally *to, const struct tally *from)
{
	const u64 *add = (const u64 *)from;
	u64 *sum = (u64 *)to;

	/* All fields are counters. */
	_Static_assert(sizeof(*to) % sizeof(u64) == 0, "no padding");
	for (size_t i = 0; i < sizeof(*to) / sizeof(u64); i++)
		sum[i] += add[i];
}

/**
 * entries_add() - add one file's entries to a sum
 * @to:		The sum.
 * @from:	What is added.
 */
void entries_add(struct entries *to, const struct entries *from)
{
	to->all += from->all;
	to->empty += from->empty;
	to->repeated += from->repeated;
	to->bytes += from->bytes;
}

/* A share in percent; nothing of nothing is all of it. */
static double percent(u64 part, u64 all)
{
	return all ? 100.0 * part / all : 100.0;
}

/* What printf takes. */
static unsigned long long n(u64 value)
{
	return value;
}

static void print_causes(const struct tally *tally)
{
	for (int i = 0; i < NUM_CAUSES; i++)
		if (tally->cause_functions[i] || tally->cause_bytes[i])
			printf("      %9llu functions %11llu bytes: %s\n",
			       n(tally->cause_functions[i]),
			       n(tally->cause_bytes[i]), cause_name(i));
}

static void print_tally(int format, const struct tally *tally, u64 cfi_size)
{
	u64 left = tally->rows - tally->equal - tally->differing;

	printf("  v%d: functions %llu, covered %llu (%.3f %%); ", format,
	       n(tally->functions), n(tally->covered),
	       percent(tally->covered, tally->functions));
	printf("code %llu bytes, covered %llu (%.3f %%)\n", n(tally->bytes),
	       n(tally->covered_bytes),
	       percent(tally->covered_bytes, tally->bytes));
	printf("      rows %llu, equal %llu, differing %llu, not expressed %llu; ",
	       n(tally->rows), n(tally->equal), n(tally->differing), n(left));
	printf("table %llu bytes (%.1f %% of the unwind sections)\n",
	       n(tally->table_size), percent(tally->table_size, cfi_size));
	print_causes(tally);
}

static void print_line(const char *name, const struct report *report)
{
	printf("%s:", name);
	for (int i = 0; i < NUM_FORMATS; i++) {
		const struct tally *tally = &report->tally[i];

		if (!report->asked[i])
			continue;
		printf(" v%d functions %llu/%llu bytes %.3f %%", FORMAT_V2 + i,
		       n(tally->covered), n(tally->functions),
		       percent(tally->covered_bytes, tally->bytes));
		printf(" rows %llu differing %llu", n(tally->rows),
		       n(tally->differing));
	}
	putchar('\n');
}

/**
 * report_print() - print what became of a file, or of all
 * @name:	The file.
 * @report:	Its result.
 * @summary:	In one line.
 */
void report_print(const char *name, const struct report *report, bool summary)
{
	if (report->state) {
		printf("%s: skipped: %s\n", name, report->error);
		return;
	}
	if (summary) {
		print_line(name, report);
		return;
	}
	printf("%s:\n", name);
	printf("  entries %llu, of them empty %llu, in both sections %llu\n",
	       n(report->entries.all), n(report->entries.empty),
	       n(report->entries.repeated));
	for (int i = 0; i < NUM_FORMATS; i++)
		if (report->asked[i])
			print_tally(FORMAT_V2 + i, &report->tally[i],
				    report->cfi_size);
}
