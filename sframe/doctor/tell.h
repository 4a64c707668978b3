/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_TELL_H
#define _SFRAME_DOCTOR_TELL_H

#include <stddef.h>

/* The result of a check.  A note needs no action. */
enum finding {
	WELL,
	NOTE,
	PROBLEM,
};

/**
 * struct remedy - what the user can do
 * @words:	In words, before the command if there is one; or NULL.
 * @command:	A command for the shell, or NULL.
 */
struct remedy {
	const char	*words;
	const char	*command;
};

#define ADVISE(text)		(&(struct remedy){ .words = (text) })
#define COMMAND(text, line)	(&(struct remedy){ .words = (text), .command = (line) })

__attribute__((format(printf, 4, 5)))
void tell(enum finding finding, const char *about, const struct remedy *remedy,
	  const char *format, ...);
void tell_as_json(void);
size_t tell_sum(void);

#endif /* _SFRAME_DOCTOR_TELL_H */
