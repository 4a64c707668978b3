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

__attribute__((format(printf, 4, 5)))
void tell(enum finding finding, const char *about, const char *remedy,
	  const char *format, ...);
void tell_as_json(void);
size_t tell_sum(void);

#endif /* _SFRAME_DOCTOR_TELL_H */
