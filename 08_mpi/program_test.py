"""Runs the program `spin_glass` of this stage as a user would: on several ranks of MPI.

    program_test.py <mpirun> <path of spin_glass> [<path of stage 00's spin_glass>]

Without stage 00 everything is compared with one rank.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "common"))
sys.path.insert(0, str(Path(__file__).parent / "tools"))
import ranks as launcher
from app import programs

MPIRUN = REFERENCE = None
GENERATORS = ("minstd", "parisi-rapuano", "mt19937", "philox")
SECONDS = 60  # no run here takes that long: it hangs
# What mpirun's libevent says now and then, of a file that was closed as a rank failed (Open MPI, issue 2004).
NOT_OURS = re.compile(r"^\[warn\] Epoll .*\n", re.MULTILINE)

PROBLEM = ["--size", 8, "--samples", 21, "--samples-per-stream", 5, "--replicas", 3, "--measure", "log:2"]
OUTPUTS = ["--output", "states.csv", "--averages", "averages.json", "--correlations", "c4.csv"]


class OnRanks(programs.InFolder):
    # When a rank fails, mpirun (Open MPI 4.1) sends SIGTERM to all, sleeps for so many seconds, always, sends SIGKILL,
    # and sleeps again. Its default is 1.
    mercy = 0

    # In memory, if there is such a folder: a checkpoint waits for its disk.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def setUp(self):
        super().setUp()
        holder = tempfile.TemporaryDirectory(dir=self.place, ignore_cleanup_errors=True)
        self.addCleanup(holder.cleanup)
        self.room_of_mpi, self.runs_of_mpi = holder.name, 0

    def start(self, ranks, *arguments, folder=None):
        """On so many ranks; or, on none, stage 00's program."""
        if ranks == 0:
            words = [REFERENCE, *arguments]
        else:
            words = [MPIRUN, "-q", "-n", ranks, programs.PROGRAM, *arguments]
        return self.start_words(words, folder)

    def start_words(self, words, folder=None):
        self.runs_of_mpi += 1
        process = subprocess.Popen(
            [*map(str, words)],
            cwd=folder or self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ
            | {
                "OMPI_MCA_odls_base_sigkill_timeout": str(self.mercy),
                # One of its own for each: Open MPI's is shared by all of a user's runs, and one that ends may remove it
                # while another one begins.
                "OMPI_MCA_orte_tmpdir_base": f"{self.room_of_mpi}/{self.runs_of_mpi}",
            },
        )
        for close in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(close)  # the last first; the ranks end when mpirun has gone
        return process

    @staticmethod
    def end(process):
        out, err = process.communicate(timeout=SECONDS)
        return process.returncode, out.decode(), NOT_OURS.sub("", err.decode())

    def run_(self, ranks, *arguments, folder=None):
        return self.end(self.start(ranks, *arguments, folder=folder))

    def result(self, ranks, *arguments, folder=None):
        """The JSON object of a run that must succeed without a word on stderr."""
        code, out, err = self.run_(ranks, *arguments, "--json", folder=folder)
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    @staticmethod
    def bits(answer):
        """What is the same for all stages and ranks."""
        return {
            key: value
            for key, value in answer.items()
            if key not in ("stage", "device", "launch", "remark", "seconds", "ps_per_flip")
        }

    def files(self, folder):
        """Their contents, without what names the stage, the device and the launch."""
        contents = {}
        for path in folder.iterdir():
            if path.suffix == ".json":
                contents[path.name] = self.bits(json.loads(path.read_text()))
            elif path.suffix == ".csv":
                contents[path.name] = re.sub(r"(?m)^# (stage|device|launch|remark): .*\n", "", path.read_text())
        return contents

    def expected(self, sweeps, *arguments):
        """The answer and the files of a run that no MPI divides."""
        folder = self.folder / "expected"
        folder.mkdir()
        answer = self.bits(
            self.result(0 if REFERENCE else 1, *PROBLEM, "--sweeps", sweeps, *OUTPUTS, *arguments, folder=folder)
        )
        files = self.files(folder)
        shutil.rmtree(folder)
        self.assertEqual(set(files), {"states.csv", "averages.json", "c4.csv"})
        return answer, files

    def sweeps_done(self, checkpoint):
        """That many are in a checkpoint: the program says it when it is asked for less."""
        code, _, err = self.end(
            self.start_words([programs.PROGRAM, "--resume", checkpoint, "--sweeps", 0])
        )  # without mpirun
        self.assertEqual(code, 2)
        return int(re.search(r"--sweeps is 0: (\d+) are done", err)[1])


