# SPDX-License-Identifier: GPL-2.0
"""usage: dev/check queue [-- WORD...]

Prove dev/tree, dev/capture and dev/export on a toy kernel of a few files, whose
.gitignore hides everything as Debian's does. Every case starts from its own fresh
repository. WORDs choose the cases whose name contains one of them.

Examples:
  dev/check queue
  dev/check queue -- capture export
"""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from pathlib import Path
from typing import Callable

DEV = Path(__file__).resolve().parent.parent

MAKEFILE = """\
O ?= .
tinyconfig: ; echo CONFIG_TINY=y > $(O)/.config
olddefconfig: ; sed -n 's/^CONFIG_\\(.*\\)=y/#define CONFIG_\\1 1/p' $(O)/.config >$(O)/.config.h
vmlinux: ; for f in kernel/*.c; do cc $(addprefix -include ,$(wildcard $(O)/.config.h)) -c -o /dev/null $$f || exit 1; done
.PHONY: tinyconfig olddefconfig vmlinux
"""
CHECKPATCH = """\
#!/usr/bin/perl
open(my $in, '<', $ARGV[-1]); my $bad = 0;
while (<$in>) { if (/^\\+.*BAD_STYLE/) { print "WARNING:BAD_STYLE: $_"; $bad = 1; } }
exit $bad;
"""
# What lint makes of this is not looked at, but that it finds its files.
KERNEL_DOC = """\
#!/usr/bin/perl
for (@ARGV) { die "error: $_: missing\\n" unless /^-/ || -e; }
"""
CONFIGS = """\
[off]
steps = true
[on]
steps = true
fragments = ["build.config"]
[bpf]
steps = true
with = "on"
options = "TOY_BPF"
[arm]
arch = "arm"
"""
A_C = "".join(f"int a{n};\n" for n in range(30))
BASE = {
    ".gitignore": ("/*\n!/debian/\n", 0o644),
    "Makefile": (MAKEFILE, 0o644),
    "MAINTAINERS": ("TOY\nF:\tkernel/\nF:\tinclude/*/ours.h\n\nTHE REST\nF:\t*\nF:\t*/\n", 0o644),
    "LICENSES/GPL": ("free\n", 0o644),
    "kernel/a.c": (A_C, 0o644),
    "kernel/b.c": ("int b;\n", 0o644),
    "include/linux/x.h": ("#define X\n", 0o644),
    "scripts/checkpatch.pl": (CHECKPATCH, 0o755),
    "scripts/kernel-doc": (KERNEL_DOC, 0o755),
    'dev name/odd "file"': ("odd\n", 0o644),
    "tools/toy": ("toy\n", 0o644),
}


class Toy:
    """A repository with two steps and a toy base, in a folder of its own."""

    def __init__(self, where: Path):
        self.where, self.repo, self.build = where, where / "repo", where / "repo/.build"
        self.linux, self.tar = self.build / "linux", where / "base.tar.xz"
        self.repo.mkdir()
        self.pack(BASE)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        self.env |= {
            "LINUX_STACKS_ENV": "1",
            "LINUX_STACKS_REPO": str(self.repo),
            "LINUX_STACKS_BUILD": str(self.build),
            "LINUX_STACKS_BASE_TAR": str(self.tar),
            "LINUX_STACKS_BASE_VERSION": "1.0",
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        self.put("base", "package linux-source-toy\nversion 1.0\n")
        self.put("series/series", "# first group\none\n\n# second group\ntwo\n\n# to come\n")
        self.put("series/cover", "A toy series\n\nIt does nothing, in two steps.\n")
        self.put("series/one/message", "toy: Add one\n\nBecause.\n")
        self.put("series/one/files", "kernel/one.c\nkernel/run.sh\n")
        self.put("kernel/one.c", "int one;\n")
        self.put("kernel/run.sh", "#!/bin/sh\n", 0o755)
        self.put("series/one/edit.patch", self.hunk("kernel/a.c", 3, "int edited_by_one;"))
        self.put("series/two/message", "toy: Add two\n\nBecause of one.\n")
        self.put("series/two/files", "include/new/ours.h\n")
        self.put("include/new/ours.h", "#define TWO\n")
        self.put("series/two/edit.patch", self.hunk("kernel/a.c", 20, "int edited_by_two;"))
        # The repository's own folders are no overlay.
        self.put("dev/tool", "x\n")
        self.put("LICENSES/ours", "x\n")

    def pack(self, files: dict[str, tuple[str, int]], compression: str = "xz") -> None:
        with tarfile.open(self.tar, f"w:{compression}") as tar:
            for name, (text, mode) in files.items():
                info = tarfile.TarInfo(f"linux-source-toy/{name}")
                info.size, info.mode = len(text.encode()), mode
                tar.addfile(info, io.BytesIO(text.encode()))
            link = tarfile.TarInfo("linux-source-toy/kernel/link")
            link.type, link.linkname = tarfile.SYMTYPE, "a.c"
            tar.addfile(link)

    @staticmethod
    def hunk(path: str, after: int, line: str) -> str:
        """A patch that inserts the line after a<after>."""
        before = "".join(f" int a{n};\n" for n in range(after - 2, after + 1))
        behind = "".join(f" int a{n};\n" for n in range(after + 1, after + 4))
        return (
            f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
            f"@@ -{after - 1},6 +{after - 1},7 @@\n{before}+{line}\n{behind}"
        )

    def put(self, path: str, text: str, mode: int = 0o644) -> None:
        full = self.repo / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text)
        full.chmod(mode)

    def text(self, path: str) -> str:
        return (self.repo / path).read_text()

    def tool(self, name: str, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [DEV / name, *args], env=self.env, capture_output=True, text=True, check=False
        )

    def ok(self, name: str, *args: str) -> str:
        done = self.tool(name, *args)
        assert done.returncode == 0, f"{name} {args}: exit {done.returncode}: {done.stderr}"
        return done.stdout + done.stderr

    def refused(self, name: str, *words: str, args: tuple[str, ...] = ()) -> str:
        """The tool must exit 1, and its message hold all the words."""
        done = self.tool(name, *args)
        assert (
            done.returncode == 1
        ), f"{name} {args}: exit {done.returncode}, 1 expected: {done.stdout}{done.stderr}"
        for word in words:
            assert (
                word in done.stdout + done.stderr
            ), f"{name} {args}: '{word}' not in: {done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr

    def git(self, *args: str, where: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *args],
            cwd=where or self.linux,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout.strip()

    def edit(self, path: str, old: str, new: str) -> None:
        full = self.linux / path
        assert old in full.read_text(), f"{path} has no {old!r}"
        full.write_text(full.read_text().replace(old, new))

    def commit(self, message: str, *new: str) -> None:
        if new:
            self.git("add", "-f", *new)
        self.git("commit", "-q", "-a", "-m", message)

    def unchanged_by(self, run: Callable[[], object]) -> None:
        """run() must leave branch, tag and work tree as they were."""

        def state() -> tuple[str, ...]:
            files = sorted(
                (str(p), p.lstat().st_mtime_ns)
                for p in self.linux.rglob("*")
                if ".git" not in p.parts
            )
            return (
                self.git("for-each-ref", "refs/heads", "refs/tags", "refs/built/series"),
                self.git("status", "--porcelain"),
                str(files),
            )

        before = state()
        run()
        assert state() == before, "the former tree did not stay as it was"


