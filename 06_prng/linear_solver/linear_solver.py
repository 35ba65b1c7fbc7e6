#!/usr/bin/env python3
"""Runs the experiments of stage 06's Monte Carlo linear solver and prints them beside the report's.

    a  random numbers: generators and seedings      b  loads               c  arrays or structs
    d  who walks in the forward method              e  caching             f  cutoff or fixed steps
    puzzle       true error against the number of walks for each seeding, with a picture
    comparison   the Neumann series and conjugate gradients up to the walks' error

The program linear_solver does it all. Results are kept after each of its runs in linear_solver.json of the output
folder, so an interrupted call is continued by calling again; what is there is not run again. The report is S. Hamilton,
M. Lupo Pasini, Monte Carlo Linear Solvers in CUDA (Profugus); published.csv has its numbers.
"""

import datetime
import itertools
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")

import published
import table
from build import build_if_configured
from options import Parser, add_common_options, adder, some_of
from pictures.plots import curve, draw_or_say, legend_beside, save, subplots
from results import kept_result, read_result
from stages import Failure, last_line, progress, run_tool

FORMAT = "psFlip linear solver, version 1"
NAME = "linear_solver"
EXPERIMENTS = {
    "a": "random numbers",
    "b": "loads",
    "c": "arrays or structs",
    "d": "forward: who walks",
    "e": "caching",
    "f": "cutoff or fixed steps",
    "puzzle": "error against walks",
    "comparison": "deterministic methods",
}
EXPERIMENT_LETTERS = "abcdef"  # those that the report has, too
# Two more tables, of what is there: ours beside the report's, and what in the report does not add up.
BESIDE, DOUBTS = "report", "doubts"
# Steps per walk, at full size: (system, variant).
KNOWN_STEPS = {
    ("1D", "cutoff 1e-9"): "93",
    ("2D", "cutoff 1e-9"): "836",
    ("1D", "10,000 steps"): "10,000",
    ("2D", "10,000 steps"): "10,000",
}


@dataclass(frozen=True)
class Size:
    """How large the experiments are."""

    systems: dict  # "1D", "2D" and "diffusion": the program's --matrix
    walks: int  # of the adjoint method
    loads: dict  # the same, with the other estimator, which adds to all neighbours
    fewer: dict  # the same, for which residuals are known, too
    forward: dict  # walks for each entry
    fixed: int  # walks that take all steps
    steps: int  # that these take
    puzzle: dict  # walks: seeds
    compared: dict
    repetitions: int


FULL = Size(
    systems={"1D": "lap1d:1000000,0.5", "2D": "lap2d:30,30", "diffusion": "diffusion2g"},
    walks=10**7,
    loads={"1D": 10**7, "2D": 10**6},
    fewer={"1D": 9984, "2D": 10**6},
    forward={"1D": 256, "2D": 8192},
    fixed=10**5,
    steps=10**4,
    puzzle={10**4: 3, 10**5: 3, 10**6: 3, 10**7: 3, 10**8: 1},
    compared={"1D": 10**7, "2D": 10**7, "diffusion": 10**6},
    repetitions=3,
)
# To see that everything runs, on a CPU, in seconds.
QUICK = Size(
    systems={"1D": "lap1d:500,0.5", "2D": "lap2d:8,8", "diffusion": "lap2d:12,5"},
    walks=2000,
    loads={"1D": 2000, "2D": 500},
    fewer={"1D": 200, "2D": 200},
    forward={"1D": 4, "2D": 64},
    fixed=200,
    steps=100,
    puzzle={500: 2, 5000: 1},
    compared={"1D": 2000, "2D": 2000, "diffusion": 2000},
    repetitions=1,
)

