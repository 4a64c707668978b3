# SPDX-License-Identifier: GPL-2.0
"""The series as this repository keeps it, and the git commits it stands for.

Repository side: `base`, series/series, series/<step>/{message,files,edit.patch}
and the overlay, which is every file below a top folder that the base kernel has
too. Git side: .build/linux, whose root commit is the base (tag `base`) and whose
branch `series` has one commit per step.

Commits are made in a temporary index with a fixed identity and date, so the same
input gives the same commit ids on every machine, and a failed build changes nothing.
Nothing here reads the user's git configuration.

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
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Iterator, NoReturn

NAME = "Linux Stacks"
EMAIL = "linux-stacks@localhost"
# One date for all commits: ids depend on the content alone.
DATE = "1735689600 +0000"

# Top folders of the base that are the repository's own here.
NOT_OVERLAY = {"LICENSES"}
# What editors and Python leave behind is no overlay file.
LEFTOVER = re.compile(r"(~|\.sw[a-p]|\.orig|\.rej|\.pyc)$")

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

BUILT = "refs/built/series"  # the commit that dev/tree or dev/capture made last
REPOSITORY = "refs/built/repository"  # the repository's state, where the two sides diverged

TOOL = Path(sys.argv[0]).stem


class Failure(Exception):
    """A finding for the user: `<object>: what; remedy`."""


def say(text: str) -> None:
    print(f"{TOOL}: {text}", file=sys.stderr, flush=True)


def run_tool(main) -> NoReturn:
    """Run main() with the exit codes and the error form of all our tools."""
    try:
        status = main()
    except Failure as error:
        say(str(error))
        status = 1
    except KeyboardInterrupt:
        say("interrupted: nothing is half done; run the same command again")
        status = 1
    sys.exit(status)


class Progress:
    """`what 42% (…)` on one line of a terminal, or a line every five seconds."""

    def __init__(self, what: str, total: int):
        self.what, self.total, self.begin = what, max(total, 1), time.monotonic()
        self.tty = sys.stderr.isatty()
        self.last = self.begin - 4

    def at(self, done: int) -> None:
        now = time.monotonic()
        if now - self.last >= (0.2 if self.tty else 5):
            self.last = now
            self._line(f"{min(100, done * 100 // self.total)}%", "\r" if self.tty else "\n")

    def end(self) -> None:
        self._line(f"done in {time.monotonic() - self.begin:.0f} s", "\n")

    def _line(self, state: str, end: str) -> None:
        print(
            f"{TOOL}: {self.what}: {state}{' ' * 8 if self.tty else ''}",
            end=end,
            file=sys.stderr,
            flush=True,
        )


class Git:
    """git on one work tree, deaf to the user's configuration and environment."""

    def __init__(self, work: Path):
        self.work = work

    def env(self, **extra: str) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        # Without the ceiling, a damaged work tree would mean the repository around it.
        env |= {
            "GIT_CEILING_DIRECTORIES": str(self.work.resolve().parent),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": NAME,
            "GIT_AUTHOR_EMAIL": EMAIL,
            "GIT_AUTHOR_DATE": DATE,
            "GIT_COMMITTER_NAME": NAME,
            "GIT_COMMITTER_EMAIL": EMAIL,
            "GIT_COMMITTER_DATE": DATE,
        }
        return env | extra

    def try_run(
        self, *args: str, data: bytes | None = None, **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *args],
            cwd=self.work,
            env=self.env(**env),
            input=data,
            capture_output=True,
            check=False,
        )

    def raw(self, *args: str, data: bytes | None = None, **env: str) -> bytes:
        done = self.try_run(*args, data=data, **env)
        if done.returncode:
            text = done.stderr.decode(errors="replace").strip()
            raise Failure(f"{self.work}: git {args[0]} failed: {text}")
        return done.stdout

    def __call__(self, *args: str, data: bytes | None = None, **env: str) -> str:
        return self.raw(*args, data=data, **env).decode(errors="surrogateescape").strip()

    def commit_of(self, name: str) -> str | None:
        done = self.try_run("rev-parse", "--quiet", "--verify", name + "^{commit}")
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def tree_of(self, commit: str) -> str:
        return self("rev-parse", commit + "^{tree}")

    def files_of(self, commit: str) -> dict[str, str]:
        """Path -> blob of every file of the commit."""
        out = self.raw("ls-tree", "-r", "-z", commit).decode(errors="surrogateescape")
        return {
            line.split("\t", 1)[1]: line.split("\t", 1)[0].split()[2]
            for line in out.split("\0")
            if line
        }


