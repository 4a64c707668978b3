#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boot a kernel in QEMU, run a command in it as root, return the command's exit status.

The guest's root is this environment over 9p, read-only, under an overlay in memory. The
repository and each --dir are writable and stand at the same paths; what the command writes there is
complete when this program returns. The current directory is kept.

Standard output and standard error come back separately and byte for byte; standard input is
empty. The kernel log goes to .build/vm/<time>-<pid>/console.log and is shown when the run fails.
If a guest does not end in time, the log also has what its processes wait for; the file
`registers` beside it has the registers of each CPU. Before its command a guest measures how fast
the machine is; on a slow one --timeout is stretched, to six times at most, and LINUX_STACKS_SLOW
tells the command by how much, in percent. With --icount nothing is stretched. If the emulator
itself crashes while a guest boots, or loses the interrupt of a CPU's timer, the guest is booted
again, twice at most. A guest that is lost to the emulator later is called so, and ended.

Exit status: that of the command (128 + N when signal N ended it), or
    2    usage, or this machine cannot do it (kernel not built, no QEMU)
  124    the command did not end within --timeout, as stretched
  125    no status came back (lost guest, panic), the kernel log holds a splat (WARNING, BUG,
         KASAN, lockdep, ...), or vm/splat.deny or vm/splat.allow cannot be used
  130    interrupted

  vm/run -- uname -r
  vm/run --kernel base --smp 4 --mem 4G -- perf record -o .build/p.data -g -- xz -k9 big
  vm/run --icount -- bench/something            one guest nanosecond = one instruction
  vm/run --kunit 'unwind*' -- sh -c 'cat /sys/kernel/debug/kunit/*/results'
  vm/run --interactive                          a shell on this terminal
