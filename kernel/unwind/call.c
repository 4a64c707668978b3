// SPDX-License-Identifier: GPL-2.0
/*
 * Checks whether an address can be a return address.
 *
 * Without a table, a walk has to guess the caller.  A guess has to lie in a mapping of code,
 * and nearly all return addresses follow a call instruction.
 *
 * These functions read only resident memory and never wait: a file system that does not
 * answer must not stop the task whose stack is walked.  They read code only in executable
 * mappings, as a read of a device register would change the device.
 */

#include <linux/maple_tree.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#include <asm/unwind_user.h>

#include "call.h"

/* A direct call that leads further down than this does not lead to the current function. */
#define UNWIND_FUNCTION_MAX	SZ_64K

/**
 * unwind_find_mapping() - find the mapping of an address
 * @range: Set to the addresses that are mapped with @addr; empty if there are none.
 * @addr: The address.
 * @code: Find an executable mapping only.
 *
 * Takes no lock, so a concurrent change of the mappings may make the answer stale.  RCU keeps
 * the VMA from being freed: per-VMA locks rely on that, too.
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: true if there is such a mapping.  Without CONFIG_PER_VMA_LOCK, true for every user
 * address, with all of them as the range.
 */
bool unwind_find_mapping(struct unwind_range *range, unsigned long addr, bool code)
{
	const struct vm_area_struct *vma;

	*range = (struct unwind_range){ };
	if (addr >= TASK_SIZE_MAX)
		return false;
	if (!IS_ENABLED(CONFIG_PER_VMA_LOCK)) {
		range->size = TASK_SIZE_MAX;
		return true;
	}
	guard(rcu)();
	vma = mtree_load(&current->mm->mm_mt, addr);
	if (!vma || (code && !(READ_ONCE(vma->vm_flags) & VM_EXEC)))
		return false;
	range->start = READ_ONCE(vma->vm_start);
	range->size = READ_ONCE(vma->vm_end) - range->start;
	/* The fields of a VMA that is being split or merged may not fit together. */
	if (!unwind_in_range(range, addr))
		*range = (struct unwind_range){ addr, 1 };
	return true;
}

/**
 * unwind_find_code() - find the mapping of code of an address
 * @code: The mapping that a walk looked at last, which does not contain @ip, and the one before, as
 *	stacks alternate between two.  If one is found, the first is set to that, the second to the
 *	first.
 * @ip: The address.
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: true if an executable mapping contains @ip, see unwind_find_mapping().
 */
bool unwind_find_code(struct unwind_range code[2], unsigned long ip)
{
	struct unwind_range found = code[1];

	if (!unwind_in_range(&found, ip) && !unwind_find_mapping(&found, ip, true))
		return false;
	code[1] = code[0];
	code[0] = found;
	return true;
}

/**
 * unwind_read_resident() - read user memory that is resident
 * @to: Buffer for @len bytes.
 * @from: User address.
 * @len: Number of bytes; only a few are read fast.
 *
 * Context: Any, NMI included.
 * Return: true if all bytes were read.
 */
bool unwind_read_resident(void *to, unsigned long from, size_t len)
{
	const void __user *at = (const void __user *)from;
	u64 eight;
	u8 one;

	pagefault_disable();
	if (!user_read_access_begin(at, len))
		goto fault_enable;
	for (; len >= sizeof(eight); len -= sizeof(eight)) {
		unsafe_get_user(eight, (const u64 __user *)at, fault);
		put_unaligned(eight, (u64 *)to);
		at += sizeof(eight);
		to += sizeof(eight);
	}
	for (; len; len--) {
		unsafe_get_user(one, (const u8 __user *)at++, fault);
		*(u8 *)to++ = one;
	}
	user_read_access_end();
	pagefault_enable();
	return true;
fault:
	user_read_access_end();
fault_enable:
	pagefault_enable();
	return false;
}

/*
 * Read the bytes of code before @ip, as many as are in @code and resident, to the end of
 * @bytes.  Returns their number.
 */
static unsigned int unwind_read_before(const struct unwind_range *code, unsigned long ip,
				       u64 *bytes)
{
	unsigned int len = offset_in_page(ip);

	if (ip - code->start >= sizeof(*bytes) &&
	    unwind_read_resident(bytes, ip - sizeof(*bytes), sizeof(*bytes)))
		return sizeof(*bytes);
	/* The page before may not be code, or not be resident: read this page only. */
	if (len >= sizeof(*bytes) ||
	    !unwind_read_resident((void *)(bytes + 1) - len, ip - len, len))
		return 0;
	return len;
}

/**
 * unwind_call_before() - decode the instruction before an address
 * @code: See unwind_is_code().
 * @ip: Address in the current process.
 * @target: For a direct call, set to the address that it calls.
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: The kind of instruction, see enum unwind_call.
 */
enum unwind_call unwind_call_before(struct unwind_range code[2], unsigned long ip,
				    unsigned long *target)
{
	const u8 *call;
	unsigned int len;
	u64 bytes;

	/* Check ip - 1: a call that does not return may end the mapping of code. */
	if (ip <= sizeof(bytes) || !unwind_is_code(code, ip - 1))
		return UNWIND_CALL_NONE;
	/* Nobody knows what is mapped there. */
	if (!IS_ENABLED(CONFIG_PER_VMA_LOCK))
		return UNWIND_CALL_UNKNOWN;
	len = unwind_read_before(code, ip, &bytes);
	if (!len)
		return UNWIND_CALL_UNKNOWN;
	call = (const u8 *)(&bytes + 1) - len;
	if (arch_unwind_is_direct_call(call, len, ip, target))
		return UNWIND_CALL_DIRECT;
	if (arch_unwind_is_indirect_call(call, len))
		return UNWIND_CALL_INDIRECT;
	return len < sizeof(bytes) ? UNWIND_CALL_UNKNOWN : UNWIND_CALL_NONE;
}

/**
 * unwind_pushed() - how much the current function has pushed on the stack
 * @target: Address that a direct call leads to, in the same mapping of code as @ip.
 * @ip: Current instruction.
 *
 * Context: Any, NMI included.
 * Return: distance from the stack pointer to the return address if @ip is in the function at
 * @target; -1 if that function has a frame pointer, or @target cannot be the start of the
 * current function.
 */
int unwind_pushed(unsigned long target, unsigned long ip)
{
	unsigned long done = ip - target;
	u8 bytes[ARCH_UNWIND_PROLOGUE];
	/* The code up to @ip is in one mapping; what follows may not be. */
	unsigned int len = min(done, sizeof(bytes));

	if (done >= UNWIND_FUNCTION_MAX || !unwind_read_resident(bytes, target, len))
		return -1;
	return arch_unwind_prologue(bytes, len, done);
}
