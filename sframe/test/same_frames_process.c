// SPDX-License-Identifier: GPL-2.0
/*
 * Follows processes by their records.  Unwinds their samples with libdwfl, from the registers
 * and the dump of the stack, as perf does with --call-graph dwarf.
 */
#include "same_frames.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* DWARF's number of the return address, which stands for the ip. */
#define DWARF_RIP	16

struct process {
	uint32_t		pid;
	char			name[16];
	struct module		*modules;
	size_t			nr_modules;
	/* NULL, or with the first @reported modules. */
	Dwfl			*dwfl;
	size_t			reported;
	/* The sample that is unwound. */
	const struct sample	*sample;
};

static struct process **processes;
static size_t nr_processes;

struct process *process_of(uint32_t pid)
{
	struct process *process;

	for (size_t i = 0; i < nr_processes; i++)
		if (processes[i]->pid == pid)
			return processes[i];
	process = grow(NULL, sizeof(*process));
	*process = (struct process){ .pid = pid };
	processes = grow(processes, (nr_processes + 1) * sizeof(process));
	processes[nr_processes++] = process;
	return process;
}

const char *process_name(const struct process *process)
{
	return process->name;
}

static void drop_dwfl(struct process *process)
{
	if (process->dwfl)
		dwfl_end(process->dwfl);
	process->dwfl = NULL;
	process->reported = 0;
}

static void process_exec(struct process *process, const char *name)
{
	drop_dwfl(process);
	process->nr_modules = 0;
	snprintf(process->name, sizeof(process->name), "%s", name);
}

/* Names are never freed, so that parent and child may share them. */
static void process_fork(struct process *child, const struct process *parent)
{
	process_exec(child, parent->name);
	child->modules = grow(child->modules, parent->nr_modules * sizeof(*child->modules));
	memcpy(child->modules, parent->modules,
	       parent->nr_modules * sizeof(*child->modules));
	child->nr_modules = parent->nr_modules;
}

/* Remove mappings that the new one replaces: there are no records of munmap(). */
static void remove_overlap(struct process *process, const struct module *with)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->nr_modules; i++) {
		struct module *module = &process->modules[i];

		if (module->start < with->end && with->start < module->end)
			drop_dwfl(process);
		else
			process->modules[kept++] = *module;
	}
	process->nr_modules = kept;
}

static bool is_known(const struct process *process, const struct module *module)
{
	for (size_t i = 0; i < process->nr_modules; i++)
		if (process->modules[i].bias == module->bias &&
		    !strcmp(process->modules[i].name, module->name))
			return true;
	return false;
}

static void process_map(struct process *process, const struct event *event)
{
	/* pid and tid, address, length, offset, device, inode, generation, prot */
	const uint64_t *words = event->words;
	const char *name = (const char *)(words + 8);
	struct module module;

	if (!((uint32_t)words[7] & PROT_EXEC) ||
	    !module_open(&module, name, words[1], words[3]) ||
	    is_known(process, &module))
		return;
	remove_overlap(process, &module);
	process->modules = grow(process->modules, (process->nr_modules + 1) *
				sizeof(*process->modules));
	process->modules[process->nr_modules++] = module;
}

void process_event(const struct event *event)
{
	struct process *process = process_of((uint32_t)event->words[0]);

	switch (event->type) {
	case PERF_RECORD_MMAP2:
		process_map(process, event);
		break;
	case PERF_RECORD_COMM:
		if (event->misc & PERF_RECORD_MISC_COMM_EXEC)
			process_exec(process, (const char *)(event->words + 1));
		break;
	case PERF_RECORD_FORK:
		/* Else a new thread. */
		if (process->pid != event->words[0] >> 32)
			process_fork(process, process_of(event->words[0] >> 32));
		break;
	}
}

static bool read_dump(const struct sample *sample, uint64_t address, Dwarf_Word *word)
{
	uint64_t offset = address - sample->regs[SAMPLED_SP];

	if (address < sample->regs[SAMPLED_SP] || offset >= sample->stack_size ||
	    sample->stack_size - offset < sizeof(*word))
		return false;
	memcpy(word, sample->stack + offset, sizeof(*word));
	return true;
}

/* Read memory that no process can write to from the file. */
static bool read_file(Dwfl *dwfl, uint64_t address, Dwarf_Word *word)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
	size_t count, size;
	GElf_Addr bias;
	char *bytes;
	Elf *elf;

	elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	bytes = elf ? elf_rawfile(elf, &size) : NULL;
	if (!bytes || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;
		uint64_t offset;

		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    phdr.p_flags & PF_W)
			continue;
		offset = address - bias - phdr.p_vaddr;
		if (offset + sizeof(*word) > phdr.p_filesz ||
		    phdr.p_offset + offset + sizeof(*word) > size)
			continue;
		memcpy(word, bytes + phdr.p_offset + offset, sizeof(*word));
		return true;
	}
	return false;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *data)
{
	const struct process *process = data;

	return read_dump(process->sample, address, word) ||
	       read_file(dwfl, address, word);
}

