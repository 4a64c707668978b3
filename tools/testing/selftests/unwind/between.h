/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _BETWEEN_H
#define _BETWEEN_H

#include <stdint.h>

struct chain;

/* Call @call, and set *@returns_to to the return address of this call. */
int between(int (*call)(struct chain *chain), struct chain *chain, uint64_t *returns_to);

#endif /* _BETWEEN_H */
