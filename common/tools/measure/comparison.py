"""Measures the stages and makes the comparison out of it: which launches are tried, what is timed, what is compared."""

import math

import build
import stages
from models import KERNEL_GENERATORS, MAJORITY, REFERENCE, TILED_KERNELS, plain_generator
from options import expect_stages
from results import begin_result
from stages import Failure, as_words, progress, run_benchmark


def chosen_stages(model, options, usual=None):
    """The reference, and those to be compared with it: what is wished, else those with these numbers, else all. A
    comparison asks for what it needs when it needs it; who names the usual ones gets all of them built."""
    builder = options.builder
    found = [stage for stage in stages.course(builder.folder, model) if is_there(builder, stage)]
    numbers = [stage.number for stage in found]
    if REFERENCE not in numbers:
        raise Failure(f"stage {REFERENCE} is not built in {builder.folder}; common/run builds it")
    expect_stages(options.stages, numbers)
    wished = options.stages or usual or numbers
    chosen = [stage for stage in found if stage.number in [REFERENCE, *wished]]
    if usual:
        builder.need(*(stage.target for stage in chosen), what="stages " + ", ".join(stage.number for stage in chosen))
    return chosen[0], chosen[1:]


def is_there(builder, stage):
    """Whether this build has the stage; CMake leaves out what a machine lacks libraries for."""
    return stage.benchmark.exists() if builder.brought else builder.has(stage.target)


class Refused(Failure):
    """A stage can do none of the launches that were tried."""


def platform_of(options, others):
    """Where the stages will run, as one of them says for a problem that takes no time."""
    return probe(others[0], options)[0].platform if others else "reference"


def probe(stage, options, **more):
    """A report, which says where the stage runs, and what it has to choose from, whatever is wished: a row's values,
    each with the names of the launch's parts. `more`: further values to ask for, as generator=[...]."""
    model = stage.model
    offered = []
    for left_out in ("kernel", "indexing"):  # a stage refuses the one that it does not have
        rows = {name: list(values) for name, values in model.rows.items() if name != left_out} | more
        what = f"{model.dimensions}D, stage {stage.number}: what it has"
        how = {"what": what, "device": options.device, "quick": True, "repetitions": 1}
        report = run_benchmark(stage, **how, **model.smallest, **rows)
        for launch in report.launches:
            if not launch.refused:
                values = {name: launch.values[name] for name in model.rows}
                parts = [name for name in model.trials if launch.values[name] is not None]
                # How many threads a block has follows from the cluster or the tile.
                if "threads" in parts and ("cluster" in parts or values.get("kernel") in TILED_KERNELS):
                    parts.remove("threads")
                offered.append((values, parts))
        if offered:
            break
    return report, offered


def has_generators(offered):
    """Whether a stage has a choice of generators, from what probe() found."""
    return len({values.get("generator") for values, _ in offered}) > 1


def fill_defaults(model, options, platform, **usual):
    """Everything that the user left open, and the problem as it is to be run. `usual`: of a tool, which come first."""
    for name, (on_gpu, on_cpu) in model.defaults.items():
        usual.setdefault(name, on_gpu if platform == "gpu" else on_cpu)
    for name, value in usual.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    problem = {name: getattr(options, name) for name in model.problem}
    return problem | {"seed": options.seed}


def measure_reference(stage, problem, repetitions, what=""):
    # The plain loop at the GPU's problem size takes ten seconds and needs no second look.
    if stage.model.updates(problem) > 1e8:
        repetitions = 1
    report = run_benchmark(stage, what=what, repetitions=repetitions, **problem)
    launch = report.launches[0]
    if launch.wrong or launch.refused:
        raise Failure(f"{stage.name}: {launch.wrong or launch.refused}")
    if stage.model is MAJORITY:  # the reference stores as it likes, and only its bytes say how
        launch.values["storage"] = {2: "int8", 8: "int32"}[int(launch.bytes)]
    return report, launch


# The reference is slow, and its streams of MT19937 take 5000 bytes a site.
CHECK_SIZE = 64


def to_be_checked(problem):
    """The problem, or one like it that the reference can do with any generator in a second."""
    return problem | {"size": min(problem["size"], CHECK_SIZE), "samples": 1}


