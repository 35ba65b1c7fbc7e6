#!/usr/bin/env python3
"""mistakes_test.py NAME BUILD=PROGRAM ...: runs a mistake of mistakes.cu, and its right twin, under every tool.

The builds are plain, address (ASan and UBSan) and thread (TSan). The twin must give the right result under each tool,
without a word on stderr. The mistake must do exactly what TABLE says; a tool that finds it must name the lines of
mistakes.cu that end in `// NAME`, and no others; or of them those that end in `// NAME: PART`.
"""

import os
import re
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

SOURCE = Path(__file__).with_name("mistakes.cu")

# The tools: which build runs, in which environment, with how many seeds.
TOOLS = {
    "forward": ("plain", {"PSFLIP_SCHEDULE": "forward"}, 1),
    "reversed": ("plain", {"PSFLIP_SCHEDULE": "reversed"}, 1),
    "shuffled": ("plain", {"PSFLIP_SCHEDULE": "shuffled:{seed}"}, 4),
    "address": ("address", {}, 1),
    "thread": ("thread", {}, 1),
    "guard": ("plain", {"PSFLIP_GUARD": "1"}, 1),
    "lazy": ("plain", {"PSFLIP_LAZY_STREAMS": "1"}, 1),
}


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str = r"\A\Z"  # a regular expression; nothing unless told
    names_lines: bool = False
    part: str = ""
    instead: "Outcome | None" = None  # what may come first in a run, but not in all of them


HIDDEN = Outcome(0, "same\n")
WRONG = Outcome(1, "WRONG RESULT\n")


def abort(message, part=""):
    return Outcome(-signal.SIGABRT, "", message, names_lines=True, part=part)


def crash(message):
    return Outcome(-signal.SIGSEGV, "", message)


def sanitizer(message, code=1, part=""):
    return Outcome(code, "", message, names_lines=True, part=part)


def race(seen, part=""):
    """A data race; the program runs on to the result that it has in the forward schedule, or to its end there, which now
    and then comes first."""
    told = "WARNING: ThreadSanitizer: data race"
    if seen.code >= 0:
        return replace(seen, code=66, stderr=told, names_lines=True, part=part)
    return replace(seen, stderr=told, names_lines=True, part=part, instead=seen)


def row(forward, reversed_, shuffled, **found_by):
    """What the three schedules show, and what the other tools do; those not named see what forward shows."""
    others = dict.fromkeys(["address", "thread", "guard", "lazy"], forward)
    return {"forward": forward, "reversed": reversed_, "shuffled": shuffled, **others, **found_by}


def everywhere(outcome, **others):
    return row(outcome, outcome, outcome, **others)


TOUCHED = r"touched 0x\w+"
OVERRUN = crash(rf"\Acrash: block \(8,0,0\) thread \(\d+,0,0\) {TOUCHED}, just behind an array in device memory\n\Z")
HOST_TOUCH = crash(rf"\Acrash: host code {TOUCHED}, inside device memory, which this code may not touch\n\Z")
KERNEL_TOUCH = crash(rf"\A(crash: block .* {TOUCHED}, inside device memory, which this code may not touch\n){{1,2}}\Z")


def stops(message, part=""):
    """A CUDA thread that ends the program."""
    return abort(rf"\A.*: block \(\d,0,0\) thread \(\d+,0,0\) {message}\n\Z", part)


DEADLOCK = abort(
    r"\Adeadlock in block \(\d,0,0\): 128 of its 128 threads wait for threads that will not come\n"
    r".*: 4 threads wait at this barrier\n"
    r"(.*: warp \d, lanes ffffff7f of mask ffffffff wait at this warp operation\n){4}\Z"
)
CLUSTER_DEADLOCK = abort(
    r"\Adeadlock in the cluster of block \(\d,0,0\): 512 of its 512 threads wait for threads that will not come\n"
    r"(.*: block \(\d,0,0\): 64 threads wait at this barrier\n"
    r".*: block \(\d,0,0\): 64 threads wait at this barrier of the cluster\n){4}\Z"
)

GRID_DEADLOCK = abort(
    r"\Adeadlock in the grid that begins with block \(0,0,0\): 128 of its 1024 threads wait for threads that will not "
    r"come\n.*: block \(6,0,0\): 127 threads wait at this barrier\n"
    r".*: block \(6,0,0\): 1 threads read an atomic here, over and over\n\Z"
)


def phase_deadlock(missing, waiting="128"):
    return abort(
        rf"\Adeadlock in block \(\d,0,0\): {waiting} of its 128 threads wait for threads that will not come\n"
        rf".*: {waiting} threads wait for a phase of a barrier, with {missing} missing\n\Z",
        part="waits",
    )


