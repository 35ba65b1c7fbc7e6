"""What common/gpu/on_cpu/counters records of a program's kernels, read, and told by kernel and source line."""

import functools
import os
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from results import read_result
from stages import ROOT, Failure, last_line

FORMAT = "psFlip recording, version 2"
COUNTS = ("requests", "lanes", "sectors", "least_sectors", "wavefronts", "conflicts", "unwritten")
OF_BRANCH = ("executed", "divergent", "lanes")
SUMMED = ("barriers", "read_sectors", "written_sectors", "block_sectors", "places", "branches")  # of a Launch
LAMBDA = "operator()"
RUNTIME = ROOT / "common/gpu/on_cpu"  # its headers, not what is tested there
TREE = "/psFlip"  # what debug information calls ROOT: common/gpu/on_cpu/counters/CMakeLists.txt


@dataclass(frozen=True)
class Frame:
    function: str
    file: Path
    line: int


@dataclass
class Place:
    """What all requests of one instruction add up to."""

    frames: tuple[Frame, ...]  # the program's own, from the access outwards to the kernel; without the runtime's
    kind: str  # load, store, atomic
    memory: str  # global, texture, shared, constant
    bytes: int  # of a lane
    counts: dict[str, int]

    def line_in(self, file):
        """Where in this file the access is, or the call that leads to it; None: not in this file."""
        return next((frame.line for frame in self.frames if frame.file == file), None)


@dataclass(frozen=True)
class Request:
    """What the lanes of a warp asked for by one instruction."""

    place: Place
    block: int  # its number in the grid: x counts first
    phase: int  # how many barriers of the block had opened
    time: int  # how often these lanes had been there in this phase
    warp: int
    array: int  # number of the array in device memory; -1: elsewhere
    lanes: tuple[int, ...]
    offsets: tuple[int, ...]  # of these lanes, in bytes: in the array, or in the block's shared memory


@dataclass
class Branch:
    """What all executions of a conditional branch by a warp add up to."""

    frames: tuple[Frame, ...]  # as of a Place
    counts: dict[str, int]  # OF_BRANCH

    line_in = Place.line_in


