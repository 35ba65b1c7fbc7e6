"""What an exercise asks for beyond right bits, as a text shows it: the rules `asks` of a stage's lab.toml, each with
what it `says` of a text that has not done it.

    has = PATTERN    the task's files have to match it somewhere, without comments
    lacks = PATTERN  they must not
    own = true       the student's part must not be psFlip's own, which answers what is to be written anew
"""

import re

from lab.regions import split
from lab.symbols import without_comments

TOKEN = re.compile(r"\w+|[^\w\s]")


def part_of(name, text):
    """The region of a file, or all of it if there is none or if it is broken."""
    try:
        parts = split(text, name)
    except ValueError:
        parts = None
    return without_comments(parts[1] if parts else text)


def fails(rule, texts, own):
    """Whether a rule does not hold for the texts of a submission. `own`: psFlip's, where they are at hand."""
    code = "\n".join(map(without_comments, texts.values()))
    if "has" in rule:
        return not re.search(rule["has"], code, re.DOTALL)
    if "lacks" in rule:
        return re.search(rule["lacks"], code, re.DOTALL) is not None
    parts = [TOKEN.findall("\n".join(part_of(*one) for one in some.items())) for some in (texts, own)]
    return bool(own) and parts[0] == parts[1]
