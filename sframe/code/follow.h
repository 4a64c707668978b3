/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_FOLLOW_H
#define _SFRAME_CODE_FOLLOW_H

#include "cfi/object.h"
#include "cfi/text.h"
#include "code/state.h"

struct follow;

/* How sure it is that a function begins somewhere; the less the higher. */
enum guess {
	GUESS_NONE,		/* it does */
	GUESS_LIKELY,
	GUESS_POSSIBLE,
};

/**
 * struct followed - an instruction that some way leads to
 * @address:	Its address.
 * @length:	Its length in bytes.
 * @state:	What is known before it.
 * @is_sure:	The function that it belongs to leaves its frame as it was wherever it returns.
 * @insn:	The instruction.
 */
struct followed {
	u64			address;
	u8			length;
	bool			is_sure;
	const struct state	*state;
	const struct insn	*insn;
};

typedef void follow_each(const struct followed *followed, void *data);

struct follow *follow_new(const struct object *obj, const struct ranges *limits);
bool follow_is_within(const struct follow *follow, u64 address);
void follow_enter(struct follow *follow, u64 address);
void follow_start(struct follow *follow, u64 address);
bool follow_spend(struct follow *follow, u64 units);
void follow_catch(struct follow *follow, u64 start, u64 end, u64 handler);
bool follow_guess(struct follow *follow, u64 address, enum guess guess);
bool follow_has_seen(const struct follow *follow, u64 address);
bool follow_is_weak(struct follow *follow, u64 address);
bool follow_run(struct follow *follow);
void follow_for_each(struct follow *follow, follow_each *each, void *data);
const u8 *follow_bytes(const struct follow *follow, u64 address, u64 *left);
const u8 *follow_data(const struct follow *follow, u64 address, u64 *left);
bool follow_word(const struct follow *follow, u64 address, u64 *word);
bool follow_decode(struct follow *follow, u64 address, struct insn *insn);
void follow_free(struct follow *follow);

#endif /* _SFRAME_CODE_FOLLOW_H */
