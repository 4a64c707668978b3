// SPDX-License-Identifier: GPL-2.0
/*
 * Step through whole programs instruction by instruction, and compare the kernel's stack
 * with that of elfutils at each step.
 *
 * To get the kernel's stack, a context switch event on the program samples as it stops.
 * The kernel writes the deferred record when the program continues, with the registers of
 * the stop.
 *
 * The test compares stacks from the innermost frame to the first in code that no SFrame
 * table covers, including that frame.  It runs through foreign code (C library, dynamic
 * linker) with breakpoints where that returns to the program's own code.
 */
#define _GNU_SOURCE
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unwind_perf.h"

#define MAX_FRAMES	256
#define MAX_TEXTS	8
#define MAX_BREAKPOINTS	1024
#define MAX_SECTIONS	64
#define MAX_KINDS	64
#define MAX_STEPS	200000
#define PROGRESS	2000
/* Maximum number of steps with different stacks: 0.1 %. */
#define MAX_DIFFERENT(steps)	((steps) / 1000)

/* The code of the program or of its own shared object. */
struct text {
	uint64_t	start;
	uint64_t	end;
	/* One byte for each byte of code: whether the table covers it. */
	uint8_t		*covered;
	struct {
		char		name[24];
		uint64_t	start;
		uint64_t	end;
	} sections[MAX_SECTIONS];
	unsigned int	section_count;
};

struct stack {
	unsigned int	nr;
	uint64_t	ips[MAX_FRAMES];
	/* The frame's ip is the current instruction, not a return address. */
	bool		exact[MAX_FRAMES];
};

/* Records that the kernel wrote for a stop. */
enum answer {
	ANSWER_NONE,
	/* A deferred record. */
	ANSWER_RECORD,
	/* Only the sample of the stop, from an immediate walk. */
	ANSWER_SAMPLE,
};

struct verdict {
	enum answer		answer;
	/* The record has the ip after a breakpoint instruction, before it was set back. */
	bool			spent;
	struct unwind_record	record;
};

/* A kind of difference, and how often it was seen. */
struct kind {
	uint64_t	ip;
	unsigned int	count;
	const char	*why;
};

struct stepper {
	const char		*name;
	pid_t			pid;
	int			mem;
	Dwfl			*dwfl;
	struct unwind_perf	perf;
	struct text		texts[MAX_TEXTS];
	unsigned int		text_count;
	uint64_t		breakpoints[MAX_BREAKPOINTS];
	uint8_t			replaced[MAX_BREAKPOINTS];
	unsigned int		breakpoint_count;
	/* The last sample and the last record seen; nr is 0 if there was none. */
	struct unwind_record	sampled;
	struct unwind_record	early;
	/* The stop was at a breakpoint, whose ip was set back after the sample. */
	bool			at_breakpoint;
	struct kind		kinds[MAX_KINDS];
	unsigned int		kind_count;

	unsigned int		steps;		/* in own code */
	unsigned int		equal;
	unsigned int		explained;	/* different, and why is known */
	unsigned int		unexplained;
	unsigned int		no_table;	/* of them: start files */
	unsigned int		in_plt;		/* of them */
	unsigned int		signal_stops;	/* not compared */
	unsigned int		spent;		/* not compared */
	unsigned int		at_once;	/* a second sample in a kernel entry */
	unsigned int		passed;		/* visits to code of others */
	unsigned int		through_signal;
	unsigned long		frames;		/* compared */
};

static unsigned int tests, failures;

/* Totals of all programs. */
static struct {
	unsigned int	steps;
	unsigned int	equal;
	unsigned int	unexplained;
} sum;

static void result(bool passed, const char *name, const char *what)
{
	tests++;
	failures += !passed;
	printf("%sok %u %s: %s\n", passed ? "" : "not ", tests, name, what);
	fflush(stdout);
}

