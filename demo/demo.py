# SPDX-License-Identifier: GPL-2.0
"""Record programs straight from Debian with stock perf, on the base kernel and on the series.

Each program of demo/load is recorded in a guest: on the base with frame pointers and with DWARF,
on the series with tables made of the programs' own .eh_frame.

  demo/run                     all of it; make demo builds both kernels first
  demo/run --only xz,nginx     some of the programs
  demo/run --kernel series     without the base kernel
  demo/run --report            read the recordings of the last run again

Outputs: a table on stdout; in .build/demo flamegraph.html, and runs/*.data for perf report.
Exit status: 0 the series has whole stacks and the base has not, 1 it is not so or something
failed, 2 usage, 130 interrupted.
"""

import argparse
import glob
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stacks import FIELDS, Sample, parse

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
OUT = REPO / ".build" / "demo"
RUNS = OUT / "runs"
PAGE = OUT / "flamegraph.html"

PROGRAMS = {
    "xz": "/usr/bin/xz",
    "python3": "/usr/bin/python3",
    "perl": "/usr/bin/perl",
    "sqlite3": "/usr/bin/sqlite3",
    "nginx": "/usr/sbin/nginx",
}
# What they load while they run
MODULES = ("/usr/lib/python3*/lib-dynload/*.so", "/usr/lib/x86_64-linux-gnu/perl*/**/auto/**/*.so")
MODES = {"base": ("fp", "dwarf"), "series": ("fp,defer",)}
FREQUENCY = 999
# An emulated guest needs up to 20 seconds for what perf does before and after a recording.
RUN_SECONDS = 60
# The kernel's list of tables, and where it finds them
FILES = Path("/sys/kernel/debug/unwind/files")
SYSCTL = Path("/proc/sys/kernel/unwind_table_path")
LOAD_SECONDS = 30
# perf looks for a file in the mount namespace of the process with the recorded PID, if there is one.
ALONE = ("unshare", "--pid", "--fork", "--mount-proc")
# d3 and d3-flame-graph, as constants of Go files
PPROF = Path("/usr/share/gocode/src/github.com/google/pprof/third_party")

LEAST_SERIES = 99.0
# Samples from the first instructions of a program are whole on any kernel.
MOST_BASE = 5.0
NOTE = f"""\
cpu-clock:u at {FREQUENCY} Hz, all threads. Depth: frames in mapped files, in the mean. Whole: the \
stack ends where its thread starts. Garbage: the stack has an address that is in no file. Bytes: \
perf.data over samples. The programs and perf are Debian's."""


class DemoError(Exception):
    """Ends the demo: object, what is wrong, what to do about it."""


