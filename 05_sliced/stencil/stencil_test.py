"""Tests of stencil.py: python3 -m unittest stencil_test. common/test runs them."""

import json
import unittest
from unittest import mock

import stencil
from stages import Failure
from test.own_program import WithProgram

# Stands in for stencil_benchmark. Times in ps: 1000 for L = 64, less for a larger lattice; 512 threads are best.
FAKE = """#!/usr/bin/env python3
import json, sys
from pathlib import Path
words = [word for word in sys.argv[1:] if "benchmark_format" not in word]
options = dict(zip(words[::2], words[1::2]))
here = Path(__file__).parent
with (here / "calls").open("a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
if options["--device"] == "9":
    sys.exit("stencil_benchmark: --device 9: no such device")
size, entries = int(options["--size"]), []
for indexing in options.get("--indexing", "standard,bitwise,standard-grid,sliced,sliced-grid").split(","):
    for load in options.get("--load", "plain,readonly,texture").split(","):
        for threads in options.get("--threads", "256").split(","):
            name = f"stencil/size:{size}/indexing:{indexing}/load:{load}/threads:{threads}/repeats:3/manual_time"
            entry = {"name": name, "run_type": "iteration"}
            if indexing == "bitwise" and size == 6:
                entries.append(entry | {"error_occurred": True, "error_message": "bitwise takes a power of two"})
            elif (here / "WRONG").exists() and load == "texture":
                entries.append(entry | {"error_occurred": True, "error_message": "wrong bits after timing: hash 0"})
            else:
                time = 64000 / size * (1 if threads == "512" else 2) * (2 if indexing == "bitwise" else 1)
                word = "b" if (here / "DIFFERENT").exists() and load == "texture" else "a"
                for run in (time, time, 100 * time):  # a mean is not the median
                    entries.append(entry | {"threads_of_a_block": float(threads), "ps_per_site": run, "bytes_per_site": 32.0,
                                            "gb_per_s": 1.0, "label": word * 16})
                entries.append(entry | {"run_type": "aggregate", "ps_per_site": 1e-9})
entries.append({"name": "copy/iterations:1/manual_time", "run_type": "iteration", "gb_per_s": 400.0})
platform = (here / "PLATFORM").read_text()
context = {"psflip_platform": platform, "psflip_device": "a fake", "psflip_build_type": "release"}
print(json.dumps({"context": context, "benchmarks": entries}))
sys.exit(1 if (here / "WRONG").exists() else 0)
"""

COUNTERS = {"l1_hit_percent": 61.7, "l2_hit_percent": 12.3, "dram_read_bytes": 28e6, "dram_written_bytes": 4e6}


