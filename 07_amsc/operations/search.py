#!/usr/bin/env python3
"""Looks for a circuit of K operations that updates a spin, by SAT: finds one, or proves that there is none.

The words named by --from are given (those of a circuit in circuits.py, or sums of them, written s1^s); all operations
that follow are sought: which words each takes, its table, if predicates are allowed the cases in which it is done and
what it is otherwise, and M words made of the draw with any digits. A circuit that is found is checked in all rows.
"None" is a proof for these given words, this K and M, and no more.

    search.py six --from s,s1,c1,s2,c2 --operations 4 --predicates

Needs python-sat (pip install python-sat). Exit code 0: found; 1: there is none; 2: bad input, or no solver.
"""

import itertools
import signal
import sys

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
from circuits import CIRCUITS, Step, apply, columns
from options import Parser, at_least
from stages import refuse, run_tool


def solver():
    """The class of solvers, None if there is none."""
    try:
        from pysat.solvers import Cadical153
    except ImportError:
        return None
    return Cadical153


class Given:
    """What the search starts from: the distinct rows of the given words, each with its case and what is wanted."""

    def __init__(self, circuit, names):
        words, self.names = circuit.words(), tuple(names)
        _, case_is, result = columns(circuit.problem)
        given = []
        for name in names:
            unknown = [part for part in name.split("^") if part not in words]
            if unknown:
                refuse(f"--from {name}: there is no word {unknown[0]}; there are {', '.join(words)}")
            given.append(0)
            for part in name.split("^"):
                given[-1] ^= words[part]
        wanted, self.cases = {}, len(case_is)
        for case, rows in enumerate(case_is):
            for i in (i for i in range(rows.bit_length()) if rows >> i & 1):
                row = (tuple(word >> i & 1 for word in given), case)
                if wanted.setdefault(row, result >> i & 1) != result >> i & 1:
                    refuse(f"--from {','.join(names)}: these words do not decide the new spin")
        self.rows, self.wanted = list(wanted), list(wanted.values())


class Formula:
    """Clauses that say: this is a circuit of some operations, and it gives what is wanted in every row."""

    def __init__(self, given, operations, masks, predicates):
        self.given, self.clauses, self.last = given, [], 0
        self.digits = [[self.new() for _ in range(given.cases)] for _ in range(masks)]
        for mask in self.digits:
            self.add(-mask[0])  # the complement of a mask does as well
        self.values = [[self.new() for _ in given.rows] for _ in range(operations)]
        self.gates = []
        for at in range(operations):
            self.gate(at, predicates)
        for value, wanted in zip(self.values[-1], given.wanted):
            self.add(value if wanted else -value)
        self.break_symmetry()

    def new(self):
        self.last += 1
        return self.last

    def add(self, *clause):
        self.clauses.append(clause)

    def one_of(self, count):
        made = [self.new() for _ in range(count)]
        self.add(*made)
        for a, b in itertools.combinations(made, 2):
            self.add(-a, -b)
        return made

    def value(self, word, row):
        """A word's bit in a row: True, False or a variable."""
        values, case = self.given.rows[row]
        if word < len(values):
            return bool(values[word])
        word -= len(values)
        return self.digits[word][case] if word < len(self.digits) else self.values[word - len(self.digits)][row]

    def equal(self, variable, value, *unless):
        if value is True or value is False:
            self.add(variable if value else -variable, *unless)
        else:
            self.add(variable, -value, *unless)
            self.add(-variable, value, *unless)

    def gate(self, at, predicates):
        words = len(self.given.names) + len(self.digits) + at
        chosen = [self.one_of(words) for _ in range(3)]
        for one, next_one in itertools.pairwise(chosen):  # their order does not matter
            for a, b in itertools.product(range(words), repeat=2):
                if a >= b:
                    self.add(-one[a], -next_one[b])
        table = [self.new() for _ in range(8)]
        where = [self.new() for _ in range(self.given.cases)] if predicates else []
        otherwise = self.one_of(words) if predicates else []
        self.gates.append((chosen, table, where, otherwise))
        for row, (_, case) in enumerate(self.given.rows):
            result, off = self.values[at][row], [-where[case]] if predicates else []
            inputs = [self.new() for _ in range(3)]
            for word in range(words):
                value = self.value(word, row)
                for taken, choice in zip(inputs, chosen):
                    self.equal(taken, value, -choice[word])
                if predicates:
                    self.equal(result, value, -otherwise[word], where[case])
            for bits, entry in zip(itertools.product((0, 1), repeat=3), table):
                self.equal(result, entry, *off, *(-taken if bit else taken for taken, bit in zip(inputs, bits)))

    def break_symmetry(self):
        """Leaves out circuits that are others in disguise."""
        first = len(self.given.names) + len(self.digits)
        plain = []  # no predicate
        for _, _, where, otherwise in self.gates:
            plain.append([-case for case in where])
            if where:
                self.add(*where)
                for word in otherwise[1:]:
                    self.add(*plain[-1], -word)
        for at, (_, table, _, _) in enumerate(self.gates[:-1]):
            # All that take a word can take its complement, if what it would also complement is not the result.
            self.add(-table[0], *plain[at], *plain[-1])
            later = self.gates[at + 1 :]
            self.add(
                *(choice[first + at] for chosen, _, _, other in later for choice in [*chosen, *filter(None, [other])])
            )
            # Two neighbours of which the second does not take the first could change places.
            (_, _, here), (*_, there) = self.gates[at][0], self.gates[at + 1][0]
            takes = [choice[first + at] for choice in self.gates[at + 1][0]]
            takes += [self.gates[at + 1][3][first + at]] if self.gates[at + 1][3] else []
            for a, b in itertools.product(range(first + at), repeat=2):
                if a > b:
                    self.add(-here[a], -there[b], *takes)

    def circuit(self, model):
        """Masks and steps of a solution."""
        true = {variable for variable in model if variable > 0}
        masks = [f"m{i}" for i in range(1, len(self.digits) + 1)]
        names = [*self.given.names, *masks, *(f"g{i}" for i in range(1, len(self.gates) + 1))]

        def digits(variables):
            return "".join(str(int(v in true)) for v in variables)

        def pick(choice):
            return names[next(i for i, v in enumerate(choice) if v in true)]

        steps = []
        for name, (chosen, table, where, otherwise) in zip(names[-len(self.gates) :], self.gates):
            bits = sum((entry in true) << i for i, entry in enumerate(table))
            partly = where and "0" in digits(where)
            more = (digits(where), pick(otherwise)) if partly else ()
            steps.append(Step(name, bits, tuple(map(pick, chosen)), *more))
        return {name: digits(mask) for name, mask in zip(masks, self.digits)}, tuple(steps)


