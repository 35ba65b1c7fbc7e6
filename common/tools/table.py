"""The comparison as a table: which columns, in text and in Markdown."""

import json
import os
import sys
import textwrap
from operator import itemgetter

from models import MAJORITY, REFERENCE, SPIN_GLASS, model_of, plain_generator
from results import least
from stages import ROOT, progress, refuse


def factor(value):
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def significant(value, digits=4):
    """1234.5 -> '1,234', 3.14159 -> '3.142': as many digits as a timing deserves."""
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def majority_launch(row):
    if row.get("steps_per_pass"):
        return ", ".join([f"{counted(row['steps_per_pass'], 'step')} per pass", *best_of(row)])
    if row["thread_width"] is None:
        return ""
    return f"{row['thread_width']} x {row['block']}, best of {row['shapes_tried']}"


def best_of(row):
    return [f"best of {row['shapes_tried']}"] if row["shapes_tried"] > 1 else []


def percent_of_copy(row):
    return "-" if row["of_copy"] is None else f"{100 * row['of_copy']:.1f}"


def word_launch(values):
    """'k = 64, cluster 8': the launch of a kernel whose words hold k samples. All replicas at once needs no word."""
    parts = [("samples_per_word", "k = {}"), ("threads", "{} threads"), ("cluster", "cluster {}")]
    if values["replicas_together"] != values["replicas"]:
        parts.append(("replicas_together", "{} at once"))
    return ", ".join(text.format(values[name]) for name, text in parts if values[name] is not None)


def spin_glass_launch(row):
    if row.get("kernel"):
        return ", ".join([word_launch(row), *best_of(row)])
    if row["threads"] is None:
        return ""
    shape = " x ".join(str(row[part]) for part in ("threads", "sites_per_thread") if row[part] is not None)
    return f"{row['load'] + ', ' if row['load'] else ''}{shape}, best of {row['shapes_tried']}"


def runs_on(row):
    where = {"gpu": "GPU", "cpu": "CPU", "reference": "plain C++"}[row["platform"]]
    return where if row["build_type"] == "release" else f"{where}, {row['build_type'].upper()}"


def compared_at(row):
    """Where a row's bits were compared with the reference's, if not in the table's own problem."""
    names = {"size": "L", "samples": "M"}
    return ", ".join(f"{names[name]} = {value}" for name, value in (row.get("bits_compared_at") or {}).items())


def bits(row):
    if row["bits_agree"]:
        where = compared_at(row)
        return "reference" if row["stage"].startswith(REFERENCE) else f"yes, at {where}" if where else "yes"
    return "NO"


def timing(key, digits=4):
    return lambda row: "-" if row[key] is None else significant(row[key], digits)


def flips_per_ns(row):
    return "-" if row["ps_per_flip"] is None else significant(1e3 / row["ps_per_flip"])


# heading, cell, whether it is a number (and goes to the right)
STAGE = ("stage", lambda row: row["stage"][:2], False)
BEGIN = [STAGE, ("idea", lambda row: row["idea"], False), ("runs on", runs_on, False)]
FACTORS = [
    ("x before", lambda row: factor(row["factor_before"]), True),
    (f"x {REFERENCE}", lambda row: factor(row["factor_reference"]), True),
]
END = [("GB/s", timing("gb_per_s"), True), ("% of copy", percent_of_copy, True), *FACTORS, ("same bits", bits, False)]
COLUMNS = {
    MAJORITY: [
        *BEGIN,
        ("storage", lambda row: row["storage"], False),
        ("launch", majority_launch, False),
        ("ms/step", timing("ms_per_step"), True),
        ("ps/site", timing("ps_per_site"), True),
        *END,
    ],
    SPIN_GLASS: [
        *BEGIN,
        ("indexing", lambda row: row["indexing"] or row.get("kernel") or "", False),
        ("generator", lambda row: row.get("generator") or "minstd", False),
        ("samples", lambda row: f"{row['samples']}", True),
        ("launch", spin_glass_launch, False),
        ("ms/sweep", timing("ms_per_sweep"), True),
        ("ps/flip", timing("ps_per_flip"), True),
        ("flips/ns", flips_per_ns, True),
        ("bytes/flip", lambda row: f"{row['bytes_per_flip']:g}", True),
        *END,
    ],
}


def columns_of(model, rows):
    """All, but no column of generators or samples where there is only one."""
    kernels = any(row.get("kernel") for row in rows)
    hidden = {"generator"} if all(map(plain_generator, rows)) else set()
    if len({row.get("samples") for row in rows}) == 1:
        hidden.add("samples")
    shown = [column for column in COLUMNS[model] if column[0] not in hidden]
    return [("indexing or kernel", *rest) if kernels and name == "indexing" else (name, *rest) for name, *rest in shown]


WIDTH = 100  # columns of a terminal that everybody has
# A table that is printed row by row has to know its widths before it knows its rows.
WIDTHS = {"idea": 38, "runs on": 9, "storage": 7, "indexing": 18, "generator": 14, "launch": 43, "same bits": 21}


