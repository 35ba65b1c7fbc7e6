"""What a result of scaling.py says: reading it, what follows from it, and its tables."""

import itertools
import math

import table
from results import read_result, select, sizes_of
from scaling_model import AssumedLink, Model
from stages import Failure

FORMAT = "psFlip scaling, version 1"
FILE = "scaling.json"
TRANSPORTS = ("staged", "mpi", "nccl", "peer")
PREDICTED = (2, 4, 8)
TARGETS = [(512, 8, 0.95), (256, 4, 0.90), (256, 8, 0.80)]  # L, ranks, efficiency on H200s with NVLink
PLANNED = [256, 512, 1024, 1624]  # the last: the largest that the program takes
MEMORY = {"NVIDIA H200": 141e9}  # bytes, by data sheet


def sorted_by(rows, name):
    return sorted(rows, key=lambda row: TRANSPORTS.index(row[name]) if name == "transport" else row[name])


def case(row):
    return f"L = {row['size']}, {row['transport']}, {table.counted(row['ranks'], 'rank')}"


def published(folder):
    result = read_result(folder / FILE, FORMAT)
    if result["failed"]:
        raise Failure(f"{folder.name}/{FILE} holds cases that failed: not to be published")
    return result


def on_own_device(result):
    """The rows from which something follows: every rank had a GPU of its own."""
    return [row for row in result["rows"] if result["device"]["platform"] == "gpu" and not row["shared_devices"]]


def model_of(result):
    """None where nothing was measured on one rank that had a GPU, or not what the model is of."""
    rows = on_own_device(result)
    known = result.get("kernel", "wide") == "wide"
    return Model(rows) if known and any(row["ranks"] == 1 for row in rows) else None


def fastest(rows, **wanted):
    """The row of the transport that takes least time, or None."""
    return min(select(rows, **wanted), key=lambda row: row["ms_per_sweep"], default=None)


def efficiency(rows, row):
    """t_1 / (N t_N), or None."""
    alone = fastest(rows, size=row["size"], ranks=1)
    return alone["ms_per_sweep"] / (row["ranks"] * row["ms_per_sweep"]) if alone and row in rows else None


def in_order(rows, name):
    return list(dict.fromkeys(row[name] for row in sorted_by(rows, name)))


def same_share(rows, row):
    """(L at which one GPU has as many sites as each has in this row, what a flip takes there in ps, whether that was
    measured): of the fastest transports; between two sizes a power of L; None outside."""
    side = row["size"] / row["ranks"] ** (1 / 3)
    sizes = in_order(select(rows, ranks=1), "size")
    ps = {size: fastest(rows, size=size, ranks=1)["ps_per_flip"] for size in sizes}
    exact = [size for size in sizes if math.isclose(size, side, rel_tol=1e-9)]
    if exact:
        return exact[0], ps[exact[0]], True
    for below, above in itertools.pairwise(sizes):
        if below < side < above:
            part = math.log(side / below) / math.log(above / below)
            return side, ps[below] * (ps[above] / ps[below]) ** part, False
    return None


# What is shown.


def number(value):
    return "-" if value is None else f"{value:.2f}"


def problem(result):
    return (
        f"{table.samples_in_words(result)}, {result['generator']}, on {result['device']['name']}, {result['mpi']}; "
        f"`{result['command']}` on {result['date']}"
    )


def source(result):
    """Where the figures come from, in short."""
    *most, last = map(str, in_order(on_own_device(result), "ranks"))
    return f"{', '.join(most)} and {last} GPUs were measured, {result['device']['name']}, on {result['date']}"


def long_table(result):
    """A line a row."""
    rows, model = on_own_device(result), model_of(result)
    body = []
    for row in result["rows"]:
        link = model and row in rows and row["ranks"] > 1 and model.links[row["transport"]]
        has = link and row["size"] in model.alone_us
        predicted = model.efficiency(row["size"], row["ranks"], link) if has else None
        line = {"L": str(row["size"]), "transport": row["transport"], "ranks": str(row["ranks"])}
        line |= {"ms/sweep": table.significant(row["ms_per_sweep"]), "ps/flip": table.significant(row["ps_per_flip"])}
        body.append(line | {"efficiency": number(efficiency(rows, row)), "model": number(predicted)})
    return table.table_of(body, ["transport"])


def warnings(result):
    found = [f"left out: {text}" for text in result["left_out"]]
    if result["device"]["platform"] != "gpu":
        found.append(
            "CPU: the ranks share this machine's cores. Their results count; their times say nothing about "
            "how GPUs scale, so there is no efficiency."
        )
    elif any(row["shared_devices"] for row in result["rows"]):
        found.append("Where ranks shared a GPU there is no efficiency.")
    return found + [f"*** FAILED *** {text}" for text in result["failed"]]


