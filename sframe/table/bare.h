/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_BARE_H
#define _SFRAME_BARE_H

#include "cfi/cfi.h"

/* What an object without unwind information can have. */
enum bare {
	BARE_NOT,	/* it has unwind information */
	BARE_FOLLOWED,	/* a table of its code */
	BARE_FRAMED,	/* none, as its functions keep frame pointers, which the kernel follows */
	BARE_NOTHING,	/* none, as its code cannot be followed, or that takes too long */
};

enum bare bare_judge(const struct object *obj);
enum bare bare_follow(const struct object *obj, struct cfi *cfi);

#endif /* _SFRAME_BARE_H */
