"""Tests of linear_solver.py: python3 -m unittest linear_solver_test. common/test runs them."""

import importlib.util
import json
import unittest

import linear_solver
import published
from stages import ROOT, Failure
from test.own_program import WithProgram

H200 = ROOT / "common/results/h200"

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
        lines = self.cells(linear_solver.markdown(self.output, *experiment.split()))
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
        self.assertEqual(loads["1D", "ldg-p"]["report, fixed steps"], "-")  # toy sizes stand beside nothing
        self.assertTrue(all(call["estimator"] == "expected" for call in self.calls()))

    def test_known_figures_stand_at_full_size_only(self):
        self.run_tool("--experiments", "a,f", quick=False)
        found = self.table("a answers")
        residuals = {variant: line["report: residual"] for (system, variant), line in found.items() if system == "1D"}
        self.assertEqual(residuals["Philox"], "0.392")
        self.assertEqual(residuals["XORWOW, consecutive seeds"], "0.408")
        self.assertEqual(residuals["XORWOW, consecutive, 1 discarded"], "0.392")
        self.assertEqual(residuals["Philox, fewer walks"], "12.4")
        self.assertEqual(found["2D", "XORWOW, consecutive seeds"]["report: residual"], "0.120")
        self.assertEqual(found["2D", "XORWOW, random seeds"]["report: residual"], "0.112")
        self.assertEqual(self.table("a")["2D", "XORWOW, random seeds"]["report, fixed steps"], "1.55")
        steps = self.table("f answers")
        self.assertEqual(steps["1D", "cutoff 1e-9"]["known steps"], "93")
        self.assertEqual(steps["2D", "10,000 steps"]["known steps"], "10,000")
        fixed = [call for call in self.calls() if call.get("max-steps") == "10000"]
        self.assertEqual({call["cutoff"] for call in fixed}, {"0"})
        self.output = self.folder / "toy"
        self.run_tool("--experiments", "a,f")
        self.assertEqual({row["report: residual"] for row in self.table("a answers").values()}, {"-"})
        self.assertEqual({row["known steps"] for row in self.table("f answers").values()}, {"-"})
        with self.assertRaisesRegex(Failure, "at full size"):
            linear_solver.markdown(self.output, "report")

    def test_ours_beside_the_report(self):
        text = self.run_tool("--experiments", "b,c", quick=False)
        self.assertIn("## Beside the report's", text)
        found = self.table("report")
        self.assertEqual(len(found), 8)
        row = found["2D", "ldg-p"]
        # 27,686 by 26,344 ms, and 191,818 by 139,882: tables 11, 12, 4 and 5. The fake's ldg-p takes half the time.
        ratios = [row[name] for name in ("x as fast", "report, cutoff", "report, fixed steps", "report, less set-up")]
        self.assertEqual(ratios, ["2.00", "1.05", "1.37", "-"])
        self.assertEqual((row["its tables"], row["its finding"]), ("12 against 11; 5 against 4", "held"))
        self.assertEqual(found["2D", "ldg-all"]["its finding"], "void")
        # (520,762 - 34,616) by (422,197 - 27,404): tables 10 and 20.
        self.assertEqual(found["1D", "structs"]["report, less set-up"], "1.23")
        self.assertIn("upside down", text)

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
        with self.assertRaisesRegex(Failure, "there is no 'b'"):
            linear_solver.markdown(self.output, "c", "b")
        with self.assertRaisesRegex(Failure, "there is no 'answers'"):
            linear_solver.markdown(self.output, "puzzle", "answers")
        with self.assertRaisesRegex(Failure, "has no experiment d"):
            linear_solver.markdown(self.output, "d")
        with self.assertRaises(FileNotFoundError):
            linear_solver.markdown(self.folder / "nowhere", "c")


