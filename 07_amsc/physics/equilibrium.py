#!/usr/bin/env python3
"""Equilibrium: energies and [q^2] of L = 8 with p = 1/2, from a random start, beside what is known.

One run a temperature; compared after the last sweep. The table also has the numbers of a quarter and of a half of the
sweeps: that they are the same within errors shows that the start is forgotten.

Exit code 0: all agrees; 1: a pull is larger than 4; 2: bad input.
"""

from runs import (
    comparison,
    describe,
    in_words,
    parse,
    parser,
    print_comparisons,
    print_table,
    problem,
    simulate_all,
    verdict,
    write,
)
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
    last = late[-1]
    return {
        "temperature": temperature,
        "rows": [
            {key: row[key] for key in ("sweep", "e", "e_error", "q2", "q2_error")} for row in late if row is not None
        ],
        "comparisons": [
            comparison(
                f"{quantity}, L = {options.size}, T = {temperature:g}",
                last[quantity],
                last[f"{quantity}_error"],
                value,
                error,
                source,
            )
            for quantity, value, error, source in KNOWN.get((options.size, temperature), [])
        ],
    }


def main(arguments):
    options = parse(
        parser(__doc__, size=8, samples=16384, sweeps=1048576, measure="log", temperatures=[1.1, 2.0, 4.0]), arguments
    )
    wanted = [
        (f"equilibrium_T{temperature:g}_seed{options.seed + i}", problem(options, temperature, options.seed + i), ())
        for i, temperature in enumerate(options.temperatures)
    ]
    runs = simulate_all(wanted, options)
    result = describe("equilibrium", arguments, runs)
    result["temperatures"] = [
        evaluate(temperature, run, options) for temperature, run in zip(options.temperatures, runs)
    ]
    write(result, options.json)
    print_table(
        ["T", "sweep", "e", "[q^2]"],
        [
            [
                f"{one['temperature']:g}",
                str(row["sweep"]),
                in_words(row["e"], row["e_error"]),
                in_words(row["q2"], row["q2_error"]),
            ]
            for one in result["temperatures"]
            for row in one["rows"]
        ],
    )
    print()
    comparisons = [known for one in result["temperatures"] for known in one["comparisons"]]
    print_comparisons(comparisons)
    return verdict(comparisons)


if __name__ == "__main__":
    run_tool(main, "equilibrium")