"""

import argparse
import contextlib
import ctypes
import math
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
import tty
from dataclasses import dataclass, field
from pathlib import Path

import splat
import watch

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
RUNS = REPO / ".build" / "vm"
QEMU = "qemu-system-x86_64"

EXIT_USAGE, EXIT_TIMEOUT, EXIT_LOST, EXIT_INTERRUPTED = 2, 124, 125, 130
KVM_DEVICE = "/dev/kvm"
KVM_PROBE_SECONDS = 20
KEEP_RUNS = 20
# How often a guest may be started, and in how many seconds its command has to begin
BOOTS = 3
BOOT_SECONDS = 120
MIN_BOOT_SECONDS = 30
# How QEMU ends when it breaks one of its own assertions, or worse
EMULATOR_CRASHES = (-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV)
# How long before the deadline a guest says what its processes wait for
LATE_SECONDS = 60
MONITOR_SECONDS = 2
KERNELS = ("base", "series", "debug", "kcsan")
LOG_TAIL = 40
# The byte before the instruction pointer in the first dump of the code behind the first oops
BYTE_BEFORE = re.compile(r"Oops: int3: [^\n]*\[#1\](?:(?!Code:).)*Code: [0-9a-f ]*([0-9a-f]{2}) <",
                         re.DOTALL)
BREAKPOINT = "cc"
LOST_TO_EMULATOR = "it met a breakpoint that its kernel had removed"
PR_SET_PDEATHSIG = 1
BEGIN_LINE = re.compile(rb"begin ([1-6]\d\d)\n")
STATUS_LINES = re.compile(BEGIN_LINE.pattern + rb"exit (\d{1,3}) taint (\d+)\n")
TAINT_WARN = 1 << 9
# What the guest's command sees of the caller's environment, apart from fixed values.
PASSED_VARIABLES = ("TERM", "CCACHE_DIR")

# Why each boot parameter is there:
#   panic, oops       a broken kernel stops at once; -no-reboot turns that into QEMU's exit
#   nokaslr           addresses in logs and counts repeat from boot to boot
#   rcu_expedited     grace periods of milliseconds at boot and in every BPF detach
#   rcu/hung/softlockup   an emulated CPU is 20-50 times slower than a real one
#   perf_cpu_time     slow sampling must not lower the sampling rate
#   kunit.enable      suites run only on request (--kunit)
#   devkmsg           everything written to /dev/kmsg reaches the log
#   no_timer_check    the check burns guest time and can fail when the host is busy
BOOT = """console=ttyS0 loglevel=7 panic=-1 oops=panic nokaslr no_timer_check
    rcupdate.rcu_expedited=1 rcupdate.rcu_cpu_stall_timeout=100 rcupdate.rcu_task_stall_timeout=0
    sysctl.kernel.hung_task_timeout_secs=300 sysctl.kernel.watchdog_thresh=60
    sysctl.kernel.perf_event_paranoid=-1 sysctl.kernel.kptr_restrict=0
    sysctl.kernel.perf_cpu_time_max_percent=0
    printk.devkmsg=on random.trust_cpu=on"""


class Refused(Exception):
    """The run cannot start; the text says what is wrong and what to do."""


@dataclass
class Share:
    tag: str
    path: Path
    writable: bool


@dataclass
class Outcome:
    """Whether a guest's command began, whether the emulator crashed, and how the guest ended: by
    one of the others, status when nothing went wrong."""

    status: int | None = None
    taint: int = 0
    began: bool = False
    crashed: bool = False
    stuck: bool = False
    timed_out: bool = False
    interrupted: bool = False
    complaint: str = ""


@dataclass
class Guest:
    """One virtual machine, its directory and its channels."""

    args: argparse.Namespace
    accel: str
    dir: Path
    timeout: float
    channels: dict[str, socket.socket] = field(default_factory=dict)
    guest_ends: list[socket.socket] = field(default_factory=list)

    @property
    def console(self) -> Path:
        return self.dir / "console.log"

    def log(self) -> str:
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    @property
    def boot_seconds(self) -> float:
        """In which the command has to begin; KUnit's suites run before it."""
        if self.accel == "kvm" or self.args.kunit:
            return math.inf
        seconds = BOOT_SECONDS * (3 if self.args.kernel in ("debug", "kcsan") else 1)
        # Soon enough to boot again, instead of a guest without a command at the deadline.
        return min(seconds, max(self.timeout / 2, MIN_BOOT_SECONDS)) if self.timeout else seconds

    @property
    def late_seconds(self) -> float:
        """After which the guest says what it waits for; 0 is never."""
        # Guest time is not the deadline's time where it counts instructions.
        return max(self.timeout - LATE_SECONDS, self.timeout / 2) if not self.args.icount else 0

    def channel(self, name: str) -> int:
        """A new channel; returns the descriptor for QEMU's end."""
        ours, theirs = socket.socketpair()
        self.channels[name] = ours
        self.guest_ends.append(theirs)
        return theirs.fileno()

    def shares(self) -> list[Share]:
        dirs = [REPO, *self.args.dir]
        writable = [Share(f"dir{i}", path, True) for i, path in enumerate(dict.fromkeys(dirs))]
        return [Share("/dev/root", Path("/"), False), Share("run", self.dir, False), *writable]

    def write_inputs(self) -> None:
        """Files that vm/init reads from the share `run`."""
        writable = [s for s in self.shares() if s.writable]
        # An outer directory has to be mounted before one inside it.
        writable.sort(key=lambda s: len(s.path.parts))
        (self.dir / "fstab").write_text(fstab(writable))
        (self.dir / "shares").write_text("".join(f"{s.path}\n" for s in reversed(writable)))
        (self.dir / "mode").write_text("tty\n" if self.args.interactive else "pipe\n")
        (self.dir / "late").write_text(f"{self.late_seconds:.0f}\n")
        (self.dir / "command").write_text(command_script(self.args))

    def qemu(self) -> list[str]:
        args = self.args
        cmd = [QEMU, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"]
        cmd += ["-machine", "q35,smbus=off,sata=off,usb=off,hpet=" + ("off" if args.icount else "on")]
        cmd += ["-m", args.mem, "-smp", str(args.smp)]
        if self.accel == "kvm":
            cmd += ["-accel", "kvm", "-cpu", "host"]
        else:
            # Five levels of page tables make every emulated TLB miss slower.
            cmd += ["-cpu", "max,la57=off"]
            if args.icount:
                cmd += ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]
            else:
                cmd += ["-accel", "tcg,thread=multi"]
        cmd += ["-kernel", str(kernel_image(args.kernel)), "-append", self.boot_parameters()]
        cmd += ["-chardev", f"file,id=console,path={self.console}", "-serial", "chardev:console"]
        # First of the virtio devices, so that its ports are /dev/vport0p* in the guest.
        cmd += ["-device", "virtio-serial-pci,max_ports=8"]
        if args.interactive:
            cmd += chardev("tty", self.channel("tty")) + ["-device", "virtconsole,nr=0,chardev=tty"]
        ports = {1: "status"}
        ports |= {4: "size"} if args.interactive else {2: "stdout", 3: "stderr"}
        cmd += chardev("monitor", self.channel("monitor")) + ["-mon", "chardev=monitor"]
        for number, name in ports.items():
            cmd += chardev(name, self.channel(name))
            cmd += ["-device", f"virtserialport,nr={number},chardev={name},name={name}"]
        for index, share in enumerate(self.shares()):
            cmd += share_options(index, share)
        return cmd

    def boot_parameters(self) -> str:
        parameters = BOOT.split()
        parameters += ["root=/dev/root", "rootfstype=9p", "ro", f"init={HERE}/init",
                       "rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=loose"]
        if self.args.kunit:
            parameters += ["kunit.enable=1", f"kunit.filter_glob={self.args.kunit}"]
        if self.args.icount:
            # QEMU's time stamp counter then counts instructions at 1 GHz; a
            # measured frequency would be off by some ppm.
            parameters += ["tsc=reliable", "tsc_early_khz=1000000", "clocksource=tsc", "pmtmr=0"]
        return " ".join(parameters + self.args.append)

    def run(self) -> Outcome:
        self.write_inputs()
        cmd = self.qemu()
        (self.dir / "qemu").write_text(shlex.join(cmd) + "\n")
        with subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=(self.dir / "qemu.log").open("wb"), start_new_session=True,
                              pass_fds=[s.fileno() for s in self.guest_ends],
                              preexec_fn=die_with_parent) as process:
            for end in self.guest_ends:
                end.close()
            try:
                outcome = Pump(self, process).run()
                outcome.crashed = process.poll() in EMULATOR_CRASHES
                if outcome.timed_out or outcome.stuck:
                    self.save_registers()
            finally:
                process.kill()
        if outcome.status is None and not outcome.complaint:
            outcome.complaint = self.qemu_complaint()
        return outcome

    def save_registers(self) -> None:
        """Where each CPU stands, and its timer, go to the file `registers`: a guest whose timers are
        dead says nothing itself."""
        monitor = self.channels["monitor"]
        questions = ["info registers -a", *(f"info lapic {cpu}" for cpu in range(self.args.smp))]
        with contextlib.suppress(OSError), (self.dir / "registers").open("wb") as out:
            monitor.sendall("".join(f"{question}\n" for question in questions).encode())
            monitor.settimeout(MONITOR_SECONDS)
            while data := monitor.recv(65536):
                out.write(data)

    def qemu_complaint(self) -> str:
        text = (self.dir / "qemu.log").read_text(errors="replace").strip()
        return text.splitlines()[-1].rstrip(".") if text else ""


