# SPDX-License-Identifier: GPL-2.0
"""In a guest: profile processes that live for a moment.

usage: guest.py CACHE TREE KERNEL

CACHE has tables of the programs, TREE is the kernel's. The kernel is told so (not the base's,
which knows of none), and each workload runs once, so that the tables are loaded. Then the whole
machine is recorded while it runs again. A stack is whole if its outermost frame lies at the entry
point of its program or of the dynamic linker, which has it while the program's libraries are
mapped: see demo/stacks.py.

ROUNDS in the environment, 1 to 10 (5), is how much of each workload runs; a stack or two of a
thousand may be short, so that fewer rounds would be a matter of luck.

Prints TAP, a case TOOL-WORKLOAD for each, with figures before it on lines that begin with "#".
Exit status 0 all passed, 1 not, 2 usage.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "test" / "running"), str(REPO / "demo")]
# pylint: disable=wrong-import-position
from guest import FILES, LOAD_SECONDS, PERF, RESULTS, SYSCTL, script_of  # noqa: E402
from stacks import FIELDS, Sample, parse  # noqa: E402

WORK = Path("/tmp/short")
TEXT = Path("/usr/include/elf.h")
STATS = Path("/sys/kernel/debug/unwind/stats")
FREQUENCY = 499
LEAST_SAMPLES = 800
# Real files of tools/lib, and what they include
SOURCES = ("rbtree", "subcmd/parse-options", "bitmap", "subcmd/run-command", "find_bit", "string",
           "subcmd/exec-cmd", "list_sort", "subcmd/sigchain", "subcmd/pager")
INCLUDED = "-D_GNU_SOURCE -Itools/include -Itools/lib"


@dataclass
class Workload:
    """A shell script, the programs in it that are judged, and how many of a thousand of their
    stacks have to be whole.
    """

    name: str
    script: str
    programs: tuple[str, ...]
    least_whole: int = 995


def workloads(tree: Path, rounds: int) -> list[Workload]:
    """All of them; of the smaller programs, more runs. Five rounds of each yield at least twice
    LEAST_SAMPLES. Of a small tool's life, most is the linker's, and up to four in a thousand of
    its stacks end in the linker's lazy binding.
    """
    sources = " ".join(f"tools/lib/{name}.c" for name in SOURCES[:rounds])
    return [
        Workload("compile", f"cd {tree} && for f in {sources}; "
                 f"do gcc -O2 -c {INCLUDED} -o {WORK}/a.o $f; done",
                 ("cc1", "as", "gcc")),
        Workload("git", f"git -C {tree} log -p -n {16 * rounds} >{WORK}/log", ("git",)),
        Workload("small", f"for i in $(seq {12 * rounds}); do sed -n /9/p {TEXT} | "
                 f"awk '{{ n += NF }} END {{ print n }}' | sort >{WORK}/n; "
                 f"ls -lR /usr/include/linux >{WORK}/n; sha256sum {TEXT} >{WORK}/n; done",
                 ("sed", "awk", "sort", "ls", "sha256sum"), 990),
    ]


def wait_for_tables() -> None:
    """Of what has run; an emulator takes its time."""
    end = time.monotonic() + LOAD_SECONDS
    while " loading" in FILES.read_text(encoding="utf-8") and time.monotonic() < end:
        time.sleep(0.2)


def record(options: list[str], script: str) -> list[Sample]:
    """The stacks of all processes while the script runs."""
    data = WORK / "data"
    # Not its cache of files: to make links of the programs copies them to the guest's own layer,
    # and they are other files from then on.
    subprocess.run([PERF, "record", "-q", "-N", "-a", *options, "-e", "cpu-clock:u", "-F",
                    str(FREQUENCY), "-o", str(data), "--", "bash", "-c", script], check=True)
    return parse(script_of(str(data), FIELDS).splitlines())


def counters() -> dict[str, int]:
    """How many walks ended for which reason."""
    if not STATS.exists():
        return {}
    lines = (line.split() for line in STATS.read_text(encoding="utf-8").splitlines())
    return {name: int(value) for name, value in lines if name.startswith("walks_")}


def judge(tool: str, options: list[str], workload: Workload) -> None:
    before = counters()
    samples = [s for s in record(options, workload.script) if s.comm in workload.programs]
    walks = {name: value - before.get(name, 0) for name, value in counters().items()
             if value != before.get(name, 0)}
    short = [s for s in samples if not s.is_whole]
    whole = len(samples) - len(short)
    ends = Counter((s.comm, s.frames[-1].name, hex(s.frames[-1].offset or 0))
                   for s in short if s.frames)
    print(f"# {tool}-{workload.name}: {whole} of {len(samples)} stacks are whole, "
          f"{100 * whole / (len(samples) or 1):.2f} %; others end in {ends.most_common(6)}")
    print("# the kernel's counters, of all processes: "
          + ", ".join(f"{name} {value}" for name, value in walks.items()))
    good = len(samples) >= LEAST_SAMPLES and 1000 * whole >= workload.least_whole * len(samples)
    RESULTS.result(good, f"{tool}-{workload.name}")


def main(arguments: list[str]) -> int:
    asked = os.environ.get("ROUNDS", "5")
    if len(arguments) != 3 or not asked.isdecimal() or int(asked) not in range(1, 11):
        print(__doc__, file=sys.stderr)
        return 2
    cache, tree, kernel = arguments[0], Path(arguments[1]), arguments[2]
    rounds = int(asked)
    # Not a compiler cache's gcc
    os.environ["PATH"] = "/usr/bin"
    WORK.mkdir()
    tools = {"at-once": ["-g"], "deferred": ["--call-graph", "fp,defer"]}
    if kernel == "base":
        del tools["deferred"]
    else:
        SYSCTL.write_text(f"{cache}\n", encoding="utf-8")
        for workload in workloads(tree, 1):
            record(tools["deferred"], workload.script)
            wait_for_tables()
    for tool, options in tools.items():
        for workload in workloads(tree, rounds):
            judge(tool, options, workload)
    return RESULTS.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
