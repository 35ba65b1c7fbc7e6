#!/usr/bin/env python3
"""Writes the traces that the site's figures show: what kernels did on the CPU path, at a small size, and what stage 00
and stage 07 print of the lattices that the page computes. --check compares them with those that are in the tree."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "common/tools"))

if __name__ == "__main__":
    import interrupt  # noqa: F401

import json
import re

import build
import stages
from counted import runs, show
from models import MAJORITY, REFERENCE, SPIN_GLASS
from options import Parser
from stages import ROOT, Failure, as_words, last_line, run_tool

FOLDER = ROOT / "site/traces"
PLANE = 16  # spins along a side in 2D
WIDTHS, BLOCKS = (2, 4, 8), (1, 2, 3, 4)
INT = 4  # bytes of a spin
LAYOUTS = {
    "standard": ("04", {"indexing": "standard"}),
    "bitwise": ("04", {"indexing": "bitwise"}),
    "sliced": ("05", {"indexing": "sliced", "load": "plain", "sites_per_thread": 1}),
    "sliced, 8 sites": ("05", {"indexing": "sliced", "load": "plain", "sites_per_thread": 8}),
}
ONE = {"samples": 1, "replicas": 1}
CUBE = 6  # L of the figure that shows the cube


def stage_of(options, number, model):
    return next(stage for stage in stages.course(options.build_dir, model) if stage.number == number)


def recorded(options, number, model, problem, launch):
    return runs.record(stage_of(options, number, model), problem, launch, f"tracing {number}", requests=True)


def of_majority(options, number, width, b):
    launch = {"storage": "int32", "thread_width": width, "block": b}
    return recorded(options, number, MAJORITY, {"size": PLANE}, launch)


def lanes(found, kind, memory):
    """(thread of the block, block, phase, place, offset) of every access, in no order that matters."""
    for request in found.requests:
        if (request.place.kind, request.place.memory) == (kind, memory):
            for lane, offset in zip(request.lanes, request.offsets, strict=True):
                yield 32 * request.warp + lane, request.block, request.phase, request.time, offset


def threads(options):
    """By stage and launch: the thread that wrote each spin, and what the launch asked of memory."""
    found = {}
    for number in ("01", "02", "03"):
        for width in WIDTHS:
            for b in BLOCKS[:1] if number == "01" else BLOCKS:
                launch = of_majority(options, number, width, b)
                own = [None] * PLANE**2
                for thread, block, _, _, offset in lanes(launch, "store", "global"):
                    own[offset // INT] = block * width**2 + thread
                if None in own:
                    raise Failure(f"stage {number}, {width} x {b}: a spin was not written")
                found.setdefault(number, {})[f"{width}x{b}"] = {"grid": launch.grid[0], "owner": own} | totals(launch)
    return {"size": PLANE, "launches": found}


def totals(launch):
    sums = show.sums(launch)
    return {name: sums[name] for name in ("load_requests", "load_sectors", "store_requests", "store_sectors")}


def tile(options):
    """Of a block in the middle: which thread loads which place of the tile, and what it reads."""
    found = {}
    for width in (4, 8):
        for b in (1, 2):
            launch = of_majority(options, "03", width, b)
            block = launch.grid[0] + 1 if launch.grid[0] > 2 else 0
            side = width * b + 2
            stores = sorted({(t, o // INT) for t, at, _, _, o in lanes(launch, "store", "shared") if at == block})
            loads = sorted({(t, o // INT) for t, at, _, _, o in lanes(launch, "load", "shared") if at == block})
            if max(o for _, o in stores + loads) >= side**2:
                raise Failure(f"stage 03, {width} x {b}: more shared memory than a tile")
            found[f"{width}x{b}"] = {"side": side, "threads": width**2, "loads": stores, "reads": loads}
    return found


def sectors(options):
    """The requests of the first warp, and of the launch their sums, by the same rule as common/run --counters."""
    found = {}
    for name, (number, launch) in LAYOUTS.items():
        done = recorded(options, number, SPIN_GLASS, {"size": 16, **ONE}, launch)
        own = [r for r in done.requests if r.place.memory == "global" and r.block == 0 and r.warp == 0]
        if sum(sectors_of(r) for r in done.requests if r.place.memory == "global") != done.total("sectors"):
            raise Failure(f"{name}: the requests that were kept are not those that were counted")
        found[name] = {
            "stage": number,
            "requests": done.total("requests"),
            "sectors": done.total("sectors"),
            "warp": [asked(request, done) for request in own],
        }
    return found


def sectors_of(request):
    return len({byte // 32 for offset in request.offsets for byte in (offset, offset + request.place.bytes - 1)})


def asked(request, launch):
    line = request.place.line_in(launch.file)
    source = launch.file.read_text().splitlines()[line - 1].strip() if line else ""
    return {
        "line": line,
        "source": source,
        "kind": request.place.kind,
        "bytes": request.place.bytes,
        "array": request.array,
        "lanes": request.lanes,
        "offsets": request.offsets,
    }


def slicing(options):
    """For every red site, in memory's order: where its thread found the six blue spins."""
    found = {}
    for name in ("standard", "sliced"):
        number, launch = LAYOUTS[name]
        done = recorded(options, number, SPIN_GLASS, {"size": CUBE, **ONE}, launch)
        spins = array_of_neighbours(done)
        reads = [[] for _ in range(CUBE**3 // 2)]
        threads_of_block = done.block[0] * done.block[1]
        for request in done.requests:
            if request.place.kind == "load" and request.array == spins:
                for lane, offset in zip(request.lanes, request.offsets, strict=True):
                    reads[request.block * threads_of_block + 32 * request.warp + lane].append(offset)
        if any(len(set(own)) != 6 for own in reads):
            raise Failure(f"{name}: a site did not read six neighbours")
        found[name] = [sorted(own) for own in reads]
    return {"size": CUBE, "reads": found}


def array_of_neighbours(launch):
    """The array from which every thread loads six bytes, at other places than its own."""
    counts = {}
    for request in launch.requests:
        if request.place.kind == "load" and request.place.memory == "global" and request.place.bytes == 1:
            counts[request.array] = counts.get(request.array, 0) + len(request.lanes)
    return max(counts, key=counts.get)


def hash_of(options, number, model, **problem):
    """What the stage's program prints as the hash of its last state."""
    stage = stage_of(options, number, model)
    where = {} if number == REFERENCE else {"device": "cpu"}
    code, output, errors = stages.start(
        list(map(str, [stage.program, *as_words(problem | {"seed": 42} | where)])), stage.name
    )
    said = re.search(r"^hash +([0-9a-f]{16})$", output, re.MULTILINE)
    if code or not said:
        raise Failure(f"{stage.name}: {last_line(errors, code)}")
    return said[1]


def lattice(options):
    """Hashes of stage 00, after so many steps or sweeps."""
    runs_of = (1, 10)
    plane = {str(k): hash_of(options, REFERENCE, MAJORITY, size=64, steps=k) for k in runs_of}
    glass = {"size": 8, "temperature": 1.1}
    cube = {str(k): hash_of(options, REFERENCE, SPIN_GLASS, **glass, **ONE, sweeps=k) for k in runs_of}
    return {"majority": {"size": 64, "hashes": plane}, "spin_glass": {**glass, "hashes": cube}}


def adder(options):
    """Hashes of stage 07: 32 samples after a sweep, at some temperatures."""
    problem = {"size": 4, "samples": 32, "replicas": 1, "sweeps": 1}
    hashes = {t: hash_of(options, "07", SPIN_GLASS, **problem, temperature=t) for t in ("0.5", "1.1", "2.0", "4.0")}
    return {"size": 4, "hashes": hashes}


TRACES = {f.__name__: f for f in (threads, tile, sectors, slicing, lattice, adder)}


def as_text(trace):
    return json.dumps(trace, separators=(",", ":")) + "\n"


def main(arguments):
    parser = Parser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TRACE", help=f"these only: {', '.join(TRACES)}")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one differs")
    build.add_options(parser)
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in TRACES:
            raise Failure(f"{name}: there is no such trace; there are {', '.join(TRACES)}")
    need_programs(options)
    stale = []
    for name in options.names or TRACES:
        file, text = FOLDER / f"{name}.json", as_text(TRACES[name](options))
        if options.check:
            stale += [name] * (not file.exists() or file.read_text() != text)
        else:
            file.write_text(text)
    stages.progress("")
    if stale:
        print(f"trace.py: {', '.join(stale)}: not what the kernels do now; call site/trace.py", file=sys.stderr)
    return 1 if stale else 0


def need_programs(options):
    counted = [stage_of(options, number, MAJORITY) for number in ("01", "02", "03")]
    counted += [stage_of(options, number, SPIN_GLASS) for number in ("04", "05")]
    programs = [stage_of(options, REFERENCE, model) for model in (MAJORITY, SPIN_GLASS)] + [
        stage_of(options, "07", SPIN_GLASS)
    ]
    targets = [runs.counted_target(stage) for stage in counted] + [stage.program_target for stage in programs]
    build.builder_for(options).need(*targets, what="what the figures show")


if __name__ == "__main__":
    run_tool(main, "trace.py")
