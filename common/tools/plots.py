"""What all pictures share.

matplotlib is imported with the first picture: it takes a while, and whoever only measures may lack it.
"""

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