def all_columns(model):
    """(heading, cell, whether it is a number, width): every column, for a terminal that is wide enough."""
    return [(*column, max(WIDTHS.get(column[0], 8), len(column[0]))) for column in COLUMNS[model]]


def variant(row):
    """Which variant of its stage a row is, with its launch, as short as can be."""
    if row.get("kernel"):
        words = [row["kernel"], None if plain_generator(row) else row["generator"], f"k = {row['samples_per_word']}"]
    elif "steps_per_pass" in row:
        passes = row["steps_per_pass"]
        shape = f"{row['thread_width']} x {row['block']}" if row["thread_width"] else None
        words = [row["storage"], f"{counted(passes, 'step')} per pass" if passes else shape]
    else:
        shape = [str(row[part]) for part in ("threads", "sites_per_thread") if row[part] is not None]
        words = [row["indexing"], None if plain_generator(row) else row["generator"], " x ".join(shape)]
    return " ".join(filter(None, words))


def short_bits(row):
    if not row["bits_agree"]:
        return "NO"
    return "ref" if row["stage"].startswith(REFERENCE) else "yes*" if compared_at(row) else "yes"


def short_columns(model, device=None):
    """(heading, cell, whether it is a number, width): what fits into a usual terminal; with a device, what
    common/results has of it."""
    published = beside(device, model)["ps"] if device else {}
    heading = f"on {device}"
    more = [(heading, lambda row: published.get(row["stage"][:2], "-"), True, max(7, len(heading)))] if device else []
    columns = [
        (*STAGE, 5),
        ("idea", lambda row: shorten(row["idea"], rest), False, None),
        ("variant", lambda row: shorten(variant(row), 20), False, 20),
        ("ps/spin", timing(model.ps, 3), True, 7),
        *more,
        ("% copy", percent_of_copy, True, 6),
        *((*column, width) for column, width in zip(FACTORS, (8, 7))),
        ("bits", short_bits, False, 4),
    ]
    rest = WIDTH - sum(2 + width for _, _, _, width in columns if width)
    return [(*column, width or rest) for *column, width in columns]


def beside(device, model):
    """{"ps": {stage's number: the least ps per spin, as text}, "source": what it is} of a folder of common/results."""
    found = {file.parent.name: file for file in sorted((ROOT / "common/results").glob(f"*/{model.results}"))}
    if device not in found:
        refuse(f"--beside {device}: there are no results of it; there are those of {', '.join(found) or 'none'}")
    result = json.loads(found[device].read_text())
    timed = [row for row in result["rows"] if row[model.ps] is not None]
    best = least(timed, lambda row: row["stage"][:2], itemgetter(model.ps))
    where, problem = found[device].relative_to(ROOT), problem_in_words(result["problem"])
    source = f"the stage's best row in {where}: {problem}, on {result['device']['name']}, {result['date']}"
    return {"ps": {stage: significant(row[model.ps], 3) for stage, row in best.items()}, "source": source}


def shorten(text, limit):
    """A terminal has only so many columns."""
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def colourful():
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text, code):
    return f"\033[{code}m{text}\033[0m" if colourful() and text else text


def dim(text):
    return "\n".join(coloured(line, "2") for line in text.splitlines())


BITS_COLOURS = {"yes": "32", "NO": "31"}


class Writer:
    """Prints a table row by row; the headings come with the first."""

    def __init__(self, model, columns, ladders):
        self.model, self.columns, self.ladders, self.before = model, columns, ladders, None

    def row(self, row):
        progress("")
        if self.before is None:
            print(self.line([heading for heading, *_ in self.columns]))
            print("  ".join("-" * width for *_, width in self.columns))
        elif self.ladders and self.before.get(self.model.row) != row[self.model.row]:
            print()  # each storage reads as one ladder of stages
        self.before = row
        line = self.line([cell(row) for _, cell, _, _ in self.columns])
        word = line.split()[-1].rstrip("*") if self.columns[-1][0] == "bits" else ""
        if word in BITS_COLOURS:
            at = line.rindex(word)
            line = line[:at] + coloured(line[at:], BITS_COLOURS[word])
        print(line, flush=True)

    def line(self, cells):
        return aligned_line(cells, *zip(*((width, number) for _, _, number, width in self.columns)))


def aligned_line(cells, widths, numbers):
    padded = [text.rjust(width) if number else text.ljust(width) for text, width, number in zip(cells, widths, numbers)]
    return "  ".join(padded).rstrip()


def aligned(headings, body, numbers, rule=False):
    """A table for a terminal, when all rows are known. Numbers go to the right; `rule` is a line under the headings."""
    lines = [headings, *body]
    widths = [max(map(len, column)) for column in zip(*lines)]
    if rule:
        lines.insert(1, ["-" * width for width in widths])
    return "\n".join(aligned_line(line, widths, numbers) for line in lines)


