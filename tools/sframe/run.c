// SPDX-License-Identifier: GPL-2.0
/* sframe run: run a program with tables for all of its code */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cache.h"
#include "prctl.h"
#include "run.h"
#include "tool.h"

static const char help[] =
"usage: sframe run [OPTION]... PROGRAM [ARGUMENT]...\n"
"\n"
"Run PROGRAM with SFrame tables, so that profilers see whole stacks.  A program\n"
"that is linked dynamically runs with LD_AUDIT=libsframe-audit.so, which takes\n"
"the tables of the program and its libraries from the cache ('sframe cache'); so\n"
"does what it starts.  A static program's table comes from the cache too, or is\n"
"made on the spot, and is registered before its first instruction.\n"
"\n"
"  -c, --cache-dir DIR  look there first\n"
"  -q, --quiet          do not tell why a program runs without tables\n"
"  -h, --help           this text\n"
"\n"
"PROGRAM runs in place of this command: same process, same standard streams, and\n"
"its exit status and signals are its own.  A program that cannot be given tables\n"
"runs without: on a kernel that takes none, with set-user-ID or file capabilities,\n"
"under a seccomp filter, where tracing is forbidden.  A table that others than root\n"
"and the caller may write is not used.\n"
"\n"
"environment:\n"
"  SFRAME_AUDIT=off        no tables\n"
"  SFRAME_AUDIT=seccomp    tables also under a seccomp filter; it has to allow\n"
"                          prctl()\n"
"  SFRAME_CACHE_DIR=DIR    as --cache-dir\n"
"\n"
"Exit status: PROGRAM's; 2 wrong usage, 125 libsframe-audit.so is missing, 126\n"
"PROGRAM cannot be run, 127 there is none.\n"
"\n"
"examples:\n"
"  perf record --call-graph fp,defer -- sframe run xz -k9 file\n"
"  sframe run ./static-server --port 80\n"
"  LD_AUDIT=/usr/lib/libsframe-audit.so bash     the same for a whole session\n";

static const struct option long_options[] = {
	{ "cache-dir", required_argument, NULL, 'c' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

#define EXIT_NO_LIBRARY	125
#define EXIT_CANNOT_RUN	126
#define EXIT_NO_PROGRAM	127

#define AUDIT_LIBRARY	"libsframe-audit.so"

enum kind {
	KIND_DYNAMIC,	/* or a script, whose interpreter will be */
	KIND_STATIC,
	KIND_ALONE,	/* takes neither LD_AUDIT nor tracing */
};

static bool quiet;

static int tell_and_go_on(const char *name, const char *why)
{
	if (!quiet)
		complain(name, "%s; it runs without a table", why);
	return EXIT_OK;
}

static bool is_runnable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* As execvp() searches; NULL: there is none. */
static char *find_program(const char *name)
{
	const char *dirs = getenv("PATH");
	char *path;

	if (strchr(name, '/'))
		return strdup(name);
	for (dirs = dirs ?: "/bin:/usr/bin"; dirs; ) {
		int len = strcspn(dirs, ":");

		if (asprintf(&path, "%.*s/%s", len ?: 1, len ? dirs : ".",
			     name) < 0)
			return NULL;
		if (is_runnable(path))
			return path;
		free(path);
		dirs = dirs[len] ? dirs + len + 1 : NULL;
	}
	return NULL;
}

/* Who traces a program at its exec takes these rights from it. */
static bool has_more_rights(int fd)
{
	struct stat st;

	return fstat(fd, &st) || (st.st_mode & (S_ISUID | S_ISGID)) ||
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static enum kind program_kind(const char *path, u64 *entry)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum kind kind = KIND_DYNAMIC;
	Elf64_Phdr phdr;
	Elf64_Ehdr ehdr;

	if (fd < 0)
		return KIND_ALONE;
	if (has_more_rights(fd))
		kind = KIND_ALONE;
	else if (pread(fd, &ehdr, sizeof(ehdr), 0) == sizeof(ehdr) &&
		 !memcmp(ehdr.e_ident, ELFMAG, SELFMAG))
		kind = ehdr.e_machine == EM_X86_64 &&
		       ehdr.e_ident[EI_CLASS] == ELFCLASS64 ?
		       KIND_STATIC : KIND_ALONE;
	for (int i = 0; kind == KIND_STATIC && i < ehdr.e_phnum; i++)
		if (pread(fd, &phdr, sizeof(phdr),
			  ehdr.e_phoff + i * sizeof(phdr)) == sizeof(phdr) &&
		    phdr.p_type == PT_INTERP)
			kind = KIND_DYNAMIC;
	if (kind == KIND_STATIC)
		*entry = ehdr.e_entry;
	close(fd);
	return kind;
}

/* Beside this program, or where the installation puts it. */
static char *find_library(void)
{
	static const char * const places[] = { "", "../lib/" };
	char self[PATH_MAX], path[2 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len <= 0)
		return NULL;
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/%s" AUDIT_LIBRARY, self,
			 places[i]);
		if (!access(path, R_OK))
			return realpath(path, NULL);
	}
	return NULL;
}

