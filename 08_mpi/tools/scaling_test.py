"""Tests of scaling.py: python3 -m unittest scaling_test. common/test runs them."""

import contextlib
import copy
import importlib.util
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import readme_tables
import scaling
import scaling_plots
import scaling_tables
from pictures import draw
from results import select
from scaling_model import Link, Model, fit
from stages import ROOT, Failure

# Stands in for mpirun and the program: their law is the model's, with a floor of 5 us, a plane of L^2 / 4000 us, and
# links of 20 us and 2 GB/s (staged), 10 us and 100 GB/s (peer). There is no nccl; the file MACHINE says what there is.
FAKE = f"""#!{sys.executable} -SE
import json, os, sys
from pathlib import Path
here = Path(__file__).parent
words = sys.argv[1:]
ranks, options = int(words[2]), dict(zip(words[4::2], words[5::2]))
with (here / "calls").open("a") as calls:
    said = {{"words": words, "oversubscribe": os.environ["OMPI_MCA_rmaps_base_oversubscribe"]}}
    calls.write(json.dumps(said) + "\\n")
machine = json.loads((here / "MACHINE").read_text())
transport, kernel = options.get("--transport", "peer"), options.get("--kernel", "wide")
if transport in ("nccl", "mpi"):
    print("scaling: --transport is " + transport + ": it is not there", file=sys.stderr)
    sys.exit(2)
if machine.get("crash") == [ranks, transport]:
    print("scaling: out of memory", file=sys.stderr)
    sys.exit(1)
latency, bandwidth = {{"staged": (20, 2e3), "peer": (10, 100e3)}}[transport]
rows = []
for size in map(int, options["--size"].split(",")):
    plane, message = size**2 / 4000, 64 * size**2
    update = 5 + -(-size // 2 // ranks) * plane / (2 if kernel == "overlapped" else 1)
    transfer = latency + message / bandwidth
    half = max(update, plane + transfer) if ranks > 1 else update
    parts = []
    for h in range(4):
        at = 100 * half * h
        parts += [["boundary", at, at + 5 + (ranks > 1)], ["transfer", at + 7, at + 7 + transfer * (1 if h else 3)],
                  ["bulk", at + 6, at + update]]
    check = "b" if machine.get("wrong") in ([ranks, transport], kernel) and size == 16 else "a"
    rows.append({{"size": size, "transport": transport, "samples_per_word": 128, "check": check * 16, "sweeps": 4,
                 "ms_per_sweep": 2e-3 * half, "ps_per_flip": 2e6 * half / (512 * size**3), "message_bytes": message,
                 "timeline_us": parts}})
print(json.dumps({{"ranks": ranks, "platform": machine["platform"], "device": "fake", "devices": machine["devices"],
                  "one_host": True, "mpi": "Open MPI", "samples": 128, "replicas": 4, "samples_per_stream": 128,
                  "generator": "philox", "kernel": kernel, "rows": rows}}))
"""
SIZES = [16, 32, 64, 128, 256]


class WithFake(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="psFlip test ")  # a space, as in many people's paths
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "mpirun").write_text(FAKE)
        (self.folder / "mpirun").chmod(0o755)
        (self.folder / "08_mpi").mkdir()
        (self.folder / "08_mpi/scaling").write_text("")
        self.out = self.folder / "common/results/fake"
        self.machine()

    def machine(self, platform="gpu", devices=8, **more):
        (self.folder / "MACHINE").write_text(json.dumps({"platform": platform, "devices": devices} | more))

    def run_(self, *options):
        """(exit code, output)"""
        (self.folder / "calls").unlink(missing_ok=True)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_")}
        with (
            mock.patch.dict(os.environ, variables | {"PATH": str(self.folder)}, clear=True),
            mock.patch.object(draw, "draw_if_possible"),  # it takes seconds
            contextlib.redirect_stdout(io.StringIO()) as out,
        ):
            code = scaling.main(["--build-dir", str(self.folder), "--scaling", str(self.out), *options])
        return code, out.getvalue()

    def calls(self):
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]

    def result(self):
        return json.loads((self.out / "scaling.json").read_text())

    def measured(self, ranks="1,2,8", sizes=SIZES):
        self.run_("--ranks", ranks, "--size", ",".join(map(str, sizes)), "--transport", "staged,peer")
        return self.result()


