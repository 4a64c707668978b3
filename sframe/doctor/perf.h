/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_PERF_H
#define _SFRAME_DOCTOR_PERF_H

void perf_check(void);

#endif /* _SFRAME_DOCTOR_PERF_H */
