"""What all trials share: a folder, a program that is run in it, and what is true of every run that nobody killed."""

import contextlib
import functools
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

HANGS = 60  # seconds; nothing here takes a tenth of that
TEMPORARY = (".psflip.part", ".psflip.lock")
OPTION = re.compile(r"^  (?:-\w,)?--([\w-]+)(?: ([^\s:]+)(?=\s|$))?", re.MULTILINE)

# The calls that are counted, broken and interrupted. strace leaves out one with a ? where the machine lacks it.
CALLS = (
    "openat ?open read write fsync ?rename ?renameat ?renameat2 ftruncate close ?unlink ?unlinkat flock lseek "
    "?newfstatat ?stat ?lstat fstat ?access ?faccessat ?readlink ?readlinkat getcwd fchmod"
).split()


class Wrong(Exception):
    """What should not have happened; `done`: the run in which it did."""

    def __init__(self, what, done=None):
        super().__init__(what)
        self.done = done


class NothingToTry(Exception):
    """This trial makes no sense for the program, or on this machine."""


@dataclass
class Done:
    """A run that has ended."""

    words: list
    folder: Path
    code: int
    out: str
    err: str

    def command(self):
        return f"cd {shlex.quote(str(self.folder))}; {shlex.join(self.words)}"


@dataclass
class Machine:
    """What there is to be hostile with."""

    strace: bool
    mount: bool
    mpi: dict | None  # the environment of mpirun, if there is one
    root: bool = field(default_factory=lambda: os.geteuid() == 0)


class Program:
    def __init__(self, path, reference=None, mpi=None):
        self.path, self.reference, self.mpi = path, reference or self, mpi
        self.name = path.name
        self.stage = next(part for part in path.parts[::-1] if re.match(r"\d\d_", part))
        self.label = f"{self.stage[:2]}/{self.name}"

    @functools.cached_property
    def options(self):
        """What comes after each, as --help has it; "" for nothing."""
        said = subprocess.run([self.path, "--help"], capture_output=True, text=True, timeout=HANGS).stdout
        return {name: what or "" for name, what in OPTION.findall(said) if name != "help"}

    def words(self, arguments, ranks, wrapper):
        """A wrapper is around the first rank alone."""
        first = [*wrapper, self.path, *arguments]
        if self.mpi is not None and wrapper and ranks > 1:
            first += [":", "-n", ranks - 1, self.path, *arguments]
        start = ["mpirun", "-q", "-n", 1 if wrapper else ranks] if self.mpi is not None else []
        return [os.fsencode(str(word)).decode(errors="surrogateescape") for word in start + first]


