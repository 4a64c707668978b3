# SPDX-License-Identifier: GPL-2.0
"""What the tools of dev/ share: messages, progress, exit codes."""

import sys
import time
from pathlib import Path
from typing import Callable, NoReturn

TOOL = Path(sys.argv[0]).stem


class Failure(Exception):
    """A finding for the user: `<object>: what; remedy`."""


def say(text: str) -> None:
    print(f"{TOOL}: {text}", file=sys.stderr, flush=True)


def run_tool(main: Callable[[], int]) -> NoReturn:
    """Run main() with the exit codes and the error form of all our tools."""
    try:
        status = main()
    except Failure as error:
        say(str(error))
        status = 1
    except KeyboardInterrupt:
        say("interrupted: nothing is half done; run the same command again")
        status = 1
    sys.exit(status)


class Progress:
    """`what 42% (…)` on one line of a terminal, or a line every five seconds."""

    def __init__(self, what: str, total: int):
        self.what, self.total, self.begin = what, max(total, 1), time.monotonic()
        self.tty = sys.stderr.isatty()
        self.last = self.begin - 4

    def at(self, done: int) -> None:
        now = time.monotonic()
        if now - self.last >= (0.2 if self.tty else 5):
            self.last = now
            self._line(f"{min(100, done * 100 // self.total)}%", "\r" if self.tty else "\n")

    def end(self) -> None:
        self._line(f"done in {time.monotonic() - self.begin:.0f} s", "\n")

    def _line(self, state: str, end: str) -> None:
        print(
            f"{TOOL}: {self.what}: {state}{' ' * 8 if self.tty else ''}",
            end=end,
            file=sys.stderr,
            flush=True,
        )