def search(given, operations, masks, predicates):
    """Masks and steps, or None if there are none."""
    formula = Formula(given, operations, masks, predicates)
    with solver()(bootstrap_with=formula.clauses) as sat:
        if not sat.solve():
            return None
        found = formula.circuit(sat.get_model())
    wrong = wrong_rows(given, *found)
    if wrong:
        raise AssertionError(f"{wrong} rows of what was found are wrong")
    return found


def wrong_rows(given, masks, steps):
    wrong = 0
    for (values, case), wanted in zip(given.rows, given.wanted):
        word = dict(zip(given.names, values)) | {name: int(digits[case]) for name, digits in masks.items()}
        for step in steps:
            done = not step.where or step.where[case] == "1"
            word[step.name] = apply(step.table, *map(word.get, step.of), 1) if done else word[step.otherwise]
        wrong += word[steps[-1].name] != wanted
    return wrong


def main(arguments=None):
    parser = Parser(description=__doc__)
    parser.add_argument("circuit", choices=CIRCUITS, help="whose problem, and whose words")
    parser.add_argument("--from", dest="names", required=True, metavar="WORDS", help="the words given, as s,s1^s,c1")
    parser.add_argument("--operations", required=True, type=at_least(1), metavar="K", help="how many more there may be")
    parser.add_argument("--masks", default=2, type=at_least(0), metavar="M", help="words made of the draw (2)")
    parser.add_argument("--predicates", action="store_true", help="operations may be done in some cases only")
    options = parser.parse_args(arguments)
    if solver() is None:
        refuse("there is no SAT solver; pip install python-sat")
    given = Given(CIRCUITS[options.circuit], options.names.split(","))
    if len(given.names) + options.masks < 3:
        refuse(f"--from {options.names}: an operation takes three words")
    for number in (signal.SIGINT, signal.SIGTERM):  # the solver would let Python's handlers wait until it is done
        signal.signal(number, signal.SIG_DFL)
    found = search(given, options.operations, options.masks, options.predicates)
    if not found:
        print(f"none: {options.operations} operations cannot do it")
        return 1
    for name, digits in found[0].items():
        print(f"{name}: {digits}")
    for step in found[1]:
        more = f" if {step.where} else {step.otherwise}" if step.where else ""
        print(f"{step.name} = {step.table:02x} {' '.join(step.of)}{more}")
    return 0


if __name__ == "__main__":
    run_tool(main, "search")
