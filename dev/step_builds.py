# SPDX-License-Identifier: GPL-2.0
"""Build the kernel after each step that changes it, in several configurations, and each
program in the step that adds or changes it."""

import hashlib
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import configs
from git import Git
from linux_tree import Tree
from repository import Step
from tool import Failure, say

# vmlinux is built from nothing in these.
OUTSIDE = (
    "Documentation/",
    "MAINTAINERS",
    "samples/",
    "tools/bpf/bpftool/",
    "tools/perf/",
    "tools/testing/",
)

# How the programs in a directory are built: shell, in the source of the step, with the
# variables DIR, OUT, which is empty, and REPO. A file of a later step is not there yet.
# What takes long keeps its objects elsewhere.
PROGRAMS = {
    "samples/bpf/offwaketime": 'make -s -C "$DIR" O="$OUT" tests',
    "tools/bpf/bpftool": 'make -s -C "$DIR" OUTPUT="$OUT/" LLVM_STRIP=true',
    "tools/perf": '"$REPO/dev/perf" steps',
    "tools/testing/selftests/bpf": """
[ -e "$REPO/.build/obj/series/vmlinux" ] || "$REPO/dev/kernel" series
export KERNEL=steps OUT="$REPO/.build/test/bpf-selftests"
"$REPO/test/bpf/build"
[ ! -e "$DIR/benchs/bench_stackmap.c" ] || "$REPO/test/bpf/build" bench
""",
    "tools/testing/selftests/stackmap": 'make -s -C "$DIR" OUTPUT="$OUT"',
    "tools/testing/selftests/unwind": 'make -s -C "$DIR" OUTPUT="$OUT"',
    "tools/testing/sframe": """
make -s -C "$DIR" O="$OUT" all
[ ! -e "$DIR/fuzz.c" ] || make -s -C "$DIR" O="$OUT" fuzz-build
""",
    "tools/testing/stack_table": """
make -s -C "$DIR" O="$OUT" all
[ ! -e "$DIR/scale.c" ] || make -s -C "$DIR" O="$OUT" "$OUT/scale" "$OUT/scale_lines"
""",
}


class Build:
    """Something that is built after a step; the commits that have been built are remembered."""

    def __init__(self, tree: Tree, source: Git, what: str, name: str, recipe: str):
        self.what, self.source, self.repo = what, source, tree.repo.root.resolve()
        self.out = (tree.build / "obj" / f"steps-{name}").resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        # The commits that have been built so, one a line
        self.built = self.out.with_suffix("." + hashlib.sha256(recipe.encode()).hexdigest()[:16])
        self.log = tree.build / "log" / f"export-build-{name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)

    def has_built(self, commit: str) -> bool:
        return self.built.exists() and commit in self.built.read_text().splitlines()

    def build(self, commit: str) -> float:
        """The seconds that it took, or a failure with the compiler's first complaint."""
        begin = time.monotonic()
        self.log.write_text("")
        if not self.make():
            raise Failure(f"{self._finding()} (whole log: {self.log})")
        with self.built.open("a") as built:
            built.write(commit + "\n")
        return time.monotonic() - begin

    def make(self) -> bool:
        raise NotImplementedError

    def run(self, *command: str, **environment: str) -> bool:
        # No object is compiled twice: ccache would only read the source once more.
        environment = {**os.environ, "CCACHE_DISABLE": "1", **environment}
        with open(self.log, "a") as log:
            done = subprocess.run(
                ("nice", *command),
                cwd=self.source.work,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        return done.returncode == 0

    def _finding(self) -> str:
        for line in self.log.read_text(errors="replace").splitlines():
            if re.search(r"error|undefined reference|Error \d", line):
                return line.strip()
        return "see the log"


class Kernel(Build):
    """A configuration, in an object directory of its own: make stays incremental."""

    def __init__(self, tree: Tree, source: Git, wanted: configs.Configuration):
        super().__init__(tree, source, f"options {wanted.name}", wanted.name, wanted.fragment)
        self.wanted = wanted

    def is_due(self, changed: list[str]) -> bool:
        return not all(path.startswith(OUTSIDE) for path in changed)

    def make(self) -> bool:
        if not self._make("tinyconfig"):
            return False
        # make passes over the options of later steps, which are not there yet.
        with open(self.out / ".config", "a") as config:
            config.write(self.wanted.fragment)
        return self._make("olddefconfig") and self._make(*self.wanted.make)

    def _make(self, *targets: str) -> bool:
        arch = f"ARCH={self.wanted.arch}"
        return self.run("make", "-s", arch, "-j2", f"O={self.out}", *targets)


class Program(Build):
    """The programs in a directory."""

    def __init__(self, tree: Tree, source: Git, path: str):
        super().__init__(tree, source, path, path.replace("/", "-"), PROGRAMS[path])
        self.path = path

    def is_due(self, changed: list[str]) -> bool:
        return any(path.startswith(self.path + "/") for path in changed)

    def make(self) -> bool:
        script = f'set -e; rm -rf "$OUT"; mkdir "$OUT"\n{PROGRAMS[self.path]}'
        return self.run("sh", "-c", script, DIR=self.path, OUT=str(self.out), REPO=str(self.repo))


def kernels(tree: Tree) -> list[configs.Configuration]:
    """The configurations that are built after each step."""
    return [each for each in configs.load(tree.repo.root / "series").values() if each.steps]


def all_names(tree: Tree) -> list[str]:
    """What can be built: configurations, and all programs."""
    return [*(each.name for each in kernels(tree)), "programs"]


def build_steps(tree: Tree, steps: list[tuple[Step, str]], names: list[str]) -> None:
    """All that is due after a step at once: most of a small step's time is make's, on one CPU.

    What an earlier run has built is not built again.
    """
    source = tree.work_tree("linux-steps", tree.git("rev-parse", "base"))
    builds = [Kernel(tree, source, each) for each in kernels(tree) if each.name in names]
    if "programs" in names:
        builds += [Program(tree, source, path) for path in PROGRAMS]
    total = {"kernel": 0, "programs": 0}
    with ThreadPoolExecutor(max(1, len(builds))) as pool:
        for number, (step, commit) in enumerate(steps, 1):
            changed = tree.git("diff", "--name-only", "--no-renames", f"{commit}^", commit)
            due = [each for each in builds if each.is_due(changed.splitlines())]
            total["kernel"] += any(isinstance(each, Kernel) for each in due)
            total["programs"] += any(isinstance(each, Program) for each in due)
            missing = [each for each in due if not each.has_built(commit)]
            if missing:
                source("checkout", "--quiet", "--force", "--detach", commit)
            running = [(each, pool.submit(each.build, commit)) for each in missing]
            for each, future in running:
                try:
                    seconds = future.result()
                except Failure as error:
                    raise Failure(
                        f"step '{step.name}' does not build, {each.what}: {error}"
                    ) from None
                say(f"build: step {number}/{len(steps)} {step.name}, {each.what}: {seconds:.0f} s")
    print(
        f"build: of {len(steps)} steps, {total['kernel']} change the kernel and "
        f"{total['programs']} programs; all build ({', '.join(names)})"
    )
