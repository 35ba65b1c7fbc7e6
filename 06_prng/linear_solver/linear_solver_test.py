"""Tests of linear_solver.py: python3 -m unittest linear_solver_test. common/test runs them."""

import importlib.util
import json
import unittest

import linear_solver
from stages import Failure
from test.own_program import WithProgram

# Stands in for the program. A walk costs 1 us, half of that with --load ldg-p and a quarter with --layout structs. The
# true error is 10 / sqrt(walks), and no less than 0.01 with consecutive seeds. It is called hundreds of times: hence -S,
# and no pathlib, which take half of its time.
FAKE = """#!/usr/bin/env -S python3 -IS
import json, os, sys
os.chdir(os.path.dirname(__file__))
options, flags, words = {}, set(), sys.argv[1:]
while words:
    name = words.pop(0)[2:]
    if name in ("json", "compare"):
        flags.add(name)
    else:
        options[name] = words.pop(0)
with open("calls", "a") as calls:
    calls.write(json.dumps(options) + chr(10))
if options["device"] == "9":
    sys.exit("linear_solver: --device 9: no such device")
if os.path.exists("FAIL"):
    print("linear_solver: the device failed", file=sys.stderr)
    sys.exit(1)
if options.get("seeding") == "subsequences" and not os.path.exists("GPU"):
    print("linear_solver: --seeding is subsequences: it needs a GPU", file=sys.stderr)
    sys.exit(2)
walks = int(options["histories"])
bad = options.get("seeding") == "consecutive" and "discard" not in options
error = max(10 / walks**0.5, 0.01 if bad else 0)
factor = {"ldg-p": 0.5}.get(options.get("load"), 1) * {"structs": 0.25}.get(options.get("layout"), 1)
rivals = [{"solver": "richardson", "platform": "cpu", "iterations": 12, "seconds": 1e-7 * walks, "error": error / 2},
          {"solver": "conjugate-gradients", "platform": "cpu", "left_out": "the matrix is not symmetric"}]
print(json.dumps({
    "build_type": "release",
    "device": {"name": open("GPU").read() if os.path.exists("GPU") else "a fake", "platform": "cpu", "index": 0},
    "system": {"matrix": options["matrix"], "rhs": "sin", "rows": 100, "entries": 300},
    "request": {"method": options.get("method", "adjoint"), "estimator": options.get("estimator", "collision"),
                "histories": walks, "seeding": options.get("seeding"), "discard": int(options.get("discard", 0))},
    "steps": 93 * walks, "steps_per_history": 93.0, "pair_chi_squared": 30.0 if bad else 1.0,
    "seconds": {"tables": 0.5, "setup": 0.25, "generator": 0.0, "kernel": 1e-6 * walks * factor},
    "residual": 100 * error, "error": error, "expected_error": 10 / walks**0.5,
    "compare": rivals if "compare" in flags else [],
}))
"""


