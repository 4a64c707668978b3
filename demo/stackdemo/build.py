# SPDX-License-Identifier: GPL-2.0
"""Build the interpreter of Debian's lua5.4 twice: with SFrame, with frame pointers.

All of Lua is compiled into one executable that needs libc and libm only, so
that "the program's own text" is the text of one file. A variant is built in
NAME.partial and renamed when it works, so that an interrupted build restarts
cleanly; what it was built from is kept beside it, so that a finished one is
built again only when that changes.
"""

import hashlib
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .common import OUT, DemoError, run, say, shown

PACKAGE = "lua5.4"

# -g is for perf's dwarf mode and for symbol names: it changes no code.
COMMON = ["-std=gnu99", "-O2", "-g", "-DLUA_USE_LINUX", "-DLUA_COMPAT_5_3"]
VARIANTS: dict[str, list[str]] = {
    "sframe": ["-fomit-frame-pointer", "-Wa,--gsframe"],
    "fp": ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"],
}
LINK = ["-Wl,--export-dynamic", "-lm"]
JOBS = 2


def source_version() -> str:
    """The version of the source package that apt would fetch."""
    command = ["apt-cache", "showsrc", "--only-source", PACKAGE]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    versions = [line.split()[1] for line in text.splitlines() if line.startswith("Version:")]
    if not versions:
        raise DemoError(f"{PACKAGE}: apt knows no source package of this name; "
                        "is there a deb-src line, and was apt-get update run?")
    return versions[-1]


def fetch(version: str) -> Path:
    """Return the directory of the unpacked source package."""
    source = OUT / f"lua-source-{version}"
    if source.is_dir():
        return source
    say(f"fetching the source package {PACKAGE} {version}")
    partial = source.with_name(source.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    # apt downloads as a user of its own, who may not write here: as root it
    # warns about that and carries on.
    run(["apt-get", "source", "--download-only", f"{PACKAGE}={version}"],
        "source package", OUT / "lua-source.log", cwd=partial)
    described = next(partial.glob("*.dsc"))
    # apt has checked what it fetched; dpkg-source knows no key to do it again.
    run(["dpkg-source", "--no-check", "-x", described.name, "tree"],
        "source package", OUT / "lua-source.log", cwd=partial)
    # Debian's luaconf.h includes a header that its build generates.
    (partial / "tree/src/lua5.4-deb-multiarch.h").write_text(
        '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n', encoding="utf-8")
    partial.rename(source)
    return source


def identity(version: str, flags: list[str]) -> str:
    """What a built variant depends on."""
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True,
                              check=True).stdout
    text = "\n".join([version, compiler, *COMMON, *flags, *LINK])
    return hashlib.sha256(text.encode()).hexdigest()


def check(name: str, binary: Path) -> None:
    """Refuse an interpreter that would make the comparison mean something else."""
    headers = subprocess.run(["readelf", "-ldW", str(binary)], capture_output=True, text=True,
                             check=True).stdout
    if name == "sframe" and "GNU_SFRAME" not in headers:
        raise DemoError(f"{shown(binary)}: has no SFrame table; "
                        "binutils with --gsframe is needed (2.41 or later)")
    needed = {line.split("[")[1].rstrip("]") for line in headers.splitlines()
              if "(NEEDED)" in line}
    if extra := needed - {"libc.so.6", "libm.so.6"}:
        raise DemoError(f"{shown(binary)}: needs {', '.join(sorted(extra))}; "
                        "only libc and libm are expected")


def compile_all(name: str, source: Path, into: Path) -> None:
    """Compile and link one variant."""
    files = sorted(path for path in (source / "tree/src").glob("*.c") if path.name != "luac.c")
    flags = COMMON + VARIANTS[name]

    def compile_one(path: Path) -> Path:
        target = into / f"{path.stem}.o"
        run(["gcc", *flags, "-c", str(path), "-o", str(target)], path.name,
            into / f"{path.stem}.log")
        return target

    with ThreadPoolExecutor(JOBS) as pool:
        objects = [str(target) for target in pool.map(compile_one, files)]
    run(["gcc", *flags, *objects, "-o", str(into / "lua"), *LINK], "linking Lua",
        into / "link.log")


def build(name: str, version: str) -> Path:
    """Return the interpreter of one variant, built if need be."""
    done = OUT / f"lua-{name}"
    stamp = identity(version, VARIANTS[name])
    try:
        if (done / "stamp").read_text(encoding="utf-8") == stamp:
            return done / "lua"
    except FileNotFoundError:
        pass
    say(f"building Lua {version}: {' '.join(COMMON[1:2] + VARIANTS[name])}")
    partial = done.with_name(done.name + ".partial")
    for old in (partial, done):
        shutil.rmtree(old, ignore_errors=True)
    partial.mkdir(parents=True)
    compile_all(name, fetch(version), partial)
    check(name, partial / "lua")
    (partial / "stamp").write_text(stamp, encoding="utf-8")
    partial.rename(done)
    return done / "lua"


def build_variants() -> dict[str, Path]:
    """Return the interpreters by name."""
    version = source_version()
    return {name: build(name, version) for name in VARIANTS}
