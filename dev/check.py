# SPDX-License-Identifier: GPL-2.0
"""usage: dev/check [--lanes N] [--quick | --all] [SUITE[.VARIANT]...] [-- [NAME=VALUE...] [ARG...]]

Run test suites of dev/suites.toml, and print a line for each: those of the targets `quick` and
`test`, or those named.

  --lanes N    how many suites run at a time (default: 2, or 1 on a single CPU)
  --quick      only those of the target `quick`: three minutes, once the kernels are built
  --all        those of the target `all` too: an hour and more, with three kernels
  --list       print the suites with target, kernels and arguments. A second line of a suite has
               the arguments that it gets besides with --all, or when it is named

Words after `--` apply to a single suite: NAME=VALUE sets its environment, the rest replace its
arguments. Most suites take names of tests.

The kernels that the suites need are built meanwhile, one after the other; a build
takes a lane. A suite starts as soon as a lane is free and its kernels are there,
in the order of the table. Variants of a suite share what it builds, and do not run at the
same time; suites marked `alone` come last, with nothing beside them.

Each suite's whole output goes to .build/log/suite-NAME.log. That of a single suite is shown
on standard error as well, and of others the last lines when they fail. A suite fails when
its command or its guest does, when its output is not KTAP with a plan, when a planned test
is missing, when it ran no test, and when it skips a test that the table does not allow.

A test that fails in a guest runs once more when all others are done, alone in a fresh guest, if
its suite can select it and nothing else went wrong. If it passes, it is called unstable and
does not fail the run. Three such cases do, and one that dev/unstable has already; those that are
called unstable are added there, and both logs are kept in .build/unstable. What crashes, makes
the kernel complain or takes too long, host suites and KUnit do not run again, and neither does
anything after `--`. But a suite of which a guest was lost to the emulator, as vm/run proves from
the kernel log or from outside, runs once more, and its first run does not count.

Output: a table on standard output, with seconds of real time and of CPU time; the
failed suites with the cases that they call "not ok" and what these printed before
that, and why a guest ended; and "N passed, N failed, N skipped". Exit status: 0 all
passed, 1 a suite failed, 2 usage, 130 interrupted.

  dev/check unwind kunit
  dev/check unwind.debug -- UNWIND_SECONDS=3600 stress
  dev/check --lanes 1
"""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import again
import ktap
from ktap import Result
from suite import LOGS, REPO, Suite, load

HERE = Path(__file__).resolve().parent
LINES_SHOWN = 25
LANES = 2
# Guests feel a compiler less than another guest.
BUILD_NICENESS = 10
SECONDS_TO_END = 10
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

USAGE_ERROR, INTERRUPTED = 2, 128 + signal.SIGINT
COLUMNS = "{:<17} {:>6} {:>6} {:>6} {:>7} {:>7} {:>6}  {}"


class Usage(Exception):
    """The text says what is wrong."""


class Interrupt(Exception):
    """A signal asks us to end."""


@dataclass
class Job:
    """A child that runs: a suite or one of its tests, or the build of a kernel."""

    name: str
    process: subprocess.Popen[bytes]
    suite: Suite | None = None
    log: Path = Path(os.devnull)
    start: float = field(default_factory=time.monotonic)


