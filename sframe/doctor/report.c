// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: puts into words what was found out about files, and names remedies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "cache/path.h"
#include "doctor/kernel.h"
#include "doctor/report.h"
#include "doctor/tell.h"

/* Write the same path again. */
#define LOOK_AGAIN	"sysctl kernel.unwind_table_path=\"$(sysctl -n kernel.unwind_table_path)\""
/* Less text without rows is nothing but the startup code of each program. */
#define MIN_TEXT	4096
/* How many files a summary names. */
#define MAX_NAMED	3

/**
 * struct state - the words for where a table is
 * @finding:	Whether it is a problem.
 * @what:	The words for one file.
 * @plural:	The words for several files.
 * @remedy:	What the user can do, or NULL.
 * @no_cache:	What the user can do if "sframe cache" can make no table for the file.
 * @by_cache:	The remedy is "sframe cache".
 */
struct state {
	enum finding	finding;
	const char	*what;
	const char	*plural;
	const char	*remedy;
	const char	*no_cache;
	bool		by_cache;
};

static const struct state states[NUM_TABLE_STATES] = {
	[TABLE_OWN] = {
		.finding = WELL,
		.what = "it has a table of its own",
	},
	[TABLE_IN_PATH] = {
		.finding = WELL,
		.what = "it has a table in the path",
	},
	[TABLE_MISSING] = {
		.finding = PROBLEM,
		.what = "it has no table",
		.plural = "have no table",
		.remedy = "make it",
		.by_cache = true,
	},
	[TABLE_REFUSED] = {
		.finding = PROBLEM,
		.what = "it has a table that the kernel refuses",
		.plural = "have a table that the kernel refuses",
		.remedy = "make it again",
		.by_cache = true,
	},
	[TABLE_WRONG] = {
		.finding = PROBLEM,
		.what = "it has a table that was made from another file with its build-id",
		.plural = "have a table that was made from another file with their build-id",
		.remedy = "make it again",
		.by_cache = true,
	},
	[TABLE_NOT_INDEXED] = {
		.finding = PROBLEM,
		.what = "it has a table that the index of its directory does not name",
		.plural = "have a table that the index of its directory does not name",
		.remedy = "run as root 'sframe index' for each directory of the path",
	},
	[TABLE_OWN_DAMAGED] = {
		.finding = PROBLEM,
		.what = "its own table is damaged",
		.plural = "have a table of their own that is damaged",
		.remedy = "make one for the path",
		.no_cache = "build it again",
		.by_cache = true,
	},
	[TABLE_OWN_LARGE] = {
		.finding = PROBLEM,
		.what = "its own table is too large",
		.plural = "have a table of their own that is too large for the kernel",
		.remedy = "make one for the path as root",
		.by_cache = true,
	},
	[TABLE_OWN_PARTIAL] = {
		.finding = PROBLEM,
		.what = "its own table is partial",
		.plural = "have a table of their own that is partial",
		.remedy = "make one for the path",
		.by_cache = true,
	},
	[TABLE_NO_CFI] = {
		.finding = PROBLEM,
		.what = "it has no .eh_frame to make a table from, and its code cannot be followed",
		.plural = "have no .eh_frame to make a table from, and cannot be followed",
		.remedy = "compile it with -fasynchronous-unwind-tables",
	},
	[TABLE_FRAMED] = {
		.finding = NOTE,
		.what = "it has no .eh_frame, but keeps frame pointers, which the kernel follows",
		.plural = "have no .eh_frame, but keep frame pointers, which the kernel follows",
	},
	[TABLE_32_BIT] = {
		.finding = PROBLEM,
		.what = "it is 32-bit code, which SFrame does not support",
		.plural = "are 32-bit code, which SFrame does not support",
		.remedy = "run a 64-bit build",
	},
	[TABLE_NO_OBJECT] = {
		.finding = NOTE,
		.what = "it is not an x86-64 program or library",
		.plural = "are no x86-64 programs or libraries",
	},
	[TABLE_UNREADABLE] = {
		.finding = NOTE,
		.what = "it cannot be read",
		.plural = "cannot be read",
	},
};

