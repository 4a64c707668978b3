# SPDX-License-Identifier: GPL-2.0
"""Command line of the demo."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import report, tables
from .build import build_variants
from .common import OUT, DemoError, say, shown
from .perf import read
from .runs import check_kernels, check_same_work, default_into, record
from .workloads import KERNELS, LUA, WORKLOADS, Workload

DESCRIPTION = """\
Run programs straight from Debian under stock perf, on the base kernel and on
this series with tables made of their .eh_frame, and compare the stacks. Lua,
built twice from Debian's source, shows the size of a sample in comparison with
frame pointers."""

EXAMPLES = """\
examples:
  demo/run                     all of it; the kernels must be built (make kernel)
  demo/run --only xz,nginx     some of the programs
  demo/run --kernel series     without the base kernel, which needs not be built
  demo/run --quick             one second a recording, to try things out
  demo/run --seconds 20        smoother figures
  demo/run --report            read the recordings of the last run again

outputs in .build/demo: table.md, flamegraph.html, misses.txt (where chains end
early), runs/*.data (for perf report)
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


def chosen(text: str) -> list[Workload]:
    """The workloads of that name, in the order of the table."""
    names = {name.strip() for name in text.split(",")}
    known = [workload.name for workload in WORKLOADS]
    if unknown := sorted(names.difference(known)):
        raise argparse.ArgumentTypeError(f"{', '.join(unknown) or text}: not known; "
                                         f"there are {', '.join(known)}")
    return [workload for workload in WORKLOADS if workload.name in names]


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="demo/run", description=DESCRIPTION, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=positive, default=4.0, metavar="N",
                        help="length of each recording (default: 4)")
    length.add_argument("--quick", dest="seconds", action="store_const", const=1.0,
                        help="the same as --seconds 1")
    parser.add_argument("--only", type=chosen, default=list(WORKLOADS), metavar="NAME[,NAME]",
                        help="of " + ", ".join(workload.name for workload in WORKLOADS))
    parser.add_argument("--kernel", choices=("both", "series"), default="both",
                        help="record on both kernels, or on the series only (default: both)")
    parser.add_argument("--report", action="store_true",
                        help="record nothing; report on the recordings that are there")
    return parser.parse_args()


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def make_recordings(workloads: Sequence[Workload], kernels: Sequence[str], seconds: float,
                    into: Path) -> None:
    """All of them, one boot a kernel."""
    check_kernels(kernels)
    if LUA in workloads:
        build_variants()
    tables.fill(workloads)
    for kernel in kernels:
        start = time.monotonic()
        record(kernel, workloads, seconds, into)
        say(f"{kernel} kernel: done in {time.monotonic() - start:.0f} s")


def demo(options: argparse.Namespace) -> int:
    """Build, record, report; the exit status."""
    workloads: list[Workload] = options.only
    kernels = KERNELS if options.kernel == "both" else (options.kernel,)
    OUT.mkdir(parents=True, exist_ok=True)
    into = default_into()
    if not options.report:
        make_recordings(workloads, kernels, options.seconds, into)
    results: report.Results = {}
    for workload in workloads:
        runs = [run for run in workload.runs if run.kernel in kernels]
        checksum = check_same_work(workload.name, runs, into)
        say(f"{workload.name}: all runs computed {checksum}; reading the recordings")
        results |= {run: report.Measured(read(run.path(into)), run.program)
                    for run in runs}
    write(OUT / "table.md", report.document(workloads, results))
    write(OUT / "misses.txt", report.all_misses(workloads, results))
    write(OUT / "flamegraph.html", report.flamegraph(workloads, results))
    print(report.text(workloads, results))
    print(f"Flame graphs: {shown(OUT / 'flamegraph.html')}; the table: {shown(OUT / 'table.md')}")
    sys.stdout.flush()
    failed = report.failures(workloads, results)
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
