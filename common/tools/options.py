"""What the tools' command lines share: how they refuse, and what a value may be."""

import argparse
import math
import re
from pathlib import Path

from stages import refuse


class Parser(argparse.ArgumentParser):
    """argparse's, but it shows a description as it is written, and refuses in one line."""

    def __init__(self, **more):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **more)

    def error(self, message):
        refuse(message)


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
