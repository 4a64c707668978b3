# SPDX-License-Identifier: GPL-2.0
"""usage: dev/capture [--name COMMIT=NAME]... [--overwrite]

Take the commits base..series of .build/linux back into the repository: messages
to series/<step>/, the last text of new files to the overlay, and edits of files of
the base or of an earlier commit to series/<step>/edit.patch. Steps and overlay files
that no commit has any more are removed. Afterwards the tree is built again from the
repository and must be the same tree object; branch series then stands at the rebuilt
commits (same content, fixed dates).

A commit keeps the name of the step with the same subject, or else of the step with
the same files or hunks; a new one is named after its subject.

  --name COMMIT=NAME  name the step of that commit
  --overwrite         lose changes made in the repository since the last dev/tree

Examples:
  git -C .build/linux add -f kernel/unwind/user.c   # -f: the base's .gitignore hides all
  git -C .build/linux commit -a && dev/capture
  dev/capture --name HEAD=unwind-user
"""

import os
import re
import shutil
import sys
from pathlib import Path

from linux_tree import BUILT, REPOSITORY, Tree, __doc__ as variables
from repository import NOT_OVERLAY, Repository, Step, check_message, check_name
from tool import Failure, run_tool, say

# How edit.patch is written: the same bytes whatever the user's settings.
DIFF = [
    "-p",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-color",
    "--abbrev=12",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "-U3",
    "--diff-algorithm=myers",
    "--indent-heuristic",
]

# What editors and indexers leave in a work tree.
UNTRACKED_OK = [
    "*~",
    ".*.sw?",
    "*.orig",
    "*.rej",
    "*.pyc",
    "/tags",
    "/TAGS",
    "/cscope.*",
    "/compile_commands.json",
    "/.cache/",
]
# Words that say nothing in a step's name.
SLUG_DROP = {"a", "an", "the", "of", "to", "for", "and", "in", "on", "with", "from", "by", "its"}


def slug(subject: str) -> str:
    """`bpf/stackmap: Add a lock-free table` -> bpf-stackmap-add-lock-free-table"""
    words = [w for w in re.findall(r"[a-z][a-z0-9_]*", subject.lower()) if w not in SLUG_DROP]
    return "-".join(words[:6]) or "step"


