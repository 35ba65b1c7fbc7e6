"""Campaigns: jobs that are killed and started again, by stand-ins for Slurm and GNU parallel, are one run; spins go
through Python. campaign_test.py <path of spin_glass>
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "physics"))

JOBS, EACH = 10, 4
LADDER = ["--temperatures", "0.9:1.8:3", "--exchange-every", "2"]
PROBLEM = ["--size", "4", "--samples-per-stream", "4", *LADDER, "--sweeps", "120", "--measure", "every:4"]

# What a step begins with is told to the test, which may end it.
SRUN = """#!/usr/bin/env bash
echo $$ > "$STEPS/$SLURM_ARRAY_TASK_ID.new" && mv "$STEPS/$SLURM_ARRAY_TASK_ID.new" "$STEPS/$SLURM_ARRAY_TASK_ID"
exec "$@"
"""
SCONTROL = """#!/usr/bin/env bash
[[ $1 == requeue ]] && echo "$2" >> "$STEPS/requeued"
"""
# The part of GNU parallel that is used; the first try of every other job is killed.
PARALLEL = """#!/usr/bin/env python3
import os, random, signal, subprocess, sys, threading
_, _, slots, _, tries, command, separator, *inputs = sys.argv
assert sys.argv[1:4:2] == ["--jobs", "--retries"] and separator == ":::", sys.argv
left, failed = list(inputs), []
def work(slot):
    while left:
        one = left.pop(0)
        for attempt in range(int(tries)):
            shell = ["bash", "-c", command.replace("{%}", str(slot)).replace("{}", one)]
            with subprocess.Popen(shell, start_new_session=True) as process:
                if attempt == 0 and int(one) % 2:
                    try:
                        process.wait(random.uniform(0.05, 0.5))
                    except subprocess.TimeoutExpired:
                        os.killpg(process.pid, signal.SIGKILL)
            if process.returncode == 0:
                break
        else:
            failed.append(one)
