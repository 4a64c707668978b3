/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OFFWAKETIME_SYMBOLS_H
#define _OFFWAKETIME_SYMBOLS_H

#include <stdint.h>

/**
 * kernel_symbols_open - read /proc/kallsyms
 *
 * Return: 0, or a negative errno.
 */
int kernel_symbols_open(void);
void kernel_symbols_close(void);

/* The function that holds @address; "[unknown]" when there is none. Static. */
const char *kernel_symbol(uint64_t address);

/**
 * user_symbols_note - remember where the files of a process lie
 * @tgid:	Process. It may be gone when its symbols are asked for.
 *
 * The newest wins; a process that is gone keeps what it had.
 */
void user_symbols_note(uint32_t tgid);

/**
 * user_symbol - the function of a process that holds @address
 * @tgid:	Process, noted before.
 * @address:	In it.
 *
 * Return: its name, "[file]" when the file has no symbol there, "[unknown]" when no
 * file lies there. Valid until user_symbols_close().
 */
const char *user_symbol(uint32_t tgid, uint64_t address);
void user_symbols_close(void);

#endif
