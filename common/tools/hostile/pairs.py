"""Several programs at once on one checkpoint, or on one output: one goes on and is right, the others are told."""

import signal
import time
from pathlib import Path

from hostile.runs import Run
from hostile.trial import Wrong


def try_it(trial):
    run = Run(trial, sweeps=(400, 3000))
    draw = trial.random
    resume = ["--resume", "c", "--sweeps", run.sweeps, "--json"]
    new = run.words
    if trial.chance(0.3):  # on outputs alone, if there are any
        words = [[*run.of(run.sweeps), *run.named(), "--json"]] * draw.randint(2, 4)
    else:
        if trial.chance(0.6):
            run.begun()
            words = [resume] * 2 + [draw.choice((new, resume)) for _ in range(draw.randint(0, 2))]
        else:
            words = [new] * 2 + [draw.choice((new, resume)) for _ in range(draw.randint(0, 2))]
    stops = trial.program.mpi is None and trial.chance(0.6)
    first = trial.start(*words[0])
    stopped = stops and stop(first, draw.uniform(0, 0.01))
    others = [trial.start(*arguments) for arguments in words[1:]]
    ended = [trial.finish(process) for process in others] if stopped else []
    if stopped:
        first.send_signal(signal.SIGCONT)
    ended = [trial.finish(first), *(ended or [trial.finish(process) for process in others])]
    for done in ended:
        trial.check(done)
        if done.code == 0:
            run.verify(done)
    winners = sum(done.code == 0 for done in ended)
    if winners == 0:
        raise Wrong("nobody went on", ended[0])
    begun = sum(done.code == 0 and "--checkpoint" in done.words for done in ended)
    if begun > 1:
        raise Wrong(f"{begun} have begun the same run", ended[0])
    if stopped and (winners > 1 or ended[0].code != 0) and ("c" in words[0] or run.outputs):
        raise Wrong(f"one had its lock; of {len(ended)} ended well: {winners}", ended[0])


def stop(process, seconds):
    """Lets a program begin, and stops it while it has a lock; False if that was too late or too early."""
    until = time.monotonic() + 1
    while not has_lock(process) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.0005)
    time.sleep(seconds)
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        if has_lock(process):
            return True
        process.send_signal(signal.SIGCONT)
    return False


def has_lock(process):
    try:
        return any("\nlock:" in file.read_text() for file in Path(f"/proc/{process.pid}/fdinfo").iterdir())
    except OSError:
        return False
