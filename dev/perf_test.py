#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run `perf test` on the base and on the series, and compare verdict by verdict.

The perf is Debian's on both, or with --own that of each tree.

A test passes when its verdict on the series is no worse than on the base: Ok, then Skip, then
FAILED; one that outlasts --limit, or dies, has FAILED. Where the series does worse, the test runs
twice more on both kernels. It is a regression when most of its runs on the series do worse than
the worst one on the base, and flaky otherwise.

Tests that are Ok on neither kernel say nothing about the series. They are listed, and not counted.

Outputs: .build/test/perf-test, a log for each test and kernel; TAP on stdout.
Exit status: 0 all passed, 1 not, 2 usage.

  dev/check perf-test                the tests that record, unwind, or load BPF programs
  dev/check perf-test -- --all
  dev/check perf-test -- --own       perf of the base on the base, of the series on the series
  dev/check perf-test -- 'perf record tests' 'Test dwarf unwind'
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
OUT = REPO / ".build" / "test" / "perf-test"
TREES = ("base", "series")
RETRIES = 2
GUEST_SECONDS = 600

LISTED = re.compile(r"^ *(\d+): (.+)$")
VERDICT = re.compile(r"^ *\d+((?:\.\d+)?): (.*?) *: (Ok|Skip|FAILED!)")
RANK = {"Ok": 0, "Skip": 1, "FAILED!": 2}

# The short form: whatever samples, unwinds, reads callchains or loads BPF programs.
SHORT = (
    "Detect openat syscall event",
    "Detect openat syscall event on all cpus",
    "PERF_RECORD_* events & perf_sample fields",
    "syscalls:sys_enter_openat event fields",
    "Breakpoint overflow signal handler",
    "Breakpoint overflow sampling",
    "Breakpoint accounting",
    "Watchpoint",
    "Software clock events period values",
    "Object code reading",
    "Sample parsing",
    "Use a dummy software event to keep tracking",
    "Parse with no sample_id_all bit set",
    "Lookup mmap thread",
    "Event times",
    "Read backward ring buffer",
    "Sigtrap",
    "Event groups",
    "Test dwarf unwind",
    "x86 bp modify",
    "Perf attribute expectations test",
    "perf header tests",
    "perf inject to convert DWARF callchains to regular ones",
    "perf record tests",
    "perf record deferred callchain tests",
    "perf record sample filtering (by BPF) tests",
    "perf record sideband tests",
    "perf report --hierarchy",
    "perf sched tests",
    "perf script tests",
    "BPF metadata collection test",
    "perf record offcpu profiling tests",
    "Test libdw unwinding of multi-threaded processes",
)


# Trees whose guest ended badly, once for each time.
LOST: list[str] = []


def source_of(tree: str) -> Path:
    return REPO / ".build" / ("linux-base" if tree == "base" else "linux") / "tools" / "perf"


def perf_of(tree: str) -> tuple[str, dict[str, str]]:
    """The program, and where it finds its scripts."""
    return (str(REPO / ".build" / "perf" / tree / "perf"),
            {**os.environ, "PERF_EXEC_PATH": str(source_of(tree))})


@contextlib.contextmanager
def place(tree: str, own: bool) -> Iterator[str]:
    """Where perf test runs: it lists the shell tests of a source tree that it stands in."""
    with tempfile.TemporaryDirectory() as folder:
        if own:
            (Path(folder) / "tests").symlink_to(source_of(tree) / "tests")
        yield folder


def list_tests(tree: str, own: bool) -> dict[str, int]:
    """The numbers of all tests, by name; a tree's own perf has its own numbers."""
    perf, environment = perf_of(tree) if own else ("perf", dict(os.environ))
    with place(tree, own) as folder:
        result = subprocess.run([perf, "test", "list"], check=True, text=True,
                                capture_output=True, cwd=folder, env=environment)
    lines = (result.stdout + result.stderr).splitlines()
    return {m[2].strip(): int(m[1]) for m in map(LISTED.match, lines) if m}


# In the guest