class Bits(OnRanks):
    def test_any_number_of_ranks(self):
        """Four planes of a colour: all divisions of them."""
        for generator, ranks, transport in zip(GENERATORS, (1, 2, 3, 4), ("peer", "staged", "peer", "staged")):
            answer, files = self.expected(20, "--generator", generator)
            folder = self.folder / str(ranks)
            folder.mkdir()
            own = ["--sweeps", 20, *OUTPUTS, "--generator", generator, "--transport", transport]
            found = self.result(ranks, *PROBLEM, *own, folder=folder)
            self.assertEqual(self.bits(found), answer, ranks)
            self.assertEqual(self.files(folder), files, ranks)
            self.assertEqual(found["launch"]["transport"], transport)
            self.assertRegex(found["remark"], rf"\A{ranks} ranks?, transport {transport}: ")

    def test_a_run_on_four_ranks_goes_on_on_others(self):
        answer, files = self.expected(60)
        four = self.folder / "four"
        four.mkdir()
        self.result(4, *PROBLEM, "--sweeps", 31, *OUTPUTS, "--checkpoint", "c", "--checkpoint-every", 9, folder=four)
        for ranks in (1, 3):
            folder = self.folder / str(ranks)
            shutil.copytree(four, folder)
            found = self.result(ranks, "--resume", "c", "--sweeps", 60, *OUTPUTS, folder=folder)
            self.assertEqual(self.bits(found), answer)
            self.assertEqual(self.files(folder), files)


class Alone(programs.Printing):
    def test_closed_streams_stay_out_of_files(self):
        """MPI opens files, too. mpirun gives its ranks all three."""
        rows = self.folder / "rows.csv"
        self.assert_keeps_closed_streams_out_of_files("--size", 4, "--sweeps", 2, "--output", rows, files=[rows])


class Refusals(OnRanks):
    """One line of ours, no success, no hang, and nothing written."""

    def assert_refused(self, ranks, *arguments, part):
        self.assert_one_line(self.run_(ranks, *arguments), part)

    def assert_one_line(self, done, part):
        self.assert_says_no(done, part)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_options(self):
        self.assert_refused(2, "--sise", 8, part="--sise")
        part = "--size 4 has 2 planes of a colour: allowed are 1 to 2 ranks, not 3"
        self.assert_refused(3, "--size", 4, "--output", "a.csv", part=part)
        self.assert_refused(2, "--transport", "pigeon", part="pigeon")

    def test_settings(self):
        """Every rank has them, and one says it."""
        if self.result(1, "--size", 4)["device"]["platform"] != "cpu":
            self.skipTest("they are of the CPU path")
        words = [MPIRUN, "-q", "-n", 2, "-x", "PSFLIP_GUARD=on", programs.PROGRAM, "--size", 4, "--output", "a.csv"]
        self.assert_one_line(self.end(self.start_words(words)), "PSFLIP_GUARD is 'on'")

    def test_outputs(self):
        self.assert_refused(2, "--size", 4, "--output", "missing/a.csv", part="missing/a.csv")
        self.assert_refused(
            2, "--size", 4, "--sweeps", 1000, "--measure", "every:1", "--output", "/dev/full", part="/dev/full: "
        )

    def test_memory_of_one_rank(self):
        """All say no, in one voice, when one of them has no room."""
        if self.result(1, "--size", 4)["device"]["platform"] != "cpu":
            self.skipTest("only the memory of host threads can be set")
        run = [programs.PROGRAM, "--size", 8, "--samples", 1000]
        done = self.end(
            self.start_words(
                [MPIRUN, "-q", "-n", 1, *run, ":", "-n", 1, "env", "PSFLIP_CPU_MEMORY=100000", *run, ":", "-n", 1, *run]
            )
        )
        self.assert_one_line(done, "needs")