def die_with_parent() -> None:
    """In the child: a runner that is killed must not leave its QEMU behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def chardev(name: str, fd: int) -> list[str]:
    return ["-chardev", f"socket,id={name},fd={fd}"]


def share_options(index: int, share: Share) -> list[str]:
    # The environment holds mounts of its own, so inode numbers need remapping.
    path = str(share.path).replace(",", ",,")
    fsdev = f"local,id=fs{index},path={path},security_model=passthrough,multidevs=remap"
    if not share.writable:
        fsdev += ",readonly=on"
    return ["-fsdev", fsdev, "-device", f"virtio-9p-pci,fsdev=fs{index},mount_tag={share.tag}"]


def fstab_escape(path: str) -> str:
    """As fstab(5) has blanks in a path."""
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in path)


def fstab(writable: list[Share]) -> str:
    """What is mounted below /mnt/new, in this order."""
    lines = [
        "proc proc proc nosuid,nodev,noexec",
        "sysfs sys sysfs nosuid,nodev,noexec",
        "devtmpfs dev devtmpfs mode=755",
        "devpts dev/pts devpts gid=5,mode=620,ptmxmode=666,X-mount.mkdir",
        "tmpfs dev/shm tmpfs mode=1777,X-mount.mkdir",
        "mqueue dev/mqueue mqueue X-mount.mkdir",
        "tmpfs tmp tmpfs mode=1777",
        "debugfs sys/kernel/debug debugfs defaults",
        "tracefs sys/kernel/tracing tracefs defaults",
        "tracefs sys/kernel/debug/tracing tracefs defaults",
        "bpf sys/fs/bpf bpf mode=700",
        "cgroup2 sys/fs/cgroup cgroup2 defaults",
    ]
    # cache=mmap: no caching but for shared mappings, so host and guest agree.
    nine = "trans=virtio,version=9p2000.L,msize=512000,cache=mmap,X-mount.mkdir"
    lines += [f"{s.tag} {fstab_escape(str(s.path).lstrip('/'))} 9p {nine}" for s in writable]
    out = []
    for line in lines:
        what, where, rest = line.split(" ", 2)
        out.append(f"{what} /mnt/new/{where} {rest} 0 0\n")
    return "".join(out)


def command_script(args: argparse.Namespace) -> str:
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "LINUX_STACKS_ENV": "1",
        "LINUX_STACKS_GUEST": args.kernel,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    variables |= {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    lines.append(f"cd {shlex.quote(os.getcwd())} || exit 127")
    if args.interactive:
        size = os.get_terminal_size(0)
        lines.append(f"stty rows {size.lines} cols {size.columns}")
    lines.append(f"exec {shlex.join(args.command)}")
    return "\n".join(lines) + "\n"


class Pump:
    """Moves bytes between the guest's channels and our descriptors until the guest ends."""

    def __init__(self, guest: Guest, process: subprocess.Popen[bytes]) -> None:
        self.guest = guest
        self.process = process
        self.outcome = Outcome()
        self.status = b""
        self.sinks = {"stdout": 1, "stderr": 2, "tty": 1}
        self.start = time.monotonic()
        self.deadline = self.start + (guest.timeout or math.inf)
        self.boot_deadline = self.start + guest.boot_seconds
        self.wake_read, self.wake_write = os.pipe()
        self.watch = watch.Watch(guest.args.smp)
        # KVM has no such fault, and a stopped clock no real time.
        watched = guest.accel == "tcg" and not guest.args.icount
        self.next_look = self.start + watch.LOOK_SECONDS if watched else math.inf

    def run(self) -> Outcome:
        os.set_blocking(self.wake_write, False)
        previous = {s: signal.signal(s, self.on_signal) for s in
                    (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)}
        saved = termios.tcgetattr(0) if self.guest.args.interactive else None
        try:
            if saved:
                # What was typed ahead belongs to the guest: no flush.
                tty.setraw(0, termios.TCSADRAIN)
            self.loop()
        finally:
            if saved:
                termios.tcsetattr(0, termios.TCSADRAIN, saved)
            for number, handler in previous.items():
                signal.signal(number, handler)
        self.read_status()
        return self.outcome

    def on_signal(self, number: int, _frame: object) -> None:
        if number == signal.SIGWINCH:
            if self.guest.args.interactive:
                size = os.get_terminal_size(0)
                self.guest.channels["size"].send(f"{size.lines} {size.columns}\n".encode())
            return
        self.outcome.interrupted = True
        os.write(self.wake_write, b"!")

    def loop(self) -> None:
        """Ends when QEMU has closed all channels, at the deadline, or on a signal."""
        channels = self.guest.channels
        readers = {channels[name].fileno(): name for name in channels if name not in ("size", "monitor")}
        monitor = channels["monitor"].fileno()
        sources = [*readers, self.wake_read, monitor]
        if "tty" in channels:
            sources.append(0)
        while readers:
            now = time.monotonic()
            if self.next_look <= now:
                self.next_look = now + watch.LOOK_SECONDS
                with contextlib.suppress(OSError):
                    channels["monitor"].sendall(watch.questions(self.guest.args.smp))
            left = min(self.deadline, self.boot_deadline) - now
            if left <= 0:
                self.outcome.timed_out = self.deadline <= self.boot_deadline
                if not self.outcome.timed_out:
                    self.outcome.stuck = True
                    self.outcome.complaint = \
                        f"its command had not begun after {self.guest.boot_seconds:g} seconds"
                return
            left = min(left, self.next_look - now)
            ready, _, _ = select.select(sources, [], [], None if left == math.inf else left)
            if self.outcome.interrupted:
                return
            for fd in ready:
                if fd == 0:
                    self.feed(sources)
                elif fd == monitor:
                    if self.listen(sources, monitor):
                        return
                elif fd in readers and not self.forward(fd, readers[fd]):
                    del readers[fd]
                    sources.remove(fd)
        self.process.wait()

    def feed(self, sources: list[int]) -> None:
        data = os.read(0, 4096)
        if data:
            self.guest.channels["tty"].sendall(data)
        else:
            sources.remove(0)

    def listen(self, sources: list[int], monitor: int) -> bool:
        """Whether what the monitor says proves that the emulator has lost the guest."""
        try:
            data = os.read(monitor, 65536)
        except ConnectionResetError:
            data = b""
        if not data:
            sources.remove(monitor)
        self.outcome.complaint = self.watch.answer(data)
        self.outcome.stuck = bool(self.outcome.complaint)
        return self.outcome.stuck

    def forward(self, fd: int, name: str) -> bool:
        """Pass on one piece; False at the end of the channel."""
        try:
            data = os.read(fd, 65536)
        except ConnectionResetError:
            return False
        if name == "status":
            self.status += data
            if not self.outcome.began and (begin := BEGIN_LINE.match(self.status)):
                self.command_begins(int(begin[1]) / 100)
        elif data:
            self.write(self.sinks[name], data)
        return bool(data)

    def command_begins(self, slow: float) -> None:
        """On a machine that takes SLOW times as long as the one that limits are made for."""
        self.outcome.began = True
        self.boot_deadline = math.inf
        self.guest.timeout *= slow
        self.deadline = self.start + (self.guest.timeout or math.inf)

    def write(self, fd: int, data: bytes) -> None:
        while data and not self.outcome.interrupted:
            try:
                data = data[os.write(fd, data):]
            except BlockingIOError:
                select.select([], [fd], [])
            except BrokenPipeError:
                # Nobody reads on: end as a program ended by SIGPIPE would.
                self.outcome.interrupted = True

    def read_status(self) -> None:
        if self.outcome.timed_out or self.outcome.stuck or self.outcome.interrupted:
            return
        match = STATUS_LINES.fullmatch(self.status)
        if match:
            self.outcome.status = int(match[2])
            self.outcome.taint = int(match[3])
        elif self.status and not BEGIN_LINE.fullmatch(self.status):
            self.outcome.complaint = f"garbage instead of a status: {self.status[:80]!r}"


