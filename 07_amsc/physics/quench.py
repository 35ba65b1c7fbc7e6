#!/usr/bin/env python3
"""The quench: e(t) and the coherence length xi_12(t) from a random start, and the exponent z(T) of xi_12 = B t^(1/z).

For each temperature a number of independent runs, each with couplings, starts and draws of its own. Energies and
coherence lengths are those of the runs' averages; their errors come from the groups of samples within the runs. Of one
run, numbers at different times are those of the same systems and far from independent, and a file of averages does not
say how far. So the fit takes each time's own error as its weight, and the error of z is the jackknife's over runs, each
of which is fitted with all its times; chi^2 is too small to be read as a probability.

Exit code 0: all agrees with what is known; 1: a pull is larger than 4; 2: bad input.
"""

import math
import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import runs
from options import adder, at_least, comma_list, positive
from runs import with_error
from stages import refuse, run_tool

# Measured with L = 32, by temperature: (quantity, sweep, value, error). Until t = 1024, xi_12 is less than a ninth of
# that, and energies cannot tell; after 16384 sweeps at T = 1.1 it is a sixth, and a little of a difference is possible.
MEASURED, LEAST_SIZE = "L = 32", 32
KNOWN = {
    1.1: [
        ("e", 2, -1.41391, 0.00018),
        ("e", 16, -1.64133, 0.00016),
        ("e", 256, -1.68481, 0.00018),
        ("e", 1024, -1.69260, 0.00016),
        ("xi_12", 1024, 3.58, 0.04),
        ("xi_12", 16384, 5.37, 0.09),
    ],
    0.7: [("xi_12", 1024, 2.708, 0.016), ("xi_12", 16384, 3.439, 0.025)],
}
# Belletti et al., J. Stat. Phys. 135 (2009) 1121, arXiv:0811.2864: L = 80, heat bath, up to 10^11 sweeps.
LITERATURE = {1.1: (6.86, 0.16), 0.7: (11.64, 0.15)}


def first_sweep(temperature):
    """The energy after one sweep, any L >= 4: a site of the colour that is updated has six bonds of which each is
    unsatisfied with the same probability, independently of the others; for red 1/2, for blue as red left it."""
    unsatisfied = 0.5
    for _ in ("red", "blue"):
        left = 0
        for u in range(7):
            here = math.comb(6, u) * unsatisfied**u * (1 - unsatisfied) ** (6 - u)
            flips = min(1, math.exp((4 * u - 12) / temperature))
            left += here * ((1 - flips) * u + flips * (6 - u)) / 6
        unsatisfied = left
    return -3 * (1 - 2 * unsatisfied)


def average(measured):
    """A row a measuring time: the runs' e and xi_12 together."""
    rows = []
    for same_time in zip(*(run.rows for run in measured)):
        row = {"sweep": same_time[0]["sweep"]}
        for name in ("e", "xi_12"):
            values, errors = [one[name] for one in same_time], [one[f"{name}_error"] for one in same_time]
            row[name], row[f"{name}_error"] = runs.independent_mean(values, errors)
        rows.append(row)
    return rows


def fit(measured, rows, window):
    """xi_12 = B t^(1/z) over the times from the first to the last at which the runs' mean xi_12 is in the window. None
    if there are fewer than three, or if xi_12 does not grow."""
    inside = [
        number
        for number, row in enumerate(rows)
        if row["sweep"] > 0 and row["xi_12"] is not None and window[0] <= row["xi_12"] <= window[1]
    ]
    if len(inside) < 3:
        return None
    times = range(inside[0], inside[-1] + 1)
    t, errors = [rows[i]["sweep"] for i in times], [rows[i]["xi_12_error"] for i in times]
    # A time is in the window by its mean over runs; in a single one it may lack a coherence length.
    if any(run.rows[i]["xi_12"] is None for run in measured for i in times):
        return None

    def exponents(some):
        return runs.fit_power(t, [runs.mean([run.rows[i]["xi_12"] for run in some]) for i in times], errors)[:2]

    try:
        (b, z), (b_error, z_error) = runs.jackknife(measured, exponents)
        squares = runs.fit_power(t, [rows[i]["xi_12"] for i in times], errors)[2]
    except ZeroDivisionError:
        return None
    return {
        "window_xi_12": list(window),
        "first_sweep": t[0],
        "last_sweep": t[-1],
        "times": len(t),
        "b": b,
        "b_error": b_error,
        "z": z,
        "z_error": z_error,
        "chi_squared": squares,
    }


