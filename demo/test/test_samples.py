# SPDX-License-Identifier: GPL-2.0
"""perf's text, as recorded and damaged."""

import unittest

from helper import DATA, LIBC, LUA_FILE as LUA
from stackdemo.samples import Frame, parse


def parse_file(name: str):
    """Parse a recorded text."""
    return parse((DATA / name).read_text(encoding="utf-8").splitlines())


class ParseTest(unittest.TestCase):
    def test_dwarf_chains_are_complete(self):
        got = parse_file("dwarf.txt")
        self.assertEqual(got.garbage_lines, 0)
        self.assertEqual([s.depth for s in got.samples], [34, 39, 23])
        self.assertTrue(all(s.reaches("main", LUA) for s in got.samples))
        self.assertFalse(any(s.has_garbage for s in got.samples))
        self.assertEqual(got.samples[0].leaf, Frame("matchbracketclass", LUA))
        self.assertEqual(got.samples[1].leaf, Frame("[unknown]", LIBC))

    def test_addresses_in_no_file_are_not_frames(self):
        got = parse_file("base-fp.txt")
        self.assertEqual(got.garbage_lines, 0)
        self.assertEqual([s.depth for s in got.samples], [1, 1, 1])
        self.assertEqual([len(s.frames) for s in got.samples], [2, 5, 1])
        self.assertEqual([s.has_garbage for s in got.samples], [True, True, False])
        self.assertFalse(any(s.reaches("main", LUA) for s in got.samples))

    def test_empty_text_has_no_samples(self):
        for text in ([], ["", "  ", "\n"]):
            got = parse(text)
            self.assertEqual((got.samples, got.garbage_lines), ([], 0))

    def test_sample_without_chain_is_a_sample(self):
        got = parse(["lua     7 ", "", "lua 8", ""])
        self.assertEqual([(s.comm, s.tid, s.depth, s.leaf) for s in got.samples],
                         [("lua", 7, 0, None), ("lua", 8, 0, None)])

    def test_garbage_lines_are_counted_and_nothing_is_made_of_them(self):
        got = parse(["DEFERRED CALLCHAIN [cookie: 12]", "\t 55d0 stray (x)", "lua 7",
                     "\t 55d0 f (lua)", "\t zz g (lua)", "\t 55d1 h", "\x00\xff", "",
                     "binary \ufffd", "lua 9", "\t 55d0 f (lua)"])
        self.assertEqual(got.garbage_lines, 6)
        self.assertEqual([(s.tid, s.depth) for s in got.samples], [(7, 1), (9, 1)])

    def test_names_with_spaces_and_brackets(self):
        got = parse(["my prog:1  7 ", "\t 55d0 operator() (/tmp/a b (deleted))",
                     "\t  55d1 f(int) (/x (y)/z)"])
        self.assertEqual(got.samples[0].comm, "my prog:1")
        self.assertEqual(got.samples[0].frames,
                         [Frame("operator()", "/tmp/a b (deleted)"), Frame("f(int)", "/x (y)/z")])

    def test_positions_in_files(self):
        got = parse(["xz 7", "\t 55d0 f (/usr/bin/xz+0x2a)", "\t 55d1 g (/x+0x1/y (deleted)+0xb0)",
                     "\t 55d2 [unknown] ([unknown])", "\t 55d3 h+0x10 (/x+0xzz)"])
        self.assertEqual(got.samples[0].frames,
                         [Frame("f", "/usr/bin/xz", 0x2a),
                          Frame("g", "/x+0x1/y (deleted)", 0xb0), Frame("[unknown]", "[unknown]"),
                          Frame("h+0x10", "/x+0xzz")])

    def test_kernel_frames_are_left_out(self):
        got = parse(["lua 7", "\tffffffff81 do_syscall_64 ([kernel.kallsyms])",
                     "\t 55d0 main (lua)"])
        self.assertEqual(got.samples[0].frames, [Frame("main", "lua")])

    def test_main_of_another_file_does_not_count(self):
        got = parse(["lua 7", "\t 55d0 main (/lib/other.so)"])
        self.assertFalse(got.samples[0].reaches("main", LUA))
