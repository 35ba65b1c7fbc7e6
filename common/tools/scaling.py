#!/usr/bin/env python3
"""Times stage 08 on several numbers of ranks, and prints how well it scales, beside what a model predicts.

Starts the program `scaling` by mpirun for every number of ranks and transport. What it computes is compared: all ranks
and transports must find the same energies, magnetisations and overlaps at a size. The result is DIR/scaling.json, from
which readme_tables.py makes tables, and pictures. Efficiency: t_1 / (N t_N), with t_1 of the fastest transport.
"""

if __name__ == "__main__":
    import interrupt  # noqa: F401

import argparse
import datetime
import json
import math
import subprocess
import tempfile
from pathlib import Path

import build
import ranks as launcher
import scaling_model
import table
from compare import comma_list, whole
from scaling_model import Link, Model
from stages import Failure, progress, refuse, run_tool

FORMAT = "psFlip scaling, version 1"
FILE = "scaling.json"
PROGRAM = "08_mpi/scaling"
TRANSPORTS = ("staged", "mpi", "nccl", "peer")
SIZES = {"gpu": [32, 64, 96, 128, 192, 256, 384, 512], "cpu": [16, 32]}
RANKS = [1, 2, 4, 8]  # as many of these as there are devices; on a CPU the first two
CONTEXT = ("samples", "replicas", "samples_per_stream", "generator", "mpi")
PASSED_ON = ("samples", "replicas", "samples_per_stream", "generator", "repetitions", "seconds", "device")
DEFAULTS = {"samples": 128, "replicas": 4, "samples_per_stream": 128, "generator": "philox"}  # the program's
PREDICTED = (2, 4, 8)
TARGETS = [(512, 8, 0.95), (256, 4, 0.90), (256, 8, 0.80)]  # L, ranks, efficiency on H200s with NVLink
PLANNED = [256, 512, 1024, 1624]  # the last: the largest that the program takes
MEMORY = {"NVIDIA H200": 141e9}  # bytes, by data sheet


# Measuring.


def start(options, ranks, arguments):
    """(exit code, what the program printed, its last line on standard error)."""
    program = options.build_dir / PROGRAM
    last = ""
    with tempfile.TemporaryFile("w+") as output:
        mpirun = launcher.command(ranks, program, arguments)
        with subprocess.Popen(mpirun, env=launcher.environment(ranks), stdout=output, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True) as process:  # fmt: skip
            for line in process.stderr:
                if line.strip():
                    last = line.strip()
                    progress(last)
        output.seek(0)
        return process.returncode, output.read(), last


def passed_on(options):
    words = []
    for name in PASSED_ON:
        if getattr(options, name) is not None:
            words += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    return words


def fill_defaults(options):
    """What the user left open depends on the machine, which the program knows."""
    if options.size and options.ranks:
        return
    here = ["--device", options.device] if options.device else []
    code, said, last = start(options, 1, ["--size", "4", "--repetitions", "1", "--seconds", "1e-6", *here])
    if code:
        raise Failure(f"1 rank: {last or f'it ended with code {code}'}")
    platform, devices = (json.loads(said)[key] for key in ("platform", "devices"))
    options.size = options.size or SIZES[platform]
    options.ranks = options.ranks or [n for n in RANKS if n <= (devices if platform == "gpu" else 2)]