def say(text: str) -> None:
    print(f"demo: {text}", file=sys.stderr, flush=True)


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def capture(command: list[str | Path], what: str) -> str:
    """What a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise DemoError(f"{what}: {command[0]} ended with {done.returncode}: "
                        f"{last_line(done.stderr)}")
    return done.stdout


def make_tables() -> None:
    """Anew each time, which takes a second: tables of an older tool would stay otherwise."""
    files = [*PROGRAMS.values(), *(f for name in MODULES for f in glob.glob(name, recursive=True))]
    if absent := [path for path in files if not os.path.isfile(path)]:
        raise DemoError(f"{absent[0]}: no such file; dev/packages names its package")
    # ldd fails for a module whose library is not installed, and lists the rest.
    listed = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False).stdout
    objects = sorted({os.path.realpath(path)
                      for path in [*files, *re.findall(r"(/\S+) \(0x", listed)]})
    say(f"making tables of {len(objects)} programs and libraries")
    capture(["make", "-s", "-C", REPO / "sframe", f"O={OUT}"], "building sframe")
    shutil.rmtree(OUT / "cache", ignore_errors=True)
    capture([OUT / "sframe", "cache", "--cache-dir", OUT / "cache", *objects], "making tables")


def data_of(kernel: str, name: str, mode: str) -> Path:
    return RUNS / f"{kernel}-{name}-{mode.replace(',', '-')}.data"


def perf_record(name: str, mode: str, seconds: float, data: Path) -> None:
    """In the guest. User mode only: kernel frames are the same for every way to unwind."""
    partial = Path("/tmp/perf.data")
    try:
        capture([HERE / "load" / name, f"{seconds:g}", "perf", "record", "-N", "-e", "cpu-clock:u",
                 "-F", str(FREQUENCY), "--call-graph", mode, "--proc-map-timeout", "30000",
                 "-o", partial, "--", PROGRAMS[name]], data.stem)
        # Not written there: the file system that is shared with the host is slow.
        shutil.copy(partial, data)
    finally:
        partial.unlink(missing_ok=True)


def load_tables(name: str) -> None:
    """In the guest: of all that the program maps. In an emulator it takes longer than a walk waits."""
    perf_record(name, "fp,defer", 1, Path("/tmp/first.data"))
    end = time.monotonic() + LOAD_SECONDS
    while " loading" in FILES.read_text() and time.monotonic() < end:
        time.sleep(0.1)


def record_in_guest(kernel: str, seconds: float, names: list[str]) -> None:
    if kernel == "series":
        shutil.copytree(OUT / "cache", "/tmp/cache")
        SYSCTL.write_text("/tmp/cache\n")
    for name in names:
        for mode in MODES[kernel]:
            say(f"  recording {name}, {mode}")
            if "defer" in mode:
                load_tables(name)
            perf_record(name, mode, seconds, data_of(kernel, name, mode))


def record(kernel: str, seconds: float, names: list[str]) -> None:
    """Boot one kernel and make its recordings."""
    for name in names:
        for mode in MODES[kernel]:
            data_of(kernel, name, mode).unlink(missing_ok=True)
    limit = RUN_SECONDS + len(names) * len(MODES[kernel]) * (RUN_SECONDS + 4 * seconds)
    say(f"booting the {kernel} kernel")
    begin = time.monotonic()
    status = subprocess.run([REPO / "vm/run", "--kernel", kernel, "--timeout", f"{limit:.0f}", "--",
                             "python3", "-B", __file__, "--guest", "--kernel", kernel, "--seconds",
                             f"{seconds:g}", "--only", ",".join(names)],
                            stdout=subprocess.DEVNULL, check=False).returncode
    if status:
        raise DemoError(f"{kernel} kernel: recording ended with {status}; see above")
    say(f"{kernel} kernel: done in {time.monotonic() - begin:.0f} s")


@dataclass
class Recording:
    """A perf.data file, read."""

    kernel: str
    name: str
    mode: str

    @property
    def data(self) -> Path:
        return data_of(self.kernel, self.name, self.mode)

    def perf(self, *arguments: str | Path) -> str:
        # --force: the guest's user ids need not be ours.
        return capture([*ALONE, "perf", *arguments[:1], "-i", self.data, "--force",
                        *arguments[1:]], self.data.name)

    def number(self, what: str, *arguments: str) -> int:
        """That which perf report prints behind the words."""
        match = re.search(rf"{what}\s*: +(\d+)", self.perf("report", *arguments))
        return int(match[1]) if match else 0

    @cached_property
    def samples(self) -> list[Sample]:
        """Those of the program: perf is sampled until it has become the program."""
        if not self.data.is_file():
            raise DemoError(f"{self.data.name}: not recorded; run the demo without --report")
        try:
            found = parse(self.perf("script", "--no-inline", "-F", FIELDS).splitlines())
        except ValueError as error:
            raise DemoError(f"{self.data.name}: {error}") from error
        recorded = self.number("SAMPLE events", "--stats")
        own = [sample for sample in found if sample.comm == self.name]
        if len(found) != recorded or not own:
            raise DemoError(f"{self.data.name}: of {recorded} samples, {len(found)} were read, "
                            f"{len(own)} of {self.name}; perf 7.3 is expected")
        return own

    def share(self, values: list[bool]) -> float:
        return 100 * sum(values) / len(self.samples)

    @cached_property
    def whole(self) -> float:
        """In percent."""
        return self.share([sample.is_whole for sample in self.samples])

    def row(self) -> tuple[str, ...]:
        count = len(self.samples)
        garbage = self.share([any(not frame.is_mapped for frame in sample.frames)
                              for sample in self.samples])
        return (self.kernel, self.mode, str(count),
                str(self.number("LOST_SAMPLES events", "--stats")),
                f"{sum(sample.depth for sample in self.samples) / count:.1f}",
                f"{self.whole:.1f} %", f"{garbage:.1f} %",
                f"{self.number('# data size', '--header-only') / count:.0f}")

    def hottest(self) -> str:
        """The most frequent stack, root first."""
        stacks = Counter(tuple(frame.name for frame in reversed(sample.frames))
                         for sample in self.samples)
        names, count = min(stacks.items(), key=lambda item: (-item[1], item[0]))
        runs = [(name, len(list(run))) for name, run in itertools.groupby(names)]
        text = "; ".join(name if number == 1 else f"{number} in {name}" for name, number in runs)
        return textwrap.fill(text, 100, subsequent_indent=" " * 11,
                             initial_indent=f"  {100 * count / len(self.samples):5.1f} %  ")

    def complaint(self) -> str:
        """What the demo promises and this does not show."""
        if self.kernel == "base":
            return "" if self.mode == "dwarf" or self.whole <= MOST_BASE else (
                f"{self.name}: base kernel: {self.whole:.1f} % of the stacks are whole; at most "
                f"{MOST_BASE:g} % are expected: is it the untouched kernel?")
        ends = Counter(f"{sample.frames[-1].name}+{sample.frames[-1].offset or 0:#x}"
                       for sample in self.samples if sample.frames and not sample.is_whole)
        return "" if self.whole >= LEAST_SERIES else (
            f"{self.name}: series kernel: {self.whole:.2f} % of the stacks are whole; at least "
            f"{LEAST_SERIES:g} % are expected; others end in {ends.most_common(3)}")

    def flamegraph(self) -> dict:
        """As perf's own script draws it."""
        path = RUNS / "flamegraph.json"
        scripts = Path(capture(["perf", "--exec-path"], "perf").strip()) / "scripts/python"
        self.perf("script", "--no-inline", "--comms", self.name, "-s", scripts / "flamegraph.py",
                  "--", "-f", "json", "-o", path)
        return {"title": f"{self.name}, {self.kernel} kernel, --call-graph {self.mode}: "
                         f"{self.whole:.1f} % whole", "root": json.loads(path.read_text())}


