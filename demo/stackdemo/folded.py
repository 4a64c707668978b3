# SPDX-License-Identifier: GPL-2.0
"""A page of flame graphs from files of folded stacks, a tab for each file.

A line of such a file is a stack and its value: frames from the root on, separated by
semicolons, a blank, a number. offwaketime and many other tools write it.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from .common import DemoError
from .flamegraph import Graph, Tab, page

EXAMPLE = """\
example:
  demo/flamegraph --unit us --title "Who waited for whom" \\
      -o .build/waits.html .build/offwaketime/waits.folded
"""


def parse(lines: Iterable[str]) -> Counter[tuple[str, ...]]:
    """The stacks; equal ones are added up."""
    stacks: Counter[tuple[str, ...]] = Counter()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        frames, _, value = line.rstrip().rpartition(" ")
        # Digits of other scripts are none here.
        if not frames or not (value.isascii() and value.isdigit()):
            raise DemoError(f"line {number}: not frames and a number: {line.rstrip()[:60]}")
        stacks[tuple(frames.split(";"))] += int(value)
    return stacks


def tab(path: Path, unit: str) -> Tab:
    """One file."""
    try:
        stacks = parse(path.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError as error:
        raise DemoError(f"{path}: {error.strerror}") from error
    except DemoError as error:
        raise DemoError(f"{path}: {error}") from error
    note = f"{len(stacks)} stacks, {sum(stacks.values())} {unit}."
    return Tab(path.stem, (Graph(path.stem, note, stacks),))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="demo/flamegraph", description=__doc__, epilog=EXAMPLE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PAGE")
    parser.add_argument("--title", default="Stacks")
    parser.add_argument("--unit", default="samples", help="what the numbers count (default: samples)")
    parser.add_argument("files", nargs="+", type=Path, metavar="FOLDED")
    args = parser.parse_args(arguments)
    intro = "The width is the sum of the values, the root is on top. Click a frame to zoom."
    try:
        args.output.write_text(page(args.title, intro, [tab(path, args.unit) for path in args.files],
                                    unit=args.unit), encoding="utf-8")
    except (DemoError, OSError) as error:
        print(f"flamegraph: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
