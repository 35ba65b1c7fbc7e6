#!/usr/bin/env python3
"""Stands in for a stage's majority_benchmark in the tests of these tools: says what Google Benchmark would say.

Its times follow from the launch shape, stage 03 refuses width 32, and a file WRONG beside it makes its bits wrong.
"""

import json
import sys
from pathlib import Path

HASH = "0123456789abcdef"


def main():
    words = [word for word in sys.argv[1:] if word not in ("--benchmark_format=json", "--unchecked")]
    words = [word for word in words if not word.startswith("--benchmark_filter")]
    options = dict(zip(words[::2], words[1::2]))
    here = Path(__file__).parent
    stage = here.name[:2]
    entries = []
    for storage in options.get("--storage", "int32").split(","):
        for width in options.get("--thread-width", "").split(","):
            for block in options.get("--block", "").split(","):
                entries += benchmark(stage, len(entries), storage, width, block, options, (here / "WRONG").exists())
    if "--benchmark_filter=majority" not in sys.argv:
        entries.append({"name": "copy/iterations:1", "run_type": "iteration", "family_index": 999, "gb_per_s": 100.0})
    context = {
        "psflip_platform": "reference" if stage == "00" else "cpu",
        "psflip_device": "a fake",
        "psflip_build_type": "debug",
    }
    print(json.dumps({"context": context, "benchmarks": entries}))
    return 1 if any("wrong" in entry.get("error_message", "") for entry in entries) else 0


def benchmark(stage, family, storage, width, block, options, wrong):
    name = f"majority/storage:{storage}"
    name += f"/thread_width:{width}" * bool(width) + f"/block:{block}" * bool(block)
    common = {"name": name + "/iterations:1/manual_time", "run_type": "iteration", "family_index": family}
    if stage == "03" and width == "32":
        return [common | {"error_occurred": True, "error_message": "a tile too large"}]
    if wrong and "--expect" in options:
        message = f"wrong bits after timing: hash 00, expected {HASH}"
        return [common | {"error_occurred": True, "error_message": message}]
    size = 8 if storage == "int8" or stage == "00" else 32
    shape = {} if stage == "00" else {"thread_width": float(width or 16), "block": float(block or 1)}
    # Fastest at width 10, b = 2; the repetitions differ, so that a mean is not taken for the median.
    time = 100 / 2 ** int(stage) + 3 * abs(int(width or 16) - 10) + abs(int(block or 1) - 2)
    runs = [time, time, 100 * time][: int(options["--repetitions"])]
    found = [
        common | shape | {"ms_per_step": run, "bytes_per_site": size / 4.0, "label": options.get("--expect", HASH)}
        for run in runs
    ]
    mean = {"name": name + "_mean", "run_type": "aggregate", "family_index": family, "ms_per_step": 1e9}
    return found + [mean]


if __name__ == "__main__":
    sys.exit(main())
