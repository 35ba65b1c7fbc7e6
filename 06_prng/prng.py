#!/usr/bin/env python3
"""Times random numbers on their own, ours and cuRAND's, and prints the paper's two tables with ours beside them.

(a) fills an array of 2^29 floats; (b) counts odd numbers, with the paper's launch and with one that fills the device.
All in one run of the program prng_benchmark, which checks every result. The paper is Lulli, Bernaschi, Parisi,
arXiv:1411.0127; its GPU a GTX Titan.
"""

import json
import re
import statistics
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/common/tools")

import table
from build import build_if_configured
from options import Parser, add_common_options, new_file, some_of, whole, wholes
from results import begin_report, read_result, select
from stages import Failure, as_words, checked_repetitions, report_of, run_tool

FORMAT = "psFlip random numbers, version 1"
TITLES = {
    "minstd": "MINSTD",
    "parisi-rapuano": "Parisi-Rapuano",
    "mt19937": "MT19937",
    "philox": "Philox4x32-10",
    "philox-7": "Philox4x32-7",
    "curand-xorwow": "cuRAND XORWOW",
    "curand-mtgp32": "cuRAND MTGP32",
    "curand-mt19937": "cuRAND MT19937",
    "curand-philox": "cuRAND Philox4x32-10",
    "curand-mrg32k3a": "cuRAND MRG32k3a",
}
PAPER_ELEMENTS, PAPER_DRAWS, PAPER_BLOCKS, PAPER_THREADS = 2**29, 2**15, 64, 256
# Table I, seconds. Table II, numbers a second.
PAPER_FILL = {
    "curand-mtgp32": 10.11,
    "curand-xorwow": 2.31,
    "curand-mt19937": 3.23,
    "mt19937": 4.66,
    "parisi-rapuano": 4.18,
    "minstd": 1.13,
}
PAPER_COUNT = {
    "curand-mtgp32": 5.2e9,
    "curand-xorwow": 10.7e10,
    "mt19937": 14.1e9,
    "parisi-rapuano": 16.8e9,
    "minstd": 8.9e10,
}
MEASURED = ("init_ms", "numbers", "numbers_per_s", "gb_per_s", "state_bytes", "state_bytes_per_number")


def number_or_name(text):
    return int(text) if text.isdigit() else text


def parse_report(report):
    """(rows, refused, bandwidths): a row a variant, each figure the median of its runs."""
    runs, refused, bandwidths = {}, [], {}
    for entry in checked_repetitions(report):
        task, *asked = entry["name"].split("/")
        # Google Benchmark adds "iterations:1/repeats:3/manual_time" to the name.
        asked = dict(part.split(":") for part in asked if re.fullmatch(r"[a-z-]+:[\w-]+", part))
        variant = {
            key.replace("-", "_"): number_or_name(value)
            for key, value in asked.items()
            if key not in ("iterations", "repeats")
        }
        if task in ("write", "copy"):
            bandwidths.setdefault(variant.get("how", task), []).append(entry["gb_per_s"])
            continue
        key = json.dumps({"task": task} | variant)
        if entry.get("error_occurred"):
            if key not in runs:
                refused.append({"task": task} | variant | {"refused": entry["error_message"]})
        else:
            runs.setdefault(key, []).append(entry)
    rows = []
    for key, entries in runs.items():
        hashes = {entry["label"] for entry in entries}
        if len(hashes) > 1:
            raise Failure(f"{key}: runs with different numbers")
        row = json.loads(key) | {"hash": min(hashes)}
        row |= {name: statistics.median(entry[name] for entry in entries) for name in MEASURED if name in entries[0]}
        rows.append(row)
    return rows, refused, {name: statistics.median(values) for name, values in bandwidths.items()}


