#!/usr/bin/env python3
"""Equilibrium: energies and [q^2] of L = 8 with p = 1/2, from a random start, beside what is known.

One run a temperature; compared after the last sweep. The table also has the numbers of a quarter and of a half of the
sweeps: that they are the same within errors shows that the start is forgotten.

Exit code 0: all agrees; 1: a pull is larger than 4; 2: bad input.
"""

import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import runs
from runs import with_error
from stages import run_tool

# By size and temperature: (quantity, value, error, source). Measured: of other samples, which share no draws.
FIRST, LONGER, SERIES = "measured", "measured, longer", "series in tanh(1/T), L infinite"
KNOWN = {
    (8, 1.1): [("e", -1.6945, 0.0009, FIRST)],
    (8, 2.0): [
        ("e", -1.3352, 0.0013, FIRST),
        ("e", -1.3380, 0.0002, LONGER),
        ("q2", 0.01665, 0.00025, FIRST),
        ("q2", 0.01722, 0.00004, LONGER),
    ],
    (8, 4.0): [("e", -0.734136, 0, SERIES)],
}


def evaluate(temperature, run, options):
    late = [run.row(sweep) for sweep in (options.sweeps // 4, options.sweeps // 2, options.sweeps)]
    keys = ("sweep", "e", "e_error", "q2", "q2_error")
    where = f"L = {options.size}, T = {temperature:g}"
    comparisons = [
        runs.comparison(f"{quantity}, {where}", *with_error(late[-1], quantity), *known)
        for quantity, *known in KNOWN.get((options.size, temperature), [])
    ]
    rows = [{key: row[key] for key in keys} for row in late if row is not None]
    return {"temperature": temperature, "rows": rows, "comparisons": comparisons}


def main(arguments):
    parser = runs.parser(__doc__, size=8, samples=16384, sweeps=1048576, measure="log", temperatures=[1.1, 2.0, 4.0])
    options = runs.parse(parser, arguments)
    wanted = [runs.wanted("equilibrium", options, *one) for one in enumerate(options.temperatures, options.seed)]
    measured = runs.simulate_all(wanted, options)
    result = runs.describe("equilibrium", arguments, measured)
    result["temperatures"] = [evaluate(*one, options) for one in zip(options.temperatures, measured)]
    runs.write(result, options.json)
    body = [
        [f"{one['temperature']:g}", str(row["sweep"]), *(runs.in_words(*with_error(row, name)) for name in ("e", "q2"))]
        for one in result["temperatures"]
        for row in one["rows"]
    ]
    runs.print_table(["T", "sweep", "e", "[q^2]"], body)
    print()
    return runs.conclude(result)


if __name__ == "__main__":
    run_tool(main, "equilibrium")
