# SPDX-License-Identifier: GPL-2.0
"""usage: dev/check [--lanes N] [SUITE...]

Run the test suites of dev/suites, or those named, and print a line for each. Without
names, those marked `named` do not run.

  --lanes N    how many suites run at a time (default: 2, or 1 on a single CPU)
  --list       print the suites and their commands

The kernels that the suites need are built meanwhile, one after the other; a build
takes a lane. A suite starts as soon as a lane is free and its kernels are there,
in the order of dev/suites. Suites of the same program share what it builds, and do
not run at the same time; those marked `alone` come last, with nothing beside them.

Each suite's whole output goes to .build/log/suite-NAME.log, and its last lines are
shown when it fails. A suite fails when its command does, when it ran no test, when
it says nothing that can be counted, or when it skips a test that dev/skips does not
allow.

Output: a table on standard output, with seconds of real time and of CPU time; the
failed suites with the cases that they call "not ok" and what these printed before
that, and why a guest ended; and "N passed, N failed, N skipped". Exit status: 0 all
passed, 1 a suite failed, 2 usage, 130 interrupted.

  dev/check unwind kunit
  dev/check --lanes 1
"""

import datetime
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
LOGS = REPO / ".build" / "log"
LINES_SHOWN = 25
LINES_OF_CASE = 6
LANES = 2
# Guests feel a compiler less than another guest.
BUILD_NICENESS = 10
SECONDS_TO_END = 10
# Words before a suite's command: nothing runs beside it; it runs only when it is named.
MARKS = ("alone", "named")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

USAGE_ERROR, INTERRUPTED = 2, 128 + signal.SIGINT
COLUMNS = "{:<16} {:>6} {:>6} {:>6} {:>7} {:>7} {:>6}  {}"


class Usage(Exception):
    """The text says what is wrong."""


class Interrupt(Exception):
    """A signal asks us to end."""


@dataclass(frozen=True)
class Suite:
    """A line of dev/suites."""

    name: str
    kernels: tuple[str, ...]
    marks: frozenset[str]
    command: tuple[str, ...]

    @classmethod
    def parse(cls, line: str) -> "Suite":
        name, kernels, *command = line.split()
        marks = []
        while command[0] in MARKS:
            marks.append(command.pop(0))
        return cls(name, () if kernels == "-" else tuple(kernels.split(",")), frozenset(marks),
                   tuple(command))

    @property
    def alone(self) -> bool:
        return "alone" in self.marks

    @property
    def log(self) -> Path:
        return LOGS / f"suite-{self.name}.log"


@dataclass
class Result:
    """What a suite has come to."""

    verdict: str = "ok"
    run: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass
class Job:
    """A child that runs: a suite, or the build of a kernel."""

    name: str
    process: subprocess.Popen[bytes]
    suite: Suite | None = None
    start: float = field(default_factory=time.monotonic)


def lines_of(path: Path) -> list[str]:
    """The lines that are neither blank nor comments."""
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def allowed_skips(name: str) -> int:
    """How many skips dev/skips allows the suite today: suite, number, until when, why."""
    today = datetime.date.today().isoformat()
    for line in lines_of(HERE / "skips"):
        suite, number, until, *why = line.split()
        if suite == name and until >= today and why:
            return int(number)
    return 0


def judge(suite: Suite, status: int) -> Result:
    """From the log and the exit status."""
    pattern = rf"^suite {re.escape(suite.name)}: run (\d+) passed (\d+) failed (\d+) skipped (\d+)$"
    counts = re.findall(pattern, suite.log.read_text(errors="replace"), re.MULTILINE)
    if not counts:
        return Result(f"no result (exit status {status})", failed=1)
    result = Result("ok", *map(int, counts[-1]))
    if result.run == 0:
        result.verdict = "ran no test"
    elif status or result.failed:
        result.verdict = f"failed (exit status {status})"
    elif result.skipped > allowed_skips(suite.name):
        result.verdict = "skips that dev/skips does not allow"
    if result.verdict != "ok":
        # A suite that fails as a whole counts as one failure at least.
        result.failed = max(result.failed, 1)
    return result