# -- dev/tree -------------------------------------------------------------


def tree_builds_the_steps(t: Toy) -> None:
    assert "2 steps" in t.ok("tree")
    assert t.git("log", "--format=%s", "base..series") == "toy: Add two\ntoy: Add one"
    assert t.git("diff", "--name-only", "base", "series~").split() == [
        "kernel/a.c",
        "kernel/one.c",
        "kernel/run.sh",
    ]
    assert (
        "edited_by_one" in (t.linux / "kernel/a.c").read_text()
        and "edited_by_two" in (t.linux / "kernel/a.c").read_text()
    )
    assert t.git("status", "--porcelain") == ""


def tree_imports_every_base_file_with_its_mode(t: Toy) -> None:
    t.ok("tree")
    plain = t.where / "plain"
    plain.mkdir()
    with tarfile.open(t.tar) as tar:
        tar.extractall(plain, filter="tar")
    source = plain / "linux-source-toy"
    t.git("init", "-q", where=source)
    t.git("add", "-f", ".", where=source)
    assert t.git("write-tree", where=source) == t.git("rev-parse", "base^{tree}")
    assert (t.linux / "scripts/checkpatch.pl").stat().st_mode & 0o111
    assert (t.linux / "kernel/link").is_symlink()


def tree_keeps_modes_of_overlay_files(t: Toy) -> None:
    t.ok("tree")
    assert (t.linux / "kernel/run.sh").stat().st_mode & 0o111 == 0o111
    assert (t.linux / "kernel/one.c").stat().st_mode & 0o111 == 0


def tree_gives_the_same_ids_in_another_place_and_time(t: Toy) -> None:
    t.ok("tree")
    first = t.git("rev-parse", "series", "base")
    shutil.rmtree(t.build)
    t.env |= {
        "LINUX_STACKS_BUILD": str(t.where / "other"),
        "GIT_AUTHOR_DATE": "1000000000 +0100",
        "GIT_COMMITTER_NAME": "Somebody",
    }
    t.ok("tree")
    assert t.git("rev-parse", "series", "base", where=t.where / "other/linux") == first
    # Two runs may fall in the same second: no date may come from the clock.
    dates = set(
        t.git(
            "log", "--format=%at %ct %ae %ce", "series", where=t.where / "other/linux"
        ).splitlines()
    )
    assert dates == {"1735689600 1735689600 linux-stacks@localhost linux-stacks@localhost"}, dates


def tree_makes_the_base_work_tree(t: Toy) -> None:
    t.ok("tree")
    assert (t.build / "linux-base/kernel/a.c").read_text() == A_C
    assert not (t.build / "linux-base/kernel/one.c").exists()


def tree_with_an_empty_series_is_the_base(t: Toy) -> None:
    for name in ("series", "kernel", "include"):
        shutil.rmtree(t.repo / name)
    assert "0 steps" in t.ok("tree")
    assert t.git("rev-parse", "series") == t.git("rev-parse", "base")


def tree_touches_only_changed_files(t: Toy) -> None:
    t.ok("tree")
    for path in t.linux.rglob("*"):
        if ".git" not in path.parts:
            os.utime(path, (1, 1), follow_symlinks=False)
    t.put("kernel/one.c", "int one_changed;\n")
    t.ok("tree")
    touched = {
        str(p.relative_to(t.linux))
        for p in t.linux.rglob("*")
        if ".git" not in p.parts and p.is_file() and p.lstat().st_mtime != 1
    }
    assert touched == {"kernel/one.c"}, touched
    assert (t.linux / "kernel/one.c").read_text() == "int one_changed;\n"


def tree_removes_a_dropped_step(t: Toy) -> None:
    t.ok("tree")
    shutil.rmtree(t.repo / "series/two")
    (t.repo / "include/new/ours.h").unlink()
    t.put("series/series", "one\n")
    t.ok("tree")
    assert not (t.linux / "include/new/ours.h").exists()
    assert "edited_by_two" not in (t.linux / "kernel/a.c").read_text()


def tree_refuses_a_hunk_that_no_longer_applies(t: Toy) -> None:
    t.ok("tree")
    t.put(
        "series/two/edit.patch",
        t.text("series/two/edit.patch").replace(" int a20;", " int a20_moved;"),
    )
    t.unchanged_by(
        lambda: t.refused(
            "tree",
            "series/two/edit.patch",
            "kernel/a.c:19",
            "+int edited_by_two;",
            " int a20_moved;",
        )
    )