class Report(unittest.TestCase):
    """What README.md and measured.md say about the report, from its numbers."""

    def setUp(self):
        self.report = published.tables()

    def ms(self, number, system, walks=published.MANY):
        return self.report[number][system, walks].ms

    def test_all_tables_are_there(self):
        self.assertEqual(sorted(self.report), list(range(1, 44)))
        for number, table in self.report.items():
            adjoint = {("2D", 10**7), ("1D", 10**4), ("1D", 10**7), ("SP_1", 10**7)}
            forward = {("2D", 1000), ("1D", 5), ("SP_1", 200)}
            self.assertEqual(set(table), forward if 22 <= number <= 31 or number >= 38 else adjoint, number)

    def test_compared_tables_have_the_same_rows(self):
        compared = [row for table in self.report.values() for row in table.values() if row.base]
        self.assertGreater(len(compared), 100)
        for row in compared:
            self.assertIn(row.key, self.report[row.base])

    def test_what_does_not_add_up(self):
        found = [(row.table, row.system, row.ratio, why) for row, _, why in published.doubts(self.report)]
        again = "the times are table 40's"
        wanted = [
            (9, "1D", "1.052", ""),
            (25, "1D", "0.976", ""),
            (29, "2D", "1.003", "upside down"),
            (30, "SP_1", "0.598", ""),
            (31, "2D", "1.041", "upside down"),
            (32, "1D", "1.021", ""),
            (32, "1D", "1.075", ""),
            (41, "2D", "0.847", again),
            (41, "1D", "0.834", again),
            (41, "SP_1", "1.030", again),
        ]
        self.assertEqual(found, wanted)
        self.assertEqual(published.repeated(self.report), {41: 40})
        self.assertEqual([row.ratio for row in self.report[41].values()], [r.ratio for r in self.report[40].values()])
        self.assertAlmostEqual(self.ms(31, "2D", 1000) / self.ms(27, "2D", 1000), 0.961, delta=0.001)
        for walks, ratio in ((published.FEW, 1.043), (published.MANY, 1.107)):
            self.assertAlmostEqual(self.ms(32, "1D", walks) / self.ms(4, "1D", walks), ratio, delta=0.001)
        small = [
            row.ms / base.ms / float(row.ratio) for row, base, _ in published.doubts(self.report) if row.table < 31
        ]
        self.assertTrue(all(abs(ratio - 1) < 0.03 for ratio in small))
        slower = [self.ms(41, *key) / self.ms(27, *key) for key in self.report[41]]
        self.assertAlmostEqual(min(slower), 1.3, delta=0.05)
        self.assertAlmostEqual(max(slower), 17.4, delta=0.05)

    def test_a_wrong_digit_is_found(self):
        row = self.report[5]["2D", published.MANY]
        base = self.report[4]["2D", published.MANY]
        self.assertTrue(published.follows(row, base))
        self.assertFalse(published.follows(published.Row(**vars(row) | {"ratio": "0.739"}), base))

    def test_set_up_in_one_dimension(self):
        numbers = [*range(11, 18), 19]
        set_up = [self.ms(number, "1D", published.FEW) for number in numbers]
        walks = [self.ms(number, "1D") - few for number, few in zip(numbers, set_up)]
        self.assertEqual([f"{edge / 1e3:.1f}" for edge in (min(set_up), max(set_up))], ["35.1", "37.0"])
        self.assertEqual([f"{edge / 1e3:.1f}" for edge in (min(walks), max(walks))], ["3.5", "5.6"])
        fixed = [self.ms(number, "1D") - self.ms(number, "1D", published.FEW) for number in (*range(4, 11), 20)]
        self.assertEqual([f"{edge / 1e3:.0f}" for edge in (min(fixed), max(fixed))], ["395", "512"])
        seeding = [self.ms(1, system) - self.ms(2, system) for system in ("2D", "1D", "SP_1")]
        self.assertEqual([f"{edge / 1e3:.0f}" for edge in (min(seeding), max(seeding))], ["107", "123"])

    def test_verdicts(self):
        cases = [(1.8, 1.2, "held"), (1.03, 0.98, "held"), (1.01, 1.8, "void"), (0.9, 1.01, "new")]
        for ours, theirs, wanted in [*cases, (0.5, 1.2, "reversed"), (None, 1.2, "-"), (1.2, None, "-")]:
            self.assertEqual(published.verdict(ours, theirs), wanted, (ours, theirs))

    def test_no_table_is_wide(self):
        asked = [[name] for name in (*linear_solver.EXPERIMENTS, "report", "doubts")]
        for words in asked + [[name, "answers"] for name in linear_solver.EXPERIMENT_LETTERS]:
            head = linear_solver.markdown(H200, *words).split("\n")[0]
            self.assertLessEqual(head.count(" | ") + 1, 10, head)

    def test_what_held_on_the_h200(self):
        text = linear_solver.markdown(H200, "report")
        found = {}
        for line in text.split("\n\n")[0].splitlines()[2:]:
            experiment, system, *_, verdict = line.strip("| ").split(" | ")
            found.setdefault((experiment, system), set()).add(verdict)
        self.assertEqual(
            found,
            {
                ("a", "1D"): {"held"},
                ("a", "2D"): {"void", "held"},  # seeding, batches
                ("b", "1D"): {"held"},
                ("b", "2D"): {"void"},
                ("c", "1D"): {"held"},
                ("c", "2D"): {"new"},
                ("d", "1D"): {"-"},
                ("d", "2D"): {"reversed"},
                ("e", "1D"): {"reversed"},
                ("e", "2D"): {"reversed"},
                ("f", "1D"): {"held"},
                ("f", "2D"): {"held"},
            },
        )


if __name__ == "__main__":
    unittest.main()
