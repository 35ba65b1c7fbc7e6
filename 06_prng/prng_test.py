"""Tests of prng.py: python3 -m unittest prng_test. common/test runs them."""

import json

import prng
from stages import Failure
from test.own_program import WithProgram

# Stands in for prng_benchmark. Numbers a second: 1e12 for MINSTD, half as many for whoever comes next, and so on; the
# most at 2^16 streams and two streams a thread.
FAKE = """#!/usr/bin/env python3
import json, sys
from pathlib import Path
here = Path(__file__).parent
words = [word for word in sys.argv[1:] if "benchmark_format" not in word]
options = dict(zip(words[::2], words[1::2]))
(here / "calls").write_text(" ".join(words))
if options["--device"] == "9":
    sys.exit("prng_benchmark: --device 9: no such device")
gpu = (here / "PLATFORM").read_text() == "gpu"
ours = ["minstd", "parisi-rapuano", "mt19937", "philox", "philox-7"]
curand = ["curand-xorwow", "curand-mtgp32", "curand-mt19937", "curand-philox", "curand-mrg32k3a"] if gpu else []
words_of = {"minstd": 1, "parisi-rapuano": 62, "mt19937": 624}
bytes_of = {"minstd": 0.001, "parisi-rapuano": 16, "mt19937": 12}
entries = []
def add(name, speed, label, **more):
    entry = {"name": name + "/iterations:1/repeats:3/manual_time", "run_type": "iteration"}
    if (here / "WRONG").exists() and "mt19937" in name:
        entries.append(entry | {"error_occurred": True, "error_message": "wrong numbers: the mean is 0.6"})
        return
    runs = (speed, speed, speed / 100)  # a mean is not the median
    for i, run in enumerate(runs):
        word = "b" if (here / "DIFFERENT").exists() and i == 2 else "a"
        entries.append(entry | {"init_ms": 2.5, "numbers": 2.0**29, "numbers_per_s": run, "label": word * 16} | more)
    entries.append(entry | {"run_type": "aggregate", "numbers_per_s": 1e99})
def refuse(name, message):
    entries.append({"name": name + "/iterations:1/repeats:3/manual_time", "run_type": "iteration",
                    "error_occurred": True, "error_message": message})
wanted = options.get("--generators", ",".join(ours + curand)).split(",")
for i, generator in enumerate(ours):
    for streams in (2**14, 2**16, 2**18):
        for s in (1, 2, 4):
            speed = 1e12 / 2**i / (1 if streams == 2**16 else 2) / (1 if s == 2 else 2)
            name = f"fill/generator:{generator}/streams:{streams}/per-thread:{s}/threads:256"
            if generator in wanted:
                if generator == "mt19937" and streams == 2**18:
                    refuse(name, "it needs 655 MB of device memory")
                else:
                    add(name, speed, "x", gb_per_s=round(4e-9 * speed), state_bytes=4.0 * words_of.get(generator, 0) * streams,
                        state_bytes_per_number=bytes_of.get(generator, 0))
    for blocks in (64, 1056):
        for s in (1, 2, 4):
            speed = 1e10 * blocks / 2**i * s
            if generator in wanted:
                add(f"count/generator:{generator}/blocks:{blocks}/per-thread:{s}/threads:256", speed, "x",
                    state_bytes=4.0 * words_of.get(generator, 0) * blocks * 256 * s,
                    state_bytes_per_number=bytes_of.get(generator, 0))
for i, generator in enumerate(curand):
    for ordering in ("default", "dynamic"):
        name = f"fill/generator:{generator}/ordering:{ordering}"
        if generator in wanted:
            if generator == "curand-mt19937" and ordering == "dynamic":
                refuse(name, "cuRAND does not have this ordering for this generator")
            else:
                add(name, 1e11 / (i + 1) * (2 if ordering == "dynamic" else 1), "x", gb_per_s=400.0)
    if generator != "curand-mt19937" and generator in wanted:
        for blocks in (64, 200 if generator == "curand-mtgp32" else 1056):
            add(f"count/generator:{generator}/blocks:{blocks}/per-thread:1/threads:256", 1e9 * blocks, "x",
                state_bytes=48.0 * blocks * 256, state_bytes_per_number=0.003)
for how, speed in (("memset", 3000.0), ("kernel", 4000.0)):
    entries += [{"name": f"write/how:{how}/iterations:1/repeats:3/manual_time", "run_type": "iteration",
                 "gb_per_s": speed}] * 3
if not (here / "NO_COPY").exists():
    entries.append({"name": "copy/iterations:1/manual_time", "run_type": "iteration", "gb_per_s": 5000.0})
context = {"psflip_platform": "gpu" if gpu else "cpu", "psflip_device": "a fake", "psflip_build_type": "release",
           "psflip_curand": "1" if gpu else "0", "psflip_elements": str(2**29), "psflip_draws": "32768",
           "psflip_launches": "10", "psflip_l2_bytes": str(50 * 2**20)}
print(json.dumps({"context": context, "benchmarks": entries}))
sys.exit(1 if (here / "WRONG").exists() else 0)
"""