def tree_takes_no_fuzz(t: Toy) -> None:
    # patch(1) would apply this with fuzz 1: only the outermost context line differs.
    t.put(
        "series/two/edit.patch", t.text("series/two/edit.patch").replace(" int a18;", " int other;")
    )
    t.refused("tree", "series/two/edit.patch", "kernel/a.c")


def tree_says_when_the_base_has_the_hunk_already(t: Toy) -> None:
    t.ok("tree")
    t.put("series/two/edit.patch", t.text("series/one/edit.patch"))
    t.refused("tree", "series/two/edit.patch", "already")


def tree_refuses_an_overlay_file_that_nobody_owns(t: Toy) -> None:
    t.ok("tree")
    t.put("kernel/sub/stray.c", "int stray;\n")
    t.unchanged_by(lambda: t.refused("tree", "kernel/sub/stray.c", "no step adds"))
    t.put("kernel/sub/stray.c~", "an editor's backup\n")
    (t.repo / "kernel/sub/stray.c").unlink()
    t.ok("tree")


def tree_refuses_a_file_with_two_owners(t: Toy) -> None:
    t.put("series/two/files", "include/new/ours.h\nkernel/one.c\n")
    t.refused("tree", "series/two/files", "kernel/one.c", "'one'")


def tree_refuses_a_listed_file_that_is_missing(t: Toy) -> None:
    t.put("series/two/files", "include/new/ours.h\nkernel/ghost.c\n")
    t.refused("tree", "series/two/files", "kernel/ghost.c", "no such file")


def tree_refuses_a_file_outside_the_kernel_folders(t: Toy) -> None:
    for path in ("dev/tool", "LICENSES/ours"):
        t.put("series/two/files", "".join(f"{p}\n" for p in sorted(["include/new/ours.h", path])))
        t.refused("tree", path, "top folder")


def tree_refuses_a_step_listed_twice(t: Toy) -> None:
    t.put("series/series", "one\ntwo\none\n")
    t.refused("tree", "'one'", "twice")


def tree_refuses_a_step_that_is_not_listed(t: Toy) -> None:
    t.put("series/series", "one\n")
    t.refused("tree", "series/two", "no line")


def tree_refuses_a_step_without_folder(t: Toy) -> None:
    t.put("series/series", "one\ntwo\nthree\n")
    t.refused("tree", "'three'", "no folder")


def tree_refuses_a_bad_message(t: Toy) -> None:
    (t.repo / "series/two/message").unlink()
    t.refused("tree", "series/two/message", "missing")
    t.put("series/two/message", "toy: Add two\nno blank line\n")
    t.refused("tree", "series/two/message", "blank")
    t.put("series/two/message", "toy: Add two\n\nText.\n\nSigned-off-by: A <a@b>\n")
    t.refused("tree", "series/two/message", "Signed-off-by")


def tree_refuses_a_patch_that_adds_files(t: Toy) -> None:
    t.put(
        "series/two/edit.patch",
        "diff --git a/kernel/n.c b/kernel/n.c\nnew file mode 100644\n--- /dev/null\n+++ b/kernel/n.c\n@@ -0,0 +1 @@\n+x\n",
    )
    t.refused("tree", "series/two/edit.patch", "kernel/n.c", "new file")


def tree_replaces_a_base_file_only_if_listed_with_its_hash(t: Toy) -> None:
    t.put("kernel/b.c", "int b_of_ours;\n")
    t.put("series/two/files", "include/new/ours.h\nkernel/b.c\n")
    digest = t.refused("tree", "kernel/b.c", "exists in the base").split("sha256 ")[1].split()[0]
    base = t.text("base")
    t.put("base", base + "sha256 0000 kernel/b.c\n")
    t.refused("tree", "kernel/b.c", digest, "0000")
    t.put("base", base + f"sha256 {digest} kernel/b.c\n")
    t.ok("tree")
    assert (t.linux / "kernel/b.c").read_text() == "int b_of_ours;\n"


def tree_refuses_a_dirty_work_tree(t: Toy) -> None:
    t.ok("tree")
    t.put("kernel/one.c", "int newer;\n")
    t.edit("kernel/b.c", "int b;", "int dirty;")
    t.unchanged_by(lambda: t.refused("tree", "kernel/b.c", "uncommitted", "--discard"))
    t.refused("tree", args=("--check",))
    out = t.ok("tree", "--discard")
    assert (t.linux / "kernel/b.c").read_text() == "int b;\n"
    assert (t.linux / "kernel/one.c").read_text() == "int newer;\n"
    assert "int dirty" in t.git("show", out.split("they are commit ")[1].split()[0] + ":kernel/b.c")


def tree_refuses_uncaptured_commits(t: Toy) -> None:
    t.ok("tree")
    t.edit("kernel/b.c", "int b;", "int committed;")
    t.commit("toy: Change b")
    t.unchanged_by(lambda: t.refused("tree", "1 commits", "not captured", "--discard"))
    tip = t.git("rev-parse", "series")
    assert tip in t.ok("tree", "--discard")
    assert (t.linux / "kernel/b.c").read_text() == "int b;\n"


def tree_refuses_another_branch(t: Toy) -> None:
    t.ok("tree")
    t.git("checkout", "-q", "-b", "topic")
    t.unchanged_by(lambda: t.refused("tree", "another branch"))


def tree_check_changes_nothing(t: Toy) -> None:
    t.ok("tree")
    t.ok("tree", "--check")
    t.put("kernel/one.c", "int newer;\n")
    t.unchanged_by(lambda: t.refused("tree", "not what the repository holds", args=("--check",)))