def compare(temperature, size, rows, fitted):
    """What is known of this temperature and was measured. A lattice smaller than the one of the known numbers is
    compared with what is exact, alone."""
    large = size >= LEAST_SIZE
    by_sweep = {row["sweep"]: row for row in rows}
    exact = [("e", 0, 0, 0), ("e", 1, first_sweep(temperature), 0)]
    result = []
    for quantity, sweep, value, error in exact + (KNOWN.get(temperature, []) if large else []):
        row = by_sweep.get(sweep)
        if row and row[quantity] is not None:
            what = f"{quantity}({sweep}), T = {temperature:g}"
            source = MEASURED if error else "exact, any L"
            result.append(runs.comparison(what, *with_error(row, quantity), value, error, source))
    if large and fitted and temperature in LITERATURE:
        known = *LITERATURE[temperature], "arXiv:0811.2864"
        result.append(runs.comparison(f"z, T = {temperature:g}", *with_error(fitted, "z"), *known))
    return result


def evaluate(temperature, measured, window):
    rows = average(measured)
    fitted = fit(measured, rows, window)
    return {
        "temperature": temperature,
        "runs": len(measured),
        "samples": sum(run.header["problem"]["samples"] for run in measured),
        "rows": rows,
        "fit": fitted,
        "comparisons": compare(temperature, measured[0].header["problem"]["size"], rows, fitted),
    }


def report(result):
    for one in result["temperatures"]:
        print(
            f"T = {one['temperature']:g}, L = {result['problem']['size']}, {one['samples']} samples of "
            f"{result['problem']['replicas']} replicas, {one['runs']} runs"
        )
        shown = [row for row in one["rows"] if row["sweep"] & (row["sweep"] - 1) == 0 or row is one["rows"][-1]]
        body = [
            [str(row["sweep"]), *(runs.in_words(*with_error(row, name)) for name in ("e", "xi_12"))] for row in shown
        ]
        runs.print_table(["sweep", "e", "xi_12"], body)
        fitted = one["fit"]
        if fitted:
            b, z = (runs.in_words(*with_error(fitted, name)) for name in ("b", "z"))
            print(f"xi_12 = {b} t^(1/z), z = {z}, from t = {fitted['first_sweep']} to {fitted['last_sweep']}\n")
        else:
            print("no fit: fewer than three times have their xi_12 in the window\n")


def parse_options(arguments):
    options = runs.parser(__doc__, size=64, samples=512, sweeps=131072, measure="log:2", temperatures=[1.1, 0.7])
    add = adder(options)
    add("--runs", "N", "of each temperature (8)", at_least(2), default=8)
    window = "the fit's smallest and largest xi_12 (3,10)"
    add("--window", "LOW,HIGH", window, comma_list(positive), default=[3.0, 10.0])
    options = runs.parse(options, arguments)
    if len(options.window) != 2 or not options.window[0] < options.window[1]:
        refuse(f"--window {','.join(f'{one:g}' for one in options.window)}; it must be two numbers, the smaller first")
    return options


def main(arguments):
    options = parse_options(arguments)
    each = [temperature for temperature in options.temperatures for _ in range(options.runs)]
    wanted = [runs.wanted("quench", options, *one, ["correlations"]) for one in enumerate(each, options.seed)]
    measured = runs.simulate_all(wanted, options)
    result = runs.describe("quench", arguments, measured)
    result["temperatures"] = [
        evaluate(temperature, measured[i * options.runs : (i + 1) * options.runs], options.window)
        for i, temperature in enumerate(options.temperatures)
    ]
    runs.write(result, options.json)
    report(result)
    return runs.conclude(result)


if __name__ == "__main__":
    run_tool(main, "quench")
