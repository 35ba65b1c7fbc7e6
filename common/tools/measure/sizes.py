"""Picoseconds a flip against L, as in Figure 5 of Lulli, Bernaschi, Parisi (arXiv:1411.0127).

Two subsequences of L behave differently there: L = 4m, and L = 2(2m + 1), where rows are no multiple of four sites. The
number of samples is chosen so that all sizes have about as many spins: what differs is the lattice, not the load.
"""

from operator import itemgetter

import table
from measure.comparison import chosen_stages, fill_defaults, measure_reference, probe
from models import REFERENCE, SPIN_GLASS
from results import least, read_csv, sizes_of
from stages import Failure, progress, run_benchmark, with_minstd_alone

MULTIPLES_OF_4 = [8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256]
NO_MULTIPLES_OF_4 = [10, 14, 18, 22, 26, 34, 42, 50, 66, 82, 98, 114, 130, 162, 194, 226, 254]
MODEL = SPIN_GLASS
HELP = (
    "time every indexing at every --size (here a comma list), with as many samples as make --spins, and write a table "
    "and a plot of ps a flip against L into DIR"
)
# They differ in them; what the later ones have is the same over again, or kernels.
STAGES = with_minstd_alone()
INDEXINGS = ["standard", "sliced", "sliced-grid", "standard-grid"]
LARGEST_ON_CPU = 34
REFERENCE_LIMIT = 2e7  # flips: beyond a fraction of a second of plain C++ the stages only check each other
NAME = "spin_glass_sizes"  # of the files


def line_of(point):
    """The line in the plot, and the column in a table, that a point belongs to."""
    name = f"{point['stage'][:2]} {point['indexing']}"
    return f"{name}, s = {point['sites_per_thread']}" if point["indexing"] == "sliced" else name


def lines(points):
    """{line: {L: ps a flip}}, the fastest launch of each."""
    found = {}
    best = least(points, lambda point: (line_of(point), point["size"]), itemgetter("ps_per_flip"))
    for (name, size), point in best.items():
        found.setdefault(name, {})[size] = point["ps_per_flip"]
    return dict(sorted(found.items()))


def prepare(options):
    """What measure() takes. Fills in what the user left open."""
    reference, others = chosen_stages(SPIN_GLASS, options, STAGES)
    platform, settings = settings_of(options, others)
    if not settings:
        raise Failure("--sizes: none of the chosen stages has such a launch")
    gpu = platform == "gpu"
    all_sizes = sorted(MULTIPLES_OF_4 + NO_MULTIPLES_OF_4)
    usual = {"size": [size for size in all_sizes if gpu or size <= LARGEST_ON_CPU], "spins": 2**26 if gpu else 2**17}
    return options, fill_defaults(SPIN_GLASS, options, platform, **usual, repetitions=3), reference, settings


def settings_of(options, others):
    """(stage, its indexings and launches to time), for every stage that has any, and where they run."""
    platform, settings = "reference", []
    for stage in others:
        report, found = probe(stage, options)
        platform = report.platform
        offered = {values["indexing"]: parts for values, parts in found if values["generator"] == "minstd"}
        rows = [value for value in options.indexing or INDEXINGS if value in offered]
        if rows:
            parts = set().union(*(offered[value] for value in rows))
            trials = {part: getattr(options, part) for part in parts}
            if "sites_per_thread" in parts:
                trials["sites_per_thread"] = options.sites_per_thread or SPIN_GLASS.trials["sites_per_thread"]
            settings.append((stage, {"indexing": rows} | trials))
    return platform, settings


def measure(options, problem, reference, settings):
    """A point for every size and launch that can be done, and what is wrong."""
    points, wrong = [], []
    for size in options.size:
        samples = max(1, round(options.spins / (problem["replicas"] * size**3)))
        here = problem | {"size": size, "samples": samples}
        expected, checked_against = None, "each other"
        if SPIN_GLASS.updates(here) <= REFERENCE_LIMIT:
            _, launch = measure_reference(reference, here, 1, f"{reference.name}: L = {size}")
            expected, checked_against = launch.hash, f"stage {REFERENCE}"
        for stage, launches in settings:
            more = {"repetitions": options.repetitions, "expect": expected, "device": options.device}
            what = f"{stage.name}: L = {size}"
            for launch in run_benchmark(stage, what=what, copy=False, **here, **launches, **more).launches:
                if launch.wrong:
                    wrong.append(f"{stage.name}, {launch.values}, L = {size}: {launch.wrong}")
                elif not launch.refused:
                    expected = expected or launch.hash
                    points.append(make_point(stage, launch, here, checked_against))
    progress("")
    return points, wrong


def make_point(stage, launch, problem, checked_against):
    ps = launch.median * 1e9 / SPIN_GLASS.spins(problem)
    return {
        "size": problem["size"],
        "stage": stage.name,
        **launch.values,
        "samples": problem["samples"],
        "replicas": problem["replicas"],
        "sweeps": problem["sweeps"],
        "ms_per_sweep": launch.median,
        "ps_per_flip": ps,
        "bytes_per_flip": launch.bytes,
        "gb_per_s": launch.bytes / ps * 1e3,
        "hash": launch.hash,
        "checked_against": checked_against,
    }


def table_cells(points, sizes=()):
    """Headings, and a row of text a size: ps a flip in every line."""
    found = lines(points)
    rows = []
    for size in sizes or sorted({size for line in found.values() for size in line}):
        cells = [f"{line[size]:.3f}" if size in line else "-" for line in found.values()]
        rows.append([str(size), *cells])
    return ["L", *found], rows


def markdown(folder, *wished):
    """The README's table, for these L or all, from the CSV file in a folder of common/results."""
    file = folder / f"{NAME}.csv"
    points = read_csv(file)
    headings, body = table_cells(points, sizes_of(file, points, wished))
    return table.as_markdown(headings, body, [True] * len(headings))


def as_text(points, options):
    about = f"ps/flip, about {options.spins} spins, {points[0]['sweeps']} sweeps:"
    headings, rows = table_cells(points)
    return f"{about}\n{table.aligned(headings, rows, [True] * len(headings))}"


def files(points):
    """{name: rows of a CSV file}, the one to be drawn at last."""
    return {f"{NAME}.csv": points}
