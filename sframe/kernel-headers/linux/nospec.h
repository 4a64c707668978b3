/* SPDX-License-Identifier: GPL-2.0 */
#define array_index_nospec(index, size) ((index) < (size) ? (index) : 0)
