"""What the stages' own tools share: running a program, what its result says of itself, tables, options, pictures."""

import argparse
import datetime
import sys
from pathlib import Path

import table
from results import read_result
from stages import ROOT, Failure, as_words, repetitions_of, report_of


def run_benchmark(program, what, **options):
    """What a program with Google Benchmark says."""
    try:
        return report_of([program, *as_words(options)], what)
    except OSError:
        raise Failure(f"{program.name} is not built in {program.parent.parent}") from None


def checked_repetitions(report):
    """Its entries. Failure if one is wrong."""
    for entry in repetitions_of(report):
        message = entry.get("error_message", "")
        if message.startswith(("failed", "wrong")):
            raise Failure(f"{entry['name']}: {message}")
        yield entry


def heading(form, tool, options, report):
    """What a result begins with. `options`: those that the tool takes for the same run; where files went is nobody's
    business."""
    context = report["context"]
    return {
        "format": form,
        "command": " ".join([tool, *as_words(options)]),
        "date": datetime.date.today().isoformat(),
        "device": {"platform": context["psflip_platform"], "name": context["psflip_device"]},
        "build_type": context["psflip_build_type"],
    }


def source(result):
    return f"On {result['device']['name']}, {result['date']}: `{result['command']}`."


def build_warning(kind):
    return "" if kind == "release" else f" {kind.upper()} build: the times mean nothing."


def kept_result(file, form):
    """What was measured before, or None."""
    return read_result(file, form) if file.exists() else None


def table_of(lines, texts=1):
    """A Markdown table of lines {heading: cell}, of which the first `texts` cells are no numbers."""
    headings = list(lines[0])
    return table.as_markdown(
        headings, [list(line.values()) for line in lines], [i >= texts for i in range(len(headings))]
    )


def add_common_options(parser):
    parser.add_argument("--device", default="auto", help="auto, cpu, gpu, or the number of a GPU")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build", help=argparse.SUPPRESS)


def draw_or_say(draw, result, file, asked):
    """After a measurement, which must not be lost for want of matplotlib; `asked`: only the picture is wanted."""
    try:
        draw(result, file)
    except Failure as failure:
        if asked:
            raise
        print(f"{file.stem}: no picture: {failure}; then call with --draw", file=sys.stderr)
