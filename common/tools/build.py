#!/usr/bin/env python3
"""Configures a build folder if it needs that, and builds targets in it with all cores; quietly.

    build.py folder [--cuda | --no-cuda] [cmake option...] [--target target... | --tests ctest option...]

psflip_build in setup.bash is this program. On a terminal a line says what is being built and how far that is; all that
CMake and the compilers say goes to build.log in the folder, and is shown if something fails.
"""

if __name__ == "__main__":
    import interrupt  # noqa: F401

import atexit
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from stages import ROOT, Broken, Failure, gpu_is_visible, progress, run_tool, say

LOG = "build.log"
STAMP = "psflip_configured_for"
STEP = re.compile(r"\[ *(\d+)(?:/(\d+)|%)\] (?!Re-)(.*)")  # of Ninja or of make; not CMake's look at its own files
CUDA = {"--cuda": "-DPSFLIP_CUDA=ON", "--no-cuda": "-DPSFLIP_CUDA=OFF"}
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOWN = 80  # lines of what failed, at most
LARGEST_LOG = 2**24  # bytes


def nvcc():
    return os.environ.get("CUDACXX") or shutil.which("nvcc") or ""


@contextlib.contextmanager
def signals_wait():
    """Signals that end this program wait meanwhile."""
    if threading.current_thread() is not threading.main_thread():  # which gets none
        yield
        return
    came = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


class Job:
    """A CMake that is running, what it says going to the log."""

    def __init__(self, what, command, log, targets=()):
        self.what, self.targets, self.log, self.told = what, targets, log, False
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists() and log.stat().st_size > LARGEST_LOG:
            log.unlink()
        with log.open("ab") as file:
            file.write(f"\n==== {time.strftime('%Y-%m-%d %H:%M:%S')}: {' '.join(map(str, command))}\n".encode())
            file.flush()  # before others write there
            self.begin, self.started = file.tell(), time.monotonic()
            with signals_wait():  # or nobody would know what was started
                # In a session of its own, so that Ctrl-C comes here alone, and stop() reaches the compilers, too.
                own = {"start_new_session": True, "env": environment()}
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, **own)
                atexit.register(self.stop)

    def seconds(self):
        return time.monotonic() - self.started

    def said(self):
        with self.log.open("rb") as file:
            file.seek(self.begin)
            return file.read().decode(errors="replace")

    def step(self):
        """(number, of how many or None, what) of the newest step; None while there is none."""
        found = [match for match in map(STEP.match, self.said().splitlines()) if match]
        return found[-1].groups() if found else None

    def stop(self):
        """Ends it, unless it has ended. Ninja and make take away what is half done, and outlive CMake for that."""
        atexit.unregister(self.stop)
        if self.process.poll() is not None:
            return
        for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 1)):
            late = time.monotonic() + seconds
            try:
                os.killpg(self.process.pid, number)
                while time.monotonic() < late:
                    self.process.poll()
                    os.killpg(self.process.pid, 0)
                    time.sleep(0.02)
            except ProcessLookupError:
                break


def environment():
    return {"CMAKE_GENERATOR": "Ninja"} | os.environ | {"NINJA_STATUS": "[%f/%t] "}


def cores():
    return len(os.sched_getaffinity(0))


