# SPDX-License-Identifier: GPL-2.0
"""The report and what it promises."""

import unittest

from helper import (GOOD, LOST, LOST_DEEP, TOOL, at, in_lua, lua_results, sample, tool_results)
from stackdemo import report
from stackdemo.workloads import LUA, LUA_SFRAME

LUA_LOST = in_lua(LUA_SFRAME, "luaV_execute")


class FailuresTest(unittest.TestCase):
    def failures(self, **given) -> list[str]:
        return report.failures([TOOL], tool_results(**given))

    def test_good_results(self):
        self.assertEqual(self.failures(), [])
        self.assertEqual(report.failures([LUA, TOOL], lua_results() | tool_results()), [])

    def test_limits_are_inclusive(self):
        self.assertEqual(self.failures(ours=[GOOD] * 99 + [LOST], base=[GOOD] * 5 + [LOST] * 95), [])

    def test_ours_below_the_limit_names_the_program_and_the_cause(self):
        self.assertEqual(self.failures(ours=[GOOD] * 98 + [LOST, LOST_DEEP]), [
            "tool: series kernel: 98.00 % of the samples reach the start of their thread; at "
            "least 99 % are expected: 2 x tool+0x210 (function 0x200) at the leaf"])

    def test_base_above_the_limit(self):
        got = self.failures(base=[GOOD] * 6 + [LOST] * 94)
        self.assertEqual(len(got), 1)
        self.assertIn("tool: base kernel: 6.00 %", got[0])

    def test_no_samples_are_not_a_pass(self):
        got = self.failures(ours=[], base=[])
        self.assertEqual(len(got), 2)
        self.assertIn("none of the samples", got[0])

    def test_samples_of_another_program_do_not_count(self):
        stray = sample(*GOOD.frames, comm="perf-exec")
        self.assertEqual(len(self.failures(ours=[stray] * 100)), 1)
        self.assertEqual(self.failures(ours=[GOOD] * 99 + [sample(at(1), comm="perf-exec")] * 50), [])

    def test_too_many_bytes_for_lua(self):
        self.assertEqual(report.failures([LUA], lua_results(ours_size=150)), [])
        got = report.failures([LUA], lua_results(ours_size=151))
        self.assertEqual(len(got), 1)
        self.assertIn("lua: series kernel: 1.51 x", got[0])

    def test_bytes_are_compared_at_equal_depth(self):
        # 3 entries in the one, 1 in the other: 16 bytes are missing in ours.
        got = report.failures([LUA], lua_results(ours=[LUA_LOST] * 100, ours_size=135))
        self.assertEqual(len(got), 2)
        self.assertIn("1.51 x", got[1])
        got = report.failures([LUA], lua_results(ours=[LUA_LOST] * 100, ours_size=134))
        self.assertEqual(len(got), 1)


class TextTest(unittest.TestCase):
    def test_rows_ratio_and_misses(self):
        results = lua_results() | tool_results(ours=[GOOD] * 99 + [LOST_DEEP])
        lines = report.text([TOOL, LUA], results).splitlines()
        self.assertIn("tool                 base    fp             100     0         1.0        "
                      "0.0 %  100.0 %            80", lines)
        self.assertIn("                     series  fp,defer       100     0         3.0       "
                      "99.0 %    1.0 %           200", lines)
        self.assertIn("Lua, frame pointers  base    fp             100     0         3.0      "
                      "100.0 %    0.0 %           100", lines)
        self.assertIn("Bytes of a dwarf sample in those of ours: tool 40, lua 67.", lines)
        self.assertIn("Lua: ours takes 1.20 x the bytes of frame pointers, 1.20 x at equal depth; "
                      "dwarf 80.0 x.", lines)
        self.assertIn("  tool: 1 of 100: 1 x tool+0x210 (function 0x200) at the leaf", lines)
        self.assertIn("  lua: 0 of 100", lines)
        self.assertIn(" 99.0 %  [start in tool]; [tool 0x200]; [tool 0x200]", lines)
        self.assertIn("100.0 %  main; luaD_call; luaV_execute", lines)

    def test_lua_is_told_of_only_where_it_was_recorded(self):
        self.assertNotIn("Lua", report.text([TOOL], tool_results()))

    def test_series_alone(self):
        results = {run: measured for run, measured in (lua_results() | tool_results()).items()
                   if run.kernel == "series"}
        lines = report.text([TOOL, LUA], results).splitlines()
        self.assertEqual([line for line in lines if " base " in line], [])
        self.assertIn("Lua: ours takes 1.20 x the bytes of frame pointers, 1.20 x at equal depth.",
                      lines)
        self.assertEqual(report.failures([TOOL, LUA], results), [])
        self.assertNotIn("Base kernel", report.flamegraph([TOOL, LUA], results))
        self.assertIn("This series", report.flamegraph([TOOL, LUA], results))
        only = tool_results(ours=[LOST] * 100)
        del only[TOOL.base], only[TOOL.dwarf]
        self.assertEqual(len(report.failures([TOOL], only)), 1)
        self.assertNotIn("dwarf", report.text([TOOL], only))
        self.assertNotIn("\n\n\n", report.text([TOOL], only))

    def test_run_without_samples(self):
        rows = report.rows([TOOL], tool_results(ours=[]))
        self.assertEqual(rows[2], ("", "series", "fp,defer", "0", "0", "", "", "", ""))

    def test_document_has_the_same_rows(self):
        rows = [line for line in report.document([TOOL], tool_results()).splitlines()
                if line[:1] == "|"]
        self.assertEqual(len(rows), 2 + 3)
        self.assertEqual(len({line.count("|") for line in rows}), 1)

    def test_log_of_misses_has_every_recording(self):
        self.assertEqual(report.all_misses([TOOL], tool_results()).splitlines(), [
            "base-tool-fp: 100 samples",
            "     100 tool+0x210 (function 0x200) at the leaf",
            "base-tool-dwarf: 100 samples",
            "series-tool-fp-defer: 100 samples"])

    def test_page_has_a_pair_for_each_program(self):
        page = report.flamegraph([TOOL, LUA], lua_results() | tool_results(ours=[]))
        self.assertEqual(page.count('class="graphs"'), 2)
        self.assertIn(">tool</button>", page)
        self.assertIn("No samples.", page)
