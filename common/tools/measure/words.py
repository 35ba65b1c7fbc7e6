"""Picoseconds a flip of every kernel whose words hold a bit of many samples.

Against L with the GPU full, and against the number of samples, as in Figures 5 and 4 of Lulli, Bernaschi, Parisi
(arXiv:1411.0127). Every launch is tried briefly, and the best one of each kernel measured anew, without a look at its
bits: the states would be gigabytes. At every L the measured launches then do a smaller problem, and there their bits
are compared with the reference's. The result is a JSON file, from which readme_tables.py makes tables, and a CSV file.
"""

import json
from dataclasses import dataclass
from operator import itemgetter

import table
from measure.comparison import chosen_stages, fill_defaults, probe
from models import SPIN_GLASS
from results import begin_result, least, read_result, select
from stages import Failure, as_words, progress, run_benchmark, teaching

NAME = "spin_glass_words"  # of the files
FORMAT = "psFlip words, version 1"
COUNTERS = f"{NAME}_counters.json"  # what counters.py makes of them
MODEL = SPIN_GLASS
(STAGE,) = teaching(SPIN_GLASS, "kernels")
HELP = (
    f"time every kernel of stage {STAGE} at every --size and for ever more samples, and write tables and plots of the "
    "paper's Figures 4 and 5 into DIR"
)
SIZES = [8, 16, 24, 32, 48, 64, 96, 128, 192, 256]  # L = 4m
OTHER_SIZES = [10, 18, 26, 34, 50, 66, 98, 130, 194]  # L = 2(2m + 1)
LARGEST_ON_CPU = 10
COUNTED_SIZES = [16, 32, 64, 128]
COUNTS = [32, 64, 128, 256, 1024, 4096, 16384, 65536]  # of samples, at these sizes
GENERATORS = ["philox", "minstd"]
WIDEST = 128  # samples of a word
ONE_SYSTEM = (32, 32)  # L, samples
CHECKED_SPINS = 2**24  # as many as the reference updates in a fraction of a second
CHECKED_SWEEPS = 7  # three passes of the kernel that does two sweeps in one, and one sweep more
THREADS = [128, 256]  # to try
LAUNCH = ("generator", "kernel", "samples_per_word", "threads", "cluster", "replicas_together")
LESSON = "update"

# ps a flip: the best kernel's by L, with whichever generator, that of the lesson's kernel, with each, and that of one
# system.
TARGETS = {8: 0.05, 16: 0.05, 24: 0.07, 32: 0.07, 48: 0.085, 64: 0.085, 96: 0.078, 128: 0.078, 192: 0.078, 256: 0.078}
LESSON_TARGET = 0.2
ONE_SYSTEM_TARGET = 0.35

PUBLISHED_SIZE = 64  # where this is compared with what others have
TITAN_GB_PER_S = 288  # of a GTX Titan's memory, as its maker says
# (code, generator, ps a flip on a GTX Titan)
PUBLISHED = [
    ("Lulli, Bernaschi, Parisi, MINSTD", "minstd", 3),
    ("Lulli, Bernaschi, Parisi, Parisi-Rapuano", "parisi-rapuano", 5),
]

LOGIC = {"NVIDIA H200": 1.67e13}  # three-input operations on words that a device does in a second
OPERATIONS = 14  # of these for a word of 32 flips


@dataclass(frozen=True)
class Load:
    """A problem of which every launch is timed."""

    figure: str  # "size": a point over L, of a full GPU; "samples": one over their number
    size: int
    samples: int
    generators: tuple[str, ...]

    def problem(self, base):
        return base | {"size": self.size, "samples": self.samples, "samples_per_stream": min(WIDEST, self.samples)}


def full_load(size, replicas, spins):
    """Samples that have about so many spins: whole words, one at least."""
    return WIDEST * max(1, round(spins / (replicas * size**3 * WIDEST)))


def prepare(options):
    """What measure() takes. Fills in what the user left open."""
    reference, others = chosen_stages(SPIN_GLASS, options, [STAGE])
    stage, platform, groups = stage_with_kernels(options, others)
    gpu = platform == "gpu"
    asked = command(options)
    sizes = [size for size in sorted(SIZES + OTHER_SIZES) if gpu or size <= LARGEST_ON_CPU]
    sweeps = options.sweeps
    usual = {"size": sizes, "spins": 2**32 if gpu else 2**17, "repetitions": 3}
    problem = fill_defaults(SPIN_GLASS, options, platform, **usual)
    base = {name: value for name, value in problem.items() if name not in ("size", "sweeps", "samples")}
    options.sweeps = sweeps  # else as many as a timing needs
    return asked, Measurement(options, reference, stage, platform, groups, base)


