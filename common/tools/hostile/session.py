"""common/tools/torture: tries to break the programs of a build, for as long as it may.

Round robin over programs and kinds of trial. A trial is determined by the seed, its program, its kind and its number;
what fails is printed with the command that tries it again. A program passes if, whatever is done to it, it ends with
code 0 and the results of an undisturbed run, or says why not in one line and leaves everything as it was.
"""

import itertools
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import table
from hostile import bad_inputs, damages, errors, full_disk, kills, moves, pairs
from hostile.trial import Machine, NothingToTry, Program, Trial, Wrong
from models import WITH_RANKS
from options import Parser, add_stages, positive, some_of
from stages import OPEN_MPI, ROOT, Failure, progress

TOOL = "common/tools/torture"
KINDS = {
    module.__name__.rpartition(".")[2]: module
    for module in (bad_inputs, kills, errors, damages, full_disk, moves, pairs)
}
MPI = OPEN_MPI | {"OMPI_MCA_odls_base_sigkill_timeout": "0"}  # when a rank fails the others are killed at once
PROGRAMS = ("spin_glass", "majority", "linear_solver/linear_solver")


def parse_options(arguments):
    parser = Parser(prog=TOOL, description=__doc__)
    build = ROOT / "build"
    parser.add_argument("--build-dir", type=Path, default=build, metavar="DIR", help="where the programs are (build)")
    add_stages(parser, "of these stages only")
    parser.add_argument("--seconds", type=positive, default=60, metavar="S", help="for how long (60)")
    parser.add_argument("--seed", type=int, metavar="N", help="of all that is random (another one every time)")
    parser.add_argument("--kinds", type=some_of(KINDS), metavar="kills,...", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--trial", metavar="STAGE:KIND:NUMBER", help="this one only, as a failure was printed")
    parser.add_argument("--keep", action="store_true", help="keep the folders of what failed")
    return parser.parse_args(arguments)


def works(*words):
    try:
        return subprocess.run(words, capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def look_around(folder):
    mount = folder / "mount"
    mount.mkdir()
    mounts = works("mount", "-t", "tmpfs", "-o", "size=64k", "torture", mount)
    if mounts:
        works("umount", "-l", mount)
    # strace injects from 4.16 on, and shows the files of descriptors.
    strace = works("strace", "-f", "-y", "-qq", "-o", folder / "strace", "-e", "inject=unlink:error=EIO", "true")
    return Machine(strace, mounts, MPI | os.environ if shutil.which("mpirun") else None)


def programs_in(build, stages, machine):
    folders = [folder for folder in sorted(build.resolve().glob("[0-9][0-9]_*")) if folder.is_dir()]
    reference, found = {}, []
    for folder, name in itertools.product(folders, PROGRAMS):
        on_ranks = folder.name.startswith(WITH_RANKS)
        mpi = machine.mpi if on_ranks else None
        if os.access(folder / name, os.X_OK) and (folder / name).is_file():
            program = Program(folder / name, reference.get(name), mpi)
            reference.setdefault(name, program)
            if machine.mpi or not on_ranks:
                found.append(program)
    for number in stages or []:
        if not any(program.label.startswith(f"{number}/") for program in found):
            there = ", ".join(sorted({program.label[:2] for program in found})) or "none"
            raise Failure(f"--stages {number}: no such program in {build}; there are {there}")
    if not found:
        raise Failure(f"--build-dir {build}: there are no programs; build them first")
    return [program for program in found if not stages or program.label[:2] in stages]


def describe(machine, options, programs):
    missing = []
    if not machine.strace:
        missing.append("no strace: signals come at any moment, and no call fails")
    if not machine.mount:
        missing.append("nothing may be mounted: a full disk is a limit of files' sizes")
    if machine.mpi is None:
        missing.append(f"no mpirun: without stage {WITH_RANKS}")
    if not machine.root:
        missing.append("not root: too few threads are too few for all of this user's processes")
    where = " ".join(program.label for program in programs)
    return f"seed {options.seed}, {options.seconds:g} s: {where}" + "".join(f"; {text}" for text in missing)


class Session:
    def __init__(self, programs, kinds, machine, options, folder):
        self.programs, self.kinds, self.machine, self.options, self.folder = programs, kinds, machine, options, folder
        self.counts = {(program.label, kind): [0, 0, 0.0] for program in programs for kind in kinds}
        self.failures = 0

    def try_one(self, program, kind, number):
        """Whether it made sense."""
        name = f"{program.label}:{kind}:{number}"
        folder = self.folder / name.replace("/", "_").replace(":", "_")
        folder.mkdir()
        count = self.counts[program.label, kind]
        begin = time.monotonic()
        keep = False
        trial = Trial(program, kind, number, self.options.seed, folder, self.machine)
        try:
            KINDS[kind].try_it(trial)
        except NothingToTry:
            return False
        except Wrong as wrong:
            keep = self.options.keep
            count[1] += 1
            self.report(name, wrong)
        finally:
            trial.end_all()
            count[2] += time.monotonic() - begin
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)
        count[0] += 1
        return True

    def report(self, name, wrong):
        self.failures += 1
        again = [TOOL, "--build-dir", str(self.options.build_dir), "--seed", str(self.options.seed), "--trial", name]
        progress("")
        print(f"FAILED {name}: {wrong}\n    again: {shlex.join(again)}")
        if wrong.done:
            print(f"    there: {wrong.done.command()}")
        sys.stdout.flush()

    def go(self):
        end = time.monotonic() + self.options.seconds
        for number in itertools.count():
            if number == 10 and not any(trials for trials, _, _ in self.counts.values()):
                raise Failure("there is nothing to try: these kinds are not for these stages, or not on this machine")
            for kind, program in itertools.product(self.kinds, self.programs):
                if time.monotonic() > end:
                    return
                progress(f"{program.label} {kind} {number}, {self.failures} failures")
                self.try_one(program, kind, number)

    def summary(self):
        """A line a program: trials of each kind, with the failed ones in brackets."""

        def cell(trials, failed, _):
            return f"{trials} ({failed})" if failed else str(trials)

        def line(name, programs):
            counts = [[sum(self.counts[p.label, kind][i] for p in programs) for i in range(3)] for kind in self.kinds]
            total = [sum(column) for column in zip(*counts)]
            return [name, *(cell(*count) for count in (*counts, total)), f"{total[2]:.0f}"]

        lines = [line(program.label, [program]) for program in self.programs] + [line("all", self.programs)]
        heads = ["trials (failed)", *self.kinds, "all", "seconds"]
        return table.as_markdown(heads, lines, [False] + [True] * (len(heads) - 1))


def one_trial(session, wanted):
    label, kind, number = (wanted.split(":") + ["", ""])[:3]
    program = next((program for program in session.programs if program.label == label), None)
    if program is None or kind not in KINDS or not number.isdecimal():
        there = ", ".join(program.label for program in session.programs)
        raise Failure(f"--trial {wanted}: it takes STAGE:KIND:NUMBER; stages are {there}; kinds {', '.join(KINDS)}")
    if not session.try_one(program, kind, int(number)):
        print(f"{wanted}: nothing to try there")


def unmount(folder):
    for line in Path("/proc/mounts").read_text().splitlines():
        if line.split()[1].startswith(f"{folder}/"):
            works("umount", "-l", line.split()[1])


def main(arguments):
    options = parse_options(arguments)
    if options.trial and options.seed is None:
        raise Failure("--trial: it takes the --seed that was printed with it")
    options.seed = random.randrange(10**6) if options.seed is None else options.seed
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="psflip-torture-", dir=place))
    folder.chmod(0o755)  # for a user who may start no threads
    os.umask(0o022)
    try:
        machine = look_around(folder)
        programs = programs_in(options.build_dir, options.stages, machine)
        print(describe(machine, options, programs), flush=True)
        kinds = list(KINDS) if options.trial else options.kinds or list(KINDS)
        session = Session(programs, kinds, machine, options, folder)
        if options.trial:
            one_trial(session, options.trial)
        else:
            session.go()
        progress("")
        if not options.trial:
            print("\n" + session.summary())
        if options.keep and session.failures:
            print(f"what failed is in {folder}")
        return 1 if session.failures else 0
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        unmount(folder)
        if not (options.keep and any(folder.glob("*_*"))):
            shutil.rmtree(folder, ignore_errors=True)