/* Return the command that makes tables; the caller frees it. */
static char *cache_command(const char *dir, const char *what)
{
	bool is_default = !strcmp(dir, SFRAME_CACHE_DIR);
	char *quoted = text_quote(dir), *command;

	command = text_format("sframe cache %s%s%s%s", is_default ? "" : "--cache-dir ",
			      is_default ? "" : quoted, is_default ? "" : " ", what);
	free(quoted);
	return command;
}

/* Whether the kernel finds a bad table first, so that a good one has to replace it. */
static bool replaces(const struct look *look)
{
	return look->state == TABLE_REFUSED || look->state == TABLE_WRONG ||
	       look->state == TABLE_NOT_INDEXED;
}

/* Return the cache to use; the caller frees it. */
static char *dir_of(const struct look *look)
{
	char *dir = text_format("%s", replaces(look) ? look->table : kernel_cache());

	for (int i = 0; replaces(look) && i < 2; i++)
		*strrchr(dir, '/') = '\0';
	return dir;
}

static bool is_made_by_cache(const struct look *look)
{
	return states[look->state].by_cache && !look->no_cache;
}

/* Whether the same command can make the tables of several such files. */
static bool is_in_group(const struct look *look)
{
	return is_made_by_cache(look) && !replaces(look);
}

/*
 * Return the command that makes the file's table, or the index if that lacks the table.  Returns
 * NULL if no command does.  The caller frees the result.
 */
static char *command_for(const struct mapped_file *file, const struct look *look)
{
	char *dir = dir_of(look), *word, *command = NULL;

	if (look->state == TABLE_NOT_INDEXED) {
		word = text_quote(dir);
		command = text_format("sframe index %s", word);
		free(word);
	} else if (is_made_by_cache(look)) {
		word = text_quote(file->open);
		command = cache_command(dir, word);
		free(word);
	}
	free(dir);
	return command;
}

static const char *words_for(const struct look *look)
{
	if (look->state == TABLE_NOT_INDEXED)
		return "make the index as root";
	if (look->state == TABLE_UNREADABLE)
		return geteuid() ? "run it as root" : NULL;
	return look->no_cache ? states[look->state].no_cache : states[look->state].remedy;
}

/* What the kernel reports about a file that has a good table */
static const char *kernel_words(enum kernel_state state)
{
	switch (state) {
	case KERNEL_LOADED:
		return ", which the kernel has loaded";
	case KERNEL_LOADING:
		return ", which the kernel is loading";
	case KERNEL_EVICTED:
		return ", which the kernel has evicted and loads again when it is needed";
	case KERNEL_WITHOUT:
		return ", but the kernel found none when it looked";
	case KERNEL_UNSETTLED:
		return ", but the file is being written or has just changed, and the kernel waits";
	case KERNEL_NOT_RESIDENT:
		return ", and the kernel waits for the file's first bytes";
	case KERNEL_NO_OBJECT:
		return ", but the kernel does not take the file for an object";
	case KERNEL_UNSEEN:
		return ", which no profiler has made the kernel load yet";
	default:
		return "";
	}
}

static void tell_good(const struct mapped_file *file, const struct look *look)
{
	int error = 0;
	enum kernel_state state = kernel_state(file->device, file->inode, &error);

	if (state == KERNEL_REFUSED)
		tell(PROBLEM, file->name,
		     COMMAND("repair it, then write the sysctl again", LOOK_AGAIN),
		     "%s, but the kernel refused it: %s", states[look->state].what,
		     kernel_error(error));
	else if (state == KERNEL_WITHOUT)
		tell(PROBLEM, file->name,
		     COMMAND("write kernel.unwind_table_path again", LOOK_AGAIN), "%s%s",
		     states[look->state].what, kernel_words(state));
	else
		tell(state == KERNEL_NO_OBJECT || state == KERNEL_UNSETTLED ? NOTE : WELL,
		     file->name, NULL, "%s%s%s", states[look->state].what,
		     look->state == TABLE_IN_PATH && look->has_own ?
		     ", which comes before its own" : "", kernel_words(state));
}

