"""The pictures of a comparison and of a sweep. The only module that needs matplotlib."""

import math
from pathlib import Path

import table
from stages import Failure

try:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "psFlip"  # the same data give the same file
    import matplotlib.pyplot as plt
except ImportError:
    raise Failure("plots need matplotlib (Debian and Ubuntu: apt-get install python3-matplotlib)") from None


def save(figure, *files):
    for file in files:
        metadata = {"Date": None} if Path(file).suffix == ".svg" else None
        figure.savefig(file, dpi=150, bbox_inches="tight", metadata=metadata)
    plt.close(figure)


def draw_comparison(result, file):
    """A bar a row of the table: picoseconds a site."""
    rows = [row for row in result["rows"] if row["ps_per_site"]]
    times = [row["ps_per_site"] for row in rows]
    colours = {"int32": "tab:blue", "int8": "tab:orange"}
    figure, axes = plt.subplots(figsize=(8, 0.6 + 0.4 * len(rows)))
    labels = [f"{row['stage'][:2]}  {row['storage']}" for row in rows]
    bars = axes.barh(labels, times, color=[colours[row["storage"]] for row in rows])
    axes.bar_label(bars, [table.significant(time, 3) for time in times], padding=3)
    axes.set(xlabel="ps a site (shorter is faster)", title=title(result))
    if max(times) > 20 * min(times):  # a GPU beside the plain loop: on one linear scale only the loop would show
        axes.set(xscale="log", xlim=(10 ** math.floor(math.log10(min(times) / 2)), 5 * max(times)))
    else:
        axes.margins(x=0.15)
    axes.invert_yaxis()
    save(figure, file)


def title(result):
    problem = result["problem"]
    return f"{result['device']['name']}, n = {problem['size']}, k = {problem['steps']}"


def draw_over_size(rows, storage, stem):
    """The report's Figure 5: both axes logarithmic, so that work proportional to n^2 is a straight line."""
    figure, axes = plt.subplots(figsize=(7, 5))
    for stage, steps in sorted({(row["stage"], row["steps"]) for row in rows}):
        line = [row for row in rows if (row["stage"], row["steps"]) == (stage, steps)]
        label = f"v{int(stage[:2])}, k = {steps}"
        axes.plot([row["size"] for row in line], [row["ms"] for row in line], marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="n", ylabel="ms for k steps", title=f"Time against n ({storage})")
    sizes = sorted({row["size"] for row in rows})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, f"{stem}.png", f"{stem}.svg")


def draw_over_block(rows, storage, size, steps, stem):
    """The report's Figure 6: a panel a version, a line a width, on one scale."""
    names, blocks = (sorted({row[key] for row in rows}) for key in ("stage", "block"))
    figure, panels = plt.subplots(1, len(names), figsize=(4 * len(names), 4), sharex=True, sharey=True, squeeze=False)
    for axes, name in zip(panels[0], names):
        for width in sorted({row["thread_width"] for row in rows if row["stage"] == name}):
            line = [row for row in rows if (row["stage"], row["thread_width"]) == (name, width)]
            x, y, style = [row["block"] for row in line], [row["ms"] for row in line], "o-"
            if len(x) == 1:  # a version without b
                x, y, style = blocks, y * len(blocks), "--"
            axes.plot(x, y, style, label=f"width {width}")
        axes.set(xlabel="b", title=f"v{int(name[:2])}", xticks=blocks)
        axes.grid(alpha=0.3)
    panels[0][0].set(ylabel=f"ms for {steps} steps", ylim=(0, None))
    panels[0][-1].legend()
    figure.suptitle(f"Time against b and the thread width (n = {size}, {storage})")
    save(figure, f"{stem}.png", f"{stem}.svg")
