// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: says why stacks are short */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/complain.h"
#include "base/grow.h"
#include "base/pool.h"
#include "cache/mapped.h"
#include "cache/path.h"
#include "command.h"
#include "doctor/command.h"
#include "doctor/file.h"
#include "doctor/kernel.h"
#include "doctor/tell.h"

static const char help[] =
"usage: sframe doctor [OPTION]... [PID|COMMAND]...\n"
"\n"
"Say why stacks are short: check what the kernel needs for complete user stacks, and\n"
"whether it has a table for each file with code.  With PID, doctor checks the files that\n"
"the process has mapped.  With COMMAND, it checks those that the command maps when it\n"
"starts: the program and the libraries that it is linked with, or the interpreter of a\n"
"script.  It cannot know what the command loads later.  Without either, it checks the\n"
"files of all processes that the caller may inspect.  doctor looks for COMMAND in PATH.\n"
"It runs neither that nor a dynamic linker: it reads the files' headers, and looks for\n"
"libraries where the dynamic linker of glibc or musl would.\n"
"\n"
"  -v, --verbose   without PID or COMMAND: print a line for each file\n"
"  -j, --json      print JSON\n"
"  -h, --help      this text\n"
"\n"
"Each line is a check: \"ok\", \"note\" or \"problem\", the object of the check, the result,\n"
"and after a semicolon what you can do.  The checks:\n"
"\n"
"  kernel    it accepts tables (CONFIG_UNWIND_USER_SPLIT)\n"
"  path      kernel.unwind_table_path names directories that only root can change, and\n"
"            each has an index of its tables (index.v4)\n"
"  debugfs   the kernel's reports about files and walks, which only root can read\n"
"  walks     the share of the walks of user stacks since boot that reached the\n"
"            outermost frame, and what ended most of the others\n"
"  a file    it has a table in the path that the kernel accepts: named by the index of\n"
"            its directory, made for this object, owned by root, and writable by nobody\n"
"            else.  Or it has a table of its own (PT_GNU_SFRAME), of all functions that\n"
"            .eh_frame describes.  The kernel asks the table in the path first, and the\n"
"            file's own only where that has no row.  It does not read own tables of more\n"
"            than 32 KiB or for more than 16 MiB of code: 'sframe cache FILE' makes a\n"
"            table in the path.  Also what the kernel reports about the table.  It looks\n"
"            at a file when a profiler first asks for a stack of a process that has the\n"
"            file mapped, and at one without a table again when the sysctl is written.\n"
"\n"
"A note needs no action: for example, a directory of the path does not exist, code is\n"
"made at run time and is in no file, or only root can see something.\n"
"\n"
"Exit status: 0 all is well, 1 there are problems, 2 wrong usage.\n"
"\n"
"examples:\n"
"  sframe doctor xz\n"
"  sframe doctor $(pidof nginx)\n"
"  sframe doctor --json | jq -r '.checks[] | select(.result == \"problem\") | .remedy'\n";

