"""What was counted, for people: a table of launches, source lines with their figures, a comparison with ncu."""

import json

import table
from models import MAJORITY, MODELS, SPIN_GLASS
from results import read_result
from stages import ROOT

FORMAT = "psFlip recorded counters, version 1"
TRUTH, MODELLED = "recorded_counters.json", "recorded_caches.json"
NCU = {MAJORITY: "counters.json", SPIN_GLASS: "spin_glass_counters.json"}
SHARED = ("shared_wavefronts", "shared_bank_conflicts")
COMPARED = ("load_requests", "load_sectors", "store_requests", "store_sectors", *SHARED)
MEMORY = ("dram_read_bytes", "dram_written_bytes")  # what the model of caches says, under counters.py's names
BRANCHES = ("branches", "divergent_branches")
SHARES = ("l1_hit_percent", "l2_hit_percent", "branch_efficiency")  # in percent


def sums(launch):
    """What a launch adds up to, by the names that counters.py has for what ncu says, and more. Bytes that have to come
    from memory and go there, if caches forget nothing, are whole sectors of 32 bytes."""
    found = {}
    for kind in ("load", "store", "atomic"):
        for count in ("requests", "sectors", "least_sectors", "lanes"):
            found[f"{kind}_{count}"] = launch.total(count, kind=kind)
    found |= {f"texture_{count}": launch.total(count, memory="texture") for count in ("requests", "sectors")}
    found["constant_requests"] = launch.total("requests", memory="constant")
    found["shared_requests"] = launch.total("requests", memory="shared")
    found["shared_wavefronts"] = launch.total("wavefronts", memory="shared")
    found["shared_bank_conflicts"] = launch.total("conflicts", memory="shared")
    found["asked_bytes"] = launch.asked_bytes() + launch.asked_bytes("texture")
    found |= {"read_bytes": 32 * launch.read_sectors, "written_bytes": 32 * launch.written_sectors}
    found["block_read_bytes"] = 32 * launch.block_sectors
    executed, divergent = (sum(b.counts[name] for b in launch.branches) for name in ("executed", "divergent"))
    found |= {"branches": executed, "divergent_branches": divergent}
    found["branch_efficiency"] = 100 * (1 - divergent / executed) if executed else 100
    if launch.caches:
        of = launch.caches
        found["l1_hit_percent"] = 100 * of["l1_hits"] / of["l1_sectors"] if of["l1_sectors"] else 0
        found["l2_hit_percent"] = 100 * of["l2_hits"] / of["l2_sectors"] if of["l2_sectors"] else 0
        found |= {"dram_read_bytes": 32 * of["memory_read"], "dram_written_bytes": 32 * of["memory_written"]}
    found["l1_cycles"] = sum(cycles(place) for place in launch.places)
    return found | {"warps": launch.warps, "barriers": launch.barriers}


def cycles(place):
    """In which L1 and shared memory, which are one, serve a place's requests: one at a time, four sectors a cycle."""
    if place.memory == "shared":
        return place.counts["wavefronts"]
    return max(place.counts["requests"], place.counts["sectors"] / 4) if place.memory != "constant" else 0


def lines_of(launch, file):
    """By line, as they go into JSON."""
    found = []
    for (line, kind, memory, size), counts in launch.by_line(file).items():
        place = {"line": line, "kind": kind, "memory": memory, "bytes_a_lane": size}
        found.append(place | counts)
    return found


def branches_of(launch, file):
    """Branches by line, as they go into JSON."""
    return [{"line": line} | counts for line, counts in launch.branches_by_line(file).items()]


def per(part, whole, digits=1):
    return f"{part / whole:.{digits}f}" if whole else "-"


