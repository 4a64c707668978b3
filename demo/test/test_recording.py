# SPDX-License-Identifier: GPL-2.0
"""Recording and reading, with stand-ins for perf and the guest; the program itself."""

import argparse
import contextlib
import io
import os
import re
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

from helper import DATA, Scratch
from stackdemo import __main__ as cli
from stackdemo import common, perf, runs, tables
from stackdemo.common import REPO, DemoError
from stackdemo.workloads import KERNELS, LUA, WORKLOADS, stock

STATS = "Aggregated stats:\n        SAMPLE events: {n:10}  (99.1%)\n  LOST_SAMPLES events: 1 ( 0.0%)\n" \
        "cpu-clock:u stats:\n  SAMPLE events: {n}\n  LOST_SAMPLES events:          9\n"
PERF = """case "$*" in
*--stats*) cat {dir}/stats ;;
*--header-only*) echo "# data size      : 1200" ;;
script*) cat {dir}/script ;;
record*) {record} ;;
esac
"""


class ReadTest(Scratch):
    def read(self, count: int, text: str) -> perf.Data:
        self.command("perf", PERF.format(dir=self.dir, record="false"))
        (self.dir / "stats").write_text(STATS.format(n=count), encoding="utf-8")
        (self.dir / "script").write_text(text, encoding="utf-8")
        (self.dir / "x.data").write_text("", encoding="utf-8")
        return perf.read(self.dir / "x.data")

    def test_a_good_file(self):
        got = self.read(3, (DATA / "dwarf.txt").read_text(encoding="utf-8"))
        self.assertEqual((len(got.recording.samples), got.bytes_per_sample, got.lost),
                         (3, 400.0, 9))

    def test_no_samples(self):
        with self.assertRaisesRegex(DemoError, "x.data: no samples were recorded"):
            self.read(0, "")

    def test_samples_that_perf_script_does_not_print(self):
        with self.assertRaisesRegex(DemoError, "3 samples are recorded, 1 were read"):
            self.read(3, "lua 7\n\t 55d0 main (lua)\n")

    def test_lines_not_understood(self):
        with self.assertRaisesRegex(DemoError, "1 lines not understood"):
            self.read(1, "lua 7\n\t 55d0 main (lua)\nwhat is this\n")

    def test_missing_file(self):
        with self.assertRaisesRegex(DemoError, "absent.data: perf wrote no such file"):
            perf.read(self.dir / "absent.data")

    def test_perf_fails(self):
        self.command("perf", "echo 'incompatible file format' >&2; exit 3\n")
        (self.dir / "x.data").write_text("junk", encoding="utf-8")
        with self.assertRaisesRegex(DemoError, "ended with 3: incompatible file format"):
            perf.read(self.dir / "x.data")

    def test_header_without_size(self):
        with self.assertRaisesRegex(DemoError, "names no data size"):
            perf.data_size("# header version : 1\n")