def contents(folder):
    """Of all files, by their names in the folder; links and folders for what they are."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = path.read_bytes() if path.is_file() else "folder"
    return found


def differences(before, after):
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    words = [
        f"{name} {'is gone' if name not in after else 'is new' if name not in before else 'is another'}"
        for name in names
    ]
    return ", ".join(words[:4]) + ", ..." * (len(words) > 4)


def temporary(folder):
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.endswith(TEMPORARY)]


class Trial:
    """Everything in it comes from the seed, the program, the kind and the number. What a kind of trial is, is in the
    module of that name: a function that raises Wrong."""

    def __init__(self, program, kind, number, seed, folder, machine):
        self.program, self.machine, self.room = program, machine, folder
        self.random = random.Random(f"{seed} {program.label} {kind} {number}")
        self.folder = folder / "run"
        self.folder.mkdir()
        self.rooms_of_mpi = folder.parent / "mpi" / folder.name  # made by the first that needs one
        self.ranks = self.random.randint(1, 2) if program.mpi is not None else 1
        self.processes = []
        self.kills = 0  # by SIGKILL; what is left then is nobody's fault until somebody cleans up

    def chance(self, probability):
        return self.random.random() < probability

    # Running.

    def start(self, *arguments, folder=None, wrapper=(), program=None, env=None, **more):
        program = program or self.program
        words = program.words(arguments, self.ranks, wrapper)
        defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        env = os.environ | (program.mpi or {}) | (env or {})
        # What Open MPI keeps of a run is in a folder that all of a user's runs share, and one that ends may remove it
        # while another one begins.
        env["OMPI_MCA_orte_tmpdir_base"] = str(self.rooms_of_mpi / str(len(self.processes)))
        folder = folder or self.folder
        process = subprocess.Popen(words, cwd=folder, env=env, start_new_session=True, **defaults | more)
        process.folder = folder
        self.processes.append(process)
        return process

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            raise Wrong(f"it hangs: no end after {HANGS} s", self.done(process, "", "")) from None
        return self.done(process, *[(text or b"").decode(errors="replace") for text in (out, err)])

    def end_all(self):
        """What still runs, with all that it started. mpirun has to be asked: its ranks have groups of their own."""
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=3 if process.args[0] == "mpirun" else 0.2)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        shutil.rmtree(self.rooms_of_mpi, ignore_errors=True)

    @staticmethod
    def done(process, out, err):
        return Done(process.args, process.folder, process.returncode, out, err)

    def run(self, *arguments, codes=(0, 2), **more):
        return self.check(self.finish(self.start(*arguments, **more)), codes)

    def succeed(self, *arguments, **more):
        return self.run(*arguments, codes=(0,), **more)

    # What is true of every run.

    def check(self, done, codes=(0, 2), clean=True):
        if done.code < 0 and done.code not in codes:
            raise Wrong(f"signal {-done.code} ended it; it said {self.quoted(done.err)}", done)
        if done.code not in codes:
            expected = " or ".join(map(str, codes))
            raise Wrong(f"exit code {done.code}, not {expected}; it said {self.quoted(done.err)}", done)
        if done.code == 0 and done.err:
            raise Wrong(f"exit code 0, but it said {self.quoted(done.err)}", done)
        if done.code != 0 and not re.fullmatch(rf"{self.program.name}: [^\n]+\n", done.err):
            said = f'one line "{self.program.name}: ..." on standard error, not {self.quoted(done.err)}'
            raise Wrong(f"exit code {done.code} takes {said}", done)
        left = temporary(self.folder)
        if clean and left and not (self.kills and done.code):
            raise Wrong(f"it left {', '.join(left)}", done)
        return done

    @staticmethod
    def quoted(text):
        return repr(text if len(text) < 300 else f"{text[:200]}...{text[-80:]}") if text else "nothing"

    @contextlib.contextmanager
    def unchanged(self):
        """Inside, a run; if it fails the folder is what it was."""
        before = contents(self.folder)
        result = []
        yield result
        after = contents(self.folder)
        if result and result[0].code != 0 and before != after:
            raise Wrong(f"it refused, but {differences(before, after)}", result[0])

    # At a moment.

    def calls(self, *arguments):
        """The calls that a run makes about files of its own: [(file, call, its number among such calls)]. The folder
        stays what it was."""
        copy = self.room / "copy"
        shutil.copytree(self.folder, copy, symlinks=True)
        hits = self.traced(*arguments)[1]
        shutil.rmtree(self.folder)
        copy.rename(self.folder)
        return hits

    def traced(self, *arguments, inject=()):
        """Runs it under strace: what became of it; the calls about its own files; the calls that were injected, each
        as strace shows it and whether it was about such a file."""
        log = self.room / "strace"
        log.unlink(missing_ok=True)
        tracing = ["strace", "-f", "-y", "-qq", "-o", log, "-e", f"trace={','.join(CALLS)}", *inject]
        hang = None
        try:
            done = self.finish(self.start(*arguments, wrapper=tracing))
        except Wrong as wrong:
            hang, done = wrong, wrong.done
        done.words = [*self.program.words(arguments, self.ranks, ["strace", "-f", *inject])]  # as one may type it
        own, injected, counts, main = [], [], {}, None
        for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
            found = re.match(r"(\d+) +(\w+)\((.*)", line)
            if not found:
                continue
            process, call, rest = found.groups()
            main = main or process
            counts[process, call] = counts.get((process, call), 0) + 1
            file = self.own_file(call, rest)
            if file and process == main:
                own.append((file, call, counts[process, call]))
            if "(INJECTED)" in line:
                injected.append((f"{call}({rest}", bool(file)))
        if hang and all(is_own for _, is_own in injected):  # else it may be MPI that waits
            raise hang
        return done, own, injected

    def own_file(self, call, rest):
        """The name of the file that strace's words are about, if it is one in the run's folder or its standard
        output."""
        rest = re.sub(r"^AT_FDCWD(<[^>]*>)?, ", "", rest)
        place = re.escape(str(self.room))
        found = re.match(rf'(?:\d+<|")({place}[^">]*)|"([^/"][^"]*)"', rest)
        if found:
            return Path(found[1] or found[2]).name
        return "standard output" if call == "write" and rest.startswith("1<") else None

    def one_of(self, calls):
        """Of which file, which call, which time: so rare ones are as likely as frequent ones. Half of the time it is
        about the checkpoint, on which most depends."""
        if self.chance(0.5):
            calls = [entry for entry in calls if f"{entry[0]}.".startswith("c.")] or calls
        for i in range(2):
            chosen = self.random.choice(sorted({entry[i] for entry in calls}))
            calls = [entry for entry in calls if entry[i] == chosen]
        return self.random.choice(calls)[1:]

    def disturbed(self, *arguments, calls, seconds, sent):
        """A run that gets a signal: at one of these calls, or, without any, at some moment within so many seconds."""
        if sent == signal.SIGKILL:
            self.kills += 1
        if calls and (self.program.mpi is None or sent == signal.SIGKILL):
            call, which = self.one_of(calls)
            done = self.traced(*arguments, inject=["-e", f"inject={call}:signal={sent.name}:when={which}"])[0]
        else:
            process = self.start(*arguments, env={"OMPI_MCA_odls_base_sigkill_timeout": "2"})  # time to save itself
            time.sleep(self.random.uniform(0, seconds))
            process.send_signal(sent)
            done = self.finish(process)
        return done
