# SPDX-License-Identifier: GPL-2.0
"""In a guest: hold "perf record --off-cpu" of real programs against a sum that bpftrace makes.

usage: loads.py [--base] CASE PERF DIR WORK

  programs      python3, sqlite3 and a threaded server: all time, and whole stacks
  many          many short waits and five long ones, sampled by period: the total of each stack
  switches      two processes that switch as fast as they can: all time
  unprivileged  is refused with what is missing
  no_memory     is refused where the maps have no room
  hostile       perf script reads what other versions write, and refuses what none does

--base records as the base's perf can, and prints what that gives. COUNT in the environment is the
number of short waits, and of switches. Exit status 0, 1 wrong, 2 usage.
"""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import check

# Of tasks that sleep in the states of the mask: 1 interruptibly, 2 not.
TRACE = """
BEGIN {{ printf("ready\\n"); }}
tracepoint:sched:sched_switch /({comms}) && (args.prev_state & {states}) != 0/ {{
	@out[args.prev_pid] = nsecs;
}}
tracepoint:sched:sched_switch /@out[args.next_pid] != 0/ {{
	@ns[args.next_pid] = sum(nsecs - @out[args.next_pid]);
	@waits[args.next_pid] = count();
	delete(@out[args.next_pid]);
}}
END {{ clear(@out); }}
"""
ROW = re.compile(r"^@(ns|waits)\[(\d+)\]: (\d+)$")
# Between bpftrace and perf reading the clock, longer after a wait than before it. A wait takes
# sixty times as long.
CLOCK_NS = 250
# Kernel functions of the waits that a program asks for
ASKED = re.compile("nanosleep|futex_wait|do_sys_poll|do_epoll|do_select|inet_csk_accept|sk_wait_data")
# Of clone3 in the C library: its number, and the system call
CLONE3 = bytes.fromhex("b8b30100000f05")
# Bytes from an entry point to the end of the call that is the outermost frame
ENTRY_SIZE = 96
LOAD = re.compile(r"LOAD +(\S+) (\S+) \S+ (\S+)")
PYTHON = """
import time
def inner(): time.sleep(0.01)
def middle(): inner()
def outer(): middle()
def run(): outer()
for i in range(200): run()
"""
SERVER = """
import http.server, threading, time, urllib.request
lock = threading.Lock()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with lock:
            time.sleep(0.01)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *unused): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def client():
    for i in range(25):
        urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read()
clients = [threading.Thread(target=client) for i in range(4)]
for thread in clients: thread.start()
for thread in clients: thread.join()
"""


