# SPDX-License-Identifier: GPL-2.0
"""Tests of judge.py and of the table of programs: which recordings fail. Prints KTAP.

usage: test_judge.py [NAME...]
"""

import dataclasses
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path[:0] = [str(HERE), str(REPO / "test")]
# pylint: disable=wrong-import-position
import judge  # noqa: E402
import programs  # noqa: E402
import tap  # noqa: E402

PROGRAM = programs.Program("toy", "toy", thread="toy", leaf="work", chain=("work", "main"))
PLAIN = programs.Program("toy", "toy")
START = "__libc_start_call_main"


def sample(*frames: str, comm: str = "toy") -> str:
    """A sample as perf prints it; "-" is an address in no mapping."""
    lines = [f"{'[unknown]' if f == '-' else f} ({'[unknown]' if f == '-' else '/bin/toy'}+0x10)"
             for f in frames]
    return f"{comm}   77 \n" + "".join(f"\t    55d0c0a443fd {line}\n" for line in lines) + "\n"


def stacks(*samples: str, program: programs.Program = PLAIN) -> judge.Stacks:
    return judge.measure(program, "".join(samples).splitlines())


GOOD = sample("work", "main", START)
SHORT = sample("work", "main")


def complaints(base: list[str], series: list[str], program: programs.Program = PLAIN) -> list[str]:
    return judge.complaints(program, stacks(*base, program=program), stacks(*series, program=program))


class Measure(unittest.TestCase):
    """What is counted."""

    def test_depth_and_start(self) -> None:
        found = stacks(GOOD, SHORT)
        self.assertEqual((len(found), found.depth.mean, found.whole.mean), (2, 2.5, 0.5))

    def test_only_the_threads_samples_count(self) -> None:
        self.assertEqual(len(stacks(GOOD, sample("work", comm="GC"), program=PROGRAM)), 1)

    def test_an_address_in_no_mapping_is_no_frame(self) -> None:
        found = stacks(sample("work", "-", START))
        self.assertEqual((found.depth.mean, found.outside), (2, 1))

    def test_a_leaf_is_where_it_is(self) -> None:
        found = stacks(sample("-", "main", START))
        self.assertEqual((found.lost, found.outside), (1, 0))

    def test_a_chain_may_have_others_between(self) -> None:
        self.assertEqual(stacks(sample("work", "x", "main", START), program=PROGRAM).chain.mean, 1)

    def test_a_chain_has_an_order(self) -> None:
        self.assertEqual(stacks(sample("work", START, "main"), program=PROGRAM).chain.mean, 1)
        reverse = programs.Program("toy", "toy", chain=("main", "work"))
        self.assertEqual(stacks(GOOD, program=reverse).chain.mean, 0)

    def test_a_chain_without_the_start_is_not_whole(self) -> None:
        self.assertEqual(stacks(SHORT, program=PROGRAM).chain.mean, 0)

    def test_a_frame_that_comes_again(self) -> None:
        around = sample("work", "main", "main", START)
        self.assertEqual(stacks(around, GOOD, program=PROGRAM).twice, 1)
        self.assertEqual(stacks(sample("work", START, START), program=PROGRAM).twice, 1)

    def test_recursion_is_no_circle(self) -> None:
        self.assertEqual(stacks(sample("work", "f", "f", "main", START), program=PROGRAM).twice, 0)

    def test_other_leaves_need_no_chain(self) -> None:
        self.assertEqual(stacks(GOOD, sample("tick", START), program=PROGRAM).chain.values, [True])


class Complaints(unittest.TestCase):
    """What the series may not have less of."""

    def test_equal_is_good(self) -> None:
        self.assertEqual(complaints([GOOD] * 100, [GOOD] * 100), [])

    def test_more_is_good(self) -> None:
        self.assertEqual(complaints([SHORT] * 100, [GOOD] * 100), [])

    def test_one_of_many_may_be_short(self) -> None:
        self.assertEqual(complaints([GOOD] * 500, [GOOD] * 499 + [SHORT]), [])

    def test_less_depth(self) -> None:
        deep, flat = sample("work", "f", "g", START), sample("work", START)
        self.assertEqual(complaints([deep] * 100, [flat] * 100), ["stacks are less deep"])

    def test_fewer_reach_the_start(self) -> None:
        other = sample("work", "main", "f")
        self.assertEqual(complaints([GOOD] * 100, [GOOD, other] * 50),
                         ["fewer stacks reach the start"])

    def test_phases_are_no_difference(self) -> None:
        flat, deep = sample(START), sample(*["f"] * 19, START)
        self.assertEqual(complaints([flat] * 50 + [deep] * 50, [flat] * 60 + [deep] * 40), [])

    def test_garbage_of_the_series(self) -> None:
        garbage = sample("work", "main", START, "-")
        self.assertEqual(complaints([garbage] * 100, [GOOD] * 100), [])
        self.assertEqual(complaints([GOOD] * 100, [GOOD] * 99 + [garbage]),
                         ["1 frames are in no executable mapping"])
        without = dataclasses.replace(PLAIN, tables=False)
        self.assertEqual(complaints([GOOD] * 100, [GOOD] * 99 + [garbage], without), [])

    def test_a_chain_that_neither_has(self) -> None:
        skipped = sample("work", START, START)
        self.assertEqual(complaints([skipped] * 100, [skipped] * 100, PROGRAM),
                         ["0.0% of the stacks have work < main"])

    def test_a_circle(self) -> None:
        around = sample("work", "main", "main", START)
        self.assertEqual(complaints([GOOD] * 100, [GOOD] * 99 + [around], PROGRAM),
                         ["1 stacks have a frame twice"])
        self.assertEqual(complaints([around] * 100, [around] * 100, PROGRAM), [])

    def test_few_samples(self) -> None:
        self.assertEqual(complaints([GOOD] * 100, [GOOD] * 29), ["series: 29 samples only"])
        self.assertEqual(complaints([], [GOOD] * 100), ["base: 0 samples only"])

    def test_a_recording_without_mappings(self) -> None:
        self.assertEqual(complaints([sample("-", START)] * 100, [GOOD] * 100),
                         ["base: perf knows no mapping of 100 leaves"])


class Table(unittest.TestCase):
    """programs.toml"""

    def test_names_are_unique(self) -> None:
        names = [program.name for program in programs.load()]
        self.assertEqual(len(names), len(set(names)))

    def test_each_word_is_a_program(self) -> None:
        up, = programs.choose(["tab-up"])
        self.assertTrue(up.run.endswith("stacks-tab up"))

    def test_patterns(self) -> None:
        self.assertGreater(len(programs.choose(["java*"])), 2)
        with self.assertRaises(SystemExit):
            programs.choose(["cobol"])

    def test_starts(self) -> None:
        for name in ("_start", "__libc_start_main_impl", "clone3", "runtime.goexit.abi0"):
            self.assertRegex(name, f"^({programs.START})$")
        self.assertNotRegex("restart_thread_pool", f"^({programs.START})$")


if __name__ == "__main__":
    sys.exit(tap.main())