def measure(program, options):
    names = ("generators", "elements", "streams", "blocks", "threads", "draws", "launches", "repetitions")
    asked = {name: getattr(options, name) for name in names}
    report = report_of([program, *as_words(asked | {"device": options.device})], "prng_benchmark")
    rows, refused, bandwidths = parse_report(report)
    if not rows:
        reason = refused[0]["refused"] if refused else "these generators do not run on this device"
        raise Failure(f"nothing could be timed: {reason}")
    if "copy" not in bandwidths or not {"memset", "kernel"} <= bandwidths.keys():
        raise Failure("the report has no bandwidths")
    context = report["context"]
    numbers = {name: int(context[f"psflip_{name}"]) for name in ("elements", "draws", "launches", "l2_bytes")}
    return (
        begin_report(FORMAT, "06_prng/prng.py", asked, report)
        | {"curand": context["psflip_curand"] == "1"}
        | numbers
        | {"gb_per_s": bandwidths, "rows": rows, "refused": refused}
    )


def best(result, task, generator, **wish):
    """The fastest variant that is as wished, or None."""
    rows = select(result["rows"], task=task, generator=generator)
    return max(select(rows, **wish), key=lambda row: row["numbers_per_s"], default=None)


def generators(result, task):
    there = {row["generator"] for row in result["rows"] if row["task"] == task}
    return [name for name in TITLES if name in there]


def power(number):
    """1048576 -> '2^20', if it is one."""
    return f"2^{number.bit_length() - 1}" if number & (number - 1) == 0 else f"{number:,}"


def engineering(value):
    """1.234e11 -> '123e9', as the paper's Table II has it."""
    return f"{table.significant(value / 1e9, 3)}e9"


def write_gb_per_s(result):
    return max(result["gb_per_s"]["memset"], result["gb_per_s"]["kernel"])


def fill_table(result):
    write, copy = write_gb_per_s(result), result["gb_per_s"]["copy"]

    def line(name):
        row, paper = best(result, "fill", name), PAPER_FILL.get(name)
        ours = "streams" in row
        shape = f"{power(row['streams'])} x {row['per_thread']}" if ours else f"{row['ordering']} ordering"
        return {
            "generator": TITLES[name],
            "streams x per thread": shape,
            "t_init, ms": table.significant(row["init_ms"], 3) if row["init_ms"] > 0 else "-",
            "t_gen, ms": table.significant(row["numbers"] / row["numbers_per_s"] * 1e3, 3),
            "GB/s written": table.significant(row["gb_per_s"], 3),
            "% of write": f"{100 * row['gb_per_s'] / write:.0f}",
            "% of copy": f"{100 * row['gb_per_s'] / copy:.0f}",
            "states, MB": f"{row['state_bytes'] / 1e6:,.0f}" if "state_bytes" in row else "-",
            "paper, s": f"{paper:.2f}" if paper else "-",
            # The paper's problem, at our speed.
            "paper / ours": f"{paper / (PAPER_ELEMENTS / row['numbers_per_s']):,.0f}" if paper else "-",
        }

    lines = [line(name) for name in generators(result, "fill")]
    return table.table_of(lines, ("generator", "streams x per thread"))


def limit(result, row):
    """Numbers a second at which the states' traffic reaches the copy bandwidth; None if the L2 cache holds them."""
    if row["state_bytes"] <= result["l2_bytes"]:
        return None
    return result["gb_per_s"]["copy"] * 1e9 / row["state_bytes_per_number"]


def count_table(result):
    fulls = {row["blocks"] for row in result["rows"] if row["task"] == "count"}

    def line(name):
        small = best(result, "count", name, blocks=PAPER_BLOCKS, threads=PAPER_THREADS, per_thread=1)
        # What fills the device; MTGP32 has fewer blocks.
        of_name = {row["blocks"] for row in select(result["rows"], task="count", generator=name)}
        large = best(result, "count", name, blocks=max(fulls & of_name))
        paper, most, bytes_a_number = PAPER_COUNT.get(name), limit(result, large), large["state_bytes_per_number"]
        return {
            "generator": TITLES[name],
            f"numbers/s, {PAPER_BLOCKS} x {PAPER_THREADS}": engineering(small["numbers_per_s"]) if small else "-",
            "paper": engineering(paper) if paper else "-",
            "ours / paper's": f"{small['numbers_per_s'] / paper:,.1f}" if paper and small else "-",
            "numbers/s, device full": engineering(large["numbers_per_s"]),
            "blocks x streams per thread": f"{large['blocks']:,} x {large['per_thread']}",
            "states, MB": f"{large['state_bytes'] / 1e6:,.1f}",
            "bytes per number": table.significant(bytes_a_number, 2) if bytes_a_number else "0",
            "limit of these bytes": engineering(most) if most else "in L2" if large["state_bytes"] else "none",
            "% of limit": f"{100 * large['numbers_per_s'] / most:.0f}" if most else "-",
        }

    return table.table_of([line(name) for name in generators(result, "count")], ["generator"])


