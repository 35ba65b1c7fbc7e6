"""Tests of ranks.py: python3 -m unittest ranks_test. common/test runs them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

RANKS = Path(__file__).with_name("ranks.py")

# Stands in for mpirun: says how it was called, waits if it is to, and then ends as the file EXIT says.
FAKE = f"""#!{sys.executable}
import json, os, signal, sys, time
from pathlib import Path
here = Path(__file__).parent
got = []
for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, _: got.append(number))
said = {{"arguments": sys.argv[1:], "environment": dict(os.environ)}}
(here / "called.part").write_text(json.dumps(said))
(here / "called.part").rename(here / "called")
wanted = int((here / "SIGNALS").read_text()) if (here / "SIGNALS").exists() else 0
while len(got) < wanted:
    time.sleep(0.01)
    (here / "got").write_text(json.dumps(got))
(here / "got").write_text(json.dumps(got))
sys.exit(int((here / "EXIT").read_text()) if (here / "EXIT").exists() else 0)
"""


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="psFlip test ")  # a space, as in many people's paths
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file("mpirun", FAKE).chmod(0o755)
        self.program = self.file("08_mpi/spin_glass", "")

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return path

    def start(self, *options, path=None, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_")}
        command = [sys.executable, RANKS, "--build-dir", self.folder, *options]
        return subprocess.Popen(
            command,
            env=clean | {"PATH": path or f"{self.folder}"} | variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run_(self, *options, **more):
        with self.start(*options, **more) as process:
            out, err = process.communicate(timeout=60)
            return process.returncode, out, err

    def called(self):
        return json.loads((self.folder / "called").read_text())

    def test_options_of_the_program_pass_untouched(self):
        self.assertEqual(self.run_("--ranks", "3", "--", "--size", "8", "--json", "--", "a b"), (0, "", ""))
        self.assertEqual(
            self.called()["arguments"], ["-q", "-n", "3", str(self.program), "--size", "8", "--json", "--", "a b"]
        )

    def test_a_small_problem_has_a_plane_for_every_rank(self):
        for ranks, size in (("2", "32"), ("40", "80")):
            self.assertEqual(self.run_(f"--ranks={ranks}"), (0, "", ""))
            words = self.called()["arguments"]
            self.assertEqual(words[words.index("--size") + 1], size)

    def test_open_mpi_is_told_what_it_needs_unless_the_user_told_it(self):
        self.run_("--ranks", "2")
        told = self.called()["environment"]
        self.assertEqual(told["OMPI_MCA_rmaps_base_oversubscribe"], "1")
        self.assertEqual(told.get("OMPI_ALLOW_RUN_AS_ROOT"), "1" if os.geteuid() == 0 else None)
        self.run_("--ranks", "2", OMPI_MCA_rmaps_base_oversubscribe="0")
        self.assertEqual(self.called()["environment"]["OMPI_MCA_rmaps_base_oversubscribe"], "0")

    def assert_refused(self, part, *options, **more):
        code, out, err = self.run_(*options, **more)
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err, r"\Acommon/run: [^\n]+\n\Z")
        self.assertIn(part, err)
        self.assertFalse((self.folder / "called").exists())

    def test_refusals(self):
        for ranks in ("0", "-1", "1.5", "two", "", "²"):
            self.assert_refused(f"{ranks}; it must be a whole number", f"--ranks={ranks}")
        self.assert_refused("--size", "--ranks", "2", "--size", "8")  # not after --
        self.assert_refused("no mpirun here", "--ranks", "2", path="/nowhere")
        self.file("00_cpu_reference/majority", "")
        self.program.unlink()
        self.assert_refused("stage 08 was left out of the build", "--ranks", "2")
        shutil.rmtree(self.folder / "00_cpu_reference")
        self.assert_refused("there is no cmake here", "--ranks", "2")
        self.assert_refused("no mpirun here", "--ranks", "2", path="/nowhere")  # before the build

    def test_exit_codes(self):
        for code, message in ((1, ""), (2, ""), (128 + 9, "common/run: signal 9 ended a rank, and so the run\n")):
            self.file("EXIT", str(code))
            self.assertEqual(self.run_("--ranks", "2"), (code, "", message))

    def signalled(self, *numbers):
        self.file("SIGNALS", str(len(numbers)))
        with self.start("--ranks", "2") as process:
            for i, number in enumerate(numbers):
                self.wait_for(lambda i=i: len(json.loads((self.folder / "got").read_text())) == i)
                process.send_signal(number)
            process.communicate(timeout=60)
            return process.returncode, json.loads((self.folder / "got").read_text())

    def wait_for(self, condition):
        for _ in range(6000):
            try:
                if condition():
                    return
            except (FileNotFoundError, json.JSONDecodeError):
                pass
            time.sleep(0.01)
        self.fail("nothing came")

    def test_a_signal_becomes_the_one_that_mpirun_passes_on(self):
        self.file("EXIT", "1")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            (self.folder / "got").unlink(missing_ok=True)
            self.assertEqual(self.signalled(number), (128 + number, [signal.SIGUSR1]))

    def test_the_second_signal_ends_mpirun(self):
        self.file("EXIT", "1")
        self.assertEqual(
            self.signalled(signal.SIGINT, signal.SIGINT), (128 + signal.SIGINT, [signal.SIGUSR1, signal.SIGTERM])
        )

    def test_a_run_that_ends_well_in_spite_of_a_signal(self):
        self.file("EXIT", "0")
        self.assertEqual(self.signalled(signal.SIGTERM), (0, [signal.SIGUSR1]))


if __name__ == "__main__":
    unittest.main()