def wrong_bits(reference, stage, problem, options, values):
    """Runs the reference and a stage's launches with these values, one generator among them. What is wrong, if so."""
    generator = values["generator"]
    what = f"comparing the bits of stage {stage.number}, {generator}, at L = {problem['size']}"
    report = run_benchmark(reference, what=what, copy=False, repetitions=1, generator=generator, **problem)
    expected = report.launches[0]
    if expected.wrong or expected.refused:
        raise Failure(f"{reference.name}: {expected.wrong or expected.refused}")
    settings = problem | values | {"repetitions": 1, "expect": expected.hash}
    launches = run_benchmark(stage, what=what, copy=False, device=options.device, **settings).launches
    if all(launch.refused for launch in launches):
        raise Failure(f"{stage.name}: {launches[0].refused}")
    return [f"{stage.model.row_in_words(launch.values)}: {launch.wrong}" for launch in launches if launch.wrong]


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
        "bits_compared_at": None,  # the problem's changes for a comparison with the reference, if that was not this one
        "bits_agree": not launch.wrong,
        "wrong": launch.wrong,
        "shapes_tried": sum(not other.refused for other in tried),
        "shapes": [other.as_json() for other in tried],
    }


def fill_factors(model, rows, ladders):
    """How much faster, per spin, than the reference, and than the row before, or with ladders the one in its own."""
    reference = before = rows[0]
    for row in rows[1:]:
        if ladders and row[model.row] != before[model.row]:
            before = reference
        if row[model.time]:
            row["factor_reference"] = reference[model.ps] / row[model.ps]
            row["factor_before"] = before[model.ps] / row[model.ps]
            before = row
    return rows


WIDEST_WORD = {"gpu": 128, "cpu": 32}  # a CPU takes long enough over 32 samples


def with_enough_samples(values, platform, problem):
    """The problem, or for a kernel whose words hold many samples one that fills a word."""
    if not values["kernel"]:
        return problem
    widest = WIDEST_WORD[platform]
    return problem | {"samples": max(problem["samples"], widest), "samples_per_stream": widest}


def has_a_row(values, options):
    """Of a stage with a choice of generators. What the numbering of sites does is told by the stages before, what the
    generators do by this one; generators.py times all of it."""
    if values["kernel"]:
        return options.generator or values["generator"] in KERNEL_GENERATORS
    return options.indexing or values["indexing"] == "sliced"


def with_plain_first(model, values, parts, options):
    """The rows that become of one: what is to be found by trial may have a row with its plainest value before."""
    for name in model.plain_first:
        if name in parts and not getattr(options, name):
            yield values | {name: model.trials[name][0]}, [part for part in parts if part != name]
    yield values, parts


