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

/* Return the remedy in one line, or NULL; the caller frees it. */
static char *remedy_line(const struct remedy *remedy)
{
	if (!remedy || (!remedy->words && !remedy->command))
		return NULL;
	if (!remedy->words || !remedy->command)
		return text_format("%s", remedy->words ?: remedy->command);
	return text_format("%s: %s", remedy->words, remedy->command);
}

static void print_text(enum finding finding, const char *about, const struct remedy *remedy,
		       const char *what)
{
	char *line = remedy_line(remedy);

	printf("%-7s  ", finding_names[finding]);
	text_print(about);
	fputs(": ", stdout);
	text_print(what);
	if (line) {
		fputs("; ", stdout);
		text_print(line);
	}
	putchar('\n');
	free(line);
}

static void print_member(const char *name, const char *value)
{
	printf(", \"%s\": ", name);
	if (value)
		text_print_json(value);
	else
		fputs("null", stdout);
}

static void print_json(enum finding finding, const char *about, const struct remedy *remedy,
		       const char *what)
{
	char *line = remedy_line(remedy);

	printf("%s{\"result\": \"%s\"", any_told ? ",\n  " : "{\"checks\": [\n  ",
	       finding_names[finding]);
	print_member("about", about);
	print_member("what", what);
	print_member("remedy", line);
	print_member("command", remedy ? remedy->command : NULL);
	putchar('}');
	free(line);
}

/**
 * tell() - print the result of a check
 * @finding:	Whether it is a problem.
 * @about:	The object of the check.
 * @remedy:	What the user can do, or NULL.
 * @format:	The result.
 */
void tell(enum finding finding, const char *about, const struct remedy *remedy,
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
