/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether an address can be a return address: see call.c.
 */
#ifndef _KERNEL_UNWIND_CALL_H
#define _KERNEL_UNWIND_CALL_H

#include <linux/compiler.h>
#include <linux/types.h>

/**
 * enum unwind_call - the instruction before an address
 * @UNWIND_CALL_NONE:	  Not a call, or not code.
 * @UNWIND_CALL_UNKNOWN:  Code that is not resident, so nobody knows what it is.
 * @UNWIND_CALL_DIRECT:	  A call that names its target.
 * @UNWIND_CALL_INDIRECT: A call through a register or a word of memory.
 */
enum unwind_call {
	UNWIND_CALL_NONE,
	UNWIND_CALL_UNKNOWN,
	UNWIND_CALL_DIRECT,
	UNWIND_CALL_INDIRECT,
};

/**
 * struct unwind_range - a range of addresses
 * @start:	Its first address.
 * @size:	Number of bytes; 0 for an empty range.
 */
struct unwind_range {
	unsigned long	start;
	unsigned long	size;
};

static __always_inline bool unwind_in_range(const struct unwind_range *range, unsigned long addr)
{
	return addr - range->start < range->size;
}

bool unwind_find_mapping(struct unwind_range *range, unsigned long addr, bool code);
bool unwind_read_resident(void *to, unsigned long from, size_t len);
bool unwind_find_code(struct unwind_range code[2], unsigned long ip);
enum unwind_call unwind_call_before(struct unwind_range code[2], unsigned long ip,
				    unsigned long *target);
int unwind_pushed(unsigned long target, unsigned long ip);

/**
 * unwind_is_code() - whether an address is in executable memory
 * @code: The mapping of code that a walk looked at last, and the one before; the first is set to
 *	that of @ip, if that is code.
 * @ip: The address.
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: true if an executable mapping contains @ip.  Without CONFIG_PER_VMA_LOCK, true for
 * every user address.
 */
static __always_inline bool unwind_is_code(struct unwind_range code[2], unsigned long ip)
{
	return likely(unwind_in_range(code, ip)) || unwind_find_code(code, ip);
}

#endif /* _KERNEL_UNWIND_CALL_H */
