# SPDX-License-Identifier: GPL-2.0
"""Run the tests beside this file and close with the line that the runner reads."""

import sys
import unittest
from pathlib import Path


def main() -> int:
    """Run all tests, or those named; an empty suite is a failure."""
    loader = unittest.TestLoader()
    if len(sys.argv) > 1:
        suite = loader.loadTestsFromNames(sys.argv[1:])
    else:
        suite = loader.discover(str(Path(__file__).parent))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    # A test can fail in several subtests and again in its clean-up: count it once.
    failed = len({str(getattr(test, "test_case", test))
                  for test, _ in [*result.failures, *result.errors]}
                 | {str(test) for test in result.unexpectedSuccesses})
    skipped = len(result.skipped)
    run = max(result.testsRun, failed + skipped)
    print(f"suite demo-report: run {run} passed {run - failed - skipped} "
          f"failed {failed} skipped {skipped}")
    return 0 if run and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
