"""Measures the stages and makes the comparison out of it: which launches are tried, what is timed, what is compared."""

import datetime
import sys

import stages
from models import MAJORITY
from stages import REFERENCE, Failure, run_benchmark


def chosen_stages(model, options):
    found = stages.find_stages(options.build_dir, model)
    numbers = [stage.number for stage in found]
    if REFERENCE not in numbers:
        raise Failure(f"stage {REFERENCE} is not built in {options.build_dir}; common/run builds it")
    for wished in options.stages or []:
        if wished not in numbers:
            raise Failure(f"--stages {wished}: there is no such stage; there are {', '.join(numbers)}")
    reference = found[numbers.index(REFERENCE)]
    others = [s for s in found if s is not reference and (not options.stages or s.number in options.stages)]
    return reference, others


class Refused(Failure):
    """A stage can do none of the launches that were tried."""


def platform_of(options, others):
    """Where the stages will run, as one of them says for a problem that takes no time."""
    return probe(others[0], options)[0] if others else "reference"


def probe(stage, options):
    """Where the stage runs, and what it has to choose from: row values, each with the names of the launch's parts."""
    model = stage.model
    rows = getattr(options, model.row) or list(model.rows)
    problem = model.smallest | {model.row: rows}
    report = run_benchmark(stage, device=options.device, quick=True, repetitions=1, **problem)
    offered = {}
    for launch in report.launches:
        if not launch.refused:
            offered[launch.values[model.row]] = [name for name in model.trials if launch.values[name] is not None]
    return report.platform, offered


def fill_defaults(model, options, platform):
    """Everything that the user left open, and the problem as it is to be run."""
    for name, (on_gpu, on_cpu) in model.defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, on_gpu if platform == "gpu" else on_cpu)
    problem = {name: getattr(options, name) for name in model.problem}
    return problem | {"seed": options.seed}


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure_reference(stage, problem, repetitions):
    # The plain loop at the GPU's problem size takes ten seconds and needs no second look.
    if stage.model.updates(problem) > 1e8:
        repetitions = 1
    report = run_benchmark(stage, repetitions=repetitions, **problem)
    launch = report.launches[0]
    if launch.wrong or launch.refused:
        raise Failure(f"{stage.name}: {launch.wrong or launch.refused}")
    if stage.model is MAJORITY:  # stage 00 stores as it likes, and only its bytes say how
        launch.values["storage"] = {2: "int8", 8: "int32"}[int(launch.bytes)]
    return report, launch


def try_launches(stage, value, parts, platform, options, problem):
    """Every launch with this row value, timed briefly."""
    model = stage.model
    brief = {"repetitions": 3}
    if platform != "gpu":  # a step takes as long as the next, and there are many launches to try
        brief = {model.runs: 1, "repetitions": 1}
    trials = {part: getattr(options, part) or model.trials[part] for part in parts}
    settings = problem | brief | {model.row: value} | trials
    return run_benchmark(stage, device=options.device, quick=True, **settings).launches


def measure(stage, value, parts, platform, options, problem, expected):
    """The report of the stage's fastest launch with this row value, that launch, and all those tried."""
    progress(f"{stage.name}, {value}: trying launches")
    tried = try_launches(stage, value, parts, platform, options, problem)
    possible = [launch for launch in tried if not launch.refused]
    if not possible:
        raise Refused(f"{stage.name}: {tried[0].refused}")
    best = min(possible, key=lambda launch: launch.median)
    progress(f"{stage.name}, {value}: measuring {' x '.join(str(best.values[part]) for part in parts)}")
    settings = problem | best.values | {"repetitions": options.repetitions, "expect": expected}
    report = run_benchmark(stage, device=options.device, **settings)
    launch = report.launches[0]
    if launch.refused:
        raise Failure(f"{stage.name}: {launch.refused}")
    return report, launch, tried


