"""Runs a program that cannot be trusted: in a folder of its own, with limits, and ends all its processes.

What is kept out everywhere: endless loops (wall-clock and processor time), files without end, core dumps, the user's
environment and home. Where bubblewrap or `unshare` works (protection() tries), also the network, writing anywhere but
to that folder, other programs' files in /tmp, and processes that outlive the run. What is not: reading files, and
memory up to what the machine has. The judge looks for changes in the submission and in its own sources; symbols.py
refuses what would call for such things by name.
"""

import functools
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from stages import OPEN_MPI

KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDACXX")
KEPT_OF_MPI = ("OMPI_", "OPAL_", "PMIX_")  # how Open MPI is set up on this machine
MOST_OUTPUT = 64 << 20  # bytes of a file that it writes, stdout and stderr included
MOST_TEXT = 1 << 20  # characters of it that are read
MOST_PATIENCE = 5  # times as long as a run may take on an idle machine


@dataclass(frozen=True)
class Run:
    code: int  # the exit code; negative: the signal that ended it
    timed_out: bool
    seconds: float
    stdout: str
    stderr: str
    files: dict  # what it left in its folder: names and contents, of those that were asked for

    @property
    def signal(self):
        return signal.Signals(-self.code).name if self.code < 0 else ""


def environment(folder, **variables):
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(KEPT_OF_MPI)}
    return OPEN_MPI | kept | {"HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8"} | variables


# ---- Protections: what stands before a command, so that it can write to a folder alone, and has no network.


def visible(command):
    """The folders of the command's files that a new /tmp would hide."""
    places = {os.path.dirname(os.path.abspath(part)) for part in map(str, command) if os.path.isfile(part)}
    return sorted(place for place in places if place.startswith("/tmp/"))


def by_bubblewrap(folder, command):
    hidden = [part for place in visible(command) for part in ("--ro-bind", place, place)]
    apart = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL"]
    files = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs", "/dev/shm", "--proc", "/proc"]
    return ["bwrap", *apart, *files, "--tmpfs", "/tmp", *hidden, "--bind", folder, folder, "--chdir", folder, *command]


def by_namespaces(folder, command):
    apart = ["--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
    apart += [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    confine = [sys.executable, Path(__file__).with_name("confine.py"), folder, *visible(command), "--"]
    return ["unshare", *apart, *confine, *command]


def by_limits(folder, command):
    return list(command)


PROTECTIONS = {
    by_bubblewrap: "runs had no network and could write to a folder of their own alone (bubblewrap)",
    by_namespaces: "runs had no network and could write to a folder of their own alone (namespaces, by unshare)",
    by_limits: "runs had limits of time and size only: neither bubblewrap nor unshare works here",
}


def works(protection):
    """Whether it starts programs, lets them write to their folder, and not beside it."""
    with (
        tempfile.TemporaryDirectory(prefix="psflip-lab-") as folder,
        tempfile.TemporaryDirectory(prefix="psflip-lab-", dir="/var/tmp") as beside,
    ):
        inside, outside = Path(folder, "a"), Path(beside, "a")
        command = protection(folder, ["sh", "-c", 'echo > "$1"; echo > "$2"', "sh", inside, outside])
        try:
            subprocess.run([str(part) for part in command], capture_output=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return inside.exists() and not outside.exists()


@functools.cache
def protection():
    """The strongest that works here."""
    return next((found for found in (by_bubblewrap, by_namespaces) if works(found)), by_limits)


def run(command, *, seconds, environ=None, wanted=(), cwd=None, file_bytes=MOST_OUTPUT):
    """Runs a command in a new folder, its home, that is removed afterwards, and confined to it; or in cwd, which stays,
    and not confined, as what is trusted. `seconds`: of wall-clock time, if the machine has nothing else to do; its
    threads may work four times as long on each processor. `wanted`: files that it may write there, and are read."""
    folder = str(cwd) if cwd else tempfile.mkdtemp(prefix="psflip-lab-")
    command = list(command) if cwd else protection()(folder, command)
    outputs = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        cpu = int(4 * seconds * (os.cpu_count() or 1)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))

    start, timed_out = time.monotonic(), False
    try:
        files = dict(zip(("stdin", "stdout", "stderr"), (subprocess.DEVNULL, *outputs)))
        own = {"cwd": folder, "env": environment(folder, **(environ or {})), "start_new_session": True}
        process = subprocess.Popen([str(part) for part in command], preexec_fn=limit, **own, **files)
        try:
            wait(process, seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            end_group(process)
        elapsed = time.monotonic() - start
        texts = []
        for output in outputs:
            output.seek(0)
            texts.append(output.read(MOST_TEXT).decode(errors="replace"))
        paths = [path for path in (Path(folder, name) for name in wanted) if path.is_file() and not path.is_symlink()]
        left = {path.name: path.read_text(errors="replace") for path in paths}
        # As bubblewrap, confine.py and the shell tell a signal.
        ended_by = process.returncode - 128 if protection() is not by_limits and not cwd else 0
        code = -ended_by if ended_by in signal.valid_signals() and ended_by > 0 else process.returncode
        return Run(code, timed_out, elapsed, *texts, left)
    finally:
        for output in outputs:
            output.close()
        if not cwd:
            shutil.rmtree(folder, ignore_errors=True)


def wait(process, seconds):
    """Longer by as many times as the machine has more to do than it has processors for, up to MOST_PATIENCE."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        process.wait(seconds * (min(max(load, 1), MOST_PATIENCE) - 1))


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def snapshot(*folders):
    """Names, sizes and times of all files in these folders, as a write would change them."""
    found = {}
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in names:
                try:
                    now = os.lstat(os.path.join(path, name))
                except FileNotFoundError:
                    continue
                found[os.path.join(path, name)] = (now.st_size, now.st_mtime_ns, now.st_ino)
    return found
