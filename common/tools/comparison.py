"""Measures the stages and makes the comparison out of it: which launches are tried, what is timed, what is compared."""

import datetime

import stages
from models import KERNEL_GENERATORS, MAJORITY, plain_generator
from stages import REFERENCE, Failure, progress, run_benchmark


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


def probe(stage, options, **more):
    """Where the stage runs, and what it has to choose from, whatever is wished: a row's values, each with the names of
    the launch's parts. `more`: further values to ask for, as generator=[...]."""
    model = stage.model
    offered = []
    for left_out in ("kernel", "indexing"):  # a stage refuses the one that it does not have
        rows = {name: list(values) for name, values in model.rows.items() if name != left_out} | more
        report = run_benchmark(stage, device=options.device, quick=True, repetitions=1, **model.smallest, **rows)
        for launch in report.launches:
            if not launch.refused:
                values = {name: launch.values[name] for name in model.rows}
                parts = [name for name in model.trials if launch.values[name] is not None]
                if "cluster" in parts:  # how many threads its blocks have follows from it
                    parts.remove("threads")
                offered.append((values, parts))
        if offered:
            break
    return report.platform, offered


def has_generators(offered):
    """Whether a stage has a choice of generators, from what probe() found."""
    return len({values.get("generator") for values, _ in offered}) > 1


def fill_defaults(model, options, platform):
    """Everything that the user left open, and the problem as it is to be run."""
    for name, (on_gpu, on_cpu) in model.defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, on_gpu if platform == "gpu" else on_cpu)
    problem = {name: getattr(options, name) for name in model.problem}
    return problem | {"seed": options.seed}


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


# Stage 00 is slow, and its streams of MT19937 take 5000 bytes a site.
CHECK_SIZE = 64


def to_be_checked(problem):
    """The problem, or one like it that stage 00 can do with any generator in a second."""
    return problem | {"size": min(problem["size"], CHECK_SIZE), "samples": 1}


def wrong_bits(reference, stage, problem, options, values):
    """Runs stage 00 and a stage's launches with these values, one generator among them. What is wrong, a line each."""
    generator = values["generator"]
    progress(f"{reference.name}: {generator}")
    expected = run_benchmark(reference, copy=False, repetitions=1, generator=generator, **problem).launches[0]
    if expected.wrong or expected.refused:
        raise Failure(f"{reference.name}: {expected.wrong or expected.refused}")
    settings = problem | values | {"repetitions": 1, "expect": expected.hash}
    launches = run_benchmark(stage, copy=False, device=options.device, **settings).launches
    if all(launch.refused for launch in launches):
        raise Failure(f"{stage.name}: {launches[0].refused}")
    return [f"{stage.model.row_in_words(launch.values)}: {launch.wrong}" for launch in launches if launch.wrong]


def try_launches(stage, values, parts, platform, options, problem):
    """Every launch with these row values, timed briefly."""
    model = stage.model
    brief = {"repetitions": 3}
    if platform != "gpu":  # a step takes as long as the next, and there are many launches to try
        brief = {"repetitions": 1} if "steps_per_pass" in parts else {model.runs: 1, "repetitions": 1}
    trials = {part: getattr(options, part) or model.trials[part] for part in parts}
    settings = problem | brief | values | trials
    return run_benchmark(stage, device=options.device, quick=True, **settings).launches


def measure(stage, values, parts, platform, options, problem, expected, checked=True):
    """The report of the stage's fastest launch with these row values, that launch, and all those tried."""
    row = stage.model.row_in_words(values)
    progress(f"{stage.name}, {row}: trying launches")
    tried = try_launches(stage, values, parts, platform, options, problem)
    possible = [launch for launch in tried if not launch.refused]
    if not possible:
        raise Refused(f"{stage.name}: {tried[0].refused}")
    best = min(possible, key=lambda launch: launch.median)
    progress(f"{stage.name}, {row}: measuring {' x '.join(str(best.values[part]) for part in parts)}")
    settings = problem | best.values | {"repetitions": options.repetitions, "expect": expected}
    report = run_benchmark(stage, device=options.device, checked=checked, **settings)
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
        **{name: problem[name] for name in ("samples", "samples_per_stream", "replicas") if name in problem},
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
        "bits_compared_at": None,  # the problem's changes for a comparison with stage 00, if that was not this one
        "bits_agree": not launch.wrong,
        "wrong": launch.wrong,
        "shapes_tried": sum(not other.refused for other in tried),
        "shapes": [other.as_json() for other in tried],
    }


def fill_factors(model, rows):
    """How much faster, per spin, than stage 00, and than the row before in the same ladder (or 00)."""
    reference = before = rows[0]
    for row in rows[1:]:
        if model.rows_first and row[model.row] != before[model.row]:
            before = reference
        if row[model.time]:
            row["factor_reference"] = reference[model.ps] / row[model.ps]
            row["factor_before"] = before[model.ps] / row[model.ps]
            before = row
    return rows


