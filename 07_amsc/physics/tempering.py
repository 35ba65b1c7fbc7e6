#!/usr/bin/env python3
"""Equilibrium by replica exchange: energy, overlaps and xi / L of several sizes on one ladder of temperatures.

    07_amsc/physics/tempering.py --folder runs --json tempering.json --plot tempering

The coldest temperature at which the last three bins agree is said of every size. Below it is not in equilibrium, and
needs more --sweeps; above it is, for what is warmer gets there sooner. Where the curves of xi / L of neighbouring sizes
cross is near the critical temperature, 1.1019(29) (Janus collaboration, 2013); corrections that fall with the size are
taken into account by extrapolate.py. With --series, a run of few samples more has every measurement written, and the
second half of it says how many sweeps an independent one takes: the integrated autocorrelation times of energy and
overlap. With --quench, the same is run without exchange beside it, which shows what the exchanges are for.
Needs NumPy; for --plot matplotlib.

Exit code 0: all agrees with what is known; 1: a pull is larger than 4; 2: bad input.
"""

import itertools
import sys

import numpy as np

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import psflip
import runs
from options import adder, at_least, comma_list, whole
from stages import run_tool

QUANTITIES = ("e", "c", "c_derivative", "q2", "binder", "q_link", "chi_sg", "xi_l", "acceptance", "round_trips")
JUDGED = ("e", "q2", "xi_l")  # by the bins
SERIES = ("energy", "overlap_1")  # columns of --output with autocorrelation times
# By size and temperature: (quantity, value, error, source).
MEASURED = "measured without exchange"
KNOWN = {
    (8, 1.1): [("e", -1.6944, 0.0002, MEASURED)],
    (8, 2.0): [("e", -1.3380, 0.0002, MEASURED), ("q2", 0.01722, 0.00004, MEASURED)],
}


def parser():
    # An even number: stage 07 keeps small lattices on the chip if replicas, of two copies, are a multiple of four.
    temperatures = [round(0.7 + 0.05 * i, 2) for i in range(20)]
    result = runs.parser(__doc__, size=None, samples=4096, sweeps=65536, measure="every:64", temperatures=temperatures)
    add = adder(result)
    add("--sizes", "L,...", "(4,6,8)", comma_list(at_least(4)), default=[4, 6, 8])
    add("--copies", "C", "of the ladder (2)", at_least(2), default=2)
    add("--exchange-every", "N", "sweeps (10)", whole, default=10)
    add("--series", "M", "samples that autocorrelation times are of, with all their rows in files (none)", whole)
    result.add_argument("--quench", action="store_true", help="the same without exchange beside it")
    add("--plot", "NAME", "pictures NAME_<quantity>.svg")
    return result


def wanted(size, options, kind="tempering"):
    """The run of a size; or that of its series, or without exchange."""
    samples = options.series if kind == "series" else options.samples
    exchange_every = options.sweeps + 1 if kind == "quench" else options.exchange_every
    problem = {"size": size, "temperatures": options.temperatures, "copies": options.copies}
    problem |= {"exchange-every": exchange_every, "sweeps": options.sweeps}
    problem |= {"samples": samples, "samples-per-stream": options.samples_per_stream}
    problem |= {"generator": options.generator, "seed": options.seed, "measure": options.measure}
    return f"{kind}_L{size}", problem, ("output",) if kind == "series" else ()


def numbers(rows, quantity):
    """A column with its errors, without what is not there."""
    return [
        {"temperature": t, "value": float(value), "error": float(error) if error == error else None}
        for t, value, error in zip(rows["temperature"].tolist(), rows[quantity], rows[f"{quantity}_error"])
        if value == value
    ]