threads = [threading.Thread(target=work, args=(slot,)) for slot in range(1, int(slots) + 1)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(len(failed))
"""


def table(path):
    """The file without the launch, which a stage may choose by the number of samples."""
    return [line for line in path.read_text().splitlines() if not line.startswith("# launch")]


class Campaign(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "all.csv"
            asked = [*PROBLEM, "--samples", str(JOBS * EACH), "--averages", str(file)]
            subprocess.run([PROGRAM, *asked], check=True, stdout=subprocess.DEVNULL)
            cls.one_run = table(file)

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="psFlip test ")  # a space, as in many people's paths
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        for name in ("job", "array.sbatch", "on_this_host"):
            shutil.copy(HERE / name, self.folder)
        # Which GPU a job sees is written down; the rest is the program's.
        self.put("program", f'#!/usr/bin/env bash\necho "${{CUDA_VISIBLE_DEVICES-}}" >> gpus\nexec "{PROGRAM}" "$@"\n')
        text = (HERE / "campaign.conf").read_text()
        for name, value in {
            "program": f"'{self.tools}/program'",
            "jobs": JOBS,
            "each": EACH,
            "problem": f"({' '.join(PROBLEM)} --checkpoint-every 10)",
        }.items():
            text, found = re.subn(
                rf"^{name}=(\(.*?\)|[^\n]*)$", f"{name}={value}", text, flags=re.MULTILINE | re.DOTALL
            )
            self.assertEqual(found, 1, name)
        (self.folder / "campaign.conf").write_text(text)

    def put(self, name, text):
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def environment(self, **more):
        return os.environ | {"PATH": f"{self.tools}:{os.environ['PATH']}"} | more

    def ask(self, *arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def assert_is_one_run(self):
        sums = [f"{job}.sums" for job in range(JOBS)]
        self.ask("--merge", *sums, "--samples", JOBS * EACH, "--first-sample", 0, "--averages", "all.csv")
        self.assertEqual(table(self.folder / "all.csv"), self.one_run)

    def task(self, number, steps):
        where = {"SLURM_SUBMIT_DIR": str(self.folder), "SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": str(number)}
        script = self.tools / "slurm_script"  # Slurm runs a copy
        shutil.copy(self.folder / "array.sbatch", script)
        environment = self.environment(STEPS=str(steps), **where)
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(
                ["bash", script], cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def test_an_array_whose_tasks_are_killed(self):
        random.seed(3)
        self.put("srun", SRUN)
        self.put("scontrol", SCONTROL)
        steps = self.folder / "steps"
        steps.mkdir()
        queue, kills, times_up = list(range(JOBS)), 0, 0
        while queue:
            number = queue.pop(0)
            (steps / str(number)).unlink(missing_ok=True)
            (steps / "requeued").unlink(missing_ok=True)
            process = self.task(number, steps)
            while not (steps / str(number)).exists():
                time.sleep(0.001)
            fails = random.random() < 0.5  # a node; else the time is up
            try:
                process.wait(random.uniform(0, 0.1 + 0.05 * (kills + times_up)))
            except subprocess.TimeoutExpired:
                if fails:
                    os.killpg(process.pid, signal.SIGKILL)
                    kills += 1
                    queue.append(number)  # by Slurm: --requeue
                else:
                    os.kill(int((steps / str(number)).read_text()), signal.SIGUSR1)
            code = process.wait()
            if (steps / "requeued").exists():
                self.assertEqual((steps / "requeued").read_text(), f"77_{number}\n")
                self.assertEqual(code, 128 + signal.SIGUSR1)
                times_up += 1
                queue.append(number)
            elif code != -signal.SIGKILL:
                self.assertEqual(code, 0, (self.folder / "log").read_text())
        self.assertGreater(kills, 1)
        self.assertGreater(times_up, 1)
        self.assert_is_one_run()
        before = {path: path.stat().st_mtime_ns for path in self.folder.glob("*.sums")}
        self.assertEqual(self.task(0, steps).wait(), 0)  # submitted again: nothing is left to do
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.folder.glob("*.sums")}, before)

    def on_this_host(self):
        command = [self.folder / "on_this_host", "2"]
        subprocess.run(command, cwd=self.folder, env=self.environment(), check=True, timeout=300)
        self.assertEqual(set((self.folder / "gpus").read_text().split()), {"0", "1"})
        self.assert_is_one_run()

    def test_several_gpus_of_a_host(self):
        self.put("parallel", PARALLEL)
        self.on_this_host()

    @unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not here")
    def test_several_gpus_of_a_host_with_the_real_parallel(self):
        self.on_this_host()

    def test_spins_through_python(self):
        try:
            import psflip
        except ImportError:
            self.skipTest("NumPy is not here")
        shape = ["--size", "4", "--samples", 3, "--samples-per-stream", 1, "--replicas", 2]
        said = json.loads(self.ask(*shape, "--sweeps", 9, "--write-spins", "a.spins", "--json"))
        spins, header = psflip.read_spins(self.folder / "a.spins")
        self.assertEqual(spins.shape, (3, 2, 4, 4, 4))
        self.assertEqual((int(spins.sum()), header["hash"]), (said["magnetisation"], said["hash"]))
        psflip.write_spins(self.folder / "b.spins", spins)
        back = json.loads(self.ask(*shape, "--sweeps", 0, "--spins", "b.spins", "--json"))
        self.assertEqual(back["hash"], said["hash"])
        spins[1, 0, 3, 2, 1] *= -1  # site x + 4 (y + 4 z)
        psflip.write_spins(self.folder / "c.spins", spins[1:], first_sample=1)
        part = ["--size", "4", "--samples", 1, "--first-sample", 1, "--samples-per-stream", 1, "--replicas", 2]
        self.ask(*part, "--sweeps", 0, "--spins", "c.spins", "--write-spins", "d.spins")
        found, _ = psflip.read_spins(self.folder / "d.spins")
        self.assertTrue((found == spins[1:2]).all())
        for wrong in (b"", b"psFlipSp", (self.folder / "a.spins").read_bytes()[:-9]):
            (self.folder / "wrong").write_bytes(wrong)
            with self.assertRaisesRegex(ValueError, "no spins"):
                psflip.read_spins(self.folder / "wrong")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
