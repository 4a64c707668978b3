/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CHECK_EVAL_H
#define _SFRAME_CHECK_EVAL_H

#include <elfutils/libdw.h>

#include "cfi/rule.h"

/* More than a table can name: .eh_frame may name vector registers. */
#define MACHINE_REGS	256

/**
 * struct machine - an invented machine at an instruction
 * @reg:	Registers by DWARF number; the return address's holds the pc.
 * @seed:	Picks the contents of memory.
 */
struct machine {
	u64	reg[MACHINE_REGS];
	u64	seed;
};

/**
 * struct caller - the caller that an unwinder finds
 * @sp:		The caller's stack pointer.
 * @ra:		The return address.
 * @fp:		The caller's frame pointer.
 * @outermost:	There is no caller.
 */
struct caller {
	u64	sp;
	u64	ra;
	u64	fp;
	bool	outermost;
};

void machine_make(struct machine *m, u64 pc, u64 seed);
u64 machine_memory(const struct machine *m, u64 address);
bool caller_equal(const struct caller *a, const struct caller *b);
void eval_row(const struct machine *m, const struct row *row,
	      struct caller *caller);
bool eval_frame(const struct machine *m, Dwarf_Frame *frame,
		struct caller *caller);

#endif /* _SFRAME_CHECK_EVAL_H */
