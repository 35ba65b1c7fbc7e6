#!/usr/bin/env python3
"""Three samples of L = 4 at all temperatures of a ladder, beside their exact energies.

    07_amsc/physics/exact.py --folder runs --json exact.json

Each sample is simulated many times over, with draws of its own every time. The exact energies are of a transfer matrix
of planes; those of T = 1.1 and 2 are known from a second program, too.

Exit code 0: all energies agree; 1: one is more than 4 errors off, or all together by more than chance allows (a
probability of 1e-4); 2: bad input.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import runs
from options import adder, at_least, whole
from stages import ROOT, run_tool

SIZE = 4
INSTANCES = ROOT / "common/spin_glass/test/instances"
TEMPERATURES = [0.5, 0.7, 0.9, 1.1, 1.4, 1.7, 2.0]
ENERGIES = {
    1000: [-109.949098, -109.500411, -108.216184, -105.898939, -100.289688, -92.449802, -83.719037],
    1001: [-111.946154, -111.470259, -110.098092, -107.604356, -101.632309, -93.616438, -85.019579],
    1002: [-113.911685, -113.158790, -111.211403, -108.217844, -102.264214, -94.829880, -86.528220],
}
LEAST_PROBABILITY = 1e-4


def simulate(number, options):
    problem = {"size": SIZE, "temperatures": TEMPERATURES, "copies": options.copies}
    problem |= {"exchange-every": options.exchange_every, "sweeps": options.sweeps, "samples": options.samples}
    problem |= {"samples-per-stream": options.samples_per_stream, "generator": options.generator}
    problem |= {"seed": options.seed + number, "measure": options.measure}
    files = [str(INSTANCES / f"J4_mt{number}.rudy")] * options.samples
    return runs.simulate(
        options.program, options.folder, f"exact_{number}", problem, launch=["--couplings", *files, *options.launch]
    )


def evaluate(number, run):
    last = run.rows[-len(TEMPERATURES) :]
    sites = SIZE**3
    comparisons = [
        runs.comparison(f"E, sample {number}, T = {t:g}", row["e"] * sites, row["e_error"] * sites, known, 0, "exact")
        for t, row, known in zip(TEMPERATURES, last, ENERGIES[number])
    ]
    return {"sample": number, "comparisons": comparisons}


def main(arguments):
    parser = runs.parser(__doc__, size=None, samples=256, sweeps=32768, measure="every:16", temperatures=None)
    parser.set_defaults(samples_per_stream=1)
    add = adder(parser)
    add("--copies", "C", "of the ladder (2)", at_least(2), default=2)
    add("--exchange-every", "N", "sweeps (4)", whole, default=4)
    options = runs.parse(parser, arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        measured = dict(zip(ENERGIES, pool.map(lambda number: simulate(number, options), ENERGIES)))
    result = runs.describe("exact", arguments, list(measured.values()))
    del result["commands"]  # each names a file hundreds of times
    result["temperatures"] = [evaluate(*one) for one in measured.items()]
    pulls = [one["pull"] for sample in result["temperatures"] for one in sample["comparisons"]]
    result["chi_squared"], result["degrees"] = sum(pull**2 for pull in pulls), len(pulls)
    result["probability"] = runs.chi_squared_tail(result["chi_squared"], len(pulls))
    runs.write(result, options.json)
    code = runs.conclude(result)
    print(f"chi^2 = {result['chi_squared']:.1f} of {len(pulls)} energies: probability {result['probability']:.2g}")
    if result["probability"] < LEAST_PROBABILITY:
        print("*** DISAGREES *** too large a chi^2", file=sys.stderr)
        code = 1
    return code


if __name__ == "__main__":
    run_tool(main, "exact")