@dataclass
class Launch:
    number: int  # of the program's launches, from 0
    kernel: str  # without namespace and parameters: update<int, 2>; '' if it touches no memory
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int  # of dynamic shared memory
    barriers: int  # how often one opened, in all blocks together
    read_sectors: int  # different ones
    written_sectors: int
    block_sectors: int  # read, different ones of each block
    places: list[Place] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    caches: dict[str, int] | None = None  # what the model of them counts, if there was one
    requests: list[Request] = field(default_factory=list)  # if they were kept

    @property
    def warps(self):
        x, y, z = self.block
        blocks = self.grid[0] * self.grid[1] * self.grid[2]
        return blocks * -(-x * y * z // 32)

    @property
    def file(self):
        """Where the kernel is; None if it touches no memory."""
        files = [place.frames[-1].file for place in self.places if place.frames]
        return max(files, key=files.count, default=None)

    def total(self, count, *, kind=None, memory="global"):
        """The sum of one of COUNTS over some places."""
        chosen = (place for place in self.places if place.memory == memory and kind in (None, place.kind))
        return sum(place.counts[count] for place in chosen)

    def asked_bytes(self, memory="global"):
        """What all lanes asked for."""
        return sum(place.bytes * place.counts["lanes"] for place in self.places if place.memory == memory)

    def by_line(self, file):
        """{(line, kind, memory, bytes): summed counts} of the places that lead to this file, by line."""
        found = defaultdict(lambda: dict.fromkeys(COUNTS, 0))
        for place in self.places:
            line = place.line_in(file)
            if line is not None:
                counts = found[line, place.kind, place.memory, place.bytes]
                for name in COUNTS:
                    counts[name] += place.counts[name]
        return dict(sorted(found.items()))

    def branches_by_line(self, file):
        """{line: summed counts} of the branches that lead to this file, by line."""
        found = defaultdict(lambda: dict.fromkeys(OF_BRANCH, 0))
        for branch in self.branches:
            line = branch.line_in(file)
            if line is not None:
                for name in OF_BRANCH:
                    found[line][name] += branch.counts[name]
        return dict(sorted(found.items()))


def joined(launches):
    """Launches of one kernel as one: sums, and as many blocks as each has."""
    first, *others = launches
    for launch in others:
        sums = {name: getattr(first, name) + getattr(launch, name) for name in SUMMED}
        if first.caches:
            sums["caches"] = {name: count + launch.caches[name] for name, count in first.caches.items()}
        first = replace(first, **sums)
    return first


def source(path):
    """The file that somebody wrote: kernels are compiled from copies in build/rewritten."""
    path = os.path.normpath(path)
    _, rewritten, tail = path.partition("/rewritten/")
    if rewritten:
        return ROOT / re.sub(r"\.cu\.cpp$", ".cu", tail)
    return ROOT / path.removeprefix(f"{TREE}/") if path.startswith(f"{TREE}/") else Path(path)


def plain_name(function):
    """'void psflip::cpu::update<int, 2>(int const*, int)' -> 'update<int, 2>'"""
    if re.search(r"(^|::)operator\(\)", function):
        return LAMBDA
    depth, begin = 0, 0
    function = function.replace("(anonymous namespace)", "")
    for i, c in enumerate(function):
        depth += (c == "<") - (c == ">")
        if depth == 0 and c == "(":
            return function[begin:i]
        if depth == 0 and c in ": ":
            begin = i + 1
    return function[begin:]


def symbolised(program, codes):
    """{code: its frames, from the access outwards}"""
    command = ["addr2line", "-e", program, "-i", "-f", "-C", "-a"]
    try:
        done = subprocess.run(command, input="".join(f"{c:#x}\n" for c in codes), capture_output=True, text=True)
    except FileNotFoundError:
        raise Failure("there is no addr2line here; it comes with binutils") from None
    if done.returncode:
        raise Failure(f"addr2line: {last_line(done.stderr, done.returncode)}")
    found, lines = {}, iter(done.stdout.splitlines())
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            frames = found.setdefault(int(line, 16), [])
            continue
        path, _, number = next(lines).split(" (discriminator")[0].rpartition(":")
        frames.append(Frame(plain_name(line), source(path), int(number) if number.isdigit() else 0))
    return found


def own_frames(frames):
    """Those of the program: between the runtime's functions that kernels call and those that call kernels."""
    own = []
    for frame in frames:
        runtime = RUNTIME in frame.file.parents and "test" not in frame.file.parts
        if ROOT in frame.file.parents and not runtime:
            own.append(frame)
        elif own:
            break
    return tuple(own)


def read_recording(file, program=None):
    """The launches of a recording, in their order. `program`: that wrote it, if not to be taken from there. Raises
    Failure if it is none."""
    recording = read_result(file, FORMAT)
    program = str(program or recording["program"])
    launches = recording["launches"]
    codes = sorted({place["code"] for of in launches for place in (*of["places"], *of["branches"])})
    frames = symbolised(program, codes)
    if codes and not any(own_frames(frames[code]) for code in codes):
        raise Failure(f"{program}: addr2line finds no line of {ROOT} in it; build it anew")
    return [launch_of(entry, frames) for entry in launches]


def kernel_of(places):
    """What most places say. Of the access itself, addr2line may give the function that its function is a part of; what
    the source calls it has no template arguments."""
    names = [place.frames[-1].function for place in places if len(place.frames) > 1]
    names = names or [kernel_at(place.frames[-1]) for place in places if place.frames]
    return max(names, key=names.count, default="")


@functools.cache
def kernel_at(frame):
    """The kernel that the line is in, as its file has it."""
    try:
        lines = frame.file.read_text().splitlines()[: frame.line]
    except OSError:
        return frame.function
    begin = "".join(lines).rpartition("__global__")[2]
    found = re.match(r"\s+void\s+(__launch_bounds__\([^)]*\)\s*)?(\w+)\(", begin)
    return found[2] if found else frame.function


def frames_in_kernel(frames):
    own = own_frames(frames)
    if len(own) > 1 and own[-1].function == LAMBDA:  # what the rewriter makes of <<<...>>>
        own = own[:-1]
    return own


def launch_of(entry, frames):
    places = []
    for place in entry["places"]:
        own = frames_in_kernel(frames[place["code"]])
        texture = any(frame.file.name == "texture.hpp" for frame in frames[place["code"]])
        memory = "texture" if texture else place["memory"]
        counts = {name: place[name] for name in COUNTS}
        places.append(Place(own, place["kind"], memory, place["bytes"], counts))
    branches = [
        Branch(own, {name: branch[name] for name in OF_BRANCH})
        for branch in entry["branches"]
        if (own := frames_in_kernel(frames[branch["code"]]))  # not those of the loop over threads
    ]
    names = ("number", "shared_bytes", "barriers", "read_sectors", "written_sectors", "block_sectors", "caches")
    shape = {"grid": tuple(entry["grid"]), "block": tuple(entry["block"])}
    numbers = {name: entry[name] for name in names}
    requests = [
        Request(places[place], block, phase, time, warp, array, tuple(lanes), tuple(offsets))
        for place, block, phase, time, warp, array, lanes, offsets in entry.get("requests", ())
    ]
    what = {"places": places, "branches": branches, "requests": requests}
    return Launch(kernel=kernel_of(places), **what, **shape, **numbers)
