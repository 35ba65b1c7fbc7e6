"""The stages of the tutorial, and how to run one's benchmark and read what it says."""

import functools
import importlib
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from models import MODELS, REFERENCE, SPIN_GLASS, Model

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = re.compile(r"^<!-- answers -->\n.*?^<!-- end answers -->\n*", re.MULTILINE | re.DOTALL)
ANSWERS_MARK = re.compile(r"<!-- (?:end )?answers")
# What Open MPI is told: ranks may outnumber cores, and are bound to none, since they may have many threads; one that
# waits gives way; and the user may be root, in a container, say.
OPEN_MPI = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


class Failure(Exception):
    """Something that the user has to know; one line."""


def refuse(message):
    raise Failure(f"{message}; --help lists the options")


class Broken(Failure):
    """Something that the user did not do, a build that failed, say; `said`: by what failed."""

    def __init__(self, message, code=1, said=""):
        super().__init__(message)
        self.code, self.said = code, said


def progress(text):
    """On a terminal: the line that says what is being done now; '' takes it away."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        print(f"\r\033[K{text[: width - 1]}", end="", file=sys.stderr, flush=True)


def say(text):
    """A line that stays, on standard error: a program's output stays its own."""
    progress("")
    print(f"psFlip: {text}", file=sys.stderr, flush=True)


def run_tool(main, name):
    """What a tool does when it is started as a program. Ctrl-C and SIGTERM end it, and what it started, without a
    word."""

    def end(number, _):
        raise SystemExit(128 + number)

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # KeyboardInterrupt
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
                signal.signal(number, end)
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except Failure as failure:
        progress("")
        print(*filter(None, [getattr(failure, "said", "")]), f"{name}: {failure}", sep="\n", file=sys.stderr)
        code = failure.code if isinstance(failure, Broken) else 2
    except KeyboardInterrupt:
        progress("")
        code = 128 + signal.SIGINT
    except BrokenPipeError:  # a pager that was closed
        sys.stderr.close()
        code = 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end what was started
    sys.exit(code)


@dataclass(frozen=True)
class Stage:
    name: str  # the folder's
    model: Model
    benchmark: Path

    @property
    def number(self):
        return self.name[:2]

    @property
    def program(self):
        return self.benchmark.with_name(self.model.name)

    @property
    def target(self):
        """What the benchmark is called when it is built."""
        return f"{self.name}_{self.benchmark.name}"

    @property
    def program_target(self):
        return f"{self.name}_{self.model.name}"


def folders(root=ROOT):
    """The stages' folders, in order."""
    return [folder for folder in sorted(root.glob("[0-9][0-9]_*")) if (folder / "README.md").exists()]


def models_of(folder):
    """The models of a stage, as its CMakeLists.txt has them; the first is the one that its update.cu is about."""
    text = (folder / "CMakeLists.txt").read_text()
    both = re.search(r"foreach\(model IN ITEMS ([\w ]+)\)", text)
    names = []
    for name in re.findall(r"psflip_add_stage\((\w+|\$\{model\})", text):
        names += both[1].split() if "$" in name else [name]
    return [model for name in names for model in MODELS if model.name == name]


def teaching(model, room=""):
    """The numbers of the stages whose update.cu is about this model, of those that have such a folder."""
    about = [folder for folder in folders() if folder.name[:2] != REFERENCE and models_of(folder)[0] is model]
    return [folder.name[:2] for folder in about if (folder / room).is_dir()]


def with_minstd_alone():
    """The numbers of the 3D stages before the one about generators."""
    return [number for number in teaching(SPIN_GLASS) if number < teaching(SPIN_GLASS, "generators")[0]]


def offered(name, root=ROOT):
    """All that the stages' own tools have in dictionaries of this name: what they add to the tools that serve all."""
    found = {}
    for file in sorted(root.glob("[0-9][0-9]_*/**/*.py")):
        if f"\n{name} = {{" in file.read_text():
            sys.path.append(str(file.parent))
            found |= getattr(importlib.import_module(file.stem), name)
    return found


def without_answers(readme):
    """A stage's README without what stands between the marks <!-- answers --> and <!-- end answers -->: what is
    measured, how the code was done, and the answers to its questions. Failure if a mark has no partner."""
    text = ANSWERS.sub("", readme)
    if ANSWERS_MARK.search(text):
        raise Failure("a README's mark <!-- answers --> or <!-- end answers --> has no partner")
    return text


def stage_of(folder, model, build):
    return Stage(folder.name, model, Path(build) / folder.name / f"{model.name}_benchmark")


def course(build, model):
    """The stages that have the model, in order, built or not."""
    return [stage_of(folder, model, build) for folder in folders() if model in models_of(folder)]


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
class Launch:
    """One launch as the benchmark timed it, or why it did not."""

    model: Model
    values: dict  # by the names in model.launch; None: not said, or the stage has nothing of the kind
    times: list[float] = field(default_factory=list)  # milliseconds a step or sweep, one a repetition
    bytes: float = 0  # a site or flip
    hash: str | None = None
    name: str = ""  # of the benchmark, for its --benchmark_filter
    refused: str | None = None  # the launch cannot be done here
    wrong: str | None = None  # its bits are not the expected ones

    @property
    def median(self):
        return statistics.median(self.times)

    def as_json(self):
        said = {"refused": self.refused} if self.refused else {"wrong": self.wrong} if self.wrong else None
        return self.values | (said or {self.model.time: self.median})


