// SPDX-License-Identifier: GPL-2.0
/* Adds up the results of files, and prints them. */
#include <stdio.h>

#include "base/text.h"
#include "check/report.h"

/**
 * tally_add() - add one file's result to a sum
 * @to:		The sum.
 * @from:	The file's result.
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
 * followed_add() - add one file's code to a sum
 * @to:		The sum.
 * @from:	The file's code.
 */
void followed_add(struct followed_tally *to, const struct followed_tally *from)
{
	to->insns += from->insns;
	to->rows += from->rows;
	to->equal += from->equal;
	to->otherwise += from->otherwise;
	to->open += from->open;
	to->refuted += from->refuted;
	to->differing += from->differing;
}

/**
 * entries_add() - add one file's entries to a sum
 * @to:		The sum.
 * @from:	The file's entries.
 */
void entries_add(struct entries *to, const struct entries *from)
{
	to->all += from->all;
	to->empty += from->empty;
	to->repeated += from->repeated;
	to->bytes += from->bytes;
}

/* @part in percent of @all; 100 if there is nothing. */
static double percent(u64 part, u64 all)
{
	return all ? 100.0 * part / all : 100.0;
}

static void print_causes(const struct tally *tally)
{
	for (int i = 0; i < NUM_CAUSES; i++)
		if (tally->cause_functions[i] || tally->cause_bytes[i])
			printf("      %9llu functions %11llu bytes: %s\n",
			       as_ull(tally->cause_functions[i]),
			       as_ull(tally->cause_bytes[i]), cause_name(i));
}

static void print_tally(int format, const struct tally *tally, u64 cfi_size)
{
	u64 left = tally->rows - tally->equal - tally->differing;

	printf("  v%d: functions %llu, covered %llu (%.3f %%); ", format,
	       as_ull(tally->functions), as_ull(tally->covered),
	       percent(tally->covered, tally->functions));
	printf("code %llu bytes, covered %llu (%.3f %%)\n", as_ull(tally->bytes),
	       as_ull(tally->covered_bytes),
	       percent(tally->covered_bytes, tally->bytes));
	printf("      rows %llu, equal %llu, differing %llu, not expressed %llu; ",
	       as_ull(tally->rows), as_ull(tally->equal), as_ull(tally->differing), as_ull(left));
	printf("table %llu bytes (%.1f %% of the unwind sections)\n",
	       as_ull(tally->table_size), percent(tally->table_size, cfi_size));
	print_causes(tally);
}

/* In one line of its own, or at the end of a file's line */
static void print_uncovered(const struct report *report, enum report_form form)
{
	const struct uncovered *uncovered = &report->uncovered;

	if (form == REPORT_LINE) {
		printf(" text %llu without rows %.3f %%", as_ull(uncovered->text),
		       uncovered_percent(uncovered));
	} else {
		printf("  text %llu bytes, without rows %llu (%.3f %%)", as_ull(uncovered->text),
		       as_ull(uncovered->bytes), uncovered_percent(uncovered));
		printf(", ~%llu with frame pointers", as_ull(uncovered->framed));
	}
	if (report->gained)
		printf(", followed %llu", as_ull(report->gained));
	if (form != REPORT_LINE)
		putchar('\n');
}

static void print_followed(const struct followed_tally *followed, enum report_form form)
{
	if (!followed->insns)
		return;
	printf("%scode %llu instructions, followed %llu (%.3f %%): ",
	       form == REPORT_LINE ? " " : "  ", as_ull(followed->insns), as_ull(followed->rows),
	       percent(followed->rows, followed->insns));
	printf("equal %llu, by other rules %llu, not known %llu, ", as_ull(followed->equal),
	       as_ull(followed->otherwise), as_ull(followed->open));
	printf("errors of .eh_frame %llu, differing %llu", as_ull(followed->refuted),
	       as_ull(followed->differing));
	if (form != REPORT_LINE)
		putchar('\n');
}

static void print_line(const char *name, const struct report *report)
{
	text_print(name);
	putchar(':');
	for (int i = 0; i < NUM_FORMATS; i++) {
		const struct tally *tally = &report->tally[i];

		if (!report->asked[i])
			continue;
		printf(" v%d functions %llu/%llu bytes %.3f %%", FORMAT_V2 + i,
		       as_ull(tally->covered), as_ull(tally->functions),
		       percent(tally->covered_bytes, tally->bytes));
		printf(" rows %llu differing %llu", as_ull(tally->rows),
		       as_ull(tally->differing));
	}
	print_uncovered(report, REPORT_LINE);
	print_followed(&report->followed, REPORT_LINE);
	putchar('\n');
}

/**
 * report_print() - print the result of a file, or the total
 * @name:	The file, or "total".
 * @report:	The result.
 * @form:	REPORT_LINE: in one line.
 */
void report_print(const char *name, const struct report *report,
		  enum report_form form)
{
	if (report->state) {
		text_line("%s: skipped: %s", name, report->error);
		if (report->uncovered.text && form == REPORT_WHOLE)
			print_uncovered(report, form);
		return;
	}
	if (form == REPORT_LINE) {
		print_line(name, report);
		return;
	}
	text_line("%s:", name);
	printf("  entries %llu, of them empty %llu, in both sections %llu\n",
	       as_ull(report->entries.all), as_ull(report->entries.empty),
	       as_ull(report->entries.repeated));
	for (int i = 0; i < NUM_FORMATS; i++)
		if (report->asked[i])
			print_tally(FORMAT_V2 + i, &report->tally[i],
				    report->cfi_size);
	print_uncovered(report, form);
	print_followed(&report->followed, form);
}
