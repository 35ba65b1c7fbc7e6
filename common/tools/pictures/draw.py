#!/usr/bin/env python3
"""Draws the pictures of a results folder anew from the tables in it: common/tools/pictures/draw.py DIR [name ...].

The commands that measure do so themselves where matplotlib is; this is for figures that were measured elsewhere.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, __file__.rsplit("/", 2)[0])

from measure import generators, sizes, sweep
from options import Parser
from pictures import measured
from results import read_csv
from stages import Failure, offered, run_tool


def draw_comparison(file):
    measured.draw_comparison(json.loads(file.read_text()), file.with_suffix(".svg"))


def draw_sizes(file):
    measured.draw_sizes(sizes.lines(read_csv(file)), file.with_suffix(".svg"))


def draw_generators(file):
    measured.draw_generators(generators.lines(read_csv(file)), file.with_suffix(".svg"))


def draw_words(file):
    result = json.loads(file.read_text())
    measured.draw_words_over_size(result, file.with_name("spin_glass_words_size.svg"))
    measured.draw_words_over_samples(result, file.with_name("spin_glass_words_samples.svg"))


def draw_sweep(file):
    points = read_csv(file)
    size, steps = sweep.largest(points)
    for storage in sweep.storages(points):
        measured.draw_over_size(sweep.figure_5(points, storage), storage, file.with_name(f"figure5_{storage}"))
        over_block = sweep.figure_6(points, storage, size, steps)
        measured.draw_over_block(over_block, storage, size, steps, file.with_name(f"figure6_{storage}"))


def known_pictures():
    """{name of a table: what draws it}"""
    return {
        "comparison.json": draw_comparison,
        "spin_glass.json": draw_comparison,
        "spin_glass_sizes.csv": draw_sizes,
        "spin_glass_generators.csv": draw_generators,
        "spin_glass_words.json": draw_words,
        "sweep.csv": draw_sweep,
    } | offered("PICTURES")


def draw_if_possible(folder, name):
    """After a measurement, which must not be lost for want of matplotlib."""
    try:
        known_pictures()[name](folder / name)
    except Failure as failure:
        # Debian's package serves Debian's own Python, which another python3 may hide.
        print(f"not drawn: {failure}; then, or where it is: /usr/bin/python3 common/tools/pictures/draw.py {folder}")


def main(arguments):
    known = known_pictures()
    parser = Parser(description=__doc__)
    parser.add_argument("folder", type=Path, help="as common/results/h200")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(known)} (all that are there)")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in known:
            raise Failure(f"{name}: there is no picture of it; there is of {', '.join(known)}")
    names = options.names or [name for name in known if (options.folder / name).exists()]
    missing = [name for name in names if not (options.folder / name).exists()]
    if missing or not names:
        raise Failure(f"{options.folder} has {'no ' + missing[0] if missing else 'nothing to draw'}")
    for name in names:
        known[name](options.folder / name)
    print(f"drawn: {' '.join(names)}")
    return 0


if __name__ == "__main__":
    run_tool(main, "draw")
