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
from typing import IO, Iterable

from git import EMAIL, NAME, Git
from import_base import import_tarball
from repository import Repository, Step, hunk_at
from tool import Failure, say

BUILT = "refs/built/series"  # the commit that dev/tree or dev/capture made last
REPOSITORY = "refs/built/repository"  # the repository's state, where the two sides diverged

REMEDY = (
    "undo your change to the file, make it in the right commit of .build/linux instead, "
    "and run dev/capture"
)


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
        owner = self.repo.owners(steps, folders)
        self._check_replaced(steps, files)
        self._check_patches(steps, files, owner)
        done = []
        parent = base
        with tempfile.TemporaryDirectory(dir=self.build, prefix="index.") as scratch:
            index = os.path.join(scratch, "index")
            overlay = self._overlay(owner)
            added = self._added(steps, overlay, os.path.join(scratch, "overlay"))
            self.git("read-tree", base, GIT_INDEX_FILE=index)
            for step in steps:
                self._apply(step, index)
                self._put(added[step.name], index)
                tree = self.git("write-tree", GIT_INDEX_FILE=index)
                parent = self.git(
                    "commit-tree", tree, "-p", parent, data=step.message.strip().encode() + b"\n"
                )
                done.append((step, parent))
            self._check_overlay(overlay, index)
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

    def _check_patches(
        self, steps: list[Step], files: dict[str, str], owner: dict[str, str]
    ) -> None:
        known = set(files)
        for step in steps:
            where = f"series/{step.name}/edit.patch"
            for path, head in step.heads:
                for line in ("new file", "rename from", "copy from"):
                    if f"\n{line}" in head:
                        raise Failure(
                            f"{where}: {path}: '{line}': a patch edits or deletes files; new files are overlay"
                        )
                if path not in known and path in owner:
                    raise Failure(
                        f"{where}: {path}: step '{owner[path]}' adds it, not one before '{step.name}'; "
                        "make the edit in a later step"
                    )
                if path not in known:
                    raise Failure(f"{where}: {path}: not in the base {self.package}; did it move?")
            known.update(step.files)

    def _apply(self, step: Step, index: str) -> None:
        for path, where, hunk in self._rejects(step, index):
            why = (
                "the base differs here; repeat the edit on it"
                if self._rejects(step, index, "--check", "-R", f"--include={path}")
                else "the base has this change already; drop the hunk"
            )
            raise Failure(f"{where}: hunk does not apply: {why}. Rejected hunk:\n{hunk}")

    def _rejects(self, step: Step, index: str, *options: str) -> list[tuple[str, str, str]]:
        """Apply the step's patch; path, place and hunk of what does not apply."""
        if not step.patch:
            return []
        options = ("--cached", "--whitespace=nowarn", *options)
        done = self.git.try_run("apply", *options, "-", data=step.patch, GIT_INDEX_FILE=index)
        if done.returncode == 0:
            return []
        where, text = f"series/{step.name}/edit.patch", step.patch.decode(errors="replace")
        report = done.stderr.decode(errors="replace").strip()
        found = re.findall(r"^error: patch failed: (.*):(\d+)$", report, re.M)
        return [
            (path, f"{where}: {path}:{line}", hunk_at(text, path, int(line)))
            for path, line in found
        ] or [("*", where, report)]

    def _added(
        self, steps: list[Step], overlay: dict[str, str], index: str
    ) -> dict[str, list[str]]:
        """Step -> index entries of the files that it adds, as they were before later edits."""
        self._put(list(overlay.values()), index)
        coming = {path for step in steps for path in step.files}
        added = {}
        for step in reversed(steps):
            if edits := {path: head for path, head in step.heads if path in coming}:
                self._undo(step, edits, index)
            added[step.name] = self._entries(step.files, index)
            coming -= set(step.files)
        return added

    def _undo(self, step: Step, edits: dict[str, str], index: str) -> None:
        include = (f"--include={path}" for path in edits)
        for _, where, hunk in self._rejects(step, index, "-R", *include):
            raise Failure(
                f"{where}: cannot be undone: the overlay file was changed where step "
                f"'{step.name}' edits it; {REMEDY}. Hunk that cannot be undone:\n{hunk}"
            )
        # git 2.47 restores a deleted file without its mode.
        for path, head in edits.items():
            if mode := re.search(r"^deleted file mode (\d+)$", head, re.M):
                self._put([mode[1] + entry[6:] for entry in self._entries([path], index)], index)

    def _check_overlay(self, overlay: dict[str, str], index: str) -> None:
        """A hunk may be undone in one place and made in another that looks the same."""
        have = set(self._entries(list(overlay), index))
        for path, entry in overlay.items():
            if entry not in have:
                raise Failure(
                    f"{path}: later steps' edits, undone and made again, give another text than the "
                    f"overlay has: two places of the file look the same to them; {REMEDY}"
                )

    def _entries(self, paths: list[str], index: str) -> list[str]:
        """The entries of the index for these paths."""
        if not paths:
            return []
        return self.git("ls-files", "-s", "--", *paths, GIT_INDEX_FILE=index).splitlines()

    def _put(self, entries: list[str], index: str) -> None:
        data = "".join(f"{entry}\n" for entry in entries).encode()
        self.git("update-index", "--index-info", data=data, GIT_INDEX_FILE=index)

    def _overlay(self, paths: Iterable[str]) -> dict[str, str]:
        """Path -> index entry of every overlay file that is there."""
        entries = {}
        for path in paths:
            full = self.repo.root / path
            if not os.path.lexists(full):
                continue
            info = os.lstat(full)
            if stat.S_ISLNK(info.st_mode):
                mode, data = "120000", os.fsencode(os.readlink(full))
            else:
                mode = "100755" if info.st_mode & stat.S_IXUSR else "100644"
                data = full.read_bytes()
            blob = self.git("hash-object", "-w", "--stdin", data=data)
            entries[path] = f"{mode} {blob} 0\t{path}"
        return entries

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
