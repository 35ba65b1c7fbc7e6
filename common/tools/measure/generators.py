"""Picoseconds a flip of every generator against L, as in Figure 9 of Lulli, Bernaschi, Parisi (arXiv:1411.0127).

The number of samples is chosen so that all sizes have about as many spins. With the default their states and spins are
more than the caches hold, and those of MT19937 (2496 bytes a site and sample) take 42 GB.
"""

import statistics
from operator import itemgetter

import table
from measure.comparison import chosen_stages, fill_defaults, has_generators, probe, to_be_checked, wrong_bits
from measure.sizes import make_point
from models import CURAND_GENERATORS, REFERENCE, SPIN_GLASS
from results import least, read_csv, sizes_of
from stages import Failure, progress, run_benchmark, teaching

SIZES = [8, 12, 16, 32, 48, 64, 128, 192, 256]
LARGEST_ON_CPU = 16
GENERATORS = [*SPIN_GLASS.rows["generator"], *CURAND_GENERATORS]
MODEL = SPIN_GLASS
STAGES = teaching(SPIN_GLASS, "generators")
HELP = (
    f"time every generator and indexing of stage {','.join(STAGES)} at every --size, cuRAND's generators too, and "
    "write a table and a plot into DIR, as --sizes does"
)
INDEXINGS = ["sliced", "standard", "bitwise"]
BASE = "minstd"
NAME = "spin_glass_generators"  # of the files
# ps a flip on a GTX Titan, as the paper has them; XORWOW: from the sliced to the standard layout.
PUBLISHED = {
    "minstd": "3",
    "mt19937": "5",
    "parisi-rapuano": "5",
    "curand-xorwow": "6 to 9",
    "curand-mtgp32": "11 to 15",
}


def lines(points):
    """{(generator, indexing): {L: the fastest launch's point}}"""
    found = {}
    best = least(points, itemgetter("generator", "indexing", "size"), itemgetter("ps_per_flip"))
    for (*line, size), point in best.items():
        found.setdefault(tuple(line), {})[size] = point
    order = {pair: i for i, pair in enumerate((g, i) for g in GENERATORS for i in INDEXINGS)}
    return dict(sorted(found.items(), key=lambda line: order.get(line[0], len(order))))


def relative_to_base(found):
    """{(generator, indexing): {L: times as long as MINSTD with the same indexing}}"""
    relative = {}
    for (generator, indexing), line in found.items():
        base = found.get((BASE, indexing), {})
        times = {size: point["ps_per_flip"] / base[size]["ps_per_flip"] for size, point in line.items() if size in base}
        relative[generator, indexing] = times
    return relative


def prepare(options):
    """What measure() takes. Fills in what the user left open."""
    reference, others = chosen_stages(SPIN_GLASS, options, STAGES)
    stage, platform, generators, indexings = stage_with_generators(options, others)
    gpu = platform == "gpu"
    usual = {"size": [size for size in SIZES if gpu or size <= LARGEST_ON_CPU], "spins": 2**26 if gpu else 2**16}
    problem = fill_defaults(SPIN_GLASS, options, platform, **usual, repetitions=3)
    return options, problem, reference, stage, generators, indexings


def stage_with_generators(options, others):
    """The one stage that has several, where it runs, and those of its generators and indexings that are wished."""
    for stage in others:
        report, offered = probe(stage, options, generator=GENERATORS)
        if has_generators(offered):
            found = {name: {values[name] for values, _ in offered} for name in ("generator", "indexing")}
            generators = [value for value in options.generator or GENERATORS if value in found["generator"]]
            indexings = [value for value in options.indexing or INDEXINGS if value in found["indexing"]]
            if generators and indexings:
                return stage, report.platform, generators, indexings
    raise Failure("--generators: none of the chosen stages has such a launch")


def check(options, problem, reference, stage, generators, launches):
    """Compares with the reference at one size. What is wrong, and a word on what was done."""
    here = to_be_checked(problem | {"size": max(options.size)})
    wrong = []
    for generator in generators:
        if generator not in CURAND_GENERATORS:
            found = wrong_bits(reference, stage, here, options, launches | {"generator": generator})
            wrong += [f"{stage.name}, L = {here['size']}, {reason}" for reason in found]
    return wrong, f"each other; stage {REFERENCE} at L = {here['size']}"


