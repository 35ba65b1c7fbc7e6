#!/usr/bin/env python3
"""Fills the measured figures of the texts from common/results. --check: says which are stale, exit code 1.

In the README.md of the repository, of common, of common/results and of the CPU path, and in all Markdown of the stages,

    <!-- table: h200 comparison -->
    anything here is replaced
    <!-- end table -->

is a table, and within a line a single figure is

    <!-- value: h200 comparison NN | where storage is int8 | only ps/site -->3.232<!-- end value -->

What follows a | cuts the table down: to the rows that have one of some values in a column, and to some columns, in the
order in which they are named; several are separated by semicolons (only stage; ms/step; ps/site). The first word is a
folder of common/results, such as h200 or h200/words, the next ones say what to show of it:

    comparison               all rows of comparison.json, as common/run --json writes it
    comparison NN NN         the rows of these stages
    shapes NN int32          ms per step of every launch shape that was tried for this stage and storage
    passes NN                ms per step for every number of steps per pass that was tried for this stage
    figure4 int32            figure4_int32.csv, as common/run --sweep writes it
    counters NN NN           these stages' hardware counters from counters.json, as counters.py writes it
    spin_glass               all rows of spin_glass.json, as common/run --model spin-glass --json writes it
    spin_glass NN NN         the rows of these stages
    spin_glass_launches NN sliced  ms per sweep of every launch that was tried for this stage and indexing
    spin_glass_launches NN sliced philox        the same for one of its generators
    spin_glass_counters NN NN      these stages' hardware counters from spin_glass_counters.json
    spin_glass_sizes 8 10 64 66    ps per flip for these L, or all, from spin_glass_sizes.csv (common/run --sizes)
    generators 8 64 256      ps per flip of every generator for these L, or all, from spin_glass_generators.csv
                             (common/run --generators)
    amsc_targets             best kernel at every L, beside the targets, from spin_glass_words.json
                             (common/run --words)
    amsc_published           these kernels beside the paper's, from the same file
    amsc_kernels             bytes and limits of the kernels from spin_glass_words_counters.json, as
                             counters.py --words writes it
    records                  what others state of their codes and machines, and kernels from words/, overlapped/ and
                             synchronous/
    stencil                  stencil.json, as stencil.py writes it
    prng_fill, prng_count    the two tables of prng.json, as prng.py writes it
    linear_solver a          times of an experiment of linear_solver.json, as linear_solver.py writes it: a to f;
                             "a answers": how good its answers are; puzzle, comparison; report: ours beside the
                             published ones; doubts: what in these does not add up
    scaling 64 256           time and efficiency on every number of ranks at these L, or all, from
                             scaling.json (common/run --scaling)
    scaling_targets, scaling_weak  the targets; weak scaling; both from the same file
    scaling_passes           the kernels wide and overlapped, from scaling.json in folders of these names
    scaling_model 64 256     what the model predicts at these L, or all, from the same file
    scaling_plan 50,10       the same for larger systems, and for links of so many GB/s and microseconds
    recorded_counters        requests, sectors and wavefronts as the CPU path counts them beside ncu's, from
                             recorded_counters.json (common/run --counters --beside)
    recorded_caches          L1 hits and bytes from and to memory as the model of caches has them beside ncu's, from
                             recorded_caches.json (common/run --counters --launch ... --json)
    least_times              the least time that these launches take, and the measured one, from the same file
    first_table              how long it takes to the first table and to green tests, from first_table.json
                             (common/tools/first_table --json)
"""

import argparse
import csv
import inspect
import json
import re
from functools import partial
from pathlib import Path

import stages
import table
from counted import predict, show
from measure import generators, sizes, way_in, words
from models import MAJORITY, SPIN_GLASS
from options import Parser
from stages import Failure, offered, run_tool

TABLE = re.compile(r"(<!-- table: (.*?) -->\n)(.*?)(<!-- end table -->)", re.DOTALL)
VALUE = re.compile(r"(<!-- value: (.*?) -->)(.*?)(<!-- end value -->)")
MARKER = re.compile(r"<!-- (?:table:|end table|value:|end value)")
WHERE = re.compile(r"where (.*?) is (.*)")


def load(folder, model):
    result = json.loads((folder / model.results).read_text())
    wrong = [row["stage"] for row in result["rows"] if not row["bits_agree"]]
    if wrong:
        raise Failure(f"{folder.name}/{model.results} holds wrong results ({', '.join(wrong)}): not to be published")
    return result


def rows_of(model, folder, *numbers):
    result = load(folder, model)
    rows = [row for row in result["rows"] if not numbers or row["stage"][:2] in numbers]
    missing = set(numbers) - {row["stage"][:2] for row in rows}
    if missing:
        raise Failure(f"{folder.name}/{model.results} has no stage {', '.join(sorted(missing))}")
    for row in rows:
        row["idea"] = stages.idea(row["stage"], folder.parents[2])  # as the README says it today
    text = table.comparison_as_markdown(model, rows)
    return f"{text}\n\n{table.summary(result)}; `{result['command']}` on {result['date']}."


