"""Wrong kernels: patches against a stage's update.cu, and what is said of each.

A patch is a file common/lab/mutants/NN/NAME.patch, or in a room of NN. First come lines "Key: value", then a unified
diff:
    Stage    the folder
    File     what the patch is against, if another file there that can take the place of update.cu
    Exercise the number of one whose file the patch is against, or that asks for such mistakes in any File; it is judged
             as that exercise is
    Mistake  what the student did, in a student's words
    Part     the part of the grader's result that must fail; its reason is what the student reads
    Reason   a regular expression for that reason; what it matches goes into the table
    Next     a regular expression for what the student is told to do next; may be left out
    Names    a piece of a line of the wrong update.cu, whose number the reason must give; left out, or more than one
    Seconds  the most that one run may take, if others than the checker's 60
    Symptom  what somebody reports who used the program; such a kernel can be handed out to be debugged
    Shows    with a Symptom: settings of the environment and options that show it; after a |, those of the launch
A patch that no longer fits its update.cu is an error: so it cannot drift away from the solution.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.course import WEIGHTS, Task, files_of
from stages import ROOT, Failure

FOLDER = "common/lab/mutants"
KEYS = ("Stage", "Mistake", "Part", "Reason")  # one line each
OPTIONAL = ("File", "Exercise", "Next", "Names", "Seconds", "Symptom", "Shows")


@dataclass(frozen=True)
class Mutant:
    name: str
    stage: str
    exercise: int | None
    file: str
    mistake: str
    part: str
    reason: str
    next_step: str  # empty: any
    names: tuple[str, ...]
    seconds: float
    symptom: str  # empty: it is not handed out
    shows: str
    patch: Path


def read_mutant(path):
    """What a patch's first lines say. Failure, naming the file, if one is missing or unknown."""

    def expect(condition, problem):
        if not condition:
            raise Failure(f"{path.name}: {problem}")

    values = {key: [] for key in KEYS + OPTIONAL}
    for line in filter(None, path.read_text().split("\n--- ", 1)[0].splitlines()):
        key, colon, value = line.partition(":")
        form = f"a line before the diff is 'Key: value' with one of {', '.join(values)}"
        expect(colon and key in values and value.strip(), f"'{line}': {form}")
        values[key].append(value.strip())
    for key in KEYS:
        expect(len(values[key]) == 1, f"it takes one line '{key}: ...', not {len(values[key])}")
    stage, mistake, part, reason = (values[key][0] for key in KEYS)
    expect(len(values["File"]) < 2, "it takes one line 'File: ...' at most")
    expect(len(values["Exercise"]) < 2, "it takes one line 'Exercise: ...' at most")
    exercise = "".join(values["Exercise"])
    expect(exercise.isdecimal() or not exercise, f"Exercise: {exercise} is no whole number")
    exercise = int(exercise) if exercise else None
    file = "".join(values["File"]) or "update.cu"
    if exercise is not None and not values["File"]:
        file = files_of(Task(stage, exercise), ROOT)[0].removeprefix(f"{stage}/")
    expect((ROOT / stage / file).is_file(), f"{'File' if values['File'] else 'Stage'}: there is no {stage}/{file}")
    expect(part in WEIGHTS, f"Part: {part} is none of {', '.join(WEIGHTS)}")
    expect(len(values["Next"]) < 2, "it takes one line 'Next: ...' at most")
    next_step = "".join(values["Next"])
    for key, rule in (("Reason", reason), ("Next", next_step)):
        try:
            re.compile(rule)
        except re.error as error:
            expect(False, f"{key}: {error}")
    seconds = values["Seconds"] or ["60"]
    expect(len(seconds) == 1 and seconds[0].isdecimal(), f"Seconds: {seconds[-1]} is no whole number, or one too many")
    names, symptom, shows = tuple(values["Names"]), "".join(values["Symptom"]), "".join(values["Shows"])
    for key in ("Symptom", "Shows"):
        expect(
            len(values[key]) == bool(symptom), "'Symptom: ...' and 'Shows: ...' are one line each, or neither is there"
        )
    expect(not symptom or file == "update.cu", "Symptom: only an update.cu is handed out to be debugged")
    seconds = int(seconds[0])
    return Mutant(
        path.stem, stage, exercise, file, mistake, part, reason, next_step, names, seconds, symptom, shows, path
    )


def read_mutants(root=ROOT):
    return [read_mutant(path) for path in sorted((root / FOLDER).rglob("*.patch"), key=lambda path: path.name)]


def apply(mutant, folder, root=ROOT):
    """The wrong update.cu, in a folder of its own. Failure if the patch does not fit."""
    target = folder / mutant.stage / mutant.file
    target.parent.mkdir(parents=True)
    target.write_bytes((root / mutant.stage / mutant.file).read_bytes())
    # Without a repository, so that git changes the folder's file and not one of the tree's.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_DIR": str(folder / "none")}
    done = subprocess.run(["git", "apply", mutant.patch], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[0]
        raise Failure(f"{mutant.patch.name} does not fit {mutant.stage}/{mutant.file}: {reason}")
    return target
