# SPDX-License-Identifier: GPL-2.0
"""A page with flame graphs, drawn by d3-flame-graph, in one file.

Debian 13 has d3-flame-graph and the parts of d3 that it needs as sources of the
pprof package: text constants of two Go files. The page carries them inline and
refers to nothing outside of itself.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .common import DemoError

SOURCES = Path("/usr/share/gocode/src/github.com/google/pprof/third_party")
PACKAGE = "golang-github-google-pprof-dev"

# What makes a browser fetch something. Namespaces are names, not references.
EXTERNAL = re.compile(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//|@import|url\(\s*["']?(?:https?:)?//"""
                      r"""|\b(?:fetch|importScripts|XMLHttpRequest)\s*\(""", re.IGNORECASE)


@dataclass(frozen=True)
class Graph:
    """One flame graph of the page."""

    title: str
    note: str
    stacks: Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Tab:
    """Graphs that are shown side by side, and the name of their tab."""

    name: str
    graphs: Sequence[Graph]


def go_constant(text: str, name: str) -> str:
    """The value of a constant made of raw and quoted Go strings joined by +."""
    start = re.search(rf"^const {name} = ", text, re.MULTILINE)
    if not start:
        raise DemoError(f"{PACKAGE}: has no {name}; another version of it is expected")
    token = re.compile(r'\s*(?:`([^`]*)`|"((?:[^"\\]|\\.)*)")')
    parts: list[str] = []
    at = start.end()
    while match := token.match(text, at):
        parts.append(match[1] if match[1] is not None else json.loads(f'"{match[2]}"'))
        at = match.end()
        if not (plus := re.compile(r"[ \t]*\+").match(text, at)):
            break
        at = plus.end()
    return "".join(parts)


def assets(sources: Path = SOURCES) -> tuple[str, str]:
    """The scripts and the style sheet of the package."""
    try:
        d3 = (sources / "d3/d3.go").read_text(encoding="utf-8")
        flame = (sources / "d3flamegraph/d3_flame_graph.go").read_text(encoding="utf-8")
    except OSError as error:
        raise DemoError(f"{error.filename}: {error.strerror}; install {PACKAGE}") from error
    script = go_constant(d3, "JSSource") + "\n" + go_constant(flame, "JSSource")
    return script, go_constant(flame, "CSSSource")


def tree(stacks: Counter[tuple[str, ...]]) -> dict[str, Any]:
    """Merge stacks, root first, into the hierarchy that d3-flame-graph draws."""
    root: dict[str, Any] = {"name": "all", "value": 0, "children": {}}
    for names, count in stacks.items():
        node = root
        node["value"] += count
        for name in names:
            node = node["children"].setdefault(name, {"name": name, "value": 0, "children": {}})
            node["value"] += count
    return listed(root)


def listed(root: dict[str, Any]) -> dict[str, Any]:
    """Turn the children of all nodes into lists; without recursion: stacks are deep."""
    pending = [root]
    while pending:
        node = pending.pop()
        node["children"] = list(node["children"].values())
        pending.extend(node["children"])
    return root


def script_json(value: Any) -> str:
    """JSON that cannot end the script element that it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def place(graph: Graph) -> str:
    """The place of one graph in the page."""
    return (f'<div class="graph"><h2>{html.escape(graph.title)}</h2>'
            f'<p>{html.escape(graph.note)}</p>'
            '<div class="found"></div><div class="details"></div>'
            '<div class="chart"></div></div>')


def section(tab: Tab) -> str:
    """The place of a tab's graphs."""
    return f'<section class="graphs" hidden>{"".join(map(place, tab.graphs))}</section>'


def button(tab: Tab) -> str:
    """What chooses a tab."""
    return f'<button type="button" role="tab">{html.escape(tab.name)}</button>'


def page(title: str, intro: str, tabs: Sequence[Tab], sources: Path = SOURCES,
         unit: str = "samples") -> str:
    """The whole page; values are numbers of units."""
    script, style = assets(sources)
    template = (Path(__file__).parent / "flamegraph.html").read_text(encoding="utf-8")
    values = {
        "title": html.escape(title),
        "intro": html.escape(intro),
        "style": style,
        "tabs": "".join(map(button, tabs)),
        "sections": "\n".join(map(section, tabs)),
        "unit": script_json(unit),
        "package": script.replace("</script", "<\\/script"),
        "graphs": script_json([[tree(graph.stacks) for graph in tab.graphs] for tab in tabs]),
    }
    # One pass: a value that contains a place holder is left alone.
    text = re.sub(r"@@(\w+)@@", lambda match: values[match[1]], template)
    if found := EXTERNAL.search(text):
        raise DemoError(f"flame graph: the page refers to something outside: {found[0]}; "
                        f"{PACKAGE} has changed")
    return text
