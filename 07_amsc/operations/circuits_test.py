"""Tests of circuits.py: python3 -m unittest circuits_test. common/test runs them."""

import sys
import unittest
from dataclasses import replace

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/common/tools")
from circuits import CIRCUITS

COUNTS = {"six-added": 16, "six-found": 15, "six": 15, "six-predicate": 14}
COUNTS |= {"four-added": 15, "four-found": 14, "four": 14, "four-predicate": 13, "own-draws": 18}


class Circuits(unittest.TestCase):
    def test_their_numbers_of_operations(self):
        self.assertEqual({name: len(circuit.steps) for name, circuit in CIRCUITS.items()}, COUNTS)

    def test_they_update_as_metropolis_does(self):
        for name, circuit in CIRCUITS.items():
            with self.subTest(name):
                self.assertEqual(circuit.wrong(), 0)

    def test_one_wrong_bit_of_a_table_is_seen(self):
        circuit = CIRCUITS["four-predicate"]
        for at, step in enumerate(circuit.steps):
            changed = list(circuit.steps)
            changed[at] = replace(step, table=step.table ^ 1)
            with self.subTest(step.name):
                self.assertGreater(replace(circuit, steps=tuple(changed)).wrong(), 0)


if __name__ == "__main__":
    unittest.main()