def launches(model, folder, number, value, across, heading, text, generator="minstd"):
    """A table of all launches tried: a column for each value of `across`, a row for each text(launch)."""
    for row in load(folder, model)["rows"]:
        same_generator = (row.get("generator") or "minstd") == generator
        if (row["stage"][:2], row[model.row]) == (number, value) and same_generator and row["shapes"]:
            tried = [launch for launch in row["shapes"] if "refused" not in launch]
            best = {name: row.get(name) for name in model.trials if name in row}
            cells = {(text(launch), launch[across]): launch_cell(launch, best, model) for launch in tried}
            names = dict.fromkeys(text(launch) for launch in row["shapes"])  # in the order in which they were tried
            columns = sorted({column for _, column in cells})
            body = [[name, *(cells.get((name, column), "-") for column in columns)] for name in names]
            headings = [f"ms/{model.run}", *map(heading.format, columns)]
            body = [line for line in body if set(line[1:]) != {"-"}]
            return table.as_markdown(headings, body, [False] + [True] * len(columns))
    raise Failure(f"{folder.name}/{model.results} has no launches of stage {number} with {value}")


def launch_cell(launch, best, model):
    time = table.significant(launch[model.time])
    return f"**{time}**" if best.items() <= launch.items() else time


def shapes(folder, number, storage):
    return launches(MAJORITY, folder, number, storage, "thread_width", "width {}", "b = {block}".format_map)


def passes(folder, number):
    """What several steps in a pass bring, as they were tried."""
    tried = {}
    for row in load(folder, MAJORITY)["rows"]:
        if row["stage"][:2] == number:
            tried |= {launch["steps_per_pass"]: launch for launch in row["shapes"] if launch.get(MAJORITY.time)}
    if not tried:
        raise Failure(f"{folder.name}/{MAJORITY.results} has no passes of stage {number}")
    spins, lines = MAJORITY.spins(load(folder, MAJORITY)["problem"]), []
    for steps in sorted(tried):
        ms = tried[steps][MAJORITY.time]
        times = {"ms/step": table.significant(ms), "ps/site": table.significant(ms * 1e9 / spins)}
        lines.append({"steps per pass": str(steps)} | times)
    return table.table_of(lines)


def spin_glass_launches(folder, number, indexing, generator="minstd"):
    def text(launch):
        sites = launch["sites_per_thread"]
        return ", ".join(filter(None, [launch["load"], sites and f"s = {sites}"])) or indexing

    return launches(SPIN_GLASS, folder, number, indexing, "threads", "{} threads", text, generator)


def figure4(folder, storage):
    with (folder / f"figure4_{storage}.csv").open(newline="") as stream:
        headings, *body = csv.reader(stream)
    return table.as_markdown(headings, body, [True] * len(headings))


def largest_stall(row):
    """What a warp waits for most, when it waits to issue."""
    name, share = next(iter(words.stalls(row).items()))
    return f"{name}, {100 * share:.0f} %"


def of(part, whole, factor=1, digits=1):
    return f"{factor * part / whole:.{digits}f}" if whole else "-"


def counter_cells(model, row, n):
    """{heading of a line: a row's cell in it}; n: updates in the kernel."""
    part, names = model.part, {"DRAM, % of peak": "dram_percent", "L2, % of peak": "l2_percent"}
    names |= {"L1 hits, %": "l1_hit_percent"} | ({} if model is MAJORITY else {"L2 hits, %": "l2_hit_percent"})
    rest = {"issue slots used, %": "issue_percent", "warps on an SM, of 64": "warps_per_sm", "registers": "registers"}
    return {
        "stage": row["stage"][:2],
        model.row: row[model.row],
        "generator": row.get("generator") or "minstd",
        "launch": launch_in_words(model, row),
        "us": table.significant(row["microseconds"], 3),
        f"DRAM read + written, B/{part}": " + ".join(of(row[f"dram_{x}_bytes"], n, 1, 2) for x in ("read", "written")),
        **{heading: f"{row[name]:.0f}" for heading, name in names.items()},
        **{f"sectors per {what}": of(row[f"{what}_sectors"], row[f"{what}_requests"]) for what in ("load", "store")},
        "bank conflicts, % of shared accesses": of(row["shared_bank_conflicts"], row["shared_wavefronts"], 100, 0),
        f"thread instructions per {part}": of(row["warp_instructions"], n, 32, 0),
        **{heading: f"{row[name]:.0f}" for heading, name in rest.items()},
        "waits most for": largest_stall(row),
    }


def launch_in_words(model, row):
    if row.get("steps_per_pass"):
        return f"{table.counted(row['steps_per_pass'], 'step')} per pass"
    values = [row[name] for name in model.trials if row.get(name) is not None]
    numbers = " x ".join(str(value) for value in values if not isinstance(value, str))
    return ", ".join([value for value in values if isinstance(value, str)] + [numbers])


