# SPDX-License-Identifier: GPL-2.0
"""Run `perf test` on the base and on the series, and compare verdict by verdict.

usage: dev/check perf-test -- [LIMIT=SECONDS] [--own] [--all | TEST...]

  dev/check perf-test                the tests that record, unwind, or load BPF programs
  dev/check perf-test -- --own       not Debian's perf, but that of the base and of the series
  dev/check perf-test -- 'perf record tests' 'Test dwarf unwind'

A test passes if its verdict on the series is no worse than on the base: Ok, then Skip, then
FAILED, which one has that dies or outlasts LIMIT (120). Where the series does worse, the test
runs twice more on both kernels. It fails if most of its runs on the series do worse than the
worst one on the base. Tests that are Ok on neither kernel are listed and not counted.

Outputs: .build/test/perf-test, a log for each test and kernel; TAP on stdout.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

OUT = REPO / ".build" / "test" / "perf-test"
KERNELS = ("base", "series")
LIMIT = int(os.environ.get("LIMIT", "120"))
RETRIES = 2
GUEST_SECONDS = 600
LISTED = re.compile(r"^ *(\d+): (.+)$", re.MULTILINE)
VERDICT = re.compile(r"^ *\d+((?:\.\d+)?): (.*?) *: (Ok|Skip|FAILED!)", re.MULTILINE)
RANK = {"Ok": 0, "Skip": 1, "FAILED!": 2}
# Whatever samples, unwinds, reads callchains or loads BPF programs
CHOSEN = """\
Detect openat syscall event
Detect openat syscall event on all cpus
PERF_RECORD_* events & perf_sample fields
syscalls:sys_enter_openat event fields
Breakpoint overflow signal handler
Breakpoint overflow sampling
Breakpoint accounting
Watchpoint
Software clock events period values
Object code reading
Sample parsing
Use a dummy software event to keep tracking
Parse with no sample_id_all bit set
Lookup mmap thread
Event times
Read backward ring buffer
Sigtrap
Event groups
Test dwarf unwind
x86 bp modify
Perf attribute expectations test
perf header tests
perf inject to convert DWARF callchains to regular ones
perf record tests
perf record deferred callchain tests
perf record sample filtering (by BPF) tests
perf record sideband tests
perf report --hierarchy
perf sched tests
perf script tests
BPF metadata collection test
perf record offcpu profiling tests
Test libdw unwinding of multi-threaded processes""".splitlines()

Verdicts = dict[str, str]
Run = dict[str, Verdicts]


@contextlib.contextmanager
def perf_of(kernel: str, own: bool):
    """What starts perf: it lists the shell tests of a source tree that it stands in."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, HOME="/tmp")
        if own:
            source = REPO / ".build" / ("linux-base" if kernel == "base" else "linux") / "tools/perf"
            (Path(folder) / "tests").symlink_to(source / "tests")
            # Its shell tests call it by name.
            environment |= {"PERF_EXEC_PATH": str(source),
                            "PATH": f"{REPO / '.build/perf' / kernel}:{os.environ['PATH']}"}
        yield {"cwd": folder, "env": environment, "text": True, "errors": "replace",
               "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


def list_tests(kernel: str, own: bool) -> dict[str, int]:
    """The numbers of all tests; a kernel's own perf has its own numbers."""
    with perf_of(kernel, own) as how:
        text = subprocess.run(["perf", "test", "list"], check=True, **how).stdout
    return {name.strip(): int(number) for number, name in LISTED.findall(text)}


def in_guest(kernel: str, own: bool, into: Path, numbers: list[str]) -> int:
    for number in numbers:
        with perf_of(kernel, own) as how, (into / f"{number}.log").open("w+") as log, subprocess.Popen(
                ["perf", "test", "-v", number], **how | {"stdout": log}, start_new_session=True) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LIMIT)
            # Its workloads may be left over in any case.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            log.seek(0)
            verdicts = {f"{part} {name.strip()}" if part else "": verdict
                        for part, name, verdict in VERDICT.findall(log.read())}
        with (into / "verdicts").open("a") as file:
            file.write(json.dumps([int(number), verdicts]) + "\n")
    return 0


