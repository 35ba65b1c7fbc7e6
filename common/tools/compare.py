#!/usr/bin/env python3
"""Builds and times the stages, checks their bits against the reference, prints a table a model, each row as soon as it
is measured.

The reference is always run: its state is what the others must reach. Exit code 1 if any stage's bits differ.
"""

if __name__ == "__main__":
    import interrupt  # noqa: F401

import copy
from pathlib import Path

import build
import device_report
import stages
import table
from measure import generators, sizes, sweep, words
from measure.comparison import Comparison
from models import CURAND_GENERATORS, MAJORITY, MODELS, REFERENCE, SPIN_GLASS, WITH_RANKS
from options import Parser, add_device, add_stages, adder, expect_stages, new_file, positive, some_of, whole, wholes
from pictures import draw, measured, plots
from results import write_csv, write_result
from stages import Failure, progress, refuse, run_tool

INTO_FOLDER = {"sweep": sweep, "sizes": sizes, "generators": generators, "words": words}


def own_options(model):
    """The options that say which model is meant."""
    own = [*model.own_options, *(name for name, tool in INTO_FOLDER.items() if tool.MODEL is model)]
    return own + ["spins"] * (model is SPIN_GLASS)


def option_parser():
    parser = Parser(
        as_written=False,
        prog="common/run",
        description="Builds the stages one after another, times each one's variants, checks the result of the best bit "
        f"for bit against the reference, stage {REFERENCE}, and prints a table for each of the two models: on a GPU if "
        "there is one, else on the CPU.",
        epilog="Also: --no-install (never install packages), --tour (the stages one by one: what to read and to "
        "predict, then the measured rows), --counters (what the kernels do to memory, counted without a GPU), "
        "--site [DIR] (builds the course as a site), --device-report (what this machine has and lacks), "
        f"--ranks N (runs stage {WITH_RANKS} on N ranks of MPI), "
        "--scaling DIR (times it on several numbers of ranks). --tour, --counters, --ranks and --scaling say more with "
        "--help.",
    )
    add, flag = adder(parser), parser.add_argument
    flag(
        "--model",
        choices=["majority", "spin-glass", "both"],
        help="whose stages (both, or the one that the other options belong to)",
    )
    add(
        "--size",
        "N",
        "spins along a side: of the 2D majority model (10000; 1500 on a CPU) or of the 3D spin glass (256; 32). It "
        "takes one model, as do --json, --csv and --plot",
        wholes,
    )
    flag("--seed", type=int, default=42, help="of everything that is random (42)")
    add_stages(parser, "only these, and the reference, which says which bits are right")
    flag("--all", action="store_true", help="a row for every variant, and every launch tried; not only a stage's best")
    flag("--wide", action="store_true", help="every column, for a wide terminal")
    add("--beside", "DEVICE", "a column with what is in common/results of another device, as h200")
    add("--repetitions", "R", "timed runs, of which the median counts (10; 3 on a CPU)", whole)
    add_device(parser)
    add("--json", "FILE", "write all that was measured: every column, and all trials", new_file)
    add("--csv", "FILE", "write the table, with every column", new_file)
    add("--plot", "FILE", "draw the table (.png, .svg or .pdf)", new_file)
    build.add_options(parser)

    groups = {model: adder(parser.add_argument_group(model.title)) for model in MODELS}
    groups[MAJORITY]("--steps", "K", "updates of the whole lattice in one timed run (10)", wholes)
    add = groups[SPIN_GLASS]
    add("--sweeps", "K", "sweeps in one timed run (10)", whole)
    add("--samples", "M", "realisations of the couplings (1)", whole)
    add("--replicas", "R", "copies of each sample (4)", whole)
    add("--temperature", "T", "in units of the coupling (1.1)", positive)
    for model, add in groups.items():
        parts = {part.name: part for part in model.parts}
        for part in (parts[name] for name in [*model.rows, *model.trials]):
            numbers = isinstance(part.values[0], int)
            parse = wholes if numbers else some_of(part.values + part.elsewhere)
            add(option(part.name), part.metavar, part.help, parse)
    for name, tool in INTO_FOLDER.items():
        groups[tool.MODEL](option(name), "DIR", f"instead: {tool.HELP}", Path)
    groups[SPIN_GLASS](
        "--spins",
        "S",
        "with --sizes, --generators or --words: spins of all samples together (2^26, with --words 2^32; 2^17 or 2^16 "
        "on a CPU)",
        whole,
    )
    return parser


def option(name):
    return "--" + name.replace("_", "-")


def choose_models(options):
    """What --model says, else the one that the other options belong to, else both."""
    given = {model: [name for name in own_options(model) if getattr(options, name)] for model in MODELS}
    if options.model in (None, "both"):
        models = [model for model in MODELS if given[model]] or list(MODELS)
        if len(models) > 1 and any(given.values()):
            two = " and ".join(option(given[model][0]) for model in MODELS)
            refuse(f"{two} belong to different models; choose one")
        if options.model and any(given.values()):
            refuse(f"{option(given[models[0]][0])} belongs to one model; --model is both")
    else:
        models = [model for model in MODELS if model.name == options.model.replace("-", "_")]
        for model in MODELS:
            if model not in models and given[model]:
                refuse(f"{option(given[model][0])} does not belong to --model {options.model}")
    if len(models) > 1:
        one = "is for one model: add --model majority or --model spin-glass"
        forbid(options, ("size", "json", "csv", "plot"), f" {one}")
    return models


