"""The table of stages: the two models of the tutorial, as far as measuring and showing them differs, and what has to be
known of single stages. What else a tool wants to know of one is in the stage's folder."""

from dataclasses import dataclass

REFERENCE_FOLDER = "00_cpu_reference"  # whose plain loops say which bits are right
REFERENCE = REFERENCE_FOLDER[:2]
WITH_RANKS = "08"  # its programs are started by mpirun
COMPARED_WITH_NCU = ("01", "02", "03", "04", "05", "06")  # what --counters shows of itself


@dataclass(frozen=True)
class Part:
    """One of the benchmark's options that say what runs and how. Every value of those with a `rank`, or pair of values,
    has a row of its own in the table, and the first values come first; the best of other parts' is found by trial."""

    name: str
    values: tuple = ()  # that there are, or that are tried; none: common/run has no such option
    metavar: str = ""
    help: str = ""
    rank: int = 0  # among the parts that a row is called by
    elsewhere: tuple = ()  # values that are not compared, but taken


@dataclass(frozen=True, eq=False)  # there is one object a model
class Model:
    name: str  # of its programs and of its folder in common
    title: str
    dimensions: int
    run: str  # one update of the whole lattice
    part: str  # one update of one spin
    parts: tuple[Part, ...]
    rows_first: bool  # the table has one ladder of stages a row value, not one ladder in which a stage has several rows
    plain_first: tuple[str, ...]  # these have a row with the first value to be tried, and then one with the best
    few_trials: dict[str, dict[str, list]]  # instead of all, where one row a stage is wanted, by platform
    slow_on_cpu: dict[str, tuple[str, ...]]  # row values that a CPU only makes a beginner wait for
    apart: dict[str, str]  # stages that are compared only if they are asked for, and why
    launch_example: str  # as counters.py takes one
    defaults: dict[str, tuple]  # problem and repetitions, as command-line options: on a GPU, on a CPU
    smallest: dict[str, int]  # a problem that takes no time
    results: str  # the file's name in common/results/<device>

    @property
    def launch(self):
        return tuple(part.name for part in self.parts)

    @property
    def rows(self):
        ranked = sorted((part for part in self.parts if part.rank), key=lambda part: part.rank)
        return {part.name: part.values for part in ranked}

    @property
    def trials(self):
        return {part.name: list(part.values) for part in self.parts if part.values and not part.rank}

    @property
    def row(self):
        """The option whose value a row is called by."""
        return next(iter(self.rows))

    def row_in_words(self, row):
        """'sliced', 'sliced, philox', 'wide, philox' or 'bit, 8 steps per pass'; '' if there is nothing of the kind."""
        steps = row.get("steps_per_pass")
        values = [row.get(name) for name in self.rows if name != "generator"]
        values += [None if plain_generator(row) else row["generator"]]
        values += [f"{steps} step{'s' * (steps > 1)} per pass" if steps else None]
        return ", ".join(filter(None, values))

    @property
    def format(self):
        return f"psFlip {self.dimensions}D comparison, version 1"

    @property
    def problem(self):
        """The options that say what is computed, apart from the seed."""
        return [option for option in self.defaults if option != "repetitions"]

    @property
    def own_options(self):
        """Of common/run; they say which model is meant."""
        return [*(option for option in self.problem if option != "size"), *self.rows, *self.trials]

    @property
    def runs(self):
        """The option that says how often the lattice is updated in one timed run."""
        return f"{self.run}s"

    # What the benchmark's counters and the rows of a comparison are called.
    @property
    def time(self):
        return f"ms_per_{self.run}"

    @property
    def ps(self):
        return f"ps_per_{self.part}"

    @property
    def bytes(self):
        return f"bytes_per_{self.part}"

    def spins(self, problem):
        """How many spins a problem has, samples and replicas included."""
        return problem["size"] ** self.dimensions * problem.get("samples", 1) * problem.get("replicas", 1)

    def updates(self, problem):
        """How many spins are updated in one timed run."""
        return self.spins(problem) * problem[self.runs]


def plain_generator(row):
    """Whether the random numbers are MINSTD's, as in all stages before 06. Results older than stage 06 do not say."""
    return row.get("generator") in (None, "minstd")