class TheModel(WithFake):
    def test_fit(self):
        sizes = [65536, 262144, 1048576, 16777216]
        for latency, slope in ((10, 1e-3), (0, 2e-4), (25, 0)):
            found = fit([(size, latency + slope * size) for size in sizes])
            self.assertAlmostEqual(found.latency_us, latency, places=6)
            self.assertAlmostEqual(found.us_per_byte, slope, places=9)
        self.assertEqual(fit([(1000, 4), (1000, 4)]), Link(4, 0))  # one size tells nothing of a bandwidth
        self.assertEqual(fit([(1000, 9), (2000, 3)]).us_per_byte, 0)  # larger and faster: noise
        below = fit([(1000, 1), (2000, 9)])  # a line through both would begin below 0
        self.assertEqual(below.latency_us, 0)
        # By brute force: no other is better.
        points = [(1000, 12.0), (3000, 16.0), (9000, 55.0), (20000, 80.0)]

        def error(link):
            return sum((link.us(size) / us - 1) ** 2 for size, us in points)

        best = fit(points)
        for latency in (-0.1, 0, 0.1):
            for slope in (-1e-5, 0, 1e-5):
                self.assertLessEqual(error(best), error(Link(best.latency_us + latency, best.us_per_byte + slope)))

    def test_it_finds_the_law_that_the_times_follow(self):
        model = Model(self.measured()["rows"])
        self.assertAlmostEqual(model.floor_us, 5, places=2)
        self.assertAlmostEqual(model.plane_us(64), 64**2 / 4000, places=3)
        self.assertAlmostEqual(model.plane_us(1024), 1024**2 / 4000, delta=1)  # beyond what was measured
        for transport, latency, gb_per_s in (("staged", 20, 2), ("peer", 10, 100)):
            link = model.links[transport]
            self.assertAlmostEqual(link.latency_us, latency, delta=0.05)
            self.assertAlmostEqual(1e-3 / link.us_per_byte, gb_per_s, delta=0.01 * gb_per_s)

    def test_two_ranks_predict_eight(self):
        known = Model(self.measured(ranks="1,2")["rows"])
        rows = self.measured()["rows"]
        for row in select(rows, ranks=8):
            predicted = known.efficiency(row["size"], 8, known.links[row["transport"]])
            self.assertAlmostEqual(predicted, scaling_tables.efficiency(rows, row), delta=0.01)

    def test_the_slowest_rank_has_the_next_whole_number_of_planes(self):
        model = Model(self.measured()["rows"])
        self.assertAlmostEqual(model.update_us(64, 3), 5 + 11 * 64**2 / 4000, places=2)  # 32 planes: 10, 11, 11
        self.assertAlmostEqual(model.update_us(10, 4), 5 + 2 * model.plane_us(10), places=6)  # 5 planes

    def test_hides_up_to(self):
        model = Model(self.measured()["rows"])
        # peer, L = 256: 16.384 + 10 + 41.94 <= 5 + ceil(128 / N) 16.384, so four planes at least
        self.assertEqual(model.hides_up_to(256, model.links["peer"]), 42)
        self.assertEqual(model.hides_up_to(256, Link(0, 0)), 128)  # all ranks that have a plane
        self.assertIsNone(model.hides_up_to(256, Link(1e6, 0)))


class TwoSweepsInOnePass(WithFake):
    def both(self):
        folder = self.out
        for kernel in ("wide", "overlapped"):
            self.out = folder / kernel
            self.out.mkdir(parents=True)
            self.run_("--ranks", "1,2", "--size", "16,256", "--transport", "peer", "--kernel", kernel)
        return folder

    def test_both_kernels_are_beside_each_other(self):
        text = scaling_tables.TABLES["scaling_passes"](self.both())
        row = [cell.strip() for cell in text.splitlines()[-3].split("|")][1:-1]
        half, fast = 5 + 64 * 16.384, 5 + 64 * 8.192  # us, of L = 256 on two ranks
        self.assertEqual(row[:2], ["256", "2"])
        self.assertEqual(row[2:4], [f"{2e-3 * half:.3f}", f"{2e-3 * fast:.3f}"])
        self.assertEqual(row[6], f"{half / fast:.2f}")
        self.assertIn("--kernel overlapped`", text)

    def test_kernels_that_differ_are_no_table(self):
        self.machine(wrong="overlapped")
        folder = self.both()
        with self.assertRaisesRegex(Failure, "L = 16, peer, 1 rank: the kernels have other results"):
            scaling_tables.TABLES["scaling_passes"](folder)

    def test_a_rank_needs_two_planes(self):
        _, text = self.run_("--ranks", "2", "--size", "6,8", "--transport", "peer", "--kernel", "overlapped")
        self.assertIn("L = 6 has 3 planes of a colour, too few for 2 ranks", text)
        self.assertEqual([row["size"] for row in self.result()["rows"]], [8])