static const struct option long_options[] = {
	{ "verbose", no_argument, NULL, 'v' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

/* How many seconds a file may take. */
#define MAX_SECONDS	60
/* Write the same path again. */
#define LOOK_AGAIN	"sysctl kernel.unwind_table_path=\"$(sysctl -n kernel.unwind_table_path)\""
/* How many files a summary names. */
#define MAX_NAMED	3

static bool verbose;

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
		.no_cache = "link it with --build-id, then run sframe cache as root",
		.by_cache = true,
	},
	[TABLE_OWN_PARTIAL] = {
		.finding = PROBLEM,
		.what = "its own table is partial",
		.plural = "have a table of their own that is partial",
		.remedy = "make one for the path",
		.no_cache = "link it with --build-id, then run sframe cache as root",
		.by_cache = true,
	},
	[TABLE_NO_BUILD_ID] = {
		.finding = PROBLEM,
		.what = "it has no build-id of 2 to 20 bytes, so the kernel cannot find its table",
		.plural = "have no build-id of 2 to 20 bytes: the kernel cannot find their tables",
		.remedy = "link it with --build-id",
	},
	[TABLE_NO_CFI] = {
		.finding = PROBLEM,
		.what = "it has no .eh_frame to make a table from",
		.plural = "have no .eh_frame to make a table from",
		.remedy = "compile it with -fasynchronous-unwind-tables",
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

/* Characters that have no other meaning to the shell */
#define PLAIN \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+:,@%=-"

/* Return @name as a word for the shell; the caller frees it. */
static char *shell_quote(const char *name)
{
	char *quoted, *to;

	if (!name[strspn(name, PLAIN)])
		return strdup(name);
	quoted = malloc(4 * strlen(name) + 3);
	if (!quoted)
		return NULL;
	to = stpcpy(quoted, "'");
	for (; *name; name++)
		if (*name == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *name;
	stpcpy(to, "'");
	return quoted;
}

/* Return the command that makes tables; the caller frees it. */
static char *cache_command(const char *remedy, const char *dir, const char *what)
{
	bool is_default = !strcmp(dir, SFRAME_CACHE_DIR);
	char *quoted_dir = shell_quote(dir), *command;

	if (asprintf(&command, "%s: sframe cache %s%s%s%s", remedy,
		     is_default ? "" : "--cache-dir ", is_default ? "" : quoted_dir ?: dir,
		     is_default ? "" : " ", what) < 0)
		command = NULL;
	free(quoted_dir);
	return command;
}

/*
 * Return the cache to use.  A good table has to replace the bad one, because the kernel finds
 * that first.
 */
static char *dir_of(const struct look *look)
{
	bool replace = look->state == TABLE_REFUSED || look->state == TABLE_WRONG ||
		       look->state == TABLE_NOT_INDEXED;
	char *dir = strdup(replace ? look->table : kernel_cache());

	for (int i = 0; dir && replace && i < 2; i++)
		*strrchr(dir, '/') = '\0';
	return dir;
}

/* Return the command that makes the index of a table's directory; the caller frees it. */
static char *index_command(const struct look *look)
{
	char *dir = dir_of(look), *quoted = dir ? shell_quote(dir) : NULL, *command;

	if (!quoted || asprintf(&command, "make the index as root: sframe index %s", quoted) < 0)
		command = NULL;
	free(quoted);
	free(dir);
	return command;
}

static char *remedy_for(const struct mapped_file *file, const struct look *look)
{
	const char *remedy = states[look->state].remedy;
	bool by_cache = states[look->state].by_cache && !look->no_cache;
	char *dir, *name, *command = NULL;

	if (look->state == TABLE_NOT_INDEXED)
		return index_command(look);
	if (look->state == TABLE_UNREADABLE && geteuid())
		remedy = "run it as root";
	if (look->no_cache)
		remedy = states[look->state].no_cache;
	if (!remedy || !by_cache)
		return remedy ? strdup(remedy) : NULL;
	dir = dir_of(look);
	name = shell_quote(file->open);
	if (dir && name)
		command = cache_command(remedy, dir, name);
	free(dir);
	free(name);
	return command;
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
		     "repair it, then write the sysctl again so that the kernel looks again",
		     "%s, but the kernel refused it: %s", states[look->state].what,
		     kernel_error(error));
	else if (state == KERNEL_WITHOUT)
		tell(PROBLEM, file->name, "write kernel.unwind_table_path again: " LOOK_AGAIN,
		     "%s%s", states[look->state].what, kernel_words(state));
	else
		tell(state == KERNEL_NO_OBJECT || state == KERNEL_UNSETTLED ? NOTE : WELL,
		     file->name, NULL, "%s%s%s", states[look->state].what,
		     look->state == TABLE_IN_PATH && look->has_own ?
		     ", which comes before its own" : "", kernel_words(state));
}

static void tell_file(const struct mapped_file *file, const struct look *look)
{
	char *remedy;

	if (look->state == TABLE_OWN || look->state == TABLE_IN_PATH) {
		tell_good(file, look);
		return;
	}
	remedy = remedy_for(file, look);
	tell(states[look->state].finding, file->name, remedy, "%s%s%s%s",
	     states[look->state].what, file->deleted ? " (the file was deleted)" : "",
	     *look->why ? ": " : "", look->why);
	free(remedy);
}

/* Return the names of the first files of a state; the caller frees them. */
static char *name_some(enum table_state state, const struct mapped *mapped,
		       const struct look *looks, size_t count)
{
	size_t size, named = 0;
	char *names = NULL;
	FILE *text = open_memstream(&names, &size);

	if (!text)
		return NULL;
	for (size_t i = 0; i < mapped->count && named < MAX_NAMED; i++)
		if (looks[i].state == state)
			fprintf(text, "%s%s", named++ ? ", " : "", mapped->files[i].name);
	if (count > named)
		fprintf(text, " and %zu more, which --verbose names", count - named);
	fclose(text);
	return names;
}

/* Print one line about all files of a state. */
static void tell_group(enum table_state state, const struct mapped *mapped,
		       const struct look *looks, size_t count)
{
	char *remedy = NULL, *names = name_some(state, mapped, looks, count);

	if (states[state].by_cache)
		remedy = cache_command(states[state].remedy, kernel_cache(), "--running");
	else if (states[state].remedy)
		remedy = strdup(states[state].remedy);
	tell(states[state].finding, "files", remedy, "%zu %s: %s", count,
	     states[state].plural, names ?: "out of memory");
	free(remedy);
	free(names);
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

static void tell_summary(const struct mapped *mapped, const struct look *looks)
{
	size_t counts[NUM_TABLE_STATES] = { }, last[NUM_TABLE_STATES], good = 0, all;

	for (size_t i = 0; i < mapped->count; i++) {
		bool has_table = looks[i].state <= TABLE_IN_PATH;

		if (is_good(&mapped->files[i], &looks[i]))
			good++;
		else if (has_table)
			tell_file(&mapped->files[i], &looks[i]);
		counts[looks[i].state]++;
		last[looks[i].state] = i;
	}
	all = mapped->count - counts[TABLE_GONE];
	tell(good == all ? WELL : NOTE, "files", NULL,
	     "%zu of %zu whose code %zu processes have mapped have a table", good, all,
	     mapped->processes);
	for (int i = TABLE_IN_PATH + 1; i < NUM_TABLE_STATES; i++)
		if (counts[i] == 1 && states[i].what)
			tell_file(&mapped->files[last[i]], &looks[last[i]]);
		else if (counts[i] && states[i].what)
			tell_group(i, mapped, looks, counts[i]);
}

/* Print a line for each file, but only one for the files of 32-bit code. */
static void tell_files(const struct mapped *mapped, const struct look *looks)
{
	bool told_32_bit = false;

	for (size_t i = 0; i < mapped->count; i++) {
		if (looks[i].state == TABLE_GONE ||
		    (looks[i].state == TABLE_32_BIT && told_32_bit))
			continue;
		tell_file(&mapped->files[i], &looks[i]);
		told_32_bit |= looks[i].state == TABLE_32_BIT;
	}
}

static void look_done(const struct job *job)
{
	struct look *look = job->result;

	if (!job->signal)
		return;
	look->state = TABLE_UNREADABLE;
	snprintf(look->why, sizeof(look->why), "the file is damaged");
}

/* Look for the table of each file.  The caller frees the result. */
static struct look *look_at(const struct mapped *mapped)
{
	struct look *looks = require_memory(calloc(mapped->count + 1, sizeof(*looks)));
	struct job *jobs = require_memory(calloc(mapped->count + 1, sizeof(*jobs)));
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = 0;

	for (size_t i = 0; i < mapped->count; i++) {
		looks[i].state = TABLE_UNREADABLE;
		if (mapped->files[i].open)
			jobs[count++] = (struct job){ .name = mapped->files[i].open,
						      .result = &looks[i] };
	}
	pool_run(jobs, count, sizeof(*looks), processors > 0 ? processors : 1, MAX_SECONDS,
		 ONE_FILE, look_at_file, look_done);
	free(jobs);
	return looks;
}

static void tell_hidden(const struct mapped *mapped)
{
	if (mapped->no_file)
		tell(NOTE, "code", NULL,
		     "%llu KB of it are in no file: it was made at run time, and has no table",
		     mapped->no_file / 1000);
	if (mapped->hidden)
		tell(NOTE, "processes", geteuid() ? "run it as root" : NULL,
		     "the caller may not inspect %zu of them", mapped->hidden);
}

static void check_mapped(struct mapped *mapped,
			 void (*tell_them)(const struct mapped *, const struct look *))
{
	struct look *looks = look_at(mapped);

	tell_them(mapped, looks);
	tell_hidden(mapped);
	free(looks);
	mapped_free(mapped);
}

static void check_all(void)
{
	struct mapped mapped = { };
	int err = mapped_add_all(&mapped);

	/* Most processes of a desktop make code at run time. */
	mapped.no_file = 0;
	if (err)
		tell(PROBLEM, "/proc", "mount it", "%s", strerror(-err));
	else
		check_mapped(&mapped, verbose ? tell_files : tell_summary);
}

static void check_process(const char *name)
{
	struct mapped mapped = { };
	int err = mapped_add_process(&mapped, atoi(name));
	char *about;

	if (asprintf(&about, "process %s", name) < 0)
		return;
	mapped.hidden = 0;
	if (err == -ENOENT || err == -ESRCH)
		tell(PROBLEM, about, NULL, "there is none");
	else if (err)
		tell(PROBLEM, about, "run it as root", "%s", strerror(-err));
	else if (!mapped.count)
		tell(NOTE, about, NULL, "it maps no code: it is a kernel thread, or has ended");
	else
		tell(WELL, about, NULL, "it maps the code of %zu files", mapped.count);
	free(about);
	check_mapped(&mapped, tell_files);
}

static void check_command(const char *name)
{
	struct mapped mapped = { };

	command_add(&mapped, name);
	check_mapped(&mapped, tell_files);
}

static void check_target(const char *name)
{
	/* A longer number is not a PID, but may be a command. */
	if (*name && strlen(name) < 10 && !name[strspn(name, "0123456789")])
		check_process(name);
	else
		check_command(name);
}

int doctor_main(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "vjh", long_options, NULL)) != -1) {
		switch (c) {
		case 'v':
			verbose = true;
			break;
		case 'j':
			tell_as_json();
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	kernel_read();
	kernel_check();
	for (int i = optind; i < argc; i++)
		check_target(argv[i]);
	if (optind == argc)
		check_all();
	return tell_sum() ? EXIT_FAILED : EXIT_OK;
}
