# SPDX-License-Identifier: GPL-2.0
"""Give sqlite3 rounds of work.sql until the time is over.

usage: sqlite3.py SECONDS SCRIPT COMMAND...

The next round is sent when the last one has answered, so that it ends in time on
a slow machine too.

Output: "checksum HEX rounds N"; exit status 1 where answers differ or are missing.
"""

import subprocess
import sys
import time
import zlib
from pathlib import Path


def main() -> None:
    """Rounds, then end of input, then the command's own status."""
    seconds, script, command = float(sys.argv[1]), Path(sys.argv[2]).read_text(), sys.argv[3:]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as shell:
        answers: list[str] = []
        end = None
        while end is None or time.monotonic() < end:
            shell.stdin.write(script)
            shell.stdin.flush()
            answers.append(shell.stdout.readline())
            if answers[-1] != answers[0] or not answers[0].strip():
                sys.exit(f"sqlite3.py: round {len(answers)} answered {answers[-1]!r}")
            # The clock starts when the first round is done, not while perf starts.
            end = end or time.monotonic() + seconds
        shell.stdin.close()
    if shell.returncode:
        sys.exit(f"sqlite3.py: {command[0]} ended with {shell.returncode}")
    print(f"checksum {zlib.crc32(answers[0].encode()):08x} rounds {len(answers)}")


main()
