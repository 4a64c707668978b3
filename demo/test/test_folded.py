# SPDX-License-Identifier: GPL-2.0
"""Flame graphs of folded stacks."""

import contextlib
import io
import json
import re
from collections import Counter

from helper import Scratch
from stackdemo import folded
from stackdemo.common import DemoError


class ParseTest(Scratch):
    def test_equal_stacks_are_added_up(self):
        self.assertEqual(folded.parse(["a;b 3\n", "a;b 4\n", "a 1\n", "\n"]),
                         Counter({("a", "b"): 7, ("a",): 1}))

    def test_frames_may_have_blanks(self):
        self.assertEqual(folded.parse(["comm 1;operator new(unsigned long);-- 5"]),
                         Counter({("comm 1", "operator new(unsigned long)", "--"): 5}))

    def test_what_is_no_folded_stack_is_refused(self):
        for line in ("a;b", "a;b x", "12", "a -3", "a 1.5", "a \u0663"):
            with self.subTest(line), self.assertRaisesRegex(DemoError, "line 2: not frames"):
                folded.parse(["a 1", line])


class MainTest(Scratch):
    def run_main(self, *arguments: str) -> tuple[int, str]:
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            return folded.main(arguments), error.getvalue()

    def test_page_of_two_files(self):
        for name, text in (("one", "main;f 3\n"), ("two", "main;g 1000\n")):
            (self.dir / f"{name}.folded").write_text(text, encoding="utf-8")
        output = self.dir / "page.html"
        self.assertEqual(self.run_main("-o", str(output), "--unit", "us", "--title", "A & B",
                                       str(self.dir / "one.folded"),
                                       str(self.dir / "two.folded")), (0, ""))
        text = output.read_text(encoding="utf-8")
        graphs = json.loads(re.search(r"^const graphs = (.*);$", text, re.MULTILINE)[1])
        self.assertEqual([[graph["value"] for graph in tab] for tab in graphs], [[3], [1000]])
        self.assertIn('const unit = "us";', text)
        self.assertIn("<title>A &amp; B</title>", text)
        self.assertIn("1 stacks, 1000 us.", text)

    def test_errors_name_the_file(self):
        bad = self.dir / "bad.folded"
        bad.write_text("what\n", encoding="utf-8")
        for path in (bad, self.dir / "absent"):
            status, error = self.run_main("-o", str(self.dir / "page.html"), str(path))
            self.assertEqual(status, 1)
            self.assertIn(str(path), error)