class Builder:
    """Builds in one folder, what is needed when it is needed. A folder that somebody configured by hand is built as it
    is, and programs that were brought from another machine, without what CMake makes, are taken as they are."""

    def __init__(self, folder, options=()):
        self.folder, self.log = Path(folder), Path(folder) / LOG
        self.options = [CUDA.get(option, option) for option in options]
        self.groups, self.built, self.job = [], set(), None
        self.latest = -1  # of the groups, the one that was needed last
        self.told = False  # where the log is
        self.thread, self.failure, self.held = None, None, None  # of behind(): what it did not say

    # Configuring.

    @functools.cached_property
    def brought(self):
        made = ("CMakeCache.txt", "build.ninja", "Makefile", STAMP)
        return not any((self.folder / name).exists() for name in made) and any(self.folder.glob("[0-9][0-9]_*/*"))

    def generated(self):
        """What CMake makes for who builds."""
        return [self.folder / name for name in ("build.ninja", "Makefile")]

    @functools.cached_property
    def configured(self):
        """Configures if needed. Whether there is something to build; read it to have it done."""
        if self.brought:
            return False
        if not shutil.which("cmake"):
            raise Failure("there is no cmake here; without --no-install, common/run installs it")
        stamp = self.folder / STAMP
        # A checkout that moved, or an nvcc or a GPU that came or went, needs a new configuration. One without nvcc is
        # complete too.
        machine = f"root: {ROOT}\nnvcc: {nvcc()}\ngpu: {'yes' if gpu_is_visible() else 'no'}\n"
        wanted = f"{machine}options: {' '.join(map(str, self.options))}\n"
        known = stamp.read_text() if stamp.exists() else None
        # Whoever gives no options takes those that were given.
        if known == wanted or (known and not self.options and known.startswith(machine)):
            self.tell_what_is_missing(known)
        elif known is not None or not any(file.exists() for file in self.generated()):
            self.tell_what_is_missing(wanted)
            self.folder.mkdir(parents=True, exist_ok=True)
            stamp.write_text("not yet\n")  # whatever ends this, the next call does it again
            self.say(f"configuring in {self.folder}; all output goes to {self.log}")
            self.told = True
            command = ["cmake", "--fresh", "-S", ROOT, "-B", self.folder, *self.options]
            self.follow(Job("configuring", command, self.log))
            stamp.write_text(wanted)
        else:
            for option, definition in CUDA.items():
                if definition in self.options:
                    by_hand = f"somebody configured {self.folder} by hand"
                    raise Failure(f"{option}: {by_hand}; give {definition} to cmake there")
        return True

    def tell_what_is_missing(self, stamp):
        options = stamp.split("options:")[-1]
        if nvcc() and not gpu_is_visible() and "-DPSFLIP_CUDA=" not in options and "--preset" not in options:
            self.say("there is no GPU, so nothing is compiled with nvcc; --cuda compiles the GPU path all the same")

    def has(self, target):
        """Whether there is such a target; CMake leaves out what a machine lacks libraries for."""
        if not self.configured:
            return False
        text = "".join(file.read_text(errors="replace") for file in self.generated() if file.exists())
        return re.search(rf"^(build )?{re.escape(target)}:", text, re.MULTILINE) is not None

    # Building.

    def plan(self, groups):
        """What will be needed, in order: (in words, targets) of what is to be built together."""
        self.groups = groups

    def need(self, *targets, what=None):
        """Builds what of these is not built, with the groups that it belongs to. Without targets: everything."""
        for i, (_, group) in enumerate(self.groups):
            if set(group) & set(targets):
                self.latest = max(self.latest, i)
                self.need_together(group, self.groups[i][0])
        self.need_together(targets, what or ", ".join(targets) or "everything")

    def need_together(self, targets, what):
        if (targets and self.built.issuperset(targets)) or not self.configured:
            return
        self.settle()
        if not targets or not self.built.issuperset(targets):
            self.follow(self.begin(targets, what))

    def ahead(self):
        """Begins with the group after the latest one that was needed, while the caller does something else."""
        if self.job and self.job.process.poll() is not None:
            self.settle()
        following = self.groups[self.latest + 1 : self.latest + 2]
        for what, targets in following:
            if not self.job and not self.built.issuperset(targets) and self.configured:
                self.job = self.begin(targets, what)

    def behind(self, work):
        """Lets `work` build in a thread of its own, without a word, until somebody waits for it."""

        def run():
            try:
                work()
            except Failure as failure:
                self.failure = failure

        self.wait()
        self.held = []
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def wait(self):
        """Waits for behind(), and says from now on what is done."""
        if self.thread:
            held, self.held = self.held, None
            for text in held:
                say(text)
            self.thread.join()
            self.thread = None
            if self.failure:
                raise self.failure

    def say(self, text):
        if self.held is None:
            say(text)
        else:
            self.held.append(text)

    def settle(self):
        """Waits until nothing is being built."""
        if self.job:
            job, self.job = self.job, None
            self.follow(job)

    def begin(self, targets, what):
        command = ["cmake", "--build", self.folder, "--parallel", str(cores())]
        return Job(what, command + (["--target", *targets] if targets else []), self.log, targets)

    def follow(self, job):
        """Waits for a job, saying how far it is."""
        try:
            while True:
                self.show(job)
                try:
                    code = job.process.wait(timeout=0.3)
                    break
                except subprocess.TimeoutExpired:
                    pass
        finally:
            job.stop()
        progress("")
        step = job.step()
        if code:
            what = f"{'building ' * bool(step)}{job.what} failed"
            raise Broken(f"{what}; everything that was said is in {self.log}", said=failure_in(job.said()))
        if step and not sys.stderr.isatty():
            self.show(job)
            self.say(f"built {job.what}: {step[1] or step[0]} {'steps' if step[1] else '%'} in {job.seconds():.0f} s")
        self.built.update(job.targets)

    def show(self, job):
        step = job.step()
        if self.held is not None:
            return
        if not step:  # a folder where all is built, or CMake at work
            progress(f"{job.what}, {job.seconds():.0f} s" if not job.targets else "")
            return
        number, total, doing = step
        if not job.told and not (self.told and sys.stderr.isatty()):  # there the line that moves says the rest
            where = "" if self.told else f"; all output goes to {self.log}"
            self.say(f"building {job.what} in {self.folder}{f', {total} steps' if total else ''}{where}")
        job.told = self.told = True
        far = f"{number} of {total}" if total else f"{number} %"
        progress(f"building {job.what}: {far}, {job.seconds():.0f} s, {doing.split('/')[-1]}")