static int set_audit(void)
{
	const char *others = getenv("LD_AUDIT");
	char *library = find_library(), *value;

	if (!library) {
		complain(AUDIT_LIBRARY, "is neither beside sframe nor in ../lib; install it there");
		return EXIT_NO_LIBRARY;
	}
	if (asprintf(&value, "%s%s%s", others ?: "",
		     others && *others ? ":" : "", library) < 0 ||
	    setenv("LD_AUDIT", value, 1))
		return complain("LD_AUDIT", "out of memory");
	free(value);
	free(library);
	return EXIT_OK;
}

static bool kernel_takes_tables(void)
{
	struct sframe_region region = { 4096, 4096, 8192, 4096 };

	return prctl(PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0) &&
	       errno == ENOENT;
}

static int open_table(char *name, const struct object *obj,
		      struct sframe_file *head)
{
	int fd = -1;

	if (name)
		fd = cache_open(name, obj, FORMAT_DEFAULT, head);
	free(name);
	return fd;
}

static int open_in(char *dir, const struct object *obj,
		   struct sframe_file *head)
{
	int fd = -1;

	if (dir)
		fd = open_table(cache_file_name(dir, obj, FORMAT_DEFAULT), obj,
				head);
	free(dir);
	return fd;
}

static int open_cached(const struct object *obj, struct sframe_file *head)
{
	const char *first = getenv("SFRAME_CACHE_DIR");
	int fd = -1;

	if (obj->build_id_size < SFRAME_MIN_ID)
		return -1;
	if (first)
		fd = open_in(strdup(first), obj, head);
	if (fd < 0)
		fd = open_in(cache_user_dir(), obj, head);
	if (fd < 0)
		fd = open_in(strdup(SFRAME_CACHE_SYSTEM), obj, head);
	return fd;
}

/* A table of the program's own making, in a file that has no name any more. */
static int make_table(const struct object *obj, struct sframe_file *head)
{
	const char *tmp = getenv("TMPDIR");
	char *dir, *name = NULL;
	struct cfi cfi = { };
	int fd = -1;

	if (asprintf(&dir, "%s/sframe-run.XXXXXX", tmp ?: "/tmp") < 0)
		return -1;
	if (mkdtemp(dir) && asprintf(&name, "%s/table", dir) > 0) {
		if (cfi_read(obj, &cfi) &&
		    !cache_write(obj, &cfi, FORMAT_DEFAULT, name)) {
			fd = cache_open(name, obj, FORMAT_DEFAULT, head);
			unlink(name);
		}
		rmdir(dir);
		free(name);
		cfi_free(&cfi);
	}
	free(dir);
	return fd;
}

/* As libsframe-audit.so: what cannot be told counts as filtered. */
static bool is_filtered(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	bool filtered = true;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (!strcmp(line, "Seccomp:\t0\n"))
			filtered = false;
	if (status)
		fclose(status);
	return filtered;
}

/* Whether the program's environment has @value in SFRAME_AUDIT. */
static bool audit_is(const char *value)
{
	const char *mode = getenv("SFRAME_AUDIT");

	return mode && !strcmp(mode, value);
}

static int prepare_static(const char *path, u64 entry)
{
	struct injection in = { .name = path, .entry = entry, .quiet = quiet };
	struct object obj;

	if (audit_is("off"))
		return EXIT_OK;
	if (!audit_is("seccomp") && is_filtered())
		return tell_and_go_on(path, "a seccomp filter might kill it for prctl()");
	if (!kernel_takes_tables())
		return tell_and_go_on(path, "the kernel takes no SFrame tables");
	if (object_open(&obj, path)) {
		object_close(&obj);
		return tell_and_go_on(path, obj.error);
	}
	in.fd = open_cached(&obj, &in.head);
	if (in.fd < 0)
		in.fd = make_table(&obj, &in.head);
	object_close(&obj);
	if (in.fd < 0)
		return tell_and_go_on(path, "its table can neither be found nor made");
	/* The program maps it, and closes it then. */
	if (fcntl(in.fd, F_SETFD, 0) || !inject_after_exec(&in))
		close(in.fd);
	return EXIT_OK;
}

static int run(char **argv)
{
	char *path = find_program(argv[0]);
	int ret = EXIT_OK;
	u64 entry = 0;

	if (!path || access(path, F_OK)) {
		complain(argv[0], "there is no such program");
		return EXIT_NO_PROGRAM;
	}
	switch (program_kind(path, &entry)) {
	case KIND_DYNAMIC:
		ret = set_audit();
		break;
	case KIND_STATIC:
		ret = prepare_static(path, entry);
		break;
	case KIND_ALONE:
		break;
	}
	if (ret)
		return ret;
	execvp(argv[0], argv);
	complain(path, "cannot be run: %s", strerror(errno));
	return errno == ENOENT ? EXIT_NO_PROGRAM : EXIT_CANNOT_RUN;
}

int run_main(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "+c:qh", long_options,
				NULL)) != -1) {
		switch (c) {
		case 'c':
			if (*optarg != '/') {
				complain(optarg, "is not an absolute path; name one");
				return EXIT_USAGE;
			}
			setenv("SFRAME_CACHE_DIR", optarg, 1);
			break;
		case 'q':
			quiet = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		complain("run", "no program to run; name one");
		return EXIT_USAGE;
	}
	return run(argv + optind);
}
