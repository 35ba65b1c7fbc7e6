"""Tests of what measures and shows. ctest runs them; by hand, in common/tools: python3 -m unittest test.tools_test."""

import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import build
import compare
import counters
import readme_tables
import stages
import table
from measure import comparison, generators, sizes, sweep, words
from models import MAJORITY, SPIN_GLASS, model_of
from pictures import draw
from results import read_csv, select
from stages import Failure
from test import fake_benchmark

TOOLS = Path(__file__).parents[1]
FAKE_00 = 100 + 3 * 6 + 1  # ms a step of the fake stage 00


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="psFlip test ")  # a space, as in many people's paths
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


def put_fake_benchmark(target):
    """Started by this very interpreter, and without site-packages."""
    text = Path(fake_benchmark.__file__).read_text()
    target.write_text(text.replace("#!/usr/bin/env python3", f"#!{sys.executable} -S", 1))
    target.chmod(0o755)


class WithBuild(WithFolder):
    """A build folder of fake benchmarks: the 2D model's for the stages 00 to 03, the spin glass's for 00, 04, 05."""

    model = "majority"  # which one the test is about
    stages_2d = ("00_cpu_reference", "01_naive_gpu", "02_blocked", "03_shared_memory")
    stages_3d = ("00_cpu_reference", "04_checkerboard", "05_sliced")

    def setUp(self):
        super().setUp()
        for model, names in (("majority", self.stages_2d), ("spin_glass", self.stages_3d)):
            for name in names:
                (self.folder / name).mkdir(exist_ok=True)
                put_fake_benchmark(self.folder / name / f"{model}_benchmark")
        start = mock.patch.object(stages, "start", self.start)
        start.start()
        self.addCleanup(start.stop)

    def start(self, command, what):
        """Instead of stages.start(): hundreds of processes take a minute."""
        text, code = fake_benchmark.answer(command)
        return code, text, ""

    def run_compare(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = compare.main(["--build-dir", str(self.folder), *arguments])
        return code, output.getvalue()

    def compare(self, *arguments):
        """Every row and column."""
        return self.run_compare("--model", self.model, "--all", "--wide", *arguments)

    def launch(self, row):
        """A row of the stages before 07: no kernel, and nothing that goes with one."""
        self.assertEqual({row[name] for name in SPIN_GLASS.launch[5:]}, {None})
        return [row[name] for name in SPIN_GLASS.launch[:5]]

    def json(self, *arguments):
        file = self.folder / "result.json"
        self.compare("--json", str(file), *arguments)
        return json.loads(file.read_text())


def as_text(result):
    """All of a result as --wide prints it."""
    model, output = model_of(result), io.StringIO()
    with contextlib.redirect_stdout(output):
        writer = table.Writer(model, table.all_columns(model), ladders=model.rows_first)
        for row in result["rows"]:
            writer.row(row)
    return output.getvalue()


def rows_of(output):
    """The cells of a table's rows, split at two spaces or more."""
    return [line.split() for line in output.splitlines() if line[:2].isdigit() and line[2:4] == "  "]


class Comparison(WithBuild):
    def test_table_has_a_row_for_each_stage_and_storage(self):
        code, output = self.compare()
        self.assertEqual(code, 0)
        rows = rows_of(output)
        self.assertEqual([row[0] for row in rows], ["00", "01", "02", "03", "01", "02", "03"])
        self.assertEqual([row[-1] for row in rows], ["reference"] + 6 * ["yes"])
        self.assertIn("CPU, DEBUG", output)
        self.assertIn("DEBUG build: these times mean nothing", output)

    def test_best_shape_is_chosen_and_its_median_taken(self):
        row = self.json("--stages", "02", "--storage", "int32")["rows"][1]
        self.assertEqual((row["thread_width"], row["block"]), (10, 2))
        self.assertEqual(row["ms_per_step"], 25)
        self.assertEqual(row["shapes_tried"], 25)

    def test_derived_figures(self):
        rows = self.json("--size", "1000", "--storage", "int32,int8")["rows"]
        self.assertEqual([row["ms_per_step"] for row in rows[:4]], [FAKE_00, 50, 25, 12.5])
        self.assertIsNone(rows[0]["factor_reference"])
        for row, ms in zip(rows[1:4], (50, 25, 12.5)):
            self.assertAlmostEqual(row["factor_reference"], FAKE_00 / ms)
        stage_2 = rows[2]
        self.assertAlmostEqual(stage_2["ps_per_site"], 25e-3 / 1e6 * 1e12)
        self.assertAlmostEqual(stage_2["gb_per_s"], 8 * 1e6 / 25e-3 * 1e-9)
        self.assertAlmostEqual(stage_2["of_copy"], stage_2["gb_per_s"] / 100)
        self.assertAlmostEqual(stage_2["factor_before"], 50 / 25)
        # The first stage of the second storage comes after stage 00, not after the last of the first storage.
        self.assertEqual((rows[4]["stage"][:2], rows[4]["storage"]), ("01", "int8"))
        self.assertEqual(rows[4]["factor_before"], rows[4]["factor_reference"])

    def test_refused_shapes_are_kept_with_their_reason(self):
        row = self.json("--stages", "03", "--storage", "int32")["rows"][1]
        refused = [shape for shape in row["shapes"] if "refused" in shape]
        self.assertEqual({shape["thread_width"] for shape in refused}, {32})
        self.assertEqual(refused[0]["refused"], "a tile too large")

    def test_a_stage_that_can_do_none_of_the_shapes_is_an_error(self):
        with self.assertRaisesRegex(Failure, "03_shared_memory: a tile too large"):
            self.compare("--stages", "03", "--thread-width", "32")

    def test_wrong_bits_are_loud(self):
        (self.folder / "02_blocked/WRONG").touch()
        code, output = self.compare("--storage", "int8")
        self.assertEqual(code, 1)
        self.assertIn("*** WRONG RESULT *** 02_blocked (int8)", output)
        line = next(line for line in output.splitlines() if line.startswith("02"))
        self.assertTrue(line.endswith("NO"), line)

    def test_no_paths_in_the_json(self):
        self.assertNotIn(str(self.folder), json.dumps(self.json()))

    def test_unknown_stage(self):
        with self.assertRaisesRegex(Failure, "--stages 07"):
            self.compare("--stages", "01,07")


class BitsInTheComparison(WithBuild):
    """Stage 07 has a row of one step per pass, and one of the best number of them."""

    stages_2d = ("00_cpu_reference", "03_shared_memory", "07_amsc")

    def test_one_step_and_the_best_number(self):
        result = self.json("--size", "1000")
        rows = result["rows"]
        self.assertEqual(
            [(row["stage"][:2], row["storage"], row["steps_per_pass"]) for row in rows],
            [("00", "int8", None), ("03", "int32", None), ("03", "int8", None), ("07", "bit", 1), ("07", "bit", 6)],
        )
        one, best = rows[3:]
        self.assertEqual((one["shapes_tried"], best["shapes_tried"]), (1, 16))
        self.assertAlmostEqual(one["factor_before"], FAKE_00 / 0.6)
        self.assertAlmostEqual(best["factor_before"], 6)
        self.assertAlmostEqual(best["gb_per_s"], 0.25 * 1e6 / 0.1e-3 * 1e-9)
        text = as_text(result)
        self.assertIn(" bit      1 step per pass ", text)
        self.assertIn(" bit      6 steps per pass, best of 16 ", text)
        self.assertEqual([row[-1] for row in rows_of(text)], ["reference", *4 * ["yes"]])
        again = self.json(*result["command"].split()[1:])
        self.assertEqual(again, result)

    def test_only_what_is_asked(self):
        rows = self.json("--steps-per-pass", "2,4", "--storage", "bit")["rows"]
        self.assertEqual([(row["stage"][:2], row["steps_per_pass"]) for row in rows], [("00", None), ("07", 4)])
        self.assertEqual(rows[1]["shapes_tried"], 2)
        with self.assertRaisesRegex(Failure, "--storage bit: none of the chosen stages"):
            self.compare("--stages", "03", "--storage", "bit")

    def test_wrong_bits_are_loud(self):
        (self.folder / "07_amsc/WRONG").touch()
        code, output = self.compare("--size", "10")
        self.assertEqual(code, 1)
        self.assertIn("*** WRONG RESULT *** 07_amsc (bit, 1 step per pass)", output)
        self.assertEqual([row[-1] for row in rows_of(output)], ["reference", "yes", "yes", "NO", "NO"])

    def test_a_sweep_over_squares_leaves_them_out(self):
        code, _ = self.run_compare("--sweep", str(self.folder / "out"), "--size", "20")
        self.assertEqual(code, 0)
        self.assertNotIn("07_amsc", (self.folder / "out/sweep.csv").read_text())

    def test_results_without_passes_can_be_read(self):
        result = self.json("--size", "8", "--stages", "03")
        for row in result["rows"]:
            del row["steps_per_pass"]
        self.assertEqual([row[-1] for row in rows_of(as_text(result))], ["reference", "yes", "yes"])


class SpinGlassComparison(WithBuild):
    model = "spin-glass"

    def test_table_has_a_row_for_each_stage_and_indexing(self):
        code, output = self.compare()
        self.assertEqual(code, 0)
        rows = rows_of(output)
        self.assertEqual([row[0] for row in rows], ["00", "04", "04", "05", "05", "05"])
        self.assertEqual([row[-1] for row in rows], ["reference"] + 5 * ["yes"])
        for row, indexing in zip(rows[1:], ["standard", "bitwise", "sliced", "sliced-grid", "standard-grid"]):
            self.assertIn(indexing, row)
        self.assertIn("readonly, 256 x 4, best of 48", output)
        self.assertIn("256, best of 4", output)
        self.assertIn("32 x 32 x 32 sites, 1 sample of 4 replicas, T = 1.1, 10 sweeps, seed 42", output)

    def test_best_launch_is_chosen_and_its_median_taken(self):
        rows = self.json("--size", "8", "--samples", "2")["rows"]
        sliced, standard_grid = rows[3], rows[5]
        spins = 8**3 * 2 * 4
        self.assertEqual(self.launch(sliced), ["sliced", "minstd", "readonly", 256, 4])
        self.assertAlmostEqual(sliced["ms_per_sweep"], spins * 1e-6 * 100 / 32)
        self.assertEqual(self.launch(standard_grid), ["standard-grid", "minstd", "readonly", 256, 1])
        self.assertEqual((sliced["shapes_tried"], standard_grid["shapes_tried"]), (48, 12))
        # Google Benchmark's own "threads" is not taken for the launch's.
        self.assertEqual(self.launch(rows[0]), [None, "minstd", None, None, None])
        self.assertEqual(self.launch(rows[1]), ["standard", "minstd", None, 256, None])

    def test_derived_figures(self):
        result = self.json("--size", "8", "--indexing", "sliced,standard")
        reference, standard, sliced = result["rows"]
        self.assertEqual(result["problem"]["size"], 8)
        self.assertAlmostEqual(standard["ps_per_flip"], 1e3 * 100 / 16)
        self.assertAlmostEqual(standard["gb_per_s"], 6.5 / standard["ps_per_flip"] * 1e3)
        self.assertAlmostEqual(standard["of_copy"], standard["gb_per_s"] / 100)
        self.assertAlmostEqual(standard["factor_reference"], 16)
        self.assertAlmostEqual(sliced["factor_before"], 2)
        self.assertAlmostEqual(sliced["factor_reference"], 32)
        self.assertIsNone(reference["factor_before"])
        self.assertEqual(table.flips_per_ns(standard), "0.1600")

    def test_the_recorded_command_does_the_same(self):
        first = self.json("--size", "8", "--seed", "0", "--stages", "05", "--load", "plain,texture", "--replicas", "3")
        words = first["command"].split()[1:]
        self.assertEqual(words[words.index("--seed") + 1], "0")
        self.assertEqual(self.json(*words), first)

    def test_an_indexing_that_does_not_fit_the_size_is_left_out_and_named(self):
        code, output = self.compare("--size", "10")
        self.assertEqual(code, 0)
        self.assertEqual(len(rows_of(output)), 5)
        self.assertIn("left out: bitwise: 04_checkerboard: it takes a power of two for --size, not 10", output)
        with self.assertRaisesRegex(Failure, "04_checkerboard: it takes a power of two"):
            self.compare("--size", "10", "--indexing", "bitwise,sliced")
        with self.assertRaisesRegex(Failure, "--indexing bitwise: none"):
            self.compare("--indexing", "bitwise", "--stages", "05")

    def test_wrong_bits_are_loud(self):
        (self.folder / "05_sliced/WRONG").touch()
        code, output = self.compare("--size", "8")
        self.assertEqual(code, 1)
        self.assertIn("*** WRONG RESULT *** 05_sliced (sliced-grid)", output)
        self.assertEqual([row[-1] for row in rows_of(output)], ["reference", "yes", "yes", "NO", "NO", "NO"])

    def test_csv_has_what_the_table_has(self):
        file = self.folder / "table.csv"
        self.compare("--size", "8", "--csv", str(file))
        points = read_csv(file)
        self.assertEqual(len(points), 6)
        self.assertEqual(points[3]["sites_per_thread"], 4)


class GeneratorsInTheComparison(WithBuild):
    """Stage 06 has a row a generator."""

    model = "spin-glass"
    stages_3d = ("00_cpu_reference", "05_sliced", "06_prng")

    def rows(self, *arguments):
        rows = self.json(*arguments)["rows"]
        return [(row["stage"][:2], row["indexing"], row["generator"]) for row in rows]

    def test_the_sliced_lattice_with_every_generator(self):
        every = ["minstd", "parisi-rapuano", "mt19937", "philox"]
        code, output = self.compare("--size", "8")
        self.assertEqual(code, 0)
        self.assertEqual([row[-1] for row in rows_of(output)], ["reference", *("yes" for _ in range(3 + 4))])
        self.assertEqual(self.rows("--size", "8")[4:], [("06", "sliced", generator) for generator in every])
        row = self.json("--size", "8")["rows"][-1]
        self.assertEqual([row[key] for key in ("threads", "sites_per_thread", "load")], [256, 4, None])
        self.assertEqual(row["shapes_tried"], 16)
        self.assertEqual(row["bits_compared_at"], {})  # the very problem
        self.assertAlmostEqual(row["ps_per_flip"], 1e3 * (100 / 64 + 30))

    def test_only_what_is_asked(self):
        self.assertEqual(
            self.rows("--size", "8", "--generator", "philox"), [("00", None, "minstd"), ("06", "sliced", "philox")]
        )
        asked = self.rows("--size", "8", "--stages", "06", "--indexing", "standard,sliced", "--generator", "minstd")
        self.assertEqual(asked[1:], [("06", "standard", "minstd"), ("06", "sliced", "minstd")])
        with self.assertRaisesRegex(Failure, "--generator philox: none of the chosen stages"):
            self.compare("--stages", "05", "--generator", "philox")

    def test_bits_of_large_problems_are_compared_where_stage_00_can(self):
        result = self.json("--size", "256", "--samples", "2", "--stages", "06")
        self.assertEqual([row["bits_agree"] for row in result["rows"]], 5 * [True])
        self.assertEqual(
            [row["bits_compared_at"] for row in result["rows"]], [None, None, *3 * [{"size": 64, "samples": 1}]]
        )
        output = "\n".join([as_text(result), *table.remarks(result)])
        self.assertIn("yes, at L = 64, M = 1", output)
        self.assertIn("x 00: the reference with minstd", output)

    def test_a_wrong_generator_is_loud(self):
        (self.folder / "06_prng/WRONG-mt19937").touch()
        code, output = self.compare("--size", "128")
        self.assertEqual(code, 1)
        self.assertIn("*** WRONG RESULT *** 06_prng (sliced, mt19937): sliced, mt19937: wrong bits", output)
        self.assertEqual([row[-1] == "NO" for row in rows_of(output)], 6 * [False] + [True, False])

    def test_the_recorded_command_does_the_same(self):
        first = self.json("--size", "8", "--stages", "05,06")
        self.assertEqual(self.json(*first["command"].split()[1:]), first)

    def test_results_without_generators_can_be_read(self):
        result = self.json("--size", "8", "--stages", "05")
        for row in result["rows"]:
            del row["generator"], row["bits_compared_at"]
        text = as_text(result)
        self.assertNotIn("generator", table.comparison_as_markdown(SPIN_GLASS, result["rows"]))
        self.assertEqual([row[-1] for row in rows_of(text)], ["reference", "yes", "yes", "yes"])


class KernelsInTheComparison(WithBuild):
    """Stage 07 has a row a kernel, with as many samples as fill a word."""

    model = "spin-glass"
    stages_3d = ("00_cpu_reference", "06_prng", "07_amsc")

    def test_every_kernel_that_the_size_allows(self):
        result = self.json("--size", "8")
        rows = result["rows"][5:]
        kernels = ("update", "wide", "overlapped", "resident", "small")
        self.assertEqual(
            [(row["kernel"], row["generator"]) for row in rows],
            [
                (kernel, generator)
                for kernel in kernels
                for generator in ("minstd", "philox")
                if (kernel, generator) != ("overlapped", "minstd")
            ],
        )
        self.assertEqual({row["samples"] for row in rows}, {32})  # 128 on a GPU
        self.assertEqual([row["samples"] for row in result["rows"][:5]], 5 * [1])
        self.assertEqual([row["bits_compared_at"] for row in rows], 9 * [{"samples": 1}])
        wide = rows[3]
        self.assertEqual(
            [wide[key] for key in SPIN_GLASS.launch], [None, "philox", None, 256, None, "wide", 32, None, None, None]
        )
        spins = 8**3 * 4
        self.assertAlmostEqual(wide["ps_per_flip"], 0.15 * 1.32 + 3e-3 * 1e9 / (32 * spins))
        factor = result["rows"][0]["ms_per_sweep"] / spins / (wide["ms_per_sweep"] / (32 * spins))
        self.assertAlmostEqual(wide["factor_reference"], factor)
        text = as_text(result)
        self.assertIn("| indexing or kernel |", table.comparison_as_markdown(SPIN_GLASS, result["rows"]))
        self.assertIn("k = 32, 256 threads, best of 4 ", text)
        self.assertIn("k = 32, 256 threads, cluster 1, best of 6 ", text)
        self.assertIn("k = 32, 256 threads, cluster 16, best of 3 ", text)
        self.assertIn("yes, at M = 1", text)
        self.assertEqual(rows_of(text)[0][-1], "reference")
        self.assertEqual(self.json(*result["command"].split()[1:]), result)

    def test_a_gpu_has_words_of_128_samples(self):
        problem = {"size": 8, "samples": 1}
        for kernel, platform, samples, wanted in (
            (None, "gpu", 1, problem),
            ("wide", "gpu", 1, problem | {"samples": 128, "samples_per_stream": 128}),
            ("wide", "gpu", 500, problem | {"samples": 500, "samples_per_stream": 128}),
            ("wide", "cpu", 1, problem | {"samples": 32, "samples_per_stream": 32}),
        ):
            here = comparison.with_enough_samples({"kernel": kernel}, platform, problem | {"samples": samples})
            self.assertEqual(here, wanted)

    def test_a_kernel_that_cannot_do_the_size_is_left_out(self):
        result = self.json("--size", "64", "--stages", "07", "--generator", "philox")
        self.assertEqual([row["kernel"] for row in result["rows"]], [None, "update", "wide", "overlapped"])
        beyond = self.json(
            "--size", "66", "--kernel", "wide,overlapped"
        )  # where stage 00 is compared with, L is smaller
        self.assertEqual([row["bits_compared_at"] for row in beyond["rows"][1:]], 3 * [{"size": 64, "samples": 1}])
        self.assertEqual(len(result["left_out"]), 2)
        self.assertIn("resident, philox: 07_amsc: this kernel cannot do it", result["left_out"])
        with self.assertRaisesRegex(Failure, "07_amsc: this kernel cannot do it"):
            self.compare("--size", "64", "--kernel", "resident")

    def test_only_what_is_asked(self):
        rows = self.json("--size", "8", "--kernel", "wide,update", "--threads", "128")["rows"][1:]
        self.assertEqual([row["kernel"] for row in rows], ["wide", "wide", "update", "update"])
        self.assertEqual([row["generator"] for row in rows], ["minstd", "philox", "minstd", "philox"])
        rows = self.json("--size", "8", "--indexing", "sliced")["rows"][1:]
        self.assertEqual({row["stage"] for row in rows}, {"06_prng"})
        every = ["minstd", "parisi-rapuano", "mt19937", "philox"]
        rows = self.json("--size", "8", "--kernel", "wide", "--generator", ",".join(every))["rows"][1:]
        self.assertEqual([row["generator"] for row in rows], every)
        with self.assertRaisesRegex(Failure, "--kernel wide: none of the chosen stages"):
            self.compare("--kernel", "wide", "--stages", "06")

    def test_a_wrong_kernel_is_loud(self):
        (self.folder / "07_amsc/WRONG-resident").touch()
        code, output = self.compare("--size", "8", "--stages", "07")
        self.assertEqual(code, 1)
        self.assertIn("*** WRONG RESULT *** 07_amsc (resident, philox): resident, philox: wrong bits", output)
        self.assertEqual([row[-1] for row in rows_of(output)].count("NO"), 2)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TableForPeople(WithBuild):
    """The default: a row a stage, its best variant's, in 100 columns."""

    stages_2d = ("00_cpu_reference", "01_naive_gpu", "03_shared_memory", "07_amsc")
    stages_3d = ("00_cpu_reference", "05_sliced", "06_prng", "07_amsc", "08_mpi")

    def result(self, *arguments):
        file = self.folder / "result.json"
        code, output = self.run_compare("--json", str(file), *arguments)
        self.assertEqual(code, 0)
        return json.loads(file.read_text()), output

    def test_a_row_a_stage_its_best_variants(self):
        result, output = self.result("--steps", "10")
        self.assertEqual([row[0] for row in rows_of(output)], ["00", "01", "03", "07"])
        self.assertEqual([row[-1] for row in rows_of(output)], ["ref", "yes", "yes", "yes"])
        self.assertEqual(
            [(row["storage"], row["steps_per_pass"]) for row in result["rows"][1:]],
            [("int32", None), ("int32", None), ("bit", 8)],
        )
        self.assertIn("  bit 8 steps per pass  ", output)
        self.assertIn(" int32 8 x 1 ", output)  # the fastest of those that a CPU tries
        self.assertEqual({shape["storage"] for shape in result["rows"][1]["shapes"]}, {"int32", "int8"})
        for before, row in zip(result["rows"], result["rows"][1:]):  # whatever the storage
            self.assertAlmostEqual(row["factor_before"], before["ms_per_step"] / row["ms_per_step"])
        self.assertNotIn("--all", result["command"])
        self.assertEqual(self.result(*result["command"].split()[1:])[0], result)

    def test_all_has_every_variant_and_says_so(self):
        result, output = self.result("--steps", "10", "--all")
        self.assertEqual([row[0] for row in rows_of(output)], ["00", "01", "03", "01", "03", "07", "07"])
        self.assertIn("common/run --all ", result["command"])
        self.assertIn(" int8 10 x 2 ", output)

    def test_wide_has_every_column(self):
        _, output = self.result("--size", "8", "--model", "spin-glass", "--wide")
        headings = [heading for heading, *_ in table.COLUMNS[SPIN_GLASS]]
        line = next(line for line in output.splitlines() if line.startswith("stage "))
        self.assertEqual([heading for heading in headings if f" {heading} " not in f" {line} "], [])
        self.assertEqual([row[0] for row in rows_of(output)], ["00", "05", "06", "07"])

    def test_what_makes_no_sense_here_is_left_out_with_a_word(self):
        result, output = self.result("--size", "8", "--model", "spin-glass")
        self.assertEqual({shape["kernel"] for shape in result["rows"][3]["shapes"]}, {"update", "wide"})
        self.assertIn("left out: overlapped, resident, small, slow on a CPU; --kernel asks for them", output)
        self.assertIn("left out: 08, which gives a system to several GPUs; --stages 08 asks for it", output)
        result, output = self.result("--size", "8", "--kernel", "resident,wide")
        self.assertEqual(result["rows"][-1]["kernel"], "resident")
        self.assertNotIn("left out: overlapped", output)
        (self.folder / "GPU").touch()
        result, output = self.result("--size", "8", "--model", "spin-glass")
        shapes = result["rows"][1]["shapes"]
        self.assertEqual(len(shapes), 3 * 2 * 3 * 3)  # indexings, loads, threads, sites
        self.assertEqual(result["rows"][-1]["kernel"], "small")
        self.assertNotIn("slow on a CPU", output)

    def test_100_columns_hold_the_longest_ideas(self):
        for model in (MAJORITY, SPIN_GLASS):
            result = json.loads((stages.ROOT / "common/results/h200" / model.results).read_text())
            for device in (None, "h200"):
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    writer = table.Writer(model, table.short_columns(model, device), ladders=model.rows_first)
                    for row in result["rows"]:
                        writer.row(row | {"idea": stages.idea(row["stage"])})
                lines = output.getvalue().splitlines()
                self.assertGreater(len(lines), len(result["rows"]))
                self.assertLessEqual(max(map(len, lines)), 100)
                self.assertEqual(max(map(len, lines[:2])), 100)
        for arguments in ([], ["--beside", "h200"], ["--all"]):
            lines = self.run_compare(*arguments)[1].splitlines()
            self.assertEqual([line for line in lines if len(line) > 100], [])

    def test_colour_only_on_a_terminal_and_not_if_somebody_wants_none(self):
        def output(**variables):
            stream = Terminal() if variables.pop("terminal") else io.StringIO()
            with mock.patch.dict(os.environ, variables), contextlib.redirect_stdout(stream):
                compare.main(["--build-dir", str(self.folder), "--steps", "3"])
            return stream.getvalue()

        (self.folder / "03_shared_memory/WRONG").touch()
        with mock.patch.dict(os.environ, {"TERM": "xterm"}):
            os.environ.pop("NO_COLOR", None)
            coloured = output(terminal=True)
            plain = output(terminal=False)
            self.assertEqual(output(terminal=True, NO_COLOR="1"), plain)
            self.assertEqual(output(terminal=True, TERM="dumb"), plain)
        self.assertNotIn("\033", plain)
        self.assertIn("\033[32myes\033[0m\n", coloured)
        self.assertIn("\033[31mNO\033[0m\n", coloured)

    def test_beside_another_device(self):
        _, output = self.result("--steps", "10", "--beside", "h200")
        published = json.loads((stages.ROOT / "common/results/h200/comparison.json").read_text())
        best = min(row["ps_per_site"] for row in published["rows"] if row["stage"].startswith("07"))
        line = next(line for line in output.splitlines() if line.startswith("07"))
        self.assertIn(f"  {table.significant(best, 3)}  ", line)
        self.assertIn("on h200: the stage's best row in common/results/h200/comparison.json: 10000 x 10000", output)
        for name in ("quality", "nowhere"):
            with self.assertRaisesRegex(Failure, f"--beside {name}: there are no results of it; .* h200;"):
                compare.parse_options(["--beside", name])
        for option in ("--all", "--wide", "--beside=h200"):
            with self.assertRaisesRegex(Failure, "prints tables of its own"):
                compare.parse_options(["--sizes", "x", option])

    def test_the_first_line_says_where_it_runs_and_what_is_missing(self):
        listed = "NVIDIA H200, 143771 MiB, 9.0, 580.95.05\n"
        for there, cards, wanted in (
            ([], None, r"psFlip on the CPU path: .* cores, \d+ GiB. Missing for more: a GPU, nvcc, MPI.\n"),
            (["nvcc", "mpirun"], listed, r"psFlip on 1 x NVIDIA H200: .* cores, \d+ GiB.\n"),
            (["mpirun"], listed, r"psFlip on the CPU path: .* GiB. Missing for more: nvcc.\n"),
            (["nvcc", "mpirun", "--no-cuda"], listed, r"psFlip on the CPU path: .* cores, \d+ GiB.\n"),
        ):
            options = [name for name in there if name.startswith("--")]
            with (
                mock.patch("shutil.which", lambda name, path=None, there=there: name if name in there else None),
                mock.patch("device_report.output_of", lambda *command, cards=cards: cards),
            ):
                output = self.run_compare("--stages", "01", *options)[1]
            self.assertRegex(output.replace("\n  ", " "), rf"\A{wanted}")


class BuildsWhatItMeasures(WithBuild):
    """In which order is built, measured and printed."""

    stages_2d = ("00_cpu_reference", "01_naive_gpu", "02_blocked", "03_shared_memory", "07_amsc")
    stages_3d = ("00_cpu_reference", "04_checkerboard", "05_sliced")

    def events(self, *arguments, gpu=False):
        """What happens, a line each: 'build ...', 'ahead ...', 'run 01', 'row 01'."""
        events, test = [], self

        class Recorder(build.Builder):
            brought = configured = False

            def has(self, target):
                return target.split("_benchmark")[0] in test.targets

            def need_together(self, targets, what):
                new = set(targets) - self.built
                if new:
                    events.append(f"build {what}")
                self.built |= new

            def ahead(self):
                following = self.groups[self.latest + 1 : self.latest + 2]
                events.append(f"ahead {following[0][0] if following else 'nothing'}")

        class Output(io.StringIO):
            def write(self, text):
                if text[:2].isdigit() and text[2:4] == "  ":
                    events.append(f"row {text[:2]}")
                return super().write(text)

        def start(command, what):
            stage = Path(command[0]).parent.name[:2]
            if events[-1] != f"run {stage}":
                events.append(f"run {stage}")
            return self.start(command, what)

        self.targets = {f"{name}_majority" for name in self.stages_2d} | {
            f"{name}_spin_glass" for name in self.stages_3d
        }
        if gpu:
            (self.folder / "GPU").touch()
        with (
            mock.patch("build.builder_for", lambda options: Recorder(self.folder)),
            mock.patch.object(stages, "start", start),
            mock.patch("build.cores", lambda: 2),
            contextlib.redirect_stdout(Output()),
        ):
            compare.main(["--build-dir", str(self.folder), *arguments])
        return events

    def test_a_group_is_built_when_it_is_needed_and_a_row_printed_when_it_is_measured(self):
        self.assertEqual(
            self.events(),
            [
                "build 2D stages 00, 01",
                "run 01",
                "run 00",
                "row 00",
                "run 01",
                "row 01",
                "build 2D stages 02, 03",
                "run 02",
                "row 02",
                "run 03",
                "row 03",
                "build 2D stage 07",
                "run 07",
                "row 07",
                "build 3D stages 00, 04",
                "run 04",
                "run 00",
                "row 00",
                "run 04",
                "row 04",
                "build 3D stage 05",
                "run 05",
                "row 05",
            ],
        )

    def test_only_the_chosen_stages(self):
        self.assertEqual(
            [event for event in self.events("--stages", "03,01") if event.startswith("build")],
            ["build 2D stages 00, 01", "build 2D stage 03"],
        )

    def test_what_no_stage_has_is_refused_before_anything_is_timed(self):
        with self.assertRaisesRegex(Failure, "--storage bit: none of the chosen stages has it"):
            self.events("--stages", "01,02", "--storage", "bit")

    def test_on_a_gpu_the_next_group_is_begun_while_this_one_is_measured(self):
        events = self.events("--size", "16", "--steps", "10", gpu=True)
        first = events.index("row 00")
        self.assertNotIn("ahead", " ".join(events[:first]))  # stage 00 has the processor for itself
        self.assertIn("ahead 2D stages 02, 03", events[first + 1 : events.index("run 01", first)])
        self.assertLess(events.index("ahead 2D stage 07"), events.index("row 02"))

    def test_tools_build_what_they_need(self):
        for arguments, wanted in (
            (["--sweep", "out", "--size", "8"], "build stages 00, 01, 02, 03"),
            (["--sizes", "out", "--size", "8"], "build stages 00, 04, 05"),
        ):
            arguments[1] = str(self.folder / "out")
            events = self.events(*arguments)
            self.assertEqual(events[0], wanted)
            self.assertEqual([event for event in events if event.startswith("build")], [wanted])


class RealProcesses(WithBuild):
    """The tools as somebody calls them."""

    def call(self, *arguments):
        return subprocess.Popen(
            [sys.executable, compare.__file__, "--build-dir", self.folder, *arguments],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def test_a_comparison(self):
        with self.call("--stages", "01", "--storage", "int8") as process:
            output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertEqual([row[-1] for row in rows_of(output)], ["ref", "yes"])

    def test_ctrl_c_while_it_measures(self):
        sleeps = self.folder / "00_cpu_reference/majority_benchmark"
        sleeps.write_text(f"#!/bin/bash\necho $$ >'{self.folder}/pid'\nexec sleep 60\n")
        with self.call("--stages", "01", "--storage", "int8") as process:
            while not (self.folder / "pid").exists() or not (self.folder / "pid").read_text().strip():
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (130, ""))
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.folder / "pid").read_text()), 0)

    def test_ctrl_c_while_it_starts(self):
        for seconds in (0.02, 0.05, 0.1, 0.15):
            command = [stages.ROOT / "common/run", "--no-install", "--build-dir", self.folder, "--stages", "01"]
            with subprocess.Popen(
                command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            ) as process:
                time.sleep(seconds)
                os.killpg(process.pid, signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            self.assertIn(process.returncode, (130, -signal.SIGINT))
            self.assertEqual(errors, "")


class Models(WithBuild):
    """Which tables are printed."""

    def stages_shown(self, *arguments):
        code, output = self.run_compare("--all", *arguments)
        self.assertEqual(code, 0)
        return [row[0] for row in rows_of(output)]

    def test_both_without_options(self):
        both = ["00", "01", "02", "03", "01", "02", "03", "00", "04", "04", "05", "05", "05"]
        self.assertEqual(self.stages_shown(), both)
        self.assertEqual(self.stages_shown("--model", "both", "--seed", "7", "--repetitions", "2"), both)

    def test_options_of_one_model_choose_it(self):
        for line, model in (
            ("--steps 3", MAJORITY),
            ("--storage int8 --size 10", MAJORITY),
            ("--thread-width 8", MAJORITY),
            ("--block 2 --json x", MAJORITY),
            ("--steps-per-pass 1,8", MAJORITY),
            ("--sweep x --size 10,20", MAJORITY),
            ("--sweeps 3", SPIN_GLASS),
            ("--samples 2 --size 8", SPIN_GLASS),
            ("--replicas 1", SPIN_GLASS),
            ("--temperature 2.5", SPIN_GLASS),
            ("--indexing sliced --json x", SPIN_GLASS),
            ("--load plain,texture", SPIN_GLASS),
            ("--threads 64", SPIN_GLASS),
            ("--sites-per-thread 2", SPIN_GLASS),
            ("--sizes x --size 8,10", SPIN_GLASS),
            ("--generator philox", SPIN_GLASS),
            ("--kernel wide,small", SPIN_GLASS),
            ("--samples-per-word 64", SPIN_GLASS),
            ("--cluster 8", SPIN_GLASS),
            ("--replicas-together 1", SPIN_GLASS),
            ("--words x --size 8,10 --kernel wide --spins 1000", SPIN_GLASS),
            ("--generators x --size 8,10 --generator curand-philox,minstd", SPIN_GLASS),
        ):
            with self.subTest(line):
                self.assertEqual(compare.parse_options(line.split()).models, [model])
        self.assertEqual(self.stages_shown("--sites-per-thread", "2", "--size", "8"), ["00", "04", "04", "05", "05"])

    def test_stages_choose_too(self):
        self.assertEqual(self.stages_shown("--stages", "05"), ["00", "05", "05", "05"])
        self.assertEqual(self.stages_shown("--stages", "02"), ["00", "02", "02"])
        self.assertEqual(self.stages_shown("--stages", "00"), ["00", "00"])

    def test_the_launch_is_that_of_the_programs(self):
        for model in (MAJORITY, SPIN_GLASS):
            for file in (stages.ROOT / "common" / model.name).rglob("launch.cpp"):
                fields = re.findall(r'field\("(\w+)", &Launch::', file.read_text())
                self.assertEqual(fields, [name for name in model.launch if name != "generator"])

    def test_wrong_bits_of_either_model_count(self):
        for stage in ("03_shared_memory", "05_sliced"):
            wrong = self.folder / stage / "WRONG"
            wrong.touch()
            with self.subTest(stage):
                self.assertEqual(self.run_compare()[0], 1)
            wrong.unlink()

    def test_the_recorded_2d_command(self):
        comparison = json.loads((stages.ROOT / "common/results/h200/comparison.json").read_text())
        options = compare.parse_options(comparison["command"].split()[1:])
        self.assertEqual(options.models, [MAJORITY])
        self.assertEqual((options.size, options.steps), (10000, 10))

    def test_what_cannot_be(self):
        for line, message in (
            ("--size 8", "--size is for one model"),
            ("--model both --size 8", "--size is for one model"),
            ("--json x.json", "--json is for one model"),
            ("--steps 1 --sweeps 1", "--steps and --sweeps belong to different models"),
            ("--model both --sweeps 1", "--sweeps belongs to one model"),
            ("--model majority --load plain", "--load does not belong to --model majority"),
            ("--model spin_glass", "invalid choice"),
            ("--sweep x --sweeps 1", "different models"),
            ("--swee x", "unrecognized"),
            ("--sweeps 0", "at least 1"),
            ("--temperature 0", "above 0"),
            ("--temperature nan", "above 0"),
            ("--indexing diagonal", "allowed are standard, bitwise"),
            ("--model spin-glass --size 8,10", "several values"),
            ("--spins 100", "--sizes"),
            ("--sizes x --samples 2", "--spins"),
            ("--sizes x --json y", "names its files itself"),
            ("--generators x --plot y.svg", "names its files itself"),
            ("--generators x --sizes y", "one at a time"),
            ("--generators x --samples 2", "--spins"),
            ("--generators x --steps 2", "different models"),
            ("--words x --samples 2", "--spins"),
            ("--words x --indexing sliced", "--indexing: --words times stages that have nothing"),
            ("--words x --generators y", "one at a time"),
            ("--words x --generator curand-philox", "the reference knows none"),
            ("--sizes x --kernel wide", "--kernel: --sizes times stages that have nothing"),
            ("--kernel fast", "allowed are update, wide"),
            ("--generator rand", "allowed are minstd, parisi-rapuano"),
            ("--generator curand-philox", "the reference knows none"),
            ("--generator minstd --sizes x", "--generators compares"),
            ("--plot x.gif --model majority", "must end in"),
            ("--plot nowhere/x.svg --model majority", "there is no folder"),
        ):
            with self.subTest(line), self.assertRaisesRegex(Failure, message):
                compare.parse_options(line.split())


class Sweep(WithBuild):
    def sweep(self, *arguments):
        out = str(self.folder / "out")
        options = compare.parse_options(["--build-dir", str(self.folder), "--sweep", out, *arguments])
        options.builder = build.builder_for(options)
        return sweep.measure(*sweep.prepare(options))

    def test_figure_4_has_a_row_a_shape_and_the_published_times_where_they_belong(self):
        points, wrong = self.sweep("--size", "10000,500", "--steps", "10")
        self.assertEqual(wrong, [])
        one_spin_a_thread = [p for p in points if not p["stage"].startswith("01") or p["block"] == 1]
        rows = {(row["width"], row["b"]): row for row in sweep.figure_4(one_spin_a_thread, "int32", 10000, 10)}
        self.assertEqual(len(rows), 25)
        published = "{} GTX 1070 (published) ms".format
        self.assertEqual(rows[8, 4]["v1 ms"], rows[8, 1]["v1 ms"])  # v1 has no b
        self.assertEqual(rows[8, 4]["v3 ms"], "205.000")
        self.assertEqual(rows[32, 4]["v3 ms"], "")  # refused
        self.assertEqual([rows[16, b][published("v3")] for b in (3, 4)], ["", "75 to 90"])
        self.assertEqual([rows[w, 3][published("v2")] for w in (16, 32)], ["112 to 142", ""])
        smaller = sweep.figure_4(one_spin_a_thread, "int32", 500, 10)
        self.assertNotIn(published("v1"), smaller[0])

    def test_figure_5_takes_the_fastest_shape(self):
        points, _ = self.sweep("--size", "500", "--steps", "10")
        rows = {row["stage"][:2]: row for row in sweep.figure_5(points, "int32")}
        self.assertEqual((rows["02"]["thread_width"], rows["02"]["block"], rows["02"]["ms"]), (10, 2, 250))

    def test_wrong_bits_are_told(self):
        (self.folder / "02_blocked/WRONG").touch()
        points, wrong = self.sweep("--size", "500", "--steps", "10")
        self.assertEqual(len(wrong), 25)
        self.assertFalse([p for p in points if p["stage"].startswith("02")])


class Sizes(WithBuild):
    def measure(self, *arguments):
        out = str(self.folder / "out")
        options = compare.parse_options(["--build-dir", str(self.folder), "--sizes", out, *arguments])
        options.builder = build.builder_for(options)
        return sizes.measure(*sizes.prepare(options))

    def test_every_size_and_launch_has_a_point(self):
        points, wrong = self.measure("--size", "8,10", "--spins", str(4 * 1000 * 20))
        self.assertEqual(wrong, [])
        lines = sizes.lines(points)
        every = ["04 standard", *(f"05 sliced, s = {s}" for s in (1, 2, 4, 8)), "05 sliced-grid", "05 standard-grid"]
        self.assertEqual(list(lines), every)
        self.assertEqual(set(lines["05 sliced, s = 8"]), {8})  # a row of 10 has no 8 sites in a row
        self.assertAlmostEqual(lines["05 sliced, s = 2"][10], 1e3 * (100 / 32 + 2))
        self.assertAlmostEqual(lines["05 sliced-grid"][8], 1e3 * (100 / 32 + 1))  # the fastest s
        self.assertEqual({p["samples"] for p in points if p["size"] == 10}, {20})
        self.assertEqual({p["samples"] for p in points if p["size"] == 8}, {39})
        self.assertEqual({p["checked_against"] for p in points}, {"stage 00"})

    def test_large_problems_are_checked_against_each_other(self):
        points, _ = self.measure("--size", "64", "--replicas", "1", "--sweeps", "200", "--spins", "1")
        self.assertEqual({p["checked_against"] for p in points}, {"each other"})
        (self.folder / "05_sliced/WRONG").touch()
        points, wrong = self.measure("--size", "64", "--sweeps", "200", "--spins", "1")
        self.assertEqual({p["stage"] for p in points}, {"04_checkerboard"})
        self.assertEqual(len(wrong), 4 + 4 + 1)

    def test_the_default_sizes_are_of_the_two_subsequences(self):
        self.assertEqual({size % 4 for size in sizes.MULTIPLES_OF_4}, {0})
        self.assertEqual({size % 4 for size in sizes.NO_MULTIPLES_OF_4}, {2})

    def test_table(self):
        points, _ = self.measure("--size", "8,10", "--spins", "1", "--indexing", "sliced")
        file = self.folder / "sizes.csv"
        compare.write_csv(file, points)
        headings, rows = sizes.table_cells(read_csv(file), [10])
        self.assertEqual(headings, ["L", *(f"05 sliced, s = {s}" for s in (1, 2, 4, 8))])
        self.assertEqual(rows, [["10", "6125.000", "5125.000", "-", "-"]])


class Generators(WithBuild):
    stages_3d = ("00_cpu_reference", "05_sliced", "06_prng")

    def measure(self, *arguments):
        self.out = self.folder / "out"
        return self.run_compare("--generators", str(self.out), "--spins", "1", "--sweeps", "3", *arguments)

    def points(self):
        return read_csv(self.out / "spin_glass_generators.csv")

    def test_every_generator_and_indexing_has_a_line(self):
        code, output = self.measure("--size", "8,12")
        self.assertEqual(code, 0)
        lines = generators.lines(self.points())
        every = [
            (g, i) for g in ("minstd", "parisi-rapuano", "mt19937", "philox") for i in ("sliced", "standard", "bitwise")
        ]
        self.assertEqual(list(lines), every)  # the fake has none of cuRAND's
        for (_, indexing), line in lines.items():
            self.assertEqual(set(line), {8} if indexing == "bitwise" else {8, 12})
        best = lines["philox", "sliced"][12]
        self.assertEqual((best["sites_per_thread"], best["stage"], best["copy_gb_per_s"]), (4, "06_prng", 100.0))
        self.assertEqual(best["checked_against"], "each other; stage 00 at L = 12")
        base, philox = 100 / 64, 100 / 64 + 30
        self.assertAlmostEqual(generators.relative_to_base(lines)["philox", "sliced"][8], philox / base)
        self.assertIn("written: spin_glass_generators.csv", output)

    def test_table(self):
        self.measure("--size", "8,12,16", "--generator", "minstd,philox")
        headings, rows = generators.table_cells(self.points(), [8, 12])
        self.assertEqual(headings[:6], ["generator", "indexing", "L = 8", "L = 12", "x MINSTD", "bytes/flip"])
        # 6.5 bytes at 100 GB/s are 65 ps; the fake takes 100 / 64 ns, and 30 ns more with philox.
        self.assertEqual(rows[0], ["minstd", "sliced", "1,562", "1,562", "1.00", "6.5", "65.0", "24.04", "3"])
        self.assertEqual(rows[2], ["minstd", "bitwise", "6,562", "-", "-", "-", "-", "-", "3"])
        self.assertEqual(rows[3][:5], ["philox", "sliced", "31,562", "31,562", "20.20"])

    def test_as_many_samples_as_make_the_spins(self):
        self.measure("--size", "8,12", "--spins", str(4 * 8**3 * 5), "--generator", "minstd,philox")
        self.assertEqual({(p["size"], p["samples"]) for p in self.points()}, {(8, 5), (12, 1)})

    def test_wrong_bits_are_told(self):
        (self.folder / "06_prng/WRONG-philox").touch()
        code, output = self.measure("--size", "8")
        self.assertEqual(code, 1)
        self.assertIn("*** WRONG RESULT *** 06_prng, L = 8, sliced, philox: wrong bits", output)

    def test_a_build_without_stage_06(self):
        shutil.rmtree(self.folder / "06_prng")
        with self.assertRaisesRegex(Failure, "none of the chosen stages"):
            self.measure("--size", "8")


class Words(WithBuild):
    stages_3d = ("00_cpu_reference", "06_prng", "07_amsc")

    def measure(self, *arguments):
        self.out = self.folder / "out"
        code, output = self.run_compare("--words", str(self.out), *arguments)
        self.result = json.loads((self.out / "spin_glass_words.json").read_text())
        return code, output

    def test_every_kernel_has_its_best_launch(self):
        code, output = self.measure("--size", "8,32", "--spins", str(2**25))
        self.assertEqual((code, self.result["wrong"], self.result["copy_gb_per_s"]), (0, [], 100))
        found = words.over_size(self.result["points"], "philox")
        self.assertEqual(
            {size: (point["kernel"], point["samples"]) for size, point in found.items()},
            {8: ("resident", 16384), 32: ("resident", 256)},
        )
        best = found[8]
        self.assertEqual(
            [best[key] for key in ("samples_per_word", "threads", "cluster", "replicas_together")], [64, 256, 1, 4]
        )
        self.assertAlmostEqual(best["ps_per_flip"], 0.05 + 3e-3 * 1e9 / 2**25)
        of_kernel = {
            kernel: words.over_size(self.result["points"], "philox", kernel)[32] for kernel in SPIN_GLASS.rows["kernel"]
        }
        self.assertEqual(words.over_size(self.result["points"], "minstd", "overlapped"), {})
        self.assertEqual([point["samples_per_word"] for point in of_kernel.values()], [32, 64, 64, 64, 32])
        self.assertEqual(of_kernel["resident"]["checked_at"], 128)  # 2^24 spins: 128 samples of 4 replicas
        self.assertIn("written: spin_glass_words.csv spin_glass_words.json", output)
        rows = read_csv(self.out / "spin_glass_words.csv")
        self.assertEqual(len(rows), len(self.result["points"]))
        self.assertEqual({row["checked_at"] for row in rows}, {None, 128, 8192, 32})
        self.assertEqual(best["tried"], 3 * 2)  # samples a word, clusters

    def test_over_the_number_of_samples(self):
        self.measure("--size", "32", "--spins", str(2**25))
        points = self.result["points"]
        self.assertEqual(list(words.over_samples(points, "philox", 32)), [32, 64, 128, 256, 1024])
        self.assertEqual(list(words.over_samples(points, "minstd", 32)), [32])  # the one system
        one = words.over_samples(points, "philox", 32)
        self.assertEqual((one[32]["kernel"], one[256]["kernel"]), ("small", "resident"))
        self.assertEqual(one[32]["checked_at"], 32)
        wide = words.over_samples(points, "philox", 32, "wide")
        self.assertEqual(
            {samples: point["samples_per_word"] for samples, point in wide.items()},
            {32: 32, 64: 64, 128: 64, 256: 64, 1024: 64},
        )

    def test_a_timing_is_long_enough(self):
        options = mock.Mock(sweeps=None)
        for load, sweeps in (
            (words.Load("size", 256, 128, ()), 24),  # 0.86 ms a sweep at 0.1 ps a flip
            (words.Load("samples", 8, 32, ()), 10000),  # the launch takes longer than its work
        ):
            self.assertEqual(words.sweeps_of(load, 4, "gpu", options), sweeps)
        self.assertEqual(words.sweeps_of(load, 4, "gpu", mock.Mock(sweeps=7)), 7)

    def test_one_more_generator_where_the_paper_has_a_time(self):
        self.measure("--size", "8,64", "--spins", "1", "--kernel", "wide")
        found = {(point["size"], point["generator"]) for point in self.result["points"]}
        self.assertEqual(found, {(8, "philox"), (8, "minstd"), (64, "philox"), (64, "minstd"), (64, "parisi-rapuano")})

    def test_wrong_bits_are_told(self):
        (self.folder / "07_amsc/WRONG-wide").touch()
        code, output = self.measure("--size", "8", "--spins", "1")
        self.assertEqual(code, 1)
        self.assertIn("*** WRONG RESULT *** 07_amsc, L = 8, wide, philox: wrong bits", output)
        self.assertEqual(len(self.result["wrong"]), 2)
        self.assertEqual([p["checked_at"] for p in select(self.result["points"], kernel="wide")], ["", ""])
        with self.assertRaisesRegex(Failure, "not to be published"):
            words.targets_markdown(self.out)

    def test_a_kernel_that_fails_does_not_cost_the_others_times(self):
        real = words.run_benchmark

        def failing(stage, **options):
            if "small" in options.get("kernel", []):
                raise Failure("07_amsc: failed: no such cluster")
            return real(stage, **options)

        with mock.patch.object(words, "run_benchmark", failing):
            code, _ = self.measure("--size", "8", "--spins", "1")
        self.assertEqual(code, 1)
        self.assertIn("no such cluster", self.result["wrong"][0])
        self.assertIn("wide", {point["kernel"] for point in self.result["points"]})

    def test_only_what_is_asked(self):
        self.measure(
            *(
                "--size 8 --spins 1 --kernel wide --samples-per-word 32 --threads 128 --generator minstd --sweeps 5"
            ).split()
        )
        (point,) = self.result["points"]
        self.assertEqual(
            [point[key] for key in ("kernel", "samples_per_word", "threads", "generator", "sweeps")],
            ["wide", 32, 128, "minstd", 5],
        )
        self.assertIn("--words DIR --size 8 --spins 1 --sweeps 5 --generator minstd", self.result["command"])
        self.assertNotIn(str(self.folder), json.dumps(self.result))

    def test_a_build_without_stage_07(self):
        shutil.rmtree(self.folder / "07_amsc")
        with self.assertRaisesRegex(Failure, "none of the chosen stages"):
            self.measure("--size", "8")


class WordTables(unittest.TestCase):
    """What the tables of words.py say, from made-up times."""

    point = {
        "figure": "size",
        "size": 64,
        "samples": 128,
        "generator": "philox",
        "kernel": "wide",
        "replicas": 4,
        "samples_per_word": 64,
        "threads": 128,
        "cluster": None,
        "replicas_together": None,
        "sweeps": 10,
        "ms_per_sweep": 1,
        "ps_per_flip": 0.1,
        "checked_at": 1,
    }

    def result(self, *points):
        return {
            "device": {"platform": "gpu", "name": "NVIDIA H200"},
            "copy_gb_per_s": 2880,
            "replicas": 4,
            "points": [self.point | point for point in points],
        }

    def test_targets_met_and_missed(self):
        rows = words.target_rows(
            self.result(
                {"size": 8, "ps_per_flip": 0.075},
                {"size": 8, "ps_per_flip": 0.0751, "generator": "minstd"},
                {"size": 8, "ps_per_flip": 0.21, "kernel": "update"},
                {"size": 16, "ps_per_flip": 0.07, "generator": "minstd"},
                {"size": 16, "ps_per_flip": 0.05},
                {"figure": "samples", "size": 32, "samples": 32, "ps_per_flip": 0.35, "kernel": "small"},
            )
        )
        self.assertEqual([row[0] for row in rows], ["8", "16", "32, 32 samples"])
        self.assertEqual(
            rows[0][1:],
            [
                "0.0750",
                "wide, k = 64, 128 threads",
                "0.0751",
                "wide, k = 64, 128 threads",
                "0.210",
                "-",
                "0.05 / 0.2",
                "no: best, lesson with Philox",
            ],
        )
        self.assertEqual(rows[1][-2:], ["0.05", "yes"])
        self.assertEqual(rows[2][-2:], ["0.35", "yes"])

    def test_what_came_from_the_hardware(self):
        rows = words.published_rows(self.result({"generator": "minstd", "ps_per_flip": 0.15}, {"ps_per_flip": 0.09}))
        self.assertEqual([row[1:] for row in rows], [["3", "0.150", "20", "10.0", "2.00"]])  # no Parisi-Rapuano here

    def test_predicted_bytes(self):
        for words_of, wanted in (
            ({}, 18 / 32),
            ({"kernel": "overlapped"}, 5 / 32),
            ({"kernel": "resident"}, 11 / 320),
            ({"generator": "minstd"}, 19 / 32),
            ({"kernel": "update", "generator": "minstd", "samples_per_word": 32}, 20 / 32),
            ({"replicas": 1}, 36 / 32),
        ):
            with self.subTest(words_of):
                self.assertAlmostEqual(words.predicted_bytes(self.point | words_of), wanted)

    def test_bounds(self):
        found = words.bounds(self.result())
        self.assertEqual([round(ps, 4) for ps in found.values()], [0.1953, 0.0543, 0.0262])
        self.assertEqual(len(words.bounds(self.result() | {"device": {"name": "another"}})), 2)
        with_state = words.bounds(self.result(), "minstd")  # 0.5 B more: a state of 8 B for 128 samples and 4 replicas
        self.assertEqual([round(ps, 4) for ps in with_state.values()], [0.2007, 0.0262])

    def test_limits(self):
        row = {"dram_percent": 50, "l2_percent": 85, "alu_percent": 20, "issue_percent": 84}
        self.assertEqual(words.limit_of(row), "L2, 85 %")
        self.assertEqual(words.limit_of(row | {"l2_percent": 10, "issue_percent": 79}), "latency")


class WithoutMatplotlib(WithBuild):
    stages_3d = ("00_cpu_reference", "05_sliced", "06_prng", "07_amsc")

    def test_tables_are_written_and_how_to_draw_them_is_told(self):
        for option, name in (
            ("--sizes", "spin_glass_sizes"),
            ("--generators", "spin_glass_generators"),
            ("--words", "spin_glass_words"),
            ("--sweep", "sweep"),
        ):
            with self.subTest(option), mock.patch.dict(sys.modules, {"matplotlib": None}):
                code, output = self.run_compare(option, str(self.folder / "out"), "--size", "8")
                self.assertEqual(code, 0)
                self.assertTrue((self.folder / f"out/{name}.csv").exists())
                self.assertIn("not drawn: plots need matplotlib", output)
                self.assertIn(f"common/tools/pictures/draw.py {self.folder / 'out'}", output)

    def test_what_cannot_be_drawn(self):
        for arguments, message in (
            ([], "nothing to draw"),
            (["sweep.csv"], "no sweep.csv"),
            (["graph.csv"], "no picture of it"),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(Failure, message):
                draw.main([str(self.folder), *arguments])


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib here")
class Plots(WithBuild):
    stages_3d = ("00_cpu_reference", "05_sliced", "06_prng", "07_amsc")

    def test_pictures_can_be_drawn_again(self):
        out = self.folder / "out"
        self.run_compare("--sizes", str(out), "--size", "8,10")
        self.run_compare("--generators", str(out), "--size", "8,12")
        self.run_compare("--words", str(out), "--size", "8,10,16,32", "--spins", str(2**23))
        self.run_compare("--sweep", str(out), "--size", "20,30", "--storage", "int8,int32")
        self.run_compare("--model", "spin-glass", "--all", "--size", "8", "--json", str(out / "spin_glass.json"))
        first = {file.name: file.read_bytes() for file in out.glob("*.svg")}
        self.assertEqual(len(first), 2 + 2 + 4)
        for name in first:
            (out / name).unlink()
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(draw.main([str(out)]), 0)
        again = {file.name: file.read_bytes() for file in out.glob("*.svg")}
        comparison_svg = again.pop("spin_glass.svg")
        for text in (b"07  wide, philox", b"06  sliced, philox"):
            self.assertTrue(text in comparison_svg, text)
        for picture, texts in (
            ("size", (b"MINSTD, L = 2(2m + 1)", b"Philox, L = 4m", b"resident")),
            ("samples", (b"L = 32, best kernel", b"two sweeps at a time: 5 B for 32 flips")),
        ):
            for text in texts:
                self.assertTrue(text in first[f"spin_glass_words_{picture}.svg"], text)
        self.assertEqual(again, first)

    def test_every_picture_is_drawn(self):
        for model, option in (("majority", "--steps"), ("spin-glass", "--sweeps")):
            file = self.folder / f"{model}.svg"
            self.run_compare(option, "1", "--plot", str(file))
            self.assertIn("<svg", file.read_text())
        self.assertEqual(self.run_compare("--sizes", str(self.folder / "out"), "--size", "8,10")[0], 0)
        self.assertEqual(self.run_compare("--sweep", str(self.folder / "out"), "--size", "20,30")[0], 0)
        names = {file.name for file in (self.folder / "out").iterdir()}
        self.assertLessEqual({"spin_glass_sizes.svg", "spin_glass_sizes.csv", "figure6_int32.svg"}, names)


FAKE_NCU = """#!/usr/bin/env python3
import sys
from pathlib import Path
here = Path(__file__).parent
words = sys.argv[1:]
(here / "words").write_text("\\n".join(words))
metrics = words[words.index("--metrics") + 1].split(",")
launches = int(words[words.index("--launch-count") + 1])
if (here / "OLD").exists():
    metrics.pop()
print("==PROF== Connected")
row = lambda cells: print(",".join(f'"{cell}"' for cell in cells))
row(["ID", *metrics])
row(["", *("usecond" if "time" in name else "Kbyte" if "bytes" in name else "" for name in metrics)])
for launch in range(launches - (here / "TOO FEW").exists()):
    row([launch, *(f"1,00{launch}.5" for _ in metrics)])
sys.exit((here / "FAILS").exists())
"""


class Counters(WithBuild):
    """counters.py with a stand-in for ncu."""

    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        ncu = self.bin / "ncu"
        ncu.write_text(FAKE_NCU)
        ncu.chmod(0o755)
        path = mock.patch.dict(os.environ, {"PATH": f"{self.bin}:{os.environ['PATH']}"})
        path.start()
        self.addCleanup(path.stop)

    def words(self):
        return (self.bin / "words").read_text().splitlines()

    def test_counts_are_summed_and_ratios_averaged(self):
        found = counters.profile_command(["program", "--size", 8], "update|other", 3, 2)
        self.assertEqual(self.words()[-3:], ["program", "--size", "8"])
        for option, value in (("--kernel-name", "regex:update|other"), ("--launch-skip", "3"), ("--launch-count", "2")):
            self.assertEqual(self.words()[self.words().index(option) + 1], value)
        self.assertEqual(found["warp_instructions"], 2002)
        self.assertEqual(found["dram_read_bytes"], 2002e3)
        self.assertEqual(found["microseconds"], 2002)  # in units of microseconds
        self.assertEqual(found["l2_hit_percent"], 1001)
        self.assertEqual(set(found), set(counters.METRICS))

    def test_failures_are_told(self):
        for name, message in (("FAILS", "ncu"), ("TOO FEW", "ncu"), ("OLD", "does not know smsp__")):
            (self.bin / name).touch()
            with self.subTest(name), self.assertRaisesRegex(Failure, message):
                counters.profile_command(["program"], "update", 0, 1)
            (self.bin / name).unlink()
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}), self.assertRaisesRegex(Failure, "no ncu here"):
            counters.profile_command(["program"], "update", 0, 1)

    def measure(self, model, *also):
        comparison, file = self.folder / "comparison.json", self.folder / "counters.json"
        self.run_compare("--model", model, "--all", "--size", "8", "--json", str(comparison))
        result = json.loads(comparison.read_text())
        for row in result["rows"][1:]:
            row["platform"] = "gpu"
        comparison.write_text(json.dumps(result))
        files = ["--comparison", str(comparison), "--json", str(file)]
        counters.main([*files, "--build-dir", str(self.folder), *(["--also", *also] if also else [])])
        return json.loads(file.read_text())

    def test_the_2d_launches(self):
        result = self.measure("majority", "01:int8:8x1", "02:int32:10x2")
        self.assertEqual((result["format"], result["size"]), ("psFlip 2D counters, version 1", 8))
        self.assertEqual(len(result["rows"]), 6 + 1)  # the second one asked for is there already
        program = self.words().index(str(self.folder / "01_naive_gpu/majority"))
        wanted = "--device gpu --size 8 --steps 2 --storage int8 --thread-width 8 --block 1"
        self.assertEqual(self.words()[program + 1 :], wanted.split())

    def test_the_2d_passes(self):
        (self.folder / "07_amsc").mkdir()
        put_fake_benchmark(self.folder / "07_amsc/majority_benchmark")
        result = self.measure("majority", "07:bit:8")
        self.assertEqual([row["steps_per_pass"] for row in result["rows"][6:]], [1, 6, 8])
        program = self.words().index(str(self.folder / "07_amsc/majority"))
        wanted = "--device gpu --size 8 --steps 16 --storage bit --steps-per-pass 8"
        self.assertEqual(self.words()[program + 1 :], wanted.split())

    def test_the_3d_launches(self):
        result = self.measure("spin-glass", "05:sliced:texture:128x2", "04:standard:64")
        self.assertEqual(result["format"], "psFlip 3D counters, version 1")
        self.assertEqual((result["size"], result["samples"], result["replicas"]), (8, 1, 4))
        self.assertEqual(len(result["rows"]), 5 + 2)
        program = self.words().index(str(self.folder / "04_checkerboard/spin_glass_benchmark"))
        wanted = (
            "--unchecked --benchmark_filter=spin_glass --device gpu --size 8 --sweeps 1 --samples 1 --replicas 4 "
            "--temperature 1.1 --indexing standard --threads 64 --repetitions 1"
        )
        self.assertEqual(self.words()[program + 1 :], wanted.split())
        asked = result["rows"][5]
        self.assertEqual(self.launch(asked), ["sliced", None, "texture", 128, 2])

    def test_the_generators_launches(self):
        shutil.rmtree(self.folder / "04_checkerboard")
        (self.folder / "06_prng").mkdir()
        put_fake_benchmark(self.folder / "06_prng/spin_glass_benchmark")
        result = self.measure("spin-glass", "06:sliced:mt19937:64x2", "05:sliced:plain:64x2")
        self.assertEqual(len(result["rows"]), 3 + 4 + 2)
        self.assertEqual(
            [row["generator"] for row in result["rows"][3:]],
            ["minstd", "parisi-rapuano", "mt19937", "philox", "mt19937", None],
        )
        self.assertEqual(result["rows"][-2]["sites_per_thread"], 2)

    def test_the_kernels_of_words(self):
        (self.folder / "07_amsc").mkdir()
        put_fake_benchmark(self.folder / "07_amsc/spin_glass_benchmark")
        out, file = self.folder / "out", self.folder / "counters.json"
        self.run_compare("--words", str(out), "--size", "8,32,64", "--spins", str(2**25))
        counters.main(
            ["--words", str(out / "spin_glass_words.json"), "--json", str(file), "--build-dir", str(self.folder)]
        )
        rows = json.loads(file.read_text())["rows"]
        # At L = 64, and where they beat the others most; resident and small cannot do L = 64. The lesson's slowest, too.
        self.assertEqual(
            [(row["kernel"], row["size"], row["samples"]) for row in rows],
            [
                ("update", 64, 128),
                ("update", 32, 32),
                ("update", 8, 16384),
                ("update", 8, 16384),
                ("wide", 64, 128),
                ("overlapped", 64, 128),
                ("resident", 8, 16384),
                ("small", 32, 32),
            ],
        )
        self.assertEqual([row["generator"] for row in rows[1:5]], ["philox", "philox", "minstd", "philox"])
        words_said = " ".join(self.words())
        sweeps = rows[-1]["sweeps"]
        self.assertIn("--launch-skip 1 --launch-count 1 ", words_said)
        self.assertIn(f"--samples-per-stream 32 --sweeps {sweeps} --repetitions 1", words_said)
        self.assertIn("--generator philox --threads 256 --kernel small --samples-per-word 32 --cluster 16", words_said)
        self.assertEqual(rows[-1]["flips"], 4 * 32 * 32**3 * sweeps)
        self.assertEqual((rows[0]["flips"], rows[0]["warp_instructions"]), (4 * 128 * 64**3, 2002))  # two half-sweeps
        shutil.copy(file, out / "spin_glass_words_counters.json")
        text = words.kernels_markdown(out)
        self.assertIn("| update | philox | 64 | 128 | k = 32, 256 threads |", text)
        self.assertIn("| DRAM, 1001 % | long scoreboard 8 %, short scoreboard 8 %, barrier 8 % |", text)
        with self.assertRaisesRegex(Failure, "--also goes with --comparison"):
            counters.main(["--words", "x", "--also", "04:standard:64", "--json", str(file)])
        shutil.rmtree(self.folder / "07_amsc")
        with self.assertRaisesRegex(Failure, "stage 07 is not built"):
            counters.main(
                ["--words", str(out / "spin_glass_words.json"), "--json", str(file), "--build-dir", str(self.folder)]
            )

    def test_a_launch_that_is_none(self):
        for text in ("01:int8", "1:int8:8x1", "01:int4:8x1", "01:int8:8", "07:bit", "07:bit:8x1"):
            with self.subTest(text), self.assertRaisesRegex(Failure, "--also"):
                counters.wished(MAJORITY, text)
        for text in ("05:sliced", "05:sliced:plain", "05:sliced:plain:x4", "sliced:plain:256x4"):
            with self.subTest(text), self.assertRaisesRegex(Failure, "--also"):
                counters.wished(SPIN_GLASS, text)


