# SPDX-License-Identifier: GPL-2.0
"""Building Lua with stand-ins for apt, dpkg and the compiler."""

import contextlib
import io
from pathlib import Path
from unittest import mock

from helper import Scratch
from stackdemo import build
from stackdemo.common import DemoError

GCC = """if [ "$1" = --version ]; then echo "{version}"; exit; fi
echo "$*" >>{dir}/calls
case "$*" in *"{fail}"*) echo "x.c:1: error: wrong" >&2; exit 1;; esac
while [ "$1" != -o ]; do shift; done
echo built >"$2"
"""
READELF = """echo " GNU_SFRAME 0x1"
echo " 0x1 (NEEDED) Shared library: [libm.so.6]"
echo " 0x1 (NEEDED) Shared library: [{library}]"
"""


class BuildTest(Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.command("apt-cache", 'echo "Package: lua5.4"; echo "Version: 5.4.7-1"\n')
        self.command("apt-get", f'echo fetched >>{self.dir}/calls; : >lua5.4_5.4.7-1.dsc\n')
        self.command("dpkg-source", "mkdir -p tree/src; touch tree/src/{lua,lapi,luac}.c\n")
        self.command("readelf", READELF.format(library="libc.so.6"))
        self.gcc()
        patch = mock.patch.object(build, "OUT", self.dir / "out")
        patch.start()
        self.addCleanup(patch.stop)

    def gcc(self, fail: str = "nothing", version: str = "gcc 14") -> None:
        self.command("gcc", GCC.format(dir=self.dir, fail=fail, version=version))

    def calls(self) -> list[str]:
        """The commands since the last look."""
        path = self.dir / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def build(self) -> dict[str, Path]:
        with contextlib.redirect_stderr(io.StringIO()):
            return build.build_variants()

    def test_both_variants_without_the_compiler_of_lua(self):
        got = self.build()
        self.assertEqual(got, {name: self.dir / f"out/lua-{name}/lua" for name in ("sframe", "fp")})
        calls = self.calls()
        self.assertEqual(calls.count("fetched"), 1)
        # Two files and a link for each.
        self.assertEqual(len(calls), 1 + 2 * 3)
        self.assertFalse(any("luac" in call for call in calls))
        self.assertTrue(any("-Wa,--gsframe -c" in call for call in calls))

    def test_a_second_run_builds_nothing(self):
        self.build()
        self.calls()
        self.build()
        self.assertEqual(self.calls(), [])

    def test_another_compiler_builds_again_from_the_same_source(self):
        self.build()
        self.calls()
        self.gcc(version="gcc 15")
        self.build()
        self.assertEqual(len(self.calls()), 2 * 3)

    def test_a_failed_build_leaves_no_interpreter_and_restarts(self):
        self.gcc(fail="lua.c")
        with self.assertRaisesRegex(DemoError, "lua.c: gcc ended with 1: x.c:1: error: wrong; see "):
            self.build()
        self.assertFalse((self.dir / "out/lua-sframe").exists())
        self.gcc()
        self.assertTrue(self.build()["sframe"].is_file())

    def test_an_interrupted_download_restarts(self):
        partial = self.dir / "out/lua-source-5.4.7-1.partial"
        partial.mkdir(parents=True)
        (partial / "half.dsc").write_text("", encoding="utf-8")
        self.assertTrue(self.build()["fp"].is_file())
        self.assertFalse(partial.exists())

    def test_an_unexpected_library_is_refused(self):
        self.command("readelf", READELF.format(library="liblua5.4.so.0"))
        with self.assertRaisesRegex(DemoError, "needs liblua5.4.so.0; only"):
            self.build()

    def test_no_sframe_table_is_refused(self):
        self.command("readelf", "echo nothing\n")
        with self.assertRaisesRegex(DemoError, "has no SFrame table"):
            self.build()

    def test_no_source_package_is_named(self):
        self.command("apt-cache", "exit 100\n")
        with self.assertRaisesRegex(DemoError, "lua5.4: apt knows no source package"):
            self.build()
