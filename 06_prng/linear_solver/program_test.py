"""Runs the program `linear_solver` as a user would, with right and wrong input, on the CPU path.

program_test.py <path of linear_solver>
"""

import csv
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
GENERAL = "%%MatrixMarket matrix coordinate real general\n"
ARRAY = "%%MatrixMarket matrix array real general\n"


def run(*arguments, **more):
    words = [PROGRAM, "--device", "cpu", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **more)


def result(*arguments):
    """The JSON object of a run that must succeed without a word on stderr."""
    done = run(*arguments, "--json")
    assert done.returncode == 0 and done.stderr == "", done
    return json.loads(done.stdout)


class InFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="psFlip test ")  # a space, as in many people's paths
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content)
        return path


class Solutions(InFolder):
    def test_all_93_steps_and_the_radii(self):
        # 0.8^93 < 1e-9 <= 0.8^92, wherever the walks go: but for the end rows, which have a smaller sum.
        found = result("--matrix", "lap1d:20000,0.5", "--rhs", "ones", "--histories", 2000, "--radii")
        self.assertAlmostEqual(found["steps_per_history"], 93, delta=0.5)
        for name, radius in (("h", 0.8), ("second_moment", 0.64)):
            self.assertLessEqual(found["radii"][name]["upper"] - found["radii"][name]["lower"], 1e-6)
            self.assertAlmostEqual(found["radii"][name]["lower"], radius, delta=1e-6)
        self.assertEqual((found["system"]["rows"], found["system"]["entries"]), (20000, 59998))

    def test_the_true_error_is_what_the_standard_errors_say(self):
        for method, options in (("adjoint", ["--histories", 40000]), ("forward", ["--histories", 500])):
            for estimator in ("collision", "expected") if method == "adjoint" else ("collision",):
                with self.subTest(method=method, estimator=estimator):
                    found = result("--matrix", "lap2d:10,10", "--method", method, "--estimator", estimator, *options)
                    self.assertLess(found["error"], 0.05)
                    self.assertLess(abs(math.log(found["error"] / found["expected_error"])), math.log(2))

    def test_known_residual(self):
        # 12.39 +- 0.15 at the full size; it goes as sqrt(n / M), and here n / M is the same.
        found = result("--matrix", "lap1d:100000,0.5", "--histories", 998)
        self.assertAlmostEqual(found["residual"], 12.39, delta=0.6)

    def test_a_file_is_the_same_system(self):
        # 2 x 2 cells; stored symmetrically, and a right-hand side of ones, once by name and once by file.
        matrix = self.file(
            "a.mtx",
            "%%MatrixMarket matrix coordinate integer symmetric\n4 4 8\n1 1 4\n2 2 4\n3 3 4\n"
            "4 4 4\n2 1 -1\n3 1 -1\n4 2 -1\n4 3 -1\n",
        )
        rhs = self.file("b.mtx", ARRAY + "4 1\n1\n1\n1\n1\n")
        expected = result("--matrix", "lap2d:2,2")
        for options in ([], ["--rhs", rhs]):
            found = result("--matrix", matrix, *options)
            for name in ("steps", "pair_chi_squared"):
                self.assertEqual(found[name], expected[name])
            for name in ("residual", "error", "expected_error"):
                self.assertAlmostEqual(found[name], expected[name], places=12)

    def test_the_solution_is_written(self):
        file = self.folder / "x.csv"
        found = result("--matrix", "lap1d:50,0.5", "--histories", 50000, "--output", file)
        rows = list(csv.DictReader(io.StringIO(file.read_text())))
        self.assertEqual([int(row["entry"]) for row in rows], list(range(1, 51)))
        x, exact = ([float(row[name]) for row in rows] for name in ("x", "exact"))
        error = math.dist(x, exact) / math.hypot(*exact)
        self.assertAlmostEqual(error, found["error"], places=9)
        # A x = b, for the exact one.
        for i in range(50):
            left = exact[i - 1] if i else 0
            right = exact[i + 1] if i < 49 else 0
            diagonal = 3.5 if i in (0, 49) else 2.5
            self.assertAlmostEqual(diagonal * exact[i] - left - right, math.sin(math.pi * i / 49), places=9)

    def test_closed_streams_stay_out_of_files(self):
        path = self.folder / "x.csv"
        problem = ("--matrix", "lap1d:3,1", "--histories", 100, "--output", path)
        run(*problem)
        expected = path.read_bytes()
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            path.unlink()
            done = run(*problem, preexec_fn=lambda closed=closed: [os.close(stream) for stream in closed])
            self.assertEqual(done.returncode, 1 if 1 in closed else 0)  # without its report
            self.assertEqual(path.read_bytes(), expected)

    def test_comparison(self):
        found = result("--matrix", "lap2d:20,20", "--histories", 20000, "--compare")
        rivals = {rival["solver"]: rival for rival in found["compare"]}
        self.assertEqual(set(rivals), {"richardson", "conjugate-gradients"})
        for rival in rivals.values():
            self.assertEqual(rival["platform"], "cpu")
            self.assertLessEqual(rival["error"], found["error"])
            self.assertGreater(rival["seconds"], 0)
        self.assertLess(rivals["conjugate-gradients"]["iterations"], rivals["richardson"]["iterations"])
        # The slowest part of the error falls as cos(pi / 21)^k.
        k = rivals["richardson"]["iterations"]
        self.assertAlmostEqual(math.cos(math.pi / 21) ** k, found["error"], delta=0.3 * found["error"])

        found = result("--matrix", self.file("a.mtx", GENERAL + "2 2 3\n1 1 2\n1 2 1\n2 2 2\n"), "--compare")
        left_out = [rival for rival in found["compare"] if "left_out" in rival]
        self.assertEqual([rival["solver"] for rival in left_out], ["conjugate-gradients"])
        self.assertIn("not symmetric", left_out[0]["left_out"])

    def test_csv_has_a_line_a_solver(self):
        done = run("--matrix", "lap2d:5,5", "--csv", "--compare")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([row["solver"] for row in rows], ["monte-carlo", "richardson", "conjugate-gradients"])
        self.assertGreater(float(rows[0]["residual"]), 0)

    def test_text(self):
        done = run("--matrix", "lap1d:1000,0.5", "--histories", 20)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in ("1000 rows, 2998 entries", "worse than that of x = 0", "rho(H) ", "93"):
            self.assertIn(words, done.stdout)

    def test_divergent_walks_can_be_had(self):
        # Both rows of H sum up to 1.2 and have both signs.
        matrix = self.file("a.mtx", GENERAL + "2 2 4\n1 1 1\n1 2 1.2\n2 1 -1.2\n2 2 1\n")
        found = result("--matrix", matrix, "--allow-divergent", "--max-steps", 10)
        self.assertGreater(found["radii"]["h"]["upper"], 1.19)
        self.assertEqual(found["radii"]["h"]["lower"], 0)
        # 1.2^k cannot be summed up: not a number, which JSON has no word for.
        found = result("--matrix", matrix, "--allow-divergent", "--cutoff", 0, "--histories", 2)
        self.assertIsNone(found["error"])

    def test_median_of_repetitions_has_the_same_walks(self):
        one, three = (result("--matrix", "lap2d:6,6", "--repetitions", count) for count in (1, 3))
        self.assertEqual(one["steps"], three["steps"])
        self.assertAlmostEqual(one["error"], three["error"], places=12)

    def test_seeding_shows_in_the_first_two_numbers(self):
        def chi(*options):
            return result("--matrix", "lap2d:2,2", "--max-steps", 1, "--histories", 1000000, *options)[
                "pair_chi_squared"
            ]

        xorwow = ["--generator", "xorwow", "--seeding"]
        self.assertGreater(chi(*xorwow, "consecutive"), 3)
        for options in (["--generator", "philox"], [*xorwow, "hashed"], [*xorwow, "consecutive", "--discard", 1]):
            self.assertLess(chi(*options), 2)