SEEDINGS = {
    "Philox": {"generator": "philox"},
    "XORWOW, subsequences": {"generator": "xorwow", "seeding": "subsequences"},
    "XORWOW, consecutive seeds": {"generator": "xorwow", "seeding": "consecutive"},
    "XORWOW, random seeds": {"generator": "xorwow", "seeding": "random"},
    "XORWOW, hashed 64-bit seeds": {"generator": "xorwow", "seeding": "hashed"},
    "XORWOW, consecutive, 1 discarded": {"generator": "xorwow", "seeding": "consecutive", "discard": 1},
}
SEED, SEED_STEP = 42, 10**9  # seeds so far apart that consecutive ones do not overlap


@dataclass
class Run:
    """One row: a variant of an experiment, as options of the program."""

    system: str
    variant: str
    options: dict
    base: str = ""  # the variant that its time is compared with


def runs_of(experiment, size):
    def adjoint(system):
        return {"matrix": size.systems[system], "histories": size.walks, "repetitions": size.repetitions}

    def with_h(system):  # only this estimator reads H
        return adjoint(system) | {"histories": size.loads[system], "estimator": "expected"}

    def forward(system):
        # One group: all walks of an entry in one launch. It leaves no standard error.
        return adjoint(system) | {"method": "forward", "histories": size.forward[system], "groups": 1}

    def fixed(system):
        return adjoint(system) | {"histories": size.fixed}

    def compared(system):
        return adjoint(system) | {"histories": size.compared[system], "compare": True}

    if experiment == "puzzle":
        return [
            Run("2D", name, {"matrix": size.systems["2D"], "histories": walks, "seed": SEED + k * SEED_STEP} | options)
            for walks, seeds in size.puzzle.items()
            for name, options in SEEDINGS.items()
            for k in range(seeds)
        ]
    batched = {
        "XORWOW, subsequences, batches of 5": SEEDINGS["XORWOW, subsequences"] | {"batch": 5},
        "Philox, batches of 5": {"generator": "philox", "batch": 5},
    }
    loads = ("plain", "ldg-h", "ldg-p", "ldg-w", "ldg-index", "ldg-all", "restricted")
    maps = {
        "a thread per entry": {"map": "entry"},
        "a thread per walk, atomics": {"map": "history-atomic"},
        "a thread per walk, one reduction": {"map": "history-reduced"},
    }
    caching = {"-dlcm=ca, plain": {"load": "plain"}, "-dlcm=cg": {"load": "cg"}, "-dlcm=cv": {"load": "cv"}}
    fixed_steps = f"{size.steps:,} steps"
    ends = {"cutoff 1e-9": {"cutoff": 1e-9}, fixed_steps: {"cutoff": 0, "max-steps": size.steps}}
    variants, base, common = {
        "a": (SEEDINGS | batched, "XORWOW, subsequences", adjoint),
        "b": ({load: {"load": load} for load in loads}, "plain", with_h),
        "c": ({layout: {"layout": layout} for layout in ("arrays", "structs")}, "arrays", with_h),
        "d": (maps, "a thread per entry", forward),
        "e": (caching, "-dlcm=ca, plain", with_h),
        "f": (ends, fixed_steps, fixed),
        "comparison": ({"compared": {}}, "", compared),
    }[experiment]
    systems = size.compared if experiment == "comparison" else ("1D", "2D")
    runs = [
        Run(system, name, common(system) | options, base) for system in systems for name, options in variants.items()
    ]
    if experiment == "a":
        runs += [
            Run(system, "Philox, fewer walks", adjoint(system) | {"generator": "philox", "histories": walks})
            for system, walks in size.fewer.items()
        ]
    return runs


def call(program, options, device):
    """The program's JSON object, or why it refused: exit code 2."""
    words = [str(program), "--json", "--device", device]
    for name, value in options.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError:
        raise Failure(f"linear_solver is not built in {program.parents[2]} (it needs Eigen and SuiteSparse)") from None
    message = last_line(done.stderr, done.returncode)
    if done.returncode == 2:
        return {"refused": message.removeprefix("linear_solver: ")}
    if done.returncode != 0:
        raise Failure(message)
    return json.loads(done.stdout)


