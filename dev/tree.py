# SPDX-License-Identifier: GPL-2.0
"""usage: dev/tree [--check | --discard]

Bring .build/linux up to date with the base, series/ and the overlay: import the
Debian source once (tag `base`), make one commit per step (branch `series`), and
write the files that differ; files that stay the same are not touched, so builds
stay incremental. .build/linux-base is a second work tree at tag `base`.

  --check    make the commits, say whether .build/linux stands at them, change nothing
  --discard  throw away uncommitted changes and commits that dev/capture has not
             taken; their commit ids are printed, so git can still find them

Examples:
  dev/tree && git -C .build/linux log --oneline base..series
  dev/tree --check && echo "all steps apply, the tree is up to date"
"""

import sys

from linux_tree import Tree, __doc__ as variables
from tool import Failure, run_tool, say


def discard(tree: Tree) -> None:
    """Make the work tree clean at branch series, and the branch what was built last."""
    git = tree.git
    for operation in ("rebase", "am", "cherry-pick", "merge"):
        git.try_run(operation, "--quit")
    if stash := git("stash", "create"):
        say(f"uncommitted changes discarded; they are commit {stash}")
    tip, built = git.commit_of("series"), git.commit_of("refs/built/series")
    assert built
    if tip != built:
        say(f"uncaptured commits discarded; their tip is {tip}")
    git("reset", "--quiet", "--hard", "HEAD")
    git("checkout", "--quiet", "-B", "series", built)


def main() -> int:
    args = set(sys.argv[1:])
    if args & {"-h", "--help"}:
        print(__doc__ + "\n" + (variables or "").split("\n\n")[-1].rstrip())
        return 0
    if args - {"--check", "--discard"} or len(args) > 1:
        print(__doc__, file=sys.stderr)
        return 2

    tree = Tree()
    lock = tree.lock()
    if "--check" in args and not tree.path.exists():
        raise Failure(".build/linux: not there yet; run dev/tree")
    base = tree.import_base()
    if "--check" not in args:
        git = tree.work_tree("linux-base", base)
        if git.commit_of("HEAD") != base:
            git("checkout", "--quiet", "--detach", base)
    done = tree.commit_steps(base)
    tip = done[-1][1] if done else base

    if "--check" in args:
        if tree.git.commit_of("series") != tip or tree.git.commit_of("base") != base:
            raise Failure(
                f".build/linux: branch series is not what the repository holds ({tip[:12]}); run dev/tree or dev/capture"
            )
        if why := tree.state():
            raise Failure(f".build/linux: {why}")
        print(f"{len(done)} steps, .build/linux is up to date: {tip[:12]}")
        return 0

    if "--discard" in args:
        discard(tree)
    if why := tree.state():
        raise Failure(f".build/linux: {why}, or throw them away with dev/tree --discard")
    tree.move_to(base, tip)
    print(f"{len(done)} steps, .build/linux is up to date: {tip[:12]}")
    lock.close()
    return 0


if __name__ == "__main__":
    run_tool(main)
