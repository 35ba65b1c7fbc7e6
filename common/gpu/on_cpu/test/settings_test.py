#!/usr/bin/env python3
"""settings_test.py MISTAKES: bad values of the CPU path's environment variables are refused, good ones are not."""

import os
import subprocess
import sys
import unittest

GOOD = {
    "PSFLIP_SCHEDULE": ["forward", "reversed", "shuffled", "shuffled:0", "shuffled:18446744073709551615"],
    "PSFLIP_LAZY_STREAMS": ["0", "1"],
    "PSFLIP_CPU_BLOCKS": ["all"],
    "PSFLIP_GUARD": ["0", "1"],
    "PSFLIP_CPU_WORKERS": ["1", "2", "7"],
    "PSFLIP_CPU_DEVICES": ["1", "64"],
    "PSFLIP_CPU_MEMORY": ["100000", "18446744073709551615"],
}
BAD = {
    "PSFLIP_SCHEDULE": [
        "",
        "Forward",
        "forward ",
        "backward",
        "shuffled:",
        "shuffled:x",
        "shuffled:1x",
        "shuffled:-1",
        "shuffled7",
        "shuffled:18446744073709551616",
        "forward:1",
    ],
    "PSFLIP_LAZY_STREAMS": ["", "2", "yes", "true", "-1", "1 "],
    "PSFLIP_CPU_BLOCKS": ["", "end", "2"],
    "PSFLIP_GUARD": ["", "2", "on", "01x"],
    "PSFLIP_CPU_WORKERS": ["", "0", "-1", "1025", "2.5", "all"],
    "PSFLIP_CPU_DEVICES": ["", "0", "65", "one"],
    "PSFLIP_CPU_MEMORY": ["", "0", "-1", "1G", "1e9", "18446744073709551616"],
}


def run(variable, value):
    environment = {"PATH": os.environ["PATH"], variable: value}
    command = [sys.argv[1], "no_barrier", "right"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    if "FATAL: ThreadSanitizer" in result.stderr:  # it does not bear the addresses that this kernel gives at random
        result = subprocess.run(
            ["setarch", "-R", *command], env=environment, capture_output=True, text=True, timeout=60
        )
    return result


class Settings(unittest.TestCase):
    def test_good_values(self):
        for variable, values in GOOD.items():
            for value in values:
                with self.subTest(variable=variable, value=value):
                    result = run(variable, value)
                    self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "same\n", ""))

    def test_bad_values(self):
        for variable, values in BAD.items():
            for value in values:
                with self.subTest(variable=variable, value=value):
                    result = run(variable, value)
                    self.assertEqual((result.returncode, result.stdout), (2, ""))
                    self.assertRegex(
                        result.stderr,
                        rf"\A{os.path.basename(sys.argv[1])}: {variable} is '{value}': allowed are .*\n\Z",
                    )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
