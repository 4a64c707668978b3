// SPDX-License-Identifier: GPL-2.0
/*
 * See the help text. Functions of processes are named by libdwfl, from files that are
 * opened through /proc/PID/map_files: a path means something else in another mount
 * namespace, and nothing once the file is deleted or replaced.
 */
#include <argp.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include <locale.h>
#include <search.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "offwaketime.h"
#include "offwaketime.skel.h"

static const char doc[] =
"Sum up the time that tasks were blocked, by the stack in which they waited and\n"
"the stack of the task or interrupt that woke them up. At the end, print folded\n"
"stacks for flame graph tools, which add up equal ones:\n\n"
"  TARGET;its frames;--;its waker's frames;WAKER MICROSECONDS\n"
"\vTime includes waiting for a CPU after the wakeup. A preempted task is not\n"
"blocked. A wait that lasts beyond the end is not counted. Frames of a process\n"
"that ended before the tool could look at it are [unknown].\n\n"
"STATES are letters: S interruptible, D uninterruptible, I idle, T stopped,\n"
"t traced, P parked.\n\n"
"What was lost is counted on stderr. Exit status: 0 nothing was lost,\n"
"1 something was lost or failed, 2 usage.\n\n"
"  offwaketime -p 4711 -d 10 >waits.folded\n"
"  flamegraph.pl --countname=us waits.folded >waits.svg\n";

enum { MAX_STACKS = 256, STATE };

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "Only waits of process PID" },
	{ "tid", 't', "TID", 0, "Only waits of thread TID" },
	{ "state", STATE, "STATES", 0, "Only waits in one of these states" },
	{ "user", 'u', NULL, 0, "Print user stacks only" },
	{ "kernel", 'k', NULL, 0, "Take kernel stacks only" },
	{ "min-us", 'm', "US", 0, "Leave out shorter waits (default: 1)" },
	{ "max-us", 'M', "US", 0, "Leave out longer waits" },
	{ "duration", 'd', "SECONDS", 0, "Stop after SECONDS (default: on Ctrl-C)" },
	{ "output", 'o', "FILE", 0, "Print to FILE" },
	{ "max-stacks", MAX_STACKS, "N", 0, "Entries of the stack map (default: 16384)" },
	{}
};

static struct offwaketime_bpf *skel;
static unsigned int duration;
static bool user_only;
static volatile sig_atomic_t stop;
/* Processes that ended too early; stack ids that the map did not know */
static unsigned long gone, unknown;

static unsigned long number(struct argp_state *state, const char *text, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || !value || value > max)
		argp_error(state, "'%s' is not a number from 1 to %lu", text, max);
	return value;
}

static __u32 states(struct argp_state *state, const char *text)
{
	/* Each at the number of its bit in task_struct's state */
	static const char letters[] = "SDTt--P---I";
	const char *at;
	__u32 bits = 0;

	do {
		at = strchr(letters, *text);
		if (!at || !*at || *at == '-')
			argp_error(state, "STATES are letters of SDITtP, not '%s'", text);
		bits |= 1 << (at - letters);
	} while (*++text);
	return bits;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'p':
		skel->rodata->only_tgid = number(state, arg, INT_MAX);
		break;
	case 't':
		skel->rodata->only_tid = number(state, arg, INT_MAX);
		break;
	case STATE:
		skel->rodata->only_states = states(state, arg);
		break;
	case 'u':
		user_only = true;
		break;
	case 'k':
		skel->rodata->kernel_only = true;
		break;
	case 'm':
		skel->rodata->min_ns = number(state, arg, UINT_MAX) * 1000;
		break;
	case 'M':
		skel->rodata->max_ns = number(state, arg, UINT_MAX) * 1000;
		break;
	case 'd':
		duration = number(state, arg, UINT_MAX);
		break;
	case 'o':
		if (!freopen(arg, "w", stdout))
			argp_failure(state, 1, errno, "%s", arg);
		break;
	case MAX_STACKS:
		bpf_map__set_max_entries(skel->maps.stacks, number(state, arg, 1 << 24));
		break;
	case ARGP_KEY_END:
		if (user_only && skel->rodata->kernel_only)
			argp_error(state, "-u and -k exclude each other");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Of libstdc++; elfutils has no demangler of its own. */
char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status);

struct noted {
	struct image	image;
	Dwfl		*dwfl;
};

/* One for all images that map the file */
struct file {
	dev_t		dev;
	ino_t		ino;
	Elf		*elf;
};

/* Trees of tsearch(), which live as long as the tool */
static void *all_noted, *files;
/* Folder of the process that is being noted */
static char map_files[64];

static int by_image(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct image));
}

static int by_inode(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct file, elf));
}