class Refusals(InFolder):
    """One line on stderr, exit code 2, nothing written."""

    def assert_refused(self, *arguments, names):
        output = self.folder / "never.csv"
        with self.subTest(arguments=arguments):
            done = run(*arguments, "--output", output)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertRegex(done.stderr, r"\Alinear_solver: [^\n]+\n\Z")
            self.assertIn(str(names), done.stderr)
            self.assertFalse(output.exists())

    def test_options(self):
        good = ["--matrix", "lap2d:3,3"]
        self.assert_refused(names="--matrix")
        for histories in (0, -1, "1e3", 10**30):
            self.assert_refused(*good, "--histories", histories, names="--histories")
        for name, value in (
            ("method", "both"),
            ("estimator", "x"),
            ("generator", "mt19937"),
            ("seeding", "bad"),
            ("load", "ldg"),
            ("layout", "x"),
            ("map", "x"),
            ("max-steps", -1),
            ("cutoff", -1),
            ("cutoff", 2),
            ("cutoff", "nan"),
            ("cutoff", "x"),
            ("cutoff", ""),
            ("cutoff", "[0]"),
            ("histories", ""),
            ("seed", "-0"),
            ("max-steps", "010"),
            ("batch", 3),
            ("discard", -1),
            ("seed", -1),
            ("threads", 100),
            ("per-thread", 0),
            ("groups", 0),
            ("repetitions", 0),
            ("device", "99"),
        ):
            self.assert_refused(*good, f"--{name}", value, names=f"--{name}")
        self.assert_refused(*good, "--frob", names="--frob")
        self.assert_refused(*good, "--json", "--csv", names="--csv")
        self.assert_refused(*good, "--method", "forward", "--estimator", "expected", names="expected")
        subsequences = ["--generator", "xorwow", "--seeding", "subsequences"]
        self.assert_refused(*good, *subsequences, names="subsequences")

    def test_matrices_by_name(self):
        for matrix in (
            "lap1d:",
            "lap1d:5",
            "lap1d:5,",
            "lap1d:x,1",
            "lap1d:5,1,1",
            "lap1d:5.5,1",
            "lap2d:5",
            "lap2d:5,x",
            "lap1d:0,1",
            "lap1d:-3,1",
            "lap2d:0,3",
            "lap1d:5,nan",
            "lap1d:5,inf",
        ):
            self.assert_refused("--matrix", matrix, names="lap")
        for matrix in (
            "lap1d:2147483648,1",
            "lap1d:99999999999999999999,1",
            "lap2d:65536,65536",
            "lap2d:4294967296,4294967296",
        ):
            self.assert_refused("--matrix", matrix, names="lap")
        self.assert_refused("--matrix", "lap1d:5,-2", names="is zero")
        self.assert_refused("--matrix", "none.mtx", names="none.mtx")

    def test_matrices_from_files(self):
        for content, names in (
            ("", "Matrix Market"),
            (GENERAL + "2 2 3\n1 1 1\n2 2 1\n", "2 of 3 entries"),
            (GENERAL + "1 1 1\n1 1\n", "a.mtx: line 3: there must be an entry here"),
            (GENERAL + "4 4 4\n1 1 1\n2 2 1\n3 3 1\n4x 4 1\n", 'line 6: there is no row or column "4x"'),
            (GENERAL + "2 2 2\n1 1 1\n1.5 2.9 1\n", 'line 4: there is no row or column "1.5"'),
            (GENERAL + "2 2 2\n1 1 1\n2 2.9 1\n", 'line 4: there is no row or column "2.9"'),
            (GENERAL + "2.5 2.5 3.0\n1 1 1\n2 2 1\n2 1 .1\n", "line 2: there must be a size here"),
            (GENERAL + "1 1 4nan\n1 1 1\n", "line 2: there must be a size here"),
            (GENERAL + "2 2 3\n1 1 1\n1 1 1\n2 2 1\n", "line 4: this entry is in line 3 already"),
            (GENERAL + "2 2 2\n1 1 1\n2 5 1\n", 'line 4: there is no row or column "5"'),
            (GENERAL + "2 2 2\n1 1 1\n2 2 1\n3 3 3\n", "line 5: more text"),
            (GENERAL + "2 3 2\n1 1 1\n2 2 1\n", "2 x 3"),
            (GENERAL + "2 2 2\n1 1 1\n2 1 1\n", "(2, 2) is zero"),
            (GENERAL + "2 2 2\n1 1 1\n2 2 0\n", "(2, 2) is zero"),
            (GENERAL + "2 2 2\n1 1 1\n2 2 nan\n", "finite"),
            (GENERAL + "3000000000 3000000000 1\n1 1 1\n", "2147483647"),
            (GENERAL + "1 1 1\n1 1 1e-308\n", "too large"),  # a result would be no number
            ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "complex"),
        ):
            self.assert_refused("--matrix", self.file("a.mtx", content), names=names)

    def test_right_hand_sides(self):
        good = ["--matrix", "lap2d:2,1"]
        self.assert_refused(*good, "--rhs", "cos", names="cos")
        self.assert_refused("--matrix", "lap1d:1,1", names="right-hand side is zero")
        for content, names in (
            (ARRAY + "2 1\n0\n0\n", "right-hand side is zero"),
            (ARRAY + "3 1\n1\n1\n1\n", "2 x 1"),
            (ARRAY + "2 1\n1\nnan\n", "b.mtx"),
            ("1\n1\n", "Matrix Market"),
        ):
            self.assert_refused(*good, "--rhs", self.file("b.mtx", content), names=names)

    def test_radii(self):
        # rho(H) = 2.
        self.assert_refused(
            "--matrix", self.file("a.mtx", GENERAL + "2 2 4\n1 1 1\n1 2 2\n2 1 2\n2 2 1\n"), names="rho(H)"
        )
        self.assert_refused("--matrix", "lap1d:100,-1.5", names="rho(H)")
        # rho(H) = 0.977674, but the walks' second moment grows, forward.
        self.assert_refused(
            "--matrix", "diffusion2g", "--method", "forward", names="rho(H^), the spectral radius, is 1.99619"
        )
        # rho(H) = 0.9, and rows that sum up to 0.6 + 9 and so on.
        matrix = self.file("b.mtx", GENERAL + "2 2 4\n1 1 1\n1 2 -9\n2 1 -0.09\n2 2 1\n")
        found = result("--matrix", matrix, "--radii")
        self.assertAlmostEqual(found["radii"]["h"]["upper"], 0.9, places=9)
        self.assertAlmostEqual(found["radii"]["second_moment"]["upper"], 0.81, places=9)

    def assert_says_no(self, done, names):
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Alinear_solver: [^\n]+\n\Z")
        self.assertIn(names, done.stderr)

    def test_nothing_is_written_over(self):
        matrix, part = (self.file(name, GENERAL + "1 1 1\n1 1 2\n") for name in ("a.csv", "x.csv.psflip.part"))
        rhs = self.file("b.csv", ARRAY + "1 1\n1\n")
        (self.folder / "link.csv").hardlink_to(matrix)
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        for read, output in ((matrix, "a.csv"), (matrix, "link.csv"), (matrix, "b.csv"), (part, "x.csv")):
            done = run("--matrix", read, "--rhs", rhs, "--output", self.folder / output)
            self.assert_says_no(done, f"{output}: ")
            self.assertEqual({path: path.read_bytes() for path in self.folder.iterdir()}, before)

    def test_settings(self):
        setting = os.environ | {"PSFLIP_SCHEDULE": ""}
        done = run("--matrix", "lap1d:3,1", "--output", self.folder / "x.csv", env=setting)
        self.assert_says_no(done, "PSFLIP_SCHEDULE is ''")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_output_that_cannot_be_written(self):
        self.assert_says_no(run("--matrix", "lap2d:3,3", "--output", self.folder / "no/where.csv"), "where.csv")
        done = run("--matrix", "lap2d:3,3", "--output", "/dev/stdout", "--json")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