def kernel(word: str) -> str:
    if word not in KERNELS and "/" not in word:
        raise argparse.ArgumentTypeError(f"{word}: neither {', '.join(KERNELS)} nor a path")
    return word


def kernel_image(name: str) -> Path:
    """The ELF image where it works: it starts without being unpacked first."""
    # The entry for ELF images runs instrumented code before KASAN has its shadow memory.
    image = "arch/x86/boot/bzImage" if name == "debug" else "vmlinux"
    path = Path(name) if "/" in name else REPO / ".build" / "obj" / name / image
    if path.exists():
        return path
    if "/" in name:
        raise Refused(f"{name}: no such file")
    raise Refused(f"kernel {name}: not built; run dev/kernel {name}")


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def make_run_dir() -> Path:
    """A new directory for this run; old ones of ended runs are dropped."""
    RUNS.mkdir(parents=True, exist_ok=True)
    runs = sorted(path for path in RUNS.glob("2*-*-*") if path.is_dir())
    for old in runs[:-KEEP_RUNS]:
        if not is_alive(int(old.name.split("-")[2])):
            shutil.rmtree(old, ignore_errors=True)
    name = time.strftime("%Y%m%d-%H%M%S") + f"-{os.getpid()}"
    # A probe for KVM or a lost boot may have taken the name within the same second.
    for run_dir in (RUNS / name, *(RUNS / f"{name}-{n + 1}" for n in range(1, BOOTS + 1))):
        with contextlib.suppress(FileExistsError):
            run_dir.mkdir()
            return run_dir
    raise Refused(f"{RUNS / name}: exists; remove it")