# An asynchronous copy's destination is memory that nobody may touch; for TSan another thread writes there.
UNTIMELY = sanitizer("AddressSanitizer: (use-after-poison|unknown-crash)", part="reads")
NO_WAIT = stops("begins an asynchronous copy here, and never waits for it", part="begins")
NO_COMMIT = stops("begins an asynchronous copy here, and never commits it", part="begins")
NO_INIT = stops("uses a barrier that its block has not initialised, or whose memory holds something else", part="uses")
PHASE_GONE = stops(
    "waits for a phase after which the barrier has been through another: on a GPU it may wait for ever", part="waits"
)
OTHER_BARRIER = stops("begins an asynchronous copy here, and nobody waits at its barrier", part="begins")

TABLE = {
    "no_barrier": row(HIDDEN, WRONG, WRONG, thread=race(HIDDEN)),
    # Reversed, a thread's partners have done all their sums before it begins: as if there were a barrier.
    "tree_loop": row(WRONG, HIDDEN, WRONG, thread=race(WRONG)),
    "write_after_read": everywhere(WRONG, thread=race(WRONG)),
    "in_place": everywhere(WRONG, thread=race(WRONG)),
    "counter": everywhere(HIDDEN, thread=race(HIDDEN)),
    "no_warp_barrier": row(HIDDEN, WRONG, WRONG, thread=race(HIDDEN)),
    "warp_synchronous": row(WRONG, HIDDEN, WRONG, thread=race(WRONG)),
    "divergent_barrier": everywhere(stops(r"waits at another barrier than the threads before it, which are at\n.*:")),
    "missing_lane": everywhere(DEADLOCK),
    "returned_lane": everywhere(stops("shuffles with a lane that has returned")),
    "left_out_of_mask": everywhere(stops("calls a warp operation whose mask leaves it out")),
    "two_operations": everywhere(stops(r"calls another warp operation than the lanes that wait for it at\n.*:")),
    "cluster_no_barrier": row(HIDDEN, WRONG, WRONG, thread=race(HIDDEN)),
    # Reversed, who reads has read when its neighbour returns. What a block leaves behind is rubbish, not shared memory.
    # TSan remembers the last few accesses only, and not always the one that counts here.
    "cluster_left_early": row(
        WRONG, HIDDEN, WRONG, address=sanitizer("AddressSanitizer: use-after-poison"), thread=(race(WRONG), WRONG)
    ),
    "cluster_divergent": everywhere(
        stops(r"comes to another barrier of the cluster than the threads before it, which are at\n.*:")
    ),
    "cluster_deadlock": everywhere(CLUSTER_DEADLOCK),
    "cluster_half_barrier": everywhere(stops("comes to the barrier of the cluster again, and has not waited there")),
    "cluster_wait_alone": everywhere(stops("waits at the barrier of the cluster, and has not arrived there")),
    "grid_no_letter": everywhere(GRID_DEADLOCK),
    "cluster_no_such_block": everywhere(stops("asks for the shared memory of a block that its cluster does not have")),
    "cluster_local_variable": everywhere(stops("asks for the place of what is not in its shared memory")),
    "copy_no_wait": everywhere(NO_WAIT, address=UNTIMELY, thread=race(NO_WAIT)),
    "copy_no_commit": everywhere(NO_COMMIT, address=UNTIMELY, thread=race(NO_COMMIT)),
    "copy_wait_before_commit": everywhere(NO_WAIT, address=UNTIMELY, thread=race(NO_WAIT)),
    "copy_wrong_group": everywhere(WRONG, address=UNTIMELY, thread=race(WRONG)),
    "copy_too_early": everywhere(WRONG, address=UNTIMELY, thread=race(WRONG)),
    "copy_twice": everywhere(
        stops(r"begins an asynchronous copy to where another may still write, which began at\n.*:")
    ),
    "copy_no_barrier": row(HIDDEN, WRONG, WRONG, thread=race(HIDDEN)),
    "copy_misaligned": everywhere(
        stops("begins an asynchronous copy at an address that is not a multiple of its size")
    ),
    "copy_of_two_bytes": everywhere(stops("begins an asynchronous copy of a size that is not 4, 8 or 16 bytes")),
    "phase_no_init": row(HIDDEN, NO_INIT, NO_INIT, thread=race(HIDDEN)),
    "phase_no_wait": row(HIDDEN, WRONG, WRONG, thread=race(HIDDEN)),
    # Who comes when the phase is over, waits for the next one, which never ends.
    "phase_wrong_parity": row(
        WRONG,
        HIDDEN,
        (WRONG, phase_deadlock("1 of 1 arrivals and 0 bytes", waiting=r"\d+")),
        thread=race(WRONG, part="(writes|reads)"),
    ),
    "phase_every_lane": everywhere(PHASE_GONE, thread=(PHASE_GONE, race(PHASE_GONE))),
    "phase_deadlock": everywhere(phase_deadlock("2 of 130 arrivals and 0 bytes")),
    "phase_missing_bytes": everywhere(phase_deadlock("0 of 1 arrivals and 16 bytes")),
    "phase_other_barrier": everywhere(OTHER_BARRIER, address=UNTIMELY, thread=race(OTHER_BARRIER)),
    "global_overrun": everywhere(
        OVERRUN,
        address=sanitizer("AddressSanitizer: heap-buffer-overflow"),
        thread=sanitizer("ThreadSanitizer: SEGV on unknown address", code=66),
    ),
    "static_shared_overrun": everywhere(WRONG, address=sanitizer(r"runtime error: index 128 out of bounds")),
    "dynamic_shared_overrun": everywhere(WRONG, address=sanitizer("AddressSanitizer: use-after-poison")),
    "unwritten_shared": everywhere(WRONG),
    # What the system gives is zero; ASan's allocator fills it with something else.
    "unwritten_array": row(HIDDEN, WRONG, WRONG, address=WRONG),
    "texture_type": everywhere(stops("fetches elements of a size that the texture does not have")),
    "other_device": everywhere(HIDDEN, guard=KERNEL_TOUCH),
    "host_reads": everywhere(HIDDEN, guard=HOST_TOUCH),
    "host_writes": everywhere(HIDDEN, guard=HOST_TOUCH),
    "no_stream_sync": everywhere(HIDDEN, lazy=WRONG),
    "no_event": everywhere(HIDDEN, lazy=WRONG),
    "reader_too_early": everywhere(HIDDEN, lazy=WRONG),
    "writer_too_early": everywhere(HIDDEN, lazy=WRONG),
}