def failure_in(text):
    """Of what CMake or a build said, the part that failed."""
    lines, shown, failing = text.splitlines(), [], False
    for i, line in enumerate(lines):
        if line.startswith(("FAILED: ", "CMake Error")):
            failing = True
        elif STEP.match(line) or line.startswith(("ninja: ", "-- ")):
            failing = False
        if failing and not lines[i - 1].startswith("FAILED: "):  # the line after that is the compiler's whole command
            shown.append(line)
    shown = shown or lines[-30:]  # make's words are not marked
    return "\n".join(shown[:SHOWN] + ["..."] * (len(shown) > SHOWN))


def build_if_configured(folder, target):
    """For tools that are called by hand: brings a program up to date in a folder where common/run or common/test, or
    somebody by hand, has configured."""
    builder = Builder(folder)
    if any(file.exists() for file in builder.generated()) and builder.has(target):
        builder.need(target)


ADDED_TEST = re.compile(r"^add_test\((?:\[=\[(.+?)\]=\]|(\S+)) (.*)\)$", re.MULTILINE)


def needed_by_tests(builder, options):
    """The programs in the commands of the tests that these options of ctest choose, as targets; none if there are no
    such tests. None if all has to be built: a test has the whole folder, or a generator does not name its targets."""
    if not builder.configured or not (builder.folder / "build.ninja").exists():
        return None
    folder = str(builder.folder.resolve())
    listed = run_quietly("ctest", "--test-dir", folder, "--show-only=json-v1", *options)
    if listed.returncode != 0:
        return None  # ctest will say it
    chosen = {test["name"] for test in json.loads(listed.stdout)["tests"]}
    made = run_quietly("ninja", "-C", folder, "-t", "targets", "all").stdout
    outputs = {line.split(": ")[0] for line in made.splitlines()}
    commands = {}
    for file in builder.folder.rglob("CTestTestfile.cmake"):
        for quoted, plain, words in ADDED_TEST.findall(file.read_text()):
            commands[quoted or plain] = re.findall(r'"((?:[^"\\]|\\.)*)"', words)
    needed = set()
    for name in chosen:
        for word in commands.get(name, [folder]):
            for piece in re.split("[=:;]", word):  # address=PROGRAM
                inside = piece.startswith(folder) and piece[len(folder) + 1 :]
                if inside in outputs:
                    needed.add(inside)
                elif inside is not False:
                    return None
    return sorted(needed)


def run_quietly(*command):
    return subprocess.run(command, capture_output=True, text=True)


def add_options(parser):
    """What every tool that builds takes."""
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build", metavar="DIR", help="build there (build)")
    cuda = parser.add_mutually_exclusive_group()
    helps = "compile the GPU path where there is no GPU, too", "compile nothing with nvcc"
    for option, words in zip(CUDA, helps):
        cuda.add_argument(option, dest="cuda", action="store_const", const=option, help=words)


def builder_for(options):
    return Builder(options.build_dir, [options.cuda] if options.cuda else [])


def main(arguments):
    end = next((i for i, word in enumerate(arguments) if word in ("--target", "--tests")), len(arguments))
    (folder, *options), what, rest = arguments[:end], arguments[end : end + 1], arguments[end + 1 :]
    builder = Builder(folder, options)
    if what == ["--tests"]:
        rest = needed_by_tests(builder, rest) if rest else None
        if rest == []:  # ctest will say that there are none
            return 0
    builder.need(*rest or ())
    return 0


if __name__ == "__main__":
    run_tool(main, "psFlip")