class Efficiency(unittest.TestCase):
    def row(self, size, ranks, ms, transport="peer"):
        return {"size": size, "ranks": ranks, "ms_per_sweep": ms, "transport": transport, "ps_per_flip": ms / size**3}

    def test_against_the_fastest_single_rank(self):
        rows = [self.row(64, 1, 8), self.row(64, 1, 10, "staged"), self.row(64, 4, 2.5), self.row(32, 4, 1)]
        self.assertEqual(scaling_tables.efficiency(rows, rows[2]), 0.8)
        self.assertEqual(scaling_tables.efficiency(rows, rows[1]), 0.8)
        self.assertIsNone(scaling_tables.efficiency(rows, rows[3]))  # never measured on one

    def test_the_same_share(self):
        rows = [self.row(size, 1, size**2.5) for size in (32, 64, 128)]  # ps ~ 1 / sqrt(L)
        for row, side, exact in (
            (self.row(64, 8, 1), 32, True),
            (self.row(128, 8, 1), 64, True),
            (self.row(128, 2, 1), 128 / 2 ** (1 / 3), False),
        ):
            found, ps, measured = scaling_tables.same_share(rows, row)
            self.assertAlmostEqual(found, side)
            self.assertAlmostEqual(ps, side**-0.5)
            self.assertEqual(measured, exact)
        self.assertIsNone(scaling_tables.same_share(rows, self.row(32, 2, 1)))  # less than was measured on one


