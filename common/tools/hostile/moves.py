"""Runs whose folder is copied, moved or entered from somewhere else before they go on."""

import shutil

from hostile.runs import Run
from hostile.trial import Wrong, contents, differences


def try_it(trial):
    run = Run(trial)
    draw = trial.random
    home = trial.folder
    old, new = home / "old", home / draw.choice(("new", "a b", "deep/er/new"))
    old.mkdir()
    new.parent.mkdir(parents=True, exist_ok=True)
    given = [f"J.{i}" for i in range(int(run.problem[3]))] if trial.chance(0.4) else []
    begin(trial, run, old, given)
    if trial.chance(0.5):  # as an interrupted run leaves it: its outputs come at the end
        for name in run.files:
            (old / name).unlink()
    before = contents(old)
    how = draw.choice((copied, copied, moved, linked))
    how(old, new)
    folder, name = draw.choice(((new, "c"), (home, f"{new.relative_to(home)}/c"), (home, f"{new}/c")))
    done = trial.succeed("--resume", name, "--sweeps", run.sweeps, "--json", folder=folder)
    run.verify(done, new, others=given)
    if how is copied and contents(old) != before:
        raise Wrong(f"the run went on in a copy, but of the first folder {differences(before, contents(old))}", done)
    if how is moved and old.exists():
        raise Wrong(f"the run went on in {new.name}, but {old.name} is there again", done)
    strangers = [path.name for path in home.iterdir() if path.name not in ("old", new.relative_to(home).parts[0])]
    if strangers:
        raise Wrong(f"it wrote {', '.join(strangers)} into the folder in which it was called", done)
    if how is copied:
        run.go_on(folder=old, others=given)


def begin(trial, run, old, given):
    """From the folder itself or from the one above, with relative or whole names."""
    inside = trial.chance(0.5)
    where = f"{old}/" if trial.chance(0.3) else "" if inside else "old/"
    folder = old if inside else old.parent
    words = [*run.named(where), "--checkpoint", f"{where}c", "--checkpoint-every", run.saving[-1]]
    if given:
        trial.succeed(*run.of(0), "--write-couplings", *given, folder=old)
        words += ["--couplings", *(where + name for name in given)]
    run.begun(folder=folder, words=words)


def copied(old, new):
    shutil.copytree(old, new)


def moved(old, new):
    old.rename(new)


def linked(old, new):
    new.symlink_to(old)