def make_row(stage, report, launch, tried, problem):
    model = stage.model
    timed = bool(launch.times) and not launch.wrong
    seconds = launch.median * 1e-3 if timed else None
    spins = model.spins(problem)
    rate = launch.bytes * spins / seconds * 1e-9 if timed else None
    return {
        "stage": stage.name,
        "idea": stages.idea(stage.name),
        "platform": report.platform,
        "device": report.device,
        "build_type": report.build_type,
        **launch.values,
        model.time: launch.median if timed else None,
        f"{model.time}_runs": launch.times,
        model.ps: seconds / spins * 1e12 if timed else None,
        model.bytes: launch.bytes,
        "gb_per_s": rate,
        "copy_gb_per_s": report.copy_gb_per_s,
        "of_copy": rate / report.copy_gb_per_s if timed else None,
        "factor_before": None,
        "factor_reference": None,
        "hash": launch.hash,
        "bits_agree": not launch.wrong,
        "wrong": launch.wrong,
        "shapes_tried": sum(not other.refused for other in tried),
        "shapes": [other.as_json() for other in tried],
    }


def fill_factors(model, rows):
    """How much faster than stage 00, and than the row before in the same ladder (or 00)."""
    reference = before = rows[0]
    for row in rows[1:]:
        if model.rows_first and row[model.row] != before[model.row]:
            before = reference
        if row[model.time]:
            row["factor_reference"] = reference[model.time] / row[model.time]
            row["factor_before"] = before[model.time] / row[model.time]
            before = row
    return rows


def survey(model, others, options):
    """Where the stages run, and what the table has rows for: (stage, row value, parts of its launches), in order."""
    wished = getattr(options, model.row)
    values = wished or list(model.rows)
    platform, steps = "reference", []
    for stage in others:
        platform, offered = probe(stage, options)
        steps += [(stage, value, parts) for value, parts in offered.items()]
    missing = [value for value in values if value not in [value for _, value, _ in steps]]
    if wished and others and missing:
        raise Failure(f"--{model.row} {missing[0]}: none of the chosen stages has it")
    return platform, sorted(steps, key=lambda step: values.index(step[1])) if model.rows_first else steps


def compare(model, options):
    reference, others = chosen_stages(model, options)
    platform, steps = survey(model, others, options)
    problem = fill_defaults(model, options, platform)
    progress(f"{reference.name}: measuring")
    report, launch = measure_reference(reference, problem, options.repetitions)
    expected = launch.hash
    rows, left_out = [make_row(reference, report, launch, [], problem)], []
    for stage, value, parts in steps:
        try:
            measured = measure(stage, value, parts, platform, options, problem, expected)
            rows.append(make_row(stage, *measured, problem))
        except Refused as refused:  # bitwise, say, for a size that is no power of two
            if getattr(options, model.row) or len(left_out) == len(steps) - 1:
                raise
            left_out.append(f"{value}: {refused}")
    progress("")
    return {
        "format": model.format,
        "command": command(model, options, rows),
        "date": datetime.date.today().isoformat(),
        "device": {"platform": rows[-1]["platform"], "name": rows[-1]["device"]},
        "problem": problem | {"hash": expected},
        "repetitions": options.repetitions,
        "rows": fill_factors(model, rows),
        "left_out": left_out,
    }


def command(model, options, rows):
    """What to type for the same run; where its files went is nobody's business."""
    settings = {name: getattr(options, name) for name in [*model.problem, "seed"]}
    settings["stages"] = list(dict.fromkeys(row["stage"][:2] for row in rows))
    if len(rows) > 1:
        settings[model.row] = list(dict.fromkeys(row[model.row] for row in rows[1:]))
    settings |= {name: getattr(options, name) for name in model.trials}
    settings |= {"repetitions": options.repetitions, "device": options.device}
    words = ["common/run"]
    for name, value in settings.items():
        if value not in (None, []):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words += ["--" + name.replace("_", "-"), text]
    return " ".join(words)
