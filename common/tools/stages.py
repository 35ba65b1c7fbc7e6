"""The stages of the tutorial, and how to run one's benchmark and read what it says."""

import json
import re
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "00"


class Failure(Exception):
    """Something that the user has to know; one line."""


@dataclass(frozen=True)
class Stage:
    name: str  # the folder: "03_shared_memory"
    program: Path  # its benchmark

    @property
    def number(self):
        return self.name[:2]


def find_stages(build):
    """The stages that have a 2D benchmark in this build, in order."""
    programs = sorted(Path(build).glob("[0-9][0-9]_*/majority_benchmark"))
    return [Stage(program.parent.name, program) for program in programs]


def idea(name, root=ROOT):
    """What a stage is about: its README's heading after the colon, else the folder's name."""
    try:
        heading = re.search(r"^# .*$", (root / name / "README.md").read_text(), re.MULTILINE)
    except FileNotFoundError:
        heading = None
    if not heading:
        return name[3:].replace("_", " ")
    text = heading[0].removeprefix("# ").strip()
    return text.split(":", 1)[1].strip() if ":" in text else text


@dataclass
class Shape:
    """One launch shape as the benchmark timed it, or why it did not."""

    storage: str
    thread_width: int | None = None
    block: int | None = None
    ms_per_step: list[float] = field(default_factory=list)  # one a repetition
    bytes_per_site: int = 0
    hash: str | None = None
    refused: str | None = None  # the launch cannot be done here
    wrong: str | None = None  # its bits are not the expected ones

    @property
    def median(self):
        return statistics.median(self.ms_per_step)

    def as_json(self):
        known = {"storage": self.storage, "thread_width": self.thread_width, "block": self.block}
        if self.refused:
            return known | {"refused": self.refused}
        if self.wrong:
            return known | {"wrong": self.wrong}
        return known | {"ms_per_step": self.median}


@dataclass
class Report:
    """What one run of a benchmark program said."""

    platform: str
    device: str
    build_type: str
    shapes: list[Shape]
    copy_gb_per_s: float | None


def run_benchmark(stage, *, device="auto", quick=False, **options):
    """Runs a stage's benchmark. `quick`: only the times, unchecked and without the copy bandwidth."""
    command = [str(stage.program), "--device", device, "--benchmark_format=json"]
    for option, value in options.items():
        if value not in (None, [], ""):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            command += ["--" + option.replace("_", "-"), text]
    if quick:
        command += ["--unchecked", "--benchmark_filter=majority"]
    done = subprocess.run(command, capture_output=True, text=True)
    # 1 with a report is a wrong result or a failed device, and the report says which shape it was.
    if done.returncode not in (0, 1) or not done.stdout.strip():
        reason = (done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"])[-1]
        raise Failure(f"{stage.name}: {reason}")
    return parse_report(stage, json.loads(done.stdout))


def parse_report(stage, report):
    shapes, copy = {}, None
    for entry in report["benchmarks"]:
        if entry["run_type"] != "iteration":  # Google Benchmark's own means and medians
            continue
        if entry["name"].startswith("copy"):
            if entry.get("error_occurred"):
                raise Failure(f"{stage.name}: copy bandwidth {entry['error_message']}")
            copy = entry["gb_per_s"]
            continue
        asked = dict(re.findall(r"(\w+):(\w+)", entry["name"]))
        shape = shapes.setdefault(entry["family_index"], Shape(asked["storage"]))
        shape.thread_width = shape.thread_width or integer(entry.get("thread_width", asked.get("thread_width")))
        shape.block = shape.block or integer(entry.get("block", asked.get("block")))
        if entry.get("error_occurred"):
            message = entry["error_message"]
            if message.startswith("failed"):
                raise Failure(f"{stage.name}: {message}")
            if message.startswith("wrong bits"):
                shape.wrong = message
            else:
                shape.refused = message
        else:
            shape.ms_per_step.append(entry["ms_per_step"])
            shape.bytes_per_site = int(entry["bytes_per_site"])
            shape.hash = entry.get("label") or None
    context = report["context"]
    return Report(
        context["psflip_platform"], context["psflip_device"], context["psflip_build_type"], list(shapes.values()), copy
    )


def integer(text):
    return None if text is None else int(float(text))
