# SPDX-License-Identifier: GPL-2.0
"""Recorded texts and ready-made results for the tests."""

import os
import tempfile
import unittest
from pathlib import Path

from stackdemo.code import Code
from stackdemo.perf import Data
from stackdemo.report import Measured, Results
from stackdemo.samples import Frame, Recording, Sample
from stackdemo.workloads import LUA, LUA_FP, LUA_FRAME_POINTERS, LUA_SFRAME, Program, stock

DATA = Path(__file__).parent / "data"
# What the recorded texts name.
LUA_FILE = "lua-sframe/lua"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
NOWHERE = Frame("[unknown]", "[unknown]")

TOOL = stock("tool", "/usr/bin/tool")
TOOL_PROGRAM = TOOL.ours.program


def codes(dso: str) -> Code:
    """A program with two functions, the first of which nothing calls, and a stripped libc."""
    return {
        TOOL_PROGRAM.path: Code([(0x100, 0x120), (0x200, 0x300)], [(0x100, 0x120)]),
        LIBC: Code([(0x1000, 0x1100), (0x1100, 0x1120)], [(0x1110, 0x1120)]),
    }.get(dso, Code())


def at(offset: int, dso: str = TOOL_PROGRAM.path, symbol: str = "[unknown]") -> Frame:
    """A frame of a stripped file."""
    return Frame(symbol, dso, offset)


START = at(0x105)
THREAD = at(0x1115, LIBC)


def sample(*frames: Frame, comm: str = "tool") -> Sample:
    """A sample, leaf first."""
    return Sample(comm, 7, list(frames))


GOOD = sample(at(0x210), at(0x280), START)
LOST = sample(at(0x210), NOWHERE)
LOST_DEEP = sample(at(0x210), NOWHERE, NOWHERE)


def in_lua(program: Program, *names: str) -> Sample:
    """A sample with frames of Lua."""
    return sample(*(Frame(name, program.path) for name in names), comm="lua")


def measured(samples: list[Sample], size: int, program: Program = TOOL_PROGRAM) -> Measured:
    """A recording that was never a file."""
    return Measured(Data(Path("x.data"), Recording(samples), size * len(samples), 0), program,
                    codes)


def tool_results(ours: list[Sample] | None = None, base: list[Sample] | None = None) -> Results:
    """Results of a stock program as a good demo has them, but for what is given."""
    return {
        TOOL.base: measured([LOST] * 100 if base is None else base, 80),
        TOOL.dwarf: measured([GOOD] * 100, 8000),
        TOOL.ours: measured([GOOD] * 100 if ours is None else ours, 200),
    }


def lua_results(ours: list[Sample] | None = None, ours_size: int = 120) -> Results:
    """Results of Lua, as good."""
    good = {program: in_lua(program, "luaV_execute", "luaD_call", "main")
            for program in (LUA_SFRAME, LUA_FP)}
    lost = sample(Frame("luaV_execute", LUA_SFRAME.path), NOWHERE, comm="lua")
    results = {run: measured([good[run.program]] * 100, 100, run.program) for run in LUA.runs}
    results[LUA.base] = measured([lost] * 100, 80, LUA_SFRAME)
    results[LUA.dwarf] = measured([good[LUA_SFRAME]] * 100, 8000, LUA_SFRAME)
    results[LUA.ours] = measured(ours or [good[LUA_SFRAME]] * 100, ours_size, LUA_SFRAME)
    assert LUA_FRAME_POINTERS in results
    return results


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
