# SPDX-License-Identifier: GPL-2.0
"""The programs of programs.toml, which says what each key means; and how to start one."""

import fnmatch
import os
import select
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE / "programs.toml"
SOURCES = HERE / "src"
CPU_TIME = "cpu-clock:u"
START = (r"_start|__libc_start_(main|call_main).*|start_thread|thread_start|(__|__GI___)?clone3?|"
         r"_rt0_\w+|runtime\.(rt0_go|goexit|mstart)(\.abi0)?")


class NotReady(Exception):
    """The text says what a program printed instead."""


@dataclass(frozen=True)
class Program:
    """An entry of the table."""

    name: str
    run: str
    thread: str = ""
    event: str = CPU_TIME
    start: str = START
    chain: tuple[str, ...] = ()
    leaf: str = ""
    tables: bool = True

    @contextmanager
    def running(self, bin_dir: Path, seconds: float) -> Iterator[int]:
        """Its PID, from when it is ready on; it is killed in the end."""
        variables = {**os.environ, "BIN": str(bin_dir), "SRC": str(SOURCES)}
        with subprocess.Popen(["bash", "-c", f"exec {self.run}"], env=variables, cwd="/tmp",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as child:
            try:
                self._await(child, seconds)
                yield child.pid
            finally:
                os.killpg(child.pid, signal.SIGKILL)

    def _await(self, child: subprocess.Popen[bytes], seconds: float) -> None:
        assert child.stdout
        said, end = b"", time.monotonic() + seconds
        while b"ready\n" not in said:
            if not select.select([child.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise NotReady(f"not ready after {seconds:g} seconds: {said[-200:]!r}")
            data = os.read(child.stdout.fileno(), 4096)
            if not data:
                raise NotReady(f"has ended: {said[-200:]!r}")
            said += data


def load(path: Path = TABLE) -> list[Program]:
    programs = []
    for name, keys in tomllib.loads(path.read_text(encoding="utf-8")).items():
        keys["chain"] = tuple(keys.get("chain", ()))
        for word in keys.pop("each", [""]):
            text = {key: value.replace("{}", word) if key == "run" else value
                    for key, value in keys.items()}
            programs.append(Program(name.replace("{}", word), **text))
    return programs


def choose(patterns: list[str]) -> list[Program]:
    """Those that match, with wildcards as in file names; all without patterns."""
    found = [program for program in load()
             if not patterns or any(fnmatch.fnmatch(program.name, p) for p in patterns)]
    for pattern in patterns:
        if not any(fnmatch.fnmatch(program.name, pattern) for program in found):
            raise SystemExit(f"mixed: {pattern}: no such program in {TABLE.name}")
    return found