def measure(options):
    size = QUICK if options.quick else FULL
    file = options.output / f"{NAME}.json"
    all_results = kept_result(file, FORMAT) or {
        "format": FORMAT,
        "quick": options.quick,
        "device": None,
        "experiments": {},
    }
    if all_results["quick"] != options.quick:
        raise Failure(f"{file} has {'' if all_results['quick'] else 'no '}quick results; take another --output")
    for experiment in options.experiments:
        found = all_results["experiments"].setdefault(experiment, {"rows": []})
        before, found["rows"] = found["rows"], []
        for run in runs_of(experiment, size):
            progress(f"{experiment}: {run.system}, {run.variant}")
            row = next((row for row in before if row["options"] == run.options), None)
            if row is None:
                row = {"date": datetime.date.today().isoformat()}
                row["result"] = call(options.program, run.options, options.device)
            row |= {"system": run.system, "variant": run.variant, "base": run.base, "options": run.options}
            found["rows"].append(row)
            if "refused" not in row["result"]:
                device = {name: row["result"]["device"][name] for name in ("name", "platform")}
                if all_results["device"] not in (None, device):
                    raise Failure(f"{file} has results of {all_results['device']['name']}; take another --output")
                all_results["device"] = device
            file.write_text(json.dumps(all_results, indent=1) + "\n")
        progress("")
        if all("refused" in row["result"] for row in found["rows"]):
            raise Failure(f"nothing of experiment {experiment} could be run: {found['rows'][0]['result']['refused']}")
    return all_results


# ---- Tables


def seconds(row):
    """Of the walks, and what makes their random numbers. The set-up is not in it."""
    return row["result"]["seconds"]["generator"] + row["result"]["seconds"]["kernel"]


def small(value):
    return "-" if value is None else "0" if value == 0 else table.significant(value, 3)


def at_full_size(row):
    return row["result"]["system"]["matrix"] == FULL.systems[row["system"]]


def reported_residual(row):
    """Of the same walks in the report. Good streams are compared with its subsequences."""
    request = row["result"]["request"]
    if (request["method"], request["estimator"]) != ("adjoint", "collision") or not at_full_size(row):
        return None
    bad = request["seeding"] in ("consecutive", "random") and request["discard"] == 0
    seeding = request["seeding"] if bad else "subsequences"
    return published.residual(published.tables(), seeding, row["system"], request["histories"])


def measured_rows(result, experiment):
    return [row for row in result["experiments"][experiment]["rows"] if "refused" not in row["result"]]


def ratios(rows):
    """{(system, variant): its base's time over its own}: more than 1 is faster."""
    times = {(row["system"], row["variant"]): seconds(row) for row in rows}
    bases = {(row["system"], row["variant"]): times.get((row["system"], row["base"])) for row in rows}
    return {key: bases[key] / time if bases[key] and time else None for key, time in times.items()}


def as_ratio(value):
    return "-" if value is None else f"{value:.2f}"


def experiment_table(result, experiment):
    """A row per variant: how long it takes, and the ratio to the first way of doing it."""
    rows = measured_rows(result, experiment)
    faster, report = ratios(rows), published.tables()

    def line(row):
        found, key = row["result"], (row["system"], row["variant"])
        theirs = {
            f"report, {name}": as_ratio(
                published.x_as_fast(report, experiment, row["variant"], row["system"], end)
                if at_full_size(row)
                else None
            )
            for end, name in (("cutoff", "cutoff"), ("fixed", "fixed steps"))
        }
        return {
            "system": row["system"],
            "variant": row["variant"],
            "walks": f"{found['request']['histories']:,}",
            "steps per walk": f"{found['steps_per_history']:,.1f}",
            "set-up, s": small(found["seconds"]["setup"]),
            "generator, s": small(found["seconds"]["generator"]),
            "walks, s": small(found["seconds"]["kernel"]),
            "x as fast": as_ratio(faster[key]),
            **theirs,
        }

    return table.table_of(list(map(line, rows)), ("system", "variant"))


