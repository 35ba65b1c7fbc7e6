#!/usr/bin/env python3
"""The Nishimori line, tanh(1/T) = 2p - 1 with p the fraction of couplings J = +1, where much is exact.

From the ordered start, which there is as good as equilibrium for all that a gauge transformation leaves as it is,
[e(t)] = -3 tanh(1/T) at every t. Once the magnetisation no longer depends on the start, [m^2] = [q^2]: compared at the
last sweep. One run a temperature, so numbers of one time are independent, and their chi^2 is one; those of one run are
not. The program measures after whole sweeps; that half-sweeps keep the energy, its tests show
(common/spin_glass/test/physics.cpp).

Exit code 0: all agrees; 1: a pull is larger than 4.5, or a chi^2 has a probability below 10^-4; 2: bad input.
"""

import math
import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import runs
from runs import with_error
from stages import run_tool

LARGEST_PULL = 4.5  # there are some hundred of them, with errors from some hundred groups
LEAST_PROBABILITY = 1e-4
SOURCE = "exact, any L >= 4"


def fraction(temperature):
    """p on the Nishimori line."""
    return (1 + math.tanh(1 / temperature)) / 2


def difference(file, options):
    """[q^2] - [m^2] after the last sweep, and its error. Both are of the same samples and go up and down together, so
    the error is that of their difference, sample by sample."""
    last = str(options.sweeps)
    rows = runs.read_table(file, lambda row: row["sweep"] == last)[1]
    sites, replicas = options.size**3, options.replicas
    of_samples = []
    for start in range(0, len(rows), replicas):
        sample = rows[start : start + replicas]
        m2 = runs.mean([(row["magnetisation"] / sites) ** 2 for row in sample])
        overlaps = [row[f"overlap_{b}"] for row in sample for b in range(1, replicas)]
        q2 = runs.mean([(overlap / sites) ** 2 for overlap in overlaps if overlap is not None])
        of_samples.append(q2 - m2)
    return runs.mean(of_samples), runs.error_of_groups(of_samples, options.samples_per_stream)


def evaluate(temperature, run, states, options):
    expected = -3 * math.tanh(1 / temperature)
    where = f"T = {temperature:g}"
    return {
        "temperature": temperature,
        "p": fraction(temperature),
        "energy": [
            {"sweep": row["sweep"]}
            | runs.comparison(f"e({row['sweep']}), {where}", *with_error(row, "e"), expected, 0, SOURCE)
            for row in run.rows
        ],
        **{name: [[row["sweep"], *with_error(row, name)] for row in run.rows] for name in ("m2", "q2")},
        "q2_minus_m2": runs.comparison(f"[q^2] - [m^2], {where}", *difference(states, options), 0, 0, SOURCE),
    }


def chi_squared(pulls):
    squares = sum(pull**2 for pull in pulls)
    return {"chi_squared": squares, "degrees": len(pulls), "probability": runs.chi_squared_tail(squares, len(pulls))}


def parse_options(arguments):
    temperatures = [0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0]
    parser = runs.parser(__doc__, size=12, samples=4096, sweeps=262144, measure="log", temperatures=temperatures)
    return runs.parse(parser, arguments)


def main(arguments):
    options = parse_options(arguments)
    wanted = []
    for seed, temperature in enumerate(options.temperatures, options.seed):
        on_line = {"ferromagnetic-fraction": fraction(temperature), "start": "ordered"}
        wanted.append(runs.wanted("nishimori", options, seed, temperature, ["output"], **on_line))
    measured = runs.simulate_all(wanted, options)
    result = runs.describe("nishimori", arguments, measured)
    all_of_them = [
        evaluate(temperature, run, options.folder / f"{name}.output.csv", options)
        for temperature, run, (name, _, _) in zip(options.temperatures, measured, wanted)
    ]
    result["temperatures"] = all_of_them
    tests = {}
    for same_time in zip(*(one["energy"] for one in all_of_them)):
        tests[f"e({same_time[0]['sweep']})"] = chi_squared([one["pull"] for one in same_time])
    tests["[q^2] - [m^2]"] = chi_squared([one["q2_minus_m2"]["pull"] for one in all_of_them])
    result["chi_squared"] = tests
    runs.write(result, options.json)

    pulls = [one for temperature in all_of_them for one in [*temperature["energy"], temperature["q2_minus_m2"]]]
    runs.print_comparisons([one["energy"][-1] for one in all_of_them] + [one["q2_minus_m2"] for one in all_of_them])
    print()
    body = [
        [what, f"{one['chi_squared']:.2f}", str(one["degrees"]), f"{one['probability']:.3f}"]
        for what, one in tests.items()
    ]
    runs.print_table(["over temperatures", "chi^2", "degrees", "probability"], body)
    largest = max(pulls, key=lambda one: abs(one["pull"]))
    print(f"\nlargest of {len(pulls)} pulls: {largest['what']}, {largest['pull']:+.2f}")
    code = runs.verdict(pulls, LARGEST_PULL)
    for what, one in tests.items():
        if not one["probability"] >= LEAST_PROBABILITY:
            print(f"*** DISAGREES *** chi^2 of {what}: probability {one['probability']:.2g}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    run_tool(main, "nishimori")
