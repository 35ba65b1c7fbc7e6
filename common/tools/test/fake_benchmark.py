#!/usr/bin/env python3
"""Stands in for a stage's benchmark in the tests of these tools: says what Google Benchmark would say.

Most tests call answer() instead of starting a program. Which model it times follows from its name. Its times follow
from the launch; some launches are refused, as real stages refuse some; a file WRONG beside it makes its bits wrong, and
a file GPU in the build folder makes it say that it runs on one.
"""

import json
import re
import sys
import zlib
from itertools import product
from pathlib import Path

HASH = "0123456789abcdef"


def answer(command):
    """What the program says that is called like this, and its exit code."""
    here, *arguments = Path(command[0]), *command[1:]
    stage = here.parent.name[:2]
    flags = [word for word in arguments if word.startswith("--benchmark_") or word == "--unchecked"]
    wanted = next((word.split("=", 1)[1] for word in flags if "filter" in word), "")
    words = [word for word in arguments if word not in flags]
    options = dict(zip(words[::2], words[1::2]))
    launches = majority if here.name == "majority_benchmark" else spin_glass
    entries = []
    for family, (name, refusal, figures, time, words) in enumerate(launches(stage, options)):
        common = {"name": name + "/iterations:1/manual_time", "family_index": family, "threads": 1}
        if not re.search(wanted, common["name"]):
            continue
        common["run_type"] = "iteration"
        state = HASH if launches is majority else hash_of(name, options)
        if refusal:
            entries.append(common | {"error_occurred": True, "error_message": refusal})
        elif (is_wrong(here.parent, name, options) and "--expect" in options) or options.get(
            "--expect", state
        ) != state:
            message = f"wrong bits after timing: hash {state}, expected {options['--expect']}"
            entries.append(common | {"error_occurred": True, "error_message": message})
        else:
            state = "f" * 16 if is_wrong(here.parent, name, options) else state
            # The repetitions differ, so that a mean is not taken for the median.
            runs = [time, time, 100 * time][: int(options["--repetitions"])]
            unit = "ms_per_step" if launches is majority else "ms_per_sweep"
            common["label"] = " ".join([*([] if "--unchecked" in flags else [state]), *words])
            entries += [common | figures | {unit: run} for run in runs]
            entries.append(common | {"name": name + "_mean", "run_type": "aggregate", unit: 1e9})
    if not wanted:
        entries.append({"name": "copy/iterations:1", "run_type": "iteration", "family_index": 999, "gb_per_s": 100.0})
    context = {
        "psflip_platform": "reference" if stage == "00" else "gpu" if (here.parents[1] / "GPU").exists() else "cpu",
        "psflip_device": "a fake",
        "psflip_build_type": "debug",
    }
    text = json.dumps({"context": context, "benchmarks": entries})
    return text, 1 if any("wrong" in entry.get("error_message", "") for entry in entries) else 0


def is_wrong(folder, name, options):
    kernel = re.search(r"kernel:(\w+)", name)
    marks = ["WRONG", f"WRONG-{options.get('--generator')}", *([f"WRONG-{kernel[1]}"] if kernel else [])]
    return any((folder / mark).exists() for mark in marks)


def hash_of(name, options):
    """Other problems have other states."""
    generator = re.search(r"generator:([\w-]+)", name)
    problem = [generator[1] if generator else "minstd", *map(options.get, ("--size", "--samples", "--replicas"))]
    return f"{zlib.crc32(repr(problem).encode()):016x}"


def product_of(options, *names):
    return product(*(options.get(name, "").split(",") for name in names))


def asked(**words):
    return [f"{name}:{value}" for name, value in words.items() if value]


def majority(stage, options):
    """Fastest at width 10, b = 2. Stage 03 refuses width 32. Stage 07 has bits, and is fastest at 6 steps per pass."""
    for storage, width, block, passes in product_of(
        options, "--storage", "--thread-width", "--block", "--steps-per-pass"
    ):
        storage = storage or ("bit" if stage == "07" else "int32")
        said = asked(storage=storage, thread_width=width, block=block, steps_per_pass=passes)
        name = "/".join(["majority", *said])
        refusal = "a tile too large" if (stage, width) == ("03", "32") else None
        if (storage == "bit") != (stage == "07") or (width or block if stage == "07" else passes):
            refusal = "the stage has nothing of the kind"
        time = 100 / 2 ** int(stage) + 3 * abs(int(width or 16) - 10) + abs(int(block or 1) - 2)
        figures = {"bytes_per_site": 2.0 if storage == "int8" or stage == "00" else 8.0}
        if stage == "07":
            passes = int(passes or 8)
            figures, time = {"bytes_per_site": 0.25, "steps_per_pass": float(passes)}, 0.1 * (1 + abs(passes - 6))
        elif stage != "00":
            figures |= {"thread_width": float(width or 16), "block": float(block or 1)}
        yield name, refusal, figures, time, []


INDEXINGS = {
    "00": [""],
    "04": ["standard", "bitwise"],
    "05": ["sliced", "sliced-grid", "standard-grid"],
    "06": ["sliced", "standard", "bitwise"],
}
GENERATORS = ["minstd", "parisi-rapuano", "mt19937", "philox"]  # of stages 00 and 06


