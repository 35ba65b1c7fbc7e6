#!/usr/bin/env python3
"""The infinite system, from results of tempering.py: the critical temperature, and energies there and near T = 0.

    07_amsc/physics/extrapolate.py --json infinite.json [--quench quench.json] tempering.json ...

Curves of xi / L of L and 2 L cross at T_c + a L^-(omega + 1 / nu), energies at T_c are e + a L^-(3 - 1 / nu), and those
of ground states e + a L^-3. omega and nu are those of the literature; how much T_c moves with omega's error is said.
Temperatures colder than those at which the last bins agree are left out. A ladder whose coldest temperature is at most
0.3 has little more than ground states there: the next energy is higher by 4, so excitations add c T^2 / 4 to e, which
is taken away. Each is of the first result that has the sizes for it.

After a quench to T_c e approaches the same number as xi^-(3 - 1 / nu), so it is extrapolated from a result of quench.py
in that way, and both are compared. Needs NumPy.

Exit code 0: all agrees with what is known; 1: a pull is larger than 4; 2: bad input.
"""

import shlex
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import psflip
import runs
import tempering
from options import Parser, adder, new_file
from results import begin_result
from stages import refuse, run_tool

T_C, T_C_ERROR, NU, OMEGA, OMEGA_ERROR = 1.1019, 0.0029, 2.562, 1.12, 0.10
JANUS = "Janus collaboration, 2013"
HARTMANN = "A. K. Hartmann, Europhys. Lett. 40 (1997) 429"
GROUND_STATE = (-1.7876, 0.0003)
NEAR_CRITICAL = 1.1
COLD = 0.3
LEAST_XI = 4.0  # of a quench
LEAST_SIZE = 6  # of energies


def read(file, quantity):
    """{size: Run of the last bin} of a result, with c; NaN where it is colder than where the bins of the quantity
    agree."""
    found = {}
    for one in runs.read(file, "tempering")["temperatures"]:
        temperatures = [row["temperature"] for row in one[quantity]]
        coldest = tempering.equilibrium_from(temperatures, one["agreement"][quantity])
        rows = [
            (t, np.nan if coldest is None or t < coldest else row["value"], row["error"])
            for t, row in zip(temperatures, one[quantity])
        ]
        names = ("temperature", quantity, f"{quantity}_error")
        columns = dict(zip(names, np.array(rows, float).T)) | {"c": np.array([row["value"] for row in one["c"]])}
        found[one["size"]] = psflip.Run({}, columns)
    return found


def extrapolated(x, y, errors):
    """y = a + b x by weighted least squares: a, with its error if all y are independent."""
    x, y, weights = np.asarray(x), np.asarray(y), 1 / np.asarray(errors)
    (b, a), covariance = np.polyfit(x, y, 1, w=weights, cov="unscaled")
    squares = float(np.sum((weights * (y - a - b * x)) ** 2))
    return {"value": float(a), "error": float(covariance[1, 1] ** 0.5), "chi_squared": squares, "degrees": len(x) - 2}


def critical_temperature(measured):
    """From the pairs L and 2 L of one result; None if there are fewer than two. Crossings with a size in common are
    not independent: the error is from curves that are shifted as a whole, one size after the other."""

    def crossing(pair, shifts=None):
        return psflip.crossing(*(measured[size] for size in pair), "xi_l", shifts=shifts)

    found = {(size, 2 * size): crossing((size, 2 * size)) for size in sorted(measured) if 2 * size in measured}
    found = {pair: at for pair, at in found.items() if at}
    if len(found) < 2:
        return None

    def limit(exponent=OMEGA + 1 / NU, shifted=None, by=0):
        at = [crossing(pair, tuple(by * (size == shifted) for size in pair)) for pair in found]
        x = [small**-exponent for small, _ in found]
        return extrapolated(x, [np.nan if one is None else one for one in at], [error for _, error in found.values()])

    def moved(size):
        return (limit(shifted=size, by=1)["value"] - limit(shifted=size, by=-1)["value"]) / 2

    result = limit()
    result["error"] = float(np.linalg.norm([moved(size) for size in sorted({size for pair in found for size in pair})]))
    others = [limit(OMEGA + sign * OMEGA_ERROR + 1 / NU)["value"] for sign in (-1, 1)]
    result["error_of_omega"] = max(abs(other - result["value"]) for other in others)
    crossings = [{"sizes": list(pair), "temperature": at, "error": error} for pair, (at, error) in found.items()]
    return result | {"crossings": crossings}


