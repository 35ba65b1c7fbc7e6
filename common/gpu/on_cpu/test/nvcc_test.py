#!/usr/bin/env python3
"""nvcc_test.py BUILD: what the command nvcc of the CPU path makes, beside the first hour's program, and what it refuses."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
BUILD = sys.argv[1]

MAIN = """#include <cstdio>
#include "named.hpp"
__global__ void set(int* out) { *out = VALUE; }
int launched_elsewhere();
int main() {
  int *out, value = 0;
  cudaMalloc(&out, sizeof(int));
  set<<<1, 1>>>(out);
  cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d %d %d\\n", value, named, launched_elsewhere());
}
"""
OTHER = (
    "__global__ void nothing() {}\nint launched_elsewhere() { nothing<<<1, 2000>>>(); return cudaGetLastError(); }\n"
)


class Nvcc(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "main.cu").write_text(MAIN)
        (self.folder / "other.cu").write_text(OTHER)
        (self.folder / "named.hpp").write_text("constexpr int named = 7;\n")

    def call(self, *options):
        command = [HERE / "nvcc", "--no-install", "--build-dir", BUILD, *options]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True)

    def test_several_files_and_options_of_both_compilers(self):
        done = self.call(
            "-O0", "-arch=sm_90", "-D", "VALUE=3", "main.cu", "-o", "program", "other.cu", "-lineinfo", "-lm"
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        ran = subprocess.run([self.folder / "program"], capture_output=True, text=True)
        self.assertEqual(ran.stdout, "3 7 9\n")  # 9: cudaErrorInvalidConfiguration
        self.assertEqual(sorted(os.listdir(self.folder)), ["main.cu", "named.hpp", "other.cu", "program"])

    def test_errors_name_the_lines_of_the_source(self):
        done = self.call("-O0", "main.cu")  # no VALUE
        self.assertEqual(done.returncode, 1)
        self.assertIn("main.cu:3:", done.stderr)
        (self.folder / "main.cu").write_text("\nvoid f() { k<<<1, 2>>(p); }\n")
        done = self.call("main.cu")
        self.assertEqual((done.returncode, done.stderr), (1, "main.cu:2: <<< without >>>\n"))
        self.assertFalse((self.folder / "a.out").exists())

    def test_it_refuses_what_it_cannot_do_in_one_line(self):
        for options, part in {
            (): "no FILE.cu is named",
            ("none.cu",): "none.cu: no such file",
            ("named.hpp",): "named.hpp: not a CUDA source",
            ("-ptx", "main.cu"): "-ptx: this is not NVIDIA's nvcc",
            ("-std=c++17", "main.cu"): "-std=c++17: the CPU path needs",
            ("main.cu", "-o"): "-o needs a value",
        }.items():
            with self.subTest(options):
                done = self.call(*options)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, r"\Anvcc: .*\n\Z")
                self.assertIn(part, done.stderr)

    def test_the_runtime_can_be_built_without_the_rest_of_psflip(self):
        command = ["cmake", "-S", HERE, "-B", self.folder / "build", "-G", "Ninja"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        command = ["ninja", "-n", "-C", self.folder / "build", "rewrite_launches", "cuda_on_cpu"]
        planned = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(planned.returncode, 0, planned.stdout)
        for made in ("libcuda_on_cpu.a", "rewrite_launches"):
            self.assertRegex(planned.stdout, rf"Linking \w+ (static library|executable) {made}\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
