"""Runs a program that cannot be trusted: in a folder of its own, with limits, and ends all its processes.

What is kept out: endless loops (wall-clock and processor time), files without end, core dumps, the user's environment
and home. What is not, without root: reading files, writing where the user may write, memory up to what the machine
has, processes that leave their group. The judge looks for changes in the submission and in its own sources; symbols.py
refuses what would call for such things by name.
"""

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from stages import OPEN_MPI

KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDACXX")
KEPT_OF_MPI = ("OMPI_", "OPAL_", "PMIX_")  # how Open MPI is set up on this machine
MOST_OUTPUT = 64 << 20  # bytes of a file that it writes, stdout and stderr included
MOST_TEXT = 1 << 20  # characters of it that are read


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


def run(command, *, seconds, environ=None, wanted=(), cwd=None, file_bytes=MOST_OUTPUT):
    """Runs a command in a new folder, its home, that is removed afterwards (or in cwd, which stays). `seconds`: of
    wall-clock time; its threads may work four times as long on each processor. `wanted`: files that it may write there,
    and that are read."""
    folder = str(cwd) if cwd else tempfile.mkdtemp(prefix="psflip-lab-")
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
            process.wait(seconds)
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
        return Run(process.returncode, timed_out, elapsed, *texts, left)
    finally:
        for output in outputs:
            output.close()
        if not cwd:
            shutil.rmtree(folder, ignore_errors=True)


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
