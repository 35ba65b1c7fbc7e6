#!/usr/bin/env python3
"""Tests of grade --class, as far as nothing has to be compiled."""

import contextlib
import csv
import importlib.util
import io
import random
import re
import stat
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest import mock

from lab import classroom, page, similar
from lab.classroom import Submission, mistakes, number_them, ranking, submissions_in
from lab.course import Task
from lab.grade import Part, Result
from lab.results import gradescope
from stages import ROOT, Failure

UPDATE = "03_shared_memory/update.cu"
TASK = Task("03_shared_memory")
# In the place of grade: what is in a submission's file says how it ends.
FAKE = """#!{python}
import json, sys
from pathlib import Path
folder = next(Path(word) for word in sys.argv[1:] if Path(word).is_dir())
words = (folder / "{update}").read_text().split("\\n")[0]
if words == "broken":
    sys.exit("grade: no compiler here")
report = {{"score": 0 if words else 10, "execution_time": 3, "tests": [{{"name": "03: forward", "max_score": 10,
    "score": 0 if words else 10, "status": "failed" if words else "passed", "output": words or "fine"}}]}}
Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(report))
"""


def report(*parts, points=10):
    return gradescope([Result(Task("03_shared_memory", points=points), list(parts))], 7)


def submission(name, *parts):
    return Submission(name, Path(name), f"alias of {name}", report(*parts))


FAST = Part("speed", True, "fast", points=4, score=4, value=1.5, unit="ps a flip")
SLOW = Part("speed", True, "slow", points=4, score=4, value=2.5, unit="ps a flip")
RIGHT = Part("forward", True, "all agree", points=6, score=6)
OPEN = Part("gpu", None, "no GPU here")


def wrong(reason):
    return Part("forward", False, reason, "look", points=6, score=0)


