#!/usr/bin/env python3
"""Counts what one update kernel of each stage does to memory, without a GPU: the CPU path runs it, and records every
load and store (common/gpu/on_cpu/counters).

Of the 2D model that is a step, of the 3D spin glass half a sweep, the red sites. A request is what the lanes of a warp
ask for by one instruction, a sector 32 bytes of global memory, a wavefront one turn of shared memory. Prints a table,
and the source with the figures of each line beside it: requests, and what each takes, of what its bytes could take.
"From memory" and "to memory" are bytes if caches forget nothing.
"""

if __name__ == "__main__":
    import interrupt  # noqa: F401

import json
import shlex

import build
import counters
import stages
from counted import runs, show
from counted.advice import advice
from models import COMPARED_WITH_NCU, MAJORITY, MODELS, SPIN_GLASS, WITH_RANKS
from options import Parser, add_stages, adder, expect_stages, new_file, whole
from results import begin_result, write_result
from stages import ROOT, Failure, refuse, run_tool

# Whole blocks of threads cover them, and they take seconds.
PROBLEMS = {MAJORITY: {"size": 1600}, SPIN_GLASS: {"size": 64, "samples": 1, "replicas": 4}}
NCU = {MAJORITY: "counters.json", SPIN_GLASS: "spin_glass_counters.json"}
PARTS = {MAJORITY: 1, SPIN_GLASS: 2}  # half a sweep is half of the spins


def option_parser():
    parser = Parser(prog="common/run --counters", description=__doc__)
    parser.add_argument("--counters", action="store_true", help="this")
    add = adder(parser)
    add_stages(parser, f"only these ({','.join(COMPARED_WITH_NCU)})")
    add("--size", "N", "spins along a side (1600 in 2D, 64 in 3D)", whole)
    examples = "; ".join(model.launch_example for model in MODELS)
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
    parser.add_argument("--no-source", action="store_true", help="only the table")
    add("--json", "FILE", "write all that was counted, by line", new_file)
    build.add_options(parser)
    return parser


def numbers_of(model):
    """The stages whose update.cu is about the model."""
    return [number for number in stages.teaching(model) if number != WITH_RANKS]


def wished_points(options):
    """[(stage, problem, launch, what ncu counted or None)]"""
    known = {number: model for model in MODELS for number in numbers_of(model)}
    expect_stages(options.stages, list(known))
    wished = options.stages or [number for number in COMPARED_WITH_NCU if number in known]
    if options.beside:
        if options.launch:
            refuse("--beside says which launches; leave out --launch")
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
        points.append((stage_called(options, number, known[number]), problem, launch, None))
    return points


def wished_launch(known, text):
    """'NN:int32:16x2' -> 'NN', its values"""
    model = known.get(text[:2])
    if not model:
        raise Failure(f"--launch {text}: there is no stage {text[:2]}; there are {', '.join(known)}")
    try:
        return counters.wished(model, text)
    except Failure as failure:
        raise Failure(str(failure).replace("--also", "--launch")) from None


def points_of_ncu(options, model, wished):
    folder = ROOT / "common/results" / options.beside
    try:
        counted = json.loads((folder / NCU[model]).read_text())
    except FileNotFoundError:
        raise Failure(
            f"--beside {options.beside}: there is no {NCU[model]} in common/results/{options.beside}"
        ) from None
    problem = {name: counted[name] for name in model.problem if name in counted}
    size = options.size or problem["size"]
    for row in counted["rows"]:
        launch = {name: row.get(name) for name in model.launch}
        if row["stage"][:2] in wished and (size == problem["size"] or covered(launch, size, problem["size"])):
            share = (size / problem["size"]) ** model.dimensions
            ncu = {name: round(row[name] * share) for name in show.COMPARED}
            yield stage_called(options, row["stage"][:2], model), problem | {"size": size}, launch, ncu


def covered(launch, *sizes):
    """Whether whole blocks of threads cover 2D lattices of these sizes, so that all warps do the same."""
    side = launch["thread_width"] * launch["block"]
    return all(size % side == 0 for size in sizes)


def stage_called(options, number, model):
    return next(stage for stage in stages.course(options.build_dir, model) if stage.number == number)


def count(point, what):
    """A row: what is written to JSON."""
    stage, problem, launch, ncu = point
    found = runs.record(stage, problem, launch, what)
    given = {name: value for name, value in launch.items() if value is not None}
    file = ROOT / stage.name / "update.cu"
    row = {
        "stage": stage.name,
        "launch": launch_in_words(given, found),
        **given,
        "problem": problem,
        "updated_spins": stage.model.spins(problem) * (launch.get("steps_per_pass") or 1) // PARTS[stage.model],
        "kernel": found.kernel,
        "grid": found.grid,
        "block": found.block,
        "shared_bytes": found.shared_bytes,
        **show.sums(found),
    }
    if ncu:
        return row | {"ncu": ncu}
    return row | {"file": str(file.relative_to(ROOT)), "lines": show.lines_of(found, file)}


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
    points = wished_points(options)
    builder = build.builder_for(options)
    targets = list(dict.fromkeys(runs.counted_target(stage) for stage, *_ in points))
    for target in targets:
        if not builder.has(target):
            raise Failure(f"there is no {target} to build here: it takes GCC and Boost.Context, and no sanitizers")
    builder.need(*targets, what="the counted programs")
    rows = [count(point, f"counting {i} of {len(points)}") for i, point in enumerate(points, 1)]
    stages.progress("")
    if options.beside:
        print(show.truth(rows, show.table.aligned))
    else:
        print(show.launch_table(rows))
        if not options.no_source:
            print(f"\nBeside the source: {show.GUTTER}.")
        for row in () if options.no_source else rows:
            print(f"\n{row['file']}, {row['launch']}: {row['kernel']}", show.listing(row), sep="\n")
            for line, text in advice(row["lines"]):
                print(f"line {line}: {text}")
    if options.json:
        command = shlex.join(["common/run", *arguments])
        write_result(options.json, begin_result(show.FORMAT, command) | {"rows": rows})
    return 1 if options.beside and any(map(show.differs, rows)) else 0


if __name__ == "__main__":
    run_tool(main, "common/run --counters")
