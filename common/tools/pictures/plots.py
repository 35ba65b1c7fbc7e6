"""What all pictures share.

matplotlib is imported with the first picture: it takes a while, and whoever only measures may lack it.
"""

import sys
from pathlib import Path

from stages import Failure


def pyplot():
    try:
        import matplotlib

        matplotlib.use("Agg")
        matplotlib.rcParams["svg.hashsalt"] = "psFlip"  # the same data give the same file
        import matplotlib.pyplot
    except ImportError:
        raise Failure("plots need matplotlib (Debian and Ubuntu: apt-get install python3-matplotlib)") from None
    return matplotlib.pyplot


def subplots(*arguments, **options):
    return pyplot().subplots(*arguments, **options)


def save(figure, *files):
    for file in files:
        metadata = {"Date": None} if Path(file).suffix == ".svg" else None
        figure.savefig(file, dpi=150, bbox_inches="tight", metadata=metadata)
    pyplot().close(figure)


def curve(axes, points, style="-", **look):
    """A thin line through points {x: y}."""
    axes.plot(list(points), list(points.values()), style, **{"linewidth": 1, "markersize": 4} | look)


BRANCHES = {"L = 4m": 0, "L = 2(2m + 1)": 2}  # the two kinds of L, each with a panel of its own: L modulo 4


def of_branch(points, branch):
    """What of {L: y} belongs to one of BRANCHES."""
    return {size: y for size, y in points.items() if size % 4 == BRANCHES[branch]}


MARKERS = "osD^v<>"


def legend_beside(axes, shown=None):
    """A legend to the right of `axes`, of the lines there, or of those that `shown` has."""
    lines, names = (shown or axes).get_legend_handles_labels()
    axes.legend(lines, names, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))


SIZE_TICKS = (8, 16, 32, 64, 128, 256)


def logarithmic(axes, found, ticks):
    """The x axis, with those of the ticks that lie in what was found, or all that was found."""
    shown = [tick for tick in ticks if found[0] <= tick <= found[-1]] or found
    axes.set(xscale="log")
    axes.set_xticks(shown, [str(tick) for tick in shown])
    axes.xaxis.set_minor_locator(pyplot().NullLocator())


def one_two_five(axes):
    """The ticks of a logarithmic y axis of few decades."""
    axes.yaxis.set_major_locator(pyplot().LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(pyplot().FormatStrFormatter("%g"))
    axes.yaxis.set_minor_locator(pyplot().NullLocator())


def draw_or_say(draw, result, file, asked):
    """After a measurement, which must not be lost for want of matplotlib; `asked`: only the picture is wanted."""
    try:
        draw(result, file)
    except Failure as failure:
        if asked:
            raise
        print(f"{file.stem}: no picture: {failure}; then call with --draw", file=sys.stderr)