class Results(WithFake):
    def test_what_is_called(self):
        code, text = self.run_(
            *"--ranks 1,3 --size 4,16 --transport peer --samples 32 --seconds 0.5 --generator minstd".split()
        )
        self.assertEqual(code, 0)
        program = str(self.folder / "08_mpi/scaling")
        more = ["--samples", "32", "--generator", "minstd", "--seconds", "0.5"]
        self.assertEqual(
            [call["words"] for call in self.calls()],
            [
                ["-q", "-n", "1", program, "--size", "4,16", "--transport", "peer", *more],
                ["-q", "-n", "3", program, "--size", "16", "--transport", "peer", *more],
            ],
        )
        self.assertEqual({call["oversubscribe"] for call in self.calls()}, {"1"})
        self.assertIn("left out: L = 4 has 2 planes of a colour, too few for 3 ranks", text)

    def test_what_is_left_open_depends_on_the_machine(self):
        for machine, ranks, sizes in (
            (("gpu", 4), [1, 2, 4], [32, 64, 96, 128, 192, 256, 384, 512]),
            (("cpu", 1), [1, 2], [16, 32]),
        ):
            self.machine(*machine)
            code, text = self.run_()
            rows = self.result()["rows"]
            self.assertEqual(code, 0)
            self.assertEqual(scaling_tables.in_order(rows, "ranks"), ranks)
            self.assertEqual(scaling_tables.in_order(rows, "size"), sizes)
            self.assertEqual(scaling_tables.in_order(rows, "transport"), ["staged", "peer"])
            self.assertIn("left out: 1 rank, nccl: scaling: --transport is nccl: it is not there", text)

    def test_the_table(self):
        _, text = self.run_("--ranks", "1,8", "--size", "64", "--transport", "peer", "--link", "50,7")
        # 5 + 32 * 1.024 alone; 1.024 + 10 + 2.62 on eight ranks
        self.assertIn("| 64 | peer | 8 | 0.02729 | 0.2033 | 0.35 | 0.35 |", text)
        self.assertIn("| 64 | 50 GB/s, 7 us |", text)

    def test_no_efficiency_where_ranks_share(self):
        for machine, words in ((("cpu", 1), "share this machine's cores"), (("gpu", 1), "ranks shared a GPU")):
            self.machine(*machine)
            code, text = self.run_("--ranks", "1,2", "--size", "16", "--transport", "peer")
            self.assertEqual(code, 0)
            self.assertIn(words, text)
            self.assertRegex(text, r"\| 16 \| peer \| 2 \|[^|]+\|[^|]+\| - \| - \|")
            with self.assertRaisesRegex(Failure, "does not hold one rank and more on GPUs"):
                readme_tables.render(self.folder, "fake scaling")

    def test_different_results_are_told(self):
        for case in ([2, "peer"], [1, "staged"]):
            self.machine(wrong=case)
            code, text = self.run_("--ranks", "1,2", "--size", "16,32", "--transport", "staged,peer")
            self.assertEqual(code, 1)
            self.assertIn("*** FAILED *** L = 16, ", text)
            self.assertIn(": wrong result, ", text)
            self.assertNotIn("*** L = 32", text)
            for kind in ("scaling", "scaling_model", "scaling_targets", "scaling_weak", "scaling_plan"):
                with self.assertRaisesRegex(Failure, "cases that failed: not to be published"):
                    readme_tables.render(self.folder, f"fake {kind}")

    def test_a_case_that_fails_does_not_cost_the_others(self):
        self.machine(crash=[2, "staged"])
        code, text = self.run_("--ranks", "1,2,4", "--size", "16", "--transport", "staged,peer")
        self.assertEqual(code, 1)
        self.assertIn("*** FAILED *** 2 ranks, staged: scaling: out of memory", text)
        self.assertEqual(len(self.result()["rows"]), 5)
        self.machine()
        code, text = self.run_("--ranks", "1", "--size", "16", "--transport", "nccl,peer")  # asked for, and not there
        self.assertEqual(code, 1)
        self.assertIn("*** FAILED *** 1 rank, nccl: ", text)

    def test_refusals(self):
        for message, *options in (
            ("1 rank, nccl: scaling: --transport is nccl", "--ranks", "1", "--size", "16", "--transport", "nccl"),
            ("tcp; allowed are staged", "--transport", "tcp"),
            ("at least 1", "--ranks", "0"),
            ("--ranks 2,2: a value is there twice", "--ranks", "2,2"),
            ("GB/s above 0", "--link", "0,5"),
            ("GB/s above 0", "--link", "50"),
            ("a finite number above 0", "--seconds", "inf"),
            ("--size: --from measures nothing", "--size", "8", "--from", "a.json"),
            ("No such file", "--from", "/nowhere/a.json"),
            ("not what the program scaling prints", "--from", str(self.folder / "MACHINE")),
            ("nothing could be timed", "--size", "8", "--ranks", "9"),
        ):
            with self.subTest(options), self.assertRaisesRegex(Failure, message):
                self.run_(*options)
            self.assertFalse(self.out.exists())
        (self.folder / "08_mpi/scaling").rename(self.folder / "08_mpi/another")  # a build without it
        with self.assertRaisesRegex(Failure, "--scaling: stage 08 was left out of the build"):
            self.run_()
        (self.folder / "mpirun").unlink()
        with self.assertRaisesRegex(Failure, "--scaling: there is no mpirun here"):
            self.run_()  # before anything is built

    def test_common_run_knows_whose_ranks_they_are(self):
        for words in (["--scaling", "x", "--ranks", "two"], ["--ranks", "two", "--scaling", "x"]):
            done = subprocess.run([ROOT / "common/run", "--no-install", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\Acommon/run: argument --ranks: two; it must be a whole number[^\n]*\n\Z")


class Merging(WithFake):
    def outputs(self):
        """Files as the program prints them, for 1 and 2 ranks."""
        files = []
        for ranks in (1, 2):
            words = ["-q", "-n", str(ranks), "scaling", "--size", "16,32", "--transport", "peer"]
            variables = os.environ | {"OMPI_MCA_rmaps_base_oversubscribe": "1"}
            done = subprocess.run([self.folder / "mpirun", *words], env=variables, capture_output=True, check=True)
            files.append(self.folder / f"{ranks}.json")
            files[-1].write_bytes(done.stdout)
        return files

    def test_outputs_become_what_a_run_gives(self):
        files = self.outputs()
        code, _ = self.run_("--from", *map(str, files))
        self.assertEqual(code, 0)
        merged = self.result()
        self.run_("--ranks", "1,2", "--size", "16,32", "--transport", "peer")
        self.assertEqual(merged | {"date": ""}, self.result() | {"date": ""})
        self.assertEqual(merged["command"], "common/run --scaling DIR --ranks 1,2 --size 16,32 --transport peer")

    def test_what_does_not_belong_together(self):
        one, two = (json.loads(file.read_text()) for file in self.outputs())
        for key, value in (("device", "another"), ("samples", 64), ("generator", "minstd"), ("platform", "cpu")):
            with self.assertRaisesRegex(Failure, f"differ in {key}"):
                scaling.merge([one, copy.deepcopy(two) | {key: value}])
        with self.assertRaisesRegex(Failure, "L = 16, peer, 1 rank is there twice"):
            scaling.merge([one, two, one])


class Shown(WithFake):
    def render(self, what):
        return readme_tables.render(self.folder, f"fake {what}")

    def test_measured_and_predicted_are_apart(self):
        self.measured(ranks="1,2")
        table = self.render("scaling 64").splitlines()
        self.assertEqual(
            table[0], "| L | transport | ms/sweep, 1 | ms/sweep, 2 | ps/flip, 1 | ps/flip, 2 | efficiency, 2 (model) |"
        )
        self.assertEqual([line.split(" | ")[0] for line in table[2:4]], ["| 64", "| 64"])
        self.assertEqual(table[4], "")
        targets = self.render("scaling_targets")
        self.assertIn("| 256 | 4 | 0.90 | not measured | not measured | 0.99, peer | ", targets)
        self.assertIn("1 and 2 GPUs were measured, fake, on 2", targets)

    def test_targets(self):
        self.measured(ranks="1,4")
        targets = self.render("scaling_targets").splitlines()
        self.assertIn("| 512 | 8 | 0.95 | not measured |", targets[2])
        self.assertRegex(targets[3], r"^\| 256 \| 4 \| 0.90 \| 0.99, peer \| 0.\d\d \| 0.99, peer \| .* \| yes \|$")
        with mock.patch.object(scaling_tables, "TARGETS", [(256, 4, 1)]):
            self.assertIn("| no, 0.99 of it |", self.render("scaling_targets"))

    def test_plan(self):
        self.measured(ranks="1,2")
        plan = self.render("scaling_plan 1000,0 1,1000000").splitlines()
        self.assertEqual(
            plan[0],
            "| L | GB in all | GPUs that hold it | MB per plane | staged | peer | 1000 GB/s, 0 us | 1 GB/s, 1e+06 us |",
        )
        cells = [cell.strip() for cell in plan[4].strip("|").split("|")]
        self.assertEqual(cells[:4], ["1024", "120", "-", "67"])  # 7 bits a site and sample; no such device is known
        self.assertEqual(cells[7], "-")

    def test_weak(self):
        self.measured(ranks="1,8")
        weak = self.render("scaling_weak")
        for size, side in ((32, 16), (64, 32), (256, 128)):
            self.assertIn(f"| 8 | {size} | {side} | peer |", weak)
        self.assertNotIn("between |", weak)

    def test_what_is_not_there(self):
        self.measured(ranks="1,2", sizes=[16, 32])
        for what in ("scaling 64", "scaling_model 64"):
            with self.assertRaisesRegex(Failure, "has no L = 64"):
                self.render(what)

    def drawn(self):
        with contextlib.redirect_stdout(io.StringIO()):
            draw.main([str(self.out)])
        return {file.name: file.read_text() for file in self.out.glob("*.svg")}

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib here")
    def test_pictures(self):
        self.measured(ranks="1,2", sizes=[32, 256])
        pictures = self.drawn()
        self.assertEqual(
            set(pictures), {f"scaling_{name}.svg" for name in ("efficiency", "psflip", "collapse", "weak", "timeline")}
        )
        for text in ("2 GPUs, measured", "4 GPUs, predicted", "8 GPUs, predicted"):
            self.assertIn(text, pictures["scaling_efficiency.svg"])
        self.assertNotIn("4 GPUs, measured", pictures["scaling_efficiency.svg"])

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib here")
    def test_a_cpu_has_a_time_line_only(self):
        self.machine("cpu", 1)
        self.measured(ranks="1,2", sizes=[16])
        self.assertEqual(list(self.drawn()), ["scaling_timeline.svg"])

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib here")
    def test_the_shortest_sweep_is_drawn(self):
        row = select(self.measured(sizes=[64])["rows"], ranks=2, transport="peer")[0]
        parts = scaling_plots.sweep(row)
        self.assertEqual([name for name, _, _ in parts], 2 * ["boundary", "transfer", "bulk"])
        self.assertEqual(parts[0][1], 0)
        self.assertTrue(all(math.isclose(part[2], 12.62, abs_tol=0.02) for part in parts[1::3]))  # not three times


if __name__ == "__main__":
    unittest.main()