def energies(measured, temperature, exponent, excited=0):
    """e of the infinite system at a temperature that is on the ladder, less `excited` c T^2; None with fewer than three
    sizes."""
    rows = {size: measured[size].where(temperature=temperature) for size in sorted(measured) if size >= LEAST_SIZE}
    rows = {size: row for size, row in rows.items() if len(row) and not np.isnan(row["e"][0])}
    sizes, rows = list(rows), list(rows.values())
    if len(sizes) < 3:
        return None
    x = [float(size) ** -exponent for size in sizes]
    y = [row["e"][0] - excited * row["c"][0] * temperature**2 for row in rows]
    found = extrapolated(x, y, [row["e_error"][0] for row in rows])
    return found | {"temperature": temperature, "sizes": sizes}


def after_quench(file):
    """e of the infinite system at T_c, from e and xi_12 of quench.py."""
    every = {one["temperature"]: one["rows"] for one in runs.read(file, "quench")["temperatures"]}
    if NEAR_CRITICAL not in every:
        refuse(f"{file} has no temperature {NEAR_CRITICAL:g}")
    rows = [row for row in every[NEAR_CRITICAL] if row["xi_12"] and row["xi_12"] >= LEAST_XI]
    x = [row["xi_12"] ** -(3 - 1 / NU) for row in rows]
    found = extrapolated(x, [row["e"] for row in rows], [row["e_error"] for row in rows])
    # Rows of the same systems are off together, so the error is not smaller than that of one of them.
    return found | {"error": max(found["error"], rows[-1]["e_error"])}


def main(arguments):
    parser = Parser(description=__doc__)
    add = adder(parser)
    add("--json", "FILE", "the result", new_file, required=True)
    add("--quench", "FILE", "a result of quench.py", Path)
    parser.add_argument("results", metavar="FILE", nargs="+", type=Path, help="results of tempering.py")
    options = parser.parse_args(arguments)
    files = (["--quench", options.quench.name] if options.quench else []) + [file.name for file in options.results]
    result = begin_result("psFlip extrapolate, version 1", shlex.join(["07_amsc/physics/extrapolate.py", *files]))
    comparisons = []
    for file in options.results:
        critical = critical_temperature(read(file, "xi_l"))
        if critical and "critical_temperature" not in result:
            result["critical_temperature"] = critical
            for one in critical["crossings"]:
                at = runs.in_words(one["temperature"], one["error"])
                print(f"xi / L of L = {one['sizes'][0]} and {one['sizes'][1]} cross at T = {at}")
            print(f"T_c moves by {critical['error_of_omega']:.4f} with the error of omega")
            value = critical["value"], float(np.hypot(critical["error"], critical["error_of_omega"]))
            comparisons.append(runs.comparison("T_c", *value, T_C, T_C_ERROR, JANUS))
        measured = read(file, "e")
        found = energies(measured, NEAR_CRITICAL, 3 - 1 / NU)
        if found:
            result.setdefault("critical_energy", found)
        coldest = min((float(run["temperature"].min()) for run in measured.values()), default=COLD + 1)
        found = energies(measured, coldest, 3, excited=1 / 4) if coldest <= COLD else None
        if found and "ground_state" not in result:
            result["ground_state"] = found
            value = found["value"], found["error"]
            comparisons.append(runs.comparison("e, ground state", *value, *GROUND_STATE, HARTMANN))
    if options.quench:
        result["after_quench"] = after_quench(options.quench)
        if "critical_energy" in result:
            here, there = ((one["value"], one["error"]) for one in (result["critical_energy"], result["after_quench"]))
            comparisons.append(runs.comparison(f"e, T = {NEAR_CRITICAL:g}", *here, *there, "after a quench"))
    if not comparisons:
        refuse("too few sizes in equilibrium: L and 2 L twice, or three from 6 at T = 1.1 or at most 0.3")
    result["temperatures"] = [{"comparisons": comparisons}]
    runs.write(result, options.json)
    return runs.conclude(result)


if __name__ == "__main__":
    run_tool(main, "extrapolate")
