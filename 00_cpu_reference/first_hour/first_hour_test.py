#!/usr/bin/env python3
"""first_hour_test.py cpu|nvcc COMPILER... -- STAGE_00 [RUN]: first_hour.cu, compiled by one line, ends in the states in
which stage 00's program ends; refuses wrong arguments in one line; and README.md says what its experiments show.

With nvcc it is compiled only, unless RUN is there: then there is a GPU.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
KIND, AT = sys.argv[1], sys.argv.index("--")
COMPILER, STAGE_00, RUNS = sys.argv[2:AT], sys.argv[AT + 1], KIND == "cpu" or len(sys.argv) > AT + 2
SOURCE = (HERE / "first_hour.cu").read_text()
README = (HERE / "README.md").read_text()
PROSE = " ".join(README.split())
START, END = "6d9bdfa9445da604", "c6f3b5ff575f52bc"


def run(*command, **variables):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=os.environ | variables, timeout=300
    )


def hash_in(output):
    return re.search(r"^hash +([0-9a-f]{16})$", output, re.MULTILINE)[1]


class Compiled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.program = Path(folder.name, "first_hour.cu"), Path(folder.name, "first_hour")

    def compile(self, text=SOURCE):
        self.source.write_text(text)
        done = run(*COMPILER, "-o", self.program, self.source)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def without(self, *parts):
        """The source without the lines that hold these; each of them is there, and the README names what is in it."""
        text = SOURCE
        for part in parts:
            self.assertIn(part, text)
            text = "".join(line for line in text.splitlines(keepends=True) if part not in line)
        return text


class FirstHour(Compiled):
    def test_it_shows_everything(self):
        included = re.findall(r"#include (.*)", SOURCE)
        self.assertEqual([name for name in included if not re.fullmatch(r"<[a-z_]+(\.h)?>", name)], [])
        for call in "Malloc Memcpy GetLastError DeviceSynchronize EventRecord EventElapsedTime Free".split():
            self.assertIn(f"cuda{call}(", SOURCE)
        self.assertIn(f"nvcc -o first_hour {self.source.name}\n", README)

    def test_the_bits_are_those_of_stage_00(self):
        self.compile()
        if not RUNS:
            return
        # a row of one block, a block, not a multiple of one, a single spin, two that wrap onto themselves
        for problem in [
            (64, 10, 42),
            (97, 7, 3),
            (16, 5, 1),
            (15, 3, 9),
            (33, 1, 4294967295),
            (2, 3, 5),
            (1, 1, 1),
            (40, 0, 2),
        ]:
            with self.subTest(problem):
                size, steps, seed = problem
                done = run(self.program, *problem)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                right = run(STAGE_00, "--size", size, "--steps", steps, "--seed", seed).stdout
                self.assertEqual(hash_in(done.stdout), hash_in(right))
        self.assertEqual(hash_in(run(self.program).stdout), END)
        self.assertIn(f"hash        {END}\n", README)
        for arguments in [
            ("0",),
            ("20001",),
            ("6x",),
            ("",),
            ("64", "-1"),
            ("64", "1", "4294967296"),
            ("1", "2", "3", "4"),
        ]:
            with self.subTest(arguments):
                done = run(self.program, *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, r"\Afirst_hour: .* allowed are .*\n\Z")


@unittest.skipUnless(KIND == "cpu", "what a GPU does in these is not certain")
class Experiments(Compiled):
    def test_wrong_bounds(self):
        guard = "if (x >= n || y >= n) return;"
        self.assertIn(f"`{guard}`", PROSE)
        self.compile(self.without(guard))
        self.assertEqual(hash_in(run(self.program, 64).stdout), END)
        done = run(self.program, 100)
        self.assertLess(done.returncode, 0)
        crash = r"crash: block \(\d,6,0\) thread \(\d+,\d+,0\) touched 0x\w+, just behind an array in device memory\n"
        self.assertRegex(done.stderr, crash)
        self.assertRegex(README, crash)

    def test_too_many_threads(self):
        wide = SOURCE.replace("width = 16;", "width = 33;")
        self.compile(wide)
        done = run(self.program)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "first_hour: the first launch: invalid configuration argument\n")
        self.assertIn(f"`{done.stderr.strip()}`", PROSE)
        self.compile("".join(line for line in wide.splitlines(keepends=True) if "cudaGetLastError" not in line))
        self.assertEqual(hash_in(run(self.program).stdout), START)
        self.assertIn(START, README)

    def test_no_synchronisation(self):
        self.compile(self.without("check(cudaDeviceSynchronize"))
        self.assertEqual(hash_in(run(self.program).stdout), END)
        done = run(self.program, PSFLIP_LAZY_STREAMS="1")
        self.assertEqual((done.returncode, done.stderr), (1, "first_hour: cudaEventElapsedTime: device not ready\n"))
        self.assertIn("cudaEventElapsedTime: device not ready", PROSE)

    def test_forgotten_copies(self):
        self.compile(self.without("cudaMemcpyDeviceToHost"))
        self.assertEqual(hash_in(run(self.program).stdout), START)
        self.compile(self.without("cudaMemcpyHostToDevice"))
        self.assertNotEqual(hash_in(run(self.program).stdout), END)

    def test_the_host_touches_device_memory(self):
        at = "  // A block is a square"
        self.assertIn(at, SOURCE)
        self.compile(SOURCE.replace(at, '  std::printf("%d\\n", now[0]);\n' + at))
        self.assertEqual(hash_in(run(self.program).stdout), END)
        done = run(self.program, PSFLIP_GUARD="1")
        self.assertLess(done.returncode, 0)
        self.assertIn("host code touched", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
