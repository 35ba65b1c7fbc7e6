"""Tests that who leaves the stage's own code as it is has not done an exercise, as far as texts say it;
common/tools/mutants counts the rest."""

import unittest
from unittest import mock

from lab import asked, cases
from lab.course import WEIGHTS, Task, files_of, stages_in
from lab.grade import PARTS, Judge, Part, Result, grade, share_out
from lab.regions import starter
from lab.wrong.mutants import exercises_of
from stages import ROOT

EXERCISES = [task for stage in stages_in(ROOT) for task in exercises_of(stage)]


def own(task):
    return {name: (ROOT / name).read_text() for name in files_of(task, ROOT)}


class Asked(unittest.TestCase):
    def test_the_stage_s_code_does_no_exercise(self):
        for task in EXERCISES:
            with self.subTest(task.name):
                rules, texts = cases.told(task)["asks"], own(task)
                self.assertTrue(rules or cases.gates(task), "there is nothing by which it could be told")
                for rule in rules:
                    self.assertEqual(len({"has", "lacks", "own"} & set(rule)), 1, rule)
                    self.assertTrue(asked.fails(rule, texts, texts), rule)
                    self.assertRegex(rule["says"], r"^[a-z].*[^.]$")

    def test_a_stage_asks_for_right_bits_only(self):
        for stage in stages_in(ROOT):
            self.assertEqual((cases.told(Task(stage))["asks"], cases.gates(Task(stage))), ([], {}))

    def test_what_somebody_wrote_anew_is_not_psflip_s(self):
        rule = {"own": True, "says": ""}
        for task in EXERCISES:
            texts = own(task)
            reformatted = {
                name: text.replace(" + ", "+").replace("// ---", "//  a\n// ---") for name, text in texts.items()
            }
            self.assertTrue(asked.fails(rule, texts, texts))
            self.assertTrue(
                asked.fails(rule, {name: f"{text}// b\n" for name, text in reformatted.items()}, texts), task
            )
            self.assertFalse(asked.fails(rule, {name: starter(text) for name, text in texts.items()}, texts), task)
            self.assertFalse(asked.fails(rule, texts, {}))  # an assignment does not have it

    def test_comments_do_nothing(self):
        has, lacks = {"has": "async", "says": ""}, {"lacks": "async", "says": ""}
        for text, found in (("copy();  // async", False), ("async_copy();", True), ("/* async */", False)):
            self.assertEqual(asked.fails(has, {"update.cu": text}, {}), not found)
            self.assertEqual(asked.fails(lacks, {"update.cu": text}, {}), found)


class Judged(unittest.TestCase):
    """A part of its own, without which no other has points but the three orders of the threads."""

    task = next(task for task in EXERCISES if cases.told(task)["asks"])

    def test_the_part(self):
        kit = mock.MagicMock(root=ROOT, has_solutions=True)
        files = {name: text.encode() for name, text in own(self.task).items()}
        part = Judge(self.task, files, kit, 1, ()).judge("asked")
        self.assertEqual((part.passed, part.reason), (False, cases.told(self.task)["asks"][0]["says"]))

    def test_only_where_something_is_asked(self):
        with mock.patch.object(Judge, "judge", lambda _, name: Part(name, True, "")):
            for task, judged in ((self.task, True), (Task(self.task.stage), False)):
                names = [part.name for part in grade(task, {}, kit=mock.MagicMock(), only=PARTS).parts]
                self.assertEqual("asked" in names, judged)

    def test_points(self):
        parts = [
            Part(name, name != "asked", "") for name in ("build", "asked", "forward", "reversed", "fresh", "races")
        ]
        result = Result(self.task, parts)
        share_out(result, WEIGHTS)
        self.assertFalse(result.passed)
        self.assertEqual([part.name for part in parts if part.score], ["forward", "reversed"])


if __name__ == "__main__":
    unittest.main()
