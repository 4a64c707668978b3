# SPDX-License-Identifier: GPL-2.0
"""Command line of the demo."""

import argparse
import sys
import time
from pathlib import Path

from . import report
from .build import build_variants
from .common import OUT, DemoError, say, shown
from .perf import read
from .runs import KERNELS, RUNS, check_kernels, check_same_work, default_into, record

DESCRIPTION = """\
Build Lua from Debian's source package without frame pointers, run a script
under stock perf on the base kernel and on this series, and compare the stacks."""

EXAMPLES = """\
examples:
  bench/demo                 all of it; the kernels must be built (make kernel)
  bench/demo --quick         one second a recording, to try things out
  bench/demo --seconds 20    smoother figures
  bench/demo --report        read the recordings of the last run again

outputs in .build/demo: table.md, flamegraph.html, runs/*.data (for perf report)
exit status: 0 all figures are as promised, 1 something failed, 2 usage"""


def positive(text: str) -> float:
    """A number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0.1 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text}: 0.1 to 3600 seconds are possible")
    return value


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="bench/demo", description=DESCRIPTION, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=positive, default=5.0, metavar="N",
                        help="processor time of each recording (default: 5)")
    length.add_argument("--quick", dest="seconds", action="store_const", const=1.0,
                        help="the same as --seconds 1")
    parser.add_argument("--report", action="store_true",
                        help="record nothing; report on the recordings that are there")
    return parser.parse_args()


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def demo(options: argparse.Namespace) -> int:
    """Build, record, report; the exit status."""
    OUT.mkdir(parents=True, exist_ok=True)
    into = default_into()
    if not options.report:
        check_kernels()
    lua = build_variants()
    if not options.report:
        for kernel in KERNELS:
            start = time.monotonic()
            record(kernel, lua, options.seconds, into)
            say(f"{kernel} kernel: done in {time.monotonic() - start:.0f} s")
    checksum = check_same_work(into)
    say(f"all runs computed {checksum}; reading the recordings")
    results = {run: report.Measured(read(run.path(into)), str(lua[run.program]))
               for run in RUNS}
    write(OUT / "table.md", report.document(results))
    write(OUT / "flamegraph.html", report.flamegraph(results))
    print(report.text(results))
    print(f"Flame graphs: {shown(OUT / 'flamegraph.html')}; the table: {shown(OUT / 'table.md')}")
    sys.stdout.flush()
    failed = report.failures(results)
    for line in failed:
        print(f"demo: {line}", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    """Report errors in one line."""
    options = arguments()
    try:
        return demo(options)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted; the next run starts cleanly", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