def answers_table(result, experiment):
    """A row per variant: how good its answer is."""

    def line(row):
        found = row["result"]
        known_steps = KNOWN_STEPS.get((row["system"], row["variant"]), "-") if at_full_size(row) else "-"
        return {
            "system": row["system"],
            "variant": row["variant"],
            "walks": f"{found['request']['histories']:,}",
            **({"known steps": known_steps} if experiment == "f" else {}),
            "residual": small(found["residual"]),
            "report: residual": small(reported_residual(row)),
            "true error": small(found["error"]),
            "expected error": small(found["expected_error"]),
            **({"chi²/dof of draws 1, 2": f"{found['pair_chi_squared']:.1f}"} if experiment == "a" else {}),
        }

    return table.table_of([line(row) for row in measured_rows(result, experiment)], ("system", "variant"))


def beside_table(result):
    """Every ratio that both have: ours, and the report's with its set-up and, where that can be taken off, without."""
    report, body = published.tables(), []
    for experiment in filter(EXPERIMENT_LETTERS.__contains__, result["experiments"]):
        rows = measured_rows(result, experiment)
        faster = ratios(rows)
        for row in rows:
            system, variant = key = row["system"], row["variant"]
            pairs = published.COUNTERPARTS.get((experiment, variant))
            if not pairs or not at_full_size(row):
                continue
            asked = experiment, variant, system
            totals = [published.x_as_fast(report, *asked, end) for end in ("cutoff", "fixed")]
            body.append(
                {
                    "experiment": experiment,
                    "system": system,
                    "variant": variant,
                    "x as fast": as_ratio(faster[key]),
                    "report, cutoff": as_ratio(totals[0]),
                    "report, fixed steps": as_ratio(totals[1]),
                    "report, less set-up": as_ratio(published.less_set_up(report, *asked)),
                    "its tables": "; ".join(f"{own} against {base}" for own, base in pairs.values()),
                    "its finding": published.verdict(faster[key], published.comparable(report, *asked)),
                }
            )
    if not body:
        raise Failure("nothing here can be compared with the report: it takes an experiment of a to f at full size")
    text = table.table_of(body, ("experiment", "system", "variant", "its tables", "its finding"))
    return f"""{text}

More than 1 is faster than the first way of doing it. The report's are ratios of total times, for 10,000,000 adjoint
walks; with d, for 1,000 (2D) and 5 (1D) forward walks per entry. Its finding, in 2D by the ratio with the cutoff if it
has one, in 1D by that less the time of 10,000 walks, nearly all set-up: *held*, on the same side of 1 as ours, or both
within 5 % of it; *void*, only the report saw a difference; *new*, only we do; *reversed*, faster became slower."""


def doubts_table():
    """The report's printed ratios that do not follow from its printed times."""
    body = [
        {
            "table": str(row.table),
            "system": row.system,
            "walks": f"{row.walks:,}",
            "compared with table": str(row.base),
            "ratio as printed": row.ratio,
            "ratio of the times": f"{row.ms / base.ms:.3f}",
            "remark": why or "-",
        }
        for row, base, why in published.doubts(published.tables())
    ]
    return f"""{table.table_of(body, ("system", "remark"))}

Ratios of times, by those of the table compared with: less than 1 is faster. Only those that differ by more than two
units of the last digit printed."""


def puzzle_lines(result):
    """{variant: {walks: (true error, expected error)}}: root mean squares over the seeds. What is not finite is left
    out."""
    lines = {}
    for row in result["experiments"]["puzzle"]["rows"]:
        found = row["result"]
        if "refused" not in found and found["error"] and found["expected_error"]:
            points = lines.setdefault(row["variant"], {}).setdefault(found["request"]["histories"], [])
            points.append((found["error"], found["expected_error"]))

    def mean(values):
        return math.sqrt(sum(value**2 for value in values) / len(values))

    return {
        variant: {walks: tuple(map(mean, zip(*points))) for walks, points in sorted(line.items())}
        for variant, line in lines.items()
    }


