"""Measures the way in: from an empty folder to the first table, to a stage alone and to green tests.

Clones the repository as it is committed, calls common/run, cmake and common/test there as a newcomer would, and takes
the time of what they print. Packages have to be installed; everything else is built anew, without ccache, which would
take from an earlier clone what a newcomer has to compile. --parts chooses.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import build
import device_report
import table
from models import MAJORITY, REFERENCE
from options import Parser, adder, new_file
from results import begin_result, read_result, write_result
from stages import ROOT, Failure, last_line, progress, refuse, start, teaching

FORMAT = "psFlip way in, version 1"
STAGE = next(ROOT.glob(f"{teaching(MAJORITY)[-1]}_*")).name
ALONE = f"stage {STAGE[:2]} alone"
PARTS = {
    "run": "common/run: first row, both tables; and again",
    "stage": ALONE,
    "test": "common/test; and again; and --quick",
}
ROW = re.compile(r"\s*(\d\d)\b")  # a table's row begins with its stage


class Clock:
    """Seconds of a command's lines, and of all that it started."""

    def __init__(self):
        self.begin = time.monotonic()
        self.cores = self.core_seconds()

    @staticmethod
    def core_seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def seconds(self):
        return time.monotonic() - self.begin

    def result(self):
        return {"end": self.seconds(), "core_seconds": self.core_seconds() - self.cores}


def steps_in(folder):
    """What ninja has done there: the outputs of all steps, the last time each was made."""
    outputs = set()
    for log in folder.glob("build*/.ninja_log"):
        lines = (line.split("\t") for line in log.read_text().splitlines() if not line.startswith("#"))
        outputs |= {(log, fields[3]) for fields in lines if len(fields) >= 4}
    return {output for _, output in outputs}


class Place:
    """A clone, and the environment of whoever works there."""

    def __init__(self, repository, commit, folder, nvcc):
        self.folder = folder / "psFlip"
        self.log = folder / "log"
        self.environment = {**os.environ, "CCACHE_DISABLE": "1"}
        if not nvcc:
            self.environment["PATH"] = without_nvcc(self.environment["PATH"])
            self.environment.pop("CUDACXX", None)
        self.call(["git", "clone", "--quiet", str(repository), str(self.folder)], cwd=folder)
        self.call(["git", "checkout", "--quiet", "--detach", commit])

    def call(self, command, cwd=None, heard=lambda line: None):
        """Runs a command to its end and gives each line of its output to `heard` when it comes."""
        with open(self.log, "a") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log, "text": True}
            own = {"cwd": cwd or self.folder, "env": self.environment, "start_new_session": True}
            with subprocess.Popen(command, **streams, **own) as process:
                try:
                    for line in process.stdout:
                        log.write(line)
                        heard(line)
                    process.wait()
                except BaseException:
                    os.killpg(process.pid, signal.SIGTERM)
                    raise
        if process.returncode != 0:
            raise Failure(f"{' '.join(command)} ended with code {process.returncode}; what it said is in {self.log}")

    def time(self, command):
        clock, before = Clock(), steps_in(self.folder)
        self.call(command)
        return {**clock.result(), "steps": len(steps_in(self.folder) - before)}

    def time_tables(self):
        """common/run, from its call to its rows. A table begins with the reference."""
        clock, before, rows = Clock(), steps_in(self.folder), []

        def heard(line):
            if row := ROW.match(line):
                rows.append((row[1], clock.seconds()))
                progress(f"row {len(rows)} after {rows[-1][1]:.0f} s")

        self.call(["common/run", "--no-install"], heard=heard)
        result = clock.result()
        numbers = ["", *(stage for stage, _ in rows)]
        begins = [i for i, (before, here) in enumerate(pairwise(numbers)) if before != here == REFERENCE]
        if len(begins) != 2 or begins[0] != 0:
            raise Failure(f"common/run printed {len(begins)} tables that begin with {REFERENCE}, not 2; see {self.log}")
        result |= {"first_row": rows[0][1], "first_table": rows[begins[1] - 1][1], "both_tables": rows[-1][1]}
        return {**result, "steps": len(steps_in(self.folder) - before)}


def measure_run(place):
    yield "common/run", place.time_tables()
    yield "common/run, again", place.time_tables()


def measure_stage(place):
    clock = Clock()
    place.call(["cmake", "-S", STAGE, "-B", "build-alone", "-G", "Ninja"])
    place.call(["cmake", "--build", "build-alone", "--parallel", str(build.cores())])
    steps = steps_in(place.folder)
    objects = sum(step.endswith((".o", ".gch")) for step in steps)
    yield ALONE, {**clock.result(), "steps": len(steps), "objects": objects}


def measure_test(place):
    yield "common/test", place.time(["common/test", "--no-install"])
    yield "common/test, again", place.time(["common/test", "--no-install"])
    yield "common/test --quick, again", place.time(["common/test", "--no-install", "--quick"])


MEASURE = {"run": measure_run, "stage": measure_stage, "test": measure_test}


def without_nvcc(path):
    return os.pathsep.join(part for part in path.split(os.pathsep) if not os.access(Path(part) / "nvcc", os.X_OK))


