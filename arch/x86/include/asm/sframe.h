/* SPDX-License-Identifier: GPL-2.0 */
/* Constants of SFrame tables for x86-64.  User space includes this: no kernel headers. */
#ifndef _ASM_X86_SFRAME_H
#define _ASM_X86_SFRAME_H

/* The header's ABI: AMD64, little-endian */
#define ARCH_SFRAME_ABI		3
/* The call instruction pushed the return address right below the CFA. */
#define ARCH_SFRAME_RA_OFFSET	(-8)
/* DWARF numbers of the frame pointer and the stack pointer, and the number of registers */
#define ARCH_SFRAME_FP		6
#define ARCH_SFRAME_SP		7
#define ARCH_SFRAME_REGISTERS	16

#endif /* _ASM_X86_SFRAME_H */
