"""The comparison as a table: which columns, in text and in Markdown."""

from models import MAJORITY, SPIN_GLASS, model_of, plain_generator
from stages import REFERENCE


def factor(value):
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def significant(value, digits=4):
    """1234.5 -> '1,234', 3.14159 -> '3.142': as many digits as a timing deserves."""
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def majority_launch(row):
    if row.get("steps_per_pass"):
        return ", ".join([f"{counted(row['steps_per_pass'], 'step')} a pass", *best_of(row)])
    if row["thread_width"] is None:
        return ""
    return f"{row['thread_width']} x {row['block']}, best of {row['shapes_tried']}"


def best_of(row):
    return [f"best of {row['shapes_tried']}"] if row["shapes_tried"] > 1 else []


def word_launch(values):
    """'k = 64, cluster 8': the launch of a kernel whose words hold k samples. All replicas at once is not worth a word.
    """
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
    """Where a row's bits were compared with stage 00's, if not in the table's own problem."""
    names = {"size": "L", "samples": "M"}
    return ", ".join(f"{names[name]} = {value}" for name, value in (row.get("bits_compared_at") or {}).items())


def bits(row):
    if row["bits_agree"]:
        where = compared_at(row)
        return "reference" if row["stage"].startswith(REFERENCE) else f"yes, at {where}" if where else "yes"
    return "NO"


def timing(key):
    return lambda row: "-" if row[key] is None else significant(row[key])


def flips_per_ns(row):
    return "-" if row["ps_per_flip"] is None else significant(1e3 / row["ps_per_flip"])


# heading, cell, whether it is a number (and goes to the right)
BEGIN = [
    ("stage", lambda row: row["stage"][:2], False),
    ("idea", lambda row: row["idea"], False),
    ("runs on", runs_on, False),
]
END = [
    ("GB/s", timing("gb_per_s"), True),
    ("% of copy", lambda row: "-" if row["of_copy"] is None else f"{100 * row['of_copy']:.1f}", True),
    ("x before", lambda row: factor(row["factor_before"]), True),
    ("x 00", lambda row: factor(row["factor_reference"]), True),
    ("same bits", bits, False),
]
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


def shorten(text, limit=45):
    """A terminal has only so many columns."""
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def as_text(result):
    model, rows = model_of(result), result["rows"]
    columns = columns_of(model, rows)
    body = [[shorten(cell(row)) for _, cell, _ in columns] for row in rows]
    widths = [max(len(heading), *(len(line[i]) for line in body)) for i, (heading, _, _) in enumerate(columns)]

    def line(values):
        padded = [v.rjust(w) if number else v.ljust(w) for v, w, (_, _, number) in zip(values, widths, columns)]
        return "  ".join(padded).rstrip()

    lines = [line([heading for heading, _, _ in columns]), "  ".join("-" * width for width in widths)]
    for i, values in enumerate(body):
        if model.rows_first and i and rows[i][model.row] != rows[i - 1][model.row]:
            lines.append("")  # each storage reads as one ladder of stages
        lines.append(line(values))
    return "\n".join(lines)


def as_markdown(headings, body, numbers):
    rule = ["--:" if number else "---" for number in numbers]
    return "\n".join("| " + " | ".join(line) + " |" for line in [headings, rule, *body])


def comparison_as_markdown(model, rows):
    columns = columns_of(model, rows)
    body = [[cell(row) for _, cell, _ in columns] for row in rows]
    return as_markdown([heading for heading, _, _ in columns], body, [number for _, _, number in columns])


def counted(number, unit):
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def problem_in_words(problem):
    """The problem of either model, without its result."""
    size = problem["size"]
    if "steps" in problem:
        return f"{size} x {size} spins, {counted(problem['steps'], 'step')}, seed {problem['seed']}"
    return (
        f"{size} x {size} x {size} sites, {counted(problem['samples'], 'sample')} of "
        f"{counted(problem['replicas'], 'replica')}, T = {problem['temperature']:g}, "
        f"{counted(problem['sweeps'], 'sweep')}, seed {problem['seed']}"
    )


def summary(result):
    """What was done, in a line."""
    problem = result["problem"]
    return f"{problem_in_words(problem)}, on {result['device']['name']}; state {problem['hash']}"


LAUNCH = {
    MAJORITY: "launch: threads along a side of a thread block x spins along a side of a thread's square, or how many "
    "steps are\ncomputed before the lattice is written, at most; the fastest in a",
    SPIN_GLASS: "launch: way of reading, threads of a block x sites that a thread updates together, the fastest in a",
}
BYTES = {
    MAJORITY: "GB/s: each spin read once, written once, in a step or a pass.",
    SPIN_GLASS: "GB/s: of bytes/flip, what has to be moved.\n"
    "A flip is one update of one spin, whether it turns or not. x before: the row above.",
}


def remarks(result):
    """What a reader must not miss; loud things last, where they are seen."""
    model, rows = model_of(result), result["rows"]
    lines = [
        LAUNCH[model],
        f"quick trial, then measured anew, up to {result['repetitions']} times (the median). {BYTES[model]}",
    ]
    if any(row.get("kernel") for row in rows):
        lines.append(
            "k: samples that are bits of one word. Kernels that have words have samples to fill them.\n"
            "cluster: thread blocks that share their memory. at once: replicas that a cluster updates, if not all."
        )
    if any(compared_at(row) for row in rows):
        lines.append("same bits, at ...: with the same generator there; stage 00 is slow. x 00: stage 00 with minstd.")
    lines += [f"left out: {reason}" for reason in result.get("left_out", [])]
    if any(row["platform"] == "cpu" for row in rows):
        lines.append("CPU: the CUDA code on host threads. Its bits count; its times say nothing about a GPU.")
    for kind in sorted({row["build_type"] for row in rows} - {"release"}):
        lines.append(f"{kind.upper()} build: these times mean nothing.")
    for row in rows:
        if not row["bits_agree"]:
            lines.append(f"*** WRONG RESULT *** {row['stage']} ({model.row_in_words(row)}): {row['wrong']}")
    return "\n".join(lines)
