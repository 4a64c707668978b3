# SPDX-License-Identifier: GPL-2.0
"""Functions and outermost frames of stripped files, from readelf's text and from files."""

import subprocess
import unittest

from helper import Scratch
from stackdemo.code import Code, code_of, frames, read_code, start_of

# Of a program: a CIE without caller, one with, a function whose caller goes
# away half way, and one that starts anew under the address of the first CIE.
UNWIND = """\
Contents of the .eh_frame section:


00000000 0000000000000014 00000000 CIE
  Version:               1
  DW_CFA_def_cfa: r7 (rsp) ofs 8
  DW_CFA_offset: r16 (rip) at cfa-8
  DW_CFA_undefined: r16 (rip)
  DW_CFA_nop

00000018 0000000000000014 0000001c FDE cie=00000000 pc=0000000000002100..0000000000002122
  DW_CFA_nop

00000030 0000000000000014 00000000 CIE
  DW_CFA_def_cfa: r7 (rsp) ofs 8
  DW_CFA_offset: r16 (rip) at cfa-8

00000048 0000000000000010 0000001c FDE cie=00000030 pc=0000000000002000..0000000000002080
  DW_CFA_advance_loc: 1 to 0000000000002001
  DW_CFA_undefined: r3 (rbx)
  DW_CFA_advance_loc2: 300 to 0000000000002040

0000005c 0000000000000010 00000030 FDE cie=00000030 pc=0000000000002200..0000000000002300
  DW_CFA_advance_loc1: 16 to 0000000000002210
  DW_CFA_undefined: r16 (rip)

Contents of the .debug_frame section:

00000000 0000000000000014 ffffffff CIE
  DW_CFA_def_cfa: r7 (rsp) ofs 8

00000018 0000000000000014 00000000 FDE cie=00000000 pc=0000000000002400..0000000000002410
"""
HEADERS = """\
  Entry point address:               0x{entry:x}
  LOAD           0x000000 0x0000000000000000 0x0000000000000000 0x001000 0x001000 R   0x1000
  LOAD           0x001000 0x0000000000002000 0x0000000000002000 0x000500 0x000500 R E 0x1000
"""


class FramesTest(unittest.TestCase):
    def test_functions_and_where_they_have_no_caller(self):
        functions, outermost = frames(UNWIND.splitlines())
        self.assertEqual(functions, [(0x2000, 0x2080), (0x2100, 0x2122), (0x2200, 0x2300),
                                     (0x2400, 0x2410)])
        self.assertEqual(outermost, [(0x2100, 0x2122), (0x2210, 0x2300)])

    def test_other_text(self):
        self.assertEqual(frames(["", "readelf: Error: Not an ELF file"]), ([], []))


class CodeTest(unittest.TestCase):
    def test_addresses_become_offsets(self):
        code = read_code(HEADERS.format(entry=0x2100), UNWIND.splitlines())
        self.assertEqual(code.outermost, [(0x1100, 0x1122), (0x1210, 0x1300)])
        self.assertEqual(code.function(0x107f), 0x1000)
        self.assertIsNone(code.function(0x1080))
        self.assertIsNone(code.function(0xfff))
        self.assertTrue(code.is_outermost(0x1100))
        self.assertTrue(code.is_outermost(0x1121))
        self.assertFalse(code.is_outermost(0x1122))
        self.assertFalse(code.is_outermost(0x10ff))
        self.assertFalse(code.is_outermost(0x120f))

    def test_entry_without_description_ends_at_the_next_function(self):
        code = read_code(HEADERS.format(entry=0x21f0), UNWIND.splitlines())
        self.assertIn((0x11f0, 0x1200), code.outermost)

    def test_entry_without_description_and_without_neighbour(self):
        code = read_code(HEADERS.format(entry=0x2450), UNWIND.splitlines())
        self.assertIn((0x1450, 0x1490), code.outermost)

    def test_library_without_entry(self):
        code = read_code(HEADERS.format(entry=0), UNWIND.splitlines())
        self.assertEqual(len(code.outermost), 2)

    def test_no_ranges(self):
        self.assertIsNone(start_of([], 5))
        self.assertFalse(Code().is_outermost(0))


class RealFilesTest(Scratch):
    def build(self, *options: str) -> tuple[Code, int]:
        """A stripped program, and its entry as an offset: the address, as ld lays it out."""
        source, program = self.dir / "x.c", self.dir / "x"
        source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        subprocess.run(["gcc", "-O2", "-s", *options, "-o", program, source], check=True)
        text = subprocess.run(["readelf", "-h", program], capture_output=True, text=True,
                              check=True).stdout
        entry = int(text.split("Entry point address:")[1].split()[0], 16)
        return code_of(str(program)), entry

    def test_start_of_a_stripped_program(self):
        code, entry = self.build()
        self.assertEqual(code.function(entry), entry)
        self.assertTrue(code.is_outermost(entry + 0x20))
        self.assertEqual(len(code.outermost), 1)

    def test_start_at_an_address_that_is_no_offset(self):
        code, entry = self.build("-no-pie")
        self.assertGreater(entry, 0x400000)
        self.assertEqual(code.outermost[0][0], entry - 0x400000)

    def test_libc_of_this_machine_has_both_starts_of_threads(self):
        code = code_of("/usr/lib/x86_64-linux-gnu/libc.so.6")
        # clone() and clone3(), after their system calls.
        self.assertEqual(len(code.outermost), 2)
        self.assertGreater(len(code.functions), 2000)

    def test_entry_of_the_dynamic_linker(self):
        code = code_of("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
        self.assertEqual(len(code.outermost), 1)

    def test_files_that_cannot_be_read(self):
        text = self.dir / "text"
        text.write_text("no program\n", encoding="utf-8")
        for name in (str(text), str(self.dir / "absent"), "[vdso]"):
            self.assertEqual(code_of(name), Code())