def remarks(result, which):
    source, warning = table.source(result), "".join(f" {warning}" for warning in table.build_warnings([result]))
    if not result["curand"]:
        warning += " Without cuRAND, which this build does not have."
    speeds = result["gb_per_s"]
    if which == "fill":
        return (
            f"{source} {power(result['elements'])} floats, the best number of streams for each. t_init "
            "makes and seeds the states, t_gen fills. "
            f"Memory: memset {speeds['memset']:,.0f}, a kernel that writes zeros {speeds['kernel']:,.0f}, a copy "
            f"{speeds['copy']:,.0f} GB/s, read and written; % of write is that of the faster of the first two. The "
            f"paper's seconds are for {power(PAPER_ELEMENTS)} floats on a GTX Titan, Table I.{warning}"
        )
    return (
        f"{source} {power(result['draws'])} numbers of each stream in a launch, {result['launches']} launches "
        f"in a row. {PAPER_BLOCKS} x {PAPER_THREADS}: the paper's blocks and threads, a stream each; device full: as "
        "many blocks as fit, the best number of streams per thread; MTGP32 has at most 200. Bytes per number: of "
        f"state, read and written. Limit: these bytes at the copy's {speeds['copy']:,.0f} GB/s, where the states are "
        f"larger than the L2 cache of {result['l2_bytes'] / 2**20:.0f} MiB. The paper's figures are Table II, a GTX "
        f"Titan, as read from a damaged copy.{warning}"
    )


def markdown(folder, which):
    """The README's table from prng.json in a folder of common/results, and what has to be said about it. which: "fill"
    or "count"."""
    return as_text(read_result(folder / "prng.json", FORMAT), which)


TABLES = {"prng_fill": lambda folder: markdown(folder, "fill"), "prng_count": lambda folder: markdown(folder, "count")}


def as_text(result, which):
    made = fill_table(result) if which == "fill" else count_table(result)
    return f"{made}\n\n{remarks(result, which)}"


def parse_options(arguments):
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--generators", type=some_of(TITLES), metavar="minstd,curand-xorwow", help="only these")
    add("--elements", type=whole, metavar="N", help="floats to fill (2^29; 2^22 on a CPU)")
    add("--streams", type=wholes, metavar="N,N", help="streams that fill, to try (2^14 to 2^22; 2^12 on a CPU)")
    add("--blocks", type=wholes, metavar="B,B", help="blocks that count (64 and what fills the device)")
    add("--threads", type=whole, metavar="T", help="threads of a block (256)")
    add("--draws", type=whole, metavar="N", help="numbers of a stream in a launch (2^15; 2^8 on a CPU)")
    add("--launches", type=whole, metavar="K", help="counting launches in a row (10)")
    add("--repetitions", type=whole, metavar="R", help="timed runs, of which the median counts (3)")
    add("--json", type=new_file, metavar="FILE", help="write everything that was measured")
    add_common_options(parser)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_options(arguments)
    build_if_configured(options.build_dir, "prng_benchmark")
    result = measure(options.build_dir / "06_prng/prng_benchmark", options)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    tables = [as_text(result, which) for which in ("fill", "count") if generators(result, which)]
    print("\n\n".join(tables))
    return 0


if __name__ == "__main__":
    run_tool(main, "prng")