static _Noreturn void die(const char *what)
{
	printf("Bail out! single_step: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct text *text_at(struct stepper *s, uint64_t ip)
{
	for (unsigned int i = 0; i < s->text_count; i++)
		if (ip >= s->texts[i].start && ip < s->texts[i].end)
			return &s->texts[i];
	return NULL;
}

static bool covered(struct stepper *s, uint64_t ip)
{
	struct text *text = text_at(s, ip);

	return text && text->covered[ip - text->start];
}

static const char *section_at(struct stepper *s, uint64_t ip)
{
	struct text *text = text_at(s, ip);

	for (unsigned int i = 0; text && i < text->section_count; i++)
		if (ip >= text->sections[i].start && ip < text->sections[i].end)
			return text->sections[i].name;
	return "?";
}

static const char *symbol_at(struct stepper *s, uint64_t ip)
{
	Dwfl_Module *module = dwfl_addrmodule(s->dwfl, ip);
	const char *name = module ? dwfl_module_addrname(module, ip) : NULL;

	return name ? name : "?";
}

/* Mark the code that the functions of a table cover; parses versions 2 and 3. */
static void cover(struct text *text, const uint8_t *table, size_t size, uint64_t address)
{
	bool v3 = size > 3 && table[2] == 3, relative = size > 3 && table[3] & 4;
	size_t width = v3 ? 8 : 4, step = v3 ? 16 : 20;
	uint32_t count, fdeoff;
	const uint8_t *fde;

	if (size < 28)
		return;
	memcpy(&count, table + 8, 4);
	memcpy(&fdeoff, table + 20, 4);
	fde = table + 28 + table[7] + fdeoff;
	for (; count-- && fde + step <= table + size; fde += step) {
		int64_t start = 0;
		uint32_t length;
		uint64_t at;

		memcpy(&start, fde, width);
		memcpy(&length, fde + width, 4);
		if (!v3)
			start = (int32_t)start;
		at = address + (relative ? fde - table : 0) + start - text->start;
		if (at <= text->end - text->start &&
		    length <= text->end - text->start - at)
			memset(text->covered + at, 1, length);
	}
}

static void add_breakpoint(struct stepper *s, uint64_t ip)
{
	for (unsigned int i = 0; i < s->breakpoint_count; i++)
		if (s->breakpoints[i] == ip)
			return;
	if (s->breakpoint_count == MAX_BREAKPOINTS)
		die("too many breakpoints");
	s->breakpoints[s->breakpoint_count++] = ip;
}

static void add_sections(struct text *text, Elf *elf, GElf_Addr bias)
{
	Elf_Scn *section = NULL;
	size_t names;

	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		gelf_getshdr(section, &header);
		name = elf_strptr(elf, names, header.sh_name);
		if (!strcmp(name, ".sframe")) {
			Elf_Data *data = elf_getdata(section, NULL);

			cover(text, data->d_buf, data->d_size, header.sh_addr + bias);
		}
		if (!(header.sh_flags & SHF_EXECINSTR) ||
		    text->section_count == MAX_SECTIONS)
			continue;
		snprintf(text->sections[text->section_count].name,
			 sizeof(text->sections[0].name), "%s", name);
		text->sections[text->section_count].start = header.sh_addr + bias;
		text->sections[text->section_count].end =
			header.sh_addr + bias + header.sh_size;
		text->section_count++;
	}
}

/* Foreign code may call each function, so each gets a breakpoint. */
static void add_entries(struct stepper *s, Dwfl_Module *module, struct text *text)
{
	for (int i = 0; i < dwfl_module_getsymtab(module); i++) {
		GElf_Addr address;
		GElf_Sym symbol;

		if (dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL,
					    NULL) &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    symbol.st_shndx != SHN_UNDEF && address >= text->start &&
		    address < text->end)
			add_breakpoint(s, address);
	}
}

static int add_module(Dwfl_Module *module, void **user, const char *name,
		      Dwarf_Addr start, void *data)
{
	struct stepper *s = data;
	struct text *text = &s->texts[s->text_count];
	const char *base = strrchr(name, '/');
	size_t count;
	Elf *elf;
	GElf_Addr bias;

	base = base ? base + 1 : name;
	if (!strstr(base, "step_") || s->text_count == MAX_TEXTS)
		return DWARF_CB_OK;
	elf = dwfl_module_getelf(module, &bias);
	if (!elf || elf_getphdrnum(elf, &count))
		die(dwfl_errmsg(-1));
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		gelf_getphdr(elf, i, &header);
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X))
			continue;
		text->start = header.p_vaddr + bias;
		text->end = text->start + header.p_memsz;
	}
	text->covered = calloc(1, text->end - text->start);
	if (!text->covered)
		die("calloc");
	add_sections(text, elf, bias);
	add_entries(s, module, text);
	s->text_count++;
	return DWARF_CB_OK;
}

