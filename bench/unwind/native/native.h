/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the comparison share: the kernel's and those with libraries. */
#ifndef _NATIVE_H
#define _NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_FRAMES	1024

/* User registers, by the kernel's names */
struct pt_regs {
	unsigned long	r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, ip, sp,
			flags;
};

/**
 * struct stack - a stack as it was recorded
 * @regs:	Registers of the innermost frame.
 * @start:	First address of @bytes, at or below the stack pointer.
 * @size:	Number of bytes up to the end of the stack.
 * @bytes:	The content.
 */
struct stack {
	struct pt_regs	regs;
	unsigned long	start;
	size_t		size;
	uint8_t		*bytes;
};

/* A mapping of the recorded process */
struct mapping {
	unsigned long	start, end, offset;
	bool		code;
	char		path[256];
};

struct process {
	pid_t		pid;
	struct mapping	*mappings;
	unsigned int	nr;
};

/* Walks @stack, whose content is at its address; returns the number of frames at @ips. */
typedef unsigned int walk_stack(const struct stack *stack, uint64_t *ips);

/* rows.c: the kernel's; the table of the file at @path is the file @table */
void rows_open(const struct process *process);
bool rows_add(const struct process *process, const char *path, const char *table);
walk_stack rows_walk;

/* dwarf.c: libraries that read .eh_frame */
void elfutils_open(const struct process *process);
walk_stack elfutils_walk;
void libunwind_open(const struct process *process);
walk_stack libunwind_walk;

/* framehop.c and framehop.rs */
void framehop_open(const struct process *process);
walk_stack framehop_walk;

#endif /* _NATIVE_H */
