# SPDX-License-Identifier: GPL-2.0
"""The demo: record programs with perf on two kernels, measure and draw their stacks."""
