"""Tests of the tour and the device report."""

import contextlib
import io
import os
import re
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import device_report
import stages
import tour
from stages import Failure
from test.tools_test import WithBuild


def printed(function, *arguments):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = function(*arguments)
    return code, output.getvalue()


class Tour(WithBuild):
    stages_2d = ("00_cpu_reference", "01_naive_gpu", "02_blocked", "03_shared_memory", "07_amsc")
    stages_3d = ("00_cpu_reference", "04_checkerboard", "05_sliced", "06_prng", "07_amsc")

    def tour(self, *arguments):
        return printed(tour.main, ["--build-dir", str(self.folder), *arguments])

    def test_every_stage_in_order_with_all_that_is_promised(self):
        code, output = self.tour("--no-measure")
        self.assertEqual(code, 0)
        titles = [line for line in output.splitlines() if line.startswith("Stage ")]
        folders = [readme.parent.name for readme in sorted(stages.ROOT.glob("[0-9][0-9]_*/README.md"))]
        self.assertEqual([title.split(":")[0] for title in titles], [f"Stage {name[:2]}" for name in folders])
        self.assertEqual(output.count("\nPredict\n-------\n"), len(folders))
        for part in output.split("\nPredict\n-------\n")[1:]:
            self.assertGreater(len(part.split("\nWhy: ")[0]), 200)  # every README has such a section
        self.assertNotIn("Measured on this machine", output)
        self.assertNotIn("](../", output)  # links
        self.assertNotIn("<details>", output)  # answers
        self.assertNotIn("<!--", output)

    def test_the_diff_is_the_one_of_diff(self):
        output = self.tour("--no-measure", "--stages", "03")[1]
        files = ["02_blocked/update.cu", "03_shared_memory/update.cu"]
        done = subprocess.run(["diff", "-U2", "-d", *files], cwd=stages.ROOT, capture_output=True, text=True)
        changes = re.search(r" -> 03_shared_memory/update.cu\n-+\n(.*)\nPredict\n", output, re.DOTALL)[1]

        def changed(text):
            return [line for line in text.splitlines() if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]

        shown, wanted = changed(changes), changed(done.stdout)
        new = (stages.ROOT / files[1]).read_text().splitlines()
        old = (stages.ROOT / files[0]).read_text().splitlines()
        for line in shown:
            self.assertIn(line[1:], new if line[0] == "+" else old, line)
        self.assertLess(abs(len(shown) - len(wanted)), 0.2 * len(wanted))
        self.assertIn("+  __syncthreads();", shown)

    def test_measured_rows(self):
        code, output = self.tour("--stages", "03")
        self.assertEqual(code, 0)
        rows = [line.split() for line in output.splitlines() if line[:2].isdigit() and line[2:4] == "  "]
        self.assertEqual([row[0] for row in rows], ["00", "02", "03"])
        self.assertEqual({row[-1] for row in rows}, {"ref", "yes"})

    def test_both_models_of_a_stage(self):
        output = self.tour("--stages", "07")[1]
        self.assertRegex(output, r"\n2D majority model: \d+ x \d+ spins, \d+ steps?, ")
        self.assertRegex(output, r"\n3D spin glass: \d+ x \d+ x \d+ sites, ")

    def test_wrong_bits_are_an_error(self):
        (self.folder / "03_shared_memory/WRONG").touch()
        with self.assertRaisesRegex(Failure, "03_shared_memory: its bits are not the reference's"):
            self.tour("--stages", "03")

    def test_bad_input_is_one_line_and_exit_code_2(self):
        for arguments, message in (
            (["--stages", "3"], "--stages 3: there is no such stage; there are 00, 01"),
            (["--size", "5"], "unrecognized arguments: --size 5"),
        ):
            done = subprocess.run([tour.__file__, *arguments], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, rf"\Acommon/run --tour: {message}.*\n\Z")

    def test_a_reader_predicts_goes_on_and_stops(self):
        answers = iter(["", "", "7 ps a site", "", "q"])
        reader = tour.Reader()
        reader.there = True
        with mock.patch("tour.Reader", return_value=reader), mock.patch("builtins.input", lambda _: next(answers)):
            code, output = self.tour("--stages", "02,03")
        self.assertEqual(code, 0)
        self.assertIn("You predicted: 7 ps a site", output)
        self.assertIn("Stage 03: ", output)
        self.assertNotIn("02_blocked/update.cu -> 03", output)


