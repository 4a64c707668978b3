/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Builds SFrame tables for tests, in kernel memory.
 *
 *	sframe_build_start(&build);
 *	sframe_build_function(&build, text_offset, size, info, rep_size);
 *	sframe_build_row(&build, start, cfa_fp, nr, (s8[]){ cfa, fp });
 *	sframe_build_finish(&build, table_address, text_address);
 *
 * Rows belong to the function before them, functions come sorted; all starts and
 * offsets are one byte wide.
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
	/* The finished table. */
	u8			bytes[sizeof(struct sframe_header) +
				      SFRAME_BUILD_FDES * sizeof(struct sframe_fde) +
				      SFRAME_BUILD_FRES];
	u32			len;
};

static inline void sframe_build_start(struct sframe_build *build)
{
	memset(build, 0, sizeof(*build));
	build->header.preamble.magic = SFRAME_MAGIC;
	build->header.preamble.version = SFRAME_VERSION_2;
	build->header.preamble.flags = SFRAME_F_FDE_SORTED;
	build->header.abi_arch = SFRAME_ABI_AMD64_LE;
	build->header.cfa_fixed_ra_offset = -8;
}

static inline void sframe_build_function(struct sframe_build *build, s32 text,
					 u32 size, u8 info, u8 rep_size)
{
	struct sframe_fde *fde = &build->fdes[build->header.num_fdes];

	if (WARN_ON(build->header.num_fdes == SFRAME_BUILD_FDES))
		return;
	build->header.num_fdes++;
	fde->func_start = text;
	fde->func_size = size;
	fde->fre_off = build->header.fre_len;
	fde->info = info;
	fde->rep_size = rep_size;
}

static inline void sframe_build_row(struct sframe_build *build, u8 start,
				    bool cfa_fp, unsigned int nr,
				    const s8 *offsets)
{
	u8 *at = build->fres + build->header.fre_len;

	if (WARN_ON(build->header.fre_len + 2 + nr > SFRAME_BUILD_FRES))
		return;
	at[0] = start;
	at[1] = (cfa_fp ? 0 : SFRAME_FRE_CFA_BASE_SP) | nr << 1;
	if (nr)
		memcpy(at + 2, offsets, nr);
	build->header.fre_len += 2 + nr;
	build->header.num_fres++;
	build->fdes[build->header.num_fdes - 1].num_fres++;
}

/* Lay the table out for the address @table, with its text at @text. */
static inline void sframe_build_finish(struct sframe_build *build, u64 table,
				       u64 text)
{
	u32 fdes_len = build->header.num_fdes * sizeof(struct sframe_fde), i;

	for (i = 0; i < build->header.num_fdes; i++)
		build->fdes[i].func_start += (s32)(text - table);
	build->header.freoff = fdes_len;

	memcpy(build->bytes, &build->header, sizeof(build->header));
	memcpy(build->bytes + sizeof(build->header), build->fdes, fdes_len);
	memcpy(build->bytes + sizeof(build->header) + fdes_len, build->fres,
	       build->header.fre_len);
	build->len = sizeof(build->header) + fdes_len + build->header.fre_len;
}

#endif /* _KERNEL_UNWIND_TESTS_SFRAME_BUILDER_H */