def run_test(perf: str, number: int, folder: str, limit: int,
             log: Path) -> tuple[dict[str, str], float]:
    """The verdicts, by what follows the test's name, and the seconds that it took."""
    begin = time.monotonic()
    ended = True
    with log.open("wb") as output, subprocess.Popen(
            [perf, "test", "-v", str(number)], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            ended = False
        # Its workloads may be left over in any case.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    verdicts = {}
    for line in log.read_text(errors="replace").splitlines():
        match = VERDICT.match(line)
        if match:
            verdicts[f"{match[1]} {match[2].strip()}" if match[1] else ""] = match[3]
    if not ended:
        say(f"test {number}: no end within {limit} s")
    return verdicts, time.monotonic() - begin


def in_guest(options: argparse.Namespace) -> int:
    os.environ["HOME"] = "/tmp"
    perf = "perf"
    if options.own:
        perf, environment = perf_of(options.in_guest)
        os.environ |= environment
        # Its shell tests call it by name.
        os.environ["PATH"] = f"{Path(perf).parent}:{os.environ['PATH']}"
    for number in map(int, options.tests):
        with place(options.in_guest, options.own) as folder:
            verdicts, seconds = run_test(perf, number, folder, options.limit,
                                         options.into / f"{number}.log")
        with (options.into / "verdicts").open("a") as file:
            file.write(json.dumps({"test": number, "seconds": round(seconds, 1),
                                   "verdicts": verdicts}) + "\n")
    return 0


# On the host


def run_guest(tree: str, tests: list[str], options: argparse.Namespace, into: Path) -> dict[str, str]:
    """The verdicts on this kernel; a guest that was lost took those it owed with it."""
    into.mkdir(parents=True)
    begin = time.monotonic()
    names = {number: name for name, number in list_tests(tree, options.own).items() if name in tests}
    command = [str(REPO / "vm" / "run"), "--kernel", tree, "--timeout",
               str(GUEST_SECONDS + options.limit * len(names)), "--", "python3", "-B", str(HERE / "perf_test.py"),
               "--in-guest", tree, "--limit", str(options.limit), "--into", str(into),
               *(["--own"] if options.own else []), *map(str, names)]
    status = subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode
    say(f"{tree}: {len(names)} tests in {time.monotonic() - begin:.0f} s, "
        f"vm/run: exit status {status}")
    LOST.extend([tree] * (status != 0))
    verdicts: dict[str, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (into / "verdicts").read_text().splitlines():
            run = json.loads(line)
            verdicts |= {names[run["test"]] + of: word for of, word in run["verdicts"].items()}
    return verdicts


def run_both(tests: list[str], options: argparse.Namespace, turn: int) -> dict[str, dict[str, str]]:
    """Side by side, so that what else the machine does is the same to both."""
    with ThreadPoolExecutor(len(TREES)) as pool:
        futures = {tree: pool.submit(run_guest, tree, tests, options, OUT / f"{tree}-{turn}")
                   for tree in TREES}
        return {tree: future.result() for tree, future in futures.items()}


def rank(verdicts: dict[str, str], name: str) -> int:
    """A test without a verdict did not live to give one."""
    return RANK[verdicts.get(name, "FAILED!")]


def is_worse(run: dict[str, dict[str, str]], name: str) -> bool:
    return rank(run["series"], name) > rank(run["base"], name)


def is_regression(runs: list[dict[str, dict[str, str]]], name: str) -> bool:
    worst = max(rank(run["base"], name) for run in runs)
    return sum(rank(run["series"], name) > worst for run in runs) * 2 > len(runs)


def words(runs: list[dict[str, dict[str, str]]], kernel: str, name: str) -> str:
    return f"{kernel} " + ", ".join(run[kernel].get(name, "no verdict") for run in runs)


def report(first: dict[str, dict[str, str]], again: list[dict[str, dict[str, str]]]) -> int:
    """TAP."""
    print("TAP version 13")
    # In perf's order, those that only the series has at the end.
    names = list(first["base"] | first["series"])
    passed = failed = 0
    for name in names:
        runs = [first, *(again if is_worse(first, name) else [])]
        text = f"{name}: {words(runs, 'base', name)}; {words(runs, 'series', name)}"
        if min(rank(run[tree], name) for run in runs for tree in TREES) > 0:
            print(f"# Ok on neither: {text}")
            continue
        bad = is_regression(runs, name)
        passed += not bad
        failed += bad
        note = " # flaky" if len(runs) > 1 and not bad else ""
        print(f"{'not ok' if bad else 'ok'} {passed + failed} {text}{note}")
    good = not LOST
    passed += good
    failed += not good
    print(f"{'ok' if good else 'not ok'} {passed + failed} guests: "
          f"{'no splat' if good else 'lost, or with a splat: ' + ', '.join(LOST)}")
    print(f"1..{passed + failed}")
    return 1 if failed or passed < 2 else 0


def say(text: str) -> None:
    print(f"# {text}", flush=True)


def chosen(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[str]:
    known = list_tests("series", options.own)
    if options.all:
        return list(known)
    for name in options.tests:
        if name not in known:
            parser.error(f"{name}: perf has no such test; see perf test list")
    for name in set(SHORT) - set(known):
        say(f"{name}: not run, this version of perf has no such test")
    return [name for name in known if name in (options.tests or SHORT)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev/check perf-test --", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every test")
    parser.add_argument("--limit", type=int, default=120, metavar="S",
                        help="seconds that one test may take (default: 120)")
    parser.add_argument("--own", action="store_true",
                        help="the perf of each tree, as dev/perf builds it, not Debian's")
    parser.add_argument("--in-guest", metavar="TREE", help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("tests", nargs="*", metavar="TEST", help="names, as perf test list has them")
    options = parser.parse_args()
    if options.in_guest:
        return in_guest(options)
    tests = chosen(options, parser)
    shutil.rmtree(OUT, ignore_errors=True)
    first = run_both(tests, options, 0)
    worse = [name for name in first["base"] | first["series"] if is_worse(first, name)]
    repeat = [test for test in tests
              if any(name == test or name.startswith(f"{test}.") for name in worse)]
    again = [run_both(repeat, options, turn) for turn in range(1, RETRIES + 1) if repeat]
    return report(first, again)


if __name__ == "__main__":
    sys.exit(main())