def version_of_nvcc():
    """'12.9', or None where there is no nvcc."""
    if shutil.which("nvcc") is None:
        return None
    return device_report.release_of("nvcc") or "of unknown version"


def machine():
    cards = [card.name for card in device_report.gpus()[0]]
    return {"cores": build.cores(), "cpu": device_report.processor(), "gpus": cards}


def line_of(row):
    def cell(key):
        value = row.get(key)
        return "" if value is None else f"{value:,.1f}" if isinstance(value, float) and value < 10 else f"{value:,.0f}"

    line = {"what": row["what"], "nvcc": f"nvcc {row['nvcc']}" if row["nvcc"] else "none"}
    line |= {"first row": cell("first_row"), "2D table": cell("first_table"), "both tables": cell("both_tables")}
    return line | {key.replace("_", " "): cell(key) for key in ("end", "core_seconds", "steps", "objects")}


def shown(result, form):
    return f"{table.table_of(list(map(line_of, result['rows'])), ('what', 'nvcc'), form)}\n\n{summary(result)}"


def summary(result):
    on = result["machine"]
    gpus = ", ".join(on["gpus"]) or "no GPU"
    return (
        f"Seconds from the call on {on['cores']} cores of {on['cpu']}, {gpus}, packages installed; "
        f"commit {result['commit'][:12]}, `{result['command']}` on {result['date']}."
    )


def markdown(folder):
    """For readme_tables.py."""
    return shown(read_result(folder / "first_table.json", FORMAT), table.as_markdown)


def options_of(arguments):
    parser = Parser(prog="common/tools/first_table", description=__doc__)
    parts = "; ".join(f"{name}: {what}" for name, what in PARTS.items())
    add, whether = adder(parser), "whether it is on the PATH (default: both, if it is there now)"
    add("--parts", "NAME,...", f"what is measured. {parts}", default=",".join(PARTS))
    parser.add_argument("--nvcc", choices=["both", "with", "without"], default="both", help=whether)
    add("--commit", None, "what is cloned (default: HEAD; never what is not committed)", default="HEAD")
    add("--folder", None, "clone into folders in this one, not in /tmp", Path)
    rest = "rows of a FILE that is there, of the same commit and machine, stay unless they are measured again"
    add("--json", "FILE", f"write the results; {rest}", new_file)
    parser.add_argument("--repository", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.parts = options.parts.split(",")
    for part in options.parts:
        if part not in PARTS:
            refuse(f"--parts has '{part}': allowed are {', '.join(PARTS)}")
    if options.folder and not options.folder.is_dir():
        refuse(f"--folder {options.folder} is no folder")
    return options


def begun(options, result):
    """The rows of an earlier call that this one adds to."""
    if not options.json or not options.json.exists():
        return []
    try:
        earlier = json.loads(options.json.read_text())
        same = earlier["format"] == FORMAT and all(earlier[key] == result[key] for key in ("commit", "machine"))
    except (ValueError, KeyError):
        same = False
    if not same:
        raise Failure(f"{options.json} is there and has no results of this commit and machine")
    return earlier["rows"]


def main(arguments):
    options = options_of(arguments)
    version = version_of_nvcc()
    if options.nvcc == "with" and not version:
        refuse("--nvcc with: there is no nvcc on the PATH")
    ways = {"with": [version], "without": [None], "both": [None, version]}[options.nvcc]
    ways = list(dict.fromkeys(ways))
    asked = ["git", "rev-parse", "--verify", f"{options.commit}^{{commit}}"]
    code, output, errors = start(asked, "", cwd=options.repository)
    if code != 0:
        raise Failure(f"{' '.join(asked)}: {last_line(errors, code)}")
    result = begin_result(FORMAT, " ".join(["common/tools/first_table", *arguments]))
    result |= {"commit": output.strip(), "machine": machine(), "rows": []}
    rows = {(row["what"], row["nvcc"]): row for row in begun(options, result)}
    with tempfile.TemporaryDirectory(prefix="psFlip-first-table-") as own:
        for part in options.parts:
            for nvcc in ways:
                folder = Path(tempfile.mkdtemp(prefix=f"{part}-", dir=options.folder or own))
                try:
                    for what, measured in MEASURE[part](Place(options.repository, result["commit"], folder, nvcc)):
                        progress("")
                        rows[what, nvcc] = {"what": what, "nvcc": nvcc, **measured}
                        result["rows"] = list(rows.values())
                        print(f"{what}, {f'nvcc {nvcc}' if nvcc else 'no nvcc'}: {measured['end']:.0f} s", flush=True)
                        if options.json:
                            write_result(options.json, result)
                except Failure as failure:
                    if not options.folder:  # the log is to be read
                        kept = Path(tempfile.mkdtemp(prefix="psFlip-first-table-")) / "log"
                        shutil.copy(folder / "log", kept)
                        raise Failure(str(failure).replace(str(folder / "log"), str(kept))) from None
                    raise
                shutil.rmtree(folder)
    print(f"\n{shown(result, table.aligned)}")
    return 0
