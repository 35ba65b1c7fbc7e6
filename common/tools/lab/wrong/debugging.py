"""The debugging lab: a wrong kernel that is handed out with the report of somebody who used it, and which of its lines
are the right answer."""

import functools
import hashlib
import re
import tempfile
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from lab import cases
from lab.course import Task
from lab.diagnose import Finding
from lab.regions import BEGIN, END
from lab.wrong.patches import Mutant, apply, read_mutants
from stages import ROOT, Failure

ANSWER = "answer.txt"  # the student's, in the stage's folder
AS_IT_WAS = "as_handed_out.txt"  # the kernel there, to count lines in
FORM = """# The number of the line that is wrong in update.cu as it was handed out: as_handed_out.txt has it unchanged.
# Where something is missing, the line before or behind the gap.
line:

# What happens there, and how you found it, in a few sentences. Who grades reads this; the checker does not.
why:
"""
NUMBER = re.compile(r"[\w.@+-]{1,64}")
LINE = re.compile(r"^line:(?P<value>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Attempt:
    """What a student says, and of which kernel; None where nobody knows that, as in an assignment."""

    answer: str
    mutant: Mutant | None = None


def known_for(stage, root=ROOT):
    return [mutant for mutant in read_mutants(root) if mutant.stage == stage and mutant.symptom]


def drawn(stage, number, words, root=ROOT):
    """The wrong kernel of a student's number, the same in every call. `words` that students do not know keep the draw
    from them."""
    if not NUMBER.fullmatch(number):
        raise Failure(f"the student's number is {number!r}; allowed are 1 to 64 letters, digits and . @ + - _")
    known = known_for(stage, root)
    if not known:
        raise Failure(f"{stage}: there is no kernel of it to be debugged")
    digest = hashlib.sha256("\n".join((words, stage, number)).encode()).digest()
    return known[int.from_bytes(digest, "big") % len(known)]


def without_marks(text):
    """A kernel as it is handed out here: the marks around a student's region say what should be there."""
    return END.sub("", BEGIN.sub("", text))


@functools.cache
def handed_out(mutant, root=ROOT):
    """The text of the wrong kernel."""
    with tempfile.TemporaryDirectory(prefix="psflip-wrong-") as folder:
        return without_marks(apply(mutant, Path(folder), root).read_text())


@functools.cache
def right_lines(mutant, root=ROOT):
    """The numbers that are a right answer."""
    right = without_marks((root / mutant.stage / mutant.file).read_text())
    return changed(right.splitlines(), handed_out(mutant, root).splitlines())


def changed(right, wrong):
    """The numbers of the lines of `wrong` that differ, each with the statement that it belongs to; where lines are
    missing, those from the one before the gap to the one behind it. Lines without code do not count."""
    code = [line.split("//")[0].strip() for line in wrong]
    found = set()
    for kind, _, _, begin, end in SequenceMatcher(None, right, wrong, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        lines = [n for n in range(begin, end) if code[n]]
        for n in lines:
            found |= statement(code, n)
        if not lines:
            before = max((n for n in range(begin) if code[n]), default=0)
            behind = min((n for n in range(end, len(code)) if code[n]), default=len(code) - 1)
            found |= {*range(before, behind + 1)}
    return {n + 1 for n in found}


def statement(code, n):
    """The lines that line n is a statement with."""
    first = last = n
    while first > 0 and not ends(code[first - 1]):
        first -= 1
    while last + 1 < len(code) and not ends(code[last]):
        last += 1
    return {*range(first, last + 1)}


def ends(line):
    return not line or line.startswith("#") or line[-1] in ";{}:"


def line_in(answer):
    """The line that an answer names. Finding if it names none."""
    found = [match["value"].strip() for match in LINE.finditer(answer)]
    if len(found) != 1 or not found[0].isdecimal():
        said = f"'{found[0]}'" if len(found) == 1 and found[0] else f"{len([one for one in found if one])} numbers"
        raise Finding(f"{ANSWER}: behind 'line:' stands {said}", "write the number of one line there, in digits")
    return int(found[0])


def command(mutant, build, model):
    """What shows the symptom, as it is typed: (settings of the environment, program and options)."""
    environ, options, launch = shown(mutant)
    program = f"{build}/{mutant.stage}/{model}"
    ranks = cases.with_ranks(ranks_of(mutant))
    return " ".join([*(f"{name}={value}" for name, value in environ.items()), *ranks, program, *options, *launch])


def ranks_of(mutant):
    """On how many ranks of MPI the symptom is shown."""
    return cases.ranks_of_test(Task(mutant.stage), "forward")


def shown(mutant):
    """(environment, options of the problem, options of the launch) that show the symptom."""
    problem, _, launch = mutant.shows.partition("|")
    words = problem.split()
    settings = [word for word in words if re.match(r"PSFLIP_\w+=", word)]
    return dict(word.split("=", 1) for word in settings), words[len(settings) :], launch.split()