class RecordTest(Scratch):
    def record_guest(self, record: str, *modes: str) -> subprocess.CompletedProcess[str]:
        """Record with a stand-in for perf, and with Lua's load, which is the program's."""
        self.command("perf", PERF.format(dir=self.dir, record=record))
        self.kernel_path.write_text("/var/cache/sframe\n", encoding="utf-8")
        specs = [f"base-x{i or ''}:{mode}:lua:/bin/lua" for i, mode in enumerate(modes or ("fp",))]
        kernel = {"TABLE_PATH": str(self.kernel_path), "FILES": str(self.dir / "files")}
        return subprocess.run([str(REPO / "demo/record-guest"), str(self.dir), "1", "999",
                               str(self.dir / "tables"), *specs],
                              capture_output=True, text=True, check=False, env=os.environ | kernel)

    def tables(self) -> None:
        """A cache."""
        (self.dir / "tables/cache").mkdir(parents=True)
        (self.dir / "tables/cache/table").write_text("the table", encoding="utf-8")

    def log(self, name: str) -> str:
        """What perf and the program said."""
        return (self.dir / f"{name}.log").read_text(encoding="utf-8")

    GOOD = 'echo "$*" >&2; echo sum; cat "$(cat "$TABLE_PATH")/table" >&2 || true; ' \
           'while [ "$1" != -o ]; do shift; done; echo data >"$2"'

    def test_files_of_a_good_run(self):
        done = self.record_guest(self.GOOD)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "base-x.data").read_text(encoding="utf-8"), "data\n")
        self.assertEqual((self.dir / "base-x.out").read_text(encoding="utf-8"), "sum\n")
        log = self.log("base-x")
        self.assertIn("-e cpu-clock:u -F 999 --call-graph fp", log)
        self.assertRegex(log, r"(?m)-- /bin/lua \S+/demo/load/work.lua --seconds 1$")

    def test_deferred_runs_have_tables_and_others_none(self):
        self.tables()
        done = self.record_guest(self.GOOD, "fp,defer", "fp")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the table", self.log("base-x"))
        self.assertNotIn("the table", self.log("base-x1"))
        self.assertEqual(self.kernel_path.read_text(encoding="utf-8"), "/var/cache/sframe\n")

    def test_deferred_runs_begin_when_tables_are_loaded(self):
        self.tables()
        done = self.record_guest(
            'case "$*" in *"-F 99 "*) echo "1 loading" >"$FILES"; '
            '{ sleep 0.5; echo "1 loaded" >"$FILES"; } >/dev/null 2>&1 & ;; '
            f'*) cat "$FILES" >&2; {self.GOOD} ;; esac', "fp,defer")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 loaded", self.log("base-x"))

    def test_tables_that_are_missing(self):
        done = self.record_guest(self.GOOD, "fp,defer")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tables/cache", done.stderr)

    def test_perf_fails(self):
        done = self.record_guest("echo 'no permission' >&2; exit 7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("record-guest: base-x: the load or perf ended with 7: no permission",
                      done.stderr)
        self.assertFalse((self.dir / "base-x.data").exists())

    def guest(self, body: str) -> None:
        """Record on the base kernel with a stand-in for vm/run."""
        self.command("../vm/run", body)
        (self.dir / "vm/run").chmod(0o755)
        with mock.patch.object(runs, "REPO", self.dir), contextlib.redirect_stderr(io.StringIO()):
            runs.record("base", WORKLOADS, 2, self.dir / "out")

    def setUp(self) -> None:
        super().setUp()
        self.kernel_path = self.dir / "unwind_table_path"
        (self.dir / "vm").mkdir()
        (self.dir / "bin").mkdir()

    def test_the_guest_gets_every_run_of_its_kernel(self):
        self.guest(f'echo "$* " >{self.dir}/seen\n')
        seen = (self.dir / "seen").read_text(encoding="utf-8")
        self.assertIn("--kernel base", seen)
        self.assertIn(" base-xz-fp:fp:xz:/usr/bin/xz ", seen)
        self.assertIn(" base-lua-fp-fp:fp:lua:", seen)
        for run in (run for workload in WORKLOADS for run in workload.runs):
            self.assertEqual(f" {run.name}:{run.mode}:" in seen, run.kernel == "base")

    def test_every_load_is_there(self):
        for workload in WORKLOADS:
            self.assertTrue(os.access(REPO / "demo/load" / workload.name, os.X_OK), workload.name)

    def test_old_recordings_do_not_survive_a_dead_guest(self):
        old = WORKLOADS[0].base.path(self.dir / "out")
        old.parent.mkdir()
        old.write_text("old", encoding="utf-8")
        with self.assertRaisesRegex(DemoError, "base kernel: recording ended with 125"):
            self.guest("exit 125\n")
        self.assertFalse(old.exists())

    def test_a_kernel_that_is_not_built(self):
        with mock.patch.object(runs, "REPO", self.dir), \
                self.assertRaisesRegex(DemoError, "base kernel: not built; run dev/kernel base"):
            runs.check_kernels(KERNELS)


class SameWorkTest(Scratch):
    def outputs(self, texts: list[str]) -> str:
        for run, text in zip(LUA.runs, texts):
            (self.dir / f"{run.name}.out").write_text(text, encoding="utf-8")
        return runs.check_same_work(LUA.name, LUA.runs, self.dir)

    def test_equal_checksums(self):
        texts = [f"checksum 0123abcd rounds {i}\n" for i in range(len(LUA.runs))]
        self.assertEqual(self.outputs(texts), "0123abcd")

    def test_different_checksums(self):
        texts = ["checksum 0123abcd rounds 1\n"] * (len(LUA.runs) - 1)
        with self.assertRaisesRegex(DemoError,
                                    "lua: .* different checksums: .*99999999 in series-lua-fp-fp"):
            self.outputs([*texts, "checksum 99999999 rounds 1\n"])

    def test_load_that_printed_nothing(self):
        with self.assertRaisesRegex(DemoError, "base-lua-sframe-fp.out: .* no checksum"):
            self.outputs([""])