def slope(line):
    """Of log(true error) against log(walks), from the first point to the last; None for a single point."""
    walks = list(line)
    if len(walks) < 2:
        return None
    return math.log(line[walks[-1]][0] / line[walks[0]][0]) / math.log(walks[-1] / walks[0])


def puzzle_table(result):
    lines = puzzle_lines(result)
    walks = sorted({count for line in lines.values() for count in line})
    chi = {
        row["variant"]: row["result"]["pair_chi_squared"]
        for row in result["experiments"]["puzzle"]["rows"]
        if "refused" not in row["result"]
    }
    body = []
    for variant, line in lines.items():
        last, errors = line.get(walks[-1]), {count: f"{error:.2e}" for count, (error, _) in line.items()}
        body.append(
            {
                "streams": variant,
                "chi²/dof of draws 1, 2": f"{chi[variant]:.1f}",
                **{f"true error, {count:,} walks": errors.get(count, "-") for count in walks},
                "slope": "-" if slope(line) is None else f"{slope(line):.2f}",
                f"true / expected error, {walks[-1]:,}": f"{last[0] / last[1]:.1f}" if last else "-",
            }
        )
    return table.table_of(body, ["streams"])


def comparison_table(result):
    methods = {"richardson": "Neumann series", "conjugate-gradients": "conjugate gradients"}
    headings = ["system", "method", "runs on", "iterations or steps", "seconds", "true error", "x as fast as the walks"]
    body = []
    for row in result["experiments"]["comparison"]["rows"]:
        found, system = row["result"], row["system"]
        if "refused" in found:
            continue
        walks, error = seconds(row), f"{found['error']:.2e}" if found["error"] else "-"
        method = f"{found['request']['histories']:,} walks"
        body.append(
            [system, method, found["device"]["platform"].upper(), f"{found['steps']:,}", small(walks), error, "1"]
        )
        for rival in found["compare"]:
            line = [system, methods[rival["solver"]], rival["platform"].upper()]
            if "left_out" in rival:
                line += ["-", "-", "-", rival["left_out"]]
            else:
                faster = f"{walks / rival['seconds']:,.0f}" if rival["seconds"] > 0 else "-"
                line += [f"{rival['iterations']:,}", f"{rival['seconds']:.2e}", f"{rival['error']:.2e}", faster]
            body.append(line)
    return table.as_markdown(headings, body, 3 * [False] + 4 * [True])


def remarks(result, experiment):
    found = result["experiments"][experiment]
    there = [row for row in found["rows"] if "refused" not in row["result"]]
    text = f"On {result['device']['name']}, {max(row['date'] for row in there)}: "
    text += f"`06_prng/linear_solver/linear_solver.py --experiments {experiment}"
    text += " --quick`. Toy sizes, of which the times mean nothing." if result["quick"] else "`."
    text += "".join(f" {warning}" for warning in table.build_warnings(row["result"] for row in there))
    systems = {row["system"]: row["result"]["system"]["matrix"] for row in there}
    text += " " + "; ".join(f"{name}: `{matrix}`" for name, matrix in systems.items()) + "."
    for reason, rows in itertools.groupby(
        (row for row in found["rows"] if "refused" in row["result"]), key=lambda row: row["result"]["refused"]
    ):
        names = ", ".join(dict.fromkeys(row["variant"] for row in rows))
        text += f" Left out: {names} ({reason})."
    return text


def table_text(result, experiment, part=""):
    """An experiment's table, or with `part` how good the answers are, and what has to be said about it."""
    if part:
        made = answers_table(result, experiment)
    elif experiment in EXPERIMENT_LETTERS:
        made = experiment_table(result, experiment)
    else:
        made = {"puzzle": puzzle_table, "comparison": comparison_table}[experiment](result)
    return f"{made}\n\n{remarks(result, experiment)}"


