# SPDX-License-Identifier: GPL-2.0
"""Figures, groups, folded stacks."""

import unittest

from helper import GOOD, IN_LIBC, LIBC, LOST, LUA, NOWHERE, own, sample
from stackdemo.figures import Figures, by_leaf, fold, folded, measure
from stackdemo.samples import Frame


class FiguresTest(unittest.TestCase):
    def test_exact_means(self):
        self.assertEqual(measure([GOOD, GOOD, LOST, IN_LIBC], LUA),
                         Figures(samples=4, depth=2.0, complete=50.0, garbage=25.0))

    def test_no_samples_have_no_figures(self):
        self.assertIsNone(measure([], LUA))

    def test_groups_by_leaf(self):
        loader = sample(Frame("_dl_start", "/lib64/ld-linux-x86-64.so.2"))
        lookalike = sample(Frame("f", "/opt/libcrypto.so.3"))
        libc_caller = sample(Frame("malloc", LIBC), *own("main"))
        groups = by_leaf([GOOD, LOST, libc_caller, loader, lookalike, sample(), sample(NOWHERE)],
                         LUA)
        self.assertEqual({kind: len(group) for kind, group in groups.items()},
                         {"own": 2, "libc": 1, "other": 4})


class FoldTest(unittest.TestCase):
    def test_root_first_and_garbage_once(self):
        got = folded(sample(*own("leaf"), NOWHERE, NOWHERE, Frame("[unknown]", LIBC)))
        self.assertEqual(got, ("[libc.so.6]", "[not in any file]", "leaf"))

    def test_recursion_is_kept(self):
        self.assertEqual(folded(sample(*own("f", "f", "main"))), ("main", "f", "f"))

    def test_equal_stacks_add_up(self):
        self.assertEqual(fold([GOOD, LOST, GOOD]),
                         {("main", "luaD_call", "luaV_execute"): 2,
                          ("[not in any file]", "luaV_execute"): 1})
