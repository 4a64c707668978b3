# SPDX-License-Identifier: GPL-2.0
"""usage: dev/export [--signoff 'Name <mail>'] [--build[=NAME,...]] [--quilt DIR]
                  [--try RELEASE]

Write the series as mails into .build/series: one patch per step and a cover letter
(series/cover: first line the subject, the rest its text). Then check:
  - the repository, .build/linux and the mails are the same series,
  - scripts/checkpatch.pl --strict finds nothing in any of them,
  - every new file has an entry of its own in MAINTAINERS,
  - `git am` of all on a fresh clone at the base gives the tree object of branch series.

  --signoff 'Name <mail>'  send the mails in that name, with its Signed-off-by
  --build[=NAME,...]       build what each step changes: vmlinux, in all configurations of
                           series/configs.toml with the key `steps`, and the tests, samples
                           and tools (programs); or only what is named. A later run goes on
                           where this one ended.
  --quilt DIR              write the patches to DIR as Debian's kernel package has them in
                           debian/patches, and prove that dpkg-source applies them
  --try RELEASE            say which patches stop on another release: the directory of a
                           kernel tree, or a version of the base's package that apt knows.
                           Where a patch stops, its other hunks are applied, and the next are
                           tried. Exit status 1 if one stops.

Examples:
  dev/export
  dev/export --build=programs,bpf
  dev/export --signoff 'A. Person <person@example.org>' --build
  dev/export --quilt patches
  dev/export --try 6.12.117
"""

import hashlib
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from carry import clone_of_base, try_release, write_quilt
from linux_tree import Tree, __doc__ as variables
from repository import Step
from step_builds import all_names, build_steps
from tool import Failure, run_tool, say

# FILE_PATH_CHANGES asks for an edit of MAINTAINERS in every mail that adds a file, even
# where an entry covers it; check_maintainers() asks for the entry. UNKNOWN_COMMIT_ID looks
# for the commits of Fixes: tags in the tree, whose history begins with the base.
CHECKPATCH = [
    "--strict",
    "--no-signoff",
    "--no-summary",
    "--show-types",
    "--ignore",
    "FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID",
]

# What these ask for does not exist in user space (BIT_ULL, strscpy), or is about what
# only the kernel has other means for (volatile, symbols of assembly) or other names for
# (ELF types); tests are made by macros, and skip by some that return; programs are told
# ENOSYS, and execve() takes an array of strings that are not constant.
KERNEL_RULES = {
    "AVOID_EXTERNS",
    "BIT_MACRO",
    "CAMELCASE",
    "COMPLEX_MACRO",
    "EMBEDDED_FUNCTION_NAME",
    "ENOSYS",
    "MACRO_ARG_REUSE",
    "MACRO_WITH_FLOW_CONTROL",
    "NEW_TYPEDEFS",
    "PREFER_DEFINED_ATTRIBUTE_MACRO",
    "STATIC_CONST_CHAR_ARRAY",
    "STRCPY",
    "VOLATILE",
}

# TRACE_EVENT() and its tables have a layout of their own.
TRACE_RULES = {
    "COMPLEX_MACRO",
    "MACRO_ARG_UNUSED",
    "OPEN_ENDED_LINE",
    "PARENTHESIS_ALIGNMENT",
    "TRAILING_SEMICOLON",
}

# bpf_doc.py reads the helpers' texts, and wants a blank before the tabs.
HELPER_RULES = {"SPACE_BEFORE_TAB"}

# BPF's code that is not in kernel/bpf/.
BPF_RULES = {"RCU_TASKS_TRACE"}

# _Pragma is the language's own name, and this base has no macro for the one about loops.
PRAGMA_RULES = {"CAMELCASE"}

# BPF programs set what goes to .rodata, messages are split, and a test's description
# stands in its second line.
PERF_RULES = {
    "GLOBAL_INITIALISERS",
    "LONG_LINE_STRING",
    "SPDX_LICENSE_TAG",
    "SPLIT_STRING",
}

# Rules that do not hold below a folder, or in a file.
EXEMPT = {
    "kernel/bpf/stack_table_internal.h": PRAGMA_RULES,
    "kernel/events/tp_session.c": BPF_RULES,
    "kernel/trace/bpf_": BPF_RULES,
    # User space too; below tools/, checkpatch itself allows the types of <stdint.h>.
    "sframe/": KERNEL_RULES | {"PREFER_KERNEL_TYPES"},
    "samples/bpf/offwaketime/": KERNEL_RULES,
    "tools/": KERNEL_RULES,
    "tools/perf/": PERF_RULES,
    "include/trace/events/": TRACE_RULES,
    "include/uapi/linux/bpf.h": HELPER_RULES,
    "tools/include/uapi/linux/bpf.h": HELPER_RULES,
}