class Ends(OnRanks):
    """Runs that are ended from outside, and continued."""

    mercy = 2

    def start_long(self, ranks, folder):
        """A run that is not done for hours. It has saved itself at least twice."""
        saving = ["--checkpoint", "c", "--checkpoint-every", 5, "--json"]
        process = self.start(ranks, *PROBLEM, "--sweeps", 10**8, *OUTPUTS, *saving, folder=folder)
        seen = set()
        limit = time.monotonic() + SECONDS
        while len(seen) < 3:
            self.assertIsNone(process.poll(), "it has ended")
            self.assertLess(time.monotonic(), limit, "no checkpoint comes")
            try:
                seen.add((folder / "c").stat().st_mtime_ns)
            except FileNotFoundError:
                pass
            time.sleep(0.002)
        return process

    def assert_goes_on(self, ranks, folder):
        sweeps = self.sweeps_done(folder / "c") + 10
        answer, files = self.expected(sweeps)
        found = self.result(ranks, "--resume", "c", "--sweeps", sweeps, folder=folder)
        self.assertEqual(self.bits(found), answer)
        self.assertEqual(self.files(folder), files)

    @staticmethod
    def process_of(rank, mpirun):
        """Its number."""
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"\nPPid:\t{mpirun.pid}\n" in (entry / "status").read_text():
                    if f"OMPI_COMM_WORLD_RANK={rank}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                        return int(entry.name)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has just ended
        raise AssertionError(f"mpirun has no child that is rank {rank}")

    @staticmethod
    def lives(process):
        try:
            return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_a_killed_rank_ends_all(self):
        mpirun = self.start_long(3, self.folder)
        ranks = [self.process_of(rank, mpirun) for rank in range(3)]
        os.kill(ranks[2], signal.SIGKILL)
        code, out, _ = self.end(mpirun)
        self.assertNotEqual(code, 0)
        self.assertEqual(out, "")
        limit = time.monotonic() + 5
        while any(map(self.lives, ranks)):
            self.assertLess(time.monotonic(), limit, "a rank lives on")
            time.sleep(0.01)
        self.assert_goes_on(2, self.folder)

    def test_a_full_disk_ends_all_in_order(self):
        """The last checkpoint that found room is there, whole, and nothing else."""
        mpirun = self.start_long(3, self.folder)
        time.sleep(1)  # then it is the checkpoint that is written next, as rows come ever more rarely
        resource.prlimit(self.process_of(0, mpirun), resource.RLIMIT_FSIZE, (100, 100))
        self.assert_says_no(self.end(mpirun), ": cannot be written: File too large")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"c", "c.rows"})
        self.assert_goes_on(2, self.folder)

    def mpirun_passes_on(self, number):
        """Not every mpirun does: one that is set to start processes on this machine alone ("plm isolated") does not."""
        shell = f"trap 'echo heard; exit' {int(number)}; echo ready; while :; do sleep 0.05; done"
        mpirun = self.start_words([MPIRUN, "-q", "-n", 1, "sh", "-c", shell], self.folder)
        mpirun.stdout.readline()
        mpirun.send_signal(number)
        try:
            return b"heard" in mpirun.communicate(timeout=5)[0]
        except subprocess.TimeoutExpired:
            mpirun.kill()
            return False

    def test_signals_to_mpirun_save_the_run(self):
        """SIGTERM, which mpirun makes the ranks' and follows by SIGKILL in time; SIGUSR1, which it just passes on."""
        passed_on = self.mpirun_passes_on(signal.SIGUSR1)
        runs = []  # both at once: most of their time is mpirun's, which sleeps
        for number, ranks in ((signal.SIGTERM, 2), (signal.SIGUSR1, 3)):
            folder = self.folder / str(ranks)
            folder.mkdir()
            mpirun = self.start_long(ranks, folder)
            if number == signal.SIGTERM or passed_on:
                mpirun.send_signal(number)
            else:
                os.kill(self.process_of(0, mpirun), number)
            runs.append((number, ranks, folder, mpirun))
        for number, ranks, folder, mpirun in runs:
            code, out, err = self.end(mpirun)
            self.assertNotEqual(code, 0)
            self.assertEqual(out, "")
            said = re.search(
                rf"spin_glass: ended by signal {int(number)} after (\d+) of 100000000 sweeps; --resume c "
                r"continues\n",
                err,
            )
            self.assertTrue(said, err)
            self.assertEqual(self.sweeps_done(folder / "c"), int(said[1]))
            self.assert_goes_on(ranks, folder)


if __name__ == "__main__":
    MPIRUN = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 2 and not sys.argv[2].startswith("-") and os.sep in sys.argv[2]:
        REFERENCE = os.path.abspath(sys.argv.pop(2))
    os.environ |= launcher.environment(os.cpu_count())  # ranks that wait give way to the others
    programs.main()
