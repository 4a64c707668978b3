/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_EVAL_H
#define _TOOLS_SFRAME_EVAL_H

#include <elfutils/libdw.h>

#include "rule.h"

/* More than a table can name: .eh_frame may speak of vectors. */
#define MACHINE_REGS	256

/**
 * struct machine - a machine at an instruction, its state made up
 * @reg:	Registers by DWARF number; that of the return address is the pc.
 * @seed:	Picks the contents of memory.
 */
struct machine {
	u64	reg[MACHINE_REGS];
	u64	seed;
};

/**
 * struct caller - what an unwinder finds
 * @sp:		The caller's stack pointer.
 * @ra:		The return address.
 * @fp:		The caller's frame pointer.
 * @outermost:	Nothing: there is no caller.
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

#endif /* _TOOLS_SFRAME_EVAL_H */
