/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's own, where this build looks for it. */
#include "../../../../../../include/uapi/linux/sframe.h"