def measure(options):
    """(outputs of the program, what was left out, what failed)."""
    fill_defaults(options)
    outputs, left_out, failed = [], [], []
    for ranks in options.ranks:
        sizes = [size for size in options.size if size // 2 >= ranks]
        left_out += [f"L = {size} has {size // 2} planes of a colour, too few for {ranks} ranks"
                     for size in options.size if size not in sizes]  # fmt: skip
        for transport in (options.transport or TRANSPORTS) if sizes else ():
            arguments = ["--size", ",".join(map(str, sizes)), "--transport", transport, *passed_on(options)]
            code, said, last = start(options, ranks, arguments)
            what = f"{table.counted(ranks, 'rank')}, {transport}: {last or f'it ended with code {code}'}"
            if code == 0:
                outputs.append(json.loads(said))
            elif code == 2 and not options.transport:
                left_out.append(what)
            else:
                failed.append(what)  # the others' times are worth having
    progress("")
    if not outputs:
        raise Failure(f"nothing could be timed: {[*failed, *left_out][0]}")
    return outputs, left_out, failed


def read_outputs(files):
    outputs = []
    for file in files:
        try:
            output = json.loads(file.read_text())
            for key in ("ranks", "rows", "platform", "device", *CONTEXT):
                output[key]
        except OSError as error:
            raise Failure(f"--from {file}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise Failure(f"--from {file}: it is not what the program scaling prints") from None
        outputs.append(output)
    return outputs


# The result.


def merge(outputs):
    """One result of what the program printed for several numbers of ranks. Raises Failure if these belong to different
    problems or devices, or two rows to one case."""
    first = outputs[0]
    for output in outputs:
        for key in ("platform", "device", *CONTEXT):
            if output[key] != first[key]:
                raise Failure(f"outputs that differ in {key}, {first[key]} and {output[key]}, are not one result")
    rows = {}
    for output in outputs:
        shared = output.get("one_host", True) and output["ranks"] > output.get("devices", output["ranks"])
        for row in output["rows"]:
            key = row["size"], TRANSPORTS.index(row["transport"]), output["ranks"]
            if key in rows:
                raise Failure(f"{case(rows[key])} is there twice")
            times = [[name, round(begin, 2), round(end, 2)] for name, begin, end in row["timeline_us"]]
            rows[key] = {"ranks": output["ranks"], "shared_devices": shared} | row | {"timeline_us": times}
    rows = [rows[key] for key in sorted(rows)]
    return {
        "format": FORMAT,
        "command": command(first, rows),
        "date": datetime.date.today().isoformat(),
        "device": {"platform": first["platform"], "name": first["device"]},
        **{key: first[key] for key in CONTEXT},
        "left_out": [],
        "failed": differences(rows),
        "rows": rows,
    }


def command(output, rows):
    """What to type for the same rows."""
    words = ["common/run --scaling DIR"]
    for name in ("ranks", "size", "transport"):
        words.append(f"--{name} {','.join(map(str, dict.fromkeys(row[name] for row in sorted_by(rows, name))))}")
    words += [f"--{name.replace('_', '-')} {output[name]}" for name, usual in DEFAULTS.items() if output[name] != usual]
    return " ".join(words)


def sorted_by(rows, name):
    return sorted(rows, key=lambda row: TRANSPORTS.index(row[name]) if name == "transport" else row[name])


def case(row):
    return f"L = {row['size']}, {row['transport']}, {table.counted(row['ranks'], 'rank')}"


def differences(rows):
    """What has not computed the same as the first row of its size."""
    first, found = {}, []
    for row in rows:
        expected = first.setdefault(row["size"], row)
        if row["check"] != expected["check"]:
            found.append(f"{case(row)}: wrong result, {row['check']}, where {case(expected)} gave {expected['check']}")
    return found


def read_result(folder):
    result = json.loads((folder / FILE).read_text())
    if result.get("format") != FORMAT:
        raise Failure(f"{folder.name}/{FILE} is not '{FORMAT}'")
    if result["failed"]:
        raise Failure(f"{folder.name}/{FILE} holds cases that failed: not to be published")
    return result


def on_own_device(result):
    """The rows from which something follows: every rank had a GPU of its own."""
    return [row for row in result["rows"] if result["device"]["platform"] == "gpu" and not row["shared_devices"]]


def model_of(result):
    """None where nothing was measured on one rank that had a GPU."""
    rows = on_own_device(result)
    return Model(rows) if any(row["ranks"] == 1 for row in rows) else None


def find(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def fastest(rows, **wanted):
    """The row of the transport that takes least time, or None."""
    return min(find(rows, **wanted), key=lambda row: row["ms_per_sweep"], default=None)


def efficiency(rows, row):
    """t_1 / (N t_N), or None."""
    alone = fastest(rows, size=row["size"], ranks=1)
    return alone["ms_per_sweep"] / (row["ranks"] * row["ms_per_sweep"]) if alone and row in rows else None


def in_order(rows, name):
    return list(dict.fromkeys(row[name] for row in sorted_by(rows, name)))


def same_share(rows, row):
    """(L at which one GPU has as many sites as each has in this row, what a flip takes there in ps, whether that was
    measured): of the fastest transports; between two sizes a power of L; None outside."""
    side = row["size"] / row["ranks"] ** (1 / 3)
    sizes = in_order(find(rows, ranks=1), "size")
    ps = {size: fastest(rows, size=size, ranks=1)["ps_per_flip"] for size in sizes}
    exact = [size for size in sizes if math.isclose(size, side, rel_tol=1e-9)]
    if exact:
        return exact[0], ps[exact[0]], True
    for below, above in zip(sizes, sizes[1:]):
        if below < side < above:
            part = math.log(side / below) / math.log(above / below)
            return side, ps[below] * (ps[above] / ps[below]) ** part, False
    return None


# What is shown.


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def problem(result):
    return (
        f"{table.counted(result['samples'], 'sample')} of {table.counted(result['replicas'], 'replica')}, "
        f"{result['generator']}, on {result['device']['name']}, {result['mpi']}; `{result['command']}` on "
        f"{result['date']}"
    )


def source(result):
    """Where the figures come from, in short."""
    *most, last = map(str, in_order(on_own_device(result), "ranks"))
    return f"Measured were {', '.join(most)} and {last} GPUs, {result['device']['name']}, on {result['date']}"


def long_table(result):
    """A line a row."""
    rows, model = on_own_device(result), model_of(result)
    body = []
    for row in result["rows"]:
        link = model and row in rows and row["ranks"] > 1 and model.links[row["transport"]]
        has = link and row["size"] in model.alone_us
        body.append([
            str(row["size"]), row["transport"], str(row["ranks"]), table.significant(row["ms_per_sweep"]),
            table.significant(row["ps_per_flip"]), number(efficiency(rows, row)),
            number(model.efficiency(row["size"], row["ranks"], link) if has else None),
        ])  # fmt: skip
    headings = ["L", "transport", "ranks", "ms/sweep", "ps/flip", "efficiency", "model"]
    return table.as_markdown(headings, body, [True, False] + 5 * [True])


def warnings(result):
    found = [f"left out: {text}" for text in result["left_out"]]
    if result["device"]["platform"] != "gpu":
        found.append("CPU: the ranks share this machine's cores. Their results count; their times say nothing about "
                     "how GPUs scale, so there is no efficiency.")  # fmt: skip
    elif any(row["shared_devices"] for row in result["rows"]):
        found.append("Where ranks shared a GPU there is no efficiency.")
    return found + [f"*** FAILED *** {text}" for text in result["failed"]]


def model_in_words(model):
    links = "; ".join(f"{transport}: {link}" for transport, link in model.links.items())
    return (
        "Model: t_half = max(floor + p c, c + latency + bytes / bandwidth), p planes of a colour on a rank, c a "
        f"plane's share of the one-rank sweep, floor {model.floor_us:.1f} us"
        + (f"; fitted to recorded transfers: {links}." if links else ".")
    )


def links_of(model, more):
    """{name: Link}: those that were measured, and then those that are assumed."""
    assumed = {f"{link.gb_per_s:g} GB/s, {link.latency_us:g} us": link.link() for link in more}
    return model.links | assumed


HIDES = "Hides up to: the most ranks with which the plane arrives before the slab is updated."


def model_table(model, more=()):
    """Predictions, of which none is measured."""
    body = []
    for size in sorted(model.alone_us):
        for name, link in links_of(model, more).items():
            cells = [number(model.efficiency(size, n, link)) if n <= size // 2 else "-" for n in PREDICTED]
            body.append([str(size), name, *cells, hidden(model, size, link)])
    headings = ["L", "link", *(f"predicted, {n} ranks" for n in PREDICTED), "hides up to"]
    return table.as_markdown(headings, body, [True, False] + 4 * [True])


def hidden(model, size, link):
    ranks = model.hides_up_to(size, link)
    return "-" if ranks is None else f"{ranks} ranks"


def as_text(result, more=()):
    lines = [long_table(result), f"{problem(result)}."]
    model = model_of(result)
    if model:
        lines += [model_in_words(model)]
        if links_of(model, more):
            lines += [model_table(model, more), f"None of these is measured. {HIDES}"]
    return "\n\n".join(lines + warnings(result))


def readme_result(folder):
    """(result, its rows, its model), of GPUs."""
    result = read_result(folder)
    model = model_of(result)
    if not model or not model.links:
        raise Failure(f"{folder.name}/{FILE} does not hold one rank and more on GPUs")
    return result, on_own_device(result), model


def markdown(folder, sizes):
    """The times of these sizes, or all: a line a size and transport."""
    result, rows, model = readme_result(folder)
    missing = [str(size) for size in sizes if not find(rows, size=size)]
    if missing:
        raise Failure(f"{folder.name}/{FILE} has no L = {', '.join(missing)}")
    ranks = in_order(rows, "ranks")
    body = []
    for size in sizes or in_order(rows, "size"):
        for transport in in_order(find(rows, size=size), "transport"):
            here = {n: fastest(rows, size=size, transport=transport, ranks=n) for n in ranks}
            line = [str(size), transport]
            line += [table.significant(here[n]["ms_per_sweep"]) if here[n] else "-" for n in ranks]
            line += [table.significant(here[n]["ps_per_flip"], 3) if here[n] else "-" for n in ranks]
            for n in ranks[1:]:
                known = here[n] and efficiency(rows, here[n])
                line.append(f"{known:.2f} ({model.efficiency(size, n, model.links[transport]):.2f})" if known else "-")
            body.append(line)
    headings = ["L", "transport", *(f"ms/sweep, {n}" for n in ranks), *(f"ps/flip, {n}" for n in ranks),
                *(f"efficiency, {n} (model)" for n in ranks[1:])]  # fmt: skip
    text = table.as_markdown(headings, body, [True, False] + [True] * (len(headings) - 2))
    return (
        f"{text}\n\nA rank has a GPU; ps/flip of the whole system. Efficiency: t_1 / (N t_N), t_1 of the fastest "
        f"transport. {problem(result)}."
    )


def targets_markdown(folder):
    result, rows, model = readme_result(folder)
    body = []
    for size, ranks, target in TARGETS:
        best, staged = fastest(rows, size=size, ranks=ranks), fastest(rows, size=size, ranks=ranks, transport="staged")
        known = best and efficiency(rows, best)
        name, link = min(model.links.items(), key=lambda item: (model.half_sweep_us(size, ranks, item[1]),
                                                                model.exchange_us(size, item[1])))
        body.append([
            str(size), str(ranks), f"{target:.2f}",
            f"{known:.2f}, {best['transport']}" if known else "not measured",
            number(staged and efficiency(rows, staged)) if known else "not measured",
            f"{model.efficiency(size, ranks, link):.2f}, {name}",
            number(model.efficiency(size, ranks, model.links["staged"]) if "staged" in model.links else None),
            "?" if not known else "yes" if known >= target else f"no, {known / target:.2f} of it",
        ])  # fmt: skip
    headings = ["L", "GPUs", "target", "measured", "staged, measured", "predicted", "staged, predicted", "met"]
    text = table.as_markdown(headings, body, 3 * [True] + 4 * [False] + [False])
    return f"{text}\n\nPredicted: by the model. {source(result)}."


def model_markdown(folder, sizes):
    result, _, model = readme_result(folder)
    missing = [str(size) for size in sizes if size not in model.alone_us]
    if missing:
        raise Failure(f"{folder.name}/{FILE} has no L = {', '.join(missing)} on one rank")
    model.alone_us = {size: us for size, us in model.alone_us.items() if not sizes or size in sizes}
    return (
        f"{model_table(model)}\n\nNone of these is measured. {HIDES} {model_in_words(model)} {source(result)}."
    )


def plan_markdown(folder, more):
    """Beyond what was measured: larger systems, and links that are assumed."""
    result, _, model = readme_result(folder)
    links = links_of(model, more)
    site = result["samples"] * (result["replicas"] + 3) / 8  # bytes: spins, and three couplings; Philox has no states
    memory = MEMORY.get(result["device"]["name"])
    body = []
    for size in PLANNED:
        held = str(math.ceil(size**3 * site / memory)) if memory else "-"
        cells = []
        for link in links.values():
            ranks = model.hides_up_to(size, link)
            cells.append(f"{ranks} ({model.efficiency(size, ranks, link):.2f})" if ranks else "-")
        gigabytes, megabytes = size**3 * site / 1e9, model.message(size) / 1e6
        body.append([str(size), f"{gigabytes:,.0f}", held, f"{megabytes:,.0f}", *cells])
    headings = ["L", "GB in all", "GPUs that hold it", "MB a plane", *links]
    text = table.as_markdown(headings, body, [True] * len(headings))
    return (
        f"{text}\n\nPredicted: the most GPUs behind whose bulk the exchange hides (efficiency there: launches and "
        "slabs of uneven heights cost, too), for the transports as measured within one host, and for assumed links, by "
        f"bandwidth and latency. Beyond L = {model.largest} a plane's time and bytes grow as its area. GB: couplings "
        f"and spins, without halos. {source(result)}."
    )


def weak_markdown(folder):
    result, rows, _ = readme_result(folder)
    body = []
    for ranks in in_order(rows, "ranks")[1:]:
        for size in in_order(find(rows, ranks=ranks), "size"):
            row = fastest(rows, size=size, ranks=ranks)
            share = same_share(rows, row)
            if share:
                side, ps, exact = share
                body.append([str(ranks), str(size), f"{side:.0f}" if exact else f"{side:.0f}, between",
                             row["transport"], table.significant(ps, 3),
                             table.significant(ranks * row["ps_per_flip"], 3),
                             number(ps / (ranks * row["ps_per_flip"]))])  # fmt: skip
    headings = ["GPUs", "L", "same share alone, L", "transport", "ps/flip alone", "GPUs x ps/flip", "efficiency"]
    text = table.as_markdown(headings, body, [True, True, True, False, True, True, True])
    return (
        f"{text}\n\nA GPU has L^3 / N sites; alone it has as many at L / N^(1/3). Between: no such L was measured, and "
        f"ps/flip is interpolated as a power of L. {source(result)}."
    )


# Options.


class AssumedLink:
    """GB/s,us from the command line."""

    def __init__(self, text):
        try:
            self.gb_per_s, self.latency_us = map(float, text.split(","))
            if not (0 < self.gb_per_s < math.inf and 0 <= self.latency_us < math.inf):
                raise ValueError
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text}; it takes GB/s above 0 and microseconds, as 50,10") from None

    def link(self):
        return Link(self.latency_us, 1e-3 / self.gb_per_s)


def positive(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text}; it must be a finite number above 0")
    return value


def parse_options(arguments):
    parser = argparse.ArgumentParser(
        prog="common/run",
        description=__doc__,
        epilog=scaling_model.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.error = refuse
    add = parser.add_argument
    add("--scaling", type=Path, metavar="DIR", required=True, help=f"the folder for {FILE} and the pictures")
    add("--ranks", type=comma_list(whole), metavar="1,2", help="how many (1,2,4,8, as far as there are GPUs)")
    add("--size", type=comma_list(whole), metavar="L,L", help="spins along a side (32 to 512; 16,32 on a CPU)")
    add("--transport", type=comma_list(str, TRANSPORTS), metavar="staged,peer",
        help="how planes travel (all that there are)")
    add("--samples", type=whole, metavar="M", help="realisations of the couplings (128)")
    add("--replicas", type=whole, metavar="R", help="copies of each (4)")
    add("--samples-per-stream", type=whole, metavar="W", help="samples that share random numbers (128)")
    add("--generator", metavar="NAME", help="of the draws (philox)")
    add("--repetitions", type=whole, metavar="K", help="timed runs, of which the median counts (5)")
    add("--seconds", type=positive, metavar="S", help="of a timed run, about (0.1)")
    add("--device", help="auto, cpu, gpu, or the number of rank 0's GPU")
    add("--link", type=AssumedLink, action="append", default=[], metavar="GB/s,us",
        help="predict for a link like this, too; may be repeated")
    add("--from", dest="files", type=Path, nargs="+", metavar="FILE",
        help="measure nothing: take what the program scaling printed")
    build.add_options(parser)
    options = parser.parse_args(arguments)
    for name in ("ranks", "size", "transport"):
        values = getattr(options, name) or []
        if len(set(values)) < len(values):
            refuse(f"--{name} {','.join(map(str, values))}: a value is there twice")
    if options.files:
        for name in ("ranks", "size", "transport", *PASSED_ON):
            if getattr(options, name) is not None:
                refuse(f"--{name.replace('_', '-')}: --from measures nothing")
    return options  # fmt: skip


def main(arguments):
    import draw

    options = parse_options(arguments)
    if not options.files:
        launcher.require_mpirun("--scaling")
    if options.files:
        outputs, left_out, failed = read_outputs(options.files), [], []
    else:
        launcher.built(options, PROGRAM, "scaling", "--scaling")
        outputs, left_out, failed = measure(options)
    result = merge(outputs)
    result["left_out"] += left_out
    result["failed"] += failed
    if options.files:
        newest = max(file.stat().st_mtime for file in options.files)
        result["date"] = datetime.date.fromtimestamp(newest).isoformat()
    print(as_text(result, options.link))
    options.scaling.mkdir(parents=True, exist_ok=True)
    (options.scaling / FILE).write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten: {FILE}")
    draw.draw_if_possible(options.scaling, FILE)
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    run_tool(main, "common/run")
