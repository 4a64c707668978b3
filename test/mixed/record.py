# SPDX-License-Identifier: GPL-2.0
"""In a guest: record programs with perf, each in all ways that the kernel has.

usage: record.py OUT KERNEL NAME...

OUT has the compiled programs and a cache with tables. A program that is ready is recorded twice:
the first time loads its tables, and takes as long on the base.

Outputs: OUT/KERNEL/NAME-MODE.data; NAME.log says why there is none.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import programs

SYSCTL = Path("/proc/sys/kernel/unwind_table_path")
FILES = Path("/sys/kernel/debug/unwind/files")
WORK = Path("/tmp/mixed")
MODES = {"fp": "fp", "defer": "fp,defer"}
FREQUENCY = "299"
SECONDS = 2
# Events are fewer than ticks.
EVENT_SECONDS = 6
# An emulated guest needs most of these for Java.
READY_SECONDS = 240
LOAD_SECONDS = 90
PERF_SECONDS = 120
# perf takes a process without mappings, if it cannot read them in half a second.
MAP_MILLISECONDS = "30000"


def record(program: programs.Program, pid: int, mode: str, data: Path) -> None:
    ticks = program.event == programs.CPU_TIME
    event = ["-e", program.event, *(["-F", FREQUENCY] if ticks else ["-c", "1"])]
    subprocess.run(["nice", "-n", "-20", "perf", "record", "-q", "-N", "-p", str(pid), *event,
                    "--call-graph", mode, "--user-callchains", "--proc-map-timeout", MAP_MILLISECONDS,
                    "-o", str(data), "--", "sleep", str(SECONDS if ticks else EVENT_SECONDS)],
                   check=True, capture_output=True, timeout=PERF_SECONDS)


def await_tables() -> None:
    end = time.monotonic() + LOAD_SECONDS
    while FILES.exists() and " loading" in FILES.read_text() and time.monotonic() < end:
        time.sleep(0.1)


def record_all(program: programs.Program, out: Path, modes: list[str]) -> None:
    """Each time from the start on: programs have phases."""
    for mode in modes:
        data = WORK / f"{program.name}-{mode}.data"
        with program.running(out.parent / "bin", READY_SECONDS) as pid:
            record(program, pid, "fp", WORK / "warm.data")
            await_tables()
            record(program, pid, MODES[mode], data)
        shutil.move(data, out / data.name)


def main() -> int:
    out, kernel, names = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    WORK.mkdir()
    if SYSCTL.exists():
        # The file system that is shared with the host is slow.
        shutil.copytree(out / "cache", WORK / "cache")
        SYSCTL.write_text(f"{WORK}/cache\n")
    modes = ["fp"] if kernel == "base" else list(MODES)
    for program in programs.choose(names):
        begin = time.monotonic()
        try:
            record_all(program, out / kernel, modes)
        except (programs.NotReady, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", b"") or b""
            text = f"{error}\n{said.decode(errors='replace')}"
            (out / kernel / f"{program.name}.log").write_text(text)
            print(f"mixed: {program.name}: {text}", file=sys.stderr)
        print(f"mixed: {kernel}: {program.name}: {time.monotonic() - begin:.0f} s",
              file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