static void get_registers(struct stepper *s, struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_GETREGS, s->pid, NULL, regs))
		die("PTRACE_GETREGS");
}

/* Wait for a stop.  Returns false if the program has ended, otherwise sets *@signal. */
static bool wait_stop(struct stepper *s, int *signal, int *status)
{
	if (waitpid(s->pid, status, 0) != s->pid)
		die("waitpid");
	if (!WIFSTOPPED(*status))
		return false;
	*signal = WSTOPSIG(*status);
	return true;
}

static uint64_t entry_point(struct stepper *s)
{
	uint64_t pair[2];
	char path[64];
	FILE *auxv;

	snprintf(path, sizeof(path), "/proc/%d/auxv", s->pid);
	auxv = fopen(path, "r");
	if (!auxv)
		die(path);
	while (fread(pair, sizeof(pair), 1, auxv) == 1) {
		if (pair[0] == AT_ENTRY) {
			fclose(auxv);
			return pair[1];
		}
	}
	die("AT_ENTRY");
}

static void poke(struct stepper *s, uint64_t at, const uint8_t *byte)
{
	if (pwrite(s->mem, byte, 1, at) != 1)
		die("writing a breakpoint");
}

/* Insert all breakpoints if @in, otherwise remove them. */
static void set_breakpoints(struct stepper *s, bool in)
{
	static const uint8_t int3 = 0xcc;

	for (unsigned int i = 0; i < s->breakpoint_count; i++) {
		if (in && pread(s->mem, &s->replaced[i], 1, s->breakpoints[i]) != 1)
			die("reading code");
		poke(s, s->breakpoints[i], in ? &int3 : &s->replaced[i]);
	}
}

static bool same(const struct stack *truth, unsigned int nr,
		 const struct unwind_record *record)
{
	return record->nr >= nr &&
	       !memcmp(truth->ips, record->ips, nr * sizeof(truth->ips[0]));
}

static void judge(struct stepper *s, const struct stack *truth, unsigned int nr,
		  const struct unwind_record *record, struct verdict *verdict)
{
	if (!record->nr || record->ips[0] != truth->ips[0])
		return;
	/* Keep a record that differs. */
	if (verdict->answer == ANSWER_RECORD && !same(truth, nr, &verdict->record))
		return;
	verdict->answer = ANSWER_RECORD;
	verdict->record.nr = record->nr;
	memcpy(verdict->record.ips, record->ips, record->nr * sizeof(record->ips[0]));
}

/*
 * Read the kernel's records for the stop with stack @truth, after the program has
 * continued.  The kernel usually writes the record then.  If the program was preempted or
 * stopped earlier in the same kernel entry, the record came before the stop and is in
 * @s->early.
 */
static void take_answer(struct stepper *s, const struct stack *truth, unsigned int nr,
			struct verdict *verdict)
{
	static struct unwind_record next;
	uint64_t ip = truth->ips[0];

	bool at_once = s->sampled.nr > 1 && s->sampled.ips[0] == UNWIND_CONTEXT_USER;

	s->at_once += at_once;
	verdict->answer = ANSWER_NONE;
	/*
	 * The ip after the breakpoint instruction, with which the program entered the
	 * kernel.
	 */
	verdict->spent = s->at_breakpoint &&
			 ((at_once && s->sampled.ips[1] == ip + 1) ||
			  (s->early.nr && s->early.ips[0] == ip + 1));
	s->at_breakpoint = false;
	if (at_once && s->sampled.ips[1] == ip) {
		verdict->answer = ANSWER_SAMPLE;
		verdict->record.nr = s->sampled.nr - 1;
		memcpy(verdict->record.ips, s->sampled.ips + 1,
		       verdict->record.nr * sizeof(ip));
	}
	judge(s, truth, nr, &s->early, verdict);
	s->sampled.nr = 0;
	s->early.nr = 0;
	while (unwind_perf_next(&s->perf, &next)) {
		struct unwind_record *keep = &s->early;

		if (next.type == PERF_RECORD_SAMPLE)
			keep = &s->sampled;
		else
			judge(s, truth, nr, &next, verdict);
		/* This belongs to the next stop, unless another record follows. */
		keep->nr = next.nr;
		memcpy(keep->ips, next.ips, next.nr * sizeof(ip));
	}
}

/*
 * Run through foreign code until it reaches the program's own.  Returns false if the
 * program has ended.
 */
