#!/usr/bin/env python3
"""Reads the GPU's hardware counters for one step of each stage, with NVIDIA's Nsight Compute (ncu).

The launches are the best ones of a comparison (common/run --json) and any others asked for. The result is a JSON file
from which readme_tables.py makes tables. ncu needs the right to read counters: root, or a driver that lets everyone.
"""

import argparse
import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import stages
from stages import ROOT, Failure

METRICS = {
    "microseconds": "gpu__time_duration.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_written_bytes": "dram__bytes_write.sum",
    "dram_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_percent": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_percent": "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_hit_percent": "l1tex__t_sector_hit_rate.pct",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps_per_sm": "sm__warps_active.avg.per_cycle_active",
    "registers": "launch__registers_per_thread",
}
STALLS = ["long_scoreboard", "short_scoreboard", "barrier", "lg_throttle", "mio_throttle", "math_pipe_throttle", "wait",
          "not_selected", "no_instruction", "membar", "drain", "branch_resolving", "dispatch_stall"]
METRICS |= {f"stall_{s}": f"smsp__average_warps_issue_stalled_{s}_per_issue_active.ratio" for s in STALLS}
SCALES = {"usecond": 1, "us": 1, "nsecond": 1e-3, "ns": 1e-3, "msecond": 1e3, "ms": 1e3,
          "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def profile(stage, device, size, storage, thread_width, block):
    """The counters of the second step. The kernel's first launch is the program's warm-up, on a single spin."""
    program = stage.program.with_name("majority")
    command = [
        "ncu", "--csv", "--page", "raw", "--clock-control", "none", "--metrics", ",".join(METRICS.values()),
        "--kernel-name", "regex:update", "--launch-skip", "2", "--launch-count", "1",
        str(program), "--device", device, "--size", str(size), "--steps", "2", "--storage", storage,
        "--thread-width", str(thread_width), "--block", str(block),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise Failure("there is no ncu here; it comes with the CUDA toolkit") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode != 0 or len(lines) != 3:  # names, units, values
        raise Failure(f"{stage.name}: ncu: {((done.stdout + done.stderr).strip().splitlines() or ['no output'])[-1]}")
    names, units, values = csv.reader(io.StringIO("\n".join(lines)))
    read = {name: (unit, value) for name, unit, value in zip(names, units, values)}
    counters = {}
    for key, metric in METRICS.items():
        if metric not in read:
            raise Failure(f"{stage.name}: ncu does not know {metric} on this GPU")
        unit, value = read[metric]
        counters[key] = float(value.replace(",", "")) * SCALES.get(unit, 1)
    return counters


def wished(text):
    """01:int32:8x1 -> ('01', 'int32', 8, 1)"""
    try:
        number, storage, shape = text.split(":")
        width, block = map(int, shape.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: it is stage:storage:WIDTHxBLOCK, as in 02:int8:16x3") from None
    return number, storage, width, block


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparison", type=Path, required=True, metavar="FILE", help="from common/run --json FILE")
    parser.add_argument("--also", type=wished, nargs="*", default=[], metavar="01:int32:8x1", help="further launches")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where the counters go")
    parser.add_argument("--device", default="gpu", help="gpu, or the number of a GPU")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    options = parser.parse_args(arguments)

    comparison = json.loads(options.comparison.read_text())
    size = comparison["problem"]["size"]
    found = {stage.number: stage for stage in stages.find_stages(options.build_dir)}
    launches = [
        (row["stage"][:2], row["storage"], row["thread_width"], row["block"])
        for row in comparison["rows"]
        if row["platform"] == "gpu"
    ]
    rows = []
    for number, storage, width, block in dict.fromkeys(launches + options.also):
        if number not in found:
            raise Failure(f"stage {number} is not built in {options.build_dir}")
        counters = profile(found[number], options.device, size, storage, width, block)
        launch = {"stage": found[number].name, "storage": storage, "thread_width": width, "block": block}
        rows.append(launch | counters)
    result = {"format": "psFlip 2D counters, version 1", "device": comparison["device"], "size": size, "rows": rows}
    options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print(f"counters: {failure}", file=sys.stderr)
        sys.exit(2)
