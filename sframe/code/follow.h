/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_FOLLOW_H
#define _SFRAME_CODE_FOLLOW_H

#include "cfi/object.h"
#include "code/state.h"

struct follow;

/**
 * struct followed - an instruction that some way leads to
 * @address:	Its address.
 * @length:	Its length in bytes.
 * @state:	What is known before it.
 * @insn:	The instruction.
 */
struct followed {
	u64			address;
	u8			length;
	const struct state	*state;
	const struct insn	*insn;
};

typedef void follow_each(const struct followed *followed, void *data);

struct follow *follow_new(const struct object *obj);
void follow_enter(struct follow *follow, u64 address);
bool follow_run(struct follow *follow);
void follow_for_each(struct follow *follow, follow_each *each, void *data);
bool follow_decode(struct follow *follow, u64 address, struct insn *insn);
void follow_free(struct follow *follow);

#endif /* _SFRAME_CODE_FOLLOW_H */
