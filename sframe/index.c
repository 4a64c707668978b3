// SPDX-License-Identifier: GPL-2.0
/* sframe index: makes the index of a directory of tables */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/complain.h"
#include "base/options.h"
#include "base/text.h"
#include "cache/index.h"
#include "command.h"

static const char help[] =
"usage: sframe index [OPTION]... DIR...\n"
"\n"
"Make the index of each directory of tables: DIR/index.v4 names the build-ids and layouts\n"
"of the tables in DIR/xx/yyyy....v4.  The kernel does not use the tables of a directory\n"
"without an index, nor those that the index does not name.  'sframe cache' keeps the index\n"
"of its cache; this command is for directories to which packages add tables and from\n"
"which they remove some.  Run it after that, then write the sysctl\n"
"kernel.unwind_table_path again, so that the kernel reads the index.\n"
"\n"
"  -n, --dry-run   write nothing; say whether the index is right\n"
"  -q, --quiet     print errors only\n"
"  -h, --help      this text\n"
"\n"
"The index appears complete or not at all, and an index that is right stays as it is.  It\n"
"belongs to the caller, and all may read it; the kernel uses it only if root owns it and\n"
"nobody else may write it.  Files whose names are not those of tables are ignored.  A file\n"
"with a table's name that is no table of this name is left out, which is an error.\n"
"\n"
"Exit status: 0 each index names all tables; 1 a file was left out, an index could not be\n"
"written or, with --dry-run, is not right; 2 wrong usage.\n"
"\n"
"examples:\n"
"  sframe index /usr/lib/sframe\n"
"  sframe index --dry-run /usr/lib/sframe /var/cache/sframe\n";

static const struct option long_options[] = {
	{ "dry-run", no_argument, NULL, 'n' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

struct index_options {
	bool	dry_run;
	bool	quiet;
};

static size_t num_left_out;

static void tell_left_out(const char *path, const char *reason)
{
	complain(path, "%s; it is not in the index: remove it, or make it again by sframe cache",
		 reason);
	num_left_out++;
}

/* Return why the index does not say which tables are there, or NULL if it does. */
static const char *compare(const char *dir, const struct index *now)
{
	const char *error;
	struct index old;

	error = index_read(&old, dir);
	if (!error && !index_equal(&old, now))
		error = "its index does not name the tables that are there";
	index_free(&old);
	return error;
}

static int check_dir(const char *dir, const struct index_options *options)
{
	const char *error = NULL;
	struct index now;
	int err = index_make(&now, dir, tell_left_out);

	if (!err)
		error = compare(dir, &now);
	if (!err && !error && !options->quiet)
		text_line("%s: the index names all %zu tables", dir, now.count);
	index_free(&now);
	if (err)
		return complain(dir, "%s", index_error(err));
	return error ? complain(dir, "%s; run sframe index without --dry-run", error) : EXIT_OK;
}

static int make_index(const char *dir, const struct index_options *options)
{
	size_t count;
	int err = index_update(dir, tell_left_out, &count);

	if (err)
		return complain(dir, "%s", index_error(err));
	if (!options->quiet)
		text_line("%s: %zu tables", dir, count);
	return EXIT_OK;
}

static int index_dir(const char *dir, const struct index_options *options)
{
	size_t before = num_left_out;
	int ret = options->dry_run ? check_dir(dir, options) : make_index(dir, options);

	return num_left_out > before ? EXIT_FAILED : ret;
}

int index_main(int argc, char **argv)
{
	struct index_options options = { };
	int c, ret = EXIT_OK;

	while ((c = next_option(argc, argv, "nqh", long_options)) != -1) {
		switch (c) {
		case 'n':
			options.dry_run = true;
			break;
		case 'q':
			options.quiet = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		complain("index", "no directory; name one that holds tables");
		return EXIT_USAGE;
	}
	for (; optind < argc; optind++)
		ret |= index_dir(argv[optind], &options);
	return ret;
}