static bool run_to_own(struct stepper *s, int *status)
{
	static const struct stack nowhere;
	static struct verdict ignored;
	struct user_regs_struct regs;
	int signal = 0;
	bool alive;

	s->passed++;
	set_breakpoints(s, true);
	for (;;) {
		if (ptrace(PTRACE_CONT, s->pid, NULL, signal))
			die("PTRACE_CONT");
		alive = wait_stop(s, &signal, status);
		if (!alive)
			return false;
		if (signal == SIGTRAP)
			break;
	}
	set_breakpoints(s, false);
	/*
	 * Discard records from the way here, but keep the last, which may belong to the
	 * next stop.
	 */
	take_answer(s, &nowhere, 0, &ignored);
	s->at_breakpoint = true;
	get_registers(s, &regs);
	regs.rip--;
	if (ptrace(PTRACE_SETREGS, s->pid, NULL, &regs))
		die("PTRACE_SETREGS");
	return true;
}

/* Start @path, stop it after its exec, and sample its stops from then on. */
static void launch(struct stepper *s, const char *path)
{
	int signal, status, error;
	char lib[PATH_MAX];

	snprintf(lib, sizeof(lib), "lib%s.so", s->name);
	s->pid = fork();
	if (s->pid < 0)
		die("fork");
	if (!s->pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, lib, NULL);
		_exit(127);
	}
	if (!wait_stop(s, &signal, &status))
		die(path);
	if (ptrace(PTRACE_SETOPTIONS, s->pid, NULL, PTRACE_O_EXITKILL))
		die("PTRACE_SETOPTIONS");
	/*
	 * Open the event before the first stop to compare, as a stop samples when it
	 * begins.
	 */
	error = unwind_perf_open(&s->perf, s->pid, PERF_TYPE_SOFTWARE,
				 PERF_COUNT_SW_CONTEXT_SWITCHES, 0);
	if (error) {
		errno = -error;
		die("perf_event_open");
	}
}

/* Run @path once, as loading the tables of its objects may take longer than a walk waits. */
static void load_tables(struct stepper *s, const char *path)
{
	int signal = 0, status;

	launch(s, path);
	do {
		if (ptrace(PTRACE_CONT, s->pid, NULL, signal))
			die("PTRACE_CONT");
	} while (wait_stop(s, &signal, &status));
	unwind_perf_close(&s->perf);
	for (int i = 0; i < 300 && unwind_is_loading(); i++)
		usleep(100000);
}

/* Start @path, and stop it at the first instruction of its own code. */
static void start(struct stepper *s, const char *path)
{
	static char *find_path;

	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &find_path,
	};
	char mem[64];
	int status;

	launch(s, path);
	snprintf(mem, sizeof(mem), "/proc/%d/mem", s->pid);
	s->mem = open(mem, O_RDWR | O_CLOEXEC);
	if (s->mem < 0)
		die(mem);
	add_breakpoint(s, entry_point(s));
	if (!run_to_own(s, &status))
		die("the program ended early");

	s->dwfl = dwfl_begin(&callbacks);
	if (!s->dwfl || dwfl_linux_proc_report(s->dwfl, s->pid) ||
	    dwfl_report_end(s->dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(s->dwfl, s->pid, true) < 0)
		die(dwfl_errmsg(-1));
	dwfl_getmodules(s->dwfl, add_module, s, 0);
	if (s->text_count != 2)
		die("not two modules of its own");
}

