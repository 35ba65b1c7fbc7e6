"""Runs a stage's counted program, and finds the launch that is compared: of the 2D model a step, of the 3D spin glass
half a sweep, the red sites, or a whole one; after the program's own warm-up. As in tools/counters.py, which asks
ncu."""

import os
import tempfile
from pathlib import Path

from counted.recording import joined, read_recording
from counters import MANY_SWEEPS
from models import MAJORITY, SPIN_GLASS
from stages import Failure, as_words, last_line, start

KERNEL = "update"
WARM_UP = {MAJORITY: 1, SPIN_GLASS: 2}  # launches of it


def counted_program(stage):
    return stage.benchmark.with_name(f"{stage.model.name}_counted")


def counted_target(stage):
    return f"{stage.name}_{stage.model.name}_counted"


def record(stage, problem, launch, what="", launches=1, caches="", requests=False):
    """The Launch of the stage's update kernel, or so many, one after the other, as one. `problem` and `launch` are the
    program's options, which it chooses where they are None. `caches`: PSFLIP_CACHES, or none. `requests`: keep each,
    which is for small problems. Raises Failure, one line, if the program refuses."""
    settings = {"device": "cpu"} | problem | {name: launch.get(name) for name in stage.model.launch}
    settings[stage.model.runs] = launch.get("steps_per_pass") or 1
    skipped = 1 if launch.get("kernel") in MANY_SWEEPS else WARM_UP[stage.model]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "recording.json")
        recorder = {"PSFLIP_COUNTERS": str(file)} | ({"PSFLIP_REQUESTS": "1"} if requests else {})
        recorder |= {"PSFLIP_CACHES": caches} if caches else {}
        command = list(map(str, [counted_program(stage), *as_words(settings)]))
        code, _, errors = start(command, what or stage.name, env=os.environ | recorder)
        if code:
            raise Failure(f"{stage.name}: {last_line(errors, code)}")
        updates = [found for found in read_recording(file) if found.kernel.startswith(KERNEL)]
    if len(updates) < skipped + launches:
        raise Failure(f"{stage.name}: the kernel {KERNEL} did not run")
    return joined(updates[skipped : skipped + launches])