KERNELS = {  # of stage 07: ps a flip, the largest L, the most samples of a word, its clusters
    "update": (0.2, 1024, 32, [None]),
    "wide": (0.15, 1024, 128, [None]),
    "overlapped": (0.1, 80, 128, [None]),
    "resident": (0.05, 32, 128, [1, 2]),
    "small": (0.4, 32, 32, [16]),
}


def kernels(options, size, spins):
    """Fastest: 64 samples a word, 256 threads, the first cluster, all replicas at once; small is fast for few spins."""
    per_stream, replicas = int(options.get("--samples-per-stream", 32)), int(options.get("--replicas", 4))
    for generator, kernel, k, threads, cluster, together, *others in product_of(
        options,
        "--generator",
        "--kernel",
        "--samples-per-word",
        "--threads",
        "--cluster",
        "--replicas-together",
        "--indexing",
        "--load",
        "--sites-per-thread",
    ):
        said = asked(
            generator=generator,
            kernel=kernel,
            samples_per_word=k,
            threads=threads,
            cluster=cluster,
            replicas_together=together,
        )
        name = "/".join(["spin_glass", *said])
        kernel, k, generator = kernel or "wide", int(k or 32), generator or "minstd"
        ps, largest, widest, clusters = KERNELS[kernel]
        refusal = None
        usual = "576" if kernel == "overlapped" else "256"
        if (
            any(others)
            or ((cluster or together) and clusters == [None])
            or ((clusters[0] or kernel == "overlapped") and threads not in ("", usual))
        ):
            refusal = "the stage has nothing of the kind"
        elif (
            size > largest
            or k > widest
            or per_stream % k
            or (cluster and int(cluster) not in clusters)
            or (kernel == "overlapped" and generator != "philox")
        ):
            refusal = "this kernel cannot do it"
        elif together and int(together) not in ([1, 2, replicas] if k == 32 else [replicas]):
            refusal = "replicas do not fit"
        threads = threads or usual
        cluster = cluster or clusters[0]
        together = together or (replicas if clusters[0] else "")
        slower = 1 + abs(k - 64) / 100 + (threads != usual) / 10 + 0.2 * (generator == "minstd")
        if cluster:
            slower += clusters.index(int(cluster)) / 10 + (int(together) != replicas) / 10 if not refusal else 0
        time = ps * slower * spins * 1e-9 + (0 if kernel == "small" else 3e-3)
        words = asked(
            generator=generator,
            threads=threads,
            kernel=kernel,
            samples_per_word=k,
            cluster=cluster,
            replicas_together=together,
        )
        yield name, refusal, {"bytes_per_flip": 0.5625}, time, words


def spin_glass(stage, options):
    """Fastest: readonly, 256 threads, 4 sites, and the first generators. Times grow with L^3, M and R. Stage 04 has no
    load and no sites, stage 06 no load; stages 04 and 05 have no generators but minstd. A file WRONG-philox makes that
    generator wrong, WRONG-wide that kernel."""
    size = int(options["--size"])
    spins = size**3 * int(options.get("--samples", 1)) * int(options.get("--replicas", 4))
    if stage in ("07", "08"):
        yield from kernels(options, size, spins)
        return
    if options.get("--kernel"):
        yield "spin_glass/kernel", "the stage has nothing of the kind", {}, 0, []
        return
    for generator, indexing, load, threads, sites in product_of(
        options, "--generator", "--indexing", "--load", "--threads", "--sites-per-thread"
    ):
        said = asked(generator=generator, indexing=indexing, load=load, threads=threads, sites_per_thread=sites)
        name = "/".join(["spin_glass", *said])
        indexing, generator = indexing or INDEXINGS[stage][0], generator or "minstd"
        refusal = None
        if indexing not in INDEXINGS[stage] or (stage != "05" and load) or (stage in ("00", "04") and sites):
            refusal = "the stage has nothing of the kind"
        elif generator not in (GENERATORS if stage in ("00", "06") else GENERATORS[:1]):
            refusal = f"--generator is {generator}: the stage has no such"
        elif stage == "06" and indexing != "sliced" and sites not in ("", "1"):
            refusal = "one site a thread"
        elif indexing == "bitwise" and size & (size - 1):
            refusal = f"it takes a power of two for --size, not {size}"
        elif size % int(sites or 1) or (indexing == "standard-grid" and sites not in ("", "1")):
            refusal = "sites do not fit"
        if stage == "05":
            load, sites = load or "readonly", sites or ("1" if indexing == "standard-grid" else "4")
        if stage == "06":
            sites = sites or ("4" if indexing == "sliced" else "1")
        threads = threads or ("" if stage == "00" else "256")
        slower = 0 if stage != "06" else 10 * GENERATORS.index(generator) if not refusal else 0
        slower += abs(int(threads or 256) - 256) / 64 + 3 * (load in ("plain", "texture")) + abs(int(sites or 4) - 4)
        time = spins * 1e-6 * (100 / 2 ** int(stage) + slower + INDEXINGS[stage].index(indexing)) if not refusal else 0
        words = asked(generator=generator, indexing=indexing, load=load, threads=threads, sites_per_thread=sites)
        yield name, refusal, {"bytes_per_flip": 6.5}, time, words


if __name__ == "__main__":
    text, code = answer(sys.argv)
    print(text)
    sys.exit(code)