def as_markdown(headings, body, numbers):
    rule = ["--:" if number else "---" for number in numbers]
    return "\n".join("| " + " | ".join(line) + " |" for line in [headings, rule, *body])


def table_of(lines, texts=(), form=as_markdown):
    """Of lines {heading: cell}. `texts`: the headings of what is no number."""
    headings = list(lines[0])
    return form(headings, [list(line.values()) for line in lines], [heading not in texts for heading in headings])


def comparison_as_markdown(model, rows):
    columns = columns_of(model, rows)
    body = [[cell(row) for _, cell, _ in columns] for row in rows]
    return as_markdown([heading for heading, _, _ in columns], body, [number for _, _, number in columns])


def counted(number, unit):
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def samples_in_words(problem):
    return f"{counted(problem['samples'], 'sample')} of {counted(problem['replicas'], 'replica')}"


def problem_in_words(problem):
    """The problem of either model, without its result."""
    size = problem["size"]
    if "steps" in problem:
        return f"{size} x {size} spins, {counted(problem['steps'], 'step')}, seed {problem['seed']}"
    return (
        f"{size} x {size} x {size} sites, {samples_in_words(problem)}, T = {problem['temperature']:g}, "
        f"{counted(problem['sweeps'], 'sweep')}, seed {problem['seed']}"
    )


def source(result):
    return f"On {result['device']['name']}, {result['date']}: `{result['command']}`."


def summary(result):
    """What was done, in a line."""
    problem = result["problem"]
    return f"{problem_in_words(problem)}, on {result['device']['name']}; state {problem['hash']}"


LAUNCH = {
    MAJORITY: "launch: threads along a side of a thread block x spins along a side of a thread's square, or how many "
    "steps are computed before the lattice is written, at most; the fastest in a",
    SPIN_GLASS: "launch: way of reading, threads of a block x sites that a thread updates together, the fastest in a",
}
BYTES = {
    MAJORITY: ["GB/s: each spin read once, written once, in a step or a pass."],
    SPIN_GLASS: [
        "GB/s: of bytes/flip, what has to be moved. A flip is one update of one spin, whether it turns or not.",
        "x before: the row above.",
    ],
}
ON_CPU = "CPU: the CUDA code on host threads. Its bits count; its times say nothing about a GPU."


def remarks(result):
    """What a reader of all columns must not miss, a line each."""
    model, rows = model_of(result), result["rows"]
    lines = [
        f"{LAUNCH[model]} quick trial, then measured anew, up to {result['repetitions']} times (the median).",
        *BYTES[model],
    ]
    if any(row.get("kernel") for row in rows):
        lines += [
            "k: samples that are bits of one word. Kernels that have words have samples to fill them.",
            "cluster: thread blocks that share their memory. at once: replicas that a cluster updates, if not all.",
        ]
    if any(compared_at(row) for row in rows):
        words = "same bits, at ...: with the same generator there; the reference is slow."
        lines.append(f"{words} x {REFERENCE}: the reference with minstd.")
    if any(row["platform"] == "cpu" for row in rows):
        lines.append(ON_CPU)
    return lines + warnings(result)


def legend(result):
    """What the columns mean, for a beginner."""
    runs = counted(result["repetitions"], "run")
    shown = "every variant" if result["every_variant"] else "a stage's fastest variant (--all: of every one)"
    lines = [
        f"ps/spin: picoseconds to update one spin, median of {runs} of {shown}. --wide: every column.",
        "% copy: bytes that have to move, per second, as part of what a plain copy reaches here.",
        "bits: whether the final state is that of the reference.",
    ]
    if any(row["platform"] == "cpu" for row in result["rows"]):
        lines.append(ON_CPU)
    return lines


def short_remarks(result, device=None):
    """What belongs to this table alone."""
    model, rows = model_of(result), result["rows"]
    lines = [f"state {result['problem']['hash']}"]
    places = sorted({compared_at(row) for row in rows} - {""})
    if places:
        lines.append(f"yes*: compared with the reference at {' or '.join(places)}, where that takes no time")
    if device:
        lines.append(f"on {device}: {beside(device, model)['source']}")
    return lines + warnings(result)


def wrapped(line):
    return textwrap.fill(line, WIDTH, subsequent_indent="  ")


def as_remarks(lines):
    return dim("\n".join(map(wrapped, lines)))


def warnings(result):
    rows = result["rows"]
    lines = [f"left out: {reason}" for reason in result.get("left_out", [])]
    return lines + build_warnings(rows)


def build_warnings(rows):
    kinds = sorted({row["build_type"] for row in rows} - {"release"})
    return [f"{kind.upper()} build: these times mean nothing." for kind in kinds]


def wrong_results(result):
    model = model_of(result)
    wrong = [row for row in result["rows"] if not row["bits_agree"]]
    lines = [f"*** WRONG RESULT *** {row['stage']} ({model.row_in_words(row)}): {row['wrong']}" for row in wrong]
    return [coloured(line, "31") for line in lines]
