// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: prints how each check ended, as text or JSON, and counts the problems. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/types.h>

#include "base/text.h"
#include "doctor/tell.h"

static const char * const finding_names[] = {
	[WELL] = "ok", [NOTE] = "note", [PROBLEM] = "problem",
};

static bool json;
static size_t findings[ARRAY_SIZE(finding_names)];
static bool any_told;

static void print_text(enum finding finding, const char *about, const char *remedy,
		       const char *what)
{
	printf("%-7s  ", finding_names[finding]);
	text_print(about);
	fputs(": ", stdout);
	text_print(what);
	if (remedy) {
		fputs("; ", stdout);
		text_print(remedy);
	}
	putchar('\n');
}

static void print_json(enum finding finding, const char *about, const char *remedy,
		       const char *what)
{
	printf("%s{\"result\": \"%s\", \"about\": ", any_told ? ",\n  " : "{\"checks\": [\n  ",
	       finding_names[finding]);
	text_print_json(about);
	fputs(", \"what\": ", stdout);
	text_print_json(what);
	fputs(", \"remedy\": ", stdout);
	if (remedy)
		text_print_json(remedy);
	else
		fputs("null", stdout);
	putchar('}');
}

/**
 * tell() - print the result of a check
 * @finding:	Whether it is a problem.
 * @about:	The object of the check.
 * @remedy:	What the user can do, or NULL.
 * @format:	The result.
 */
void tell(enum finding finding, const char *about, const char *remedy,
	  const char *format, ...)
{
	va_list args;
	char *what;
	int ret;

	va_start(args, format);
	ret = vasprintf(&what, format, args);
	va_end(args);
	if (ret < 0)
		what = NULL;
	if (json)
		print_json(finding, about, remedy, what ?: "out of memory");
	else
		print_text(finding, about, remedy, what ?: "out of memory");
	free(what);
	findings[finding]++;
	any_told = true;
}

/**
 * tell_as_json() - print all results as JSON
 */
void tell_as_json(void)
{
	json = true;
}

/**
 * tell_sum() - print how many problems were found
 *
 * Return: the number of problems.
 */
size_t tell_sum(void)
{
	size_t problems = findings[PROBLEM];

	if (json)
		printf("],\n \"problems\": %zu}\n", problems);
	else if (!problems)
		puts("All is well.");
	else
		printf("%zu problem%s.\n", problems, problems == 1 ? "" : "s");
	return problems;
}
