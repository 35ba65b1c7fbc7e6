"""A long run tries launches and remembers the fastest; whatever is in the file where it does, runs give the same bits.

trials_test.py <path of spin_glass>
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "common"))
from app import programs

PROBLEM = "--device cpu --size 8 --samples 64 --samples-per-stream 64".split()
DAYS = 10**8  # sweeps


class Trials(programs.Ending):
    def setUp(self):
        super().setUp()
        self.expect_cpu_path()
        self.cache = self.folder / "cache"

    def environment(self, **variables):
        """This one, without what says where the cache is, and with these variables."""
        places = ("PSFLIP_LAUNCHES", "XDG_CACHE_HOME", "HOME")
        kept = {name: value for name, value in os.environ.items() if name not in places}
        return kept | (variables or {"PSFLIP_LAUNCHES": str(self.cache)})

    def run_it(self, *arguments, **variables):
        words = [programs.PROGRAM, *PROBLEM, "--sweeps", "4", *arguments, "--json"]
        done = subprocess.run(words, capture_output=True, env=self.environment(**variables), timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def begin_long_run(self, *arguments, **variables):
        """Until it has chosen; then it is told to end. What it has in its checkpoint goes on from there."""
        checkpoint = self.folder / "c"
        words = [programs.PROGRAM, *PROBLEM, "--sweeps", str(DAYS), "--checkpoint", str(checkpoint), *arguments]
        with subprocess.Popen(
            words, env=self.environment(**variables), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            end = time.monotonic() + 120
            while not checkpoint.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=120)
        self.assertIn(process.returncode, (128 + signal.SIGTERM, -signal.SIGTERM), said)
        return checkpoint

    def written(self):
        file = self.cache / "launches.json"
        return json.loads(file.read_text()), file

    def test_what_was_found_is_taken(self):
        plain = self.run_it(PSFLIP_LAUNCHES="off")
        self.assertNotIn("tried", plain)
        checkpoint = self.begin_long_run()
        all_there, file = self.written()
        (choice,) = all_there["choices"]
        self.assertGreater(choice["tried"], 5)
        self.assertGreater(choice["seconds"], 0)
        expected = {"size": "8", "samples": "64", "samples_per_stream": "64", "replicas": "4", "generator": "minstd"}
        self.assertEqual({key: choice["for"][key] for key in expected}, expected)

        def launch_of(result):
            return {key: str(value) for key, value in result["launch"].items() if value is not None}

        again = self.run_it("--kernel", "auto")
        self.assertEqual(again["tried"], {"launches": choice["tried"], "seconds": 0, "earlier": True})
        self.assertEqual(launch_of(again), choice["launch"])
        self.assertEqual(again["hash"], plain["hash"])

        # Whatever the file says, if it is possible; here what nobody would choose on host threads.
        choice["launch"] = {"kernel": "resident", "samples_per_word": "64", "cluster": "2", "replicas_together": "4"}
        choice["launch"]["threads"] = "64"
        file.write_text(json.dumps(all_there))
        again = self.run_it()
        self.assertEqual((launch_of(again), again["hash"]), (choice["launch"], plain["hash"]))
        done = subprocess.run(
            [programs.PROGRAM, *PROBLEM], capture_output=True, env=self.environment(), text=True, timeout=120
        )
        self.assertRegex(
            done.stdout, rf"\nlaunch .*: the fastest of {choice['tried']} that were tried by an earlier run\n"
        )
        # A run that goes on does so as before, and what is asked for is done.
        resumed = [programs.PROGRAM, "--resume", str(checkpoint), "--device", "cpu", "--json", "--sweeps"]
        sweeps = subprocess.run([*resumed, "0"], capture_output=True, env=self.environment(), text=True, timeout=120)
        done_before = int(sweeps.stderr.split("--sweeps is 0: ")[1].split()[0]) if sweeps.returncode else 0
        said = subprocess.run(
            [*resumed, str(done_before + 1)], capture_output=True, env=self.environment(), text=True, timeout=120
        )
        self.assertNotEqual(launch_of(json.loads(said.stdout)), choice["launch"])
        self.assertEqual(self.run_it("--kernel", "update")["launch"]["kernel"], "update")
        self.assertNotIn("tried", self.run_it("--generator", "philox"), "another problem")

        choice["launch"]["samples_per_word"] = "128"  # which groups of 64 samples do not have
        file.write_text(json.dumps(all_there))
        again = self.run_it()
        self.assertEqual((again["launch"], again["hash"]), (plain["launch"], plain["hash"]))
        self.assertNotIn("tried", again)

    def test_what_was_found_may_not_fit_any_more(self):
        generator = ["--generator", "mt19937"]
        plain = self.run_it(*generator, PSFLIP_LAUNCHES="off")
        self.begin_long_run(*generator)
        all_there, file = self.written()
        (choice,) = all_there["choices"]
        choice["launch"] = {"kernel": "small", "samples_per_word": "32", "cluster": "1", "replicas_together": "1"}
        choice["launch"]["threads"] = "256"  # four copies of all streams, 10 MB
        file.write_text(json.dumps(all_there))
        self.assertEqual(self.run_it(*generator)["launch"]["kernel"], "small")
        less = self.run_it(*generator, PSFLIP_LAUNCHES=str(self.cache), PSFLIP_CPU_MEMORY="8000000")
        self.assertEqual((less["launch"], less["hash"]), (plain["launch"], plain["hash"]))
        self.assertNotIn("tried", less)

    def test_a_damaged_file_is_replaced(self):
        self.cache.mkdir()
        file = self.cache / "launches.json"
        for wrong in (b"\xff\x00", b'{"format": "psFlip launches, version 1", "choices": [{}]}', b"{" * 100000):
            file.write_bytes(wrong)
            self.assertNotIn("tried", self.run_it())
            self.assertEqual(file.read_bytes(), wrong, "a short run writes nothing")
        self.begin_long_run()
        self.assertEqual(len(self.written()[0]["choices"]), 1)

    def test_without_a_file(self):
        self.begin_long_run(PSFLIP_LAUNCHES="/proc/nowhere")
        for variables in (
            {"HOME": ""},
            {"HOME": "/proc/nowhere"},
            {"HOME": "relative"},
            {"XDG_CACHE_HOME": "/dev/null"},
        ):
            self.assertNotIn("tried", self.run_it(**variables))
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"c"})

    def test_the_setting_is_checked(self):
        for value in ("", "on", "relative/folder"):
            done = subprocess.run(
                [programs.PROGRAM, *PROBLEM, "--output", "a.csv"],
                capture_output=True,
                env=self.environment(PSFLIP_LAUNCHES=value),
                cwd=self.folder,
                timeout=120,
            )
            self.assert_says_no(
                (done.returncode, done.stdout.decode(), done.stderr.decode()), f"PSFLIP_LAUNCHES is '{value}'"
            )
            self.assertEqual(self.snapshot(), {})


if __name__ == "__main__":
    programs.main()