/* Whether so much of the text has no row that it is worth a note. */
static bool lacks_rows(const struct look *look)
{
	return look->uncovered.bytes >= MIN_TEXT && uncovered_percent(&look->uncovered) >= 1;
}

/* "11.7 MB (35 %)"; the caller frees it. */
static char *text_words(const struct look *look)
{
	bool mega = look->uncovered.bytes >= 1000000;

	return text_format("%.1f %s (%.0f %%)", look->uncovered.bytes / (mega ? 1e6 : 1e3),
			   mega ? "MB" : "KB", uncovered_percent(&look->uncovered));
}

static void tell_uncovered(const struct mapped_file *file, const struct look *look)
{
	const struct uncovered *uncovered = &look->uncovered;
	char *words;

	if (!lacks_rows(look))
		return;
	words = text_words(look);
	if (uncovered_is_framed(uncovered))
		tell(NOTE, file->name, NULL,
		     "%s of its text have no row, but keep frame pointers, which the kernel follows",
		     words);
	else if (uncovered->framed < uncovered->bytes / 100)
		tell(NOTE, file->name, NULL,
		     "%s of its text have no row and keep no frame pointers, so stacks may end there",
		     words);
	else
		tell(NOTE, file->name, NULL,
		     "%s of its text have no row, and only about %.0f %% of that keep frame pointers; stacks may end in the rest",
		     words, 100.0 * uncovered->framed / uncovered->bytes);
	free(words);
}

/* @alone: name the remedy here, as no line about several files does it. */
static void tell_file(const struct mapped_file *file, const struct look *look, bool alone)
{
	char *command;

	if (look->state == TABLE_OWN || look->state == TABLE_IN_PATH) {
		tell_good(file, look);
		tell_uncovered(file, look);
		return;
	}
	command = command_for(file, look);
	tell(states[look->state].finding, file->name,
	     alone ? COMMAND(words_for(look), command) : NULL, "%s%s%s%s",
	     states[look->state].what, file->deleted ? " (the file was deleted)" : "",
	     *look->why ? ": " : "", look->why);
	free(command);
}

/* Return the names of the first files of a state; the caller frees them. */
static char *name_some(enum table_state state, const struct mapped *mapped,
		       const struct look *looks, size_t count)
{
	size_t size, named = 0;
	char *names = NULL;
	FILE *text = require_memory(open_memstream(&names, &size));

	for (size_t i = 0; i < mapped->count && named < MAX_NAMED; i++)
		if (looks[i].state == state)
			fprintf(text, "%s%s", named++ ? ", " : "", mapped->files[i].name);
	if (count > named)
		fprintf(text, " and %zu more, which --verbose names", count - named);
	fclose(text);
	return require_memory(names);
}

/* Print one line about all files of a state. */
static void tell_group(enum table_state state, const struct mapped *mapped,
		       const struct look *looks, size_t count)
{
	char *command = NULL, *names = name_some(state, mapped, looks, count);

	if (states[state].by_cache)
		command = cache_command(kernel_cache(), "--running");
	tell(states[state].finding, "files", COMMAND(states[state].remedy, command), "%zu %s: %s",
	     count, states[state].plural, names);
	free(command);
	free(names);
}

static int compare_uncovered(const void *a, const void *b, void *arg)
{
	const struct look *looks = arg;
	u64 first = looks[*(const size_t *)a].uncovered.bytes;
	u64 second = looks[*(const size_t *)b].uncovered.bytes;

	return first < second ? 1 : -(first > second);
}