class WithClass(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def hand_in(self, **texts):
        place = self.folder / "class"
        for name, text in texts.items():
            (place / name / UPDATE).parent.mkdir(parents=True)
            (place / name / UPDATE).write_text(text)
        return place


class Judging(WithClass):
    def judged(self, **texts):
        program = self.folder / "grade"
        program.write_text(FAKE.format(python=sys.executable, update=UPDATE))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        submissions = submissions_in(self.hand_in(**texts))
        classroom.judge_all(submissions, [program], self.folder / "builds", self.folder, 2)
        return {one.name: one for one in submissions}

    def test_everybody_is_judged_whatever_happens_to_others(self):
        found = self.judged(ada="", bea="wrong", cem="broken", dan="")
        self.assertEqual([(one.score, one.most) for one in found.values()], [(10, 10), (0, 10), (0, 0), (10, 10)])
        self.assertEqual([one.problem for one in found.values()], ["", "", "grade: no compiler here", ""])
        self.assertTrue((self.folder / "ada.json").is_file())

    def test_what_is_missing_for_all_is_said_once(self):
        with self.assertRaisesRegex(Failure, "nothing could be judged: grade: no compiler here"):
            self.judged(ada="broken", bea="broken")

    def test_they_run_at_the_same_time(self):
        """Each of two waits for the other's file; with one at a time neither would end."""
        program = self.folder / "grade"
        program.write_text(
            f"#!{sys.executable}\nimport sys, time\nfrom pathlib import Path\n"
            "file = Path(sys.argv[sys.argv.index('--json') + 1])\nfile.write_text('{}')\n"
            "end = time.monotonic() + 20\n"
            "while len(list(file.parent.glob('*.json'))) < 2 and time.monotonic() < end: time.sleep(0.01)\n"
            "file.write_text('{\"score\": %d}' % (time.monotonic() < end))\n"
        )
        program.chmod(0o755)
        submissions = submissions_in(self.hand_in(ada="", bea=""))
        classroom.judge_all(submissions, [program], self.folder / "builds", self.folder, 2)
        self.assertEqual([one.score for one in submissions], [1, 1])

    def test_a_folder_without_submissions(self):
        (self.folder / "file").write_text("")
        for folder, words in ((self.folder, "there is no folder in it"), (self.folder / "none", "No such file")):
            with self.assertRaisesRegex(Failure, words):
                submissions_in(folder)


class WhatItSays(unittest.TestCase):
    def test_the_commonest_mistake_first_whatever_its_numbers(self):
        class_of = [
            submission("a", wrong("12 of 64 spins are wrong, the first at x = 1, y = 0 (--size 8)")),
            submission("b", wrong("a deadlock"), Part("races", False, "not judged: there is no program")),
            submission("c", wrong("7 of 9 spins are wrong, the first at x = 3, y = 2 (--size 3)")),
            submission("d", RIGHT),
        ]
        found = [(task, count, [one.name for one in who]) for task, _, count, who in mistakes(class_of)]
        forward = "03_shared_memory: forward"
        self.assertEqual(found, [(forward, 2, ["a", "c"]), (forward, 1, ["b"])])

    def test_the_order(self):
        class_of = [submission("slow", RIGHT, SLOW), submission("none", wrong("x")), submission("fast", RIGHT, FAST)]
        self.assertEqual([one.name for one in ranking(class_of)], ["fast", "slow", "none"])

    def test_a_leaderboard_is_part_of_the_platform_s_file(self):
        entry = {"name": "03_shared_memory: ps a flip", "value": 1.5, "order": "asc"}
        self.assertEqual(report(RIGHT, FAST)["leaderboard"], [entry])
        self.assertNotIn("leaderboard", report(RIGHT, OPEN))
        cheat = Part("speed", False, "too fast", value=0.1, unit="ps a flip")
        self.assertNotIn("leaderboard", report(cheat))

    def page(self, anonymous, *class_of):
        pairs = {"03": [(0.93, class_of[0], class_of[1]), (0.5, class_of[0], similar.SOLUTION)]}
        return page.of_class("A <course>", class_of, mistakes(class_of), pairs, anonymous)

    def test_the_page(self):
        class_of = submission("ada", RIGHT, FAST), submission("bea", wrong("<b> & more"), OPEN)
        text = self.page(False, *class_of)
        for words in (
            "A &lt;course&gt;",
            "&lt;b&gt; &amp; more",
            "93 %",
            similar.SOLUTION.replace("'", "&#x27;"),
            "1.5",
        ):
            self.assertIn(words, text)
        self.assertIn("2 submissions; 1 of them have all points", text)
        self.assertEqual(re.findall(r'class="(failed|open)"', text).count("failed"), 1)
        for tag in ("table", "tr", "td", "body"):
            self.assertEqual(len(re.findall(f"<{tag}[ >]", text)), text.count(f"</{tag}>"), tag)

    def test_without_names(self):
        class_of = submission("ada", RIGHT, FAST), submission("bea", wrong("x"), SLOW)
        text = self.page(True, *class_of).replace("alias of ada", "1").replace("alias of bea", "2")
        self.assertNotRegex(text, r"\b(ada|bea)\b")
        numbered = [Submission(name, Path(name)) for name in "abcdefgh"]
        number_them(numbered, random.Random(1))
        self.assertNotEqual([one.alias for one in numbered], sorted(one.alias for one in numbered))
        self.assertEqual(len({one.alias for one in numbered}), 8)


class Alike(WithClass):
    def pairs(self, **texts):
        submissions = submissions_in(self.hand_in(**texts))
        found = similar.pairs(submissions, [UPDATE], ROOT)
        name = {True: lambda one: one, False: lambda one: one.name}
        return {(first.name, name[isinstance(second, str)](second)): ratio for ratio, first, second in found}

    def test_what_everybody_was_given_does_not_count(self):
        text = (ROOT / UPDATE).read_text()
        own = "__device__ int another(int a) { return a * 3 + 4 * (a - 5) + 6 / (a + 7) % 8; }\n"
        other = "__device__ float third(float v) { for (;;) { if (v > 1e3f) break; v += v * v; } return v; }\n"
        end = "// --- end\n"
        given = similar.starter(text)
        found = self.pairs(ada=given.replace(end, own + end), bea=given.replace(end, other + end), cem=given)
        self.assertLess(found["ada", "bea"], 0.5)
        self.assertFalse([pair for pair in found if "cem" in pair])  # added nothing

    def test_copies_are_found_behind_comments_and_blanks(self):
        text = (ROOT / UPDATE).read_text()
        changed = re.sub(r"^  (?=\S)", "  // mine\n     ", text, flags=re.MULTILINE)
        found = self.pairs(ada=text, bea=changed, cem=text.replace("tile", "t"))
        self.assertGreater(found["ada", "bea"], 0.98)
        self.assertGreater(found["ada", similar.SOLUTION], 0.98)
        self.assertEqual(list(found.values()), sorted(found.values(), reverse=True))


class Command(WithClass):
    def setUp(self):
        super().setUp()
        loader = SourceFileLoader("grade_command", str(ROOT / "common/tools/grade"))
        self.grade = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(self.grade)

    def test_all_files_are_written(self):
        place = self.hand_in(ada="int a;", bea="int b;")
        (place / "course.toml").write_text('title = "T"\n[[task]]\nstage = "03"\n')

        def judged(submissions, command, builds, out, jobs):
            self.assertIn(str(place / "course.toml"), map(str, command))
            self.assertIn("--no-cuda", command)
            for one in submissions:
                one.report = report(RIGHT, FAST if one.name == "ada" else SLOW)

        out = self.folder / "page"
        said = io.StringIO()
        with mock.patch("lab.classroom.judge_all", judged), contextlib.redirect_stdout(said):
            code = self.grade.main(["--class", str(place), "03", "--out", str(out), "--no-cuda", "--anonymous"])
        self.assertEqual(code, 0)
        self.assertIn("2 submissions", said.getvalue())
        rows = list(csv.DictReader((out / "scores.csv").read_text().splitlines()))
        self.assertEqual(
            [(row["submission"], row["score"], row["of"]) for row in rows], [("ada", "10", "10"), ("bea", "10", "10")]
        )
        self.assertEqual(rows[0]["03_shared_memory: ps a flip"], "1.5")
        self.assertNotIn(">ada<", (out / "index.html").read_text())
        with self.assertRaisesRegex(Failure, "exists already"):
            self.grade.main(["--class", str(place), "--out", str(out)])

    def test_refusals(self):
        for options, words in (
            ([], "give a folder, or --class"),
            (["--class", "x"], "--class takes --out"),
            (["--class", "x", "--out", "y", "--json", "z"], "a json file for each"),
            (["x", "--out", "y"], "--out takes --class"),
            (["x", "--anonymous"], "--anonymous takes --class"),
            (["--class", "x", "--out", "y", "--jobs", "0"], "at least 1"),
            (["--class", "x", "--out", "y"], "x: no such folder"),
        ):
            done = subprocess.run(
                [sys.executable, ROOT / "common/tools/grade", *options], capture_output=True, text=True
            )
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