def autocorrelation_times(size, options):
    """In sweeps, by column; a temperature whose time is longer than the run can tell has none."""
    run = psflip.read(options.folder / f"series_L{size}.output.csv")
    found = {quantity: psflip.autocorrelation(run, quantity, options.sweeps // 2) for quantity in SERIES}
    return {"autocorrelation": {quantity: numbers(times, "tau") for quantity, times in found.items()}}


def arrival(run, quench):
    """[q^2] of the coldest, bin by bin, with exchange and without; and from which sweep on it stays within an error of
    the last one with exchange, which is None if it does not get there."""
    bins = [one.where(temperature=run["temperature"].min()) for one in (run, quench)]
    final, error = bins[0]["q2"][-1], bins[0]["q2_error"][-1]
    found = {"sweep": bins[0]["sweep"].astype(int).tolist()}
    for name, one in zip(("with_exchange", "without"), bins):
        found[name] = {"q2": one["q2"].tolist(), "q2_error": one["q2_error"].tolist()}
        away = np.flatnonzero(~(np.abs(one["q2"] - final) <= error))
        first = away[-1] + 1 if len(away) else 0
        found[name]["arrives"] = found["sweep"][first] if first < len(found["sweep"]) else None
    return {"arrival": found}


def equilibrium_from(temperatures, *agreements):
    """The coldest temperature at which quantities agree in their last bins, of how far they are apart by temperature;
    None if there is none."""
    agree = [all(one is not None and one < 1 for one in at) for at in zip(*agreements)]
    return next((t for t, here in zip(temperatures, agree) if here), None)


def evaluate(size, run):
    last = run.last()
    comparisons = []
    for i, t in enumerate(last["temperature"].tolist()):
        for quantity, *known in KNOWN.get((size, t), []):
            here = float(last[quantity][i]), float(last[f"{quantity}_error"][i])
            comparisons.append(runs.comparison(f"{quantity}, L = {size}, T = {t:g}", *here, *known))
    agreement = {quantity: [run.agreement(quantity, row) for row in range(len(last))] for quantity in JUDGED}
    result = {"size": size, "sweeps": int(last["sweep"][0]), "agreement": agreement}
    result["equilibrium_from"] = equilibrium_from(last["temperature"].tolist(), *agreement.values())
    # Inner temperatures: a parabola knows its slope best in the middle.
    apart = np.abs(last["c"] - last["c_derivative"]) / np.hypot(last["c_error"], last["c_derivative_error"])
    result["heat_capacities_apart"] = float(np.max(apart[1:-1], initial=0))
    return result | {quantity: numbers(last, quantity) for quantity in QUANTITIES} | {"comparisons": comparisons}


def crossings(measured, quantity):
    sizes = sorted(measured)
    for small, large in itertools.pairwise(sizes):
        found = psflip.crossing(measured[small].last(), measured[large].last(), quantity)
        if found:
            yield {
                "sizes": [small, large],
                "quantity": quantity,
                "temperature": found[0],
                "temperature_error": found[1],
            }


def main(arguments):
    options = runs.parse(parser(), arguments)
    every = [wanted(size, options) for size in options.sizes]
    every += [wanted(size, options, "series") for size in options.sizes if options.series]
    every += [wanted(size, options, "quench") for size in options.sizes if options.quench]
    started = runs.simulate_all(every, options)
    measured = {size: psflip.read(options.folder / f"tempering_L{size}.csv") for size in options.sizes}
    result = runs.describe("tempering", arguments, started)
    del result["problem"]["size"]
    result["temperatures"] = [evaluate(*one) for one in measured.items()]
    if options.series:
        result["series"] = options.series
        for one in result["temperatures"]:
            one |= autocorrelation_times(one["size"], options)
    quenches = {size: psflip.read(options.folder / f"quench_L{size}.csv") for size in options.sizes if options.quench}
    for one in result["temperatures"] if quenches else ():
        one |= arrival(measured[one["size"]], quenches[one["size"]])
    result["crossings"] = [one for quantity in ("xi_l", "binder") for one in crossings(measured, quantity)]
    runs.write(result, options.json)
    if options.plot:
        for quantity in ("e", "c", "q2", "binder", "xi_l", "acceptance"):
            psflip.plot(
                {f"L = {size}": run for size, run in measured.items()}, quantity, f"{options.plot}_{quantity}.svg"
            )
        if quenches:
            both = {f"L = {size}": run for size, run in measured.items()}
            both |= {f"L = {size}, no exchange": run for size, run in quenches.items()}
            psflip.plot(both, "q2", f"{options.plot}_arrival.svg", against="sweep")
    body = [
        [str(one["size"]), f"{t:g}", *(runs.in_words(*one_of(one[name], t)) for name in ("e", "c", "q2", "xi_l"))]
        for one in result["temperatures"]
        for t in (options.temperatures[0], options.temperatures[-1])
    ]
    runs.print_table(["L", "T", "e", "c", "[q^2]", "xi / L"], body)
    for one in result["temperatures"]:
        coldest = one["equilibrium_from"]
        words = "NO EQUILIBRIUM, or too few bins to tell" if coldest is None else f"equilibrium from T = {coldest:g}"
        print(f"L = {one['size']}: {words}")
        apart = one["heat_capacities_apart"]
        print(f"L = {one['size']}: c by fluctuation and by derivative are at most {apart:.1f} errors apart")
        for quantity, times in one.get("autocorrelation", {}).items():
            value, error = one_of(times, options.temperatures[0])
            words = "longer than the run can tell" if value is None else f"{runs.in_words(value, error)} sweeps"
            print(f"L = {one['size']}: autocorrelation time of {quantity} at T = {options.temperatures[0]:g}: {words}")
        for name, words in (("with_exchange", "with exchange"), ("without", "without")) if quenches else ():
            sweep = one["arrival"][name]["arrives"]
            when = f"after {sweep} sweeps" if sweep is not None else f"not within {options.sweeps} sweeps"
            print(f"L = {one['size']}: [q^2] at T = {options.temperatures[0]:g} is what it will be, {words}: {when}")
    for one in result["crossings"]:
        at = runs.in_words(one["temperature"], one["temperature_error"])
        print(f"{one['quantity']} of L = {one['sizes'][0]} and {one['sizes'][1]} cross at T = {at}")
    print()
    return runs.conclude(result)


def one_of(rows, temperature):
    found = next((row for row in rows if row["temperature"] == temperature), None)
    return (found["value"], found["error"]) if found else (None, None)


if __name__ == "__main__":
    run_tool(main, "tempering")