class Check:
    """Which suites wait and which run, and how the others ended."""

    def __init__(self, suites: list[Suite], lanes: int):
        self.lanes = lanes
        self.waiting = [s for s in suites if not s.alone] + [s for s in suites if s.alone]
        self.to_build = list(dict.fromkeys(name for s in suites for name in s.kernels))
        self.built: set[str] = set()
        self.running: dict[int, Job] = {}
        self.totals = Result()
        self.failures: list[str] = []

    def run(self) -> None:
        while self.waiting or self.running:
            self.start_what_can_run()
            pid, status, usage = os.wait4(-1, 0)
            job = self.running.pop(pid)
            job.process.returncode = os.waitstatus_to_exitcode(status)
            cpu = usage.ru_utime + usage.ru_stime
            self.ended(job, job.process.returncode, cpu)

    def start_what_can_run(self) -> None:
        if self.to_build and not self.is_building() and not self.has_alone():
            kernel = self.to_build.pop(0)
            self.start(kernel, ["nice", "-n", str(BUILD_NICENESS), str(HERE / "kernel"), kernel], None)
        while suite := self.next_suite():
            self.waiting.remove(suite)
            self.start(suite.name, list(suite.command), suite)

    def next_suite(self) -> Suite | None:
        if len(self.running) >= self.lanes or self.has_alone():
            return None
        programs = {job.suite.command[0] for job in self.running.values() if job.suite}
        for suite in self.waiting:
            if suite.alone and (self.running or self.to_build):
                continue
            if suite.command[0] in programs:
                continue
            if self.built.issuperset(suite.kernels):
                return suite
        return None

    def is_building(self) -> bool:
        return any(job.suite is None for job in self.running.values())

    def has_alone(self) -> bool:
        return any(job.suite and job.suite.alone for job in self.running.values())

    def start(self, name: str, command: list[str], suite: Suite | None) -> None:
        """Its own session, so that signals reach it and all its children from us."""
        output = open(suite.log, "wb") if suite else sys.stderr
        process = subprocess.Popen(command, cwd=REPO, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        if suite:
            output.close()
        self.running[process.pid] = Job(name, process, suite)

    def ended(self, job: Job, status: int, cpu: float) -> None:
        seconds = time.monotonic() - job.start
        if job.suite:
            # As a shell has it, for a command that a signal has ended.
            self.report(job.suite, judge(job.suite, status if status >= 0 else 128 - status), seconds, cpu)
            return
        if status == 0:
            self.built.add(job.name)
            return
        for suite in [s for s in self.waiting if job.name in s.kernels]:
            self.waiting.remove(suite)
            self.report(suite, Result("no kernel", failed=1), 0, 0)

    def report(self, suite: Suite, result: Result, seconds: float, cpu: float) -> None:
        print(COLUMNS.format(suite.name, result.run, result.passed, result.failed, result.skipped,
                             round(seconds), round(cpu), result.verdict), flush=True)
        for count in ("passed", "failed", "skipped"):
            setattr(self.totals, count, getattr(self.totals, count) + getattr(result, count))
        if result.verdict == "ok":
            return
        self.failures.append(f"{suite.name}: {result.verdict}")
        if result.verdict == "no kernel":
            return
        lines = suite.log.read_text(errors="replace").splitlines()
        print(f"--- end of {suite.log.relative_to(REPO)}:", *lines[-LINES_SHOWN:], "---",
              sep="\n", flush=True)
        self.failures += failed_cases(lines)[:LINES_SHOWN]

    def end_all(self) -> None:
        """End what runs: by request, then by force."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        deadline = time.monotonic() + SECONDS_TO_END
        for number in (signal.SIGTERM, signal.SIGKILL):
            for job in self.running.values():
                try:
                    os.killpg(job.process.pid, number)
                except ProcessLookupError:
                    pass
            while self.running and (number == signal.SIGKILL or time.monotonic() < deadline):
                pid, _ = os.waitpid(-1, 0 if number == signal.SIGKILL else os.WNOHANG)
                self.running.pop(pid, None)
                if not pid:
                    time.sleep(0.05)


def failed_cases(lines: list[str]) -> list[str]:
    """The lines "not ok" of TAP, each behind the last ones that its case printed; what
    test_progs found wrong, which is no TAP, and why a guest ended."""
    shown: list[str] = []
    printed: list[str] = []
    for line in lines:
        # test_progs says it once more at its end.
        if re.search("^vm/run: guest: |:FAIL:", line) and f"    {line}" not in shown:
            shown.append(f"    {line}")
        result = re.match(r"[# ]*(not )?ok ", line)
        if not result:
            printed.append(line)
            continue
        if result[1]:
            shown += [f"    {text}" for text in printed[-LINES_OF_CASE:] if text.startswith("#")]
            shown.append(re.sub(r"^[# ]*", "    ", line))
        printed = []
    return shown


def interrupt(_number: int, _frame: object) -> None:
    raise Interrupt


def arguments(suites: list[Suite]) -> tuple[list[Suite], int]:
    """The chosen suites, and the number of lanes."""
    args, names = sys.argv[1:], []
    lanes = LANES if (os.cpu_count() or 1) > 1 else 1
    while args:
        match args:
            case ["--lanes", number, *args] if re.fullmatch("[1-9]", number):
                lanes = int(number)
            case [name, *args] if not name.startswith("-"):
                names.append(name)
            case _:
                raise Usage((__doc__ or "").split("\n\n")[0])
    known = [suite.name for suite in suites]
    for name in names:
        if name not in known:
            raise Usage(f"check: {name}: no such suite; dev/check --list names them")
    return [suite for suite in suites
            if suite.name in names or not names and "named" not in suite.marks], lanes


def main() -> int:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.rstrip())
        return 0
    if sys.argv[1:] == ["--list"]:
        print("\n".join(lines_of(HERE / "suites")))
        return 0
    try:
        chosen, lanes = arguments([Suite.parse(line) for line in lines_of(HERE / "suites")])
    except Usage as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR

    LOGS.mkdir(parents=True, exist_ok=True)
    if subprocess.run([HERE / "tree"], stdout=sys.stderr, check=False).returncode:
        return 1
    for number in SIGNALS:
        signal.signal(number, interrupt)
    print(COLUMNS.format("suite", "run", "passed", "failed", "skipped", "seconds", "cpu", "result"),
          flush=True)
    check = Check(chosen, lanes)
    try:
        check.run()
    except Interrupt:
        check.end_all()
        print("check: interrupted", file=sys.stderr)
        return INTERRUPTED
    for line in check.failures:
        print(line)
    totals = check.totals
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