def tree_restarts_an_interrupted_import(t: Toy) -> None:
    t.pack(BASE | {f"kernel/many{n}.c": (os.urandom(4000).hex(), 0o644) for n in range(3000)}, "")
    running = subprocess.Popen(
        [DEV / "tree"],
        env=t.env,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    limit = time.monotonic() + 20
    while not any((t.build / "linux.partial").rglob("tmp_pack_*")) and running.poll() is None:
        assert time.monotonic() < limit, "the import did not begin"
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert (t.build / "linux.partial").exists() and not t.linux.exists(), "not interrupted half way"
    t.ok("tree")
    assert not (t.build / "linux.partial").exists()
    assert (t.linux / "kernel/many2999.c").exists()
    t.git("fsck", "--no-dangling")


def tree_makes_an_incomplete_base_work_tree_anew(t: Toy) -> None:
    t.ok("tree")
    t.git("worktree", "move", "../linux-base", "../linux-base.partial")
    (t.build / "linux-base.partial/kernel/a.c").unlink()
    t.ok("tree")
    assert (t.build / "linux-base/kernel/a.c").read_text() == A_C
    assert not (t.build / "linux-base.partial").exists()


def tree_works_after_the_repository_moved(t: Toy) -> None:
    t.ok("tree")
    t.repo.rename(t.where / "moved")
    t.env |= {
        "LINUX_STACKS_REPO": str(t.where / "moved"),
        "LINUX_STACKS_BUILD": str(t.where / "moved/.build"),
    }
    t.ok("tree")
    assert (
        t.git("log", "-1", "--format=%s", where=t.where / "moved/.build/linux-base")
        == "linux-source-toy 1.0"
    )


def tree_never_takes_the_repository_around_it_for_the_kernel(t: Toy) -> None:
    t.git("init", "-q", where=t.repo)
    t.git(
        "-c",
        "user.name=x",
        "-c",
        "user.email=x",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "ours",
        where=t.repo,
    )
    t.git("tag", "base", where=t.repo)
    before = t.git("for-each-ref", where=t.repo)
    t.linux.mkdir(parents=True)
    t.refused("tree", ".build/linux", "no git work tree")
    assert t.git("for-each-ref", where=t.repo) == before


def tree_refuses_a_broken_tarball(t: Toy) -> None:
    t.tar.write_bytes(t.tar.read_bytes()[: t.tar.stat().st_size // 2])
    t.refused("tree", "base.tar.xz", "import failed")
    # In the header of the second file
    t.pack(BASE, "")
    t.tar.write_bytes(t.tar.read_bytes()[:1100])
    t.refused("tree", "base.tar.xz", "import failed")
    assert not t.linux.exists()


def tree_moves_to_another_point_release_with_a_warning(t: Toy) -> None:
    t.ok("tree")
    old = t.git("rev-parse", "base")
    t.pack(BASE | {"kernel/b.c": ("int b_newer;\n", 0o644)})
    t.env["LINUX_STACKS_BASE_VERSION"] = "1.1~rc:2"
    assert "warning: the base is linux-source-toy 1.1~rc:2" in t.ok("tree")
    assert t.git("rev-parse", "base") != old
    for where in (t.linux, t.build / "linux-base"):
        assert (where / "kernel/b.c").read_text() == "int b_newer;\n"


def tree_keeps_the_old_base_where_the_new_one_does_not_fit(t: Toy) -> None:
    t.ok("tree")
    t.pack(BASE | {"kernel/a.c": (A_C.replace("int a20;", "long a20;"), 0o644)})
    t.env["LINUX_STACKS_BASE_VERSION"] = "1.1"
    t.unchanged_by(lambda: t.refused("tree", "series/two/edit.patch", "kernel/a.c:19"))


# -- dev/capture ----------------------------------------------------------


def capture_of_an_unchanged_tree_changes_nothing(t: Toy) -> None:
    t.ok("tree")
    t.ok("capture")  # the hand-written patches get their index lines
    files = {
        p: p.read_bytes() for p in t.repo.rglob("*") if p.is_file() and ".build" not in p.parts
    }
    tip = t.git("rev-parse", "series")
    assert "identical" in t.ok("capture")
    assert {
        p: p.read_bytes() for p in t.repo.rglob("*") if p.is_file() and ".build" not in p.parts
    } == files
    assert t.git("rev-parse", "series") == tip


def capture_round_trip(t: Toy) -> None:
    t.ok("tree")
    t.edit("kernel/b.c", "int b;", "int b_edited;")
    (t.linux / "kernel/three.sh").write_text("#!/bin/sh\n")
    (t.linux / "kernel/three.sh").chmod(0o755)
    (t.linux / "kernel/empty.h").write_text("")
    t.commit(
        "toy/three: Add the third of the files\n\nBody.\n\nSigned-off-by: A <a@b>",
        "kernel/three.sh",
        "kernel/empty.h",
    )
    wanted = t.git("rev-parse", "series^{tree}")
    assert f"3 steps captured; the tree rebuilt from the repository is identical: {wanted}" in t.ok(
        "capture"
    )
    assert t.text("series/toy-three-add-third-files/files") == "kernel/empty.h\nkernel/three.sh\n"
    assert (
        t.text("series/toy-three-add-third-files/message")
        == "toy/three: Add the third of the files\n\nBody.\n"
    )
    assert "+int b_edited;" in t.text("series/toy-three-add-third-files/edit.patch")
    assert (t.repo / "kernel/three.sh").stat().st_mode & 0o111 and (
        t.repo / "kernel/empty.h"
    ).exists()
    assert (
        t.text("series/series")
        == "# first group\none\n\n# second group\ntwo\ntoy-three-add-third-files\n\n# to come\n"
    )
    shutil.rmtree(t.build)
    t.ok("tree")
    assert t.git("rev-parse", "series^{tree}") == wanted


def capture_leaves_branch_and_tree_ready_to_go_on(t: Toy) -> None:
    t.ok("tree")
    t.edit("kernel/b.c", "int b;", "int b_edited;")
    t.commit("toy: Edit b\n\nWhy.")
    t.ok("capture")
    t.ok("tree", "--check")
    assert t.git("status", "--porcelain") == ""


def capture_takes_a_rebase(t: Toy) -> None:
    t.ok("tree")
    # Swap the steps, amend the second, drop nothing.
    t.git("reset", "-q", "--hard", "base")
    for commit in ("refs/built/series", "refs/built/series~"):
        t.git("cherry-pick", commit)
    t.edit("kernel/one.c", "int one;", "int one_amended;")
    t.git("commit", "-q", "-a", "--amend", "--no-edit")
    t.ok("capture")
    assert (
        t.text("series/series") == "# second group\ntwo\n\n# first group\none\n\n# to come\n"
    ), t.text("series/series")
    assert t.text("kernel/one.c") == "int one_amended;\n"


def capture_removes_steps_and_files_that_are_gone(t: Toy) -> None:
    t.ok("tree")
    t.git("reset", "-q", "--hard", "series~")
    t.ok("capture")
    assert not (t.repo / "series/two").exists() and not (t.repo / "include").exists()
    assert t.text("series/series") == "# first group\none\n\n# second group\n\n# to come\n"


def capture_keeps_the_name_of_a_reworded_step(t: Toy) -> None:
    t.ok("tree")
    t.git("commit", "-q", "--amend", "-m", "toy: Add two in better words\n\nWhy.")
    t.ok("capture")
    assert t.text("series/two/message").startswith("toy: Add two in better words\n")


def capture_names_a_step_as_told(t: Toy) -> None:
    t.ok("tree")
    t.edit("kernel/b.c", "int b;", "int b_edited;")
    t.commit("toy: Edit b\n\nWhy.")
    t.refused("capture", "'two'", args=("--name", "HEAD=two", "--name", "HEAD~=two"))
    t.ok("capture", "--name", "HEAD=better-b")
    assert (t.repo / "series/better-b/edit.patch").exists()


def grown(t: Toy) -> None:
    """Two later steps edit a line each of the file that step one adds."""
    t.put("kernel/one.c", "".join(f"int one{n};\n" for n in range(20)))
    t.ok("tree")
    t.edit("kernel/one.c", "int one5;", "int one5_edited;")
    t.commit("toy: Edit a line\n\nWhy.")
    t.edit("kernel/one.c", "int one15;", "int one15_edited;")
    t.commit("toy: Edit another line\n\nWhy.")
    t.ok("capture", "--name", "HEAD=second", "--name", "HEAD~=first")


# What the commits one, two, first and second have of these edits
GROWN = ["", "", "one5_edited", "one5_edited one15_edited"]


def edits(t: Toy) -> list[str]:
    """The edits in kernel/one.c at each commit that has it."""
    commits = t.git("rev-list", "--reverse", "base..series", "--").split()
    with_it = [commit for commit in commits if t.git("ls-tree", commit, "kernel/one.c")]
    texts = [t.git("show", f"{commit}:kernel/one.c") for commit in with_it]
    return [" ".join(re.findall(r"\w+_edited", text)) for text in texts]


def autosquash(t: Toy, subject: str) -> None:
    """Fold what the work tree has into the commit with this subject."""
    t.git("commit", "-q", "-a", "-m", f"fixup! {subject}")
    t.git("-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "base")


def capture_takes_edits_of_an_earlier_steps_file(t: Toy) -> None:
    grown(t)
    assert "one5_edited" in t.text("kernel/one.c") and "one15_edited" in t.text("kernel/one.c")
    assert "+int one5_edited;" in t.text("series/first/edit.patch")
    assert not (t.repo / "series/first/files").exists()
    # Only the last step's edit can be undone first.
    t.edit("kernel/one.c", "int one5_edited;", "long one5_edited;")
    t.commit("toy: Edit the first line again\n\nWhy.")
    t.ok("capture")
    tree = t.git("rev-parse", "series^{tree}")
    # The repository alone has all of it, and so have the mails.
    shutil.rmtree(t.build)
    t.ok("tree")
    assert edits(t) == [*GROWN, GROWN[-1]] and t.git("rev-parse", "series^{tree}") == tree
    assert "int one5_edited;" in t.git("show", "series~:kernel/one.c")
    assert f"5 patches on a fresh base give the tree of branch series, {tree}" in t.ok("export")
    assert f"identical: {tree}" in t.ok("capture")


def capture_takes_a_change_below_later_edits(t: Toy) -> None:
    grown(t)
    t.edit("kernel/one.c", "int one10;", "int one10_amended;")
    autosquash(t, "toy: Add one")
    t.ok("capture")
    assert edits(t) == GROWN
    assert "int one10_amended;" in t.git("show", "series~3:kernel/one.c")
    assert t.text("series/series").split("\n")[5:7] == ["first", "second"]


def capture_takes_modes_deletions_and_moves_of_an_earlier_steps_file(t: Toy) -> None:
    grown(t)
    (t.linux / "kernel/one.c").chmod(0o755)
    t.commit("toy: Make it a program\n\nWhy.")
    t.git("mv", "kernel/one.c", "kernel/moved.c")
    t.edit("kernel/moved.c", "int one10;", "int one10_moved;")
    t.commit("toy: Move it\n\nWhy.")
    t.git("rm", "-q", "kernel/run.sh")
    t.commit("toy: Delete the other\n\nWhy.")
    tree = t.git("rev-parse", "series^{tree}")
    t.ok("capture", "--name", "HEAD~=move")
    assert not (t.repo / "kernel/one.c").exists() and not (t.repo / "kernel/run.sh").exists()
    assert t.text("series/move/files") == "kernel/moved.c\n"
    shutil.rmtree(t.build)
    t.ok("tree")
    assert t.git("rev-parse", "series^{tree}") == tree
    assert edits(t) == [*GROWN, GROWN[-1]]
    assert t.git("ls-tree", "series~3", "kernel/one.c").startswith("100644")
    assert t.git("ls-tree", "series~2", "kernel/one.c").startswith("100755")
    assert t.git("ls-tree", "series~6", "kernel/run.sh").startswith("100755")
    assert "gone" not in t.ok("capture")
    assert re.search("kernel-doc: +2 files, 0 findings", t.ok("lint", "kernel-doc"))
    t.put("kernel/one.c", "int again;\n")
    t.refused("tree", "kernel/one.c", "'move' deletes it")


def capture_refuses_to_add_a_deleted_file_anew(t: Toy) -> None:
    t.ok("tree")
    t.git("rm", "-q", "kernel/one.c")
    t.commit("toy: Delete one\n\nWhy.")
    (t.linux / "kernel/one.c").write_text("int again;\n")
    t.commit("toy: Add it again\n\nWhy.", "kernel/one.c")
    t.refused("capture", "'toy: Add it again'", "kernel/one.c", "'toy: Add one'", "another name")


def tree_refuses_an_edit_that_cannot_be_undone(t: Toy) -> None:
    grown(t)
    # The overlay file may change where no later step edits it.
    text = t.text("kernel/one.c").replace("int one10;", "int one10_changed;")
    t.put("kernel/one.c", text)
    t.ok("tree")
    assert edits(t) == GROWN and "one10_changed" in t.git("show", "series~3:kernel/one.c")
    better = text.replace("int one5_edited;", "int one5_better;")
    t.put("kernel/one.c", better)
    words = ("series/first/edit.patch", "kernel/one.c:3", "'first'", "dev/capture")
    hunk = "-int one5;\n+int one5_edited;\n int one6;"
    t.unchanged_by(lambda: t.refused("tree", *words, hunk))
    # The remedy that it names must work.
    t.put("kernel/one.c", text)
    t.edit("kernel/one.c", "int one5_edited;", "int one5_better;")
    autosquash(t, "toy: Edit a line")
    t.ok("capture")
    assert t.text("kernel/one.c") == better


def tree_refuses_an_edit_that_fits_in_two_places(t: Toy) -> None:
    grown(t)
    # Where step first looks for its line, the file now has the same lines, not edited.
    before = "".join(f"int one{n};\n" for n in range(10))
    t.put("kernel/one.c", before + t.text("kernel/one.c"))
    t.refused("tree", "kernel/one.c", "look the same", "dev/capture")


def tree_refuses_an_edit_of_a_later_steps_file(t: Toy) -> None:
    grown(t)
    t.put("series/series", "first\none\ntwo\nsecond\n")
    t.refused("tree", "series/first/edit.patch", "kernel/one.c", "'one' adds it", "later")


def capture_takes_the_deletion_of_a_base_file(t: Toy) -> None:
    t.ok("tree")
    t.git("rm", "-q", "kernel/b.c")
    t.commit("toy: Delete b\n\nWhy.")
    t.ok("capture")
    assert "deleted file" in t.text("series/toy-delete-b/edit.patch")
    t.ok("tree")
    assert not (t.linux / "kernel/b.c").exists()


def capture_refuses_new_files_outside_the_overlay(t: Toy) -> None:
    t.ok("tree")
    (t.linux / "LICENSES/more").write_text("x\n")
    t.commit("toy: Add a licence\n\nWhy.", "LICENSES/more")
    t.refused("capture", "LICENSES/more", "top folder")
    assert not list((t.repo / "series").glob("toy-*")), "refused after it had written"


def capture_refuses_a_dirty_or_unclean_work_tree(t: Toy) -> None:
    t.ok("tree")
    (t.linux / "kernel/forgotten.c").write_text("int f;\n")
    t.refused("capture", "kernel/forgotten.c", "add -f")
    (t.linux / "kernel/forgotten.c").unlink()
    t.edit("kernel/b.c", "int b;", "int dirty;")
    t.refused("capture", "kernel/b.c", "uncommitted")


def capture_refuses_fixups_merges_and_equal_subjects(t: Toy) -> None:
    t.ok("tree")
    t.git("commit", "-q", "--allow-empty", "-m", "fixup! toy: Add one")
    t.refused("capture", "autosquash")
    t.edit("kernel/b.c", "int b;", "int b_edited;")
    t.git("commit", "-q", "-a", "--amend", "-m", "toy: Add one")
    t.refused("capture", "second commit with the subject 'toy: Add one'")
    t.git("reset", "-q", "--hard", "refs/built/series")
    t.git("checkout", "-q", "-b", "side", "base")
    t.git("commit", "-q", "--allow-empty", "-m", "toy: Side")
    t.git("checkout", "-q", "series")
    t.git("merge", "-q", "--no-edit", "side")
    t.refused("capture", "is a merge")


def capture_does_not_overwrite_changes_of_the_repository(t: Toy) -> None:
    t.ok("tree")
    t.edit("kernel/b.c", "int b;", "int b_edited;")
    t.commit("toy: Edit b\n\nWhy.")
    t.put("kernel/one.c", "int edited_in_the_repository;\n")
    error = t.refused("capture", "kernel/one.c", "rebase --onto")
    assert t.text("kernel/one.c") == "int edited_in_the_repository;\n"
    # The remedy that it names must work.
    t.git(*error.split("git -C .build/linux ")[1].split(", or")[0].split())
    t.ok("capture")
    assert t.text("kernel/one.c") == "int edited_in_the_repository;\n" and "toy-edit-b" in t.text(
        "series/series"
    )


# -- dev/export -----------------------------------------------------------


def export_writes_mails_that_git_am_takes(t: Toy) -> None:
    t.ok("tree")
    out = t.ok("export")
    assert t.git("rev-parse", "series^{tree}") in out
    mails = sorted(p.name for p in (t.build / "series").iterdir())
    assert mails == [
        "0000-cover-letter.patch",
        "0001-toy-Add-one.patch",
        "0002-toy-Add-two.patch",
    ], mails
    letter = (t.build / "series/0000-cover-letter.patch").read_text()
    assert (
        "Subject: [PATCH 0/2] A toy series" in letter
        and "It does nothing" in letter
        and "linux-source-toy 1.0" in letter
    )
    assert "***" not in letter
    # The proof once more, by hand.
    t.git("checkout", "-q", "--detach", "base")
    t.git("am", "-q", *(str(t.build / "series" / name) for name in mails[1:]))
    assert t.git("rev-parse", "HEAD^{tree}") == t.git("rev-parse", "series^{tree}")


def export_proof_fails_on_mails_that_lose_something(t: Toy) -> None:
    # A carriage return at the end of a line does not survive git am.
    t.put("kernel/one.c", "int one;\r\nint cr;\n")
    t.ok("tree")
    t.refused("export", "git am on a fresh base gives another tree", "kernel/one.c")


def export_proof_fails_on_mails_that_git_am_refuses(t: Toy) -> None:
    # git am takes this line of the message for the begin of the patch.
    t.put("series/one/message", "toy: Add one\n\nText.\n\ndiff --git a/x b/x\n")
    t.ok("tree")
    t.refused("export", "git am on a fresh base fails")


def export_signs(t: Toy) -> None:
    t.ok("tree")
    t.ok("export", "--signoff", "A. Person <a@example.org>")
    mail = (t.build / "series/0001-toy-Add-one.patch").read_text()
    assert "\nBecause.\n\nSigned-off-by: A. Person <a@example.org>\n---\n" in mail, mail
    assert "\nFrom: A. Person <a@example.org>\n" in mail
    t.ok("export")
    assert "Signed-off-by" not in (t.build / "series/0001-toy-Add-one.patch").read_text()


def export_fails_on_a_checkpatch_finding(t: Toy) -> None:
    t.put("kernel/one.c", "int BAD_STYLE;\n")
    t.ok("tree")
    t.refused("export", "0001-toy-Add-one.patch", "BAD_STYLE")


def export_wants_a_maintainers_entry_for_new_files(t: Toy) -> None:
    t.put("scripts/orphan", "x\n")
    t.put("series/two/files", "include/new/ours.h\nscripts/orphan\n")
    t.ok("tree")
    assert "ours.h" not in t.refused("export", "'two'", "scripts/orphan", "MAINTAINERS")


def export_refuses_what_is_not_captured(t: Toy) -> None:
    t.ok("tree")
    t.edit("kernel/b.c", "int b;", "int b_edited;")
    t.commit("toy: Edit b\n\nWhy.")
    t.refused("export", "not what the repository holds")


def export_needs_steps_and_a_cover(t: Toy) -> None:
    t.ok("tree")
    (t.repo / "series/cover").unlink()
    t.refused("export", "series/cover", "missing")
    for name in ("series", "kernel", "include"):
        shutil.rmtree(t.repo / name)
    t.ok("tree")
    t.refused("export", "no step")


def export_writes_a_quilt_queue(t: Toy) -> None:
    t.ok("tree")
    queue = t.where / "queue"
    for _ in range(2):  # replaces what it has written
        out = t.ok("export", "--quilt", str(queue))
    assert "2 patches" in out and "dpkg-source gives the tree" in out, out
    names = ["features/all/stacks/0001-toy-Add-one.patch", "features/all/stacks/0002-toy-Add-two.patch"]
    lines = (queue / "series").read_text().splitlines()
    assert lines[0].startswith("# ") and lines[1:] == names, lines
    assert [(queue / name).is_file() for name in names] == [True, True]
    (t.where / "link").symlink_to(queue)
    (queue / "other").write_text("kept\n")
    t.ok("export", "--quilt", str(t.where / "link"))
    assert (queue / "other").exists() and (queue / "series").read_text().splitlines() == lines
    (queue / "series").write_text("bugfix/theirs.patch\n")
    t.refused("export", f"{queue}/series: not written by dev/export", args=("--quilt", str(queue)))
    assert (queue / "series").read_text() == "bugfix/theirs.patch\n"


def export_tries_another_release(t: Toy) -> None:
    t.ok("tree")
    release = t.where / "release"
    shutil.copytree(t.linux, release, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for path in ("kernel/one.c", "kernel/run.sh", "include/new/ours.h"):
        (release / path).unlink()
    # Lines moved; a neighbour of the hunk of one changed; that of two is gone.
    moved = "int more;\n" * 5 + A_C
    (release / "kernel/a.c").write_text(moved)
    out = t.ok("export", "--try", str(release))
    assert "of 2 patches 2 apply, 0 by a merge with .build/linux, 0 stop" in out, out
    (release / "kernel/a.c").write_text(moved.replace("int a1;", "int changed;"))
    out = t.ok("export", "--try", str(release))
    assert "merges  0001-toy-Add-one.patch" in out and "1 apply, 1 by a merge" in out, out
    (release / "kernel/a.c").write_text(A_C.split("int a18;")[0] + "int other;\n")
    done = t.tool("export", "--try", str(release))
    assert done.returncode == 1 and "1 apply, 0 by a merge with .build/linux, 1 stop" in done.stdout
    assert "stops   0002-toy-Add-two.patch\n        kernel/a.c:20\n" in done.stdout, done.stdout
    t.refused("export", "9.9: neither a kernel tree", args=("--try", "9.9"))
    t.refused("export", "not a kernel tree", args=("--try", str(t.repo)))
    for wrong in (("--try", ""), ("--try", "--help"), ("--quilt",), ("--quilt", "-x")):
        assert t.tool("export", *wrong).returncode == 2, wrong


def export_builds_each_step_of_the_kernel(t: Toy) -> None:
    t.put("series/build.config", "CONFIG_TOY=y\n")
    t.put("series/configs.toml", CONFIGS)
    t.put("series/series", "one\ntwo\nthree\n")
    t.put("series/three/message", "toy: Add three\n\nBecause of two.\n")
    t.put(
        "series/three/edit.patch",
        "diff --git a/MAINTAINERS b/MAINTAINERS\n--- a/MAINTAINERS\n+++ b/MAINTAINERS\n"
        "@@ -1,3 +1,4 @@\n TOY\n+F:\ttools/toy/\n F:\tkernel/\n F:\tinclude/*/ours.h\n",
    )
    t.ok("tree")
    done = t.tool("export", "--build=off,on")
    assert done.returncode == 0 and done.stderr.count("build: step") == 4, done.stderr
    done = t.tool("export", "--build")
    assert "of 3 steps, 2 change the kernel and 0 programs" in done.stdout, done.stdout
    assert re.findall("build: step .*options ([a-z]+)", done.stderr) == ["bpf", "bpf"]
    assert t.tool("export", "--build=of").returncode == 2
    for switch, text in (
        ("on", "#ifdef CONFIG_TOY\n#error broken\n#endif\n"),
        ("off", "#ifndef CONFIG_TOY\n#error broken\n#endif\n"),
        ("bpf", "#ifdef CONFIG_TOY_BPF\n#error broken\n#endif\n"),
    ):
        t.put("kernel/one.c", text)
        t.ok("tree")
        t.refused("export", "step 'one'", f"options {switch}", "#error broken", args=("--build",))


def export_builds_programs_in_their_steps(t: Toy) -> None:
    t.put("series/configs.toml", CONFIGS)
    t.put("series/build.config", "CONFIG_TOY=y\n")
    t.ok("tree")
    where = t.linux / "tools/testing/stack_table"
    where.mkdir(parents=True)
    (where / "Makefile").write_text("all: one\none two: ; cc -c -o $(O)/$@ $@.c\n")
    (where / "one.c").write_text("int one;\n")
    t.edit("MAINTAINERS", "TOY\n", "TOY\nF:\ttools/testing/\n")
    t.commit("toy: Test one\n\nWhy.", "tools/testing/stack_table")
    t.edit("tools/testing/stack_table/Makefile", "all: one", "all: one two")
    (where / "two.c").write_text("int two;\n")
    t.commit("toy: Test two\n\nWhy.", "tools/testing/stack_table")
    t.ok("capture", "--name", "HEAD=second")
    out = t.ok("export", "--build=programs")
    assert "of 4 steps, 0 change the kernel and 2 programs" in out, out
    t.put("tools/testing/stack_table/two.c", "#error broken\n")
    t.ok("tree")
    words = ("step 'second'", "tools/testing/stack_table", "#error broken")
    assert "one.c" not in t.refused("export", *words, args=("--build=programs",))


def tools_do_what_the_page_for_contributors_says(t: Toy) -> None:
    """The commands of a day, as they stand there, on a file that two steps edit."""
    grown(t)
    for name in ("tree", "capture", "export"):
        t.put(f"dev/{name}", f'#!/bin/sh\nexec {DEV}/{name} "$@"\n', 0o755)
    for name in ("check", "lint"):  # they have suites of their own
        t.put(f"dev/{name}", "#!/bin/sh\n", 0o755)
    page = (DEV.parent / "CONTRIBUTING.md").read_text()
    day = re.findall("^    (.*)", page.split("## A day")[1].split("\n## ")[0], re.M)
    day = [line.replace("COMMIT", "':/^toy: Add one'") for line in day]
    day.insert(1, "sed -i 's/int one10;/int one10_amended;/' .build/linux/kernel/one.c")
    done = subprocess.run(
        ["bash", "-exc", "\n".join(day)], cwd=t.repo, capture_output=True, text=True,
        env=t.env | {"GIT_SEQUENCE_EDITOR": "true"}, check=False)
    assert done.returncode == 0 and len(day) >= 9, done.stderr
    assert "int one10_amended;" in t.text("kernel/one.c") and edits(t) == GROWN
    mail = (t.build / "series/0001-toy-Add-one.patch").read_text()
    assert "+int one10_amended;" in mail and "+int one5;" in mail


def tools_tell_wrong_usage(t: Toy) -> None:
    for name in ("tree", "capture", "export", "lint"):
        done = t.tool(name, "--no-such-option")
        assert done.returncode == 2 and "usage:" in done.stderr, name
        assert "Examples:" in t.ok(name, "--help"), name


def main() -> int:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    words = sys.argv[1:]
    cases = [
        f
        for f in globals().values()
        if callable(f)
        and getattr(f, "__module__", "") == "__main__"
        and f.__name__.split("_")[0] in ("tree", "capture", "export", "tools")
    ]
    chosen = [case for case in cases if not words or any(word in case.__name__ for word in words)]
    failed = 0
    print(f"KTAP version 1\n1..{len(chosen)}")
    for number, case in enumerate(chosen, 1):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="queue-test.") as where:
            try:
                case(Toy(Path(where)))
                verdict, why = "ok", ""
            except AssertionError as error:
                verdict, why, failed = (
                    "not ok",
                    f"#   {str(error) or traceback.extract_tb(error.__traceback__)[-1].line}\n",
                    failed + 1,
                )
            except Exception as error:  # a broken case is a failed one, and the others still run
                verdict, why, failed = (
                    "not ok",
                    f"#   {type(error).__name__}: {error}\n",
                    failed + 1,
                )
        print(f"{why}{verdict} {number} {case.__name__} ({time.monotonic() - begin:.1f} s)",
              flush=True)
    return 1 if failed else 0


sys.exit(main())
