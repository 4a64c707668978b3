/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_REPORT_H
#define _SFRAME_DOCTOR_REPORT_H

#include "cache/mapped.h"
#include "doctor/file.h"

void report_summary(const struct mapped *mapped, struct look *looks);
void report_files(const struct mapped *mapped, struct look *looks);

#endif /* _SFRAME_DOCTOR_REPORT_H */
