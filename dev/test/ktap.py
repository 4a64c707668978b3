#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of dev/ktap.py: what counts as a failed suite. Prints KTAP."""

import datetime
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "dev"), str(REPO / "test")]
# pylint: disable=wrong-import-position
import ktap  # noqa: E402
import suite  # noqa: E402
import tap  # noqa: E402

NESTED = """KTAP version 1
1..2
    KTAP version 1
    # Subtest: fruit
    1..2
    ok 1 apple
    {} 2 pear
{} 1 fruit
ok 2 nut # SKIP no nuts
"""
TOMORROW = datetime.date.today() + datetime.timedelta(1)
YESTERDAY = datetime.date.today() - datetime.timedelta(1)


@dataclass
class Example:
    """An output, and what the suite has to come to: the verdict's begin, or "ok"."""

    output: str
    verdict: str = "ok"
    # Passed, failed, skipped
    counts: tuple[int, int, int] = (1, 0, 0)
    status: int = 0
    skips: list[dict[str, object]] = field(default_factory=list)
    fails: str = ""


def skip(case: str, until: datetime.date = TOMORROW, why: str = "no hardware") -> list[dict[str, object]]:
    return [{"cases": [case], "until": until, "why": why}]


EXAMPLES = {
    "good": Example("KTAP version 1\n1..1\nok 1 a\n"),
    "other_lines_are_diagnostics": Example("make: done\nTAP version 13\n# a\n1..1\n?\nok 1 a: 7\nbye\n"),
    "plan_at_the_end": Example("TAP version 13\nok 1 a\nok 2 b\n1..2\n", counts=(2, 0, 0)),
    "no_output": Example("", "no TAP", (0, 1, 0)),
    "garbage": Example("all is well\n\0\xff\n1..x\nok\n", "no TAP", (0, 1, 0)),
    "garbage_between": Example("KTAP version 1\n1..2\nok 1 a\nok2 b\nok 2 b\n", counts=(2, 0, 0)),
    "no_version": Example("1..1\nok 1 a\n", "no TAP", (0, 1, 0)),
    "no_plan": Example("KTAP version 1\nok 1 a\n", "no plan", (0, 1, 0)),
    "no_plan_of_a_subtest": Example(
        "KTAP version 1\n1..1\n    KTAP version 1\n    ok 1 a\nok 1 b\n", "no plan", (0, 1, 0)),
    "two_plans": Example("KTAP version 1\n1..1\nok 1 a\n1..1\n", "a plan too many", (0, 1, 0)),
    "zero_tests": Example("KTAP version 1\n1..0\n", "ran no test", (0, 1, 0)),
    "too_few_tests": Example("KTAP version 1\n1..3\nok 1 a\n", "failed", (1, 2, 0)),
    "too_many_tests": Example("KTAP version 1\n1..1\nok 1 a\nok 2 b\n", "bad TAP: more tests", (1, 1, 0)),
    "wrong_number": Example("KTAP version 1\n1..1\nok 2 a\n", "bad TAP: ", (1, 1, 0)),
    "not_ok": Example("KTAP version 1\n1..2\nok 1 a\nnot ok 2 b\n", "failed", (1, 1, 0)),
    "exit_status": Example("KTAP version 1\n1..1\nok 1 a\n", "failed (exit status 1)", (1, 1, 0), 1),
    "dead_guest": Example("KTAP version 1\n1..2\nok 1 a\nvm/run: guest: lost\n",
                          "failed (exit status 125)", (1, 1, 0), 125),
    "dead_guest_after_the_last_test": Example("KTAP version 1\n1..1\nok 1 a\n",
                                              "failed (exit status 125)", (1, 1, 0), 125),
    "nested": Example(NESTED.format("ok", "ok"), counts=(2, 0, 1), skips=skip("nut")),
    "nested_failure": Example(NESTED.format("not ok", "not ok"), "failed", (1, 1, 1), skips=skip("nut")),
    "parent_fails_without_a_child": Example(NESTED.format("ok", "not ok"), "failed", (2, 1, 1),
                                            skips=skip("nut")),
    "subtest_ends_early": Example(NESTED.format("#", "not ok"), "failed", (1, 1, 1), skips=skip("nut")),
    "unlisted_skip": Example(NESTED.format("ok", "ok"), "a skip that", (2, 1, 1)),
    "other_skip": Example(NESTED.format("ok", "ok"), "a skip that", (2, 1, 1), skips=skip("fig")),
    "expired_skip": Example(NESTED.format("ok", "ok"), "a skip that", (2, 1, 1),
                            skips=skip("nut", YESTERDAY)),
    "skip_without_a_reason": Example(NESTED.format("ok", "ok"), "a skip that", (2, 1, 1),
                                     skips=skip("nut", why="")),
    "skipped_program": Example(
        "KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: nut\n    1..0 # SKIP\n"
        "ok 1 nut # SKIP exit status 4\n", counts=(0, 0, 1), skips=skip("nut")),
    "expected_failure": Example(NESTED.format("not ok", "not ok"), counts=(2, 0, 1), skips=skip("nut"),
                                fails="# a list\npear\n"),
    "expected_failure_passes": Example(NESTED.format("ok", "ok"), "failed", (1, 1, 1), skips=skip("nut"),
                                       fails="pear\n"),
    "may_fail": Example(NESTED.format("ok", "ok"), counts=(2, 0, 1), skips=skip("nut"), fails="pear ?\n"),
    "may_fail_and_does": Example(NESTED.format("not ok", "not ok"), counts=(2, 0, 1), skips=skip("nut"),
                                 fails="pear ?\n"),
}


def trouble(example: Example) -> str:
    """What is wrong with the verdict; empty if nothing is."""
    with tempfile.NamedTemporaryFile("w") as fails:
        fails.write(example.fails)
        fails.flush()
        toy = suite.make("toy", {"target": "test", "skips": example.skips, "fails": fails.name if example.fails else ""})
        result = ktap.judge(toy, example.output.splitlines(), example.status, REPO / ".build/linux")
    counts = result.passed, result.failed, result.skipped
    if counts != example.counts:
        return f"passed, failed, skipped: {counts}, not {example.counts}"
    if not result.verdict.startswith(example.verdict):
        return f"verdict {result.verdict!r}, not {example.verdict!r}"
    return ""


def main() -> int:
    results = tap.Tap()
    for name, example in EXAMPLES.items():
        why = trouble(example)
        results.result(not why, name, why)
    return results.finish(len(EXAMPLES))


if __name__ == "__main__":
    sys.exit(main())
