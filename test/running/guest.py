# SPDX-License-Identifier: GPL-2.0
"""In a guest: processes that run before anybody looks at them, and then profilers.

usage: guest.py DIR KERNEL

DIR has under_seccomp, depth and a cache with tables. The programs are started without a word of
tables. Then the kernel is told where tables are (it is not, on the base), a first look has it load
those of the files that are mapped, the whole machine is recorded, and what each process's stacks
end in is held against where its program starts: a stack is whole if its outermost frame lies at
the program's entry point, or where its C library starts a thread.

Of a Python program whose functions have trampolines (-X perf), the names of all functions have to
be there, too, in their order.

Prints TAP, a case TOOL-PROCESS for each, with figures before it on a line that begins with "#".
Exit status 0 all passed, 1 not, 2 usage.
"""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

RESULTS = tap.Tap()
WORK = Path("/tmp/running")
SYSCTL = Path("/proc/sys/kernel/unwind_table_path")
PERF = "/usr/bin/perf"
# The profiled programs use both CPUs all the time; a profiler that starts or reads goes before them.
FIRST = ["nice", "-n", "-20"]
FILES = Path("/sys/kernel/debug/unwind/files")
# Limits are stretched on a machine that is slow.
SLOW = int(os.environ.get("LINUX_STACKS_SLOW", "100")) / 100
# How long the tables of all files may take to be loaded: an emulator's second is long.
LOAD_SECONDS = 90 * SLOW
QUIET_SECONDS = 3
# How long the programs may take to start
START_SECONDS = 60 * SLOW
# A program binds functions when it first calls them. It has run for some time if it has used
# so many seconds of CPU time, however slow the machine is.
WARM_SECONDS = 2
WARM_LIMIT = 90 * SLOW
SECONDS = 12
# The stack of a last sample may be due when recording ends.
JUDGED_SECONDS = range(1, SECONDS - 1)
FREQUENCY = 199
LEAST_SAMPLES = 30
# Of so many samples that have begun, one may be short: of fewer, no share says 99.9 %.
ONE_SHORT_OF = 1000
# Bytes from an entry point to the end of the call that is the outermost frame
ENTRY_SIZE = 96
# Of clone3 in glibc: its number, and the system call
CLONE3 = bytes.fromhex("b8b30100000f05")
PYTHON = """
def inner(n): return sum(range(n))
def middle(n): return inner(n)
def outer(): return middle(300)
while True: outer()
"""
RECURSION = 12
PYTHON_PERF = f"""
def leaf(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
def recurse(n): return recurse(n - 1) + 1 if n else leaf(3000)
while True: recurse({RECURSION})
"""
# From the innermost one on, while the leaf runs
PYTHON_NAMES = ["leaf", *["recurse"] * (RECURSION + 1), "<module>"]
SAMPLE = re.compile(r"^\s*(\d+)\s+(\d+\.\d+):")
FRAME = re.compile(r"^\s+([0-9a-f]+)")
MAPS = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) \S+ \d+\s+(\S.*)?$")


@dataclass
class Process:
    """One that runs; where its outermost frames are."""

    name: str
    pid: int
    bottoms: list[range] = field(default_factory=list)


@dataclass
class Tally:
    """Stacks of a process."""

    samples: int = 0
    whole: int = 0
    broken: list[list[int]] = field(default_factory=list)


def segments(image: bytes) -> tuple[int, list[tuple[int, int, int]]]:
    """An object's entry point; address, offset and size of what it has loaded."""
    entry, at = struct.unpack_from("<QQ", image, 24)
    size, number = struct.unpack_from("<HH", image, 54)
    loads = []
    for i in range(number):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", image, at + i * size)
        if kind == 1:
            loads.append((address, offset, length))
    return entry, loads


def find_bottoms(pid: int) -> list[range]:
    program = Path(f"/proc/{pid}/exe").read_bytes()
    entry, loads = segments(program)
    entry_offset = next(entry - a + o for a, o, size in loads if 0 <= entry - a < size)
    exe = os.stat(f"/proc/{pid}/exe")
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        if not (part := MAPS.match(line)) or "x" not in part[3] or not (part[5] or "").startswith("/"):
            continue
        start, end, offset = (int(part[i], 16) for i in (1, 2, 4))
        mapped = f"/proc/{pid}/map_files/{part[1].lstrip('0')}-{part[2].lstrip('0')}"
        if os.path.samestat(os.stat(mapped), exe) and offset <= entry_offset < offset + end - start:
            address = start + entry_offset - offset
            found.append(range(address, address + ENTRY_SIZE))
        if "libc.so" in part[5]:
            code = Path(mapped).read_bytes()[offset:offset + end - start]
            found += [range(start + m.start(), start + m.start() + ENTRY_SIZE)
                      for m in re.finditer(re.escape(CLONE3), code)]
    return found


