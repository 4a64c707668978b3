# SPDX-License-Identifier: GPL-2.0
"""Make the tool and the tables that the stock programs are run with.

The cache is filled anew each time, which takes a second: tables of an older tool
would stay otherwise.
"""

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from .common import OUT, REPO, DemoError, run, say
from .workloads import Workload

TOOL = OUT / "sframe"
CACHE = OUT / "cache"


def needed(text: str) -> set[str]:
    """The libraries in what ldd prints."""
    return set(re.findall(r"^\s+(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", text, re.MULTILINE))


def modules(patterns: Iterable[str]) -> set[str]:
    """The shared objects below the directories that match."""
    return {str(path) for pattern in patterns for found in glob.glob(pattern, recursive=True)
            for path in Path(found).rglob("*.so*") if path.is_file()}


def objects(workloads: Sequence[Workload]) -> list[str]:
    """Programs, what they may load, and all that these need."""
    files = {run.program.path for workload in workloads for run in workload.runs
             if run == workload.ours}
    files |= modules(pattern for workload in workloads for pattern in workload.modules)
    for path in sorted(files):
        if not os.path.isfile(path):
            raise DemoError(f"{path}: no such file; dev/packages names its package")
    # ldd ends with 1 for a module that names an absent library: those of tk, say.
    listed = subprocess.run(["ldd", *sorted(files)], capture_output=True, text=True, check=False)
    return sorted({os.path.realpath(path) for path in files | needed(listed.stdout)})


def fill(workloads: Sequence[Workload]) -> None:
    """Build the tool, fill the cache."""
    run(["make", "-C", str(REPO / "sframe"), f"O={TOOL}"], "building sframe",
        OUT / "sframe.log")
    found = objects(workloads)
    shutil.rmtree(CACHE, ignore_errors=True)
    run([str(TOOL / "sframe"), "cache", "--cache-dir", str(CACHE), *found],
        "filling the cache of tables", OUT / "cache.log")
    size = sum(path.stat().st_size for path in CACHE.rglob("*") if path.is_file())
    say(f"tables for {len(found)} programs and libraries: {size / 1e6:.1f} MB")