def measure(asked, measurement):
    """The result, and what is wrong."""
    for load in loads(measurement.options, measurement.base["replicas"]):
        measurement.measure(load)
    progress("")
    result = measurement.result(asked) if measurement.points else None
    return result, [f"{measurement.stage.name}, {line}" for line in measurement.wrong]


def loads(options, replicas):
    chosen = tuple(options.generator or GENERATORS)
    found = []
    for size in options.size:
        # One more generator at one size: the paper has a time for it.
        more = ("parisi-rapuano",) if size == PUBLISHED_SIZE and not options.generator else ()
        found.append(Load("size", size, full_load(size, replicas, options.spins), chosen + more))
    for size in COUNTED_SIZES:
        for samples in COUNTS if size in options.size else ():
            if replicas * samples * size**3 <= 4 * options.spins:
                found.append(Load("samples", size, samples, chosen if (size, samples) == ONE_SYSTEM else chosen[:1]))
    return found


def stage_with_kernels(options, others):
    """The one stage that has several, where it runs, and {parts of a launch: the wished kernels that have these}."""
    for stage in reversed(others):
        report, offered = probe(stage, options)
        groups = {}
        for values, parts in offered:
            kernels = groups.setdefault(tuple(parts), [])
            if values["kernel"] in (options.kernel or SPIN_GLASS.rows["kernel"]) and values["kernel"] not in kernels:
                kernels.append(values["kernel"])
        groups = {parts: kernels for parts, kernels in groups.items() if kernels}
        if groups:
            return stage, report.platform, groups
    raise Failure("--words: none of the chosen stages has such a launch")


def trials(parts, options, load):
    """What is tried for kernels whose launches have these parts."""
    found = {part: SPIN_GLASS.trials[part] for part in parts}
    # What matters least is left to the stage: threads where there are many points, parting replicas where the words of
    # many samples keep the GPU busy. run_benchmark() leaves out what is None.
    if "threads" in parts:
        found["threads"] = THREADS if load.figure == "size" else None
    if load.samples >= WIDEST:
        found["replicas_together"] = None
    return found | {part: getattr(options, part) for part in parts if getattr(options, part)}


def sweeps_of(load, replicas, platform, options):
    """So many that a timing takes the device some 20 ms; a kernel's start takes 2 us. An even number, for kernels that
    do two in a pass."""
    if options.sweeps:
        return options.sweeps
    seconds = max(1e-13 * replicas * load.samples * load.size**3, 2e-6)
    return 2 * max(1, round(10e-3 / seconds)) if platform == "gpu" else 2


def make_point(load, launch, problem, tried):
    ps = launch.median * 1e9 / SPIN_GLASS.spins(problem)
    return {
        "figure": load.figure,
        "size": load.size,
        "samples": load.samples,
        **{name: launch.values[name] for name in LAUNCH},
        "replicas": problem["replicas"],
        "sweeps": problem["sweeps"],
        "ms_per_sweep": launch.median,
        "ps_per_flip": ps,
        "tried": tried,  # launches
        "checked_at": "",  # the M with which the bits were compared with the reference's at this L
    }


def kind(launch):
    return launch.values["generator"], launch.values["kernel"]


