#!/usr/bin/env python3
"""Has dieharder judge the generators of stage 06, and draws how many of its tests they pass against the streams.

Numbers come from the program `generate`: number 0 of N streams, then number 1 of all N, and so on, as a kernel uses
them. Results are kept after every N, so an interrupted run is continued by calling again. Needs dieharder 3.31 (Debian
and Ubuntu: apt-get install dieharder).
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/common/tools")

from build import build_if_configured
from options import Parser, add_common_options, adder, at_least, comma_list, wholes
from pictures.plots import draw_or_say, save, subplots
from results import kept_result
from stages import ROOT, Failure, last_line, progress, run_tool

FORMAT = "psFlip dieharder, version 1"
TESTS = [0, 1, 2, 3, 4, *range(8, 14), 15, 16, 100, 101, 102, *range(204, 210)]  # 55 assessments
ASSESSMENTS = ["PASSED", "WEAK", "FAILED"]
STREAMS = [1, 2**16, 2**20]
SHORT_TESTS, SHORT_STREAMS = [0, 4, 8, 11, 15, 100, 204, 206], [1, 2**16]  # a second each
FULL_STREAMS = [2**power for power in range(0, 23, 2)]

# What is judged: a name, and the options of `generate`.
CONSECUTIVE = ["--seeding", "consecutive"]
SOURCES = {
    "philox": ["--generator", "philox"],
    "mt19937": ["--generator", "mt19937"],
    "parisi-rapuano": ["--generator", "parisi-rapuano"],
    "parisi-rapuano, the poster's": ["--generator", "parisi-rapuano", "--variant", "poster"],
    "parisi-rapuano, consecutive seeds": ["--generator", "parisi-rapuano", *CONSECUTIVE],
    "minstd, 16 bits of two": ["--generator", "minstd", "--pack", "halves"],
    "minstd, 16 bits of two, consecutive seeds": ["--generator", "minstd", "--pack", "halves", *CONSECUTIVE],
    "minstd, raw 31 bits": ["--generator", "minstd"],
    "minstd, raw 31 bits, consecutive seeds": ["--generator", "minstd", *CONSECUTIVE],
    "philox-planes, the bits of its draws": ["--generator", "philox-planes", "--pack", "used"],
    "philox-planes, its tails": ["--generator", "philox-planes", "--pack", "tails"],  # 24 bits of 256 draws: slow
}


def parse_assessments(text):
    """dieharder's lines 'test|ntup|tsamples|psamples|p-value|assessment' as [name, p, assessment]."""
    found = []
    for line in text.splitlines():
        match = re.match(r"#?\s*(\w+)\|\s*(\d+)\|\s*\d+\|\s*\d+\|\s*([\d.]+)\|\s*(PASSED|WEAK|FAILED)\s*$", line)
        if match:
            name, parameter, p, assessment = match.groups()
            found.append([name if parameter == "0" else f"{name} {parameter}", float(p), assessment])
    return found


