#!/usr/bin/env python3
"""What a draw is worth: the error that a second of the device buys, if samples of a word share their draws (philox, 32
and 128 samples), and if every spin has its own (philox-planes, synchronous multispin coding).

For each temperature and size the same samples are quenched for the same sweeps in all three ways. Errors of energy,
[q^2] and xi_12 after the last sweep are those of the runs' averages: over groups of samples that share draws. An error
goes down as one over the root of the samples, and the time up as the samples. So error^2 x seconds is the way's own,
and so is the time for a given error in multiples of another's. With g groups an error is known to 1 / sqrt(2 (g - 1)),
and a ratio of times to twice that and a little more.
"""

import argparse
import itertools
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import runs
import table
from options import Parser, adder, at_least, comma_list, new_file, positive, whole
from results import begin_result, kept_result, read_result
from stages import ROOT, Failure, last_line, progress, refuse, run_tool

FORMAT = "psFlip worth of a draw, version 1"
FILE = "worth.json"
OWN = ("philox-planes", 1)
WAYS = [("philox", 32), ("philox", 128), OWN]  # generator, samples that share a draw
MOST_SHARED = 128
QUANTITIES = ("e", "q2", "xi_12")


def simulate(program, problem, launch):
    """What spin_glass says of a problem, as it prints it with --json."""
    command = [str(text) for option, value in problem.items() for text in (f"--{option}", value)] + launch
    with tempfile.TemporaryDirectory(prefix="psFlip worth ") as folder:
        call = [program.resolve(), *command, "--json", "--correlations", "c4.csv"]
        done = subprocess.run(call, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(command)}: {last_line(done.stderr, done.returncode)}")
    return json.loads(done.stdout)


def samples_of(size, options):
    """Twice as many for half the size: small systems are done soon. Whole groups, whoever shares."""
    groups = options.samples * max(options.sizes) // (size * MOST_SHARED)
    return groups * MOST_SHARED


def measure(temperature, size, way, options):
    generator, shared = way
    problem = {"size": size, "temperature": temperature, "sweeps": options.sweeps, "generator": generator}
    problem |= {"samples": samples_of(size, options), "samples-per-stream": shared, "replicas": options.replicas}
    progress(f"T = {temperature:g}, L = {size}, {generator}")
    said = simulate(options.program, problem | {"seed": options.seed}, options.launch)
    last = said["averages"][-1]
    row = {"temperature": temperature, "size": size, "generator": generator, "samples_per_stream": shared}
    row |= {"samples": problem["samples"], "seconds": said["seconds"], "ps_per_flip": said["ps_per_flip"]}
    row["launch"] = {key: value for key, value in said["launch"].items() if value is not None}
    for name in QUANTITIES:
        row |= {name: last[name], f"{name}_error": last[f"{name}_error"]}
    return row, said


def place(row):
    """Which row of the table it is."""
    return row["temperature"], row["size"], (row["generator"], row["samples_per_stream"])


def measure_all(options, command):
    """Writes what there is after each run, and keeps what a file of the same problem already has."""
    problem = {name: getattr(options, name) for name in ("sweeps", "replicas", "seed")}
    result = kept_result(options.json, FORMAT)
    rows = {place(row): row for row in result["rows"]} if result else {}
    for name, value in problem.items():
        if result and result["problem"][name] != value:
            raise Failure(f"{options.json} was made with --{name} {result['problem'][name]}, not {value}")
    for row in rows.values():
        if row["size"] in options.sizes and row["samples"] != samples_of(row["size"], options):
            had = f"{row['samples']} samples of L = {row['size']}, not {samples_of(row['size'], options)}"
            raise Failure(f"{options.json} was made with {had}: --samples times the largest of --sizes says how many")
    for here in itertools.product(options.temperatures, options.sizes, WAYS):
        if here in rows:
            continue
        rows[here], said = measure(*here, options)
        if not result:
            result = begin_result(FORMAT, command) | {name: said[name] for name in ("stage", "device")}
            result["problem"] = problem | {"start": said["problem"]["start"]}
        if result["device"] != said["device"]:
            there, this = (f"{one['name']}, number {one['index']}" for one in (result["device"], said["device"]))
            raise Failure(f"{options.json} was measured on {there}, this is {this}")
        result["rows"] = [rows[key] for key in sorted(rows, key=lambda key: (*key[:2], WAYS.index(key[2])))]
        runs.write(result, options.json)
    return result


