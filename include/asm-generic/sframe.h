/* SPDX-License-Identifier: GPL-2.0 */
/* For architectures whose SFrame tables the kernel does not support: it refuses them all. */
#ifndef _ASM_GENERIC_SFRAME_H
#define _ASM_GENERIC_SFRAME_H

#define ARCH_SFRAME_ABI		0
#define ARCH_SFRAME_RA_OFFSET	(-8)
#define ARCH_SFRAME_FP		0
#define ARCH_SFRAME_SP		1
#define ARCH_SFRAME_REGISTERS	2

#endif /* _ASM_GENERIC_SFRAME_H */
