"""The pictures of a comparison, and of what the modules of measure/ find."""

import math

import table
from measure import generators, words
from models import MAJORITY, SPIN_GLASS, model_of
from pictures.plots import SIZE_TICKS, curve, curves_over_size, legend_beside, logarithmic, one_two_five, save, subplots

COLOURS = dict(zip(MAJORITY.rows["storage"], ("tab:blue", "tab:orange", "tab:green")))
COLOURS |= zip(SPIN_GLASS.rows["indexing"], ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple"))
COLOURS |= zip(SPIN_GLASS.rows["kernel"], ("tab:gray", "tab:blue", "tab:red", "tab:green", "tab:purple"))


def draw_comparison(result, file):
    """A bar a row of the table: picoseconds a site or flip."""
    model = model_of(result)
    rows = [row for row in result["rows"] if row[model.ps]]
    times = [row[model.ps] for row in rows]
    figure, axes = subplots(figsize=(8, 0.6 + 0.4 * len(rows)))
    labels = [f"{row['stage'][:2]}  {model.row_in_words(row)}" for row in rows]
    colours = [COLOURS.get(row[model.row] or row.get("kernel"), "tab:gray") for row in rows]
    bars = axes.barh(labels, times, color=colours)
    axes.bar_label(bars, [table.significant(time, 3) for time in times], padding=3)
    axes.set(xlabel=f"ps a {model.part} (shorter is faster)", title=title(result))
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
    """ps a flip against L, as in Figure 5 of arXiv:1411.0127. lines: {name: {L: ps}}."""
    figure, axes = subplots(figsize=(9, 5.5))
    for number, (name, line) in enumerate(lines.items()):
        curves_over_size(axes, dict(sorted(line.items())), f"C{number}", name, "osD^v<>"[number % 7])
    sizes = sorted({size for line in lines.values() for size in line})
    logarithmic(axes, sizes, SIZE_TICKS)
    axes.set(xlabel="L", ylabel="psFlip: ps a flip", ylim=(0, None))
    axes.grid(alpha=0.3)
    legend_beside(axes)
    save(figure, file)


def draw_generators(lines, file):
    """ps a flip against L for every generator and indexing, absolute and relative to MINSTD, as in Figure 9 of
    arXiv:1411.0127. lines: {(generator, indexing): {L: point}}. A generator is a colour, an indexing a kind of line."""
    styles = {"sliced": "-o", "standard": "--s", "bitwise": ":^"}
    colours = {name: f"C{i}" for i, name in enumerate(generators.GENERATORS)}
    absolute = {key: {size: float(point["ps_per_flip"]) for size, point in line.items()} for key, line in lines.items()}
    figure, panels = subplots(1, 2, figsize=(12, 5))
    for axes, values, label in (
        (panels[0], absolute, "psFlip: ps a flip"),
        (panels[1], generators.relative_to_base(lines), "times as long as MINSTD, same indexing"),
    ):
        for (generator, indexing), line in values.items():
            look = {"color": colours[generator], "label": f"{generator}, {indexing}"}
            curve(axes, dict(sorted(line.items())), styles[indexing], **look)
        sizes = sorted({size for line in values.values() for size in line})
        logarithmic(axes, sizes, [size for size in SIZE_TICKS if size in sizes])
        axes.set(yscale="log", xlabel="L", ylabel=label)  # generators differ by an order of magnitude
        one_two_five(axes)
        axes.grid(alpha=0.3)
    legend_beside(panels[1])
    save(figure, file)


def draw_bounds(axes, result, generator, left):
    """What nothing that works so can be faster than: lines across, with a word at x = left."""
    for text, ps in words.bounds(result, generator).items():
        axes.axhline(ps, color="black", linestyle=":", linewidth=1)
        axes.annotate(text, (left, ps), textcoords="offset points", xytext=(2, -7), fontsize=6)


def draw_words_over_size(result, file):
    """ps a flip of every kernel against L, as in Figure 5 of arXiv:1411.0127: a panel a generator."""
    figure, panels = subplots(1, len(words.GENERATORS), figsize=(12, 5), sharey=True, squeeze=False)
    highest = 0
    for axes, generator in zip(panels[0], words.GENERATORS):
        every = set()
        for kernel in SPIN_GLASS.rows["kernel"]:
            points = words.over_size(result["points"], generator, kernel)
            line = {size: point["ps_per_flip"] for size, point in points.items()}
            every |= set(line)
            if kernel == words.LESSON and line:
                highest = max(highest, 1.2 * max(line.values()))
            curves_over_size(axes, line, COLOURS[kernel], kernel, "o")
        if every:
            logarithmic(axes, sorted(every), SIZE_TICKS)
            draw_bounds(axes, result, generator, min(every))
        axes.set(xlabel="L", title=words.GENERATOR_NAMES[generator])
        axes.grid(alpha=0.3)
    # The lesson's kernel is slow; what is slower still, for want of work that suits it, may leave the picture.
    panels[0][0].set(ylabel="psFlip: ps a flip", ylim=(0, highest or None))
    legend_beside(panels[0][-1])
    save(figure, file)


def draw_words_over_samples(result, file):
    """ps a flip against the number of samples, as in Figure 4 of arXiv:1411.0127: the best kernel and `wide`."""
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
    axes.set(yscale="log", xlabel="samples", ylabel="psFlip: ps a flip", title=words.GENERATOR_NAMES[generator])
    if every:
        logarithmic(axes, sorted(every), sorted(every))
        draw_bounds(axes, result, generator, min(every))
        legend_beside(axes)
    one_two_five(axes)
    axes.grid(alpha=0.3)
    save(figure, file)


def draw_over_size(rows, storage, stem):
    """The report's Figure 5: both axes logarithmic, so that work proportional to n^2 is a straight line."""
    figure, axes = subplots(figsize=(7, 5))
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
    figure, panels = subplots(1, len(names), figsize=(4 * len(names), 4), sharex=True, sharey=True, squeeze=False)
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