def lines_marked(name, part):
    mark = re.compile(rf"// {name}(: {part or '[a-z]+'})?$")
    return {number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if mark.search(line)}


def lines_named(report):
    """The lines of mistakes.cu that the messages begin with, and the innermost of each stack of a bad access."""
    lines, in_access = set(), False
    for text in report.splitlines():
        begins = re.match(r"\S*mistakes\.cu:(\d+):", text)
        frame = re.match(r"\s+#\d+ .*mistakes\.cu:(\d+)", text)
        if begins:
            lines.add(int(begins[1]))
        if re.search(r"\b(read|write) of size|caused by a (read|write)", text, re.I):
            in_access = True
        elif in_access and frame:
            lines.add(int(frame[1]))
            in_access = False
        elif not text:
            in_access = False
    return lines


def run(program, name, version, environment):
    # Two workers on every machine, so that blocks do run at once and shared memory does pass from block to block.
    environment = {"PATH": os.environ["PATH"], "PSFLIP_CPU_WORKERS": "2", "PSFLIP_CPU_DEVICES": "2", **environment}
    command = [program, name, version]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    if "FATAL: ThreadSanitizer" in result.stderr:  # it does not bear the addresses that this kernel gives at random
        result = subprocess.run(
            ["setarch", "-R", *command], env=environment, capture_output=True, text=True, timeout=60
        )
    return result


def difference(result, expected, name):
    if isinstance(expected, tuple):  # either is as expected
        found = [difference(result, one, name) for one in expected]
        return None if None in found else found[0]
    if result.returncode != expected.code:
        return f"exit code {result.returncode} instead of {expected.code}"
    if result.stdout != expected.stdout:
        return f"it printed {result.stdout!r} instead of {expected.stdout!r}"
    if not re.search(expected.stderr, result.stderr):
        return f"stderr does not match {expected.stderr!r}"
    lines = lines_marked(name, expected.part)
    if expected.names_lines and lines_named(result.stderr) != lines:
        return f"it named the lines {sorted(lines_named(result.stderr))} instead of {sorted(lines)}"
    return None


def judged(program, name, version, environment, expected, most_runs=5):
    """A run's result and what is wrong with it; the first run that does not end as may come first."""
    instead = getattr(expected, "instead", None)
    for _ in range(most_runs):
        result = run(program, name, version, environment)
        problem = difference(result, expected, name)
        if not problem or not instead or difference(result, instead, name):
            break
    return result, problem


def main(name, programs):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the crashes are wanted, their memory images are not
    failures = runs = 0
    for tool, (build, environment, seeds) in TOOLS.items():
        if build not in programs:
            continue
        for seed in range(1, seeds + 1):
            variables = {key: value.format(seed=seed) for key, value in environment.items()}
            for version, expected in (("right", HIDDEN), ("wrong", TABLE[name][tool])):
                result, problem = judged(programs[build], name, version, variables, expected)
                print(f"{tool:10} {seed} {version:6} {problem or 'as expected'}")
                runs += 1
                if problem:
                    failures += 1
                    print(result.stdout + result.stderr)
    print(f"{runs} runs, {failures} not as expected")
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], dict(argument.split("=", 1) for argument in sys.argv[2:])))
