/* SPDX-License-Identifier: GPL-2.0 */
/* For building where the system's own headers are older. */
#ifndef _TOOLS_SFRAME_PRCTL_H
#define _TOOLS_SFRAME_PRCTL_H

#include <linux/prctl.h>

#include "uapi/linux/sframe.h"

#ifndef PR_ADD_SFRAME
#define PR_ADD_SFRAME		0x53464d41
#define PR_REMOVE_SFRAME	0x53464d52
#endif

#endif /* _TOOLS_SFRAME_PRCTL_H */