class LinearSolver(WithProgram):
    tool, program, text = linear_solver, "06_prng/linear_solver/linear_solver", FAKE

    def setUp(self):
        super().setUp()
        self.output = self.folder / "results"

    def run_tool(self, *arguments, quick=True):
        return super().run_tool("--output", str(self.output), *(["--quick"] if quick else []), *arguments)

    def calls(self):
        return list(map(json.loads, super().calls()))

    def table(self, experiment):
        lines = self.cells(linear_solver.markdown(self.output, experiment))
        return {(line["system"], line["variant"]): line for line in lines}

    def test_all_experiments(self):
        text = self.run_tool()
        for experiment, about in linear_solver.EXPERIMENTS.items():
            self.assertIn(f"## {experiment}: {about}", text)
        self.assertIn("Toy sizes, of which the times mean nothing", text)
        self.assertNotIn(str(self.folder), text)

    def test_ratios_are_of_the_base(self):
        self.run_tool("--experiments", "b,c")
        loads = self.table("b")
        self.assertEqual(loads["1D", "plain"]["x as fast"], "1.00")
        self.assertEqual(loads["1D", "ldg-p"]["x as fast"], "2.00")
        self.assertEqual(loads["2D", "ldg-w"]["x as fast"], "1.00")
        self.assertEqual(self.table("c")["2D", "structs"]["x as fast"], "4.00")
        self.assertEqual(loads["1D", "plain"]["report: x as fast"], "not stated here")
        self.assertTrue(all(call["estimator"] == "expected" for call in self.calls()))

    def test_known_figures_stand_at_full_size_only(self):
        self.run_tool("--experiments", "a,f", quick=False)
        found = self.table("a")
        self.assertEqual(found["1D", "Philox"]["known"], "0.391")
        self.assertEqual(found["1D", "XORWOW, consecutive seeds"]["known"], "0.408")
        self.assertEqual(found["1D", "XORWOW, consecutive, 1 discarded"]["known"], "0.391")
        self.assertEqual(found["2D", "XORWOW, consecutive seeds"]["known"], "0.12")
        self.assertEqual(found["1D", "Philox, fewer walks"]["known"], "12.4")
        self.assertEqual(found["1D", "XORWOW, random seeds"]["known"], "-")
        steps = self.table("f")
        self.assertEqual(steps["1D", "cutoff 1e-9"]["known steps"], "93")
        self.assertEqual(steps["2D", "10,000 steps"]["known steps"], "10,000")
        fixed = [call for call in self.calls() if call.get("max-steps") == "10000"]
        self.assertEqual({call["cutoff"] for call in fixed}, {"0"})
        self.output = self.folder / "toy"
        self.run_tool("--experiments", "a,f")
        self.assertEqual({row["known"] for row in self.table("a").values()}, {"-"})
        self.assertEqual({row["known steps"] for row in self.table("f").values()}, {"-"})

    def test_puzzle(self):
        self.run_tool("--experiments", "puzzle", quick=False)
        lines = [
            line.strip("| ").split(" | ") for line in linear_solver.markdown(self.output, "puzzle").splitlines()[2:8]
        ]
        found = {line[0]: line[1:] for line in lines if len(line) > 3}
        self.assertEqual(
            found["Philox"], ["1.0", "1.00e-01", "3.16e-02", "1.00e-02", "3.16e-03", "1.00e-03", "-0.50", "1.0"]
        )
        self.assertEqual(found["XORWOW, consecutive seeds"][0], "30.0")
        self.assertEqual(found["XORWOW, consecutive seeds"][-3:], ["1.00e-02", "-0.25", "10.0"])
        self.assertNotIn("XORWOW, subsequences", found)
        self.assertIn(
            "Left out: XORWOW, subsequences (--seeding is subsequences: it needs a GPU)",
            linear_solver.markdown(self.output, "puzzle"),
        )
        seeds = {int(call["seed"]) for call in self.calls()}
        self.assertEqual(len(seeds), 3)
        self.assertTrue(all(abs(a - b) > 10**8 for a in seeds for b in seeds if a != b))

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib here")
    def test_picture(self):
        self.run_tool("--experiments", "puzzle")
        first = (self.output / "linear_solver.svg").read_bytes()
        self.assertIn(b"<svg", first)
        self.run_tool("--experiments", "puzzle", "--draw")
        self.assertEqual((self.output / "linear_solver.svg").read_bytes(), first)

    def test_comparison(self):
        self.run_tool("--experiments", "comparison")
        found = linear_solver.markdown(self.output, "comparison")
        self.assertIn("| 1D | Neumann series | CPU | 12 | 2.00e-04 | 1.12e-01 | 10 |", found)
        self.assertIn("| 1D | conjugate gradients | CPU | - | - | - | the matrix is not symmetric |", found)

    def test_what_is_there_is_not_run_again(self):
        self.run_tool("--experiments", "c")
        count = len(self.calls())
        self.run_tool("--experiments", "c")
        self.assertEqual(len(self.calls()), count)
        (self.stage / "FAIL").touch()
        with self.assertRaisesRegex(Failure, "the device failed"):
            self.run_tool("--experiments", "c,d")
        (self.stage / "FAIL").unlink()
        self.run_tool("--experiments", "d")
        result = json.loads((self.output / "linear_solver.json").read_text())
        self.assertEqual({name: len(found["rows"]) for name, found in result["experiments"].items()}, {"c": 4, "d": 6})

    def test_results_do_not_mix(self):
        self.run_tool("--experiments", "c")
        with self.assertRaisesRegex(Failure, "quick results"):
            self.run_tool("--experiments", "d", quick=False)
        (self.stage / "GPU").write_text("another")
        with self.assertRaisesRegex(Failure, "results of a fake"):
            self.run_tool("--experiments", "d")
        (self.output / "linear_solver.json").write_text("{}")
        with self.assertRaisesRegex(Failure, "is not 'psFlip linear solver"):
            self.run_tool()

    def test_bad_calls(self):
        self.refuses(
            (["--experiments", "a,z"], "z; allowed are a, b"),
            (["--device", "9"], "no such device"),
            (["--draw"], "has no linear_solver.json"),
            (["--frob"], "--frob"),
        )
        with self.assertRaisesRegex(Failure, "not built"):
            linear_solver.main(["--build-dir", str(self.folder / "elsewhere"), "--output", str(self.output)])
        with self.assertRaisesRegex(Failure, "output"):
            linear_solver.main([])

    def test_markdown_of_something_else(self):
        self.run_tool("--experiments", "c")
        with self.assertRaisesRegex(Failure, "no table 'z'"):
            linear_solver.markdown(self.output, "z")
        with self.assertRaisesRegex(Failure, "has no experiment d"):
            linear_solver.markdown(self.output, "d")
        with self.assertRaises(FileNotFoundError):
            linear_solver.markdown(self.folder / "nowhere", "c")


if __name__ == "__main__":
    unittest.main()
