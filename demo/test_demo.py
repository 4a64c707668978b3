# SPDX-License-Identifier: GPL-2.0
"""Tests of what could make the demo pass without whole stacks. Prints KTAP.

usage: test_demo.py [Class[.test]...]
"""

import struct
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test"))
# pylint: disable=wrong-import-position
import demo  # noqa: E402
import stacks  # noqa: E402
import tap  # noqa: E402

# The file's code is mapped 0x1000 bytes further on than it stands in it.
ENTRY, CLONE3, SHIFT = 0x200, 0x400, 0x1000


def object_file() -> bytes:
    """An object that enters at ENTRY and has clone3() at CLONE3."""
    head = b"\x7fELF".ljust(24, b"\0") + struct.pack("<QQQIHHHHHH", ENTRY + SHIFT, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", stacks.PT_LOAD, 5, 0, SHIFT, 0, 0x500, 0x500, 0x1000)
    return (head + load).ljust(CLONE3, b"\0") + stacks.CLONE3


class Stacks(unittest.TestCase):
    """Which stacks are whole."""

    def setUp(self) -> None:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(object_file())
        self.file = file.name
        self.addCleanup(Path(self.file).unlink)

    def sample(self, *offsets: int | None) -> stacks.Sample:
        """Of frames at these offsets, leaf first; None is an address in no file."""
        lines = ["toy  77 "] + [
            "\t   401136 [unknown] ([unknown])" if offset is None else
            f"\t   401136 [unknown] ({self.file}+{offset:#x})" for offset in offsets]
        found, = stacks.parse([*lines, ""])
        return found

    def test_start_of_the_program_and_of_a_thread(self) -> None:
        self.assertTrue(self.sample(0x300, ENTRY + 0x25).is_whole)
        self.assertTrue(self.sample(0x300, 0x310, CLONE3 + 0x2d).is_whole)

    def test_no_other_end(self) -> None:
        for offsets in ((), (0x300,), (ENTRY, 0x300), (ENTRY - 1,), (ENTRY + 0x61,), (ENTRY, None)):
            with self.subTest(offsets=offsets):
                self.assertFalse(self.sample(*offsets).is_whole)

    def test_an_address_in_no_file_is_no_frame(self) -> None:
        self.assertEqual(self.sample(0x300, None, ENTRY).depth, 2)

    def test_kernel_frames_do_not_count(self) -> None:
        found, = stacks.parse(["toy 77", "\tffff0 f ([kernel.kallsyms]+0x1)", "\t1 main (/bin/toy+0x1)"])
        self.assertEqual([frame.symbol for frame in found.frames], ["main"])

    def test_what_is_not_understood_is_refused(self) -> None:
        for line in ("perf: no symbols", "\t401136 main", "\t main (/bin/toy)"):
            with self.subTest(line=line), self.assertRaises(ValueError):
                stacks.parse(["toy 77", line])


class Complaints(unittest.TestCase):
    """When the demo fails."""

    def complaint(self, kernel: str, mode: str, whole: float) -> str:
        recording = demo.Recording(kernel, "toy", mode)
        recording.samples, recording.whole = [], whole
        return recording.complaint()

    def test_series(self) -> None:
        self.assertEqual(self.complaint("series", "fp,defer", 99.0), "")
        self.assertIn("98.90 %", self.complaint("series", "fp,defer", 98.9))

    def test_base(self) -> None:
        self.assertEqual(self.complaint("base", "fp", 5.0), "")
        self.assertEqual(self.complaint("base", "dwarf", 100.0), "")
        self.assertIn("untouched", self.complaint("base", "fp", 5.1))

    def test_no_recording(self) -> None:
        with self.assertRaises(demo.DemoError):
            demo.Recording("series", "no-such", "fp").samples  # pylint: disable=expression-not-assigned


class Page(unittest.TestCase):
    """The page of flame graphs."""

    def test_it_is_whole_and_a_name_cannot_end_its_script(self) -> None:
        recording = demo.Recording("series", "toy", "fp")
        recording.flamegraph = lambda: {"title": "</script>"}  # type: ignore[method-assign]
        text = demo.page([recording])
        self.assertIn("flamegraph = ", text)
        self.assertNotIn("@@", text)
        self.assertEqual(text.count("</script>"), 2)


if __name__ == "__main__":
    sys.exit(tap.main())
