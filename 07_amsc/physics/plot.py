#!/usr/bin/env python3
"""Draws e(t) and xi_12(t) of quench.json, and the deviations from the Nishimori line's energy of nishimori.json.

    plot.py common/results/h200/physics

makes quench_energy.svg, quench_coherence.svg and nishimori.svg in that folder, of what is there. Needs matplotlib.
"""

import sys
from pathlib import Path

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
from pictures.plots import curve, legend_beside, save, subplots
from quench import KNOWN, LITERATURE, MEASURED
from runs import read
from stages import Failure, run_tool


def positive(rows, name):
    """Sweeps, values and errors of the rows that a logarithmic axis can show."""
    rows = [row for row in rows if row["sweep"] > 0 and row[name] is not None]
    return [[row[key] for row in rows] for key in ("sweep", name, f"{name}_error")]


def draw_known(axes, temperature, quantity, label, **look):
    """What was measured with L = 32, if anything."""
    rows = [row[1:] for row in KNOWN.get(temperature, []) if row[0] == quantity]
    if rows:
        axes.errorbar(*map(list, zip(*rows)), fmt="s", markerfacecolor="none", label=f"{label}, {MEASURED}", **look)


def title(result):
    one = result["temperatures"][0]
    replicas = result["problem"]["replicas"]
    return (
        f"L = {result['problem']['size']}, {one['samples']} samples of {replicas} replicas, {result['device']['name']}"
    )


def draw_energy(result, file):
    figure, axes = subplots(figsize=(7, 4.5))
    for number, one in enumerate(result["temperatures"]):
        look = {"color": f"C{number}", "label": f"T = {one['temperature']:g}"}
        axes.errorbar(*positive(one["rows"], "e"), fmt="o-", markersize=3, linewidth=1, **look)
        draw_known(axes, one["temperature"], "e", markersize=8, **look)
    axes.set(xscale="log", xlabel="t: sweeps after the quench", ylabel="e: energy per site", title=title(result))
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, file)


def draw_coherence(result, file):
    figure, axes = subplots(figsize=(7, 5))
    for number, one in enumerate(result["temperatures"]):
        temperature, colour, fit = one["temperature"], f"C{number}", one["fit"]
        label = f"T = {temperature:g}"
        axes.errorbar(*positive(one["rows"], "xi_12"), fmt="o", color=colour, markersize=4, label=label)
        draw_known(axes, temperature, "xi_12", color=colour, markersize=9, label=label)
        if not fit:
            continue
        first, last = fit["first_sweep"], fit["last_sweep"]
        line = {end: fit["b"] * end ** (1 / fit["z"]) for end in (first, last)}
        words = f"{label}, fit: z = {fit['z']:.2f} $\\pm$ {fit['z_error']:.2f}"
        curve(axes, line, color=colour, linewidth=1.5, label=words)
        if temperature in LITERATURE:
            # Only the slope is known: through the fit's value in the middle of its times.
            z, z_error = LITERATURE[temperature]
            middle = (first * last) ** 0.5
            height = fit["b"] * middle ** (1 / fit["z"])
            line = {end: height * (end / middle) ** (1 / z) for end in (first / 8, last * 4)}
            words = f"{label}, slope of arXiv:0811.2864: z = {z:g} $\\pm$ {z_error:g}"
            curve(axes, line, "--", color=colour, label=words)
    axes.set(xscale="log", yscale="log", xlabel="t: sweeps after the quench", ylabel=r"$\xi_{12}$", title=title(result))
    ticks = [tick for tick in (0.5, 1, 2, 3, 4, 5, 6, 8, 10) if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    legend_beside(axes)
    save(figure, file)


def draw_nishimori(result, file):
    temperatures, columns = result["temperatures"], 3
    rows = -(-len(temperatures) // columns)
    figure, panels = subplots(rows, columns, figsize=(10, 2.4 * rows), sharex=True, sharey=True, squeeze=False)
    for axes, one in zip(panels.flat, temperatures):
        t = [row["sweep"] or 0.5 for row in one["energy"]]  # sweep 0 has to be somewhere on a logarithmic axis
        values = [1e3 * (row["value"] - row["reference"]) for row in one["energy"]]
        errors = [1e3 * row["error"] for row in one["energy"]]
        axes.errorbar(t, values, errors, fmt="o", markersize=3, linewidth=1)
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set(xscale="log")
        axes.set_title(f"T = {one['temperature']:g}", fontsize="medium")
        axes.grid(alpha=0.3)
    for axes in panels.flat[len(temperatures) :]:
        axes.remove()
    problem = result["problem"]
    words = f"Nishimori line, L = {problem['size']}, {problem['samples']} samples of {problem['replicas']} replicas"
    figure.suptitle(words)
    figure.supxlabel("t (0 at the left)")
    figure.supylabel(r"$10^3$ ([e(t)] + 3 tanh(1/T))")
    figure.tight_layout()
    save(figure, file)


PICTURES = [
    ("quench", "quench_energy.svg", draw_energy),
    ("quench", "quench_coherence.svg", draw_coherence),
    ("nishimori", "nishimori.svg", draw_nishimori),
]


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if arguments in (["-h"], ["--help"]) else 2
    folder = Path(arguments[0])
    there = [one for one in PICTURES if (folder / f"{one[0]}.json").exists()]
    if not there:
        raise Failure(f"{folder} has neither quench.json nor nishimori.json")
    for name, picture, draw in there:
        draw(read(folder / f"{name}.json", name), folder / picture)
        print(folder / picture)
    return 0


if __name__ == "__main__":
    run_tool(main, "plot")