static int take_frame(Dwfl_Frame *frame, void *data)
{
	struct stack *stack = data;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	stack->ips[stack->nr] = pc;
	stack->exact[stack->nr] = exact;
	return ++stack->nr == MAX_FRAMES ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/*
 * Number of elfutils' frames that the kernel must find: up to the first in code without a
 * table.  A signal trampoline does not end this, as the kernel recognises its code.
 */
static unsigned int promised(struct stepper *s, const struct stack *stack)
{
	for (unsigned int i = 0; i < stack->nr; i++) {
		bool trampoline = i + 1 < stack->nr && stack->exact[i + 1];

		if (trampoline)
			s->through_signal++;
		else if (!covered(s, stack->ips[i] - !stack->exact[i]))
			return i + 1;
	}
	return stack->nr;
}

/* Reason why a difference is not a kernel bug, or NULL if there is no known reason. */
static const char *explain(struct stepper *s, uint64_t ip)
{
	if (!strcmp(section_at(s, ip), ".plt.got"))
		return "ld says CFA = sp + 16 of .plt.got, where it is sp + 8";
	return NULL;
}

static void show(struct stepper *s, const char *whose, const uint64_t *ips,
		 unsigned int nr, unsigned int needed)
{
	printf("#   %-8s", whose);
	for (unsigned int i = 0; i < nr && i < needed + 2; i++)
		printf("%s %#" PRIx64 " %s", i ? " <-" : "", ips[i],
		       symbol_at(s, ips[i] - !!i));
	putchar('\n');
}

static void different(struct stepper *s, const struct stack *truth, unsigned int nr,
		      const struct verdict *verdict)
{
	uint64_t ip = truth->ips[0];
	const char *why = explain(s, ip);

	*(why ? &s->explained : &s->unexplained) += 1;
	for (unsigned int i = 0; i < s->kind_count; i++) {
		if (s->kinds[i].ip == ip) {
			s->kinds[i].count++;
			return;
		}
	}
	if (s->kind_count == MAX_KINDS)
		return;
	s->kinds[s->kind_count++] = (struct kind){ ip, 1, why };
	printf("# %s: different at %#" PRIx64 " (%s %s, file address %#" PRIx64 "): %s\n",
	       s->name, ip, section_at(s, ip), symbol_at(s, ip),
	       ip - (text_at(s, ip)->start & ~0xffful),
	       why ? why : verdict->answer == ANSWER_RECORD ? "NOT EXPLAINED" :
	       "NO RECORD");
	show(s, "elfutils", truth->ips, truth->nr, nr);
	if (verdict->answer != ANSWER_NONE)
		show(s, "kernel", verdict->record.ips, verdict->record.nr, nr);
}

/*
 * Make one step: take elfutils' stack, continue the program, take the kernel's stack.
 * Returns false if the program has ended.
 */
static bool step(struct stepper *s, const struct user_regs_struct *regs, int *signal,
		 int *status)
{
	static struct verdict verdict;
	int sent = *signal == SIGTRAP ? 0 : *signal;
	static struct stack truth;
	unsigned int nr;
	bool alive;

	truth.nr = 0;
	/*
	 * -1 is the usual result here; it depends on how the outermost frame was
	 * recognised.
	 */
	dwfl_getthread_frames(s->dwfl, s->pid, take_frame, &truth);
	if (!truth.nr || truth.ips[0] != regs->rip)
		die("elfutils has no stack");
	nr = promised(s, &truth);

	if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, sent))
		die("PTRACE_SINGLESTEP");
	alive = wait_stop(s, signal, status);
	take_answer(s, &truth, nr, &verdict);
	/*
	 * No instruction was executed: the program stopped for a signal in the
	 * same kernel entry, or entered the handler.
	 */
	if (sent || (alive && *signal != SIGTRAP)) {
		s->signal_stops++;
		return alive;
	}
	/*
	 * Preempted before the stop, the program already had the record of this kernel
	 * entry.
	 */
	if (verdict.answer == ANSWER_NONE && verdict.spent) {
		s->spent++;
		return alive;
	}

	s->steps++;
	s->no_table += !covered(s, regs->rip);
	s->in_plt += !strncmp(section_at(s, regs->rip), ".plt", 4);
	s->frames += nr;
	if (verdict.answer == ANSWER_RECORD && same(&truth, nr, &verdict.record))
		s->equal++;
	else
		different(s, &truth, nr, &verdict);
	return alive;
}

/*
 * Set a breakpoint where a call into foreign code will return.  The return address is on
 * top of the stack, or after the words that the PLT has pushed for the dynamic linker.
 */
static void add_return(struct stepper *s, uint64_t sp)
{
	uint64_t words[3] = { };

	if (pread(s->mem, words, sizeof(words), sp) != sizeof(words))
		return;
	if (text_at(s, words[0]))
		add_breakpoint(s, words[0]);
	else if (text_at(s, words[2]))
		add_breakpoint(s, words[2]);
}

static void run_steps(struct stepper *s, int *status)
{
	struct user_regs_struct regs;
	int signal = SIGTRAP;
	bool alive = true;

	while (alive && s->steps < MAX_STEPS) {
		get_registers(s, &regs);
		if (text_at(s, regs.rip)) {
			alive = step(s, &regs, &signal, status);
			if (s->steps % PROGRESS == 0) {
				printf("# %s: %u steps\n", s->name, s->steps);
				fflush(stdout);
			}
		} else {
			add_return(s, regs.rsp);
			alive = run_to_own(s, status);
			signal = SIGTRAP;
		}
	}
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1000000000.0;
}

