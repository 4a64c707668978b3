/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Callchains with known addresses, and events in their innermost frame.
 *
 * The event is a page fault at a known instruction, where nothing else happens and no
 * code of the C library is on the stack.  Each object that includes this has its own copy
 * of the code.
 */
#ifndef _CHAIN_H
#define _CHAIN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind_perf.h"

#define CHAIN_MAX 160

/* Neither inlined nor cloned nor known to its callers. */
#define keep __attribute__((noinline, noipa, unused))

#define chain_return_address() ((uint64_t)(uintptr_t)__builtin_return_address(0))

/**
 * struct chain - the callchain that the kernel should find
 * @page:	Page that chain_fault() touches.
 * @depth:	Number of frames of chain_down().
 * @nr:		Number of entries in @ips.
 * @ips:	Expected addresses, innermost frame first.
 * @returns:	Return addresses of the active calls, outermost first.
 * @returns_nr:	Number of entries in @returns.
 * @last:	If not 0, the walk must reach this address after @ips, through the
 *		program's own code only.
 */
struct chain {
	void		*page;
	unsigned int	depth;
	unsigned int	nr;
	uint64_t	ips[CHAIN_MAX];
	uint64_t	returns[CHAIN_MAX];
	unsigned int	returns_nr;
	uint64_t	last;
};

/* Touch @page; returns the return address of this call. */
uint64_t chain_fault(void *page);
extern const char chain_fault_ip[] __attribute__((visibility("hidden")));

/* System call at a known instruction; the ip of the frame is the next instruction. */
uint64_t chain_syscall(long number, long a, long b, long c);
extern const char chain_syscall_ip[] __attribute__((visibility("hidden")));

/* The first instruction is invalid. */
uint64_t chain_illegal(void);

asm(".pushsection .text\n"
	"	.hidden chain_fault, chain_fault_ip\n"
	"	.hidden chain_syscall, chain_syscall_ip, chain_illegal\n"
	"	.globl chain_fault, chain_fault_ip\n"
	"	.globl chain_syscall, chain_syscall_ip, chain_illegal\n"
	"	.type chain_fault, @function\n"
	"chain_fault:\n"
	"	.cfi_startproc\n"
	"chain_fault_ip:\n"
	"	movb $1, (%rdi)\n"
	"	mov (%rsp), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size chain_fault, . - chain_fault\n"
	"	.type chain_syscall, @function\n"
	"chain_syscall:\n"
	"	.cfi_startproc\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	xor %r10d, %r10d\n"
	"	syscall\n"
	"chain_syscall_ip:\n"
	"	mov (%rsp), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size chain_syscall, . - chain_syscall\n"
	/* Padding before the function is a gap in the table. */
	"	.p2align 4\n	int3\n	.p2align 4, 0xcc\n"
	"	.type chain_illegal, @function\n"
	"chain_illegal:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	mov (%rsp), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size chain_illegal, . - chain_illegal\n"
	"	.popsection\n");

static inline bool chain_init(struct chain *chain, unsigned int depth)
{
	memset(chain, 0, sizeof(*chain));
	chain->depth = depth;
	chain->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return chain->page != MAP_FAILED;
}

/* Append the return addresses to @chain->ips, innermost first. */
static inline void chain_add_returns(struct chain *chain)
{
	while (chain->returns_nr)
		chain->ips[chain->nr++] = chain->returns[--chain->returns_nr];
}

/* Recurse @chain->depth times, then touch the page. */
static keep int chain_down(struct chain *chain)
{
	int result;

	chain->returns[chain->returns_nr++] = chain_return_address();
	if (chain->depth) {
		chain->depth--;
		result = chain_down(chain);
	} else {
		chain->ips[chain->nr++] = (uint64_t)(uintptr_t)chain_fault_ip;
		chain->ips[chain->nr++] = chain_fault(chain->page);
		chain_add_returns(chain);
		result = 1;
	}
	/* Work after the call prevents a tail call. */
	return (result ^ chain->nr) * 3;
}

/* Run a chain of @depth frames that ends in a fault; with 0, only the fault. */
static keep int chain_run(struct chain *chain, unsigned int depth)
{
	int result;

	chain->nr = 0;
	chain->depth = depth;
	madvise(chain->page, 4096, MADV_DONTNEED);
	chain->returns[chain->returns_nr++] = chain_return_address();
	result = chain_down(chain);
	return result * 5;
}

/* Print expected and actual addresses, for the message of a failed test. */
static inline void chain_print(const struct chain *chain,
			       const struct unwind_record *record)
{
	fprintf(stderr, "# expected:");
	for (unsigned int i = 0; i < chain->nr; i++)
		fprintf(stderr, " %llx", (unsigned long long)chain->ips[i]);
	fprintf(stderr, "%s\n# kernel  :", chain->last ? " ... main" : "");
	for (unsigned int i = 0; i < record->nr; i++)
		fprintf(stderr, " %llx", (unsigned long long)record->ips[i]);
	fprintf(stderr, "\n# main returns to %llx\n", (unsigned long long)chain->last);
}

/* Whether the kernel's stack equals the chain exactly. */
static inline bool chain_equal(const struct chain *chain,
			       const struct unwind_record *record)
{
	extern const char __executable_start[], etext[];
	unsigned int i = chain->nr;

	if (record->nr < i || memcmp(chain->ips, record->ips, i * sizeof(uint64_t)))
		return false;
	if (!chain->last || (i && chain->ips[i - 1] == chain->last))
		return true;
	/*
	 * The callers of the test must be in this program, up to main() and its return
	 * address.
	 */
	for (; i < record->nr; i++) {
		if (record->ips[i] == chain->last)
			return true;
		if (record->ips[i] < (uint64_t)(uintptr_t)__executable_start ||
		    record->ips[i] >= (uint64_t)(uintptr_t)etext)
			return false;
	}
	return false;
}

static inline bool chain_matches(const struct chain *chain,
				 const struct unwind_record *record)
{
	bool equal = chain_equal(chain, record);

	if (!equal)
		chain_print(chain, record);
	return equal;
}

#endif /* _CHAIN_H */
