#!/usr/bin/env python3
"""Reads the GPU's hardware counters for one kernel of each stage, with NVIDIA's Nsight Compute (ncu).

Of the 2D model that is a step, or the steps of a pass, of the 3D spin glass half a sweep, the red sites. The launches
are the best ones of a comparison (common/run --json) and any others asked for. Of the 3D kernels that --words names
(common/run --words), it is a sweep, or for those that do many in a launch all of these. The result is a
JSON file from which readme_tables.py makes tables. ncu needs the right to read counters: root, or a driver that lets
everyone.
"""

import csv
import io
import json
import re
import subprocess
from pathlib import Path

import stages
from build import build_if_configured
from measure import words
from models import MAJORITY, MODELS, SPIN_GLASS, model_of
from options import Parser, adder
from results import select, write_result
from stages import ROOT, Failure, as_words, last_line, run_tool

METRICS = {
    "microseconds": "gpu__time_duration.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_written_bytes": "dram__bytes_write.sum",
    "dram_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_percent": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_bytes": "lts__t_bytes.sum",
    "l1_percent": "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_hit_percent": "l1tex__t_sector_hit_rate.pct",
    "l2_hit_percent": "lts__t_sector_hit_rate.pct",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    # What the addresses take, instruction by instruction; the pipe's counts above hold more.
    "shared_load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "alu_percent": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "warps_per_sm": "sm__warps_active.avg.per_cycle_active",
    "registers": "launch__registers_per_thread",
    "branches": "smsp__sass_branch_targets.sum",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
    "branch_efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
}
STALLS = (
    "long_scoreboard short_scoreboard barrier lg_throttle mio_throttle math_pipe_throttle wait not_selected "
    "no_instruction membar drain branch_resolving dispatch_stall"
)
METRICS |= {f"stall_{s}": f"smsp__average_warps_issue_stalled_{s}_per_issue_active.ratio" for s in STALLS.split()}
# To microseconds and to bytes.
SCALES = {"usecond": 1, "us": 1, "nsecond": 1e-3, "ns": 1e-3, "msecond": 1e3, "ms": 1e3}
SCALES |= {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def profile_command(command, kernel_regex, launch_skip, launch_count):
    """The counters (keys of METRICS) of some kernel launches of a program that ncu runs.

    command: the program and its options, a list. Among the launches of kernels whose name matches kernel_regex, the
    first launch_skip are left alone and the next launch_count measured. Counts and times are sums over those launches,
    everything else (percentages, ratios, registers) is their mean. Raises Failure, one line, if ncu cannot do it.
    """
    name = Path(command[0]).name
    ncu = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--metrics", ",".join(METRICS.values())]
    ncu += ["--kernel-name", f"regex:{kernel_regex}"]
    ncu += ["--launch-skip", str(launch_skip), "--launch-count", str(launch_count)]
    try:
        done = subprocess.run(ncu + list(map(str, command)), capture_output=True, text=True)
    except FileNotFoundError:
        raise Failure("there is no ncu here; it comes with the CUDA toolkit") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode != 0 or len(lines) != 2 + launch_count:  # names, units, and the values of every launch
        raise Failure(f"{name}: ncu: {last_line(done.stdout + done.stderr, done.returncode)}")
    names, units, *launches = csv.reader(io.StringIO("\n".join(lines)))
    counters = {}
    for key, metric in METRICS.items():
        if metric not in names:
            raise Failure(f"{name}: ncu does not know {metric} on this GPU")
        column = names.index(metric)
        scale = SCALES.get(units[column], 1)
        total = sum(float(launch[column].replace(",", "")) * scale for launch in launches)
        counters[key] = total if metric.endswith(".sum") else total / launch_count
    return counters


def profile(stage, device, problem, launch):
    """The counters of the kernel after a first step, or a first sweep, of the same problem."""
    settings = {"device": device} | {name: problem[name] for name in stage.model.problem if name in problem} | launch
    if stage.model is MAJORITY:  # the program's own warm-up, on a single spin, is a launch too
        command, settings["steps"] = [stage.program], 2 * (launch["steps_per_pass"] or 1)
    else:  # the benchmark warms up by as many sweeps as it times; the program would also measure energies
        command, settings["sweeps"] = [stage.benchmark, "--unchecked", "--benchmark_filter=spin_glass"], 1
        settings["repetitions"] = 1
    return profile_command([*command, *as_words(settings)], "update", launch_skip=2, launch_count=1)


GENERATOR = "|".join(SPIN_GLASS.rows["generator"])
SHAPE = r"((?<!bit:)(?P<thread_width>\d+)x(?P<block>\d+)|(?<=bit:)(?P<steps_per_pass>\d+))"
READING = rf"(?P<indexing>[a-z-]+):((?P<generator>{GENERATOR}):)?((?P<load>[a-z]+):)?"
LAUNCH = {
    MAJORITY: rf"(?P<storage>int32|int8|bit):{SHAPE}",
    SPIN_GLASS: rf"{READING}(?P<threads>\d+)(x(?P<sites_per_thread>\d+))?",
}


def wished(model, text):
    """NN:int32:8x1 -> 'NN', {'storage': 'int32', 'thread_width': 8, 'block': 1, 'steps_per_pass': None}"""
    match = re.fullmatch(rf"(?P<stage>\d\d):{LAUNCH[model]}", text)
    if not match:
        raise Failure(f"--also {text}: a launch is written as in {model.launch_example}")
    values = {name: int(value) if value and value.isdigit() else value for name, value in match.groupdict().items()}
    del values["stage"]
    return match["stage"], dict.fromkeys(model.launch) | values


MANY_SWEEPS = ("resident", "small")  # kernels that do all sweeps asked for in one launch
FEWEST_PASSES = 3  # of two sweeps, which `overlapped` does in a launch each; for fewer it uses `wide`


def profile_kernel(stage, device, point):
    """The counters of the kernel in one of the points of words.py: of a launch or, if that does half a sweep, of two.
    `flips` is how many these do."""
    sweeps, launches = 1, 2
    if point["kernel"] in MANY_SWEEPS:
        sweeps, launches = point["sweeps"], 1
    elif point["kernel"] == "overlapped":
        sweeps, launches = 2 * FEWEST_PASSES, FEWEST_PASSES
    command = [stage.benchmark, "--unchecked", "--benchmark_filter=spin_glass", "--device", device]
    settings = {name: point[name] for name in ("size", "samples", "replicas", *SPIN_GLASS.launch) if name in point}
    settings |= {"samples_per_stream": min(words.WIDEST, point["samples"]), "sweeps": sweeps, "repetitions": 1}
    flips = sweeps * SPIN_GLASS.spins(point)
    command += as_words(settings)
    # As many for the warm-up.
    return {"flips": flips} | profile_command(command, "update", launch_skip=launches, launch_count=launches)


def kernels_to_profile(points):
    """Of every kernel, with the first generator: where all can be compared, and where it beats the others most, or is
    least behind. Of the lesson's, with every generator: where it is slowest."""
    found = []
    generator = words.GENERATORS[0]
    of_size = select(points, figure="size", generator=generator)
    size, samples = words.ONE_SYSTEM
    of_size += select(points, figure="samples", generator=generator, size=size, samples=samples)
    for kernel in SPIN_GLASS.rows["kernel"]:
        own = select(of_size, kernel=kernel)
        if own:
            here = select(own, figure="size", size=words.PUBLISHED_SIZE)
            best = max(own, key=lambda point: lead(point, of_size))
            found += here + [best] * (best not in here)
        if kernel == words.LESSON:
            for each in words.GENERATORS:
                lesson = select(points, figure="size", generator=each, kernel=kernel)
                lesson = [point for point in lesson if point["size"] in words.TARGETS]
                slowest = max(lesson, key=lambda point: point["ps_per_flip"], default=None)
                found += [slowest] * (slowest is not None and slowest not in found)
    return found


def lead(point, points):
    """How many times as long as this one the fastest of the other kernels takes."""
    same = select(points, size=point["size"], samples=point["samples"])
    others = [other for other in same if other["kernel"] != point["kernel"]]
    return words.fastest(others)["ps_per_flip"] / point["ps_per_flip"] if others else 1


def stage_called(number, model, options):
    """The stage, whose programs are up to date."""
    for stage in stages.course(options.build_dir, model):
        if stage.number == number:
            for target in (stage.target, stage.program_target):
                build_if_configured(options.build_dir, target)
            if stage.benchmark.exists():
                return stage
    raise Failure(f"stage {number} is not built in {options.build_dir}")


def of_words(options):
    """What --words asks for."""
    measured = json.loads(options.words.read_text())
    stage = stage_called(words.STAGE, SPIN_GLASS, options)
    rows = [point | profile_kernel(stage, options.device, point) for point in kernels_to_profile(measured["points"])]
    return {"format": "psFlip words counters, version 1", "device": measured["device"], "rows": rows}


def main(arguments):
    parser = Parser(description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    adder(source)("--comparison", "FILE", "from common/run --json FILE", Path)
    adder(source)("--words", "FILE", f"{words.NAME}.json from common/run --words", Path)
    examples = "; ".join(model.launch_example for model in MODELS)
    parser.add_argument("--also", nargs="*", default=[], metavar="LAUNCH", help=f"further launches, as {examples}")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where the counters go")
    parser.add_argument("--device", default="gpu", help="gpu, or the number of a GPU")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    options = parser.parse_args(arguments)

    if options.words and options.also:
        raise Failure("--also goes with --comparison")
    result = of_words(options) if options.words else of_comparison(options)
    write_result(options.json, result)
    return 0


def of_comparison(options):
    """What --comparison and --also ask for."""
    comparison = json.loads(options.comparison.read_text())
    model, problem = model_of(comparison), comparison["problem"]
    launches = [
        (row["stage"][:2], {name: row.get(name) for name in model.launch})
        for row in comparison["rows"]
        if row["platform"] == "gpu" and not row.get("kernel")  # --words has those
    ]
    launches += [wished(model, text) for text in options.also]
    rows = []
    for i, (number, launch) in enumerate(launches):
        if (number, launch) in launches[:i]:
            continue
        stage = stage_called(number, model, options)
        rows.append({"stage": stage.name} | launch | profile(stage, options.device, problem, launch))
    return {
        "format": f"psFlip {model.dimensions}D counters, version 1",
        "device": comparison["device"],
        **{name: problem[name] for name in model.problem if name != model.runs},
        "rows": rows,
    }


if __name__ == "__main__":
    run_tool(main, "counters")