def markdown(folder, experiment, part=""):
    """A table of the README or of measured.md from linear_solver.json in a folder of common/results."""
    if experiment == DOUBTS:
        return doubts_table()
    if experiment not in [*EXPERIMENTS, BESIDE]:
        raise Failure(
            f"{NAME}: there is no table '{experiment}'; there are {', '.join([*EXPERIMENTS, BESIDE, DOUBTS])}"
        )
    if part not in ("", "answers") or (part and experiment not in EXPERIMENT_LETTERS):
        raise Failure(f"{NAME} {experiment}: there is no '{part}'; only {', '.join(EXPERIMENT_LETTERS)} have answers")
    result = read_result(folder / f"{NAME}.json", FORMAT)
    if experiment == BESIDE:
        return beside_table(result)
    if experiment not in result["experiments"]:
        raise Failure(f"{folder.name}/{NAME}.json has no experiment {experiment}")
    return table_text(result, experiment, part)


TABLES = {"linear_solver": markdown}


def draw(result, file):
    """True error against walks for each seeding, both axes logarithmic; and what chance alone would leave."""
    lines = puzzle_lines(result)
    figure, axes = subplots(figsize=(8, 5.5))
    for number, (variant, line) in enumerate(lines.items()):
        true = {walks: error for walks, (error, _) in line.items()}
        look = {"marker": "osD^v<>"[number % 7], "linewidth": 1.2, "markersize": 5}
        curve(axes, true, color=f"C{number}", label=variant, **look)
    if "Philox" in lines:
        chance = {walks: expected for walks, (_, expected) in lines["Philox"].items()}
        curve(axes, chance, "k--", label="expected: Philox's standard error")
    axes.set(xscale="log", yscale="log", xlabel="walks", ylabel="true error, ||x − exact|| / ||exact||")
    axes.set(title=f"What seeding does to the answer, {result['device']['name']}")
    axes.grid(alpha=0.3)
    legend_beside(axes)
    save(figure, file)


def parse_options(arguments):
    parser = Parser(description=__doc__)
    add, flag = adder(parser), parser.add_argument
    add("--experiments", "a,b,puzzle", "only these (all)", some_of(EXPERIMENTS), default=list(EXPERIMENTS))
    flag("--quick", action="store_true", help="toy sizes: shows in seconds that everything runs")
    folder = f"folder of {NAME}.json and {NAME}.svg, for instance common/results/h200"
    add("--output", "DIR", folder, Path, required=True)
    flag("--draw", action="store_true", help="print and draw what is there, run nothing")
    add_common_options(parser)
    options = parser.parse_args(arguments)
    options.experiments = list(dict.fromkeys(options.experiments))
    options.program = options.build_dir / "06_prng/linear_solver/linear_solver"
    try:
        options.output.mkdir(parents=True, exist_ok=True)  # now, not after minutes of work
    except OSError:
        parser.error(f"--output {options.output}: it cannot be made a folder")
    return options


def main(arguments):
    options = parse_options(arguments)
    if not options.draw:
        build_if_configured(options.build_dir, "linear_solver")
    result = kept_result(options.output / f"{NAME}.json", FORMAT) if options.draw else measure(options)
    if not result:
        raise Failure(f"{options.output} has no {NAME}.json")
    shown = [experiment for experiment in options.experiments if experiment in result["experiments"]]
    for experiment in shown:
        print(f"## {experiment}: {EXPERIMENTS[experiment]}\n\n{table_text(result, experiment)}\n")
        if experiment in EXPERIMENT_LETTERS:
            print(f"{answers_table(result, experiment)}\n")
    if not result["quick"] and any(experiment in EXPERIMENT_LETTERS for experiment in shown):
        print(f"## Beside the report's\n\n{beside_table(result)}\n")
        print(f"## What in the report does not add up\n\n{doubts_table()}\n")
    if "puzzle" in shown:
        draw_or_say(draw, result, options.output / f"{NAME}.svg", asked=options.draw)
    return 0


if __name__ == "__main__":
    run_tool(main, "linear_solver")
