# SPDX-License-Identifier: GPL-2.0
"""Recording and reading, with stand-ins for perf and the guest; the program itself."""

import argparse
import contextlib
import io
import subprocess
from unittest import mock

from helper import DATA, Scratch
from stackdemo import __main__ as cli
from stackdemo import common, perf, runs
from stackdemo.common import REPO, DemoError

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
    def record_guest(self, record: str) -> subprocess.CompletedProcess[str]:
        self.command("perf", PERF.format(dir=self.dir, record=record))
        return subprocess.run([str(REPO / "bench/record-guest"), str(self.dir), "1", "999",
                               "base-x:fp,defer:/bin/lua"], capture_output=True, text=True,
                              check=False)

    def test_files_of_a_good_run(self):
        done = self.record_guest('echo "$*" >&2; echo sum; while [ "$1" != -o ]; do shift; done; '
                                 'echo data >"$2"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "base-x.data").read_text(encoding="utf-8"), "data\n")
        self.assertEqual((self.dir / "base-x.out").read_text(encoding="utf-8"), "sum\n")
        log = (self.dir / "base-x.log").read_text(encoding="utf-8")
        self.assertIn("-e cpu-clock:u -F 999 --call-graph fp,defer", log)
        self.assertIn("-- /bin/lua ", log)

    def test_perf_fails(self):
        done = self.record_guest("echo 'no permission' >&2; exit 7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("record-guest: base-x: perf ended with 7: no permission", done.stderr)
        self.assertFalse((self.dir / "base-x.data").exists())

    def guest(self, body: str) -> None:
        """Record on the base kernel with a stand-in for vm/run."""
        self.command("../vm/run", body)
        (self.dir / "vm/run").chmod(0o755)
        with mock.patch.object(runs, "REPO", self.dir), contextlib.redirect_stderr(io.StringIO()):
            runs.record("base", {"sframe": self.dir / "s", "fp": self.dir / "f"}, 2,
                        self.dir / "out")

    def setUp(self) -> None:
        super().setUp()
        (self.dir / "vm").mkdir()
        (self.dir / "bin").mkdir()

    def test_the_guest_gets_every_run_of_its_kernel(self):
        self.guest(f'echo "$*" >{self.dir}/seen\n')
        seen = (self.dir / "seen").read_text(encoding="utf-8")
        self.assertIn("--kernel base", seen)
        for run in runs.RUNS:
            self.assertEqual(f"{run.name}:{run.mode}:" in seen, run.kernel == "base")

    def test_old_recordings_do_not_survive_a_dead_guest(self):
        old = runs.BASE.path(self.dir / "out")
        old.parent.mkdir()
        old.write_text("old", encoding="utf-8")
        with self.assertRaisesRegex(DemoError, "base kernel: recording ended with 125"):
            self.guest("exit 125\n")
        self.assertFalse(old.exists())

    def test_a_kernel_that_is_not_built(self):
        with mock.patch.object(runs, "REPO", self.dir), \
                self.assertRaisesRegex(DemoError, "base kernel: not built; run dev/kernel base"):
            runs.check_kernels()


class SameWorkTest(Scratch):
    def outputs(self, texts: list[str]) -> str:
        for run, text in zip(runs.RUNS, texts):
            (self.dir / f"{run.name}.out").write_text(text, encoding="utf-8")
        return runs.check_same_work(self.dir)

    def test_equal_checksums(self):
        texts = [f"checksum 0123abcd rounds {i}\n" for i in range(len(runs.RUNS))]
        self.assertEqual(self.outputs(texts), "0123abcd")

    def test_different_checksums(self):
        texts = ["checksum 0123abcd rounds 1\n"] * (len(runs.RUNS) - 1)
        with self.assertRaisesRegex(DemoError, "different checksums: .*99999999 in series-fp-fp"):
            self.outputs([*texts, "checksum 99999999 rounds 1\n"])

    def test_program_that_printed_nothing(self):
        with self.assertRaisesRegex(DemoError, "base-sframe-fp.out: .* no checksum"):
            self.outputs([""])


class DemoTest(Scratch):
    def demo(self, text: str, count: int) -> tuple[int, str, str]:
        """The whole report on recordings that all read as this text."""
        into = self.dir / "runs"
        into.mkdir()
        (self.dir / "stats").write_text(STATS.format(n=count), encoding="utf-8")
        (self.dir / "script").write_text(text, encoding="utf-8")
        self.command("perf", PERF.format(dir=self.dir, record="false"))
        for run in runs.RUNS:
            run.path(into).write_text("", encoding="utf-8")
            (into / f"{run.name}.out").write_text("checksum 0123abcd rounds 1\n", encoding="utf-8")
        lua = {"sframe": "lua-sframe/lua", "fp": "lua-sframe/lua"}
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(cli, "OUT", self.dir), \
                mock.patch.object(cli, "default_into", lambda: into), \
                mock.patch.object(cli, "build_variants", lambda: lua), \
                mock.patch.object(cli, "arguments",
                                  lambda: argparse.Namespace(report=True, seconds=1.0)), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main()
        return status, out.getvalue(), err.getvalue()

    def test_a_promise_not_kept_is_exit_1_after_the_table(self):
        # All runs read alike, so the base kernel is too good to be the base.
        status, out, err = self.demo((DATA / "dwarf.txt").read_text(encoding="utf-8"), 3)
        self.assertEqual(status, 1)
        self.assertIn("base kernel: 100.0 % of the samples", err)
        self.assertIn("Top 5 stacks", out)
        self.assertIn("| kernel |", (self.dir / "table.md").read_text(encoding="utf-8"))
        self.assertIn("flamegraph", (self.dir / "flamegraph.html").read_text(encoding="utf-8"))

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
            done = subprocess.run([str(REPO / "bench/demo"), f"--seconds={value}"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, value)
            self.assertIn("0.1 to 3600 seconds", done.stderr)


class WorkloadTest(Scratch):
    def lua(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["lua5.4", str(REPO / "bench/workload.lua"), *options],
                              capture_output=True, text=True, check=False)

    def test_rounds_and_checksum(self):
        self.assertEqual(self.lua("--rounds", "3").stdout, "checksum 6335bdaf rounds 3\n")

    def test_usage(self):
        for options in ((), ("--rounds",), ("--rounds", "0"), ("--minutes", "1")):
            done = self.lua(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn("usage:", done.stderr)
