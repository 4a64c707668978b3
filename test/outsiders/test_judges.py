# SPDX-License-Identifier: GPL-2.0
"""Tests of stress.py and perf_test.py: what fails. Prints KTAP."""

import contextlib
import io
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
# pylint: disable=wrong-import-position
import tap  # noqa: E402
import perf_test  # noqa: E402
import stress  # noqa: E402

STRESS = "stress-ng: info: [7] skipped: 0\nstress-ng: info: [7] passed: {}: fork (1)\nstress-ng: info: [7] failed: 0\n"
GOOD_STRESS = STRESS.format(len(stress.STRESSORS))
CHAINS = "\t 1\n\t 2\n\n\t 3\n"
BCC = "    fork\n    main\n    - xz (7)\n        3\n"
MAPS = "".join(f"\n@{name}[\n    main+4\n]: 9\n" for name in ("cpu", "switch", "exit"))


class Stress(unittest.TestCase):
    """Each judge with what a good guest leaves, and with what it may leave else."""

    def check(self, judge, good: list, bad: list) -> None:
        for arguments in good:
            self.assertTrue(judge(*arguments)[1], arguments)
        for arguments in bad:
            self.assertFalse(judge(*arguments)[1], arguments)

    def test_perf(self) -> None:
        self.check(stress.judge_perf,
                   [("SAMPLE events: 12", CHAINS, False),
                    ("SAMPLE events: 12\nCALLCHAIN_DEFERRED events: 5", CHAINS, True)],
                   [("MMAP events: 3", "", False), ("SAMPLE events: 12", "\t 1\n", False),
                    ("SAMPLE events: 12", CHAINS, True)])

    def test_bcc(self) -> None:
        self.check(stress.judge_bcc, [(BCC,)],
                   [("Sampling at 49 Hertz",), (BCC + "Traceback (most recent call last):",)])

    def test_bpftrace(self) -> None:
        self.check(stress.judge_bpftrace, [(MAPS,)], [(MAPS.replace("@exit", "@other"),), ("",)])

    def test_stress_ng(self) -> None:
        self.check(stress.judge_stress, [(GOOD_STRESS,)],
                   [("",), (STRESS.format(1),), (GOOD_STRESS.replace("failed: 0", "failed: 1: exec (1)"),),
                    (GOOD_STRESS.replace("skipped: 0", "skipped: 1: exec (1)"),)])

    def test_trinity(self) -> None:
        self.check(stress.judge_trinity, [("Ran 100 syscalls. Successes: 60  Failures: 40",)],
                   [("No more syscalls enabled. Exiting",), ("Ran 9 syscalls. Successes: 0  Failures: 9",)])

    def test_a_sampler_that_ended_early(self) -> None:
        sampler = stress.Sampler("toy", ["true"], lambda path: ("fine", True))
        stress.WORK = Path("/tmp")
        sampler.start()
        sampler.process.wait()
        self.assertEqual(sampler.result(), ("ended early, status 0 fine", False))


class PerfTest(unittest.TestCase):
    """The test "two" has these verdicts on the series, in three runs, and is Ok on the base."""

    def report(self, *series: str, lost: list[str] | None = None) -> int:
        runs = [{"base": {"one": "Ok", "two": "Ok"}, "series": {"one": "Ok"} | ({"two": word} if word else {})}
                for word in series]
        with contextlib.redirect_stdout(io.StringIO()):
            return perf_test.report(runs[0], runs[1:], lost or [])

    def test_verdicts(self) -> None:
        for good in (["Ok"], ["FAILED!", "Ok", "Ok"]):
            self.assertEqual(self.report(*good), 0, good)
        for bad in (["FAILED!"] * 3, ["Skip"] * 3, [""] * 3, ["", "Skip", "Ok"]):
            self.assertEqual(self.report(*bad), 1, bad)

    def test_a_lost_guest(self) -> None:
        self.assertEqual(self.report("Ok", lost=["series"]), 1)

    def test_no_test(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(perf_test.report({"base": {}, "series": {}}, [], []), 1)


if __name__ == "__main__":
    sys.exit(tap.main())