@dataclass
class Step:
    """One commit of the series, as series/<name>/ and the overlay hold it."""

    name: str
    message: str = ""
    files: list[str] = field(default_factory=list)
    patch: bytes = b""

    @property
    def subject(self) -> str:
        return self.message.split("\n", 1)[0].strip()


def check_name(where: str, name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or name in ("series", "cover"):
        raise Failure(
            f"{where}: step '{name}': a name is small letters, digits, - and _, and not series or cover; rename it"
        )


def check_message(where: str, message: str) -> None:
    if not message.strip():
        raise Failure(f"{where}: missing or empty; write subject, blank line, body")
    lines = message.split("\n")
    if not lines[0].strip() or (len(lines) > 1 and lines[1].strip()):
        raise Failure(f"{where}: must be the subject, a blank line, the body")
    if re.search(r"^Signed-off-by:", message, re.M):
        raise Failure(
            f"{where}: carries a Signed-off-by; remove it: who submits signs with dev/export --signoff"
        )


class Repository:
    """The series as files of this repository."""

    def __init__(self, root: Path):
        self.root = root
        self.series = root / "series" / "series"

    def base(self) -> tuple[str, str, dict[str, str]]:
        """Package, tested version, and path -> sha256 of base files that the overlay replaces."""
        path = self.root / "base"
        package, version, replaced = "", "", {}
        if not path.exists():
            raise Failure(f"{path}: missing; it names the base's package and version")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match line.split("#", 1)[0].split():
                case []:
                    pass
                case ["package", package]:
                    pass
                case ["version", version]:
                    pass
                case ["sha256", digest, name]:
                    replaced[name] = digest
                case _:
                    raise Failure(
                        f"{path}:{number}: not 'package', 'version' or 'sha256 HASH PATH': {line}"
                    )
        if not package or not version:
            raise Failure(f"{path}: needs a 'package' and a 'version' line")
        return package, version, replaced

    def lines(self) -> list[str]:
        return self.series.read_text().splitlines() if self.series.exists() else []

    def names(self) -> list[str]:
        """The step names in order."""
        return [line.strip() for line in self.lines() if line.strip() and not line.startswith("#")]

    def folder(self, name: str) -> Path:
        return self.root / "series" / name

    def step(self, name: str) -> Step:
        folder = self.folder(name)
        step = Step(name)
        if (folder / "message").exists():
            step.message = (folder / "message").read_text()
        if (folder / "files").exists():
            step.files = (folder / "files").read_text().split()
        if (folder / "edit.patch").exists():
            step.patch = (folder / "edit.patch").read_bytes()
        return step

    def steps(self) -> list[Step]:
        """All steps in order, after checking series/ for what has no single meaning."""
        names = self.names()
        for name in names:
            where = f"series/series: step '{name}'"
            check_name("series/series", name)
            if names.count(name) > 1:
                raise Failure(f"{where} is listed twice; remove one line")
            if not self.folder(name).is_dir():
                raise Failure(f"{where} has no folder series/{name}; add it or remove the line")
        for folder in sorted((self.root / "series").glob("*/")):
            if folder.name not in names:
                raise Failure(
                    f"series/{folder.name}: no line of series/series names this step; add the line or remove the folder"
                )
        steps = [self.step(name) for name in names]
        for step in steps:
            check_message(f"series/{step.name}/message", step.message)
            if step.files != sorted(set(step.files)):
                raise Failure(f"series/{step.name}/files: not sorted, or a path twice; sort -u it")
            if not step.files and not step.patch:
                raise Failure(
                    f"series/{step.name}: neither files nor edit.patch: the step does nothing; remove it"
                )
        return steps

    def overlay(self, folders: set[str]) -> set[str]:
        """Paths of the overlay files: all files below top folders that the base has too."""
        found = set()
        for top in folders - NOT_OVERLAY:
            for where, dirs, names in os.walk(self.root / top):
                dirs[:] = [d for d in dirs if d != "__pycache__"]
                linked = [d for d in dirs if os.path.islink(os.path.join(where, d))]
                for name in names + linked:
                    if not LEFTOVER.search(name):
                        found.add(os.path.relpath(os.path.join(where, name), self.root))
        return found

    def owners(self, steps: list[Step], folders: set[str]) -> dict[str, str]:
        """Path -> step of every overlay file; each has exactly one."""
        owner: dict[str, str] = {}
        for step in steps:
            for path in step.files:
                where = f"series/{step.name}/files: {path}"
                if path in owner:
                    raise Failure(
                        f"{where}: step '{owner[path]}' adds it too; a file belongs to one step: remove one line"
                    )
                owner[path] = step.name
                if path.split("/")[0] not in folders - NOT_OVERLAY or "/" not in path:
                    raise Failure(
                        f"{where}: not below a top folder of the kernel; an overlay file needs one"
                    )
                if not os.path.lexists(self.root / path):
                    raise Failure(
                        f"{where}: no such file in the repository; add it or remove the line"
                    )
        for path in sorted(self.overlay(folders)):
            if path not in owner:
                raise Failure(
                    f"{path}: no step adds this file; add it to series/<step>/files or remove it"
                )
        return owner


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
        """Stream the tarball into one pack. git's ignore rules have no say in it."""
        if not self.tar.exists():
            raise Failure(
                f"{self.tar}: no such file; it comes with {self.package}: run dev/env setup"
            )
        progress = Progress(f"importing {self.package} {version}", self.tar.stat().st_size)
        ref = self.base_ref(version)
        with (
            open(self.tar, "rb") as packed,
            subprocess.Popen(
                [
                    "git",
                    "-c",
                    "core.compression=1",
                    "fast-import",
                    "--quiet",
                    "--done",
                    "--depth=0",
                ],
                cwd=git.work,
                env=git.env(),
                stdin=subprocess.PIPE,
            ) as importer,
        ):
            to = importer.stdin
            assert to
            who = f"{NAME} <{EMAIL}> {DATE}"
            text = f"{self.package} {version}\n".encode()
            try:
                to.write(f"commit {ref}\ncommitter {who}\ndata {len(text)}\n".encode() + text)
                with tarfile.open(fileobj=packed, mode="r|*") as tar:
                    for member in tar:
                        self._import_member(to, tar, member)
                        progress.at(packed.tell())
                to.write(b"done\n")
                to.close()
            except (OSError, tarfile.TarError, EOFError) as error:
                importer.kill()
                raise Failure(
                    f"{self.tar}: import failed: {error}; a broken file? run dev/env setup"
                ) from error
            if importer.wait():
                raise Failure(f"{git.work}: git fast-import failed; is the disk full?")
        # The base never changes: keep git's housekeeping from repacking it.
        for pack in (git.work / ".git/objects/pack").glob("*.pack"):
            pack.with_suffix(".keep").touch()
        progress.end()
        return git("rev-parse", ref)

    @staticmethod
    def _import_member(to: IO[bytes], tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        # The first component is the tarball's own folder.
        path = member.name.removeprefix("./").partition("/")[2]
        if member.issym():
            mode, data = "120000", member.linkname.encode()
        elif member.isfile():
            mode = "100755" if member.mode & stat.S_IXUSR else "100644"
            data = tar.extractfile(member).read()  # type: ignore[union-attr]
        elif member.isdir():
            return
        else:
            raise tarfile.TarError(f"{member.name} is no file, link or folder")
        quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        to.write(
            f'M {mode} inline "{quoted}"\ndata {len(data)}\n'.encode("utf-8", "surrogateescape")
            + data
            + b"\n"
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
            for line in ("new file", "deleted file", "rename from", "copy from"):
                if f"\n{line}" in head:
                    raise Failure(
                        f"{where}: {path}: '{line}': a patch edits base files only; new files are overlay, the base's stay"
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


def patch_heads(text: str) -> Iterator[tuple[str, str]]:
    """Path and header lines of each file of a git patch."""
    for part in re.split(r"^(?=diff --git )", text, flags=re.M):
        if match := re.match(r"diff --git a/(.*?) b/\1\n", part):
            yield match[1], re.split(r"^@@", part, maxsplit=1, flags=re.M)[0]
        elif part.strip():
            raise Failure(
                f"edit.patch: not a git patch of one path: {part.splitlines()[0]}; let dev/capture write it"
            )


def hunk_at(text: str, path: str, line: int) -> str:
    """The hunk of the path that starts at the line."""
    for part in re.split(r"^(?=diff --git )", text, flags=re.M):
        if part.startswith(f"diff --git a/{path} b/{path}\n"):
            for hunk in re.split(r"^(?=@@ )", part, flags=re.M)[1:]:
                if re.match(rf"@@ -{line}[, ]", hunk):
                    return hunk.rstrip("\n")
    return f"(line {line} of {path})"