def run_guest(kernel: str, tests: list[str], own: bool, into: Path, lost: list[str]) -> Verdicts:
    """A guest that is lost takes the verdicts that it owes with it."""
    into.mkdir(parents=True)
    names = {number: name for name, number in list_tests(kernel, own).items() if name in tests}
    command = [REPO / "vm/run", "--kernel", kernel, "--timeout", str(GUEST_SECONDS + LIMIT * len(names)),
               "--", "env", f"LIMIT={LIMIT}", "python3", "-B", __file__, "--in-guest", kernel, str(int(own)),
               str(into), *map(str, names)]
    if subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode:
        lost.append(kernel)
    verdicts: Verdicts = {}
    with contextlib.suppress(FileNotFoundError):
        for number, found in map(json.loads, (into / "verdicts").read_text().splitlines()):
            verdicts |= {names[number] + part: word for part, word in found.items()}
    return verdicts


def run_both(tests: list[str], own: bool, turn: int, lost: list[str]) -> Run:
    """Side by side, so that what else the machine does is the same to both."""
    with ThreadPoolExecutor(len(KERNELS)) as pool:
        futures = {kernel: pool.submit(run_guest, kernel, tests, own, OUT / f"{kernel}-{turn}", lost)
                   for kernel in KERNELS}
        return {kernel: future.result() for kernel, future in futures.items()}


def rank(run: Run, kernel: str, name: str) -> int:
    """A test without a verdict did not live to give one."""
    return RANK[run[kernel].get(name, "FAILED!")]


def is_worse(run: Run, name: str) -> bool:
    return rank(run, "series", name) > rank(run, "base", name)


def is_regression(runs: list[Run], name: str) -> bool:
    worst = max(rank(run, "base", name) for run in runs)
    return sum(rank(run, "series", name) > worst for run in runs) * 2 > len(runs)


def report(first: Run, again: list[Run], lost: list[str]) -> int:
    """A case for each test, in perf's order, those that only the series has at the end."""
    results = tap.Tap()
    for name in first["base"] | first["series"]:
        runs = [first, *(again if is_worse(first, name) else [])]
        text = f"{name}: " + "; ".join(
            f"{kernel} " + ", ".join(run[kernel].get(name, "no verdict") for run in runs) for kernel in KERNELS)
        if min(rank(run, kernel, name) for run in runs for kernel in KERNELS) > 0:
            print(f"# Ok on neither: {text}")
        else:
            results.result(not is_regression(runs, name), text)
    results.result(not lost, f"guests: {'lost, or with a splat: ' + ', '.join(lost) if lost else 'no splat'}")
    # A run without tests has passed none.
    return results.finish() or int(results.count < 2)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--in-guest"]:
        return in_guest(arguments[1], arguments[2] == "1", Path(arguments[3]), arguments[4:])
    own = "--own" in arguments
    known = list_tests("series", own)
    asked = [word for word in arguments if word not in ("--own", "--all")]
    if unknown := [name for name in asked if name not in known]:
        print(f"{unknown[0]}: perf has no such test; see perf test list\n{__doc__}", file=sys.stderr)
        return 2
    wanted = list(known) if "--all" in arguments else asked or CHOSEN
    tests = [name for name in known if name in wanted]
    for name in set(wanted) - set(known):
        print(f"# {name}: not run, this version of perf has no such test")
    shutil.rmtree(OUT, ignore_errors=True)
    lost: list[str] = []
    first = run_both(tests, own, 0, lost)
    worse = [name for name in first["base"] | first["series"] if is_worse(first, name)]
    repeat = [test for test in tests if any(name == test or name.startswith(f"{test}.") for name in worse)]
    again = [run_both(repeat, own, turn, lost) for turn in range(1, RETRIES + 1) if repeat]
    return report(first, again, lost)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
