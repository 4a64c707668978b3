# SPDX-License-Identifier: GPL-2.0
"""Run the tests beside this file, or those named, and print KTAP."""

import sys
import unittest
from pathlib import Path


class Ktap(unittest.TestResult):
    """A line for each test; a test that fails in several subtests and again in its clean-up is one."""

    number = 0
    why = ""

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.why, self.directive = "", ""

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.directive = f" # SKIP {reason}"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.why += "unexpected success\n"

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        found = [text for failed, text in [*self.failures, *self.errors]
                 if getattr(failed, "test_case", failed) is test]
        for line in "".join([self.why, *found]).splitlines():
            print(f"# {line}")
        self.number += 1
        print(f"{'not ok' if found or self.why else 'ok'} {self.number} {test.id()}{self.directive}",
              flush=True)


def main() -> int:
    loader = unittest.TestLoader()
    if len(sys.argv) > 1:
        suite = loader.loadTestsFromNames(sys.argv[1:])
    else:
        suite = loader.discover(str(Path(__file__).parent))
    print(f"KTAP version 1\n1..{suite.countTestCases()}", flush=True)
    result = suite.run(Ktap())
    # Those of modules and classes belong to no test.
    for test, text in result.errors:
        if not isinstance(getattr(test, "test_case", test), unittest.TestCase):
            print(f"Bail out! {test}: {text}")
            return 1
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