def counters_of(model, name, part, folder, *numbers):
    """A line a counter and a column a launch: there are more counters than a page is wide. `part`: of the lattice, that
    a kernel updates."""
    result = json.loads((folder / name).read_text())
    rows = [row for row in result["rows"] if row["stage"][:2] in numbers]
    if not rows:
        raise Failure(f"{folder.name}/{name} has no stage {', '.join(numbers)}")
    n = part * model.spins(result)
    # A kernel that takes several steps updates each spin as often.
    columns = [counter_cells(model, row, n * (row.get("steps_per_pass") or 1)) for row in rows]
    headings, *lines = [[heading, *(cells[heading] for cells in columns)] for heading in columns[0]]
    # Bank conflicts, where no memory is shared; the generator, where there is only one.
    lines = [line for line in lines if not set(line[1:]) <= {"-", "0"} and set(line[1:]) != {"minstd"}]
    return table.as_markdown(headings, lines, [False] + [True] * len(rows))


def kinds():
    """{what a marker names: its function of the folder and of the marker's other words}"""
    own = (shapes, passes, figure4, spin_glass_launches)
    others = {
        "comparison": partial(rows_of, MAJORITY),
        "spin_glass": partial(rows_of, SPIN_GLASS),
        "counters": partial(counters_of, MAJORITY, "counters.json", 1),
        "spin_glass_counters": partial(counters_of, SPIN_GLASS, "spin_glass_counters.json", 1 / 2),
        "spin_glass_sizes": sizes.markdown,
        "generators": generators.markdown,
        "amsc_targets": words.targets_markdown,
        "amsc_published": words.published_markdown,
        "amsc_kernels": words.kernels_markdown,
        "first_table": way_in.markdown,
        "recorded_counters": show.truth_of_folder,
        "recorded_caches": show.truth_of_caches_of_folder,
        "least_times": predict.predictions_of_folder,
    }
    return {kind.__name__: kind for kind in own} | others | offered("TABLES")


def cells_of(line):
    return line.removeprefix("| ").removesuffix(" |").split(" | ")


def cut_down(text, cuts):
    """(headings, rows, which columns are numbers, what stands below) of a table in Markdown, less what is not asked
    for."""
    head, *below = text.split("\n\n", 1)
    headings, rule, *rows = map(cells_of, head.split("\n"))

    def place(heading):
        if headings.count(heading) != 1:
            raise Failure(f"'{heading}' is not one of the columns: {'; '.join(headings)}")
        return headings.index(heading)

    columns = range(len(headings))
    for cut in cuts:
        where = WHERE.fullmatch(cut)
        if where:
            at, values = place(where[1]), where[2].split("; ")
            missing = set(values) - {row[at] for row in rows}
            if missing:
                raise Failure(f"no row has '{', '.join(sorted(missing))}' under '{where[1]}'")
            rows = [row for row in rows if row[at] in values]
        elif cut.startswith("only "):
            columns = [place(heading) for heading in cut.removeprefix("only ").split("; ")]
        else:
            raise Failure(f"'{cut}': it takes 'where COLUMN is VALUE; VALUE' or 'only COLUMN; COLUMN'")
    chosen = [[line[at] for at in columns] for line in (headings, *rows)]
    return chosen[0], chosen[1:], [rule[at] == "--:" for at in columns], below


def render(root, what):
    """The table that a marker asks for, in Markdown, and what stands below it."""
    asked, *cuts = what.split(" | ")
    headings, rows, numbers, below = cut_down(whole_table(root, asked), cuts)
    return "\n\n".join([table.as_markdown(headings, rows, numbers), *below])


def value(root, what):
    """The only cell of the table that a marker asks for."""
    asked, *cuts = what.split(" | ")
    headings, rows, *_ = cut_down(whole_table(root, asked), cuts)
    if (len(rows), len(headings)) != (1, 1):
        raise Failure(f"'{what}': there are {len(rows)} rows of {len(headings)}, not one of one")
    return rows[0][0]


def whole_table(root, what):
    known, asked = kinds(), what.split()
    if len(asked) < 2 or asked[1] not in known:
        raise Failure(f"'{what}': it takes a folder of common/results and one of {', '.join(known)}")
    folder, kind, *arguments = root / "common/results" / asked[0], known[asked[1]], *asked[2:]
    try:
        inspect.signature(kind).bind(folder, *arguments)
    except TypeError as error:
        raise Failure(f"'{what}': {error}") from None
    try:
        return kind(folder, *arguments)
    except FileNotFoundError as error:
        raise Failure(f"'{what}': there is no {Path(error.filename).relative_to(root)}") from None


def filled(root, text):
    result = TABLE.sub(lambda match: f"{match[1]}{render(root, match[2])}\n{match[4]}", text)
    result = VALUE.sub(lambda match: f"{match[1]}{value(root, match[2])}{match[4]}", result)
    if len(MARKER.findall(text)) != 2 * len([*TABLE.findall(text), *VALUE.findall(text)]):
        raise Failure("a table's marker has no partner")
    return result


def main(arguments):
    parser = Parser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if a table is stale")
    parser.add_argument("--root", type=Path, default=stages.ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    stale = 0
    stages_own = options.root.glob("[0-9][0-9]_*/**/*.md")
    shared = [options.root / place / "README.md" for place in ("", "common", "common/results", "common/gpu/on_cpu")]
    for readme in [*shared, *sorted(stages_own)]:
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
    run_tool(main, "readme_tables")
