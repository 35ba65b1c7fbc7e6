#!/usr/bin/env python3
"""Counts what one update kernel of each stage does to memory, without a GPU: the CPU path runs it, and records every
load and store (common/gpu/on_cpu/counters).

Of the 2D model that is a step, of the 3D spin glass half a sweep, the red sites, and of kernels whose words hold many
samples a sweep. A request is what the lanes of a warp ask for by one instruction, a sector 32 bytes of global memory, a
wavefront one turn of shared memory. Prints a table, and the source with the figures of each line beside it: requests,
and what each takes, of what its bytes could take. "From memory" and "to memory" are bytes per spin if L2 forgets
nothing, "from L2" if L1 forgets a block's bytes when the block ends, and no sooner; "modelled" and "L1 hits" are what a
small model of the caches of a device says (--predict, or the H200).
"""

if __name__ == "__main__":
    import interrupt  # noqa: F401

import json
import re
import shlex
from dataclasses import dataclass

import build
import counters
import stages
from counted import page, predict, roofline, runs, show
from counted.advice import advice
from measure import words
from models import COMPARED_WITH_NCU, MAJORITY, MODELS, SPIN_GLASS, WITH_RANKS
from options import Parser, add_stages, adder, expect_stages, new_file, whole
from results import begin_result, write_result
from stages import ROOT, Failure, refuse, run_tool

# Whole blocks of threads cover them, and they take seconds.
PROBLEMS = {MAJORITY: {"size": 1600}, SPIN_GLASS: {"size": 64, "samples": 1, "replicas": 4}}
PARTS = {MAJORITY: 1, SPIN_GLASS: 2}  # half a sweep is half of the spins
PLANE_KERNELS = ("update", "wide")  # of words.STAGE: a launch does half a sweep
KERNELS = "|".join(SPIN_GLASS.rows["kernel"])
OF_WORDS = rf"\d\d:(?P<kernel>{KERNELS}):(?P<samples_per_word>32|64|128)(:(?P<generator>{counters.GENERATOR}))?"
OF_WORDS_EXAMPLE = f"{words.STAGE}:wide:64:philox"


@dataclass
class Point:
    """What is counted: so many launches of a stage's kernel, of this problem. It may be a part of a larger one that
    consists of many alike, `times` of them, to which the counts go."""

    stage: object
    problem: dict
    launch: dict
    launches: int = 1
    times: int = 1
    ncu: dict | None = None  # what it counted of the same

    def updated_spins(self):
        model = self.stage.model
        parts = 1 if self.launch.get("kernel") in counters.MANY_SWEEPS else PARTS[model] // self.launches
        return self.times * model.spins(self.problem) * (self.launch.get("steps_per_pass") or 1) // parts


def option_parser():
    parser = Parser(prog="common/run --counters", description=__doc__)
    parser.add_argument("--counters", action="store_true", help="this")
    add = adder(parser)
    add_stages(parser, f"only these ({','.join(COMPARED_WITH_NCU)})")
    add("--size", "N", "spins along a side (1600 in 2D, 64 in 3D)", whole)
    examples = "; ".join([*(model.launch_example for model in MODELS), OF_WORDS_EXAMPLE])
    parser.add_argument(
        "--launch", nargs="+", default=[], metavar="LAUNCH", help=f"these, not the stages' own: {examples}"
    )
    add(
        "--beside",
        "DEVICE",
        "what ncu counted on this device, as h200, and the same counted here; minutes. With --size, the 2D launches "
        "whose blocks cover both lattices, and ncu's counts in proportion. Exit code 1 if requests or sectors differ "
        "by more than 1 %%",
    )
    parser.add_argument(
        "--ncu", action="store_true", help="also what ncu counts of the same on this machine's GPU, built for it"
    )
    devices = ", ".join(f"{name}: {device.title}" for name, device in predict.DEVICES.items())
    add("--predict", "DEVICE", f"the least time that this takes there, and what sets it ({devices})", str)
    parser.add_argument("--no-source", action="store_true", help="only the tables")
    add("--html", "FILE", "write tables and source as a page", new_file)
    add("--roofline", "FILE", "with --beside h200: write measured speeds over bytes per update as a picture", new_file)
    add("--json", "FILE", "write all that was counted, by line", new_file)
    build.add_options(parser)
    return parser


def numbers_of(model):
    """The stages whose update.cu is about the model."""
    return [number for number in stages.teaching(model) if number != WITH_RANKS]