def current_steps(tree: Tree) -> list[tuple[Step, str]]:
    """The steps with their commits, after making sure that all sides agree."""
    if not tree.path.exists():
        raise Failure(".build/linux: not there yet; run dev/tree")
    done = tree.commit_steps(tree.git("rev-parse", "base"))
    if not done:
        raise Failure("series/series: names no step; nothing to export")
    if tree.git.commit_of("series") != done[-1][1]:
        raise Failure(
            ".build/linux: branch series is not what the repository holds; run dev/capture or dev/tree"
        )
    return done


def cover(tree: Tree) -> tuple[str, str]:
    path = tree.repo.root / "series" / "cover"
    if not path.exists():
        raise Failure(f"{path}: missing; write the cover letter: subject, blank line, text")
    subject, _, body = path.read_text().partition("\n")
    if not subject.strip() or not body.strip():
        raise Failure(f"{path}: needs a subject line, a blank line and a text")
    return subject.strip(), body.strip()


def format_patch(tree: Tree, tip: str, folder: Path, *options: str) -> list[Path]:
    """The commits base..tip as mails in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    tree.git(
        "format-patch",
        "--quiet",
        "--numbered",
        "--zero-commit",
        "--no-signature",
        "--no-renames",
        "--no-ext-diff",
        "--abbrev=12",
        *options,
        "-o",
        str(folder),
        f"base..{tip}",
    )
    return sorted(folder.glob("*.patch"))


def write_mails(tree: Tree, signer: str) -> list[Path]:
    """.build/series: cover letter and patches, replaced as a whole. Returns the patches."""
    subject, body = cover(tree)
    partial, final = tree.build / "series.partial", tree.build / "series"
    letter, *patches = format_patch(
        tree, "series", partial, "--cover-letter", "--cover-from-description=none"
    )
    body += f"\n\nApplies to Debian {tree.git('log', '-1', '--format=%s', 'base')} with git am."
    frame = letter.read_text(errors="surrogateescape")
    letter.write_text(
        frame.replace("*** SUBJECT HERE ***", subject).replace("*** BLURB HERE ***", body),
        errors="surrogateescape",
    )
    if signer:
        for mail in (letter, *patches):
            text = mail.read_bytes().decode(errors="surrogateescape")
            text = re.sub(r"^From: .*$", lambda _: f"From: {signer}", text, count=1, flags=re.M)
            mail.write_bytes(
                (text if mail == letter else sign(text, signer)).encode(errors="surrogateescape")
            )
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)
    return [final / mail.name for mail in patches]


def sign(mail: str, signer: str) -> str:
    """Add the trailer at the end of the message, which the line --- ends."""
    message, mark, rest = mail.partition("\n---\n")
    trailer = f"Signed-off-by: {signer}"
    last = message.rsplit("\n\n", 1)[-1]
    has_trailers = (
        all(re.match(r"[A-Z][A-Za-z-]+: ", line) for line in last.split("\n"))
        and "Subject: " not in last
    )
    return message.rstrip("\n") + ("\n" if has_trailers else "\n\n") + trailer + mark + rest


def checkpatch(tree: Tree, mails: list[Path]) -> list[str]:
    """The findings of checkpatch, each as the text that it prints.

    Mails without findings are remembered: checkpatch needs two minutes for a whole series."""
    found = []
    rules = checkpatch_rules(tree)
    clean = tree.build / "checkpatch"
    clean.mkdir(parents=True, exist_ok=True)
    for mail in mails:
        seen = clean / hashlib.sha256(rules + mail.read_bytes()).hexdigest()
        if seen.exists():
            continue
        done = subprocess.run(
            ["perl", "scripts/checkpatch.pl", *CHECKPATCH, str(mail.resolve())],
            cwd=tree.build / "linux-base",
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        texts = re.split(r"\n(?=(?:ERROR|WARNING|CHECK):)", "\n" + done.stdout.strip())[1:]
        if done.returncode and not texts:
            texts = [(done.stdout + done.stderr).strip()]
        # A blank line ends a finding; advice follows the last.
        texts = [text.strip().split("\n\n")[0] for text in texts]
        texts = [text for text in texts if not is_exempt(text)]
        if not texts:
            seen.touch()
        found += [f"{mail.name}: {text}" for text in texts]
    return found


def checkpatch_rules(tree: Tree) -> bytes:
    """What decides besides the mail: the base with its checkpatch, options, exemptions."""
    own = Path(__file__).read_bytes()
    return tree.git.tree_of("base").encode() + hashlib.sha256(own).digest()


def is_exempt(finding: str) -> bool:
    """Whether a finding is of a rule that does not hold where its file is."""
    where = re.search(r"^#\d+: FILE: (\S+):\d+:", finding, re.M)
    return bool(where) and any(
        where[1].startswith(folder) and finding.split(":")[1] in rules
        for folder, rules in EXEMPT.items()
    )


def maintained(path: str, text: str) -> bool:
    """Whether a MAINTAINERS entry other than THE REST names the path."""
    for pattern in re.findall(r"^F:\s*(\S+)", text.split("\nTHE REST\n")[0], re.M):
        # Most of some ten thousand patterns are of other places.
        if not path.startswith(re.split(r"[*?]", pattern)[0]):
            continue
        # A * stays within one folder; a folder stands for all below it.
        regex = re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
        if re.fullmatch(regex + (".*" if pattern.endswith("/") else "(/.*)?"), path):
            return True
    return False


def check_maintainers(tree: Tree, steps: list[tuple[Step, str]]) -> int:
    """Number of new files that nobody maintains when they arrive."""
    bad = total = 0
    for step, commit in steps:
        done = tree.git.try_run("cat-file", "blob", f"{commit}:MAINTAINERS")
        if done.returncode or not step.files:
            continue
        text = done.stdout.decode(errors="replace")
        for path in step.files:
            total += 1
            if not maintained(path, text):
                bad += 1
                say(
                    f"step '{step.name}': {path}: no entry in MAINTAINERS; add its F: line in this step or before"
                )
    print(f"MAINTAINERS: {total} new files, {bad} without entry")
    return bad


def prove_am(tree: Tree, mails: list[Path]) -> None:
    """Fresh clone at the base, git am of all: must be the tree of branch series."""
    begin = time.monotonic()
    with clone_of_base(tree) as git:
        done = git.try_run("am", "--quiet", *(str(mail.resolve()) for mail in mails))
        if done.returncode:
            text = (done.stdout + done.stderr).decode(errors="replace").strip()
            raise Failure(f".build/series: git am on a fresh base fails:\n{text}")
        if git.tree_of("HEAD") != tree.git.tree_of("series"):
            raise Failure(
                ".build/series: git am on a fresh base gives another tree than branch series:\n"
                + git("diff", "--stat", tree.git.tree_of("series"), "HEAD")
            )
    print(
        f"git am: {len(mails)} patches on a fresh base give the tree of branch series, "
        f"{tree.git.tree_of('series')} ({time.monotonic() - begin:.0f} s)"
    )


def main() -> int:
    args, signer, build, quilt, release = sys.argv[1:], "", None, "", ""
    while args:
        match args:
            case ["-h" | "--help", *_]:
                print(__doc__ + "\n" + (variables or "").split("\n\n")[-1].rstrip())
                return 0
            case [argument, *args] if re.fullmatch(r"--build(=[\w,-]+)?", argument):
                build = argument.partition("=")[2].split(",")
            case ["--signoff", signer, *args] if re.fullmatch(
                r"[^<>]+ <[^<>@ ]+@[^<>@ ]+>", signer
            ):
                pass
            case ["--quilt", quilt, *args] if quilt and not quilt.startswith("-"):
                pass
            case ["--try", release, *args] if release and not release.startswith("-"):
                pass
            case _:
                print(__doc__, file=sys.stderr)
                return 2

    tree = Tree()
    if build is not None:
        known = all_names(tree)
        build = known if build == [""] else build
        if set(build) - set(known):
            print(__doc__, f"--build knows {', '.join(known)}", file=sys.stderr)
            return 2
    lock = tree.lock()
    steps = current_steps(tree)
    mails = write_mails(tree, signer)
    findings = checkpatch(tree, mails)
    for text in findings:
        say(f"checkpatch: {text}")
    print(f"checkpatch --strict: {len(mails)} patches, {len(findings)} findings")
    bad = len(findings) + check_maintainers(tree, steps)
    prove_am(tree, mails)
    if quilt:
        write_quilt(tree, mails, Path(quilt))
    stops = try_release(tree, mails, release) if release else 0
    lock.close()
    if build:
        with tree.lock("linux-steps"):
            build_steps(tree, steps, build)
    if bad:
        raise Failure(f".build/series: {bad} findings (above)")
    if stops:
        raise Failure(f"{release}: {stops} patches stop (above)")
    print(f"export: {len(steps)} patches in .build/series")
    return 0


if __name__ == "__main__":
    run_tool(main)