class TablesTest(Scratch):
    def test_libraries_that_ldd_lists(self):
        self.assertEqual(tables.needed(
            "/usr/bin/xz:\n\tlinux-vdso.so.1 (0x00007fd5)\n"
            "\tliblzma.so.5 => /lib/x86_64-linux-gnu/liblzma.so.5 (0x00007fd5)\n"
            "\tlibtk.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00007fd5)\n"
            "/usr/bin/static:\n\tnot a dynamic executable\n"),
            {"/lib/x86_64-linux-gnu/liblzma.so.5", "/lib64/ld-linux-x86-64.so.2"})

    def test_modules_below_directories_that_match(self):
        for name in ("perl5.1/x/auto/List/Util.so", "perl5.1/x/other.so", "perl-base/auto/A.so.1",
                     "perl-base/auto/A.pm"):
            path = self.dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", encoding="utf-8")
        self.assertEqual(tables.modules([f"{self.dir}/perl*/**/auto"]),
                         {f"{self.dir}/perl5.1/x/auto/List/Util.so",
                          f"{self.dir}/perl-base/auto/A.so.1"})
        self.assertEqual(tables.modules([f"{self.dir}/absent*"]), set())

    def test_objects_of_a_workload(self):
        (self.dir / "tool").write_text("", encoding="utf-8")
        (self.dir / "lib.so.1.2").write_text("", encoding="utf-8")
        (self.dir / "lib.so").symlink_to("lib.so.1.2")
        self.command("ldd", f'echo "$*" >{self.dir}/seen; echo "	lib => {self.dir}/lib.so (0x7f)"\n'
                            'exit 1\n')
        got = tables.objects([stock("tool", f"{self.dir}/tool")])
        self.assertEqual(got, [f"{self.dir}/lib.so.1.2", f"{self.dir}/tool"])

    def test_program_that_is_not_installed(self):
        with self.assertRaisesRegex(DemoError, "/absent/tool: no such file; dev/packages"):
            tables.objects([stock("tool", "/absent/tool")])

    def fill(self, tool: str) -> list[str]:
        """Fill the cache with a stand-in for the tool; what it was asked to make."""
        program = self.command("program", "")
        self.command("make", f"mkdir -p {self.dir}/sframe; cp {self.dir}/tool {self.dir}/sframe/sframe")
        (self.dir / "tool").write_text(f"#!/bin/bash\n{tool}\n", encoding="utf-8")
        (self.dir / "tool").chmod(0o755)
        with mock.patch.object(tables, "OUT", self.dir), \
                mock.patch.object(tables, "TOOL", self.dir / "sframe"), \
                mock.patch.object(tables, "CACHE", self.dir / "cache"), \
                contextlib.redirect_stderr(io.StringIO()):
            tables.fill([stock("program", str(program))])
        return sorted(path.name for path in (self.dir / "cache").iterdir())

    def test_tables_of_an_older_tool_do_not_survive(self):
        (self.dir / "cache").mkdir()
        (self.dir / "cache/old").write_text("", encoding="utf-8")
        self.assertEqual(self.fill('mkdir "$3"; touch "$3/new"'), ["new"])

    def test_tool_that_fails_is_named_with_its_log(self):
        with self.assertRaisesRegex(DemoError, "filling the cache of tables: .*: oh no; see "):
            self.fill("echo oh no; exit 1")


