#!/usr/bin/env python3
"""Fills the tables of measured figures in the READMEs from common/results. --check: says which are stale, exit code 1.

In a README.md, of the repository or of a stage,

    <!-- table: h200 comparison -->
    anything here is replaced
    <!-- end table -->

The first word is a folder of common/results, the rest is what to show of it:

    comparison               all rows of comparison.json, as common/run --json writes it
    comparison 01 02         the rows of these stages
    shapes 03 int32          ms a step of every launch shape that was tried for this stage and storage
    figure4 int32            figure4_int32.csv, as common/run --sweep writes it
    counters 01 02           these stages' hardware counters from counters.json, as counters.py writes it
"""

import argparse
import csv
import inspect
import json
import re
import sys
from pathlib import Path

import stages
import table
from stages import Failure

TABLE = re.compile(r"(<!-- table: (.*?) -->\n)(.*?)(<!-- end table -->)", re.DOTALL)
MARKER = re.compile(r"<!-- (?:table:|end table)")


def load(folder):
    result = json.loads((folder / "comparison.json").read_text())
    wrong = [row["stage"] for row in result["rows"] if not row["bits_agree"]]
    if wrong:
        raise Failure(f"{folder.name}/comparison.json holds wrong results ({', '.join(wrong)}): not to be published")
    return result


def comparison(root, folder, *numbers):
    result = load(folder)
    rows = [row for row in result["rows"] if not numbers or row["stage"][:2] in numbers]
    missing = set(numbers) - {row["stage"][:2] for row in rows}
    if missing:
        raise Failure(f"{folder.name}/comparison.json has no stage {', '.join(sorted(missing))}")
    for row in rows:
        row["idea"] = stages.idea(row["stage"], root)  # as the README says it today
    text = table.comparison_as_markdown(rows)
    return f"{text}\n\n{table.summary(result)}; `{result['command']}` on {result['date']}."


def shapes(root, folder, number, storage):
    for row in load(folder)["rows"]:
        if (row["stage"][:2], row["storage"]) == (number, storage) and row["shapes"]:
            times = {(s["thread_width"], s["block"]): s for s in row["shapes"] if "refused" not in s}
            widths, blocks = (sorted(set(values)) for values in zip(*times))
            body = [
                [f"b = {block}", *(shape_cell(times.get((width, block)), row) for width in widths)] for block in blocks
            ]
            headings = ["ms/step", *(f"width {width}" for width in widths)]
            return table.as_markdown(headings, body, [False] + [True] * len(widths))
    raise Failure(f"{folder.name}/comparison.json has no shapes of stage {number} with {storage}")


def shape_cell(shape, row):
    if shape is None:  # refused
        return "-"
    time = table.significant(shape["ms_per_step"])
    return f"**{time}**" if (shape["thread_width"], shape["block"]) == (row["thread_width"], row["block"]) else time


def figure4(root, folder, storage):
    with (folder / f"figure4_{storage}.csv").open(newline="") as stream:
        headings, *body = csv.reader(stream)
    return table.as_markdown(headings, body, [True] * len(headings))


def largest_stall(row):
    """What a warp waits for most, when it waits to issue."""
    stalls = {key.removeprefix("stall_"): value for key, value in row.items() if key.startswith("stall_")}
    name = max(stalls, key=stalls.get)
    return f"{name.replace('_', ' ')}, {100 * stalls[name] / sum(stalls.values()):.0f} %"


def of(part, whole, factor=1, digits=1):
    return f"{factor * part / whole:.{digits}f}" if whole else "-"


COUNTERS = [
    ("stage", lambda row, sites: row["stage"][:2]),
    ("storage", lambda row, sites: row["storage"]),
    ("launch", lambda row, sites: f"{row['thread_width']:.0f} x {row['block']:.0f}"),
    ("us", lambda row, sites: table.significant(row["microseconds"], 3)),
    ("DRAM read + written, B/site", lambda row, sites: f"{of(row['dram_read_bytes'], sites, 1, 2)} + {of(row['dram_written_bytes'], sites, 1, 2)}"),
    ("DRAM, % of peak", lambda row, sites: f"{row['dram_percent']:.0f}"),
    ("L2, % of peak", lambda row, sites: f"{row['l2_percent']:.0f}"),
    ("L1 hits, %", lambda row, sites: f"{row['l1_hit_percent']:.0f}"),
    ("sectors a load", lambda row, sites: of(row["load_sectors"], row["load_requests"])),
    ("sectors a store", lambda row, sites: of(row["store_sectors"], row["store_requests"])),
    ("bank conflicts, % of shared accesses", lambda row, sites: of(row["shared_bank_conflicts"], row["shared_wavefronts"], 100, 0)),
    ("thread instructions a site", lambda row, sites: of(row["warp_instructions"], sites, 32, 0)),
    ("issue slots used, %", lambda row, sites: f"{row['issue_percent']:.0f}"),
    ("warps on an SM, of 64", lambda row, sites: f"{row['warps_per_sm']:.0f}"),
    ("registers", lambda row, sites: f"{row['registers']:.0f}"),
    ("waits most for", lambda row, sites: largest_stall(row)),
]  # fmt: skip


def counters(root, folder, *numbers):
    """A line a counter and a column a launch: there are more counters than a page is wide."""
    result = json.loads((folder / "counters.json").read_text())
    rows = [row for row in result["rows"] if row["stage"][:2] in numbers]
    if not rows:
        raise Failure(f"{folder.name}/counters.json has no stage {', '.join(numbers)}")
    sites = result["size"] ** 2
    headings, *lines = [[name, *(cell(row, sites) for row in rows)] for name, cell in COUNTERS]
    lines = [line for line in lines if not set(line[1:]) <= {"-", "0"}]  # bank conflicts, where no memory is shared
    return table.as_markdown(headings, lines, [False] + [True] * len(rows))


KINDS = {"comparison": comparison, "shapes": shapes, "figure4": figure4, "counters": counters}


def render(root, what):
    words = what.split()
    if len(words) < 2 or words[1] not in KINDS:
        raise Failure(f"'{what}': it takes a folder of common/results and one of {', '.join(KINDS)}")
    folder, kind, *arguments = words
    try:
        inspect.signature(KINDS[kind]).bind(root, folder, *arguments)
    except TypeError as error:
        raise Failure(f"'{what}': {error}") from None
    try:
        return KINDS[kind](root, root / "common/results" / folder, *arguments)
    except FileNotFoundError as error:
        raise Failure(f"'{what}': there is no {Path(error.filename).relative_to(root)}") from None


def filled(root, text):
    result = TABLE.sub(lambda match: f"{match[1]}{render(root, match[2])}\n{match[4]}", text)
    if len(MARKER.findall(text)) != 2 * len(TABLE.findall(text)):
        raise Failure("a table's marker has no partner")
    return result


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if a table is stale")
    parser.add_argument("--root", type=Path, default=stages.ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    stale = 0
    for readme in [options.root / "README.md", *sorted(options.root.glob("[0-9][0-9]_*/README.md"))]:
        if not readme.exists():
            continue
        place = readme.relative_to(options.root)
        try:
            old = readme.read_text()
            new = filled(options.root, old)
        except Failure as failure:
            raise Failure(f"{place}: {failure}") from None
        if new != old:
            stale += 1
            print(f"{place}: {'stale; run common/tools/readme_tables.py' if options.check else 'tables filled'}")
            if not options.check:
                readme.write_text(new)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print(f"readme_tables: {failure}", file=sys.stderr)
        sys.exit(1)