@dataclass
class Report:
    """What one run of a benchmark program said."""

    platform: str
    device: str
    build_type: str
    launches: list[Launch]
    copy_gb_per_s: float | None


def start(command, what, **more):
    """Runs a program to its end: exit code, output, what it said on standard error. On a terminal, says for how many
    seconds it has been doing what. `more`: for Popen."""
    begin = time.monotonic()
    progress(what)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more) as process:
        try:
            while True:
                try:
                    output, errors = process.communicate(timeout=1)
                    return process.returncode, output, errors
                except subprocess.TimeoutExpired:
                    progress(f"{what}, {time.monotonic() - begin:.0f} s")
        except BaseException:
            process.kill()
            process.wait()
            raise


@functools.cache
def gpu_is_visible():
    """Whether CMake will compile with nvcc: it asks the same."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    except OSError:
        return False
    return done.returncode == 0 and "GPU 0" in done.stdout


def last_line(text, code):
    """Why a program ended, in its own words if it said any."""
    return (text.strip().splitlines() or [f"it ended with code {code}"])[-1]


def as_words(options):
    """{"samples_per_word": [32, 64]} -> ["--samples-per-word", "32,64"]. What is None or empty is left out."""
    words = []
    for name, value in options.items():
        if value not in (None, [], ()):
            text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            words += ["--" + name.replace("_", "-"), text]
    return words


def report_of(command, what=""):
    """What a program with Google Benchmark says, read from JSON."""
    try:
        code, output, errors = start([*map(str, command), "--benchmark_format=json"], what)
    except OSError:
        program = Path(command[0])
        raise Failure(f"{program.name} is not built in {program.parent.parent}") from None
    # 1 with a report is a wrong result or a failed device, and the report says which case it was.
    if code not in (0, 1) or not output.strip():
        raise Failure(last_line(errors, code))
    return json.loads(output)


def repetitions_of(report):
    """The entries of what ran, without Google Benchmark's own means and medians."""
    return [entry for entry in report["benchmarks"] if entry["run_type"] == "iteration"]


def checked_repetitions(report):
    """These, or Failure if one is wrong."""
    for entry in repetitions_of(report):
        message = entry.get("error_message", "")
        if message.startswith(("failed", "wrong")):
            raise Failure(f"{entry['name']}: {message}")
        yield entry


def run_benchmark(stage, *, what="", device="auto", quick=False, copy=True, checked=True, only=(), **options):
    """Runs a stage's benchmark. `what`: for the progress line. `quick`: only the times, unchecked and without the copy
    bandwidth. `only`: of what the options ask for, the launches with these names, without the copy. Options that are
    None or empty are left out."""
    command = [stage.benchmark, *as_words({"device": device} | options)]
    if quick or not checked:
        command += ["--unchecked"]
    if only:
        command += [f"--benchmark_filter=^({'|'.join(only)})/iterations"]
    elif quick or not copy:
        command += [f"--benchmark_filter={stage.model.name}"]
    try:
        report = report_of(command, what or stage.name)
    except Failure as failure:
        raise Failure(f"{stage.name}: {failure}") from None
    return parse_report(stage, report)


def parse_report(stage, report):
    launches, copy = {}, None
    for entry in repetitions_of(report):
        if entry["name"].startswith("copy"):
            if entry.get("error_occurred"):
                raise Failure(f"{stage.name}: copy bandwidth {entry['error_message']}")
            copy = entry["gb_per_s"]
            continue
        empty = Launch(stage.model, dict.fromkeys(stage.model.launch))
        add_entry(stage, entry, launches.setdefault(entry["family_index"], empty))
    where = [report["context"][f"psflip_{name}"] for name in ("platform", "device", "build_type")]
    return Report(*where, list(launches.values()), copy)


def add_entry(stage, entry, launch):
    """What one repetition says. The launch is in the name as far as it was asked for, and all of it in the label (3D)
    or in counters (2D). Counters are floats; Google Benchmark's own "threads" is not."""
    label = entry.get("label", "").split()
    said = dict(re.findall(r"([\w-]+):([\w-]+)", " ".join([entry["name"], *label])))
    for name in launch.values:
        counter = entry.get(name)
        value = said.get(name, counter if isinstance(counter, float) else None)
        if value is not None:
            launch.values[name] = int(float(value)) if re.fullmatch(r"[\d.]+", str(value)) else value
    launch.name = entry["name"].split("/iterations:")[0]
    if entry.get("error_occurred"):
        message = entry["error_message"]
        if message.startswith("failed"):
            raise Failure(f"{stage.name}: {message}")
        if message.startswith("wrong bits"):
            launch.wrong = message
        else:
            launch.refused = message
    else:
        launch.times.append(entry[stage.model.time])
        launch.bytes = entry[stage.model.bytes]
        launch.hash = next((word for word in label if ":" not in word), None)
