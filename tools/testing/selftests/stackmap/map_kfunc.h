/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAP_KFUNC_H
#define _MAP_KFUNC_H

#define KFUNC_DEPTH	32

#endif
