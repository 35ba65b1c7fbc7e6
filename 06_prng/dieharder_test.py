"""Tests of dieharder.py: python3 -m unittest dieharder_test. common/test runs them."""

import json
import os
import unittest
from unittest import mock

import dieharder
from stages import Failure
from test.own_program import WithProgram

# Stands in for dieharder: what it says depends on the test and on the numbers, which it reads.
JUDGE = """#!/usr/bin/env python3
import sys
if sys.argv[1] == "-h":
    sys.exit("#   dieharder version 3.31.1 Copyright 2003 Robert G. Brown   #")
test = int(sys.argv[sys.argv.index("-d") + 1])
if test == 14:
    sys.exit("Error: that test does not work")
first = sys.stdin.buffer.read(1)
print("#" + 77 * "=" + "#")
print("        test_name   |ntup| tsamples |psamples|  p-value |Assessment")
found = "0.25000000|  PASSED  " if first == b"p" else "0.00000000|  FAILED  "
print("     diehard_opso|   0|   2097152|     100|" + found)
if test == 102:
    print("       sts_serial|   3|    100000|     100|0.00312500|   WEAK   ")
"""
GENERATE = """#!/usr/bin/env python3
import os, sys
from pathlib import Path
with (Path(__file__).parent / "calls").open("a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
if "7" in sys.argv:
    sys.exit("generate: --device 7: no such device")
try:
    while True:
        os.write(1, b"m" * 1000 if "minstd" in sys.argv else b"p" * 1000)
except BrokenPipeError:
    os._exit(0)
"""


class Judged(WithProgram):
    tool, program, text = dieharder, "06_prng/generate", GENERATE

    def setUp(self):
        super().setUp()
        self.put("bin/dieharder", JUDGE)
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}"))
        self.draw = self.enterContext(mock.patch("dieharder.draw"))  # needs matplotlib

    def run_tool(self, *arguments):
        return super().run_tool("--output", str(self.folder), *arguments)

    def result(self):
        return json.loads((self.folder / "dieharder.json").read_text())

    def test_counts_assessments_and_names_what_is_not_passed(self):
        said = self.run_tool("--sources", "1,8", "--streams", "4", "--tests", "5,102")
        self.assertEqual(
            said, "philox, N = 4: 2 passed, 1 weak, 0 failed\nminstd, raw 31 bits, N = 4: 0 passed, 1 weak, 2 failed\n"
        )
        result = self.result()
        self.assertEqual((result["dieharder"], result["tests"], result["seed"]), ("3.31.1", [5, 102], 1))
        self.assertEqual(
            result["runs"][1],
            {
                "source": "minstd, raw 31 bits",
                "command": "generate --generator minstd --streams 4 --seed 1",
                "streams": 4,
                "passed": 0,
                "weak": 1,
                "failed": 2,
                "not_passed": {
                    "weak": ["sts_serial 3: p = 0.00312500"],
                    "failed": 2 * ["diehard_opso: p = 0.00000000"],
                },
            },
        )
        self.assertEqual(self.calls()[0], "--generator philox --streams 4 --seed 1 --device auto")
        self.draw.assert_called_once_with(result, self.folder / "dieharder.svg")

    def test_goes_on_where_it_was(self):
        self.run_tool("--sources", "1", "--streams", "4", "--tests", "5")
        self.run_tool("--sources", "1,2", "--streams", "1,4", "--tests", "5")
        self.assertEqual(
            [(run["source"], run["streams"]) for run in self.result()["runs"]],
            [("philox", 1), ("philox", 4), ("mt19937", 1), ("mt19937", 4)],
        )
        self.assertEqual(len(self.calls()), 4)
        with self.assertRaisesRegex(Failure, "was made with seed 1, not 2"):
            self.run_tool("--sources", "1", "--streams", "4", "--tests", "5", "--seed", "2")

    def test_short_is_part_of_all(self):
        self.run_tool("--short", "--sources", "1")
        short, calls = self.result(), len(self.calls())
        self.assertEqual(calls, 2 * len(short["tests"]))
        self.assertLess(set(short["tests"]), set(dieharder.TESTS))
        self.assertLess({run["streams"] for run in short["runs"]}, set(dieharder.STREAMS))
        with self.assertRaisesRegex(Failure, "another --output"):
            self.run_tool("--sources", "1")

    def test_says_what_went_wrong(self):
        with self.assertRaisesRegex(Failure, "dieharder -d 14: Error: that test does not work"):
            self.run_tool("--tests", "14")
        with self.assertRaisesRegex(Failure, "^generate: --device 7: no such device$"):
            self.run_tool("--device", "7", "--tests", "5")
        (self.folder / "06_prng/generate").unlink()
        with self.assertRaisesRegex(Failure, "generate is not built"):
            self.run_tool("--tests", "5")
        with mock.patch("shutil.which", return_value=None), self.assertRaisesRegex(Failure, "apt-get install"):
            self.run_tool("--tests", "5")
        (self.folder / "dieharder.json").write_text("{}")
        with self.assertRaisesRegex(Failure, "is not 'psFlip dieharder"):
            self.run_tool("--tests", "5")

    def test_refuses_wrong_options(self):
        missing = ["--output", str(self.folder / "missing")]
        for arguments in (
            ["--streams", "0"],
            ["--streams", "1e3"],
            ["--sources", "12"],
            ["--sources", "0"],
            ["--tests", "x"],
            ["--short", "--full"],
            ["--sise", "1"],
            missing,
        ):
            with self.subTest(arguments=arguments), self.assertRaises(Failure):
                self.run_tool(*arguments)

    def test_draws_what_is_there(self):
        with self.assertRaisesRegex(Failure, "has no dieharder.json"):
            self.run_tool("--draw")
        self.run_tool("--sources", "1", "--streams", "4", "--tests", "5")
        self.draw.reset_mock()
        self.run_tool("--draw")
        self.draw.assert_called_once()
        self.assertEqual(len(self.calls()), 1)


if __name__ == "__main__":
    unittest.main()
