# SPDX-License-Identifier: GPL-2.0
"""Recorded texts and ready-made results for the tests."""

import os
import tempfile
import unittest
from pathlib import Path

from stackdemo.perf import Data
from stackdemo.report import Measured, Results
from stackdemo.runs import BASE, BASE_FP, DWARF, OURS, OURS_FP
from stackdemo.samples import Frame, Recording, Sample

DATA = Path(__file__).parent / "data"
LUA = "lua-sframe/lua"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
NOWHERE = Frame("[unknown]", "[unknown]")


def own(*names: str) -> list[Frame]:
    """Frames of the program."""
    return [Frame(name, LUA) for name in names]


def sample(*frames: Frame) -> Sample:
    """A sample, leaf first."""
    return Sample("lua", 7, list(frames))


GOOD = sample(*own("luaV_execute", "luaD_call", "main"))
LOST = sample(*own("luaV_execute"), NOWHERE)
LOST_DEEP = sample(*own("luaV_execute"), NOWHERE, NOWHERE)
IN_LIBC = sample(Frame("malloc", LIBC))


def measured(samples: list[Sample], size: int) -> Measured:
    """A recording that was never a file."""
    return Measured(Data(Path("x.data"), Recording(samples), size * len(samples), 0), LUA)


def results(ours: list[Sample] | None = None, base: list[Sample] | None = None,
            ours_size: int = 120) -> Results:
    """Results as a good demo has them, but for what is given."""
    return {
        BASE: measured(base or [LOST] * 100, 80),
        DWARF: measured([GOOD] * 100, 8000),
        BASE_FP: measured([GOOD] * 100, 100),
        OURS: measured(ours or [GOOD] * 99 + [IN_LIBC], ours_size),
        OURS_FP: measured([GOOD] * 100, 100),
    }


class Scratch(unittest.TestCase):
    """A test with a directory of its own, and stand-ins for commands."""

    def setUp(self) -> None:
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.dir = Path(where.name)
        self.path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", self.path)

    def command(self, name: str, body: str) -> Path:
        """A command of that name, first in PATH."""
        path = self.dir / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\n" + body, encoding="utf-8")
        path.chmod(0o755)
        os.environ["PATH"] = f"{path.parent}:{self.path}"
        return path
