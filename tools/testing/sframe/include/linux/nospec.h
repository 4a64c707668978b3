/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_NOSPEC_H
#define _SFRAME_TEST_LINUX_NOSPEC_H

#define array_index_nospec(index, size) ((void)(size), (index))

#endif /* _SFRAME_TEST_LINUX_NOSPEC_H */