class Truth:
    """What bpftrace sums up while it runs: nanoseconds and waits of each task with such a name."""

    def __init__(self, work: Path, *comms: str, states: int = 3) -> None:
        self.output = work / "bpftrace.txt"
        self.program = TRACE.format(states=states, comms=" || ".join(
            f'args.prev_comm == "{comm}"' for comm in comms))
        self.ns: Counter[int] = Counter()
        self.waits: Counter[int] = Counter()

    def __enter__(self) -> "Truth":
        with self.output.open("w", encoding="utf-8") as output:
            self.child = subprocess.Popen(["bpftrace", "-e", self.program], stdout=output, stderr=output)
        while "ready" not in self.output.read_text(encoding="utf-8"):
            if self.child.poll() is not None:
                raise RuntimeError(self.output.read_text(encoding="utf-8"))
            time.sleep(0.1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.child.send_signal(signal.SIGINT)
        self.child.wait()
        for line in self.output.read_text(encoding="utf-8").splitlines():
            if row := ROW.match(line):
                (self.ns if row[1] == "ns" else self.waits)[int(row[2])] = int(row[3])


def bottoms(program: str) -> list[tuple[str, int]]:
    """Where the outermost frames of a program and of threads are: files and offsets."""
    path = os.path.realpath(shutil.which(program) or program)
    text = subprocess.run(["readelf", "-hlW", path], check=True, capture_output=True, text=True).stdout
    entry = int(re.findall(r"Entry point address: +(\S+)", text)[0], 16)
    found = [(path, entry - address + offset) for offset, address, size in
             ([int(n, 16) for n in m.groups()] for m in LOAD.finditer(text)) if 0 <= entry - address < size]
    library = "/usr/lib/x86_64-linux-gnu/libc.so.6"
    return [*found, *((library, m.start()) for m in re.finditer(CLONE3, Path(library).read_bytes()))]


def is_bottom(frame: str, places: list[tuple[str, int]]) -> bool:
    path, _, offset = frame.rpartition("+")
    return any(path == file and 0 <= int(offset, 16) - at < ENTRY_SIZE for file, at in places)


class Loads:
    """The cases; each returns whether it passed."""

    def __init__(self, perf: str, folder: Path, work: Path, base: bool) -> None:
        self.perf, self.folder, self.work, self.base = perf, folder, work, base
        self.data = str(work / "loads.data")
        self.count = int(os.environ["COUNT"])

    def record(self, options: list[str], command: list[str]) -> None:
        if self.base:
            options = []
        subprocess.run([self.perf, "record", "-q", "--off-cpu", *options, "-e", "dummy", "-o", self.data,
                        "--", *command], check=True, stdout=subprocess.DEVNULL)

    def samples(self) -> list[check.Sample]:
        fields = "comm,tid,time,period,event,ip,sym,dso,dsoff"
        text = subprocess.run([self.perf, "script", "--no-inline", "-i", self.data, "-F", fields], check=True,
                              stdout=subprocess.PIPE, text=True, errors="replace").stdout
        return check.samples_of(text)

    def program(self, name: str, comm: str, command: list[str], least: int) -> bool:
        """All time of the program; whole stacks of the waits that it asked for."""
        places = bottoms(comm)
        with Truth(self.work, comm) as truth:
            self.record(["--off-cpu-thresh", "0"], command)
        # The base's perf script forgets the names of tasks that have exited.
        samples = [s for s in self.samples() if s.comm == comm or (self.base and s.tid in truth.ns)]
        # Not what runs us, which has the same name
        seen, real = sum(s.ns for s in samples), sum(truth.ns[tid] for tid in {s.tid for s in samples})
        # Others are of page faults and reads before the tables of the program are loaded.
        asked = [s for s in samples if self.base or any(ASKED.search(f) for f in s.kernel)]
        whole = [s for s in asked if s.kernel and s.user and is_bottom(s.bottom, places)]
        for broken in [s for s in asked if s not in whole][:3]:
            print(f"#   {broken}")
        print(f"# {name}: {seen} of {real} ns ({100 * seen / (real or 1) - 100:+.2f} %), "
              f"{len(whole)} of {len(asked)} stacks whole, {len(asked) - len(whole)} not")
        return (abs(seen - real) <= check.MAX_ERROR * real and len(asked) >= least
                and len(whole) >= check.MIN_WHOLE * len(asked))

    def programs(self) -> bool:
        database = self.work / "database"
        database.unlink(missing_ok=True)
        subprocess.run(["sqlite3", database, "create table t (x)"], check=True)
        good = self.program("python3", "python3", ["python3", "-c", PYTHON], 200)
        good = self.program("server", "python3", ["python3", "-c", SERVER], 200) and good
        with subprocess.Popen(["sqlite3", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as holder:
            assert holder.stdin and holder.stdout
            holder.stdin.write("begin exclusive;\nselect 'locked';\n")
            holder.stdin.flush()
            if holder.stdout.readline() != "locked\n":
                return False
            # Waits for a lock that it never gets: 1, 2, 5, ... 100 ms.
            good = self.program("sqlite3", "sqlite3", [
                "sh", "-c", f"sqlite3 -cmd '.timeout 14000' {database} 'insert into t values (1)' || true"],
                100) and good
            holder.stdin.close()
        return good

    def many(self) -> bool:
        short = self.count
        waits, name = self.folder / "waits", self.work / "many.txt"
        # Without reading the program and its libraries.
        with Truth(self.work, "waits", states=1) as truth:
            self.record(["--off-cpu-period", "1ms"], [
                "sh", "-c", f"{waits} {short} 100 wait_futex >{name} & "
                f"{waits} 20 100 wait_nanosleep 5 {short * 20} wait_nanosleep >{name}.long; wait"])
        samples = self.samples()
        good = True
        for line in (name.read_text().splitlines() + Path(f"{name}.long").read_text().splitlines()[1:]):
            tid, function = line.split()[:2]
            mine = [s for s in samples if function in s.user]
            seen, real = sum(s.ns for s in mine), truth.ns[int(tid)]
            print(f"# {function}: {truth.waits[int(tid)]} waits, {len(mine)} samples, {seen} of {real} ns "
                  f"({100 * seen / (real or 1) - 100:+.2f} %)")
            most = check.rounding(real, truth.waits[int(tid)], 10**6)
            good = good and bool(real) and abs(seen - real) <= 0.001 * real + most
        return good

    def switches(self) -> bool:
        # On one CPU, so that one of them waits in each loop, but where the tick has switched
        loops = self.count // 2
        # Not its files, which are also read in the middle of exec(), before perf begins.
        with Truth(self.work, "perf", "sched-pipe", states=1) as truth:
            begin = time.monotonic()
            self.record(["--off-cpu-thresh", "1ms", "--off-cpu-states", "S"], [
                "taskset", "-c", "0", "/usr/bin/perf", "bench", "-f", "simple", "sched", "pipe", "-l", str(loops)])
            seconds = time.monotonic() - begin
        samples = self.samples()
        # The name is another one before the benchmark begins. Others of the name are not recorded.
        tids = {s.tid for s in samples}
        seen = sum(s.ns for s in samples)
        real, waits = (sum(of[tid] for tid in tids) for of in (truth.ns, truth.waits))
        error = abs(seen - real) / (waits or 1)
        print(f"# {waits} waits in {seconds:.0f} s, {seen} of {real} ns, {error:.0f} ns a wait")
        return waits >= 0.9 * loops and error <= CLOCK_NS

    def refused(self, pattern: str, command: list[str]) -> bool:
        done = subprocess.run([*command, self.perf, "record", "--off-cpu", "-e", "dummy", "-o", self.data,
                               "--", "true"], capture_output=True, text=True, check=False)
        print(f"# status {done.returncode}: {done.stderr.strip()[-300:]!r}")
        return done.returncode > 0 and bool(re.search(pattern, done.stderr))

    def unprivileged(self) -> bool:
        level = Path("/proc/sys/kernel/perf_event_paranoid")
        before, good = level.read_text(), True
        for value in -1, 2, 3:
            level.write_text(str(value))
            self.data = f"/tmp/nobody.{value}.data"
            good = self.refused("CAP_BPF and CAP_PERFMON", [
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]) and good
        level.write_text(before)
        return good

    def no_memory(self) -> bool:
        group = Path("/sys/fs/cgroup/small")
        group.mkdir(exist_ok=True)
        Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+memory")
        for megabytes in 32, 28, 24, 20, 16, 12:
            (group / "memory.max").write_text(f"{megabytes}M")
            enter = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"]
            if self.refused("Cannot allocate memory", enter):
                print(f"# refused with {megabytes} MiB")
                return True
        return False

    def hostile(self) -> bool:
        """The length of the first callchain: of a mark alone, and of more than there is."""
        self.record(["--off-cpu-thresh", "0"], ["sleep", "0.1"])
        file = Path(self.data)
        intact, good = file.read_bytes(), True
        mark = struct.pack("<Q", 2**64 - 128)
        at = next(m.start() - 8 for m in re.finditer(re.escape(mark), intact)
                  if 1 < struct.unpack_from("<Q", intact, m.start() - 8)[0] < 256)
        for length, readable in (0, True), (1, True), (1000, False), (2**61 + 2, False), (2**64 - 1, False):
            file.write_bytes(intact[:at] + struct.pack("<Q", length) + intact[at + 8:])
            done = subprocess.run([self.perf, "script", "-i", self.data], capture_output=True, text=True,
                                  check=False)
            print(f"# {length} words: status {done.returncode}, {done.stderr.strip()[-120:]!r}")
            # Not by a signal
            good = good and (done.returncode == 0 if readable
                             else done.returncode > 0 and "parse sample" in done.stderr)
        return good


def main(arguments: list[str]) -> int:
    """One case; 1 if it fails."""
    base = arguments[:1] == ["--base"]
    match arguments[base:]:
        case [name, perf, folder, work]:
            loads = Loads(perf, Path(folder), Path(work), base)
            cases: dict[str, Callable[[], bool]] = {
                "programs": loads.programs, "many": loads.many, "switches": loads.switches,
                "unprivileged": loads.unprivileged, "no_memory": loads.no_memory, "hostile": loads.hostile}
            if name in cases:
                return 0 if cases[name]() else 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
