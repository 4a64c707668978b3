# SPDX-License-Identifier: GPL-2.0
"""The page of flame graphs: complete, self-contained, safe."""

import json
import re
from collections import Counter
from pathlib import Path

from helper import Scratch
from stackdemo import flamegraph
from stackdemo.common import DemoError

STACKS = Counter({("main", "f"): 3, ("main", "g"): 2, ("main",): 1})


def package(where: Path, script: str) -> Path:
    """A stand-in for the package's sources."""
    for name, text in (("d3/d3.go", "d3script"), ("d3flamegraph/d3_flame_graph.go", script)):
        path = where / name
        path.parent.mkdir(parents=True)
        path.write_text(f"package x\n\nconst JSSource = `\n{text}\n`\n\nconst CSSSource = `css`\n",
                        encoding="utf-8")
    return where


class TreeTest(Scratch):
    def test_values_include_children(self):
        self.assertEqual(flamegraph.tree(STACKS), {
            "name": "all", "value": 6, "children": [
                {"name": "main", "value": 6, "children": [
                    {"name": "f", "value": 3, "children": []},
                    {"name": "g", "value": 2, "children": []}]}]})

    def test_no_stacks(self):
        self.assertEqual(flamegraph.tree(Counter()), {"name": "all", "value": 0, "children": []})

    def test_chain_as_deep_as_perf_writes(self):
        node = flamegraph.tree(Counter({("f",) * 127: 1}))
        depth = 0
        while node["children"]:
            node, depth = node["children"][0], depth + 1
        self.assertEqual(depth, 127)


class GoTest(Scratch):
    def test_joined_strings(self):
        text = 'const Other = `no`\nconst X = `a\'b` + "`\\n" +\n\t`c`\n\nvar y = `d`\n'
        self.assertEqual(flamegraph.go_constant(text, "X"), "a'b`\nc")

    def test_missing_constant_names_the_package(self):
        with self.assertRaisesRegex(DemoError, "pprof-dev: has no JSSource"):
            flamegraph.go_constant("package x", "JSSource")


class PageTest(Scratch):
    def page(self, script: str = "flame", title: str = "T", stacks=STACKS) -> str:
        before = flamegraph.Graph(title, "note", stacks)
        after = flamegraph.Graph("after", "note", Counter({("x",): 1}))
        return flamegraph.page("Title", "intro", [flamegraph.Tab("a<b", (before, after))],
                               package(self.dir / "p", script))

    def test_installed_package_gives_a_self_contained_page(self):
        graphs = [flamegraph.Graph(name, "note", STACKS) for name in ("before", "after")]
        text = flamegraph.page("Title", "intro", [flamegraph.Tab(name, graphs)
                                                  for name in ("xz", "perl", "nginx")])
        self.assertIsNone(flamegraph.EXTERNAL.search(text))
        self.assertIsNone(re.search(r"(src|href)\s*=\s*[\"']?http|<link|<script[^>]+src", text))
        self.assertIn("d3.flamegraph()", text)
        self.assertIn("exports.flamegraph = flamegraph", text)
        self.assertIn(".d3-flame-graph rect", text)
        self.assertEqual(text.count('class="chart"'), 6)
        self.assertEqual(text.count('role="tab"'), 3)
        self.assertNotIn("@@", text)

    def test_the_data_is_in_the_page(self):
        data = re.search(r"^const graphs = (.*);$", self.page(), re.MULTILINE)
        self.assertEqual(json.loads(data[1]), [[flamegraph.tree(STACKS),
                                                flamegraph.tree(Counter({("x",): 1}))]])

    def test_names_cannot_break_out(self):
        text = self.page(title="<b>&", stacks=Counter({("</script><script>alert(1)", "@@style@@"): 1}))
        self.assertIn("&lt;b&gt;&amp;", text)
        self.assertIn(">a&lt;b</button>", text)
        self.assertEqual(text.count("<script>"), 2)
        self.assertIn("@@style@@", text)

    def test_a_reference_to_the_outside_is_refused(self):
        for script in ('x.src = "//host/x.js"', "link.href='https://host'", "fetch('x')",
                       "@import 'x'", "url(http://host/x)"):
            with self.subTest(script), self.assertRaisesRegex(DemoError, "something outside"):
                flamegraph.page("T", "i", [], package(self.dir / str(abs(hash(script))), script))

    def test_missing_package_is_named(self):
        with self.assertRaisesRegex(DemoError, "install golang-github-google-pprof-dev"):
            flamegraph.page("T", "i", [], self.dir / "absent")
