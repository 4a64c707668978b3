// SPDX-License-Identifier: GPL-2.0
/*
 * Checks whether an address can be a return address.
 *
 * Without a table, a walk has to guess the caller.  It accepts a return address only if it
 * lies in a mapping of code, right after a call instruction.  Few words of data that happen
 * to be addresses of code pass this check.
 *
 * These functions read only resident memory and never wait: a file system that does not
 * answer must not stop the task whose stack is walked.
 */

#include <linux/maple_tree.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include <asm/unwind_user.h>

#include "call.h"

/*
 * Find the mapping of code that contains @ip, or NULL.  The caller holds RCU, which keeps the
 * VMA from being freed: per-VMA locks rely on that, too.
 */
static const void *unwind_code_at(unsigned long ip)
{
	const struct vm_area_struct *vma = mtree_load(&current->mm->mm_mt, ip);

	return vma && READ_ONCE(vma->vm_flags) & VM_EXEC ? vma : NULL;
}

/**
 * unwind_is_code() - whether an address is in a mapping of code
 * @ip: The address.
 *
 * Takes no lock, so a concurrent change of the mappings may make the answer stale.
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: true if an executable mapping contains @ip.  Without CONFIG_PER_VMA_LOCK, true for
 * every user address.
 */
bool unwind_is_code(unsigned long ip)
{
	if (!IS_ENABLED(CONFIG_PER_VMA_LOCK))
		return ip < TASK_SIZE_MAX;
	guard(rcu)();
	return unwind_code_at(ip);
}

/**
 * unwind_same_code() - whether two addresses are in one mapping of code
 * @a: One address.
 * @b: The other address.
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: true if one executable mapping contains both.  Without CONFIG_PER_VMA_LOCK, always
 * false.
 */
bool unwind_same_code(unsigned long a, unsigned long b)
{
	const void *code;

	if (!IS_ENABLED(CONFIG_PER_VMA_LOCK))
		return false;
	guard(rcu)();
	code = unwind_code_at(a);
	return code && code == unwind_code_at(b);
}

/* Load the word at @from if it is resident. */
static bool unwind_load_word(u64 *word, unsigned long from)
{
	bool loaded = false;

	pagefault_disable();
	if (user_read_access_begin((void __user *)from, sizeof(*word))) {
		unsafe_get_user(*word, (u64 __user *)from, fault);
		loaded = true;
fault:
		user_read_access_end();
	}
	pagefault_enable();
	return loaded;
}

/*
 * Read the bytes before @ip, as many as are resident, to the end of @bytes.  Returns their
 * number.
 */
static unsigned int unwind_read_before(unsigned long ip, u64 *bytes)
{
	unsigned int len = offset_in_page(ip);

	if (unwind_load_word(bytes, ip - sizeof(*bytes)))
		return sizeof(*bytes);
	/* The page before may not be code, or not be resident: read this page only. */
	if (len >= sizeof(*bytes) ||
	    copy_from_user_nofault((void *)(bytes + 1) - len, (void __user *)(ip - len), len))
		return 0;
	return len;
}

/**
 * unwind_call_before() - decode the instruction before an address
 * @ip: Address in the current process.
 * @target: For a direct call, set to the address that it calls.
 *
 * Context: Any, NMI included; a task that has an mm.
 * Return: The kind of instruction, see enum unwind_call.
 */
enum unwind_call unwind_call_before(unsigned long ip, unsigned long *target)
{
	const u8 *call;
	unsigned int len;
	u64 bytes;

	/* Check ip - 1: a call that does not return may end the mapping of code. */
	if (ip <= sizeof(bytes) || !unwind_is_code(ip - 1))
		return UNWIND_CALL_NONE;
	len = unwind_read_before(ip, &bytes);
	if (!len)
		return UNWIND_CALL_UNKNOWN;
	call = (const u8 *)(&bytes + 1) - len;
	if (arch_unwind_is_direct_call(call, len, ip, target))
		return UNWIND_CALL_DIRECT;
	return arch_unwind_is_indirect_call(call, len) ? UNWIND_CALL_INDIRECT :
							  UNWIND_CALL_NONE;
}