def say(text: str) -> None:
    print(f"vm/run: {text}", file=sys.stderr, flush=True)


def probe_kvm(args: argparse.Namespace) -> str:
    """Empty when KVM boots our kernel, else why not. A device that exists proves nothing."""
    if not os.access(KVM_DEVICE, os.R_OK | os.W_OK):
        return f"no usable {KVM_DEVICE}"
    probe = argparse.Namespace(**vars(args))
    probe.command, probe.interactive, probe.kunit, probe.dir, probe.append = ["true"], False, "", [], []
    guest = Guest(probe, "kvm", make_run_dir(), KVM_PROBE_SECONDS)
    outcome = guest.run()
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.status == 0:
        return ""
    if outcome.timed_out:
        return f"a guest under KVM did not end within {KVM_PROBE_SECONDS} seconds"
    return f"a guest under KVM was lost{': ' + outcome.complaint if outcome.complaint else ''}"


def choose_accel(args: argparse.Namespace) -> str:
    """kvm only where it has booted this machine's guest once; the answer is kept per boot."""
    if args.icount:
        return "tcg"
    if args.accel != "auto":
        return args.accel
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    RUNS.mkdir(parents=True, exist_ok=True)
    cache = RUNS / f"kvm-{boot}"
    if not cache.exists():
        reason = probe_kvm(args)
        if reason:
            say(f"{reason}; guests are emulated (TCG), which is slower but exact")
        cache.write_text(reason + "\n")
    return "tcg" if cache.read_text().strip() else "kvm"


