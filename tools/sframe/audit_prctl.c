// SPDX-License-Identifier: GPL-2.0
/* How libsframe-audit.so talks to the kernel about tables. */
#include <errno.h>

#include "audit.h"
#include "prctl.h"

/* A kernel without tables does not know the operation: EINVAL. */
bool kernel_takes_tables(void)
{
	struct sframe_region region = {
		.sframe_start = AUDIT_PAGE,
		.sframe_size = AUDIT_PAGE,
		.text_start = 2 * AUDIT_PAGE,
		.text_size = AUDIT_PAGE,
	};

	return sys6(SYS_prctl, PR_REMOVE_SFRAME, (u64)&region, sizeof(region),
		    0, 0, 0) == -ENOENT;
}

/*
 * EEXIST: the kernel did it at exec, for the program and the dynamic linker, if
 * they have tables of their own.
 */
static bool register_text(const struct place *table, u64 start, u64 size)
{
	struct sframe_region region = {
		.sframe_start = table->start,
		.sframe_size = table->size,
		.text_start = start,
		.text_size = size,
	};
	long ret = sys6(SYS_prctl, PR_ADD_SFRAME, (u64)&region, sizeof(region),
			SFRAME_ADD_LAZY, 0, 0);

	if (ret == -EINVAL || ret == -EPERM || ret == -ENOSYS)
		audit.active = false;
	return !ret || ret == -EEXIST;
}

/* For each executable segment; true: for one at least. */
bool register_table(const struct loaded *obj, const struct place *table)
{
	bool any = false;

	for (u32 i = 0; i < obj->num_phdr && audit.active; i++) {
		const Elf64_Phdr *phdr = &obj->phdr[i];

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X) &&
		    phdr->p_memsz)
			any |= register_text(table, obj->bias + phdr->p_vaddr,
					     phdr->p_memsz);
	}
	return any;
}
