"""Every launch shape at every size: the report's Figures 4, 5 and 6, as tables and as plots.

The report is Koutroumpis (2022), whose v0, v1, v2, v3 are the reference and the stages of the 2D model, timed on a
GTX 1070.
"""

from itertools import product
from operator import itemgetter

import table
from measure.comparison import chosen_stages, fill_defaults, measure_reference, platform_of
from models import MAJORITY, REFERENCE
from results import least, select
from stages import Failure, progress, run_benchmark, teaching

MODEL = MAJORITY
HELP = (
    "time every launch shape at every --size and --steps (here comma lists) and write the tables and plots of the "
    "report's Figures 4, 5 and 6 into DIR"
)
STAGES = teaching(MAJORITY)  # they have launch shapes of two sides

REPORT_WIDTHS = [8, 10, 12, 16]
# Milliseconds for n = 10000, k = 10 on a GTX 1070: v1 whatever b is, v2 and v3 for their best b, over the widths.
PUBLISHED = {"v1": (None, "117 to 148"), "v2": (3, "112 to 142"), "v3": (4, "75 to 90")}
SHAPE = ("thread_width", "block")
REFERENCE_LIMIT = 2e9  # site updates: beyond about 20 seconds of plain C++ the stages only check each other


def version(stage):
    return f"v{int(stage[:2])}"


def prepare(options):
    """What measure() takes. Fills in what the user left open."""
    reference, others = chosen_stages(MAJORITY, options, STAGES)
    platform = platform_of(options, others)
    if not others:
        raise Failure("--sweep: the reference has no launch shapes; choose others by --stages")
    sizes = [2000, 4000, 6000, 8000, 10000] if platform == "gpu" else [200, 400, 600]
    fill_defaults(MAJORITY, options, platform, size=sizes, steps=[10], storage=["int32"], repetitions=3)
    return options, reference, others


def measure(options, reference, others):
    """A flat list of points, one for every stage, storage, n, k and shape that can be done."""
    points, wrong = [], []
    for size, steps in product(options.size, options.steps):
        problem = {"size": size, "steps": steps, "seed": options.seed}
        expected, checked_against = None, "each other"
        if MAJORITY.updates(problem) <= REFERENCE_LIMIT:
            what = f"{reference.name}: n = {size}, k = {steps}"
            _, launch = measure_reference(reference, problem, options.repetitions, what)
            expected, checked_against = launch.hash, f"stage {REFERENCE}"
            points.append(make_point(reference, launch, size, steps, "itself"))
        for storage, stage in product(options.storage, others):
            what = f"{stage.name}, {storage}: n = {size}, k = {steps}"
            trials = {part: getattr(options, part) or MAJORITY.trials[part] for part in SHAPE}
            settings = problem | trials | {"storage": storage, "repetitions": options.repetitions, "expect": expected}
            report = run_benchmark(stage, what=what, device=options.device, **settings)
            for launch in report.launches:
                if launch.wrong:
                    shape = f"{launch.values['thread_width']} x {launch.values['block']}"
                    wrong.append(f"{stage.name}, {shape}, n = {size}: {launch.wrong}")
                elif not launch.refused:
                    expected = expected or launch.hash
                    points.append(make_point(stage, launch, size, steps, checked_against))
    progress("")
    return points, wrong


def make_point(stage, launch, size, steps, checked_against):
    return {
        "stage": stage.name,
        **{name: launch.values[name] for name in ("storage", *SHAPE)},
        "size": size,
        "steps": steps,
        "ms": launch.median * steps,
        "ms_per_step": launch.median,
        "ps_per_site": launch.median * 1e9 / size**2,
        "hash": launch.hash,
        "checked_against": checked_against,
    }


def figure_4(points, storage, size, steps):
    """Rows width x b, a column a version: milliseconds for k steps, beside those of the report."""
    here = select(points, storage=storage, size=size, steps=steps)
    here = [point for point in here if point["thread_width"]]
    versions = sorted({version(point["stage"]) for point in here})
    as_published = (size, steps) == (10000, 10)
    rows = []
    widths, blocks = (sorted({point[key] for point in here}) for key in ("thread_width", "block"))
    for width, block in product(widths, blocks):
        row = {"width": width, "b": block}
        for name in versions:
            of_version = [p for p in here if version(p["stage"]) == name and p["thread_width"] == width]
            times = {p["block"]: p["ms"] for p in of_version}
            # A stage without b (v1) has one time a width; the report repeats it for every b.
            time = times.get(block, times.get(1) if set(times) == {1} else None)
            row[f"{name} ms"] = "" if time is None else f"{time:.3f}"
            if as_published and name in PUBLISHED:
                best, span = PUBLISHED[name]
                shown = width in REPORT_WIDTHS and best in (None, block)
                row[f"{name} GTX 1070 (published) ms"] = span if shown else ""
        rows.append(row)
    return rows


def figure_5(points, storage):
    """Time against n: each version's fastest shape at every n and k."""
    here = [point for point in points if point["storage"] == storage or point["thread_width"] is None]
    groups = least(here, itemgetter("stage", "steps", "size"), itemgetter("ms"))
    columns = ["stage", "steps", "size", "ms", "ps_per_site", "thread_width", "block"]
    return [{column: groups[key][column] for column in columns} for key in sorted(groups)]


def figure_6(points, storage, size, steps):
    """Time against b, for every width."""
    columns = ["stage", "thread_width", "block", "ms", "ps_per_site"]
    here = [p for p in select(points, storage=storage, size=size, steps=steps) if p["thread_width"]]
    return [{column: point[column] for column in columns} for point in here]


def largest(points):
    """n and k that the tables show."""
    return max(point["size"] for point in points), points[0]["steps"]


def storages(points):
    return list(dict.fromkeys(point["storage"] for point in points if point["thread_width"]))


def as_text(points, options):
    size, steps = largest(points)
    tables = []
    for storage in storages(points):
        rows = figure_4(points, storage, size, steps)
        shown = table.aligned(list(rows[0]), [list(map(str, row.values())) for row in rows], [True] * len(rows[0]))
        tables.append(f"{storage}, n = {size}, k = {steps}, ms:\n{shown}")
    return "\n\n".join(tables)


def files(points):
    """{name: rows of a CSV file}, the one to be drawn at last."""
    size, steps = largest(points)
    found = {}
    for storage in storages(points):
        found[f"figure4_{storage}.csv"] = figure_4(points, storage, size, steps)
        found[f"figure5_{storage}.csv"] = figure_5(points, storage)
        found[f"figure6_{storage}.csv"] = figure_6(points, storage, size, steps)
    return found | {"sweep.csv": points}