class Stencil(WithProgram):
    tool, program, text = stencil, "05_sliced/stencil_benchmark", FAKE

    def setUp(self):
        super().setUp()
        self.platform("gpu")
        self.profile = self.enterContext(mock.patch.object(stencil.counters, "profile_command", return_value=COUNTERS))

    def platform(self, name):
        (self.stage / "PLATFORM").write_text(name)

    def row(self, result, size, indexing, load):
        found = [r for r in result["rows"] if (r["size"], r["indexing"], r["load"]) == (size, indexing, load)]
        self.assertEqual(len(found), 1)
        return found[0]

    def table(self):
        return {(line["indexing"], line["load"]): line for line in self.cells(stencil.markdown(self.folder))}

    def test_all_variants_at_the_poster_s_sizes(self):
        result = self.result()
        self.assertEqual(len(result["rows"]), 4 * 5 * 3)
        self.assertEqual(sorted({row["size"] for row in result["rows"]}), [64, 128, 256, 512])
        self.assertEqual(len(self.calls()), 1 + 4)

    def test_best_block_size_and_its_median(self):
        row = self.row(self.result("--sizes", "128"), 128, "sliced-grid", "texture")
        self.assertEqual((row["threads"], row["ps_per_site"]), (512, 500))
        self.assertEqual(row["ps_per_site_by_threads"], {"128": 1000, "256": 1000, "512": 500, "1024": 1000})
        self.assertAlmostEqual(row["gb_per_s"], 64)
        self.assertEqual((row["copy_gb_per_s"], row["hash"]), (400, 16 * "a"))

    def test_fewer_sweeps_for_a_larger_lattice(self):
        self.assertEqual([stencil.default_sweeps(size) for size in (64, 128, 256, 512)], [200, 128, 16, 10])
        self.run_tool("--sizes", "256", "--sweeps", "3")
        self.assertIn("--sweeps 3", self.calls()[-1])

    def test_counters_of_the_chosen_sizes_for_the_best_block_size(self):
        result = self.result("--sizes", "64,100", "--counters", "100", "--indexing", "sliced")
        self.assertEqual(self.profile.call_count, 3)
        command, kernel = self.profile.call_args.args
        self.assertEqual(kernel, "update")
        words = list(map(str, command))
        self.assertEqual(words[words.index("--threads") + 1], "512")
        # Two sweeps run before the first timed one: the second of them is profiled.
        self.assertEqual(words[words.index("--sweeps") + 1], "2")
        self.assertEqual(self.profile.call_args.kwargs, {"launch_skip": 2, "launch_count": 2})
        self.assertNotIn("counters", self.row(result, 64, "sliced", "plain"))
        read = self.row(result, 100, "sliced", "plain")["counters"]
        self.assertEqual(read, {"l1_hit_percent": 61.7, "l2_hit_percent": 12.3, "dram_bytes_per_site": 32})

    def test_no_counters_where_there_are_none(self):
        self.run_tool("--no-counters")
        self.platform("cpu")
        self.assertIn("L = 32", self.run_tool())
        self.profile.assert_not_called()

    def test_times_are_kept_if_ncu_fails(self):
        self.profile.side_effect = Failure("there is no ncu here")
        with self.assertRaisesRegex(Failure, "no ncu"):
            self.result()
        self.assertEqual(len(json.loads((self.folder / "stencil.json").read_text())["rows"]), 60)

    def test_refused_variants_have_no_row(self):
        result = self.result("--sizes", "6,8")
        self.assertEqual({row["indexing"] for row in result["rows"] if row["size"] == 6}, set(stencil.INDEXINGS[1:]))
        self.assertEqual(
            result["refused"][0],
            {"size": 6, "indexing": "bitwise", "load": "plain", "refused": "bitwise takes a power of two"},
        )
        table = self.table()
        self.assertEqual(table["bitwise", "plain"]["ps per word, L = 6"], "-")
        self.assertEqual(table["bitwise", "plain"]["ps per word, L = 8"], "16,000")
        with self.assertRaisesRegex(Failure, "power of two"):
            self.run_tool("--sizes", "6", "--indexing", "bitwise")

    def test_wrong_words_are_no_result(self):
        for mark, message in (("WRONG", "wrong bits after timing"), ("DIFFERENT", "different words")):
            (self.stage / mark).touch()
            with self.subTest(mark), self.assertRaisesRegex(Failure, message):
                self.result()
            self.assertFalse((self.folder / "stencil.json").exists())
            (self.stage / mark).unlink()

    def test_bad_options(self):
        self.refuses(
            (["--sizes", "x"], "x; it must be a whole number"),
            (["--sizes", "0"], "0; it must be"),
            (["--load", "plain,magic"], "magic; allowed are plain, readonly, texture"),
            (["--json", str(self.folder / "no/where.json")], "there is no folder"),
            (["--device", "9"], "no such device"),
            (["--frob"], "--frob"),
        )
        with self.assertRaisesRegex(Failure, "not built"):
            stencil.main(["--build-dir", str(self.folder / "elsewhere")])

    def test_markdown(self):
        self.result("--threads", "256,512")
        table = self.table()
        self.assertEqual(list(table), [(i, load) for i in stencil.INDEXINGS for load in stencil.LOADS])
        self.assertEqual(
            table["sliced", "texture"],
            {
                "indexing": "sliced",
                "load": "texture",
                "ps per word, L = 64": "1,000",
                "ps per word, L = 128": "500.0",
                "ps per word, L = 256": "250.0",
                "ps per word, L = 512": "125.0",
                "GB/s, L = 256": "128",
                "% of copy": "32",
                "L1 hits, %": "62",
                "L2 hits, %": "12",
                "DRAM, B per word": "1.9",
                "ps per bit, L = 256": "7.81",
                "poster, L = 256": "1.19",
                "ps per bit, L = 512": "3.91",
                "poster, L = 512": "1.20",
                "poster, texture hits, %": "60",
            },
        )
        text = stencil.markdown(self.folder)
        self.assertIn("the best of 256, 512 threads per block", text)
        self.assertIn("a copy reaches 400 GB/s", text)
        self.assertIn("only the ratios between rows can be compared", text)
        self.assertNotIn("BUILD", text.upper())
        self.assertNotIn(str(self.folder), text)

    def test_the_poster_s_figures_stand_where_they_belong(self):
        self.result()
        table = self.table()
        figures = {
            variant: [row["poster, L = 256"], row["poster, L = 512"], row["poster, texture hits, %"]]
            for variant, row in table.items()
            if row["poster, L = 256"] != "-"
        }
        self.assertEqual(
            figures,
            {
                ("bitwise", "plain"): ["1.11", "1.33", "-"],
                ("bitwise", "texture"): ["1.09", "1.32", "55"],
                ("sliced", "plain"): ["1.72", "1.72", "-"],
                ("sliced", "texture"): ["1.19", "1.20", "60"],
                ("standard", "plain"): ["1.89", "1.89", "-"],
                ("standard", "texture"): ["1.28", "1.32", "55"],
            },
        )

    def test_markdown_of_what_is_not_all_there(self):
        self.result("--sizes", "64,128", "--no-counters")
        row = self.table()["standard", "plain"]
        self.assertEqual((row["GB/s, L = 128"], row["L1 hits, %"]), ("64.0", "-"))
        self.assertFalse([heading for heading in row if "poster" in heading])
        file = self.folder / "stencil.json"
        result = json.loads(file.read_text())
        file.write_text(json.dumps(result | {"build_type": "debug"}))
        self.assertIn("DEBUG build: these times mean nothing", stencil.markdown(self.folder))
        file.write_text(json.dumps(result | {"format": "psFlip 2D comparison, version 1"}))
        with self.assertRaisesRegex(Failure, "is not"):
            stencil.markdown(self.folder)
        file.unlink()
        with self.assertRaises(FileNotFoundError):
            stencil.markdown(self.folder)


if __name__ == "__main__":
    unittest.main()
