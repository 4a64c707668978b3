// SPDX-License-Identifier: GPL-2.0
/*
 * The same stacks by libraries that read .eh_frame: elfutils' libdwfl and libunwind.  Both get
 * registers and stack from the recording, and the rest from the process, which has stopped.
 */
#define _GNU_SOURCE
#include <elfutils/libdwfl.h>
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "native.h"

/* The walk that runs, for the libraries' callbacks */
static const struct stack *the_stack;
static uint64_t *the_ips;
static unsigned int the_nr;
static pid_t the_pid;

static bool read_word(unsigned long from, uint64_t *to)
{
	const struct iovec local = { to, sizeof(*to) }, remote = { (void *)from, sizeof(*to) };

	if (from - the_stack->start < the_stack->size) {
		*to = *(const uint64_t *)from;
		return true;
	}
	return process_vm_readv(the_pid, &local, 1, &remote, 1, 0) == sizeof(*to);
}

/* A register by its DWARF number; 16 is the return address, here that of the frame itself. */
static uint64_t register_of(const struct pt_regs *regs, unsigned int number)
{
	const uint64_t values[] = {
		regs->ax, regs->dx, regs->cx, regs->bx, regs->si, regs->di, regs->bp, regs->sp,
		regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13, regs->r14,
		regs->r15, regs->ip,
	};

	return values[number];
}

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread)
{
	(void)dwfl;
	(void)data;
	if (*thread)
		return 0;
	*thread = &the_pid;
	return the_pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *data, void **thread)
{
	(void)dwfl;
	(void)data;
	*thread = &the_pid;
	return tid == the_pid;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *to, void *data)
{
	(void)dwfl;
	(void)data;
	return read_word(at, to);
}

static bool initial_registers(Dwfl_Thread *thread, void *data)
{
	Dwarf_Word words[17];

	(void)data;
	for (unsigned int i = 0; i < 17; i++)
		words[i] = register_of(&the_stack->regs, i);
	return dwfl_thread_state_registers(thread, 0, 17, words);
}

static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)path;
	return -1;
}

static Dwfl *dwfl;

void elfutils_open(const struct process *process)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debuginfo,
	};
	static const Dwfl_Thread_Callbacks threads = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = memory_read,
		.set_initial_registers = initial_registers,
	};

	the_pid = process->pid;
	dwfl = dwfl_begin(&callbacks);
	if (!dwfl || dwfl_linux_proc_report(dwfl, the_pid) || dwfl_report_end(dwfl, NULL, NULL) ||
	    !dwfl_attach_state(dwfl, NULL, the_pid, &threads, NULL)) {
		fprintf(stderr, "native: elfutils: %s\n", dwfl_errmsg(-1));
		exit(1);
	}
}

static int add_frame(Dwfl_Frame *frame, void *data)
{
	Dwarf_Addr ip;

	(void)data;
	if (the_nr == MAX_FRAMES || !dwfl_frame_pc(frame, &ip, NULL))
		return DWARF_CB_ABORT;
	the_ips[the_nr++] = ip;
	return DWARF_CB_OK;
}

unsigned int elfutils_walk(const struct stack *stack, uint64_t *ips)
{
	the_stack = stack;
	the_ips = ips;
	the_nr = 0;
	dwfl_getthread_frames(dwfl, the_pid, add_frame, NULL);
	return the_nr;
}

static unw_addr_space_t space;
static void *upt;

static int access_mem(unw_addr_space_t as, unw_word_t at, unw_word_t *value, int write, void *arg)
{
	(void)as;
	(void)arg;
	return write || !read_word(at, value) ? -UNW_EINVAL : 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	(void)as;
	(void)arg;
	if (write || reg < 0 || reg > UNW_X86_64_RIP)
		return -UNW_EBADREG;
	*value = register_of(&the_stack->regs, reg);
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

void libunwind_open(const struct process *process)
{
	static unw_accessors_t accessors;

	the_pid = process->pid;
	accessors = (unw_accessors_t){
		.find_proc_info = _UPT_find_proc_info,
		.put_unwind_info = _UPT_put_unwind_info,
		.get_dyn_info_list_addr = _UPT_get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = _UPT_resume,
		.get_proc_name = _UPT_get_proc_name,
	};
	space = unw_create_addr_space(&accessors, 0);
	upt = _UPT_create(the_pid);
	if (!space || !upt || unw_set_caching_policy(space, UNW_CACHE_GLOBAL)) {
		fprintf(stderr, "native: libunwind cannot read process %d\n", the_pid);
		exit(1);
	}
}

unsigned int libunwind_walk(const struct stack *stack, uint64_t *ips)
{
	unw_cursor_t cursor;
	unsigned int nr = 0;
	unw_word_t ip;

	the_stack = stack;
	if (unw_init_remote(&cursor, space, upt))
		return 0;
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) || !ip)
			break;
		ips[nr++] = ip;
	} while (nr < MAX_FRAMES && unw_step(&cursor) > 0);
	return nr;
}