FAKES = {
    "nvidia-smi": """case "$*" in
*query*) echo "NVIDIA H200, 143771 MiB, 9.0, 580.95.05"; echo "NVIDIA H200, 143771 MiB, 9.0, 580.95.05" ;;
*) echo "| NVIDIA-SMI 580.95.05    Driver Version: 580.95.05    CUDA Version: 13.0 |" ;;
esac""",
    "nvcc": """case "$*" in
*list*) printf 'compute_75\\ncompute_90\\n' ;;
*) echo "Cuda compilation tools, release 13.0, V13.0.88" ;;
esac""",
    "mpirun": "echo 'mpirun (Open MPI) 4.1.4'",
    "mpicxx": "true",
    "ompi_info": "echo mca:mpi:base:param:mpi_built_with_cuda_support:value:false",
    "ncu": "true",
}


class Reports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="psFlip test ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def report(self, admin_only="0", user=1000, **changed):
        """The report of a machine with these commands (None: not there), by the names of its lines."""
        commands = self.folder / "bin"
        commands.mkdir(exist_ok=True)
        for name, script in (FAKES | {key.replace("_", "-"): script for key, script in changed.items()}).items():
            file = commands / name
            if script is None:
                file.unlink(missing_ok=True)
            else:
                file.write_text(f"#!/bin/sh\n{script}\n")
                file.chmod(file.stat().st_mode | stat.S_IXUSR)
        (self.folder / "proc/driver/nvidia").mkdir(parents=True, exist_ok=True)
        (self.folder / "proc/driver/nvidia/params").write_text(f"RmProfilingAdminOnly: {admin_only}\n")
        with (
            mock.patch.dict(os.environ, PATH=str(commands)),
            mock.patch("device_report.TOOLKIT", ""),
            mock.patch("os.geteuid", lambda: user),
            mock.patch("shutil.which", self.which(commands)),
        ):
            lines, has_gpu = device_report.report(self.folder)
            return {line.name: line for line in lines}, device_report.conclusion(lines, has_gpu)

    def which(self, commands):
        def which(name, path=None):
            return str(commands / name) if path is None and (commands / name).exists() else None

        return which

    def test_a_machine_that_has_everything(self):
        lines, conclusion = self.report()
        self.assertEqual({name for name, line in lines.items() if not line.there} - {"build tools"}, set())
        self.assertIn("580.95.05, for CUDA up to 13.0", lines["driver"].text)
        self.assertIn("2 x NVIDIA H200, 143771 MiB, compute capability 9.0", lines["GPU"].text)
        self.assertIn("Open MPI 4.1.4, not CUDA-aware", lines["MPI"].text)
        self.assertIn("this user may read them", lines["counters"].text)
        self.assertIn("on the GPU and on the CPU path. Next: common/run", conclusion)

    def test_no_gpu(self):
        lines, conclusion = self.report(nvidia_smi="exit 9")
        self.assertFalse(lines["driver"].there)
        self.assertNotIn("counters", lines)
        self.assertIn("compiles the GPU path for another machine. Next: common/run", conclusion)
        lines, conclusion = self.report(nvidia_smi=None, nvcc=None)
        self.assertFalse(lines["toolkit"].there)
        self.assertIn("all results and checks, no GPU times. Next: common/run", conclusion)

    def test_a_gpu_that_cannot_be_used(self):
        for change, name, text in (
            ({"nvcc": None}, "toolkit", "no nvcc"),
            ({"nvcc": FAKES["nvcc"].replace("release 13.0", "release 14.1")}, "toolkit", "CUDA 14.1, but the driver"),
            ({"nvcc": FAKES["nvcc"].replace("compute_90", "compute_80")}, "architecture", "does not know 9.0 yet"),
            ({"nvidia_smi": FAKES["nvidia-smi"].replace(" 9.0,", " 6.1,")}, "architecture", "no longer compiles for"),
        ):
            lines, conclusion = self.report(**change)
            self.assertFalse(lines[name].there, change)
            self.assertIn(text, lines[name].text)
            self.assertIn("The GPU is not used until this is mended", conclusion)
            self.assertTrue(conclusion.endswith(lines[name].remedy))

    def test_counters_that_the_driver_keeps_for_root(self):
        lines, _ = self.report(admin_only="1")
        self.assertFalse(lines["counters"].there)
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", lines["counters"].remedy)
        self.assertTrue(self.report(admin_only="1", user=0)[0]["counters"].there)
        self.assertIn("no ncu", self.report(ncu=None)[0]["counters"].text)

    def test_no_mpi(self):
        lines, _ = self.report(mpirun=None)
        self.assertIn("stage 08", lines["MPI"].text)
        self.assertIn("CUDA-aware", self.report(ompi_info=FAKES["ompi_info"].replace("false", "true"))[0]["MPI"].text)

    def test_the_command(self):
        run = Path(device_report.__file__).parents[1] / "run"
        done = subprocess.run([run, "--device-report"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("\npsFlip runs here", done.stdout.replace("The GPU is not used", "psFlip runs here"))
        done = subprocess.run([run, "--device-report", "--fast"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Acommon/run --device-report: unrecognized arguments: --fast; .*\n\Z")


if __name__ == "__main__":
    unittest.main()