class ReadmeTables(WithBuild):
    """A stale table is found, whatever made it stale."""

    stages_2d = ("00_cpu_reference", "01_naive_gpu", "02_blocked", "03_shared_memory", "07_amsc")
    stages_3d = ("00_cpu_reference", "04_checkerboard", "05_sliced", "06_prng")

    measured = {}

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        results = self.root / "common/results/gpu"
        results.mkdir(parents=True)
        self.results = results / "comparison.json"
        self.readme = self.root / "README.md"
        for model in ("majority", "spin-glass"):
            if model not in self.measured:  # once for all tests: it takes a second
                self.measured[model] = self.json("--model", model, "--size", "8")
        self.results.write_text(json.dumps(self.measured["majority"]))
        (results / "spin_glass.json").write_text(json.dumps(self.measured["spin-glass"]))
        self.write_counters(results / "spin_glass_counters.json")
        points = [
            {"size": size, "stage": "05_sliced", "indexing": "sliced", "sites_per_thread": 1, "ps_per_flip": 2.5}
            for size in (8, 10)
        ]
        compare.write_csv(results / "spin_glass_sizes.csv", points)
        point = {
            "stage": "06_prng",
            "indexing": "sliced",
            "samples": 2,
            "replicas": 4,
            "bytes_per_flip": 6.5,
            "copy_gb_per_s": 1000,
        }
        points = [
            point | {"size": 8, "generator": generator, "ps_per_flip": ps}
            for generator, ps in (("minstd", 10), ("curand-xorwow", 35))
        ]
        compare.write_csv(results / "spin_glass_generators.csv", points)
        minstd = {"generator": "minstd", "ps_per_flip": 0.15}
        result = WordTables().result({"ps_per_flip": 0.125}, {"ps_per_flip": 0.25, "kernel": "update"}, minstd)
        result |= {
            "format": words.FORMAT,
            "wrong": [],
            "repetitions": 3,
            "temperature": 1.1,
            "command": "common/run",
            "date": "2026-01-01",
        }
        (results / "spin_glass_words.json").write_text(json.dumps(result))
        row = WordTables.point | dict.fromkeys(counters.METRICS, 64) | {"flips": 256}
        (results / words.COUNTERS).write_text(json.dumps({"device": result["device"], "rows": [row]}))
        self.write(
            "gpu amsc_targets",
            "gpu amsc_published",
            "gpu amsc_kernels",
            "gpu comparison",
            "gpu comparison 00 02",
            "gpu shapes 03 int8",
            "gpu spin_glass",
            "gpu spin_glass 05",
            "gpu spin_glass_launches 05 sliced",
            "gpu spin_glass_launches 04 standard",
            "gpu spin_glass_counters 05",
            "gpu spin_glass_sizes 10",
            "gpu generators 8",
            "gpu spin_glass_launches 06 sliced philox",
            "gpu passes 07",
        )
        self.stage = self.root / "02_blocked/README.md"
        self.stage.parent.mkdir()
        self.stage.write_text("# 02 Blocks: more work for a thread\n")
        self.assertEqual(self.run_tool(), 0)

    def write_counters(self, file):
        row = {"stage": "05_sliced", "indexing": "sliced", "load": "texture", "threads": 256, "sites_per_thread": 4}
        row |= dict.fromkeys(counters.METRICS, 1024)
        result = {"format": "psFlip 3D counters, version 1", "size": 8, "samples": 1, "replicas": 4, "rows": [row]}
        file.write_text(json.dumps(result))

    def write(self, *tables):
        blocks = [f"<!-- table: {table} -->\n<!-- end table -->\n\nbetween\n" for table in tables]
        self.readme.write_text("Top\n" + "".join(blocks))

    def run_tool(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()):
            return readme_tables.main(["--root", str(self.root), *arguments])

    def test_filled_tables_are_fresh_and_leave_the_rest(self):
        text = self.readme.read_text()
        self.assertEqual(text.count("between"), 15)
        self.assertIn("| 64 | 0.125 | wide, k = 64, 128 threads | 0.150 | wide, k = 64, 128 threads | 0.250 |", text)
        self.assertIn("MINSTD | 3 | 0.150 | 20 | 10.0 | 2.00 |", text)
        self.assertIn("| wide | philox | 64 | 128 | k = 64, 128 threads | 0.100 | 0.562 | 0.500 | 0.250 | 64 |", text)
        self.assertIn("| 07 | amsc | CPU, DEBUG | bit | 6 steps per pass, best of 16 |", text)
        self.assertIn("| 6 | 0.1000 | 1,562,500 |", text)
        self.assertIn("| curand-xorwow | sliced | 35.0 | 3.50 | 6.5 | 6.50 | 5.38 | 6 to 9 |", text)
        self.assertIn("| 06 | prng | CPU, DEBUG | sliced | philox | 256 x 4, best of 16 |", text)
        self.assertIn("| 02 | more work for a thread |", text)
        self.assertIn("width 8", text)
        self.assertIn("| 05 | sliced | CPU, DEBUG | sliced-grid | readonly, 256 x 4, best of 48 |", text)
        self.assertIn("| readonly, s = 4 |", text)
        self.assertIn("| ms/sweep | 64 threads | 128 threads | 256 threads | 512 threads |", text)
        self.assertIn("| launch | texture, 256 x 4 |", text)
        self.assertIn("| DRAM read + written, B/flip | 1.00 + 1.00 |", text)  # 1024 flips in half a sweep
        self.assertIn("| L | 05 sliced, s = 1 |\n| --: | --: |\n| 10 | 2.500 |", text)
        self.assertEqual(self.run_tool("--check"), 0)
        self.assertEqual(self.readme.read_text(), text)

    def test_a_changed_figure_in_the_readme_is_stale(self):
        self.readme.write_text(self.readme.read_text().replace("| 25.00 |", "| 24.00 |", 1))
        self.assertEqual(self.run_tool("--check"), 1)
        self.assertIn("| 24.00 |", self.readme.read_text())  # --check changes nothing

    def test_a_new_measurement_makes_stale(self):
        result = json.loads(self.results.read_text())
        result["rows"][2]["ms_per_step"] *= 1.1
        self.results.write_text(json.dumps(result))
        self.assertEqual(self.run_tool("--check"), 1)
        self.assertEqual(self.run_tool(), 0)
        self.assertEqual(self.run_tool("--check"), 0)

    def test_a_table_is_cut_down_to_rows_and_columns(self):
        self.write("gpu comparison 01 02 | where storage is int8 | only storage; stage")
        self.assertEqual(self.run_tool(), 0)
        self.assertIn(
            "| storage | stage |\n| --- | --- |\n| int8 | 01 |\n| int8 | 02 |\n\n8 x 8", self.readme.read_text()
        )

    def test_a_single_figure(self):
        where = "gpu comparison 07 | where launch is 6 steps per pass, best of 16 | only"
        self.readme.write_text(f"It takes <!-- value: {where} ms/step -->9<!-- end value --> ms, <b>-->.\n")
        self.assertEqual(self.run_tool("--check"), 1)
        self.assertEqual(self.run_tool(), 0)
        self.assertRegex(
            self.readme.read_text(), r"^It takes <!-- value: .* -->[\d.]+<!-- end value --> ms, <b>-->\.\n$"
        )
        self.assertNotIn("-->9<!--", self.readme.read_text())
        self.assertEqual(self.run_tool("--check"), 0)

    def test_what_was_measured_in_detail_is_filled_too(self):
        measured = self.stage.with_name("measured.md")
        measured.write_text("<!-- table: gpu passes 07 -->\n<!-- end table -->\n")
        self.assertEqual(self.run_tool("--check"), 1)
        self.assertEqual(self.run_tool(), 0)
        self.assertIn("| steps per pass | ms/step | ps/site |", measured.read_text())

    def test_a_new_heading_makes_stale(self):
        self.stage.write_text("# 02 Blocks: less work for a thread\n")
        self.assertEqual(self.run_tool("--check"), 1)

    def test_wrong_results_are_not_published(self):
        result = json.loads(self.results.read_text())
        result["rows"][2]["bits_agree"] = False
        self.results.write_text(json.dumps(result))
        with self.assertRaisesRegex(Failure, "not to be published"):
            self.run_tool("--check")

    def test_markers_that_cannot_be_filled(self):
        for what in (
            "nowhere comparison",
            "gpu",
            "gpu graph",
            "gpu comparison 09",
            "gpu shapes 03",
            "gpu figure4 int8",
            "gpu spin_glass 01",
            "gpu spin_glass_launches 05 bitwise",
            "gpu spin_glass_counters 04",
            "gpu spin_glass_sizes 12",
            "gpu stencil",
            "gpu amsc_targets 8",
            "gpu generators 10",
            "gpu prng_fill",
            "gpu spin_glass_launches 06 sliced mt1",
            "gpu comparison | only ms",
            "gpu comparison | where stage is 09",
            "gpu comparison | where ms is 09",
            "gpu comparison | first row",
        ):
            self.write(what)
            with self.subTest(what), self.assertRaises(Failure):
                self.run_tool("--check")
        self.readme.write_text("<!-- table: gpu comparison -->\nno end\n")
        with self.assertRaisesRegex(Failure, "no partner"):
            self.run_tool("--check")
        for cuts, wrong in (
            ("| only ms/step", "4 rows of 1"),
            ("| where storage is int8 | where stage is 01", "1 rows of 12"),
        ):
            self.readme.write_text(f"<!-- value: gpu comparison 01 02 {cuts} -->\n<!-- end value -->".replace("\n", ""))
            with self.subTest(cuts), self.assertRaisesRegex(Failure, wrong):
                self.run_tool()