def judge(generate, arguments, test):
    """One test of dieharder on what `generate` writes."""
    with subprocess.Popen([generate, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as source:
        command = ["dieharder", "-g", "200", "-d", str(test)]
        done = subprocess.run(command, stdin=source.stdout, capture_output=True, text=True)
        source.stdout.close()  # no reader is left, so generate ends
        complaint = source.stderr.read().strip()
    if source.returncode != 0:
        raise Failure(complaint or f"generate ended with code {source.returncode}")
    found = parse_assessments(done.stdout)
    if done.returncode != 0 or not found:
        raise Failure(f"dieharder -d {test}: {last_line(done.stdout + done.stderr, done.returncode).strip()}")
    return found


def run(generate, source, streams, tests, seed, device):
    """All tests on one source; the names of those that it did not pass are kept."""
    arguments = [*SOURCES[source], "--streams", str(streams), "--seed", str(seed)]
    found = []
    for test in tests:
        progress(f"{source}, N = {streams}: test {test}")
        found += judge(generate, [*arguments, "--device", device], test)
    result = {"source": source, "command": " ".join(["generate", *arguments]), "streams": streams}
    for assessment in ASSESSMENTS:
        result[assessment.lower()] = sum(one[2] == assessment for one in found)
    result["not_passed"] = {
        assessment.lower(): [f"{name}: p = {p:.8f}" for name, p, verdict in found if verdict == assessment]
        for assessment in ASSESSMENTS[1:]
    }
    return result


def version():
    if not shutil.which("dieharder"):
        raise Failure("dieharder is not here (Debian and Ubuntu: apt-get install dieharder)")
    said = subprocess.run(["dieharder", "-h"], capture_output=True, text=True)
    match = re.search(r"dieharder version ([\d.]+\d)", said.stdout + said.stderr)
    if not match:
        raise Failure("dieharder -h does not say its version")
    return match.group(1)


def measure(options):
    file = options.output / "dieharder.json"
    same = {"format": FORMAT, "dieharder": version(), "tests": options.tests, "seed": options.seed}
    result = kept_result(file, FORMAT) or same | {"runs": []}
    for key, value in same.items():
        if result[key] != value:
            raise Failure(f"{file} was made with {key} {result[key]}, not {value}; take another --output")
    if not options.generate.is_file():
        raise Failure(f"generate is not built: {options.generate}")
    for streams in options.streams:
        for source in options.sources:
            if any((one["source"], one["streams"]) == (source, streams) for one in result["runs"]):
                continue
            one = run(options.generate, source, streams, options.tests, options.seed, options.device)
            result["runs"].append(one)
            result["runs"].sort(key=lambda one: (list(SOURCES).index(one["source"]), one["streams"]))
            text = json.dumps(result, indent=1)
            text = re.sub(r"\[\s*([\d,\s]+?)\s*\]", lambda list_: "[" + " ".join(list_.group(1).split()) + "]", text)
            file.write_text(text + "\n")
            progress("")
            counts = ", ".join(f"{one[assessment.lower()]} {assessment.lower()}" for assessment in ASSESSMENTS)
            print(f"{source}, N = {streams}: {counts}", flush=True)
    return result


def draw(result, file):
    """Fractions passed, weak and failed against the number of streams, a panel a source."""
    sources = [source for source in SOURCES if any(one["source"] == source for one in result["runs"])]
    columns = 3
    lines = (len(sources) - 1) // columns + 1
    figure, panels = subplots(lines, columns, figsize=(12, 0.8 + 2.3 * lines), sharey=True, squeeze=False)
    all_streams = sorted({one["streams"] for one in result["runs"]})
    colours = {"passed": "tab:green", "weak": "gold", "failed": "tab:red"}
    for axes, source in zip(panels.flat, sources):
        runs = {one["streams"]: one for one in result["runs"] if one["source"] == source}
        base = [0.0] * len(all_streams)
        for assessment, colour in colours.items():
            parts = [
                runs[streams][assessment] / sum(runs[streams][kind] for kind in colours) if streams in runs else 0
                for streams in all_streams
            ]
            axes.bar(range(len(all_streams)), parts, bottom=base, color=colour, label=assessment, width=0.8)
            base = [bottom + part for bottom, part in zip(base, parts)]
        labels = [
            f"$2^{{{streams.bit_length() - 1}}}$" if streams & (streams - 1) == 0 else str(streams)
            for streams in all_streams
        ]
        axes.set_xticks(range(len(all_streams)), labels)
        axes.set_title(source, fontsize="medium")
        axes.set_ylim(0, 1)
    for axes in panels.flat[len(sources) :]:
        axes.set_axis_off()
    for row in panels:
        row[0].set_ylabel("fraction of tests")
    for column in range(min(columns, len(sources))):
        panels[(len(sources) - 1 - column) // columns][column].set_xlabel("streams N")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    save(figure, file)


def parse_options(arguments):
    parser = Parser(description=__doc__)
    add, flag = adder(parser), parser.add_argument
    short = "the quickest 8 tests for N = 1 and 2^16 (minutes); without it all 22 for N = 1, 2^16 and 2^20 (an hour)"
    flag("--short", action="store_true", help=short)
    flag("--full", action="store_true", help="all tests for N = 1, 4, 16, ..., 2^22 (hours)")
    add("--streams", "1,65536", "only these N", wholes)
    numbered = "; ".join(f"{number} {source}" for number, source in enumerate(SOURCES, 1))
    add("--sources", "1,4", f"only these, by their numbers: {numbered}", wholes)
    add("--tests", "0,100", "only these of dieharder's tests", comma_list(at_least(0)))
    add("--seed", None, "of all streams (1)", int, default=1)
    folder = "folder of dieharder.json and dieharder.svg (common/results/quality)"
    add("--output", "DIR", folder, Path, default=ROOT / "common/results/quality")
    flag("--draw", action="store_true", help="draw what is there, judge nothing")
    add_common_options(parser)
    options = parser.parse_args(arguments)
    if options.short and options.full:
        parser.error("--short and --full together")
    if options.sources and max(options.sources) > len(SOURCES):
        parser.error(f"--sources: there are {len(SOURCES)}")
    if not options.output.is_dir():  # now, not after minutes of work
        parser.error(f"--output {options.output}: there is no such folder")
    options.sources = [list(SOURCES)[number - 1] for number in options.sources or range(1, len(SOURCES) + 1)]
    options.streams = options.streams or (FULL_STREAMS if options.full else SHORT_STREAMS if options.short else STREAMS)
    options.tests = options.tests or (SHORT_TESTS if options.short else TESTS)
    options.generate = options.build_dir / "06_prng/generate"
    return options


def main(arguments):
    options = parse_options(arguments)
    if not options.draw:
        build_if_configured(options.build_dir, "generate")
    result = kept_result(options.output / "dieharder.json", FORMAT) if options.draw else measure(options)
    if not result:
        raise Failure(f"{options.output} has no dieharder.json")
    draw_or_say(draw, result, options.output / "dieharder.svg", asked=options.draw)
    return 0


if __name__ == "__main__":
    run_tool(main, "dieharder")
