/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CLOCK_H
#define _SFRAME_CLOCK_H

double clock_seconds(void);

#endif /* _SFRAME_CLOCK_H */
