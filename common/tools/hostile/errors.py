"""Runs, new and resumed, in which one call of the file system fails."""

import re

from hostile.runs import Run
from hostile.trial import NothingToTry, Wrong, contents

ERRORS = {
    "open": "EACCES EINTR EIO EMFILE ENOMEM ENOSPC EROFS",
    "write": "EDQUOT EFBIG EINTR EIO ENOSPC",
    "fsync": "EDQUOT EIO ENOSPC",
    "rename": "EACCES EIO ENOSPC EROFS",
    "unlink": "EACCES EBUSY EIO",
    "ftruncate": "EFBIG EINTR EIO",
    "close": "EINTR EIO ENOSPC",
    "flock": "EAGAIN EINTR ENOLCK",
    "": "EACCES EIO ENOMEM",
}


def try_it(trial):
    if not trial.machine.strace:
        raise NothingToTry
    run = Run(trial)
    words = run.words
    if trial.chance(0.5):
        run.begun()
        words = ["--resume", "c", "--sweeps", run.sweeps]
    call, which = trial.one_of(trial.calls(*words))
    kind = next(kind for kind in ERRORS if call.startswith(kind))
    error = trial.random.choice(ERRORS[kind].split())
    before = contents(trial.folder)
    done, _, hit = trial.traced(*words, inject=["-e", f"inject={call}:error={error}:when={which}"])
    if not all(own for _, own in hit):
        raise NothingToTry  # the call of a library, MPI's for instance, which makes not always as many
    if call == "flock":  # that there are no locks is said, and done without
        done.err = re.sub(r"(?m)^.*: no other program should write there\n", "", done.err)
    # A file that cannot be removed stays, as does one that seems to be another program's.
    may_stay = kind == "unlink" or (call, error) == ("flock", "EAGAIN")
    try:
        trial.check(done, (0, 1, 2), clean=not may_stay)
        if done.code == 0 and may_stay:
            run.compare(run.files, run.files_in(trial.folder), done)
        elif done.code == 0:
            run.verify(done)
        else:
            trial.kills += may_stay
            run.check_what_is_left(before, done)
        run.go_on()
    except Wrong as wrong:
        what = "; ".join(text for text, _ in hit) or f"no call failed, though {call} {which} should"
        raise Wrong(f"{wrong}. After {what}", wrong.done) from None