class Measurement:
    """What one call of this tool finds."""

    def __init__(self, options, reference, stage, platform, groups, base):
        self.options, self.reference, self.stage, self.platform = options, reference, stage, platform
        self.groups, self.base = groups, base
        self.points, self.wrong = [], []
        self.copy = self.device = self.build_type = None

    def measure(self, load):
        """Times every kernel's best launch for a load, and compares their bits."""
        sweeps = sweeps_of(load, self.base["replicas"], self.platform, self.options)
        problem = load.problem(self.base) | {"sweeps": sweeps}
        timed = []  # (point, the name of its launch, the parts of its kernel's launches)
        for parts, kernels in self.groups.items():
            try:
                timed += self.measure_kernels(load, parts, kernels, problem)
            except Failure as failure:  # of one kernel: the others' times are worth having
                self.wrong.append(f"L = {load.size}, {', '.join(kernels)}: {failure}")
        self.points += [point for point, _, _ in timed]
        if load.figure == "size" or (load.size, load.samples) == ONE_SYSTEM:
            try:
                self.check(load, timed)
            except Failure as failure:
                self.wrong.append(f"L = {load.size}: {failure}")

    def measure_kernels(self, load, parts, kernels, problem):
        more = {"kernel": kernels, "generator": list(load.generators)} | trials(parts, self.options, load)
        what = f"{self.stage.name}: L = {load.size}, {load.samples} samples, {', '.join(kernels)}"
        here = {"what": what, "device": self.options.device, "checked": False}
        brief = {"sweeps": max(1, problem["sweeps"] // 4), "repetitions": 1}
        first = self.copy is None
        report = run_benchmark(self.stage, copy=first, **here, **(problem | more | brief))
        if first:
            self.copy, self.device, self.build_type = report.copy_gb_per_s, report.device, report.build_type
        tried = [launch for launch in report.launches if not launch.refused]
        names = [launch.name for launch in least(tried, kind, lambda launch: launch.median).values()]
        if not names:
            return []
        settings = problem | more | {"repetitions": self.options.repetitions}
        return [
            (make_point(load, launch, problem, [kind(one) for one in tried].count(kind(launch))), launch.name, parts)
            for launch in run_benchmark(self.stage, only=names, **here, **settings).launches
        ]

    def check(self, load, timed):
        """Compares the bits of what measure() has timed with the reference's, in a problem of the same L."""
        most = max(1, CHECKED_SPINS // (self.base["replicas"] * load.size**3))
        here = load.problem(self.base) | {"samples": min(load.samples, most), "sweeps": CHECKED_SWEEPS}
        generators = {"generator": list(load.generators), "repetitions": 1}
        what = f"{self.reference.name}: L = {load.size}"
        report = run_benchmark(self.reference, what=what, copy=False, **here, **generators)
        expected = {launch.values["generator"]: launch.hash for launch in report.launches}
        for parts, kernels in self.groups.items():
            here_chosen = {name: point for point, name, its_parts in timed if its_parts == parts}
            if not here_chosen:
                continue
            settings = here | generators | {"kernel": kernels} | trials(parts, self.options, load)
            what = f"{self.stage.name}: L = {load.size}, comparing bits of {', '.join(kernels)}"
            report = run_benchmark(
                self.stage, what=what, device=self.options.device, only=list(here_chosen), **settings
            )
            for launch in report.launches:
                point = here_chosen.get(launch.name)
                right = expected[launch.values["generator"]]
                reason = launch.wrong or launch.refused
                if not reason and launch.hash != right:
                    reason = f"wrong bits: hash {launch.hash}, the reference has {right}"
                if reason:
                    self.wrong.append(f"L = {load.size}, {SPIN_GLASS.row_in_words(launch.values)}: {reason}")
                elif point:
                    point["checked_at"] = here["samples"]

    def result(self, command):
        result = begin_result(FORMAT, command, platform=self.platform, name=self.device)
        result |= {"build_type": self.build_type, "copy_gb_per_s": self.copy, "repetitions": self.options.repetitions}
        result |= {name: self.base[name] for name in ("temperature", "seed", "replicas")}
        return result | {"wrong": self.wrong, "points": self.points}


# What has to be known about a flip, from counting.


STREAM_BYTES = {"minstd": 8, "philox": 0}  # read and written for the draws of a site, whatever R is


def predicted_bytes(point):
    """Bytes a flip that have to cross the memory bus, caches being ideal. In bytes for 32 samples of one replica: a
    kernel that does half a sweep moves own spins in and out and the other colour's in, and six couplings for all
    replicas; overlapped moves every spin, and two couplings per site, once in two sweeps; the others move every spin
    and coupling once in all the sweeps of a launch."""
    replicas, kernel = point["replicas"], point["kernel"]
    if kernel == "overlapped":
        return (8 + 8 / replicas) / 32 / 2
    moved = 12 + 24 / replicas if kernel in ("update", "wide") else 8 + 12 / replicas
    moved += STREAM_BYTES[point["generator"]] / replicas / (point["samples_per_word"] / 32)
    return moved / 32 / (point["sweeps"] if kernel in ("resident", "small") else 1)


def bounds(result, generator=GENERATORS[0]):
    """{what it would take: ps a flip}, with the widest words."""
    replicas, copy = result["replicas"], result["copy_gb_per_s"]
    point = {"replicas": replicas, "generator": generator, "samples_per_word": WIDEST, "sweeps": 1}
    found = {}
    kernels = {"wide": "half a sweep at a time"}
    if generator == "philox":
        kernels["overlapped"] = "two sweeps at a time"
    for kernel, text in kernels.items():
        moved = predicted_bytes(point | {"kernel": kernel})
        found[f"{text}: {32 * moved:g} B for 32 flips at the speed of a copy"] = moved / copy * 1e3
    logic = LOGIC.get(result["device"]["name"])
    if logic:
        found[f"{OPERATIONS} logic operations for 32 flips"] = OPERATIONS / 32 / logic * 1e12
    return found


# What is shown.


def published(folder):
    result = read_result(folder / f"{NAME}.json", FORMAT)
    if result["wrong"]:
        raise Failure(f"{folder.name}/{NAME}.json holds wrong results: not to be published")
    return result


def fastest(points):
    return min(points, key=lambda point: point["ps_per_flip"], default=None)


def ps(point):
    return table.significant(point["ps_per_flip"], 3) if point else "-"


def launch_of(point):
    return f"{point['kernel']}, {table.word_launch(point)}" if point else "-"


def over_size(points, generator, kernel=None):
    """{L: the fastest point}, of a kernel or all, with the GPU full."""
    return fastest_over("size", select(points, figure="size", generator=generator), kernel)


def over_samples(points, generator, size, kernel=None):
    """{M: the fastest point}, of a kernel or all."""
    return fastest_over("samples", select(points, figure="samples", generator=generator, size=size), kernel)


def fastest_over(name, points, kernel):
    here = [point for point in points if kernel in (None, point["kernel"])]
    return dict(sorted(least(here, itemgetter(name), itemgetter("ps_per_flip")).items()))


def missed(found):
    """'yes' if all of these (name, point, its target) keep to it, else which do not."""
    late = [name for name, point, target in found if point and point["ps_per_flip"] > target]
    return f"no: {', '.join(late)}" if late else "yes"


def target_rows(result):
    """A row of text for each target: the best kernels beside it."""
    points, rows, cases = result["points"], [], []
    for size, limit in TARGETS.items():
        best, lesson = ({g: over_size(points, g, kernel).get(size) for g in GENERATORS} for kernel in (None, LESSON))
        cases.append((str(size), limit, best, lesson))
    size, samples = ONE_SYSTEM
    one = {g: over_samples(points, g, size).get(samples) for g in GENERATORS}
    cases.append((f"{size}, {samples} samples", ONE_SYSTEM_TARGET, one, dict.fromkeys(GENERATORS)))
    for name, limit, best, lesson in cases:
        if any(best.values()):
            found = [("best", fastest([point for point in best.values() if point]), limit)]
            found += [(f"lesson with {GENERATOR_NAMES[g]}", lesson[g], LESSON_TARGET) for g in GENERATORS]
            both = " / ".join([f"{limit:g}", *([f"{LESSON_TARGET:g}"] if any(lesson.values()) else [])])
            cells = [cell for g in GENERATORS for cell in (ps(best[g]), launch_of(best[g]))]
            rows.append([name, *cells, *(ps(lesson[g]) for g in GENERATORS), both, missed(found)])
    return rows


GENERATOR_NAMES = {"philox": "Philox", "minstd": "MINSTD", "parisi-rapuano": "Parisi-Rapuano", "mt19937": "MT19937"}
TARGET_HEADINGS = [
    "L",
    "Philox",
    "by, Philox",
    "MINSTD",
    "by, MINSTD",
    "lesson, Philox",
    "lesson, MINSTD",
    "target",
    "met",
]
TARGET_NUMBERS = [True, True, False, True, False, True, True, True, False]


def caption(result):
    full = select(result["points"], figure="size")
    counts = sorted({point["samples"] for point in full})
    shown = f"{counts[0]:,} to {counts[-1]:,}" if len(counts) > 1 else f"{counts[0]:,}"
    return (
        f"ps per flip, median of {result['repetitions']} runs of the fastest launch, {result['replicas']} replicas, "
        f"T = {result['temperature']:g}, {shown} samples, on {result['device']['name']} (copy: "
        f"{result['copy_gb_per_s']:,.0f} GB/s); `{result['command']}` on {result['date']}."
    )


def targets_markdown(folder):
    result = published(folder)
    remark = "Target: of the best kernel / of the lesson's (update, k = 32). k: samples that are bits of one word."
    text = table.as_markdown(TARGET_HEADINGS, target_rows(result), TARGET_NUMBERS)
    return f"{text}\n\n{remark} {caption(result)}"


def published_rows(result):
    points, bandwidth, rows = result["points"], result["copy_gb_per_s"] / TITAN_GB_PER_S, []
    for code, generator, published in PUBLISHED:
        here = over_size(points, generator).get(PUBLISHED_SIZE)
        if here:
            ratio = published / here["ps_per_flip"]
            factors = [table.factor(ratio), f"{bandwidth:.1f}", table.factor(ratio / bandwidth)]
            rows.append([code, f"{published:g}", ps(here), *factors])
    return rows


def published_markdown(folder):
    result = published(folder)
    headings = ["code", "ps/flip, GTX Titan", "ps/flip here", "ratio", "of it bandwidth", "what remains"]
    text = table.as_markdown(headings, published_rows(result), [False, *[True] * 5])
    return (
        f"{text}\n\nHere: L = {PUBLISHED_SIZE} on {result['device']['name']}, {result['date']}, the same generator; "
        f"the times on the GTX Titan are the paper's. Its memory has {TITAN_GB_PER_S} GB/s by data sheet, set against "
        f"{result['copy_gb_per_s']:,.0f} GB/s that a copy reaches here. In both the samples of a word share draws."
    )


def stalls(row):
    """What a warp waits for when it cannot issue: {reason: share}, the largest first."""
    found = {key: value for key, value in row.items() if key.startswith("stall_")}
    total, order = sum(found.values()) or 1, sorted(found, key=found.get, reverse=True)
    return {key.removeprefix("stall_").replace("_", " "): found[key] / total for key in order}


LIMITS = {"DRAM": "dram_percent", "L2": "l2_percent", "logic": "alu_percent", "issue": "issue_percent"}
BUSY = 80  # % of its peak: what limits a kernel, and else it is waiting


def limit_of(row):
    """What limits a kernel, from its counters."""
    name = max(LIMITS, key=lambda name: row[LIMITS[name]])
    return f"{name}, {row[LIMITS[name]]:.0f} %" if row[LIMITS[name]] >= BUSY else "latency"


def kernel_line(row):
    """Of the table, for a profiled launch."""
    line = {"kernel": row["kernel"], "generator": row["generator"], "L": str(row["size"])}
    line |= {"samples": f"{row['samples']:,}", "launch": table.word_launch(row), "ps/flip": ps(row)}
    moved = {"DRAM": row["dram_read_bytes"] + row["dram_written_bytes"], "L2": row["l2_bytes"]}
    line |= {"B/flip predicted": table.significant(predicted_bytes(row), 3)}
    line |= {f"{name} B/flip": table.significant(bytes / row["flips"], 3) for name, bytes in moved.items()}
    line |= {f"{name}, %": f"{row[key]:.0f}" for name, key in LIMITS.items()}
    first = ", ".join(f"{name} {100 * share:.0f} %" for name, share in list(stalls(row).items())[:3])
    return line | {"warps of 64": f"{row['warps_per_sm']:.0f}", "limited by": limit_of(row), "warps wait for": first}


def kernels_markdown(folder):
    counters = json.loads((folder / COUNTERS).read_text())
    texts = ("kernel", "generator", "launch", "limited by", "warps wait for")
    rows = [row for row in counters["rows"] if row["kernel"] in SPIN_GLASS.rows["kernel"]]  # some may be gone since
    text = table.table_of(list(map(kernel_line, rows)), texts)
    return (
        f"{text}\n\nOn {counters['device']['name']}. Bytes as Nsight Compute counts them, for all sweeps of a "
        f"launch; % of the peak. Limited by: what is busiest, if for {BUSY} % or more. Warps wait for: of the cycles "
        "in which a warp could not issue."
    )


def as_text(result, options):
    return f"{table.aligned(TARGET_HEADINGS, target_rows(result), TARGET_NUMBERS)}\n\n{caption(result)}"


def command(options):
    """What to type for the same run."""
    names = ["size", "spins", "sweeps", *LAUNCH, "replicas", "temperature", "seed", "repetitions", "device"]
    return " ".join(["common/run --words DIR", *as_words({name: getattr(options, name) for name in names})])


def files(result):
    """{name: rows of a CSV file, or a whole JSON file}, the one to be drawn at last."""
    return {f"{NAME}.csv": result["points"], f"{NAME}.json": result}
