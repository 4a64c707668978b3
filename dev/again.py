# SPDX-License-Identifier: GPL-2.0
"""Tests of a guest that failed, ran once more, alone, and passed: they are unstable.

dev/unstable records them, and the repository carries it. A run in which more than MOST cases would
be unstable is red, and so is one with a case that the record has from an earlier run: that was its
second chance. Two entries of one case have come from two branches, and are as red.

A guest that was lost to the emulator says nothing about its tests: the whole suite runs again.
"""

import datetime
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from ktap import Case
from suite import REPO, Suite

RECORD = REPO / "dev" / "unstable"
LOGS_KEPT = REPO / ".build" / "unstable"
MOST = 2
# What vm/run says of such a guest, and its exit status
GUEST_LOST = 125
LOST = "vm/run: guest: lost to the emulator: "


@dataclass
class Failed:
    """A test of a suite, and the names of its cases that failed."""

    suite: Suite
    test: str
    names: list[str]


def failed_tests(suite: Suite, cases: list[Case]) -> list[Failed]:
    return [Failed(suite, test, [name_of(suite, case) for case in cases if case.test == test])
            for test in dict.fromkeys(case.test for case in cases)]


def name_of(suite: Suite, case: Case) -> str:
    """SUITE/TEST/CASE, where the case's name does not begin with that of its test."""
    leaf = case.name.split()[0]
    return f"{suite.name}/{leaf if leaf.startswith(case.test) else f'{case.test}/{leaf}'}"


def recorded(record: Path = RECORD) -> list[str]:
    """Raises ValueError for a line that is no "YYYY-MM-DD NAME"."""
    lines = record.read_text().splitlines() if record.exists() else []
    names = []
    for line in lines:
        if line and not line.startswith("#"):
            date, name = line.split()
            datetime.date.fromisoformat(date)
            names.append(name)
    return names


def twice(suites: list[Suite]) -> list[str]:
    """What the record has of these suites more than once."""
    names, running = recorded(), {suite.name for suite in suites}
    return [name for name in dict.fromkeys(names)
            if names.count(name) > 1 and name.split("/")[0] in running]


def refused(names: list[str]) -> str:
    """Why these cases do not run again; empty if they may."""
    if len(names) > MOST:
        return f"{len(names)} failed cases are too many to be unstable, and do not run again"
    known = set(recorded())
    if old := [name for name in names if name in known]:
        return f"dev/unstable has {' and '.join(old)} already: that is no accident, and does not run again"
    return ""


def keep(failed: Failed, log: Path) -> Path:
    """Record the cases, and keep the suite's log and the other one; returns their directory."""
    with RECORD.open("a") as record:
        record.writelines(f"{datetime.date.today()} {name}\n" for name in failed.names)
    directory = keep_log(failed.suite, failed.test)
    shutil.copy(log, directory / "alone.log")
    return directory


def keep_log(suite: Suite, what: str) -> Path:
    """Keep the log of @suite; returns its directory."""
    directory = LOGS_KEPT / f"{time.strftime('%Y%m%d-%H%M%S')}-{suite.name}-{what}"
    directory.mkdir(parents=True)
    shutil.copy(suite.log, directory / "first.log")
    return directory


def is_lost(suite: Suite, status: int) -> bool:
    """Whether the emulator lost a guest of @suite, which ended with @status. Some suites on the
    host run guests of their own.
    """
    if status <= 0 or (suite.guest and status != GUEST_LOST):
        return False
    lines = suite.log.read_text(errors="replace").splitlines()
    return any(line.startswith(LOST) for line in lines)