class Check:
    """Which suites wait and which run, and how the others ended."""

    def __init__(self, suites: list[Suite], lanes: int, words: list[str], shows: bool):
        self.lanes = lanes
        self.words = words
        self.shows = shows
        self.waiting = [s for s in suites if not s.alone] + [s for s in suites if s.alone]
        self.to_build = list(dict.fromkeys(name for s in suites for name in s.kernels))
        self.built: set[str] = set()
        self.running: dict[int, Job] = {}
        self.totals = Result()
        # By suite
        self.failures: dict[str, list[str]] = {}
        self.to_repeat: list[again.Failed] = []
        # Suites whose guest was lost to the emulator
        self.lost: set[str] = set()

    def run(self) -> None:
        while self.waiting or self.running:
            self.start_what_can_run()
            self.ended(*self.wait())
        if why := again.refused([name for failed in self.to_repeat for name in failed.names]):
            self.failures["not again"] = [why]
            return
        for failed in list(self.to_repeat):
            self.run_again(failed)

    def wait(self) -> tuple[Job, float]:
        """The next job that ends, and its CPU time."""
        pid, status, usage = os.wait4(-1, 0)
        job = self.running.pop(pid)
        job.process.returncode = os.waitstatus_to_exitcode(status)
        return job, usage.ru_utime + usage.ru_stime

    def start_what_can_run(self) -> None:
        if self.to_build and not self.is_building() and not self.has_alone():
            kernel = self.to_build.pop(0)
            self.start(kernel, ["nice", "-n", str(BUILD_NICENESS), str(HERE / "kernel"), kernel])
        while suite := self.next_suite():
            self.waiting.remove(suite)
            self.start(suite.name, suite.command(self.words), suite, suite.log)

    def next_suite(self) -> Suite | None:
        if len(self.running) >= self.lanes or self.has_alone():
            return None
        programs = {job.suite.program for job in self.running.values() if job.suite}
        for suite in self.waiting:
            if suite.alone and (self.running or self.to_build):
                continue
            if suite.program in programs:
                continue
            if self.built.issuperset(suite.kernels):
                return suite
        return None

    def is_building(self) -> bool:
        return any(job.suite is None for job in self.running.values())

    def has_alone(self) -> bool:
        return any(job.suite and job.suite.alone for job in self.running.values())

    def start(self, name: str, command: list[str], suite: Suite | None = None,
              log: Path = Path(os.devnull)) -> None:
        """Its own session, so that signals reach it and all its children from us."""
        output = log.open("wb") if suite else sys.stderr
        if suite and self.shows:
            command = ["bash", "-o", "pipefail", "-c", '"$@" 2>&1 | tee "$0" >&2', str(log), *command]
        process = subprocess.Popen(command, cwd=REPO, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=None if self.shows else subprocess.STDOUT,
                                   start_new_session=True)
        if suite:
            output.close()
        self.running[process.pid] = Job(name, process, suite, log)

    def ended(self, job: Job, cpu: float) -> None:
        if job.suite:
            result = self.judge(job, job.suite, cpu)
            if not self.words and self.is_lost(job.suite, job.process.returncode):
                self.waiting.insert(0, job.suite)
                return
            self.count(job.suite, result)
            if job.suite.runs_again and result.only_cases and not self.words:
                self.to_repeat += again.failed_tests(job.suite, result.failures)
            return
        if job.process.returncode == 0:
            self.built.add(job.name)
            return
        for suite in [s for s in self.waiting if job.name in s.kernels]:
            self.waiting.remove(suite)
            result = Result("no kernel", failed=1)
            print_row(suite.name, result, 0, 0)
            self.count(suite, result)

    def is_lost(self, suite: Suite, status: int) -> bool:
        """Whether the emulator lost a guest of @suite, for the first time in this run."""
        if suite.name in self.lost or not again.is_lost(suite, status):
            return False
        self.lost.add(suite.name)
        print(f"lost to the emulator: {suite.name}; it runs once more, and its log is kept in "
              f"{again.keep_log(suite, 'lost').relative_to(REPO)}", flush=True)
        return True

    def judge(self, job: Job, suite: Suite, cpu: float) -> Result:
        """What a suite or one of its tests has come to, printed."""
        # As a shell has it, for a command that a signal has ended.
        status = job.process.returncode
        status = status if status >= 0 else 128 - status
        lines = job.log.read_text(errors="replace").splitlines()
        result = ktap.judge(suite, lines, status, REPO / ".build" / "linux")
        print_row(job.name, result, time.monotonic() - job.start, cpu)
        if result.verdict != "ok" and not self.shows:
            print(f"--- end of {job.log.relative_to(REPO)}:", *lines[-LINES_SHOWN:], "---",
                  sep="\n", flush=True)
        return result

    def count(self, suite: Suite, result: Result) -> None:
        for count in ("passed", "failed", "skipped"):
            setattr(self.totals, count, getattr(self.totals, count) + getattr(result, count))
        if result.verdict != "ok":
            self.failures[suite.name] = [f"{suite.name}: {result.verdict}", *result.shown[:LINES_SHOWN]]

    def run_again(self, failed: again.Failed) -> None:
        """Alone in a fresh guest. If it passes, its failed cases are unstable, and have passed."""
        log = LOGS / f"again-{failed.suite.name}-{failed.test}.log"
        self.start(f"{failed.suite.name}/{failed.test}", failed.suite.command([failed.test]),
                   failed.suite, log)
        job, cpu = self.wait()
        if self.judge(job, failed.suite, cpu).verdict != "ok":
            return
        kept = again.keep(failed, log).relative_to(REPO)
        for name in failed.names:
            print(f"unstable {name}: it failed, and passed alone; logs in {kept}", flush=True)
        self.totals.failed -= len(failed.names)
        self.totals.passed += len(failed.names)
        self.to_repeat.remove(failed)
        if all(other.suite is not failed.suite for other in self.to_repeat):
            del self.failures[failed.suite.name]

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