def launch_table(rows, form=table.aligned):
    """One line per launch. rows: as count.py writes them to JSON."""
    lines = []
    for row in rows:
        spins = row["updated_spins"]
        lines.append(
            {
                "stage": row["stage"][:2],
                "launch": row["launch"],
                "load requests": f"{row['load_requests'] + row['texture_requests']:,}",
                "sectors each": per(
                    row["load_sectors"] + row["texture_sectors"], row["load_requests"] + row["texture_requests"]
                ),
                "store requests": f"{row['store_requests']:,}",
                "sectors each ": per(row["store_sectors"], row["store_requests"]),
                "B/spin asked": per(row["asked_bytes"], spins),
                "from L2": per(row["block_read_bytes"], spins, 2),
                "from memory": per(row["read_bytes"], spins, 2),
                "to memory": per(row["written_bytes"], spins, 2),
                "modelled": modelled(row, spins),
                "L1 hits, %": f"{row['l1_hit_percent']:.1f}" if "l1_hit_percent" in row else "-",
                "branches": f"{row['branches']:,}",
                "uniform, %": f"{row['branch_efficiency']:.1f}" if row["branches"] else "-",
                "wavefronts": f"{row['shared_wavefronts']:,}" if row["shared_requests"] else "-",
                "conflicts": f"{row['shared_bank_conflicts']:,}" if row["shared_requests"] else "-",
            }
        )
    return table.table_of(lines, ("stage", "launch"), form)


def listing(row):
    """The source around the lines that touch memory, with their figures beside them."""
    file = ROOT / row["file"]
    source = file.read_text().splitlines()
    by_line = {}
    for entry in row["lines"]:
        by_line.setdefault(entry["line"], []).append(figures(entry))
    for entry in row["branches_by_line"]:
        by_line.setdefault(entry["line"], []).append(branch_figures(entry))
    if not by_line:
        return ""
    width = max(len(text) for texts in by_line.values() for text in texts)
    lines = []
    for number in range(max(1, min(by_line) - 2), min(len(source), max(by_line) + 2) + 1):
        first, *others = by_line.get(number, [""])
        lines.append(f"{first:{width}}  {number:4} {source[number - 1]}".rstrip())
        lines += others
    return "\n".join(lines)


def cost(entry):
    """Wavefronts of shared memory, or sectors of other memory, per request; and the least that would do."""
    if entry["memory"] == "shared":
        found = entry["wavefronts"], entry["wavefronts"] - entry["conflicts"]
    else:
        found = entry["sectors"], entry["least_sectors"]
    return tuple(count / entry["requests"] for count in found)


GUTTER = (
    "requests, bytes of a lane, sectors (s) or wavefronts (w) of each, / of the least, lanes if not 32; branches that "
    "warps execute, and how many of these their lanes leave by different ways"
)


def figures(entry):
    """'400,000 load 4 B 4.8/4.0 s': what a request costs, and what the same bytes could cost."""
    requests, memory = entry["requests"], entry["memory"]
    each, least = cost(entry)
    text = f"{requests:11,} {entry['kind']:6} {entry['bytes_a_lane']:2} B "
    if memory == "constant":
        text += "constant"
    else:
        text += f"{each:4.1f}/{least:.1f} {'w' if memory == 'shared' else 's'}" + " texture" * (memory == "texture")
    active = entry["lanes"] / requests
    return f"{text:33}" + (f" {active:4.1f}" if active < 31.95 else "")


def branch_figures(entry):
    """'400,000 branch, 25.0 % diverge'"""
    text = f"{entry['executed']:11,} branch, {100 * entry['divergent'] / entry['executed']:.1f} % diverge"
    active = entry["lanes"] / entry["executed"]
    return f"{text:33}" + (f" {active:4.1f}" if active < 31.95 else "")


def modelled(row, spins):
    """Bytes per spin from and to memory, as the caches are modelled."""
    if "dram_read_bytes" not in row:
        return "-"
    return f"{per(row['dram_read_bytes'], spins, 2)} + {per(row['dram_written_bytes'], spins, 2)}"


def difference(ours, theirs):
    """'15,625,000' if both are the same, else with ncu's and how far ours is off."""
    if ours == theirs:
        return f"{ours:,}"
    if not theirs:
        return f"{ours:,} (ncu 0)"
    return f"{ours:,} (ncu {theirs:,.0f}, {100 * (ours / theirs - 1):+.2g} %)"


def differing(row):
    """Which counts of requests or sectors are more than 1 % from ncu's."""
    names = [name for name in COMPARED if name not in SHARED]
    return [name for name in names if abs(row[name] - row["ncu"][name]) > row["ncu"][name] / 100]