def model_in_words(model):
    links = "; ".join(f"{transport}: {link}" for transport, link in model.links.items())
    return (
        "Model: t_half = max(floor + p c, c + latency + bytes / bandwidth), p planes of a colour on a rank, c a "
        f"plane's share of the one-rank sweep, floor {model.floor_us:.1f} us"
        + (f"; fitted to recorded transfers: {links}." if links else ".")
    )


def links_of(model, more):
    """{name: Link}: those that were measured, and then those that are assumed."""
    assumed = {f"{link.gb_per_s:g} GB/s, {link.latency_us:g} us": link.link() for link in more}
    return model.links | assumed


HIDES = "Hides up to: the most ranks with which the plane arrives before the slab is updated."


def model_table(model, more=()):
    """Predictions, of which none is measured."""
    body = []
    for size in sorted(model.alone_us):
        for name, link in links_of(model, more).items():
            cells = [number(model.efficiency(size, n, link)) if n <= size // 2 else "-" for n in PREDICTED]
            body.append([str(size), name, *cells, hidden(model, size, link)])
    headings = ["L", "link", *(f"predicted, {n} ranks" for n in PREDICTED), "hides up to"]
    return table.as_markdown(headings, body, [True, False] + 4 * [True])


def hidden(model, size, link):
    ranks = model.hides_up_to(size, link)
    return "-" if ranks is None else f"{ranks} ranks"


def as_text(result, more=()):
    lines = [long_table(result), f"{problem(result)}."]
    model = model_of(result)
    if model:
        lines += [model_in_words(model)]
        if links_of(model, more):
            lines += [model_table(model, more), f"None of these is measured. {HIDES}"]
    return "\n\n".join(lines + warnings(result))


def readme_result(folder):
    """(result, its rows, its model), of GPUs."""
    result = published(folder)
    model = model_of(result)
    if not model or not model.links:
        raise Failure(f"{folder.name}/{FILE} does not hold one rank and more on GPUs")
    return result, on_own_device(result), model


def markdown(folder, *wished):
    """The times of these sizes, or all: a line a size and transport."""
    result, rows, model = readme_result(folder)
    sizes = sizes_of(folder / FILE, rows, wished)
    ranks = in_order(rows, "ranks")
    body = []
    for size in sizes or in_order(rows, "size"):
        for transport in in_order(select(rows, size=size), "transport"):
            here = {n: fastest(rows, size=size, transport=transport, ranks=n) for n in ranks}
            line = [str(size), transport]
            line += [table.significant(here[n]["ms_per_sweep"]) if here[n] else "-" for n in ranks]
            line += [table.significant(here[n]["ps_per_flip"], 3) if here[n] else "-" for n in ranks]
            for n in ranks[1:]:
                known = here[n] and efficiency(rows, here[n])
                line.append(f"{known:.2f} ({model.efficiency(size, n, model.links[transport]):.2f})" if known else "-")
            body.append(line)
    headings = ["L", "transport", *(f"{what}, {n}" for what in ("ms/sweep", "ps/flip") for n in ranks)]
    headings += [f"efficiency, {n} (model)" for n in ranks[1:]]
    text = table.as_markdown(headings, body, [True, False] + [True] * (len(headings) - 2))
    return (
        f"{text}\n\nA rank has a GPU; ps/flip of the whole system. Efficiency: t_1 / (N t_N), t_1 of the fastest "
        f"transport. {problem(result)}."
    )


def targets_markdown(folder):
    result, rows, model = readme_result(folder)
    body = []
    for size, ranks, target in TARGETS:
        best, staged = fastest(rows, size=size, ranks=ranks), fastest(rows, size=size, ranks=ranks, transport="staged")
        known = best and efficiency(rows, best)
        predicted = {name: model.efficiency(size, ranks, link) for name, link in model.links.items()}
        times = {
            name: (model.half_sweep_us(size, ranks, link), model.exchange_us(size, link))
            for name, link in model.links.items()
        }
        name = min(times, key=times.get)
        measured = ["not measured"] * 2
        if known:
            measured = [f"{known:.2f}, {best['transport']}", number(staged and efficiency(rows, staged))]
        line = [str(size), str(ranks), f"{target:.2f}", *measured]
        line += [f"{predicted[name]:.2f}, {name}", number(predicted.get("staged"))]
        line += ["?" if not known else "yes" if known >= target else f"no, {known / target:.2f} of it"]
        body.append(line)
    headings = ["L", "GPUs", "target", "measured", "staged, measured", "predicted", "staged, predicted", "met"]
    text = table.as_markdown(headings, body, 3 * [True] + 4 * [False] + [False])
    return f"{text}\n\nPredicted: by the model. {source(result)}."


def model_markdown(folder, *wished):
    result, _, model = readme_result(folder)
    sizes = sizes_of(folder / FILE, [{"size": size} for size in model.alone_us], wished, " on one rank")
    model.alone_us = {size: us for size, us in model.alone_us.items() if not sizes or size in sizes}
    return f"{model_table(model)}\n\nNone of these is measured. {HIDES} {model_in_words(model)} {source(result)}."


def plan_markdown(folder, *assumed):
    """Beyond what was measured: larger systems, and links that are assumed."""
    result, _, model = readme_result(folder)
    links = links_of(model, map(AssumedLink, assumed))
    site = result["samples"] * (result["replicas"] + 3) / 8  # bytes: spins, and three couplings; Philox has no states
    memory = MEMORY.get(result["device"]["name"])
    body = []
    for size in PLANNED:
        held = str(math.ceil(size**3 * site / memory)) if memory else "-"
        cells = []
        for link in links.values():
            ranks = model.hides_up_to(size, link)
            cells.append(f"{ranks} ({model.efficiency(size, ranks, link):.2f})" if ranks else "-")
        gigabytes, megabytes = size**3 * site / 1e9, model.message(size) / 1e6
        body.append([str(size), f"{gigabytes:,.0f}", held, f"{megabytes:,.0f}", *cells])
    headings = ["L", "GB in all", "GPUs that hold it", "MB per plane", *links]
    text = table.as_markdown(headings, body, [True] * len(headings))
    return (
        f"{text}\n\nPredicted: the most GPUs behind whose bulk the exchange hides (efficiency there: launches and "
        "slabs of uneven heights cost, too), for the transports as measured within one host, and for assumed links, by "
        f"bandwidth and latency. Beyond L = {model.largest} a plane's time and bytes grow as its area. GB: couplings "
        f"and spins, without halos. {source(result)}."
    )


def weak_markdown(folder):
    result, rows, _ = readme_result(folder)
    body = []
    for ranks in in_order(rows, "ranks")[1:]:
        for size in in_order(select(rows, ranks=ranks), "size"):
            row = fastest(rows, size=size, ranks=ranks)
            share = same_share(rows, row)
            if share:
                side, ps, exact = share
                own = ranks * row["ps_per_flip"]
                line = {"GPUs": str(ranks), "L": str(size)}
                line |= {"same share alone, L": f"{side:.0f}{'' if exact else ', between'}"}
                line |= {"transport": row["transport"], "ps/flip alone": table.significant(ps, 3)}
                body.append(line | {"GPUs x ps/flip": table.significant(own, 3), "efficiency": number(ps / own)})
    text = table.table_of(body, ["transport"])
    return (
        f"{text}\n\nA GPU has L^3 / N sites; alone it has as many at L / N^(1/3). Between: no such L was measured, and "
        f"ps/flip is interpolated as a power of L. {source(result)}."
    )


def passes_markdown(folder):
    """The two kernels, each with a result in a folder of its name: the fastest transport of every size."""
    results = {kernel: published(folder / kernel) for kernel in ("wide", "overlapped")}
    rows = {kernel: on_own_device(result) for kernel, result in results.items()}
    checks = {row["size"]: row["check"] for row in rows["wide"]}
    body = []
    for size in in_order(rows["overlapped"], "size"):
        for ranks in in_order(select(rows["overlapped"], size=size), "ranks"):
            best = {kernel: fastest(own, size=size, ranks=ranks) for kernel, own in rows.items()}
            if not all(best.values()):
                continue
            if any(row["check"] != checks[size] for row in best.values()):
                raise Failure(f"{folder.name}: {case(best['overlapped'])}: the kernels have other results")
            line = {"L": str(size), "GPUs": str(ranks)}
            line |= {f"{name}, ms/sweep": table.significant(row["ms_per_sweep"]) for name, row in best.items()}
            line |= {f"{name}, ps/flip": table.significant(row["ps_per_flip"], 3) for name, row in best.items()}
            times = [row["ms_per_sweep"] for row in best.values()]
            line |= {"as fast": f"{times[0] / times[1]:.2f}"}
            line |= {f"{name}, efficiency": number(efficiency(rows[name], row)) for name, row in best.items()}
            body.append(line)
    transports = " and ".join(in_order(rows["overlapped"], "transport"))
    commands = " and ".join(f"`{result['command']}`" for result in results.values())
    return (
        f"{table.table_of(body, [])}\n\nA rank has a GPU, planes travel by {transports}; ps/flip of the whole system. "
        f"{problem(results['overlapped']).split('; `')[0]}; {commands} on {results['overlapped']['date']}."
    )


TABLES = {
    "scaling": markdown,
    "scaling_passes": passes_markdown,
    "scaling_targets": targets_markdown,
    "scaling_weak": weak_markdown,
    "scaling_model": model_markdown,
    "scaling_plan": plan_markdown,
}
