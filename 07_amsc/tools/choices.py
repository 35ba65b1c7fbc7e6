#!/usr/bin/env python3
"""Compares the launch that stage 07 chooses for a long run with the best there is, for problems drawn at random.

The program `choices` times every launch that is possible for a problem, and then anew the fastest, the one that trials
chose, and the one that the model alone would take, as for a short run. Slower than the best by more than a tenth is a
failure: exit code 1. Nothing is remembered from problem to problem or for other programs.
"""

import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
if __name__ == "__main__":
    import interrupt  # noqa: F401

import json
import math
import os
import random
import tempfile

import table
from build import build_if_configured
from options import Parser, add_common_options, new_file, whole
from results import begin_result, read_result, write_result
from stages import Failure, as_words, last_line, progress, run_tool, start

PROGRAM = "07_amsc/choices"
FORMAT = "psFlip choices, version 1"
FILE = "choices.json"
SIZES = {"gpu": range(8, 257, 2), "cpu": range(8, 13, 2)}
SPINS = {"gpu": 2**32, "cpu": 2**18}  # of a problem at most, all samples and replicas
REPLICAS = (1, 2, 3, 4, 8)
SAMPLES_PER_STREAM = (16, 32, 64, 96, 128, 256)
STATE_WORDS = {"minstd": 1, "parisi-rapuano": 61, "mt19937": 624, "philox": 0}  # of a stream
STATE_BYTES = {"gpu": 8e9, "cpu": 1e8}  # at most
TIMING = {"gpu": {"seconds": 0.003}, "cpu": {"seconds": 1e-4, "longer": 1e-3, "repetitions": 3, "finalists": 2}}
ALLOWED = 1.1  # times the best


def draw(generator, platform):
    """A problem. Sizes and numbers of samples are spread evenly over their logarithms."""
    while True:
        sizes = SIZES[platform]
        length = math.exp(generator.uniform(math.log(sizes[0]), math.log(sizes[-1])))
        size = min(sizes, key=lambda even, length=length: abs(even - length))
        replicas, together = generator.choice(REPLICAS), generator.choice(SAMPLES_PER_STREAM)
        prng = generator.choice(list(STATE_WORDS))
        most = SPINS[platform] // (size**3 * replicas)
        position = generator.random()
        samples = round(max(1, most) ** position)
        words = math.ceil(samples / together) * math.ceil(min(samples, together) / 32)
        if most >= 1 and 4 * STATE_WORDS[prng] * words * size**3 <= STATE_BYTES[platform]:
            problem = {"size": size, "samples": samples, "replicas": replicas, "samples_per_stream": together}
            return problem | {"generator": prng}


def call(program, words):
    with tempfile.TemporaryDirectory() as nothing_yet:
        environment = os.environ | {"PSFLIP_LAUNCHES": nothing_yet}
        try:
            code, output, errors = start([program, *words], " ".join(words), env=environment)
        except OSError:
            raise Failure(f"{program.name} is not built in {program.parent.parent}") from None
    if code:
        raise Failure(f"{program.name} {' '.join(words)}: {last_line(errors, code)}")
    return json.loads(output)


def launch(said):
    """The program's words for a launch: a dictionary without what it does not have."""
    return {name: value for name, value in said["launch"].items() if value is not None}


def measure(program, options):
    device = ["--device", options.device] if options.device else []
    smallest = as_words({"size": 4, "samples": 1, "sweeps": 1, "seconds": 1e-6, "longer": 1e-6, "repetitions": 1})
    first = call(program, [*smallest, *device])
    platform = first["platform"]
    generator = random.Random(options.seed)
    rows = []
    for number in range(options.problems):
        problem = draw(generator, platform)
        timing = TIMING[platform] | ({"sweeps": options.sweeps} if options.sweeps else {})
        words = as_words(problem | timing)
        progress(f"{number + 1} of {options.problems}")
        said = call(program, [*words, *device])
        flips = problem["size"] ** 3 * problem["samples"] * problem["replicas"]
        row = problem | {"command": " ".join([PROGRAM, *words])}
        for which in ("choice", "expected", "best"):
            row[which] = launch(said[which]) | {"ps_per_flip": said[which]["seconds"] / flips * 1e12}
        rows.append(row | {name: said[name] for name in ("possible", "tried", "seconds_to_choose", "seconds")})
    asked = {"problems": options.problems, "seed": options.seed, "sweeps": options.sweeps, "device": options.device}
    command = " ".join(["07_amsc/tools/choices.py", *as_words(asked)])
    result = begin_result(FORMAT, command, platform=platform, name=first["device"])
    failed = [
        f"{row['command']}: {slower(row, 'choice'):.2f} times the time of the best"
        for row in rows
        if slower(row, "choice") > ALLOWED
    ]
    return result | {"rows": rows, "failed": failed}


def slower(row, which):
    """How many times as long as the best."""
    return row[which]["ps_per_flip"] / row["best"]["ps_per_flip"]


def named(values, replicas):
    """'wide, k = 128, 128 threads'"""
    parts = dict.fromkeys(("samples_per_word", "threads", "cluster")) | {"replicas_together": replicas} | values
    return f"{values['kernel']}, {table.word_launch(parts | {'replicas': replicas})}"


def as_table(result):
    def line(row):
        return {
            "L": str(row["size"]),
            "M": f"{row['samples']:,}",
            "R": str(row["replicas"]),
            "W": str(row["samples_per_stream"]),
            "generator": row["generator"],
            "choice": named(row["choice"], row["replicas"]),
            "ps/flip": table.significant(row["choice"]["ps_per_flip"]),
            "of": str(row["possible"]),
            "/ best": f"{slower(row, 'choice'):.2f}",
            "model / best": f"{slower(row, 'expected'):.2f}",
            "s": table.significant(row["seconds_to_choose"], 2),
        }

    return table.table_of([line(row) for row in result["rows"]], ("generator", "choice"))


def summary(result):
    def worst(which):
        return max(slower(row, which) for row in result["rows"])

    over = sum(slower(row, "expected") > ALLOWED for row in result["rows"])
    return (
        f"{table.counted(len(result['rows']), 'problem')}: the choice takes at most {worst('choice'):.2f} times as "
        f"long as the best of all launches, what the model alone takes at most {worst('expected'):.2f}, and more than "
        f"{ALLOWED} in {over}. M: samples; W: so many share a stream; of: launches that are possible; s: to choose. "
        f"{table.source(result)}"
    )


def markdown(folder):
    """The table of all problems from choices.json in a folder of common/results, and what has to be said about it."""
    result = read_result(folder / FILE, FORMAT)
    return f"{as_table(result)}\n\n{summary(result)}"


TABLES = {"choices": markdown}


def parse_options(arguments):
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--problems", type=whole, default=40, metavar="N", help="how many to draw (40)")
    add("--seed", type=whole, default=20, metavar="S", help="of the drawing (20)")
    add("--sweeps", type=whole, metavar="K", help="of the run for which a launch is chosen (10^9)")
    add("--json", type=new_file, metavar="FILE", help="write everything that was measured")
    add_common_options(parser)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_options(arguments)
    build_if_configured(options.build_dir, "choices")
    result = measure(options.build_dir / PROGRAM, options)
    progress("")
    if options.json:
        write_result(options.json, result)
    print(as_table(result), summary(result), *result["failed"], sep="\n\n")
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    run_tool(main, "choices")
