"""What fast simulations of Ising spins state of themselves, beside what was measured here: a table of measured.md."""

import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")

import json
from typing import NamedTuple

import table
from measure import words
from results import read_result, select
from stages import Failure

LARGE = "overlapped/large_lattices.json"
ONE_SYSTEM = "synchronous/one_system.json"
ONE_SYSTEM_FORMAT = "psFlip synchronous multispin coding, version 1"
LARGE_SAMPLES_PER_STREAM = 64  # as its command says
WATTS = {("overlapped", 192): "699, limit 700"}  # of a single run that lasted a second
UNKNOWN = "not stated"
WORD = "shared by the samples of a word"


class Stated(NamedTuple):
    what: str
    devices: str
    ps: str  # a flip, of all devices together
    source: str
    lattice: str = "3D, ±J"
    draws: str = UNKNOWN
    systems: str = UNKNOWN
    watts: str = UNKNOWN


def per_ns(flips, digits):
    return table.significant(1e3 / flips, digits)


def link(number):
    return f"[{number}](https://arxiv.org/abs/{number})"


def timed(repository):
    return f"[its source](https://github.com/{repository}), timed by us"


FPGAS = f"FPGAs, number {UNKNOWN}"
UNMEASURED = "not measured"
OWN = "own"
STATED = [
    Stated("Janus", FPGAS, "16", "[1]"),
    Stated("Janus II", FPGAS, "3 to 5", "[1]"),
    Stated(
        "DSIM-2, heat bath, 11 MHz",
        "18 FPGAs",
        per_ns(1e3, 1),
        link("2606.25313"),
        "3D, ±J, 100 x 100 x 100",
        OWN,
        "one",
    ),
    Stated(
        "DSIM-2, heat bath, 33 MHz",
        "18 FPGAs",
        per_ns(3e3, 2),
        link("2606.25313"),
        "3D, ±J, 100 x 100 x 100",
        OWN,
        "one",
    ),
    Stated(
        "Wafer-Scale Engine",
        "1 wafer",
        per_ns(61.8e3, 3),
        f"{link('2404.16990')}, abstract",
        "2D, J = 1",
        systems="up to 754",
    ),
    Stated(
        "cuIsing",
        "64 GPUs of a GB200 NVL72",
        per_ns(1.15e5, 3),
        f"{link('2502.18624')}, abstract",
        "2D, J = 1",
        systems="one",
    ),
    Stated("MCQSG", "4 A100", "less than 1", f"{link('2402.03920')}, abstract", "2D, quantum, ±J, Trotter-Suzuki"),
    Stated("Lulli, Bernaschi, Parisi, MINSTD", "1 GTX Titan", "3", "[1]", draws=WORD, systems="many"),
    Stated("the same, MT19937 or Parisi-Rapuano", "1 GTX Titan", "5", "[1]", draws=WORD, systems="many"),
    Stated("NVIDIA ising-gpu", "1 H200", "1.13", timed("NVIDIA/ising-gpu"), "2D, J = 1", OWN, "one", UNMEASURED),
    Stated(
        "CSG, a word is 24 replicas of a sample",
        "1 H200",
        "0.99",
        timed("Marco-Mendivil-Carboni/Spin-Glass"),
        draws=OWN,
        systems="many",
        watts=UNMEASURED,
    ),
    Stated(
        "PAising, a word is 32 replicas",
        "1 H200",
        "0.45",
        timed("LevBarash/PAising"),
        "2D, J = 1",
        "one per word, from which congruential numbers go on",
        "many",
        UNMEASURED,
    ),
    Stated(
        "EA-LCD-MC, a word of 64 bits is 4 x 4 x 4 sites of a system",
        "1 H200",
        "0.405",
        "timed by us",
        draws="shared, as words of accepting bits, by up to 32 samples",
        systems="many",
        watts=UNMEASURED,
    ),
]

# Of spin_glass_words.json the fastest point of a kernel among these; of the other files rows by (L, samples, R).
OF_WORDS = [
    ("resident", {"figure": "size"}),
    ("wide", {"figure": "size", "size": 256}),
    ("small", {"figure": "samples", "size": words.ONE_SYSTEM[0], "samples": words.ONE_SYSTEM[1]}),
]
OF_LARGE = [64, 192]
OF_ONE_SYSTEM = [(128, 1, 1), (128, 1, 4), (512, 1, 4), (32, 1024, 4)]


def fastest(rows, file, **wanted):
    found = min(select(rows, **wanted), key=lambda row: row["ps_per_flip"], default=None)
    if found is None:
        raise Failure(f"{file} has no row with {', '.join(f'{name} {value}' for name, value in wanted.items())}")
    return found


def ours(kernel, row, replicas, draws, file, generator=None):
    size, samples = row["size"], row["samples"]
    return Stated(
        ", ".join(filter(None, [f"**{kernel}**", generator, f"L = {size}", table.counted(replicas, "replica")])),
        "1 H200",
        table.significant(row["ps_per_flip"], 3),
        f"[measured](../common/results/h200/{file})",
        draws=draws,
        systems="one" if samples == 1 else f"{samples:,}",
        watts=WATTS.get((kernel, size), UNMEASURED),
    )


def rows_of_words(folder):
    file = f"words/{words.NAME}.json"
    result = words.published(folder / "words")
    for kernel, wanted in OF_WORDS:
        point = fastest(result["points"], file, kernel=kernel, **wanted)
        # Of all samples of a group, which may be two words or four.
        shared = f"shared by {min(words.WIDEST, point['samples'])} samples"
        yield ours(kernel, point, result["replicas"], shared, file, words.GENERATOR_NAMES[point["generator"]])


def rows_of_large_lattices(folder):
    rows = json.loads((folder / LARGE).read_text())["rows"]
    for size in OF_LARGE:
        row = fastest(rows, LARGE, kernel="overlapped", size=size)
        yield ours("overlapped", row, 4, f"shared by {LARGE_SAMPLES_PER_STREAM} samples", LARGE, "Philox")


def rows_of_one_system(folder):
    rows = read_result(folder / ONE_SYSTEM, ONE_SYSTEM_FORMAT)["rows"]
    for size, samples, replicas in OF_ONE_SYSTEM:
        row = fastest(rows, ONE_SYSTEM, size=size, samples=samples, replicas=replicas, temperature=1.1)
        yield ours(row["kernel"], row, replicas, OWN, ONE_SYSTEM)


def records(folder):
    return [*STATED, *rows_of_words(folder), *rows_of_large_lattices(folder), *rows_of_one_system(folder)]


def markdown(folder):
    lines = [
        {
            "what": row.what,
            "on": row.devices,
            "ps/flip": row.ps,
            "W": row.watts,
            "lattice": row.lattice,
            "a draw is": row.draws,
            "systems": row.systems,
            "source": row.source,
        }
        for row in records(folder)
    ]
    remark = (
        "ps/flip: of all devices together. own: a spin has a draw that no other has. systems: samples; replicas of one "
        f"count as one. {UNKNOWN}: not in what we have read of the source, which is the abstract where it says so. "
        "Bold: kernels of this stage. What was timed by us is not among the committed results; how these codes draw is "
        "in their sources. W: of a single run of the kernel alone, over one second ([overlapped](#overlapped))."
    )
    return f"{table.table_of(lines, set(lines[0]) - {'ps/flip'})}\n\n{remark}"


TABLES = {"records": markdown}