def wished_points(options):
    """What is to be counted."""
    known = {number: model for model in MODELS for number in numbers_of(model)}
    expect_stages(options.stages, list(known))
    wished = options.stages or [number for number in COMPARED_WITH_NCU if number in known]
    if options.beside:
        if options.launch:
            refuse("--beside says which launches; leave out --launch")
        if options.ncu:
            refuse("--beside and --ncu: one of them")
        models = [MAJORITY] if options.size else MODELS
        points = [point for model in models for point in points_of_ncu(options, model, wished)]
        if not points:
            raise Failure(f"--beside {options.beside}: nothing that was counted there can be compared")
        return points

    launches = [(number, {}) for number in wished]
    if options.launch:
        if options.stages:
            refuse("--launch says which stages; leave out --stages")
        launches = [wished_launch(known, text) for text in options.launch]
    if options.size and len({known[number] for number, _ in launches}) > 1:
        groups = [",".join(number for number in COMPARED_WITH_NCU if known.get(number) is model) for model in MODELS]
        refuse(f"--size is for one model: add --stages {' or --stages '.join(groups)}")
    points = []
    for number, launch in launches:
        problem = PROBLEMS[known[number]] | ({"size": options.size} if options.size else {})
        stage = stage_called(options, number, known[number])
        points.append(of_words(stage, problem, launch) if number == words.STAGE else Point(stage, problem, launch))
    return points


def of_words(stage, problem, launch):
    """A stage whose words hold many samples: one word of them, and the lesson's kernel if none is asked for."""
    launch = {"kernel": words.LESSON, "samples_per_word": 32, "generator": words.GENERATORS[0]} | {
        name: value for name, value in launch.items() if value is not None
    }
    samples = launch["samples_per_word"]
    launches = 2 if launch["kernel"] in PLANE_KERNELS else 1
    return Point(stage, problem | {"samples": samples, "samples_per_stream": samples}, launch, launches)


def wished_launch(known, text):
    """'NN:int32:16x2' -> 'NN', its values"""
    model = known.get(text[:2])
    if not model:
        raise Failure(f"--launch {text}: there is no stage {text[:2]}; there are {', '.join(known)}")
    if text[:2] == words.STAGE and model is SPIN_GLASS:
        found = re.fullmatch(OF_WORDS, text)
        if not found:
            raise Failure(f"--launch {text}: a launch of stage {text[:2]} is written as in {OF_WORDS_EXAMPLE}")
        return text[:2], found.groupdict() | {"samples_per_word": int(found["samples_per_word"])}
    try:
        return counters.wished(model, text)
    except Failure as failure:
        raise Failure(str(failure).replace("--also", "--launch")) from None


def points_of_ncu(options, model, wished):
    folder = ROOT / "common/results" / options.beside
    try:
        counted = json.loads((folder / show.NCU[model]).read_text())
    except FileNotFoundError:
        raise Failure(
            f"--beside {options.beside}: there is no {show.NCU[model]} in common/results/{options.beside}"
        ) from None
    problem = {name: counted[name] for name in model.problem if name in counted}
    size = options.size or problem["size"]
    for row in counted["rows"]:
        launch = {name: row.get(name) for name in model.launch}
        if row["stage"][:2] in wished and (size == problem["size"] or covered(launch, size, problem["size"])):
            share = (size / problem["size"]) ** model.dimensions
            stage = stage_called(options, row["stage"][:2], model)
            yield Point(stage, problem | {"size": size}, launch, ncu=counts_of(row, share))
    if model is SPIN_GLASS and words.STAGE in wished:
        stage = stage_called(options, words.STAGE, model)
        for row in json.loads((folder / "words" / words.COUNTERS).read_text())["rows"]:
            if row["kernel"] in PLANE_KERNELS:
                launch = {name: row[name] for name in words.LAUNCH}
                problem = {"size": row["size"], "replicas": row["replicas"]}
                point = of_words(stage, problem, launch)
                point.times = row["samples"] // point.problem["samples"]
                point.ncu = counts_of(row, 1)
                yield point


def counts_of(row, share):
    """What ncu counted, of a share of the problem; the time, too, in proportion, as where the GPU is full."""
    found = {name: round(row[name] * share) for name in show.COMPARED}
    if "shared_load_wavefronts" in row:
        found["shared_wavefronts"] = round((row["shared_load_wavefronts"] + row["shared_store_wavefronts"]) * share)
    found |= {name: round(row[name] * share) for name in show.BRANCHES if name in row}
    # A smaller problem may fit into L2.
    found |= {name: row[name] for name in (*show.SHARES, "registers", *show.MEMORY * (share == 1)) if name in row}
    found |= {"microseconds": row["microseconds"] * share}
    return found | ({"updated_spins": row["flips"]} if "flips" in row else {})


def covered(launch, *sizes):
    """Whether whole blocks of threads cover 2D lattices of these sizes, so that all warps do the same."""
    side = launch["thread_width"] * launch["block"]
    return all(size % side == 0 for size in sizes)


