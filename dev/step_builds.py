# SPDX-License-Identifier: GPL-2.0
"""Build the kernel after each step of the series, in several configurations."""

import hashlib
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from git import Git
from linux_tree import Tree
from repository import Step
from tool import Failure, say

# The configurations: fragments below series/, on top of x86_64 tinyconfig. No kernel of
# dev/kernel has perf without BPF, as "on" has.
CONFIGURATIONS = {"off": [], "on": ["build.config"], "bpf": ["build.config", "build-bpf.config"]}

# vmlinux is built from nothing in these.
OUTSIDE = (
    "Documentation/",
    "MAINTAINERS",
    "samples/",
    "tools/bpf/bpftool/",
    "tools/perf/",
    "tools/testing/",
)


class Configuration:
    """vmlinux of one configuration, in an object folder of its own: make stays incremental."""

    def __init__(self, tree: Tree, source: Git, name: str):
        self.name = name
        self.source = source
        series = tree.repo.root / "series"
        self.fragments = [(series / fragment).resolve() for fragment in CONFIGURATIONS[name]]
        for fragment in self.fragments:
            if not fragment.exists():
                raise Failure(f"{fragment}: missing; list the options, CONFIG_...=y, one a line")
        self.out = (tree.build / "obj" / f"steps-{name}").resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        options = "".join(fragment.read_text() for fragment in self.fragments)
        # The commits that have been built with these options, one a line
        self.built = self.out / f"built-{hashlib.sha256(options.encode()).hexdigest()[:16]}"
        self.log = tree.build / "log" / f"export-build-{name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)

    def has_built(self, commit: str) -> bool:
        return self.built.exists() and commit in self.built.read_text().splitlines()

    def build(self, commit: str) -> float:
        """The seconds that it took, or a failure with the compiler's first complaint."""
        begin = time.monotonic()
        self.log.write_text("")
        if not (self._configure() and self._make("vmlinux")):
            raise Failure(f"{self._finding()} (whole log: {self.log})")
        with self.built.open("a") as built:
            built.write(commit + "\n")
        return time.monotonic() - begin

    def _configure(self) -> bool:
        if not self.fragments:
            return self._make("tinyconfig")
        # Options of later steps are not there yet: merge_config's remarks on them are for the log.
        merge = ["scripts/kconfig/merge_config.sh", "-m", "-Q", "-O", str(self.out)]
        merge += [str(self.out / ".config"), *map(str, self.fragments)]
        return self._make("tinyconfig") and self._run(*merge) and self._make("olddefconfig")

    def _make(self, target: str) -> bool:
        return self._run("nice", "make", "-s", "ARCH=x86_64", "-j2", f"O={self.out}", target)

    def _run(self, *command: str) -> bool:
        # No object is compiled twice: ccache would only read the source once more.
        environment = {**os.environ, "CCACHE_DISABLE": "1"}
        with open(self.log, "a") as log:
            done = subprocess.run(
                command,
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


def changes_vmlinux(tree: Tree, commit: str) -> bool:
    changed = tree.git("diff", "--name-only", "--no-renames", f"{commit}^", commit)
    return not all(path.startswith(OUTSIDE) for path in changed.splitlines())


def build_steps(tree: Tree, steps: list[tuple[Step, str]], names: list[str]) -> None:
    """All configurations of a step at once: most of a small step's time is make's, on one CPU.

    What an earlier run has built is not built again.
    """
    source = tree.work_tree("linux-steps", tree.git("rev-parse", "base"))
    configurations = [Configuration(tree, source, name) for name in names]
    built = 0
    with ThreadPoolExecutor(len(configurations)) as pool:
        for number, (step, commit) in enumerate(steps, 1):
            if not changes_vmlinux(tree, commit):
                continue
            built += 1
            missing = [each for each in configurations if not each.has_built(commit)]
            if missing:
                source("checkout", "--quiet", "--force", "--detach", commit)
            running = [(each, pool.submit(each.build, commit)) for each in missing]
            for configuration, future in running:
                try:
                    seconds = future.result()
                except Failure as error:
                    raise Failure(
                        f"step '{step.name}' does not build with its options "
                        f"{configuration.name}: {error}"
                    ) from None
                say(
                    f"build: step {number}/{len(steps)} {step.name}, "
                    f"options {configuration.name}: {seconds:.0f} s"
                )
    print(
        f"build: {built} of {len(steps)} steps change the kernel; it builds after each, "
        f"options {', '.join(names)}"
    )
