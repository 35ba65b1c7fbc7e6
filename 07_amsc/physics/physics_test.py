"""Tests of the scripts in this folder.

physics_test.py <path of spin_glass, of a stage with Philox>
"""

import contextlib
import importlib.util
import io
import json
import math
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import equilibrium
import exact
import nishimori
import plot
import quench
import runs
import worth
from runs import Failure

try:
    import extrapolate
    import psflip
    import tempering
except ImportError:  # no NumPy
    extrapolate = tempering = None

PROGRAM = None


def call(script, *arguments):
    """A script's exit code and what it printed on stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = script.main(list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


class InFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="psFlip test ")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)


def made_runs(z, b=1.2, count=8, noise=0.01, correlated=0.0):
    """Runs with xi_12 = b t^(1/z), each time with noise of its own and a run with some common to all its times."""
    generator = random.Random(7)
    made = []
    for _ in range(count):
        common = generator.gauss(0, correlated)
        rows = [{"sweep": 0, "e": 0.0, "e_error": 0.001, "xi_12": None, "xi_12_error": None}]
        for power in range(18):
            # Common to all times in log(xi), and growing: this is what changes an exponent.
            factor = math.exp(generator.gauss(0, noise) + common * power)
            xi = b * 2 ** (power / z) * factor
            rows.append({"sweep": 2**power, "e": -1.5, "e_error": 0.001, "xi_12": xi, "xi_12_error": noise * xi})
        made.append(runs.Measured({"problem": {"size": 64, "samples": 512}}, rows, ""))
    return made


class Numbers(unittest.TestCase):
    def test_worth_of_made_runs(self):
        """Twice the error in a quarter of the time is the same cost; an error that there is not has none."""
        row = {"temperature": 2, "size": 8, "ps_per_flip": 0.5, "samples_per_stream": 32, "generator": "philox"}
        row |= {"seconds": 1, "e_error": 0.002, "q2_error": 0.001, "xi_12_error": None}
        own = row | {"generator": "philox-planes", "seconds": 4, "e_error": 0.001, "q2_error": 0.002}
        lines = worth.as_table({"rows": [row, own]}).splitlines()
        self.assertEqual(lines[2], "| 2 | 8 | 32 share | 0.500 | 2,000 | 1.0 | 1,000 | 0.062 | - | - |")
        self.assertEqual(lines[3], "| 2 | 8 | own | 0.500 | 2,000 | 1.0 | 4,000 | 1.0 | - | - |")

    def test_power_law_is_found(self):
        t = [2**power for power in range(5, 18)]
        errors = [0.01 + 0.001 * one for one in range(13)]
        b, z, squares = runs.fit_power(t, [1.3 * one ** (1 / 6.86) for one in t], errors)
        self.assertAlmostEqual(b, 1.3)
        self.assertAlmostEqual(z, 6.86)
        self.assertAlmostEqual(squares, 0)

    def test_weights_decide(self):
        start, slope, squares = runs.fit_line([0, 1, 2], [0, 1, 5], [1e-6, 1e-6, 1])
        self.assertAlmostEqual(start, 0)
        self.assertAlmostEqual(slope, 1)
        self.assertAlmostEqual(squares, 9)

    def test_jackknife_of_a_mean_is_its_standard_error(self):
        values = [3.0, 5.0, 4.0, 8.0]
        (value,), (error,) = runs.jackknife(values, lambda some: (runs.mean(some),))
        self.assertEqual(value, 5)
        self.assertAlmostEqual(error, math.sqrt((4 + 0 + 1 + 9) / (4 * 3)))

    def test_errors_of_groups(self):
        self.assertAlmostEqual(runs.error_of_groups([1, 3, 5, 7], 2), 2.0)  # means 2 and 6
        self.assertAlmostEqual(runs.error_of_groups([1, 2, 3], 1), math.sqrt(1 / 3))

    def test_independent_mean(self):
        self.assertEqual(runs.independent_mean([1, 3], [3, 4]), (2, 2.5))
        self.assertEqual(runs.independent_mean([1, None], [3, None]), (None, None))

    def test_chi_squared_tail(self):
        # The 5 % points of tables.
        for degrees, point in ((1, 3.8415), (2, 5.9915), (3, 7.8147), (4, 9.4877), (9, 16.919), (10, 18.307)):
            self.assertAlmostEqual(runs.chi_squared_tail(point, degrees), 0.05, places=4)
        self.assertEqual(runs.chi_squared_tail(0, 5), 1)

    def test_in_words(self):
        for value, error, text in (
            (1.23456, 0.0021, "1.2346(21)"),
            (3, 0.0998, "3.00(10)"),
            (-5.37, 0.09, "-5.370(90)"),
            (6.86, 0.16, "6.86(16)"),
            (-2.5, 0, "-2.5"),
        ):
            self.assertEqual(runs.in_words(value, error), text)

    def test_pull_counts_both_errors(self):
        self.assertAlmostEqual(runs.comparison("x", 11, 3, 1, 4, "")["pull"], 2)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(runs.verdict([runs.comparison("x", 4.1, 1, 0, 0, "")]), 1)
            self.assertEqual(runs.verdict([runs.comparison("x", math.nan, 1, 0, 0, "")]), 1)
        self.assertIn("x", said.getvalue())
        self.assertEqual(runs.verdict([runs.comparison("x", 3.9, 1, 0, 0, "")]), 0)

    def test_command_without_files(self):
        kept = ["--size", "8", "--", "--kernel", "wide"]
        self.assertEqual(
            runs.without_files(["--folder", "a", "--json=b", "--program", "c", "--plot", "d", *kept]), kept
        )


@unittest.skipIf(extrapolate is None, "no NumPy")
class Extrapolate(InFolder):
    """Of made results: xi / L and e as they should be of a system with a transition at T = 1.15, e = -1.7 there, and
    -1.788 in the ground state."""

    def made(self, name, sizes, temperatures, apart=0.5):
        every = []
        for size in sizes:
            away = size ** -(extrapolate.OMEGA + 1 / extrapolate.NU)
            cold = -1.788 + 3 / size**3 + 0.2 * 0.25**2 / 4  # c T^2 / 4 above the ground state
            critical = -1.7 + size ** -(3 - 1 / extrapolate.NU)
            columns = {
                "xi_l": [0.6 - size ** (1 / extrapolate.NU) * (t - 1.15 + away / 2) for t in temperatures],
                "e": [cold if t < 1 else critical for t in temperatures],
                "c": [0.2] * len(temperatures),
            }
            one = {"size": size, "agreement": {quantity: [apart] * len(temperatures) for quantity in columns}}
            for quantity, values in columns.items():
                one[quantity] = [{"temperature": t, "value": v, "error": 0.001} for t, v in zip(temperatures, values)]
            every.append(one)
        runs.write({"format": "psFlip tempering, version 1", "temperatures": every}, self.folder / name)
        return self.folder / name

    def test_limits_are_found(self):
        hot = self.made("hot.json", (4, 6, 8, 12, 16), [1.0, 1.1, 1.2, 1.3, 1.4, 1.5])
        cold = self.made("cold.json", (6, 8, 10), [0.25, 1.5])
        with unittest.mock.patch.multiple(extrapolate, T_C=1.15, GROUND_STATE=(-1.788, 0.0003)):
            code, text, errors = call(extrapolate, "--json", self.folder / "a.json", hot, cold)
        self.assertEqual((code, errors), (0, ""), text)
        result = runs.read(self.folder / "a.json", "extrapolate")
        critical = result["critical_temperature"]
        self.assertEqual([one["sizes"] for one in critical["crossings"]], [[4, 8], [6, 12], [8, 16]])
        self.assertAlmostEqual(critical["value"], 1.15)
        self.assertTrue(0.001 < critical["error"] < 0.01, critical)
        for name, value in (("critical_energy", -1.7), ("ground_state", -1.788)):
            self.assertAlmostEqual(result[name]["value"], value)
        self.assertEqual(result["ground_state"]["sizes"], [6, 8, 10])
        code, _, errors = call(extrapolate, "--json", self.folder / "a.json", hot)
        self.assertEqual(code, 1)  # not where the literature has it
        self.assertIn("T_c", errors)

    def test_what_is_not_in_equilibrium_is_left_out(self):
        cold = self.made("cold.json", (6, 8, 10), [0.25, 1.5], apart=1.5)
        with self.assertRaisesRegex(Failure, "too few sizes in equilibrium"):
            call(extrapolate, "--json", self.folder / "a.json", cold)


class Quench(unittest.TestCase):
    def test_first_sweep(self):
        for temperature, energy in ((0.7, -1.200362311), (1.1, -1.178498453), (2, -1.058977158)):
            self.assertAlmostEqual(quench.first_sweep(temperature), energy, places=9)

    def test_exponent_of_made_runs(self):
        made = made_runs(z=6.86)
        fitted = quench.fit(made, quench.average(made), [2.8, 10])
        self.assertLess(abs(fitted["z"] - 6.86), 4 * fitted["z_error"])
        self.assertTrue(0.005 < fitted["z_error"] < 0.1, fitted)
        self.assertEqual(fitted["first_sweep"], 512)  # 1.2 * 512^(1/6.86) = 2.98, and 2.69 at 256
        self.assertEqual(fitted["last_sweep"], 2**17)

    def test_error_knows_that_times_are_correlated(self):
        """With noise that all times of a run share, the error is larger than that of independent times."""
        independent, correlated = (
            quench.fit(made, quench.average(made), [3, 10])["z_error"]
            for made in (made_runs(z=6.86), made_runs(z=6.86, correlated=0.02))
        )
        self.assertGreater(correlated, 3 * independent)

    def test_no_fit_without_times(self):
        made = made_runs(z=6.86)
        self.assertIsNone(quench.fit(made, quench.average(made), [30, 100]))

    def test_a_wrong_exponent_is_found_out(self):
        made = made_runs(z=5)
        rows = quench.average(made)
        known = quench.compare(1.1, 64, rows, quench.fit(made, rows, [3, 10]))
        self.assertGreater(abs(next(one for one in known if one["what"].startswith("z"))["pull"]), 4)
        self.assertFalse([one for one in quench.compare(1.1, 16, rows, None) if one["reference_error"]])


class Scripts(InFolder):
    def arguments(self, name, *more):
        return (
            "--program",
            PROGRAM,
            "--folder",
            self.folder / "runs",
            "--json",
            self.folder / f"{name}.json",
            "--samples",
            16,
            "--samples-per-stream",
            1,
            *more,
        )

    def result(self, name):
        return runs.read(self.folder / f"{name}.json", name)

    def test_tempering(self):
        if tempering is None:
            self.skipTest("no NumPy")
        more = "--sizes 4,6 --sweeps 64 --measure every:4 --temperatures 1.1,1.5,2 --exchange-every 4".split()
        arguments = self.arguments("tempering", *more)
        code, text, errors = call(tempering, *arguments)
        self.assertEqual((code, errors), (0, ""), text)
        result = self.result("tempering")
        self.assertEqual([one["size"] for one in result["temperatures"]], [4, 6])
        self.assertEqual((result["problem"]["temperatures"], result["problem"]["copies"]), ([1.1, 1.5, 2], 2))
        one = result["temperatures"][0]
        self.assertEqual([row["temperature"] for row in one["acceptance"]], [1.1, 1.5])  # none of the warmest
        self.assertIn(f"{runs.in_words(one['e'][0]['value'], one['e'][0]['error'])}", text)
        self.assertEqual({name: len(at) for name, at in one["agreement"].items()}, {"e": 3, "q2": 3, "xi_l": 3})
        c, other = (next(row for row in one[name] if row["temperature"] == 1.5) for name in ("c", "c_derivative"))
        apart = abs(c["value"] - other["value"]) / math.hypot(c["error"], other["error"])
        self.assertAlmostEqual(one["heat_capacities_apart"], apart)
        self.assertEqual(call(tempering, *arguments), (code, text, errors))  # nothing is done again
        with self.assertRaisesRegex(Failure, "has exchange-every 4, not 5"):
            call(tempering, *arguments[:-1], 5)

    def test_way_to_equilibrium(self):
        if tempering is None:
            self.skipTest("no NumPy")
        more = (
            "--sizes 4 --sweeps 256 --measure every:4 --temperatures 0.5,0.8,1.2,2 --exchange-every 4 --quench".split()
        )
        code, text, errors = call(tempering, *self.arguments("tempering", *more))
        self.assertEqual((code, errors), (0, ""), text)
        way = self.result("tempering")["temperatures"][0]["arrival"]
        ladder, quench = (psflip.read(self.folder / f"runs/{name}_L4.csv") for name in ("tempering", "quench"))
        self.assertEqual(quench.problem["exchange_every"], 257)
        for name, run in (("with_exchange", ladder), ("without", quench)):
            self.assertEqual(way[name]["q2"], run.where(temperature=0.5)["q2"].tolist())
        final, error = way["with_exchange"]["q2"][-1], way["with_exchange"]["q2_error"][-1]
        arrives = way["with_exchange"]["arrives"]
        for sweep, q2 in zip(way["sweep"], way["with_exchange"]["q2"]):
            if sweep >= arrives:
                self.assertLessEqual(abs(q2 - final), error)
        self.assertIn(f"with exchange: after {arrives} sweeps", text)

    def test_exact_energies(self):
        more = "--samples 8 --sweeps 256 --measure every:4".split()
        code, text, errors = call(exact, *self.arguments("exact", *more))
        self.assertEqual((code, errors), (0, ""), text)
        result = self.result("exact")
        pulls = [one["pull"] for sample in result["temperatures"] for one in sample["comparisons"]]
        self.assertEqual((len(pulls), result["degrees"]), (21, 21))
        self.assertAlmostEqual(result["chi_squared"], sum(pull**2 for pull in pulls))
        with unittest.mock.patch.dict(exact.ENERGIES, {1000: exact.ENERGIES[1001]}):
            code, text, errors = call(exact, *self.arguments("exact", *more))
        self.assertEqual(code, 1)
        self.assertIn("DISAGREES", errors)

    def test_autocorrelation_times_of_a_ladder(self):
        if tempering is None:
            self.skipTest("no NumPy")
        more = "--sizes 4 --sweeps 512 --measure every:8 --temperatures 0.7,2,4 --exchange-every 64 --series 32".split()
        code, text, errors = call(tempering, *self.arguments("tempering", *more))
        self.assertEqual((code, errors), (0, ""), text)
        result = self.result("tempering")
        self.assertEqual((result["series"], len(result["commands"])), (32, 2))
        times = result["temperatures"][0]["autocorrelation"]
        self.assertEqual(set(times), set(tempering.SERIES))
        for quantity, found in times.items():
            # Hot systems forget before the next measurement: half of the eight sweeps between two.
            warmest = found[-1]
            self.assertEqual(warmest["temperature"], 4)
            self.assertTrue(2 < warmest["value"] < 6, (quantity, found))
            self.assertIn(f"autocorrelation time of {quantity} at T = 0.7: ", text)

    def test_quench(self):
        arguments = self.arguments(
            "quench",
            *"--size 8 --runs 2 --sweeps 128 --temperatures 1.1,3 --window 1.2,9 --jobs 2 -- --device auto".split(),
        )
        code, text, errors = call(quench, *arguments)
        self.assertEqual((code, errors), (0, ""), text)
        result = self.result("quench")
        self.assertEqual(len(result["commands"]), 4)
        self.assertNotIn(str(self.folder), json.dumps(result))
        self.assertEqual([one["samples"] for one in result["temperatures"]], [32, 32])
        one = result["temperatures"][0]
        self.assertEqual(one["rows"][-1]["sweep"], 128)
        self.assertIn(f"z = {runs.in_words(one['fit']['z'], one['fit']['z_error'])}", text)
        self.assertEqual([known["what"] for known in one["comparisons"]], ["e(0), T = 1.1", "e(1), T = 1.1"])
        # Nothing is done again.
        files = {file: file.stat().st_mtime_ns for file in (self.folder / "runs").iterdir()}
        self.assertFalse([file for file in files if "checkpoint" in file.name])
        self.assertEqual(call(quench, *arguments), (code, text, errors))
        self.assertEqual({file: file.stat().st_mtime_ns for file in files}, files)
        # Files of other runs are not taken for these.
        with self.assertRaisesRegex(Failure, "size 8, not 6"):
            call(quench, *arguments[:-3], "--size", 6)

    def test_nishimori(self):
        arguments = self.arguments("nishimori", "--size", 4, "--sweeps", 64, "--temperatures", "1,1.5,2")
        code, text, errors = call(nishimori, *arguments)
        self.assertEqual((code, errors), (0, ""), text)
        result = self.result("nishimori")
        one = result["temperatures"][1]
        self.assertAlmostEqual(one["p"], 0.7913914727)
        self.assertAlmostEqual(one["energy"][0]["reference"], -1.748349, places=6)
        self.assertLess(one["q2_minus_m2"]["error"], 0.1)
        self.assertEqual(result["chi_squared"]["e(64)"]["degrees"], 3)

    def test_nishimori_difference_is_that_of_the_averages(self):
        call(nishimori, *self.arguments("nishimori", "--size", 4, "--sweeps", 4, "--temperatures", "1.5"))
        one = self.result("nishimori")["temperatures"][0]
        self.assertAlmostEqual(one["q2_minus_m2"]["value"], one["q2"][-1][1] - one["m2"][-1][1])

    def test_another_line_is_found_out(self):
        """The same runs as if they were of another temperature."""
        call(nishimori, *self.arguments("nishimori", "--size", 4, "--sweeps", 4, "--temperatures", "1.5"))
        file = next((self.folder / "runs").glob("*seed1.csv"))
        header, rows = runs.read_table(file)
        options = nishimori.parse_options(list(map(str, self.arguments("nishimori", "--size", 4, "--sweeps", 4))))
        states = file.with_suffix(".output.csv")
        wrong = nishimori.evaluate(1.2, runs.Measured(header, rows, ""), states, options)
        self.assertGreater(max(abs(one["pull"]) for one in wrong["energy"]), 4.5)

    def test_equilibrium(self):
        code, text, errors = call(equilibrium, *self.arguments("equilibrium", "--sweeps", 64, "--temperatures", "2,4"))
        self.assertEqual((code, errors), (0, ""), text)
        result = self.result("equilibrium")
        self.assertEqual([len(one["comparisons"]) for one in result["temperatures"]], [4, 1])
        self.assertEqual([row["sweep"] for row in result["temperatures"][0]["rows"]], [16, 32, 64])

    def test_worth(self):
        file = self.folder / worth.FILE
        problem = "--sizes 4,6 --temperatures 2 --samples 256 --sweeps 4 --replicas 2 --seed 5".split()
        code, text, errors = call(worth, "--program", PROGRAM, "--json", file, *problem, "--", "--threads", 64)
        self.assertEqual((code, errors), (0, ""), text)
        result = json.loads(file.read_text())
        self.assertEqual([row["samples"] for row in result["rows"]], 3 * [384] + 3 * [256])
        for row, way in zip(result["rows"], 2 * worth.WAYS, strict=True):
            self.assertEqual((row["generator"], row["samples_per_stream"]), way)
            self.assertEqual(
                (row["launch"]["threads"], row["launch"]["kernel"] == "synchronous"), (64, way == worth.OWN)
            )
            self.assertTrue(row["seconds"] > 0 and row["e_error"] > 0 and -3 < row["e"] < 0, row)
        # The same systems: their energies are a few errors apart, whoever draws.
        for row in result["rows"][3:5]:
            self.assertLess(abs(row["e"] - result["rows"][5]["e"]), 6 * row["e_error"])
        self.assertNotIn(str(self.folder), json.dumps(result))
        self.assertEqual(worth.markdown(self.folder), text.strip())
        # Stopped after four runs: they stay as they are, and so do the averages of the rest.
        file.write_text(json.dumps(result | {"rows": result["rows"][:4]}))
        call(worth, "--program", PROGRAM, "--json", file, *problem, "--", "--threads", 64)
        again = json.loads(file.read_text())["rows"]
        self.assertEqual(again[:4], result["rows"][:4])
        self.assertEqual([row["e"] for row in again], [row["e"] for row in result["rows"]])
        for more, names in (
            (["--samples", 255], "--samples is 255"),
            (["--sizes", "4,6,5"], "--size is 5"),
            (["--sweeps", 5], "made with --sweeps 4, not 5"),
            (["--samples", 512], "made with 384 samples of L = 4, not 768"),
        ):
            with self.assertRaisesRegex(Failure, names):
                call(worth, "--program", PROGRAM, "--json", file, *problem, *more)
        self.assertEqual(json.loads(file.read_text())["rows"], again)
        other = result | {"rows": again[:5], "device": result["device"] | {"name": "Another"}}
        file.write_text(json.dumps(other))
        with self.assertRaisesRegex(Failure, "was measured on Another, number 0, this is "):
            call(worth, "--program", PROGRAM, "--json", file, *problem)
        self.assertEqual(json.loads(file.read_text()), other)

    def test_stopped_run_is_continued(self):
        options = {
            "size": 6,
            "temperature": 1.1,
            "sweeps": 100,
            "samples": 4,
            "replicas": 2,
            "samples-per-stream": 2,
            "generator": "philox",
            "seed": 3,
            "measure": "log:2",
        }
        whole = runs.simulate(PROGRAM, self.folder, "whole", options, ["correlations"])
        part = [text for option, value in (options | {"sweeps": 37}).items() for text in (f"--{option}", str(value))]
        checkpoint = self.folder / "part.checkpoint"
        files = ["--correlations", self.folder / "x.csv", "--checkpoint", checkpoint]
        subprocess.run([PROGRAM, *part, *files], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(runs.simulate(PROGRAM, self.folder, "part", options, ["correlations"]).rows, whole.rows)
        self.assertFalse(checkpoint.exists())

    def test_refusals(self):
        for more, names in (
            (["--samples", 7, "--samples-per-stream", 2], "7"),
            (["--temperatures", "1,-1"], "-1; it must be"),
            (["--temperatures", "nan"], "nan"),
            (["--sweeps", "1e3"], "1e3"),
            (["--size", 5], "--size is 5"),
            (["--window", "3"], "--window 3"),
            (["--window", "5,3"], "--window 5,3"),
            (["--program", self.folder / "no such"], "no such"),
            (["--json", self.folder / "no/where.json"], "where.json"),
            (["--program", __file__], "physics_test.py"),
        ):
            with self.subTest(more), self.assertRaises(Failure) as caught:
                call(quench, *self.arguments("quench", "--runs", 2, *more))
            self.assertIn(names, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            self.assertFalse((self.folder / "quench.json").exists())

    def test_read_refuses_other_files(self):
        file = self.folder / "quench.json"
        for content in ("", "[]", '{"format": "psFlip quench, version 2"}'):
            file.write_text(content)
            with self.assertRaisesRegex(Failure, "is not 'psFlip quench, version 1'"):
                runs.read(file, "quench")

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib here")
    def test_pictures(self):
        call(quench, *self.arguments("quench", "--size", 8, "--runs", 2, "--sweeps", 64, "--window", "1.2,9"))
        call(nishimori, *self.arguments("nishimori", "--size", 4, "--sweeps", 4, "--temperatures", "1,2"))
        code, text, _ = call(plot, self.folder)
        self.assertEqual(code, 0)
        for name in ("quench_energy", "quench_coherence", "nishimori"):
            self.assertIn(f"{name}.svg", text)
            self.assertGreater((self.folder / f"{name}.svg").stat().st_size, 5000)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
