/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CHECK_GIVEN_H
#define _SFRAME_CHECK_GIVEN_H

#include "check/compare.h"

bool given_uses_debug(const struct check_options *options, const struct object *obj);
const char *given_table(const struct check_options *options, const struct object *obj,
			struct image *image, enum format *format, struct report *report);
const char *given_copy(const struct check_options *options, const struct object *obj,
		       struct report *report);

#endif /* _SFRAME_CHECK_GIVEN_H */