def start(stack: ExitStack, command: list[str], **options: object) -> int:
    """A command in the background, which ends with us; its PID."""
    child = subprocess.Popen(command, stdin=stack.enter_context(open("/dev/zero", "rb")),
                             stdout=subprocess.DEVNULL, **options)  # type: ignore[call-overload]
    stack.callback(child.wait)
    stack.callback(child.kill)
    return int(child.pid)


def copy_with_libraries(program: str, root: Path) -> None:
    listing = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    for name in (program, *re.findall(r"(/\S+) \(0x", listing)):
        target = root / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(name), target)


def start_all(stack: ExitStack, folder: Path) -> list[Process]:
    xz = ["xz", "-6", "-c", "-T1"]
    shutil.copy("/usr/bin/xz", WORK / "suid")
    os.chmod(WORK / "suid", 0o4755)
    shutil.copy("/usr/bin/xz", WORK / "gone")
    copy_with_libraries("/usr/bin/xz", WORK / "root")
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
    commands = {
        "xz": xz,
        "python3": ["python3", "-c", PYTHON],
        "python3-perf": ["python3", "-X", "perf", "-c", PYTHON_PERF],
        "static": [str(folder / "depth")],
        # xz makes a prctl() itself.
        "seccomp": [str(folder / "under_seccomp"), "gzip", "-c"],
        "set-user-ID": [*nobody, str(WORK / "suid"), *xz[1:]],
        "chroot": ["chroot", str(WORK / "root"), "/usr/bin/xz", *xz[1:]],
        "deleted": [str(WORK / "gone"), *xz[1:]],
    }
    found = [Process(name, start(stack, command)) for name, command in commands.items()]
    socket = WORK / "redis"
    found.append(Process("redis", start(stack, [
        "redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--daemonize", "no"])))
    start(stack, [str(REPO / "demo/load/nginx"), "600", "nginx"], start_new_session=True)
    while not socket.exists():
        time.sleep(0.1)
    start(stack, ["redis-benchmark", "-s", str(socket), "-q", "-l", "-t", "set,lrange_100"])
    workers: list[str] = []
    end = time.monotonic() + START_SECONDS
    while len(workers) < 2 and time.monotonic() < end:
        time.sleep(0.5)
        workers = subprocess.run(["pgrep", "-f", "nginx: worker"], check=False, capture_output=True,
                                 text=True).stdout.split()
    time.sleep(1)
    (WORK / "gone").unlink()
    found += [Process("nginx", int(pid)) for pid in workers]
    for process in found:
        try:
            process.bottoms = find_bottoms(process.pid)
        except FileNotFoundError:
            sys.exit(f"{process.name}: has ended")
    return found


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def warm_up(processes: list[Process]) -> None:
    """Wait until each has run for some time; one that does not has too few samples later."""
    end = time.monotonic() + WARM_LIMIT
    while time.monotonic() < end and min(cpu_seconds(p.pid) for p in processes) < WARM_SECONDS:
        time.sleep(0.5)