class Capture:
    """The commits of branch series, turned into steps."""

    def __init__(self, tree: Tree, names: dict[str, str]):
        self.tree, self.git, self.repo = tree, tree.git, tree.repo
        self.base = self.git("rev-parse", "base")
        self.base_files = self.git.files_of("base")
        self.folders = {path.split("/")[0] for path in self.base_files if "/" in path}
        self.chosen = {self._commit(commit): name for commit, name in names.items()}
        self.old = [self.repo.step(name) for name in self.repo.names()]
        self.owner: dict[str, str] = {}  # overlay path -> subject of the commit that adds it
        self.last: dict[str, tuple[str, str]] = {}  # overlay path -> mode, blob at the end
        self.steps: list[Step] = []

    def _commit(self, name: str) -> str:
        commit = self.git.commit_of(name)
        if not commit:
            raise Failure(f"--name {name}: no such commit in .build/linux")
        return commit

    def read(self) -> None:
        """Read all commits; nothing is written yet."""
        commits = self.git("rev-list", "--reverse", "--topo-order", "base..series").split()
        if self.git("merge-base", "base", "series") != self.base:
            raise Failure(
                ".build/linux: branch series does not begin at tag base; git rebase it there"
            )
        if merge := self.git("rev-list", "--merges", "base..series"):
            raise Failure(
                f".build/linux: {merge.split()[0][:12]} is a merge; the series is a line: git rebase it"
            )
        for commit in commits:
            self.steps.append(self._step(commit))
        for commit in self.chosen:
            if commit not in commits:
                raise Failure(f"--name {commit[:12]}: not one of the commits base..series")
        self._name(commits)

    def _step(self, commit: str) -> Step:
        message = self.git("log", "-1", "--format=%B", commit)
        lines = [line for line in message.splitlines() if not line.startswith("Signed-off-by:")]
        if len(lines) != len(message.splitlines()):
            say(f"{commit[:12]}: Signed-off-by dropped; dev/export --signoff adds it")
        step = Step("", "\n".join(lines).strip() + "\n")
        check_message(f"commit {commit[:12]}", step.message)
        if re.match(r"(fixup|squash|amend)! ", step.subject):
            raise Failure(
                f"{commit[:12]} '{step.subject}': still to be folded; git rebase -i --autosquash base"
            )
        for other in self.steps:
            if other.subject == step.subject:
                raise Failure(
                    f"{commit[:12]}: a second commit with the subject '{step.subject}'; reword one"
                )
        edits = self._split(commit, step)
        if edits:
            step.patch = self.git.raw("diff", *DIFF, f"{commit}^", commit, "--", *edits)
        step.files.sort()
        if not step.files and not step.patch:
            raise Failure(f"{commit[:12]} '{step.subject}': changes nothing; drop it")
        return step

    def _split(self, commit: str, step: Step) -> list[str]:
        """Note the overlay files that the commit adds; return the other files that it changes."""
        edits = []
        out = self.git.raw(
            "diff-tree",
            "-r",
            "--raw",
            "-z",
            "--no-renames",
            "--no-commit-id",
            "--full-index",
            commit,
        )
        words = out.decode(errors="surrogateescape").split("\0")[:-1]
        for raw, path in zip(words[::2], words[1::2]):
            _, mode, _, blob, status = raw[1:].split()
            where = f"{commit[:12]} '{step.subject}': {path}"
            if path in self.owner:
                if status not in "MD":
                    raise Failure(
                        f"{where}: adds anew a file that step '{self.owner[path]}' adds; "
                        "edit that file, or give this one another name"
                    )
                edits.append(path)
                self.last[path] = mode, blob
                if status == "D":
                    del self.last[path]
                continue
            if path in self.base_files and path not in self.tree.replaced:
                edits.append(path)
                continue
            top = path.split("/")[0]
            if "/" not in path or top not in self.folders - NOT_OVERLAY:
                raise Failure(
                    f"{where}: a new file must be below a top folder of the kernel (not LICENSES); move it"
                )
            self.owner[path] = step.subject
            self.last[path] = mode, blob
            step.files.append(path)
        return edits

    def _name(self, commits: list[str]) -> None:
        """Give each step its name: chosen, same subject, same content, or the subject's words."""
        for commit, step in zip(commits, self.steps):
            step.name = self.chosen.get(commit, "")
        for same in (
            lambda a, b: a.subject == b.subject,
            lambda a, b: bool(a.files) and a.files == b.files,
            lambda a, b: bool(a.patch) and a.patch == b.patch,
        ):
            taken = {step.name for step in self.steps}
            for step in self.steps:
                found = [old for old in self.old if old.name not in taken and same(old, step)]
                if not step.name and found:
                    step.name = found[0].name
                    taken.add(step.name)
        taken = {step.name for step in self.steps}
        for step in self.steps:
            if not step.name:
                step.name = name = slug(step.subject)
                letters = iter("bcdefghijklmnopqrstuvwxyz")
                while step.name in taken:
                    step.name = f"{name}-{next(letters)}"
                taken.add(step.name)
        names = [step.name for step in self.steps]
        for name in names:
            if names.count(name) > 1:
                raise Failure(f"--name: two commits would be step '{name}'; choose another")
            check_name("--name", name)

    def write(self) -> None:
        """Make the repository say what the commits say; equal files are not touched."""
        for step in self.steps:
            folder = self.repo.folder(step.name)
            folder.mkdir(parents=True, exist_ok=True)
            put(folder / "message", step.message.encode())
            files = "".join(f"{path}\n" for path in step.files).encode()
            for name, data in (("files", files), ("edit.patch", step.patch)):
                if data:
                    put(folder / name, data)
                else:
                    (folder / name).unlink(missing_ok=True)
        for path, (mode, blob) in self.last.items():
            put(self.repo.root / path, self.git.raw("cat-file", "blob", blob), mode)
        self._remove()
        put(self.repo.series, series_text(self.repo, [step.name for step in self.steps]).encode())

    def _remove(self) -> None:
        names = {step.name for step in self.steps}
        for step in self.old:
            if step.name not in names:
                say(f"step '{step.name}' is gone")
                shutil.rmtree(self.repo.folder(step.name), ignore_errors=True)
            for path in set(step.files) - self.last.keys():
                if not os.path.lexists(self.repo.root / path):
                    continue
                say(f"{path} is gone")
                (self.repo.root / path).unlink()
                for parent in (self.repo.root / path).parents:
                    if parent == self.repo.root or not parent.exists() or any(parent.iterdir()):
                        break
                    parent.rmdir()


