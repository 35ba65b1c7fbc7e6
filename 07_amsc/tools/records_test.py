"""Tests of records.py: python3 -m unittest records_test. common/test runs them."""

import json
import tempfile
import unittest
from pathlib import Path

import records
import table
from measure import words
from stages import Failure


def point(**values):
    usual = {"figure": "size", "size": 256, "samples": 128, "generator": "philox", "kernel": "wide"}
    return usual | {"ps_per_flip": 1.0} | values


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.points = [
            point(kernel="resident", size=16, ps_per_flip=0.07, generator="minstd"),
            point(kernel="resident", size=8, ps_per_flip=0.06, samples=4096),
            point(ps_per_flip=0.2),
            point(ps_per_flip=0.15, generator="minstd"),
            point(ps_per_flip=0.01, size=64),  # not the size that is asked for
            point(kernel="small", figure="samples", size=32, samples=32, ps_per_flip=0.5),
        ]
        self.large = [
            {"kernel": kernel, "size": size, "samples": 700, "ps_per_flip": ps}
            for size in (64, 192)
            for kernel, ps in (("wide", 0.01), ("overlapped", 0.09))
        ]
        self.one = [
            {"kernel": kernel, "size": size, "samples": samples, "replicas": replicas} | of_kernel
            for size, samples, replicas in records.OF_ONE_SYSTEM
            for kernel, of_kernel in (
                ("synchronous", {"temperature": 1.1, "ps_per_flip": 0.7}),
                ("spread", {"temperature": 1.1, "ps_per_flip": 0.6}),
                ("synchronous", {"temperature": 2, "ps_per_flip": 0.5}),
            )
        ]

    def write(self):
        words_file = {"format": words.FORMAT, "wrong": [], "replicas": 4, "points": self.points}
        one_system = {"format": records.ONE_SYSTEM_FORMAT, "rows": self.one}
        for name, content in (
            (f"words/{words.NAME}.json", words_file),
            (records.LARGE, {"rows": self.large}),
            (records.ONE_SYSTEM, one_system),
        ):
            file = self.folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(content))

    def ours(self):
        self.write()
        return records.records(self.folder)[len(records.STATED) :]

    def test_the_fastest_of_each_kernel(self):
        rows = self.ours()
        self.assertEqual([row.ps for row in rows], ["0.0600", "0.150", "0.500", *["0.0900"] * 2, *["0.600"] * 4])
        self.assertEqual(rows[0].what, "**resident**, Philox, L = 8, 4 replicas")
        self.assertEqual(rows[1].what, "**wide**, MINSTD, L = 256, 4 replicas")
        self.assertEqual(rows[5].what, "**spread**, L = 128, 1 replica")

    def test_who_shares_a_draw(self):
        rows = self.ours()
        shared = ["shared by 128 samples"] * 2 + ["shared by 32 samples"] + ["shared by 64 samples"] * 2
        self.assertEqual([row.draws for row in rows], [*shared, *["own"] * 4])
        self.assertEqual([row.systems for row in rows[5:]], ["one", "one", "one", "1,024"])
        self.assertEqual([row.watts for row in rows[2:5]], ["not measured", "not measured", "699, limit 700"])

    def test_a_row_that_is_not_there(self):
        self.large.pop()
        with self.assertRaisesRegex(Failure, "large_lattices.json has no row with kernel overlapped, size 192"):
            self.ours()

    def test_flips_per_nanosecond(self):
        found = {row.what: row.ps for row in records.STATED}
        self.assertEqual((found["DSIM-2, heat bath, 11 MHz"], found["DSIM-2, heat bath, 33 MHz"]), ("1", "0.33"))
        self.assertEqual((found["Wafer-Scale Engine"], found["cuIsing"]), ("0.0162", "0.00870"))

    def test_as_markdown(self):
        self.write()
        text = records.markdown(self.folder)
        lines = text.split("\n\n")[0].split("\n")
        self.assertEqual(len(lines), 2 + len(records.STATED) + 9)
        self.assertEqual({line.count("|") for line in lines}, {9})
        self.assertIn(f"| {table.significant(0.0900, 3)} | 699, limit 700 |", text)


if __name__ == "__main__":
    unittest.main()