def measure(options, problem, reference, stage, generators, indexings):
    """A point for every size and launch that can be done, and what is wrong."""
    sites_per_thread = options.sites_per_thread or SPIN_GLASS.trials["sites_per_thread"]
    launches = {"indexing": indexings, "threads": options.threads, "sites_per_thread": sites_per_thread}
    wrong, checked_against = check(options, problem, reference, stage, generators, launches)
    points, copy = [], None
    for size in options.size:
        samples = max(1, round(options.spins / (problem["replicas"] * size**3)))
        here = problem | {"size": size, "samples": samples}
        more = {"generator": generators, "repetitions": options.repetitions, "device": options.device}
        report = run_benchmark(stage, what=f"{stage.name}: L = {size}", copy=copy is None, **here, **launches, **more)
        copy = copy or report.copy_gb_per_s
        for launch in report.launches:
            if launch.wrong:
                wrong.append(f"{stage.name}, L = {size}, {SPIN_GLASS.row_in_words(launch.values)}: {launch.wrong}")
            elif not launch.refused:  # indexings that the size does not suit, states that do not fit into the memory
                own = launch.values["generator"] in CURAND_GENERATORS
                point = make_point(stage, launch, here, "itself" if own else checked_against)
                points.append(point | {"copy_gb_per_s": copy})
    progress("")
    return points, wrong


def table_cells(points, sizes=()):
    """Headings, and a row of text a generator and indexing: ps a flip at these L, and more at the largest of them."""
    found = lines(points)
    relative = relative_to_base(found)
    sizes = list(sizes) or sorted({size for line in found.values() for size in line})
    last = max(sizes)
    headings = ["generator", "indexing", *(f"L = {size}" for size in sizes)]
    headings += ["x MINSTD", "bytes/flip", "limit, ps", "x limit", "GTX Titan (published)"]
    rows = []
    for (generator, indexing), line in found.items():
        row = [generator, indexing]
        row += [table.significant(line[size]["ps_per_flip"], 3) if size in line else "-" for size in sizes]
        times = relative[generator, indexing].get(last)
        row += ["-" if times is None else f"{times:.2f}", *limit_cells(line.get(last))]
        rows.append([*row, PUBLISHED.get(generator, "-")])
    return headings, rows


def limit_cells(point):
    """Bytes a flip has to move, the ps that takes at the copy bandwidth, and the measured time in multiples of it."""
    if not point:
        return ["-", "-", "-"]
    moved, copy, ps = (point[name] for name in ("bytes_per_flip", "copy_gb_per_s", "ps_per_flip"))
    limit = moved / copy * 1e3
    return [f"{moved:.3g}", table.significant(limit, 3), f"{ps / limit:.2f}"]


def remarks(points):
    return (
        f"ps per flip, the fastest launch of each; about {spins_in_words(points)} spins in all samples, so fewer "
        "samples for larger L. The last columns are for the largest L shown: times as long as MINSTD with the same "
        "indexing; what a flip has to move, state included; the time that takes at the bandwidth of a copy, "
        f"{points[-1]['copy_gb_per_s']:,.0f} GB/s, and the measured one in multiples of it. The paper's figures "
        "are for a GTX Titan, over its sizes and indexings."
    )


def spins_in_words(points):
    spins = (point["samples"] * point["replicas"] * point["size"] ** 3 for point in points)
    return f"{statistics.median_high(spins) / 1e6:.3g} million"


def markdown(folder, *wished):
    """The README's table, for these L or all, from the CSV file in a folder of common/results."""
    file = folder / f"{NAME}.csv"
    points = read_csv(file)
    return shown(points, table.as_markdown, sizes_of(file, points, wished))


def as_text(points, options):
    return shown(points, table.aligned)


def shown(points, form, sizes=()):
    headings, rows = table_cells(points, sizes)
    return f"{form(headings, rows, [False, False] + [True] * (len(headings) - 2))}\n\n{remarks(points)}"


def files(points):
    """{name: rows of a CSV file}, the one to be drawn at last."""
    return {f"{NAME}.csv": points}
