"""What the tools' command lines share: how they refuse, and what a value may be."""

import argparse
import math
import re
from pathlib import Path

from stages import ROOT, Failure, refuse


class Parser(argparse.ArgumentParser):
    """argparse's, but it shows a description as it is written, takes whole names only (--sweep and --sweeps are not the
    same), and refuses in one line."""

    def __init__(self, as_written=True, **more):
        form = argparse.RawDescriptionHelpFormatter if as_written else argparse.HelpFormatter
        super().__init__(formatter_class=form, allow_abbrev=False, **more)

    def error(self, message):
        refuse(message)


def adder(place):
    """The add_argument() of a parser or a group, for options with a value."""

    def add(name, metavar, words, parse=str, **more):
        place.add_argument(name, metavar=metavar, help=words, type=parse, **more)

    return add


def at_least(least):
    """Parses a whole number."""

    def parse(text):
        if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}; it must be a whole number, at least {least}")
        return int(text)

    return parse


def positive(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text}; it must be a finite number above 0")
    return value


def new_file(text):
    """Where a result will go: refused now, not after minutes of work."""
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: there is no folder {Path(text).parent}")
    return Path(text)


def comma_list(parse):
    """Several of what `parse` takes, with commas between them."""
    return lambda text: [parse(part) for part in text.split(",")]


whole = at_least(1)
wholes = comma_list(whole)


def some_of(allowed):
    def parse(text):
        if text not in allowed:
            raise argparse.ArgumentTypeError(f"{text}; allowed are {', '.join(allowed)}")
        return text

    return comma_list(parse)


def add_stages(place, words):
    place.add_argument("--stages", type=comma_list(str), metavar="NN,NN", help=words)


def expect_stages(wished, numbers):
    """Refuses what --stages names and is not there."""
    for number in wished or []:
        if number not in numbers:
            raise Failure(f"--stages {number}: there is no such stage; there are {', '.join(numbers)}")


def add_device(place):
    place.add_argument("--device", default="auto", help="auto, cpu, gpu, or the number of a GPU")


def add_common_options(place):
    """Of the stages' own tools."""
    add_device(place)
    place.add_argument("--build-dir", type=Path, default=ROOT / "build", help=argparse.SUPPRESS)
