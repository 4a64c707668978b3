/* SPDX-License-Identifier: GPL-2.0 */
#define current			NULL
#define fatal_signal_pending(task) ((void)(task), 0)
