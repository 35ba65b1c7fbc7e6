"""The pictures of stage 08's scaling."""

import json

import scaling_tables as scaling
import table
from pictures.plots import curve, legend_beside, logarithmic, one_two_five, pyplot, save, subplots
from results import select

COLOURS = {1: "tab:gray", 2: "tab:blue", 4: "tab:green", 8: "tab:red"}
PARTS = {"boundary": "tab:orange", "transfer": "tab:blue", "bulk": "tab:gray"}
STREAMS = [("boundary", "transfer"), ("bulk",)]  # what runs in one stream
TIMELINE_SIZE = 256  # or the size nearest to it
SIZE_TICKS = (32, 64, 128, 256, 512)


def colour(ranks):
    return COLOURS.get(ranks, f"C{ranks % 10}")


def counted(ranks):
    return table.counted(ranks, "GPU")


def over_size(axes, rows):
    logarithmic(axes, scaling.in_order(rows, "size"), SIZE_TICKS)
    axes.set(xlabel="L")
    axes.grid(alpha=0.3)


def draw_efficiency(result, file):
    """Strong-scaling efficiency against L, as in Figure 12 of arXiv:1411.0127: a panel a transport. Markers are
    measured; dotted lines are the model's, for every number of GPUs."""
    rows, model = scaling.on_own_device(result), scaling.model_of(result)
    transports = scaling.in_order([row for row in rows if row["ranks"] > 1], "transport")
    measured = [ranks for ranks in scaling.in_order(rows, "ranks") if ranks > 1]
    figure, panels = subplots(1, len(transports), figsize=(4.3 * len(transports), 4), sharey=True, squeeze=False)
    for axes, transport in zip(panels[0], transports):
        for ranks in sorted({*measured, *scaling.PREDICTED}):
            here = select(rows, transport=transport, ranks=ranks)
            known = {row["size"]: scaling.efficiency(rows, row) for row in here}
            known = {size: value for size, value in known.items() if value}
            if known:
                curve(axes, known, "o-", color=colour(ranks), label=f"{counted(ranks)}, measured")
            sizes = [size for size in sorted(model.alone_us) if size // 2 >= ranks]
            predicted = {size: model.efficiency(size, ranks, model.links[transport]) for size in sizes}
            curve(axes, predicted, ":", color=colour(ranks), label=f"{counted(ranks)}, predicted")
        over_size(axes, rows)
        axes.axhline(1, color="black", linewidth=0.5)
        axes.set(title=transport, ylim=(0, 1.1))
    panels[0][0].set(ylabel="efficiency: t_1 / (N t_N)")
    legend_beside(panels[0][-1])
    save(figure, file)


def lines(rows):
    """(name, style, colour, rows by L) of the fastest transport and of `staged`, for every number of GPUs."""
    for ranks in scaling.in_order(rows, "ranks"):
        here = select(rows, ranks=ranks)
        sizes = scaling.in_order(here, "size")
        best = [scaling.fastest(here, size=size) for size in sizes]
        yield f"{counted(ranks)}, fastest transport", "o-", colour(ranks), best
        staged = select(here, transport="staged")
        if staged and ranks > 1:
            yield f"{counted(ranks)}, staged", "s--", colour(ranks), scaling.sorted_by(staged, "size")


def draw_lines(result, file, x, y, **words):
    """Both axes logarithmic; x and y of a row."""
    figure, axes = subplots(figsize=(8, 5))
    found = set()
    for name, style, its_colour, rows in lines(scaling.on_own_device(result)):
        found |= {x(row) for row in rows}
        curve(axes, {x(row): y(row) for row in rows}, style, color=its_colour, label=name)
    axes.set(yscale="log", title=result["device"]["name"], **words)
    logarithmic(axes, sorted(found), (8, 16, *SIZE_TICKS))
    one_two_five(axes)
    axes.grid(alpha=0.3)
    legend_beside(axes)
    save(figure, file)


def draw_psflip(result, file):
    words = {"xlabel": "L", "ylabel": "psFlip of the whole system: ps per flip"}
    draw_lines(result, file, lambda row: row["size"], lambda row: row["ps_per_flip"], **words)


def draw_collapse(result, file):
    """As in Figure 13 of arXiv:1411.0127. A sweep takes L^2 f(x), with a slab's x = L / N planes: bulk, message and
    boundary all grow as L^2. So psFlip of one GPU, N times that of the system, is f(x) / x."""
    words = {"xlabel": "x = L / N, planes per GPU", "ylabel": "x psFlip of a GPU, ps per flip"}
    draw_lines(
        result, file, lambda row: row["size"] / row["ranks"], lambda row: row["size"] * row["ps_per_flip"], **words
    )


def draw_weak(result, file):
    """Weak scaling is perfect where the lines of all numbers of GPUs coincide."""

    def share(row):
        return row["size"] / row["ranks"] ** (1 / 3)

    words = {"xlabel": "L / N^(1/3), the side of a GPU's share", "ylabel": "N x psFlip: ps of a GPU a flip"}
    draw_lines(result, file, share, lambda row: row["ranks"] * row["ps_per_flip"], **words)


def sweep(row):
    """The parts of the shortest recorded sweep, from its begin: (name, begin, microseconds)."""
    parts = row["timeline_us"]
    a_sweep = 2 * len(PARTS)
    sweeps = [parts[i : i + a_sweep] for i in range(0, len(parts) - a_sweep + 1, a_sweep)]
    spans = [(min(begin for _, begin, _ in one), max(end for _, _, end in one)) for one in sweeps]
    shortest = min(range(len(sweeps)), key=lambda i: spans[i][1] - spans[i][0])
    return [(name, begin - spans[shortest][0], end - begin) for name, begin, end in sweeps[shortest]]


def draw_timeline(result, file):
    """One sweep, red and blue, at the largest number of ranks: a panel a transport, a line a stream."""
    rows = result["rows"]
    ranks = max(row["ranks"] for row in rows)
    here = select(rows, ranks=ranks)
    size = min(scaling.in_order(here, "size"), key=lambda size: abs(size - TIMELINE_SIZE))
    here = select(here, size=size)
    figure, panels = subplots(len(here), 1, figsize=(10, 0.6 + 1.1 * len(here)), sharex=True, squeeze=False)
    for axes, row in zip(panels[:, 0], here):
        for name, begin, microseconds in sweep(row):
            line = next(i for i, names in enumerate(STREAMS) if name in names)
            axes.barh(line, microseconds, left=begin, height=0.7, color=PARTS[name], edgecolor="white", linewidth=0.5)
        axes.set_yticks(range(len(STREAMS)), [", ".join(names) for names in STREAMS], fontsize="small")
        axes.invert_yaxis()
        axes.set_ylabel(row["transport"])
        axes.grid(axis="x", alpha=0.3)
    what = "GPU" if result["device"]["platform"] == "gpu" else "rank"
    panels[0][0].set_title(f"One sweep on rank 0: L = {size}, {table.counted(ranks, what)}", fontsize="medium")
    panels[-1][0].set_xlabel("us; recorded with events, which take a few us each")
    handles = [pyplot().Rectangle((0, 0), 1, 1, color=its_colour) for its_colour in PARTS.values()]
    figure.legend(handles, PARTS, loc="center left", bbox_to_anchor=(0.92, 0.5), fontsize="small")
    save(figure, file)


def draw(file):
    """What can be drawn of a result, beside it."""
    result, folder = json.loads(file.read_text()), file.parent
    draw_timeline(result, folder / "scaling_timeline.svg")
    model = scaling.model_of(result)
    if model and model.links:
        draw_efficiency(result, folder / "scaling_efficiency.svg")
        draw_psflip(result, folder / "scaling_psflip.svg")
        draw_collapse(result, folder / "scaling_collapse.svg")
        draw_weak(result, folder / "scaling_weak.svg")


PICTURES = {scaling.FILE: draw}
