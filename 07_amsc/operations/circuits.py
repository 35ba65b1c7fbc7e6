"""The update of a spin as circuits of operations with three inputs, and the check of one by all its inputs.

A GPU does any function of three words in one operation, LOP3: bit 4a + 2b + c of its table is the result for the inputs
a, b and c. A thread may do it only where a condition holds, its predicate, and keep an older word elsewhere.

The draw enters as b, how many thresholds are above it, 0 to 3. It is the same for all 32 samples of a word. So what is
made of it is made once per draw, and is a word of all zeros or ones, or a predicate: both are written as four digits,
for b = 0, 1, 2, 3. Or (synchronous coding) each site has a draw of its own, and b4, b8, b12 say if costs of 4, 8, 12
are paid.
"""

import functools
import itertools
from dataclasses import dataclass

SPINS, BONDS = tuple(f"a{d}" for d in range(1, 7)), tuple(f"j{d}" for d in range(1, 7))


@dataclass(frozen=True)
class Problem:
    """Inputs of one bit each, the number of cases of the draw, and the new spin (rule: values by name, case)."""

    inputs: tuple
    cases: int
    rule: object

    def rows(self):
        for case in range(self.cases):
            for values in itertools.product((0, 1), repeat=len(self.inputs)):
                yield dict(zip(self.inputs, values)), case


@functools.cache
def columns(problem):
    """All rows of a problem at once: an integer by input, bit i for row i, one by case, and the result."""
    column, case_is, result = dict.fromkeys(problem.inputs, 0), [0] * problem.cases, 0
    for i, (values, case) in enumerate(problem.rows()):
        case_is[case] |= 1 << i
        result |= problem.rule(values, case) << i
        for name, bit in values.items():
            column[name] |= bit << i
    return column, case_is, result


def unsatisfied(values):
    """Bonds not satisfied; one that is not among the inputs is +1 (a gauge makes it so)."""
    return sum(values["s"] ^ values[a] ^ values.get(j, 0) for a, j in zip(SPINS, BONDS))


def shared(values, case):
    return values["s"] ^ (unsatisfied(values) + case >= 3)


def own(values, _):
    paid = (values["b12"], values["b8"], values["b4"], 1, 1, 1, 1)
    return values["s"] ^ paid[unsatisfied(values)]


SIX = Problem(("s", *SPINS, *BONDS), 4, shared)  # six bonds
FOUR = Problem(("s", *SPINS, *BONDS[:4]), 4, shared)  # without those along one axis, a5 and a6
OWN = Problem(("s", *SPINS, *BONDS, "b4", "b8", "b12"), 1, own)


@dataclass(frozen=True)
class Step:
    """name = table(of), if the case is one of `where`, else the word `otherwise`."""

    name: str
    table: int
    of: tuple
    where: str = ""
    otherwise: str = ""


@dataclass(frozen=True)
class Circuit:
    problem: Problem
    masks: dict  # words made of the draw: digits by name
    steps: tuple

    def words(self):
        """Columns of all words by name."""
        inputs, case_is, _ = columns(self.problem)
        everywhere = sum(case_is)

        def where(digits):
            return sum(rows for rows, digit in zip(case_is, digits, strict=True) if digit == "1")

        word = inputs | {name: where(digits) for name, digits in self.masks.items()}
        for step in self.steps:
            value = apply(step.table, *(word[name] for name in step.of), everywhere)
            if step.where:
                done = where(step.where)
                value = value & done | word[step.otherwise] & ~done
            word[step.name] = value
        return word

    def wrong(self):
        """The number of rows for which the last step is not the new spin."""
        return (self.words()[self.steps[-1].name] ^ columns(self.problem)[2]).bit_count()


def apply(table, a, b, c, everywhere):
    result = 0
    for row in range(8):
        if table >> row & 1:
            term = everywhere
            for word, bit in ((a, row & 4), (b, row & 2), (c, row & 1)):
                term &= word if bit else ~word
            result |= term
    return result


def steps(text):
    """A line a step: name = table a b c, and perhaps: if 0111 else name."""
    made = []
    for line in filter(None, text.splitlines()):
        name, _, table, a, b, c, *more = line.split()
        made.append(Step(name, int(table, 16), (a, b, c), *(more[1::2])))
    return tuple(made)


def bonds(count):
    return "".join(f"u{d} = 96 s a{d} j{d}\n" for d in range(1, count + 1))


# The two full adders: u1 + u2 + u3 = s1 + 2 c1, u4 + u5 + u6 = s2 + 2 c2.
ADDER = "s1 = 96 u1 u2 u3\nc1 = e8 u1 u2 u3\n"
SIX_ADDERS = bonds(6) + ADDER + "s2 = 96 u4 u5 u6\nc2 = e8 u4 u5 u6\n"
# u4 + u5 + u6 where u5 = s ^ a5 and u6 = s ^ a6 are not made: where s2 = u4, u5 and u6 are the same.
FOUR_ADDERS = bonds(4) + ADDER + "s2 = 96 u4 a5 a6\nt = 3c s a5 s\nc2 = 8e s2 u4 t\n"
# u + m1 + 2 m2 by a third full adder.
THIRD_ADDER = """
o = 96 s1 s2 m1
c3 = e8 s1 s2 m1
two = e8 c1 c2 c3
any = fe c1 c2 c3
f = e8 any m2 o
new = 1e s two f
"""
# h = s1 or s2, for b = 1 s1 and s2; then two of c1, c2, h are needed for b = 0, one for b > 0, none for b = 3.
CHOICE = """
h = e8 s1 s2 not1
any = fe c1 c2 is3
f = e8 some h any
flips = ea c1 c2 f
new = 3c s flips s
"""
# The same without the masks `some`, and without c1 c2 h by two operations.
PREDICATE = """
h = e8 s1 s2 not1
two = e8 c1 c2 h
f = fe c1 c2 h if 0111 else two
new = 1e s f is3
"""
# Found by search.py; m1 and m2 may also differ from site to site.
FOUND = """
g1 = 7e s1 s2 m1
g2 = e6 c1 c2 g1
g3 = 74 s1 g1 g2
g4 = e8 c1 m2 g2
new = 1e s g3 g4
"""
# Each site with a draw of its own, of which b4, b8 and b12 need not be one within the other.
OWN_DRAWS = """
odd = 3c s1 s2 s1
c3 = c0 s1 s2 s1
two = e8 c1 c2 c3
any = fe c1 c2 c3
x = fc odd b4 odd
y = ca odd b8 b12
f = ca any x y
new = 1e s two f
"""
COUNTED, CHOSEN = {"m1": "0101", "m2": "0011"}, {"not1": "1011", "is3": "0001"}
CIRCUITS = {
    f"{bonds}{name}": Circuit(problem, masks, steps(adders + text))
    for bonds, problem, adders in (("six", SIX, SIX_ADDERS), ("four", FOUR, FOUR_ADDERS))
    for name, masks, text in (
        ("-added", COUNTED, THIRD_ADDER),
        ("-found", COUNTED, FOUND),
        ("", CHOSEN | {"some": "0111"}, CHOICE),
        ("-predicate", CHOSEN, PREDICATE),
    )
}
CIRCUITS["own-draws"] = Circuit(OWN, {}, steps(SIX_ADDERS + OWN_DRAWS))