class DemoTest(Scratch):
    def demo(self, text: str, count: int) -> tuple[int, str, str]:
        """The whole report on recordings that all read as this text."""
        into = self.dir / "runs"
        into.mkdir()
        (self.dir / "stats").write_text(STATS.format(n=count), encoding="utf-8")
        (self.dir / "script").write_text(text, encoding="utf-8")
        self.command("perf", PERF.format(dir=self.dir, record="false"))
        workload = stock("lua", "lua-sframe/lua")
        for run in workload.runs:
            run.path(into).write_text("", encoding="utf-8")
            (into / f"{run.name}.out").write_text("checksum 0123abcd rounds 1\n", encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        options = argparse.Namespace(report=True, seconds=1.0, only=[workload],
                                     kernel="both")
        with mock.patch.object(cli, "OUT", self.dir), \
                mock.patch.object(cli, "default_into", lambda: into), \
                mock.patch.object(cli, "arguments", lambda: options), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main()
        return status, out.getvalue(), err.getvalue()

    def test_a_promise_not_kept_is_exit_1_after_the_table(self):
        status, out, err = self.demo((DATA / "dwarf.txt").read_text(encoding="utf-8"), 3)
        self.assertEqual(status, 1)
        # The text tells no positions, so that nothing is complete.
        self.assertIn("demo: lua: series kernel: 0.00 % of the samples", err)
        self.assertIn("The hottest stack", out)
        self.assertIn("| program |", (self.dir / "table.md").read_text(encoding="utf-8"))
        self.assertIn("flamegraph", (self.dir / "flamegraph.html").read_text(encoding="utf-8"))
        self.assertIn("series-lua-fp-defer: 3 samples",
                      (self.dir / "misses.txt").read_text(encoding="utf-8"))

    def test_no_samples_is_exit_1_in_one_line(self):
        status, out, err = self.demo("", 0)
        self.assertEqual((status, out), (1, ""))
        self.assertIn("no samples were recorded", err.splitlines()[-1])


class CommandTest(Scratch):
    def test_failing_command_names_its_log(self):
        with self.assertRaisesRegex(DemoError, "x.c: sh ended with 4: oh no; see .*/x.log"):
            common.run(["sh", "-c", "echo oh no; exit 4"], "x.c", self.dir / "x.log")

    def test_options_out_of_range_are_usage(self):
        for value in ("0", "-1", "nan", "x", "1e9"):
            done = subprocess.run([str(REPO / "demo/run"), f"--seconds={value}"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, value)
            self.assertIn("0.1 to 3600 seconds", done.stderr)


    def test_programs_to_choose(self):
        self.assertEqual([workload.name for workload in cli.chosen("nginx, xz")], ["xz", "nginx"])
        for value in ("xz,emacs", "", "xz,"):
            done = subprocess.run([str(REPO / "demo/run"), f"--only={value}"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, value)
            self.assertIn("there are xz, python3, perl, sqlite3, nginx, lua", done.stderr)


class LoadTest(Scratch):
    """What gives the programs work, with the programs themselves."""

    def load(self, name: str, *command: str, seconds: str = "0.3", **environment: str) -> \
            subprocess.CompletedProcess[str]:
        return subprocess.run([str(REPO / "demo/load" / name), seconds, *command],
                              capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env=os.environ | environment)

    def test_every_stock_program_does_its_work(self):
        for workload in WORKLOADS:
            if workload is LUA:
                continue
            with self.subTest(workload.name):
                done = self.load(workload.name, workload.ours.program.path)
                self.assertEqual(done.returncode, 0, done.stderr)
                match = re.fullmatch(r"checksum ([0-9a-f]{8}) rounds (\d+)\n", done.stdout)
                self.assertIsNotNone(match, done.stdout)
                self.assertGreater(int(match[2]), 1)
                self.assertNotEqual(match[1], "00000000")

    def test_programs_that_fail(self):
        for workload in WORKLOADS:
            with self.subTest(workload.name):
                done = self.load(workload.name, "false")
                self.assertNotEqual(done.returncode, 0)
                self.assertNotIn("checksum", done.stdout)

    def test_sqlite3_that_answers_differently(self):
        shell = self.command("shell", 'n=0; while read -r l; do case $l in ");") '
                                      'echo $((n++ / 3));; esac; done\n')
        done = self.load("sqlite3", str(shell))
        self.assertEqual(done.returncode, 1)
        self.assertIn("round 4 answered '1\\n'", done.stderr)

    def test_xz_that_loses_data(self):
        xz = self.command("half", "cat | head -c 131072 | xz; cat >/dev/null\n")
        done = self.load("xz", str(xz))
        self.assertEqual(done.returncode, 1)
        self.assertIn("not as many came back", done.stderr)

    def nginx(self) -> int:
        """Status of the load, after which neither nginx nor its files are left."""
        # Of its own, as other tests make files in /tmp, too
        with tempfile.TemporaryDirectory() as folder:
            server = self.command("server", f'echo $$ >{self.dir}/pid; exec /usr/sbin/nginx "$@"\n')
            done = self.load("nginx", str(server), TMPDIR=folder)
            self.assertFalse(Path("/proc", (self.dir / "pid").read_text().strip()).exists())
            self.assertEqual(os.listdir(folder), [])
        return done.returncode

    def test_nginx_leaves_nothing(self):
        self.assertEqual(self.nginx(), 0)

    def test_nginx_leaves_nothing_when_its_clients_fail(self):
        self.command("wrk", "exit 3\n")
        self.assertEqual(self.nginx(), 3)

    def test_nginx_whose_answers_are_errors(self):
        self.command("wrk", "echo '  5 requests in 1s'; echo '  Non-2xx or 3xx responses: 5'\n")
        self.assertEqual(self.nginx(), 1)


class WorkloadTest(Scratch):
    def lua(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["lua5.4", str(REPO / "demo/load/work.lua"), *options],
                              capture_output=True, text=True, check=False)

    def test_rounds_and_checksum(self):
        self.assertEqual(self.lua("--rounds", "3").stdout, "checksum 6335bdaf rounds 3\n")

    def test_usage(self):
        for options in ((), ("--rounds",), ("--rounds", "0"), ("--minutes", "1")):
            done = self.lua(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn("usage:", done.stderr)
