"""How much of two submissions is the same, after what everybody was given is taken out. The comparison is Python's
difflib; common/lab/INSTRUCTOR.md says what it can say."""

import re
from difflib import SequenceMatcher
from itertools import combinations

from lab.regions import starter
from lab.symbols import without_comments

SOLUTION = "psFlip's own"
WORD = re.compile(r"\w+|[^\w\s]")
LARGEST = 1 << 20  # bytes of a file that is compared
FEWEST = 20  # words, below which nothing can be said


def lines_of(text):
    """The lines of code, without comments, each with single blanks."""
    return [" ".join(line.split()) for line in without_comments(text).splitlines() if line.strip()]


def own_words(text, given):
    """The words of the lines that are not among those given."""
    given = set(lines_of(given))
    return [word for line in lines_of(text) if line not in given for word in WORD.findall(line)]


def ratio(one, other):
    """2 M / T, as difflib has it: of all words, those in common runs."""
    match = SequenceMatcher(None, one, other, autojunk=False)
    return match.ratio()


def pairs(submissions, files, root, most=20):
    """[(ratio, submission, submission or SOLUTION)] of the most similar ones, best first."""
    given = {file: starter((root / file).read_text(), file) for file in files}
    words = []
    for submission in submissions:
        found = []
        for file in files:
            path = submission.folder / file
            if path.is_file() and path.stat().st_size <= LARGEST:
                found += own_words(path.read_text(errors="replace"), given[file])
        words.append((submission, found))
    words.append((SOLUTION, [word for file in files for word in own_words((root / file).read_text(), given[file])]))
    compared = [
        (ratio(one, other), first, second)
        for (first, one), (second, other) in combinations(words, 2)
        if min(len(one), len(other)) >= FEWEST
    ]
    return sorted(compared, key=lambda pair: -pair[0])[:most]
