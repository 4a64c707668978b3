/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STEP_H
#define _STEP_H

/* Neither inlined nor cloned nor known to its callers. */
#define keep __attribute__((noinline, noipa))

typedef int step_function(int a);

int step_lib_leaf(int a);
int step_lib_deep(int a, int b);
int step_lib_call_back(step_function *function, int a);

#endif /* _STEP_H */