def cost(row, name):
    """error^2 x seconds; None without an error."""
    error = row[f"{name}_error"]
    return error**2 * row["seconds"] if error else None


def as_table(result):
    own = {place(row)[:2]: row for row in result["rows"] if row["generator"] == OWN[0]}

    def line(row):
        cells = {
            "T": f"{row['temperature']:g}",
            "L": str(row["size"]),
            "draws": "own" if row["generator"] == OWN[0] else f"{row['samples_per_stream']} share",
            "ps/flip": table.significant(row["ps_per_flip"], 3),
        }
        for name in QUANTITIES:
            here, there = cost(row, name), cost(own[place(row)[:2]], name)
            cells[name] = "-" if here is None else table.significant(1e6 * here**0.5, 3)
            cells[f"time, {name}"] = "-" if not here or not there else table.significant(here / there, 2)
        return cells

    return table.table_of([line(row) for row in result["rows"] if place(row)[:2] in own], ("draws",))


def summary(result):
    problem = result["problem"]
    return (
        f"{problem['sweeps']} sweeps from a {problem['start']} start, {problem['replicas']} replicas. e, q2, xi_12: "
        f"the error after a second, in 10^-6. time: for the same error, in multiples of what it takes if every spin "
        f"has its own draw. {table.source(result)}"
    )


def markdown(folder):
    """The table of worth.json in a folder of common/results, and what has to be said about it."""
    result = read_result(folder / FILE, FORMAT)
    return f"{as_table(result)}\n\n{summary(result)}"


TABLES = {"worth": markdown}


def parse_options(arguments):
    parser = Parser(description=__doc__, epilog="What follows -- goes to spin_glass: -- --device 1.")
    add = adder(parser)
    program = ROOT / "build/07_amsc/spin_glass"
    add("--program", "FILE", "spin_glass of stage 07 (build/07_amsc/spin_glass)", Path, default=program)
    add("--json", "FILE", "the result; what a run that was stopped has there is kept", new_file, required=True)
    add("--sizes", "L,...", "(16,32,64)", comma_list(at_least(4)), default=[16, 32, 64])
    temperatures = [0.7, 1.1, 2.0, 4.0]
    add("--temperatures", "T,...", "(0.7,1.1,2,4)", comma_list(positive), default=temperatures)
    add("--samples", "M", "of the largest size; L times samples is the same for all (2048)", whole, default=2048)
    add("--sweeps", "N", "(1024)", whole, default=1024)
    add("--replicas", "R", "(4)", at_least(2), default=4)
    add("--seed", "S", "the same for all runs, so that they have the same couplings (1)", at_least(0), default=1)
    add("launch", "-- ...", argparse.SUPPRESS, nargs="*")
    options = parser.parse_args(arguments)
    if options.samples < 2 * MOST_SHARED:
        refuse(f"--samples is {options.samples}: errors need two or more groups of {MOST_SHARED}")
    if not options.program.is_file():
        refuse(f"--program {options.program}: there is no such file")
    return options


def main(arguments):
    options = parse_options(arguments)
    command = shlex.join(["07_amsc/physics/worth.py", *runs.without_files(arguments)])
    result = measure_all(options, command)
    progress("")
    print(as_table(result), summary(result), sep="\n\n")
    return 0


if __name__ == "__main__":
    run_tool(main, "worth")