static Elf *open_elf(int dir, const char *path)
{
	struct file *file = calloc(1, sizeof(*file)), **found;
	struct stat stat;
	int fd;

	/* Opening a device may do anything. */
	if (!file || fstatat(dir, path, &stat, 0) || !S_ISREG(stat.st_mode)) {
		free(file);
		return NULL;
	}
	file->dev = stat.st_dev;
	file->ino = stat.st_ino;
	found = tsearch(file, &files, by_inode);
	if (found && *found == file) {
		fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
		/* Not mapped: its owner could cut the file off, and reading it would be fatal. */
		file->elf = elf_begin(fd, ELF_C_READ, NULL);
		elf_cntl(file->elf, ELF_C_FDREAD);
		close(fd);
	} else {
		free(file);
	}
	/* Another reference */
	return found ? elf_begin(-1, ELF_C_READ, (*found)->elf) : NULL;
}

/* Called by libdwfl in on_note(): see the head of the file. */
static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		    char **path, Elf **elf)
{
	struct dirent *entry;
	DIR *dir;

	/* The vDSO is read from the memory of the process. */
	if (*name != '/')
		return dwfl_linux_proc_find_elf(module, data, name, base, path, elf);
	dir = opendir(map_files);
	while (dir && !*elf && (entry = readdir(dir))) {
		if (strtoull(entry->d_name, NULL, 16) == base)
			*elf = open_elf(dirfd(dir), entry->d_name);
	}
	if (dir)
		closedir(dir);
	*path = strdup(name);
	return -1;
}

static int open_module(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		       void *arg)
{
	dwfl_module_getelf(module, &base);
	return DWARF_CB_OK;
}

/* Whether the process still has the image, and has not become another by exec. */
static bool has_stack(__u64 tgid, __u64 stack)
{
	char path[64], line[1024] = "", *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%llu/stat", tgid);
	file = fopen(path, "r");
	if (!file)
		return false;
	fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	/* startstack is the field 28, and the name, which may have blanks and newlines, is 2. */
	at = strrchr(line, ')');
	for (int field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	return at && strtoull(at, NULL, 10) == stack;
}

/* An image seen first: open all that it maps, as its last process may end. */
static int on_note(void *context, void *data, size_t size)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	struct note *note = data;
	struct noted *noted;

	/* The map "noted" forgets images that are not used. */
	if (tfind(&note->image, &all_noted, by_image))
		return 0;
	noted = calloc(1, sizeof(*noted));
	if (!noted)
		return -ENOMEM;
	noted->image = note->image;
	noted->dwfl = dwfl_begin(&callbacks);
	snprintf(map_files, sizeof(map_files), "/proc/%llu/map_files", note->tgid);
	dwfl_linux_proc_report(noted->dwfl, note->tgid);
	dwfl_report_end(noted->dwfl, NULL, NULL);
	dwfl_getmodules(noted->dwfl, open_module, NULL, 0);
	if (has_stack(note->tgid, note->image.stack))
		return tsearch(noted, &all_noted, by_image) ? 0 : -ENOMEM;
	/* Another process may have it. */
	bpf_map__delete_elem(skel->maps.noted, &note->image, sizeof(note->image), 0);
	dwfl_end(noted->dwfl);
	free(noted);
	gone++;
	return 0;
}

/*
 * Names are what their owners want: also control characters, which a terminal obeys, and the
 * separator of frames.  They become '?'.
 */
static void print_name(const char *name)
{
	size_t left = strlen(name), len;
	mbstate_t state;
	wchar_t letter;

	for (; left; name += len, left -= len) {
		memset(&state, 0, sizeof(state));
		len = mbrtowc(&letter, name, left, &state);
		if (len > left) {
			len = 1;
			letter = L'\0';
		}
		if (letter == L';' || !iswprint(letter))
			putchar('?');
		else
			fwrite(name, len, 1, stdout);
	}
}

static void print_user(const struct image *image, __u64 address)
{
	struct noted **noted = tfind(image, &all_noted, by_image);
	Dwfl_Module *module = noted ? dwfl_addrmodule((*noted)->dwfl, address) : NULL;
	const char *name = module ? dwfl_module_addrname(module, address) : NULL;
	char *readable = NULL;

	if (name && !strncmp(name, "_Z", 2))
		readable = __cxa_demangle(name, NULL, NULL, NULL);
	putchar(';');
	if (name) {
		print_name(readable ?: name);
	} else if (module) {
		putchar('[');
		print_name(basename(dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL,
						     NULL)));
		putchar(']');
	} else {
		printf("[unknown]");
	}
	free(readable);
}

/* Read a stack to skel->bss->ips; its depth. What stands for a lost one is printed. */
static int read_stack(__s32 id)
{
	__u64 *ips = skel->bss->ips;
	int depth = 0;

	if (id == LOST_STACK)
		printf(";[lost stack]");
	if (id < 0)
		return 0;
	memset(ips, 0, sizeof(skel->bss->ips));
	if (bpf_map__lookup_elem(skel->maps.stacks, &id, sizeof(id), ips,
				 sizeof(skel->bss->ips), 0)) {
		printf(";[unknown stack]");
		unknown++;
	}
	while (depth < DEPTH && ips[depth])
		depth++;
	return depth;
}