static void report(struct stepper *s, double seconds, int status)
{
	unsigned int bad = s->explained + s->unexplained;
	char what[256];

	printf("# %s: %u steps in own code, %lu frames compared\n", s->name,
	       s->steps, s->frames);
	printf("# %s: %u equal, %u different (%u explained): %.3f %%\n", s->name,
	       s->equal, bad, s->explained,
	       s->steps ? 100.0 * s->equal / s->steps : 0);
	printf("# %s: %u steps in start files (no table), %u in PLTs\n", s->name,
	       s->no_table, s->in_plt);
	printf("# %s: %u steps through a signal handler\n", s->name,
	       s->through_signal);
	printf("# %s: not compared: %u stops for signals, %u after preemption\n",
	       s->name, s->signal_stops, s->spent);
	printf("# %s: %u visits to code of others\n", s->name, s->passed);
	printf("# %s: %u samples behind their kernel entry's record; %.1f s\n",
	       s->name, s->at_once, seconds);
	for (unsigned int i = 0; i < s->kind_count; i++)
		printf("# %s: %u x at %#" PRIx64 ": %s\n", s->name, s->kinds[i].count,
		       s->kinds[i].ip, s->kinds[i].why ? s->kinds[i].why : "not explained");

	result(WIFEXITED(status) && !WEXITSTATUS(status), s->name, "ran to its end");
	sum.steps += s->steps;
	sum.equal += s->equal;
	sum.unexplained += s->unexplained;
	snprintf(what, sizeof(what), "%u of %u steps equal, at most %u may differ",
		 s->equal, s->steps, MAX_DIFFERENT(s->steps));
	result(s->steps > 1000 && bad <= MAX_DIFFERENT(s->steps), s->name, what);
	snprintf(what, sizeof(what), "%u differences without explanation", s->unexplained);
	result(s->steps && !s->unexplained, s->name, what);
	/* Few stops may be left out of the comparison. */
	snprintf(what, sizeof(what), "%u stops not compared", s->signal_stops + s->spent);
	result(s->signal_stops + s->spent <= MAX_DIFFERENT(s->steps), s->name, what);
	snprintf(what, sizeof(what), "%u steps in PLTs and %u in a signal handler",
		 s->in_plt, s->through_signal);
	result(s->in_plt && s->through_signal, s->name, what);
}

static void test_program(const char *path)
{
	static struct stepper stepper;
	struct stepper *s = &stepper;
	double begin = now();
	int status = 0;

	memset(s, 0, sizeof(*s));
	s->name = strrchr(path, '/');
	s->name = s->name ? s->name + 1 : path;
	load_tables(s, path);
	start(s, path);
	run_steps(s, &status);
	report(s, now() - begin, status);

	dwfl_end(s->dwfl);
	unwind_perf_close(&s->perf);
	close(s->mem);
	for (unsigned int i = 0; i < s->text_count; i++)
		free(s->texts[i].covered);
}

int main(int argc, char **argv)
{
	static const char * const programs[] = {
		"step_O2", "step_Os", "step_O0", "step_cet_now",
		/* Built only if binutils support version 3. */
		"step_v3",
	};
	const char *missing = unwind_perf_missing();
	char self[PATH_MAX], path[PATH_MAX + 32];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	printf("TAP version 13\n");
	if (missing) {
		printf("1..0 # SKIP %s\n", missing);
		return 4;
	}
	if (len < 0)
		die("/proc/self/exe");
	self[len] = 0;
	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			test_program(argv[i]);
	} else {
		dirname(self);
		for (int i = 0; i < 5; i++) {
			snprintf(path, sizeof(path), "%s/%s", self, programs[i]);
			if (i < 4 || !access(path, X_OK))
				test_program(path);
		}
	}
	printf("1..%u\n", tests);
	printf("# single_step: %u steps, %u equal, %u different (%u not explained)",
	       sum.steps, sum.equal, sum.steps - sum.equal, sum.unexplained);
	printf(": %.3f %%\n", 100.0 * sum.equal / sum.steps);
	printf("# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:0 error:0\n",
	       tests - failures, failures);
	return failures ? 1 : 0;
}
