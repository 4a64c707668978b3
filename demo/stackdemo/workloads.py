# SPDX-License-Identifier: GPL-2.0
"""What is recorded: programs, and which runs of each.

A stock program is the file that Debian's package installs. demo/load/NAME gives
it work. Lua is built from source twice, so that the bytes of a sample can be
compared with those of frame pointers at equal depth.
"""

from dataclasses import dataclass
from pathlib import Path, PurePath

from .common import OUT

KERNELS = ("base", "series")
DEFER = "fp,defer"


@dataclass(frozen=True)
class Program:
    """One file that is run."""

    name: str
    path: str
    shown: str = ""
    # A function that counts as the start. Frame pointers end in main: its
    # caller is in libc, which keeps none.
    root: str = ""

    @property
    def title(self) -> str:
        """Its name in the table."""
        return self.shown or self.name

    @property
    def comm(self) -> str:
        """The kernel's name of its threads."""
        return PurePath(self.path).name[:15]


@dataclass(frozen=True)
class Run:
    """One recording: a kernel, a program, a way to unwind."""

    kernel: str
    program: Program
    mode: str

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{self.kernel}-{self.program.name}-{self.mode.replace(',', '-')}"

    def path(self, into: Path) -> Path:
        """The recording itself."""
        return into / f"{self.name}.data"


@dataclass(frozen=True)
class Workload:
    """Programs that get the same work."""

    name: str
    runs: tuple[Run, ...]
    # What is loaded while it runs, which ldd does not list.
    modules: tuple[str, ...] = ()

    def run(self, kernel: str, mode: str) -> Run:
        """The first run of that kind."""
        return next(run for run in self.runs if (run.kernel, run.mode) == (kernel, mode))

    @property
    def base(self) -> Run:
        """Before: the base kernel, which knows frame pointers only."""
        return self.run("base", "fp")

    @property
    def dwarf(self) -> Run:
        """Before: a copy of the stack in each sample."""
        return self.run("base", "dwarf")

    @property
    def ours(self) -> Run:
        """After."""
        return self.run("series", DEFER)


def stock(name: str, path: str, *modules: str) -> Workload:
    """A program straight from Debian."""
    program = Program(name, path)
    return Workload(name, (Run("base", program, "fp"), Run("base", program, "dwarf"),
                           Run("series", program, DEFER)), modules)


LUA_SFRAME = Program("lua-sframe", str(OUT / "lua-sframe/lua"), "Lua, SFrame", "main")
LUA_FP = Program("lua-fp", str(OUT / "lua-fp/lua"), "Lua, frame pointers", "main")
LUA = Workload("lua", (Run("base", LUA_SFRAME, "fp"), Run("base", LUA_SFRAME, "dwarf"),
                       Run("series", LUA_SFRAME, DEFER),
                       Run("base", LUA_FP, "fp"), Run("series", LUA_FP, "fp")))
# What ours is held against at equal depth.
LUA_FRAME_POINTERS = LUA.runs[-1]

WORKLOADS = (
    stock("xz", "/usr/bin/xz"),
    stock("python3", "/usr/bin/python3", "/usr/lib/python3*/lib-dynload"),
    stock("perl", "/usr/bin/perl", "/usr/lib/x86_64-linux-gnu/perl*/**/auto"),
    stock("sqlite3", "/usr/bin/sqlite3"),
    stock("nginx", "/usr/sbin/nginx"),
    LUA,
)
