# SPDX-License-Identifier: GPL-2.0
"""The kernel's git tree: the base, and a commit for each step of the series.

.build/linux, whose root commit is the base (tag `base`) and whose branch `series` has one
commit per step. Commits are made in a temporary index, so a failed build changes nothing.

Environment variables (for the tests; inside the environment of dev/env):
  LINUX_STACKS_REPO          the repository            (default: the parent of dev/)
  LINUX_STACKS_BUILD         generated files           (default: <repository>/.build)
  LINUX_STACKS_BASE_TAR      tarball of the base       (default: /usr/src/<package>.tar.xz)
  LINUX_STACKS_BASE_VERSION  version of that tarball   (default: what dpkg-query says)
"""

import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from git import EMAIL, NAME, Git
from import_base import import_tarball
from repository import Repository, Step, hunk_at, patch_heads
from tool import Failure, say

BUILT = "refs/built/series"  # the commit that dev/tree or dev/capture made last
REPOSITORY = "refs/built/repository"  # the repository's state, where the two sides diverged


class Tree:
    """.build/linux: the base, the steps, and the work tree."""

    def __init__(self) -> None:
        root = os.environ.get("LINUX_STACKS_REPO") or Path(__file__).resolve().parent.parent
        self.repo = Repository(Path(root))
        self.build = Path(os.environ.get("LINUX_STACKS_BUILD") or self.repo.root / ".build")
        self.path = self.build / "linux"
        self.git = Git(self.path)
        self.package, self.tested, self.replaced = self.repo.base()
        self.tar = Path(
            os.environ.get("LINUX_STACKS_BASE_TAR") or f"/usr/src/{self.package}.tar.xz"
        )

    def lock(self, name: str = "linux") -> IO[str]:
        """One tool at a time on .build/<name>; the lock ends with the process."""
        self.build.mkdir(parents=True, exist_ok=True)
        handle = open(self.build / f"{name}.lock", "w")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another dev/ tool works on .build/{name}; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        return handle

    # -- the base ---------------------------------------------------------

    def installed(self) -> str:
        """The version of the base that the environment has."""
        if version := os.environ.get("LINUX_STACKS_BASE_VERSION"):
            return version
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", self.package],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not done.stdout:
            raise Failure(
                f"{self.package}: not installed; it is in dev/packages: run dev/env setup"
            )
        return done.stdout

    def base_ref(self, version: str) -> str:
        """Where the import of a version is remembered; refs cannot hold ~ and :."""
        return "refs/import/" + re.sub(r"[^A-Za-z0-9.+-]", "_", version).replace("..", "_")

    def import_base(self) -> str:
        """The commit of the installed base, imported unless that was done before."""
        version = self.installed()
        if version != self.tested:
            say(
                f"warning: the base is {self.package} {version}; the series was tested on {self.tested}"
            )
        if self.path.exists():
            if self.git.try_run("rev-parse", "--verify", "--quiet", "base").returncode:
                raise Failure(
                    f"{self.path}: no git work tree with a tag base; remove it and run dev/tree"
                )
            if commit := self.git.commit_of(self.base_ref(version)):
                return commit
            return self._import(self.git, version)

        partial = self.build / "linux.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        git = Git(partial)
        git("init", "--quiet", "--initial-branch=series")
        for key, value in {
            "user.name": NAME,
            "user.email": EMAIL,
            "core.untrackedCache": "true",
            "feature.manyFiles": "true",
            "checkout.workers": "0",
            "core.hooksPath": "/dev/null",
            "advice.detachedHead": "false",
        }.items():
            git("config", key, value)
        commit = self._import(git, version)
        git("tag", "base", commit)
        say("writing the work tree .build/linux")
        git("reset", "--quiet", "--hard", commit)
        git("update-ref", BUILT, commit)
        partial.rename(self.path)
        return commit

    def _import(self, git: Git, version: str) -> str:
        return import_tarball(
            git, self.tar, f"{self.package} {version}", self.package, self.base_ref(version)
        )

    def work_tree(self, name: str, commit: str) -> Git:
        """.build/<name>: one more work tree of .build/linux, made if it is not there."""
        path, partial = self.build.resolve() / name, self.build.resolve() / f"{name}.partial"
        git = Git(path)
        if not (path / ".git").exists():
            for rest in (path, partial):
                shutil.rmtree(rest, ignore_errors=True)
            self.git("worktree", "prune")
            say(f"writing the work tree .build/{name}")
            self.git("worktree", "add", "--quiet", "--force", "--detach", str(partial), commit)
            self.git("worktree", "move", str(partial), str(path))
        elif not git.commit_of("HEAD"):
            # The repository was moved: the links between the work trees are absolute.
            self.git("worktree", "repair", str(path))
        return git

    # -- the steps --------------------------------------------------------

    def commit_steps(self, base: str) -> list[tuple[Step, str]]:
        """Make the commits; no ref, index or file of the work tree changes."""
        steps = self.repo.steps()
        files = self.git.files_of(base)
        folders = {path.split("/")[0] for path in files if "/" in path}
        self.repo.owners(steps, folders)
        self._check_replaced(steps, files)
        done = []
        parent = base
        with tempfile.TemporaryDirectory(dir=self.build, prefix="index.") as scratch:
            index = os.path.join(scratch, "index")
            self.git("read-tree", base, GIT_INDEX_FILE=index)
            for step in steps:
                self._apply(step, files, index)
                self._add_files(step, index)
                tree = self.git("write-tree", GIT_INDEX_FILE=index)
                parent = self.git(
                    "commit-tree", tree, "-p", parent, data=step.message.strip().encode() + b"\n"
                )
                done.append((step, parent))
        return done

    def _check_replaced(self, steps: list[Step], files: dict[str, str]) -> None:
        for step in steps:
            for path in step.files:
                if path not in files:
                    continue
                have = hashlib.sha256(self.git.raw("cat-file", "blob", files[path])).hexdigest()
                if path not in self.replaced:
                    raise Failure(
                        f"{path}: exists in the base; make it a hunk of series/{step.name}/edit.patch, "
                        f"or list it in 'base': sha256 {have} {path}"
                    )
                if self.replaced[path] != have:
                    raise Failure(
                        f"{path}: the base's file changed (sha256 {have}, 'base' has {self.replaced[path]}); "
                        "take its changes into the overlay file, then update 'base'"
                    )

    def _apply(self, step: Step, files: dict[str, str], index: str) -> None:
        if not step.patch:
            return
        where = f"series/{step.name}/edit.patch"
        text = step.patch.decode(errors="replace")
        for path, head in patch_heads(text):
            for line in ("new file", "rename from", "copy from"):
                if f"\n{line}" in head:
                    raise Failure(
                        f"{where}: {path}: '{line}': a patch edits or deletes base files; new files are overlay"
                    )
            if path not in files:
                raise Failure(f"{where}: {path}: not in the base {self.package}; did it move?")
        done = self.git.try_run(
            "apply", "--cached", "--whitespace=nowarn", "-", data=step.patch, GIT_INDEX_FILE=index
        )
        if done.returncode == 0:
            return
        report = done.stderr.decode(errors="replace")
        for path, line in re.findall(r"^error: patch failed: (.*):(\d+)$", report, re.M):
            undone = self.git.try_run(
                "apply",
                "--cached",
                "--check",
                "-R",
                f"--include={path}",
                "-",
                data=step.patch,
                GIT_INDEX_FILE=index,
            )
            why = (
                "the base has this change already; drop the hunk"
                if undone.returncode == 0
                else "the base differs here; repeat the edit on it"
            )
            raise Failure(
                f"{where}: {path}:{line}: hunk does not apply: {why}. Rejected hunk:\n"
                + hunk_at(text, path, int(line))
            )
        raise Failure(f"{where}: does not apply: {report.strip()}")

    def _add_files(self, step: Step, index: str) -> None:
        entries = []
        for path in step.files:
            full = self.repo.root / path
            info = os.lstat(full)
            if stat.S_ISLNK(info.st_mode):
                mode, data = "120000", os.fsencode(os.readlink(full))
            else:
                mode = "100755" if info.st_mode & stat.S_IXUSR else "100644"
                data = full.read_bytes()
            blob = self.git("hash-object", "-w", "--stdin", data=data)
            entries.append(f"{mode} {blob}\t{path}\n")
        if entries:
            self.git(
                "update-index", "--index-info", data="".join(entries).encode(), GIT_INDEX_FILE=index
            )

    # -- the work tree ----------------------------------------------------

    def state(self) -> str | None:
        """Why the work tree must not be replaced, or None."""
        if self.git("rev-parse", "--symbolic-full-name", "HEAD") != "refs/heads/series":
            return "another branch than 'series' is checked out, or a rebase is under way; finish it or git checkout series"
        changed = self.git("status", "--porcelain", "--untracked-files=no")
        if changed:
            first = changed.splitlines()
            return f"{len(first)} uncommitted changes ({first[0].split()[-1]}{', …' if first[1:] else ''}); commit and dev/capture them"
        built = self.git.commit_of(BUILT)
        head = self.git.commit_of("series")
        if built != head:
            number = self.git("rev-list", "--count", f"{built}..{head}")
            return f"{number} commits on branch series are not captured; run dev/capture"
        return None

    def move_to(self, base: str, tip: str) -> None:
        """Point branch, tag and work tree at the commits; same files stay untouched."""
        self.git("update-index", "-q", "--refresh")
        self.git("read-tree", "-m", "-u", "HEAD", tip)
        self.git("update-ref", "refs/heads/series", tip)
        self.git("update-ref", BUILT, tip)
        self.git("update-ref", "refs/tags/base", base)
