// SPDX-License-Identifier: GPL-2.0
/* sframe gen: write the table of an object to a file */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/complain.h"
#include "base/options.h"
#include "base/text.h"
#include "cfi/debug.h"
#include "cfi/read.h"
#include "code/add.h"
#include "command.h"
#include "table/bare.h"
#include "table/file.h"

static const char help[] =
"usage: sframe gen [OPTION]... FILE...\n"
"\n"
"Write an SFrame table for each x86-64 program or shared library, from its\n"
".eh_frame and, for functions that .eh_frame lacks, from .debug_frame, of the file or of\n"
"its separate debug file, DIR/.build-id/xx/yyyy.debug.  Code that neither describes,\n"
"which may be all, is followed from the entries of functions on.  The\n"
"table of a file NAME goes to NAME.sframe-table in the current directory.  sframe_file.h\n"
"describes the layout.\n"
"\n"
"  -o, --output OUT     write the table to OUT; for one FILE only\n"
"  -f, --format v2|v3   version of the format (v3)\n"
"  -a, --vaddr ADDR     the table's address, in the object's addresses (1 GiB below\n"
"                       the lowest; 1 GiB above the end for fixed addresses)\n"
"      --debug-dir DIR  look in DIR for separate debug files (/usr/lib/debug)\n"
"  -q, --quiet          print nothing\n"
"  -h, --help           this text\n"
"\n"
"Version 2 has rules for the stack and the frame pointer only, and is made from\n"
".eh_frame and .debug_frame only.  Version 3 also describes functions that realign\n"
"their stack, and signal frames.  The table leaves out code that its format cannot\n"
"describe; 'sframe check --verbose' lists it.\n"
"Exit status: 0 written, 1 failed for a file, 2 wrong usage.\n"
"\n"
"examples:\n"
"  sframe gen --output /tmp/xz.table /usr/bin/xz\n"
"  sframe gen --format v2 /lib/x86_64-linux-gnu/libc.so.6\n";

/* An option that has no letter */
#define OPTION_DEBUG_DIR	256

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "format", required_argument, NULL, 'f' },
	{ "vaddr", required_argument, NULL, 'a' },
	{ "debug-dir", required_argument, NULL, OPTION_DEBUG_DIR },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

struct gen_options {
	const char	*output;
	const char	*debug_dir;
	enum format	format;
	u64		vaddr;
	bool		has_vaddr;
	bool		quiet;
};

/* A separate debug file has no code. */
static void follow_code(const struct gen_options *options, const struct object *obj,
			struct cfi *cfi)
{
	if (options->format == FORMAT_V3 && !obj->detached && !code_add(obj, cfi))
		complain(obj->name,
			 "following some of its code takes too long; the table is made without");
}

static int complain_of_nothing(const struct object *obj)
{
	return complain(obj->name,
			"no .eh_frame, and no code that can be followed; compile it with -fasynchronous-unwind-tables");
}

/* What to do with an object whose code is all that is known of it */
static int judge_bare(const struct object *obj)
{
	switch (bare_judge(obj)) {
	case BARE_FOLLOWED:
		return EXIT_OK;
	case BARE_FRAMED:
		return complain(obj->name,
				"no .eh_frame, but frame pointers, which the kernel follows; leave it out");
	default:
		return complain_of_nothing(obj);
	}
}