def print_row(name: str, result: Result, seconds: float, cpu: float) -> None:
    print(COLUMNS.format(name, result.run, result.passed, result.failed, result.skipped,
                         round(seconds), round(cpu), result.verdict), flush=True)


def interrupt(_number: int, _frame: object) -> None:
    raise Interrupt


@dataclass
class Options:
    """What the command line asks for."""

    lanes: int = LANES if (os.cpu_count() or 1) > 1 else 1
    target: str = "test"
    names: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def options(args: list[str], known: list[str]) -> Options:
    chosen = Options()
    while args:
        match args:
            case ["--lanes", number, *args] if re.fullmatch("[1-9]", number):
                chosen.lanes = int(number)
            case ["--quick" | "--all" as target, *args] if chosen.target == "test":
                chosen.target = target[2:]
            case ["--", *words] if len(chosen.names) == 1:
                chosen.words, args = words, []
            case [name, *args] if not name.startswith("-"):
                chosen.names.append(name)
            case _:
                raise Usage((__doc__ or "").split("\n\n")[0])
    for name in chosen.names:
        if name not in known:
            raise Usage(f"check: {name}: no such suite; dev/check --list names them")
    return chosen


def chosen_of(suites: list[Suite], asked: Options) -> list[Suite]:
    if asked.names:
        return [suite.whole() for suite in suites if suite.name in asked.names]
    chosen = [suite for suite in suites if suite.is_in(asked.target)]
    return [suite.whole() for suite in chosen] if asked.target == "all" else chosen


def print_list(suites: list[Suite]) -> None:
    for suite in suites:
        kernels = ",".join(suite.kernels) or "-"
        print(f"{suite.name:<20} {suite.target:<6} {kernels:<12} {' '.join(suite.args.split())}".rstrip())
        if suite.more:
            target = "all" if suite.is_in("all") else suite.target
            print(f"{suite.name:<20} {target:<6} {kernels:<12} {' '.join(suite.more.split())}")


def main() -> int:
    if {"-h", "--help"} & set(sys.argv[1:2]):
        print(__doc__.rstrip())
        return 0
    suites = load()
    if sys.argv[1:] == ["--list"]:
        print_list(suites)
        return 0
    try:
        asked = options(sys.argv[1:], [suite.name for suite in suites])
    except Usage as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR

    LOGS.mkdir(parents=True, exist_ok=True)
    if subprocess.run([sys.executable, "-B", HERE / "tree.py"], stdout=sys.stderr, check=False).returncode:
        return 1
    for number in SIGNALS:
        signal.signal(number, interrupt)
    print(COLUMNS.format("suite", "run", "passed", "failed", "skipped", "seconds", "cpu", "result"),
          flush=True)
    chosen = chosen_of(suites, asked)
    check = Check(chosen, asked.lanes, asked.words, len(asked.names) == 1)
    if not asked.words and (names := again.twice(chosen)):
        check.failures["twice"] = [f"dev/unstable has {name} twice" for name in names]
        check.totals.failed += len(names)
    try:
        check.run()
    except Interrupt:
        check.end_all()
        print("check: interrupted", file=sys.stderr)
        return INTERRUPTED
    for lines in check.failures.values():
        print(*lines, sep="\n")
    totals = check.totals
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