class Ideas(WithFolder):
    def test_idea_is_the_heading_after_the_colon(self):
        (self.folder / "03_x").mkdir()
        (self.folder / "03_x/README.md").write_text("<img>\n\n# 03 Shared memory: the tile: its halo\n\n# Another: x\n")
        self.assertEqual(stages.idea("03_x", self.folder), "the tile: its halo")

    def test_without_a_readme_it_is_the_folder(self):
        self.assertEqual(stages.idea("03_shared_memory", self.folder), "shared memory")


class Course(unittest.TestCase):
    def test_the_stages_that_have_a_model_are_known_without_a_build(self):
        for model, numbers in ((MAJORITY, "00 01 02 03 07"), (SPIN_GLASS, "00 04 05 06 07 08")):
            found = stages.course("build", model)
            self.assertEqual([stage.number for stage in found], numbers.split())
            self.assertEqual(found[0].target, f"00_cpu_reference_{model.name}_benchmark")
        self.assertEqual(stages.models_of(stages.ROOT / "07_amsc"), [SPIN_GLASS, MAJORITY])  # as it has them


class Figures(unittest.TestCase):
    def test_significant(self):
        for value, text in ((12345.6, "12,346"), (999.96, "1,000"), (3.14159, "3.142"), (0.01234, "0.01234")):
            self.assertEqual(table.significant(value), text)


