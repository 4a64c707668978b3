/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CFI_ROWS_H
#define _SFRAME_CFI_ROWS_H

#include "cfi/cfi.h"

/**
 * struct cfa_program - the call frame instructions for one function
 * @initial:		The instructions of its CIE.
 * @initial_end:	Their end.
 * @insns:		The instructions of the function's own entry.
 * @insns_end:		Their end.
 * @code_align:		The factor of distances in the code.
 * @data_align:		The factor of offsets.
 * @encoding:		The encoding of addresses.
 * @budget:		How many bytes of instructions may still run.
 * @pops_arguments:	Set if the unwinder pops arguments before it runs a handler of exceptions.
 */
struct cfa_program {
	const u8	*initial;
	const u8	*initial_end;
	const u8	*insns;
	const u8	*insns_end;
	u64		code_align;
	s64		data_align;
	u8		encoding;
	u64		*budget;
	bool		*pops_arguments;
};

enum cause cfa_run(const struct cfa_program *program, u64 start, u64 size,
		   struct cfi *cfi);

#endif /* _SFRAME_CFI_ROWS_H */
