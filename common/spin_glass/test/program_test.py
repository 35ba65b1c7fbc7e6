"""Runs the program `spin_glass` as a user would, with right and wrong input.

program_test.py <path of spin_glass>
"""

import csv
import functools
import json
import math
import os
import pty
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from app import programs
from app.programs import result, run, stage

INSTANCES = Path(__file__).parent / "instances"
GENERATORS = ("minstd", "parisi-rapuano", "mt19937", "philox")
SAME = ("sweep_first", "sweep", "temperature")  # of rows that are one


def is_reference():
    return stage().startswith("00_")


def of_the_program(test):
    """What no engine has a part in. The program is the same in every stage: tested with stage 00, and with 05 for those
    that talk to a device."""

    @functools.wraps(test)
    def tested_in_some_stages(self):
        if stage()[:3] not in ("00_", "05_"):
            self.skipTest("tested in stages 00 and 05")
        test(self)

    return tested_in_some_stages


def has_all_generators():
    return is_reference() or stage()[:3] in ("06_", "07_", "08_")


def read_csv(path):
    """The header's members, and the rows as dictionaries."""
    lines = path.read_text().splitlines()
    header = {}
    while lines[0].startswith("# "):
        key, value = lines.pop(0)[2:].split(": ", 1)
        header[key] = json.loads(value)
    return header, list(csv.DictReader(lines))


def edges(path):
    """The edges of an edge list as a dictionary {(i, j): J}."""
    lines = Path(path).read_text().splitlines()
    return {tuple(map(int, line.split()[:2])): int(line.split()[2]) for line in lines[1:]}