def stage_called(options, number, model):
    return next(stage for stage in stages.course(options.build_dir, model) if stage.number == number)


def count(point, what, device):
    """A row: what is written to JSON."""
    stage, launch = point.stage, point.launch
    # Of a part of a problem nobody knows what the caches do with the whole.
    caches = device.caches((point.ncu or {}).get("registers", 0)) if point.times == 1 else ""
    found = runs.record(stage, point.problem, launch, what, point.launches, caches)
    given = {name: value for name, value in launch.items() if value is not None}
    file = found.file or ROOT / stage.name / "update.cu"
    row = {
        "stage": stage.name,
        "launch": words_in_words(point) if stage.number == words.STAGE else launch_in_words(given, found),
        **given,
        "problem": point.problem,
        "times": point.times,
        "updated_spins": point.updated_spins(),
        "launches": point.launches,
        "kernel": found.kernel,
        "grid": found.grid,
        "block_extent": found.block,
        "shared_bytes": found.shared_bytes,
        **{name: count * (1 if name in show.SHARES else point.times) for name, count in show.sums(found).items()},
    }
    if point.ncu:
        return row | {"ncu": point.ncu}
    return (
        row
        | {"file": str(file.relative_to(ROOT)), "lines": show.lines_of(found, file)}
        | {"branches_by_line": show.branches_of(found, file)}
    )


def ask_ncu(options, point):
    """What ncu counts of the same launches on the GPU here."""
    stage = counters.stage_called(point.stage.number, point.stage.model, options)
    if stage.number == words.STAGE:
        found = counters.profile_kernel(stage, "gpu", point.problem | point.launch | {"sweeps": 1})
    else:
        found = counters.profile(stage, "gpu", point.problem, point.launch)
    return counts_of(found, 1)


def words_in_words(point):
    """'wide, philox, k = 64, L = 130'"""
    launch = point.launch
    return f"{launch['kernel']}, {launch['generator']}, k = {launch['samples_per_word']}, L = {point.problem['size']}"


def launch_in_words(given, found):
    """'int32, 16 x 2', or the threads of a block where nothing was asked for."""
    words = [
        value for name, value in given.items() if isinstance(value, str) and (name, value) != ("generator", "minstd")
    ]
    numbers = [str(value) for value in given.values() if not isinstance(value, str)]
    block = [str(extent) for extent in found.block if extent > 1 or extent == found.block[0]]
    return ", ".join(words + [" x ".join(numbers or block)])


def main(arguments):
    options = option_parser().parse_args(arguments)
    device = predict.device_called(options.predict) if options.predict else None
    if options.roofline and options.beside != "h200":
        refuse("--roofline takes the speeds of --beside h200")
    points = wished_points(options)
    builder = build.builder_for(options)
    targets = list(dict.fromkeys(runs.counted_target(point.stage) for point in points))
    for target in targets:
        if not builder.has(target):
            raise Failure(f"there is no {target} to build here: it takes GCC and Boost.Context, and no sanitizers")
    builder.need(*targets, what="the counted programs")
    modelled = device or predict.DEVICES.get(options.beside) or predict.DEVICES["h200"]
    rows = [count(point, f"counting {i} of {len(points)}", modelled) for i, point in enumerate(points, 1)]
    stages.progress("")
    if options.ncu:
        rows = [row | {"ncu": ask_ncu(options, point)} for row, point in zip(rows, points, strict=True)]
    command = shlex.join(["common/run", *arguments])
    say(rows, options, device)
    if options.html:
        options.html.write_text(page.page(rows, command, device))
    if options.roofline:
        roofline.save(options.roofline, rows, predict.DEVICES[options.beside])
    if options.json:
        write_result(options.json, begin_result(show.FORMAT, command) | {"rows": rows})
    return 1 if options.beside and any(map(show.differing, rows)) else 0


def say(rows, options, device):
    """What was counted, on standard output."""
    if options.beside or options.ncu:
        truths = (
            truth(rows, show.table.aligned) for truth in (show.truth, show.truth_of_caches, show.truth_of_branches)
        )
        print(*filter(None, truths), sep="\n")
        if any(map(show.differing, rows)):
            print("some requests or sectors differ by more than 1 %")
    if not options.beside:
        print(show.launch_table(rows))
    if device:
        print(f"\nThe least time on {device.title} ({device.source}):")
        print(predict.predictions(rows, device))
    if options.beside or options.no_source:
        return
    print(f"\nBeside the source: {show.GUTTER}.")
    for row in rows:
        print(f"\n{row['file']}, {row['launch']}: {row['kernel']}", show.listing(row), sep="\n")
        for line, text in advice(row["lines"]):
            print(f"line {line}: {text}")


if __name__ == "__main__":
    run_tool(main, "common/run --counters")
