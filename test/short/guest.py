# SPDX-License-Identifier: GPL-2.0
"""In a guest: profile processes that live for a moment.

usage: guest.py CACHE TREE KERNEL

CACHE has tables of the programs, TREE is the kernel's. The kernel is told so (not the base's, which knows of none), and
each workload runs once, so that the tables are loaded. Then the whole machine is recorded while it
runs again. A stack is whole if its outermost frame lies at the entry point of its program or of
the dynamic linker, which has it while the program's libraries are mapped.

ROUNDS in the environment, 1 to 10 (5), is how much of each workload runs; a stack or two of a
thousand may be short, so that fewer rounds would be a matter of luck.

Prints TAP, a case TOOL-WORKLOAD for each, with figures before it on lines that begin with "#". Exit status 0 all passed, 1 not, 2 usage.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "running"))
# pylint: disable=wrong-import-position
from guest import ENTRY_SIZE, FILES, LOAD_SECONDS, PERF, RESULTS, SYSCTL, script_of, segments  # noqa: E402

WORK = Path("/tmp/short")
TEXT = Path("/usr/include/elf.h")
STATS = Path("/sys/kernel/debug/unwind/stats")
LINKER = Path("/lib64/ld-linux-x86-64.so.2")
FREQUENCY = 499
LEAST_SAMPLES = 800
SAMPLE = re.compile(r"^(\S+)\s+\d+\s*$")
FRAME = re.compile(r"^\s+[0-9a-f]+ .*\((\S+?)\+0x([0-9a-f]+)\)$")
# Real files of tools/lib, and what they include
SOURCES = ("rbtree", "subcmd/parse-options", "bitmap", "subcmd/run-command", "find_bit", "string",
           "subcmd/exec-cmd", "list_sort", "subcmd/sigchain", "subcmd/pager")
INCLUDED = "-D_GNU_SOURCE -Itools/include -Itools/lib"


@dataclass
class Workload:
    """A shell script, the programs in it that are judged, by their names, and how many of a
    thousand of their stacks have to be whole.
    """

    name: str
    script: str
    programs: dict[str, Path]
    least_whole: int = 995


def program(name: str) -> tuple[str, Path]:
    """What a process of it is called, and the file that it runs."""
    path = subprocess.run(["which", name], check=True, capture_output=True, text=True).stdout.strip()
    return name[:15], Path(path).resolve()


def workloads(tree: Path, rounds: int) -> list[Workload]:
    """All of them; of the smaller programs, more runs. Of a small tool's life, most is the
    linker's, and up to four in a thousand of its stacks end in the linker's lazy binding.
    """
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, capture_output=True,
                         text=True).stdout.strip()
    sources = " ".join(f"tools/lib/{name}.c" for name in SOURCES[:rounds])
    return [
        Workload("compile", f"cd {tree} && for f in {sources}; "
                 f"do gcc -O2 -c {INCLUDED} -o {WORK}/a.o $f; done",
                 dict([("cc1", Path(cc1).resolve()), program("as"), program("gcc")])),
        Workload("git", f"git -C {tree} log -p -n {8 * rounds} >{WORK}/log", dict([program("git")])),
        Workload("small", f"for i in $(seq {12 * rounds}); do sed -n /9/p {TEXT} | "
                 f"awk '{{ n += NF }} END {{ print n }}' | sort >{WORK}/n; "
                 f"ls -lR /usr/include/linux >{WORK}/n; sha256sum {TEXT} >{WORK}/n; done",
                 dict([program(name) for name in ("sed", "awk", "sort", "ls", "sha256sum")]), 990),
    ]


def entry_of(path: Path) -> tuple[str, range]:
    """Where in which file a whole stack of it ends."""
    entry, loads = segments(path.read_bytes())
    offset = next(entry - address + offset for address, offset, size in loads
                  if 0 <= entry - address < size)
    return path.name, range(offset, offset + ENTRY_SIZE)


def wait_for_tables() -> None:
    """Of what has run; an emulator takes its time."""
    end = time.monotonic() + LOAD_SECONDS
    while " loading" in FILES.read_text(encoding="utf-8") and time.monotonic() < end:
        time.sleep(0.2)


def record(options: list[str], script: str) -> str:
    """The stacks of all processes while the script runs."""
    data = WORK / "data"
    # Not its cache of files: to make links of the programs copies them to the guest's own layer,
    # and they are other files from then on.
    subprocess.run([PERF, "record", "-q", "-N", "-a", *options, "-e", "cpu-clock:u", "-F", str(FREQUENCY),
                    "-o", str(data), "--", "bash", "-c", script], check=True)
    return script_of(str(data), "comm,pid,ip,dso,dsoff")


def outermost_frames(text: str, names: set[str]) -> Counter[tuple[str, str, int]]:
    """How often each process name, file and offset in it was at the end of a stack."""
    found: Counter[tuple[str, str, int]] = Counter()
    comm, last = "", ("", 0)
    for line in [*text.splitlines(), ""]:
        if frame := FRAME.match(line):
            last = Path(frame[1]).name, int(frame[2], 16)
        elif sample := SAMPLE.match(line):
            comm, last = sample[1], ("", 0)
        elif line.strip():
            # A frame in no file
            last = "", 0
        else:
            if comm in names:
                found[comm, *last] += 1
            comm = ""
    return found


def counters() -> dict[str, int]:
    """How many walks ended for which reason."""
    if not STATS.exists():
        return {}
    lines = (line.split() for line in STATS.read_text(encoding="utf-8").splitlines())
    return {name: int(value) for name, value in lines if name.startswith("walks_")}


def judge(tool: str, options: list[str], workload: Workload) -> None:
    linker = entry_of(LINKER.resolve())
    ends = {name: [entry_of(path), linker] for name, path in workload.programs.items()}
    before = counters()
    frames = outermost_frames(record(options, workload.script), set(ends))
    walks = {name: value - before.get(name, 0) for name, value in counters().items()
             if value != before.get(name, 0)}
    whole = sum(count for (comm, file, offset), count in frames.items()
                if any(file == name and offset in place for name, place in ends[comm]))
    other: Counter[tuple[str, str, str]] = Counter()
    for (comm, file, offset), count in frames.items():
        if not any(file == name and offset in place for name, place in ends[comm]):
            other[comm, file, hex(offset)] += count
    print(f"# {tool}-{workload.name}: {whole} of {frames.total()} stacks are whole, "
          f"{100 * whole / (frames.total() or 1):.2f} %; others end in {other.most_common(6)}")
    print("# the kernel's counters, of all processes: "
          + ", ".join(f"{name} {value}" for name, value in walks.items()))
    good = frames.total() >= LEAST_SAMPLES and 1000 * whole >= workload.least_whole * frames.total()
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