static bool set_registers(Dwfl_Thread *thread, void *data)
{
	static const enum reg dwarf[DWARF_RIP + 1] = {
		SAMPLED_AX, SAMPLED_DX, SAMPLED_CX, SAMPLED_BX, SAMPLED_SI, SAMPLED_DI,
		SAMPLED_BP, SAMPLED_SP, SAMPLED_R8, SAMPLED_R9, SAMPLED_R10, SAMPLED_R11,
		SAMPLED_R12, SAMPLED_R13, SAMPLED_R14, SAMPLED_R15, SAMPLED_IP,
	};
	const struct process *process = data;
	Dwarf_Word words[DWARF_RIP + 1];

	for (int i = 0; i <= DWARF_RIP; i++)
		words[i] = process->sample->regs[dwarf[i]];
	return dwfl_thread_state_registers(thread, 0, DWARF_RIP + 1, words);
}

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread)
{
	const struct process *process = data;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = data;
	return process->sample->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *data, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = data;
	return true;
}

/* Use no separate debug files, only .eh_frame. */
static int find_no_debuginfo(Dwfl_Module *module, void **user, const char *name,
			     Dwarf_Addr base, const char *file, const char *link,
			     GElf_Word crc, char **found)
{
	(void)module, (void)user, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)found;
	return -1;
}

static void process_prepare(struct process *process)
{
	static const Dwfl_Thread_Callbacks threads = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_no_debuginfo,
	};

	if (process->dwfl && process->reported == process->nr_modules)
		return;
	if (!process->dwfl)
		process->dwfl = dwfl_begin(&callbacks);
	else
		dwfl_report_begin_add(process->dwfl);
	for (; process->reported < process->nr_modules; process->reported++) {
		const struct module *module = &process->modules[process->reported];

		if (!dwfl_report_elf(process->dwfl, module->name, module->name,
				     module_file(module), module->bias, true))
			fprintf(stderr, "same_frames: %s: %s\n", module->name,
				dwfl_errmsg(-1));
	}
	dwfl_report_end(process->dwfl, NULL, NULL);
	/* libdwfl learns the machine from a module, so there has to be one. */
	if (dwfl_pid(process->dwfl) < 0)
		dwfl_attach_state(process->dwfl, NULL, process->pid, &threads, process);
}

static int take_frame(Dwfl_Frame *frame, void *data)
{
	struct stack *stack = data;
	Dwarf_Addr pc;
	bool exact;

	if (stack->nr == MAX_FRAMES || !dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	stack->ips[stack->nr] = pc;
	stack->exact[stack->nr++] = exact;
	return DWARF_CB_OK;
}

bool process_is_outermost(struct process *process, uint64_t ip)
{
	Dwfl_Module *module = dwfl_addrmodule(process->dwfl, ip);
	Dwarf_Op *ops, space[3];
	Dwarf_Frame *frame;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;
	size_t count;
	bool is;

	cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	if (!cfi || dwarf_cfi_addrframe(cfi, ip - bias, &frame))
		return false;
	/* libdw reports an undefined register in this way. */
	is = !dwarf_frame_register(frame, DWARF_RIP, space, &ops, &count) && !count &&
	     ops == space;
	free(frame);
	return is;
}

void process_unwind(struct process *process, const struct sample *sample,
		    struct stack *to)
{
	unsigned int last;
	int ret;

	process_prepare(process);
	process->sample = sample;
	to->nr = 0;
	ret = dwfl_getthread_frames(process->dwfl, sample->tid, take_frame, to);
	last = to->nr - 1;
	/* libdwfl also returns 0 if the return address lies beyond the dump. */
	to->whole = !ret && to->nr &&
		    process_is_outermost(process, to->ips[last] - !to->exact[last]);
	to->error = ret ? dwfl_errmsg(-1) : "the dump ends";
}

/* The object that has @ip, or NULL. */
static const struct module *module_at(const struct process *process, uint64_t ip)
{
	for (size_t i = 0; i < process->nr_modules; i++)
		if (ip >= process->modules[i].start && ip < process->modules[i].end)
			return &process->modules[i];
	return NULL;
}

const char *process_describe(struct process *process, uint64_t ip)
{
	const struct module *module = module_at(process, ip);
	Dwfl_Module *known = process->dwfl ? dwfl_addrmodule(process->dwfl, ip) : NULL;
	const char *slash, *symbol = known ? dwfl_module_addrname(known, ip) : NULL;
	static char text[256];

	if (!module) {
		snprintf(text, sizeof(text), "%#lx", ip);
		return text;
	}
	slash = strrchr(module->name, '/');
	snprintf(text, sizeof(text), "%s+%#lx%s%s", slash ? slash + 1 : module->name,
		 ip - module->bias, symbol ? " " : "", symbol ?: "");
	return text;
}