def show_log(guest: Guest, first: int | None = None) -> None:
    """The end of the kernel log, or LOG_TAIL lines from a splat on."""
    lines = guest.log().splitlines()
    start = max(0, len(lines) - LOG_TAIL) if first is None else max(0, first - 3)
    for line in lines[start:start + LOG_TAIL]:
        print(f"  | {line}", file=sys.stderr)
    say(f"kernel log: {guest.console}")


def emulators_fault(guest: Guest, outcome: Outcome, rules: splat.Rules) -> str:
    """Why a guest that never ran its command is booted again, if for a fault of the emulator.

    The kernel patches its own code at boot: breakpoint, rest, first byte, and waits for all
    CPUs after each. QEMU drops what it has translated of that code before it stores the byte.
    Another emulated CPU that translates in between keeps the breakpoint, runs into it when
    nobody expects it any more, and the kernel stops with "Oops: int3". Or a CPU's timer never
    fires and what waits for it sleeps for ever, which watch.py finds. Or the kernel moves a PCI
    device's registers while another emulated CPU looks at QEMU's map of them, and QEMU breaks an
    assertion. On a loaded machine one boot of a hundred ends so.
    """
    if guest.accel == "kvm" or outcome.began or outcome.interrupted or outcome.timed_out:
        return ""
    log = guest.log()
    splats = rules.scan(log)
    if outcome.crashed or outcome.stuck:
        return "" if splats else outcome.complaint or "the emulator crashed"
    return LOST_TO_EMULATOR if met_removed_breakpoint(log, splats) else ""


def met_removed_breakpoint(log: str, splats: list[splat.Splat]) -> bool:
    """Whether the kernel stopped for a breakpoint which its memory no longer had, see above, and
    had complained of nothing before."""
    match = BYTE_BEFORE.search(log)
    return bool(splats and match) and "Oops: int3:" in splats[0].text and match[1] != BREAKPOINT


def run_guest(args: argparse.Namespace, accel: str, rules: splat.Rules) -> tuple[Guest, Outcome]:
    for attempt in range(BOOTS):
        guest = Guest(args, accel, make_run_dir(), args.timeout)
        outcome = guest.run()
        reason = emulators_fault(guest, outcome, rules)
        if not reason or attempt == BOOTS - 1:
            break
        say(f"guest: {reason}; booting again ({guest.console})")
    return guest, outcome


