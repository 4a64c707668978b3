/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_RUN_H
#define _TOOLS_SFRAME_RUN_H

#include "table.h"

/**
 * struct injection - what a process gets before its first instruction
 * @name:	The program, for messages.
 * @fd:		The file with the table; the process has it too.
 * @head:	What it says.
 * @entry:	The program's first instruction, as linked.
 * @quiet:	Do not tell what fails.
 */
struct injection {
	const char		*name;
	int			fd;
	struct sframe_file	head;
	u64			entry;
	bool			quiet;
};

bool inject_after_exec(const struct injection *in);

#endif /* _TOOLS_SFRAME_RUN_H */
