# SPDX-License-Identifier: GPL-2.0
"""The demo: build a program, record it with perf, measure and draw its stacks."""
