# SPDX-License-Identifier: GPL-2.0
"""Read what a suite printed with the KTAP parser of the kernel tree, and judge it.

The parser wants the plan first, where TAP allows it last as well: such a plan is moved before the
text is parsed. A suite passes when each planned case came to its end and passed, failed as its
table says it must, or was skipped as the table allows.
"""

import functools
import importlib
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import suite

VERSION = re.compile(r"(\s*)K?TAP version \d+$")
SUBTEST = re.compile(r"(\s*)# Subtest: ")
PLAN = re.compile(r"(\s*)1\.\.\d+")
RESULT = re.compile(r"(\s*)(?:not )?ok \d+")
# What a test says that has crashed, or that a sanitizer has ended
CRASH = re.compile(r"unexpectedly by signal|[Ss]egmentation fault|Caught signal|core dumped"
                   r"|[a-z]Sanitizer:|: runtime error: ")
MISSING = "(a planned test is missing)"
LINES_OF_CASE = 6


class Malformed(Exception):
    """The text says why the output is no KTAP."""


@dataclass
class Case:
    """A test without subtests, and the outermost one that it is in."""

    test: str
    name: str
    status: str
    log: list[str]


@dataclass
class Result:
    """What a suite has come to, and the failed cases with what they printed."""

    verdict: str = "ok"
    run: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    shown: list[str] = field(default_factory=list)
    failures: list[Case] = field(default_factory=list)
    # Nothing failed but these cases, and none of them has crashed.
    only_cases: bool = False

    def fail(self, verdict: str) -> None:
        """A suite that fails as a whole counts as one failure at least."""
        if self.verdict == "ok":
            self.verdict = verdict
        self.failed = max(self.failed, 1)


def plan_first(lines: list[str]) -> list[str]:
    """From the version line on, each plan directly below its header."""
    out: list[str] = []
    # By indentation: where a plan belongs that has not come yet.
    due: dict[int, int] = {}
    for line in lines:
        if match := VERSION.match(line) or SUBTEST.match(line):
            out.append(line)
            due[len(match[1])] = len(out)
        elif not out:
            continue
        elif match := PLAN.match(line):
            if len(match[1]) not in due:
                raise Malformed(f"a plan too many: {line.strip()}")
            out.insert(due.pop(len(match[1])), line)
        else:
            out.append(line)
            if match := RESULT.match(line):
                check_inner_plans(due, len(match[1]), line)
    if not out:
        raise Malformed("no TAP")
    check_inner_plans(due, -1, "the end")
    return out


def check_inner_plans(due: dict[int, int], depth: int, line: str) -> None:
    if any(inner > depth for inner in due):
        raise Malformed(f"no plan before {line.strip()!r}")


@functools.cache
def parser_of(tree: Path) -> Any:
    sys.path.insert(0, str(tree / "tools/testing/kunit"))
    return importlib.import_module("kunit_parser")


def parse(lines: list[str], tree: Path) -> tuple[list[Case], list[str]]:
    """The cases, and what the parser calls errors."""
    kunit_parser, said = parser_of(tree), io.StringIO()
    kunit_parser.stdout = type(kunit_parser.stdout)(said)
    stream = kunit_parser.extract_tap_lines(plan_first(lines))
    test = kunit_parser.parse_test(stream, 0, [], False)
    errors = re.findall(r"\[ERROR\] Test: (.*)", said.getvalue())
    if any(RESULT.match(line) for line in stream):
        errors.append("more tests than planned")
    return [case for subtest in test.subtests for case in cases(subtest, subtest.name)], errors


def cases(test: Any, outermost: str) -> Iterator[Case]:
    """The leaves, and who failed though all of its subtests passed. A test that the plan promises
    and that never came has no name."""
    for subtest in test.subtests:
        yield from cases(subtest, outermost)
    if not test.subtests or not test.ok_status() and all(s.ok_status() for s in test.subtests):
        yield Case((outermost or MISSING).split()[0], test.name or MISSING, test.status.name, test.log)


def expected_failures(path: Path) -> dict[str, str]:
    """By name "must", or "may" where the list has a question mark."""
    lines = (line.split() for line in path.read_text().splitlines() if not line.startswith("#"))
    return {name: "may" if rest else "must" for name, *rest in filter(None, lines)}


def judge(which: suite.Suite, lines: list[str], status: int, tree: Path) -> Result:
    """From the output and the exit status."""
    result = Result()
    result.shown = [f"    {line}" for line in lines if line.startswith("vm/run: guest: ")]
    try:
        found, errors = parse(lines, tree)
    except Malformed as error:
        result.fail(f"{error} (exit status {status})")
        return result
    fails = expected_failures(suite.REPO / which.fails) if which.fails else {}
    unlisted = [count(case, result, fails, which.may_skip) for case in found]
    if not found:
        result.fail("ran no test")
    if status or result.failed:
        result.fail(f"failed (exit status {status})" if status else "failed")
    if errors:
        result.fail(f"bad TAP: {errors[0]}")
    for name in filter(None, unlisted):
        result.fail(f"a skip that dev/suites.toml does not allow: {name}")
    result.only_cases = not (status or errors or any(unlisted)
                             or any(case.name == MISSING for case in result.failures)
                             or any(CRASH.search(line) for line in lines))
    return result


def count(case: Case, result: Result, fails: dict[str, str], may_skip: Callable[[str], bool]) -> str:
    """Count the case; its name if it must not be skipped."""
    name = case.name.split()[0]
    result.run += 1
    if case.status == "SKIPPED":
        result.skipped += 1
        return "" if may_skip(name) else name
    failed = case.status != "SUCCESS"
    if fails.get(name) == "may" or failed == (name in fails):
        result.passed += 1
        return ""
    result.failed += 1
    result.failures.append(case)
    log = [line.strip() for line in case.log]
    result.shown += [f"    {line}" for line in log if line.startswith("#")][-LINES_OF_CASE:]
    result.shown.append(f"    not ok {case.name}" if failed else f"    {case.name}: expected to fail")
    return ""
