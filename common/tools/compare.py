#!/usr/bin/env python3
"""Builds nothing: times the stages that are built, checks their bits against stage 00, prints one table.

Stage 00 is always run: its state is what the others must reach. Exit code 1 if any stage's bits differ.
"""

import argparse
import csv
import json
import sys
from pathlib import Path

import table
from comparison import compare
from stages import ROOT, Failure

THREAD_WIDTHS = [8, 10, 12, 16, 32]
BLOCKS = [1, 2, 3, 4, 5]


def comma_list(convert, allowed=None):
    def parse(text):
        values = [convert(part) for part in text.split(",")]
        for value in values:
            if allowed and value not in allowed:
                raise argparse.ArgumentTypeError(f"{value!r}; allowed are {', '.join(allowed)}")
        return values

    parse.__name__ = "comma list"  # argparse's messages call it so
    return parse


def whole(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}; it must be at least 1")
    return value


def refuse(message):
    raise Failure(f"{message}; --help lists the options")


def parse_options(arguments):
    parser = argparse.ArgumentParser(
        prog="common/run",
        description="Builds all stages, checks each one's result bit for bit against stage 00, times them, and prints "
        "one table: on a GPU if there is one, else on the CPU.",
        epilog="Also: --build-dir DIR (default: build), --no-install (never install packages).",
    )
    add = parser.add_argument
    add("--size", type=comma_list(whole), metavar="N", help="spins along a side (10000; 1500 on a CPU)")
    add("--steps", type=comma_list(whole), metavar="K", help="updates of the whole lattice in one timed run (10)")
    add("--seed", type=int, default=42, help="of the random start (42)")
    add("--stages", type=comma_list(str), metavar="01,03", help="only these, and 00, which says which bits are right")
    add("--storage", type=comma_list(str, ["int32", "int8"]), metavar="int32,int8", help="bytes of a spin (both)")
    add("--thread-width", type=comma_list(whole), metavar="8,16", default=THREAD_WIDTHS, help="launch shapes to try")
    add("--block", type=comma_list(whole), metavar="1,2", default=BLOCKS, help="launch shapes to try")
    add("--repetitions", type=whole, metavar="R", help="timed runs, of which the median counts (10; 3 on a CPU)")
    add("--device", default="auto", help="auto, cpu, gpu, or the number of a GPU")
    add("--json", type=Path, metavar="FILE", help="write everything that was measured")
    add("--csv", type=Path, metavar="FILE", help="write the table")
    add("--plot", type=Path, metavar="FILE", help="draw the table (.png, .svg or .pdf)")
    add("--sweep", type=Path, metavar="DIR", help="instead: time every launch shape at every --size and --steps "
        "(here comma lists) and write the tables and plots of the report's Figures 4, 5 and 6 into DIR")
    add("--build-dir", type=Path, default=ROOT / "build", help=argparse.SUPPRESS)
    parser.error = refuse
    add("--parse-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.sweep:
        for name in ("size", "steps"):
            if len(getattr(options, name) or []) > 1:
                parser.error(f"--{name}: several values only make sense with --sweep")
    for file in (options.json, options.csv, options.plot):
        if file and not file.parent.is_dir():  # now, not after two minutes of work
            parser.error(f"{file}: there is no folder {file.parent}")
    if options.plot and options.plot.suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--plot {options.plot}: the name must end in .png, .svg or .pdf")
    return options


def write_csv(file, rows):
    keys = [key for key in rows[0] if key not in ("ms_per_step_runs", "shapes")]
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, keys, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(arguments):
    options = parse_options(arguments)
    if options.parse_only:
        return 0
    if options.sweep:
        import sweep

        return sweep.main(options)
    if options.plot:
        import plots  # before the work, so that a missing matplotlib does not cost a run
    result = compare(options)
    print(table.summary(result), table.as_text(result["rows"]), table.remarks(result), sep="\n\n")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    if options.csv:
        write_csv(options.csv, result["rows"])
    if options.plot:
        plots.draw_comparison(result, options.plot)
    return 0 if all(row["bits_agree"] for row in result["rows"]) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print(f"common/run: {failure}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