def truth(rows, form=table.as_markdown):
    """Ours beside ncu's. Where a kernel shares no memory, ncu counts wavefronts of something else."""
    lines = []
    for row in sorted(rows, key=lambda row: row["stage"]):
        cells = {"stage": row["stage"][:2], "launch": row["launch"]}
        for name in COMPARED:
            shares = row["shared_requests"] or name not in SHARED
            cells[name.replace("_", " ")] = difference(row[name], row["ncu"][name]) if shares else "-"
        lines.append(cells)
    return table.table_of(lines, ("stage", "launch"), form)


def truth_of_caches(rows, form=table.as_markdown):
    """What the model of caches says, and ideal caches, beside ncu. Empty where it was not asked."""
    lines = []
    for row in sorted(rows, key=lambda row: row["stage"]):
        ncu = row["ncu"]
        if "l1_hit_percent" not in row or "l1_hit_percent" not in ncu:
            continue
        cells = {"stage": row["stage"][:2], "launch": row["launch"]}
        for heading, ideal, modelled in (
            ("from memory, MB: ideal; model; ncu", "read_bytes", "dram_read_bytes"),
            ("to memory", "written_bytes", "dram_written_bytes"),
        ):
            each = (row[ideal], row[modelled], ncu[modelled]) if modelled in ncu else ()
            cells[heading] = "; ".join(f"{of / 1e6:.1f}" for of in each) or "-"
        cells["L1 hits, %: ideal; model; ncu"] = "; ".join(
            f"{of:.1f}" for of in (ideal_l1_hits(row), row["l1_hit_percent"], ncu["l1_hit_percent"])
        )
        lines.append(cells)
    return table.table_of(lines, ("stage", "launch"), form) if lines else ""


def truth_of_caches_of_folder(folder):
    """The table in common/gpu/on_cpu/README.md, of what count.py wrote with --launch or --beside, and of what ncu
    counted of the same launches: of the same problem everything, of another one shares only."""
    counted = []
    for model in MODELS:
        found = json.loads((folder / NCU[model]).read_text())
        counted += [row | {"of": model, "problem": found} for row in found["rows"]]
    rows = []
    for row in read_result(folder / MODELLED, FORMAT)["rows"]:
        same = [
            of
            for of in counted
            if of["stage"] == row["stage"]
            and all(of[name] == row.get(name) for name in of["of"].launch if of.get(name) is not None)
        ]
        for ncu in same[:1]:
            whole = all(ncu["problem"].get(name, value) == value for name, value in row["problem"].items())
            names = ("l1_hit_percent", *MEMORY * whole)
            rows.append(row | {"ncu": {name: ncu[name] for name in names}})
    return truth_of_caches(rows)


def ideal_l1_hits(row):
    """In percent, if L1 forgot a block's sectors when it ends, and no sooner, and never held what was stored."""
    loads = row["load_sectors"] + row["texture_sectors"]
    return 100 * (loads - row["block_read_bytes"] / 32) / (loads + row["store_sectors"])


def truth_of_branches(rows, form=table.as_markdown):
    """Executions of branches by warps, and the share of them whose lanes go one way, beside ncu's. Empty if it was not
    asked for them."""
    lines = []
    for row in sorted(rows, key=lambda row: row["stage"]):
        if "branches" in row["ncu"]:
            cells = {"stage": row["stage"][:2], "launch": row["launch"]}
            for name in ("branches", "divergent_branches"):
                cells[name.replace("_", " ")] = difference(row[name], row["ncu"][name])
            each = row["branch_efficiency"], row["ncu"]["branch_efficiency"]
            cells["uniform, %: ours; ncu"] = "; ".join(f"{of:.2f}" for of in each)
            lines.append(cells)
    return table.table_of(lines, ("stage", "launch"), form) if lines else ""


def truth_of_folder(folder):
    """The table in common/gpu/on_cpu/README.md, of what count.py --beside wrote."""
    return truth(read_result(folder / TRUTH, FORMAT)["rows"])
