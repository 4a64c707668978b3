# SPDX-License-Identifier: GPL-2.0
"""Make recordings in a guest, and check that they are of the same work."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .common import OUT, REPO, DemoError, say, shown
from .workloads import Run, Workload

FREQUENCY = 999


def remove(runs: Sequence[Run], into: Path) -> None:
    """Remove what an earlier demo left, so that no old file passes for a new one."""
    for run in runs:
        for ending in ("data", "out", "log"):
            (into / f"{run.name}.{ending}").unlink(missing_ok=True)


def check_kernels(kernels: Sequence[str]) -> None:
    """Say at once that a kernel is missing, not after the first recordings."""
    for kernel in kernels:
        image = REPO / ".build/obj" / kernel / "vmlinux"
        if not image.is_file():
            raise DemoError(f"{kernel} kernel: not built; run dev/kernel {kernel}")


def record(kernel: str, workloads: Sequence[Workload], seconds: float, into: Path) -> None:
    """Boot one kernel and make its recordings."""
    chosen = [(workload, run) for workload in workloads for run in workload.runs
              if run.kernel == kernel]
    runs = [run for _, run in chosen]
    into.mkdir(parents=True, exist_ok=True)
    remove(runs, into)
    specs = [f"{run.name}:{run.mode}:{workload.name}:{run.program.path}"
             for workload, run in chosen]
    # An emulated guest needs up to 20 s for what perf does before and after.
    limit = int(60 + len(runs) * (60 + 4 * seconds))
    say(f"booting the {kernel} kernel: {len(runs)} recordings of {seconds:g} s")
    command = [str(REPO / "vm/run"), "--kernel", kernel, "--timeout", str(limit), "--",
               str(REPO / "demo/record-guest"), str(into), f"{seconds:g}", str(FREQUENCY),
               str(OUT), *specs]
    status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            check=False).returncode
    if status:
        raise DemoError(f"{kernel} kernel: recording ended with {status}; "
                        f"see above and the logs in {shown(into)}")


def check_same_work(name: str, runs: Sequence[Run], into: Path) -> str:
    """All runs of a workload must have computed the same; return the checksum."""
    seen: dict[str, list[str]] = {}
    for run in runs:
        path = into / f"{run.name}.out"
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        match = re.search(r"^checksum ([0-9a-f]{8}) rounds \d+$", text, re.MULTILINE)
        if not match:
            raise DemoError(f"{shown(path)}: the load printed no checksum; "
                            f"see {run.name}.log beside it")
        seen.setdefault(match[1], []).append(run.name)
    if len(seen) > 1:
        raise DemoError(f"{name}: the runs computed different checksums: " + "; ".join(
            f"{value} in {', '.join(names)}" for value, names in seen.items()))
    return next(iter(seen))


def default_into() -> Path:
    """Where recordings go."""
    return OUT / "runs"
