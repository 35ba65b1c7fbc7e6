#!/usr/bin/env python3
"""Times stage 08 on several numbers of ranks, and prints how well it scales, beside what a model predicts.

Starts the program `scaling` by mpirun for every number of ranks and transport. What it computes is compared: all ranks
and transports must find the same energies, magnetisations and overlaps at a size. The result is DIR/scaling.json, from
which readme_tables.py makes tables, and pictures. Efficiency: t_1 / (N t_N), with t_1 of the fastest transport.
"""

import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
if __name__ == "__main__":
    import interrupt  # noqa: F401

import datetime
import json
import subprocess
import tempfile
from pathlib import Path

import build
import ranks as launcher
import scaling_model
import table
from options import Parser, adder, positive, some_of, whole, wholes
from pictures import draw
from results import begin_result, write_result
from scaling_model import AssumedLink
from scaling_tables import FILE, FORMAT, TRANSPORTS, as_text, case, in_order
from stages import Failure, as_words, progress, refuse, run_tool

PROGRAM = "08_mpi/scaling"
SIZES = {"gpu": [32, 64, 96, 128, 192, 256, 384, 512], "cpu": [16, 32]}
RANKS = [1, 2, 4, 8]  # as many of these as there are devices; on a CPU the first two
CONTEXT = ("samples", "replicas", "samples_per_stream", "generator", "kernel", "mpi")
PASSED_ON = ("samples", "replicas", "samples_per_stream", "generator", "kernel", "repetitions", "seconds", "device")
# The program's.
DEFAULTS = {"samples": 128, "replicas": 4, "samples_per_stream": 128, "generator": "philox", "kernel": "wide"}
FEWEST_PLANES = {"overlapped": 2}  # of a colour, on a rank; else 1


# Measuring.


def start(options, ranks, arguments):
    """(exit code, what the program printed, its last line on standard error)."""
    program = options.build_dir / PROGRAM
    last = ""
    with tempfile.TemporaryFile("w+") as output:
        mpirun = launcher.command(ranks, program, arguments)
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(mpirun, env=launcher.environment(ranks), **streams) as process:
            for line in process.stderr:
                if line.strip():
                    last = line.strip()
                    progress(last)
        output.seek(0)
        return process.returncode, output.read(), last


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
    fewest = FEWEST_PLANES.get(options.kernel, 1)
    for ranks in options.ranks:
        sizes = [size for size in options.size if size // 2 >= fewest * ranks]
        too_small = [size for size in options.size if size not in sizes]
        left_out += [f"L = {size} has {size // 2} planes of a colour, too few for {ranks} ranks" for size in too_small]
        for transport in (options.transport or TRANSPORTS) if sizes else ():
            passed_on = {name: getattr(options, name) for name in PASSED_ON}
            arguments = as_words({"size": sizes, "transport": transport} | passed_on)
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
    result = begin_result(FORMAT, command(first, rows), platform=first["platform"], name=first["device"])
    context = {key: first[key] for key in CONTEXT}
    return result | context | {"left_out": [], "failed": differences(rows), "rows": rows}


def command(output, rows):
    """What to type for the same rows."""
    options = {name: in_order(rows, name) for name in ("ranks", "size", "transport")}
    options |= {name: output[name] for name, usual in DEFAULTS.items() if output[name] != usual}
    return " ".join(["common/run --scaling DIR", *as_words(options)])


def differences(rows):
    """What has not computed the same as the first row of its size."""
    first, found = {}, []
    for row in rows:
        expected = first.setdefault(row["size"], row)
        if row["check"] != expected["check"]:
            found.append(f"{case(row)}: wrong result, {row['check']}, where {case(expected)} gave {expected['check']}")
    return found


# Options.


def parse_options(arguments):
    parser = Parser(prog="common/run", description=__doc__, epilog=scaling_model.__doc__)
    add = adder(parser)
    add("--scaling", "DIR", f"the folder for {FILE} and the pictures", Path, required=True)
    add("--ranks", "1,2", "how many (1,2,4,8, as far as there are GPUs)", wholes)
    add("--size", "L,L", "spins along a side (32 to 512; 16,32 on a CPU)", wholes)
    add("--transport", "staged,peer", "how planes travel (all that there are)", some_of(TRANSPORTS))
    add("--samples", "M", "realisations of the couplings (128)", whole)
    add("--replicas", "R", "copies of each (4)", whole)
    add("--samples-per-stream", "W", "samples that share random numbers (128)", whole)
    add("--generator", "NAME", "of the draws (philox)")
    add("--kernel", "NAME", "wide, or overlapped: two sweeps in one pass (wide)")
    add("--repetitions", "K", "timed runs, of which the median counts (5)", whole)
    add("--seconds", "S", "of a timed run, about (0.1)", positive)
    add("--device", None, "auto, cpu, gpu, or the number of rank 0's GPU")
    link = "predict for a link like this, too; may be repeated"
    add("--link", "GB/s,us", link, AssumedLink, action="append", default=[])
    add("--from", "FILE", "measure nothing: take what the program scaling printed", Path, dest="files", nargs="+")
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
    return options


def main(arguments):
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
    write_result(options.scaling / FILE, result)
    print(f"\nwritten: {FILE}")
    draw.draw_if_possible(options.scaling, FILE)
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    run_tool(main, "common/run")