MAJORITY = Model(
    name="majority",
    title="2D majority model",
    dimensions=2,
    run="step",
    part="site",
    parts=(
        Part("storage", ("int32", "int8", "bit"), "int32,...", "how a spin is stored: int32, int8, bit (all)", 1),
        Part("thread_width", (8, 10, 12, 16, 32), "8,16", "launch shapes to try"),
        Part("block", (1, 2, 3, 4, 5), "1,2", "launch shapes to try"),
        Part(
            "steps_per_pass", tuple(range(1, 17)), "1,8", "steps at most between reading and writing the lattice to try"
        ),
    ),
    rows_first=True,
    plain_first=("steps_per_pass",),
    few_trials={  # those that win somewhere; on a CPU launches matter less, and take long
        "gpu": {"thread_width": [16, 32], "block": [1, 2, 4, 5], "steps_per_pass": [1, 5, 10, 11]},
        "cpu": {"thread_width": [8, 16], "block": [1, 3, 5], "steps_per_pass": [1, 8, 16]},
    },
    slow_on_cpu={},
    apart={},
    launch_example="02:int8:16x3 or 07:bit:8",
    defaults={"size": (10000, 1500), "steps": (10, 10), "repetitions": (10, 3)},
    smallest={"size": 1, "steps": 1},
    results="comparison.json",
)

# Rows of a stage with several kernels, unless others are asked for.
KERNEL_GENERATORS = ("minstd", "philox")
# Their states depend on how cuRAND lays them out, so no other stage has the same bits.
CURAND_GENERATORS = ("curand-xorwow", "curand-philox", "curand-mtgp32")
# Kernels with as many threads per block as their tile takes.
TILED_KERNELS = ("overlapped",)

SPIN_GLASS = Model(
    name="spin_glass",
    title="3D spin glass",
    dimensions=3,
    run="sweep",
    part="flip",
    parts=(  # a stage has several indexings or several kernels
        Part(
            "indexing",
            ("standard", "bitwise", "sliced", "sliced-grid", "standard-grid"),
            "sliced,...",
            "how sites are numbered, in stages 04 to 06 (all; in stage 06 sliced)",
            rank=1,
        ),
        Part(
            "generator",
            ("minstd", "parisi-rapuano", "mt19937", "philox"),
            "minstd,...",
            "random numbers (all that compute the same everywhere; in stage 07 minstd and philox)",
            rank=3,
            elsewhere=CURAND_GENERATORS,
        ),
        Part("load", ("plain", "readonly", "texture"), "plain,...", "ways of reading to try"),
        Part("threads", (64, 128, 256, 512), "128,256", "threads of a block to try"),
        Part("sites_per_thread", (1, 2, 4, 8), "1,4", "sites that a thread updates together to try"),
        Part(
            "kernel",
            ("update", "wide", "overlapped", "resident", "small"),
            "wide,...",
            "of stage 07, whose rows have 128 samples at least; 32 on a CPU (all)",
            rank=2,
        ),
        Part("samples_per_word", (32, 64, 128), "32,64", "samples that are bits of one word to try"),
        Part("cluster", tuple(range(1, 17)), "1,8", "thread blocks that share their memory to try"),
        Part("replicas_together", (1, 2, 4), "1,4", "replicas that a cluster updates to try"),
        Part("transport"),
    ),
    rows_first=False,
    plain_first=(),
    few_trials={
        "gpu": {"load": ["readonly", "texture"], "threads": [64, 128, 256], "sites_per_thread": [1, 4, 8]},
        "cpu": {"load": ["readonly"], "threads": [256, 512], "sites_per_thread": [1, 8], "samples_per_word": [32]},
    },
    slow_on_cpu={"kernel": ("overlapped", "resident", "small")},
    apart={WITH_RANKS: "which gives a system to several GPUs"},
    launch_example="04:standard:256, 05:sliced:texture:256x4 or 06:sliced:philox:128x8",
    defaults={
        "size": (256, 32),
        "sweeps": (10, 10),
        "samples": (1, 1),
        "replicas": (4, 4),
        "temperature": (1.1, 1.1),
        "repetitions": (10, 3),
    },
    smallest={"size": 8, "sweeps": 1, "samples": 1, "replicas": 4},
    results="spin_glass.json",
)

MODELS = (MAJORITY, SPIN_GLASS)


def model_of(result):
    """Whose results these are, as read from a JSON file."""
    return next(model for model in MODELS if result["format"].startswith(f"psFlip {model.dimensions}D "))