/* The target's outermost frame comes first, and the waker's innermost. */
static void print_users(const struct who *who, bool is_waker)
{
	int depth = read_stack(who->user), at;

	for (int i = 0; i < depth; i++) {
		at = is_waker ? i : depth - 1 - i;
		/* All but the innermost are return addresses, after the call. */
		print_user(&who->image, skel->bss->ips[at] - (at > 0));
	}
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* Whether an interrupt is in the stack; then frames up to that are printed. */
static bool print_kernel(const struct who *who, bool is_waker)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int end = read_stack(who->kernel), first = 0;
	bool interrupt = false;
	const char *name;

	if (end && bpf_prog_test_run_opts(bpf_program__fd(skel->progs.name_kernel_stack), &run)) {
		printf(";[unknown stack]");
		unknown++;
		end = 0;
	}
	for (int i = 0; i < end; i++) {
		name = skel->bss->names[i];
		/* The tracing itself is innermost. */
		if (begins(name, "bpf_trace_run") || begins(name, "__bpf_trace_") ||
		    begins(name, "__traceiter_"))
			first = i + 1;
		interrupt = begins(name, "asm_sysvec_") || begins(name, "asm_common_interrupt") ||
			    begins(name, "asm_exc_nmi");
		if (interrupt)
			end = i + 1;
	}
	for (int i = 0; i < end - first && !user_only; i++)
		printf(";%s_[k]", skel->bss->names[is_waker ? first + i : end - 1 - i]);
	return interrupt;
}

static void print_pair(const struct pair *pair, __u64 ns)
{
	print_name(pair->target.comm);
	print_users(&pair->target, false);
	print_kernel(&pair->target, false);
	printf(";--");
	/* What an interrupt hit has nothing to do with the wakeup. */
	if (print_kernel(&pair->waker, true)) {
		printf(";[interrupt] %llu\n", ns / 1000);
	} else {
		print_users(&pair->waker, true);
		putchar(';');
		print_name(pair->waker.comm);
		printf(" %llu\n", ns / 1000);
	}
}

static int print_pairs(void)
{
	struct pair pair, *last = NULL;
	__u64 ns;

	while (!bpf_map__get_next_key(skel->maps.sums, last, &pair, sizeof(pair))) {
		last = &pair;
		if (!bpf_map__lookup_elem(skel->maps.sums, &pair, sizeof(pair), &ns, sizeof(ns), 0))
			print_pair(&pair, ns);
	}
	return fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

/* Say on stderr what is missing; whether something is. */
static bool print_losses(void)
{
	static const char * const names[LOSSES] = {
		[LOST_EEXIST] = "stacks lost: their slot was taken (map stacks)",
		[LOST_ENOMEM] = "stacks lost: no memory or no entry left (map stacks)",
		[LOST_OTHER] = "stacks lost: other errors (map stacks)",
		[LOST_TASK] = "waits or wakeups lost: no room (map tasks)",
		[LOST_SUM] = "waits lost: no room (map sums)",
		[LOST_NOTE] = "processes without names: no room (map notes)",
	};
	bool lost = unknown;

	for (int i = 0; i < LOSSES; i++) {
		if (skel->bss->losses[i])
			fprintf(stderr, "offwaketime: %llu %s\n", skel->bss->losses[i], names[i]);
		lost |= skel->bss->losses[i];
	}
	if (unknown)
		fprintf(stderr, "offwaketime: %lu stack ids unknown (map stacks)\n", unknown);
	if (gone)
		fprintf(stderr, "offwaketime: %lu processes ended too early to be noted\n", gone);
	return lost;
}

static void on_signal(int signal)
{
	stop = 1;
}

/* Record until a signal comes or the time is over. */
static int record(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct ring_buffer *notes;
	int err;

	err = offwaketime_bpf__load(skel);
	if (err)
		return err;
	notes = ring_buffer__new(bpf_map__fd(skel->maps.notes), on_note, NULL, NULL);
	if (!notes)
		return -errno;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	err = offwaketime_bpf__attach(skel);
	if (!err) {
		fprintf(stderr, "offwaketime: recording\n");
		alarm(duration);
		while (!stop && (err >= 0 || err == -EINTR))
			err = ring_buffer__poll(notes, 100);
		offwaketime_bpf__detach(skel);
		err = ring_buffer__consume(notes);
	}
	ring_buffer__free(notes);
	return err < 0 ? err : 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, NULL, doc };
	bool lost;
	int err;

	argp_err_exit_status = 2;
	setlocale(LC_CTYPE, "C.UTF-8");
	skel = offwaketime_bpf__open();
	if (!skel) {
		fprintf(stderr, "offwaketime: BPF object: %s\n", strerror(errno));
		return 1;
	}
	skel->rodata->own_tgid = getpid();
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	err = record() ?: print_pairs();
	if (err)
		fprintf(stderr, "offwaketime: recording or printing: %s\n", strerror(-err));
	lost = print_losses();
	offwaketime_bpf__destroy(skel);
	return err || lost;
}
