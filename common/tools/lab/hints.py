"""The hints of exercises: folded parts of exercises.md, at the end of an exercise.

<details><summary>Hint 1</summary>

any Markdown

</details>
"""

import re

from lab.course import MARK

HEADING = re.compile(r"^##? ", re.MULTILINE)
HINT = re.compile(r"^<details><summary>Hint (?P<number>\d+)</summary>\n\n(?P<text>.*?)\n\n</details>\n", re.M | re.S)


def exercises_in(text):
    """{number: (title, text with its hints)} of an exercises.md."""
    found = {}
    for mark in MARK.finditer(text):
        end = HEADING.search(text, mark.end())
        found[int(mark["number"])] = (mark["title"], text[mark.end() : end.start() if end else len(text)])
    return found


def hints_in(text):
    """The hints in an exercise's text, the first first."""
    return [hint["text"] for hint in sorted(HINT.finditer(text), key=lambda hint: int(hint["number"]))]


def without_hints(text):
    return HINT.sub("", text).strip("\n")  # an indented block may come first


def as_details(hints):
    """What hints_in() reads as these."""
    return "\n".join(
        f"<details><summary>Hint {number}</summary>\n\n{text}\n\n</details>\n" for number, text in enumerate(hints, 1)
    )
