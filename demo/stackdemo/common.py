# SPDX-License-Identifier: GPL-2.0
"""What all parts of the demo share: paths, messages, running a command."""

import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
OUT = REPO / ".build" / "demo"


class DemoError(Exception):
    """Ends the demo: object, what is wrong, what to do about it."""


def say(text: str) -> None:
    """Report progress; results go to stdout, the rest to stderr."""
    print(f"demo: {text}", file=sys.stderr, flush=True)


def shown(path: Path) -> str:
    """The path as the user of the checkout writes it."""
    return str(path.relative_to(REPO)) if path.is_relative_to(REPO) else str(path)


def run(command: list[str], what: str, log: Path, cwd: Path | None = None) -> None:
    """Run a command with its output in a log; name the log if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as out:
        status = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out,
                                stderr=subprocess.STDOUT, check=False).returncode
    if status:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "no output")
        raise DemoError(f"{what}: {command[0]} ended with {status}: {last.strip()}; "
                        f"see {shown(log)}")
