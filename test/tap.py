# SPDX-License-Identifier: GPL-2.0
"""KTAP of tests in Python: of their own cases, or of unittest's.

The plan comes last: without it, a suite that has died fails.
"""

import sys
import unittest


class Tap:
    """Prints results as they come."""

    def __init__(self) -> None:
        self.count = self.failed = 0

    def result(self, good: bool, name: str, *why: str) -> bool:
        """Print a case's line, and before it what is to be said of it."""
        if not self.count:
            print("KTAP version 1")
        for line in "\n".join(why).splitlines():
            print(f"# {line}")
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} {name}", flush=True)
        return good

    def finish(self, number: int | None = None) -> int:
        """Print the plan, of a number of cases if that is known; return the exit status."""
        print(f"1..{self.count if number is None else number}", flush=True)
        return int(self.failed > 0 or self.count == 0)


class Result(unittest.TestResult):
    """A line for each test; one that fails in several subtests, or in its clean-up too, is one."""

    def __init__(self, tap: Tap) -> None:
        super().__init__()
        self.tap = tap

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        why = [text for failed, text in [*self.failures, *self.errors, *self.skipped]
               if getattr(failed, "test_case", failed) is test]
        self.tap.result(not why and test not in self.unexpectedSuccesses,
                        test.id().removeprefix("__main__."), *why)


def main() -> int:
    """Run the unittest cases of the program, or those that its arguments name."""
    names = [f"__main__.{name}" for name in sys.argv[1:]] or ["__main__"]
    tap = Tap()
    result = unittest.defaultTestLoader.loadTestsFromNames(names).run(Result(tap))
    # What belongs to no test: a class or module that could not be set up.
    return tap.finish() or int(not result.wasSuccessful())