static int write_table(const struct gen_options *options,
		       const struct object *obj, struct cfi *cfi,
		       const char *output)
{
	u64 vaddr = options->has_vaddr ? options->vaddr : plan_vaddr(obj);
	struct sframe_note note = { .flags = obj->debug ? SFRAME_NOTE_DEBUG : 0 };
	struct sframe_file head;
	struct image image;
	struct plan plan;
	int ret, err;

	follow_code(options, obj, cfi);
	if (!cfi->num_functions && !object_has_cfi(obj))
		return complain_of_nothing(obj);
	plan_make(&plan, cfi, options->format, vaddr);
	if (!image_make(&image, &plan)) {
		ret = complain(obj->name,
			       "the table would exceed 4 GiB; none is written");
	} else {
		file_describe(&head, obj);
		err = file_write(output, &head, &image, options->format, &note);
		ret = err ? complain(output,
				     "cannot be written: %s; name another file by --output",
				     strerror(-err)) : EXIT_OK;
	}
	if (!ret && !options->quiet)
		text_line("%s: %s: SFrame v%d, %zu functions, %zu rows, %zu bytes at %#" PRIx64
			  ", %zu stretches of code left out",
			  obj->name, output, options->format, plan.num_entries,
			  plan.num_rows, image.size, vaddr, plan.num_gaps);
	image_free(&image);
	plan_free(&plan);
	return ret;
}

/* Do not overwrite a program with its table by mistake. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return !stat(a, &first) && !stat(b, &second) &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* Whether all that is known of the object is its code */
static bool is_bare(const struct gen_options *options, const struct object *obj)
{
	return options->format == FORMAT_V3 && !obj->detached && !obj->own.present;
}

static int gen_to(const struct gen_options *options, const char *name,
		  const char *output)
{
	struct cfi cfi = { };
	enum object_state state;
	struct object obj;
	struct stat st;
	int ret;

	/* The table replaces the file, which must not be /dev/null. */
	if (!stat(output, &st) && !S_ISREG(st.st_mode))
		return complain(output, "is no regular file; name another by --output");
	if (is_same_file(name, output))
		return complain(name, "is the output too; name another by --output");
	state = debug_find(&obj, options->debug_dir, object_open(&obj, name));
	if (state && !(state == OBJECT_NO_CFI && is_bare(options, &obj)))
		ret = complain(name, "%s; name an x86-64 program or library with .eh_frame",
			       obj.error);
	else if (state && judge_bare(&obj))
		ret = EXIT_FAILED;
	else if (!cfi_read(&obj, &cfi))
		ret = complain(name, "%s; no table is written", cfi.error);
	else
		ret = write_table(options, &obj, &cfi, output);
	if (obj.debug_error)
		complain(name, "%s; the table is made without", obj.debug_error);
	cfi_free(&cfi);
	object_close(&obj);
	return ret;
}

static int gen_file(const struct gen_options *options, const char *name)
{
	const char *slash = strrchr(name, '/');
	char *output;
	int ret;

	if (options->output)
		return gen_to(options, name, options->output);
	if (asprintf(&output, "%s.sframe-table", slash ? slash + 1 : name) < 0)
		return complain(name, "out of memory");
	ret = gen_to(options, name, output);
	free(output);
	return ret;
}

static bool parse_vaddr(const char *text, struct gen_options *options)
{
	char *end;

	options->vaddr = strtoull(text, &end, 0);
	options->has_vaddr = true;
	return *text && !*end;
}

int gen_main(int argc, char **argv)
{
	struct gen_options options = { .format = FORMAT_DEFAULT, .debug_dir = DEBUG_DIR };
	int c, ret = EXIT_OK;
	bool good = true;

	while (good && (c = next_option(argc, argv, "o:f:a:qh", long_options)) != -1) {
		switch (c) {
		case 'o':
			options.output = optarg;
			break;
		case 'f':
			good = parse_format(optarg, &options.format);
			break;
		case 'a':
			good = parse_vaddr(optarg, &options);
			break;
		case 'q':
			options.quiet = true;
			break;
		case OPTION_DEBUG_DIR:
			options.debug_dir = optarg;
			good = *optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	if (!good) {
		complain("gen", "'%s' is not a value for that option", optarg);
		return EXIT_USAGE;
	}
	if (optind == argc || (options.output && optind + 1 != argc)) {
		complain("gen", "%s", optind == argc ?
			 "no file to read; name one" :
			 "--output is for one file; name one, or leave it out");
		return EXIT_USAGE;
	}
	for (; optind < argc; optind++)
		ret |= gen_file(&options, argv[optind]);
	return ret;
}