def put(path: Path, data: bytes, mode: str = "100644") -> None:
    """Write the file unless it is the same already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode == "120000" or path.is_symlink():
        path.unlink(missing_ok=True)
    if mode == "120000":
        path.symlink_to(os.fsdecode(data))
        return
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)
    bits = 0o755 if mode == "100755" else 0o644
    if path.stat().st_mode & 0o111 != bits & 0o111:
        path.chmod(bits)


def series_text(repo: Repository, names: list[str]) -> str:
    """series/series with the new order; headings stay before the group that they introduce.

    A group is a heading (comment and blank lines) and the steps below it. A new step joins
    the group of the step before it; a heading without steps keeps its place.
    """
    groups: list[tuple[list[str], list[str]]] = [([], [])]
    for line in repo.lines():
        if line.strip() and not line.startswith("#"):
            groups[-1][1].append(line.strip())
            continue
        if groups[-1][1]:
            groups.append(([], []))
        groups[-1][0].append(line)
    group_of = {name: number for number, (_, steps) in enumerate(groups) for name in steps}

    def empty(number: int) -> bool:
        return not set(groups[number][1]) & set(names)

    out: list[str] = []
    written: set[int] = set()

    def heading(number: int) -> None:
        written.add(number)
        lines = list(groups[number][0])
        while lines and not lines[0].strip():
            lines.pop(0)
        if out and groups[number][0]:
            out.append("")
        out.extend(lines)

    group = min((group_of[name] for name in names if name in group_of), default=0)
    for name in names:
        group = group_of.get(name, group)
        for number in range(group + 1):
            if number not in written and (number == group or empty(number)):
                heading(number)
        out.append(name)
    for number in range(len(groups)):
        if number not in written:
            heading(number)
    return "".join(f"{line}\n" for line in out)


def check_work_tree(tree: Tree) -> None:
    git = tree.git
    if git("rev-parse", "--symbolic-full-name", "HEAD") != "refs/heads/series":
        raise Failure(
            ".build/linux: another branch than 'series' is checked out, or a rebase is under way; finish it first"
        )
    if changed := git("status", "--porcelain", "--untracked-files=no"):
        raise Failure(f".build/linux: uncommitted changes:\n{changed}\ncommit or stash them first")
    patterns = [arg for pattern in UNTRACKED_OK for arg in ("-x", pattern)]
    if unknown := git("ls-files", "--others", *patterns):
        raise Failure(
            f".build/linux: files that no commit has:\n{unknown}\n"
            "git add -f and commit them (the base's .gitignore hides them), or remove them"
        )


def check_repository(tree: Tree, base: str) -> None:
    """Refuse to overwrite what somebody wrote in the repository since the last build."""
    hint = "run dev/capture --overwrite to lose it"
    try:
        done = tree.commit_steps(base)
    except Failure as error:
        raise Failure(
            f"{error}\ncapture: the repository does not build by itself; mend that first, or {hint}"
        ) from error
    now = done[-1][1] if done else base
    if (
        now == tree.git.commit_of(BUILT)
        or tree.git.try_run("merge-base", "--is-ancestor", now, "series").returncode == 0
    ):
        return
    tree.git("update-ref", REPOSITORY, now)
    files = tree.git("diff", "--name-only", BUILT, REPOSITORY).split() or [
        "messages, order or names"
    ]
    raise Failure(
        f"{tree.repo.root}: changed since .build/linux was built from it ({', '.join(files[:5])}); bring your commits "
        f"onto it: git -C .build/linux rebase --onto {REPOSITORY} {BUILT} series, or {hint}"
    )


def main() -> int:
    args, names, overwrite = sys.argv[1:], {}, False
    while args:
        match args:
            case ["-h" | "--help", *_]:
                print(__doc__ + "\n" + (variables or "").split("\n\n")[-1].rstrip())
                return 0
            case ["--overwrite", *args]:
                overwrite = True
            case ["--name", pair, *args] if "=" in pair:
                commit, _, name = pair.partition("=")
                names[commit] = name
            case _:
                print(__doc__, file=sys.stderr)
                return 2

    tree = Tree()
    if not tree.path.exists():
        raise Failure(".build/linux: not there yet; run dev/tree")
    lock = tree.lock()
    check_work_tree(tree)
    base = tree.git("rev-parse", "base")
    if not overwrite:
        check_repository(tree, base)
    capture = Capture(tree, names)
    capture.read()
    capture.write()

    done = tree.commit_steps(base)
    tip = done[-1][1] if done else base
    if tree.git.tree_of(tip) != tree.git.tree_of("series"):
        raise Failure(
            "the tree built from the repository differs from branch series: "
            + tree.git("diff", "--stat", "series", tip)
        )
    tree.move_to(base, tip)
    print(
        f"{len(done)} steps captured; the tree rebuilt from the repository is identical: {tree.git.tree_of(tip)}"
    )
    lock.close()
    return 0


if __name__ == "__main__":
    run_tool(main)
