# SPDX-License-Identifier: GPL-2.0
"""Figures, completeness, causes, folded stacks."""

import unittest

from helper import (GOOD, LIBC, LOST, NOWHERE, START, THREAD, TOOL_PROGRAM, at, codes, in_lua,
                    sample)
from stackdemo.figures import (Figures, cause, fold, folded, is_complete, measure, misses,
                               of_program)
from stackdemo.samples import Frame
from stackdemo.workloads import LUA_FP


class CompleteTest(unittest.TestCase):
    def complete(self, *frames: Frame) -> bool:
        return is_complete(sample(*frames), TOOL_PROGRAM, codes)

    def test_ends_in_the_program_s_start(self):
        self.assertTrue(self.complete(at(0x210), START))

    def test_ends_where_a_thread_starts(self):
        self.assertTrue(self.complete(at(0x210), at(0x1010, LIBC), THREAD))

    def test_taken_in_the_start_itself(self):
        self.assertTrue(self.complete(at(0x100)))

    def test_return_address_after_the_last_instruction(self):
        self.assertTrue(self.complete(at(0x210), at(0x120)))
        self.assertFalse(self.complete(at(0x120)))
        self.assertFalse(self.complete(at(0x210), at(0x100)))

    def test_what_is_not_complete(self):
        self.assertFalse(self.complete())
        self.assertFalse(self.complete(at(0x210)))
        self.assertFalse(self.complete(at(0x210), NOWHERE))
        self.assertFalse(self.complete(at(0x210), at(0x1010, LIBC)))

    def test_something_after_the_start(self):
        self.assertFalse(self.complete(at(0x210), START, at(0x210)))
        self.assertFalse(self.complete(at(0x210), START, NOWHERE))

    def test_the_same_offset_of_another_file(self):
        self.assertFalse(self.complete(at(0x210), at(0x105, "/lib/other.so")))

    def test_position_that_perf_does_not_tell(self):
        self.assertFalse(self.complete(at(0x210), Frame("_start", TOOL_PROGRAM.path)))

    def test_root_that_a_program_names(self):
        self.assertTrue(is_complete(in_lua(LUA_FP, "f", "main", "x"), LUA_FP, codes))
        self.assertFalse(is_complete(in_lua(LUA_FP, "f"), LUA_FP, codes))
        self.assertFalse(is_complete(sample(Frame("main", "/lib/other.so")), LUA_FP, codes))
        # Others name none.
        self.assertFalse(self.complete(Frame("main", TOOL_PROGRAM.path, 0x210)))


class FiguresTest(unittest.TestCase):
    def test_exact_means(self):
        self.assertEqual(measure([GOOD, GOOD, LOST, sample()], TOOL_PROGRAM, codes),
                         Figures(samples=4, depth=1.75, complete=50.0, garbage=25.0))

    def test_no_samples_have_no_figures(self):
        self.assertIsNone(measure([], TOOL_PROGRAM, codes))

    def test_samples_from_before_the_program(self):
        samples = [GOOD, sample(at(0x210), comm="perf-exec")]
        self.assertEqual(of_program(samples, TOOL_PROGRAM), [GOOD])


class CauseTest(unittest.TestCase):
    def test_last_frame_in_a_file(self):
        self.assertEqual(cause(sample(at(0x210), at(0x1010, LIBC), NOWHERE), codes),
                         "libc.so.6+0x1010 (function 0x1000)")

    def test_leaf_with_a_name(self):
        self.assertEqual(cause(sample(at(0x210, symbol="f")), codes),
                         "tool+0x210 (function 0x200) f at the leaf")

    def test_code_that_nothing_describes(self):
        self.assertEqual(cause(sample(at(0x210), at(0x50)), codes),
                         "tool+0x50 (no unwind information)")

    def test_no_position_and_no_frame(self):
        self.assertEqual(cause(sample(Frame("[unknown]", "[vdso]")), codes), "[vdso] at the leaf")
        self.assertEqual(cause(sample(at(0x7a0, "/tmp/vdso.so")), codes),
                         "vdso.so+0x7a0 at the leaf")
        self.assertEqual(cause(sample(NOWHERE), codes), "no frame in any file")
        self.assertEqual(cause(sample(), codes), "no frame in any file")

    def test_misses_are_counted_by_cause(self):
        got = misses([GOOD, LOST, LOST, sample()], TOOL_PROGRAM, codes)
        self.assertEqual(got, {"tool+0x210 (function 0x200) at the leaf": 2,
                               "no frame in any file": 1})


class FoldTest(unittest.TestCase):
    def test_root_first_and_garbage_once(self):
        got = folded(sample(at(0x210, symbol="leaf"), NOWHERE, NOWHERE,
                            Frame("[unknown]", LIBC)), codes)
        self.assertEqual(got, ("[libc.so.6]", "[not in any file]", "leaf"))

    def test_functions_of_stripped_files_are_named_by_their_start(self):
        got = folded(sample(at(0x210), at(0x300), at(0x1100, LIBC), at(0x1101, LIBC)), codes)
        self.assertEqual(got, ("[libc.so.6 0x1100]", "[libc.so.6 0x1000]", "[tool 0x200]",
                               "[tool 0x200]"))

    def test_start_of_a_thread_has_a_name(self):
        got = folded(sample(at(0x210), at(0x1120, LIBC)), codes)
        self.assertEqual(got, ("[start in libc.so.6]", "[tool 0x200]"))
        self.assertEqual(folded(sample(at(0x105, symbol="_start")), codes), ("_start",))

    def test_equal_stacks_add_up(self):
        self.assertEqual(fold([GOOD, LOST, GOOD], codes),
                         {("[start in tool]", "[tool 0x200]", "[tool 0x200]"): 2,
                          ("[not in any file]", "[tool 0x200]"): 1})
