"""Runs of the program `spin_glass`, and what all scripts of this folder do with what it measures."""

import argparse
import csv
import json
import math
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import table
from options import Parser, adder, at_least, comma_list, new_file, positive, whole
from results import begin_result, read_result, write_result
from stages import ROOT, Failure, last_line, progress, refuse

LARGEST_PULL = 4


# ---- Running


@dataclass(frozen=True)
class Measured:
    """What a run wrote: `header` as in the file, `rows` a measuring time each, numbers by column; None: no such
    number."""

    header: dict
    rows: list
    command: str

    def row(self, sweep):
        """The row of a measuring time, or None."""
        return next((row for row in self.rows if row["sweep"] == sweep), None)


def read_table(file, wanted=lambda row: True):
    """The header's members, and the wanted rows as dictionaries of numbers, of a .csv file of spin_glass."""
    header = {}
    with open(file, newline="") as lines:
        for line in lines:
            if not line.startswith("# "):
                break
            key, value = line[2:].split(": ", 1)
            header[key] = json.loads(value)
        columns = next(csv.reader([line]))
        rows = filter(wanted, csv.DictReader(lines, columns))
        return header, [{key: number(text) for key, text in row.items()} for row in rows]


def number(text):
    return None if text == "" else int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def option_text(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def simulate(program, folder, name, options, outputs=(), launch=()):
    """One run of spin_glass: its averages. `options`: by option name without dashes. `launch`: further arguments,
    which do not change the result.

    Its files are <folder>/<name>.*: <name>.csv has the averages, and <name>.<output>.csv what an option of `outputs`
    writes, "output" or "correlations". A run that is finished is not done again, one that was stopped is continued.
    Throws Failure with the program's own line if it refuses, and if the files are those of another run."""
    averages, checkpoint = folder / f"{name}.csv", folder / f"{name}.checkpoint"
    problem = [text for option, value in options.items() for text in (f"--{option}", option_text(value))]
    files = ["--averages", averages.name]
    for output in outputs:
        files += [f"--{output}", f"{name}.{output}.csv"]
    # All files of a run appear at its end; the averages after those that are read here.
    if not averages.exists():
        saved = ["--resume" if checkpoint.exists() else "--checkpoint", checkpoint.name]
        command = [str(Path(program).resolve()), *problem, *launch, *files, *saved]
        progress(name)
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        except OSError as error:
            raise Failure(f"{program}: {error.strerror}") from None
        if done.returncode != 0:
            raise Failure(f"{name}: {last_line(done.stderr, done.returncode)}")
        for file in (checkpoint, checkpoint.with_name(checkpoint.name + ".rows")):
            file.unlink(missing_ok=True)  # of a finished run; a large one
        progress("")
    header, rows = read_table(averages)
    for option, value in options.items():
        had = header["problem"][option.replace("-", "_")]
        if had != value:
            raise Failure(f"{averages} has {option} {had}, not {value}; take another --folder")
    return Measured(header, rows, shlex.join(["spin_glass", *problem, *launch, *files]))


def simulate_all(wanted, options):
    """simulate() for each of `wanted`, its (name, options, outputs), in their order; up to --jobs at a time, so that
    one can make its couplings while another one keeps the device busy."""
    options.folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        started = [
            pool.submit(simulate, options.program, options.folder, name, one, outputs, options.launch)
            for name, one, outputs in wanted
        ]
        try:
            return [one.result() for one in started]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


# ---- Numbers


def mean(values):
    return sum(values) / len(values)


def independent_mean(values, errors):
    """The mean of independent numbers, and its error from theirs. None if one of them is missing."""
    if None in values or None in errors:
        return None, None
    return mean(values), math.sqrt(sum(error**2 for error in errors)) / len(errors)


def error_of_groups(values, group):
    """The standard error of the mean of `values`, from the means of groups of so many; all groups are full."""
    means = [mean(values[i : i + group]) for i in range(0, len(values), group)]
    centre = mean(means)
    return math.sqrt(sum((one - centre) ** 2 for one in means) / len(means) / (len(means) - 1))


def jackknife(samples, f):
    """f(samples), and the error of each of its numbers from leaving out one sample after the other. Independent
    samples, at least two; f gives a tuple."""
    values = f(samples)
    without = [f(samples[:i] + samples[i + 1 :]) for i in range(len(samples))]
    errors = []
    for i in range(len(values)):
        centre = mean([one[i] for one in without])
        squares = sum((one[i] - centre) ** 2 for one in without)
        errors.append(math.sqrt(squares * (len(samples) - 1) / len(samples)))
    return values, tuple(errors)


def fit_line(x, y, errors):
    """a, b and chi^2 of y = a + b x by weighted least squares. At least two different x."""
    weights = [error**-2 for error in errors]
    total = sum(weights)
    x_mean = sum(w * x for w, x in zip(weights, x)) / total
    y_mean = sum(w * y for w, y in zip(weights, y)) / total
    slope = sum(w * (x - x_mean) * (y - y_mean) for w, x, y in zip(weights, x, y)) / sum(
        w * (x - x_mean) ** 2 for w, x in zip(weights, x)
    )
    start = y_mean - slope * x_mean
    return start, slope, sum(w * (y - start - slope * x) ** 2 for w, x, y in zip(weights, x, y))


def fit_power(t, xi, errors):
    """B, z and chi^2 of xi = B t^(1/z), fitted to log(xi) over log(t)."""
    relative = [error / value for value, error in zip(xi, errors)]
    start, slope, squares = fit_line([math.log(one) for one in t], [math.log(one) for one in xi], relative)
    return math.exp(start), 1 / slope, squares


def chi_squared_tail(chi_squared, degrees):
    """The probability of at least this chi^2 with so many degrees of freedom, 1 to 300: the finite sums of Abramowitz
    and Stegun, 26.4.4 and 26.4.5."""
    half, odd = chi_squared / 2, degrees % 2
    tail = math.erfc(math.sqrt(half)) if odd else math.exp(-half)
    for k in range(1 if odd else 2, degrees, 2):
        tail += math.exp(-half) * half ** (k / 2) / math.gamma(k / 2 + 1)
    return tail


# ---- Comparing


def comparison(what, value, error, reference, reference_error, source):
    """One number beside what is known of it. `pull`: how many errors they are apart, those of both together."""
    pull = (value - reference) / math.hypot(error, reference_error)
    known = {"reference": reference, "reference_error": reference_error, "source": source}
    return {"what": what, "value": value, "error": error, **known, "pull": pull}


def with_error(row, name):
    return row[name], row[f"{name}_error"]


def in_words(value, error):
    """1.23456, 0.0021 -> '1.2346(21)'; as many digits as the error has sense for. '-' for None."""
    if value is None:
        return "-"
    if not error:
        return f"{value:.9g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    scaled = round(error * 10**digits)
    if digits and scaled >= 100:  # 0.0998 is 0.10
        digits, scaled = digits - 1, round(error * 10 ** (digits - 1))
    return f"{value:.{digits}f}({scaled})"


def print_table(headings, body):
    print(table.aligned(headings, body, [False] * len(headings), rule=True))


def print_comparisons(comparisons):
    body = []
    for one in comparisons:
        here, known = in_words(one["value"], one["error"]), in_words(*with_error(one, "reference"))
        body.append([one["what"], here, known, f"{one['pull']:+.2f}", one["source"]])
    print_table(["", "here", "known", "pull", "from"], body)


def verdict(comparisons, largest=LARGEST_PULL):
    """The exit code: 1 if something disagrees, which is said on stderr."""
    wrong = [one for one in comparisons if not abs(one["pull"]) <= largest]
    for one in wrong:
        print(f"*** DISAGREES *** {one['what']}: {one['pull']:+.1f} errors", file=sys.stderr)
    return 1 if wrong else 0


def conclude(result):
    """Prints all comparisons of a result. The exit code."""
    comparisons = [known for one in result["temperatures"] for known in one["comparisons"]]
    print_comparisons(comparisons)
    return verdict(comparisons)


def without_files(arguments):
    """The arguments but for those that say where files are, which is different for everyone."""
    kept, rest = [], iter(arguments)
    for argument in rest:
        if argument in ("--program", "--folder", "--json", "--plot"):
            next(rest)
        elif not re.match("--(program|folder|json|plot)=", argument):
            kept.append(argument)
    return kept


def describe(name, arguments, runs):
    """The beginning of a result file."""
    problem = dict(runs[0].header["problem"])
    for varies in ("beta", "temperature", "seed", "ferromagnetic_fraction", "couplings", "couplings_hash"):
        del problem[varies]
    command = shlex.join([f"07_amsc/physics/{name}.py", *without_files(arguments)])
    where = {key: runs[0].header[key] for key in ("stage", "device", "launch")}
    commands = [run.command for run in runs]
    return begin_result(f"psFlip {name}, version 1", command) | where | {"problem": problem, "commands": commands}


def write(result, file):
    """Whole or not at all, so that an older result is not lost to a full disk."""
    part = file.with_name(file.name + ".part")
    write_result(part, result)
    part.replace(file)


def read(file, name):
    return read_result(file, f"psFlip {name}, version 1")


# ---- Command lines


def parser(description, *, size, samples, sweeps, measure, temperatures):
    """The options that all scripts have, with a script's defaults. Without `size` there is none, and no --replicas;
    without `temperatures` none of these."""
    result = Parser(
        description=description,
        epilog="What follows -- goes to spin_glass: -- --device 1 --kernel wide. A script that was stopped goes on if "
        "it is\ncalled again with the same --folder.",
    )
    add, program = adder(result), ROOT / "build/07_amsc/spin_glass"
    add("--program", "FILE", "spin_glass of any stage (build/07_amsc/spin_glass)", Path, default=program)
    add("--folder", "DIR", "for the files and checkpoints of the runs", Path, required=True)
    add("--json", "FILE", "the result", new_file, required=True)
    if size is not None:
        add("--size", "L", f"({size})", at_least(4), default=size)
    add("--samples", "M", f"of each run ({samples})", whole, default=samples)
    add("--samples-per-stream", "W", "share their draws; errors are over groups of them (32)", whole, default=32)
    if size is not None:
        add("--replicas", "R", "(4)", at_least(2), default=4)
    add("--sweeps", "N", f"({sweeps})", whole, default=sweeps)
    add("--measure", None, f"measuring times ({measure})", default=measure)
    add("--generator", None, "(philox)", default="philox")
    add("--seed", "S", "of the first run; each has its own (1)", at_least(0), default=1)
    if temperatures is not None:
        shown = ",".join(f"{one:g}" for one in temperatures)
        add("--temperatures", "T,...", f"({shown})", comma_list(positive), default=temperatures)
    add("--jobs", "N", "runs at a time (1)", whole, default=1)
    add("launch", "-- ...", argparse.SUPPRESS, nargs="*")
    return result


def parse(result, arguments):
    """The options, refused if no run could come of them."""
    options = result.parse_args(arguments)
    if options.samples % options.samples_per_stream or options.samples < 2 * options.samples_per_stream:
        refuse(
            f"--samples is {options.samples}: errors need two or more groups of --samples-per-stream "
            f"{options.samples_per_stream}"
        )
    if not options.program.is_file():
        refuse(f"--program {options.program}: there is no such file")
    return options


def wanted(name, options, seed, temperature, outputs=(), **more):
    """One run for simulate_all(): its name, the options of spin_glass, and which files it writes."""
    problem = {"size": options.size, "temperature": temperature, "sweeps": options.sweeps, "samples": options.samples}
    problem |= {"replicas": options.replicas, "samples-per-stream": options.samples_per_stream}
    problem |= {"generator": options.generator, "seed": seed, "measure": options.measure}
    return f"{name}_T{temperature:g}_seed{seed}", problem | more, outputs
