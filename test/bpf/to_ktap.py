# SPDX-License-Identifier: GPL-2.0
"""usage: to_ktap.py [--maps] TEST...

Make KTAP of what test_progs, and with --maps test_maps after it, say on standard input. The
plan is of all TESTs: one that test_progs did not come to is missing. Of test_progs' lines

  #12/3    name/subtest:OK
  #12      name:SKIP (why)

subtests come first; what failed is listed once more at the end.
"""

import re
import sys
from collections.abc import Iterable

RESULT = re.compile(r"#(\d+)(/\d+)?\s+([\w/.:+-]+):(OK|SKIP|FAIL)")
LOG_LINES = 40


def ktap_line(number: int, name: str, result: str) -> str:
    verdict = "not ok" if result == "FAIL" else "ok"
    return f"{verdict} {number} {name}{' # SKIP' if result == 'SKIP' else ''}"


def print_log(log: list[str]) -> None:
    for line in log[-LOG_LINES:]:
        print(f"# {line}")


def convert(lines: Iterable[str]) -> None:
    number = 0
    seen: set[str] = set()
    parts: list[tuple[str, str]] = []
    log: list[str] = []
    for line in map(str.rstrip, lines):
        match = RESULT.match(line)
        if not match:
            log.append(line)
            if line.startswith("test_maps: OK"):
                number += 1
                print(ktap_line(number, "test_maps", "OK"), flush=True)
            continue
        if match[1] + (match[2] or "") in seen:
            continue
        seen.add(match[1] + (match[2] or ""))
        if match[2]:
            parts.append((match[3], match[4]))
            continue
        number += 1
        if match[4] == "FAIL":
            print_log(log)
        if parts:
            print(f"    KTAP version 1\n    # Subtest: {match[3]}\n    1..{len(parts)}")
            for index, (name, result) in enumerate(parts, 1):
                print(f"    {ktap_line(index, name, result)}")
        print(ktap_line(number, match[3], match[4]), flush=True)
        parts, log = [], []
    # Of a test that did not end, and of test_maps
    print_log(log)


def main() -> int:
    tests = sys.argv[1:]
    if not tests:
        print(__doc__, file=sys.stderr)
        return 2
    # --maps stands for test_maps.
    print(f"KTAP version 1\n1..{len(tests)}", flush=True)
    convert(sys.stdin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
