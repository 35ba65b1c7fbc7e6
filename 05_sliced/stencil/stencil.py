#!/usr/bin/env python3
"""Times the cubic stencil of stage 05, reads its cache hits, and prints both beside the poster's figures.

Every indexing and load path at every size, the best of several block sizes. The times come from the program
stencil_benchmark, the hits from NVIDIA's Nsight Compute (ncu), for the block size that was best. The poster is that of
Lulli, Bernaschi and Parisi at GTC 2015.
"""

import itertools
import json
import re
import statistics
import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")

import counters
import table
from build import build_if_configured
from options import Parser, add_common_options, new_file, some_of, whole, wholes
from results import begin_report, read_result
from stages import Failure, as_words, checked_repetitions, progress, report_of, run_tool

INDEXINGS = ["bitwise", "sliced", "sliced-grid", "standard", "standard-grid"]
LOADS = ["plain", "readonly", "texture"]
DEFAULTS = {"gpu": ([64, 128, 256, 512], [128, 256, 512, 1024]), "cpu": ([8, 16, 32], [256])}  # sizes, threads
FORMAT = "psFlip cubic stencil, version 1"
WORD_BITS = 32
SHOWN_SIZE = 256  # the table has bandwidth and hits at one size

# Published ps a site by size, and texture hits in percent: "plain" is the poster's version without texture.
POSTER_PS = {
    ("bitwise", "plain"): {256: 1.11, 512: 1.33},
    ("sliced", "plain"): {256: 1.72, 512: 1.72},
    ("standard", "plain"): {256: 1.89, 512: 1.89},
    ("bitwise", "texture"): {256: 1.09, 512: 1.32},
    ("sliced", "texture"): {256: 1.19, 512: 1.20},
    ("standard", "texture"): {256: 1.28, 512: 1.32},
}
POSTER_HITS = {("bitwise", "texture"): 55, ("sliced", "texture"): 60, ("standard", "texture"): 55}
ABOUT_POSTER = (
    "What the poster counts as a site we do not know: for a word, which moves 32 bytes, 1.1 ps would be 29 TB/s, and "
    f"for one of its {WORD_BITS} bits still 0.9 TB/s, where GPUs of that time moved 0.3 TB/s. So beside its figures "
    f"stand ours divided by {WORD_BITS}, and only the ratios between rows can be compared."
)