/* Print one line about the files in whose text stacks may end, those with most of it first. */
static void tell_all_uncovered(const struct mapped *mapped, struct look *looks)
{
	size_t *order = require_memory(calloc(mapped->count + 1, sizeof(*order)));
	size_t count = 0, size;
	char *names = NULL, *words;
	FILE *text = require_memory(open_memstream(&names, &size));

	for (size_t i = 0; i < mapped->count; i++)
		if (lacks_rows(&looks[i]) && !uncovered_is_framed(&looks[i].uncovered))
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), compare_uncovered, looks);
	for (size_t i = 0; i < count && i < MAX_NAMED; i++) {
		words = text_words(&looks[order[i]]);
		fprintf(text, "%s%s %s", i ? ", " : "", mapped->files[order[i]].name, words);
		free(words);
	}
	if (count > MAX_NAMED)
		fprintf(text, " and %zu more, which --verbose names", count - MAX_NAMED);
	fclose(text);
	require_memory(names);
	if (count)
		tell(NOTE, "text", NULL,
		     "%zu file%s some without rows and frame pointers, where stacks may end: %s",
		     count, count == 1 ? " has" : "s have", names);
	free(names);
	free(order);
}

static bool is_good(const struct mapped_file *file, const struct look *look)
{
	enum kernel_state state;
	int error;

	if (look->state != TABLE_OWN && look->state != TABLE_IN_PATH)
		return false;
	state = kernel_state(file->device, file->inode, &error);
	return state != KERNEL_REFUSED && state != KERNEL_WITHOUT;
}

/**
 * report_summary() - print what was found out about many files
 * @mapped:	The files.
 * @looks:	The results, in the same order.
 *
 * Names the files with problems, a few of each kind.
 */
void report_summary(const struct mapped *mapped, struct look *looks)
{
	size_t counts[NUM_TABLE_STATES] = { }, last[NUM_TABLE_STATES], good = 0, all;

	for (size_t i = 0; i < mapped->count; i++) {
		bool has_table = looks[i].state <= TABLE_IN_PATH;

		if (is_good(&mapped->files[i], &looks[i]))
			good++;
		else if (has_table)
			tell_file(&mapped->files[i], &looks[i], true);
		counts[looks[i].state]++;
		last[looks[i].state] = i;
	}
	all = mapped->count - counts[TABLE_GONE];
	tell(good == all ? WELL : NOTE, "files", NULL,
	     "%zu of %zu whose code %zu processes have mapped have a table", good, all,
	     mapped->processes);
	for (int i = TABLE_IN_PATH + 1; i < NUM_TABLE_STATES; i++)
		if (counts[i] == 1 && states[i].what)
			tell_file(&mapped->files[last[i]], &looks[last[i]], true);
		else if (counts[i] && states[i].what)
			tell_group(i, mapped, looks, counts[i]);
	tell_all_uncovered(mapped, looks);
}

/* Print the one command that makes the tables of several files. */
static void tell_command(const struct mapped *mapped, const struct look *looks, size_t count)
{
	size_t size;
	char *words = NULL, *word, *command;
	FILE *text = require_memory(open_memstream(&words, &size));
	bool any = false;

	for (size_t i = 0; i < mapped->count; i++) {
		if (!is_in_group(&looks[i]))
			continue;
		word = text_quote(mapped->files[i].open);
		fprintf(text, "%s%s", any ? " " : "", word);
		free(word);
		any = true;
	}
	fclose(text);
	command = cache_command(kernel_cache(), require_memory(words));
	tell(NOTE, "files", COMMAND("make them as root", command),
	     "%zu of these have no table that the kernel can use", count);
	free(command);
	free(words);
}

/**
 * report_files() - print what was found out about each file
 * @mapped:	The files.
 * @looks:	The results, in the same order.
 *
 * Prints only one line for all files of 32-bit code.
 */
void report_files(const struct mapped *mapped, struct look *looks)
{
	bool told_32_bit = false;
	size_t group = 0;

	for (size_t i = 0; i < mapped->count; i++)
		group += is_in_group(&looks[i]);
	for (size_t i = 0; i < mapped->count; i++) {
		if (looks[i].state == TABLE_GONE ||
		    (looks[i].state == TABLE_32_BIT && told_32_bit))
			continue;
		tell_file(&mapped->files[i], &looks[i], group < 2 || !is_in_group(&looks[i]));
		told_32_bit |= looks[i].state == TABLE_32_BIT;
	}
	if (group > 1)
		tell_command(mapped, looks, group);
}