def script_of(data: str, fields: str) -> str:
    return subprocess.run([*FIRST, PERF, "script", "--no-inline", "-i", data, "-F", fields], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def perf_stacks(options: list[str]) -> Iterator[tuple[int, float, list[int]]]:
    """PID, seconds since the first and user frames of each sample."""
    data = str(WORK / "perf.data")
    subprocess.run([PERF, "record", "-q", "-a", "-e", "cpu-clock:u", "-F", str(FREQUENCY), *options,
                    "-o", data, "sleep", str(SECONDS)], check=True)
    text = script_of(data, "pid,time,ip")
    first, pid, when, frames = 0.0, 0, 0.0, []
    for line in [*text.splitlines(), ""]:
        if head := SAMPLE.match(line):
            pid, when, frames = int(head[1]), float(head[2]), []
            first = first or when
        elif frame := FRAME.match(line):
            frames.append(int(frame[1], 16))
        elif frames:
            yield pid, when - first, frames
            frames = []


def python_names(pid: int, options: list[str]) -> Iterator[list[str]]:
    """The names of Python's functions in each sample, the innermost first."""
    data = str(WORK / "python.data")
    subprocess.run([PERF, "record", "-q", "-p", str(pid), "-e", "cpu-clock:u", "-F", str(FREQUENCY),
                    *options, "-o", data, "sleep", str(SECONDS)], check=True)
    text = script_of(data, "pid,ip,sym")
    for sample in text.split("\n\n"):
        if sample.strip():
            yield re.findall(r" py::([^:\n]+)", sample)


def judge_python(tool: str, pid: int, options: list[str]) -> None:
    """Samples have to have all functions, and the leaf's have each of its callers."""
    samples = in_order = leaves = 0
    for names in python_names(pid, options):
        samples += 1
        leaves += names == PYTHON_NAMES
        # Between two calls of the leaf there are fewer, and the same ones.
        in_order += bool(names) and names[-1] == "<module>" and names == PYTHON_NAMES[-len(names):]
    good = leaves >= LEAST_SAMPLES and 100 * in_order >= 99 * samples
    print(f"# {tool}-python-names: {in_order} of {samples} samples have all functions in their order, "
          f"{leaves} of them all {len(PYTHON_NAMES)}")
    RESULTS.result(good, f"{tool}-python-names")


def first_look() -> None:
    """Have the kernel load tables by samples of everybody."""
    begin = changed = time.monotonic()
    before = ""
    with subprocess.Popen([PERF, "record", "-q", "-a", "-g", "-e", "cpu-clock:u", "-F", str(FREQUENCY),
                           "-o", str(WORK / "first.data"), "sleep", "1000"]) as child:
        while time.monotonic() < min(changed + QUIET_SECONDS, begin + LOAD_SECONDS):
            time.sleep(0.5)
            # Files that may change unnoticed are looked at again, and change places.
            now = "\n".join(sorted(FILES.read_text(encoding="utf-8").splitlines()))
            if not before:
                begin = time.monotonic()
            if not now or now != before or " loading" in now:
                before, changed = now, time.monotonic()
        child.send_signal(signal.SIGINT)
    loaded = sum(line.endswith(" loaded") for line in before.splitlines())
    print(f"# tables of {loaded} files loaded within {changed - begin:.1f} s of the first sample")
    done = " loading" not in before and loaded > 0
    RESULTS.result(done, "tables-are-loaded")


def bpftrace_stacks() -> Iterator[tuple[int, float, list[int]]]:
    program = (f"profile:hz:{FREQUENCY} /pid != 0/ {{ @[pid, elapsed / 1000000000, ustack(raw)] = count(); }} "
               f"interval:s:{SECONDS} {{ exit(); }}")
    text = subprocess.run([*FIRST, "bpftrace", "-e", program], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    for entry in re.finditer(r"^@\[(\d+), (\d+), ?\s*((?:[0-9a-f]+\s+)*)\]: (\d+)$", text, re.MULTILINE):
        frames = [int(frame, 16) for frame in entry[3].split()]
        for _ in range(int(entry[4])):
            yield int(entry[1]), float(entry[2]), frames


def judge(tool: str, processes: list[Process], stacks: Iterator[tuple[int, float, list[int]]]) -> None:
    tallies = {process.name: Tally() for process in processes}
    by_pid = {process.pid: process for process in processes}
    for pid, when, frames in stacks:
        process = by_pid.get(pid)
        if not process or int(when) not in JUDGED_SECONDS:
            continue
        tally = tallies[process.name]
        tally.samples += 1
        if frames and any(frames[-1] in bottom for bottom in process.bottoms):
            tally.whole += 1
        else:
            tally.broken.append(frames)
    for name, tally in tallies.items():
        for frames in tally.broken[:2]:
            print("#   " + " ".join(f"{frame:x}" for frame in frames))
        short = tally.samples - tally.whole
        fine = tally.samples >= LEAST_SAMPLES and (short - 1) * ONE_SHORT_OF < tally.samples
        print(f"# {tool}-{name}: {tally.whole} of {tally.samples} stacks whole "
              f"({100 * tally.whole / (tally.samples or 1):.2f} %)")
        RESULTS.result(fine, f"{tool}-{name}")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder, kernel = Path(arguments[0]), arguments[1]
    WORK.mkdir()
    tools: dict[str, Callable[[], Iterator[tuple[int, float, list[int]]]]] = {
        "at-once": lambda: perf_stacks(["-g"]),
        "deferred": lambda: perf_stacks(["--call-graph", "fp,defer"]),
        "bpftrace": bpftrace_stacks,
    }
    if kernel == "base":
        del tools["deferred"]
    with ExitStack() as stack:
        processes = start_all(stack, folder)
        warm_up(processes)
        if kernel != "base":
            SYSCTL.write_text(f"{folder / 'cache'}\n", encoding="utf-8")
            first_look()
        for tool, stacks in tools.items():
            judge(tool, processes, stacks())
        python = next(process.pid for process in processes if process.name == "python3-perf")
        judge_python("at-once", python, ["-g"])
        if kernel != "base":
            judge_python("deferred", python, ["--call-graph", "fp,defer"])
        stats = Path("/sys/kernel/debug/unwind/stats")
        if stats.exists():
            print("# " + "\n# ".join(line for line in stats.read_text(encoding="utf-8").splitlines()
                                    if line.startswith(("files_", "tables_"))))
        for process in processes:
            if process.name == "nginx":
                os.kill(process.pid, signal.SIGKILL)
    return RESULTS.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
