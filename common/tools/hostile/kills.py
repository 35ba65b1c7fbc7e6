"""Runs that are killed or asked to end, at a call of the file system or at any moment, and go on."""

import re
import signal

from hostile.runs import Run
from hostile.trial import Wrong, contents

ASKS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def try_it(trial):
    run = Run(trial)
    if trial.chance(0.2):  # one that cannot go on, but end well
        run.saving = []
    calls = trial.calls(*run.words) if trial.machine.strace else []
    words = run.words
    for _ in range(trial.random.randint(1, 4)):
        sent = trial.random.choice((signal.SIGKILL, signal.SIGKILL, *ASKS))
        before = contents(trial.folder)
        done = trial.disturbed(*words, calls=calls, seconds=1.2 * run.seconds, sent=sent)
        if done.code == 0:
            run.verify(trial.check(done))
            return
        check_the_end(trial, done, sent, unchanged=contents(trial.folder) == before)
        run.check_what_is_left(before, done)
        if (trial.folder / "c").exists():
            words = ["--resume", "c"]
    run.go_on()


def check_the_end(trial, done, sent, unchanged):
    if trial.program.mpi is not None:  # mpirun has an exit code of its own, and may kill what does not end in time
        trial.kills += 1
    elif sent == signal.SIGKILL:
        if done.code != -sent:
            raise Wrong(f"killed, it ended with {done.code}", done)
    else:
        if done.code not in (-sent, 128 + sent):
            raise Wrong(f"signal {sent.name}: it ended with {done.code}, and said {trial.quoted(done.err)}", done)
        if unchanged and not done.err and not trial.machine.strace:
            return  # so early that it was not yet itself
        if not re.fullmatch(rf"{trial.program.name}: [^\n]*signal {int(sent)}\b[^\n]*\n", done.err):
            raise Wrong(f"signal {sent.name} takes one line that says so, not {trial.quoted(done.err)}", done)
        trial.check(done, (done.code,))
