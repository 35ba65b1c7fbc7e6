"""Runs on a disk that is, or gets, full: a small one where one may mount, else files that may not grow."""

import resource
import shutil
import subprocess

from hostile.runs import Run
from hostile.trial import NothingToTry, contents


def try_it(trial):
    if not trial.machine.mount and trial.program.mpi is not None:
        raise NothingToTry  # mpirun has files of its own, which would not grow either
    run = Run(trial)
    (on_a_small_disk if trial.machine.mount else with_small_files)(trial, run)


def on_a_small_disk(trial, run):
    small = "nr_inodes=" + str(trial.random.randint(2, 7)) if trial.chance(0.2) else ""
    size = f"size={4 * trial.random.randint(1, 40)}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", small or size, "torture", trial.folder], check=True)
    try:
        disturb(trial, run)
        if trial.chance(0.5):
            subprocess.run(["mount", "-o", "remount,size=100m,nr_inodes=1000", trial.folder], check=True)
            run.go_on()
        else:
            roomy = trial.room / "roomy"
            shutil.copytree(trial.folder, roomy)
            run.go_on(folder=roomy)
    finally:
        subprocess.run(["umount", "-l", trial.folder], check=True)


def with_small_files(trial, run):
    most = trial.random.randint(10, 40000)

    disturb(trial, run, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    run.go_on()


def disturb(trial, run, **more):
    """As often as one may want to try whether there is room now."""
    words = run.words
    for _ in range(trial.random.randint(1, 3)):
        before = contents(trial.folder)
        done = trial.run(*words, codes=(0, 2), **more)
        if done.code == 0:
            run.verify(done)
            return
        run.check_what_is_left(before, done)
        words = ["--resume", "c"] if (trial.folder / "c").exists() else run.words
