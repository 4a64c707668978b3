/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Builds SFrame tables for tests, in kernel memory.
 *
 *	sframe_build_start(&build, SFRAME_VERSION_2);
 *	sframe_build_function(&build, text_offset, size, info, rep_size);
 *	sframe_build_row(&build, start, cfa_fp, nr, (s8[]){ cfa, fp });
 *	sframe_build_finish(&build, table_address, text_address);
 *
 * A row belongs to the function added last.  The caller adds functions in order.  All starts
 * and words are one byte wide.  In version 3, sframe_build_flexible() makes the last function
 * flexible: the words of its rows are then control words and offsets.
 */
#ifndef _KERNEL_UNWIND_TESTS_SFRAME_BUILDER_H
#define _KERNEL_UNWIND_TESTS_SFRAME_BUILDER_H

#include <linux/bug.h>
#include <linux/string.h>

#include "../sframe_format.h"

#define SFRAME_BUILD_FDES	8
#define SFRAME_BUILD_FRES	256

struct sframe_build {
	struct sframe_header	header;
	struct sframe_fde	fdes[SFRAME_BUILD_FDES];
	u8			fres[SFRAME_BUILD_FRES];
	/* The finished table */
	u8			bytes[sizeof(struct sframe_header) +
				      SFRAME_BUILD_FDES * sizeof(struct sframe_fde) +
				      SFRAME_BUILD_FRES];
	u32			len;
};

/* Control words of the rules of flexible functions, by DWARF number of the register */
#define SFRAME_BUILD_REG(reg)	\
	((reg) << SFRAME_V3_CONTROL_REG_SHIFT | SFRAME_V3_CONTROL_REG)
#define SFRAME_BUILD_MEM(reg)	\
	(SFRAME_BUILD_REG(reg) | SFRAME_V3_CONTROL_DEREF)

static inline void sframe_build_start(struct sframe_build *build, u8 version)
{
	memset(build, 0, sizeof(*build));
	build->header.preamble.magic = SFRAME_MAGIC;
	build->header.preamble.version = version;
	build->header.preamble.flags = SFRAME_F_FDE_SORTED;
	build->header.abi_arch = SFRAME_ABI_AMD64_LE;
	build->header.cfa_fixed_ra_offset = -8;
}

static inline bool sframe_build_is_v3(const struct sframe_build *build)
{
	return build->header.preamble.version == SFRAME_VERSION_3;
}

/* Get the attributes of the last function.  Version 3 only. */
static inline struct sframe_v3_attributes *
sframe_build_attributes(struct sframe_build *build)
{
	return (void *)build->fres +
	       build->fdes[build->header.num_fdes - 1].fre_off;
}

static inline void sframe_build_function(struct sframe_build *build, s32 text,
					 u32 size, u8 info, u8 rep_size)
{
	struct sframe_fde *fde = &build->fdes[build->header.num_fdes];
	struct sframe_v3_attributes *attr;

	if (WARN_ON(build->header.num_fdes == SFRAME_BUILD_FDES ||
		    build->header.fre_len + sizeof(*attr) > SFRAME_BUILD_FRES))
		return;
	build->header.num_fdes++;
	fde->func_start = text;
	fde->func_size = size;
	fde->fre_off = build->header.fre_len;
	fde->info = info;
	fde->rep_size = rep_size;
	if (!sframe_build_is_v3(build))
		return;
	attr = sframe_build_attributes(build);
	attr->info = info;
	attr->rep_size = rep_size;
	build->header.fre_len += sizeof(*attr);
}

static inline void sframe_build_flexible(struct sframe_build *build)
{
	sframe_build_attributes(build)->info2 = SFRAME_V3_FDE_FLEX;
}

static inline void sframe_build_row(struct sframe_build *build, u8 start,
				    bool cfa_fp, unsigned int nr,
				    const s8 *words)
{
	u8 *at = build->fres + build->header.fre_len;

	if (WARN_ON(build->header.fre_len + 2 + nr > SFRAME_BUILD_FRES))
		return;
	at[0] = start;
	at[1] = (cfa_fp ? 0 : SFRAME_FRE_CFA_BASE_SP) | nr << 1;
	if (nr)
		memcpy(at + 2, words, nr);
	build->header.fre_len += 2 + nr;
	build->header.num_fres++;
	build->fdes[build->header.num_fdes - 1].num_fres++;
	if (sframe_build_is_v3(build))
		sframe_build_attributes(build)->num_fres++;
}

static inline void sframe_build_put_fde(struct sframe_build *build, u32 index,
					s32 func_start)
{
	struct sframe_fde fde = build->fdes[index];
	struct sframe_v3_fde v3 = {
		.func_start = func_start,
		.func_size = fde.func_size,
		.fre_off = fde.fre_off,
	};
	u8 *fdes = build->bytes + sizeof(build->header);

	fde.func_start = func_start;
	if (sframe_build_is_v3(build))
		memcpy(fdes + index * sizeof(v3), &v3, sizeof(v3));
	else
		memcpy(fdes + index * sizeof(fde), &fde, sizeof(fde));
}

/* Lay out the table for address @table and text at @text. */
static inline void sframe_build_finish(struct sframe_build *build, u64 table,
				       u64 text)
{
	u32 fde_size = sframe_build_is_v3(build) ?
		       sizeof(struct sframe_v3_fde) : sizeof(struct sframe_fde);
	u32 i;

	build->header.freoff = build->header.num_fdes * fde_size;
	memcpy(build->bytes, &build->header, sizeof(build->header));
	for (i = 0; i < build->header.num_fdes; i++)
		sframe_build_put_fde(build, i, build->fdes[i].func_start +
				     (s32)(text - table));
	memcpy(build->bytes + sizeof(build->header) + build->header.freoff,
	       build->fres, build->header.fre_len);
	build->len = sizeof(build->header) + build->header.freoff +
		     build->header.fre_len;
}

#endif /* _KERNEL_UNWIND_TESTS_SFRAME_BUILDER_H */