def go_constant(path: Path, name: str) -> str:
    """A constant made of raw and quoted strings joined by +."""
    string = r'`([^`]*)`|"((?:[^"\\]|\\.)*)"'
    try:
        value = re.search(rf"^const {name} =((?:\s*(?:{string})(?: *\+)?)+)", path.read_text(), re.M)
    except OSError as error:
        raise DemoError(f"{path}: {error.strerror}; dev/packages names its package") from error
    if not value:
        raise DemoError(f"{path}: has no {name}; another version of it is expected")
    return "".join(raw or json.loads(f'"{quoted}"') for raw, quoted in re.findall(string, value[1]))


def page(recordings: list[Recording]) -> str:
    """Base and series side by side, in one file that refers to nothing outside of it."""
    flame = PPROF / "d3flamegraph/d3_flame_graph.go"
    values = {
        "style": go_constant(flame, "CSSSource"),
        "script": go_constant(PPROF / "d3/d3.go", "JSSource") + go_constant(flame, "JSSource"),
        # Names are text: none may end the script element.
        "graphs": json.dumps([recording.flamegraph() for recording in recordings
                              if recording.mode != "dwarf"]).replace("<", "\\u003c"),
    }
    return re.sub(r"@@(\w+)@@", lambda match: values[match[1]], (HERE / "page.html").read_text())


def table(recordings: list[Recording]) -> str:
    rows = [("program", "kernel", "perf mode", "samples", "lost", "depth", "whole", "garbage", "bytes")]
    for i, recording in enumerate(recordings):
        is_first = not i or recordings[i - 1].name != recording.name
        rows.append((recording.name if is_first else "", *recording.row()))
    wide = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) if i < 3 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, wide))) for row in rows)


def report(kernels: list[str], names: list[str]) -> int:
    recordings = [Recording(kernel, name, mode)
                  for name in names for kernel in kernels for mode in MODES[kernel]]
    for recording in recordings:
        say(f"reading {recording.data.name}: {len(recording.samples)} samples")
    print(f"{table(recordings)}\n\n{textwrap.fill(NOTE, 100)}\n\n"
          "The hottest stack of each on the series kernel, root first:")
    for recording in recordings:
        if recording.kernel == "series":
            print(f"{recording.name}:\n{recording.hottest()}")
    PAGE.write_text(page(recordings))
    print(f"\nFlame graphs: {PAGE.relative_to(REPO)}", flush=True)
    wrong = [text for recording in recordings if (text := recording.complaint())]
    for text in wrong:
        say(text)
    return int(bool(wrong))


def seconds_of(text: str) -> float:
    if not 0.1 <= float(text) <= 3600:
        raise argparse.ArgumentTypeError("0.1 to 3600 seconds are possible")
    return float(text)


def names_of(text: str) -> list[str]:
    if unknown := set(text.split(",")).difference(PROGRAMS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown)) or text}: not known; "
                                         f"there are {', '.join(PROGRAMS)}")
    return [name for name in PROGRAMS if name in text.split(",")]


def demo(options: argparse.Namespace) -> int:
    kernels = list(MODES) if options.kernel == "both" else [options.kernel]
    if options.guest:
        record_in_guest(options.kernel, options.seconds, options.only)
        return 0
    RUNS.mkdir(parents=True, exist_ok=True)
    if not options.report:
        for kernel in kernels:
            if not (REPO / ".build/obj" / kernel / "vmlinux").is_file():
                raise DemoError(f"{kernel} kernel: not built; run dev/kernel {kernel}")
        make_tables()
        for kernel in kernels:
            record(kernel, options.seconds, options.only)
    return report(kernels, options.only)


def main() -> int:
    parser = argparse.ArgumentParser(prog="demo/run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=seconds_of, default=4.0, metavar="N",
                        help="length of each recording (default: 4)")
    parser.add_argument("--only", type=names_of, default=list(PROGRAMS), metavar="NAME[,NAME]",
                        help="of " + ", ".join(PROGRAMS))
    parser.add_argument("--kernel", choices=("both", *MODES), default="both",
                        help="what to record on (default: both)")
    parser.add_argument("--report", action="store_true",
                        help="record nothing; report on the recordings that are there")
    parser.add_argument("--guest", action="store_true", help=argparse.SUPPRESS)
    try:
        return demo(parser.parse_args())
    except (DemoError, OSError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next run starts cleanly")
        return 130


if __name__ == "__main__":
    sys.exit(main())