class Comparison:
    """One model's table as it comes to be. A variant is what can have a row of its own: (row values, parts of its
    launches). By default a stage has one row, its best variant's; with --all every variant has one."""

    def __init__(self, model, options):
        self.model, self.options, self.builder = model, options, options.builder
        self.reference, self.others = chosen_stages(model, options)
        self.rows, self.left_out = [], []
        self.probes, self.offers, self.tries = {}, {}, {}  # what stages have said
        if not options.stages and not options.all:
            for stage in [stage for stage in self.others if stage.number in model.apart]:
                self.others.remove(stage)
                why = f"{model.apart[stage.number]}; --stages {stage.number} asks for it"
                self.left_out.append(f"{stage.number}, {why}")

    def groups(self):
        """What is to be built together, in the order in which it is needed: first what a first row and the platform
        take, then so much that no core waits long."""
        share = max(2, build.cores() // 4)
        parts = [[self.reference, *self.others[:1]]]
        parts += [self.others[i : i + share] for i in range(1, len(self.others), share)]
        what = f"{self.model.dimensions}D stage"
        return [
            (f"{what}{'s' * (len(part) > 1)} {', '.join(s.number for s in part)}", [stage.target for stage in part])
            for part in parts
        ]

    def prepare(self):
        """Finds out where the stages run, and so what the problem is. Refuses what no stage has."""
        model, options = self.model, self.options
        if any(getattr(options, name) for name in model.rows):
            self.builder.need(*(stage.target for stage in self.others))
        self.builder.need(self.reference.target, *(stage.target for stage in self.others[:1]))
        self.builder.settle()  # nothing compiles while the reference is timed, or while we find out where stages run
        self.platform, self.device = "reference", None
        if self.others:
            report, _ = self.probe(self.others[0])
            self.platform, self.device = report.platform, report.device
        for name in model.rows:
            for value in getattr(options, name) or []:
                had = [values[name] for stage in self.others for values, _ in self.variants(stage)]
                if self.others and value not in had:
                    raise Failure(f"--{name} {value}: none of the chosen stages has it")
        self.problem = fill_defaults(model, options, self.platform)

    def probe(self, stage):
        if stage not in self.probes:
            self.builder.need(stage.target)
            self.probes[stage] = probe(stage, self.options)
        return self.probes[stage]

    def variants(self, stage):
        """What a stage has of what is wished, in order."""
        model, options = self.model, self.options
        if stage not in self.offers:
            _, offered = self.probe(stage)
            if has_generators(offered):
                offered = [(values, parts) for values, parts in offered if has_a_row(values, options)]
            if options.all:
                offered = [one for value in offered for one in with_plain_first(model, *value, options)]
            # None: the stage has nothing of the kind, which is right unless one is asked for.
            order = {
                name: [*([] if getattr(options, name) else [None]), *(getattr(options, name) or values)]
                for name, values in model.rows.items()
            }
            found = [one for one in offered if all(one[0][name] in order[name] for name in order)]
            found.sort(key=lambda one: [order[name].index(one[0][name]) for name in order])
            self.offers[stage] = self.sensible(found)
        return self.offers[stage]

    def sensible(self, variants):
        """Without what says nothing on this platform, unless it is asked for."""
        if self.options.all or self.platform != "cpu":
            return variants
        for name, slow in self.model.slow_on_cpu.items():
            if not getattr(self.options, name):
                found = [value for value in slow if value in [values[name] for values, _ in variants]]
                variants = [one for one in variants if one[0][name] not in found]
                if found:
                    self.left_out.append(f"{', '.join(found)}, slow on a CPU; --{name} asks for them")
        return variants

    def entries(self):
        """(stage, variants of which the best has the row), one a row of the table."""
        model, options = self.model, self.options
        if not options.all:
            yield from ((stage, self.variants(stage)) for stage in self.others if self.variants(stage))
            return
        ladders = (getattr(options, model.row) or model.rows[model.row]) if model.rows_first else [None]
        for value in ladders:
            for stage in self.others:
                for variant in self.variants(stage):
                    if value in (None, variant[0][model.row]):
                        yield stage, [variant]

    def run(self, show=lambda row: None):
        """Measures. `show` gets every row as soon as it is there. The result."""
        model, options, problem = self.model, self.options, self.problem
        what = f"{model.dimensions}D, stage {self.reference.number}: measuring"
        report, launch = measure_reference(self.reference, problem, options.repetitions, what)
        self.expected = launch.hash
        self.add(make_row(self.reference, report, launch, [], problem), show)
        refusal = None
        self.build_ahead()
        for stage, variants in self.entries():
            self.build_ahead()
            try:
                self.add(self.measure(stage, variants), show)
            except Refused as refused:  # bitwise, say, for a size that is no power of two
                refusal = refused
                asked = ("kernel",) if variants[0][0].get("kernel") else model.rows
                if any(getattr(options, name) for name in asked):
                    raise
                words = f"{model.row_in_words(variants[0][0])}: " if options.all else ""
                self.left_out.append(f"{words}{refused}")
        if refusal and len(self.rows) == 1:
            raise refusal
        progress("")
        place = {"platform": self.rows[-1]["platform"], "name": self.rows[-1]["device"]}
        return begin_result(model.format, command(model, options, self.rows), **place) | {
            "problem": problem | {"hash": self.expected},
            "repetitions": options.repetitions,
            "every_variant": options.all,
            "rows": self.rows,
            "left_out": self.left_out,
        }

    def build_ahead(self):
        if self.platform == "gpu":  # which leaves the processor to the compiler
            self.builder.ahead()

    def add(self, row, show):
        self.rows.append(row)
        fill_factors(self.model, self.rows, ladders=self.options.all and self.model.rows_first)
        show(row)

    def doing(self, stage, text):
        place = f"{self.others.index(stage) + 1} of {len(self.others)}"
        return f"{self.model.dimensions}D, stage {stage.number} ({place}): {text}"

    def problem_of(self, values):
        if self.model is MAJORITY:
            return self.problem
        return with_enough_samples(values, self.platform, self.problem)

    def tried(self, stage, variant):
        """A variant's launches, each timed briefly: with those of the stage's other variants, if these have the same
        parts, since starting a program takes longer than most launches."""
        model, (values, parts) = self.model, variant
        key = stage, tuple(parts)
        if key not in self.tries:
            brief = {"repetitions": 3}
            if self.platform != "gpu" and "steps_per_pass" in parts:
                brief = {"repetitions": 1}
            elif self.platform != "gpu" and (self.options.all or model is MAJORITY):
                # A step takes as long as the next, and there are many launches to try, or a step takes long.
                brief = {model.runs: 1, "repetitions": 1}
            alike = [own for own, own_parts in self.variants(stage) if own_parts == parts]
            rows = {name: list(dict.fromkeys(own[name] for own in alike if own[name] is not None)) for name in values}
            usual = model.trials if self.options.all else model.trials | model.few_trials[self.platform]
            trials = {part: getattr(self.options, part) or usual[part] for part in parts}
            settings = self.problem_of(values) | brief | rows | trials
            what = self.doing(
                stage, f"trying {math.prod(len(some) for some in [*rows.values(), *trials.values()] if some)} launches"
            )
            self.tries[key] = run_benchmark(
                stage, what=what, device=self.options.device, quick=True, **settings
            ).launches
        return [launch for launch in self.tries[key] if values.items() <= launch.values.items()]

    def measure(self, stage, variants):
        """The row of the fastest launch of these variants, measured anew, its bits compared."""
        model, options = self.model, self.options
        tried, refused = [], []
        for variant in variants:
            launches = self.tried(stage, variant)
            tried += launches
            if all(launch.refused for launch in launches):
                refused.append(f"{stage.name}: {launches[0].refused}")
        asked = any(getattr(options, name) for name in model.rows)
        if refused and (asked or len(refused) == len(variants)):
            raise Refused(refused[0])
        best = min((launch for launch in tried if not launch.refused), key=lambda launch: launch.median)
        problem = self.problem_of(best.values)
        here = model is MAJORITY or (plain_generator(best.values) and not best.values["kernel"])
        # Of another generator, or more samples, the bits are not those of the reference's row. They are compared
        # in a problem of their own: the states of 128 large samples are gigabytes.
        settings = problem | best.values
        settings |= {"repetitions": options.repetitions, "expect": self.expected if here else None}
        words = ", ".join(filter(None, [model.row_in_words(best.values), "measuring"]))
        report = run_benchmark(
            stage, what=self.doing(stage, words), device=options.device, checked=problem == self.problem, **settings
        )
        launch = report.launches[0]
        if launch.refused:
            raise Failure(f"{stage.name}: {launch.refused}")
        if here:
            return make_row(stage, report, launch, tried, problem)
        checked, settings = to_be_checked(problem), launch.values
        if checked["size"] != problem["size"]:  # the shape of a cluster is made for the size
            settings = settings | dict.fromkeys(("cluster", "replicas_together"))
            settings["threads"] = launch.values["threads"] if launch.values["cluster"] is None else None
        if not launch.wrong:
            launch.wrong = next(iter(wrong_bits(self.reference, stage, checked, options, settings)), None)
        row = make_row(stage, report, launch, tried, problem)
        changed = {name: checked[name] for name in ("size", "samples") if checked[name] != problem[name]}
        return row | {"bits_compared_at": changed}


def command(model, options, rows):
    """What to type for the same run; where its files went is nobody's business."""
    settings = {name: getattr(options, name) for name in [*model.problem, "seed"]}
    settings["stages"] = list(dict.fromkeys(row["stage"][:2] for row in rows))
    settings |= {name: getattr(options, name) for name in [*model.rows, *model.trials]}
    settings |= {"repetitions": options.repetitions, "device": options.device}
    return " ".join(["common/run", *["--all"] * options.all, *as_words(settings)])
