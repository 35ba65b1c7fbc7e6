"""Measures the stages and makes the comparison out of it: which shapes are tried, what is timed, what is compared."""

import datetime
import sys

import stages
from stages import REFERENCE, Failure, run_benchmark


def chosen_stages(options):
    found = stages.find_stages(options.build_dir)
    numbers = [stage.number for stage in found]
    if REFERENCE not in numbers:
        raise Failure(f"stage {REFERENCE} is not built in {options.build_dir}; common/run builds it")
    for wished in options.stages or []:
        if wished not in numbers:
            raise Failure(f"--stages {wished}: there is no such stage; there are {', '.join(numbers)}")
    reference = found[numbers.index(REFERENCE)]
    others = [s for s in found if s is not reference and (not options.stages or s.number in options.stages)]
    return reference, others


def platform_of(options, others):
    """Where the stages will run, as one of them says for a problem that takes no time."""
    if not others:
        return "reference"
    return run_benchmark(others[0], device=options.device, quick=True, size=1, steps=1, repetitions=1).platform


def fill_defaults(options, platform):
    gpu = platform == "gpu"
    options.size = options.size or [10000 if gpu else 1500]
    options.steps = options.steps or [10]
    options.storage = options.storage or ["int32", "int8"]
    options.repetitions = options.repetitions or (10 if gpu else 3)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure_reference(stage, options, size, steps):
    # The plain loop at the GPU's problem size takes ten seconds and needs no second look.
    repetitions = 1 if size * size * steps > 1e8 else options.repetitions
    report = run_benchmark(stage, size=size, steps=steps, seed=options.seed, repetitions=repetitions)
    shape = report.shapes[0]
    if shape.wrong or shape.refused:
        raise Failure(f"{stage.name}: {shape.wrong or shape.refused}")
    shape.storage = {2: "int8", 8: "int32"}[shape.bytes_per_site]
    return report, shape


def try_shapes(stage, storage, platform, options, size, steps):
    """Every launch shape, timed briefly."""
    problem = {"size": size, "steps": steps, "repetitions": 3}
    if platform != "gpu":  # a step takes as long as the next, and there are up to 25 shapes to try
        problem |= {"steps": 1, "repetitions": 1}
    report = run_benchmark(
        stage,
        device=options.device,
        quick=True,
        storage=storage,
        seed=options.seed,
        thread_width=options.thread_width,
        block=options.block,
        **problem,
    )
    return report.shapes


def measure(stage, storage, platform, options, size, steps, expected):
    """The report of the stage's fastest shape, that shape, and all those tried."""
    progress(f"{stage.name}, {storage}: trying launch shapes")
    tried = try_shapes(stage, storage, platform, options, size, steps)
    possible = [shape for shape in tried if not shape.refused]
    if not possible:
        raise Failure(f"{stage.name}: {tried[0].refused}")
    best = min(possible, key=lambda shape: shape.median)
    progress(f"{stage.name}, {storage}: measuring {best.thread_width} x {best.block}")
    report = run_benchmark(
        stage,
        device=options.device,
        size=size,
        steps=steps,
        seed=options.seed,
        storage=storage,
        thread_width=best.thread_width,
        block=best.block,
        repetitions=options.repetitions,
        expect=expected,
    )
    shape = report.shapes[0]
    if shape.refused:
        raise Failure(f"{stage.name}: {shape.refused}")
    return report, shape, tried


def make_row(stage, report, shape, tried, size):
    timed = bool(shape.ms_per_step) and not shape.wrong
    seconds = shape.median * 1e-3 if timed else None
    rate = shape.bytes_per_site * size * size / seconds * 1e-9 if timed else None
    return {
        "stage": stage.name,
        "idea": stages.idea(stage.name),
        "platform": report.platform,
        "device": report.device,
        "build_type": report.build_type,
        "storage": shape.storage,
        "thread_width": shape.thread_width,
        "block": shape.block,
        "ms_per_step": shape.median if timed else None,
        "ms_per_step_runs": shape.ms_per_step,
        "ps_per_site": seconds / (size * size) * 1e12 if timed else None,
        "bytes_per_site": shape.bytes_per_site,
        "gb_per_s": rate,
        "copy_gb_per_s": report.copy_gb_per_s,
        "of_copy": rate / report.copy_gb_per_s if timed else None,
        "factor_before": None,
        "factor_reference": None,
        "hash": shape.hash,
        "bits_agree": not shape.wrong,
        "wrong": shape.wrong,
        "shapes_tried": sum(not other.refused for other in tried),
        "shapes": [other.as_json() for other in tried],
    }


def fill_factors(rows):
    """How much faster than stage 00, and than the stage before with the same storage (or 00)."""
    reference = before = rows[0]
    for row in rows[1:]:
        if row["storage"] != before["storage"]:
            before = reference
        if row["ms_per_step"]:
            row["factor_reference"] = reference["ms_per_step"] / row["ms_per_step"]
            row["factor_before"] = before["ms_per_step"] / row["ms_per_step"]
            before = row
    return rows


def compare(options):
    reference, others = chosen_stages(options)
    platform = platform_of(options, others)
    fill_defaults(options, platform)
    size, steps = options.size[0], options.steps[0]
    progress(f"{reference.name}: measuring")
    report, shape = measure_reference(reference, options, size, steps)
    rows = [make_row(reference, report, shape, [], size)]
    for storage in options.storage:
        for stage in others:
            measured = measure(stage, storage, platform, options, size, steps, shape.hash)
            rows.append(make_row(stage, *measured, size))
    progress("")
    return {
        "format": "psFlip 2D comparison, version 1",
        "command": command(options, others),
        "date": datetime.date.today().isoformat(),
        "device": {"platform": rows[-1]["platform"], "name": rows[-1]["device"]},
        "problem": {"size": size, "steps": steps, "seed": options.seed, "hash": shape.hash},
        "repetitions": options.repetitions,
        "rows": fill_factors(rows),
    }


def command(options, others):
    """What to type for the same run; where its files went is nobody's business."""
    numbers = ",".join([REFERENCE, *(stage.number for stage in others)])
    return (
        f"common/run --size {options.size[0]} --steps {options.steps[0]} --seed {options.seed} --stages {numbers} "
        f"--storage {','.join(options.storage)} --repetitions {options.repetitions} --device {options.device}"
    )
