#!/usr/bin/env python3
"""Starts the program of stage 08 on several ranks of MPI. common/run --ranks calls this, and it builds that.

mpirun does the work; this knows what Open MPI wants to be told, and lets a run save itself before Ctrl-C ends it.
"""

import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
if __name__ == "__main__":
    import interrupt  # noqa: F401

import os
import shutil
import signal
import subprocess

import build
from options import Parser, whole
from stages import Broken, Failure, run_tool

PROGRAM = "08_mpi/spin_glass"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def parse_options(arguments):
    """The options; what comes after -- is the program's."""
    parser = Parser(
        as_written=False,
        prog="common/run --ranks",
        usage="common/run --ranks N [--build-dir DIR] [--cuda | --no-cuda] [--no-install] [-- options of spin_glass]",
        description="Builds and starts stage 08's spin_glass on N ranks of MPI. Without options of its own "
        "it gets a small problem; common/run --ranks 1 -- --help lists them.",
    )
    how = "how many: at most one a plane, L / 2. They share the GPUs if there are fewer, and the cores"
    parser.add_argument("--ranks", type=whole, required=True, help=how)
    build.add_options(parser)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    options.of_program = arguments[end + 1 :]
    return options


def command(ranks, program, of_program):
    """mpirun -q: what a rank says goes to the terminal, and not what mpirun says to that."""
    small = ["--size", str(max(32, 2 * ranks)), "--samples", "32", "--sweeps", "100"]
    return ["mpirun", "-q", "-n", str(ranks), str(program), *(of_program or small)]


def environment(ranks):
    """What Open MPI is told, unless the user has told it something else. More ranks than cores are welcome, and no rank
    is bound to a core, since it may have many threads. Where ranks fill the cores, one that waits gives way."""
    variables = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    if ranks >= (os.cpu_count() or 1):
        variables["OMPI_MCA_mpi_yield_when_idle"] = "1"
    if os.geteuid() == 0:  # in containers, say
        variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return variables | os.environ


def run(mpirun, ranks):
    """Runs it. SIGINT, SIGTERM and SIGHUP become SIGUSR1, which mpirun passes on to the program: it saves the run if it
    has a checkpoint. The second ends mpirun. The exit code, as if the program had got the signal itself."""
    got = []
    child = None

    def end(number, _):
        got.append(number)
        child.send_signal(signal.SIGUSR1 if len(got) == 1 else signal.SIGTERM)

    # In a session of its own, so that Ctrl-C comes here alone; such a process cannot read the terminal.
    child = subprocess.Popen(
        mpirun, env=environment(ranks), start_new_session=True, stdin=subprocess.DEVNULL if sys.stdin.isatty() else None
    )
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, end)
    code = child.wait()
    code = 128 - code if code < 0 else code
    if got:
        return 128 + got[0] if code else 0
    if code > 128:
        raise Broken(f"signal {code - 128} ended a rank, and so the run", code)
    return code


def require_mpirun(option):
    if not shutil.which("mpirun"):
        raise Failure(f"{option}: there is no mpirun here (Debian: openmpi-bin)")


def built(options, program, target, option):
    """A program of stage 08, up to date."""
    builder = build.builder_for(options)
    if builder.has(target):
        builder.need(target)
    elif not (options.build_dir / program).exists():
        raise Failure(
            f"{option}: stage 08 was left out of the build in {options.build_dir}: CMake found no MPI "
            "(Debian: libopenmpi-dev)"
        )
    return options.build_dir / program


def main(arguments):
    options = parse_options(arguments)
    require_mpirun("--ranks")
    program = built(options, PROGRAM, "08_mpi_spin_glass", "--ranks")
    return run(command(options.ranks, program, options.of_program), options.ranks)


if __name__ == "__main__":
    run_tool(main, "common/run")
