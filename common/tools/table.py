"""The comparison as a table: which columns, in text and in Markdown."""

from stages import REFERENCE


def factor(value):
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def significant(value, digits=4):
    """1234.5 -> '1,234', 3.14159 -> '3.142': as many digits as a timing deserves."""
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def launch(row):
    if row["thread_width"] is None:
        return ""
    return f"{row['thread_width']} x {row['block']}, best of {row['shapes_tried']}"


def runs_on(row):
    where = {"gpu": "GPU", "cpu": "CPU", "reference": "plain C++"}[row["platform"]]
    return where if row["build_type"] == "release" else f"{where}, {row['build_type'].upper()}"


def bits(row):
    if row["bits_agree"]:
        return "reference" if row["stage"].startswith(REFERENCE) else "yes"
    return "NO"


# heading, cell, whether it is a number (and goes to the right)
COLUMNS = [
    ("stage", lambda row: row["stage"][:2], False),
    ("idea", lambda row: row["idea"], False),
    ("runs on", runs_on, False),
    ("storage", lambda row: row["storage"], False),
    ("launch", launch, False),
    ("ms/step", lambda row: timing(row, "ms_per_step"), True),
    ("ps/site", lambda row: timing(row, "ps_per_site"), True),
    ("GB/s", lambda row: timing(row, "gb_per_s"), True),
    ("% of copy", lambda row: "-" if row["of_copy"] is None else f"{100 * row['of_copy']:.1f}", True),
    ("x before", lambda row: factor(row["factor_before"]), True),
    ("x 00", lambda row: factor(row["factor_reference"]), True),
    ("same bits", bits, False),
]


def timing(row, key):
    return "-" if row[key] is None else significant(row[key])


def cells(rows):
    return [[cell(row) for _, cell, _ in COLUMNS] for row in rows]


def shorten(text, limit=40):
    """A terminal has only so many columns."""
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def as_text(rows):
    body = [[shorten(value) for value in line] for line in cells(rows)]
    widths = [max(len(heading), *(len(line[i]) for line in body)) for i, (heading, _, _) in enumerate(COLUMNS)]

    def line(values):
        padded = [v.rjust(w) if number else v.ljust(w) for v, w, (_, _, number) in zip(values, widths, COLUMNS)]
        return "  ".join(padded).rstrip()

    lines = [line([heading for heading, _, _ in COLUMNS]), "  ".join("-" * width for width in widths)]
    for i, values in enumerate(body):
        if i and rows[i]["storage"] != rows[i - 1]["storage"]:
            lines.append("")  # each storage reads as one ladder of stages
        lines.append(line(values))
    return "\n".join(lines)


def as_markdown(headings, body, numbers):
    rule = ["--:" if number else "---" for number in numbers]
    return "\n".join("| " + " | ".join(line) + " |" for line in [headings, rule, *body])


def comparison_as_markdown(rows):
    return as_markdown([heading for heading, _, _ in COLUMNS], cells(rows), [number for _, _, number in COLUMNS])


def summary(result):
    """What was done, in a line."""
    problem, device = result["problem"], result["device"]
    return (
        f"{problem['size']} x {problem['size']} spins, {problem['steps']} steps, seed {problem['seed']}, "
        f"on {device['name']}; state {problem['hash']}"
    )


def remarks(result):
    """What a reader must not miss; loud things last, where they are seen."""
    rows = result["rows"]
    lines = [
        "launch: threads along a side of a thread block x spins along a side of a thread's square, the fastest in a",
        f"quick trial, then measured anew, up to {result['repetitions']} times (the median). "
        "GB/s: each spin read once, written once.",
    ]
    if any(row["platform"] == "cpu" for row in rows):
        lines.append("CPU: the CUDA code on host threads. Its bits count; its times say nothing about a GPU.")
    for kind in sorted({row["build_type"] for row in rows} - {"release"}):
        lines.append(f"{kind.upper()} build: these times mean nothing.")
    for row in rows:
        if not row["bits_agree"]:
            lines.append(f"*** WRONG RESULT *** {row['stage']} ({row['storage']}): {row['wrong']}")
    return "\n".join(lines)