def default_sweeps(size):
    """So many that a timed run takes a millisecond or more on a large GPU."""
    return min(max(2**28 // size**3, 10), 200)


def parse_report(report):
    """One run's rows, a row an indexing and load path with its best block size, and what was refused."""
    times, hashes, refused, copy = {}, set(), {}, None
    for entry in checked_repetitions(report):
        if entry["name"].startswith("copy"):
            copy = entry["gb_per_s"]
            continue
        asked = dict(re.findall(r"([a-z]+):([\w-]+)", entry["name"]))
        variant = int(asked["size"]), asked["indexing"], asked["load"]
        if entry.get("error_occurred"):
            refused[variant] = entry["error_message"]
        else:
            threads = int(entry["threads_of_a_block"])
            times.setdefault(variant, {}).setdefault(threads, []).append(entry["ps_per_site"])
            hashes.add(entry["label"])
            bytes_per_site = entry["bytes_per_site"]
    if copy is None:
        raise Failure("the report has no copy bandwidth")
    if len(hashes) > 1:
        raise Failure(f"the variants end with different words: {', '.join(sorted(hashes))}")
    rows, names = [], ("size", "indexing", "load")
    for variant, by_threads in times.items():
        medians = {threads: statistics.median(runs) for threads, runs in by_threads.items()}
        threads = min(medians, key=medians.get)
        row = dict(zip(names, variant)) | {"threads": threads, "ps_per_site": medians[threads]}
        row |= {"gb_per_s": bytes_per_site / medians[threads] * 1e3, "copy_gb_per_s": copy, "hash": min(hashes)}
        rows.append(row | {"ps_per_site_by_threads": medians})
    return rows, [dict(zip(names, variant), refused=why) for variant, why in refused.items()]


def measure(program, options):
    """All sizes. The block size that is best at one is not at another, so each is searched."""
    smallest = {"size": 4, "sweeps": 1, "repetitions": 1, "indexing": "sliced"}
    first = report_of([program, *as_words(smallest | {"device": options.device})], "what it has")
    sizes, threads = DEFAULTS[first["context"]["psflip_platform"]]
    options.sizes, options.threads = options.sizes or sizes, options.threads or threads
    asked = {name: getattr(options, name) for name in ("indexing", "load", "threads", "sweeps", "repetitions")}
    rows, refused = [], []
    for size in options.sizes:
        of_size = asked | {"size": size, "sweeps": options.sweeps or default_sweeps(size), "device": options.device}
        found = parse_report(report_of([program, *as_words(of_size)], f"L = {size}: times"))
        rows += found[0]
        refused += found[1]
    return begin_report(FORMAT, "05_sliced/stencil/stencil.py", {"sizes": options.sizes} | asked, first) | {
        "sizes": options.sizes,
        "threads": options.threads,
        "repetitions": options.repetitions,
        "rows": rows,
        "refused": refused,
    }


def read_counters(program, row, device):
    """Of the second sweep, one red and one blue launch: the first one warms up."""
    run = {name: row[name] for name in ("size", "indexing", "load", "threads")}
    run |= {"sweeps": 2, "repetitions": 1, "device": device}
    command = [program, *as_words(run), "--benchmark_filter=stencil"]
    read = counters.profile_command(command, "update", launch_skip=2, launch_count=2)
    words = row["size"] ** 3  # a sweep updates each once
    return {
        "l1_hit_percent": read["l1_hit_percent"],
        "l2_hit_percent": read["l2_hit_percent"],
        "dram_bytes_per_site": (read["dram_read_bytes"] + read["dram_written_bytes"]) / words,
    }


def markdown(folder):
    """The README's table from stencil.json in a folder of common/results, and what has to be said about it."""
    result = read_result(folder / "stencil.json", FORMAT)
    return f"{as_table(result)}\n\n{remarks(result)}"


TABLES = {"stencil": markdown}


def shown_size(result):
    """The size at which the table has bandwidth and hits."""
    sizes = {row["size"] for row in result["rows"]}
    return SHOWN_SIZE if SHOWN_SIZE in sizes else max(sizes)


def as_table(result):
    rows = {(row["indexing"], row["load"], row["size"]): row for row in result["rows"]}
    sizes = sorted({row["size"] for row in result["rows"]})
    shown = shown_size(result)
    beside_poster = [size for size in sizes if any(size in published for published in POSTER_PS.values())]

    def line(indexing, load):
        def of(size, text):
            return cell(rows.get((indexing, load, size)), text)

        cells = {"indexing": indexing, "load": load}
        for size in sizes:
            cells[f"ps per word, L = {size}"] = of(size, lambda row: table.significant(row["ps_per_site"]))
        cells |= {
            f"GB/s, L = {shown}": of(shown, lambda row: table.significant(row["gb_per_s"], 3)),
            "% of copy": of(shown, lambda row: f"{100 * row['gb_per_s'] / row['copy_gb_per_s']:.0f}"),
            "L1 hits, %": of(shown, lambda row: f"{row['counters']['l1_hit_percent']:.0f}"),
            "L2 hits, %": of(shown, lambda row: f"{row['counters']['l2_hit_percent']:.0f}"),
            "DRAM, B per word": of(shown, lambda row: f"{row['counters']['dram_bytes_per_site']:.1f}"),
        }
        for size in beside_poster:
            published = POSTER_PS.get((indexing, load), {}).get(size)
            in_bits = of(size, lambda row: table.significant(row["ps_per_site"] / WORD_BITS, 3))
            cells[f"ps per bit, L = {size}"] = in_bits
            cells[f"poster, L = {size}"] = "-" if published is None else f"{published:.2f}"
        if beside_poster:
            cells["poster, texture hits, %"] = str(POSTER_HITS.get((indexing, load), "-"))
        return cells

    variants = {variant[:2] for variant in rows}
    lines = [line(*each) for each in itertools.product(INDEXINGS, LOADS) if each in variants]
    return table.table_of(lines, ("indexing", "load"))


def cell(row, text):
    """'-' where the variant was refused, or its counters not read."""
    try:
        return text(row)
    except (KeyError, TypeError):
        return "-"


def remarks(result):
    source, threads = table.source(result), ", ".join(map(str, result["threads"]))
    warnings = "".join(f" {warning}" for warning in table.build_warnings([result]))
    copy = next(row["copy_gb_per_s"] for row in result["rows"] if row["size"] == shown_size(result))
    return (
        f"{source} Median of {result['repetitions']} runs, the best of {threads} threads per block. GB/s "
        "counts 32 bytes per updated word: itself written, one word of the other colour and six couplings read; a copy "
        f"reaches {copy:,.0f} GB/s.{warnings}\n\n{ABOUT_POSTER}"
    )


def parse_options(arguments):
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--sizes", type=wholes, metavar="64,256", help="sites along a side (64,128,256,512; 8,16,32 on a CPU)")
    add("--indexing", type=some_of(INDEXINGS), metavar="sliced,bitwise", help="only these")
    add("--load", type=some_of(LOADS), metavar="plain,texture", help="only these")
    add("--threads", type=wholes, metavar="128,256", help="block sizes to try (128,256,512,1024; 256 on a CPU)")
    add("--sweeps", type=whole, metavar="K", help="in a timed run (10 to 200, fewer for a larger lattice)")
    add("--repetitions", type=whole, default=5, metavar="R", help="timed runs, of which the median counts (5)")
    add("--counters", type=wholes, default=[SHOWN_SIZE], metavar="256", help="sizes to read counters for (256)")
    add("--no-counters", action="store_true", help="times alone; without a GPU it is always so")
    add("--json", type=new_file, metavar="FILE", help="write everything that was measured")
    add_common_options(parser)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_options(arguments)
    build_if_configured(options.build_dir, "stencil_benchmark")
    program = options.build_dir / "05_sliced/stencil_benchmark"
    result = measure(program, options)
    if not result["rows"]:
        raise Failure(f"nothing could be timed: {result['refused'][0]['refused']}")

    def write():
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")

    write()  # the times are safe, should ncu fail
    if result["device"]["platform"] == "gpu" and not options.no_counters:
        for row in result["rows"]:
            if row["size"] in options.counters:
                progress(f"L = {row['size']}: counters of {row['indexing']}, {row['load']}")
                row["counters"] = read_counters(program, row, options.device)
        write()
    progress("")
    print(as_table(result), remarks(result), sep="\n\n")
    return 0


if __name__ == "__main__":
    run_tool(main, "stencil")