def forbid(options, names, why):
    for name in names:
        if getattr(options, name):
            refuse(option(name) + why)


def parse_options(arguments):
    options = option_parser().parse_args(arguments)
    options.models = choose_models(options)
    into_folder = [f"--{name}" for name in INTO_FOLDER if getattr(options, name)]
    if into_folder:
        tool, over_sizes = into_folder[0], not options.sweep
        forbid(options, ("all", "wide", "beside"), f": {tool} prints tables of its own")
        for file in filter(None, (options.json, options.csv, options.plot)):
            refuse(f"{file}: {tool} names its files itself")
        if over_sizes:
            forbid(options, ("samples",), f": with {tool} the number of samples follows from --spins")
            others = ("indexing", "load", "sites_per_thread")
            others = others if options.words else ("kernel", "samples_per_word", "cluster", "replicas_together")
            forbid(options, others, f": {tool} times stages that have nothing of the kind")
        if len(into_folder) > 1:
            refuse(f"{tool} and {into_folder[1]}: one at a time")
        if options.sizes:
            forbid(options, ("generator",), ": --sizes times minstd; --generators compares generators")
    else:
        forbid(options, ("spins",), " only makes sense with --sizes, --generators or --words")
        for name in ("size", "steps"):
            values = getattr(options, name) or [None]
            if len(values) > 1:
                refuse(f"--{name}: several values only make sense with --sweep, --sizes, --generators or --words")
            setattr(options, name, values[0])
    if not options.generators and set(options.generator or []) & set(CURAND_GENERATORS):
        refuse("--generator: the reference knows none of cuRAND's; --generators times them")
    known = sorted({stage.number for model in options.models for stage in stages.course(options.build_dir, model)})
    expect_stages(options.stages, known)
    for model in options.models if options.beside else []:
        table.beside(options.beside, model)
    if options.plot and options.plot.suffix not in (".png", ".svg", ".pdf"):
        refuse(f"--plot {options.plot}: the name must end in .png, .svg or .pdf")
    return options


def split_by_model(options):
    """(model, its options) for every model that has one of the chosen stages."""
    wished = options.stages or []
    split = []
    for model in options.models:
        own = copy.copy(options)
        numbers = [stage.number for stage in stages.course(options.build_dir, model)]
        own.stages = [number for number in wished if number in numbers]
        if not wished or set(own.stages) - {REFERENCE} or not set(wished) - {REFERENCE}:
            split.append((model, own))
    return split


def show(comparison, explain=True):
    """Measures and prints one model's table, each row as soon as it is there. The result. `explain`: what the columns
    mean."""
    model, options = comparison.model, comparison.options
    comparison.prepare()
    progress("")
    where = f", on {comparison.device}" if comparison.device else ""
    print(f"{table.wrapped(f'{model.title}: {table.problem_in_words(comparison.problem)}{where}')}\n")
    columns = table.all_columns(model) if options.wide else table.short_columns(model, options.beside)
    writer = table.Writer(model, columns, ladders=options.all and model.rows_first)
    result = comparison.run(writer.row)
    if options.wide:
        remarks = table.remarks(result)
    else:
        remarks = [*(table.legend(result) if explain else []), *table.short_remarks(result, options.beside)]
    print(f"\n{table.as_remarks(remarks)}", flush=True)
    for line in table.wrong_results(result):
        print(line, flush=True)
    if options.json:
        write_result(options.json, result)
    if options.csv:
        write_csv(options.csv, result["rows"], left_out=(f"{model.time}_runs", "shapes"))
    if options.plot:
        measured.draw_comparison(result, options.plot)
    return result


def agree(result):
    return all(row["bits_agree"] for row in result["rows"])


def measure_into_folder(name, options):
    """What --sweep, --sizes, --generators and --words do."""
    tool, folder = INTO_FOLDER[name], getattr(options, name)
    prepared = tool.prepare(options)
    folder.mkdir(parents=True, exist_ok=True)
    found, wrong = tool.measure(*prepared)
    if not found:
        raise Failure(f"--{name}: {wrong[0] if wrong else 'every launch was refused'}")
    print(tool.as_text(found, options))
    for line in wrong:
        print(f"*** WRONG RESULT *** {line}")
    files = tool.files(found)
    for file, content in files.items():
        (write_csv if file.endswith(".csv") else write_result)(folder / file, content)
    print(f"\nwritten: {' '.join(files)}")
    draw.draw_if_possible(folder, file)
    return 1 if wrong else 0


def main(arguments):
    options = parse_options(arguments)
    if options.plot:
        plots.pyplot()  # now, so that a missing matplotlib does not cost a run
    print(table.wrapped(device_report.in_a_line(options)), flush=True)
    options.builder = build.builder_for(options)
    for name in INTO_FOLDER:
        if getattr(options, name):
            return measure_into_folder(name, options)
    comparisons = [Comparison(model, own) for model, own in split_by_model(options)]
    options.builder.plan([group for comparison in comparisons for group in comparison.groups()])
    results = []
    for comparison in comparisons:
        print(flush=True)
        results.append(show(comparison, explain=not results))
    return 0 if all(map(agree, results)) else 1


if __name__ == "__main__":
    run_tool(main, "common/run")
