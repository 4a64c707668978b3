# SPDX-License-Identifier: GPL-2.0
"""The report and what it promises."""

import unittest

from helper import GOOD, IN_LIBC, LOST, LOST_DEEP, results
from stackdemo import report


class FailuresTest(unittest.TestCase):
    def test_good_results(self):
        self.assertEqual(report.failures(results()), [])

    def test_limits_are_inclusive(self):
        # As many entries as in the frame-pointer recording: sizes compare as they are.
        at_limit = results(ours=[GOOD] * 99 + [LOST_DEEP], base=[GOOD] * 5 + [LOST] * 95,
                           ours_size=150)
        self.assertEqual(report.failures(at_limit), [])

    def test_ours_below_the_limit(self):
        self.assertEqual(report.failures(results(ours=[GOOD] * 98 + [LOST] * 2)), [
            "series kernel: 98.0 % of the samples in Lua's own text reach main; "
            "at least 99 % are expected"])

    def test_base_above_the_limit(self):
        got = report.failures(results(base=[GOOD] * 6 + [LOST] * 94))
        self.assertEqual(len(got), 1)
        self.assertIn("base kernel: 6.0 %", got[0])

    def test_too_many_bytes(self):
        got = report.failures(results(ours_size=151))
        self.assertEqual(len(got), 1)
        self.assertIn("1.51 x", got[0])

    def test_bytes_are_compared_at_equal_depth(self):
        # 3 entries in the one, 2 in the other: 8 bytes are missing in ours.
        got = report.failures(results(ours=[LOST] * 100, ours_size=143))
        self.assertEqual(len(got), 2)
        self.assertIn("1.51 x", got[1])

    def test_no_own_samples_is_not_a_pass(self):
        got = report.failures(results(ours=[IN_LIBC], base=[IN_LIBC]))
        self.assertEqual(len(got), 2)
        self.assertIn("none of the samples", got[0])


class TextTest(unittest.TestCase):
    def test_rows_and_ratio(self):
        lines = report.text(results()).splitlines()
        self.assertIn("series  SFrame          fp,defer   all          100     0         3.0"
                      "      99.0 %    0.0 %           120", lines)
        self.assertIn("                                   Lua           99               3.0"
                      "     100.0 %    0.0 %", lines)
        self.assertIn("                                   libc           1               1.0"
                      "       0.0 %    0.0 %", lines)
        self.assertIn("Bytes per sample: ours 120, frame pointers 100, dwarf 8000: "
                      "ours is 1.20 x frame pointers (1.20 x at equal depth), dwarf 80.0 x.", lines)
        self.assertIn(" 99.0 %  main; luaD_call; luaV_execute", lines)

    def test_document_has_the_same_rows(self):
        rows = [line for line in report.document(results()).splitlines() if line[:1] == "|"]
        # Head, rule, two rows a recording, one more for libc.
        self.assertEqual(len(rows), 2 + 5 * 2 + 1)
        self.assertEqual(len({line.count("|") for line in rows}), 1)
