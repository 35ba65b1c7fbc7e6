"""Tests of search.py: python3 -m unittest search_test. common/test runs them. What needs a SAT solver is skipped if
python-sat is missing."""

import contextlib
import io
import sys
import unittest
from dataclasses import replace

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
import search
from circuits import CIRCUITS
from stages import Failure

AFTER_ADDERS = ("s", "s1", "c1", "s2", "c2")


def call(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = search.main(arguments)
    return code, out.getvalue()


class Given(unittest.TestCase):
    def test_rows_are_distinct_and_a_circuits_end_is_right_in_all(self):
        for name in ("six", "six-found", "four-predicate"):
            circuit = CIRCUITS[name]
            given = search.Given(circuit, AFTER_ADDERS)
            at = next(i for i, step in enumerate(circuit.steps) if step.name == "c2") + 1
            end = circuit.steps[at:]
            with self.subTest(name):
                self.assertEqual(len(given.rows), 2**5 * 4)
                self.assertEqual(search.wrong_rows(given, circuit.masks, end), 0)
                changed = (replace(end[0], table=end[0].table ^ 0x10), *end[1:])
                self.assertGreater(search.wrong_rows(given, circuit.masks, changed), 0)

    def test_refused_are_unknown_words_and_words_that_do_not_decide(self):
        for names, said in ((("s", "s9"), "no word s9"), (("s", "s1", "s2"), "do not decide")):
            with self.subTest(names), self.assertRaisesRegex(Failure, said):
                search.Given(CIRCUITS["six"], names)


@unittest.skipUnless(search.solver(), "no SAT solver: python-sat is missing")
class Search(unittest.TestCase):
    def test_four_operations_are_enough_after_the_adders_with_a_predicate(self):
        code, out = call("six", "--from", ",".join(AFTER_ADDERS), "--operations", "4", "--predicates")
        self.assertEqual(code, 0)
        self.assertIn("g4 = ", out)

    def test_two_are_not(self):
        code, out = call("six", "--from", ",".join(AFTER_ADDERS), "--operations", "2", "--predicates")
        self.assertEqual((code, out), (1, "none: 2 operations cannot do it\n"))


if __name__ == "__main__":
    unittest.main()