def survey(model, others, options):
    """Where the stages run, and what the table has rows for: (stage, row values, parts of its launches), in order."""
    platform, steps = "reference", []
    wished = {name: getattr(options, name) or values for name, values in model.rows.items()}
    for stage in others:
        platform, offered = probe(stage, options)
        if has_generators(offered):
            offered = [(values, parts) for values, parts in offered if has_a_row(values, options)]
        offered = [one for value in offered for one in with_plain_first(model, *value, options)]
        # None: the stage has nothing of the kind, which is right unless one is asked for.
        order = {name: [*([] if getattr(options, name) else [None]), *values] for name, values in wished.items()}
        found = [(stage, *one) for one in offered if all(one[0][name] in order[name] for name in order)]
        steps += sorted(found, key=lambda step: [order[name].index(step[1][name]) for name in order])
    for name in model.rows:
        for value in getattr(options, name) or []:
            if others and value not in [values[name] for _, values, _ in steps]:
                raise Failure(f"--{name} {value}: none of the chosen stages has it")
    if model.rows_first:
        steps.sort(key=lambda step: wished[model.row].index(step[1][model.row]))
    return platform, steps


def has_a_row(values, options):
    """Of a stage with a choice of generators. What the numbering of sites does is told by the stages before, what the
    generators do by stage 06; generators.py times all of it."""
    if values["kernel"]:
        return options.generator or values["generator"] in KERNEL_GENERATORS
    return options.indexing or values["indexing"] == "sliced"


def with_plain_first(model, values, parts, options):
    """The rows that become of one: what is to be found by trial may have a row with its plainest value before."""
    for name in model.plain_first:
        if name in parts and not getattr(options, name):
            yield values | {name: model.trials[name][0]}, [part for part in parts if part != name]
    yield values, parts


def compare(model, options):
    reference, others = chosen_stages(model, options)
    platform, steps = survey(model, others, options)
    problem = fill_defaults(model, options, platform)
    progress(f"{reference.name}: measuring")
    report, launch = measure_reference(reference, problem, options.repetitions)
    expected = launch.hash
    rows, left_out = [make_row(reference, report, launch, [], problem)], []
    for stage, values, parts in steps:
        try:
            if model is MAJORITY or plain_generator(values) and not values["kernel"]:
                measured = measure(stage, values, parts, platform, options, problem, expected)
                rows.append(make_row(stage, *measured, problem))
            else:
                rows.append(row_checked_elsewhere(reference, stage, values, parts, platform, options, problem))
        except Refused as refused:  # bitwise, say, for a size that is no power of two
            asked = ("kernel",) if values.get("kernel") else model.rows
            if any(getattr(options, name) for name in asked) or len(left_out) == len(steps) - 1:
                raise
            left_out.append(f"{model.row_in_words(values)}: {refused}")
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


WIDEST_WORD = {"gpu": 128, "cpu": 32}  # a CPU takes long enough over 32 samples


def with_enough_samples(values, platform, problem):
    """The problem, or for a kernel whose words hold many samples one that fills a word."""
    if not values["kernel"]:
        return problem
    widest = WIDEST_WORD[platform]
    return problem | {"samples": max(problem["samples"], widest), "samples_per_stream": widest}


def row_checked_elsewhere(reference, stage, values, parts, platform, options, problem):
    """With other bits than stage 00's row: of another generator, or of more samples."""
    here = with_enough_samples(values, platform, problem)
    # The states of 128 large samples are gigabytes.
    report, launch, tried = measure(stage, values, parts, platform, options, here, None, checked=here == problem)
    checked, settings = to_be_checked(here), launch.values
    if checked["size"] != here["size"]:  # the shape of a cluster is made for the size
        settings = settings | dict.fromkeys(("cluster", "replicas_together"))
        settings["threads"] = launch.values["threads"] if launch.values["cluster"] is None else None
    if not launch.wrong:
        launch.wrong = next(iter(wrong_bits(reference, stage, checked, options, settings)), None)
    row = make_row(stage, report, launch, tried, here)
    row["bits_compared_at"] = {name: checked[name] for name in ("size", "samples") if checked[name] != here[name]}
    return row


def command(model, options, rows):
    """What to type for the same run; where its files went is nobody's business."""
    settings = {name: getattr(options, name) for name in [*model.problem, "seed"]}
    settings["stages"] = list(dict.fromkeys(row["stage"][:2] for row in rows))
    settings |= {name: getattr(options, name) for name in [*model.rows, *model.trials]}
    settings |= {"repetitions": options.repetitions, "device": options.device}
    words = ["common/run"]
    for name, value in settings.items():
        if value not in (None, []):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words += ["--" + name.replace("_", "-"), text]
    return " ".join(words)