class Refusals(programs.Refusing):
    ending = ".csv"

    @of_the_program
    def test_options(self):
        self.assert_refused("--sise", 6, names="--sise")
        self.assert_refused("6", names="6")
        self.assert_refused("--sweeps", -1, names="-1")
        self.assert_refused("--sweeps", 1 << 62, names=1 << 62)
        self.assert_refused("--seed", 1 << 63, names=1 << 63)
        self.assert_refused("--start", "down", names="down")
        self.assert_refused("--generator", "rand", names="rand")
        for option in ("--samples", "--replicas", "--samples-per-stream"):
            for number in (0, -1, "1.5", 1 << 25, "010"):
                self.assert_refused(option, number, names=option)
        for number in (-1, "1.5", 1 << 26, (1 << 26) + 1, 3, 33):
            self.assert_refused("--first-sample", number, names=f"--first-sample{' is' if number in (3, 33) else ''}")
        self.assert_refused("--merge", "nowhere", names="nowhere: cannot be opened")
        for rule in (
            "sometimes",
            "every:0",
            "every:010",
            "log:01",
            "every:-1",
            "every:1.5",
            "every:",
            "log:0",
            "log:",
            "log:1001",
        ):
            self.assert_refused("--measure", rule, names=rule)

    @of_the_program
    def test_sizes(self):
        for size in (0, -4, 2, 3, 5, 7, 1626, 99999999999, 1 << 64, "1e3", "0x10", ""):
            self.assert_refused("--size", size, names="--size")

    @of_the_program
    def test_temperatures(self):
        for value in (0, -1, "nan", "inf", "-inf", "1e400", "1e-320", "0x1p1", "", "hot", "1,1"):
            self.assert_refused("--temperature", value, names="--temperature")
        for value in (-1, -1e-300, "nan", "inf", "1e400", ""):
            self.assert_refused("--beta", value, names="--beta")
        self.assert_refused("--beta", 1, "--temperature", 1, names="--temperature")
        for value in (-0.1, 1.1, "nan", "inf", ""):
            self.assert_refused("--ferromagnetic-fraction", value, names="--ferromagnetic-fraction")

    @of_the_program
    def test_ladders(self):
        for value in ("1", "1,1", "1,0.9", "1,1.0000001", "1,x", "1,", "0,1", "-1:2:4", "2:1:4", "1:2", "1:2:1"):
            self.assert_refused("--temperatures", value, names="--temperatures")
        for value in ("1:2:4:log", "1:2:4:linear:", "1:2:1000", "1:2:65", "1:2:1e1", "1:inf:3", ""):
            self.assert_refused("--temperatures", value, names="--temperatures")
        for value in (
            "auto",
            "auto:1:2",
            "auto:2:1:4",
            "auto:1:1:2",
            "auto:0.39:1:4",
            "auto:1:inf:3",
            "auto:1:2:4:linear",
        ):
            self.assert_refused("--temperatures", value, names=f"--temperatures is {value}")
        self.assert_refused(
            *("--temperatures", "auto:1:2:3", "--ferromagnetic-fraction", 0.6),
            names="--ferromagnetic-fraction 0.5 alone",
        )
        for option in ("--temperature", "--beta", "--replicas"):
            self.assert_refused("--temperatures", "1,2", option, 1, names=option)
        for option, wrong in (("--copies", (0, 5, "x")), ("--exchange-every", (0, -1, 1.5))):
            self.assert_refused(option, 2, names=f"{option}: it needs --temperatures")
            for value in wrong:
                self.assert_refused("--temperatures", "1,2", option, value, names=option)
        self.assert_refused("--distribution", "p.csv", names="--distribution: it needs --temperatures")
        for option in ("--correlations", "--distribution"):
            self.assert_refused("--temperatures", "1,2", "--copies", 1, option, "f.csv", names=option)
        self.assert_refused("--temperatures", "1,2", "--generator", "philox-planes", names="philox-planes")

    @of_the_program
    def test_exhausted_streams(self):
        period = 2**31 - 2
        self.assert_refused("--sweeps", period // 4 + 1, names=period // 4)
        self.assert_refused("--sweeps", period // 5 + 1, "--replicas", 5, names="repeat")

    def test_memory(self):
        for problem in (
            ["--size", 1624, "--samples", 1000],
            ["--size", 1624, "--samples", 1 << 24, "--replicas", 1 << 24],
            ["--size", 4, "--replicas", 1 << 24],
            ["--sweeps", 10**11, "--generator", "mt19937", "--measure", "every:1"],
        ):
            done = run(*problem)
            self.assert_refused(*problem, names="needs")
            self.assertRegex(done.stderr.decode(), r"needs [0-9.e+]+ .B of memory; the machine has [0-9.]+ .B\n")

    def test_launches(self):
        self.assert_refused("--indexing", "diagonal", names="diagonal")
        self.assert_refused("--load", "slow", names="slow")
        for number in (0, -1, 1025):
            self.assert_refused("--threads", number, names=number)
            self.assert_refused("--sites-per-thread", number, names=number)
        if is_reference():
            for option, value in (
                ("--indexing", "standard"),
                ("--load", "plain"),
                ("--threads", 32),
                ("--sites-per-thread", 1),
            ):
                self.assert_refused(option, value, names=option)
        if stage().startswith("04_"):
            self.assert_refused("--indexing", "bitwise", "--size", 12, names="power of two")
            self.assert_refused("--indexing", "sliced", names="sliced")
        if stage().startswith("05_"):
            self.assert_refused("--indexing", "bitwise", names="bitwise")

    def test_generators_of_later_stages(self):
        for generator in GENERATORS[1:]:
            if not has_all_generators():
                self.assert_refused("--generator", generator, names="minstd")

    def test_draws_for_words_of_sites(self):
        """With philox-planes samples share nothing."""
        if has_all_generators():
            self.assert_refused(
                *("--generator", "philox-planes", "--samples-per-stream", 2), names="--samples-per-stream is 2"
            )
        else:
            self.assert_refused("--generator", "philox-planes", names="--generator is philox-planes: ")

    def test_devices(self):
        self.assert_refuses_devices("--size", 8)

    @of_the_program
    def test_couplings(self):
        """The complaint about a file names it and the line. host_test.cpp knows more ways to be wrong."""
        good = (INSTANCES / "J4_mt1000.rudy").read_bytes().splitlines(keepends=True)
        wrong = {
            "empty.rudy": (b"", "line 1"),
            "text.rudy": (b"hello\n", "line 1"),
            "odd.rudy": (b"125 375\n", "125 sites"),
            "huge.rudy": (b"9223372036854775807 9223372036854775807\n1 2 1\n", "9223372036854775807 sites"),
            "large.rudy": (b"4283098624 12849295872\n1 2 1\n", "line 3"),
            "truncated.rudy": (b"".join(good[:-1]), "line 193"),
            "missing.rudy": (b"64 191\n" + b"".join(good[1:-1]), "the bond between the sites 64 and 16 is missing"),
            "more.rudy": (b"".join(good) + b"1 2 1\n", "line 194"),
            "zero.rudy": (b"".join(good[:5]) + b"2 6 0\n" + b"".join(good[6:]), "line 6"),
            "far.rudy": (b"".join(good[:5]) + b"2 7 1\n" + b"".join(good[6:]), "line 6"),
            "twice.rudy": (b"".join(good[:5]) + good[4] + b"".join(good[6:]), "line 6"),
        }
        for name, (content, complaint) in wrong.items():
            path = self.file(name, content)
            self.assert_refused("--couplings", path, names=path)
            self.assert_refused("--couplings", path, names=complaint)
        self.assert_refused("--couplings", self.folder / "none.rudy", names="none.rudy")
        self.assert_refused("--couplings", self.folder, names=self.folder)
        self.assertEqual(run("--couplings").returncode, 2)
        instance = INSTANCES / "J4_mt1000.rudy"
        self.assert_refused("--couplings", instance, "--size", 6, names=instance)
        self.assert_refused("--couplings", instance, "--samples", 2, names="--samples")
        self.assert_refused("--couplings", instance, "--ferromagnetic-fraction", 0.5, names="--ferromagnetic-fraction")
        larger = self.folder / "larger.rudy"
        result("--size", 6, "--sweeps", 0, "--write-couplings", larger)
        self.assert_refused("--couplings", instance, larger, names=larger)

    @of_the_program
    def test_outputs(self):
        for option, ending in (("--output", ".csv"), ("--averages", ".json"), ("--write-couplings", "")):
            for place in (self.folder / ("missing/b" + ending), "/proc/b" + ending):
                self.assert_refused(option, place, names=place)
        folder = self.folder / "folder.csv"
        folder.mkdir()
        for option in ("--output", "--averages", "--correlations", "--write-couplings"):
            self.assert_refused(option, folder, names=folder)
            self.assert_refused(option, "", names="")
        for option in ("--output", "--averages", "--correlations"):
            self.assert_refused(option, self.folder / "a.txt", names=".csv or .json")
        both = self.folder / "both.csv"
        self.assert_refused("--output", both, "--averages", both, names=both)
        self.assert_refused("--output", both, "--averages", f"{self.folder}/./both.csv", names="same file")
        self.assert_refused("--output", both, "--write-couplings", both, names=both)
        self.assert_refused("--write-couplings", self.folder / "a", "--samples", 2, names="--write-couplings")
        self.assert_refused("--output", "/dev/stdout", "--json", names="--json")
        self.assert_refused("--correlations", both, "--averages", both, names=both)
        self.assert_refused("--correlations", self.folder / "a.csv", "--replicas", 1, names="--replicas is 1")

    @of_the_program
    def test_full_disk(self):
        for option in ("--output", "--averages", "--correlations", "--write-couplings"):
            others = [] if option == "--output" else ["--output", self.folder / "other.csv"]
            for sweeps in (1, 2000):
                problem = ["--size", 4, "--sweeps", sweeps, "--measure", "every:1"]
                self.assert_finds_the_disk_full(*problem, option, "/dev/full", *others)


class Endings(programs.Ending):
    problem = ("--size", 8, "--samples", 40, "--device", "cpu", "--output", "a.csv", "--checkpoint", "c")

    def test_threads(self):
        if is_reference():
            self.skipTest("has no host threads")
        for kernel in ("wide", "resident") if stage().startswith("07_") else (None,):
            self.assert_says_that_it_gets_no_threads(*self.problem, *(["--kernel", kernel] if kernel else []))

    def test_memory(self):
        if is_reference():
            self.skipTest("fits into whatever its libraries leave")
        self.assert_says_that_it_gets_no_memory(*self.problem)

    def test_memory_before_it_begins(self):
        self.assert_begins_with_enough_memory_or_says_no()

    @of_the_program
    def test_settings(self):
        if is_reference():
            self.skipTest("has no CPU path")
        self.assert_refuses_settings_before_it_writes("--size", 4, "--output", "a.csv", "--checkpoint", "c")

    @of_the_program
    def test_standard_output(self):
        """The reason is that of the first write that failed."""
        with open("/dev/full", "wb") as full:
            done = subprocess.run([programs.PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=120)
        said = b"spin_glass: cannot write to standard output: No space left on device\n"
        self.assertEqual((done.returncode, done.stderr), (1, said))
        many = ["--size", 4, "--measure", "every:1", "--sweeps", 2000]
        with open("/dev/full", "wb") as full:
            done = subprocess.run([programs.PROGRAM, *map(str, many)], stdout=full, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (1, said))


# A run that measures all there is, with an odd number of samples a stream and a last measuring time of its own.
def long_run(sweeps=1500, measure="log:3"):
    shape = ["--size", 6, "--samples", 21, "--samples-per-stream", 5, "--replicas", 3]
    return [*shape, "--sweeps", sweeps, "--measure", measure]


OUTPUTS = ["--output", "states.csv", "--averages", "averages.json", "--correlations", "c4.csv"]
OUTPUTS += ["--write-couplings", *(f"couplings.{i}" for i in range(21))]


def without_end(sums):
    """Without the seconds, and the checksum."""
    return sums[:-16]


class LongRuns(programs.InFolder):
    """Runs that are saved, killed, continued. In memory, if there is such a folder: a checkpoint waits for its disk, and
    what a killed program has written is there either way."""

    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def start(self, *arguments, folder=None, **others):
        return subprocess.Popen(
            [programs.PROGRAM, *map(str, arguments)],
            cwd=folder or self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **others,
        )

    def run_there(self, *arguments, folder=None, **others):
        with self.start(*arguments, folder=folder, **others) as process:
            out, err = process.communicate(timeout=120)
        return process.returncode, out.decode(), err.decode()

    def succeed(self, *arguments, folder=None):
        code, out, err = self.run_there(*arguments, folder=folder)
        self.assertEqual((code, err), (0, ""))
        return out

    def refused(self, *arguments, names, folder=None, code=2):
        before = self.snapshot()
        self.assert_says_no(self.run_there(*arguments, folder=folder), names, code)
        self.assertEqual(self.snapshot(), before)

    def uninterrupted(self, *arguments):
        """The files of a run without any checkpoint, and its JSON object but for the seconds."""
        folder = self.folder / "uninterrupted"
        folder.mkdir()
        answer = self.without_seconds(self.succeed(*arguments, "--json", folder=folder))
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        shutil.rmtree(folder)
        return files, answer

    @staticmethod
    def without_seconds(text):
        answer = json.loads(text)
        del answer["seconds"], answer["ps_per_flip"]
        return answer

    def files(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}

    def interrupt(self, *arguments, sent=signal.SIGKILL, after=None, within=0.0):
        """Starts a run and sends it a signal: when a file exists, or at some time within so many seconds."""
        with self.start(*arguments) as process:
            if after is None:
                time.sleep(random.uniform(0, within))
            else:
                while not (self.folder / after).exists() and process.poll() is None:
                    time.sleep(0.001)
                time.sleep(0.1)  # signals are noted from then on
            process.send_signal(sent)
            out, err = process.communicate(timeout=120)
        return process.returncode, out.decode(), err.decode()

    def test_killed_at_any_moment(self):
        """As often as it may be killed: the files are those of a run that was not, and nothing else is left. Generators
        differ in what a checkpoint takes; the largest, of 624 words a stream, is written less often."""
        random.seed(1)
        for generator in GENERATORS if is_reference() else GENERATORS[:1]:
            problem = [*long_run(), "--generator", generator, *OUTPUTS, "--sums", "sums", "--write-spins", "spins"]
            expected, answer = self.uninterrupted(*problem)
            expected["sums"] = without_end(expected["sums"])
            every, first, longer = (200, 0.1, 0.05) if generator == "mt19937" else (40, 0.03, 0.02)
            arguments, kills = [*problem, "--json", "--checkpoint", "c", "--checkpoint-every", every], 0
            while True:
                code, out, err = self.interrupt(*arguments, within=first + longer * kills)
                self.assertIn(code, (0, -signal.SIGKILL), err)
                if code == 0:
                    break
                kills += 1
                self.assertLess(kills, 500)
                if (self.folder / "c").exists():
                    arguments = ["--resume", "c"]
            self.assertEqual(self.without_seconds(out), answer)
            found = self.files()
            found["sums"] = without_end(found["sums"])
            for name in ("c", "c.rows"):
                found.pop(name)
                (self.folder / name).unlink()
            self.assertEqual(found, expected, f"{generator}, after {kills} kills")
            for path in self.folder.iterdir():
                path.unlink()

    @of_the_program
    @of_the_program
    def test_killed_on_a_ladder(self):
        """Sums of a bin, walkers and accepted exchanges go on; so does a run that is made longer."""
        random.seed(2)
        ladder = ["--temperatures", "0.8:1.7:4", "--exchange-every", 3, "--copies", 3]
        shape = ["--size", 4, "--samples", 7, "--samples-per-stream", 3, *ladder, "--measure", "every:5"]
        outputs = ["--output", "states.csv", "--averages", "averages.csv", "--correlations", "c4.csv"]
        outputs += ["--distribution", "p.csv", "--sums", "sums"]
        expected, answer = self.uninterrupted(*shape, "--sweeps", 900, *outputs)
        sums = without_end(expected.pop("sums"))
        self.assertGreater(answer["averages"][-1]["round_trips"], 0)
        arguments, kills = [*shape, "--sweeps", 600, *outputs, "--json"], 0
        arguments += ["--checkpoint", "c", "--checkpoint-every", 7]
        while True:
            code, out, err = self.interrupt(*arguments, within=0.05 + 0.02 * kills)
            self.assertIn(code, (0, -signal.SIGKILL), err)
            if code == 0 and kills > 3:
                break
            kills += 1
            arguments = ["--resume", "c"] if (self.folder / "c").exists() else arguments
        out = self.succeed("--resume", "c", "--sweeps", 900)
        self.assertEqual(self.without_seconds(out), answer)
        self.assertEqual({name: data for name, data in self.files().items() if name.endswith(".csv")}, expected)
        self.assertEqual(without_end((self.folder / "sums").read_bytes()), sums)
        for wrong in (
            ["--temperatures", "0.8:1.7:5"],
            ["--copies", 2],
            ["--first-sample", 3],
            ["--spins", "x"],
            ["--exchange-every", 4],
            ["--beta", 1],
        ):
            self.refused("--resume", "c", *wrong, names=wrong[0])
        (self.folder / "c.rows").unlink()
        (self.folder / "c").unlink()
        self.succeed(*shape, "--sweeps", 12, "--checkpoint", "c")
        self.refused("--resume", "c", "--sweeps", 20, names="--sweeps is 20: after 12 the run measured")

    def test_signals_end_it_well(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            code, out, err = self.interrupt(
                *long_run(10**8), *OUTPUTS, "--checkpoint", "c", "--json", sent=number, after="c.rows"
            )
            self.assertEqual((code, out), (128 + number, ""))
            self.assertRegex(
                err,
                rf"\Aspin_glass: ended by signal {int(number)} after \d+ of 100000000 sweeps; "
                r"--resume c continues\n\Z",
            )
            self.assertEqual(set(self.files()), {"c", "c.rows"})
            done = int(err.split(" after ")[1].split()[0])
            expected, answer = self.uninterrupted(*long_run(done + 500), *OUTPUTS)
            out = self.succeed("--resume", "c", "--sweeps", done + 500)
            self.assertEqual(self.without_seconds(out), answer)
            self.assertEqual(self.files() | expected, self.files())
            for path in self.folder.iterdir():
                path.unlink()

    @of_the_program
    def test_without_checkpoint_a_signal_ends_it_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            code, _, err = self.interrupt(
                "--size", 6, "--sweeps", 10**8, "--output", "a.csv", sent=number, after="a.csv.psflip.part"
            )
            killed = number == signal.SIGKILL
            self.assertEqual(code, -number)
            self.assertEqual(err, "" if killed else f"spin_glass: ended by signal {int(number)}\n")
            self.assertEqual(set(self.files()), {"a.csv.psflip.part"} if killed else set())
        self.succeed("--size", 6, "--output", "a.csv")
        self.assertEqual(set(self.files()), {"a.csv"})  # what was left is gone

    @of_the_program
    def test_a_signal_while_it_starts(self):
        """Before there is a checkpoint, and before the one that was there is continued."""
        large = ["--size", 48, "--samples", 4, "--sweeps", 10**8, "--output", "a.csv", "--checkpoint", "c"]
        expected = {}
        for arguments in (large, ["--resume", "c"]):
            for delay in (0, 0.05):
                with self.start(*arguments) as process:
                    while not (self.folder / "c.psflip.part").exists() and process.poll() is None:
                        pass
                    time.sleep(delay)
                    process.send_signal(signal.SIGTERM)
                    _, err = process.communicate(timeout=120)
                if "after" in err.decode():  # it had begun
                    self.assertEqual(process.returncode, 128 + signal.SIGTERM)
                    for path in [] if expected else self.folder.iterdir():
                        path.unlink()
                    continue
                self.assertEqual((process.returncode, err), (-signal.SIGTERM, b"spin_glass: ended by signal 15\n"))
                self.assertEqual(self.files(), expected)
            self.interrupt(*large, sent=signal.SIGTERM, after="c.rows")
            expected = self.files()
            self.assertEqual(set(expected), {"c", "c.rows"})

    @of_the_program
    def test_extended(self):
        """A run that was short first is the long one, also where it measured at its end."""
        for rule in ("log:3", "every:7", "end"):
            expected, answer = self.uninterrupted(*long_run(measure=rule), *OUTPUTS)
            self.succeed(*long_run(100, rule), *OUTPUTS, "--checkpoint", "c", "--json")
            self.succeed("--resume", "c")  # all is done, and written again
            self.succeed("--resume", "c", "--sweeps", 555)
            out = self.succeed("--resume", "c", "--sweeps", 1500)
            self.assertEqual(self.without_seconds(out), answer)
            self.assertEqual(self.files() | expected, self.files())
            self.refused("--resume", "c", "--sweeps", 1499, names="--sweeps is 1499: 1500 are done")
            for path in self.folder.iterdir():
                path.unlink()

    @of_the_program
    def test_seconds_add_up(self):
        short = json.loads(self.succeed("--size", 8, "--sweeps", 200, "--checkpoint", "c", "--json"))
        again = json.loads(self.succeed("--resume", "c"))
        longer = json.loads(self.succeed("--resume", "c", "--sweeps", 201))
        self.assertEqual(again, short)
        self.assertGreater(longer["seconds"], short["seconds"])

    def test_resumed_with_draws_for_words_of_sites(self):
        if not has_all_generators():
            return
        problem = ["--size", 8, "--samples", 3, "--replicas", 5, "--generator", "philox-planes"]
        self.succeed(*problem, "--sweeps", 77, "--checkpoint", "c")
        again = json.loads(self.succeed("--resume", "c", "--sweeps", 150, "--json"))
        self.assertEqual(again["problem"]["samples_per_stream"], 1)
        self.assertEqual(again["hash"], result(*problem, "--sweeps", 150)["hash"])
        self.assertEqual(result("--size", 8, "--sweeps", 4, "--generator", "philox-planes")["hash"], "dab533d38971589d")

    def test_resumed_on_another_launch(self):
        launches = {
            "04_checkerboard": [["--indexing", "bitwise"], ["--threads", 33]],
            "05_sliced": [["--indexing", "standard-grid"], ["--sites-per-thread", 2, "--load", "plain"]],
            "06_prng": [["--indexing", "standard"], ["--indexing", "bitwise"], ["--sites-per-thread", 4]],
            "07_amsc": [
                ["--kernel", "update"],
                ["--kernel", "wide"],
                ["--kernel", "overlapped"],
                ["--kernel", "resident", "--cluster", 2],
                ["--kernel", "small", "--cluster", 3],
            ],
            "08_mpi": [
                ["--transport", "staged"],
                ["--transport", "peer"],
                ["--kernel", "wide"],
                ["--kernel", "overlapped"],
            ],
        }
        for generator in GENERATORS if has_all_generators() else GENERATORS[:1]:
            problem = ["--size", 8, "--samples", 3, "--generator", generator]
            expected = result(*problem, "--sweeps", 300)["hash"]
            for launch in launches.get(stage(), [[]]):
                if "overlapped" in launch and generator != "philox":
                    continue
                self.succeed(*problem, "--sweeps", 77, "--checkpoint", "c")
                said = json.loads(self.succeed("--resume", "c", "--sweeps", 155, *launch, "--json"))
                if launch:
                    self.assertEqual(said["launch"][launch[0][2:].replace("-", "_")], launch[1])
                again = json.loads(self.succeed("--resume", "c", "--sweeps", 300, "--json"))
                self.assertEqual(again["hash"], expected)
                self.assertEqual(again["launch"], said["launch"])  # as before, unless it is told
                (self.folder / "c").unlink()

    @of_the_program
    def test_outputs_may_move(self):
        self.succeed(*"--size 4 --samples 2 --output a.csv --averages b.csv --checkpoint c --measure log".split())
        other = self.folder / "other"
        other.mkdir()
        for name in ("c", "c.rows"):
            (self.folder / name).rename(other / name)
        self.succeed("--resume", other / "c", "--output", "new.csv", folder=other)
        self.assertEqual((other / "new.csv").read_bytes(), (self.folder / "a.csv").read_bytes())
        self.assertEqual((other / "b.csv").read_bytes(), (self.folder / "b.csv").read_bytes())  # beside its checkpoint

    @of_the_program
    def test_a_folder_may_be_copied_or_moved(self):
        """Its run goes on there, from wherever it is resumed, and the original stays as it was."""
        expected, answer = self.uninterrupted(*long_run(), *OUTPUTS)
        folder = self.folder / "run"
        (folder / "saved").mkdir(parents=True)
        absolute = [str(folder / name) if name.endswith(".csv") else name for name in OUTPUTS]
        (self.folder / "elsewhere").mkdir()
        outside = self.folder / "elsewhere" / "c4.csv"
        for checkpoint, outputs in (("c", OUTPUTS), ("c", absolute), ("saved/c", OUTPUTS)):
            self.succeed(*long_run(700), *outputs, "--checkpoint", checkpoint, folder=folder)
            before = self.snapshot()
            copy = self.folder / "copy"
            shutil.copytree(folder, copy)
            for name, place in ((checkpoint, copy), (f"copy/{checkpoint}", self.folder)):
                out = self.succeed("--resume", name, "--sweeps", 1500, "--json", folder=place)
                self.assertEqual(self.without_seconds(out), answer)
                self.assertEqual({name: (copy / name).read_bytes() for name in expected}, expected)
                self.assertEqual({path: before.get(path) for path in before}, before)
                for name in expected:
                    (copy / name).unlink()
            self.assertEqual({path: path.read_bytes() for path in before}, before)
            for path in [*copy.rglob("*"), *folder.rglob("*")]:
                if path.is_file():
                    path.unlink()
            shutil.rmtree(copy)
        # A name that leads out of the folder leads there from everywhere.
        self.succeed("--size", 4, "--averages", outside, "--checkpoint", "c", folder=folder)
        outside.unlink()
        folder.rename(self.folder / "moved")
        self.succeed("--resume", self.folder / "moved" / "c")
        self.assertTrue(outside.exists())

    @of_the_program
    def test_couplings_move_with_the_folder(self):
        folder = self.folder / "run"
        folder.mkdir()
        shutil.copy(INSTANCES / "J4_mt1000.rudy", folder / "j.rudy")
        self.succeed("--couplings", "j.rudy", "--checkpoint", "c", folder=folder)
        folder.rename(self.folder / "moved")
        answer = json.loads(self.succeed("--resume", "moved/c", "--sweeps", 150, "--json"))
        self.assertEqual(answer["problem"]["couplings"], ["moved/j.rudy"])
        self.assertEqual(answer["hash"], result("--couplings", INSTANCES / "J4_mt1000.rudy", "--sweeps", 150)["hash"])

    @of_the_program
    def test_nothing_is_written_over(self):
        """Two names of a call that are one file, and what belongs to another run."""
        instance = (INSTANCES / "J4_mt1000.rudy").read_bytes()
        for name in ("j.csv", "j", "o.csv.psflip.part", "d.rows"):
            self.file(name, instance)
        os.link(self.folder / "j.csv", self.folder / "hard.csv")
        (self.folder / "soft.csv").symlink_to("j.csv")
        for name in ("j.csv", "./j.csv", "hard.csv", "soft.csv"):
            self.refused("--couplings", "j.csv", "--output", name, names="which is read")
        self.refused("--couplings", "o.csv.psflip.part", "--output", "o.csv", names="which is read")
        self.refused("--couplings", "d.rows", "--checkpoint", "d", names="d.rows")
        self.refused("--couplings", "j", "--checkpoint", "j", names="j: it exists")
        self.refused("--size", 4, "--output", "soft.csv", "--averages", "hard.csv", names="same file")
        self.refused("--size", 4, "--checkpoint", "d", names="d.rows exists")  # and is not emptied
        for ending in ("part", "lock"):
            self.refused("--size", 4, "--write-couplings", f"x.psflip.{ending}", names="not complete")
        self.succeed("--size", 4, "--checkpoint", "c", "--output", "o.csv")
        self.refused("--size", 4, "--write-couplings", "c.rows", names="the checkpoint c")
        self.refused("--resume", "c", "--averages", "j.csv", "--write-couplings", "hard.csv", names="same file")

    @of_the_program
    def test_links(self):
        """They are followed, also to files that are not there yet; not in circles."""
        other = self.folder / "other"
        other.mkdir()
        for name in ("a.csv", "c"):
            (self.folder / name).symlink_to(other / name)
        self.succeed("--size", 4, "--output", "a.csv", "--checkpoint", "c", "--sweeps", 7)
        self.assertEqual({path.name for path in other.iterdir()}, {"a.csv", "c"})
        self.succeed("--resume", "c", "--sweeps", 9)
        self.assertTrue((self.folder / "a.csv").is_symlink() and (self.folder / "c").is_symlink())
        (self.folder / "loop.csv").symlink_to("pool.csv")
        (self.folder / "pool.csv").symlink_to("loop.csv")
        for option in ("--output", "--couplings", "--write-couplings", "--checkpoint"):
            self.refused("--size", 4, option, "loop.csv", names="Too many levels of symbolic links")
        self.refused("--resume", "loop.csv", names="loop.csv")

    @of_the_program
    def test_existing_checkpoints_are_not_overwritten(self):
        self.succeed("--size", 4, "--checkpoint", "c")
        self.refused("--size", 4, "--checkpoint", "c", names="--resume")
        self.refused("--size", 4, "--checkpoint", "/dev/null", names="/dev/null")
        self.refused("--size", 4, "--checkpoint", "missing/c", names="missing/c")
        self.refused("--size", 4, "--checkpoint", "d", "--output", "d", names="d")
        self.refused("--size", 4, "--checkpoint", "d.csv", "--output", "d.csv", names="d.csv")
        for every in ("", 0, -1, "10s", "1.5h", "h", "007", "07m", "+7"):
            self.refused("--size", 4, "--checkpoint", "d", "--checkpoint-every", every, names="--checkpoint-every")
        self.refused("--size", 4, "--checkpoint-every", 5, names="--checkpoint-every")
        (self.folder / "e.rows").mkdir()
        self.refused("--size", 4, "--checkpoint", "e", names="e.rows")

    @of_the_program
    def test_two_at_a_time(self):
        with self.start("--size", 4, "--sweeps", 10**9 // 4, "--checkpoint", "c") as process:
            try:
                while not (self.folder / "c").exists():
                    time.sleep(0.01)
                time.sleep(0.05)
                code, _, err = self.run_there("--resume", "c")
                self.assertEqual((code, err), (2, "spin_glass: c: another program is writing it\n"))
            finally:
                process.kill()

    @of_the_program
    def test_the_first_of_two_never_notices(self):
        with self.start("--size", 4, "--sweeps", 10**8, "--checkpoint", "c", "--checkpoint-every", 1) as process:
            try:
                while not (self.folder / "c").exists():
                    time.sleep(0.01)
                for _ in range(30):
                    code, _, err = self.run_there("--resume", "c")
                    self.assertEqual((code, err), (2, "spin_glass: c: another program is writing it\n"))
                process.send_signal(signal.SIGTERM)  # it is there to save itself, and says so
                self.assertEqual(process.wait(timeout=60), 128 + signal.SIGTERM)
            finally:
                process.kill()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["c"])

    @of_the_program
    def test_one_of_several_that_start_at_once_runs(self):
        for trial in range(10):
            command = ("--size", 4, "--sweeps", 50, "--checkpoint", f"c{trial}")
            processes = [self.start(*command) for _ in range(4)]
            for process in processes:
                process.communicate(timeout=120)
            self.assertEqual(sorted(process.returncode for process in processes), [0, 2, 2, 2])

    @of_the_program
    def test_damaged_and_foreign(self):
        self.succeed("--size", 4, "--samples", 2, "--output", "a.csv", "--checkpoint", "c", "--measure", "log")
        good = (self.folder / "c").read_bytes()
        for content, complaint in (
            (b"", "not a checkpoint"),
            (b"hello\n" * 100, "not a checkpoint"),
            (good[:-1], "damaged"),
            (good + b"\0", "damaged"),
            (good[:1000], "damaged"),
            (good[:8] + b"\2" + good[9:], "version 2"),
            *((good[:i] + bytes([good[i] ^ 4]) + good[i + 1 :], "c: ") for i in random.sample(range(len(good)), 20)),
        ):
            (self.folder / "c").write_bytes(content)
            self.refused("--resume", "c", names=complaint)
        (self.folder / "c").write_bytes(good)
        self.refused("--resume", "missing", names="missing")
        self.refused("--resume", ".", names=".")
        self.refused("--resume", "a.csv", names="not a checkpoint")
        rows = (self.folder / "c.rows").read_bytes()
        for content in (b"", rows[:-1], rows[:9] + b"x" + rows[10:]):
            (self.folder / "c.rows").write_bytes(content)
            self.refused("--resume", "c", names="c.rows")
        (self.folder / "c.rows").write_bytes(rows + b"what a killed run added")
        self.succeed("--resume", "c")
        self.assertEqual((self.folder / "c.rows").read_bytes(), rows)

    @of_the_program
    def test_crafted(self):
        """A description that no run has, with the right checksum. host_test.cpp knows more ways to be wrong."""
        self.succeed(*"--size 4 --samples 2 --output a.csv --correlations b.csv --measure log --checkpoint c".split())
        good = (self.folder / "c").read_bytes()
        (length,) = struct.unpack("<Q", good[16:24])
        description, rest = json.loads(good[24 : 24 + length]), good[24 + length : -8]

        def craft(description, rest):
            text = json.dumps(description, separators=(",", ":")).encode()
            content = good[:16] + struct.pack("<Q", len(text)) + text + rest
            checksum = 0xCBF29CE484222325
            for byte in content:
                checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
            (self.folder / "c").write_bytes(content + struct.pack("<Q", checksum))

        options = description["options"]
        for wrong in (
            {"options": options | {"--samples-per-stream": 0}},
            {"options": options | {"--samples": 1e300}},
            {"options": options | {"--size": -4}},
            {"options": options | {"--replicas": 2**62}},
            {"options": options | {"--generator": "curand-philox"}},
            {"options": options | {"--generator": 6}},
            {"options": options | {"--start": 2}},
            {"options": options | {"--kernel": 5}},
            {"options": options | {"--kernel": "x\ny"}},
            {"options": options | {"--threads": 10**30}},
            {"options": options | {"--measure": "every:0"}},
            {"options": options | {"--temperature": None}},
            {"sweeps": -1},
            {"sweeps": 101},
            {"averages": 0},
            {"averages": 2**60},
            {"averages": 1e300},
            {"stream_words": 2**60},
            {"couplings_hash": "x\ny"},
            {"rows": {"records": 2**62, "checksum": 1.5}},
            {"rows": None},
        ):
            with self.subTest(wrong):
                craft(description | wrong, rest)
                self.refused("--resume", "c", names="c: not a checkpoint of spin_glass")
        for row in (struct.pack("<d", math.nan), struct.pack("<2d", 0, math.inf)):
            craft(description, row + rest[len(row) :])
            self.refused("--resume", "c", names="average")
        craft(description, rest[:-4] + bytes(4))
        self.refused("--resume", "c", names="the state of a random stream")
        craft(description, rest)
        self.succeed("--resume", "c", "--sweeps", 200)

    @of_the_program
    def test_contradictions(self):
        self.succeed("--size", 4, "--samples", 2, "--checkpoint", "c", "--write-couplings", "a.rudy", "b.rudy")
        for option, value in (
            ("--size", 6),
            ("--temperature", 2),
            ("--beta", 2),
            ("--samples", 3),
            ("--replicas", 2),
            ("--samples-per-stream", 1),
            ("--seed", 43),
            ("--start", "ordered"),
            ("--ferromagnetic-fraction", 0.6),
            ("--measure", "log"),
            ("--output", "a.csv"),
            ("--correlations", "a.csv"),
            ("--checkpoint", "d"),
            ("--checkpoint", ""),
            ("--generator", "philox"),
            ("--couplings", "a.rudy"),
            ("--sweeps", 99),
        ):
            self.refused("--resume", "c", option, value, names=f"{option} is {value}")
        self.succeed("--resume", "c", "--size", 4, "--temperature", 1.1, "--seed", 42, "--checkpoint", "./c")

    def test_given_couplings(self):
        names = ["a.rudy", "b.rudy"]
        self.succeed("--size", 4, "--samples", 2, "--sweeps", 0, "--write-couplings", *names)
        expected = json.loads(self.succeed("--couplings", *names, "--sweeps", 50, "--json"))
        self.succeed("--couplings", *names, "--sweeps", 20, "--checkpoint", "c")
        self.assertEqual(json.loads(self.succeed("--resume", "c", "--sweeps", 50, "--json"))["hash"], expected["hash"])
        self.refused("--resume", "c", "--couplings", "b.rudy", "a.rudy", names="--couplings")
        self.refused("--resume", "c", "--ferromagnetic-fraction", 0.5, names="--ferromagnetic-fraction")
        (self.folder / "a.rudy").rename(self.folder / "moved.rudy")
        self.refused("--resume", "c", names="a.rudy")
        self.succeed("--resume", "c", "--couplings", "moved.rudy", "b.rudy")

    @of_the_program
    def test_full_disk(self):
        """Files cannot grow beyond a limit: one line, and the last checkpoint is good."""

        def limit(size):
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        problem = ["--size", 4, "--samples", 8, "--sweeps", 3000, "--measure", "every:5"]
        expected, answer = self.uninterrupted(*problem, "--output", "states.csv")
        full = self.run_there(
            *problem, "--output", "states.csv", "--checkpoint", "c", "--checkpoint-every", 100, preexec_fn=limit(60000)
        )
        self.assertEqual(full[0], 2)
        self.assertRegex(full[2], r"\Aspin_glass: [^\n]+cannot be written: File too large\n\Z")
        self.assertEqual(set(self.files()), {"c", "c.rows"})
        again = self.run_there("--resume", "c", preexec_fn=limit(60000))  # as full as before
        self.assertEqual(again[0], 2)
        out = self.succeed("--resume", "c", "--json")
        self.assertEqual(self.without_seconds(out), answer)
        self.assertEqual((self.folder / "states.csv").read_bytes(), expected["states.csv"])

        # The checkpoint itself: not even the first.
        for path in self.folder.iterdir():
            path.unlink()
        full = self.run_there(*problem, "--output", "states.csv", "--checkpoint", "c", preexec_fn=limit(1000))
        self.assertEqual(full[0], 2)
        self.assertRegex(full[2], r"\Aspin_glass: c: cannot be written: File too large\n\Z")
        self.assertEqual(self.files(), {})

    @of_the_program
    def test_progress_on_a_terminal(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [programs.PROGRAM, "--size", "4", "--sweeps", "100000000"], stdout=subprocess.DEVNULL, stderr=theirs
        ) as process:
            os.close(theirs)
            text = b""
            while b" left" not in text:
                text += os.read(ours, 1000)
            process.terminate()
        os.close(ours)
        self.assertRegex(text.decode(), r"\r\d+ of 100000000 sweeps \(\d+ %\), \d+ (s|min|h \d\d min|d \d\d h) left")

    def test_generators_that_cannot_go_on(self):
        done = run("--size", 4, "--generator", "curand-xorwow", "--json")
        if done.returncode == 0:
            self.refused("--generator", "curand-xorwow", "--checkpoint", "c", names="--generator")


class Merging(programs.InFolder):
    """Jobs with some of the samples each are one run of all of them."""

    TABLES = (("--output", "rows.csv"), ("--averages", "averages.json"))
    CORRELATIONS, DISTRIBUTION = ("--correlations", "c4.csv"), ("--distribution", "p.json")

    def ask(self, *arguments, code=0):
        done = subprocess.run([programs.PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def tables(self, folder, more):
        (self.folder / folder).mkdir()
        return [word for option, name in (*self.TABLES, *more) for word in (option, f"{folder}/{name}")]

    def jobs(self, problem, samples, each, *more):
        """The names of their sums."""
        for first in range(0, samples, each):
            now = ["--samples", min(each, samples - first), "--first-sample", first, "--sums", f"{first}.sums"]
            self.ask(*problem, *now, *(word.format(first) if isinstance(word, str) else word for word in more))
        return [f"{first}.sums" for first in range(0, samples, each)]

    def assert_ten_jobs_are_one_run(self, *problem, more=()):
        tables = self.tables("one", more)
        one = self.ask(*problem, "--samples", 38, *tables, "--sums", "all.sums", "--json")
        for name, value in json.loads(one)["launch"].items():  # else fewer samples may be launched in another way
            problem += (f"--{name.replace('_', '-')}", value) if value is not None else ()
        self.tables("job", more)
        jobs = self.jobs(problem, 38, 4, *(name.replace("one/", "job/{}") for name in tables))
        self.assertEqual(len(jobs), 10)
        tables = self.tables("merged", more)
        random.Random(1).shuffle(jobs)
        merged = self.ask("--merge", *jobs, "--samples", 38, *tables, "--sums", "merged.sums", "--json")
        for file in (self.folder / "one").iterdir():
            self.assertEqual((self.folder / "merged" / file.name).read_bytes(), file.read_bytes(), file.name)
        self.assertEqual(LongRuns.without_seconds(merged), LongRuns.without_seconds(one))
        # What was merged can be merged.
        self.ask("--merge", "merged.sums", "--averages", "again.json")
        self.assertEqual((self.folder / "again.json").read_bytes(), (self.folder / "one/averages.json").read_bytes())
        for name in ("one", "job", "merged"):
            shutil.rmtree(self.folder / name)

    PROBLEM = ("--size", 4, "--sweeps", 24, "--samples-per-stream", 2)

    def test_ten_jobs_are_one_run(self):
        self.assert_ten_jobs_are_one_run(*self.PROBLEM, "--measure", "log:2", more=[self.CORRELATIONS])

    def test_on_a_ladder(self):
        ladder = ("--temperatures", "0.9:2:4", "--exchange-every", 2)
        self.assert_ten_jobs_are_one_run(*self.PROBLEM, *ladder, more=[self.CORRELATIONS, self.DISTRIBUTION])

    def test_with_draws_for_words_of_sites(self):
        if stage()[:3] not in ("00_", "07_"):
            self.skipTest("another stage has them")
        self.assert_ten_jobs_are_one_run("--size", 4, "--sweeps", 24, "--generator", "philox-planes")

    @of_the_program
    def test_given_couplings(self):
        names = [f"{i}.txt" for i in range(4)]
        problem = ("--size", 4, "--sweeps", 3, "--samples-per-stream", 2)
        self.ask(*problem, "--samples", 4, "--write-couplings", *names)
        self.ask(*problem, "--couplings", *names, "--averages", "one.csv")
        for first in (0, 2):
            now = ["--couplings", *names[first : first + 2], "--first-sample", first]
            self.ask(*problem, *now, "--sums", f"{first}.sums")
        self.ask("--merge", "0.sums", "2.sums", "--averages", "merged.csv")
        self.assertEqual((self.folder / "merged.csv").read_bytes(), (self.folder / "one.csv").read_bytes())

    @of_the_program
    def test_what_is_missing_doubled_or_foreign_is_named(self):
        jobs = self.jobs(self.PROBLEM, 20, 4)
        shutil.copy(self.folder / "4.sums", self.folder / "copy")
        self.ask(*self.PROBLEM, "--samples", 4, "--first-sample", 4, "--seed", 8, "--sums", "other")
        self.ask(*self.PROBLEM, "--samples", 4, "--first-sample", 4, "--measure", "log", "--sums", "log")
        self.ask(*self.PROBLEM, "--samples", 4, "--first-sample", 4, "--write-spins", "spins")
        (self.folder / "damaged").write_bytes((self.folder / "4.sums").read_bytes()[:-9])

        def refused(*arguments, names):
            before = self.snapshot()
            said = self.ask("--merge", *arguments, "--averages", "all.csv", code=2)
            self.assertIn(names, said)
            self.assertEqual(said.count("\n"), 1)
            self.assertEqual(self.snapshot(), before)

        refused(*jobs[:2], *jobs[3:], names="samples 8 to 11 are in no file")
        refused(*jobs, "copy", names="4.sums and copy both have samples 4 to 7")
        refused(*jobs[:2], *jobs[4:], "copy", names="both have samples 4 to 7; samples 8 to 15 are in no file")
        refused(*jobs, "--samples", 24, names="samples 20 to 23 are in no file")
        refused(*jobs[1:], "--samples", 20, "--first-sample", 0, names="samples 0 to 3 are in no file")
        refused(*jobs, "--samples", 18, names="16.sums has samples 16 to 19, asked for are samples 0 to 17")
        refused(jobs[0], "other", names="other: a part of another run: its --seed is 8; 0.sums has 42")
        refused(jobs[0], "log", names='its --measure is "log"; 0.sums has "end"')
        refused(jobs[0], "spins", names="spins: not a file of sums of spin_glass")
        refused(jobs[0], "damaged", names="damaged: damaged")
        refused(jobs[0], "--correlations", "c.csv", names="0.sums has none")
        refused(*jobs, "--seed", 9, names="--seed")

    @of_the_program
    def test_spins_go_out_and_in(self):
        first = ("--size", 4, "--samples", 6, "--samples-per-stream", 2, "--replicas", 3)
        out = json.loads(self.ask(*first, "--sweeps", 5, "--write-spins", "spins", "--json"))
        back = json.loads(self.ask(*first, "--sweeps", 0, "--spins", "spins", "--json"))
        self.assertEqual(back["hash"], out["hash"])
        self.assertEqual((back["problem"]["spins"], back["problem"]["start"]), ("spins", None))
        # Some of the samples, with the streams of theirs; and a checkpoint does not need the file.
        for name, at in (("one", first), ("part", (*first, "--samples", 2, "--first-sample", 4))):
            shape = at if name == "one" else ("--size", 4, "--samples-per-stream", 2, "--replicas", 3, *at[-4:])
            self.ask(*shape, "--sweeps", 4, "--spins", "spins", "--checkpoint", name, "--write-spins", f"{name}.spins")
        (self.folder / "spins").rename(self.folder / "gone")
        self.ask("--resume", "part", "--sweeps", 7, "--output", "x.csv", code=2)
        more = [json.loads(self.ask("--resume", name, "--sweeps", 7, "--json")) for name in ("one", "part")]
        bits = [(self.folder / f"{name}.spins").read_bytes()[:-8] for name in ("one", "part")]
        self.assertEqual(bits[1][-2 * 3 * 8 :], bits[0][-2 * 3 * 8 :])
        self.assertNotEqual(more[0]["hash"], more[1]["hash"])

        shape = ("--size", 4, "--samples-per-stream", 2, "--spins", "gone")
        for wrong, names in (
            (("--replicas", 4), "gone: its spins are of L = 4, samples 0 to 5, replicas: 3; the run has"),
            (("--replicas", 3, "--samples", 7), "samples 0 to 6"),
            (("--replicas", 3, "--first-sample", 6), "sample"),
            (("--start", "ordered"), "--start"),
        ):
            self.assertIn(names, self.ask(*shape, *wrong, code=2))
        self.assertIn("not a file of spins", self.ask("--size", 4, "--spins", "one", code=2))
        self.assertIn("cannot be opened", self.ask("--size", 4, "--spins", "nothing", code=2))


class Runs(programs.Printing):
    def test_hashes(self):
        """Computed with a separate program that shares no line with psFlip; every stage gives them."""

        def said(*arguments):
            answer = result(*arguments)
            return answer["hash"], answer["magnetisation"], answer["energy"]

        self.assertEqual(
            said("--size", 4, "--sweeps", 10, "--samples", 3, "--replicas", 2, "--samples-per-stream", 2),
            ("8f854789065897e5", 4, -628),
        )
        self.assertEqual(
            said(
                *(
                    "--size 6 --beta 0.5 --sweeps 3 --samples 2 --replicas 5 --samples-per-stream 1 --seed 7 "
                    "--ferromagnetic-fraction 0.7 --start ordered"
                ).split()
            ),
            ("5f27477ecf4fe582", 690, -3024),
        )
        self.assertEqual(said("--size", 8, "--sweeps", 4), ("450cfbd6984c93fe", -70, -3204))

    def test_hashes_of_all_generators(self):
        hashes = ("450cfbd6984c93fe", "6f34aade112bd1e6", "b9cc163b82f5e509", "2e4d1d258889538a")
        for generator, expected in zip(GENERATORS, hashes):
            if has_all_generators() or generator == "minstd":
                self.assertEqual(result("--size", 8, "--sweeps", 4, "--generator", generator)["hash"], expected)

    def test_hashes_of_all_launches(self):
        launches = {
            "04_checkerboard": [["--indexing", "standard"], ["--indexing", "bitwise"], ["--threads", 33]],
            "05_sliced": [
                ["--indexing", "sliced-grid"],
                ["--indexing", "standard-grid"],
                ["--load", "texture"],
                ["--sites-per-thread", 2, "--load", "plain"],
            ],
            "06_prng": [["--indexing", "standard"], ["--indexing", "bitwise"], ["--sites-per-thread", 4]],
        }
        for launch in launches.get(stage(), []):
            answer = result("--size", 8, "--sweeps", 4, *launch)
            self.assertEqual(answer["hash"], "450cfbd6984c93fe", launch)
            self.assertEqual(answer["launch"][launch[0][2:].replace("-", "_")], launch[1])

    def test_a_ladder(self):
        """The same bits in every stage; temperatures as a range are those of the list; averages are those of the rows."""
        shape = ["--size", 4, "--samples", 40, "--samples-per-stream", 8, "--sweeps", 96, "--exchange-every", 4]
        rows, averages = self.folder / "rows.csv", self.folder / "averages.csv"
        correlations, distribution = self.folder / "c4.csv", self.folder / "p.csv"
        files = [
            "--output",
            rows,
            "--averages",
            averages,
            "--correlations",
            correlations,
            "--distribution",
            distribution,
        ]
        answer = result(*shape, "--temperatures", "0.9:2:4", *files)
        self.assertEqual(answer["hash"], "3525f1dd44b5f73d")
        listed = result(*shape, "--temperatures", "0.9,1.17446,1.532619,2", "--copies", 2)
        self.assertEqual(listed["hash"], answer["hash"])
        problem = answer["problem"]
        self.assertEqual(problem["temperatures"], [0.9, 1.17446, 1.532619, 2])
        self.assertEqual((problem["copies"], problem["exchange_every"], problem["replicas"]), (2, 4, 8))
        self.assertEqual((problem["beta"], problem["temperature"], problem["measure"]), (None, None, "every:4"))

        of_last_bin = [row for row in read_csv(rows)[1] if int(row["sweep"]) > 64]
        found = [row for row in read_csv(averages)[1] if int(row["sweep"]) == 96]
        self.assertEqual([float(row["temperature"]) for row in found], problem["temperatures"])
        for row in found:
            here = [one for one in of_last_bin if float(one["temperature"]) == float(row["temperature"])]
            self.assertEqual((row["sweep_first"], row["measurements"], len(here)), ("68", "8", 8 * 40 * 2))
            energies = [float(one["energy"]) / 64 for one in here]
            overlaps = [float(one["overlap_1"]) / 64 for one in here if one["overlap_1"]]
            self.assertEqual(len(overlaps), 8 * 40)
            self.assertAlmostEqual(float(row["e"]), sum(energies) / len(energies), 12)
            second, fourth = (sum(q**k for q in overlaps) / len(overlaps) for k in (2, 4))
            self.assertAlmostEqual(float(row["q2"]), second, 12)
            self.assertAlmostEqual(float(row["binder"]), (3 - fourth / second**2) / 2, 12)
            # xi from chi, k and the relation between them
            waves = 2 * math.sin(math.pi / 4) * 4 * float(row["xi_l"])
            self.assertAlmostEqual(waves**2, float(row["chi_sg"]) / float(row["chi_k"]) - 1, 9)
            product = 0
            for sample in range(40):
                of = [
                    [float(o["energy"]) / 64 for o in here if o["sample"] == str(sample) and o["copy"] == c]
                    for c in "01"
                ]
                product += sum(of[0]) / 8 * sum(of[1]) / 8 / 40
            c = 64 / float(row["temperature"]) ** 2 * (sum(e * e for e in energies) / len(energies) - product)
            self.assertAlmostEqual(float(row["c"]), c, 9)
            self.check_distribution(row, overlaps, read_csv(distribution)[1])
            c4 = [one for one in read_csv(correlations)[1] if all(one[key] == row[key] for key in SAME)]
            self.assertEqual([one["r"] for one in c4], ["0", "1", "2"])
            self.assertEqual(float(c4[0]["c4"]), 1)
            for key in ("", "_error"):  # at L = 4 the bonds are all the pairs of distance 1
                self.assertAlmostEqual(float(c4[1][f"c4{key}"]), float(row[f"q_link{key}"]), 12)
        for at, fitted in ((0, (0, 1, 2)), (1, (0, 1, 2)), (2, (1, 2, 3)), (3, (1, 2, 3))):
            b, e = (
                [f(found[i]) for i in fitted] for f in (lambda r: 1 / float(r["temperature"]), lambda r: float(r["e"]))
            )
            # Newton's parabola e0 + s (b - b0) + k (b - b0) (b - b1)
            s, then = (e[1] - e[0]) / (b[1] - b[0]), (e[2] - e[1]) / (b[2] - b[1])
            slope = s + (then - s) / (b[2] - b[0]) * (2 / float(found[at]["temperature"]) - b[0] - b[1])
            self.assertAlmostEqual(float(found[at]["c_derivative"]), -slope / float(found[at]["temperature"]) ** 2, 9)
        self.assertEqual([row["acceptance"] == "" for row in found], [False, False, False, True])
        self.assertTrue(all(0.2 < float(row["acceptance"]) < 0.95 for row in found[:-1]))

    @of_the_program
    def test_temperatures_that_exchange_alike(self):
        shape = ["--size", 8, "--samples", 16, "--sweeps", 256, "--exchange-every", 2]

        def acceptances(temperatures):
            answer = result(*shape, "--temperatures", temperatures)
            last = [one["acceptance"] for one in answer["averages"] if one["sweep"] == 256]
            return answer, last[:-1]

        answer, alike = acceptances("auto:0.6:3:10")
        _, linear = acceptances("0.6:3:10:linear")
        self.assertLess(max(alike) - min(alike), 0.09)
        self.assertGreater(max(linear) - min(linear), 0.25)
        made = answer["problem"]["temperatures"]
        self.assertEqual((made[0], made[-1], len(made)), (0.6, 3, 10))
        again = result(*shape, "--temperatures", ",".join(map(str, made)))
        self.assertEqual((again["hash"], again["problem"]), (answer["hash"], answer["problem"]))
        text = run("--size", 4, "--sweeps", 0, "--temperatures", "auto:0.6:3:10").stdout.decode()
        self.assertEqual(re.search("^ladder +(.*)", text, re.M)[1], ",".join(map(str, map(float, made))))

    @of_the_program
    def test_overlaps_of_random_spins(self):
        """P(q) at infinite temperature is that of 64 coins."""
        shape = [
            "--size",
            4,
            "--samples",
            4000,
            "--samples-per-stream",
            1,
            "--sweeps",
            0,
            "--temperatures",
            "1000,2000",
        ]
        file = self.folder / "p.csv"
        result(*shape, "--copies", 3, "--distribution", file)
        bins = [row for row in read_csv(file)[1] if row["temperature"] == "1000"]
        squares = 0
        for i, row in enumerate(bins):
            exact = sum(math.comb(64, k) for k in range(5 * i, 5 * i + 5)) / 2**64
            pairs, found = 12000, float(row["p"]) * 10 / 64
            squares += (found - exact) ** 2 * pairs / exact
            if 3 <= i <= 9:
                self.assertAlmostEqual(float(row["p_error"]) * 10 / 64, math.sqrt(exact / pairs), delta=0.002)
        self.assertLess(squares, 35)  # of chi^2 with 12 degrees of freedom, 0.0005 are larger

    def check_distribution(self, row, overlaps, table):
        """13 bins of 5 overlaps each, from -64 to 64; errors over five groups of eight samples."""
        found = [one for one in table if all(one[key] == row[key] for key in SAME)]
        width = 10 / 64
        self.assertEqual([round(float(one["q"]) * 64) for one in found], list(range(-60, 61, 10)))
        for one in found:
            here = [abs(q - float(one["q"])) < width / 2 for q in overlaps]
            self.assertAlmostEqual(float(one["p"]), sum(here) / len(here) / width, 12)
            groups = [sum(here[i] for i in range(len(here)) if i % 40 // 8 == g) / 64 / width for g in range(5)]
            error = sum((p - sum(groups) / 5) ** 2 for p in groups) / 20
            self.assertAlmostEqual(float(one["p_error"]), math.sqrt(error), 12)

    def test_json_says_the_whole_problem(self):
        answer = result(
            *(
                "--size 6 --beta 0.25 --sweeps 3 --samples 2 --replicas 3 --seed 7 --samples-per-stream 5 --start "
                "ordered --ferromagnetic-fraction 0.75 --measure every:2"
            ).split()
        )
        self.assertEqual(answer["program"], "spin_glass")
        self.assertEqual(answer["stage"], stage())
        couplings_hash = answer["problem"].pop("couplings_hash")
        self.assertRegex(couplings_hash, r"\A[0-9a-f]{16}\Z")
        self.assertEqual(
            answer["problem"],
            {
                "size": 6,
                "beta": 0.25,
                "temperature": 4.0,
                "sweeps": 3,
                "samples": 2,
                "first_sample": 0,
                "replicas": 3,
                "samples_per_stream": 5,
                "generator": "minstd",
                "seed": 7,
                "start": "ordered",
                "spins": None,
                "ferromagnetic_fraction": 0.75,
                "couplings": None,
                "measure": "every:2",
            },
        )
        self.assertEqual(
            set(answer["launch"]),
            {
                "indexing",
                "load",
                "threads",
                "sites_per_thread",
                "kernel",
                "samples_per_word",
                "cluster",
                "replicas_together",
                "transport",
            },
        )
        self.assertEqual(answer["device"]["index"], 0)
        self.assertIn(answer["device"]["platform"], ("gpu", "cpu", "reference"))
        self.assertNotEqual(answer["device"]["name"], "")
        self.assertGreater(answer["seconds"], 0)
        spins = 2 * 3 * 6**3
        self.assertAlmostEqual(answer["ps_per_flip"], answer["seconds"] * 1e12 / (3 * spins))
        self.assertAlmostEqual(answer["energy_per_site"], answer["energy"] / spins)
        self.assertAlmostEqual(answer["magnetisation_per_site"], answer["magnetisation"] / spins)
        self.assertEqual([row["sweep"] for row in answer["averages"]], [0, 2, 3])
        last = answer["averages"][-1]
        self.assertAlmostEqual(last["e"], answer["energy"] / spins)
        self.assertAlmostEqual(last["m"], answer["magnetisation"] / spins)
        self.assertEqual({value for key, value in last.items() if key.endswith("_error")}, {None})  # one group

    def test_defaults(self):
        answer = result()
        answer["problem"].pop("couplings_hash")
        self.assertEqual(
            answer["problem"],
            {
                "size": 16,
                "beta": 1 / 1.1,
                "temperature": 1.1,
                "sweeps": 100,
                "samples": 1,
                "first_sample": 0,
                "replicas": 4,
                "samples_per_stream": 32,
                "generator": "minstd",
                "seed": 42,
                "start": "random",
                "spins": None,
                "ferromagnetic_fraction": 0.5,
                "couplings": None,
                "measure": "end",
            },
        )

    def test_temperature_and_beta_are_the_same_thing(self):
        cold = result("--size", 4, "--temperature", 0.5)
        self.assertEqual(cold["problem"]["beta"], 2)
        self.assertEqual(result("--size", 4, "--beta", 2)["hash"], cold["hash"])
        hot = result("--size", 4, "--beta", 0)
        self.assertEqual(hot["problem"]["temperature"], None)

    def test_beta_zero_flips_every_spin_in_every_sweep(self):
        for generator in GENERATORS if is_reference() else GENERATORS[:1]:
            answer = result(
                *(
                    "--size 6 --beta 0 --sweeps 3 --measure every:1 --start ordered --ferromagnetic-fraction 1 "
                    "--samples 33 --generator"
                ).split(),
                generator,
            )
            self.assertEqual([row["m"] for row in answer["averages"]], [1, -1, 1, -1])
            self.assertEqual({row["e"] for row in answer["averages"]}, {-3})
            self.assertEqual({row["m_error"] for row in answer["averages"]}, {0})  # two groups
            self.assertEqual({row["q2"] for row in answer["averages"]}, {1})

    def test_no_sweeps(self):
        answer = result("--size", 4, "--sweeps", 0, "--start", "ordered", "--measure", "log")
        self.assertEqual(answer["magnetisation"], 4 * 64)
        self.assertEqual(answer["ps_per_flip"], None)
        self.assertEqual(len(answer["averages"]), 1)

    def test_report(self):
        done = run("--size", 8, "--sweeps", 4, "--measure", "log")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = done.stdout.decode().splitlines()
        self.assertTrue(lines[0].startswith("device"))
        answer = result("--size", 8, "--sweeps", 4)
        self.assertIn(answer["device"]["name"], lines[0])
        self.assertIn("450cfbd6984c93fe", done.stdout.decode())
        table = [line.split() for line in lines[-5:]]
        self.assertEqual(table[0], "sweep e m m2 abs_q q2".split())
        self.assertEqual([row[0] for row in table[1:]], ["0", "1", "2", "4"])
        self.assertAlmostEqual(float(table[-1][1]), answer["averages"][0]["e"], places=4)

    def test_report_has_errors_in_brackets(self):
        problem = ["--size", 8, "--sweeps", 4, "--samples", 6, "--samples-per-stream", 1]
        row = run(*problem).stdout.decode().splitlines()[-1].split()
        at_end = result(*problem)["averages"][-1]
        self.assertEqual(row[0], "4")
        for text, name in zip(row[1:], ("e", "m", "m2", "abs_q", "q2"), strict=True):
            value, error = re.fullmatch(r"(-?\d+\.\d+)\((\d\d|100)\)", text).groups()
            unit = 10.0 ** -len(value.split(".")[1])
            self.assertAlmostEqual(float(value), at_end[name], delta=0.51 * unit)
            self.assertAlmostEqual(int(error) * unit, at_end[f"{name}_error"], delta=0.51 * unit)

    def test_help(self):
        self.assert_helps_with(
            "size temperature beta sweeps samples replicas samples-per-stream generator seed start ferromagnetic-fraction "
            "couplings write-couplings measure output averages correlations first-sample sums merge spins write-spins checkpoint checkpoint-every resume device "
            "indexing load threads sites-per-thread json"
        )

    def test_couplings_survive_files(self):
        """The same problem, its couplings drawn or read from the files that another run wrote."""
        problem = ["--size", 6, "--sweeps", 20, "--samples", 3, "--seed", 5]
        files = [self.folder / f"{sample}.rudy" for sample in range(3)]
        drawn = result(*problem, "--write-couplings", *files)
        read = result(*problem, "--couplings", *files)
        self.assertEqual(read["hash"], drawn["hash"])
        self.assertEqual(read["problem"]["couplings_hash"], drawn["problem"]["couplings_hash"])
        self.assertEqual(read["problem"]["couplings"], [str(path) for path in files])
        self.assertEqual(read["problem"]["ferromagnetic_fraction"], None)
        swapped = result(*problem, "--couplings", files[1], files[0], files[2])
        self.assertNotEqual(swapped["problem"]["couplings_hash"], drawn["problem"]["couplings_hash"])

        copy = self.folder / "copy.rudy"
        result("--couplings", files[0], "--sweeps", 0, "--write-couplings", copy)
        self.assertEqual(copy.read_bytes(), files[0].read_bytes())
        again = result("--couplings", "/dev/stdin", "--sweeps", 0, stdin=copy.read_bytes())
        self.assertEqual(again["problem"]["size"], 6)

    def test_written_couplings_are_a_lattice_with_both_signs(self):
        path = self.folder / "a.rudy"
        result("--size", 8, "--sweeps", 0, "--ferromagnetic-fraction", 0.25, "--write-couplings", path)
        self.assertTrue(path.read_bytes().startswith(b"512 1536\n1 2 "))
        bonds = edges(path)
        self.assertEqual(len(bonds), 1536)
        degree = [0] * 513
        for i, j in bonds:
            degree[i] += 1
            degree[j] += 1
        self.assertEqual(set(degree[1:]), {6})
        self.assertEqual(set(bonds.values()), {1, -1})
        self.assertAlmostEqual(list(bonds.values()).count(1) / 1536, 0.25, delta=5 * (0.1875 / 1536) ** 0.5)

    def test_energy_is_that_of_the_edges(self):
        """Ordered start: every state has the energy - sum J, counted from the written file."""
        path, table = self.folder / "a.rudy", self.folder / "t.csv"
        answer = result(
            *"--size 6 --sweeps 0 --start ordered --replicas 1 --write-couplings".split(), path, "--output", table
        )
        self.assertEqual(answer["energy"], -sum(edges(path).values()))
        self.assertEqual(int(read_csv(table)[1][0]["energy"]), answer["energy"])

    def test_known_ground_states(self):
        for name, ground in (("J4_mt1000", -110), ("J4_mt1001", -112), ("J4_mt1002", -114)):
            table = self.folder / "t.csv"
            result(
                "--couplings",
                INSTANCES / f"{name}.rudy",
                *"--temperature 0.5 --replicas 16 --sweeps 400 --measure every:10 --output".split(),
                table,
            )
            self.assertEqual(min(int(row["energy"]) for row in read_csv(table)[1]), ground)

    def test_tables(self):
        """Rows of states agree with the averages, in both formats, and say the whole problem."""
        problem = "--size 4 --sweeps 8 --samples 5 --samples-per-stream 2 --replicas 3 --measure log".split()
        states, averages = self.folder / "s.csv", self.folder / "a.csv"
        answer = result(*problem, "--output", states, "--averages", averages)
        for path in (states, averages):
            header = read_csv(path)[0]
            for key in ("program", "stage", "problem", "device", "launch"):
                self.assertEqual(header[key], answer[key], path)

        rows = read_csv(states)[1]
        self.assertEqual(
            [(int(row["sweep"]), int(row["sample"]), int(row["replica"])) for row in rows],
            [(t, s, r) for t in (0, 1, 2, 4, 8) for s in range(5) for r in range(3)],
        )
        for row in rows:  # overlaps with the replicas of higher number, and no others
            self.assertEqual([row[f"overlap_{b}"] != "" for b in (1, 2)], [b > int(row["replica"]) for b in (1, 2)])
        last = [row for row in rows if row["sweep"] == "8"]
        self.assertEqual(sum(int(row["energy"]) for row in last), answer["energy"])
        self.assertEqual(sum(int(row["magnetisation"]) for row in last), answer["magnetisation"])

        table = read_csv(averages)[1]
        self.assertEqual(len(table), len(answer["averages"]))
        for row, said in zip(table, answer["averages"]):
            self.assertEqual({key: float(value) for key, value in row.items()}, said)

        def mean_and_error(values):  # of samples; groups of two, two and one
            mean = sum(values) / 5
            groups = [(2, sum(values[:2]) / 2), (2, sum(values[2:4]) / 2), (1, values[4])]
            return mean, (1.5 * sum((n / 5 * (x - mean)) ** 2 for n, x in groups)) ** 0.5

        energies = [sum(int(row["energy"]) for row in last[3 * s : 3 * s + 3]) / 3 / 64 for s in range(5)]
        overlaps = [
            sum(
                (int(row[f"overlap_{b}"]) / 64) ** 2
                for row in last[3 * s : 3 * s + 3]
                for b in (1, 2)
                if row[f"overlap_{b}"]
            )
            / 3
            for s in range(5)
        ]
        for name, values in (("e", energies), ("q2", overlaps)):
            mean, error = mean_and_error(values)
            self.assertAlmostEqual(float(table[-1][name]), mean)
            self.assertAlmostEqual(float(table[-1][f"{name}_error"]), error)

        states_json, averages_json = self.folder / "s.json", self.folder / "a.json"
        result(*problem, "--output", states_json, "--averages", averages_json)
        whole = json.loads(states_json.read_text())
        self.assertEqual(whole["problem"], answer["problem"])
        as_text = [{key: "" if value is None else str(value) for key, value in row.items()} for row in whole["rows"]]
        self.assertEqual(as_text, rows)
        self.assertEqual(json.loads(averages_json.read_text())["rows"], answer["averages"])

    def test_correlations(self):
        """Of a start in order every distance is correlated; of one at random none."""
        table, averages = self.folder / "c.csv", self.folder / "a.csv"
        problem = ["--size", 8, "--samples", 6, "--samples-per-stream", 1, "--measure", "log"]
        answer = result(*problem, "--start", "ordered", "--sweeps", 0, "--correlations", table)
        self.assertEqual(
            [
                (int(row["sweep"]), int(row["r"]), float(row["c4"]), float(row["c4_error"]))
                for row in read_csv(table)[1]
            ],
            [(0, r, 1, 0) for r in range(5)],
        )
        self.assertEqual(answer["averages"][0]["xi_12"], (1 + 4 + 9 + 8) / (1 + 2 + 3 + 2))

        answer = result(*problem, "--sweeps", 64, "--correlations", table, "--averages", averages)
        rows = read_csv(table)[1]
        self.assertEqual(
            [(int(row["sweep"]), int(row["r"])) for row in rows],
            [(t, r) for t in (0, 1, 2, 4, 8, 16, 32, 64) for r in range(5)],
        )
        c4 = {(int(row["sweep"]), int(row["r"])): float(row["c4"]) for row in rows}
        self.assertEqual([c4[t, 0] for t in (0, 64)], [1, 1])
        self.assertLess(abs(c4[0, 1]), 0.03)
        self.assertGreater(c4[64, 1], 0.4)
        self.assertGreater(c4[64, 1], c4[64, 2])
        self.assertEqual(answer["averages"][0]["xi_12"], None)
        self.assertGreater(answer["averages"][-1]["xi_12"], 1.5)
        self.assertEqual(
            [float(row["xi_12"] or "nan") for row in read_csv(averages)[1]][1:],
            [row["xi_12"] for row in answer["averages"]][1:],
        )
        plain = result(*problem, "--sweeps", 64)
        self.assertEqual(plain["hash"], answer["hash"])
        self.assertNotIn("xi_12", plain["averages"][0])
        self.assertEqual(
            run(*problem, "--correlations", table).stdout.decode().splitlines()[-1].count("-"),
            run(*problem).stdout.decode().splitlines()[-1].count("-"),
        )

    def test_one_group_has_no_error_and_one_replica_no_overlap(self):
        table = self.folder / "a.csv"
        answer = result("--size", 4, "--samples", 32, "--replicas", 1, "--averages", table)
        row = read_csv(table)[1][0]
        for name in ("e_error", "m_error", "m2_error", "abs_q", "abs_q_error", "q2", "q2_error"):
            self.assertEqual(row[name], "")
            self.assertEqual(answer["averages"][0][name], None)
        self.assertNotEqual(row["m2"], "")

    def test_measuring_changes_nothing(self):
        problem = ["--size", 6, "--sweeps", 37, "--samples", 2]
        plain = result(*problem)
        for rule in ("log", "every:1", "every:5"):
            self.assertEqual(result(*problem, "--measure", rule)["hash"], plain["hash"])

    def test_standard_streams(self):
        piped = run("--size", 4, "--sweeps", 3, "--output", "/dev/stdout")
        self.assertEqual(piped.returncode, 0)
        self.assertTrue(piped.stderr.decode().startswith("device"))  # the report makes way
        path = self.folder / "s.csv"
        result("--size", 4, "--sweeps", 3, "--output", path)
        self.assertEqual(piped.stdout, path.read_bytes())

    def test_existing_files_are_replaced_whole(self):
        path = self.file("s.csv", b"old" * 100000)
        result("--size", 4, "--output", path)
        self.assertTrue(path.read_text().startswith('# program: "spin_glass"\n'))
        self.assertNotIn("old", path.read_text())
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_full_standard_output_is_a_failure(self):
        self.assert_needs_its_output()

    def test_closed_streams_stay_out_of_files(self):
        rows, averages = self.folder / "rows.csv", self.folder / "averages.csv"
        problem = ("--size", 4, "--sweeps", 3, "--measure", "every:1", "--output", rows, "--averages", averages)
        self.assert_keeps_closed_streams_out_of_files(*problem, files=[rows, averages])

    def test_a_checkpoint_written_without_a_standard_output_goes_on(self):
        checkpoint = self.folder / "c"
        command = [programs.PROGRAM, "--size", "4", "--sweeps", "3", "--checkpoint", checkpoint]
        done = subprocess.run(command, preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 1, done)
        longer = result("--resume", checkpoint, "--sweeps", 5)
        self.assertEqual(longer["hash"], result("--size", 4, "--sweeps", 5)["hash"])


if __name__ == "__main__":
    programs.main()
