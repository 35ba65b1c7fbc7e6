"""The pictures of a comparison, and of what the modules of measure/ find."""

import math

import table
from measure import generators, words
from models import CURAND_GENERATORS, MAJORITY, REFERENCE, SPIN_GLASS, model_of
from pictures.plots import (
    BRANCHES,
    MARKERS,
    SIZE_TICKS,
    curve,
    legend_beside,
    logarithmic,
    of_branch,
    one_two_five,
    save,
    subplots,
)

COLOURS = dict(zip(MAJORITY.rows["storage"], ("tab:blue", "tab:orange", "tab:green")))
COLOURS |= zip(SPIN_GLASS.rows["indexing"], ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple"))
COLOURS |= zip(SPIN_GLASS.rows["kernel"], ("tab:gray", "tab:blue", "tab:red", "tab:green", "tab:purple"))


def draw_comparison(result, file):
    """A bar per row of the table: picoseconds per site or flip."""
    model = model_of(result)
    rows = [row for row in result["rows"] if row[model.ps]]
    times = [row[model.ps] for row in rows]
    figure, axes = subplots(figsize=(8, 0.6 + 0.4 * len(rows)))
    labels = [f"{row['stage'][:2]}  {model.row_in_words(row)}" for row in rows]
    colours = [COLOURS.get(row[model.row] or row.get("kernel"), "tab:gray") for row in rows]
    bars = axes.barh(labels, times, color=colours)
    axes.bar_label(bars, [table.significant(time, 3) for time in times], padding=3)
    axes.set(xlabel=f"ps per {model.part} (shorter is faster)", title=title(result))
    if max(times) > 20 * min(times):  # a GPU beside the plain loop: on one linear scale only the loop would show
        axes.set(xscale="log", xlim=(10 ** math.floor(math.log10(min(times) / 2)), 5 * max(times)))
    else:
        axes.margins(x=0.15)
    axes.invert_yaxis()
    save(figure, file)


def title(result):
    problem, device = result["problem"], result["device"]["name"]
    if model_of(result) is MAJORITY:
        return f"{device}, n = {problem['size']}, k = {problem['steps']}"
    return f"{device}, L = {problem['size']}, {table.samples_in_words(problem)}"


def draw_sizes(lines, file):
    """ps per flip against L, as in Figure 5 of arXiv:1411.0127, a panel per kind of L. lines: {name: {L: ps}}."""
    figure, panels = subplots(1, len(BRANCHES), figsize=(12, 5.5), sharey=True)
    looks = {name: (f"C{number}", MARKERS[number % 7]) for number, name in enumerate(lines)}
    for axes, branch in zip(panels, BRANCHES):
        own = {name: of_branch(dict(sorted(line.items())), branch) for name, line in lines.items()}
        for name, line in own.items():
            colour, marker = looks[name]
            curve(axes, line, color=colour, marker=marker, label=name)
        sizes = sorted({size for line in own.values() for size in line})
        if sizes:
            logarithmic(axes, sizes, SIZE_TICKS)
        axes.set(xlabel="L", title=branch)
        axes.grid(alpha=0.3)
    panels[0].set(ylabel="psFlip: ps per flip", ylim=(0, None))
    legend_beside(panels[-1], panels[0])
    save(figure, file)


def draw_generators(lines, file):
    """ps per flip against L, as in Figure 9 of arXiv:1411.0127: a panel per indexing, a line per generator.
    lines: {(generator, indexing): {L: point}}."""
    indexings = [name for name in generators.INDEXINGS if name in {indexing for _, indexing in lines}]
    figure, panels = subplots(1, len(indexings), figsize=(4 * len(indexings), 5), sharey=True, squeeze=False)
    for axes, indexing in zip(panels[0], indexings):
        own = {generator: line for (generator, own), line in lines.items() if own == indexing}
        for generator, line in own.items():
            times = {size: float(line[size]["ps_per_flip"]) for size in sorted(line)}
            number = generators.GENERATORS.index(generator)
            style = "--" if generator in CURAND_GENERATORS else "-"
            curve(axes, times, style, color=f"C{number}", marker=MARKERS[number % 7], label=generator)
        sizes = sorted({size for line in own.values() for size in line})
        logarithmic(axes, sizes, [size for size in SIZE_TICKS if size in sizes])
        axes.set(yscale="log", xlabel="L", title=indexing)  # generators differ by an order of magnitude
        axes.grid(alpha=0.3)
    one_two_five(panels[0][0])
    panels[0][0].set(ylabel="psFlip: ps per flip")
    legend_beside(panels[0][-1])
    save(figure, file)


def draw_bounds(axes, result, generator, x):
    """What nothing that works so can be faster than: lines across, with words that begin at x, below the line, or above
    it if another line is close below."""
    bounds = words.bounds(result, generator)
    for text, ps in bounds.items():
        above = any(ps / 1.6 < other < ps for other in bounds.values())
        axes.axhline(ps, color="black", linestyle=":", linewidth=1)
        look = {"va": "bottom" if above else "top", "fontsize": 7.5, "zorder": 1}  # below what was measured
        axes.annotate(text, (x, ps), textcoords="offset points", xytext=(0, 2 if above else -2), **look)


def draw_words_over_size(result, file):
    """ps per flip of every kernel against L, as in Figure 5 of arXiv:1411.0127: a row per kind of L, a column per
    generator."""
    shape = (len(BRANCHES), len(words.GENERATORS))
    figure, panels = subplots(*shape, figsize=(12, 9), sharex=True, sharey=True, squeeze=False)
    found, highest = {}, 0
    for generator in words.GENERATORS:
        for kernel in SPIN_GLASS.rows["kernel"]:
            points = words.over_size(result["points"], generator, kernel)
            found[generator, kernel] = line = {size: point["ps_per_flip"] for size, point in points.items()}
            if kernel == words.LESSON and line:
                highest = max(highest, 1.2 * max(line.values()))
    every = sorted({size for line in found.values() for size in line})
    for row, branch in zip(panels, BRANCHES):
        for axes, generator in zip(row, words.GENERATORS):
            for number, kernel in enumerate(SPIN_GLASS.rows["kernel"]):
                look = {"color": COLOURS[kernel], "marker": MARKERS[number], "label": kernel}
                curve(axes, of_branch(found[generator, kernel], branch), **look)
            if every:
                logarithmic(axes, every, SIZE_TICKS)
                draw_bounds(axes, result, generator, every[0])
            axes.set(title=f"{words.GENERATOR_NAMES[generator]}, {branch}")
            axes.grid(alpha=0.3)
        row[0].set(ylabel="psFlip: ps per flip")
    for axes in panels[-1]:
        axes.set(xlabel="L")
    # The lesson's kernel is slow; what is slower still, for want of work that suits it, may leave the picture.
    panels[0][0].set(ylim=(0, highest or None))
    legend_beside(panels[0][-1])
    save(figure, file)


def draw_words_over_samples(result, file):
    """ps per flip against the number of samples, as in Figure 4 of arXiv:1411.0127: the best kernel and `wide`."""
    generator = words.GENERATORS[0]
    figure, axes = subplots(figsize=(8, 5.5))
    every = set()
    for number, size in enumerate(words.COUNTED_SIZES):
        for kernel, style, name in ((None, "o-", "best kernel"), ("wide", "s--", "wide")):
            points = words.over_samples(result["points"], generator, size, kernel)
            every |= set(points)
            if points:
                line = {samples: point["ps_per_flip"] for samples, point in points.items()}
                curve(axes, line, style, color=f"C{number}", label=f"L = {size}, {name}")
    axes.set(yscale="log", xlabel="samples", ylabel="psFlip: ps per flip", title=words.GENERATOR_NAMES[generator])
    if every:
        logarithmic(axes, sorted(every), sorted(every))
        draw_bounds(axes, result, generator, min(every))
        legend_beside(axes)
    one_two_five(axes)
    axes.grid(alpha=0.3)
    save(figure, file)


def draw_over_size(rows, storage, stem):
    """The report's Figure 5: both axes logarithmic, so that work proportional to n^2 is a straight line. Beside it what
    a site takes, without the plain loop, so that the stages on the GPU can be told apart."""
    figure, (whole, per_site) = subplots(1, 2, figsize=(12, 5))
    for number, (stage, steps) in enumerate(sorted({(row["stage"], row["steps"]) for row in rows})):
        line = [row for row in rows if (row["stage"], row["steps"]) == (stage, steps)]
        look = {"color": f"C{number}", "marker": MARKERS[number % 7], "label": f"stage {stage[:2]}, k = {steps}"}
        curve(whole, {row["size"]: row["ms"] for row in line}, **look)
        if stage[:2] != REFERENCE:
            curve(per_site, {row["size"]: row["ps_per_site"] for row in line}, **look)
    sizes = sorted({row["size"] for row in rows})
    for axes in (whole, per_site):
        axes.set(xscale="log", xlabel="n")
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.grid(alpha=0.3)
    whole.set(yscale="log", ylabel="ms for k steps", title=f"Time against n ({storage})")
    per_site.set(ylabel="ps per site and step", ylim=(0, None), title="the same, on the GPU")
    for axes in (whole, per_site):
        axes.minorticks_off()
    legend_beside(per_site, whole)
    save(figure, f"{stem}.png", f"{stem}.svg")


def draw_over_block(rows, storage, size, steps, stem):
    """The report's Figure 6: a panel per stage, a line per width, on one scale."""
    names, blocks = (sorted({row[key] for row in rows}) for key in ("stage", "block"))
    figure, panels = subplots(1, len(names), figsize=(4 * len(names), 4), sharex=True, sharey=True, squeeze=False)
    for axes, name in zip(panels[0], names):
        for width in sorted({row["thread_width"] for row in rows if row["stage"] == name}):
            line = [row for row in rows if (row["stage"], row["thread_width"]) == (name, width)]
            x, y, style = [row["block"] for row in line], [row["ms"] for row in line], "o-"
            if len(x) == 1:  # a stage without b
                x, y, style = blocks, y * len(blocks), "--"
            axes.plot(x, y, style, label=f"width {width}")
        axes.set(xlabel="b", title=f"stage {name[:2]}", xticks=blocks)
        axes.grid(alpha=0.3)
    panels[0][0].set(ylabel=f"ms for {steps} steps", ylim=(0, None))
    panels[0][-1].legend()
    figure.suptitle(f"Time against b and the thread width (n = {size}, {storage})")
    save(figure, f"{stem}.png", f"{stem}.svg")