class Setup(WithFolder):
    """setup.bash with stand-ins for the tools that know and change the machine."""

    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in ("bash", "dirname", "env"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.stub("dpkg-query", 'case $3 in there) echo "ii ";; removed) echo "rc ";; *) exit 1;; esac')
        self.log = self.folder / "log"

    def stub(self, name, body):
        file = self.bin / name
        file.write_text(f"#!/bin/bash\n{body}\n")
        file.chmod(0o755)

    def stub_apt(self, code=0):
        self.stub("apt-get", f'echo "apt-get $*" >>"{self.log}"; [[ $1 == update ]] || exit {code}')

    def install(self, *packages, root=True):
        # EUID is bash's own and read-only; the function under test gets another one under another name.
        script = (TOOLS / "setup.bash").read_text().replace("EUID", "TEST_EUID")
        copy = self.folder / "a/b/setup.bash"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(script)
        done = subprocess.run(
            ["bash", "-c", 'set -euo pipefail; source "$0"; psflip_install "$@"; echo went on', str(copy), *packages],
            env={"PATH": str(self.bin), "TEST_EUID": "0" if root else "1000"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        log = self.log.read_text().splitlines() if self.log.exists() else []
        return done, log

    def test_nothing_missing_touches_nothing(self):
        self.stub_apt()
        self.stub("tool", "")
        done, log = self.install("there", "package:tool", root=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr, log), (0, "went on\n", "", []))

    def test_root_installs_only_what_is_missing(self):
        self.stub_apt()
        done, log = self.install("there", "missing", "removed", "package:absent")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("installing missing removed package", done.stderr)
        install = "apt-get install -qq -y --no-install-recommends missing removed package"
        self.assertEqual(log, ["apt-get update -qq", install])
        self.assertEqual(done.stdout, "went on\n")

    def test_a_user_installs_through_sudo(self):
        self.stub_apt()
        self.stub("sudo", f'[[ $1 != -n ]] || exit 0; echo sudo >>"{self.log}"; "$@"')
        done, log = self.install("missing", root=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[0] for line in log], ["sudo", "apt-get", "sudo", "apt-get"])

    def check_gives_up(self, done, log, advice):
        self.assertEqual((done.returncode, done.stdout, log), (2, "", []))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(advice, done.stderr)

    def test_sudo_that_wants_a_password_without_a_terminal(self):
        self.stub_apt()
        self.stub("sudo", "exit 1")
        self.check_gives_up(*self.install("missing", root=False), "sudo apt-get install missing")

    def test_a_user_without_sudo(self):
        self.stub_apt()
        self.check_gives_up(*self.install("missing", "there", root=False), "sudo apt-get install missing")

    def test_a_machine_without_apt(self):
        self.check_gives_up(*self.install("missing"), "--no-install")

    def test_an_installation_that_fails(self):
        self.stub_apt(code=100)
        done, _ = self.install("missing")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("apt-get install missing", done.stderr)


if __name__ == "__main__":
    unittest.main()