def judge(guest: Guest, outcome: Outcome, rules: splat.Rules) -> int:
    """The exit status of the whole run; says why when it is not the command's."""
    log = guest.log()
    if outcome.interrupted:
        say("interrupted; the guest has been ended")
        return EXIT_INTERRUPTED
    splats = rules.scan(log)
    if outcome.timed_out:
        say(f"guest: no end within {guest.timeout:g} seconds; killed (--timeout sets the limit)")
        show_log(guest, splats[0].line if splats else None)
        return EXIT_TIMEOUT
    if outcome.status is None:
        if guest.accel != "kvm" and met_removed_breakpoint(log, splats):
            say(f"guest: lost to the emulator: {LOST_TO_EMULATOR}")
        elif outcome.stuck and outcome.began and not splats:
            say(f"guest: lost to the emulator: {outcome.complaint}")
        else:
            say("guest: lost, no exit status came back"
                + (f": {outcome.complaint}" if outcome.complaint else ""))
        show_log(guest, splats[0].line if splats else None)
        return EXIT_LOST
    if splats:
        say(f"guest: the kernel log holds {len(splats)} line(s) that vm/splat.deny forbids, first: "
            f"{splats[0].text.strip()} (the command's own status: {outcome.status})")
        show_log(guest, splats[0].line)
        return EXIT_LOST
    if outcome.taint & TAINT_WARN and "WARNING:" not in log:
        say("guest: the kernel has warned (taint bit W), but the log does not show it")
        show_log(guest)
        return EXIT_LOST
    return outcome.status


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vm/run", description=__doc__,
                                     usage="vm/run [option...] -- COMMAND...",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="series", type=kernel, metavar="NAME",
                        help=f"{', '.join(KERNELS)}, or the path of a vmlinuz")
    parser.add_argument("--icount", action="store_true",
                        help="1 ns of the guest's clock = 1 instruction; emulated, --smp 1 by default")
    parser.add_argument("--smp", type=int, default=None, metavar="N", help="CPUs, 1-64 (default: 2)")
    parser.add_argument("--mem", default="", metavar="M", help="memory (default: 2G; debug: 4G)")
    parser.add_argument("--dir", action="append", default=[], type=Path, metavar="HOSTDIR",
                        help="one more directory, writable at the same path; repeatable")
    parser.add_argument("--timeout", type=float, default=None, metavar="S",
                        help="seconds of real time, more on a slow machine (default: 600; none with "
                             "--interactive)")
    parser.add_argument("--interactive", action="store_true",
                        help="on this terminal; COMMAND defaults to a login shell")
    parser.add_argument("--kunit", default="", metavar="GLOB", help="run these KUnit suites at boot")
    parser.add_argument("--append", action="append", default=[], metavar="PARAM",
                        help="one more kernel parameter; repeatable")
    parser.add_argument("--accel", default="auto", choices=("auto", "kvm", "tcg"),
                        help="auto: KVM where it has booted a guest, else emulation")
    splat.add_list_options(parser)
    parser.add_argument("command", nargs="*", metavar="COMMAND")
    args = parser.parse_args()

    if args.interactive and not os.isatty(0):
        parser.error("--interactive: standard input is not a terminal")
    if not args.command:
        if not args.interactive:
            parser.error("no command; put it after --")
        args.command = ["bash", "-l"]
    if args.smp is None:
        args.smp = 1 if args.icount else 2
    # KASAN's shadow and the checkers' own records take their share.
    args.mem = args.mem or ("4G" if args.kernel == "debug" else "2G")
    if not 1 <= args.smp <= 64:
        parser.error(f"--smp {args.smp}: 1 to 64 CPUs")
    if not re.fullmatch(r"\d+[MG]", args.mem):
        parser.error(f"--mem {args.mem}: a number with M or G")
    if args.timeout is None:
        args.timeout = 0 if args.interactive else 600
    args.dir = [path.resolve() for path in args.dir]
    for path in args.dir:
        if not path.is_dir():
            parser.error(f"--dir {path}: no such directory")
    return args


def main() -> int:
    args = parse_arguments()
    try:
        kernel_image(args.kernel)
        if not shutil.which(QEMU):
            raise Refused(f"{QEMU}: not found; run dev/env setup")
        rules = splat.Rules.load(args.deny, args.allow)
        return judge(*run_guest(args, choose_accel(args), rules), rules)
    except Refused as err:
        say(str(err))
        return EXIT_USAGE
    except splat.ListError as err:
        say(str(err))
        return EXIT_LOST
    except KeyboardInterrupt:
        say("interrupted")
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
