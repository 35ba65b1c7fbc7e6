"""Tests of the reader of results, psflip.py."""

import json
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    raise SystemExit(0) from None  # nobody can use it

import psflip

PROBLEM = {"size": 4, "temperatures": [1.0, 1.5, 2.0]}
COLUMNS = ("sweep", "temperature", "xi_l", "xi_l_error")


def rows(slope=-1.0, level=2.0, drift=0.0):
    return [
        (sweep, t, level + slope * t + drift * i, 0.01)
        for i, sweep in enumerate((8, 16, 32))
        for t in PROBLEM["temperatures"]
    ]


class Files(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def csv(self, table, name="a.csv"):
        lines = ['# program: "spin_glass"', f"# problem: {json.dumps(PROBLEM)}", ",".join(COLUMNS)]
        lines += [",".join("" if cell is None else repr(cell) for cell in row) for row in table]
        (self.folder / name).write_text("\n".join(lines) + "\n")
        return psflip.read(self.folder / name)

    def test_both_formats_are_the_same_table(self):
        table = rows()
        table[4] = (16, 1.5, None, None)
        run = self.csv(table)
        self.assertEqual((run.problem, len(run)), (PROBLEM, 9))
        self.assertTrue(np.isnan(run["xi_l"][4]))
        for key in ("rows", "averages"):
            text = {"problem": PROBLEM, key: [dict(zip(COLUMNS, row)) for row in table]}
            (self.folder / "a.json").write_text(json.dumps(text))
            other = psflip.read(self.folder / "a.json")
            for name in COLUMNS:
                np.testing.assert_array_equal(run[name], other[name])

    def test_bins(self):
        run = self.csv(rows(drift=0.02))
        self.assertEqual([len(one) for one in run.bins()], [3, 3, 3])
        self.assertEqual(list(run.last()["temperature"]), PROBLEM["temperatures"])
        self.assertAlmostEqual(run.agreement("xi_l"), 4)
        self.assertAlmostEqual(self.csv(rows()).agreement("xi_l", row=2), 0)
        self.assertIsNone(self.csv(rows()[:6]).agreement("xi_l"))

    def test_crossings(self):
        small, large = self.csv(rows(-1, 2)).last(), self.csv(rows(-2, 3.25)).last()
        at, error = psflip.crossing(small, large, "xi_l")
        self.assertAlmostEqual(at, 1.25)
        self.assertAlmostEqual(error, 0.01 * 2**0.5)  # that of the difference, over the slope 1
        self.assertAlmostEqual(psflip.crossing(small, large, "xi_l", shifts=(0, 3)), 1.28)
        self.assertIsNone(psflip.crossing(small, self.csv(rows(-1, 3)).last(), "xi_l"))

    def test_autocorrelation_times(self):
        """Of x' = a x + noise, (1 + a) / (1 - a) / 2 steps, whatever the mean of a sample."""
        noise, a, length = np.random.default_rng(3), np.array([0.0, 0.5, 0.9]), 1000
        x = noise.standard_normal((40, 2, 3)) / np.sqrt(1 - a**2)
        table, mean = [], noise.standard_normal((40, 1, 1))
        for step in range(length + 1):
            sweep = 4 * step if step < length else 4 * length - 1
            for sample, copy, t in np.ndindex(x.shape):
                q = x[sample, copy, t] + mean[sample, 0, 0]
                table.append((sweep, sample, copy, t + 1, q, q if copy == 0 else np.nan))
            x = a * x + noise.standard_normal(x.shape)
        names = ("sweep", "sample", "copy", "temperature", "energy", "overlap_1")
        columns = dict(zip(names, np.array(table).T))
        run = psflip.Run({"problem": {"samples_per_stream": 4}}, columns)
        for quantity, since in (("energy", 0), ("overlap_1", 400)):
            found = psflip.autocorrelation(run, quantity, since)
            exact = 4 * (1 + a) / (1 - a) / 2
            np.testing.assert_array_equal(found["temperature"], [1, 2, 3])
            self.assertTrue(np.all(np.abs(found["tau"] - exact) < 4 * found["tau_error"]), found.columns)
            self.assertTrue(np.all(found["tau_error"] < 0.1 * exact), found.columns)
        short = psflip.autocorrelation(run, "energy", 4 * (length - 60))
        self.assertEqual(list(np.isnan(short["tau"])), [False, False, True])
        columns["sweep"] = columns["sweep"] ** 2
        with self.assertRaisesRegex(ValueError, "every:N"):
            psflip.autocorrelation(run, "energy")

    def test_refusals(self):
        for name, text in (("a.csv", "1,2\n3,4\n"), ("b.csv", ""), ("c.json", "{}"), ("d.json", "[")):
            (self.folder / name).write_text(text)
            with self.assertRaisesRegex(ValueError, name):
                psflip.read(self.folder / name)


if __name__ == "__main__":
    unittest.main()
