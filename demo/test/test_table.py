# SPDX-License-Identifier: GPL-2.0
"""Aligned text, Markdown, top stacks."""

import unittest
from collections import Counter

from stackdemo.table import aligned, markdown, top_stacks

HEAD = ("name", "count")
ROWS = [("a", "1"), ("long name", "200"), ("", "")]


class TableTest(unittest.TestCase):
    def test_aligned(self):
        self.assertEqual(aligned(HEAD, ROWS).split("\n"), [
            "name       count",
            "---------  -----",
            "a              1",
            "long name    200",
            ""])

    def test_markdown(self):
        self.assertEqual(markdown(HEAD, ROWS).split("\n"), [
            "| name      | count |",
            "| --------- | ----: |",
            "| a         |     1 |",
            "| long name |   200 |",
            "|           |       |"])

    def test_no_rows(self):
        self.assertEqual(aligned(HEAD, []), "name  count\n----  -----")

    def test_top_stacks_order_share_and_limit(self):
        stacks = Counter({("b",): 1, ("a",): 1, ("main", "f"): 2})
        self.assertEqual(top_stacks(stacks, 2), " 50.0 %  main; f\n 25.0 %  a")

    def test_deep_stack_is_wrapped_whole(self):
        names = tuple(f"function_{i}" for i in range(60))
        got = top_stacks(Counter({names: 3}), 5)
        self.assertLessEqual(max(map(len, got.split("\n"))), 100)
        self.assertEqual(tuple(got.removeprefix("100.0 %").replace(";", " ").split()), names)

    def test_no_stacks(self):
        self.assertEqual(top_stacks(Counter(), 5), "")
