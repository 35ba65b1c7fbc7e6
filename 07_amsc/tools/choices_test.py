"""Tests of choices.py: python3 -m unittest choices_test. common/test runs them."""

import random
import unittest

import choices
from test.own_program import WithProgram

# Stands in for `choices`. At even L/2 the choice is the best; else it takes 1.05 times as long, or 1.5 times if SLOW is
# there. The model's is always half as fast.
FAKE = """#!/usr/bin/env python3
import json, os, sys
from pathlib import Path
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
here = Path(__file__).parent
with (here / "calls").open("a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
assert not list(Path(os.environ["PSFLIP_LAUNCHES"]).iterdir())
if options.get("--device") == "9":
    sys.exit("choices: --device 9: no such device")
factor = 1 if int(options["--size"]) % 4 == 0 else 1.5 if (here / "SLOW").exists() else 1.05
def row(kernel, factor):
    launch = {"kernel": kernel, "samples_per_word": 64, "threads": 128, "cluster": None, "replicas_together": None}
    return {"launch": launch, "seconds": 1e-12 * factor * int(options["--size"]) ** 3, "repetitions": 5}
print(json.dumps({"platform": (here / "PLATFORM").read_text(), "device": "a fake", "possible": 80, "tried": 30,
                  "seconds_to_choose": 0.5, "seconds_until_made": 0.6, "choice": row("wide", factor),
                  "expected": row("resident", 2), "best": row("wide", 1), "seconds": 3, "rows": []}))
"""


class Choices(WithProgram):
    tool, program, text = choices, choices.PROGRAM, FAKE

    def setUp(self):
        super().setUp()
        (self.stage / "PLATFORM").write_text("gpu")

    def test_says_how_good_the_choice_is(self):
        result = self.result("--problems", "6")
        self.assertEqual(len(result["rows"]), 6)
        self.assertEqual((result["device"], result["failed"]), ({"platform": "gpu", "name": "a fake"}, []))
        self.assertEqual(result["command"], "07_amsc/tools/choices.py --problems 6 --seed 20 --device auto")
        for row, call in zip(result["rows"], self.calls()[1:], strict=True):
            self.assertIn(f"--size {row['size']} --samples {row['samples']} ", call)
            self.assertAlmostEqual(row["best"]["ps_per_flip"] * row["samples"] * row["replicas"], 1)
            self.assertAlmostEqual(choices.slower(row, "choice"), 1.05 if row["size"] % 4 else 1)
        printed = self.run_tool("--problems", "6")
        lines = self.cells(printed)
        self.assertEqual([line["choice"] for line in lines], ["wide, k = 64, 128 threads"] * 6)
        self.assertEqual({line["model / best"] for line in lines}, {"2.00"})
        self.assertIn("at most 1.05 times as long", printed)
        self.assertEqual(self.calls()[1:7], self.calls()[8:], "the same problems every time")

    def test_more_than_a_tenth_slower_is_a_failure(self):
        (self.stage / "SLOW").touch()
        file = self.folder / "result.json"
        with self.assertRaises(AssertionError):  # its exit code is 1
            self.run_tool("--problems", "6", "--json", str(file))
        failed = choices.read_result(file, choices.FORMAT)["failed"]
        self.assertTrue(failed)
        self.assertTrue(all(": 1.50 times the time of the best" in line for line in failed))

    def test_makes_the_readmes_table(self):
        self.run_tool("--problems", "3", "--json", str(self.folder / choices.FILE))
        self.assertEqual(len(self.cells(choices.TABLES["choices"](self.folder))), 3)

    def test_draws_problems_that_fit(self):
        for platform, most_size in (("gpu", 256), ("cpu", 12)):
            generator = random.Random(1)
            drawn = [choices.draw(generator, platform) for _ in range(500)]
            self.assertEqual({problem["replicas"] for problem in drawn}, set(choices.REPLICAS))
            self.assertEqual({problem["generator"] for problem in drawn}, set(choices.STATE_WORDS))
            sizes = {problem["size"] for problem in drawn}
            self.assertTrue(8 in sizes and 0.9 * most_size < max(sizes) <= most_size, sizes)
            for problem in drawn:
                spins = problem["size"] ** 3 * problem["samples"] * problem["replicas"]
                self.assertLessEqual(spins, choices.SPINS[platform])
                self.assertEqual(problem["size"] % 2, 0)

    def test_refuses(self):
        self.refuses((["--device", "9"], "no such device"), (["--problems", "0"], "at least 1"))
        (self.folder / choices.PROGRAM).unlink()
        self.refuses(([], "choices is not built"))


if __name__ == "__main__":
    unittest.main()
