/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether an address can be a return address: see call.c.
 */
#ifndef _KERNEL_UNWIND_CALL_H
#define _KERNEL_UNWIND_CALL_H

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

enum unwind_call unwind_call_before(unsigned long ip, unsigned long *target);
bool unwind_is_code(unsigned long ip);
bool unwind_same_code(unsigned long a, unsigned long b);

/**
 * unwind_is_return() - whether an address may be a return address
 * @ip: The address.
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: false if @ip is certainly not a return address, else true.
 */
static inline bool unwind_is_return(unsigned long ip)
{
	unsigned long target;

	return unwind_call_before(ip, &target) != UNWIND_CALL_NONE;
}

#endif /* _KERNEL_UNWIND_CALL_H */