class Prng(WithProgram):
    tool, program, text = prng, "06_prng/prng_benchmark", FAKE

    def setUp(self):
        super().setUp()
        self.platform("gpu")

    def platform(self, name):
        (self.stage / "PLATFORM").write_text(name)

    def table(self, which):
        return {line["generator"]: line for line in self.cells(prng.markdown(self.folder, which))}

    def test_rows_are_medians(self):
        result = self.result()
        rows = [row for row in result["rows"] if row["generator"] == "parisi-rapuano" and row["task"] == "fill"]
        self.assertEqual(len(rows), 9)
        self.assertEqual(
            prng.best(result, "fill", "parisi-rapuano"),
            {
                "task": "fill",
                "generator": "parisi-rapuano",
                "streams": 65536,
                "per_thread": 2,
                "threads": 256,
                "hash": 16 * "a",
                "init_ms": 2.5,
                "numbers": 2**29,
                "numbers_per_s": 5e11,
                "gb_per_s": 2000,
                "state_bytes": 62 * 4 * 65536,
                "state_bytes_per_number": 16,
            },
        )
        self.assertEqual(result["gb_per_s"], {"memset": 3000, "kernel": 4000, "copy": 5000})
        self.assertEqual((result["elements"], result["draws"], result["launches"]), (2**29, 2**15, 10))
        self.assertEqual(result["device"], {"platform": "gpu", "name": "a fake"})

    def test_refused_variants_have_no_row(self):
        refused = self.result()["refused"]
        self.assertEqual(len(refused), 3 + 1)
        self.assertEqual({row["generator"] for row in refused}, {"mt19937", "curand-mt19937"})

    def test_fill_table(self):
        self.result()
        table = self.table("fill")
        self.assertEqual(list(table), list(prng.TITLES.values()))
        self.assertEqual(
            table["Parisi-Rapuano"],
            {
                "generator": "Parisi-Rapuano",
                "streams x per thread": "2^16 x 2",
                "t_init, ms": "2.50",
                "t_gen, ms": "1.07",
                "GB/s written": "2,000",
                "% of write": "50",
                "% of copy": "40",
                "states, MB": "16",
                "paper, s": "4.18",
                "paper / ours": "3,893",
            },
        )
        self.assertEqual(table["cuRAND MTGP32"]["streams x per thread"], "dynamic ordering")
        self.assertEqual(table["cuRAND MTGP32"]["states, MB"], "-")
        self.assertEqual(table["cuRAND MT19937"]["streams x per thread"], "default ordering")
        papers = {name: row["paper, s"] for name, row in table.items() if row["paper, s"] != "-"}
        self.assertEqual(
            papers,
            {
                "MINSTD": "1.13",
                "Parisi-Rapuano": "4.18",
                "MT19937": "4.66",
                "cuRAND XORWOW": "2.31",
                "cuRAND MTGP32": "10.11",
                "cuRAND MT19937": "3.23",
            },
        )
        text = prng.markdown(self.folder, "fill")
        self.assertIn("2^29 floats", text)
        self.assertIn("memset 3,000, a kernel that writes zeros 4,000, a copy 5,000 GB/s", text)
        self.assertNotIn("BUILD", text)
        self.assertNotIn(str(self.folder), text)

    def test_count_table(self):
        self.result()
        table = self.table("count")
        self.assertNotIn("cuRAND MT19937", table)  # it has no device interface
        self.assertEqual(
            table["Parisi-Rapuano"],
            {
                "generator": "Parisi-Rapuano",
                "numbers/s, 64 x 256": "320e9",
                "paper": "16.8e9",
                "ours / paper's": "19.0",
                "numbers/s, device full": "21,120e9",
                "blocks x streams per thread": "1,056 x 4",
                "states, MB": "268.2",
                "bytes per number": "16",
                "limit of these bytes": "312e9",
                "% of limit": "6758",
            },
        )
        self.assertEqual(table["MINSTD"]["limit of these bytes"], "in L2")
        self.assertEqual(table["MINSTD"]["% of limit"], "-")
        self.assertEqual(table["Philox4x32-10"]["limit of these bytes"], "none")
        self.assertEqual(table["Philox4x32-10"]["bytes per number"], "0")
        self.assertEqual(table["cuRAND MTGP32"]["blocks x streams per thread"], "200 x 1")
        self.assertEqual(table["cuRAND MTGP32"]["ours / paper's"], "12.3")
        self.assertEqual(table["cuRAND XORWOW"]["paper"], "107e9")
        self.assertEqual(table["cuRAND Philox4x32-10"]["paper"], "-")
        self.assertIn("L2 cache of 50 MiB", prng.markdown(self.folder, "count"))

    def test_without_curand(self):
        self.platform("cpu")
        self.assertFalse(self.result()["curand"])
        for which in ("fill", "count"):
            self.assertEqual(list(self.table(which)), list(prng.TITLES.values())[:5])
            self.assertIn("Without cuRAND", prng.markdown(self.folder, which))

    def test_options_reach_the_program(self):
        output = self.run_tool("--generators", "minstd,curand-xorwow", "--streams", "1024,2048", "--repetitions", "2")
        self.assertEqual(
            self.calls(), ["--generators minstd,curand-xorwow --streams 1024,2048 --repetitions 2 --device auto"]
        )
        self.assertIn("cuRAND XORWOW", output)
        self.assertNotIn("Parisi", output)
        self.assertIn("`06_prng/prng.py --generators minstd,curand-xorwow --streams 1024,2048", output)

    def test_wrong_numbers_are_no_result(self):
        for mark, message in (("WRONG", "the mean is 0.6"), ("DIFFERENT", "different numbers"), ("NO_COPY", "bandwid")):
            (self.stage / mark).touch()
            with self.subTest(mark), self.assertRaisesRegex(Failure, message):
                self.result()
            self.assertFalse((self.folder / "prng.json").exists())
            (self.stage / mark).unlink()

    def test_bad_options(self):
        self.refuses(
            (["--streams", "x"], "x; it must be a whole number"),
            (["--blocks", "64,0"], "0; it must be"),
            (["--generators", "minstd,drand48"], "drand48; allowed are minstd"),
            (["--json", str(self.folder / "no/where.json")], "there is no folder"),
            (["--device", "9"], "no such device"),
            (["--frob"], "--frob"),
        )
        with self.assertRaisesRegex(Failure, "not built"):
            prng.main(["--build-dir", str(self.folder / "elsewhere")])

    def test_markdown_of_something_else(self):
        self.result()
        (self.folder / "prng.json").write_text(json.dumps({"format": "other"}))
        with self.assertRaisesRegex(Failure, "is not 'psFlip random numbers"):
            prng.markdown(self.folder, "fill")
